"""Friction at the contacts: the force inside its bounds, and when each contact sticks."""

from __future__ import annotations

import numpy as np

from explorer.errors import NotApplicable
from explorer.solution import Solution
from explorer.trajectory import Trajectory
from explorer.views.decimate import Rows, fine, rows
from explorer.views.picture import (
    COLOURS,
    GREY,
    OFF,
    TIME,
    Picture,
    Plot,
    compose,
    curve,
    nice,
    view,
)

__all__ = ["friction", "friction_plot", "slip_plot"]

_MOST = 100


def friction_plot(
    solution: Trajectory, points: Rows, pinned: tuple[Solution, Rows] | None = None
) -> Plot:
    """Draw the friction force of each contact between its bounds -mu lam and mu lam.

    Inside the bounds it sticks (bars at the foot of the plot), on them it slides.
    """
    traces, top = [], 0.0
    ghost = pinned[0] if pinned is not None else None
    if isinstance(ghost, Trajectory) and ghost.system.rough:
        at, gaps = _rows(ghost, pinned[1])  # type: ignore[index]
        t, force = _torn(ghost.t, at, gaps), ghost.lam_t[:, list(ghost.system.rough)]
        top = float(np.abs(force[at]).max(initial=0.0))
        for k in range(force.shape[1]):
            ghostly = {"dash": "dot", "width": 1.2}
            traces.append(curve(t, _torn(force[:, k], at, gaps), GREY, name="pinned",
                                line=ghostly, hoverinfo="skip"))  # fmt: skip
    at, gaps = _rows(solution, points)
    t, rough = _torn(solution.t, at, gaps), solution.system.rough
    top = nice(0.0, max(top, float(solution.lam_max[at].max(initial=0.0)), 1e-9))[1]
    for k, a in enumerate(rough):
        colour, name = COLOURS[k % len(COLOURS)], solution.system.contacts[a].name
        bound = _torn(solution.lam_max[:, a], at, gaps)
        edge = {"width": 1}
        text = f"t = %{{x:.5g}} s<br>friction = %{{y:.4g}} N<extra>{name}</extra>"
        said = {"legend": "legend3", "showlegend": k == 0}
        traces += [
            curve(t, bound, colour, name="± μ λ", line=edge, opacity=0.6,
                  hoverinfo="skip", **said),
            curve(t, -bound, colour, name="− μ λ", line=edge, opacity=0.6, hoverinfo="skip"),
            curve(t, _torn(solution.lam_t[:, a], at, gaps), colour, name=name, hovertemplate=text,
                  showlegend=len(rough) > 1, legend="legend3"),
            curve(*_sticking(solution, a, -1.12 * top), colour, name="sticks", line={"width": 5},
                  hoverinfo="name", **said),
        ]  # fmt: skip
    end = max(solution.t[-1], 0.0 if ghost is None else ghost.t[-1])
    return Plot(traces, TIME, "friction (N)", (0.0, float(end)), (-1.2 * top, 1.1 * top))


def slip_plot(solution: Trajectory, points: Rows) -> Plot:
    """Draw the sliding velocity of each contact with friction."""
    at, gaps = _rows(solution, points)
    t, traces = _torn(solution.t, at, gaps), []
    for k, a in enumerate(solution.system.rough):
        name = solution.system.contacts[a].name
        text = f"t = %{{x:.5g}} s<br>slip = %{{y:.4g}} m/s<extra>{name}</extra>"
        traces.append(curve(t, _torn(solution.slip[:, a], at, gaps), COLOURS[k % len(COLOURS)],
                            name=name, hovertemplate=text))  # fmt: skip
    low, high = solution.slip[at].min(initial=0.0), solution.slip[at].max(initial=0.0)
    return Plot(traces, TIME, "slip (m/s)", (0.0, float(solution.t[-1])), nice(low, high))


def _rows(solution: Trajectory, points: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to draw, with both sides of the events, and the places of gaps in them."""
    jumps = np.unique([e.row for e in solution.located][:_MOST]).astype(int)
    at = np.unique(np.concatenate([points.velocity, jumps, jumps - 1]))
    return at, np.searchsorted(at, jumps)


def _torn(values: np.ndarray, at: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    return np.insert(values[at].astype(np.float32), gaps, np.nan)


def _sticking(solution: Trajectory, a: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    on = np.diff(np.concatenate([[False], solution.sticks[:, a], [False]]).astype(np.int8))
    first, after = np.flatnonzero(on == 1)[:_MOST], np.flatnonzero(on == -1)[:_MOST]
    if not len(first):
        return OFF
    none = np.full(len(first), np.nan)
    t = np.column_stack([solution.t[first], solution.t[after - 1], none]).ravel()
    return t.astype(np.float32), np.where(np.isnan(t), np.nan, level).astype(np.float32)


@view
def friction(solution: Solution) -> Picture:
    """Draw friction forces between their bounds, and sliding velocities.

    Raises
    ------
    NotApplicable
        A system without friction, or a run that does not record it.
    """
    if not isinstance(solution, Trajectory) or not solution.system.rough:
        raise NotApplicable(
            f"'{solution.system.name}' has no friction to draw: give a Contact mu and slip, and "
            "run it with EventDriven()."
        )
    finer = fine(solution)
    assert isinstance(finer, Trajectory)
    points = rows(finer)
    return compose([[friction_plot(finer, points), slip_plot(finer, points)]], [1])
