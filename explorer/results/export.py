"""A run as a table, a dataset and a file: from its quantities, its events and its recipe."""

from __future__ import annotations

import hashlib
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
_OF_STATES = ("x", "rates", "lam", "z", "S", "mode", "y", "side", "branch")
_OF_FRICTION = ("slip", "p_t", "p_max", "doing")
_BY_TIME = (*BASE, *_OF_STATES, *_OF_FRICTION)

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
    recipe = json.loads(json.dumps(spec))
    recipe["digest"] = digest(arrays, recipe)
    parts: Settings = {"spec": np.array(json.dumps(recipe)), **arrays}
    return written(path, lambda file: np.savez_compressed(file, **parts))


def digest(arrays: Mapping[str, np.ndarray], spec: Settings) -> str:
    """Return what tells a file that was changed after it was written, SHA-256 in hexadecimals."""
    made = hashlib.sha256(json.dumps(spec, sort_keys=True).encode())
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        made.update(f"{name} {values.dtype.str} {values.shape}".encode())
        made.update(values.tobytes())
    return made.hexdigest()


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], Plain]:
    """Return the arrays and the recipe of a saved solution.

    Raises
    ------
    BadValue
        If the file is none of ours, was changed after it was written, or has rows that do not
        belong together. (Files of 0.2.0 and before have no digest.)
    """
    arrays, spec = _read(path)
    if "digest" in spec and spec.pop("digest") != digest(arrays, spec):
        raise BadValue(
            f"{str(path)!r} was changed after it was written, so that its status need not be that "
            "of its numbers. Save the run again, or read the arrays with numpy.load."
        )
    if torn := _torn(arrays):
        raise BadValue(
            f"{str(path)!r} is not a saved solution: {torn!r} has not one row of numbers for each "
            "time, or times decrease."
        )
    return arrays, spec


def _torn(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the name of an array that does not belong to the others, or nothing."""
    t = arrays["t"]
    for name, values in arrays.items():
        if values.dtype.kind not in "bif" or values.ndim == 0:
            return name  # a scheme may record whatever numbers it likes under other names
        if name in _BY_TIME and values.shape != (0, 0) and len(values) != len(t):
            return name
    return "" if t.ndim == 1 and len(t) and (np.diff(t) >= 0).all() else "t"


def _read(path: str | Path) -> tuple[dict[str, np.ndarray], Plain]:
    try:
        with open(_file(path), "rb") as raw, np.load(raw, allow_pickle=False) as file:
            spec = json.loads(str(file["spec"]))
            wanted = [k for k in BASE if k in file or k in ("t", "q")]
            more = [k for k in file if k != "spec" and k not in BASE]
            return {k: file[k] for k in (*wanted, *more)}, dict(spec)
    except FileNotFoundError:
        raise BadValue(f"There is no file {str(path)!r}.") from None
    except BadValue:
        raise
    except Exception:  # whatever other files raise
        raise BadValue(
            f"{str(path)!r} is not a saved solution. Give a file that run.save(...) wrote."
        ) from None


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
        raise BadValue(f"{path!r} is not a file path. Give text, such as 'run.npz'.")
    return Path(path)


def extra(module: str) -> ModuleType:
    """Import a package of the extra `data`, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise BadValue(
            f"This needs {module}, which is not installed: pip install 'nonsmooth-explorer[data]'."
        ) from None
