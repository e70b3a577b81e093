"""Amplification of the Newmark family on x'' + 2 xi omega x' + omega^2 x = 0, and what follows.

With y = (d, h v, h^2 a) and Omega = omega h one step is y1 = A(Omega, xi) y0. Spectral radius,
algorithmic damping, period error and stability limit are those of A. (*Newmark methods*, the table;
Hughes, *The Finite Element Method*, 9.1; Chung and Hulbert 1993.)
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from explorer.compiled import Compiled
from explorer.errors import BadValue
from explorer.quantities import quantity
from explorer.systems.modal import natural_modes
from explorer.types import Matrix
from explorer.verification.growth import step_growth

__all__ = [
    "Coefficients",
    "amplification",
    "characteristic",
    "check_step",
    "limit",
    "radius_at_infinity",
    "roots",
    "within_limit",
]


_FULL = 200  # coordinates up to which the matrix of a step is formed


@dataclass(frozen=True)
class Coefficients:
    """alpha_m, alpha_f, beta, gamma of a scheme; alpha weighs the old value."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    @property
    def order(self) -> int:
        """2 if gamma = 1/2 - alpha_m + alpha_f, else 1."""
        return 2 if abs(self.gamma - 0.5 + self.alpha_m - self.alpha_f) < 1e-12 else 1

    @property
    def unconditional(self) -> bool:
        """Whether no root leaves the unit circle, for any step and any physical damping.

        Necessary and sufficient, from `characteristic` by Routh and Hurwitz; of order 2 it is Chung
        and Hulbert 1993, eq. (21), (22), without alphas 2 beta >= gamma >= 1/2.
        """
        low = 4e-15
        return (
            max(self.alpha_m, self.alpha_f) <= 0.5 + low
            and self.gamma >= 0.5 - low
            and 2 * self.beta >= self.gamma - low
            and self.gamma >= 0.5 - self.alpha_m + self.alpha_f - low
        )

    @property
    def lost(self) -> str:
        """A sentence on what an unusual choice loses, or nothing."""
        said = []
        if self.order < 2:
            said.append(
                "first order only: gamma is not 1/2 - alpha_m + alpha_f "
                f"= {0.5 - self.alpha_m + self.alpha_f:g}"
            )
        if self.alpha_m > self.alpha_f:
            said.append(f"alpha_m = {self.alpha_m:g} > alpha_f = {self.alpha_f:g}")
        if self.alpha_f > 0.5:
            said.append(f"alpha_f = {self.alpha_f:g} > 1/2")
        if not self.unconditional:
            most = limit(self)
            upto = (
                "without damping for none" if most == 0 else f"undamped up to omega h = {most:.4g}"
            )
            said.append("not stable for every step" + (f": {upto}" if most < np.inf else ""))
        return "; ".join(said)


def amplification(co: Coefficients, omega_h: npt.ArrayLike, xi: npt.ArrayLike = 0.0) -> np.ndarray:
    """Return A (..., 3, 3) for y = (d, h v, h^2 a); Omega = omega h and xi may be arrays."""
    W, xi = np.broadcast_arrays(np.asarray(omega_h, float), np.asarray(xi, float))
    am, af, beta, gamma = co.alpha_m, co.alpha_f, co.beta, co.gamma
    B = np.array([[1, 1, 0.5 - beta], [0, 1, 1 - gamma], [0, 0, 0.0]])
    c = np.array([beta, gamma, 1.0])
    # (1-am) a1 + am a0 + 2 xi W [(1-af) v1 + af v0] + W^2 [(1-af) d1 + af d0] = 0
    weight = np.stack([W**2, 2 * xi * W, np.ones_like(W)], axis=-1)
    new = weight * np.array([1 - af, 1 - af, 1 - am])
    old = weight * np.array([af, af, am])
    top = -(new @ B + old)
    a1 = top / (new @ c)[..., None]
    return np.asarray(B + c[:, None] * a1[..., None, :])


