"""Friction at the contacts: the force inside its bounds, and when each contact sticks."""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import NONE, Rows, fine, rows
from explorer.views.drawing.ghosts import Ghosts, ending
from explorer.views.drawing.parts import has_friction
from explorer.views.drawing.picture import COLOURS, GREY, OFF, TIME, Picture, Plot, curve, nice
from explorer.views.drawing.traces import Line, Trace
from explorer.views.drawing.view import view

__all__ = ["cone_plot", "friction", "friction_plot", "slip_plot"]

_MOST = 100
_CONTACTS = 6  # of more only one is drawn


def friction_plot(solution: Solution, points: Rows, ghosts: Ghosts = None) -> Plot:
    """Draw the friction force of each contact between its bounds -mu lam and mu lam.

    In space it is the size of the force. Inside the bounds it sticks (bars at the foot of the
    plot), on them it slides. An impact gives no force but an impulse: a gap.
    """
    traces, top = [], 0.0
    for ghost in ghosts or ():
        other = ghost.solution
        if not has_friction(other):
            continue
        force = _forces(other, _size(other.lam_t)[:, _loaded(other)])
        top, gaps = max(top, float(np.nanmax(np.abs(force), initial=0.0))), _events(other)
        for k in range(force.shape[1]):
            traces.append(
                curve(
                    other.t,
                    force[:, k],
                    ghost.colour,
                    name=ghost.name,
                    breaks=gaps,
                    line=ghost.line(),
                    hoverinfo="skip",
                )
            )
    t, gaps, rough = points.t, _events(solution), _loaded(solution)
    bounds, force = (_forces(solution, f) for f in (solution.lam_max, _size(solution.lam_t)))
    most = np.nanmax(bounds[:, rough], initial=0.0)
    top = max(top, float(most))
    top = nice(0.0, top if top > 1e-9 else 1.0)[1]  # without any force no axis in nanonewtons
    depth = 1.0 if solution.lam_t.ndim == 2 else 0.0  # a size is bounded by zero
    many = len(solution.system.rough)
    for k, a in enumerate(rough):
        colour, name = COLOURS[k % len(COLOURS)], solution.system.contacts[a].name
        name += f" (1 of {many})" if len(rough) < many else ""
        bound, own = bounds[:, a], force[:, a]
        edge: Line = {"width": 1}
        # behind the long names of several contacts: short ones stand above each other
        behind: Trace = {"legendrank": 1001} if many > 1 else {}
        text = f"t = %{{x:.5g}} s<br>friction = %{{y:.4g}} N<extra>{name}</extra>"
        traces += [
            curve(
                t,
                bound,
                colour,
                name="± μ λ",
                line=edge,
                opacity=0.6,
                breaks=gaps,
                hoverinfo="skip",
                showlegend=k == 0,
            )
            | behind,
            *(
                [
                    curve(
                        t,
                        -bound,
                        colour,
                        name="− μ λ",
                        line=edge,
                        opacity=0.6,
                        breaks=gaps,
                        hoverinfo="skip",
                    )
                ]
                if depth
                else []
            ),
            curve(t, own, colour, name=name, breaks=gaps, hovertemplate=text, showlegend=many > 1),
            curve(
                *_sticking(solution, a, -(depth + 0.12) * top),
                colour,
                name="sticks",
                line={"width": 5},
                hoverinfo="name",
                showlegend=k == 0,
            )
            | behind,
        ]
    span = (-(depth + 0.2) * top, 1.1 * top)
    return Plot(traces, TIME, "friction (N)", (0.0, ending(solution, ghosts)), span)


def slip_plot(solution: Solution, points: Rows) -> Plot:
    """Draw the sliding velocity of each contact with friction, in space its size."""
    slip, gaps, traces = _size(solution.slip), _events(solution), []
    for k, a in enumerate(_loaded(solution)):
        name = solution.system.contacts[a].name
        text = f"t = %{{x:.5g}} s<br>slip = %{{y:.4g}} m/s<extra>{name}</extra>"
        traces.append(
            curve(
                points.t,
                slip[:, a],
                COLOURS[k % len(COLOURS)],
                breaks=gaps,
                name=name,
                hovertemplate=text,
            )
        )
    low, high = slip.min(initial=0.0), slip.max(initial=0.0)
    return Plot(traces, TIME, "slip (m/s)", (0.0, float(solution.t[-1])), nice(low, high))


