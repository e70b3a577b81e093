"""Active sets over time: the side of each switching function, switches, elements, their lengths."""

from __future__ import annotations

import numpy as np

from explorer.quantities import power_of_ten
from explorer.results.solution import Solution
from explorer.views.contact_laws import doing_plot
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import fine
from explorer.views.drawing.ghosts import Ghosts, ending
from explorer.views.drawing.lanes import MOST_BARS, bars
from explorer.views.drawing.parts import has_contacts
from explorer.views.drawing.picture import COLOURS, GREY, OFF, Picture, Plot, curve, time_title
from explorer.views.drawing.regions import SIDES
from explorer.views.drawing.view import view
from explorer.views.modes import modes_plot
from explorer.views.multipliers import MOST_LANES

__all__ = ["active_set", "active_set_plot", "lengths_plot"]

_TICKS = 90
_NAMES = {-1: "minus", 0: "sliding", 1: "plus"}
_DECADES = 3  # from tick to tick
# whatever the range: plotly builds the whole figure anew for other ticks
_POWERS = {10.0**k: power_of_ten(k) for k in range(-18, 13, _DECADES)}
_LONG = 5  # a longer name does not stand beside the axis


def active_set_plot(solution: Solution, ghosts: Ghosts = None) -> Plot:
    """Draw a lane for each switching function: low on its minus side, high on its plus side."""
    system, signs = solution.system, solution.signs
    time = system.time_unit
    count = min(signs.shape[1], MOST_LANES)
    traces, high = [], float(count) - 0.5
    times = solution.switch_times
    if len(times) > MOST_BARS:
        times = times[np.linspace(0, len(times) - 1, MOST_BARS).astype(int)]
    x = np.column_stack([times, times, np.full(len(times), np.nan)]).ravel()
    y = np.tile([-0.5, high, np.nan], len(times))
    traces.append(
        curve(
            *((x.astype(np.float32), y.astype(np.float32)) if len(times) else OFF),
            GREY,
            name="switches",
            line={"width": 1},
            hovertemplate=f"switch at t = %{{x:.6g}} {time}<extra></extra>",
        )
    )
    for k, ghost in enumerate(ghosts or ()):
        other = ghost.solution
        if not other.has("boundaries"):
            continue
        at = bars(other.t, other.signs, (-1, 0, 1), count, -0.08 * (k + 1))
        traces.append(
            curve(*at, ghost.colour, name=ghost.name, hoverinfo="skip", line=ghost.line(2))
        )
    for side, colour in SIDES.items():
        traces.append(
            curve(
                *bars(solution.t, signs, (side,), count),
                colour,
                name=_NAMES[side],
                line={"width": 6},
                showlegend=True,
                hovertemplate=f"t = %{{x:.6g}} {time}<extra>{_NAMES[side]}</extra>",
            )
        )
    traces.append(
        {
            **curve(
                *_ticks(solution, -0.68),
                GREY,
                name="elements",
                hovertemplate=f"element ends at t = %{{x:.6g}} {time}<extra></extra>",
            ),
            "mode": "markers",
            "marker": {"color": GREY, "size": 6, "symbol": "line-ns-open"},
        }
    )
    names = [
        s.name if len(s.name) <= _LONG else f"c<sub>{k + 1}</sub>"
        for k, s in enumerate(system.switches[:count])
    ]
    ticks: dict[float, str] = {float(count - 1 - k): name for k, name in enumerate(names)}
    return Plot(
        traces,
        time_title(system),
        "active set",
        (0.0, ending(solution, ghosts)),
        (-0.85, high),
        ticks=ticks,
        share=min(0.45 + 0.2 * count, 1.3),
    )


def _ticks(solution: Solution, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the elements; if they are many, of those that a switch has changed."""
    t = solution.boundaries
    if len(t) > _TICKS:
        h = np.diff(t)
        odd = np.abs(h - np.median(h)) > 1e-6 * np.median(h)
        t = t[:-1][odd]
        t = t[np.linspace(0, len(t) - 1, min(_TICKS, len(t))).astype(int)] if len(t) else t
    return (t.astype(np.float32), np.full(len(t), level, np.float32)) if len(t) else OFF


def lengths_plot(solution: Solution, ghosts: Ghosts = None) -> Plot:
    """Draw the length of each element over its span."""
    t, time = solution.boundaries, solution.system.time_unit
    h = np.diff(t)
    if not len(h):
        x, y, limits = *OFF, (0.1, 1.0)
    else:  # neighbours of equal length are one stroke
        first = np.flatnonzero(np.abs(np.diff(h, prepend=-1.0)) > 1e-6 * h)
        last = np.append(first[1:], len(h))
        if len(first) > 2 * MOST_BARS:
            even = np.linspace(0, len(first) - 1, 2 * MOST_BARS).astype(int)
            extreme = np.argsort(h[first])[: MOST_BARS // 2]
            shown = np.union1d(even, extreme)
            first, last = first[shown], last[shown]
        gap = np.full(len(first), np.nan)
        x = np.column_stack([t[first], t[last], gap]).ravel()
        y = np.column_stack([h[first], h[first], gap]).ravel()
        x, y = x.astype(np.float32), y.astype(np.float32)
        low, high = np.log10([0.7 * h.min(), 1.4 * h.max()]) / _DECADES
        limits = tuple(10.0 ** (_DECADES * np.array([np.floor(low), np.ceil(high)])))
    hover = f"t = %{{x:.5g}} {time}<br>h<sub>n</sub> = %{{y:.3g}} {time}<extra></extra>"
    trace = curve(x, y, COLOURS[0], name="h<sub>n</sub>", line={"width": 2}, hovertemplate=hover)
    return Plot(
        [trace],
        time_title(solution.system),
        f"h<sub>n</sub> ({time})",
        (0.0, ending(solution, ghosts)),
        limits,
        log_y=True,
        ticks=_POWERS,
        share=0.5,
    )


@view(of=("contacts", "active sets"))
def active_set(solution: Solution) -> Picture:
    """Draw the side of each switching function, switches and elements, and below their lengths.

    For a mechanical system: which contacts are open, closed, stick, or slide this way or that. For
    a system with laws that time stepping has run: the places of all laws.

    Raises
    ------
    NotApplicable
        A run without step functions and without contacts.
    """
    if solution.by_laws:
        return compose([[modes_plot(fine(solution))]], [1])
    if has_contacts(solution):
        return compose([[doing_plot(fine(solution))]], [1])
    finer = fine(solution)
    return compose([[active_set_plot(finer), lengths_plot(finer)]], [1])
