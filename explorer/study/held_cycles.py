"""Cycles that begin on closed or sticking contacts: their unknowns stay on what is held there.

Gaps and speeds c(x, p) of the held rows are zero at the start. A state next to it is moved to
x - C^+ c, C = c_x, so that it changes by the projection I - C^+ C of what moves it along the rows,
and by -C^+ c_p where the parameter moves a support. What opens a contact, or makes it slide, has no
derivative: see `explorer.derivatives.held_start`.
"""

from __future__ import annotations

import numpy as np

from explorer.compiled import Flow
from explorer.derivatives.held_start import constraints_of, held_at_start, slopes_of
from explorer.results.solution import Solution

__all__ = ["Held"]

_MOST, _CLOSE, _STEP = 8, 1e-14, 1e-6


class Held:
    """What is held at the start of a run: closed contacts, and of those that stick their slip.

    Parameters
    ----------
    run : Solution
        From that start.
    t : float, optional
        In s: what is held there is meant, not what is held at the start.
    before : bool
        Whether before an event at that time, not behind it.
    """

    def __init__(self, run: Solution, t: float | None = None, before: bool = False) -> None:
        self.flow: Flow = run.march.flow
        self.rows = held_at_start(run)
        if t is not None and len(self.rows):
            steps = run.march.steps
            k = int(np.searchsorted(steps.t, t, "left" if before else "right")) - 1
            self.rows = np.asarray(steps.state[max(k, 0), 1 : 1 + len(self.rows)] == 1)
        if not self.rows.any():
            self.rows = np.zeros(0, bool)

    def __bool__(self) -> bool:
        return bool(self.rows.any())

    def agrees(self, run: Solution) -> bool:
        """Whether the same is held at the start of a run."""
        return np.array_equal(Held(run).rows, self.rows)

    def put(self, rho: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the state (n_x,) next to x at which all gaps and speeds of these rows are zero."""
        x = x.copy()
        for _ in range(_MOST if self else 0):
            c = self._values(rho, x)
            if np.abs(c).max() <= _CLOSE * (1 + np.abs(x).max()):
                break
            x -= np.linalg.pinv(slopes_of(self.flow, rho, x, self.rows)) @ c
        return x

    def along(self, rho: np.ndarray, x: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Return how the start moves with what moves it, (n_x, n_x), and with a parameter, (n_x,).

        The first is the projection on directions along the rows.
        """
        if not self:
            return np.eye(len(x)), np.zeros(len(x))
        C = slopes_of(self.flow, rho, x, self.rows)
        inverse, sides = np.linalg.pinv(C, rcond=_STEP), []
        step = _STEP * max(1.0, abs(float(rho[place])))
        for sign in (-1, 1):
            moved = rho.copy()
            moved[place] += sign * step
            sides.append(self._values(moved, x))
        by_p = (sides[1] - sides[0]) / (2 * step)
        return np.eye(len(x)) - inverse @ C, -inverse @ by_p

    def _values(self, rho: np.ndarray, x: np.ndarray) -> np.ndarray:
        watched = np.append(self.rows[: self.flow.n_c], self.rows)
        return np.asarray(constraints_of(self.flow, rho, x)[watched])
