"""What systems x' = ... share: named states with units, a start, vectors of formulas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from explorer.errors import BadModel, suggest
from explorer.parameters import Param, number
from explorer.systems.base import System
from explorer.systems.expressions import text as written
from explorer.systems.expressions import vector

__all__ = ["StateSpaceSystem"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


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
        states = tuple(map(str, x.replace(",", " ").split() if isinstance(x, str) else x))
        n = len(states)
        if not n or len(set(states)) != n:
            raise BadModel(f"'{name}' needs at least one state, each with its own name.")
        for state in states:
            if not _NAME.match(state) or state == "t":
                raise BadModel(f"{state!r} cannot name a state.")
        self.coordinates = states
        self.x = tuple(sp.Symbol(state) for state in states)
        self.units = tuple([units] * n if isinstance(units, str) else units)
        if len(self.units) != n:
            raise BadModel(f"'{name}' has {n} states, but {len(self.units)} units are given.")
        self.start_x: tuple[sp.Expr, ...] = (sp.Integer(0),) * n

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.coordinates)

    def _state_names(self) -> tuple[str, ...]:
        return self.coordinates

    def start(self, x: Any = None, *, t_end: float | None = None, h: float | None = None) -> None:
        """Set the initial state (formulas of the parameters), the time span and the step in s.

        Raises
        ------
        BadModel
            A wrong length, a start that depends on the state or on t.
        BadValue
            A time span or a step that is not a positive number.
        """
        if x is not None:
            what = f"start x of '{self.name}'"
            values = self._vector(x, what, self.start_x)
            bad = {s.name for v in values for s in v.free_symbols} - set(self.parameters)
            if bad:
                raise BadModel(
                    f"{what} depends on {min(bad)!r}; a start is a formula of the parameters."
                )
            self.start_x = values
        self.t_end = self.t_end if t_end is None else number(t_end, "t_end", "s", positive=True)
        self.h = self.h if h is None else number(h, "h", "s", positive=True)
        self.touch()

    def _vector(
        self, value: Any, what: str, rest: tuple[sp.Expr, ...] = (),
        names: Mapping[str, sp.Expr] | None = None,
    ) -> tuple:  # fmt: skip
        """Return n formulas; a dict by state takes the others from `rest`."""
        names = self.symbols() if names is None else names
        if not isinstance(value, Mapping):
            return vector(value, self.n, names, what)
        given = {str(state): formula for state, formula in value.items()}
        unknown = [state for state in given if state not in self.coordinates]
        if unknown:
            raise BadModel(
                f"{what}: {unknown[0]!r} is no state of '{self.name}'."
                f"{suggest(unknown[0], self.coordinates)}"
            )
        missing = [state for state in self.coordinates if state not in given]
        if missing and not rest:
            raise BadModel(f"{what} has no formula for the state {missing[0]!r}.")
        items = [given.get(s, old) for s, old in zip(self.coordinates, rest or self.x, strict=True)]
        return vector(items, self.n, names, what)

    def _spec(self) -> dict[str, Any]:
        """Return what every specification begins with, and the start."""
        return {
            "type": type(self).__name__,
            "name": self.name,
            "text": self.text,
            "x": list(self.coordinates),
            "units": list(self.units),
            "params": {k: vars(p) for k, p in self.parameters.items()},
            "start": {"x": [written(x) for x in self.start_x], "t_end": self.t_end, "h": self.h},
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Any:
        """Build the system that `to_spec` described; formulas are parsed, never evaluated."""
        given = {k: v for k, v in spec.items() if k not in ("type", "name", "x", "params")}
        params = {k: Param(**p) for k, p in spec["params"].items()}
        return cls(spec["name"], spec["x"], params=params, **given)  # type: ignore[call-arg]
