"""Many starts of a search: where they lie, and how many of them end in the best minimum.

A descent knows the valley in which it began. Latin hypercube samples (McKay, Beckman and Conover,
Technometrics 21 (1979) 239, doi:10.2307/1268522) put one start into every k-th part of each
parameter's range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.optimise.search import Search
from explorer.parameters import whole

__all__ = ["Start", "known", "starting_points"]

_SAME = 1e-3  # of a parameter's range: two ends this close are one minimum,
_LIKE = 1e-4  # and so are two of costs this close, relative, along a valley that is flat


@dataclass(frozen=True)
class Start:
    """One descent of several.

    Attributes
    ----------
    start, parameters : dict by name, where it began and where it ended
    cost : float, inf if there is no run at the start
    success : bool
    message : str
    """

    start: dict[str, float]
    parameters: dict[str, float]
    cost: float
    success: bool
    message: str


def starting_points(search: Search, count: int, seed: int) -> np.ndarray:
    """Return (count, p) starts: that of the search, then a Latin hypercube over the bounds.

    A side that is open lies one scale from the start. A parameter with a logarithmic range is
    sampled evenly in its logarithm.

    Raises
    ------
    BadValue
        If the count is not a whole number from 1.
    """
    k, p = whole(count, "starts") - 1, len(search.start)
    if not k:
        return search.start[None]
    rng = np.random.default_rng(seed)
    rows = np.tile(np.arange(k), (p, 1))
    u = (rng.permuted(rows, axis=1).T + rng.random((k, p))) / k
    low = np.where(np.isfinite(search.low), search.low, search.start - search.scale)
    high = np.where(np.isfinite(search.high), search.high, search.start + search.scale)
    points = low + u * (high - low)
    for j, name in enumerate(search.question.wrt):
        param = search.question.system.parameters.get(name)
        if param is not None and param.log and low[j] > 0:
            points[:, j] = low[j] * (high[j] / low[j]) ** u[:, j]
    return np.vstack([search.start, points])


def known(search: Search, starts: Sequence[Start], best: Start) -> str:
    """Return what several descents say of the best: how many ended there, and elsewhere."""
    if len(starts) == 1:
        return ""
    place = np.array(list(best.parameters.values()))

    def same(other: Start) -> bool:
        away = np.abs(np.array(list(other.parameters.values())) - place) / search.scale
        near = abs(other.cost - best.cost) <= _LIKE * abs(best.cost)
        return bool(away.max() <= _SAME or (near and away.max() <= 0.05))

    ran = [s for s in starts if np.isfinite(s.cost)]
    agree = sum(same(s) for s in ran)
    lost = len(starts) - len(ran)
    without = f", {lost} failed" if lost else ""
    return f"the best of {len(starts)} starts; {agree} of them end there{without}"
