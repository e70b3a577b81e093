"""The picture of the explore panel: everything about one run at a glance."""

from __future__ import annotations

from explorer.solution import Solution
from explorer.trajectory import Trajectory
from explorer.views.decimate import fine, rows, usual
from explorer.views.energy import energy_plot
from explorer.views.events import impulses_plot
from explorer.views.friction import friction_plot
from explorer.views.modes import modes_plot
from explorer.views.phase import phase_plot
from explorer.views.picture import Picture, compose, view
from explorer.views.trajectory import positions_plots, velocities_plot

__all__ = ["explore"]


@view
def explore(solution: Solution, pinned: Solution | None = None) -> Picture:
    """Draw positions, velocities, impulses (friction, if there is any), phase portrait, energy.

    Of a hybrid system: its states, its modes and the phase portrait.

    Parameters
    ----------
    solution : Solution
    pinned : Solution, optional
        A run to compare with: dotted grey.
    """
    solution = fine(solution)
    n = solution.q.shape[1]
    hybrid = not solution.v.shape[1]
    budget = usual(n, hybrid)
    points = rows(solution, budget if pinned is None else 3 * budget // 5)
    other = None
    if pinned is not None and pinned.q.shape[1] == n:
        pinned = fine(pinned)
        other = (pinned, rows(pinned, budget // 2 if hybrid else 400 // (1 + n)))
    few = other if n <= 3 else None  # more ghosts would hide what they haunt
    portrait = phase_plot(solution, points, few)
    time = positions_plots(solution, points, other)
    if hybrid:
        time.append(modes_plot(solution, pinned if other else None))
        side = [portrait]
    else:
        time.append(velocities_plot(solution, points, few))
        side = [portrait, energy_plot(solution, points, other)]
        if isinstance(solution, Trajectory) and solution.system.rough:
            time.append(friction_plot(solution, points, other))
        elif solution.system.contacts:
            time.append(impulses_plot(solution, pinned if other else None))
    picture = compose([time, side], [1.25, 1])
    small = {
        "orientation": "h",
        "yanchor": "bottom",
        "font": {"size": 11},
        "bgcolor": "rgba(0,0,0,0)",
    }
    if not hybrid:
        last = len(time) + 2
        picture.layout["legend2"] = {
            **small, "x": picture.layout[f"xaxis{last}"]["domain"][0],
            "y": picture.layout[f"yaxis{last}"]["domain"][1],
        }  # fmt: skip
    if hybrid or solution.system.contacts:
        picture.layout["legend3"] = {
            **small, "x": 0, "y": picture.layout[f"yaxis{len(time)}"]["domain"][1] - 0.005,
        }  # fmt: skip
    return picture
