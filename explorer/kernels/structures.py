"""Named tuples as arguments of kernels: the numba types follow from the annotations.

A structure is written once, with shapes and units, as a `typing.NamedTuple` whose fields are
annotated by the aliases below; so are the arguments of a kernel. numba hands a structure over field
by field, so it costs what a flat list of arguments costs. In a loop take a field out at the head of
the function: ``q, v = record.q, record.v``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from numba import boolean, float64, from_dtype, int8, int32, int64, types

__all__ = [
    "CountRows",
    "Counts",
    "FlagRows",
    "Flags",
    "Integers",
    "Matrix",
    "Memory",
    "Numbers",
    "Stack",
    "Table",
    "Vector",
    "numba_type",
    "rows_of",
    "signature_of",
    "takes",
]

Vector = Annotated[np.ndarray, float64[::1]]
Matrix = Annotated[np.ndarray, float64[:, ::1]]
Stack = Annotated[np.ndarray, float64[:, :, ::1]]
Integers = Annotated[np.ndarray, int64[::1]]
Table = Annotated[np.ndarray, int64[:, ::1]]
Flags = Annotated[np.ndarray, int8[::1]]
FlagRows = Annotated[np.ndarray, int8[:, ::1]]
Counts = Annotated[np.ndarray, int32[::1]]
CountRows = Annotated[np.ndarray, int32[:, ::1]]
Numbers = Annotated[Any, types.CPointer(int64)]  # 64-bit words behind an address
Memory = Annotated[Any, types.CPointer(float64)]

_SCALARS = {int: int64, float: float64, bool: boolean, type(None): types.void}


def rows_of(dtype: np.dtype) -> Any:
    """Return the alias of a vector whose entries have the fields of a structured dtype."""
    return Annotated[np.ndarray, from_dtype(dtype)[::1]]


@functools.cache
def numba_type(kind: Any) -> Any:
    """Return the numba type of a structure, an alias above, a tuple of them, int, float or bool."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if get_origin(kind) is tuple:
        return types.Tuple([numba_type(part) for part in get_args(kind)])
    if not hasattr(kind, "_fields"):
        found = get_args(kind)
        return found[1] if found else kind
    hints = get_type_hints(kind, include_extras=True)
    parts = [numba_type(hints[name]) for name in kind._fields]
    if len({*parts}) == 1:
        return types.NamedUniTuple(parts[0], len(parts), kind)
    return types.NamedTuple(parts, kind)


def signature_of(function: Callable) -> Any:
    """Return the signature that the annotations of a kernel tell; without a result it is void."""
    hints = get_type_hints(function, include_extras=True)
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    return numba_type(hints.get("return", type(None)))(*(numba_type(hints[n]) for n in names))


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
