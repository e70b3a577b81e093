"""A start on a closed or sticking contact: what moves it off has no derivative there."""

from __future__ import annotations

import numpy as np

from explorer.derivatives.asked import Asked
from explorer.errors import BadValue
from explorer.results.solution import Solution

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
    if flow.n_c == 0 or not len(march.steps.t) or (march.events.head["t"][:1] <= 0).any():
        return
    n_x, rows, nc = flow.n_x, flow.rows, flow.n_c
    held = march.steps.state[0, 1 : 1 + rows] == 1
    if not held.any():
        return
    x, seeds = march.steps.y[0, :n_x], question.seeds()

    def constraints(rho: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the gaps, then the speeds of all rows."""
        inp = flow.input(rho)
        inp[0], inp[1 : 1 + n_x] = 0.0, x
        out = flow.bundles[1](inp)
        G = out[2 * rows : 2 * rows + rows * flow.n].reshape(rows, flow.n)
        return np.append(out[:nc], out[rows : 2 * rows] + G @ x[flow.n :])

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
