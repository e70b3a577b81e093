"""A start on a closed or sticking contact: what moves it off has no derivative there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from explorer.derivatives.asked import Asked
from explorer.errors import BadValue
from explorer.kernels.event_driven.records import CHANGES, CHANGES_BY_ALL
from explorer.results.solution import Solution
from explorer.runs.event_driven.run import BAND

if TYPE_CHECKING:
    from explorer.compiled import Flow

__all__ = [
    "check_held_start",
    "constraints_of",
    "directions",
    "directions_at_end",
    "held_at_start",
    "least_free",
    "slopes_of",
]

_STEP = 1e-6  # of the difference; gaps and speeds are smooth
_MOVES = 1e-6


def check_held_start(question: Asked, run: Solution) -> None:
    """Refuse what moves a contact that is held from t = 0 off the surface that holds it.

    A gap d takes sqrt(2 d / g) to close, and its impact and the sliding meanwhile are as large:
    there is no derivative, or another one to either side.

    Raises
    ------
    BadValue
    """
    flow, march = question.cost.flow, run.march
    _check_changes(question, run)
    held = held_at_start(run)
    if not held.any():
        return
    n_x, nc = flow.n_x, flow.n_c
    x, seeds = march.steps.y[0, :n_x], question.seeds()
    constraints = partial(constraints_of, flow)
    watched = np.append(held[:nc], held)
    for name, place, seed in zip(question.wrt, question.places, seeds.T, strict=True):
        sides = []
        for d in (-_STEP, _STEP):
            rho = question.rho.copy()
            if place >= 0:
                rho[place] += d
            sides.append(constraints(rho, x + d * seed))
        moves = np.abs(sides[1] - sides[0]) / (2 * _STEP) * watched
        if moves.max() <= _MOVES * (1 + np.abs(seed).max()):
            continue
        row = int(moves.argmax())
        row -= nc if row >= nc else 0
        contact = flow.guard_name(row if row < nc else flow.rough[row - nc])
        how = "closed" if row < nc else "sticking"
        raise BadValue(
            f"The run starts with {contact!r} {how}, and {name!r} moves the start away from this "
            "state: the derivative does not exist, or the one-sided derivatives differ. Start "
            "beside it, or remove the parameter from wrt."
        )


def directions(run: Solution) -> np.ndarray | None:
    """Return orthonormal directions in which the start keeps what is held there, (n_x, k).

    None: nothing is held, and it may move in all.
    """
    return _along(run, 0, held_at_start(run))


def directions_at_end(run: Solution) -> np.ndarray | None:
    """Return orthonormal directions along what is held at the end, (n_x, k), or None."""
    steps, held = run.march.steps, held_at_start(run)
    if not len(held):
        return None
    return _along(run, -1, np.asarray(steps.state[-1, 1 : 1 + len(held)] == 1))


def least_free(run: Solution) -> int:
    """Return the least number of directions in which a motion is free anywhere along a run.

    Where contacts close and stick, others are lost for good.
    """
    march, least = run.march, int(run.march.flow.n_x)
    held = len(held_at_start(run))
    if not held:
        return least
    patterns, rows = np.unique(march.steps.state[:, 1 : 1 + held] == 1, axis=0, return_index=True)
    for pattern, row in zip(patterns, rows.tolist(), strict=True):
        free = _along(run, row, pattern)
        least = least if free is None else min(least, free.shape[1])
    return least


def _along(run: Solution, row: int, held: np.ndarray) -> np.ndarray | None:
    """Return orthonormal directions along what is held at a step, (n_x, k); None of nothing."""
    if not held.any():
        return None
    march, flow = run.march, run.march.flow
    x = march.steps.y[row, : flow.n_x].copy()
    _, sizes, rows = np.linalg.svd(slopes_of(flow, np.asarray(march.rho, float), x, held))
    rank = int((sizes > _MOVES * max(sizes.max(initial=0.0), 1e-300)).sum())
    return np.ascontiguousarray(rows[rank:].T)


def slopes_of(flow: Flow, rho: np.ndarray, x: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Return the derivatives of what is held by the state, (rows, n_x)."""
    watched, columns = np.append(held[: flow.n_c], held), []
    for k, size in enumerate(np.maximum(np.abs(x), 1.0)):
        sides = []
        for sign in (-1, 1):
            moved = x.copy()
            moved[k] += sign * _STEP * size
            sides.append(constraints_of(flow, rho, moved)[watched])
        columns.append((sides[1] - sides[0]) / (2 * _STEP * size))
    return np.array(columns).T


def held_at_start(run: Solution) -> np.ndarray:
    """Return which contacts are closed from t = 0, then which of those with friction stick."""
    march, flow = run.march, run.march.flow
    if not getattr(flow, "n_c", 0) or not len(march.steps.t):
        return np.zeros(0, bool)
    # constraints stand behind them: the start is put on those
    can_open = flow.n_c + len(flow.rough)
    held = march.steps.state[0, 1 : 1 + can_open] == 1
    if held.any() and (march.events.head["t"][:1] <= 0).any():
        held[:] = False
    return np.asarray(held)


def constraints_of(flow: Flow, rho: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the gaps, then the speeds of all rows that can open."""
    nc, rows, can_open = flow.n_c, flow.rows, flow.n_c + len(flow.rough)
    inp = flow.input(rho)
    inp[0], inp[1 : 1 + flow.n_x] = 0.0, x
    out = flow.bundles[1](inp)
    G = out[2 * rows : 2 * rows + rows * flow.n].reshape(rows, flow.n)
    return np.append(out[:nc], (out[rows : 2 * rows] + G @ x[flow.n :])[:can_open])


def _check_changes(question: Asked, run: Solution) -> None:
    """Refuse what moves a start off the zero of a formula that changes constraints."""
    flow, march = question.cost.flow, run.march
    if not flow.changes or not len(march.steps.t):
        return
    n, n_w, n_x, nr = flow.n, len(flow.changes), flow.n_x, flow.n_rho
    inp = flow.input(question.rho)
    inp[1 : 1 + n_x] = march.steps.y[0, :n_x]
    on = np.abs(np.asarray(flow.bundles[CHANGES](inp))) <= BAND
    on &= ~np.array([change.once for change in flow.changes])
    if not on.any():
        return
    out = np.asarray(flow.bundles[CHANGES_BY_ALL](inp))
    by_q, by_v, by_rho = np.split(out[: n_w * (n_x + nr)], [n_w * n, n_w * n_x])
    by_x = np.hstack([by_q.reshape(n_w, n), by_v.reshape(n_w, n)])
    moved = by_x @ question.seeds()
    for j, place in enumerate(question.places):
        moved[:, j] += by_rho.reshape(n_w, nr)[:, place] if place >= 0 else 0.0
    wrong = on[:, None] & (np.abs(moved) > _MOVES * (1 + np.abs(by_x).max(initial=0.0)))
    if wrong.any():
        k, j = np.argwhere(wrong)[0]
        name = flow.system.constraints[flow.changes[k].constraints[0][0]].name
        raise BadValue(
            f"The run starts where the constraint {name!r} changes, and {question.wrt[j]!r} moves "
            "the start away from there: the derivative does not exist, or the one-sided "
            "derivatives differ. Start beside it, or remove the parameter from wrt."
        )
