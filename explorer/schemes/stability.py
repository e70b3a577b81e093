"""Amplification of the Newmark family on x'' + 2 xi omega x' + omega^2 x = 0, and what follows.

With y = (d, h v, h^2 a) and Omega = omega h one step is y1 = A(Omega, xi) y0. Spectral radius,
algorithmic damping, period error and stability limit are those of A. (*Newmark methods*, the table;
Hughes, *The Finite Element Method*, 9.1; Chung and Hulbert 1993.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from explorer.errors import BadValue

__all__ = ["Coefficients", "amplification", "check_step", "limit"]


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
        """Whether it is stable for every step: alpha_m <= alpha_f <= 1/2 and beta large enough.

        Chung and Hulbert 1993, eq. (21), (22); without alphas 2 beta >= gamma >= 1/2.
        """
        low = 1e-12
        if self.alpha_m == self.alpha_f == 0:
            return 2 * self.beta >= self.gamma - low and self.gamma >= 0.5 - low
        return (
            self.alpha_m <= self.alpha_f + low
            and self.alpha_f <= 0.5 + low
            and self.beta >= 0.25 + (self.alpha_f - self.alpha_m) / 2 - low
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
            said.append("not stable for every step")
        return "; ".join(said)


def amplification(co: Coefficients, omega_h: Any, xi: Any = 0.0) -> np.ndarray:
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
    return B + c[:, None] * a1[..., None, :]


def limit(co: Coefficients, xi: float = 0.0) -> float:
    """Return the largest Omega = omega h up to which no root leaves the unit circle; inf if none.

    For Newmark with gamma >= 1/2 in closed form,
    [xi (g - 1/2) + sqrt(g/2 - beta + xi^2 (g - 1/2)^2)] / (g/2 - beta); else by bisection.
    """
    if co.alpha_m == co.alpha_f == 0:
        room, lead = co.gamma / 2 - co.beta, co.gamma - 0.5
        if lead >= 0:
            if room <= 1e-15:
                return np.inf
            return float((xi * lead + np.sqrt(room + xi**2 * lead**2)) / room)
    grid = np.concatenate([[0.0], np.logspace(-3, 8, 4000)])
    radius = np.abs(np.linalg.eigvals(amplification(co, grid[1:], xi))).max(axis=-1)
    # a double root at 1 belongs to Omega = 0; what grows beyond rounding is unstable
    over = np.flatnonzero(radius > 1 + 1e-9)
    if not len(over):
        return np.inf
    low, high = grid[over[0]], grid[over[0] + 1]
    if over[0] == 0:
        return 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        grows = np.abs(np.linalg.eigvals(amplification(co, middle, xi))).max() > 1 + 1e-12
        low, high = (low, middle) if grows else (middle, high)
    return float(0.5 * (low + high))


def check_step(scheme: Any, M: np.ndarray, C: np.ndarray, K: np.ndarray) -> None:
    """Refuse a step above the stability limit of a linear system; name the limit and the mode.

    Damping that mixes modes is counted by its part in each mode.

    Raises
    ------
    BadValue
    """
    co = scheme.coefficients
    if co.unconditional or not K.any():
        return
    squares, modes = scipy.linalg.eigh(K, M)
    if squares[0] < -1e-9 * abs(squares[-1]):
        return  # the motion grows by itself: no limit is meant for it
    omega = np.sqrt(np.maximum(squares, 0))
    damping = np.einsum("ik,ij,jk->k", modes, C, modes)
    for k in np.flatnonzero(omega)[::-1][:3]:
        most = limit(co, max(damping[k] / (2 * omega[k]), 0.0)) / omega[k]
        if scheme.h > most * (1 + 1e-12):
            if most == 0:
                raise BadValue(
                    f"{scheme!r} is unstable for every step: its oscillations grow. gamma = 1/2 "
                    "with beta = 0 is the explicit choice that does not."
                )
            raise BadValue(
                f"h = {scheme.h:g} s is above the stability limit {most:.6g} s of {scheme!r} here: "
                f"mode {k + 1} of {len(omega)} has omega = {omega[k]:.6g} rad/s. A smaller h would "
                "do, or an unconditionally stable scheme such as Newmark(beta=1/4, gamma=1/2)."
            )
