"""Energy against time; the loss at an impact is drawn as a gap."""

from __future__ import annotations

from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import NONE, Rows, fine, rows
from explorer.views.drawing.ghosts import Ghosts, ending
from explorer.views.drawing.picture import COLOURS, TIME, Picture, Plot, curve, extent
from explorer.views.drawing.view import view

__all__ = ["energy", "energy_plot"]


def energy_plot(solution: Solution, points: Rows, ghosts: Ghosts = None) -> Plot:
    """Kinetic energy T, potential energy V and their sum (T alone if no potential is known)."""
    curves = [("T", solution.kinetic, COLOURS[1], 1.2)]
    if solution.potential is not None:
        curves += [
            ("V", solution.potential, COLOURS[2], 1.2),
            ("T + V", solution.energy, COLOURS[0], 2.0),
        ]
    seen = [values for _, values, *_ in curves]
    traces = []
    for ghost in ghosts or ():
        other = ghost.solution.energy
        traces.append(
            curve(
                ghost.points.t,
                other,
                ghost.colour,
                name=f"{ghost.name} T + V",
                breaks=ghost.points.jumps,
                line=ghost.line(),
            )
        )
        seen.append(other)
    traces += [
        curve(
            points.t,
            values,
            colour,
            name=name,
            line={"width": width},
            showlegend=True,
            breaks=NONE if name == "V" else points.jumps,
            hovertemplate=f"t = %{{x:.4g}} s<br>{name} = %{{y:.5g}} J<extra></extra>",
        )
        for name, values, colour, width in curves
    ]
    return Plot(traces, TIME, "energy (J)", (0.0, ending(solution, ghosts)), extent(*seen))


@view(of="velocities")
def energy(solution: Solution) -> Picture:
    """Draw the energy against time.

    Raises
    ------
    NotApplicable
        A hybrid system declares no energy.
    """
    solution = fine(solution)
    return compose([[energy_plot(solution, rows(solution))]], [1])
