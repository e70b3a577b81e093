"""The picture of the explore panel: everything about one run at a glance."""

from __future__ import annotations

from explorer.complementarity import ComplementaritySolution
from explorer.solution import Solution
from explorer.switched import SwitchedTrajectory
from explorer.views.active_set import active_set_plot, lengths_plot
from explorer.views.compose import compose
from explorer.views.contact_laws import friction_law_plot
from explorer.views.decimate import Rows, fine, usual
from explorer.views.energy import energy_plot
from explorer.views.events import impulses_plot
from explorer.views.friction import friction_plot, friction_rows, has_friction
from explorer.views.laws import law_plot
from explorer.views.modes import modes_plot
from explorer.views.multipliers import multipliers_plot
from explorer.views.phase import phase_plot
from explorer.views.phase_plane import phase_plane_plot
from explorer.views.picture import Picture, view
from explorer.views.trajectory import positions_plots, velocities_plot

__all__ = ["explore"]


@view
def explore(solution: Solution, pinned: Solution | None = None) -> Picture:
    """Draw positions, velocities, impulses (friction, if there is any), phase portrait, energy.

    Of a system x' = ...: its states, its modes and the phase portrait; of one with laws also the
    first law with its operating point; of one with step functions its multipliers, active sets and
    elements, and the phase plane with its regions.

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
    if isinstance(solution, SwitchedTrajectory):  # leaves room for regions and multipliers
        budget = 2 * budget // 3
    if has_friction(solution):  # the same for its force and its law
        budget = 4 * budget // 5
    points = friction_rows(solution, budget if pinned is None else budget // 2)
    other = None
    if pinned is not None and pinned.q.shape[1] == n:
        pinned = fine(pinned)
        other = (pinned, friction_rows(pinned, budget // 2 if hybrid else 240 // (1 + n)))
    if isinstance(solution, SwitchedTrajectory):
        return _switched(solution, points, other)
    few = other if n <= 3 else None  # more ghosts would hide what they haunt
    portrait = phase_plot(solution, points, few)
    time = positions_plots(solution, points, other)
    if hybrid:
        time.append(modes_plot(solution, pinned if other else None))
        side = [portrait]
        if isinstance(solution, ComplementaritySolution) and solution.lam.shape[1]:
            side.append(law_plot(solution, points))
    else:
        time.append(velocities_plot(solution, points, few))
        side = [portrait, energy_plot(solution, points, other)]
        if has_friction(solution):
            time.append(friction_plot(solution, points, other))
            if solution.slip.ndim == 2:
                side.append(friction_law_plot(solution, points))
        elif solution.system.contacts:
            time.append(impulses_plot(solution, pinned if other else None))
    return compose([time, side], [1.25, 1])


def _switched(
    solution: SwitchedTrajectory, points: Rows, other: tuple[Solution, Rows] | None
) -> Picture:
    ghost = None if other is None else other[0]
    few = other if solution.system.n <= 3 else None
    time = positions_plots(solution, points, other)
    for plot in time[1:] if few is None else ():
        plot.traces = [t for t in plot.traces if not t["name"].startswith("pinned")]
    if solution.system.switches:
        time += [multipliers_plot(solution), active_set_plot(solution, ghost)]
    time.append(lengths_plot(solution, ghost))
    if solution.system.n == 1:
        plane = phase_plot(solution, points, other)
    else:
        plane = phase_plane_plot(solution, points, few)
    return compose([time, [plane]], [1.25, 1])
