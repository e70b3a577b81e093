"""Constraints that begin to hold: whether they also do beside the parameters of a run.

Beside them phi = 0 at the event must follow from what makes the event, r = 0, and from the other
constraints; or from the motion: phi_q Q+ + phi_rho = 0 (Corner et al. 2019, eq. (86)).
"""

from __future__ import annotations

import numpy as np

from explorer.derivatives.asked import Asked
from explorer.errors import NotApplicable
from explorer.kernels.event_driven.records import CLOSING, CONTACTS, DRIFT
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.runs.event_driven.changes import holding, sides_of
from explorer.runs.event_driven.march import March

__all__ = ["check_captures", "unexplained"]

_SMALL = 1e-7  # of a gradient
_MOVES = 1e-5  # of the terms of phi_q Q + phi_rho


def unexplained(march: March) -> list[tuple[int, int]]:
    """Return events and the constraints that begin to hold there, if phi = 0 has no such reason."""
    flow, head = march.flow, march.events.head
    if not flow.changes:
        return []
    captures = np.flatnonzero((head["kind"] == CLOSING) & (head["guard"] >= flow.n_c))
    if not len(captures):
        return []
    hold, found = holding(march, sides_of(march)), []
    for k in captures.tolist():
        rows = _gradients(march, k)
        causes = rows[hold[k]]
        r_x, r_rho = march.part("r_x")[k], march.part("r_rho")[k]
        if not r_x[flow.n :].any():
            cause = np.concatenate([r_x[: flow.n], [head["r_t"][k]], r_rho])
            causes = np.vstack([causes, cause])
        for c in np.flatnonzero(hold[k + 1] & ~hold[k]).tolist():
            weights = np.linalg.lstsq(causes.T, rows[c], rcond=1e-10)[0] if causes.size else []
            left = rows[c] - causes.T @ weights
            if np.abs(left).max() > _SMALL * np.abs(rows[c]).max():
                found.append((k, c))
    return found


def check_captures(question: Asked, run: Solution, found: list[tuple[int, int]]) -> None:
    """Refuse columns that move a constraint off zero where it begins to hold.

    Raises
    ------
    NotApplicable
    """
    march, n = run.march, run.march.flow.n
    for k, c in found:
        row, speed = _gradients(march, k)[c], march.part("x_minus")[k, n : 2 * n]
        before, behind = (
            march.part(side)[k].reshape(len(question.wrt), -1)[:, :n]
            for side in ("s_minus", "s_plus")
        )
        for j, (name, place) in enumerate(zip(question.wrt, question.places, strict=True)):
            own = row[n + 1 + place] if place >= 0 else 0.0
            moved = np.abs(before[j]) + np.abs(speed * march.part("dtau")[k, j])
            if abs(row[:n] @ behind[j] + own) > _MOVES * (np.abs(row[:n]) @ moved + abs(own)):
                raise NotApplicable(
                    f"The constraint {question.system.constraints[c].name!r} begins to hold at t = "
                    f"{quantity(march.events.head['t'][k], 's')}, and {name!r} moves it away from "
                    "zero there: a run beside this one would be refused, so there is no "
                    "derivative. Let `when` change where phi is zero for all parameters, or remove "
                    f"{name!r} from wrt."
                )


def _gradients(march: March, k: int) -> np.ndarray:
    """Return phi_q, phi_t and phi_rho of all constraints at event `k`, (n_phi, n + 1 + n_rho)."""
    flow, n, rows, nr = march.flow, march.flow.n, march.flow.rows, march.flow.n_rho
    inp = flow.input(march.rho)
    inp[0], inp[1 : 1 + flow.n_x] = march.events.head["t"][k], march.part("x_minus")[k, : flow.n_x]
    out, own = np.asarray(flow.bundles[CONTACTS](inp)).copy(), slice(rows - flow.n_phi, rows)
    G = out[2 * rows : (2 + n) * rows].reshape(rows, n)[own]
    by_rho = np.asarray(flow.bundles[DRIFT](inp))[: flow.n_phi * nr].reshape(flow.n_phi, nr)
    return np.hstack([G, out[rows : 2 * rows][own, None], by_rho])
