"""Stability and accuracy of the Newmark family for x'' + 2 xi omega x' + omega^2 x = 0.

One step multiplies (d, h v, h^2 a) by a matrix A(omega h, xi). From its eigenvalues lambda::

    spectral radius   max |lambda|
    damping ratio     -Re ln(lambda) / |ln(lambda)|          of the complex pair, less xi
    period error      omega h sqrt(1 - xi^2) / Im ln(lambda) - 1

(Hughes, *The Finite Element Method*, 9.1; *Newmark methods*, the table.) Overshoot is the largest
|d| and |v| / omega in the first steps from d = 1, v = 0 (Hilber and Hughes, Earthquake Eng. Struct.
Dyn. 6 (1978) 99); the exact solution stays below 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike

from explorer.errors import BadValue, NotApplicable
from explorer.parameters import number
from explorer.quantities import quantity
from explorer.schemes.bases.amplification import (
    Coefficients,
    amplification,
    limit,
    radius_at_infinity,
    roots,
)
from explorer.schemes.bases.newmark_family import AlphaFamily, Family
from explorer.schemes.newmark import NAMED, GeneralizedAlpha, Newmark
from explorer.study import study
from explorer.study.leading_terms import Term, exact, leading_terms

__all__ = [
    "FAMILIES",
    "Row",
    "Stability",
    "StabilityTable",
    "checked",
    "stability",
    "stability_table",
]

Studied: TypeAlias = Family | type[Family] | str  # a scheme, its class, or a name of `NAMED`
FAMILIES = {"chung-hulbert": "Chung-Hulbert", "hht": "HHT-α", "wbz": "WBZ-α"}
FIRST_STEPS = 10  # of the overshoot
_LARGEST = 1e6  # omega h, xi and coefficients beyond it say nothing but rounding
_SHOWN = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)


@study
@dataclass(frozen=True, repr=False)
class Stability:
    """Stability, damping, period error and overshoot of a scheme.

    Attributes
    ----------
    scheme : Newmark or GeneralizedAlpha
    xi : float, physical damping ratio
    omega_h : (n,) float, omega h in rad
    radius : (n,) spectral radius
    damping : (n,) algorithmic damping ratio minus xi; nan where no pair of roots is complex
    period_error : (n,) relative; nan likewise, and for xi >= 1
    overshoot_d, overshoot_v : (n,) 1: none
    roots : (n, 3) complex, the eigenvalues of A
    limit : float, largest stable omega h
    radius_at_infinity : float, limit of the radius
    """

    scheme: Newmark | GeneralizedAlpha
    xi: float
    omega_h: np.ndarray
    radius: np.ndarray
    damping: np.ndarray
    period_error: np.ndarray
    overshoot_d: np.ndarray
    overshoot_v: np.ndarray
    roots: np.ndarray
    limit: float
    radius_at_infinity: float

    @property
    def name(self) -> str:
        """Name of the scheme, with its coefficients."""
        co, scheme = self.coefficients, self.scheme
        if isinstance(scheme, Newmark):
            known = (k for k, pair in NAMED.items() if pair == (co.beta, co.gamma))
            return next(known, f"Newmark β = {co.beta:.4g}, γ = {co.gamma:.4g}")
        if any(getattr(scheme, k) is not None for k in vars(co)):
            numbers = ", ".join(f"{x:.4g}" for x in dataclasses.astuple(co))
            return f"generalised-α ({numbers})"
        return f"{FAMILIES[scheme.family]} ρ∞ = {scheme.rho_inf:.4g}"

    @property
    def coefficients(self) -> Coefficients:
        """alpha_m, alpha_f, beta, gamma."""
        return self.scheme.coefficients

    @cached_property
    def _leading(self) -> tuple[Term, Term]:
        return leading_terms(
            [exact(x) for x in dataclasses.astuple(self.coefficients)], exact(self.xi)
        )

    def leading(self) -> tuple[Term, Term]:
        """Return the leading terms of `damping` and `period_error` for omega h to 0, exact.

        Raises
        ------
        NotApplicable
            xi >= 1: nothing oscillates.
        """
        if self.xi >= 1:
            raise NotApplicable(
                f"With xi = {self.xi:g} the motion does not oscillate, so there is no period and "
                "no damping ratio to compare. Use xi < 1."
            )
        return self._leading

    def __repr__(self) -> str:
        return (
            f"Stability({self.scheme!r}, xi = {self.xi:g}: limit omega h = {self.limit:.10g}, "
            f"radius at infinity {self.radius_at_infinity:.7g})"
        )

    def _repr_markdown_(self) -> str:
        co = self.coefficients
        damping, period = (
            (f"${t.latex()}$" for t in self.leading()) if self.xi < 1 else ("none", "none")
        )
        lost = [f"Lost: {co.lost}.", ""] if co.lost else []
        shown = stability(self.scheme, self.xi, _SHOWN)
        return "\n".join(
            [
                f"**{self.scheme!r}** on an oscillator with ξ = {self.xi:g}",
                "",
                "| stability limit ωh | radius at infinity | order | damping, ωh → 0 "
                "| period error, ωh → 0 |",
                "|---|---|---|---|---|",
                f"| {_short(self.limit)} | {_short(self.radius_at_infinity)} | {co.order} | "
                f"{damping} | {period} |",
                "",
                *lost,
                "| ωh (rad) | spectral radius | damping ratio − ξ | period error | overshoot of d "
                "| of v/ω |",
                "|---|---|---|---|---|---|",
                *(
                    "| " + " | ".join(_short(x) for x in row) + " |"
                    for row in zip(
                        shown.omega_h,
                        shown.radius,
                        shown.damping,
                        shown.period_error,
                        shown.overshoot_d,
                        shown.overshoot_v,
                        strict=True,
                    )
                ),
            ]
        )


def _short(x: float) -> str:
    return "∞" if x == np.inf else "–" if np.isnan(x) else quantity(x)


def checked(scheme: object, xi: object) -> tuple[Newmark | GeneralizedAlpha, float]:
    """Return a scheme of the family and a damping ratio, or refuse.

    Raises
    ------
    BadValue, NotApplicable
    """
    if isinstance(scheme, str):
        scheme = Newmark.named(scheme)
    elif isinstance(scheme, type) and issubclass(scheme, Family):
        scheme = scheme()
    if not isinstance(scheme, Family):
        name = getattr(scheme, "__name__", None) or repr(scheme)
        raise NotApplicable(
            f"{name} is not of the Newmark family. Give a Newmark or GeneralizedAlpha scheme, or a "
            "name such as 'average acceleration'."
        )
    smooth = _smooth(scheme)
    largest = max(dataclasses.astuple(scheme.coefficients), key=abs)
    if abs(largest) > _LARGEST:
        raise BadValue(
            f"{largest:g} is not a useful coefficient of {smooth!r}; coefficients are of order 1."
        )
    ratio = number(xi, "The damping ratio xi")
    if not 0 <= ratio <= _LARGEST:
        raise BadValue(f"The damping ratio xi = {ratio:g} must lie between 0 and {_LARGEST:g}.")
    return smooth, ratio


def _smooth(scheme: Family) -> Newmark | GeneralizedAlpha:
    """Return the scheme itself, or of one for impacts what it is between them."""
    if isinstance(scheme, (Newmark, GeneralizedAlpha)):
        return scheme
    kind = GeneralizedAlpha if isinstance(scheme, AlphaFamily) else Newmark
    own, its = ({f.name for f in dataclasses.fields(x)} for x in (kind, scheme))
    return kind(**{name: getattr(scheme, name) for name in own & its})


@study
def stability(scheme: Studied, xi: float = 0.0, omega_h: ArrayLike | None = None) -> Stability:
    """Study a scheme of the Newmark family on the damped oscillator.

    Parameters
    ----------
    scheme : Newmark, GeneralizedAlpha, or a name of `explorer.schemes.newmark.NAMED`
    xi : float
        Physical damping ratio.
    omega_h : (n,) float, optional
        Step times angular frequency in rad; by default 501 from 0.01 to 1000.

    Raises
    ------
    BadValue, NotApplicable
        If the scheme is not of the family, or a number is inadmissible.

    Examples
    --------
    >>> import explorer as ex
    >>> found = ex.study.stability("central difference")
    >>> round(found.limit, 12)
    2.0
    >>> print(*found.leading(), sep=", ")
    0, -1/24 (ωh)²
    """
    smooth, xi = checked(scheme, xi)
    try:
        W = np.atleast_1d(
            np.asarray(np.logspace(-2, 3, 501) if omega_h is None else omega_h, float)
        )
    except (TypeError, ValueError):
        raise BadValue(f"omega_h must be numbers in rad, not {omega_h!r}.") from None
    if W.ndim != 1 or not W.size or not ((W >= 1 / _LARGEST) & (W <= _LARGEST)).all():
        raise BadValue(
            f"omega_h must be a sequence of numbers from {1 / _LARGEST:g} to {_LARGEST:g} rad."
        )
    co = smooth.coefficients
    try:
        eigenvalues, logs = roots(co, W, xi)
    except np.linalg.LinAlgError:
        raise BadValue(
            f"{smooth!r} divides by zero at one of these omega h: the new acceleration does not "
            "enter its equation of motion."
        ) from None
    pair = np.argmax(eigenvalues.imag, axis=1)[:, None]
    whirls = np.take_along_axis(eigenvalues.imag, pair, 1)[:, 0] > 0
    log = np.where(whirls, np.take_along_axis(logs, pair, 1)[:, 0], complex(np.nan, np.nan))
    d, v = _overshoot(co, W, xi)
    with np.errstate(invalid="ignore"):
        damping = -log.real / np.abs(log) - xi
        period = W * np.sqrt(1 - xi**2) / log.imag - 1 if xi < 1 else np.full(W.size, np.nan)
    return Stability(
        smooth,
        xi,
        W,
        np.abs(eigenvalues).max(axis=1),
        damping,
        period,
        d,
        v,
        eigenvalues,
        limit(co, xi),
        radius_at_infinity(co),
    )


def _overshoot(co: Coefficients, W: np.ndarray, xi: float) -> tuple[np.ndarray, np.ndarray]:
    y = np.stack([np.ones_like(W), np.zeros_like(W), -(W**2)], axis=-1)[..., None]
    A = amplification(co, W, xi)
    d, v = np.ones((2, W.size))
    for _ in range(FIRST_STEPS):
        y = A @ y
        d = np.maximum(d, np.abs(y[:, 0, 0]))
        v = np.maximum(v, np.abs(y[:, 1, 0]) / W)
    return d, v


@dataclass(frozen=True)
class Row:
    """One scheme of the table: limit exact (SymPy), leading terms of damping and period error."""

    name: str
    gamma: sp.Expr
    beta: sp.Expr
    limit: sp.Expr
    damping: Term
    period: Term


class StabilityTable(tuple[Row, ...]):
    """The rows; Markdown in a notebook."""

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        cells: list[Callable[[Row], sp.Expr]] = [
            lambda r: r.gamma,
            lambda r: r.beta,
            lambda r: r.limit,
            lambda r: r.damping.formula(),
            lambda r: r.period.formula(),
        ]
        return "\n".join(
            [
                "| scheme | γ | β | stability limit ωh | numerical damping ratio | period "
                "error ΔT/T |",
                "|---|---|---|---|---|---|",
                *(
                    f"| {row.name} | "
                    + " | ".join(f"${sp.latex(cell(row))}$" for cell in cells)
                    + " |"
                    for row in self
                ),
            ]
        )


@study
def stability_table() -> StabilityTable:
    """Return the table of *Newmark methods*, computed exactly from the schemes.

    The leading terms are those for omega h to 0 without physical damping; alpha > 0 is a symbol.
    Two entries extend the printed ones: the period error of the purely explicit scheme, and the
    factor of (omega h)^4 of Fox and Goodwin's.

    Examples
    --------
    >>> import explorer as ex
    >>> [row.limit for row in ex.study.stability_table() if row.name == "central difference"]
    [2]
    """
    alpha = sp.Symbol("alpha", positive=True)
    rows = [(name, exact(beta), exact(gamma)) for name, (beta, gamma) in NAMED.items()]
    rows.append(("average with damping", (1 + alpha) ** 2 / 4, sp.Rational(1, 2) + alpha))
    return StabilityTable(
        Row(
            name,
            sp.sympify(gamma),
            sp.sympify(beta),
            _limit(sp.sympify(beta), sp.sympify(gamma)),
            *leading_terms((Fraction(0), Fraction(0), beta, gamma)),
        )
        for name, beta, gamma in rows
    )


def _limit(beta: sp.Expr, gamma: sp.Expr) -> sp.Expr:
    """Return Newmark's limit without physical damping, (gamma/2 - beta)^(-1/2) for gamma >= 1/2."""
    if (gamma - sp.Rational(1, 2)).is_negative:
        return sp.Integer(0)
    room = sp.expand(gamma / 2 - beta)
    return 1 / sp.sqrt(room) if room.is_positive else sp.oo
