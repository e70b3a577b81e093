"""Named tuples as arguments of kernels: the numba type follows from the annotations.

A structure is written once, with shapes and units, as a `typing.NamedTuple` whose fields are
annotated by the aliases below. numba hands it over field by field, so it costs what a flat list of
arguments costs.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_type_hints

import numpy as np
from numba import float64, int64, types

__all__ = [
    "Integers",
    "Matrix",
    "Memory",
    "Numbers",
    "Stack",
    "Table",
    "Vector",
    "numba_type",
    "takes",
]

Vector = Annotated[np.ndarray, float64[::1]]
Matrix = Annotated[np.ndarray, float64[:, ::1]]
Stack = Annotated[np.ndarray, float64[:, :, ::1]]
Integers = Annotated[np.ndarray, int64[::1]]
Table = Annotated[np.ndarray, int64[:, ::1]]
Numbers = Annotated[Any, types.CPointer(int64)]  # 64-bit words behind an address
Memory = Annotated[Any, types.CPointer(float64)]

_SCALARS = {int: int64, float: float64}


def numba_type(kind: Any) -> Any:
    """Return the numba type of a structure, of an alias above, of int or float."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if not hasattr(kind, "_fields"):
        found = get_args(kind)
        return found[1] if found else kind
    hints = get_type_hints(kind, include_extras=True)
    parts = [numba_type(hints[name]) for name in kind._fields]
    if len({*parts}) == 1:
        return types.NamedUniTuple(parts[0], len(parts), kind)
    return types.NamedTuple(parts, kind)


def takes(*arguments: Any, returns: Any = types.void) -> Any:
    """Return the signature of a kernel that takes structures, arrays and numbers.

    Parameters
    ----------
    *arguments : types
        As `numba_type` takes them.
    returns : type, optional
        By default nothing.
    """
    return numba_type(returns)(*map(numba_type, arguments))