def characteristic(co: Coefficients, xi: float = 0.0) -> np.ndarray:
    """Return c (4, 3): the roots lambda = (1 + z) / (1 - z) solve sum c[i, j] z^i Omega^j = 0.

    With w such that h^2 a = (lambda - 1)^2 w, the Newmark equations give h v = (lambda - 1)
    (1 - g + g lambda) w and d likewise; equilibrium is then, with f = 1 - 2 alpha_f, m likewise,
    g = 2 gamma - 1 and k = 4 beta - 2 gamma::

        4 z^2 (1 + m z) + 4 xi Omega z (1 + f z) (1 + g z) + Omega^2 (1 + f z) (1 + g z + k z^2)

    The unit circle is the imaginary axis of z, its inside the left half plane.
    """
    m, f = 1 - 2 * co.alpha_m, 1 - 2 * co.alpha_f
    g, k = 2 * co.gamma - 1, 4 * co.beta - 2 * co.gamma
    c = np.array(
        [
            [0, 0, 1],
            [0, 4 * xi, f + g],
            [4, 4 * xi * (f + g), k + f * g],
            [4 * m, 4 * xi * f * g, f * k],
        ]
    )
    # what is zero but for the rounding of beta, gamma would be a limit far out
    return np.where(np.abs(c) <= 8e-15, 0.0, c)


