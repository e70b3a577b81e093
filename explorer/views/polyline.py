"""Curves as they are drawn: so few points that no more are seen, at a size and in a window.

A view gives a curve all points it has. What is drawn of them lies within `TOLERANCE` pixels of it;
of a curve that goes up and down more often than there are pixels, its extremes in each column of
pixels are. Outside the window that is looked at a curve is drawn coarsely, so that there is
something to see until the window has moved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from explorer.views.picture import OFF

__all__ = ["PANEL", "STATIC", "Box", "Look", "draw"]

TOLERANCE, ROUND = 0.7, 0.4  # px, of curves over time and of portraits
TURN = 2 * math.pi / 44  # of a phase portrait along one of its lines; 40 points a turn at least
_REACH = 12.0  # px between two points over time: what hovering can point at
_OUTSIDE = 0.3  # of the window: the width of what lies outside
_MANY = 2.2  # points a column, from which on a curve is given by its extremes
_APART = 3.0  # px between breaks that are seen one by one
_MOST, _USUAL = 1700, 180  # points of all curves of a phase portrait, if so wide (px) or wider


@dataclass(frozen=True)
class Look:
    """How large a picture is, and which part of it is looked at.

    Attributes
    ----------
    width, height : size of the whole figure in px
    ranges : of the axes that are zoomed, by their names ("xaxis2"): (from, to)
    zoom : how many times larger than whole something is drawn that is not over time
    """

    width: float
    height: float
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    zoom: float = 1.0


STATIC = Look(1200, 600)  # a figure in a notebook, as wide as it may become
PANEL = Look(560, 490)  # the plots of a panel in a window of 1280 x 720


@dataclass(frozen=True)
class Axis:
    """From values to pixels: what lies outside the window is pressed together.

    Attributes
    ----------
    low, high : the window, in values (their logarithms if `log`)
    size : its length in px
    """

    low: float
    high: float
    size: float
    log: bool = False

    def pixels(self, values: np.ndarray) -> np.ndarray:
        """Return where values (k,) lie, from 0 to `size` within the window."""
        values = np.asarray(values, float)
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.log10(values)
        at = (values - self.low) * (self.size / ((self.high - self.low) or 1.0))
        if not at.size:
            return at
        least, most = float(np.fmin.reduce(at)), float(np.fmax.reduce(at))
        if not (math.isfinite(least) and math.isfinite(most)):
            known = at[np.isfinite(at)]
            if not known.size:
                return at
            least, most = float(known.min()), float(known.max())
        room = _OUTSIDE * self.size
        below, above = max(-least, 0.0), max(most - self.size, 0.0)
        if below > room:
            at[at < 0] *= room / below
        if above > room:
            out = at > self.size
            at[out] = self.size + (at[out] - self.size) * (room / above)
        return at


@dataclass(frozen=True)
class Box:
    """The axes of a plot; `over_time`: its curves run from left to right."""

    x: Axis
    y: Axis
    over_time: bool


def draw(
    traces: list[dict[str, Any]], box: Box, shared: dict[Any, np.ndarray], *, double: bool = False
) -> float | None:
    """Give the curves among the traces of a plot the points to draw, in place.

    Parameters
    ----------
    traces : list
        Those made by `picture.curve` with `breaks`.
    box : Box
    shared : dict
        Arrays that several plots of a picture share.
    double : bool
        Whether single precision is too coarse for the window.

    Returns
    -------
    float or None
        The time from which on curves are drawn that go round too often to be drawn whole.
    """
    curves = [trace for trace in traces if "breaks" in trace]
    across = {id(t["x"]): box.x.pixels(t["x"]) for t in {id(t["x"]): t for t in curves}.values()}
    chosen = [_Chosen(trace, box, across[id(trace["x"])]) for trace in curves]
    since = -math.inf
    most = int(_MOST * min(box.x.size / _USUAL, 1.0))
    if not box.over_time and chosen:
        times = np.sort(np.concatenate([c.t[c.across] for c in chosen]))
        if len(times) > most:
            since = float(times[-most])
        for c in chosen if since > -math.inf else ():
            c.cut(since)
    kind = np.float64 if double else np.float32
    for trace, c in zip(curves, chosen, strict=True):
        trace["x"], trace["y"], t = c.points(shared, kind)
        if "t" in trace.get("meta", {}):
            trace["meta"] = {**trace["meta"], "t": t}
    return since if since > -math.inf else None


class _Chosen:
    """The points to draw of one curve: rows for x and y, and where the pen is lifted before."""

    def __init__(self, trace: dict[str, Any], box: Box, px: np.ndarray) -> None:
        from explorer.kernels.polyline import candidates, thin

        self.x, self.y, self.box = trace["x"], trace["y"], box
        self.t = trace.get("meta", {}).get("t", self.x)
        breaks, held = np.ascontiguousarray(trace.pop("breaks"), np.int64), trace.pop("held", True)
        self.px = np.ascontiguousarray(px)
        self.py = np.ascontiguousarray(box.y.pixels(self.y))
        n = len(self.px) + len(breaks)
        columns = box.over_time and n > 4 * box.x.size
        room = n + 8
        across, up, lift = np.empty(room, int), np.empty(room, int), np.empty(room, np.int8)
        n = candidates(self.px, self.py, breaks, held, columns, across, up, lift)
        self.all = across[:n], up[:n], lift[:n]
        kept = np.zeros(n, np.int8)
        how = (TOLERANCE, _REACH, math.inf) if box.over_time else (ROUND, math.inf, TURN)
        thin(self.px[across[:n]], self.py[up[:n]], lift[:n], *how, kept)
        at = np.flatnonzero(kept)
        self.across, self.up, self.lift = across[at], up[at], lift[at]

    def cut(self, since: float) -> None:
        """Leave out what is before a time."""
        later = self.t[self.across] >= since
        self.across, self.up, self.lift = (a[later] for a in (self.across, self.up, self.lift))

    def points(
        self, shared: dict[Any, np.ndarray], kind: type
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x, y and the times of the points to draw, NaN where the pen is lifted."""
        if self.box.over_time and len(self.across) > _MANY * self.box.x.size and self._crowded:
            return self._extremes(shared, kind)
        if not len(self.across):
            return OFF[0].astype(kind), OFF[1].astype(kind), OFF[0].astype(kind)
        gaps = np.flatnonzero(self.lift[1:]) + 1
        later = self.across[gaps]  # times have no gaps: the cursor goes on
        t = np.insert(self.t[self.across].astype(kind), gaps, self.t[later])
        y = np.insert(self.y[self.up].astype(kind), gaps, np.nan)
        if self.t is self.x:
            return t, y, t
        return np.insert(self.x[self.across].astype(kind), gaps, np.nan), y, t

    @property
    def _crowded(self) -> bool:
        """Whether a line through each break would lie on a part of the curve beside it."""
        across, up, lift = self.all
        x, y, first = self.px[across], self.py[up], np.flatnonzero(lift)
        last = np.append(first[1:], len(x)) - 1
        low, high = np.minimum.reduceat(y, first), np.maximum.reduceat(y, first)
        narrow = x[last] - x[first] < _APART
        ends = np.sort([y[last[:-1]], y[first[1:]]], axis=0)
        covered = ends[1] - ends[0] < _APART
        for part in (slice(None, -1), slice(1, None)):
            covered |= narrow[part] & (low[part] < ends[0] + 1) & (high[part] > ends[1] - 1)
        return bool(covered.all())

    def _extremes(
        self, shared: dict[Any, np.ndarray], kind: type
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the two extremes in each column of a pixel, on an x that all such curves share."""
        from explorer.kernels.polyline import envelope

        across, up, lift = self.all
        left, right, axis = self.px[across[0]], self.px[across[-1]], self.box.x
        ends = np.empty((max(math.ceil(right - left), 1), 2))
        envelope(self.px, np.ascontiguousarray(self.y, float), across, up, lift, left, ends)
        key = (axis, float(self.x[across[0]]), float(self.x[across[-1]]), len(self.x))
        if key not in shared:
            at = left + np.add.outer(np.arange(len(ends)), [0.25, 0.75]).ravel()
            at[0] = left
            shared[key] = np.interp(np.minimum(at, right), self.px, self.x).astype(kind)
        return shared[key], ends.ravel().astype(kind), shared[key]
