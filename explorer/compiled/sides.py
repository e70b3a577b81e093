"""Surfaces at which formulas turn, and symbols that hold a formula to one side of them.

|u| is -u or u, and a step that meets u = 0 inside has the order of neither. So each surface has a
symbol: with +1 or -1 the formula is that of this side, wherever u is; with 0 it decides for itself.
Of floor(u) it is 2 n + 1 while n is held (`explorer.kernels.event_driven.sides`).
"""

from __future__ import annotations

from collections.abc import Iterable

import symengine as se
import sympy as sp

from explorer.compiled.bundle import Expr, smooth

__all__ = ["Sides"]


class Sides:
    """The surfaces of formulas as they are compiled by `bundle.smooth`.

    Parameters
    ----------
    moving : iterable of sympy symbols
        Time and the states.
    fixed : iterable of sympy symbols
        The parameters.

    Attributes
    ----------
    surfaces : list of (u, whole)
        SymEngine expressions, and whether their floor is meant.
    symbols : list of symengine symbols
        One for each.
    """

    def __init__(self, moving: Iterable[sp.Symbol], fixed: Iterable[sp.Symbol]) -> None:
        self.moving, self.fixed = frozenset(moving), frozenset(fixed)
        self.surfaces: list[tuple[Expr, bool]] = []
        self.symbols: list[Expr] = []
        self._found: dict[tuple[sp.Expr, bool], Expr] = {}
        self.closed = False

    def copy(self) -> Sides:
        """Return the same surfaces, open for more."""
        other = Sides(self.moving, self.fixed)
        other.surfaces, other.symbols = list(self.surfaces), list(self.symbols)
        other._found = dict(self._found)
        return other

    def _symbol(self, at: sp.Expr, u: Expr, whole: bool) -> Expr | None:
        key = (at, whole)
        known = at.free_symbols <= self.moving | self.fixed and at.free_symbols & self.moving
        if key not in self._found and known and not self.closed:
            self.symbols.append(se.Symbol(f"_side_{len(self.symbols)}"))
            self.surfaces.append((u, whole))
            self._found[key] = self.symbols[-1]
        return self._found.get(key)

    def turns(self, at: sp.Expr, u: Expr) -> Expr:
        """Return u, or the held sign; `at` is u as SymPy has it in the formula."""
        at = sp.sympify(at)
        if (-at, False) in self._found:
            return -self.turns(-at, -u)
        side = self._symbol(at, u, False)
        return u if side is None else side + (1 - side * side) * u

    def whole(self, at: sp.Expr, u: Expr) -> Expr:
        """Return floor(u), or the held whole number."""
        side = self._symbol(sp.sympify(at), u, True)
        if side is None:
            return se.floor(u)
        return se.Piecewise((se.floor(u), se.Eq(side, 0)), ((side - 1) / 2, True))

    def guards(self, inverse: list[Expr]) -> list[Expr]:
        """Return u / size of each surface, > 0 or < 0 by its side, then u of each."""
        signs = []
        for (u, whole), side, one in zip(self.surfaces, self.symbols, inverse, strict=True):
            n = (side - 1) / 2
            inside = (u - n) * (n + 1 - u) * one
            signs.append(se.Piecewise((-1, se.Eq(side, 0)), (inside, True)) if whole else u * one)
        return [*signs, *(u for u, _ in self.surfaces)]

    def collect(self, formulas: Iterable[sp.Expr]) -> None:
        """Collect the surfaces of these formulas; later ones are not added."""
        for formula in formulas:
            smooth(sp.sympify(formula), self)
        self.closed = True
