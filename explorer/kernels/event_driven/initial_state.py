"""The start of a run: the model's own formulas for what is not given; whether it makes sense."""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.change_constraints import first_sides
from explorer.kernels.event_driven.flow import evaluate
from explorer.kernels.event_driven.manifold import holds
from explorer.kernels.event_driven.records import CONTACTS, ProgressRow
from explorer.kernels.event_driven.structures import Contacts, Options, Problem
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["begin"]

# what makes no sense, beside a status
NOT_FINITE, RESTITUTION, INSIDE, FRICTION = -1, -2, -3, -4
UNMADE = -5  # nothing yet: a mode that nobody has compiled
VIOLATED, WITHOUT_GRADIENT = -6, -7
DEEP = 1e-9  # a gap this far below zero is no round-off
OFF = 1e-6  # nor is a constraint this far from it, or its rate beside the speeds


@kernel(inner=True)
def begin(
    problem: Problem, contacts: Contacts, options: Options, y: Vector, run: ProgressRow
) -> int:
    """Complete y, e and de/drho at t = 0 by the last function, the model's start.

    `inp` holds the parameters and nothing else. Returns SUCCESS; NOT_FINITE, a state is not finite;
    RESTITUTION, not 0 <= e <= 1; INSIDE, a gap is below zero; FRICTION, not 0 <= mu <= mu_s;
    VIOLATED, a constraint or its rate is not zero. The progress names the contact at fault.
    """
    nx, n, nc, nr = problem.sizes.n_x, problem.sizes.n, problem.sizes.n_c, problem.sizes.n_rho
    rows, table, inp, out = problem.sizes.rows, problem.functions.table, problem.inp, problem.out
    e, e_rho, width, wrt = contacts.e, contacts.e_rho, options.columns, problem.wrt
    block = nx + 1
    evaluate(table, table.size - 1, inp, out)
    by_rho = nx + nc
    for i in range(nx):
        if not options.given_state:
            y[i] = out[i]
        if not np.isfinite(y[i]):
            return NOT_FINITE
    for k in range(width):
        w = wrt[k]
        for i in range(nx):
            if not options.given_seeds:
                y[(k + 1) * block + i] = out[by_rho + i * nr + w] if w >= 0 else 0.0
    for k in range(width + 1):
        y[k * block + nx] = 0.0
    for c in range(nc):
        e[c] = out[nx + c]
        for k in range(nr):
            e_rho[c, k] = out[by_rho + (nx + c) * nr + k]
    if rows == 0:
        return SUCCESS
    for i in range(nx):
        inp[1 + i] = y[i]
    evaluate(table, CONTACTS, inp, out)
    for c in range(nc):
        run[0].at = c
        if not 0.0 <= e[c] <= 1.0:
            return RESTITUTION
        if out[c] < -DEEP:
            return INSIDE
    at, mus = rows * (n + 3), problem.sizes.n_t
    for k in range(mus):
        run[0].at = k
        if not 0.0 <= out[at + k] <= out[at + mus + k] < np.inf:
            return FRICTION
    fast = 0.0
    for i in range(n, 2 * n):
        fast = max(fast, abs(y[i]))
    if problem.sizes.n_w > 0:
        first_sides(problem, y, options.band)
        evaluate(table, CONTACTS, inp, out)
    for c in range(nc + mus, rows):
        if not holds(problem, c - nc - mus):
            continue
        rate = out[rows + c]
        for i in range(n):
            rate += out[2 * rows + c * n + i] * y[n + i]
        if not (abs(out[c]) <= OFF and abs(rate) <= OFF * (1.0 + fast)):
            return VIOLATED
    return SUCCESS
