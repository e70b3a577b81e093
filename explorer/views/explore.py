"""The picture of the explore panel: everything about one run at a glance."""

from __future__ import annotations

from explorer.solution import Solution
from explorer.views.decimate import rows, usual
from explorer.views.energy import energy_plot
from explorer.views.events import impulses_plot
from explorer.views.phase import phase_plot
from explorer.views.picture import Picture, compose, view
from explorer.views.trajectory import positions_plot, velocities_plot

__all__ = ["explore"]


@view
def explore(solution: Solution, pinned: Solution | None = None) -> Picture:
    """Draw positions, velocities, impulses, phase portrait and energy.

    Parameters
    ----------
    solution : Solution
    pinned : Solution, optional
        A run to compare with: dotted grey.
    """
    n = solution.q.shape[1]
    points = rows(solution, usual(n) if pinned is None else 3 * usual(n) // 5)
    other = None
    if pinned is not None and pinned.q.shape[1] == n:
        other = (pinned, rows(pinned, 400 // (1 + n)))
    few = other if n <= 3 else None  # more ghosts would hide what they haunt
    time = [positions_plot(solution, points, other), velocities_plot(solution, points, few)]
    if solution.system.contacts:
        time.append(impulses_plot(solution, pinned if other else None))
    picture = compose(
        [time, [phase_plot(solution, points, few), energy_plot(solution, points, other)]],
        [1.25, 1],
    )
    small = {
        "orientation": "h",
        "yanchor": "bottom",
        "font": {"size": 11},
        "bgcolor": "rgba(0,0,0,0)",
    }
    xaxis, last = f"xaxis{len(time) + 2}", len(time) + 2
    picture.layout["legend2"] = {
        **small, "x": picture.layout[xaxis]["domain"][0],
        "y": picture.layout[f"yaxis{last}"]["domain"][1],
    }  # fmt: skip
    if solution.system.contacts:
        picture.layout["legend3"] = {
            **small, "x": 0, "y": picture.layout[f"yaxis{len(time)}"]["domain"][1] - 0.005,
        }  # fmt: skip
    return picture
