"""Energy at impacts: the change of T + V since the start, with what each impact gives or takes.

Where a constraint begins to hold the velocities jump too.

A frictionless impact with restitution e of one contact takes (1 - e**2) / 2 of its share of the
energy. An impact law that sets velocities itself may also give energy: that is seen here.
"""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.one_sided import Sides, limits, sides
from explorer.views.drawing.picture import (
    COLOURS,
    GREY,
    OFF,
    Picture,
    Plot,
    curve,
    extent,
    time_title,
)
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view

__all__ = ["energy_change_plot", "impact_energies", "impact_energy"]

GIVEN, TAKEN = COLOURS[1], COLOURS[0]
_POINTS = 300
_ROUND_OFF = 1e-9  # of the kinetic energy: a smaller change is none
_UNSEEN = 1e-3  # of the largest impulse: an accumulation has any number of smaller ones


def impact_energies(solution: Solution) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return times in s, changes of kinetic energy in J and contacts of the impacts.

    The small impacts of an accumulation are left out.
    """
    least = _UNSEEN * max((e.impulse for e in solution.located), default=0.0)
    found = {e.row: e for e in solution.located if e.impulse > least or e.kind == "closed"}
    rows = np.array(sorted(found), int)
    change = solution.kinetic[rows] - solution.kinetic[rows - 1]
    return solution.t[rows], change, [found[row].contact for row in rows.tolist()]


def energy_change_plot(at: Sides, span: tuple[float, float]) -> Plot:
    """Draw T + V since the start (T alone if no potential is known), with its jumps marked."""
    rows = at.rows
    name = "T + V" if rows.potential is not None else "T"
    change = rows.energy - rows.energy[0]
    scale = max(float(rows.kinetic.max(initial=0.0)), 1e-300)
    change[np.abs(change) < _ROUND_OFF * scale] = 0.0
    traces = limits(at, change, COLOURS[0], f"change of {name}")
    room = 1e-3 * scale  # so that round-off is not drawn as a motion
    seen = extent(at.drawn(change), np.array([-room, room]))
    return Plot(traces, time_title(rows.system), f"Δ({name}) (J)", span, seen)


@view(of="located impacts")
def impact_energy(solution: Solution) -> Picture:
    """Draw the change of T + V since the start, and what each impact gives (+) or takes (-)."""
    end = float(solution.march.t_last)
    at = sides(solution, points=_POINTS)
    t, change, contacts = impact_energies(at.rows)
    first = energy_change_plot(at, (0.0, end))
    traces: list[Trace] = []
    scale = max(float(solution.kinetic.max(initial=0.0)), 1e-300)
    change[np.abs(change) < _ROUND_OFF * scale] = 0.0
    stems = np.column_stack([t, t, np.full(len(t), np.nan)]).ravel()
    tall = np.column_stack([np.zeros(len(t)), change, np.full(len(t), np.nan)]).ravel()
    traces.append(curve(stems, tall, GREY, name="impact", line={"width": 1}, hoverinfo="skip"))
    for name, colour, symbol, which in (
        ("takes energy", TAKEN, "circle", change <= 0),
        ("gives energy", GIVEN, "diamond", change > 0),
    ):
        x, y = (t[which], change[which]) if which.any() else OFF
        mark = curve(x, y, colour, name=name, showlegend=True)
        words = [c for c, kept in zip(contacts, which, strict=True) if kept] or [""]
        traces.append(
            {
                **mark,
                "mode": "markers",
                "marker": {"color": colour, "size": 8, "symbol": symbol},
                "text": words,
                "hovertemplate": "%{text}: %{y:.4g} J at %{x:.5g} s<extra></extra>",
            }
        )
    room = 1e-3 * scale
    seen = extent(change, np.array([-room, room]))
    title = time_title(solution.system)
    return compose([[first, Plot(traces, title, "ΔT of impact (J)", (0.0, end), seen)]], [1])
