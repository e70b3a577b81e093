"""Positions and velocities, or states, against time, with gaps at jumps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from explorer.quantities import unit
from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import MOST_CURVES, Rows, drawn, fine, rows
from explorer.views.drawing.ghosts import Ghost, Ghosts, ending
from explorer.views.drawing.iterates import states_plots
from explorer.views.drawing.parts import start
from explorer.views.drawing.picture import (
    COLOURS,
    GREY,
    Picture,
    Plot,
    curve,
    extent,
    label,
    left_out,
    time_title,
)
from explorer.views.drawing.recorded import recorded
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view
from explorer.views.modes import modes_plot

__all__ = [
    "positions",
    "positions_plot",
    "positions_plots",
    "trajectory",
    "velocities",
    "velocities_plot",
]


_EXACT = 20_000  # points of a closed form: more than ten in each column of pixels


def unit_of(
    solution: Solution, per_second: bool = False, which: Iterable[int] | None = None
) -> str:
    """Return the unit, or all units that occur, for an axis title; no unit beside others is 1."""
    units = solution.system.units
    units = tuple(dict.fromkeys(units if which is None else [units[j] for j in which]))
    if not any(units):
        return ""
    time = solution.system.time_unit
    return f" ({', '.join(unit(f'{u or 1}/{time}' if per_second else u or '1') for u in units)})"


def _curves(
    solution: Solution,
    points: Rows,
    dot: bool,
    which: Sequence[int] | None = None,
    ghost: Ghost | None = None,
) -> list[Trace]:
    names = solution.system.coordinates
    several = len(names) > 1
    values, time = points.v if dot else points.q, solution.system.time_unit
    traces = []
    wanted = range(len(names)) if which is None else which
    few = drawn(names, 4 if ghost else MOST_CURVES).tolist()
    for rank, j in enumerate(few):
        if j not in wanted:
            continue
        name = names[j]
        text = label(name, dot=dot)
        measure = unit(solution.system.units[j])
        measure += f"/{time}" if dot and measure else ""
        extra = ghost.name if ghost else ""
        hover = f"t = %{{x:.4g}} {time}<br>{text} = %{{y:.5g}} {measure}<extra>{extra}</extra>"
        traces.append(
            curve(
                points.t,
                values[j],
                ghost.colour if ghost else COLOURS[rank],
                breaks=points.jumps if dot else points.torn,
                name=f"{ghost.name} {text}" if ghost else text,
                line=ghost.line() if ghost else {},
                hovertemplate=hover,
            )
        )
        if not ghost:
            traces[-1]["meta"] = {"t": points.t, "start": start(solution, (j, dot))}
        if not ghost and several and not dot:
            traces[-1]["showlegend"] = True
    if not ghost and not dot and len(traces) < len(wanted):
        traces.append(left_out(len(traces), len(wanted)))
    return traces


def _exact(solution: Solution, points: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return times, the closed form (k, n) and its breaks, if the run has the model's own start.

    Many rows are passed over where they lie closer than pixels do.
    """
    if solution.system.exact is None:
        return None
    t, torn = points.t, points.torn
    if len(t) > 2 * _EXACT:
        rows = np.union1d(np.arange(0, len(t), len(t) // _EXACT), [*torn, *(torn - 1), len(t) - 1])
        t, torn = t[rows], np.searchsorted(rows, torn)
    times, t = t, t.copy()
    t[torn] += 1e-6 * float(t[-1])  # at a reset: before and behind it
    t[torn - 1] -= 1e-6 * float(t[-1])
    form = solution.system.exact(np.maximum(t, 0), solution.rho)
    shape: np.ndarray = form["x"] if "x" in form else form["q"]
    away = np.abs(solution.q[0] - shape[0]).max()
    if "v" in form:
        away = max(away, np.abs(solution.v[0] - form["v"][0]).max())
    return (times, shape, torn) if away <= 1e-6 else None


def positions_plot(
    solution: Solution,
    points: Rows,
    ghosts: Ghosts = None,
    which: Sequence[int] | None = None,
) -> Plot:
    """Draw coordinates, the closed form if the model has one (dashed), and ghosts.

    `which` are those that are drawn, by default all.
    """
    names = solution.system.coordinates
    chosen = list(range(len(names))) if which is None else which
    shown = [j for j in drawn(names).tolist() if j in chosen]
    seen, beside = [points.q[j] for j in shown], []
    for ghost in ghosts or ():
        beside += _curves(ghost.solution, ghost.points, False, which, ghost)
        seen += [ghost.points.q[j] for j in shown]
    known, exact = _exact(solution, points), []
    if known is not None:
        t, form, torn = known
        seen += [form[:, j] for j in shown]  # a coarse run may be far from it
        # many wide lines hide curves
        few = set(drawn(names, 3 if len(chosen) > MOST_CURVES else MOST_CURVES).tolist())
        exact = [
            curve(
                t,
                np.ascontiguousarray(form[:, j]),
                GREY,
                breaks=torn,
                name="exact",
                showlegend=j == 0,
                line={"width": 6},
                opacity=0.35,
                hoverinfo="skip",
            )
            for j in chosen
            if j in few
        ]
    traces = [*beside, *exact, *_curves(solution, points, False, which)]
    title = "q" if which is None else "x"
    if len(chosen) == 1 or (which is not None and len(chosen) <= 2):
        title = ", ".join(label(names[j]) for j in chosen)
    return Plot(
        traces,
        time_title(solution.system),
        title + unit_of(solution, which=chosen),
        (0.0, ending(solution, ghosts)),
        extent(*seen),
    )


def positions_plots(solution: Solution, points: Rows, ghosts: Ghosts = None) -> list[Plot]:
    """Draw coordinates in one plot, or the states of a hybrid system by unit in at most three."""
    if solution.has_velocities:
        return [positions_plot(solution, points, ghosts)]
    groups: dict[str, list[int]] = {}
    for j, measure in enumerate(solution.system.units):
        known = measure in groups or len(groups) < 3
        groups.setdefault(measure if known else list(groups)[-1], []).append(j)
    shown = {*drawn(solution.system.coordinates).tolist()}
    return [
        positions_plot(solution, points, ghosts, which)
        for which in groups.values()
        if shown & {*which}
    ]


def velocities_plot(solution: Solution, points: Rows, ghosts: Ghosts = None) -> Plot:
    """Draw velocities with gaps at their jumps."""
    names = solution.system.coordinates
    shown = drawn(names).tolist()
    seen, beside = [points.v[j] for j in shown], []
    for ghost in ghosts or ():
        beside += _curves(ghost.solution, ghost.points, True, ghost=ghost)
        seen += [ghost.points.v[j] for j in shown]
    traces = [*beside, *_curves(solution, points, True)]
    title = label(names[0], dot=True) if len(names) == 1 else label("q", dot=True)
    return Plot(
        traces,
        time_title(solution.system),
        title + unit_of(solution, True),
        (0.0, ending(solution, ghosts)),
        extent(*seen),
    )


@view(recorded="rows")
def positions(solution: Solution) -> Picture:
    """Draw the coordinates, or the states of a system x' = ... or of a map, against time."""
    if solution.recorded is not None:
        return recorded(solution, "q")
    if solution.system.discrete:
        return compose([states_plots(solution)], [1])
    solution = fine(solution)
    plots = positions_plots(solution, rows(solution))
    return compose([plots], [1])


@view(of="velocities", recorded="rows")
def velocities(solution: Solution) -> Picture:
    """Draw the velocities against time, with gaps at their jumps.

    Raises
    ------
    NotApplicable
        A hybrid system has states, no velocities.
    """
    if solution.recorded is not None:
        return recorded(solution, "v")
    solution = fine(solution)
    return compose([[velocities_plot(solution, rows(solution))]], [1])


@view(recorded="rows")
def trajectory(solution: Solution) -> Picture:
    """Draw positions above velocities, or the states of a hybrid system above its modes.

    If a `Recorder` has thinned out the run, its rows are marked, and no line is drawn between them.
    """
    if solution.recorded is not None:
        return recorded(solution, "qv")
    if solution.system.discrete:
        return compose([states_plots(solution)], [1])
    solution = fine(solution)
    points = rows(solution)
    plots = positions_plots(solution, points)
    last = velocities_plot(solution, points) if solution.has_velocities else modes_plot(solution)
    return compose([[*plots, last]], [1])
