"""Growth that is the scheme's alone: theta < 1/2 beyond its limit of stability.

Of x' = A x the theta scheme makes of each eigenvalue z = h lambda a factor
r = (1 + (1 - theta) z) / (1 - theta z) a step, and the equation makes exp(z). With theta >= 1/2 no
mode that decays grows; below it does for h > -2 Re(lambda) / ((1 - 2 theta) |lambda|^2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from explorer.certificate import Check
from explorer.compiled import compile_system
from explorer.quantities import number, quantity
from explorer.results.solution import Solution
from explorer.systems.modal import own_growth

__all__ = [
    "grown",
    "mechanical_growth",
    "newmark_growth",
    "own_growth",
    "step_growth",
    "theta_growth",
]

_FIRST_AND_LAST = [0, 1, 2, -1]  # rows
_BLOWN = 1e6  # times the largest of the first states

_STEADY = 1e-3  # Re(lambda) / |lambda| up to which a mode is none that grows by itself
_FEW = 60  # coordinates up to which the matrix of a step is formed
_HALF = 1e-7  # what eigenvalues that meet round to
_RIGHT = 1.2  # what the equation lets grow may grow a little faster
_FULL = 200  # coordinates up to which all modes are looked at
_SAMPLES = 5
_TOLERATED = 0.05  # growth of an amplitude over the run, where it should stay or decay


class Weights(Protocol):
    """Coefficients of the Newmark family; alpha weighs the old value."""

    @property
    def alpha_m(self) -> float:
        """Of the accelerations."""

    @property
    def alpha_f(self) -> float:
        """Of the forces."""

    @property
    def beta(self) -> float:
        """Of the new acceleration in the position."""

    @property
    def gamma(self) -> float:
        """Of the new acceleration in the velocity."""


def grown(solution: Solution) -> bool:
    """Whether the end lies so far beyond the first steps that the run may have blown up. Quick."""
    if solution.has("march"):  # its steps have a tolerance, and its rows wait
        return False
    if solution.recorded is not None:  # its certificate is there
        return True
    state = solution.v if solution.has_velocities else solution.q
    if len(state) < len(_FIRST_AND_LAST):
        return False
    size = np.abs(state[_FIRST_AND_LAST]).max(axis=1).tolist()
    return not size[-1] <= _BLOWN * max(size[:-1])


def theta_growth(
    matrices: Iterable[np.ndarray], h: float, steps: int, theta: float, unit: str = "s"
) -> list[Check]:
    """Return the check of how much a mode grows in a run that its equation does not let grow.

    Parameters
    ----------
    matrices : A, the derivative of the rate by the state, at some times of the run
    unit : str
        Of h.
    """
    if theta >= 0.5:
        return []
    rates, largest = [], np.inf
    for A in matrices:
        values = np.linalg.eigvals(A)
        values = values[(values.real <= _STEADY * np.abs(values)) & (values != 0)]
        z = h * values
        with np.errstate(all="ignore"):
            factor = np.abs((1 + (1 - theta) * z) / (1 - theta * z))
            limits = -2 * values.real / ((1 - 2 * theta) * np.abs(values) ** 2)
        rates.append(float(np.log(factor).max(initial=0.0)))
        largest = min(largest, float(np.maximum(limits, 0.0).min(initial=np.inf)))
    growth = steps * float(np.mean(rates)) if rates else 0.0
    times = f"10^{growth / np.log(10):.0f}" if growth > 5 else number(np.exp(growth), 3)
    limit = f"stable up to h = {quantity(largest, unit, 3)}" if largest > 0 else "stable for no h"
    return [
        Check(
            "growth",
            growth,
            _TOLERATED,
            "",
            f"theta = {theta:g} is {limit} here, and h = {quantity(h, unit)}: a motion that should "
            f"not grow grows {times} times over the run. theta >= 1/2 is stable at any h.",
        )
    ]


def mechanical_growth(solution: Solution) -> list[Check]:
    """Return the same check of a run of a mechanical system; of many coordinates none."""
    theta, system, n = solution.scheme.theta, solution.system, solution.q.shape[1]
    if theta >= 0.5 or n > _FULL or len(solution.t) < 2 or system.springs:
        return []
    compiled = compile_system(system)
    last = len(solution.t) - 1
    matrices = []
    for row in sorted({0} if compiled.constant else {*np.linspace(0, last, _SAMPLES).astype(int)}):
        inp = compiled.input(list(solution.rho.values()))
        inp[: 1 + 2 * n] = solution.t[row], *solution.q[row], *solution.v[row]
        M, K, C = (
            np.asarray(x.todense() if hasattr(x, "todense") else x) for x in compiled.tangents(inp)
        )
        if np.isfinite(M.sum() + K.sum() + C.sum()):
            below = -np.linalg.solve(M, np.hstack([K, C]))
            matrices.append(np.vstack([np.eye(n, 2 * n, n), below]))
    return theta_growth(matrices, solution.scheme.h, last, theta, solution.system.time_unit)


def step_growth(co: Weights, M: np.ndarray, C: np.ndarray, K: np.ndarray, h: float) -> float:
    """Return by how much a step of the Newmark family grows beyond the equation, ln of a factor.

    M, C, K may be any matrices: the step (d, v, a)_1 = T (d, v, a)_0 is formed.
    """
    n, af, am = len(M), co.alpha_f, co.alpha_m
    eye, zero = np.eye(n), np.zeros((n, n))
    D0 = np.hstack([eye, h * eye, h * h * (0.5 - co.beta) * eye])
    V0 = np.hstack([zero, eye, h * (1 - co.gamma) * eye])
    S = (1 - am) * M + (1 - af) * (co.gamma * h * C + co.beta * h * h * K)
    old = np.hstack([af * K, af * C, am * M]) + (1 - af) * (K @ D0 + C @ V0)
    A = -np.linalg.solve(S, old)
    T = np.vstack([D0 + h * h * co.beta * A, V0 + h * co.gamma * A, A])
    scale = np.repeat([1.0, h, h * h], n)
    radius = np.abs(np.linalg.eigvals(T * scale[:, None] / scale)).max()
    beyond = float(np.log(max(radius, 1e-300))) - _RIGHT * h * own_growth(M, C, K)
    return beyond if beyond > _HALF else 0.0


def newmark_growth(solution: Solution) -> list[Check]:
    """Return the check of growth that a scheme of the Newmark family makes by itself."""
    scheme, system, n = solution.scheme, solution.system, solution.q.shape[1]
    if scheme.coefficients.unconditional or n > _FEW or len(solution.t) < 2:
        return []
    compiled = compile_system(system)
    last = len(solution.t) - 1
    even = {*np.linspace(0, last, _SAMPLES).astype(int).tolist()}
    rates = []
    for row in sorted({0} if compiled.constant else even):
        inp = compiled.input(list(solution.rho.values()))
        inp[: 1 + 2 * n] = solution.t[row], *solution.q[row], *solution.v[row]
        M, K, C = (
            np.asarray(x.todense() if hasattr(x, "todense") else x) for x in compiled.tangents(inp)
        )
        if np.isfinite(M.sum() + K.sum() + C.sum()):
            rates.append(step_growth(scheme.coefficients, M, C, K, scheme.h))
    growth = last * float(np.mean(rates)) if rates else 0.0
    times = f"10^{growth / np.log(10):.0f}" if growth > 5 else number(np.exp(growth), 3)
    return [
        Check(
            "growth",
            growth,
            _TOLERATED,
            "",
            f"h = {quantity(scheme.h, 's')} is not stable here: a motion that should not grow "
            f"grows {times} times over the run. Newmark(beta=1/4, gamma=1/2) is stable at any h.",
        )
    ]
