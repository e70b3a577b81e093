"""Two starts at once: both runs, and their distance over time beside what S(t) d predicts."""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.study.two_starts import Apart, TwoStarts
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import rows, seen
from explorer.views.drawing.ghosts import DASHES, TONES, Ghost
from explorer.views.drawing.iterates import return_plot, states_plot, states_plots
from explorer.views.drawing.picture import COLOURS, INK, OFF, Picture, Plot, curve, time_title
from explorer.views.drawing.polyline import STATIC, Look
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view
from explorer.views.phase import phase_plot
from explorer.views.trajectory import positions_plots, velocities_plot

__all__ = ["SECOND", "two_starts"]

SECOND = 2  # the place of the second run among ghosts: its tone and dash
_LEAST = 1e-18  # of the ranges: what is less is zero, which a logarithmic axis has not
_MOST = 900  # points of a curve
_FAR = 1e2  # times the largest distance: what is predicted beyond is not looked at
_DECADES = 2  # by which the axis grows at a time


@view
def two_starts(found: TwoStarts, *, look: Look = STATIC) -> Picture:
    """Draw two runs that begin beside each other, and how far they are apart.

    The distance has a logarithmic axis, on which exponential growth is a straight line. Its curve
    is interrupted at the jumps of either run. The dashed line is what the derivative predicts.

    Parameters
    ----------
    found : TwoStarts
        What `explorer.study.two_starts` returns.
    look : Look
        The size and the window that the points of the curves are chosen for.
    """
    first, second = found.first, found.second
    if first.system.discrete:
        ghosts = [Ghost(second, "second", TONES[SECOND], DASHES[SECOND])]
        time = states_plots(first, ghosts, look)[:2]
        plane = (return_plot if first.q.shape[1] == 1 else states_plot)(first, ghosts, look)
    else:
        first = seen(first, look)
        ghosts = [Ghost(seen(second, look), "second", TONES[SECOND], DASHES[SECOND])]
        points = rows(first)
        time = positions_plots(first, points, ghosts)[:2]
        if first.has_velocities:
            time.append(velocities_plot(first, points, ghosts))
        plane = phase_plot(first, points, ghosts)
    _named(time[0])
    return compose([time, [distance_plot(found), plane]], [1, 1], look=look)


def _named(plot: Plot) -> None:
    """Name the second run in the legend of a plot, once."""
    for trace in plot.traces:
        if trace["name"].startswith("second"):
            trace["showlegend"] = True
            return


def distance_plot(found: TwoStarts) -> Plot:
    """Draw the distance of both runs over time, and the predicted one, on a logarithmic axis."""
    u = found.system.time_unit
    over = "n = %{x}" if found.system.discrete else f"t = %{{x:.4g}} {u}"
    hover = f"{over}<br>%{{y:.3g}} of the range<extra>%{{fullData.name}}</extra>"
    traces: list[Trace] = []
    drawn = [("predicted to first order", found.predicted, COLOURS[1], "dash", 1.6)]
    drawn.append(("distance", found.apart, INK, "solid", 1.8))
    seen_: list[np.ndarray] = []
    for name, apart, colour, dash, width in drawn:
        t, y = OFF if apart is None else _broken(apart)
        line = curve(t, y, colour, name=name, hovertemplate=hover, showlegend=apart is not None)
        line["line"] |= {"dash": dash, "width": width}
        if found.system.discrete:  # nothing is between two iterates
            line["mode"], line["marker"] = "markers", {"color": colour, "size": 4}
        traces.append(line)
        if apart is not None:
            seen_.append(y[np.isfinite(y)])
    every, far = np.concatenate(seen_), np.max(seen_[-1], initial=0.0)
    every = every[every <= _FAR * far]
    return Plot(
        traces,
        time_title(found.system),
        "distance / range",
        (0.0, max(_last(found.first), _last(found.second))),
        _decades(every),
        log_y=True,
    )


def _last(run: Solution) -> float:
    return float(run.t[-1])


def _decades(values: np.ndarray) -> tuple[float, float]:
    """Return whole powers of ten around values, which seldom change while a slider moves."""
    if not len(values):
        return 1e-4, 1.0
    low, high = np.log10([values.min(), values.max()]) / _DECADES
    low, high = np.floor(low), max(np.ceil(high), np.floor(low) + 1)
    return float(10.0 ** (_DECADES * low)), float(10.0 ** (_DECADES * high))


def _broken(apart: Apart) -> tuple[np.ndarray, np.ndarray]:
    """Return points with a gap before each jump; of many those beside the gaps and an even part."""
    t, y = apart.t, np.where(apart.distance > _LEAST, apart.distance, np.nan)
    jumps = apart.jumps[(apart.jumps > 0) & (apart.jumps < len(t))]
    if len(t) > _MOST:
        even = np.linspace(0, len(t) - 1, _MOST).astype(int)
        few = jumps if len(jumps) <= _MOST // 4 else jumps[:: len(jumps) // (_MOST // 4)]
        kept = np.unique(np.concatenate([even, few, few - 1]))
        # a jump that is passed over still interrupts the curve: at the next point that is drawn
        gaps = np.unique(np.searchsorted(kept, jumps))
        t, y, jumps = t[kept], y[kept], gaps[gaps < len(kept)]
    x = np.insert(t.astype(float), jumps, np.nan)
    return x.astype(np.float32), np.insert(y, jumps, np.nan).astype(np.float32)
