"""Friction at the contacts: the force inside its bounds, and when each contact sticks."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from explorer.errors import NotApplicable
from explorer.frictional import FrictionalSolution
from explorer.solution import Solution
from explorer.trajectory import Trajectory
from explorer.views.compose import compose
from explorer.views.decimate import Rows, fine, rows
from explorer.views.picture import (
    COLOURS,
    GREY,
    OFF,
    TIME,
    Picture,
    Plot,
    curve,
    nice,
    view,
)

__all__ = ["cone_plot", "friction", "friction_plot", "friction_rows", "has_friction", "slip_plot"]

_MOST = 100
_ROUND = 600  # points of a friction force that goes round
_CONTACTS = 6  # of more only one is drawn
_LEVEL = 1e-6  # of the height of the plot
Rough = Trajectory | FrictionalSolution


def has_friction(solution: Solution | None) -> TypeGuard[Rough]:
    """Whether the run records friction."""
    return isinstance(solution, Rough) and bool(solution.system.rough)


def friction_rows(solution: Solution, budget: int | None = None) -> Rows:
    """Choose about `budget` points, for the friction forces too."""
    if not has_friction(solution):
        return rows(solution, budget)
    forces = [f[:, _loaded(solution)] for f in (_size(solution.lam_t), solution.lam_max)]
    return rows(solution, budget, np.hstack([_steady(solution, f) for f in forces]))


def friction_plot(
    solution: Rough, points: Rows, pinned: tuple[Solution, Rows] | None = None
) -> Plot:
    """Draw the friction force of each contact between its bounds -mu lam and mu lam.

    In space it is the size of the force. Inside the bounds it sticks (bars at the foot of the
    plot), on them it slides. An impact gives no force but an impulse: a gap.
    """
    traces, top = [], 0.0
    ghost = pinned[0] if pinned is not None else None
    if has_friction(ghost):
        at, gaps = _rows(ghost, pinned[1])  # type: ignore[index]
        t, force = _torn(ghost.t, at, gaps), _forces(ghost, _size(ghost.lam_t)[:, _loaded(ghost)])
        top = float(np.nanmax(np.abs(force[at]), initial=0.0))
        for k in range(force.shape[1]):
            ghostly = {"dash": "dot", "width": 1.2}
            traces.append(curve(t, _torn(force[:, k], at, gaps), GREY, name="pinned",
                                line=ghostly, hoverinfo="skip"))  # fmt: skip
    at, gaps = _rows(solution, points)
    t, rough = _torn(solution.t, at, gaps), _loaded(solution)
    bounds, force = (_forces(solution, f) for f in (solution.lam_max, _size(solution.lam_t)))
    most = np.nanmax(bounds[at][:, rough], initial=0.0)
    top = nice(0.0, max(top, float(most), 1e-9))[1]
    depth = 1.0 if solution.lam_t.ndim == 2 else 0.0  # a size is bounded by zero
    many = len(solution.system.rough)
    for k, a in enumerate(rough):
        colour, name = COLOURS[k % len(COLOURS)], solution.system.contacts[a].name
        name += f" (1 of {many})" if len(rough) < many else ""
        bound, own = _torn(bounds[:, a], at, gaps), _torn(force[:, a], at, gaps)
        bent = _bent(_LEVEL * top, bound, own)
        x, bound, own = t[bent], bound[bent], own[bent]
        edge = {"width": 1}
        text = f"t = %{{x:.5g}} s<br>friction = %{{y:.4g}} N<extra>{name}</extra>"
        said = {"showlegend": k == 0}
        traces += [
            curve(x, bound, colour, name="± μ λ", line=edge, opacity=0.6,
                  hoverinfo="skip", **said),
            *([curve(x, -bound, colour, name="− μ λ", line=edge, opacity=0.6,
                     hoverinfo="skip")] if depth else []),
            curve(x, own, colour, name=name,
                  hovertemplate=text, showlegend=many > 1),
            curve(*_sticking(solution, a, -(depth + 0.12) * top), colour, name="sticks",
                  line={"width": 5}, hoverinfo="name", **said),
        ]  # fmt: skip
    end = max(solution.t[-1], 0.0 if ghost is None else ghost.t[-1])
    span = (-(depth + 0.2) * top, 1.1 * top)
    return Plot(traces, TIME, "friction (N)", (0.0, float(end)), span)


def slip_plot(solution: Rough, points: Rows) -> Plot:
    """Draw the sliding velocity of each contact with friction, in space its size."""
    at, gaps = _rows(solution, points)
    t, slip, traces = _torn(solution.t, at, gaps), _size(solution.slip), []
    for k, a in enumerate(_loaded(solution)):
        name = solution.system.contacts[a].name
        text = f"t = %{{x:.5g}} s<br>slip = %{{y:.4g}} m/s<extra>{name}</extra>"
        traces.append(curve(t, _torn(slip[:, a], at, gaps), COLOURS[k % len(COLOURS)],
                            name=name, hovertemplate=text))  # fmt: skip
    low, high = slip[at].min(initial=0.0), slip[at].max(initial=0.0)
    return Plot(traces, TIME, "slip (m/s)", (0.0, float(solution.t[-1])), nice(low, high))


def cone_plot(solution: FrictionalSolution) -> Plot:
    """Draw the friction in space over the most that it can be: inside the circle it sticks."""
    at = np.unique(np.linspace(1, len(solution.t) - 1, _ROUND).astype(int))
    turn = np.linspace(0, 2 * np.pi, 73, dtype=np.float32)
    traces = [curve(np.cos(turn), np.sin(turn), GREY, name="± μ λ", hoverinfo="skip")]
    for k, a in enumerate(solution.system.rough):
        most = np.where(solution.p_max[at, a] > 0, solution.p_max[at, a], np.nan)
        x, y = (solution.p_t[at, a].T / most).astype(np.float32)
        traces.append(curve(x, y, COLOURS[k % len(COLOURS)], hoverinfo="name",
                            name=solution.system.contacts[a].name))  # fmt: skip
    sides = ("first direction", "second direction")
    x_title, y_title = (f"friction / μλ, {side}" for side in sides)
    return Plot(traces, x_title, y_title, (-1.1, 1.1), (-1.1, 1.1), time=False)


def _size(values: np.ndarray) -> np.ndarray:
    """Return values along the line of friction as they are, (n_t, n_c); of vectors their length."""
    return values if values.ndim == 2 else np.hypot(values[..., 0], values[..., 1])


def _forces(solution: Rough, force: np.ndarray) -> np.ndarray:
    """Return forces with gaps at the steps of impacts, which have none, and before the first."""
    force = _steady(solution, force)
    if not isinstance(solution, Trajectory):  # of that an event has both limits
        force[[0, *solution.jump_rows]] = np.nan
    return force


def _steady(solution: Rough, force: np.ndarray) -> np.ndarray:
    """Return the median of three steps: a contact that stays closed may open for one of them.

    Its gap drifts by O(h^3), and the next step then makes up for the one without a force.
    """
    if isinstance(solution, Trajectory) or len(force) < 3:
        return force.copy()
    found = force.copy()
    a, b, c = force[:-2], force[1:-1], force[2:]
    found[1:-1] = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    return found


def _loaded(solution: Rough) -> list[int]:
    """Return the contacts that are drawn: all with friction, of many the one that carried most."""
    rough = np.array(solution.system.rough)
    if len(rough) > _CONTACTS:
        rough = np.sort(rough[np.argsort(-solution.lam_max[:, rough].sum(axis=0))[:1]])
    return rough.tolist()


def _rows(solution: Rough, points: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to draw, with both sides of the events, and the places of gaps in them."""
    jumps = np.unique([row for row, *_ in solution.event_rows][:_MOST]).astype(int)
    behind = np.minimum(jumps + 1, len(solution.t) - 1)
    at = np.unique(np.concatenate([points.velocity, jumps, jumps - 1, behind]))
    return at, np.searchsorted(at, jumps)


