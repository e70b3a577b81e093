"""Products of multipliers as variables of their own, so that equations are at most bilinear.

A region of n switching functions has the weight theta = s_1 s_2 ... s_n, each factor alpha_j or
1 - alpha_j (Nurkanovic, Frey, Pozharskiy and Diehl 2023, doi:10.48550/arXiv.2303.18066, eq. (8) and
(12b), corrected). With one variable for each beginning of such a product::

    beta_2 = s_1 s_2,  beta_k = beta_{k-1} alpha_k,  beta_{k-1} (1 - alpha_k) = beta_{k-1} - beta_k

products that begin alike share their variables: 2^n regions need 2^n - 3 of them.

It is an option of the homotopy, because common subexpressions make products cheap: random fields on
2^3, 2^4 and 2^5 regions took as many iterations with it, of 1.3, 2 and 3 times the length each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy as sp

__all__ = ["Lifting"]


class Lifting:
    """Replaces products of multipliers in formulas.

    Attributes
    ----------
    symbols : list of symbols beta
    products : list of formulas, bilinear in multipliers and the symbols before
    """

    def __init__(self, multipliers: Iterable[sp.Symbol]) -> None:
        self.order = {m: k for k, m in enumerate(multipliers)}
        self.symbols: list[sp.Symbol] = []
        self.products: list[sp.Expr] = []
        self._known: dict[tuple[sp.Expr, sp.Expr], sp.Symbol] = {}

    def __call__(self, formula: sp.Expr) -> sp.Expr:
        """Return a formula that is linear in multipliers and symbols, where it is a polynomial."""
        if not formula.free_symbols & self.order.keys() or not formula.args:
            return formula
        if formula.is_Pow and formula.exp.is_Integer and formula.exp > 1:
            return self._product([self(formula.base)] * int(formula.exp))
        parts = [self(part) for part in formula.args]
        if not formula.is_Mul:
            return formula.func(*parts)
        moving = {*self.order, *self.symbols}
        factors = [part for part in parts if part.free_symbols & moving]
        others = [part for part in parts if not part.free_symbols & moving]
        return sp.Mul(*others, self._product(factors))

    def _rank(self, factor: sp.Expr) -> tuple[int, str]:
        """Return the place of a factor: products with the same first factors begin alike."""
        own = factor.free_symbols & self.order.keys()
        return min((self.order[m] for m in own), default=len(self.order)), str(factor)

    def _product(self, factors: Sequence[sp.Expr]) -> sp.Expr:
        first, *rest = sorted(factors, key=self._rank)
        for factor in rest:
            first = self._times(first, factor)
        return first

    def _times(self, left: sp.Expr, right: sp.Expr) -> sp.Expr:
        """Return left times right: a symbol, or one of them minus a symbol."""
        if 1 - left in self.order:
            return right - self._times(1 - left, right)
        if 1 - right in self.order:
            return left - self._times(left, 1 - right)
        if (left, right) not in self._known:
            symbol = sp.Symbol(f"_beta_{len(self.symbols)}")
            self._known[left, right] = symbol
            self.symbols.append(symbol)
            self.products.append(left * right)
        return self._known[left, right]
