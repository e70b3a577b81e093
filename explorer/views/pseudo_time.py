"""Time freezing: states and clock against pseudo-time; shaded intervals have a frozen clock."""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import fine, rows
from explorer.views.drawing.picture import COLOURS, Picture, Plot, curve, extent, label
from explorer.views.drawing.view import view

__all__ = ["pseudo_time"]

_SHADE = "rgba(120, 120, 120, 0.18)"
_MOST = 4  # states drawn


def _plot(solution: Solution, which: list[int], title: str) -> Plot:
    pseudo = fine(solution.pseudo)
    points = rows(pseudo)
    low, high = extent(*(points.q[j] for j in which))
    stretches = np.asarray(solution.frozen)
    x = np.repeat(stretches, [2, 3], axis=1).ravel()
    x[4::5] = np.nan
    y = np.tile([low, high, high, low, np.nan], len(stretches))
    shade = curve(
        x,
        y,
        "rgba(0,0,0,0)",
        name="clock stands still",
        fill="toself",
        fillcolor=_SHADE,
        hoverinfo="skip",
    )
    names = pseudo.system.coordinates
    curves = [
        curve(
            points.t,
            points.q[j],
            COLOURS[i % len(COLOURS)],
            name=label(names[j]),
            showlegend=len(which) > 1,
            breaks=points.torn,
        )
        for i, j in enumerate(which)
    ]
    span = (0.0, float(points.t[-1]))
    return Plot([shade, *curves], "pseudo-time (s)", title, span, (low, high))


@view(of="pseudo-time")
def pseudo_time(solution: Solution) -> Picture:
    """Draw the first states, the auxiliary states and the clock against pseudo-time.

    Where it is shaded the clock stands still: cut that out, and the state jumps.

    Raises
    ------
    NotApplicable
        The run went through no time freezing.
    """
    known, every = solution.x.shape[1], solution.pseudo.x.shape[1]
    return compose(
        [
            [
                _plot(solution, list(range(known))[:_MOST], "state"),
                _plot(solution, list(range(known, every - 1)), "auxiliary"),
                _plot(solution, [every - 1], "clock (s)"),
            ]
        ],
        [1],
        height=560,
    )
