"""The derivatives of the reset of an impact, from the saddle system over the rows it holds.

With impulses as inputs I = M dv - G' p and B = G v+ + gap_t + e (G v- + gap_t) vanish, so the
factors of the saddle matrix give d(dv)/d(x, rho, t) from their derivatives (Corner et al. 2019,
eq. (15), at the level of impulses).
"""

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.flow import assemble, evaluate
from explorer.kernels.event_driven.records import IMPACT
from explorer.kernels.event_driven.structures import Contacts, Event, Problem
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.references import kernel

__all__ = ["impact_derivative"]


@kernel(inner=True)
def impact_derivative(problem: Problem, contacts: Contacts, event: Event) -> int:
    """Write h_x, h_rho and h_t of an impact, whose dv and impulses are known.

    Impulses are inputs then, those of a sliding tangent by its sigma.
    """
    nx, n, nc, nr = problem.sizes.n_x, problem.sizes.n, problem.sizes.n_c, problem.sizes.n_rho
    count, inp, out, rows = problem.sizes.rows, problem.inp, problem.out, problem.rows
    W, pivots, right = problem.saddle.W, problem.saddle.pivots, problem.saddle.tangent
    row, at, e, e_rho = event.row, event.at, contacts.e_now, contacts.e_rho
    for c in range(count):
        inp[problem.sizes.lam + c] = row[at.p + c] if rows[c].closed == 1 else 0.0
    for k in range(problem.sizes.n_t):
        inp[problem.sizes.sigma + k] = rows[nc + k].sigma
    size = assemble(problem, 0)
    if lu_factor(W, size, size - 1, size - 1, pivots) != 0:
        return SINGULAR
    evaluate(problem.functions.table, IMPACT, inp, out)
    first = n * (nx + nr + 1)
    for d in range(nx + nr + 1):
        for i in range(n):
            if d < n:
                right[i] = -out[i * n + d]
            elif d < nx:
                right[i] = -out[n * n + i * n + d - n]
            elif d < nx + nr:
                right[i] = -out[2 * n * n + i * nr + d - nx]
            else:
                right[i] = -out[2 * n * n + n * nr + i]
        place = n
        for c in range(count):
            if rows[c].closed == 1:
                if d < n:
                    right[place] = -out[first + c * n + d]
                elif d < nx:
                    right[place] = -out[first + count * n + c * n + d - n]
                elif d < nx + nr:
                    right[place] = -out[first + 2 * count * n + c * nr + d - nx]
                    if c < nc and e[c] > 0.0:
                        right[place] -= contacts.rows[c].speed * e_rho[c, d - nx]
                else:
                    right[place] = -out[first + 2 * count * n + count * nr + c]
                place += 1
        lu_solve(W, size, size - 1, size - 1, pivots, right)
        for i in range(n):
            if d < nx:
                row[at.h_x + (n + i) * nx + d] += right[i]
            elif d < nx + nr:
                row[at.h_rho + (n + i) * nr + d - nx] = right[i]
            else:
                row[at.h_t + n + i] = right[i]
    return SUCCESS
