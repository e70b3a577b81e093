"""Whether the points of a run on a section have come to a known attractor."""

from typing import NamedTuple

import numpy as np

from explorer.kernels.event_driven.records import TrackRow
from explorer.kernels.members import ESCAPED, FREE
from explorer.kernels.references import kernel, refer
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["Known", "caught_by", "caught_in"]


class Known(NamedTuple):
    """Attractors by their points on a section, each with a ball that belongs to its basin."""

    points: Matrix  # (m, n_x)
    owner: Integers  # (m,) attractor
    radius: Vector  # (m,) of the ball around each point, in parts of `scale`
    hits: Integers  # (m,) how many points in a row must lie in balls of this attractor
    scale: Vector  # (n_x,) of each state
    low: Vector  # (n_x,) a box; who stays outside has escaped
    high: Vector
    lost: int  # how many points in a row lie outside of one that has escaped; 0: nothing is asked


@kernel(inner=True)
def caught_by(known: Known, point: Vector, track: TrackRow) -> int:
    """Return the attractor that has caught a run, FREE or ESCAPED.

    `track` goes from point to point: the attractor that the last point was next to, for how many
    points in a row, and how many lay outside the box.
    """
    n, near, least = known.scale.size, FREE, np.inf
    outside = False
    for m in range(n):
        outside = outside or not (known.low[m] <= point[m] <= known.high[m])
    track[0].outside = track[0].outside + 1 if outside else 0
    if track[0].outside >= known.lost:
        return ESCAPED
    for i in range(known.owner.size):
        total = 0.0
        for m in range(n):
            part = (point[m] - known.points[i, m]) / known.scale[m]
            total += part * part
        if total <= known.radius[i] * known.radius[i] and total < least:
            near, least = i, total
    if near == FREE:
        track[0].near, track[0].streak = FREE, 0
        return FREE
    owner = known.owner[near]
    track[0].streak = track[0].streak + 1 if track[0].near == owner else 1
    track[0].near = owner
    return owner if track[0].streak >= known.hits[near] else FREE


@kernel()
def caught_in(known: Known, points: Matrix, track: TrackRow) -> tuple[int, int]:
    """Return the attractor that catches a run with these points (k, n_x), and which point it is."""
    known = refer(known)
    track[0].near, track[0].streak, track[0].outside = FREE, 0, 0
    for i in range(points.shape[0]):
        found = caught_by(known, points[i], track)
        if found != FREE:
            return found, i
    return FREE, points.shape[0]
