"""Switching functions, and the regions of the state space that their signs tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

__all__ = ["Region", "Subsystem", "Switching"]


@dataclass(frozen=True)
class Switching:
    """A switching function c(t, x, rho), its name, its multiplier alpha, and its origin."""

    name: str
    c: sp.Expr
    alpha: sp.Symbol
    declared: bool


@dataclass(frozen=True)
class Region:
    """A region: its name, its field, its definition as text, its multiplier theta(alpha)."""

    name: str
    field: tuple[sp.Expr, ...]
    where: str
    theta: sp.Expr


@dataclass(frozen=True)
class Subsystem:
    """Regions that fill the space.

    Attributes
    ----------
    first, count : int
        Its switching functions among those of the system.
    regions : tuple of Region
    cells : tuple of int
        The region of each pattern of signs (bit j set: c_j > 0), -1 where no state has it.
    """

    first: int
    count: int
    regions: tuple[Region, ...]
    cells: tuple[int, ...]
