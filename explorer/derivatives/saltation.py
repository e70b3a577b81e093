"""Saltation: how one event changes sensitivities, S+ = Xi S- + Pi (Corner et al. 2019, eq. (35)).

With D = r_t + r_x f- and the kick k = f+ - h_x f- - h_t of an event, Xi = h_x + k r_x / D and
Pi = h_rho + k r_rho / D; of an event that is chained to another one, at the time of that one,
Xi = h_x and Pi = h_rho - k dt/drho. The rows are those of (x, z): eq. (35), (38), (48).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.results.event import LocatedEvent
from explorer.results.solution import Solution

__all__ = ["Saltation", "final", "saltation"]


@dataclass(frozen=True)
class Saltation:
    """How one event changes sensitivities: S+ = Xi S- + Pi, over (x, z).

    Attributes
    ----------
    Xi : (n_x + 1, n_x + 1), Pi : (n_x + 1, p)
    S_minus, S_plus : (n_x + 1, p) left and right limits
    dt_drho : (p,) event-time sensitivity
    slope : float
        D = r_t + r_x f-; its smallness is grazing.
    event : LocatedEvent
    states, wrt : names of rows and columns
    """

    Xi: np.ndarray
    Pi: np.ndarray
    S_minus: np.ndarray
    S_plus: np.ndarray
    dt_drho: np.ndarray
    slope: float
    event: LocatedEvent
    states: tuple[str, ...]
    wrt: tuple[str, ...]

    @property
    def residual(self) -> float:
        """Largest entry of S+ - (Xi S- + Pi), relative to S+."""
        defect = np.abs(self.S_plus - self.Xi @ self.S_minus - self.Pi).max(initial=0.0)
        return float(defect / (1 + np.abs(self.S_plus).max(initial=0.0)))


def saltation(
    solution: Solution, k: int, wrt: tuple[str, ...], places: tuple[int, ...]
) -> Saltation:
    """Return Xi and Pi of an event from what the march recorded."""
    jump = solution.march.jump(k)
    n_x, D = len(jump.r_x), jump.slope
    full = np.eye(n_x + 1)
    full[:n_x, :n_x] = jump.h_x
    # f+ - h_x f- - h_t, last row for the running cost: g+ - g-
    kick = jump.f_plus - full @ jump.f_minus
    kick[:n_x] -= jump.h_t
    Xi, Pi = full, np.zeros((n_x + 1, len(wrt)))
    if jump.chained:  # its time is that of the event before, whatever S- is
        Pi -= np.outer(kick, jump.dt_drho)
    else:
        Xi = full + np.outer(kick, np.append(jump.r_x, 0.0)) / D
    active_at = getattr(solution.march, "active_at", lambda _, given: given)
    for j, place in enumerate(active_at(k, places)):
        if place >= 0:
            Pi[:n_x, j] += jump.h_rho[:, place]
            if not jump.chained:
                Pi[:, j] += kick * jump.r_rho[place] / D
    names = (*solution.system._state_names(), "z")
    return Saltation(
        Xi, Pi, jump.s_minus, jump.s_plus, jump.dt_drho, D, solution.located[k], names, wrt
    )


def final(
    solution: Solution, k: int
) -> tuple[float, np.ndarray, float, np.ndarray, np.ndarray, np.ndarray]:
    """Return t, x, z, their derivatives (n_x + 1, p) and rates at event `k`, and dt/drho.

    The left limit; of an accumulation the limit of its impacts, which the flow of the contact that
    they leave closed meets there.
    """
    march = solution.march
    if not hasattr(march, "accumulation") or march.accumulation(k)[0][1] == 1.0:
        jump = march.jump(k)
        n_x = len(jump.y) - 1
        return jump.t, jump.y[:n_x], jump.y[n_x], jump.s_minus, jump.f_minus, jump.dt_drho
    t = float(march.hits[k])
    y, rates, _ = march.sample(np.array([t]))
    y, n_x = y[0].reshape(-1, march.flow.n_x + 1), march.flow.n_x
    return t, y[0, :n_x], y[0, n_x], y[1:].T, rates[0], march.motion(k)
