"""The order in which a matrix that changes at every step is a narrow band, if there is one.

Cuthill and McKee, Proc. 24th ACM Conf. 1969, 157, reversed, of the unknowns of a step with
constraints, [[W, -G_c'], [G_c, 0]], W = M + h theta C + (h theta)^2 K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Ordering", "ordering"]

_LEAST, _WORTH = 17, 3  # unknowns, and as many for each of half a band, from which it pays


@dataclass(frozen=True)
class Ordering:
    """What `explorer.kernels.saddle_point` takes of a matrix that changes.

    Attributes
    ----------
    columns : int
        Of the array that it is factored in.
    ptr, col : int32
        Rows of the entries of M, K and C together; empty if the matrix is full.
    place : (N,) int64
        Of each unknown in the band, empty if it is full.
    places : three of int64
        Where the entries of M, K, C that bundles yield stand in what `kept` returns.
    """

    columns: int
    ptr: np.ndarray
    col: np.ndarray
    place: np.ndarray
    places: tuple[np.ndarray, ...]

    def kept(self, A: Any) -> np.ndarray:
        """Return M, K or C, full or sparse: all of it (n, n), or its entries (k, 1) for a band."""
        if not self.place.size:
            return A.toarray() if hasattr(A, "indptr") else A
        rows = np.repeat(np.arange(self.ptr.size - 1), np.diff(self.ptr))
        return np.asarray(A[rows, self.col]).reshape(-1, 1)


def ordering(compiled: Any, matrices: Any) -> Ordering:
    """Return the order of a compiled mechanical system; M, K, C of a linear one are `matrices`."""
    made = compiled.system.made
    if "ordering" not in made:
        made["ordering"] = _made(compiled, matrices)
    found: Ordering = made["ordering"]
    return found


def _made(compiled: Any, matrices: Any) -> Ordering:
    n, size = compiled.n, compiled.n + compiled.bound
    places, none = (compiled.place_M, compiled.place_K, compiled.place_C), np.zeros(0, np.int32)
    full = Ordering(size, none, none, np.zeros(0, np.int64), places)
    if size < _LEAST:
        return full
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    there = places
    if compiled.linear:
        there = tuple(np.ravel_multi_index(A.nonzero(), A.shape) for A in matrices)
    flat = np.unique(np.concatenate([*there, np.arange(n) * (n + 1)]))
    i, j = np.divmod(flat, n)
    ends = compiled.gap_ptr[compiled.rows :]
    row, column = np.repeat(np.arange(n, size), np.diff(ends)), compiled.gap_col[ends[0] :]
    one, other = np.concatenate([i, row, column]), np.concatenate([j, column, row])
    graph = csr_array((np.ones(len(one)), (one, other)), (size, size))
    place = np.empty(size, np.int64)
    place[reverse_cuthill_mckee(csr_array(graph + graph.T), symmetric_mode=True)] = np.arange(size)
    width = int(abs(place[one] - place[other]).max())
    if _WORTH * (width + 1) > size:
        return full
    ptr = np.searchsorted(i, np.arange(n + 1)).astype(np.int32)
    found = tuple(np.searchsorted(flat, x) for x in places)
    return Ordering(3 * width + 1, ptr, j.astype(np.int32), place, found)
