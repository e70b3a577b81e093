"""Declarations of inputs u(t), of a system and of what systems are built from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import sympy as sp

from explorer.arguments import checked, items
from explorer.errors import BadModel, BadValue, lacking
from explorer.parameters import InputParam, Param, number
from explorer.quantities import quantity

__all__ = ["TakesInputs"]

Bound: TypeAlias = "float | Sequence[float | None] | None"


class TakesInputs:
    """What has parameters, and inputs among them."""

    if TYPE_CHECKING:
        name: str
        parameters: dict[str, Param]

        def params(self, **declared: Param | float) -> tuple[sp.Symbol, ...]: ...

    else:  # a type checker would take any attribute then
        __getattr__ = lacking

    @checked
    def inputs(
        self,
        names: str | Sequence[str],
        low: Bound = None,
        high: Bound = None,
        units: str | Sequence[str] = "",
        value: Bound = None,
        text: str | Sequence[str] = "",
    ) -> tuple[sp.Symbol, ...]:
        """Declare inputs u(t) and return their symbols in this order.

        A formula may use an input where it may use t. A run takes their values along time as
        ``simulate(..., u=...)``. Without them an input keeps its default value.

        Parameters
        ----------
        names : str or sequence of str
            "u1 u2" or ["u1", "u2"].
        low, high : float or sequence of float, optional
            Bounds of the values, for all or for each; by default there is none.
        units : str or sequence of str
            Unit such as "N".
        value : float or sequence of float, optional
            Default: 0 if it lies within the bounds, else their mean, or the only bound.
        text : str or sequence of str
            Description.

        Raises
        ------
        BadModel, BadValue
            If a name is taken or is no identifier, bounds are empty, or a value lies outside them.
        """
        return self.params(**_declared(names, low, high, units, value, text, self.name))

    @property
    def declared_inputs(self) -> dict[str, InputParam]:
        """The inputs u(t) by name, in declared order: default, unit, `bounds`."""
        return {k: p for k, p in self.parameters.items() if isinstance(p, InputParam)}

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs, in declared order."""
        return tuple(self.declared_inputs)

    @property
    def input_bounds(self) -> dict[str, tuple[float, float]]:
        """The bounds (low, high) of the inputs by name; infinite where there is none."""
        return {k: p.bounds for k, p in self.declared_inputs.items()}


def _declared(
    names: str | Sequence[str],
    low: Bound,
    high: Bound,
    units: str | Sequence[str],
    value: Bound,
    text: str | Sequence[str],
    owner: str,
) -> dict[str, InputParam]:
    """Return the inputs that these arguments declare, by name.

    Raises
    ------
    BadModel, BadValue
        See `System.inputs`.
    """
    chosen = names.split() if isinstance(names, str) else items(names, f"names of '{owner}'")
    if not chosen:
        raise BadModel(f"inputs of '{owner}' needs names, such as inputs('u1 u2').")
    columns = [
        _each(x, len(chosen), what, owner)
        for what, x in (("low", low), ("high", high), ("value", value))
    ]
    words = [_each(x, len(chosen), what, owner) for what, x in (("units", units), ("text", text))]
    found: dict[str, InputParam] = {}
    for name, least, most, start, unit, about in zip(chosen, *columns, *words, strict=True):
        if name in found:
            raise BadModel(f"inputs of '{owner}' names {name!r} twice.")
        found[name] = _input(name, least, most, start, str(unit or ""), str(about or ""))
    return found


def _each(value: object, count: int, what: str, owner: str) -> list[object]:
    """Return one entry for each input."""
    if value is None or isinstance(value, (str, int, float)):
        return [value] * count
    several: list[object] = list(value)  # type: ignore[call-overload]
    if len(several) != count:
        raise BadModel(
            f"inputs of '{owner}': {what} has {len(several)} entries for {count} names. Give one "
            "for all, or one for each."
        )
    return several


def _bound(value: object, what: str, unit: str, none: float) -> float | None:
    """Return a finite bound, or None where it is `none`, an infinity."""
    if value is None or (isinstance(value, float) and value == none):
        return None
    return number(value, what, unit)


def _input(name: str, low: object, high: object, value: object, unit: str, text: str) -> InputParam:
    least = _bound(low, f"low of the input {name!r}", unit, -math.inf)
    most = _bound(high, f"high of the input {name!r}", unit, math.inf)
    if least is not None and most is not None and not least < most:
        raise BadValue(
            f"The bounds [{least:g}, {most:g}] of the input {name!r} are empty; low must be below "
            "high."
        )
    if value is not None:
        start = number(value, f"value of the input {name!r}", unit)
    elif (least is None or least <= 0) and (most is None or most >= 0):
        start = 0.0
    elif least is None or most is None:
        start = least if most is None and least is not None else most or 0.0
    else:
        start = 0.5 * (least + most)
    if (least is not None and start < least) or (most is not None and start > most):
        raise BadValue(
            f"The value {quantity(start, unit)} of the input {name!r} lies outside its bounds."
        )
    reach = 2 * abs(start) or 1.0
    return InputParam(
        start,
        start - reach if least is None else least,
        start + reach if most is None else most,
        unit,
        text or "input",
        least=least,
        most=most,
    )
