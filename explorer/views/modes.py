"""The modes of a run, or its active sets, against time; or natural modes over the coordinates."""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.study.modes import Modes
from explorer.views.drawing.compose import compose
from explorer.views.drawing.ghosts import Ghosts, ending
from explorer.views.drawing.picture import (
    COLOURS,
    OFF,
    Picture,
    Plot,
    curve,
    prose,
    time_title,
)
from explorer.views.drawing.view import view
from explorer.views.mode_shapes import shapes_plot

__all__ = ["modes", "modes_plot"]

_MOST = 100
_LANES = 12  # by so many at a time traces come where a run decides which modes there are
_LOWER = 0.08  # of a lane: from ghost to ghost
_LEGEND = 5  # more names than these would not fit above the plot


def modes_plot(solution: Solution, ghosts: Ghosts = None) -> Plot:
    """Draw a bar for each interval in a mode, and a marker for each event in its new mode."""
    names, guards, traces = solution.mode_names, solution.system.guard_names, []
    time = solution.system.time_unit
    for k, ghost in enumerate(ghosts or ()):
        t, level = _bars(ghost.solution)
        traces.append(
            curve(
                t,
                level - np.float32(0.25 + _LOWER * k),
                ghost.colour,
                name=ghost.name,
                line={"width": 2},
                hoverinfo="skip",
            )
        )
    # a trace that comes or goes makes plotly build the whole figure anew
    declared = getattr(solution.system, "modes", ())
    spare = 0 if declared else -len(names) % _LANES
    for k, mode in enumerate([*names, *[""] * spare]):
        text = f"t = %{{x:.5g}} {time}<extra>{prose(mode)}</extra>"
        t, level = _bars(solution, k) if mode else OFF
        traces.append(
            curve(
                t,
                level,
                COLOURS[k % len(COLOURS)],
                name=prose(mode),
                line={"width": 6},
                hovertemplate=text,
            )
        )
    for k, name in enumerate(guards):
        colour = COLOURS[-1 - k % len(COLOURS)]
        text = f"t = %{{x:.5g}} {time}<extra>{prose(name)}</extra>"
        traces.append(
            {
                **curve(*_events(solution, name), colour, name=prose(name), hovertemplate=text),
                "mode": "markers",
                "marker": {"color": colour, "size": 7, "symbol": "diamond"},
                "showlegend": len(guards) <= _LEGEND,
            }
        )
    high, ticks = len(names) - 0.4, [prose(name) for name in names]
    share = min(0.2 + 0.25 * len(ticks), 1.0) if declared else 1.0
    return Plot(
        traces,
        time_title(solution.system),
        "mode",
        (0.0, ending(solution, ghosts)),
        (-0.6, high),
        ticks=ticks,
        share=share,
    )


def _bars(solution: Solution, mode: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return t and level of the intervals in a mode (or in any mode); of many the longest."""
    modes = solution.mode
    first = np.flatnonzero(np.diff(modes, prepend=-1))
    last = np.append(first[1:] - 1, len(modes) - 1)
    if mode is not None:
        first, last = first[modes[first] == mode], last[modes[first] == mode]
    if not len(first):
        return OFF
    if len(first) > _MOST:
        long = np.sort(np.argsort(solution.t[first] - solution.t[last])[:_MOST])
        first, last = first[long], last[long]
    gap = np.full(len(first), np.nan)
    level = modes[first].astype(float)
    # of time stepping a row tells of the step that ends there
    begin = first if solution.has("march") else np.maximum(first - 1, 0)
    t = np.column_stack([solution.t[begin], solution.t[last], gap]).ravel()
    return t.astype(np.float32), np.column_stack([level, level, gap]).ravel().astype(np.float32)


def _events(solution: Solution, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return t and the new mode of the events of a guard; of many an even selection."""
    events = [e for e in solution.events if e.contact == name]
    if not events:
        return OFF
    if len(events) > _MOST:
        events = [events[i] for i in np.linspace(0, len(events) - 1, _MOST).astype(int)]
    level = solution.mode[[e.row for e in events]]
    return np.array([e.t for e in events], np.float32), level.astype(np.float32)


@view(of="modes")
def modes(solution: Solution | Modes) -> Picture:
    """Draw the modes of a hybrid system, the active sets of step functions or of laws.

    For what `study.modes` returns: the shapes of the lowest natural modes over the coordinates.

    Raises
    ------
    NotApplicable
        The system has no modes, active sets or laws.
    """
    if isinstance(solution, Modes):
        return compose([[shapes_plot(solution)]], [1])
    return compose([[modes_plot(solution)]], [1])
