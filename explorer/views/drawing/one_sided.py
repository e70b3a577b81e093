"""One-sided limits: the rows of a located run that are drawn, and marks at its jumps.

A derivative by a parameter jumps at an event (Corner et al. 2019, eq. (35), (38)). Its curve is
interrupted there: an open marker shows the left limit, a closed marker the right limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.results.solution import Solution
from explorer.views.drawing.picture import COLOURS, OFF, curve
from explorer.views.drawing.traces import Marker, Trace

__all__ = ["LIMITS", "Sides", "apart", "arcs", "event_times", "limits", "shifts", "sides"]

LIMITS = ("left limit", "right limit")
_MOST = 18  # events told apart in one plot; closer ones would be one blot
_POINTS = 110
_ENOUGH, _MUCH, _EVEN = 0.9, 1.5, 1.3
_ARCS = 18  # that get points of their own
_SHORT = 5e-4  # of the window: an arc that is shorter is not seen
_INSIDE = np.array([0.25, 0.5, 0.75])


@dataclass(frozen=True)
class Sides:
    """The points of a run that are drawn.

    Attributes
    ----------
    rows : Solution
        The run on a grid, each event twice.
    t : (k,) float32 times
    pick : (k,) rows of the points
    gap : (k,) bool, where curves are interrupted
    right : (m,) rows of the right limits of the events that are told apart
    events : those events, by their numbers in the run
    """

    rows: Solution
    t: np.ndarray
    pick: np.ndarray
    gap: np.ndarray
    right: np.ndarray
    events: list[int]

    def drawn(self, values: np.ndarray) -> np.ndarray:
        """Return (k,) float32 of values (rows,), NaN at the gaps."""
        points: np.ndarray = values[self.pick].astype(np.float32)
        points[self.gap] = np.nan
        return points


def event_times(run: Solution) -> np.ndarray:
    """Return the times of all events in s, without computing rows."""
    times: np.ndarray = run.march.hits
    return times


def apart(times: np.ndarray, window: tuple[float, float], most: int = _MOST) -> list[int]:
    """Return the numbers of the events in a window that are far enough apart to see."""
    least = (window[1] - window[0]) / (2 * most)
    numbers: list[int] = []
    for k, t in enumerate(times.tolist()):
        if window[0] <= t <= window[1] and (not numbers or t - times[numbers[-1]] >= least):
            numbers.append(k)
    return numbers


def _long(times: np.ndarray, window: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and end times of the longest visible arcs between events."""
    inside = times[(times > window[0]) & (times < window[1])]
    edges = np.concatenate([window[:1], inside, window[1:]])
    length = np.diff(edges)
    longest = np.argsort(-length)[:_ARCS]
    longest = longest[length[longest] > _SHORT * (window[1] - window[0])]
    return edges[longest], edges[longest + 1]


def arcs(times: np.ndarray, window: tuple[float, float], points: int) -> np.ndarray:
    """Return drawing times: equally spaced, and some inside each arc between two events."""
    begin, end = _long(times, window)
    inside = begin[:, None] + (end - begin)[:, None] * _INSIDE
    few = end - begin < 4 * (window[1] - window[0]) / points
    return np.union1d(np.linspace(*window, points), inside[few])


