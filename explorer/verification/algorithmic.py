"""What a scheme conserves and damps by itself: the energy of its own algorithm.

The theta scheme takes (theta - 1/2) [dv M dv - dv G' p - dq dF] in a step, dv, dq, dF being what
the step changes: it is what remains of M dv = h F_theta + G' p times the mean velocity. Newmark's
method conserves T + V + (2 beta - gamma) h^2 a M a / 4 of a linear system if gamma = 1/2 (Krenk,
*Energy conservation in Newmark based time integration algorithms*, Comput. Methods Appl. Mech. Eng.
195 (2006) 6110).
"""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.verification.energy_balance import evaluated
from explorer.verification.forces import force

__all__ = ["damped_by_theta", "kept_by_newmark"]


def damped_by_theta(solution: Solution, theta: float) -> np.ndarray:
    """Return what the theta scheme takes up to each row in J, (n_t,)."""
    if theta == 0.5 or len(solution.t) < 2:
        return np.zeros_like(solution.t)
    change = {
        k: np.diff(getattr(solution, k), axis=0, prepend=getattr(solution, k)[:1])
        for k in ("q", "v")
    }
    taken = 2 * _kinetic(solution, change["v"])
    change_of_force = np.diff(force(solution), axis=0)
    taken[1:] -= np.einsum("ti,ti->t", change["q"][1:], change_of_force)
    taken[1:] -= (solution.p[1:] * np.diff(solution.gap_dot, axis=0)).sum(axis=1)
    if solution.system.rough:
        rubbed = solution.p_t[1:] * np.diff(solution.slip, axis=0)
        taken[1:] -= rubbed.reshape(len(rubbed), -1).sum(axis=1)
    taken[0] = 0.0
    return np.asarray((theta - 0.5) * np.cumsum(taken))


def kept_by_newmark(solution: Solution, beta: float, gamma: float) -> np.ndarray:
    """Return (2 beta - gamma) h^2 a M a / 4, (n_t,) in J; h is that of the step before."""
    factor = (2 * beta - gamma) / 2
    if abs(factor) < 1e-12:
        return np.zeros_like(solution.t)
    h = np.diff(solution.t, prepend=solution.t[0])
    h[0] = h[1] if len(h) > 1 else 0.0
    return np.asarray(factor * h**2 * _kinetic(solution, solution.a))


def _kinetic(solution: Solution, v: np.ndarray) -> np.ndarray:
    return evaluated(solution, "energy", v=v)[:, 0]
