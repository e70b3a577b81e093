"""The curves of a plan: states along its polynomials, steps of controls, bounds, handles."""

from __future__ import annotations

from typing import TypeAlias, Unpack

import numpy as np

from explorer.control.course import Course
from explorer.control.plan import Plan
from explorer.control.replay import Replay
from explorer.transcription.layout import lengths
from explorer.views.drawing.picture import GREY, INK, OFF, curve, extent
from explorer.views.drawing.traces import Handles, Line, Style, Trace

__all__ = [
    "ALIKE",
    "DOTS",
    "Curve",
    "course_curve",
    "goal_mark",
    "goals",
    "grips",
    "pieces",
    "pinned_line",
    "points",
    "range_of",
    "replayed_curve",
    "steps",
    "stroke",
]

# times (k,), states (k, n_x), and the rows before which they jump
Curve: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
DOTS: Line = {"width": 1.4, "dash": "dot"}
ALIKE = 1e-9  # of the time span: times that are one
_FINE = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # of an element, where its polynomial is drawn
_NEAR = 3.0  # times the span of a curve: a bound farther away is not shown
_FLAT = 1e-6  # of its size: what varies less is constant
_JUMP = 1e-6  # of the range of a state: less is no jump


def pieces(plan: Plan) -> Curve:
    """Return times (k,) and states (k, n_x) of a plan along its polynomials, and its jumps."""
    program, w = plan.outcome.program, plan.outcome.w
    h = lengths(program, w).ravel()
    begun = np.asarray(program.begun(w, plan.outcome.p), float).T
    stages = w[program.of["x"]]
    stages = stages.reshape(h.size, stages.shape[2], -1)
    values = np.concatenate([begun[: h.size, None], stages], axis=1)
    weights = _lagrange(np.append(0.0, program.grid.method.c), _FINE)
    x = np.einsum("fs,esn->efn", weights, values)
    t = plan.t[0] + np.append(0.0, np.cumsum(h))[:-1, None] + h[:, None] * _FINE
    real = h > ALIKE * plan.t_end
    t, x, last = t[real], x[real], stages[real, -1]
    size = np.maximum(np.ptp(x.reshape(-1, x.shape[-1]), axis=0), 1e-12)
    jumps = np.flatnonzero((np.abs(x[1:, 0] - last[:-1]) > _JUMP * size).any(axis=1)) + 1
    return t.ravel(), x.reshape(-1, x.shape[-1]), jumps * len(_FINE)


def _lagrange(nodes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the weights (len(at), len(nodes)) of interpolation."""
    out = np.ones((len(at), len(nodes)))
    for j, node in enumerate(nodes):
        for other in np.delete(nodes, j):
            out[:, j] *= (at - other) / (node - other)
    return out


def goals(plan: Plan) -> dict[str, tuple[float, float]]:
    """Return the ranges at the final time of the states that an end constraint names alone."""
    names = plan.task.state_names
    return {
        str(formula): (low, high)
        for formula, low, high, _ in plan.task.end_rules
        if str(formula) in names
    }


def stroke(
    t: np.ndarray, y: np.ndarray, colour: str, what: str, unit: str, **more: Unpack[Style]
) -> Trace:
    style: Style = {"name": what, "hovertemplate": f"{what} = %{{y:.5g}} {unit}<extra></extra>"}
    if "breaks" not in more:
        t, y = (a.astype(np.float32, copy=False) for a in (t, y))
    style.update(more)
    return curve(t, y, colour, **style)


def points(
    t: np.ndarray, y: np.ndarray, colour: str, what: str, symbol: str = "circle", size: float = 5
) -> Trace:
    trace = stroke(t, y, colour, what, "", mode="markers", cliponaxis=False)
    return {**trace, "marker": {"color": colour, "size": size, "symbol": symbol}}


def replayed_curve(replay: Replay) -> Curve:
    """Return the replayed states, and the rows at which they jump."""
    return replay.t, replay.x, np.flatnonzero(np.diff(replay.t) <= ALIKE * replay.t[-1]) + 1


def steps(t: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return piecewise constant values as strokes with gaps between them."""
    gap = np.full(len(u), np.nan)
    x = np.column_stack([t[:-1], t[1:], gap]).ravel()
    return x, np.column_stack([u, u, gap]).ravel()


def range_of(
    low: float, high: float, span: tuple[float, float], colour: str, *values: np.ndarray
) -> tuple[Trace, tuple[float, float]]:
    """Return the lines of two bounds, and a range that holds the values and near bounds."""
    known = np.concatenate([v[np.isfinite(v)] for v in values])
    least, most = float(known.min()), float(known.max())
    wide = max(most - least, _FLAT * max(abs(most), abs(least)))
    near = [b for b in (low, high) if np.isfinite(b) and least - _NEAR * wide <= b]
    near = [b for b in near if b <= most + _NEAR * wide]
    t, y = np.tile([*span, np.nan], 2), np.array([low, low, np.nan, high, high, np.nan])
    y = np.where(np.isfinite(y), y, np.nan)
    if np.isnan(y).all():  # without a point there would be no line that the next picture moves
        t, y = OFF
    dashed: Line = {"width": 1.2, "dash": "dash"}
    return stroke(t, y, colour, "bound", "", line=dashed), extent(known, np.array(near))


def course_curve(course: Course) -> Curve:
    """Return the states of a course, and the rows at which they jump."""
    return course.t, course.x, np.flatnonzero(np.diff(course.t) <= ALIKE * course.t[-1]) + 1


def pinned_line(t: np.ndarray, y: np.ndarray) -> Trace:
    return stroke(t, y, GREY, "pinned", "", line=DOTS)


def goal_mark(end: float, goal: tuple[float, float], text: str) -> Trace:
    """Return the mark of the range that an end constraint leaves."""
    if np.isnan(goal[0]):
        return points(*OFF, INK, "end constraint", "line-ew-open", 11)
    return points(np.full(2, end), np.array(goal), INK, f"end of {text}", "line-ew-open", 11)


def grips(
    name: str, text: str, plan: Plan, i: int, goal: tuple[float, float], colour: str
) -> list[Trace]:
    """Return the start and, where it is one value, the goal, as what the mouse drags."""
    low, high = (x if np.isfinite(x) else None for x in plan.task.limits[0][i].tolist())
    at = points(plan.t[:1], plan.x[:1, i], colour, f"start of {text}", size=11)
    start: Handles = {"keys": [f"x0.{name}"], "name": f"start of {name}", "low": low, "high": high}
    at["meta"] = {"handles": start}
    traces = [at]
    if goal[0] == goal[1]:
        y = np.array(goal[:1])
        aim = points(plan.t[-1:], y, colour, f"goal of {text}", "diamond", 11)
        target: Handles = {"keys": [f"end.{name}"], "name": f"goal of {name}"}
        aim["meta"] = {"handles": {**target, "low": low, "high": high}}
        traces.append(aim)
    return traces
