"""Laws of multipliers as graphs with the points of a run, named quantities, solver residuals.

A law -y in N_[lb, ub](lam) is a monotone graph in the plane of y and lam; every step of a run is a
point on it. Named quantities such as voltages and currents are drawn in one plot
for each unit.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from explorer.results.solution import Solution
from explorer.types import Bounds
from explorer.views.contact_laws import contact_law_plot, friction_law_plot
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import NONE, Rows, few, fine, rows
from explorer.views.drawing.parts import has_contacts, has_friction
from explorer.views.drawing.picture import (
    COLOURS,
    GREY,
    Picture,
    Plot,
    curve,
    extent,
    label,
    time_title,
)
from explorer.views.drawing.view import view

__all__ = ["law_plot", "laws", "one_step_problem", "quantities", "quantity_plots"]

Named: TypeAlias = tuple[str, str]  # a name and its unit
_MOST = 6  # laws drawn
_MARKS = 400  # points of a run on a law


def law_plot(solution: Solution, points: Rows, k: int = 0) -> Plot:
    """Draw the graph of law k with its set-valued parts, and the run on it."""
    (y_name, y_unit), (name, unit), (low, high) = _named(solution)[k]
    y, lam = solution.y[:, k], solution.lam[:, k]
    y_range, lam_range = extent(y, [0.0]), extent(lam, [b for b in (low, high) if np.isfinite(b)])
    at = few(np.arange(len(points.t)), _MARKS)
    y, lam = y[at].astype(np.float32), lam[at].astype(np.float32)
    bottom = low if np.isfinite(low) else lam_range[0]
    top = high if np.isfinite(high) else lam_range[1]
    # y < 0: lam = ub; y = 0: all between; y > 0: lam = lb
    corners = [(0.0, top), (0.0, bottom)]
    if np.isfinite(high):
        corners.insert(0, (y_range[0], high))
    if np.isfinite(low):
        corners.append((y_range[1], low))
    graph = np.array(corners, np.float32).T
    text = f"{label(y_name)} = %{{x:.4g}} {y_unit}<br>{label(name)} = %{{y:.4g}} {unit}"
    traces = [
        curve(
            graph[0], graph[1], GREY, name="law", line={"width": 5}, opacity=0.4, hoverinfo="skip"
        ),
        curve(
            y,
            lam,
            COLOURS[k % len(COLOURS)],
            name=label(name),
            mode="markers",
            marker={"size": 4, "color": COLOURS[k % len(COLOURS)]},
            hovertemplate=f"{text}<extra></extra>",
            meta={"t": points.t[at].astype(np.float32)},
        ),
    ]
    return Plot(
        traces, label(y_name) + _in(y_unit), label(name) + _in(unit), y_range, lam_range, time=False
    )


def _in(unit: str) -> str:
    return f" ({unit})" if unit else ""


def _named(solution: Solution) -> list[tuple[Named, Named, Bounds]]:
    """Return for each law (name, unit) of y, (name, unit) of lam, and the bounds of lam."""
    named = []
    for law in solution.laws:
        low, high = (float(b.subs(solution.rho)) for b in (law.lb, law.ub))
        named.append(((law.y_name, law.y_unit), (law.name, law.unit), (low, high)))
    return named


def quantity_plots(solution: Solution, points: Rows) -> list[Plot]:
    """Draw every named quantity against time, one plot for each unit."""
    system = solution.system
    time = system.time_unit
    named = list(zip(system.coordinates, system.units, points.q, strict=True))
    for k, (y, lam, _) in enumerate(_named(solution)):
        named.append((*lam, solution.lam[:, k]))
        named.append((*y, solution.y[:, k]))
    units = {o.name: o.unit for o in getattr(system, "outputs", ())}
    for name, values in solution.outputs.items():
        named.append((name, units[name], values))
    plots = []
    for unit in dict.fromkeys(unit for _, unit, _ in named):
        here = [(name, values) for name, measure, values in named if measure == unit]
        traces = []
        for k, (name, values) in enumerate(here):
            text = f"t = %{{x:.5g}} {time}<br>{label(name)} = %{{y:.4g}} {unit}<extra></extra>"
            traces.append(
                curve(
                    points.t,
                    np.ascontiguousarray(values),
                    COLOURS[k % len(COLOURS)],
                    name=label(name),
                    breaks=NONE,
                    line={"dash": ("solid", "dash", "dot")[k // len(COLOURS) % 3]},
                    hovertemplate=text,
                    showlegend=True,
                    meta={"t": points.t},
                )
            )
        title = {"V": "voltages (V)", "A": "currents (A)"}.get(unit, f"quantities{_in(unit)}")
        end = float(solution.t[-1])
        plots.append(
            Plot(traces, time_title(system), title, (0.0, end), extent(*(v for _, v in here)))
        )
    return plots


@view(of=("contacts", "multipliers"))
def laws(solution: Solution) -> Picture:
    """Draw the graphs of at most six laws with the points of the run.

    For a mechanical system: the laws of its contacts and of their friction along a line.

    Raises
    ------
    NotApplicable
        A run without multipliers and laws, and without contacts.
    """
    if has_contacts(solution):
        solution = fine(solution)
        points = rows(solution)
        graphs = [[contact_law_plot(solution, points)]]
        if has_friction(solution) and solution.slip.ndim == 2:
            graphs.append([friction_law_plot(solution, points)])
        return compose(graphs, [1] * len(graphs))
    points = rows(solution)
    plots = [law_plot(solution, points, k) for k in range(min(solution.lam.shape[1], _MOST))]
    half = (len(plots) + 1) // 2
    columns = [plots[:half], plots[half:]] if len(plots) > 1 else [plots]
    return compose(columns, [1] * len(columns))


@view(of="multipliers")
def quantities(solution: Solution) -> Picture:
    """Draw all named quantities against time: voltages, currents, controls.

    Raises
    ------
    NotApplicable
        A run without multipliers and laws.
    """
    return compose([quantity_plots(solution, rows(solution))], [1])


@view(of=("multipliers", "one-step problem"))
def one_step_problem(solution: Solution) -> Picture:
    """Draw the residuals of the one-step problem and Newton's iterations of each step.

    Raises
    ------
    NotApplicable
        A run without multipliers and laws, or one of a mechanical system that locates its events.
    """
    run = solution
    mechanical = not run.by_laws
    t, end = run.t, float(run.t[-1])
    traces = [
        curve(
            t,
            np.maximum(run.residuals[:, k], 1e-18),
            COLOURS[k],
            breaks=NONE,
            name=name,
            showlegend=True,
        )
        for k, name in enumerate(("contacts (m/s)" if mechanical else "laws", "Newton"))
    ]
    top = max(float(run.residuals.max()), 1e-15)
    title = "residual" if mechanical else "relative residual"
    time, limits = time_title(run.system), (1e-18, 10 * top)
    residuals = Plot(traces, time, title, (0.0, end), limits, log_y=True)
    counts = run.iterations.astype(float)
    iterations = Plot(
        [curve(t, counts, COLOURS[2], breaks=NONE, name="iterations")],
        time,
        "Newton iterations",
        (0.0, end),
        (0.0, float(counts.max()) + 1),
    )
    return compose([[residuals, iterations]], [1])
