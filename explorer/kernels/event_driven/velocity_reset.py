"""An impact whose law gives the velocities of independent coordinates behind it.

v+ of the coordinates that the law names is h(t, q, v-, rho); the others follow from the constraints
(Corner et al. 2019, eq. (70)-(72) and (80))::

    [E; G] v+ = (h; -phi_t),   M (v+ - v-) = E' p + G' p_phi

with the unit rows E of these coordinates, so the impulses are those that act on them. If the law
names fewer than are independent, the others are chosen by pivoting of phi_q and keep their
velocities. The derivatives are those of this equation on all coordinates (the form of eq. (90) that
eq. (91) should have), and the rows of the constraints then hold by themselves.

Status: SUCCESS; SINGULAR, the named coordinates are not independent here, or too many.
"""

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.flow import evaluate
from explorer.kernels.event_driven.records import CONTACTS, DRIFT, DYNAMICS
from explorer.kernels.event_driven.saltation import identity
from explorer.kernels.event_driven.structures import Contacts, Event, Problem
from explorer.kernels.event_driven.transposed import transposed_solve
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Matrix

__all__ = ["keep_others", "reset_velocities"]

DEPENDENT, NAMED, KEPT = 0, 1, 2
NONE_LEFT = 1e-10  # of the largest entry of phi_q


@kernel()
def keep_others(G: Matrix, held: int, marks: Integers) -> int:
    """Choose which of the coordinates that are not NAMED depend on the others; the rest is KEPT.

    Gaussian elimination with complete pivoting of the first `held` rows of G (., n), which it
    overwrites. Returns how many are kept, or -1 if the named ones leave no choice.
    """
    n, largest, kept = marks.size, 0.0, 0
    for i in range(n):
        marks[i] = NAMED if marks[i] == NAMED else KEPT
        for s in range(held):
            largest = max(largest, abs(G[s, i]))
    for s in range(held):
        row, column = s, -1
        for r in range(s, held):
            for j in range(n):
                if marks[j] == KEPT and (column < 0 or abs(G[r, j]) > abs(G[row, column])):
                    row, column = r, j
        if column < 0 or not abs(G[row, column]) > NONE_LEFT * largest:
            return -1
        marks[column] = DEPENDENT
        for j in range(n):
            G[s, j], G[row, j] = G[row, j], G[s, j]
        for r in range(s + 1, held):
            factor = G[r, column] / G[s, column]
            for j in range(n):
                G[r, j] -= factor * G[s, j]
    for i in range(n):
        kept += marks[i] == KEPT
    return kept


@kernel(inner=True)
def constraint_rows(problem: Problem, at: int) -> int:
    """Write G of the constraints that are held to W from row `at`, and -phi_t to `solution`.

    The outputs of CONTACTS stand in `out`. Returns the row behind them.
    """
    n, count, first = problem.sizes.n, problem.sizes.rows, problem.sizes.n_c + problem.sizes.n_t
    W, right, out = problem.saddle.W, problem.saddle.solution, problem.out
    for c in range(first, count):
        if problem.rows[c].closed == 1:
            for j in range(n):
                W[at, j] = out[2 * count + c * n + j]
            right[at] = -out[count + c]
            at += 1
    return at


@kernel(inner=True)
def rows_of_law(problem: Problem, contact: int) -> int:
    """Write [E; G] to W, of E the named rows first, and -phi_t to `solution`.

    Returns how many coordinates are named, or -1 if they are not independent.
    """
    n, W, marks = problem.sizes.n, problem.saddle.W, problem.resets[contact, 1:]
    evaluate(problem.functions.table, CONTACTS, problem.inp, problem.out)
    if keep_others(W, constraint_rows(problem, 0), marks) < 0:
        return -1
    at, named = 0, 0
    for mark in (NAMED, KEPT):
        for i in range(n):
            if marks[i] == mark:
                for j in range(n):
                    W[at, j] = 1.0 if i == j else 0.0
                at += 1
        if mark == NAMED:
            named = at
    constraint_rows(problem, at)
    return named


@kernel(inner=True)
def law_impulses(problem: Problem, contacts: Contacts, event: Event, contact: int) -> None:
    """Write the impulses: of the constraints, and of the contact what acts along its gap."""
    n, count, first = problem.sizes.n, problem.sizes.rows, problem.sizes.n_c + problem.sizes.n_t
    inp, out, saddle, resets = problem.inp, problem.out, problem.saddle, problem.resets
    row, at, p = event.row, event.at, saddle.tangent
    evaluate(problem.functions.table, DYNAMICS, inp, out)
    for i in range(n):
        p[i] = 0.0
        for j in range(n):
            p[i] += out[i * n + j] * (row[at.x_plus + n + j] - row[at.x_minus + n + j])
    transposed_solve(saddle.W, n, saddle.pivots, p)
    evaluate(problem.functions.table, CONTACTS, inp, out)
    along, size, k = 0.0, 0.0, 0
    for mark in (NAMED, KEPT):
        for i in range(n):
            if resets[contact, 1 + i] == mark:
                slope = out[2 * count + contact * n + i]
                along += slope * p[k]
                size += slope * slope
                k += 1
    row[at.p + contact] = along / size if size > 0.0 else 0.0
    for c in range(first, count):
        if problem.rows[c].closed == 1:
            row[at.p + c] = p[k]
            k += 1


