"""The derivative of a run to one side of its parameters: the limit of derivatives beside it.

Where events meet whose order decides, a run is smooth to either side: its derivative at
rho + s d has a limit as s falls to 0, the Bouligand derivative along d if the run itself is
continuous there. It is extrapolated from three runs at s, 2 s and 4 s, with an error of order s^3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.derivatives.question import Question, gradient_of
from explorer.errors import BadValue, ExplorerError
from explorer.results.solution import Solution

__all__ = ["OneSided", "Side", "limit", "side"]

_STEPS = (1e-4, 1e-5, 1e-6, 1e-7)  # of a parameter; the best of them is taken
_WEIGHTS = np.array([8.0, -6.0, 1.0]) / 3.0  # of runs at s, 2 s, 4 s
_LINE = np.array([2.0, -1.0, 0.0])


@dataclass(frozen=True)
class Side:
    """Limit of a run along a direction.

    Attributes
    ----------
    cost, slope : float
        Limit of the cost, and of its derivative along the direction.
    S : (n_x + 1,) limit of the derivative of (x, z) at the final time
    error : float
        How sure the limits are.
    """

    cost: float
    slope: float
    S: np.ndarray
    error: float


@dataclass(frozen=True)
class OneSided:
    """Derivatives to one side of every parameter.

    Attributes
    ----------
    cost_gradient : (p,) limit of the gradient; NaN where there is no run on that side
    cost_jump : (p,) limit of the cost on that side, less the cost itself: 0 but where the run is
        not continuous
    S : (n_x, p) limit of dx/drho at the final time
    """

    cost_gradient: np.ndarray
    cost_jump: np.ndarray
    S: np.ndarray


def limit(question: Question, direction: np.ndarray) -> Side:
    """Return the limit of the derivative along `direction` (p,), from that side.

    Raises
    ------
    ExplorerError
        There is no run on that side.
    """
    now = [question.value(j) for j in range(len(question.wrt))]
    size = np.where(np.array(now) == 0, 1.0, np.abs(now))
    unit = 1 / np.abs(np.asarray(direction, float) / size).max()
    best: Side | None = None
    failed: ExplorerError | None = None
    for step in _STEPS:
        points, met = [], []
        try:
            for many in (1, 2, 4):
                moved, run = _moved(question, direction, step * unit * many)
                cost, gradient = gradient_of(moved, run)
                S = run.march.end()[3]
                points.append([cost, gradient @ direction, *(S @ direction)])
                met.append(run.march.sequence)
        except ExplorerError as refused:
            failed = refused
            continue
        if not met[0] == met[1] == met[2]:
            continue
        value, line = _WEIGHTS @ points, _LINE @ points
        error = float((np.abs(value - line) / (1 + np.abs(value))).max())
        if best is None or error < best.error:
            best = Side(float(value[0]), float(value[1]), value[2:], error)
    if best is None:
        raise failed or BadValue(
            "The event sequence changes at every distance from this parameter value."
        )
    return best


def side(question: Question, cost: float, columns: np.ndarray, sign: int) -> OneSided:
    """Return the derivatives on one side (`sign` +1 or -1) by the parameters `columns`."""
    p, n_x = len(question.wrt), question.cost.flow.n_x
    found = OneSided(np.full(p, np.nan), np.full(p, np.nan), np.full((n_x, p), np.nan))
    for j in np.flatnonzero(columns):
        try:
            one = limit(question, sign * np.eye(p)[j])
        except ExplorerError:
            continue
        found.cost_gradient[j], found.cost_jump[j] = sign * one.slope, one.cost - cost
        found.S[:, j] = sign * one.S[:-1]
    return found


def _moved(question: Question, direction: np.ndarray, step: float) -> tuple[Question, Solution]:
    """Return the question and its run a step along `direction`."""
    names = [s.name for s in question.cost.flow.states]
    shift, changes = np.zeros(len(names)), {}
    for j, (name, place, d) in enumerate(
        zip(question.wrt, question.places, direction, strict=True)
    ):
        if place >= 0:
            changes[j] = question.value(j) + step * d
        else:
            shift[names.index(name)] += step * d
    moved = question.at(changes)
    x0 = moved.start()[0] + shift if shift.any() else None
    return moved, moved.run(x0=x0)
