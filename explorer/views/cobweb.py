"""Cobweb: the iterates of a map of one state, from its graph to the diagonal and back.

From x on the diagonal a line leads up to the graph, at (x, f(x)), and from there across to the
diagonal at f(x), which is the next x. Where the graph crosses the diagonal is a fixed point. Jumps
of the graph stay open.
"""

from __future__ import annotations

import numpy as np

from explorer.compiled.maps import CompiledMap, compile_map
from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.ghosts import Ghosts
from explorer.views.drawing.iterates import return_plot
from explorer.views.drawing.picture import COLOURS, GREY, INK, Picture, Plot, curve, extent
from explorer.views.drawing.polyline import STATIC, Look
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view

__all__ = ["cobweb", "cobweb_plot"]

_POINTS = 201  # of the graph
_STEPS = 60  # of the web: the first ones, more would be a grey area
_HALVED = 50  # times until the end of a branch is found
_OPEN = 1e-6  # of the range: a jump from there on stays open


def graph(compiled: CompiledMap, rho: list[float], low: float, high: float) -> np.ndarray:
    """Return points (k, 2) of a map of one state, a row of NaN at each jump."""
    x = np.linspace(low, high, _POINTS)
    values, side = _evaluated(compiled, rho, x)
    found = np.column_stack([x, values[np.arange(len(x)), side]])
    rows = np.flatnonzero(np.diff(side))
    if not len(rows):
        return found
    left, right = x[rows].copy(), x[rows + 1].copy()
    for _ in range(_HALVED):
        middle = (left + right) / 2
        first = _evaluated(compiled, rho, middle)[1] == side[rows]
        left, right = np.where(first, middle, left), np.where(first, right, middle)
    at = (left + right) / 2
    both, k = _evaluated(compiled, rho, at)[0], np.arange(len(rows))
    ends = both[k, side[rows]], both[k, side[rows + 1]]
    size = _OPEN * max(float(np.ptp(found[:, 1][np.isfinite(found[:, 1])], axis=0)), 1e-300)
    parts: list[np.ndarray] = []
    last = 0
    for i, row in enumerate(rows.tolist()):
        between = [[at[i], ends[0][i]], [np.nan, np.nan], [at[i], ends[1][i]]]
        if abs(ends[0][i] - ends[1][i]) <= size:
            del between[1]
        parts += [found[last : row + 1], np.array(between)]
        last = row + 1
    return np.concatenate([*parts, found[last:]])


def _evaluated(
    compiled: CompiledMap, rho: list[float], x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the formula of every branch (k, branches) and the branch of each point (k,)."""
    from explorer.kernels.model.along_rows import evaluate

    native, count = compiled.branches, len(x)
    result = np.empty((count, native.size))
    out, none = np.empty(native.size), np.zeros((count, 0))
    rows = np.ascontiguousarray(x[:, None])
    evaluate(
        native.address, native.data, np.zeros(count), rows, none, compiled.input(rho), out, result
    )
    branches = compiled.system.branches
    k = many = len(branches)
    side = np.full(count, -1)
    for j, branch in enumerate(branches):
        holds = (result[:, k : k + len(branch.when)] > 0).all(axis=1)
        side[(side < 0) & holds] = j
        k += len(branch.when)
    return result[:, :many], side


def cobweb_plot(solution: Solution, ghosts: Ghosts = None, look: Look = STATIC) -> Plot:
    """Draw the graph, the diagonal, the first steps of the web, and all iterates as dots."""
    plot = return_plot(solution, ghosts, look)
    assert plot.x_range is not None
    low, high = plot.x_range
    rho = list(solution.rho.values())
    points = graph(compile_map(solution.system), rho, low, high)
    x = solution.q[: _STEPS + 1, 0]
    web = np.repeat(x, 2)
    traces: list[Trace] = [
        curve(
            np.array([low, high], np.float32),
            np.array([low, high], np.float32),
            GREY,
            line={"width": 1, "dash": "dash"},
            hoverinfo="skip",
            name="diagonal",
        ),
        curve(
            points[:, 0].astype(np.float32),
            points[:, 1].astype(np.float32),
            INK,
            line={"width": 1.6},
            hoverinfo="skip",
            name="graph",
        ),
        curve(
            web[:-1].astype(np.float32),
            web[1:].astype(np.float32),
            COLOURS[4],
            line={"width": 1},
            hoverinfo="skip",
            name="web",
        ),
    ]
    plot.traces = [*traces, *plot.traces]
    whole = extent(solution.q[:, 0], points[:, 1][np.isfinite(points[:, 1])])
    plot.y_range = min(whole[0], low), max(whole[1], high)
    return plot


@view(of="one state of a map")
def cobweb(solution: Solution) -> Picture:
    """Draw the cobweb of a map of one state.

    Raises
    ------
    NotApplicable
        A run of another system, or of a map with several states.
    """
    return compose([[cobweb_plot(solution)]], [1])
