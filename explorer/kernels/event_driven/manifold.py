"""Keep states and sensitivities on their constraints phi(t, q) = 0.

Between events the flow holds constraints at the level of accelerations, so positions and velocities
drift by the errors of the steps. After each step they are put back in the metric of the mass
matrix, which takes nothing from the motion along the constraints::

    [[M, G'], [G, 0]] (dq, .) = (0, -phi),    [[M, G'], [G, 0]] (dv, .) = (0, -phi')

with G = phi_q (index 3 and index 2; Hairer, Wanner, *Solving Ordinary Differential Equations II*,
VII.2, doi:10.1007/978-3-642-05221-7). The sensitivities of the step follow as its derivative does:
phi_q Q = -phi_rho and phi_q V = -(phi')_q Q - (phi')_rho (Corner et al. 2019, eq. (87)).

Status: SUCCESS; SINGULAR, the saddle matrix is singular.
"""

import numpy as np

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.elimination import eliminate
from explorer.kernels.event_driven.flow import assemble, evaluate
from explorer.kernels.event_driven.records import CONTACTS, DRIFT, PENALTY, PROJECTED
from explorer.kernels.event_driven.structures import Problem
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["constrained", "held_constraints", "hold", "holds", "project", "projected"]

MOST = 8  # corrections of the positions
DONE = 1e-15  # of the size of the coordinates
DEPENDENT = 1e-8  # of a row of G that is left beside the others


@kernel(inline=True)
def constrained(problem: Problem) -> bool:
    """Whether there are constraints that states are kept on."""
    count = problem.sizes.rows - problem.sizes.n_c - problem.sizes.n_t
    return count > 0 and problem.state[0].form != PENALTY


@kernel(inline=True)
def projected(problem: Problem) -> bool:
    """Whether every stage of a step is put on its constraints."""
    return constrained(problem) and problem.state[0].form == PROJECTED


@kernel(inline=True)
def held_constraints(problem: Problem) -> int:
    """Return how many constraints are held."""
    held = 0
    for c in range(problem.sizes.n_c + problem.sizes.n_t, problem.sizes.rows):
        held += problem.rows[c].closed
    return held


@kernel(inner=True)
def set_state(problem: Problem, t: float, y: Vector) -> None:
    """Write (t, q, v) to the input of the functions."""
    problem.inp[0] = t
    for i in range(problem.sizes.n_x):
        problem.inp[1 + i] = y[i]


@kernel(inner=True)
def correction(problem: Problem, size: int) -> None:
    """Overwrite the residuals behind the coordinates in `tangent` by what puts them right."""
    saddle, n = problem.saddle, problem.sizes.n
    for i in range(n):
        saddle.tangent[i] = 0.0
    lu_solve(saddle.W, size, size - 1, size - 1, saddle.pivots, saddle.tangent)


@kernel(inner=True)
def residuals(problem: Problem, level: int) -> float:
    """Write -phi (level 0) or -phi' (1) of the constraints held to `tangent`; return the largest.

    The outputs of CONTACTS stand in `out`, the state in `inp`.
    """
    n, count, first = problem.sizes.n, problem.sizes.rows, problem.sizes.n_c + problem.sizes.n_t
    inp, out, right = problem.inp, problem.out, problem.saddle.tangent
    size, worst = n, 0.0
    for c in range(first, count):
        if problem.rows[c].closed == 1:
            total = out[level * count + c]
            if level == 1:
                for j in range(n):
                    total += out[2 * count + c * n + j] * inp[1 + n + j]
            right[size] = -total
            worst = max(worst, abs(total))
            size += 1
    return worst


