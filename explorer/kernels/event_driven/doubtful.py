"""Whether anything in a run speaks against its derivatives: grazing, meetings, near misses.

A run has some events, nearly all of them plain; this tells so at once, and looks no further.
"""

from typing import NamedTuple

import numpy as np

from explorer.kernels.event_driven.records import CHAINED, EventRows, WatchRows
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["GRAZES", "MEETS", "NEAR", "Limits", "doubtful"]

GRAZES, MEETS, NEAR = 1, 2, 4  # bits of what is doubtful


class Limits(NamedTuple):
    """What an event is judged by."""

    rtol: float
    atol: float
    t_end: float  # s
    band: float  # a guard this close to zero has been reached
    safe: float  # the grazing margin that is


@kernel(inline=True)
def margin(event: EventRows, x: Vector, r_x: Vector, way: int, limits: Limits) -> float:
    """Return the grazing margin of an event, event[0].

    The depth D^2 / (2 r'') to which the guard would turn beyond its zero, over the error
    |r_x| (atol + rtol |x|) that the tolerances leave in it: 0 where it is crossed against its
    direction `way`, infinite where it does not turn back.
    """
    slope, bend = event[0].D, event[0].bend
    if event[0].how > 0:
        return np.inf
    if slope * way <= 0.0 and way != 0 and bend != 0.0:
        return 0.0
    error = 0.0
    for i in range(x.size):
        error += abs(r_x[i]) * (limits.atol + limits.rtol * abs(x[i]))
    if slope * bend < 0.0 and error > 0.0:
        return slope * slope / (2.0 * abs(bend)) / error
    return np.inf


@kernel()
def doubtful(
    head: EventRows,
    parts: Matrix,
    x: int,
    r_x: int,
    n_x: int,
    steps: Matrix,
    watch: WatchRows,
    ways: Integers,
    limits: Limits,
    margins: Vector,
) -> int:
    """Return what is doubtful, as bits, and write the grazing margin of every event.

    MEETS: another event, the start or the end is so near that the order may decide.

    Parameters
    ----------
    head, watch : as `explorer.kernels.event_driven.march` leaves them
    parts : (events, ...) numbers of each event, the state before and r_x from these places on
    steps : (steps, >= n_x) state at the start of each
    ways : (guards,) direction of each guard, as the events number them
    limits : what they are judged by
    margins : (events,)
    """
    band, doubts = limits.band, 0
    for k in range(head.size):
        slope, how, way = head[k].D, head[k].how, ways[head[k].guard]
        event, row = head[k : k + 1], parts[k]
        margins[k] = margin(event, row[x : x + n_x], row[r_x : r_x + n_x], way, limits)
        if margins[k] < limits.safe or (how < CHAINED and not abs(slope) > 0.0):
            doubts |= GRAZES
        if how == CHAINED:
            continue
        together = head[k].together > 1
        edge = (limits.t_end - head[k].t) * abs(slope) <= band or (how == 1 and k == 0)
        beside = k > 0 and (head[k].t - head[k - 1].t) * abs(slope) <= band
        if together or edge or beside:
            doubts |= MEETS
    miss = np.inf
    for j in range(watch.size):
        miss = min(miss, watch[j].nearest)
    if miss < np.inf:
        size = 1.0
        for i in range(steps.shape[0]):
            for m in range(n_x):
                size = max(size, abs(steps[i, m]))
        if miss < limits.safe * (limits.atol + limits.rtol * size):
            doubts |= NEAR
    return doubts
