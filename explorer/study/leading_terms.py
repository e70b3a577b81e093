"""Leading terms of numerical damping and period error for small steps, exact.

With lambda = (1 + Omega w) / (1 - Omega w) the characteristic polynomial (see
`explorer.schemes.bases.amplification.characteristic`) is, but for a factor Omega^2,

    4 w^2 (1 + m Omega w) + 4 xi w (1 + f Omega w) (1 + g Omega w)
        + (1 + f Omega w) (1 + g Omega w + k Omega^2 w^2) = 0,

and ln(lambda) / Omega = 2 w + 2/3 Omega^2 w^3 + 2/5 Omega^4 w^5 + ... is a power series that begins
with -xi + i sqrt(1 - xi^2), the exact one. Its coefficients are a + b j with j^2 = xi^2 - 1 and
a, b rational in alpha_m, alpha_f, beta, gamma, xi: fractions of whole numbers, or formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, TypeVar

import numpy as np
import sympy as sp

__all__ = ["Term", "exact", "leading_terms"]

Exact: TypeAlias = Fraction | int | sp.Expr
Step = TypeVar("Step", float, np.ndarray)
Pair: TypeAlias = tuple[Exact, Exact]  # (a, b), meaning a + b j
_ORDER = 5
_ZERO = 1e-13  # what is left of a coefficient that would vanish without the rounding of gamma


@dataclass(frozen=True)
class Term:
    """c (omega h)^n.

    Attributes
    ----------
    coefficient : Fraction or SymPy expression
        Zero if all terms up to the fifth vanish.
    power : int
    """

    coefficient: Exact
    power: int

    def __call__(self, omega_h: Step) -> Step:
        """Return the value at omega h."""
        value: Step = float(self.coefficient) * omega_h**self.power
        return value

    def formula(self) -> sp.Expr:
        """Return the term as SymPy expression of omega and h."""
        c = self.coefficient
        if isinstance(c, Fraction):
            short = c.denominator < 10**5
            c = sp.Rational(c.numerator, c.denominator) if short else sp.Float(float(c), 6)
        return c * (sp.Symbol("omega") * sp.Symbol("h")) ** self.power

    def __str__(self) -> str:
        c = self.coefficient
        if c == 0:
            return "0"
        if isinstance(c, Fraction):
            c = str(c) if c.denominator < 10**5 else f"{float(c):.6g}"
        sign, c = ("-", str(c)[1:]) if str(c).startswith("-") else ("", str(c))
        # 11/96 Ω² and not 11/96Ω²; a whole one is left out
        return f"{sign}{'' if c == '1' else c + ' '}(ωh){_raised(self.power)}"

    def latex(self) -> str:
        """Return the term as LaTeX."""
        return str(sp.latex(self.formula()))


def _raised(power: int) -> str:
    return "" if power == 1 else "⁰¹²³⁴⁵⁶⁷⁸⁹"[power]


def exact(x: float) -> Fraction:
    """Return the short fraction that was meant by a float, or else the float itself.

    >>> exact(1 / 12), exact(0.3025)
    (Fraction(1, 12), Fraction(121, 400))
    """
    short = Fraction(x).limit_denominator(10**6)
    return short if abs(short - Fraction(x)) <= 4e-16 * max(abs(x), 1e-3) else Fraction(x)


class _Series:
    """A power series in Omega whose coefficients are pairs (a, b), meaning a + b j."""

    def __init__(self, terms: Sequence[Pair], square: Exact) -> None:
        self.terms, self.square = [*terms, *[(0, 0)] * (_ORDER + 1 - len(terms))], square

    def __add__(self, other: _Series) -> _Series:
        pairs = zip(self.terms, other.terms, strict=True)
        return _Series([(a + c, b + d) for (a, b), (c, d) in pairs], self.square)

    def __mul__(self, other: _Series | Exact) -> _Series:
        if not isinstance(other, _Series):
            return _Series([(a * other, b * other) for a, b in self.terms], self.square)
        product = []
        for n in range(_ORDER + 1):
            a: Exact = 0
            b: Exact = 0
            for (p, q), (r, s) in zip(self.terms[: n + 1], other.terms[n::-1], strict=True):
                a, b = a + p * r + q * s * self.square, b + p * s + q * r
            product.append((_plain(a), _plain(b)))
        return _Series(product, self.square)

    def times_omega(self, n: int = 1) -> _Series:
        return _Series([(0, 0)] * n + self.terms[:-n], self.square)


def _plain(x: Exact) -> Exact:
    return sp.expand(x) if isinstance(x, sp.Basic) else x


def leading_terms(coefficients: Sequence[Exact], xi: Exact = Fraction(0)) -> tuple[Term, Term]:
    """Return the leading terms of damping ratio and period error.

    Parameters
    ----------
    coefficients : alpha_m, alpha_f, beta, gamma
        Fractions or SymPy expressions.
    xi : Fraction
        Physical damping ratio, below 1.

    Returns
    -------
    damping : Term
        Of the algorithmic damping ratio less xi.
    period : Term
        Of the period over the exact one, less 1.
    """
    am, af, beta, gamma = coefficients
    m, f, g, k = 1 - 2 * am, 1 - 2 * af, 2 * gamma - 1, 4 * beta - 2 * gamma
    half, square = Fraction(1, 2), xi * xi - 1
    if any(isinstance(x, sp.Basic) for x in coefficients):
        half = sp.Rational(1, 2)
    one = _Series([(2 * half, 0)], square)
    terms: list[Pair] = [(-half * xi, half)]  # w_0
    for n in range(1, _ORDER + 1):
        w = _Series(terms, square)
        ww = w.times_omega()
        left = one + ww * f
        rest = (
            (w * w * (one + ww * m)) * 4
            + (w * left * (one + ww * g)) * (4 * xi)
            + left * (one + ww * g + ww * ww * k)
        )
        a, b = rest.terms[n]  # 8 w_0 + 4 xi = 4 j divides it: 1 / j = j / j^2
        terms.append((_plain(-b * half / 2), _plain(-a * half / (2 * square))))
    w = _Series(terms, square)
    cube = w * w * w
    log = w * 2 + cube.times_omega(2) * (4 * half / 3)
    log = log + (cube * w * w).times_omega(4) * (4 * half / 5)
    nothing = [0] * (_ORDER + 1)
    real, imaginary = ([pair[i] for pair in log.terms] for i in (0, 1))
    size = _Series(list(zip(real, nothing, strict=True)), square)
    turn = _Series(list(zip(imaginary, nothing, strict=True)), square)
    damping = size * -1 * _power(size * size + turn * turn * -square, -half)
    leading = []
    for series, exactly in ((damping, xi), (_power(turn, -2 * half), 1)):
        c = [series.terms[0][0] - exactly, *(a for a, _ in series.terms[1:])]
        at = next((n for n, a in enumerate(c) if not _vanishes(a)), 0)
        leading.append(
            Term(sp.factor(c[at]) if isinstance(c[at], sp.Basic) else Fraction(c[at]), at)
            if at
            else Term(Fraction(0), 0)
        )
    return leading[0], leading[1]


def _vanishes(a: Exact) -> bool:
    return bool(sp.expand(a) == 0 if isinstance(a, sp.Basic) else abs(a) <= _ZERO)


def _power(series: _Series, p: Exact) -> _Series:
    """Return a series that begins with 1 to the power p (J. C. P. Miller)."""
    a = [pair[0] for pair in series.terms]
    b = [a[0]]
    for n in range(1, _ORDER + 1):
        b.append(_plain(sum((p * i - n + i) * a[i] * b[n - i] for i in range(1, n + 1)) / n))
    return _Series([(x, 0) for x in b], series.square)
