"""The sketch of a system along a plan, and along what was carried out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from explorer.compiled import compile_sketch, compile_system
from explorer.control import Course, Plan
from explorer.control.replay import Replayed
from explorer.systems import MechanicalSystem
from explorer.views.drawing.ghosts import TONES
from explorer.views.drawing.plan_curves import course_curve, pieces
from explorer.views.mechanism import Film, Ghost, items_of

__all__ = ["film"]

_FRAMES = 90


def film(plan: Plan, course: Course | None) -> Film | None:
    """Return the animation of a course, with the plan as its ghost; of a plan alone if None."""
    system = plan.task.system
    if not system.shapes:
        return None
    names, end = plan.task.control_names, plan.t_end
    t, x, _ = pieces(plan)
    own = _frames(system, names, plan.rho, (t, x), (plan.t, plan.u), end)
    shown = own
    if course is not None and len(course.u):
        t, x, _ = course_curve(course)
        rho = plan.rho | dict(course.disturbance.parameters)
        end = float(course.t[-1])
        shown = _frames(system, names, rho, (t, x), (course.instants, course.u), end)
    times, xy, radii = shown
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    k = 0
    for shape, radius in zip(system.shapes, radii, strict=True):
        for points in (own[1], xy):
            part = points[:, k : k + len(shape.points)]
            low = np.minimum(low, part.min(axis=(0, 1)) - radius)
            high = np.maximum(high, part.max(axis=(0, 1)) + radius)
        k += len(shape.points)
    pad = 0.04 * max(*(high - low), 1e-9)
    items = items_of(system.shapes, radii)
    planned: Ghost = {"t": own[0], "xy": own[1], "colour": TONES[0], "dash": "solid"}
    ghosts = [] if shown is own else [planned]
    return {
        "t": times,
        "xy": xy,
        "box": [low[0] - pad, high[0] + pad, low[1] - pad, high[1] + pad],
        "unit": "m",
        "items": items,
        "arrows": None,
        "values": np.zeros((len(times), 0), np.float32),
        "ghosts": ghosts,
    }


def _frames(
    system: Replayed,
    names: tuple[str, ...],
    rho: Mapping[str, float],
    curve: tuple[np.ndarray, np.ndarray],
    controls: tuple[np.ndarray, np.ndarray],
    end: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times (k,), points (k, n, 2) in m, and the radii of the shapes."""
    if isinstance(system, MechanicalSystem):
        native = compile_system(system).bundles["sketch"]
    else:
        native = compile_sketch(system)
    times = np.linspace(float(curve[0][0]), end, _FRAMES)
    states = np.column_stack([np.interp(times, curve[0], column) for column in curve[1].T])
    intervals = np.searchsorted(controls[0], times, side="right") - 1
    u = controls[1][np.clip(intervals, 0, len(controls[1]) - 1)]
    values = []
    for t, x, now in zip(times, states, u, strict=True):
        given = {**rho, **dict(zip(names, now, strict=True))}
        parameters = [given[k] for k in system.parameters]
        values.append(native(np.concatenate([[t], x, np.zeros(2 * system.n - len(x)), parameters])))
    out = np.array(values)
    count = sum(len(s.points) for s in system.shapes)
    xy = out[:, : 2 * count].reshape(len(times), count, 2)
    return times.astype(np.float32), xy.astype(np.float32), out[0, 2 * count :]