def roots(
    co: Coefficients, omega_h: npt.ArrayLike, xi: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of A and their logarithms, (..., 3) complex each.

    Digits hold for small omega h too, where two roots meet in 1 and eigenvalues lose half of them:
    they are improved in z = (lambda - 1) / (lambda + 1), or in 1 / z, by Newton's method.
    """
    W = np.asarray(omega_h, float)[..., None]
    c = (W ** np.arange(3) @ characteristic(co, xi).T)[..., None, :]
    with np.errstate(all="ignore"):
        found = np.linalg.eigvals(amplification(co, W[..., 0], xi)).astype(complex)
        far = np.abs(found - 1) > np.abs(found + 1)
        x = np.where(far, (found + 1) / (found - 1), (found - 1) / (found + 1))
        c = np.where(far[..., None], c[..., ::-1], c)
        for _ in range(3):
            p = ((c[..., 3] * x + c[..., 2]) * x + c[..., 1]) * x + c[..., 0]
            slope = (3 * c[..., 3] * x + 2 * c[..., 2]) * x + c[..., 1]
            new = x - p / slope
            better = ((c[..., 3] * new + c[..., 2]) * new + c[..., 1]) * new + c[..., 0]
            x = np.where(np.abs(better) < np.abs(p), new, x)
        value = np.where(far, -1, 1) * (1 + x) / (1 - x)
        return value, np.where(far, np.log(value), 2 * np.arctanh(x))


def limit(co: Coefficients, xi: float = 0.0) -> float:
    """Return the largest Omega = omega h up to which no root leaves the unit circle; inf if none.

    The first zero of a condition of Routh and Hurwitz on `characteristic`, all of them polynomials
    in Omega: to round-off. Of Newmark with gamma >= 1/2 it is
    [xi (g - 1/2) + sqrt(g/2 - beta + xi^2 (g - 1/2)^2)] / (g/2 - beta), with gamma < 1/2 and
    beta large enough 2 xi / (1/2 - gamma).
    """
    # a coefficient of round-off would be a zero far away, or a sign that nobody can tell
    co = Coefficients(*(0.0 if abs(x) < 1e-9 else x for x in dataclasses.astuple(co)))
    c0, c1, c2, c3 = characteristic(co, xi)
    product, other = np.convolve(c1, c2), np.convolve(c0, c3)
    size = np.convolve(np.abs(c1), np.abs(c2)) + np.abs(other)
    hurwitz = np.where(np.abs(product - other) <= 8e-15 * size, 0.0, product - other)
    conditions = [c1, c2, c3, hurwitz]
    zeros = np.concatenate(
        [np.polynomial.polynomial.polyroots(np.trim_zeros(c, "b")) for c in conditions if c.any()]
    )
    zeros = np.sort(zeros.real[(zeros.real > 0) & (np.abs(zeros.imag) <= 1e-7 * np.abs(zeros))])
    for low, high in itertools.pairwise([0.0, *zeros, 2 * zeros.max(initial=1.0)]):
        powers = (0.5 * (low + high)) ** np.arange(5)
        if any(c @ powers[: c.size] < -1e-12 * (np.abs(c) @ powers[: c.size]) for c in conditions):
            return float(low)
    return np.inf


def radius_at_infinity(co: Coefficients) -> float:
    """Return the spectral radius for omega h to infinity: the largest of the roots of

    [alpha_f + (1 - alpha_f) x] [beta x^2 + (1/2 + gamma - 2 beta) x + 1/2 - gamma + beta].
    """
    af, beta, gamma = co.alpha_f, co.beta, co.gamma
    if beta == 0 or af == 1:
        return np.inf
    square = (0.5 + gamma) ** 2 - 4 * beta
    if abs(square) <= 8e-15:
        square = 0.0
    pair = (
        (abs(0.5 + gamma - 2 * beta) + np.sqrt(square)) / (2 * beta)
        if square >= 0
        else np.sqrt((0.5 - gamma + beta) / beta)
    )
    return float(max(abs(af / (1 - af)), pair))


class Stepped(Protocol):
    """A scheme of the Newmark family with its step size."""

    @property
    def coefficients(self) -> Coefficients:
        """Its four numbers."""

    @property
    def h(self) -> float:
        """Step size in s."""


def check_step(
    scheme: Stepped,
    M: Matrix,
    C: Matrix,
    K: Matrix,
    highest: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None,
) -> None:
    """Refuse a step above the stability limit of a linear system; name the limit and the mode.

    Damping that mixes modes is counted by its part in each mode. The three highest modes are looked
    at: the limit falls with the frequency, and damping changes it little.

    Parameters
    ----------
    scheme : a scheme of the Newmark family
    M, C, K : (n, n) array or scipy.sparse.csr_array
    highest : callable, optional
        Returns omega^2 and shapes of the highest modes, if somebody keeps them.

    Raises
    ------
    BadValue
    """
    co = scheme.coefficients
    if co.unconditional or not abs(K).sum():
        return
    n = K.shape[0]
    if abs(K - K.T).max() > 1e-9 * abs(K).max():  # without modes: the step itself
        if n > _FULL:
            return
        m, c, k = (np.asarray(A.todense() if hasattr(A, "todense") else A) for A in (M, C, K))
        if (rate := step_growth(co, m, c, k, scheme.h)) > 0:
            raise BadValue(
                f"h = {quantity(scheme.h, 's')} is not stable with {scheme!r} here: the motion "
                f"grows {np.exp(rate):.4g} times a step although the exact solution does not (K is "
                "not symmetric, so no mode determines the limit). Use a smaller h, or an "
                "unconditionally stable scheme such as Newmark(beta=1/4, gamma=1/2)."
            )
        return
    squares, shapes = highest() if highest else natural_modes(M, K, 3, highest=True)
    omega = np.sqrt(np.maximum(squares, 0))
    damping = np.sum(shapes * (C @ shapes), axis=0)
    for k in np.flatnonzero(omega)[::-1]:
        most = limit(co, max(damping[k] / (2 * omega[k]), 0.0)) / omega[k]
        if scheme.h > most * (1 + 1e-12):
            if most == 0:
                raise BadValue(
                    f"{scheme!r} is unstable for every step: its oscillations grow. The explicit "
                    "choice that does not is gamma = 1/2 with beta = 0."
                )
            raise BadValue(
                f"h = {quantity(scheme.h, 's')} is above the stability limit {quantity(most, 's')} "
                f"of {scheme!r} here: mode {n - len(omega) + k + 1} of {n} has omega = "
                f"{quantity(omega[k], 'rad/s')}. Use a smaller h, or an unconditionally stable "
                "scheme such as Newmark(beta=1/4, gamma=1/2)."
            )


def within_limit(
    scheme: Stepped,
    compiled: Compiled,
    M: np.ndarray,
    C: np.ndarray,
    K: np.ndarray,
    plain: np.ndarray,
) -> np.ndarray:
    """Return which members with constant matrices (k, n, n) `check_step` takes, (k,) bool.

    Members that are not `plain` are not looked at.
    """
    found = np.zeros(len(M), bool)
    if scheme.coefficients.unconditional:
        return ~found
    kept: dict[bytes, bool] = {}
    highest = (lambda: compiled.highest) if compiled.linear else None
    for k in np.flatnonzero(plain).tolist():
        key = M[k].tobytes() + C[k].tobytes() + K[k].tobytes()
        if key not in kept:
            try:
                check_step(scheme, M[k], C[k], K[k], highest)
            except BadValue:
                kept[key] = False
            else:
                kept[key] = True
        found[k] = kept[key]
    return found
