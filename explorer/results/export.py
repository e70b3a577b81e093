"""A run as a table, a dataset and a file: from its quantities, its events and its recipe."""

from __future__ import annotations

import importlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from explorer.errors import BadValue
from explorer.results.event import Event
from explorer.results.quantity import Quantity
from explorer.types import Plain, Settings

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["dataset", "extra", "frame", "read_arrays", "save", "text", "written"]

BASE = ("t", "q", "v", "p", "gap", "gap_dot", "active", "iterations", "residuals")

Named: TypeAlias = Mapping[str, tuple[np.ndarray, str]]  # values and unit of each column
Frame: TypeAlias = "pd.DataFrame"
Dataset: TypeAlias = "xr.Dataset"


def text(found: Named) -> str:
    """Return columns as CSV with all digits."""
    whole = io.StringIO()
    np.savetxt(
        whole,
        np.column_stack([values for values, _ in found.values()]),
        fmt="%.17g",
        delimiter=",",
        header=",".join(name.replace(",", ";") for name in found),
        comments="",
    )
    return whole.getvalue()


def frame(found: Named, spec: Settings) -> Frame:
    """Return columns as a DataFrame; its attrs hold units and the recipe."""
    made = extra("pandas").DataFrame({name: values for name, (values, _) in found.items()})
    made.attrs |= {"units": {name: unit for name, (_, unit) in found.items()}}
    made.attrs["spec"] = spec
    return made


def dataset(
    rows: Mapping[str, np.ndarray],
    quantities: Sequence[Quantity],
    events: Sequence[Event],
    time_unit: str,
    spec: Settings,
) -> Dataset:
    """Return a Dataset of all quantities, the events and how the solver has fared.

    Parameters
    ----------
    rows : t (n_t,), iterations (n_t,) and residuals (n_t, 2)
    """
    variables: dict[str, tuple[object, ...]] = {}
    coords: dict[str, object] = {}
    for quantity in quantities:
        dims = ("sample", quantity.dim, "direction")[: quantity.values.ndim]
        variables[quantity.name] = (dims, quantity.values, quantity.attrs)
        if quantity.dim:
            coords[quantity.dim] = list(quantity.labels)
    variables |= {
        "iterations": ("sample", rows["iterations"]),
        "residuals": (("sample", "residual"), rows["residuals"]),
        "event_kind": ("event", np.array([e.kind for e in events], dtype=str)),
        "event_contact": ("event", np.array([e.contact for e in events], dtype=str)),
        "event_impulse": (
            "event",
            np.array([e.impulse for e in events], dtype=float),
            {"units": "N s"},
        ),
    }
    times = np.array([e.t for e in events], float)
    coords |= {
        "time": ("sample", rows["t"], {"units": time_unit}),
        "event_time": ("event", times, {"units": time_unit}),
        "residual": ["one-step problem", "Newton"],
    }
    attrs = {"spec": json.dumps(spec)}
    table: xr.Dataset = extra("xarray").Dataset(variables, coords=coords, attrs=attrs)
    return table


def save(path: str | Path, arrays: Mapping[str, np.ndarray], spec: Settings) -> Path:
    """Write the arrays and the recipe of a run to one ``.npz`` file, and return its path."""
    path = _file(path)
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    parts: Settings = {"spec": np.array(json.dumps(spec)), **arrays}
    return written(path, lambda file: np.savez_compressed(file, **parts))


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], Plain]:
    """Return the arrays and the recipe of a saved solution.

    Raises
    ------
    BadValue
        If the file is none of ours.
    """
    try:
        with open(_file(path), "rb") as raw, np.load(raw, allow_pickle=False) as file:
            spec = json.loads(str(file["spec"]))
            wanted = [k for k in BASE if k in file or k in ("t", "q")]
            more = [k for k in file if k != "spec" and k not in BASE]
            return {k: file[k] for k in (*wanted, *more)}, spec
    except FileNotFoundError:
        raise BadValue(f"There is no file {str(path)!r}.") from None
    except BadValue:
        raise
    except Exception as error:
        raise BadValue(f"{str(path)!r} is not a saved solution ({error}).") from None


def written(path: str | Path, write: Callable[[Path], object]) -> Path:
    """Have `write` write a file, and return its path.

    Raises
    ------
    BadValue
        If it cannot be written there.
    """
    path = _file(path)
    try:
        write(path)
    except OSError as error:
        raise BadValue(
            f"{str(path)!r} cannot be written ({error.strerror or error}): give a file in an "
            "existing, writable folder."
        ) from None
    return path


def _file(path: object) -> Path:
    """Return a path; a number is none, though `open` takes it for an open file.

    Raises
    ------
    BadValue
    """
    if not isinstance(path, (str, os.PathLike)):
        raise BadValue(f"{path!r} is no path of a file: give text, such as 'run.npz'.")
    return Path(path)


def extra(module: str) -> ModuleType:
    """Import a package of the extra `data`, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise BadValue(
            f"This needs {module}, which is not installed: pip install 'nonsmooth-explorer[data]'."
        ) from None
