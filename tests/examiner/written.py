"""Formulas of a system as plain NumPy functions, made by `sympy.lambdify`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

_KEPT: dict[tuple[int, Callable], tuple[Any, Any]] = {}


def kept(make: Callable) -> Callable:
    """Return a function that makes what belongs to a system once."""

    def found(system: Any) -> Any:
        key = (id(system), make)
        if key not in _KEPT:
            _KEPT[key] = system, make(system)
        return _KEPT[key][1]

    return found


def plain(args: list[Any], formulas: Any) -> Callable:
    """Return formulas as a function of the values of `args`, lists of symbols among them."""
    compiled = sp.lambdify(args, formulas, "numpy", cse=True)

    def values(*at: Any) -> Any:
        with np.errstate(all="ignore"):
            return compiled(*at)

    return values


def slope(formula: Any, by: sp.Symbol) -> sp.Expr:
    """Return a derivative that a kink does not keep away: of |u| it is sign(u) u'."""
    formula = sp.sympify(formula)
    real = {s: sp.Symbol(s.name, real=True) for s in formula.free_symbols | {by}}
    found = formula.xreplace(real).diff(real[by]).replace(sp.DiracDelta, lambda *_: sp.S.Zero)
    return found.xreplace({r: s for s, r in real.items()})


def rho_of(run: Any) -> list[float]:
    return [float(x) for x in run.rho.values()]


def symbols_of(system: Any) -> list[sp.Symbol]:
    return [sp.Symbol(k) for k in system.parameters]
