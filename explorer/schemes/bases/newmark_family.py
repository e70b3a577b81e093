"""The four numbers of a scheme of the Newmark family, as knobs: alpha_m, alpha_f, beta, gamma.

Chung and Hulbert, J. Appl. Mech. 60 (1993) 371, with alpha the weight of the old value:
alpha_m = (2 rho - 1) / (rho + 1), alpha_f = rho / (rho + 1), gamma = 1/2 - alpha_m + alpha_f,
beta = (1 - alpha_m + alpha_f)^2 / 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from explorer.errors import BadValue
from explorer.parameters import knob, number
from explorer.results.solution import Solution
from explorer.schemes.bases.amplification import Coefficients
from explorer.schemes.bases.scheme import Scheme
from explorer.systems import LagrangianSystem, System
from explorer.verification.algorithmic import kept_by_newmark

__all__ = ["AlphaFamily", "Family", "NewmarkFamily"]


class Family(Scheme):
    """A scheme that is told by its four numbers."""

    residual_unit: ClassVar[str] = "N"

    @property
    def coefficients(self) -> Coefficients:
        """The four numbers of the scheme."""
        raise TypeError(f"{type(self).__name__} does not say its coefficients.")

    @property
    def interpolated(self) -> bool:
        """Whether F is interpolated, not the state."""
        return False

    @property
    def orders(self) -> tuple[int, int]:
        """2 if gamma = 1/2 - alpha_m + alpha_f and a_0 is that of the equations, else 1."""
        order = self.coefficients.order if getattr(self, "a0", "consistent") != "zero" else 1
        return order, min(order, type(self).order_across_events)

    def orders_on(self, system: System) -> tuple[int, int]:
        """Return 1 if forces are interpolated beside constraints and M(q) varies; else `orders`.

        M then stands at the end of the step, and its accelerations between both ends.
        """
        if not (self.interpolated and isinstance(system, LagrangianSystem) and system.constraints):
            return self.orders
        varies = bool({*system.mass.free_symbols} & {*system.q})
        return (1, 1) if varies else self.orders

    def conserved(self, solution: Solution) -> np.ndarray | float:
        """Return what it keeps besides T + V of a linear system without damping, (n_t,) in J."""
        co = self.coefficients
        if co.alpha_m or co.alpha_f:
            return 0.0
        return kept_by_newmark(solution, co.beta, co.gamma)

    @property
    def caution(self) -> str:
        """What is lost outside alpha_m <= alpha_f <= 1/2 (Chung and Hulbert 1993, eq. (21))."""
        co = self.coefficients
        inside = co.alpha_m <= co.alpha_f + 1e-12 and co.alpha_f <= 0.5 + 1e-12
        return "" if inside else co.lost


@dataclass(frozen=True, repr=False)
class NewmarkFamily(Family):
    """A scheme without alphas: beta and gamma are its knobs."""

    beta: float = knob(0.25, 0, 1, text="weight of a1 in d")
    gamma: float = knob(0.5, 0, 1, text="weight of a1 in v")

    def __post_init__(self) -> None:
        super().__post_init__()
        kind = type(self).__name__
        if self.beta < 0:
            raise BadValue(
                f"{kind}: beta = {self.beta:g} must not be negative: no step size would be stable."
            )
        if self.gamma < 0:
            raise BadValue(f"{kind}: gamma = {self.gamma:g} must not be negative.")

    @property
    def coefficients(self) -> Coefficients:
        """alpha_m = alpha_f = 0, beta, gamma."""
        return Coefficients(0.0, 0.0, self.beta, self.gamma)


@dataclass(frozen=True, repr=False)
class AlphaFamily(Family):
    """A generalised-alpha scheme: rho_inf and a family, or free numbers."""

    rho_inf: float = knob(0.8, 0, 1, text="spectral radius at infinity", strict=True)
    family: str = knob("chung-hulbert", text="family", choices=("chung-hulbert", "hht", "wbz"))
    force: str = knob("state", text="force", choices=("state", "interpolated"), minor=True)
    alpha_m: float | None = None
    alpha_f: float | None = None
    beta: float | None = None
    gamma: float | None = None

    def __post_init__(self) -> None:
        kind = type(self).__name__
        for name in ("alpha_m", "alpha_f", "beta", "gamma"):
            value = getattr(self, name)
            if value is not None:
                value = number(value, f"{kind}: {name}")
                object.__setattr__(self, name, value)
        if self.beta is not None and self.beta < 0:
            raise BadValue(
                f"{kind}: beta = {self.beta:g} must not be negative: no step size would be stable."
            )
        hht = isinstance(self.family, str) and self.family == "hht"
        if hht and number(self.rho_inf, "rho_inf") < 0.5:
            raise BadValue(
                f"HHT reaches rho_inf >= 1/2 only, not {self.rho_inf:g} (alpha_f would exceed "
                "1/3); family='chung-hulbert' goes down to 0."
            )
        super().__post_init__()

    def __repr__(self) -> str:
        """Return what one would type, the free numbers included."""
        given = ("alpha_m", "alpha_f", "beta", "gamma")
        free = [f"{k}={getattr(self, k)!r}" for k in given if getattr(self, k) is not None]
        return ", ".join([super().__repr__()[:-1], *free]) + ")"

    @property
    def interpolated(self) -> bool:
        """Whether F is interpolated, not the state."""
        return self.force == "interpolated"

    @property
    def coefficients(self) -> Coefficients:
        """The four numbers of the scheme."""
        rho = self.rho_inf
        am, af = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
        if self.family == "hht":
            am, af = 0.0, (1 - rho) / (1 + rho)
        elif self.family == "wbz":
            am, af = (rho - 1) / (rho + 1), 0.0
        am = am if self.alpha_m is None else self.alpha_m
        af = af if self.alpha_f is None else self.alpha_f
        beta = (1 - am + af) ** 2 / 4 if self.beta is None else self.beta
        return Coefficients(am, af, beta, 0.5 - am + af if self.gamma is None else self.gamma)