@kernel(inner=True)
def project_columns(problem: Problem, y: Vector, size: int, width: int) -> None:
    """Put the sensitivities right; `W` holds the factors at the state in `inp`."""
    n, nr, nx, count = problem.sizes.n, problem.sizes.n_rho, problem.sizes.n_x, problem.sizes.rows
    first, out, rows = problem.sizes.n_c + problem.sizes.n_t, problem.out, problem.rows
    right, wrt = problem.saddle.tangent, problem.wrt
    n_phi, table, inp = count - first, problem.functions.table, problem.inp
    by_q, by_rho = n_phi * nr, n_phi * (nr + n)
    for k in range(width):
        at, w = (k + 1) * (nx + 1), wrt[k]
        for level in range(2):
            evaluate(table, CONTACTS, inp, out)
            held = n
            for c in range(first, count):
                if rows[c].closed == 1:
                    total = 0.0
                    for j in range(n):
                        total -= out[2 * count + c * n + j] * y[at + level * n + j]
                    right[held] = total
                    held += 1
            evaluate(table, DRIFT, inp, out)
            held = n
            for c in range(n_phi):
                if rows[first + c].closed == 1:
                    if level == 1:
                        for j in range(n):
                            right[held] -= out[by_q + c * n + j] * y[at + j]
                    if w >= 0:
                        right[held] -= out[level * by_rho + c * nr + w]
                    held += 1
            correction(problem, size)
            for j in range(n):
                y[at + level * n + j] += right[j]


@kernel(inner=True)
def project(problem: Problem, t: float, y: Vector, width: int) -> int:
    """Put (q, v) in `y` and the first `width` columns on the constraints that are held."""
    n, saddle, first = problem.sizes.n, problem.saddle, problem.sizes.n_c + problem.sizes.n_t
    table, inp, out = problem.functions.table, problem.inp, problem.out
    set_state(problem, t, y)
    size = n + held_constraints(problem)
    if size == n:
        return SUCCESS
    if eliminate(problem):
        evaluate(table, CONTACTS, inp, out)
    else:
        assemble(problem, first)
        if lu_factor(saddle.W, size, size - 1, size - 1, saddle.pivots) != 0:
            return SINGULAR
    before, reach = np.inf, 0.0
    for i in range(n):
        reach = max(reach, abs(y[i]))
    for _ in range(MOST):
        off = residuals(problem, 0)
        if off <= DONE * reach or not off < 0.5 * before:
            break
        before = off
        correction(problem, size)
        for i in range(n):
            y[i] += saddle.tangent[i]
        set_state(problem, t, y)
        evaluate(table, CONTACTS, inp, out)
    residuals(problem, 1)
    correction(problem, size)
    for i in range(n):
        y[n + i] += saddle.tangent[i]
    set_state(problem, t, y)
    if width > 0:
        project_columns(problem, y, size, width)
    return SUCCESS


@kernel(inline=True)
def holds(problem: Problem, c: int) -> bool:
    """Whether constraint `c` holds on the present sides of the changes."""
    link = problem.links[c]
    return link.change < 0 or link.sign * problem.changes[link.change].side > 0


@kernel(inner=True)
def hold(problem: Problem, t: float, y: Vector) -> int:
    """Hold the constraints that hold at (t, y), but for those that follow from the ones before.

    Returns the number of a constraint without a gradient, which holds nothing, or -1.

    A row counts as dependent where nothing but round-off of it is left beside the others (Gram and
    Schmidt, twice). The penalty formulation holds all.
    """
    n, count, first = problem.sizes.n, problem.sizes.rows, problem.sizes.n_c + problem.sizes.n_t
    out, W, rows = problem.out, problem.saddle.W, problem.rows
    set_state(problem, t, y)
    evaluate(problem.functions.table, CONTACTS, problem.inp, out)
    held = 0
    problem.state[0].dependent = 0
    for c in range(first, count):
        rows[c].closed = 0
        if not holds(problem, c - first):
            continue
        whole, left = 0.0, 0.0
        for j in range(n):
            W[held, j] = out[2 * count + c * n + j]
            whole += W[held, j] ** 2
        for _ in range(2):
            for k in range(held):
                total = 0.0
                for j in range(n):
                    total += W[k, j] * W[held, j]
                for j in range(n):
                    W[held, j] -= total * W[k, j]
        for j in range(n):
            left += W[held, j] ** 2
        if not whole > 0.0:
            return c - first
        independent = left > DEPENDENT**2 * whole
        rows[c].closed = 1 if independent or problem.state[0].form == PENALTY else 0
        if independent:
            for j in range(n):
                W[held, j] /= np.sqrt(left)
            held += 1
        else:
            problem.state[0].dependent += 1
    problem.state[0].held = held_constraints(problem)
    for c in range(first):
        problem.state[0].held += rows[c].closed
    return -1
