"""The grid of a program, and the ranges of what a user bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from explorer.kernels.fesd.collocation import Collocation, collocation

__all__ = ["ASKED", "INF", "Grid", "Limits"]

INF = float("inf")
ASKED = ("path", "end", "bounds", "knot", "z bounds")  # what a user asks for, and slacks may loosen


@dataclass(frozen=True)
class Grid:
    """The grid of a problem.

    Attributes
    ----------
    intervals, elements, stages : int
        Control intervals, elements of each, stages of the Radau IIA method.
    t_end : (float, float)
        Range of the final time in s; a single value if both are equal.
    free : bool
        Whether the lengths of the control intervals are unknown.
    switching : bool
        Whether there are switches that the elements detect; otherwise all have equal lengths.
    """

    intervals: int
    elements: int
    stages: int
    t_end: tuple[float, float]
    free: bool = False
    switching: bool = True

    @property
    def method(self) -> Collocation:
        """The Runge-Kutta method."""
        return collocation("radau_iia", self.stages)

    @property
    def usual(self) -> float:
        """A final time inside of the range."""
        low, high = self.t_end
        return 0.5 * (low + high) if np.isfinite(high) else max(2 * low, 1.0)


@dataclass(frozen=True)
class Limits:
    """Ranges (n, 2) of what a user bounds.

    Attributes
    ----------
    x : of the states
    u : (N, n_u, 2) float, of the controls in each interval
    path, end, knots : of formulas
    unknown : (n,) int, which parameters are unknown
    rho : of these
    z : of algebraic variables
    """

    x: np.ndarray
    u: np.ndarray
    path: np.ndarray
    end: np.ndarray
    knots: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    unknown: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    rho: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    z: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
