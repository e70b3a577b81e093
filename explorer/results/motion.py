"""The result of a scheme that carries accelerations: `Motion`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from explorer.results.export import Quantity, per_second
from explorer.results.stepped import SteppedSolution

__all__ = ["Motion"]


@dataclass(repr=False, eq=False)
class Motion(SteppedSolution):
    """Result of `Newmark`, `GeneralizedAlpha` and what is made of them for impacts.

    Attributes
    ----------
    a : (n_t, n) accelerations, m/s2
    error : (n_t,) local error of the step, see `Newmark`, m; zeros with fixed steps
    slip : (n_t, k) how far each hysteretic spring has slipped, m
    imbalance : (n_t,) residual of the step in its equations of motion, at the state that was
        accepted, beside the terms that cancel in it; the largest of all coordinates
    parts : (n_t,) int32 parts in which the step was taken: more than 1 where Newton's method failed
        for the whole of it

    A scheme for impacts estimates no error and has no such springs: these are empty then, and `a`
    is the acceleration of the smooth part of the motion.
    """

    KEPT: ClassVar[tuple[str, ...]] = ("a", "error", "slip", "imbalance", "parts")

    a: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    error: np.ndarray = field(default_factory=lambda: np.empty(0))
    slip: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    imbalance: np.ndarray = field(default_factory=lambda: np.empty(0))
    parts: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        dim, names, units = self._kept("a")
        found = super().quantities
        if names:
            found.append(Quantity("a", self.a, dim, names, per_second(units, "2")))
        if self.error.size:
            found.append(Quantity("error", self.error, units="m"))
        if self.imbalance.size:
            found += [Quantity("imbalance", self.imbalance), Quantity("parts", self.parts)]
        if self.system.springs:
            springs = [spring.name for spring in self.system.springs]
            found.append(Quantity("slip", self.slip, "spring", springs, "m"))
        return found
