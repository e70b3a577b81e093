"""Formulas that are affine in each multiplier, told by their values at the corners of the box.

f = sum over sets S of multipliers of D_S f times the product of those in S, where D_S f is an
alternating sum of f at corners, every multiplier 0 or 1. To multiply a formula out says the same,
but takes SymPy half a second for four regions with sines in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import sympy as sp

__all__ = ["Rates", "degree"]

_SEEN = 1e-12  # beside its terms: a number that large is no zero by round-off


def degree(expr: sp.Expr, symbol: sp.Symbol) -> float:
    """Return an upper bound of the degree of a formula in a symbol; inf if it is no polynomial."""
    if not expr.has(symbol):
        return 0
    if expr == symbol:
        return 1
    parts = [degree(arg, symbol) for arg in expr.args]
    if expr.is_Add:
        return max(parts)
    if expr.is_Mul:
        return sum(parts)
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        return parts[0] * int(expr.exp)
    return float("inf")


class Rates:
    """dc/dt = c_t + c_x f of all switching functions at one point, for each corner of the box.

    What enters is told by numbers: a term that vanishes at a point like no other vanishes.

    Parameters
    ----------
    f : sequence of sympy expressions, affine in each of `alphas`
    alphas : sequence of symbols
    gradients : sequence of sequence of sympy expressions
        Of each function c by each state.
    """

    def __init__(
        self,
        f: Sequence[sp.Expr],
        alphas: Sequence[sp.Symbol],
        gradients: Sequence[Sequence[sp.Expr]],
    ) -> None:
        used = {s for x in (*f, *(y for row in gradients for y in row)) for s in x.free_symbols}
        states = sorted(used - {*alphas}, key=str)
        point = {s: sp.Float(0.37 + 0.113 * k) for k, s in enumerate(states)}
        self.slopes = [_values(row, point) for row in gradients]
        self.corners = {
            corner: _values(f, point | dict(zip(alphas, map(sp.Integer, corner), strict=True)))
            for corner in itertools.product((0, 1), repeat=len(alphas))
        }

    def depends(self, j: int, subset: Sequence[int], held: Mapping[int, int]) -> bool:
        """Whether the product of the multipliers in `subset` enters dc_j/dt.

        Parameters
        ----------
        held : mapping of int to int
            What all multipliers beside `subset` are: 0 or 1. Those that are free are to be 0.
        """
        terms = []
        for chosen in itertools.product((0, 1), repeat=len(subset)):
            values = dict(held) | dict(zip(subset, chosen, strict=True))
            sign = (-1) ** (len(subset) - sum(chosen))
            f = self.corners[tuple(values[k] for k in range(len(values)))]
            terms.append(sign * np.where(self.slopes[j] == 0, 0.0, self.slopes[j] * f))
        return not abs(np.sum(terms)) <= _SEEN * np.abs(terms).sum()


def _values(row: Iterable[sp.Expr], point: Mapping[sp.Symbol, sp.Expr]) -> np.ndarray:
    """Evaluate formulas at a point; NaN where the value is not real."""
    values = [x.evalf(subs=point) for x in row]
    return np.array([float(v) if v.is_Float or v.is_Integer else np.nan for v in values])