@kernel(inner=True)
def law_derivative(problem: Problem, event: Event, contact: int, named: int) -> None:
    """Write h_x, h_rho and h_t of all velocities; `W` holds the factors of [E; G]."""
    nx, n, nr = problem.sizes.n_x, problem.sizes.n, problem.sizes.n_rho
    first, n_phi = problem.sizes.n_c + problem.sizes.n_t, problem.sizes.rows
    n_phi -= first
    inp, out, saddle, resets = problem.inp, problem.out, problem.saddle, problem.resets
    row, at, right, table = event.row, event.at, saddle.tangent, problem.functions.table
    evaluate(table, resets[contact, 0], inp, out)
    k = 0
    for i in range(n):  # of the named ones they wait in their own places
        if resets[contact, 1 + i] == NAMED:
            row[at.h_t + n + i] = out[named + k]
            for d in range(nx):
                row[at.h_x + (n + i) * nx + d] = out[2 * named + k * nx + d]
            for d in range(nr):
                row[at.h_rho + (n + i) * nr + d] = out[2 * named + named * nx + k * nr + d]
            k += 1
    for i in range(n):
        inp[1 + n + i] = row[at.x_plus + n + i]
    evaluate(table, DRIFT, inp, out)
    by_q, by_rho = n_phi * nr, n_phi * (nr + n)
    for d in range(nx + nr + 1):
        k = 0
        for i in range(n):
            if resets[contact, 1 + i] == NAMED:
                if d < nx:
                    right[k] = row[at.h_x + (n + i) * nx + d]
                elif d < nx + nr:
                    right[k] = row[at.h_rho + (n + i) * nr + d - nx]
                else:
                    right[k] = row[at.h_t + n + i]
                k += 1
        for i in range(n):
            if resets[contact, 1 + i] == KEPT:
                right[k] = 1.0 if d == n + i else 0.0
                k += 1
        for c in range(n_phi):
            if problem.rows[first + c].closed == 1:
                right[k] = 0.0
                if d < n:
                    right[k] = -out[by_q + c * n + d]
                elif nx <= d < nx + nr:
                    right[k] = -out[by_rho + c * nr + d - nx]
                elif d == nx + nr:
                    right[k] = -out[by_rho + n_phi * nr + c]
                k += 1
        lu_solve(saddle.W, n, n - 1, n - 1, saddle.pivots, right)
        for i in range(n):
            if d < nx:
                row[at.h_x + (n + i) * nx + d] = right[i]
            elif d < nx + nr:
                row[at.h_rho + (n + i) * nr + d - nx] = right[i]
            else:
                row[at.h_t + n + i] = right[i]


@kernel(inner=True)
def reset_velocities(
    problem: Problem, contacts: Contacts, event: Event, slopes: bool, contact: int
) -> int:
    """Fill the reset of an impact of `contact` by the law of its velocities."""
    n, count, inp, out = problem.sizes.n, problem.sizes.rows, problem.inp, problem.out
    saddle, row, at = problem.saddle, event.row, event.at
    identity(problem.sizes, event)
    event.head[0].together = 1
    for c in range(count):
        row[at.p + c] = 0.0
        contacts.rows[c].prior = problem.rows[c].closed
    named = rows_of_law(problem, contact)
    if named < 0:
        return SINGULAR
    evaluate(problem.functions.table, problem.resets[contact, 0], inp, out)
    k = named
    for i in range(n):
        if problem.resets[contact, 1 + i] == KEPT:
            saddle.solution[k] = inp[1 + n + i]
            k += 1
    for k in range(named):
        saddle.solution[k] = out[k]
    if lu_factor(saddle.W, n, n - 1, n - 1, saddle.pivots) != 0:
        return SINGULAR
    lu_solve(saddle.W, n, n - 1, n - 1, saddle.pivots, saddle.solution)
    for i in range(n):
        row[at.x_plus + n + i] = saddle.solution[i]
    law_impulses(problem, contacts, event, contact)
    if slopes:
        law_derivative(problem, event, contact, named)
    return SUCCESS