def cone_plot(solution: Solution) -> Plot:
    """Draw the friction in space relative to its bound; inside the circle the contact sticks."""
    at = np.arange(1, len(solution.t))
    turn = np.linspace(0, 2 * np.pi, 73, dtype=np.float32)
    traces = [curve(np.cos(turn), np.sin(turn), GREY, name="± μ λ", hoverinfo="skip")]
    for k, a in enumerate(solution.system.rough):
        most = np.where(solution.p_max[at, a] > 0, solution.p_max[at, a], np.nan)
        x, y = solution.p_t[at, a].T / most
        traces.append(
            curve(
                x,
                y,
                COLOURS[k % len(COLOURS)],
                hoverinfo="name",
                breaks=NONE,
                name=solution.system.contacts[a].name,
                meta={"t": solution.t[at]},
            )
        )
    sides = ("first direction", "second direction")
    x_title, y_title = (f"friction / μλ, {side}" for side in sides)
    return Plot(traces, x_title, y_title, (-1.1, 1.1), (-1.1, 1.1), time=False)


def _size(values: np.ndarray) -> np.ndarray:
    """Return friction along a line as it is, (n_t, n_c), and friction in space as its length."""
    return values if values.ndim == 2 else np.hypot(values[..., 0], values[..., 1])


def _forces(solution: Solution, force: np.ndarray) -> np.ndarray:
    """Return forces with gaps in the first row and at impacts, which have impulses only."""
    force = _steady(solution, force)
    if not solution.has("march"):  # of that an event has both limits
        force[[0, *solution.jump_rows]] = np.nan
    return force


def _steady(solution: Solution, force: np.ndarray) -> np.ndarray:
    """Return the median of three steps, because a closed contact may open for a single step.

    Its gap drifts by O(h^3), and the next step then makes up for the one without a force.
    """
    if solution.has("march") or len(force) < 3:
        return force.copy()
    middle = force.copy()
    a, b, c = force[:-2], force[1:-1], force[2:]
    middle[1:-1] = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    return middle


def _loaded(solution: Solution) -> list[int]:
    """Return the contacts with friction that are drawn: all, or of many the most loaded one."""
    rough = np.array(solution.system.rough)
    if len(rough) > _CONTACTS:
        rough = np.sort(rough[np.argsort(-solution.lam_max[:, rough].sum(axis=0))[:1]])
    return list(map(int, rough))


def _events(solution: Solution) -> np.ndarray:
    """Return the rows at which forces and sliding velocities may jump."""
    return np.unique([row for row, *_ in solution.event_rows]).astype(np.int64)


def _sticking(solution: Solution, a: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    on = np.diff(np.concatenate([[False], solution.sticks[:, a], [False]]).astype(np.int8))
    first, after = np.flatnonzero(on == 1)[:_MOST], np.flatnonzero(on == -1)[:_MOST]
    if not len(first):
        return OFF
    none = np.full(len(first), np.nan)
    t = np.column_stack([solution.t[first], solution.t[after - 1], none]).ravel()
    return t.astype(np.float32), np.where(np.isnan(t), np.nan, level).astype(np.float32)


@view(of="friction")
def friction(solution: Solution) -> Picture:
    """Draw friction forces between their bounds, and sliding velocities; in space their lengths.

    Friction in space is drawn in its cone too, cut across.

    Raises
    ------
    NotApplicable
        A system without friction, or a run that does not record it.
    """
    finer = fine(solution)
    points = rows(finer)
    time = [friction_plot(finer, points), slip_plot(finer, points)]
    if finer.p_t.ndim == 2:
        return compose([time], [1])
    picture = compose([time, [cone_plot(finer)]], [3, 2])
    last = f"yaxis{len(time) + 1}"
    picture.layout[last]["scaleanchor"] = picture.layout[last].get("anchor", "x")
    return picture
