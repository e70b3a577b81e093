"""Factors of a constant matrix, of the kind that costs `factored_solve` least.

A band (LAPACK's gbtrf; a full matrix is the widest band) costs n (kl + ku) at every step, sparse
columns (SuperLU) their entries, each some 2.5 times as much, for the next one lies elsewhere. What
no cache holds costs what memory takes, 8 bytes an entry or 12. A band costs n kl ku besides, once.
A diagonal is not factored at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import bandwidth, lapack

from explorer.compiled.ordering import Ordering
from explorer.kernels.linear_algebra.structures import Factors, SaddlePoint, Triangle
from explorer.types import Matrix, Plain, is_sparse

__all__ = [
    "UNCHANGING", "UNUSED", "bordered", "changing", "combined", "diagonal", "factorise", "rows_of",
    "solved",
]  # fmt: skip

_SCATTERED = 2.5  # cost of an entry of a sparse column beside one of a band
_CACHE = 2**24  # bytes of factors beyond which each entry comes from memory
_BYTE = 0.45  # cost of a byte from memory beside that of an entry of a band
_MADE = 2.0  # cost of n kl ku in the factors of a band


def rows_of(A: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows (ptr, col, val) of what is not zero, int64 and float64."""
    if is_sparse(A):
        return A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data
    i, j = A.nonzero()
    return i.searchsorted(np.arange(len(A) + 1)), j.copy(), A[i, j]


def combined(weights: Sequence[float], matrices: Sequence[Matrix]) -> Matrix:
    """Return the sum of weight times matrix, with no product where a weight is zero."""
    first, *others = (w * A for w, A in zip(weights, matrices, strict=True) if w != 0)
    return sum(others, first)


def diagonal(A: Matrix) -> bool:
    """Whether a matrix, dense or sparse, is zero off its diagonal."""
    entries = A.count_nonzero() if is_sparse(A) else np.count_nonzero(A)
    return bool(entries == np.count_nonzero(A.diagonal()))


def bordered(A: Matrix, G: np.ndarray) -> Matrix:
    """Return [[A, -G'], [G, 0]], the matrix of a step with constraints; sparse if A is."""
    if is_sparse(A):
        from scipy.sparse import block_array, csr_array

        return csr_array(block_array([[A, csr_array(-G.T)], [csr_array(G), None]]))
    return np.block([[A, -G.T], [G, np.zeros((len(G), len(G)))]])


def solved(A: Matrix, b: np.ndarray) -> np.ndarray:
    """Return the solution of A x = b, once."""
    if is_sparse(A):
        from scipy.sparse.linalg import spsolve

        return np.asarray(spsolve(A.tocsc(), b))
    return b / A.diagonal() if np.count_nonzero(A) == len(A) else np.linalg.solve(A, b)


def _per_solution(entries: int, each: float, size: int) -> float:
    """Return the cost of a solution with factors of so many entries, `size` bytes each."""
    return entries * (max(each, _BYTE * size) if entries * size > _CACHE else each)


def factorise(A: Matrix, solutions: float = 1000) -> Factors | None:
    """Return the factors of a matrix; None if it is singular to rounding.

    Parameters
    ----------
    A : (n, n) float64 array or scipy.sparse.csr_array
    solutions : float
        How many times it will be solved with: what the factors cost is shared by them.
    """
    n = A.shape[0]
    if n == 1:
        kl = ku = 0
    elif is_sparse(A):
        below = np.repeat(np.arange(n), np.diff(A.indptr)) - A.indices
        kl, ku = int(below.max(initial=0)), int(-below.min(initial=0))
    else:
        kl, ku = bandwidth(A)
    if kl == ku == 0:
        inverse = _inverse(A.diagonal())
        none = np.empty((n, 0))
        return None if inverse is None else _band(inverse, _NO_ORDER, none, none)
    banded = n * (kl + ku)
    if banded > _SCATTERED * (A.nnz if is_sparse(A) else np.count_nonzero(A)):
        found = _sparse(A)
        if found is None:
            return None
        sparse = _per_solution(found.L.val.size + found.U.val.size, _SCATTERED, 12)
        if solutions * sparse < solutions * _per_solution(banded, 1.0, 8) + _MADE * kl * n * ku:
            return found
    return _banded(A, kl, ku)


