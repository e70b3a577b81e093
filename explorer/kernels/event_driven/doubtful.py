"""Whether anything in a run speaks against its derivatives: grazing, meetings, near misses.

A run has some events, nearly all of them plain; this tells so at once, and looks no further.
"""

import numpy as np

from explorer.kernels.event_driven.saltation import BEND, F_MINUS, R_X, X_MINUS, D, T
from explorer.kernels.jit import kernel

__all__ = ["GRAZES", "MEETS", "NEAR", "doubtful"]

GRAZES, MEETS, NEAR = 1, 2, 4  # bits of what is doubtful
CHAINED = 2  # an event beyond its zero, caused by the one before


@kernel(
    "int64(float64[:, ::1], int64[:, ::1], int64[::1], int64[::1], float64[:, ::1],"
    " float64[:, ::1], float64[::1], float64[::1])"
)
def doubtful(record, kinds, lay, ways, steps, watch, knobs, margins):
    """Return what is doubtful, as bits, and write the grazing margin of every event.

    The margin is the depth D^2 / (2 r'') to which the guard would turn beyond its zero, over the
    error |r_x| (atol + rtol |x|) that the tolerances leave in it: 0 where it is crossed against its
    direction, infinite where it does not turn back. MEETS: another event, the start or the end is
    so near that the order may decide.

    Parameters
    ----------
    record, kinds, lay, steps, watch : as `explorer.kernels.event_driven.march` leaves them
    ways : (guards,) direction of each guard; empty of a mechanical system, where gaps fall
    knobs : rtol, atol, the end of the run, the band of a zero, the margin that is safe
    margins : (events,)
    """
    rtol, atol, t_end, band, safe = knobs[0], knobs[1], knobs[2], knobs[3], knobs[4]
    nx, found = lay[F_MINUS] - lay[X_MINUS], 0
    nx = nx // 2 - 1  # X_MINUS, X_PLUS, with the running cost
    for k in range(record.shape[0]):
        slope, bend = record[k, D], record[k, BEND]
        how, way = kinds[k, 6], -1
        if ways.size > 0:
            way = ways[kinds[k, 0]]
        error = 0.0
        for i in range(nx):
            x = abs(record[k, lay[X_MINUS] + i])
            error += abs(record[k, lay[R_X] + i]) * (atol + rtol * x)
        margin = np.inf
        if slope * bend < 0.0:
            margin = slope * slope / (2.0 * abs(bend)) / error if error > 0.0 else np.inf
        if slope * way <= 0.0 and way != 0 and bend != 0.0:
            margin = 0.0
        if how > 0:
            margin = np.inf
        margins[k] = margin
        if margin < safe or (how != CHAINED and not abs(slope) > 0.0):
            found |= GRAZES
        if how == CHAINED:
            continue
        together = ways.size == 0 and kinds[k, 5] > 1
        edge = (t_end - record[k, T]) * abs(slope) <= band or (how == 1 and k == 0)
        beside = k > 0 and (record[k, T] - record[k - 1, T]) * abs(slope) <= band
        if together or edge or beside:
            found |= MEETS
    miss = np.inf
    for j in range(watch.shape[0]):
        miss = min(miss, watch[j, 3])
    if miss < np.inf:
        size = 1.0
        for i in range(steps.shape[0]):
            for m in range(nx):
                size = max(size, abs(steps[i, 2 + m]))
        if miss < safe * (atol + rtol * size):
            found |= NEAR
    return found
