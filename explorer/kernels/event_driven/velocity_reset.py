"""An impact whose law gives the velocities of independent coordinates behind it.

v+ of the coordinates that the law names is h(t, q, v-, rho); the others follow from the constraints
(Corner et al. 2019, eq. (70)-(72) and (80))::

    [E; G] v+ = (h; -phi_t),   M (v+ - v-) = E' p + G' p_phi

with the unit rows E of these coordinates, so the impulses are those that act on them. The
derivatives are those of this equation on all coordinates (the form of eq. (90) that eq. (91) should
have), and the rows of the constraints then hold by themselves.

Status: SUCCESS; SINGULAR, the named coordinates are not independent here, or too few or too many.
"""

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.flow import evaluate
from explorer.kernels.event_driven.manifold import held_constraints
from explorer.kernels.event_driven.records import CONTACTS, DRIFT, DYNAMICS
from explorer.kernels.event_driven.saltation import identity
from explorer.kernels.event_driven.structures import Contacts, Event, Problem
from explorer.kernels.event_driven.transposed import transposed_solve
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.references import kernel

__all__ = ["reset_velocities"]


@kernel(inner=True)
def rows_of_law(problem: Problem, contact: int) -> int:
    """Write [E; G] to W and (., -phi_t) to `solution`; return how many coordinates are named."""
    n, count, first = problem.sizes.n, problem.sizes.rows, problem.sizes.n_c + problem.sizes.n_t
    W, right, out, resets = problem.saddle.W, problem.saddle.solution, problem.out, problem.resets
    evaluate(problem.functions.table, CONTACTS, problem.inp, out)
    named = 0
    for i in range(n):
        if resets[contact, 1 + i] == 1:
            for j in range(n):
                W[named, j] = 1.0 if i == j else 0.0
            named += 1
    size = named
    for c in range(first, count):
        if problem.rows[c].closed == 1:
            for j in range(n):
                W[size, j] = out[2 * count + c * n + j]
            right[size] = -out[count + c]
            size += 1
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
    along, size, named = 0.0, 0.0, 0
    for i in range(n):
        if resets[contact, 1 + i] == 1:
            slope = out[2 * count + contact * n + i]
            along += slope * p[named]
            size += slope * slope
            named += 1
    row[at.p + contact] = along / size if size > 0.0 else 0.0
    for c in range(first, count):
        if problem.rows[c].closed == 1:
            row[at.p + c] = p[named]
            named += 1


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
        if resets[contact, 1 + i] == 1:
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
            if resets[contact, 1 + i] == 1:
                if d < nx:
                    right[k] = row[at.h_x + (n + i) * nx + d]
                elif d < nx + nr:
                    right[k] = row[at.h_rho + (n + i) * nr + d - nx]
                else:
                    right[k] = row[at.h_t + n + i]
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
    if named + held_constraints(problem) != n:
        return SINGULAR
    evaluate(problem.functions.table, problem.resets[contact, 0], inp, out)
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
