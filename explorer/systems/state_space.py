"""Base of systems x' = ...: named states with units, a start, vectors of formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import sympy as sp

from explorer.arguments import checked, items
from explorer.errors import BadModel
from explorer.parameters import number, param_of
from explorer.systems.arrays import by_name, vector
from explorer.systems.base import System
from explorer.systems.expressions import check_name, names_of
from explorer.systems.expressions import text as written
from explorer.types import FormulaVector, Plain

__all__ = ["StateSpaceSystem"]


class StateSpaceSystem(System):
    """Base of the systems whose state is one vector x.

    Attributes
    ----------
    coordinates, units : tuple of str
        Names and units of the states.
    x : tuple of sympy.Symbol
    start_x : tuple of sympy.Expr
        Initial state, formulas of the parameters.
    """

    potential = None

    def __init__(
        self, name: str, x: str | Sequence[str], units: str | Sequence[str] = "", text: str = ""
    ) -> None:
        super().__init__(name, text)
        states = tuple(map(str, names_of(x, f"The states of '{name}'")))
        n = len(states)
        if not n or len(set(states)) != n:
            raise BadModel(f"'{name}' needs at least one state, each with its own name.")
        for state in states:
            check_name(state, "a state")
        self.coordinates = states
        self.x = tuple(sp.Symbol(state) for state in states)
        self.units = tuple([units] * n if isinstance(units, str) else items(units, "units"))
        if len(self.units) != n:
            raise BadModel(f"'{name}' has {n} states, but {len(self.units)} units are given.")
        self.start_x: tuple[sp.Expr, ...] = (sp.Integer(0),) * n

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.coordinates)

    def _state_names(self) -> tuple[str, ...]:
        return self.coordinates

    @checked
    def start(
        self,
        x: FormulaVector | None = None,
        *,
        t_end: float | None = None,
        h: float | None = None,
        time_unit: str | None = None,
    ) -> None:
        """Set the initial state (formulas of the parameters), the time span and the step.

        All times are in `time_unit`, "s" unless it is given: in that of the rates.

        Raises
        ------
        BadModel
            A wrong length, a start that depends on the state or on t; a unit that is no text.
        BadValue
            A time span or a step that is not a positive number.
        """
        self.started = True
        if x is not None:
            what = f"start x of '{self.name}'"
            values = self._vector(x, what, self.start_x)
            bad = {s.name for v in values for s in v.free_symbols} - {*self.symbols(state=False)}
            if bad:
                raise BadModel(
                    f"{what} depends on {min(bad)!r}; a start is a formula of the parameters."
                )
            self.start_x = values
        if time_unit is not None:
            if not isinstance(time_unit, str) or not time_unit.isalpha():
                what = f"time_unit of '{self.name}'"
                raise BadModel(f"{what} must be one such as 'min', not {time_unit!r}.")
            self.time_unit = time_unit
        u = self.time_unit
        self.t_end = self.t_end if t_end is None else number(t_end, "t_end", u, positive=True)
        self.h = self.h if h is None else number(h, "h", u, positive=True)
        self.touch()

    def _vector(
        self,
        value: FormulaVector,
        what: str,
        rest: tuple[sp.Expr, ...] = (),
        names: Mapping[str, sp.Expr] | None = None,
    ) -> tuple[sp.Expr, ...]:
        """Return n formulas; a dict by state takes the others from `rest`."""
        names = self.symbols() if names is None else names
        return vector(by_name(value, self.coordinates, what, rest or None), self.n, names, what)

    def _spec(self) -> Plain:
        """Return the common part of every specification: names, parameters and start."""
        time = {} if self.time_unit == "s" else {"time_unit": self.time_unit}
        start = {"x": [written(x) for x in self.start_x], "t_end": self.t_end, "h": self.h}
        return {
            "type": type(self).__name__,
            "name": self.name,
            "text": self.text,
            "x": list(self.coordinates),
            "units": list(self.units),
            "params": {k: vars(p) for k, p in self.parameters.items()},
            "start": start | time,
        }

    @classmethod
    def from_spec(cls, spec: Plain) -> Self:
        """Build the system that `to_spec` described; formulas are parsed, never evaluated."""
        given = {k: v for k, v in spec.items() if k not in ("type", "name", "x", "params")}
        params = {k: param_of(p) for k, p in spec["params"].items()}
        return cls(spec["name"], spec["x"], params=params, **given)  # type: ignore[call-arg]
