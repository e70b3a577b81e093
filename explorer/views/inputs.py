"""Inputs of a run over time; where an input jumps its curve has a gap."""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.systems.driving import undriven
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import COLOURS, Picture, Plot, curve, extent, label
from explorer.views.drawing.view import view

__all__ = ["corners", "inputs"]


def corners(solution: Solution, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times and values of the corners of an input, and those before which it jumps."""
    drive, end = solution.system.drive, float(solution.t[-1])
    signal = None if drive is None else drive.inputs.get(name)
    if signal is None:
        return np.array([0.0, end]), np.full(2, solution.rho[name]), np.zeros(0, int)
    grid, values = np.asarray(signal.grid), np.asarray(signal.values)
    inside = np.append(grid[(grid > 0) & (grid < end)], end)
    t = np.append(0.0, inside)
    if signal.kind == "linear":
        return t, np.interp(t, grid, values), np.zeros(0, int)
    middle = (t[1:] + t[:-1]) / 2
    jumps = 2 * np.arange(1, len(middle))
    return np.repeat(t, 2)[1:-1], np.repeat(signal(middle), 2), jumps


@view(of="inputs")
def inputs(solution: Solution) -> Picture:
    """Draw each input over time."""
    declared, unit = undriven(solution.system).declared_inputs, solution.system.time_unit
    plots = []
    for k, (name, param) in enumerate(declared.items()):
        t, values, jumps = corners(solution, name)
        line = curve(
            t,
            values,
            COLOURS[k % len(COLOURS)],
            name=label(name),
            breaks=jumps,
            held=False,
            hovertemplate=f"{label(name)} = %{{y:.4g}}<extra></extra>",
        )
        text = f"{label(name)} ({param.unit})" if param.unit else label(name)
        plots.append([Plot([line], f"time t ({unit})", text, (0.0, float(t[-1])), extent(values))])
    return compose(plots, [1] * len(plots))
