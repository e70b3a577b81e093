"""A run as a table, a dataset and a file: what every row of it has, by name and with units."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from explorer.errors import BadValue, NoSuchName, suggest

if TYPE_CHECKING:
    from explorer.results.solution import Solution

__all__ = [
    "Columns", "Quantity", "columns", "dataset", "frame", "per_second", "read_arrays", "save",
    "text", "written",
]  # fmt: skip

_ARRAYS = ("t", "q", "v", "p", "gap", "gap_dot", "active", "iterations", "residuals")


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
    def attrs(self) -> dict[str, Any]:
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


class Columns:
    """What is asked of a run by name: ``run["y"]`` is a column, and an unknown name a sentence."""

    system: Any
    columns: Any
    __iter__ = None  # a run is no sequence: iteration would look for columns 0, 1, ...

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the column of a name, (n_t,); `columns` has them all.

        Raises
        ------
        BadValue
            If there is no such column.
        """
        found = self.columns
        if name not in found:
            raise BadValue(f"The run has no column {name!r}.{suggest(name, found)}")
        values: np.ndarray = found[name]
        return values

    if not TYPE_CHECKING:  # a type checker would take any attribute then

        def __getattr__(self, name: str) -> Any:
            system = self.__dict__.get("system")
            if name.startswith("_") or system is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            hint = f" It is a column: run[{name!r}]." if name in system._state_names() else ""
            if not self.has_velocities and name in (*self.ABSENT, "contact_work", "friction_work"):
                hint = (
                    f" '{system.name}' is a {system.kind}: run.x holds its states, run.rates their "
                    "rates."
                )
            recorded = self.__dict__.get("recorded")
            if recorded is not None and recorded.kept(name) == ():
                hint = f" It was not recorded: {recorded.recorder!r} keeps none of it."
            raise NoSuchName(
                f"A {type(self).__name__}",
                name,
                lambda: [k for k in dir(self) if k.islower()],
                hint,
            )


def columns(solution: Solution) -> dict[str, tuple[np.ndarray, str]]:
    """Return the values (n_t,) and the unit of each named column."""
    found = {"t": (solution.t, solution.system.time_unit)}
    named = [column for quantity in solution.quantities for column in quantity.named()]
    for name, values, unit in named:
        while name in found:  # a state may be called like the impulse of a contact
            name += "_"
        found[name] = values, unit
    return found


def text(solution: Solution) -> str:
    """Return the columns as CSV with all digits."""
    whole, found = io.StringIO(), columns(solution)
    np.savetxt(
        whole, np.column_stack([values for values, _ in found.values()]), fmt="%.17g",
        delimiter=",", header=",".join(name.replace(",", ";") for name in found), comments="",
    )  # fmt: skip
    return whole.getvalue()


def frame(solution: Solution) -> Any:
    """Return the columns as a DataFrame; its attrs hold units and the recipe."""
    found = columns(solution)
    made = _extra("pandas").DataFrame({name: values for name, (values, _) in found.items()})
    made.attrs |= {"units": {name: unit for name, (_, unit) in found.items()}}
    made.attrs["spec"] = solution.spec
    return made


def dataset(solution: Solution) -> Any:
    """Return a Dataset of all quantities, the events and how the solver has fared."""
    events = solution.events
    variables: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    for quantity in solution.quantities:
        dims = ("sample", quantity.dim, "direction")[: quantity.values.ndim]
        variables[quantity.name] = (dims, quantity.values, quantity.attrs)
        if quantity.dim:
            coords[quantity.dim] = list(quantity.labels)
    variables |= {
        "iterations": ("sample", solution.iterations),
        "residuals": (("sample", "residual"), solution.residuals),
        "event_kind": ("event", np.array([e.kind for e in events], dtype=str)),
        "event_contact": ("event", np.array([e.contact for e in events], dtype=str)),
        "event_impulse": (
            "event", np.array([e.impulse for e in events], dtype=float), {"units": "N s"},
        ),
    }  # fmt: skip
    times = np.array([e.t for e in events], float)
    coords |= {
        "time": ("sample", solution.t, {"units": solution.system.time_unit}),
        "event_time": ("event", times, {"units": solution.system.time_unit}),
        "residual": ["one-step problem", "Newton"],
    }
    attrs = {"spec": json.dumps(solution.spec)}
    return _extra("xarray").Dataset(variables, coords=coords, attrs=attrs)


def save(solution: Solution, path: str | Path) -> Path:
    """Write the arrays and the recipe of a run to one ``.npz`` file, and return its path."""
    path = Path(path)
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    names = [*_ARRAYS, *solution.KEPT]
    if not solution.has_velocities:
        names = [k for k in names if k not in solution.ABSENT]
    recorded = solution.recorded
    if recorded is not None:
        names = [k for k in names if recorded.kept(k) != ()]
    arrays = {name: getattr(solution, name) for name in names}
    arrays |= {} if recorded is None else recorded.arrays
    spec = np.array(json.dumps(solution.spec))
    return written(path, lambda file: np.savez_compressed(file, spec=spec, **arrays))


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the recipe of a saved solution.

    Raises
    ------
    BadValue
        If the file is none of ours.
    """
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            spec = json.loads(str(file["spec"]))
            wanted = [k for k in _ARRAYS if k in file or k in ("t", "q")]
            more = [k for k in file if k != "spec" and k not in _ARRAYS]
            return {k: file[k] for k in (*wanted, *more)}, spec
    except FileNotFoundError:
        raise BadValue(f"There is no file {str(path)!r}.") from None
    except Exception as error:
        raise BadValue(f"{str(path)!r} is not a saved solution ({error}).") from None


def written(path: str | Path, write: Callable[[Path], Any]) -> Path:
    """Have `write` write a file, and return its path.

    Raises
    ------
    BadValue
        If it cannot be written there.
    """
    path = Path(path)
    try:
        write(path)
    except OSError as error:
        raise BadValue(
            f"{str(path)!r} cannot be written ({error.strerror or error}): give a file in an "
            "existing, writable folder."
        ) from None
    return path


def _extra(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise BadValue(
            f"This needs {module}, which is not installed: pip install 'nonsmooth-explorer[data]'."
        ) from None
