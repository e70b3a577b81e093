"""The laws of pairs (y, lam): -y in N_[lb, ub](lam), the normal cone of an interval.

[0, inf): complementarity 0 <= y perp lam >= 0; (-inf, inf): the equality y = 0; [lb, ub]: a relay,
y > 0 -> lam = lb and y < 0 -> lam = ub.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import sympy as sp

from explorer.errors import BadModel, suggest
from explorer.systems.expressions import Names, check_name, expression
from explorer.types import Value

if TYPE_CHECKING:
    from explorer.systems.base import System

__all__ = ["Law", "Output"]

_KINDS = ("complementarity", "equality", "relay")


def _is_infinite(bound: Value, sign: str = "") -> bool:
    return str(bound).replace(" ", "") in (f"{sign}oo", f"{sign}inf")


@dataclass(frozen=True)
class Law:
    """The law of one pair: its multiplier, its kind, the interval of lam, names and units."""

    lam: sp.Symbol
    kind: str
    lb: sp.Expr
    ub: sp.Expr
    unit: str
    y_name: str
    y_unit: str

    @classmethod
    def checked(
        cls,
        system: System,
        lam: str,
        kind: str,
        lb: Value | None,
        ub: Value | None,
        unit: str,
        y_name: str,
        y_unit: str,
    ) -> Law:
        """Return a law of `system`.

        Raises
        ------
        BadModel
            A name that is taken, an unknown kind, a relay without bounds, with lb > ub or with both
            bounds infinite.
        """
        what = f"The law of {lam!r} of '{system.name}'"
        if kind not in _KINDS:
            raise BadModel(f"{what}: there is no kind {kind!r}.{suggest(kind, _KINDS)}")
        check_name(lam, f"a multiplier of '{system.name}'", system.symbols())
        low, high = -sp.oo if kind == "equality" else sp.Integer(0), sp.oo
        if kind == "relay":
            if lb is None or ub is None:
                raise BadModel(
                    f"{what}: a relay needs both bounds, such as lb=-1, ub=1 (y > 0 gives lb, "
                    "y < 0 gives ub)."
                )
            names = system.symbols(state=False)
            low = -sp.oo if _is_infinite(lb, "-") else expression(lb, names, f"{what}: lb")
            high = sp.oo if _is_infinite(ub) else expression(ub, names, f"{what}: ub")
            if low.is_infinite and high.is_infinite:
                raise BadModel(
                    f"{what}: with both bounds infinite y = 0 holds always. Use kind='equality'."
                )
            if low.is_number and high.is_number and low > high:
                raise BadModel(f"{what}: lb = {low} is above ub = {high}; lb <= ub is needed.")
        elif lb is not None or ub is not None:
            raise BadModel(f"{what}: only a relay has bounds, and this is a law of {kind}.")
        return cls(sp.Symbol(str(lam)), kind, low, high, unit, y_name, y_unit)

    @property
    def name(self) -> str:
        """The name of the multiplier."""
        return str(self.lam.name)

    @property
    def places(self) -> tuple[str, str, str]:
        """The branches of a relay as text: lam at its lower bound, between, at its upper one."""
        lb, ub = (sp.sstr(bound, full_prec=False) for bound in (self.lb, self.ub))
        return f"{self.name} = {lb}", f"{self.y_name} = 0", f"{self.name} = {ub}"


class Observed(Protocol):
    """A system with named outputs."""

    @property
    def name(self) -> str:
        """Its title."""

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Its outputs so far."""

    def symbols(self) -> Names:
        """Return the symbols by name."""


@dataclass(frozen=True)
class Output:
    """A named output: a formula of t, x, lam and the parameters."""

    name: str
    formula: sp.Expr
    unit: str

    @classmethod
    def checked(cls, system: Observed, name: str, formula: Value, unit: str) -> Output:
        """Return an output of `system`.

        Raises
        ------
        BadModel
            A name that is taken; a formula that does not fit.
        """
        check_name(name, f"an output of '{system.name}'", system.symbols())
        if name in [o.name for o in system.outputs]:
            raise BadModel(f"Two outputs of '{system.name}' are called {name!r}.")
        value = expression(formula, system.symbols(), f"output {name!r} of '{system.name}'")
        return cls(str(name), value, unit)
