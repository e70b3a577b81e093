"""Phase portrait: each velocity against its coordinate, with gaps at the jumps.

For a hybrid system, the second state against the first, or the rate of a single state against it.
"""

from __future__ import annotations

from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import Rows, drawn, fine, rows
from explorer.views.drawing.ghosts import Ghosts
from explorer.views.drawing.iterates import return_plot, states_plot
from explorer.views.drawing.parts import start
from explorer.views.drawing.picture import COLOURS, Picture, Plot, curve, extent, label
from explorer.views.drawing.view import view
from explorer.views.trajectory import unit_of

__all__ = ["phase", "phase_plot"]


def phase_plot(solution: Solution, points: Rows, ghosts: Ghosts = None) -> Plot:
    """Draw velocity against coordinate, for the coordinates that are drawn over time."""
    names = solution.system.coordinates
    states = not solution.has_velocities and len(names) > 1
    shown = [0] if states else drawn(names).tolist()
    traces, xs, ys = [], [], []
    for ghost in (*(ghosts or ()), None):
        seen = points if ghost is None else ghost.points
        q, v = seen.q, seen.q[1:] if states else seen.v
        for rank, j in enumerate(shown):
            name = names[j]
            x_text, y_text = label(name), label(name, dot=True)
            if states:
                y_text = label(solution.system.coordinates[1])
            rate = (1, False) if states else (j, True)
            begins = start(solution, rate, (j, False))
            whose = ghost.name if ghost else ""
            hover = f"{x_text} = %{{x:.4g}}<br>{y_text} = %{{y:.4g}}<extra>{whose}</extra>"
            traces.append(
                curve(
                    q[j],
                    v[j],
                    ghost.colour if ghost else COLOURS[rank],
                    name=f"{ghost.name} {x_text}" if ghost else x_text,
                    breaks=seen.torn if states else seen.jumps,
                    held=not states
                    and not seen.torn.size,  # behind a reset the state is another one
                    line=ghost.line(1.0) if ghost else {"width": 1.4},
                    hovertemplate=hover,
                    meta={"t": seen.t} if ghost else {"t": seen.t, "start": begins},
                )
            )
            xs.append(q[j])
            ys.append(v[j])
    if states:
        return Plot(
            traces,
            x_text + unit_of(solution, which=[0]),
            y_text + unit_of(solution, which=[1]),
            extent(*xs),
            extent(*ys),
            time=False,
            time_unit=solution.system.time_unit,
        )
    single = len(names) == 1
    x_title = label(names[0]) if single else "q"
    y_title = label(names[0], dot=True) if single else label("q", dot=True)
    return Plot(
        traces,
        x_title + unit_of(solution),
        y_title + unit_of(solution, True),
        extent(*xs),
        extent(*ys),
        time=False,
    )


@view
def phase(solution: Solution) -> Picture:
    """Draw the phase portrait; for a map dots, for one state each iterate over the one before."""
    if solution.system.discrete:
        draw = return_plot if solution.q.shape[1] == 1 else states_plot
        return compose([[draw(solution)]], [1])
    solution = fine(solution)
    return compose([[phase_plot(solution, rows(solution))]], [1])