def _inverse(pivots: np.ndarray) -> np.ndarray | None:
    if not pivots.all():
        return None
    inverse = 1 / pivots
    return inverse if np.isfinite(inverse).all() else None


def _banded(A: Matrix, kl: int, ku: int) -> Factors | None:
    n, wide = A.shape[0], kl + ku
    i, j = A.nonzero()
    band = np.zeros((2 * kl + ku + 1, n), order="F")
    band[wide + i - j, j] = A.data if is_sparse(A) else A[i, j]
    lu, order, _ = lapack.dgbtrf(band, kl, ku, overwrite_ab=True)
    pivots, above = lu[wide], lu[:wide].T
    inverse = _inverse(pivots)
    if inverse is None or (np.abs(pivots) <= 1e-15 * np.abs(above).max(axis=1)).any():
        return None
    filled = above.any(axis=0)  # without row exchanges U is no wider than A
    first = int(filled.argmax()) if filled.any() else wide
    rows = np.arange(n)[:, None] + np.arange(first - wide, 0)
    order = _NO_ORDER if (order == np.arange(n)).all() else order.astype(np.int64)
    below = np.ascontiguousarray(lu[wide + 1 :].T)
    return _band(inverse, order, below, above[:, first:] * inverse[rows])


def _sparse(A: Matrix) -> Factors | None:
    from scipy.sparse import csc_array, tril, triu
    from scipy.sparse.linalg import splu

    n = A.shape[0]
    A = csc_array(A)
    options: Plain = {}
    if abs(A - A.T).max() <= 1e-12 * abs(A).max():  # half the fill
        options = {
            "permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.1,
            "options": {"SymmetricMode": True},
        }  # fmt: skip
    try:
        lu = splu(A, **options)
    except RuntimeError:  # "Factor is exactly singular"
        return None
    inverse = _inverse(lu.U.diagonal())
    if inverse is None:
        return None
    L, U = (
        (T.indptr.astype(np.int32), T.indices.astype(np.int32), T.data)
        for T in (tril(lu.L, -1, format="csc"), triu(lu.U, 1, format="csc"))
    )
    none, order, place = np.empty((n, 0)), lu.perm_r.astype(np.int64), lu.perm_c.astype(np.int64)
    upper = Triangle(*U[:2], U[2] * inverse[U[1]])
    return Factors(inverse, order, none, none, Triangle(*L), upper, place, np.empty(n))


def changing(order: Ordering) -> SaddlePoint:
    """Return what a step factors itself, in an `Ordering`."""
    N = order.N
    W, pivots, work = np.empty((N, order.columns)), np.zeros(N, np.int64), np.empty(N)
    return SaddlePoint(W, pivots, order.ptr, order.col, order.place, work)


def _band(inverse: np.ndarray, order: np.ndarray, below: np.ndarray, above: np.ndarray) -> Factors:
    """Return factors that are a band."""
    return Factors(inverse, order, below, above, _NO_TRIANGLE, _NO_TRIANGLE, _NO_ORDER, _NO_WORK)


_NO_ORDER, _NO_WORK = np.empty(0, np.int64), np.empty(0)
_NO_TRIANGLE = Triangle(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))
_NONE = np.empty((0, 0))


UNUSED = _band(_NO_WORK, _NO_ORDER, _NONE, _NONE)  # for who factors itself
UNCHANGING = SaddlePoint(
    _NONE, _NO_ORDER, _NO_TRIANGLE.ptr, _NO_TRIANGLE.row, _NO_ORDER, _NO_WORK
)  # for who does not
