"""Sign, absolute value, minimum, maximum and cases, rewritten exactly to step functions.

alpha in step(c) is 1 for c > 0, 0 for c < 0 and all of [0, 1] for c = 0. Then sign u = 2 alpha - 1,
|u| = (2 alpha - 1) u, max(u, v) = v + alpha (u - v) with c = u - v, and a case weighs its value by
the indicator of its condition: alpha_1 alpha_2 for *and*, alpha_1 + alpha_2 - alpha_1 alpha_2 for
*or*, 1 - alpha for *not* (Nurkanovic et al. 2023, table I, corrected: the printed union holds for
disjoint sets only, the printed difference alpha_1 - alpha_2 only for nested ones).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import sympy as sp

from explorer.errors import BadModel

__all__ = ["indicator", "jump", "multilinear", "rewrite"]

_SHARP = (sp.Abs, sp.sign, sp.Min, sp.Max, sp.Heaviside, sp.Piecewise)
Step = Callable[[sp.Expr], sp.Expr]


def multilinear(expr: sp.Expr, alphas: Iterable[sp.Symbol]) -> sp.Expr:
    """Return a polynomial in multipliers with alpha^k = alpha: an indicator squared is itself."""
    expr = sp.expand(expr)
    for alpha in alphas:
        expr = expr.replace(lambda e, a=alpha: e.is_Pow and e.base == a, lambda e: e.base)
    return sp.expand(expr)


def jump(expr: sp.Expr, v: Iterable[sp.Symbol]) -> sp.Expr | None:
    """Return a function of velocities at whose zero an expression jumps; None if none is found.

    Found are zeros that can be solved for a velocity in which they are linear: c = 0 in sign(c),
    where the two values of the expression differ.
    """
    moving = set(v)
    if not (expr.free_symbols & moving and expr.has(*_SHARP)):
        return None
    alphas: dict[sp.Expr, sp.Symbol] = {}
    try:
        smooth = rewrite(
            expr, moving, lambda c: alphas.setdefault(c, sp.Dummy(real=True)), "force", {}
        )
    except BadModel:
        return None
    for c, alpha in alphas.items():
        leap = smooth.xreplace({alpha: sp.Integer(1)}) - smooth.xreplace({alpha: sp.Integer(0)})
        for x in sorted(c.free_symbols & moving, key=str):
            slope = c.diff(x)
            if x not in slope.free_symbols and sp.simplify(leap.subs(x, x - c / slope)) != 0:
                return c
    return None


def indicator(condition: sp.Basic, step: Step, what: str) -> sp.Expr:
    """Return the indicator of a condition, a polynomial in multipliers.

    Parameters
    ----------
    condition : Boolean expression of inequalities
    step : callable
        Returns the multiplier of a switching function.
    what : str
        Begins the sentence of the error.

    Raises
    ------
    BadModel
        An equation: it holds on a surface only.
    """

    def walk(e: sp.Basic) -> sp.Expr:
        if e in (sp.true, sp.false):
            return sp.Integer(bool(e))
        if isinstance(e, (sp.Gt, sp.Ge)):
            return step(e.lhs - e.rhs)
        if isinstance(e, (sp.Lt, sp.Le)):
            return step(e.rhs - e.lhs)
        if isinstance(e, sp.Not):
            return 1 - walk(e.args[0])
        if isinstance(e, (sp.And, sp.Or)):
            outside = sp.Integer(1)
            for part in e.args:
                outside *= walk(part) if isinstance(e, sp.And) else 1 - walk(part)
            return outside if isinstance(e, sp.And) else 1 - outside
        raise BadModel(
            f"{what}: the condition {e} cannot be converted to step functions. Use inequalities "
            "joined by and, or, not."
        )

    return walk(condition)


def rewrite(
    expr: sp.Expr, moving: set[sp.Symbol], step: Step, what: str, seen: dict[sp.Expr, sp.Expr]
) -> sp.Expr:
    """Return `expr` with its nonsmooth terms rewritten to step functions.

    Parameters
    ----------
    expr : sympy expression
    moving : set of symbols
        States and t; what depends on none of them stays as it is.
    step : callable
        Returns the multiplier of a *smooth* switching function.
    what : str
        Begins the sentence of the error.
    seen : dict
        Takes each nonsmooth term and what it has become.

    Raises
    ------
    BadModel
        What cannot be rewritten, by name.
    """

    def sharp(e: sp.Basic) -> bool:
        return bool(e.free_symbols & moving) and e.has(*_SHARP)

    def alpha(u: sp.Expr) -> sp.Expr:
        """Return step(u); where u is itself nonsmooth, by its cases."""
        inside = [e for e in sp.preorder_traversal(u) if isinstance(e, _SHARP) and sharp(e)]
        inner = next((e for e in reversed(inside) if not any(sharp(a) for a in e.args)), None)
        if inner is None:
            return step(u)
        values = cases(inner)
        return folded([(alpha(u.xreplace({inner: value})), weight) for value, weight in values])

    def folded(found: list[tuple[sp.Expr, sp.Expr]]) -> sp.Expr:
        total = found[-1][0]
        for value, weight in reversed(found[:-1]):
            total += weight * (value - total)
        return total

    def cases(e: sp.Expr) -> list[tuple[sp.Expr, sp.Expr]]:
        """Return (value, weight) of a nonsmooth function: the first of weight 1 holds."""
        u, one = e.args[0], sp.Integer(1)
        if isinstance(e, sp.Piecewise):
            return [(value, indicator(when, alpha, f"{what}: {e}")) for value, when in e.args]
        if isinstance(e, sp.Abs):
            return [(u, alpha(u)), (-u, one)]
        if isinstance(e, sp.sign):
            return [(one, alpha(u)), (-one, one)]
        if isinstance(e, sp.Heaviside):
            return [(one, alpha(u)), (sp.Integer(0), one)]
        terms, rest = [], list(e.args)
        while len(rest) > 1:
            u, *rest = rest
            others = e.func(*rest)
            terms.append((u, alpha(u - others if isinstance(e, sp.Max) else others - u)))
        return [*terms, (rest[0], one)]

    def walk(e: sp.Basic) -> sp.Basic:
        if isinstance(e, (sp.floor, sp.ceiling, sp.Mod)) and e.free_symbols & moving:
            raise BadModel(
                f"{what}: {e} has infinitely many jumps, which no finite number of step functions "
                "represents. Write the jumps that occur with sign(...) or Piecewise, or use a "
                "FirstOrderSystem or MechanicalSystem with time stepping."
            )
        root = e.is_Pow and e.exp.is_Rational and e.exp.q % 2 == 0 and e.base.is_Pow
        if root and e.base.exp.is_even and e.free_symbols & moving:
            raise BadModel(
                f"{what}: {e} has a kink that cannot be converted to step functions; write it with "
                "abs(...)."
            )
        if not e.args or not e.free_symbols & moving:
            return e
        if isinstance(e, _SHARP):
            seen[e] = folded([(walk(value), weight) for value, weight in cases(e)])
            return seen[e]
        return e.func(*(walk(a) for a in e.args))

    return walk(expr)
