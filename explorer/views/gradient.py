"""A cost over a parameter, and its gradient as an arrow uphill along the tangent."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from explorer.derivatives import Sensitivity
from explorer.optimise.cost_curve import CostCurve
from explorer.quantities import unit
from explorer.views.drawing.picture import GREY, OFF, Plot, curve, extent, nice, titled
from explorer.views.drawing.slopes import SLOPE, STATE, parameter
from explorer.views.drawing.traces import Trace

__all__ = ["Along", "cost_plot"]

_FLAT = 1e-6

Along: TypeAlias = CostCurve | tuple[np.ndarray, np.ndarray]  # a parameter and the cost over it


def cost_plot(sens: Sensitivity, j: int, along: Along | None) -> Plot:
    """Draw psi over the parameter, and the gradient as an arrow uphill along the tangent."""
    by, by_unit = parameter(sens, j)
    question = sens.question
    name, place = sens.wrt[j], question.places[j]
    here = float(question.rho[place]) if place >= 0 else float(_start(sens, name))
    psi, slope = sens.cost, float(sens.cost_gradient[j])
    param = question.system.parameters.get(name)
    low, high = (param.low, param.high) if param else (here - 1.0, here + 1.0)
    low, high = min(low, here), max(high, here)
    low, high = low - 0.03 * (high - low), high + 0.03 * (high - low)
    line = OFF if along is None else (_float(along[0]), _float(along[1]))
    reach = 0.14 * (high - low)
    seen = [line[1] if along is not None else np.empty(0), np.array([psi])]
    bottom, top = extent(*seen)
    if top - bottom < _FLAT * abs(psi):  # a cost without influence, but for its tolerance
        bottom, top = nice(psi, psi)
    if along is None:
        half = 1.5 * abs(slope) * reach or 0.5 * abs(psi) or 1.0
        bottom, top = nice(psi - half, psi + half)
    tall = top - bottom
    # uphill along the tangent; of a length that the plot holds
    length = min(reach, 0.35 * tall / abs(slope)) if slope else 0.0
    step = np.sign(slope) * length
    x, y = [here, here + step], [psi, psi + slope * step]
    head = _head(x, y, (high - low) * 0.5, tall) if slope else ([], [])
    arrow = _float([*x, np.nan, *head[0]]), _float([*y, np.nan, *head[1]])
    far = np.array([low, high])
    u, cost_unit = unit(by_unit), unit(sens.question.cost.units[1] or "")
    traces: list[Trace] = [
        curve(
            line[0],
            line[1],
            GREY,
            name="cost ψ",
            hovertemplate=f"%{{x:.4g}}: ψ = %{{y:.5g}} {cost_unit}<extra></extra>",
        ),
        curve(
            _float(far),
            _float(psi + slope * (far - here)),
            SLOPE,
            name="tangent",
            line={"dash": "dot", "width": 1},
            hoverinfo="skip",
        ),
        curve(arrow[0], arrow[1], SLOPE, name="gradient", line={"width": 3}, hoverinfo="skip"),
        {
            **curve(_float([here]), _float([psi]), STATE, name="cost ψ"),
            "mode": "markers",
            "marker": {"color": STATE, "size": 8},
        },
        _marked(along, cost_unit),
    ]
    titles = titled(by, u), titled("cost ψ", cost_unit)
    return Plot(traces, *titles, (low, high), (bottom, top), time=False)


def _marked(along: Along | None, cost_unit: str) -> Trace:
    """Return the trace of the jumps and kinks: a dotted line between the two limits."""
    breaks = along.breaks if isinstance(along, CostCurve) else ()
    x: list[float] = []
    y: list[float] = []
    words: list[str] = []
    for b in breaks:
        x += [b.value, b.value, np.nan]
        y += [b.left, b.right, np.nan]
        said = f"{b.kind} at {b.value:.5g}: ψ = {b.left:.5g} | {b.right:.5g} {cost_unit}".strip()
        words += [said, said, ""]
    at = (_float(x), _float(y)) if x else OFF
    return {
        **curve(
            at[0],
            at[1],
            GREY,
            name="jump or kink",
            line={"dash": "dot", "width": 1.2},
            text=words,
            hovertemplate="%{text}<extra></extra>",
        ),
        "mode": "lines+markers",
        "marker": {"color": GREY, "size": 6, "symbol": "circle-open"},
    }


def _float(values: ArrayLike) -> np.ndarray:
    points = np.array(values, np.float32)
    points[np.isinf(points)] = np.nan  # a cost may grow beyond what can be drawn
    return points


def _start(sens: Sensitivity, name: str) -> float:
    states = [s.name for s in sens.question.cost.flow.states]
    return float(sens.question.start()[0][states.index(name)])


def _head(
    x: list[float], y: list[float], wide: float, tall: float
) -> tuple[list[float], list[float]]:
    """Return the two strokes of an arrow's head, as seen on axes of these lengths (2 : 1)."""
    dx, dy = (x[1] - x[0]) / wide, (y[1] - y[0]) / tall
    size = np.hypot(dx, dy) or 1.0
    dx, dy = 0.09 * dx / size, 0.09 * dy / size
    ends = [(-dx - 0.6 * dy, -dy + 0.6 * dx), (-dx + 0.6 * dy, -dy - 0.6 * dx)]
    xs = [x[1] + wide * ends[0][0], x[1], x[1] + wide * ends[1][0]]
    ys = [y[1] + tall * ends[0][1], y[1], y[1] + tall * ends[1][1]]
    return xs, ys
