"""The result of a scheme that carries accelerations: `Motion`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from explorer.export import Quantity, per_second
from explorer.stepped import SteppedSolution

__all__ = ["Motion"]


@dataclass(repr=False)
class Motion(SteppedSolution):
    """Result of `Newmark`, `GeneralizedAlpha` and what is made of them for impacts.

    Attributes
    ----------
    a : (n_t, n) accelerations, m/s2
    error : (n_t,) estimate of the local error of d, (beta - 1/6) h^2 max |a1 - a0|, m
    slip : (n_t, k) how far each hysteretic spring has slipped, m

    A scheme for impacts estimates no error and has no such springs: both are empty then, and `a`
    is the acceleration of the smooth part of the motion.
    """

    KEPT: ClassVar[tuple[str, ...]] = ("a", "error", "slip")

    a: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    error: np.ndarray = field(default_factory=lambda: np.empty(0))
    slip: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        names, units = self.system.coordinates, per_second(self.system.units, "2")
        found = [*super().quantities, Quantity("a", self.a, "state", names, units)]
        if self.error.size:
            found.append(Quantity("error", self.error, units="m"))
        if self.system.springs:
            springs = [spring.name for spring in self.system.springs]
            found.append(Quantity("slip", self.slip, "spring", springs, "m"))
        return found
