"""Sensitivities dq/drho, dv/drho, dz/drho along a run, with their jumps and predictions.

The left column shows the run, its twins at rho -+ delta / 2, and their first-order prediction
(shaded). The right column shows the derivative, which jumps at the events (Corner et al. 2019, eq.
(35) to (48)), and the finite difference, which has spikes there. Arrows on the time axis are the
event-time sensitivities (33). The last plot on the left is the cost psi over the parameter.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from explorer.derivatives import Sensitivity
from explorer.views.constraint_drift import drift_plot
from explorer.views.drawing.compose import compose
from explorer.views.drawing.one_sided import Sides, sides
from explorer.views.drawing.picture import COLOURS, GREY, Picture, Plot, curve
from explorer.views.drawing.polyline import STATIC, Look
from explorer.views.drawing.slopes import (
    Quantity,
    add_arrows,
    arrow_scale,
    constraint_place,
    force_of,
    parameter,
    quantities,
    slope_plot,
    value_plot,
)
from explorer.views.drawing.traces import Line
from explorer.views.drawing.view import view
from explorer.views.gradient import Along, cost_plot
from explorer.views.impact_energy import energy_change_plot
from explorer.views.twins import LOW, Twins, column, pair, zoom

__all__ = ["as_csv", "sensitivity", "twins"]

END = "end T"
_POINTS, _OF_FORCES = 110, 150  # forces have sharper peaks than motions


@view
def sensitivity(
    sens: Sensitivity,
    wrt: str | int | None = None,
    coordinate: str | int | None = None,
    *,
    delta: float | None = None,
    at: int | None = None,
    window: tuple[float, float] | None = None,
    twin: Twins | None = None,
    twinned: bool = True,
    along: Along | None = None,
    pinned: Sensitivity | None = None,
    arrows: float | None = None,
    look: Look = STATIC,
) -> Picture:
    """Draw a run, its derivative by one parameter, and the cost with its gradient.

    Parameters
    ----------
    sens : Sensitivity
    wrt : str, optional
        The parameter, by default the first one of `sens`.
    coordinate : str, optional
        By default the first one. The name of a constraint: its force is drawn, with the drift from
        all constraints, and the energy with its changes at impacts.
    delta : float, optional
        Distance of the twins; without it none are drawn.
    at : int, optional
        Number of an event to look at closely, from 0.
    window : (low, high), optional
        Window of time in s, instead of the one that `at` would choose.
    twin : Twins, optional
        Runs that were made before, to be drawn.
    twinned : bool
        Whether twins are made if none are given.
    along : CostCurve or (rho, psi), optional
        The cost over the parameter, with its jumps and kinks.
    pinned : Sensitivity, optional
        To compare with: dotted grey.
    arrows : float, optional
        Length of the arrow for dt/drho = 1 in s, taken if it serves.

    Raises
    ------
    ExplorerError
        An unknown parameter, coordinate or event; a twin that cannot run.
    """
    j = column(sens, wrt)
    if at is not None and window is None:
        window = zoom(sens, j, at, delta or 0.0)
    if twin is None and delta is not None and twinned:
        twin = pair(sens, j, delta, window)
    held = constraint_place(sens, coordinate)
    points = _sides(sens, window, _POINTS if held is None else _OF_FORCES)
    ghost = None
    if pinned is not None and pinned.solution.x.shape[1] == sens.solution.x.shape[1]:
        ghost = (pinned, _sides(pinned, window, _POINTS))
    span = (float(points.t[0]), float(points.t[-1])) if window is None else window
    by, _ = parameter(sens, j)
    left, right = [], []
    for quantity in quantities(sens, coordinate) if held is None else [force_of(sens, held)]:
        left.append(value_plot(points, quantity, sens, j, twin, ghost, span, by))
        right.append(slope_plot(points, quantity, sens, j, twin, ghost, span))
    if held is not None:
        left.append(drift_plot(points, span))
        right.append(energy_change_plot(points, span))
    n_x = sens.question.cost.flow.n_x
    running = Quantity("z", 0, n_x, "z", sens.question.cost.units[0])
    right.append(slope_plot(points, running, sens, j, twin, ghost, span))
    if window is not None and delta is not None:
        add_arrows(left[0], points, j, delta, "by δ")
    else:
        scale = arrow_scale(sens, j, span, arrows)
        add_arrows(left[0], points, j, scale, f"× {scale:g}")
    last = sens.question.last(sens.solution)
    if last is not None:
        _verticals([left, right], [last.t], END, GREY)
        left[0].traces[-1] |= {"showlegend": True, "legend": "next"}
    left.append(cost_plot(sens, j, along))
    return compose([left, right], [1, 1], look=look)


def _sides(sens: Sensitivity, window: tuple[float, float] | None, points: int) -> Sides:
    return sides(sens.solution, window, points, given=sens.own is not None)


@view
def twins(
    sens: Sensitivity,
    wrt: str | int | None = None,
    delta: float = 0.05,
    at: int | None = 0,
    coordinate: str | int | None = None,
) -> Picture:
    """Draw the twin perturbed runs around one event, and their difference beside the derivative.

    Figs. 1 and 2 of Corner et al. 2019.

    Parameters
    ----------
    sens : Sensitivity
    wrt : str or int, optional
        The parameter, by name or number; by default the first one of `sens`.
    delta : float
        Distance of the twins in this parameter, in its unit, > 0.
    at : int, optional
        Number of the event, from 0. None draws the whole run.
    coordinate : str or int, optional
        By default the first one.

    Raises
    ------
    ExplorerError
        An unknown parameter, coordinate or event; a twin that cannot run.
    """
    j = column(sens, wrt)
    window = None if at is None else zoom(sens, j, at, delta)
    twin = pair(sens, j, delta, window)
    points = _sides(sens, window, _POINTS)
    span = (float(points.t[0]), float(points.t[-1])) if window is None else window
    by, _ = parameter(sens, j)
    columns: list[list[Plot]] = []
    for quantity in quantities(sens, coordinate):
        top = value_plot(points, quantity, sens, j, twin, None, span, by)
        columns.append([top, slope_plot(points, quantity, sens, j, twin, None, span)])
    for name, run, colour in (("τ<sub>1</sub>", twin.low, LOW), ("τ<sub>2</sub>", twin.high, None)):
        _verticals(columns, run.rows.t[run.right], name, colour or COLOURS[1])
    return compose(columns, [1] * len(columns))


def _verticals(
    columns: list[list[Plot]], t: Sequence[float], name: str, colour: str, **line: Unpack[Line]
) -> None:
    """Add a thin vertical line through all plots at each of the given times."""
    for plots in columns:
        for plot in plots:
            assert plot.y_range is not None
            x = np.repeat(t, 3)
            low, high = plot.y_range
            room = 4 * (high - low)  # the axis may be wider than this picture needs
            y = np.tile([low - room, high + room, np.nan], len(t))
            if len(t):
                plot.traces.append(
                    curve(
                        x.astype(np.float32),
                        y.astype(np.float32),
                        colour,
                        name=name,
                        line={"width": 1, **line},
                        hoverinfo="skip",
                    )
                )


def as_csv(sens: Sensitivity) -> str:
    """Return t, the states, z and all derivatives along the rows as CSV with all digits."""
    states = [s.name for s in sens.question.cost.flow.states]
    run = sens.solution
    columns = {"t": run.t} | {s: run.x[:, i] for i, s in enumerate(states)} | {"z": run.z}
    for j, by in enumerate(sens.wrt):
        columns |= {f"d{s}/d{by}": sens.S[:, i, j] for i, s in enumerate(states)}
        columns |= {f"dz/d{by}": sens.Z[:, j]}
    text = io.StringIO()
    np.savetxt(
        text,
        np.column_stack(list(columns.values())),
        fmt="%.17g",
        delimiter=",",
        header=",".join(columns),
        comments="",
    )
    return text.getvalue()
