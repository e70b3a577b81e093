"""The start of a run: the model's own formulas for what is not given; whether it makes sense."""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import CON, NC, NR, NX, PROBLEM, ROWS, WRT, N
from explorer.kernels.jit import call, kernel

__all__ = ["begin"]

# what is given, as bits
GIVEN_STATE, GIVEN_SEEDS = 1, 2
# what makes no sense, beside a status
NOT_FINITE, RESTITUTION, INSIDE, FRICTION = -1, -2, -3, -4
UNMADE = -5  # nothing yet: a mode that nobody has compiled
DEEP = 1e-9  # a gap this far below zero is no round-off


@kernel(
    f"int64({PROBLEM}, float64[::1], float64[::1], float64[:, ::1], int64, int64, int64[::1])",
    inner=True,
)
def begin(table, shape, inp, out, W, pivots, vec, state, y, e, e_rho, width, given, where):
    """Complete y, e and de/drho at t = 0 by the last bundle, the model's start; return a status.

    `inp` holds the parameters and nothing else. Of a start that makes no sense where[0] is the
    contact at fault.
    """
    nx, n, nc, nr, rows = shape[NX], shape[N], shape[NC], shape[NR], shape[ROWS]
    block, last = nx + 1, table.shape[0] - 1
    call(table[last, 0], table[last, 1], out, inp)
    by_rho = nx + nc
    for i in range(nx):
        if not given & GIVEN_STATE:
            y[i] = out[i]
        if not np.isfinite(y[i]):
            return NOT_FINITE
    for k in range(width):
        w = shape[WRT + k]
        for i in range(nx):
            if not given & GIVEN_SEEDS:
                y[(k + 1) * block + i] = out[by_rho + i * nr + w] if w >= 0 else 0.0
    for k in range(width + 1):
        y[k * block + nx] = 0.0
    for c in range(nc):
        e[c] = out[nx + c]
        for k in range(nr):
            e_rho[c, k] = out[by_rho + (nx + c) * nr + k]
    if nc == 0:
        return SUCCESS
    for i in range(nx):
        inp[1 + i] = y[i]
    call(table[CON, 0], table[CON, 1], out, inp)
    for c in range(nc):
        where[0] = c
        if not 0.0 <= e[c] <= 1.0:
            return RESTITUTION
        if out[c] < -DEEP:
            return INSIDE
    at, mus = rows * (n + 3), rows - nc
    for k in range(mus):
        where[0] = k
        if not 0.0 <= out[at + k] <= out[at + mus + k] < np.inf:
            return FRICTION
    return SUCCESS
