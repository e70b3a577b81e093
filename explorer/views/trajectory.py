"""Positions and velocities against time; a velocity is never drawn through a jump."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.solution import Solution
from explorer.views.decimate import MOST_CURVES, Rows, rows
from explorer.views.picture import COLOURS, GREY, Picture, Plot, compose, extent, label, view

__all__ = ["positions", "positions_plot", "trajectory", "velocities", "velocities_plot"]

TIME = "time t (s)"


def unit_of(solution: Solution, per_second: bool = False) -> str:
    """Return the unit for an axis title: one unit, or all that occur."""
    units = [u for u in dict.fromkeys(solution.system.units) if u]
    text = ", ".join(f"{u}/s" if per_second else u for u in units)
    return f" ({text})" if text else ""


def drawn(solution: Solution, most: int = MOST_CURVES) -> list[int]:
    """Return which coordinates are drawn: all, or `most` spread evenly over many."""
    n = len(solution.system.coordinates)
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)).tolist()


def curve(x: Any, y: Any, colour: str, **more: Any) -> dict[str, Any]:
    """Return a line trace."""
    return {
        "type": "scatter", "mode": more.pop("mode", "lines"), "x": x, "y": y,
        "line": {"color": colour, "width": 1.8} | more.pop("line", {}),
        "showlegend": False, **more,
    }  # fmt: skip


def _curves(solution: Solution, points: Rows, ghost: bool, dot: bool) -> list[dict[str, Any]]:
    names = solution.system.coordinates
    several = len(names) > 1
    values = points.v if dot else points.q
    mode = "lines+markers" if points.hidden and dot else "lines"
    traces = []
    for j in drawn(solution, 4 if ghost else MOST_CURVES):
        name = names[j]
        text = label(name, dot=dot)
        unit = solution.system.units[j] + ("/s" if dot and solution.system.units[j] else "")
        extra = "pinned" if ghost else ""
        hover = f"t = %{{x:.4g}} s<br>{text} = %{{y:.5g}} {unit}<extra>{extra}</extra>"
        traces.append(
            curve(
                points.t, values[j], GREY if ghost else COLOURS[j % len(COLOURS)],
                name=f"pinned {text}" if ghost else text, mode=mode, marker={"size": 2},
                line={"dash": "dot", "width": 1.2} if ghost else {},
                **({} if len(names) > 6 else {"hovertemplate": hover}),
                **({} if ghost else {"meta": {"t": points.t}}),
            )
        )  # fmt: skip
        if not ghost and several and not dot and len(names) <= 6:
            traces[-1]["showlegend"] = True
    return traces


def positions_plot(
    solution: Solution, points: Rows, pinned: tuple[Solution, Rows] | None = None
) -> Plot:
    """Coordinates, the closed form if the model has one (dashed), and a pinned run (dotted)."""
    seen, ghosts = [*points.q], []
    if pinned is not None:
        ghosts = _curves(*pinned, ghost=True, dot=False)
        seen += pinned[1].q
    exact = []
    if solution.system.exact is not None:
        form = solution.system.exact(points.t.astype(float), solution.rho)
        shape = form["q"].astype(np.float32)
        away = np.abs([solution.q[0] - form["q"][0], solution.v[0] - form["v"][0]])
        if away.max() <= 1e-6:  # the start is the model's own
            exact = [
                curve(
                    points.t, shape[:, j], GREY, name="exact", showlegend=j == 0,
                    line={"dash": "dash", "width": 4}, hoverinfo="skip",
                )
                for j in range(shape.shape[1])
            ]  # fmt: skip
    traces = [*ghosts, *exact, *_curves(solution, points, ghost=False, dot=False)]
    names = solution.system.coordinates
    title = label(names[0]) if len(names) == 1 else "q"
    return Plot(traces, TIME, title + unit_of(solution), _span(solution, pinned), extent(*seen))


def velocities_plot(
    solution: Solution, points: Rows, pinned: tuple[Solution, Rows] | None = None
) -> Plot:
    """Velocities with their jumps left open."""
    seen, ghosts = [*points.v], []
    if pinned is not None:
        ghosts = _curves(*pinned, ghost=True, dot=True)
        seen += pinned[1].v
    traces = [*ghosts, *_curves(solution, points, ghost=False, dot=True)]
    names = solution.system.coordinates
    title = label(names[0], dot=True) if len(names) == 1 else label("q", dot=True)
    return Plot(
        traces, TIME, title + unit_of(solution, True), _span(solution, pinned), extent(*seen)
    )


def _span(solution: Solution, pinned: tuple[Solution, Rows] | None) -> tuple[float, float]:
    end = solution.t[-1] if pinned is None else max(solution.t[-1], pinned[0].t[-1])
    return 0.0, float(end)


@view
def positions(solution: Solution) -> Picture:
    """Draw the coordinates against time."""
    return compose([[positions_plot(solution, rows(solution))]], [1])


@view
def velocities(solution: Solution) -> Picture:
    """Draw the velocities against time, open at their jumps."""
    return compose([[velocities_plot(solution, rows(solution))]], [1])


@view
def trajectory(solution: Solution) -> Picture:
    """Draw positions above velocities."""
    points = rows(solution)
    return compose([[positions_plot(solution, points), velocities_plot(solution, points)]], [1])
