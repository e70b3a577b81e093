"""Pictures of the rows that a `Recorder` kept, as marks if it omitted steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.errors import NotApplicable
from explorer.recorder import Recorded
from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import MOST_CURVES, NONE, drawn, few
from explorer.views.drawing.picture import (
    COLOURS,
    Picture,
    Plot,
    curve,
    extent,
    label,
    left_out,
    time_title,
)
from explorer.views.drawing.traces import Marker

__all__ = ["recorded"]

_MARKS = 3000  # of one curve


def recorded(solution: Solution, names: Sequence[str]) -> Picture:
    """Draw the recorded positions ("q") and velocities ("v") over time.

    Raises
    ------
    NotApplicable
        Nothing of it was kept.
    """
    kept = solution.recorded
    assert kept is not None
    plots = [_plot(solution, kept, k) for k in names if kept.kept(k)]
    if not plots:
        raise NotApplicable(
            f"Nothing of {' and '.join(names)} was recorded: {kept.recorder!r} keeps none of it."
        )
    return compose([plots], [1])


def _plot(solution: Solution, kept: Recorded, name: str) -> Plot:
    names, dot = list(kept.kept(name) or ()), name == "v"
    values, t = getattr(solution, name), solution.t
    unit = dict(zip(solution.system.coordinates, solution.system.units, strict=True))
    time = solution.system.time_unit
    shown = drawn(names, MOST_CURVES).tolist()
    traces = []
    for rank, j in enumerate(shown):
        y, marks = np.ascontiguousarray(values[:, j]), few(np.arange(len(t)), _MARKS)
        text = label(names[j], dot=dot)
        times = t[marks] if kept.thinned else t
        traces.append(
            curve(
                times,
                y[marks] if kept.thinned else y,
                COLOURS[rank],
                name=text,
                showlegend=True,
                hovertemplate=f"t = %{{x:.4g}} {time}<br>{text} = %{{y:.5g}}<extra></extra>",
            )
        )
        if kept.thinned:
            marker: Marker = {"color": COLOURS[rank], "size": 4}
            traces[-1] |= {"mode": "markers", "marker": marker}
        else:
            traces[-1] |= {"breaks": NONE, "meta": {"t": t}}
    if len(shown) < len(names):
        traces.append(left_out(len(shown), len(names)))
    units = list(dict.fromkeys(unit[x] for x in names))
    if dot and any(units):
        units = [f"{u or 1}/{time}" for u in units]
    text = ", ".join(u or "1" for u in units) if any(units) else ""
    title = label(names[0] if len(names) == 1 else "q", dot=dot) + (f" ({text})" if text else "")
    rows = f"; {len(t)} rows of {kept.steps} steps" if kept.thinned else ""
    seen = [values[:, j] for j in shown]
    return Plot(
        traces, time_title(solution.system) + rows, title, (0.0, float(t[-1])), extent(*seen)
    )
