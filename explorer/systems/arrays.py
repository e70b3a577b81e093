"""Vectors, matrices and numbers as users give them: whole, by name, or sparse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy as sp
from scipy.sparse import coo_array, csr_array

from explorer.errors import BadModel, BadValue, suggest
from explorer.systems.expressions import Aliases, expression
from explorer.types import FormulaMatrix, FormulaVector, Matrix, MatrixLike, Plain, Value, is_sparse

__all__ = [
    "as_lists",
    "by_name",
    "cells",
    "from_lists",
    "matrix",
    "plain",
    "real",
    "row_of",
    "vector",
]

Listed = list[Any] | Plain  # a matrix as JSON holds it


def vector(
    value: FormulaVector,
    n: int,
    names: Mapping[str, sp.Expr],
    what: str,
    replace: Aliases | None = None,
) -> tuple[sp.Expr, ...]:
    """Return `n` expressions; a scalar stands for a vector of length one.

    Raises
    ------
    BadModel
        If the length is not `n`, with both numbers.
    """
    if isinstance(value, sp.MatrixBase):
        value = list(value)
    elif hasattr(value, "tolist"):
        value = value.tolist()
    items = [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)
    items = [i for row in items for i in (row if isinstance(row, (list, tuple)) else [row])]
    if len(items) != n:
        raise BadModel(f"{what} needs {n} component{'s' * (n != 1)}, but {len(items)} given.")
    return tuple(
        expression(item, names, f"{what}[{i}]" if n > 1 else what, replace)
        for i, item in enumerate(items)
    )


def real(value: npt.ArrayLike, what: str, kind: str = "numbers") -> np.ndarray:
    """Return an array of finite real numbers.

    Raises
    ------
    BadModel
    """
    try:
        if np.iscomplexobj(value):  # its imaginary part would be dropped
            raise TypeError
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        shown = " ".join(repr(value).split())
        shown = shown if len(shown) <= 60 else f"{shown[:56]} ..."
        raise BadModel(f"{what} must be {kind}, all of them real, not {shown}.") from None
    if not np.isfinite(array).all():
        wrong = array[~np.isfinite(array)][0]
        raise BadModel(f"{what} has an entry that is not finite ({wrong}).")
    return array


def row_of(values: object, what: str) -> np.ndarray:
    """Return a copy of a sequence of finite numbers.

    Raises
    ------
    BadValue
    """
    try:
        if np.iscomplexobj(values):  # type: ignore[arg-type]
            raise TypeError
        row = np.array(values, float)
    except (TypeError, ValueError):
        raise BadValue(f"{what} must be a sequence of real numbers.") from None
    if row.ndim != 1:
        raise BadValue(f"{what} must be one sequence of numbers, but its shape is {row.shape}.")
    bad = np.flatnonzero(~np.isfinite(row))
    if bad.size:
        raise BadValue(f"Entry {bad[0]} of {what} is {row[bad[0]]}; all must be finite.")
    return row


def by_name(
    value: FormulaVector,
    labels: Sequence[str],
    what: str,
    rest: Sequence[Value] | None = None,
    kind: str = "state",
) -> FormulaVector:
    """Return formulas in the order of `labels` where they are given as a dict, else `value`.

    Parameters
    ----------
    rest : sequence, optional
        Stands for what the dict leaves out; without it nothing may be left out.

    Raises
    ------
    BadModel
        A key that is no label; a label without a formula.
    """
    if not isinstance(value, Mapping):
        return value
    given = {str(getattr(label, "name", label)): formula for label, formula in value.items()}
    for label in given:
        if label not in labels:
            raise BadModel(f"{what}: {label!r} is no {kind}.{suggest(label, labels)}")
    missing = [label for label in labels if label not in given]
    if missing and rest is None:
        raise BadModel(f"{what} has no formula for the {kind} {missing[0]!r}.")
    return [given.get(k, old) for k, old in zip(labels, rest or labels, strict=True)]


def matrix(
    value: FormulaMatrix,
    n: int,
    names: Mapping[str, sp.Expr],
    what: str,
    replace: Aliases | None = None,
    columns: int | None = None,
) -> tuple[tuple[sp.Expr, ...], ...]:
    """Return an n x n (n x columns) tuple of rows; a scalar stands for a 1 x 1 matrix.

    Raises
    ------
    BadModel
        If the shape is another one.
    """
    columns = n if columns is None else columns
    if isinstance(value, sp.MatrixBase) or hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        value = [[value]]
    widths = [len(row) if isinstance(row, (list, tuple)) else 0 for row in value]
    if len(value) != n or any(width != columns for width in widths):
        if not value:
            given = "an empty list"
        elif not all(isinstance(row, (list, tuple)) for row in value):
            given = f"{len(value)} entries in one row"
        elif len(set(widths)) == 1:
            given = f"{len(value)} x {widths[0]}"
        else:
            given = f"rows of {', '.join(map(str, widths[:-1]))} and {widths[-1]} entries"
        raise BadModel(f"{what} must be {n} x {columns}, but it is given as {given}.")
    return tuple(
        tuple(
            expression(x, names, f"{what}[{i}, {j}]", replace) if x != 0 else sp.Integer(0)
            for j, x in enumerate(row)
        )
        for i, row in enumerate(value)
    )


def cells(A: Matrix) -> dict[tuple[int, int], float]:
    """Return the nonzero entries of a matrix, by row and column."""
    entries = coo_array(A)
    places = zip(*(k.tolist() for k in entries.coords), strict=True)
    return dict(zip(places, entries.data.tolist(), strict=True))


def plain(x: Value) -> Value:
    """Return a Python number for one of NumPy."""
    return x.item() if isinstance(x, np.generic) else x


def as_lists(A: Matrix) -> Listed:
    """Return a matrix, full or sparse, as JSON can hold it."""
    if not is_sparse(A):
        return list(A.tolist())
    return {"shape": A.shape} | {k: getattr(A, k).tolist() for k in ("data", "indices", "indptr")}


def from_lists(listed: Listed) -> MatrixLike:
    """Return the matrix of what `as_lists` has returned."""
    if not isinstance(listed, Mapping):
        return listed
    parts = tuple(listed[k] for k in ("data", "indices", "indptr"))
    return csr_array(parts, tuple(listed["shape"]))
