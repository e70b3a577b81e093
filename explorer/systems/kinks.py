"""Formulas of a motion that may jump or have a kink, where error estimates fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy as sp

__all__ = ["JUMPS", "SHARP", "sharp_formulas", "slope", "slopes"]

JUMPS = (sp.sign, sp.Heaviside, sp.Piecewise, sp.floor, sp.ceiling, sp.Mod)
SHARP = (*JUMPS, sp.Abs, sp.Min, sp.Max)


def sharp_formulas(system: object) -> list[sp.Expr]:
    """Return the formulas of a system's motion that may jump or have a kink.

    What a `StepSystem` rewrites to step functions has none left.
    """
    flows = [x for mode in getattr(system, "modes", ()) for x in getattr(mode, "flow", ())]
    mass = list(getattr(system, "inertia", {}).values())
    own = [*getattr(system, "force", ()), *getattr(system, "f", ()), *mass, *flows]
    return [x for x in map(sp.sympify, own) if x.has(*SHARP)]


def slope(formula: sp.Expr, x: sp.Symbol) -> sp.Expr:
    """Return the derivative of a formula by x where it has one.

    SymPy derives `Abs` as a function of a complex number, and leaves the derivatives of `sign`,
    `floor` and `Mod` as they are. Neither can be compiled.

    >>> x, a = sp.symbols("x a")
    >>> slope(a * sp.Abs(x), x), slope(sp.Mod(x**2, a), x)
    (a*sign(x), 2*x)
    """
    if not formula.has(*SHARP):
        return formula.diff(x)
    names = {e: sp.Dummy() for e in formula.atoms(*SHARP)}
    flat = formula.xreplace(names)
    through = [flat.diff(name) * _sharp_slope(e, x) for e, name in names.items() if flat.has(name)]
    return sp.Add(flat.diff(x), *through).xreplace({name: e for e, name in names.items()})


def slopes(formulas: Iterable[sp.Expr], variables: Sequence[sp.Symbol]) -> sp.Matrix:
    """Return the derivatives of formulas, (formulas, variables)."""
    rows = [[slope(f, x) for x in variables] for f in formulas]
    return sp.Matrix(len(rows), len(variables), [d for row in rows for d in row])


def _sharp_slope(e: sp.Expr, x: sp.Symbol) -> sp.Expr:
    if isinstance(e, sp.Abs):
        return sp.sign(e.args[0]) * slope(e.args[0], x)
    if isinstance(e, sp.Piecewise):
        return sp.Piecewise(*((slope(f, x), when) for f, when in e.args))
    if isinstance(e, (sp.Max, sp.Min)):
        first, other = e.args[0], e.func(*e.args[1:])
        ahead = first - other if isinstance(e, sp.Max) else other - first
        return sp.Heaviside(ahead) * slope(first, x) + sp.Heaviside(-ahead) * slope(other, x)
    if isinstance(e, sp.Mod):
        a, b = e.args
        return slope(a, x) - sp.floor(a / b) * slope(b, x)
    return sp.Integer(0)
