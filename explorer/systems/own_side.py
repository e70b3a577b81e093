"""Formulas that exist on their own side of a switching function only, such as sqrt(c) for c > 0.

A stage may look a little beyond the surface at which an element is to end, and on the surface
round-off decides. So a factor c below a root or in a logarithm is taken for max(c, 0) there: the
formula stays as it is on its own side and is continued by its value at the surface. Where a
multiplier enters below a root, as in sqrt(abs(c)), both sides are written out:

    g = alpha g(alpha = 1) + (1 - alpha) g(alpha = 0),

which is the same off the surface, and on it too, for there the root vanishes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import sympy as sp

__all__ = ["own_side", "sided"]


class Switched(Protocol):
    """A switching function and its multiplier."""

    @property
    def c(self) -> sp.Expr:
        """Function of t, x and rho."""

    @property
    def alpha(self) -> sp.Symbol:
        """1 where c > 0, 0 where c < 0."""


_LEAST = sp.Float(1e-40)  # max(c, 0), but with a logarithm and a finite slope of its root


def _roots(expr: sp.Expr, moving: set[sp.Symbol]) -> list[sp.Expr]:
    """Return the arguments of roots and logarithms."""
    bases = [
        e.base for e in expr.atoms(sp.Pow) if not (e.exp.is_integer or e.exp.free_symbols & moving)
    ] + [e.args[0] for e in expr.atoms(sp.log)]
    return [b for b in bases if b.free_symbols & moving]


def _share(base: sp.Expr, c: sp.Expr, moving: set[sp.Symbol]) -> sp.Expr | None:
    """Return base / c where that has no pole."""
    if not c.free_symbols & moving <= base.free_symbols:
        return None
    share = sp.cancel(base / c)
    return None if sp.denom(share).free_symbols & moving else share


def own_side(expr: sp.Expr, c: sp.Expr, side: int, moving: set[sp.Symbol]) -> sp.Expr:
    """Return a formula of the side c > 0 (1) or c < 0 (-1), continued beyond c = 0."""
    known = {}
    for base in _roots(expr, moving):
        share = _share(base, c, moving)
        if share is not None and not base.has(sp.Max):
            known[base] = sp.Max(side * c, _LEAST) * side * share
    if not known:
        return expr
    return expr.replace(
        lambda e: (e.is_Pow and e.base in known) or (e.func is sp.log and e.args[0] in known),
        lambda e: e.func(known[e.args[0]], *e.args[1:]),
    )


def sided(expr: sp.Expr, switches: Iterable[Switched], moving: set[sp.Symbol]) -> sp.Expr:
    """Return a right-hand side with multipliers whose roots are continued beyond their own side.

    Parameters
    ----------
    switches : switching functions with their multipliers
    moving : states and t
    """
    for switch in switches:
        bases = _roots(expr, moving)
        if not bases:
            break
        ends = [expr.xreplace({switch.alpha: sp.Integer(k)}) for k in (0, 1)]
        below = any(switch.alpha in b.free_symbols for b in bases)
        if not below and not any(_share(b, switch.c, moving) is not None for b in bases):
            continue
        low, high = own_side(ends[0], switch.c, -1, moving), own_side(ends[1], switch.c, 1, moving)
        if low != ends[0] or high != ends[1]:
            expr = (1 - switch.alpha) * low + switch.alpha * high
    return expr
