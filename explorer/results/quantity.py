"""What every row of a run has, by name and with units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.types import Plain

__all__ = ["Quantity", "named", "per_second"]


@dataclass(frozen=True)
class Quantity:
    """A quantity that every row has.

    Attributes
    ----------
    name : str
    values : (n_t,), (n_t, k) or, along two directions, (n_t, k, 2)
    dim : str
        What is counted: "state", "contact", ...
    labels : k names of what is counted
    units : one unit for all, or k
    columns : k names of columns; by default ``<name>_<label>``
    only : numbers of the labels that have a column, by default all
    names : what the values stand for if they are no amounts: of 0, 1, ..., or by value
    """

    name: str
    values: np.ndarray
    dim: str = ""
    labels: Sequence[str] = ()
    units: str | Sequence[str] = ""
    columns: Sequence[str] = ()
    only: Sequence[int] | None = None
    names: Sequence[str] | Mapping[int, str] = ()

    def unit(self, k: int) -> str:
        """Return the unit for label `k`."""
        return self.units if isinstance(self.units, str) else self.units[k]

    @property
    def attrs(self) -> Plain:
        """The unit, or one for each label where they differ, and what the values stand for."""
        units = self.units if isinstance(self.units, str) else list(self.units)
        if not isinstance(units, str) and len({*units}) == 1:
            units = units[0]
        if isinstance(self.names, Mapping):  # which an attribute of a file cannot be
            names = [f"{k}: {name}" for k, name in self.names.items()]
        else:
            names = [*self.names]
        return ({"units": units} if any(units) else {}) | ({"names": names} if names else {})

    def named(self) -> list[tuple[str, np.ndarray, str]]:
        """Return (name, values (n_t,), unit) of each column."""
        if self.values.ndim == 1:
            return [(self.name, self.values, self.unit(0))]
        found = []
        for k in range(len(self.labels)) if self.only is None else self.only:
            name = self.columns[k] if self.columns else f"{self.name}_{self.labels[k]}"
            values = self.values[:, k]
            if values.ndim == 1:
                found.append((name, values, self.unit(k)))
            else:
                found += [(f"{name}_{d + 1}", values[:, d], self.unit(k)) for d in range(2)]
        return found


def per_second(units: Sequence[str], times: str = "", time: str = "s") -> list[str]:
    """Return the units of rates, with `times` = "2" of second derivatives."""
    return [f"{u}/{time}{times}" if u else "" for u in units]


def named(
    t: np.ndarray, time_unit: str, quantities: Sequence[Quantity]
) -> dict[str, tuple[np.ndarray, str]]:
    """Return the values (n_t,) and the unit of each named column, the time first."""
    found = {"t": (t, time_unit)}
    for name, values, unit in (column for quantity in quantities for column in quantity.named()):
        while name in found:  # a state may be called like the impulse of a contact
            name += "_"
        found[name] = values, unit
    return found
