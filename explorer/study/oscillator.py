"""The oscillator x'' + 2 xi x' + x = 0, x(0) = 1, by a scheme, beside its exact solution.

The frequency is 1 rad/s, so that h is omega h. Above its stability limit a scheme refuses to run;
here the amplification matrix then goes on, power by power, to show how the numbers grow.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from explorer.codes import SUCCESS
from explorer.compiled import compile_system
from explorer.errors import BadValue
from explorer.parameters import number
from explorer.results.solution import Solution
from explorer.schemes.bases.amplification import amplification, limit
from explorer.schemes.newmark import GeneralizedAlpha, Newmark
from explorer.status import Status
from explorer.study import study
from explorer.study.stability import Studied, checked
from explorer.systems import LinearMechanicalSystem

__all__ = ["Oscillation", "exact_oscillation", "oscillation", "oscillator"]

_FEWEST, _MOST = 12, 4000
_GROWN = 1e6  # where a growing run ends: it has said what it has to say


@study
def oscillator(xi: float = 0.0) -> LinearMechanicalSystem:
    """Return x'' + 2 xi x' + x = 0 as a system, at rest in x = 1.

    Raises
    ------
    BadValue
        xi is no number.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.study.oscillator(xi=0.1).C
    array([[0.2]])
    """
    xi = number(xi, "xi")
    return LinearMechanicalSystem(
        "oscillator",
        [[1.0]],
        [[1.0]],
        [[2.0 * xi]],
        start={"q": [1.0], "v": [0.0]},
        text="one mass on a spring and a dashpot, omega = 1 rad/s",
    )


def exact_oscillation(t: ArrayLike, xi: float = 0.0) -> np.ndarray:
    """Return the exact x(t) with x(0) = 1, x'(0) = 0, for any xi >= 0."""
    at = np.asarray(t, float)
    if abs(xi - 1) < 1e-7:
        critical: np.ndarray = (1 + at) * np.exp(-at)
        return critical
    fast = -xi - np.sqrt(complex(xi**2 - 1))
    slow = 1 / fast
    both: np.ndarray = (fast * np.exp(slow * at) - slow * np.exp(fast * at)) / (fast - slow)
    return both.real


@study
@dataclass(frozen=True)
class Oscillation:
    """A run of the oscillator by a scheme.

    Attributes
    ----------
    motion : Solution
        t is omega t in rad, q the displacement.
    xi : float, physical damping ratio
    exact : (n_t,) float, the exact displacement at the same times
    limit : float, largest stable omega h
    grows : bool
        omega h is above the limit: `motion` is made of powers of the amplification matrix.
    """

    motion: Solution
    xi: float
    exact: np.ndarray
    limit: float
    grows: bool


@study
def oscillation(
    scheme: Studied, xi: float = 0.0, omega_h: float = 0.5, *, t_end: float = 8 * np.pi
) -> Oscillation:
    """Run the oscillator by a scheme of the Newmark family, with any step.

    Parameters
    ----------
    scheme : Newmark, GeneralizedAlpha, or a name
        Its h is replaced.
    xi : float
        Physical damping ratio.
    omega_h : float
        Step in rad, from 1e-6 to 1e6.
    t_end : float
        In rad; at least 12 steps are made and at most 4000.

    Raises
    ------
    BadValue, NotApplicable
        The scheme is not of the family, or a number is inadmissible.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.study.oscillation("central difference", omega_h=2.5).grows  # the limit is 2
    True
    """
    smooth, xi = checked(scheme, xi)
    omega_h = number(omega_h, "The step omega h", "rad", positive=True)
    if not 1e-6 <= omega_h <= 1e6:
        raise BadValue(f"The step omega h = {omega_h:g} rad must lie between 1e-06 and 1e+06.")
    steps = int(np.clip(np.ceil(number(t_end, "t_end", "rad") / omega_h - 1e-9), _FEWEST, _MOST))
    own = dataclasses.replace(smooth, h=omega_h, error_tol=0.0)
    most = limit(own.coefficients, xi)
    grows = omega_h > most * (1 + 1e-12)
    system = oscillator(xi)
    motion = (
        _powers(own, system, xi, steps)
        if grows
        else own.run(compile_system(system), [], steps * omega_h)
    )
    return Oscillation(motion, xi, exact_oscillation(motion.t, xi), most, grows)


def _powers(
    scheme: Newmark | GeneralizedAlpha, system: LinearMechanicalSystem, xi: float, steps: int
) -> Solution:
    begin = time.perf_counter()
    W, A = scheme.h, amplification(scheme.coefficients, scheme.h, xi)
    a0 = -1.0 if scheme.a0 == "consistent" else 0.0
    y = [np.array([1.0, 0.0, a0 * W**2])]
    while len(y) <= steps and np.abs(y[-1][0]) < _GROWN:
        y.append(A @ y[-1])
    d, hv, hha = np.array(y).T[:, :, None]
    none, rows = np.zeros((len(y), 0)), len(y)
    rows_by_name = {
        "t": W * np.arange(rows),
        "q": d,
        "v": hv / W,
        "a": hha / W**2,
        "error": np.zeros(rows),
        "p": none,
        "gap": none,
        "gap_dot": none,
        "active": none.astype(np.int8),
        "iterations": np.zeros(rows, np.int32),
        "residuals": np.zeros((rows, 2)),
        "slip": none,
    }
    return Solution(
        rows_by_name,
        status=Status.of(SUCCESS, rows - 1, W * (rows - 1), 0.0, ""),
        system=system,
        scheme=scheme,
        rho={},
        seconds=time.perf_counter() - begin,
    )
