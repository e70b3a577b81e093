"""A solution of a system with step functions: multipliers, active sets, elements, switches."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from explorer.errors import NotApplicable
from explorer.trajectory import ROWS, Trajectory

__all__ = ["SwitchedTrajectory"]


@dataclass(repr=False)
class SwitchedTrajectory(Trajectory):
    """Result of `FESD`: rows at the ends of elements, two of them at a switch.

    Attributes
    ----------
    multipliers : (n_t, n_c) alpha, or, in Stewart's form, (n_t, n_f) theta; at a switch its limits
    c, lam_n, lam_p : (n_t, n_c) switching functions, their negative and their positive parts
    mode : (n_t,) number of the active set in `mode_names`
    boundaries : (n_e + 1,) times between the elements, s
    interval : (n_e,) number of the interval of each element
    """

    ROWS: ClassVar[tuple[str, ...]] = (*ROWS, "multipliers", "c")

    multipliers: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    c: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    boundaries: np.ndarray = field(default_factory=lambda: np.empty(0))
    interval: np.ndarray = field(default_factory=lambda: np.empty(0, int))
    names: tuple[str, ...] = ()

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the active sets of this run: regions, or signs of the switching functions."""
        return self.names

    @property
    def lam_n(self) -> np.ndarray:
        """Multipliers of alpha >= 0: the negative parts of c."""
        return np.maximum(-self.c, 0.0)

    @property
    def lam_p(self) -> np.ndarray:
        """Multipliers of alpha <= 1: the positive parts of c."""
        return np.maximum(self.c, 0.0)

    @property
    def alpha(self) -> np.ndarray:
        """Step multipliers, (n_t, n_c).

        Raises
        ------
        NotApplicable
            In Stewart's form, which has theta.
        """
        if self.march.compiled.stewart:
            raise NotApplicable(
                "Stewart's form has no alpha; solution.theta holds its multipliers."
            )
        return self.multipliers

    @cached_property
    def theta(self) -> np.ndarray:
        """Multipliers of the regions of a `FilippovSystem`, (n_t, n_f).

        Raises
        ------
        NotApplicable
            A system without regions.
        """
        if self.march.compiled.stewart:
            return self.multipliers
        if not hasattr(self.system, "subsystems"):
            raise NotApplicable(
                f"'{self.system.name}' is a {self.system.kind} without regions: solution.alpha "
                "holds its multipliers."
            )
        return self.march.compiled.theta(self.multipliers)

    @property
    def switch_times(self) -> np.ndarray:
        """Times of the switches in s."""
        return np.array([e.t for e in self.events])

    @cached_property
    def fesd_residual(self) -> dict[str, float]:
        """Largest violation of each block of the FESD equations (21).

        "collocation" (14), "complementarity" (16), "cross" (18), "equilibration" (19), "time".
        """
        return self.march.residual()