def _torn(values: np.ndarray, at: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    return np.insert(values[at].astype(np.float32), gaps, np.nan)


def _bent(least: float, *curves: np.ndarray) -> np.ndarray:
    """Return where one of some curves is not level: what lies between would not be seen."""
    found = np.zeros(len(curves[0]), bool)
    found[[0, -1]] = True
    for y in curves:
        step = ~((np.abs(np.diff(y)) <= least) | (np.isnan(y[1:]) & np.isnan(y[:-1])))
        found[1:] |= step
        found[:-1] |= step
    return found


def _sticking(solution: Rough, a: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    on = np.diff(np.concatenate([[False], solution.sticks[:, a], [False]]).astype(np.int8))
    first, after = np.flatnonzero(on == 1)[:_MOST], np.flatnonzero(on == -1)[:_MOST]
    if not len(first):
        return OFF
    none = np.full(len(first), np.nan)
    t = np.column_stack([solution.t[first], solution.t[after - 1], none]).ravel()
    return t.astype(np.float32), np.where(np.isnan(t), np.nan, level).astype(np.float32)


@view
def friction(solution: Solution) -> Picture:
    """Draw friction forces between their bounds, and sliding velocities; in space their sizes.

    Friction in space is drawn in its cone too, cut across.

    Raises
    ------
    NotApplicable
        A system without friction, or a run that does not record it.
    """
    if not has_friction(solution):
        raise NotApplicable(
            f"'{solution.system.name}' has no friction to draw: give a Contact mu and slip, and "
            "run it with EventDriven() or MoreauJean()."
        )
    finer = fine(solution)
    assert isinstance(finer, Rough)
    points = friction_rows(finer)
    time = [friction_plot(finer, points), slip_plot(finer, points)]
    if not (isinstance(finer, FrictionalSolution) and finer.p_t.ndim > 2):
        return compose([time], [1])
    picture = compose([time, [cone_plot(finer)]], [3, 2])
    last = f"yaxis{len(time) + 1}"
    picture.layout[last]["scaleanchor"] = picture.layout[last].get("anchor", "x")
    return picture
