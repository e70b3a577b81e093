"""Multipliers that keep a state on surfaces: dc_j/dt = 0 for each of them, in closed form.

dc/dt is multilinear in alpha. What can be solved alone is solved first (block triangular form); a
block that is affine by Cramer's rule, a bilinear pair by its quadratic equation, which has two
solutions. (Filippov 1988, section 4.c; for the pair: Dieci and Lopez, *Numer. Math.* 117 (2011)
779.)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

__all__ = ["Slide", "slides"]


@dataclass(frozen=True)
class Slide:
    """One solution.

    Attributes
    ----------
    alpha : dict of symbol to formula
    inside : dict of symbol to tuple of formulas
        All of them are > 0 just where the multiplier is in (0, 1), however it is undetermined.
    """

    alpha: dict[sp.Symbol, sp.Expr]
    inside: dict[sp.Symbol, tuple[sp.Expr, ...]]


def slides(rates: Sequence[sp.Expr], alphas: Sequence[sp.Symbol]) -> list[Slide] | None:
    """Return the multipliers for which all rates are zero; [] if there are none.

    Parameters
    ----------
    rates : formulas that are multilinear in `alphas`, expanded
    alphas : as many symbols

    Returns
    -------
    list of Slide, or None
        None: no closed form is known.
    """
    if not rates:
        return [Slide({}, {})]
    unknown = set(alphas)
    uses = [r.free_symbols & unknown for r in rates]
    for size in range(1, len(rates) + 1):
        for block in itertools.combinations(range(len(rates)), size):
            mine = set().union(*(uses[i] for i in block))
            if len(mine) < size:
                return []  # nothing keeps the state on these surfaces
            if len(mine) > size:
                continue
            ordered = [a for a in alphas if a in mine]
            solved = _block([rates[i] for i in block], ordered)
            if solved is None:
                return None
            left = [i for i in range(len(rates)) if i not in block]
            solutions = []
            for one in solved:
                rest = slides(
                    [rates[i].xreplace(one.alpha) for i in left],
                    [a for a in alphas if a not in mine],
                )
                if rest is None:
                    return None
                solutions += [Slide(one.alpha | r.alpha, one.inside | r.inside) for r in rest]
            return solutions
    return []


def _block(rates: Sequence[sp.Expr], alphas: Sequence[sp.Symbol]) -> list[Slide] | None:
    """Solve a block of coupled equations."""
    matrix = sp.Matrix([[sp.expand_mul(r.diff(a)) for a in alphas] for r in rates])
    if not matrix.free_symbols & set(alphas):
        rest = sp.Matrix([-r.xreplace(dict.fromkeys(alphas, sp.S.Zero)) for r in rates])
        under = sp.expand_mul(matrix.det(method="berkowitz"))
        if under == 0:
            return []
        over = []
        for k in range(len(alphas)):
            column = matrix.copy()
            column[:, k] = rest
            over.append(column.det(method="berkowitz"))
        return [_slide(dict(zip(alphas, over, strict=True)), under)]
    return _pair(rates, alphas) if len(alphas) == 2 else None


def _slide(over: dict[sp.Symbol, sp.Expr], under: sp.Expr) -> Slide:
    return Slide(
        {a: n / under for a, n in over.items()},
        {a: (n * under, (under - n) * under) for a, n in over.items()},
    )


def _pair(rates: Sequence[sp.Expr], alphas: Sequence[sp.Symbol]) -> list[Slide]:
    """Solve a_0 + a_1 x + a_2 y + a_3 x y = 0, b_0 + b_1 x + b_2 y + b_3 x y = 0 both ways.

    The quadratic equations of x and of y have the same discriminant D; the determinant of the
    Jacobian is plus and minus its root.
    """
    x, y = alphas
    zero = dict.fromkeys(alphas, sp.S.Zero)
    (a0, a1, a2, a3), (b0, b1, b2, b3) = (
        (r.xreplace(zero), r.diff(x).xreplace(zero), r.diff(y).xreplace(zero), r.diff(x, y))
        for r in rates
    )
    ax, bx, cx = b1 * a3 - b3 * a1, b0 * a3 + b1 * a2 - b2 * a1 - b3 * a0, b0 * a2 - b2 * a0
    ay, by, cy = b2 * a3 - b3 * a2, b0 * a3 + b2 * a1 - b1 * a2 - b3 * a0, b0 * a1 - b1 * a0
    D = sp.expand_mul(bx**2 - 4 * ax * cx)
    if D == 0:
        return []
    solutions = []
    for side in (1, -1):
        alpha, inside = {}, {}
        for multiplier, a, b, c, sign in ((x, ax, bx, cx, side), (y, ay, by, cy, -side)):
            root = sign * sp.sqrt(D)
            n, d = (-2 * c, b + root) if sp.expand_mul(c) != 0 else (root - b, 2 * a)
            alpha[multiplier] = n / d
            n, d = (e.subs(sp.sqrt(D), sp.sqrt(sp.Abs(D))) for e in (n, d))  # a number, if D < 0
            inside[multiplier] = (D, n * d, (d - n) * d)
        solutions.append(Slide(alpha, inside))
    return solutions
