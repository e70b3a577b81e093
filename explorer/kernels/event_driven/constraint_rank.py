"""Whether the constraints that hold lose rank inside a step, as those of a linkage that folds.

Where phi_q loses rank the motion is not unique: it may branch. A smallest singular value that goes
through zero changes the sign of det phi_q[:, D], D the dependent coordinates, which complete
pivoting chooses at the start of the step; a step is too long to show more of it. But that sign
changes too where other coordinates become dependent. So where it has changed the zero is sought on
the cubic through both ends of the step, and the pivots there tell which of both it is. (Of any path
between the ends this has the same answer.)

Status: SUCCESS; RANK_LOST, the time and the state of that are in the workspace.
"""

import numpy as np

from explorer.codes import RANK_LOST, SUCCESS
from explorer.kernels.event_driven.flow import evaluate
from explorer.kernels.event_driven.manifold import constrained, held_constraints, holds
from explorer.kernels.event_driven.records import CONTACTS
from explorer.kernels.event_driven.structures import Problem, Rank
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["chart", "keeps_rank"]

LOST = 1e-9  # of the largest pivot: nothing is left
PARTS = 16  # times that other coordinates may become dependent in one step


@kernel(inner=True)
def gradients(problem: Problem, rank: Rank, t: float, q: Vector, every: bool) -> int:
    """Write phi_q of the constraints held at (t, q) to G, each row of length one; return how many.

    Or of `every` one that holds, those too that follow from others.
    The velocities in `inp` are left as they are: phi_q does not depend on them.
    """
    n, count, first = problem.sizes.n, problem.sizes.rows, problem.sizes.n_c + problem.sizes.n_t
    inp, out, G, held = problem.inp, problem.out, rank.G, 0
    inp[0] = t
    for i in range(n):
        inp[1 + i] = q[i]
    evaluate(problem.functions.table, CONTACTS, inp, out)
    for c in range(first, count):
        if problem.rows[c].closed == 1 or (every and holds(problem, c - first)):
            total = 0.0
            for j in range(n):
                G[held, j] = out[2 * count + c * n + j]
                total += G[held, j] ** 2
            for j in range(n):
                G[held, j] /= np.sqrt(total) if total > 0.0 else 1.0
            held += 1
    return held


@kernel(inner=True)
def eliminate(rank: Rank, rows: int, held: int, choose: bool) -> float:
    """Eliminate in G by pivoting and return the sign of its determinant in the chosen columns.

    Of its first `rows`; no further than rank `held`.

    The columns are the first ones of `columns`; to `choose` them the largest pivots of all come
    first. The last pivot beside the first is noted.
    """
    G, columns, n, now = rank.G, rank.columns, rank.G.shape[1], rank.now
    sign, first = 1.0, 0.0
    if choose:
        for j in range(n):
            columns[j] = j
    for s in range(held):
        row, place = s, s
        for r in range(s, rows):
            for k in range(s, n if choose else s + 1):
                if abs(G[r, columns[k]]) > abs(G[row, columns[place]]):
                    row, place = r, k
        sign = -sign if row != s else sign
        columns[s], columns[place] = columns[place], columns[s]
        column = columns[s]
        pivot = G[row, column]
        first = abs(pivot) if s == 0 else first
        now[0].last = abs(pivot) / first if first > 0.0 else 0.0
        if pivot == 0.0:
            return 0.0
        sign = -sign if pivot < 0.0 else sign
        for j in range(n):
            G[s, j], G[row, j] = G[row, j], G[s, j]
        for r in range(s + 1, rows):
            factor = G[r, column] / pivot
            for j in range(n):
                G[r, j] -= factor * G[s, j]
    return sign


@kernel(inner=True)
def watched(problem: Problem) -> bool:
    """Whether there are constraints that may lose rank."""
    return constrained(problem) and held_constraints(problem) > 0


@kernel(inner=True)
def chart(problem: Problem, rank: Rank, t: float, y: Vector) -> None:
    """Choose the dependent coordinates at (t, y), and note the sign of their determinant."""
    if watched(problem):
        held = gradients(problem, rank, t, y, False)
        rank.now[0].sign = eliminate(rank, held, held, True)


@kernel(inner=True)
def along(
    problem: Problem, rank: Rank, t: float, y: Vector, new: Vector, h: float, s: float, every: bool
) -> int:
    """Write G at the fraction `s` of the step on the cubic through both ends; as `gradients`."""
    n, q = problem.sizes.n, rank.state
    for i in range(n):
        change = new[i] - y[i]
        bend = s * (1.0 - s) * ((1.0 - s) * (h * y[n + i] - change) + s * (change - h * new[n + i]))
        q[i] = y[i] + s * change + bend
        q[n + i] = (1.0 - s) * y[n + i] + s * new[n + i]
    return gradients(problem, rank, t + s * h, q, every)


@kernel(inner=True)
def keeps_rank(problem: Problem, rank: Rank, t: float, y: Vector, new: Vector, h: float) -> int:
    """Look for a loss of rank in the step of length h from y to `new`, and note its new chart.

    The time of a loss is in `lost`, its state in `state`.
    """
    if not watched(problem):
        return SUCCESS
    low = 0.0
    for _ in range(PARTS):
        before = rank.now[0].sign
        held = along(problem, rank, t, y, new, h, 1.0, False)
        if eliminate(rank, held, held, False) == before:
            break
        a, b = low, 1.0
        for _ in range(60):
            s = 0.5 * (a + b)
            held = along(problem, rank, t, y, new, h, s, False)
            if eliminate(rank, held, held, False) == before:
                a = s
            else:
                b = s
        held = along(problem, rank, t, y, new, h, b, False)
        rank.now[0].sign = eliminate(rank, held, held, True)
        lost = rank.now[0].last < LOST
        if lost and problem.state[0].dependent > 0:  # others may hold what these do no more
            rows = along(problem, rank, t, y, new, h, b, True)
            eliminate(rank, rows, held, True)
            lost = rank.now[0].last < LOST
        if lost:
            rank.now[0].lost = t + b * h
            return RANK_LOST
        low = b
    chart(problem, rank, t + h, new)
    return SUCCESS
