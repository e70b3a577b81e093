"""Factors of a constant matrix for `explorer.kernels.factors`, of the kind that solves fastest.

A band (LAPACK's gbtrf; a full matrix is the widest band) costs n (kl + ku) at every step, sparse
columns (SuperLU) their entries, each some 2.5 times as much, for the next one lies elsewhere. A
diagonal is not factored at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import bandwidth, lapack

__all__ = ["UNUSED", "Factors", "combined", "factorise", "rows_of", "solved"]

Factors = tuple[np.ndarray, ...]
_SCATTERED = 2.5  # cost of an entry of a sparse column beside one of a band
_NO_COLUMNS = (np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)) * 2


def rows_of(A: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows (ptr, col, val) of what is not zero, int64 and float64."""
    if hasattr(A, "indptr"):
        return A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data
    i, j = np.nonzero(A)
    return np.searchsorted(i, np.arange(len(A) + 1)), np.ascontiguousarray(j), A[i, j]


def combined(weights: Any, matrices: Any) -> Any:
    """Return the sum of weight times matrix, with no product where a weight is zero."""
    first, *others = (w * A for w, A in zip(weights, matrices, strict=True) if w != 0)
    return sum(others, first)


def solved(A: Any, b: np.ndarray) -> np.ndarray:
    """Return the solution of A x = b, once."""
    if hasattr(A, "indptr"):
        from scipy.sparse.linalg import spsolve

        return spsolve(A.tocsc(), b)
    return b / A.diagonal() if np.count_nonzero(A) == len(A) else np.linalg.solve(A, b)


def factorise(A: Any) -> Factors | None:
    """Return the factors of a matrix; None if it is singular to rounding.

    Parameters
    ----------
    A : (n, n) float64 array or scipy.sparse.csr_array
    """
    n = A.shape[0]
    if n == 1:
        kl = ku = 0
    elif hasattr(A, "indptr"):
        below = np.repeat(np.arange(n), np.diff(A.indptr)) - A.indices
        kl, ku = int(below.max(initial=0)), int(-below.min(initial=0))
    else:
        kl, ku = bandwidth(A)
    if kl == ku == 0:
        empty = np.zeros((n, 0))
        return _factors(A.diagonal(), np.zeros(0, np.int64), empty, empty)
    banded = n * (kl + ku)
    if banded > _SCATTERED * (A.nnz if hasattr(A, "nnz") else np.count_nonzero(A)):
        found = _sparse(A)
        if found is None or _SCATTERED * (found[6].size + found[9].size) < banded:
            return found
    return _banded(A, kl, ku)


def _factors(
    pivots: np.ndarray, order: np.ndarray, below: np.ndarray, above: np.ndarray,
    columns: tuple[np.ndarray, ...] = _NO_COLUMNS, place: Any = (),
) -> Factors | None:  # fmt: skip
    """Return the tuple of `explorer.kernels.factors`, unless a pivot has vanished."""
    with np.errstate(divide="ignore"):
        inverse = 1 / pivots
    if not np.isfinite(inverse).all():
        return None
    n, ku = above.shape
    rows = np.arange(n)[:, None] - ku + np.arange(ku)
    above = above * inverse[np.maximum(rows, 0)]
    *left, row, val = columns
    place = np.asarray(place, np.int64)
    return (inverse, order.astype(np.int64), below, above, *left, row, val * inverse[row], place,
            np.empty(place.size))  # fmt: skip


def _banded(A: Any, kl: int, ku: int) -> Factors | None:
    n, wide = A.shape[0], kl + ku
    i, j = A.nonzero()
    band = np.zeros((2 * kl + ku + 1, n), order="F")
    band[wide + i - j, j] = A.data if hasattr(A, "indptr") else A[i, j]
    lu, order, _ = lapack.dgbtrf(band, kl, ku, overwrite_ab=True)
    pivots, above = lu[wide], np.ascontiguousarray(lu[:wide].T)
    if (np.abs(pivots) <= 1e-15 * np.abs(above).max(axis=1)).any():
        return None
    filled = above.any(axis=0)  # without row exchanges U is no wider than A
    first = int(filled.argmax()) if filled.any() else wide
    if (order == np.arange(n)).all():
        order = order[:0]
    return _factors(pivots, order, np.ascontiguousarray(lu[wide + 1 :].T),
                    np.ascontiguousarray(above[:, first:]))  # fmt: skip


def _sparse(A: Any) -> Factors | None:
    from scipy.sparse import csc_array, tril, triu
    from scipy.sparse.linalg import splu

    A = csc_array(A)
    options: dict[str, Any] = {}
    if abs(A - A.T).max() <= 1e-12 * abs(A).max():  # half the fill
        options = {
            "permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.1,
            "options": {"SymmetricMode": True},
        }  # fmt: skip
    try:
        lu = splu(A, **options)
    except RuntimeError:  # "Factor is exactly singular"
        return None
    L, U = tril(lu.L, -1, format="csc"), triu(lu.U, 1, format="csc")
    columns = tuple(
        x for T in (L, U) for x in (T.indptr.astype(np.int32), T.indices.astype(np.int32), T.data)
    )
    empty = np.zeros((A.shape[0], 0))
    return _factors(lu.U.diagonal(), lu.perm_r, empty, empty, columns, lu.perm_c)


_EMPTY = np.zeros((0, 0))
UNUSED = _factors(
    np.zeros(0), np.zeros(0, np.int64), _EMPTY, _EMPTY
)  # for a kernel that factors itself
