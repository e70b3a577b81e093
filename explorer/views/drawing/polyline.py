"""Reduction of curves to the points that are visible at a given size and zoom.

A view supplies all points of a curve. The reduced curve stays within `TOLERANCE` pixels of it. If
a curve oscillates faster than the pixels resolve, its extremes in each pixel column are drawn.
Outside the zoom window it is drawn coarsely, so that something is visible while the window moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from explorer.views.drawing.picture import OFF, span
from explorer.views.drawing.traces import Trace

__all__ = ["PANEL", "STATIC", "Box", "Look", "Shared", "draw"]

# px, of curves over time and of portraits: an arc shows no corners on any screen
TOLERANCE, ROUND = 0.2, 0.15
TURN = 2 * math.pi / 44  # of a phase portrait along one of its lines; 40 points a turn at least
_REACH = 12.0  # px between two points over time: what hovering can point at
_OUTSIDE = 0.3  # of the window: the width of what lies outside
_MANY = 2.2  # points a column, from which on a curve is given by its extremes
_APART = 3.0  # px between breaks that are seen one by one
OPEN, _SEEN = 1.2, 1.5  # px: a smaller jump is drawn through; a larger one is seen to be open
_ROWS, _NEAR = 4, 0.1  # rows a px, from which on those are passed over that lie nearer (px)
_NARROW = 450  # px
_LARGE = 1.3
_MOST, _USUAL = 1700, 180  # points of all curves of a phase portrait, if so wide (px) or wider


@dataclass(frozen=True)
class Look:
    """Size and zoom of a picture.

    Attributes
    ----------
    width, height : size of the whole figure in px
    ranges : of the axes that are zoomed, by their names ("xaxis2"): (from, to)
    zoom : how many times larger than whole something is drawn that is not over time
    coarse : how many times further off than usual lines may be drawn, where they are too many
    words : how many times larger than usual the text is
    """

    width: float
    height: float
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    zoom: float = 1.0
    coarse: float = 1.0
    words: float = 1.0

    @property
    def projected(self) -> bool:
        """Whether the text is so large, as in a lecture, that plots need more room for it."""
        return self.words > _LARGE

    @property
    def narrow(self) -> bool:
        """Whether plots side by side would be too small, as on a phone."""
        return self.width < _NARROW


STATIC = Look(1200, 600)  # a figure in a notebook, as wide as it may become
PANEL = Look(560, 490)  # the plots of a panel in a window of 1280 x 720


@dataclass(frozen=True)
class Axis:
    """Map from values to pixels; the range outside the window is compressed.

    Attributes
    ----------
    low, high : the window, in values (their logarithms if `log`)
    size : its length in px
    """

    low: float
    high: float
    size: float
    log: bool = False

    def pixels(self, values: np.ndarray, ends: tuple[float, float] | None = None) -> np.ndarray:
        """Return the pixel positions of values (k,), from 0 to `size` within the window.

        `ends` are the least and the greatest of all values, of which these may be some.
        """
        values = np.asarray(values, float)
        least, most = ends or span(values)
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                values, (least, most) = np.log10(values), np.log10([least, most]).tolist()
        at = values - self.low
        at *= self._per
        under, over = self._pressed(least, most)
        if under < 1.0:
            at[at < 0] *= under
        if over < 1.0:
            out = at > self.size
            at[out] = self.size + (at[out] - self.size) * over
        return at

    def values(self, at: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
        """Return the values at pixel positions (k,) of a linear axis."""
        under, over = self._pressed(*ends)
        at = np.where(at < 0, at / under, at)
        at = np.where(at > self.size, self.size + (at - self.size) / over, at)
        return self.low + at / self._per

    @property
    def _per(self) -> float:
        return self.size / ((self.high - self.low) or 1.0)

    def _pressed(self, least: float, most: float) -> tuple[float, float]:
        """Return the compression factors below and above the window."""
        room = _OUTSIDE * self.size
        below, above = (self.low - least) * self._per, (most - self.low) * self._per - self.size
        return (room / below if below > room else 1.0), (room / above if above > room else 1.0)


@dataclass(frozen=True)
class Box:
    """The axes of a plot; `over_time`: its curves run from left to right; `coarse`: see `Look`."""

    x: Axis
    y: Axis
    over_time: bool
    coarse: float = 1.0


@dataclass
class Shared:
    """What the plots of a picture share.

    Attributes
    ----------
    rows : where the rows of curves with the same x lie, by that x and its axis
    columns : x of the curves that are given by their extremes, by its axis and its ends
    """

    rows: dict[tuple[int, Axis, bool], _Across] = field(default_factory=dict)
    columns: dict[tuple[Axis, float, float, int], np.ndarray] = field(default_factory=dict)


def draw(traces: list[Trace], box: Box, shared: Shared, *, double: bool = False) -> float | None:
    """Reduce the curves among the traces of a plot to their visible points, in place.

    Parameters
    ----------
    traces : list
        Those made by `picture.curve` with `breaks`.
    box : Box
    shared : Shared
    double : bool
        Whether single precision is too coarse for the window.

    Returns
    -------
    float or None
        The time from which on curves are drawn that go round too often to be drawn whole.
    """
    curves = [trace for trace in traces if "breaks" in trace]
    chosen = [_Chosen(trace, box, _across(trace["x"], box, shared)) for trace in curves]
    since = -math.inf
    most = int(_MOST * min(box.x.size / _USUAL, 1.0) / (2 if box.coarse > 1 else 1))
    timed = [c for c in chosen if c.timed and not box.over_time]
    if timed:
        times = np.sort(np.concatenate([c.t[c.across] for c in timed]))
        if len(times) > most:
            since = _round(float(times[-most]), float(times[-1]))
        for c in timed if since > -math.inf else ():
            c.cut(since)
    kind = np.float64 if double else np.float32
    for trace, c in zip(curves, chosen, strict=True):
        trace["x"], trace["y"], t = c.points(shared, kind)
        if "t" in trace.get("meta", {}):
            trace["meta"] = {**trace["meta"], "t": t}
    return since if since > -math.inf else None


def _round(since: float, end: float) -> float:
    """Return a slightly later round time, which seldom changes while a slider moves."""
    step = 10.0 ** math.floor(math.log10(end - since)) / 2 if end > since else 1.0
    return min(math.ceil(since / step) * step, end)


@dataclass(frozen=True)
class _Across:
    """Horizontal positions of the rows of some curves.

    Attributes
    ----------
    x : (k,) what it is of
    px : (k,) px, or nothing if there are many rows from left to right
    starts : then the first row of each column of a pixel, and the end
    """

    x: np.ndarray
    px: np.ndarray
    starts: np.ndarray


def _across(x: np.ndarray, box: Box, shared: Shared) -> _Across:
    """Return the horizontal positions of some rows; curves with the same x share them."""
    key = (id(x), box.x, box.over_time)
    if key not in shared.rows:
        none, axis = np.empty(0), box.x
        if box.over_time and len(x) > _ROWS * axis.size and not axis.log:
            ends = float(x[0]), float(x[-1])
            first, last = axis.pixels(np.array(ends))
            columns = axis.values(np.arange(math.floor(first) + 1, math.floor(last) + 1), ends)
            starts = np.concatenate([[0], np.searchsorted(x, columns), [len(x)]])
            shared.rows[key] = _Across(x, none, starts)
        else:
            shared.rows[key] = _Across(x, np.ascontiguousarray(axis.pixels(x)), none)
    return shared.rows[key]


class _Chosen:
    """The visible points of one curve: rows of x and of y, and gaps before them."""

    def __init__(self, trace: Trace, box: Box, rows: _Across) -> None:
        from explorer.kernels.drawing.polyline import thin

        self.x, self.y, self.box = trace["x"], trace["y"], box
        self.timed = "t" in trace.get("meta", {})
        self.t = trace["meta"]["t"] if self.timed else self.x
        breaks, held = np.ascontiguousarray(trace.pop("breaks"), np.int64), trace.pop("held", True)
        self.all = self.across, self.up, self.lift = self._worth(rows, breaks, held)
        kept = np.zeros(len(self.lift), np.int8)
        off = box.coarse * (TOLERANCE if box.over_time else ROUND)
        far = (_REACH, math.inf) if box.over_time else (math.inf, TURN)
        thin(self.px, self.py, self.lift, off, *far, kept)
        self._keep(kept.view(bool))

    def _worth(
        self, rows: _Across, breaks: np.ndarray, held: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the candidate points and set their pixel positions."""
        from explorer.kernels.drawing.polyline import Points, candidates, extremes

        x, px, y = rows.x, rows.px, np.ascontiguousarray(self.y, float)
        scale, room = self.box.y, len(x) + len(breaks) + 8
        points = Points(np.empty(room, int), np.empty(room, int), np.empty(room, np.int8))
        across, up, lift = points
        if len(rows.starts):
            ends = span(y)
            if len(breaks):
                breaks = breaks[np.diff(breaks, prepend=0) > 0]
                before, after = (scale.pixels(y[i], ends) for i in (breaks - 1, breaks))
                breaks = breaks[np.abs(after - before) > OPEN]
            late = np.asarray(held & (x[breaks] != x[breaks - 1]), np.int8)
            n = extremes(y, rows.starts, breaks, late, points)
            self.px = self.box.x.pixels(x[across[:n]], (float(x[0]), float(x[-1])))
            self.py = scale.pixels(y[up[:n]], ends)
        else:
            py = scale.pixels(y)
            near = _NEAR if len(px) > _ROWS * self.box.x.size else 0.0
            n = candidates(px, py, breaks, held, OPEN, near, points)
            self.px, self.py = px[across[:n]], py[up[:n]]
        return across[:n], up[:n], lift[:n]

    def _keep(self, which: np.ndarray) -> None:
        self.across, self.up, self.lift = (a[which] for a in (self.across, self.up, self.lift))

    def cut(self, since: float) -> None:
        """Drop the points before a time; the curve then begins at its first later point."""
        self._keep(self.t[self.across] >= since)
        later = np.flatnonzero(self.t[self.all[0]] >= since)
        if len(later) and len(self.across) and self.all[0][later[0]] < self.across[0]:
            first = (a[later[:1]] for a in self.all)
            self.across, self.up, self.lift = (
                np.concatenate(pair)
                for pair in zip(first, (self.across, self.up, self.lift), strict=True)
            )

    def points(self, shared: Shared, kind: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x, y and the times of the visible points, with NaN in the gaps."""
        if self.box.over_time and len(self.across) > _MANY * self.box.x.size and self._crowded:
            return self._extremes(shared, kind)
        if not len(self.across):
            return OFF[0].astype(kind), OFF[1].astype(kind), OFF[0].astype(kind)
        gaps = np.flatnonzero(self.lift[1:]) + 1
        if not len(gaps):
            t, y = self.t[self.across].astype(kind), self.y[self.up].astype(kind)
            return (t if self.t is self.x else self.x[self.across].astype(kind)), y, t
        later = self.across[gaps]  # times have no gaps: the cursor goes on
        t = np.insert(self.t[self.across].astype(kind), gaps, self.t[later])
        y = np.insert(self.y[self.up].astype(kind), gaps, np.nan)
        if self.t is self.x:
            return t, y, t
        return np.insert(self.x[self.across].astype(kind), gaps, np.nan), y, t

    @property
    def _crowded(self) -> bool:
        """Whether a line across each gap would overlap the curve next to it."""
        x, y, first = self.px, self.py, np.flatnonzero(self.all[2])
        last = np.append(first[1:], len(x)) - 1
        low, high = np.minimum.reduceat(y, first), np.maximum.reduceat(y, first)
        narrow = x[last] - x[first] < _APART
        ends = np.sort([y[last[:-1]], y[first[1:]]], axis=0)
        covered = ends[1] - ends[0] < _SEEN
        for part in (slice(None, -1), slice(1, None)):
            covered |= narrow[part] & (low[part] < ends[0] + 1) & (high[part] > ends[1] - 1)
        return bool(covered.all())

    def _extremes(self, shared: Shared, kind: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the two extremes in each pixel column, on an x that such curves share."""
        from explorer.kernels.drawing.polyline import envelope

        across, up, lift = self.all
        left, right, axis = self.px[0], self.px[-1], self.box.x
        ends = np.empty((max(math.ceil(right - left), 1), 2))
        envelope(self.px - left, self.y[up].astype(float), lift, ends)
        key = (axis, float(self.x[across[0]]), float(self.x[across[-1]]), len(self.x))
        if key not in shared.columns:
            at = left + np.add.outer(np.arange(len(ends)), [0.25, 0.75]).ravel()
            at[0] = left
            x = np.interp(np.minimum(at, right), self.px, self.x[across]).astype(kind)
            shared.columns[key] = x
        return shared.columns[key], ends.ravel().astype(kind), shared.columns[key]
