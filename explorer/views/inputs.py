"""Inputs of a run over time; where an input jumps its curve has a gap."""

from __future__ import annotations

import numpy as np

from explorer.quantities import unit
from explorer.results.solution import Solution
from explorer.systems.driving import undriven
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import (
    COLOURS,
    Picture,
    Plot,
    curve,
    extent,
    label,
    titled,
)
from explorer.views.drawing.traces import Handles, Marker, Trace
from explorer.views.drawing.view import view

__all__ = ["corners", "inputs", "inputs_plots"]

_MOST = 200  # points that can be told apart
_EVEN = 0.25  # of an interval: so far its end may be from that of an even grid


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


def inputs_plots(solution: Solution, share: float = 1.0, *, grips: bool = False) -> list[Plot]:
    """Return a plot of each input; with `grips` its values are points that the mouse drags."""
    declared, time = undriven(solution.system).declared_inputs, solution.system.time_unit
    plots = []
    for k, (name, param) in enumerate(declared.items()):
        t, values, jumps = corners(solution, name)
        colour, text = COLOURS[-1 - k % len(COLOURS)], label(name)
        hover = f"{text} = %{{y:.4g}} {unit(param.unit)}<extra></extra>"
        line = curve(t, values, colour, name=text, breaks=jumps, held=False, hovertemplate=hover)
        low, high = (b if np.isfinite(b) else None for b in param.bounds)
        seen = np.array([values.min(), values.max(), *(b for b in (low, high) if b is not None)])
        traces = [line]
        if grips and (points := _grips(solution, name, colour)):
            points["meta"]["handles"] |= {"low": low, "high": high}
            traces.append({**points, "hovertemplate": hover})
        end = (0.0, float(solution.t[-1]))
        title = titled(text, unit(param.unit))
        plots.append(Plot(traces, f"time t ({time})", title, end, extent(seen), share=share))
    return plots


def _grips(solution: Solution, name: str, colour: str) -> Trace | None:
    """Return the points by which an input is changed: of a constant, or of a short even grid."""
    drive, end = solution.system.drive, float(solution.t[-1])
    signal = None if drive is None else drive.inputs.get(name)
    at, y = np.array([end / 2]), np.array([solution.rho[name]])
    handles: Handles = {"keys": [f"rho.{name}"], "name": name}
    if signal is not None:
        grid, y = np.asarray(signal.grid), np.asarray(signal.values)
        even = np.linspace(0, end, len(grid))
        if len(y) > _MOST or np.abs(grid - even).max() > _EVEN * even[1]:
            return None
        middle = (grid[1:] + grid[:-1]) / 2
        linear = signal.kind == "linear"
        at = grid if linear else middle
        edges = np.concatenate([grid[:1], middle, grid[-1:]]) if linear else grid
        keys = [f"u.{name}.{k}" for k in range(len(y))]
        handles = {"keys": keys, "name": name, "edges": edges}
    dots = curve(at.astype(np.float32), y.astype(np.float32), colour, name=f"values of {name}")
    marker: Marker = {"color": colour, "size": 6}
    dots |= {"mode": "markers", "marker": marker, "cliponaxis": False}
    return {**dots, "meta": {"handles": handles}}


@view(of="inputs")
def inputs(solution: Solution) -> Picture:
    """Draw each input over time."""
    plots = inputs_plots(solution)
    return compose([[plot] for plot in plots], [1] * len(plots))
