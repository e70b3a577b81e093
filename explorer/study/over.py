"""The axes of a sweep: which parameters and starts vary, alone or together.

A point is the outer product of the axes, the last one running fastest. Nothing of it is stored, so
an axis may be long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from explorer.errors import BadValue, suggest
from explorer.systems import LagrangianSystem, StateSpaceSystem, System
from explorer.types import Array, Reals

__all__ = ["Axes", "Axis", "Over", "states_of"]

Over: TypeAlias = Mapping["str | tuple[str, ...]", "Reals"]


def states_of(system: System) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the states and their units: (q, v) of a mechanical system.

    Raises
    ------
    BadValue
        Neither is known of this type of system.
    """
    names, units = tuple(system.coordinates), tuple(system.units)
    if isinstance(system, StateSpaceSystem):
        return names, units
    if isinstance(system, LagrangianSystem):
        rates = tuple(f"{u}/s" if u else "1/s" for u in units)
        return (*names, *(f"v_{name}" for name in names)), (*units, *rates)
    raise BadValue(f"A sweep takes no {type(system).__name__}.")


def _starts(system: System) -> dict[str, int]:
    """Return the starts that may vary, by name, and the places of their states."""
    names = states_of(system)[0]
    found = {f"x0.{name}": k for k, name in enumerate(names)}
    if isinstance(system, LagrangianSystem):
        q = system.coordinates
        found |= {f"q0.{name}": k for k, name in enumerate(q)}
        found |= {f"v0.{name}": len(q) + k for k, name in enumerate(q)}
    return found


@dataclass(frozen=True)
class Axis:
    """One axis: names that vary together.

    Attributes
    ----------
    names : tuple of str
    units : tuple of str
    values : (k, names)
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray

    @property
    def label(self) -> str:
        """Its name; of several the first, with what goes with it."""
        return ", ".join(self.names)


@dataclass(frozen=True)
class Axes:
    """The axes of a sweep, and where their values go.

    Attributes
    ----------
    axes : tuple of Axis
    places : tuple of (axis, column, what, place)
        Column of an axis, and the place in "rho" or "start" that it sets.
    """

    axes: tuple[Axis, ...]
    places: tuple[tuple[int, int, str, int], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def size(self) -> int:
        """How many points there are."""
        return prod(self.shape)

    def put(self, first: int, last: int, rho: Array, start: Array) -> None:
        """Write the values of points `first` to `last` into rho (k, n_rho) and start (k, n_x)."""
        index = np.unravel_index(np.arange(first, last), self.shape)
        for axis, column, what, place in self.places:
            into = rho if what == "rho" else start
            into[:, place] = self.axes[axis].values[index[axis], column]

    def at(self, index: tuple[int, ...]) -> dict[str, float]:
        """Return the values at a point by name."""
        return {
            name: float(axis.values[i, c])
            for axis, i in zip(self.axes, index, strict=True)
            for c, name in enumerate(axis.names)
        }

    @classmethod
    def of(cls, system: System, over: object) -> Axes:
        """Read ``over={"omega": [...], ("q0.x", "v0.x"): [[...], ...]}``.

        Raises
        ------
        BadValue
            No axis; a name that there is not, or twice; values that are no finite numbers.
        """
        if not isinstance(over, Mapping) or not over:
            raise BadValue(
                f"over = {over!r} must be a dict of names and their values, such as "
                "{'omega': np.linspace(1, 2, 100)}."
            )
        params, starts = list(system.parameters), _starts(system)
        units = states_of(system)[1]
        axes: list[Axis] = []
        places: list[tuple[int, int, str, int]] = []
        for key, given in over.items():
            names = _names(key)
            values = _numbers(names, given)
            own = []
            for c, name in enumerate(names):
                if name in params:
                    places.append((len(axes), c, "rho", params.index(name)))
                    own.append(system.parameters[name].unit)
                elif name in starts:
                    places.append((len(axes), c, "start", starts[name]))
                    own.append(units[starts[name]])
                else:
                    raise BadValue(
                        f"'{system.name}' has no parameter or start {name!r} to sweep over."
                        f"{suggest(name, [*params, *starts])}"
                    )
            axes.append(Axis(names, tuple(own), values))
        taken = [place[2:] for place in places]
        if len({*taken}) < len(taken):
            raise BadValue("over names a parameter or a start twice: each may vary once.")
        return cls(tuple(axes), tuple(places))


def _names(key: object) -> tuple[str, ...]:
    """Return the names of an axis."""
    names = (key,) if isinstance(key, str) else key
    if not isinstance(names, tuple) or not names or not all(isinstance(k, str) for k in names):
        raise BadValue(
            f"over: {key!r} is no name. An axis is called by a name, such as 'omega', or by a "
            "tuple of names that vary together, such as ('q0.x', 'v0.x')."
        )
    return names


def _numbers(names: Sequence[str], given: Reals) -> np.ndarray:
    """Return the values of an axis, (k, names)."""
    try:
        values = np.array(given, float)
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if values.ndim <= 1 and len(names) == 1:
        values = values.reshape(-1, 1)
    shaped = values.ndim == 2 and values.shape[1] == len(names) and len(values)
    if not shaped or not np.isfinite(values).all():
        wanted = "numbers" if len(names) == 1 else f"rows of {len(names)} numbers, one for each"
        raise BadValue(f"over: {', '.join(map(repr, names))} needs finite {wanted}.")
    return values
