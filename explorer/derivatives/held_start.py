"""A start on a closed or sticking contact: what moves it off has no derivative there."""

from __future__ import annotations

import numpy as np

from explorer.derivatives.asked import Asked
from explorer.errors import BadValue
from explorer.kernels.event_driven.records import CHANGES, CHANGES_BY_ALL
from explorer.results.solution import Solution
from explorer.runs.event_driven.run import BAND

__all__ = ["check_held_start"]

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
    if flow.n_c == 0 or not len(march.steps.t) or (march.events.head["t"][:1] <= 0).any():
        return
    n_x, rows, nc = flow.n_x, flow.rows, flow.n_c
    can_open = nc + len(flow.rough)  # constraints stand behind them: the start is put on those
    held = march.steps.state[0, 1 : 1 + can_open] == 1
    if not held.any():
        return
    x, seeds = march.steps.y[0, :n_x], question.seeds()

    def constraints(rho: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the gaps, then the speeds of all rows that can open."""
        inp = flow.input(rho)
        inp[0], inp[1 : 1 + n_x] = 0.0, x
        out = flow.bundles[1](inp)
        G = out[2 * rows : 2 * rows + rows * flow.n].reshape(rows, flow.n)
        return np.append(out[:nc], (out[rows : 2 * rows] + G @ x[flow.n :])[:can_open])

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