def sides(
    solution: Solution,
    window: tuple[float, float] | None = None,
    points: int = _POINTS,
    *,
    given: bool = False,
) -> Sides:
    """Choose about `points` rows of a run within a window of time (by default all of it).

    With `given` they are rows of the run as it is, else of a grid of their own.
    """
    end = float(solution.march.t_last)
    low, high = (0.0, end) if window is None else (max(window[0], 0.0), min(window[1], end))
    times = event_times(solution)
    shown = apart(times, (low, high))
    grid = arcs(times, (low, high), max(points - 2 * len(shown), points // 2))
    if not given and window is None and _dense(solution, grid):
        given = True
    rows = solution if given else solution.march.trajectory(grid)
    events = rows.located
    right = np.array([events[k].row for k in shown], int)
    of_events = np.zeros(len(rows.t), bool)
    every = np.array([e.row for e in events], int)
    of_events[every] = of_events[every - 1] = True
    kept = ~of_events & (rows.t >= low) & (rows.t <= high)
    ends = every[np.isin(rows.t[every], np.concatenate(_long(times, (low, high))))]
    ends = np.union1d(ends, right)
    kept[ends] = kept[ends - 1] = True
    chosen = np.flatnonzero(kept)
    # a gap before every right limit that is drawn; of arcs too short to be seen none is
    gaps = np.searchsorted(chosen, ends[(ends > chosen[0]) & (ends <= chosen[-1])])
    pick = np.insert(chosen, gaps, chosen[gaps])
    gap = np.zeros(len(pick), bool)
    gap[gaps + np.arange(len(gaps))] = True
    return Sides(rows, rows.t[pick].astype(np.float32), pick, gap, right, shown)


def _dense(solution: Solution, grid: np.ndarray) -> bool:
    """Whether the rows that a run has already are about as many as those of a grid, and as even."""
    if "_fill" in vars(solution):
        return False
    if not _ENOUGH * len(grid) <= len(solution.t) <= _MUCH * len(grid):
        return False
    longest = np.diff(solution.t).max(initial=0.0)
    return bool(longest <= _EVEN * np.diff(grid).max())


def limits(at: Sides, values: np.ndarray, colour: str, name: str) -> list[Trace]:
    """Return a curve of `values` (rows,): the line, the left limits (open), the right (closed)."""
    y = at.drawn(values)
    hover = f"t = %{{x:.4g}} {at.rows.system.time_unit}<br>{name} = %{{y:.5g}}<extra></extra>"
    scale = np.abs(values[at.pick]).max(initial=0.0)
    left, right = values[at.right - 1], values[at.right]
    jumps = np.abs(right - left) > 1e-6 * scale
    t = at.rows.t[at.right[jumps]].astype(np.float32)
    traces = [curve(at.t, y, colour, name=name, hovertemplate=hover, meta={"t": at.t})]
    for side, limit, symbol in zip(LIMITS, (left, right), ("circle-open", "circle"), strict=True):
        x, level = (t, limit[jumps].astype(np.float32)) if len(t) else OFF
        marker: Marker = {"color": colour, "size": 7, "symbol": symbol}
        mark = curve(x, level, colour, name=side, hoverinfo="x+y+name")
        traces.append({**mark, "mode": "markers", "marker": marker})
    return traces


def shifts(
    at: Sides, dt_drho: np.ndarray, level: float, height: float, scale: float, name: str
) -> list[Trace]:
    """Return arrows along the time axis, from each event to where it moves with the parameter.

    Parameters
    ----------
    dt_drho : (events,) event-time sensitivities
    level, height : float
        Where the arrows lie on the other axis, and how tall the tick at their foot is.
    scale : float
        Length of an arrow for dt_drho = 1, in s.
    """
    colour = COLOURS[3]
    t = at.rows.t[at.right]
    slopes = dt_drho[at.events]
    shaft, heads = OFF, [OFF, OFF]
    if len(t):
        tip, gap = t + scale * slopes, np.full(len(t), np.nan)
        x = np.column_stack([t, t, gap, t, tip, gap]).ravel()
        flat = np.full(len(t), level)
        y = np.column_stack([flat - height, flat + height, gap, flat, flat, gap]).ravel()
        shaft = (x.astype(np.float32), y.astype(np.float32))
        for i, sign in enumerate((1, -1)):
            on = sign * slopes > 1e-12
            if on.any():
                heads[i] = tip[on].astype(np.float32), flat[on].astype(np.float32)
    traces = [
        curve(
            shaft[0],
            shaft[1],
            colour,
            name=name,
            line={"width": 2},
            hoverinfo="skip",
            showlegend=True,
            legend="next",
        )
    ]
    for (x, y), symbol in zip(heads, ("triangle-right", "triangle-left"), strict=True):
        marker: Marker = {"color": colour, "size": 8, "symbol": symbol}
        traces.append(
            {
                **curve(x, y, colour, name=name, hoverinfo="skip"),
                "mode": "markers",
                "marker": marker,
            }
        )
    return traces
