"""The picture of the explore panel: all plots of one run."""

from __future__ import annotations

from explorer.results.solution import Solution
from explorer.views.active_set import active_set_plot, lengths_plot
from explorer.views.cobweb import cobweb_plot
from explorer.views.contact_laws import friction_law_plot
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import Rows, rows, seen
from explorer.views.drawing.ghosts import Ghost, Pinned, haunting
from explorer.views.drawing.iterates import states_plot, states_plots
from explorer.views.drawing.parts import PARTS, has_friction
from explorer.views.drawing.picture import Picture, Plot
from explorer.views.drawing.polyline import STATIC, Look
from explorer.views.drawing.table import table_plot
from explorer.views.drawing.view import view
from explorer.views.energy import energy_plot
from explorer.views.events import impulses_plot
from explorer.views.friction import friction_plot
from explorer.views.inputs import inputs_plots
from explorer.views.laws import law_plot
from explorer.views.modes import modes_plot
from explorer.views.multipliers import multipliers_plot
from explorer.views.phase import phase_plot
from explorer.views.phase_plane import phase_plane_plot
from explorer.views.trajectory import positions_plots, velocities_plot

__all__ = ["explore"]

_MOST_INPUTS = 3


@view
def explore(solution: Solution, pinned: Pinned = None, *, look: Look = STATIC) -> Picture:
    """Draw positions, velocities, impulses (friction, if there is any), phase portrait, energy.

    For a system x' = ...: its states, its modes and the phase portrait. With laws also the first
    law and its operating point. With step functions its multipliers, active sets and elements, and
    the phase plane with its regions. Inputs stand below the others.

    For a map: its iterates as dots, over their number and in the plane; with one state its cobweb.

    Parameters
    ----------
    solution : Solution
    pinned : Solution, or up to four of them, optional
        Runs to compare with, each with a tone and a dash of its own; of a sequence None leaves out
        the letter, tone and dash of its place.
    look : Look
        The size and the window that the points of the curves are chosen for.
    """
    if solution.system.discrete:
        return _iterates(solution, pinned, look)
    solution, n = seen(solution, look), solution.q.shape[1]
    hybrid = not solution.has_velocities
    points = rows(solution)
    other = haunting(pinned, lambda run: run.q.shape[1] == n, look)
    if solution.has("boundaries"):
        return _switched(solution, points, other, look)
    few = other if n <= 3 else None  # more ghosts would hide what they haunt
    portrait = phase_plot(solution, points, few)
    time = positions_plots(solution, points, other)
    if hybrid:
        time.append(modes_plot(solution, other))
        side = [portrait]
        if solution.by_laws and solution.lam.shape[1]:
            side.append(law_plot(solution, points))
    else:
        time.append(velocities_plot(solution, points, few))
        side = [portrait, energy_plot(solution, points, other)]
        if has_friction(solution):
            time.append(friction_plot(solution, points, other))
            if solution.slip.ndim == 2:
                side.append(friction_law_plot(solution, points))
        elif solution.system.contacts:
            time.append(impulses_plot(solution, other))
    time += _inputs(solution)
    return compose([time, side], [1.25, 1], look=look)


def _iterates(solution: Solution, pinned: Pinned, look: Look) -> Picture:
    n = solution.q.shape[1]
    other = haunting(pinned, lambda run: run.system.discrete and run.q.shape[1] == n, look)
    time = states_plots(solution, other, look)
    side = [(cobweb_plot if n == 1 else states_plot)(solution, other, look)]
    if PARTS["billiard table"].there(solution):
        side.insert(0, table_plot(solution, other, look))
    return compose([time, side], [1.25, 1], look=look)


def _inputs(solution: Solution, share: float = 0.6) -> list[Plot]:
    """Return the plots of the first inputs, whose values the mouse drags."""
    if not solution.has("inputs"):
        return []
    return inputs_plots(solution, share, grips=True)[:_MOST_INPUTS]


def _switched(solution: Solution, points: Rows, other: list[Ghost], look: Look) -> Picture:
    few = other if solution.system.n <= 3 else None
    time = positions_plots(solution, points, other)
    for plot in time[1:] if few is None else ():
        plot.traces = [t for t in plot.traces if not t["name"].startswith("pinned")]
    if solution.system.switches:
        time += [multipliers_plot(solution), active_set_plot(solution, other)]
    time.append(lengths_plot(solution, other))
    if solution.system.n == 1:
        plane = phase_plot(solution, points, other)
    else:
        plane = phase_plane_plot(solution, points, few)
    # the column of times is full
    return compose([time, [plane, *_inputs(solution, 0.3)]], [1.25, 1], look=look)
