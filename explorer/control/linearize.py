"""Control intervals of a plan, linearised in the exact simulation; the plan beyond its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.control.flows import Flows
from explorer.control.replay import Exact
from explorer.control.solved import Solved
from explorer.control.states import slopes_of, start_of, states_of
from explorer.derivatives import Sensitivity, sensitivity
from explorer.errors import BadValue, ExplorerError
from explorer.quantities import quantity
from explorer.systems import HybridSystem

__all__ = ["Extension", "Interval", "Passage", "extensions", "linearized"]

_BESIDE = 1e-6  # of an interval: an event this close to its end belongs to the next one, or not
_STEP = 1e-5  # of difference quotients, relative to the size of a variable


@dataclass(frozen=True)
class Passage:
    """An event of an interval.

    Attributes
    ----------
    t : float, in s
    before, after : int, modes
    x_minus, x_plus : (n_x,) float
    Xi : (n_x, n_x) float, the saltation matrix
    """

    t: float
    before: int
    after: int
    x_minus: np.ndarray
    x_plus: np.ndarray
    Xi: np.ndarray


@dataclass(frozen=True)
class Interval:
    """A linearised control interval.

    Attributes
    ----------
    A : (n_x, n_x), B : (n_x, n_u) float
    passages : tuple of Passage
    """

    A: np.ndarray
    B: np.ndarray
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True)
class Extension:
    """The plan at the begin of interval `k` in another mode than it has there.

    Attributes
    ----------
    k, mode : int
    x : (n_x,) float
    after : (n_x, n_x) float or Interval
        The saltation matrix of the event that is still to come, or the interval linearised in the
        mode behind the event that came early.
    """

    k: int
    mode: int
    x: np.ndarray
    after: np.ndarray | Interval


def linearized(plan: Solved) -> list[Interval]:
    """Return all control intervals.

    Raises
    ------
    BadValue
        An interval that cannot be simulated.
    """
    exact = Exact(plan.task.system, float(plan.t[-1] - plan.t[0]) / len(plan.u), plan.relation)
    return [_interval(plan, exact, k) for k in range(len(plan.u))]


def _interval(plan: Solved, exact: Exact, k: int) -> Interval:
    """Return interval `k`; an event on its end is counted as the plan counts it."""
    n_x, n_u = plan.x.shape[1], plan.u.shape[1]
    length = float(plan.t[k + 1] - plan.t[k])
    if length <= 1e-12 * max(1.0, float(plan.t[-1])):
        return Interval(np.eye(n_x), np.zeros((n_x, n_u)))
    mode = plan.modes[k] if plan.modes else None
    last = plan.modes[k + 1] if k + 1 < len(plan.modes) else None
    for part in () if exact.relation.moving else (1.0, 1 + _BESIDE, 1 - _BESIDE):
        try:
            found = _sensitivity(plan, exact, k, part * length, plan.begun[k], mode)
        except ExplorerError:
            continue
        S = slopes_of(found)[-1]
        ended = int(found.run.mode[-1]) if mode is not None else None
        if np.isfinite(S).all() and (last is None or ended == last):
            return Interval(S[:, :n_x], S[:, n_x:], _passages(found, float(plan.t[k])))
    return _quotients(plan, exact, k, length, mode)


def _sensitivity(
    plan: Solved, exact: Exact, k: int, length: float, x: np.ndarray, mode: int | None
) -> Sensitivity:
    copy, names = exact.copy, plan.task.control_names
    values = plan.rho | dict(zip(names, map(float, plan.u[k]), strict=True))
    start = copy.modes[mode] if isinstance(copy, HybridSystem) and mode is not None else None
    return sensitivity(
        copy,
        exact.scheme,
        (*(x.name for x in states_of(copy)), *names),
        t_end=length,
        mode0=start,
        rho=values | {exact.shift: float(plan.t[k])},
        **start_of(copy, exact.begun(float(plan.t[k]), x, mode, values)),
    )


def _passages(found: Sensitivity, t: float) -> tuple[Passage, ...]:
    """Return the events of a run that begins at `t`."""
    system = found.run.system
    if not isinstance(system, HybridSystem):
        return ()
    number = {mode.name: i for i, mode in enumerate(system.modes)}
    n_x = system.n
    return tuple(
        Passage(
            t + float(event.t),
            number[event.mode],
            number[event.to],
            event.x_minus,
            event.x_plus,
            found.saltation(i).Xi[:n_x, :n_x],
        )
        for i, event in enumerate(found.events)
        if event.mode in number and event.to in number
    )


def _quotients(plan: Solved, exact: Exact, k: int, length: float, mode: int | None) -> Interval:
    """Return an interval by central differences of exact runs.

    Where it begins on a surface, or an event is on its end: deviations to both sides do not see the
    same sequence, and the mean of both slopes is what a linear feedback can use. And where the
    simulation has algebraic variables as states, whose start moves with the others.
    """
    names = plan.task.control_names
    x, u = plan.begun[k], plan.u[k]
    columns = []
    for j in range(len(x) + len(u)):
        at = np.concatenate([x, u])
        size = _STEP * max(1.0, abs(at[j]))
        ends = []
        for sign in (1, -1):
            moved = at.copy()
            moved[j] += sign * size
            values = plan.rho | dict(zip(names, moved[len(x) :].tolist(), strict=True))
            what = (
                f"Interval {k} of the plan, from {quantity(plan.t[k], 's')}, cannot be linearised:"
            )
            try:
                run, why = exact(float(plan.t[k]), length, moved[: len(x)], mode, values)
            except BadValue as error:
                raise BadValue(f"{what} no simulation begins. {error}") from error
            if run.t[-1] < (1 - 1e-3) * length:
                raise BadValue(f"{what} its simulation stops. {why}")
            ends.append(exact.rows(run)[-1])
        columns.append((ends[0] - ends[1]) / (2 * size))
    S = np.column_stack(columns)
    return Interval(S[:, : len(x)], S[:, len(x) :])


def extensions(plan: Solved, intervals: Sequence[Interval]) -> Iterator[Extension]:
    """Yield the plan extended beyond each event, at the control instants on both sides of it."""
    system = plan.task.system
    if not isinstance(system, HybridSystem) or not any(one.passages for one in intervals):
        return
    flows = Flows(system, plan.relation)
    for k, one in enumerate(intervals):
        begin, end = float(plan.t[k]), float(plan.t[k + 1])
        values = plan.rho | dict(zip(plan.task.control_names, plan.u[k].tolist(), strict=True))
        for event in one.passages:
            if event.after != plan.modes[k]:
                x = flows(event.t, begin - event.t, event.x_plus, event.after, values)
                names = (*system.coordinates, *plan.task.control_names)
                S = flows.slopes(begin, end - begin, x, event.after, values, names)
                yield Extension(k, event.after, x, Interval(S[:, : x.size], S[:, x.size :]))
            if k + 1 < len(intervals) and event.before != plan.modes[k + 1]:
                x = flows(event.t, end - event.t, event.x_minus, event.before, values)
                yield Extension(k + 1, event.before, x, event.Xi)
