"""The order in which the matrix of a step is a narrow band, if there is one.

Cuthill and McKee, Proc. 24th ACM Conf. 1969, 157, reversed, of the unknowns of a step with
constraints, [[W, -G_c'], [G_c, 0]], W = M + h theta C + (h theta)^2 K.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from explorer.compiled.mechanical import Compiled
from explorer.systems import FirstOrderSystem
from explorer.systems.massless import full
from explorer.types import Matrix

if TYPE_CHECKING:
    from explorer.kernels.time_stepping.euler_moreau_structures import Band

__all__ = ["Joint", "Ordering", "joint", "ordering"]

_LEAST, _WORTH = 17, 3  # unknowns, and as many for each of half a band, from which it pays


@dataclass(frozen=True)
class Ordering:
    """The band of a changing matrix, for `explorer.kernels.linear_algebra.saddle_point`.

    Attributes
    ----------
    N, columns : int
        Unknowns, and columns of the array that it is factored in.
    ptr, col : int32
        Rows of the entries of M, K and C together; empty if the matrix is full.
    place : (N,) int64
        Of each unknown in the band, empty if it is full.
    places : three of int64
        Where the entries of M, K, C that bundles yield stand in what `kept` returns.
    """

    N: int
    columns: int
    ptr: np.ndarray
    col: np.ndarray
    place: np.ndarray
    places: tuple[np.ndarray, ...]

    def kept(self, A: Matrix) -> np.ndarray:
        """Return M, K or C, full or sparse: all of it (n, n), or its entries (k, 1) for a band."""
        if not self.place.size:
            return full(A)
        rows = np.repeat(np.arange(self.ptr.size - 1), np.diff(self.ptr))
        return np.asarray(A[rows, self.col]).reshape(-1, 1)


def ordering(compiled: Compiled, matrices: Sequence[Matrix]) -> Ordering:
    """Return the order of a compiled mechanical system; M, K, C of a linear one are `matrices`."""
    made = compiled.system.lasting
    if "ordering" not in made:
        made["ordering"] = _made(compiled, matrices)
    ordering: Ordering = made["ordering"]
    return ordering


def _made(compiled: Compiled, matrices: Sequence[Matrix]) -> Ordering:
    n, size = compiled.n, compiled.n + compiled.bound
    places, none = (compiled.place_M, compiled.place_K, compiled.place_C), np.zeros(0, np.int32)
    plain = Ordering(size, size, none, none, np.zeros(0, np.int64), places)
    if size < _LEAST:
        return plain
    there = [*places]
    if compiled.linear:
        there = [np.ravel_multi_index(A.nonzero(), A.shape) for A in matrices]
    flat = np.unique(np.concatenate([*there, np.arange(n) * (n + 1)]))
    i, j = np.divmod(flat, n)
    ends = compiled.gap_ptr[compiled.rows :]
    row, column = np.repeat(np.arange(n, size), np.diff(ends)), compiled.gap_col[ends[0] :]
    one, other = np.concatenate([i, row, column]), np.concatenate([j, column, row])
    place, width = _cuthill_mckee(one, other, size)
    if _WORTH * (width + 1) > size:
        return plain
    ptr = np.searchsorted(i, np.arange(n + 1)).astype(np.int32)
    slots = tuple(np.searchsorted(flat, x) for x in places)
    return Ordering(size, 3 * width + 1, ptr, j.astype(np.int32), place, slots)


def _cuthill_mckee(one: np.ndarray, other: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    """Return the place of each unknown, and half the band of entries (one, other)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    graph = csr_array((np.ones(len(one)), (one, other)), (size, size))
    place = np.empty(size, np.int64)
    place[reverse_cuthill_mckee(csr_array(graph + graph.T), symmetric_mode=True)] = np.arange(size)
    return place, int(abs(place[one] - place[other]).max())


class Sized(Protocol):
    """A compiled first-order system: `explorer.compiled.first_order.FirstOrder` is one."""

    system: FirstOrderSystem
    n_x: int  # states
    m: int  # multipliers
    kind: int  # 0: not linear
    places: tuple[np.ndarray, ...]  # of the entries of f_x, H0, H1, G0, G1


@dataclass(frozen=True)
class Joint:
    """States and multipliers of a linear first-order system in one band.

    Attributes
    ----------
    ptr, col : int64
        Rows of [[V, -h a G1], [s H0, H1]]; all empty if it is no narrow band.
    slots : int64
        Where among them the entries of M, f_x, H0, H1, G0, G1 belong.
    place : (N,) int64
        Of each unknown in the band.
    mass : int64
        Flat places of the entries of M.
    columns : int
        Of the array that it is factored in.
    """

    ptr: np.ndarray
    col: np.ndarray
    slots: np.ndarray
    place: np.ndarray
    mass: np.ndarray
    columns: int

    def band(self, M: np.ndarray, m: int) -> Band:
        """Return the band of a mass matrix and m multipliers, as kernels take it."""
        from explorer.kernels.complementarity.structures import FACTORED
        from explorer.kernels.time_stepping.euler_moreau_structures import Band

        N = self.place.size
        b, y, before, rhs = np.empty((4, N))
        f0, r0 = np.empty((2, N - m))
        return Band(
            ptr=self.ptr,
            col=self.col,
            slots=self.slots,
            place=self.place,
            mass=M.reshape(-1)[self.mass],
            val=np.empty(self.col.size),
            W=np.empty((N, self.columns)),
            pivots=np.zeros(N, np.int64),
            kept=np.array([(-1, 0, 0)], FACTORED),
            b=b,
            y=y,
            before=before,
            rhs=rhs,
            lam=np.empty(m),
            f0=f0,
            r0=r0,
        )


def joint(compiled: Sized) -> Joint:
    """Return states and multipliers of a compiled first-order system in one band."""
    n, m, none = compiled.n_x, compiled.m, np.zeros(0, np.int64)
    size, empty = n + m, Joint(none, none, none, none, none, 0)
    if size < _LEAST or not compiled.kind or not m:
        return empty
    mass = [i * n + j for i, row in enumerate(compiled.system.mass) for j, x in enumerate(row) if x]
    F, H0, H1, G0, G1 = compiled.places
    parts = [(np.array(mass), n, 0, 0), (F, n, 0, 0), (H0, n, n, 0), (H1, m, n, n),
             (G0, n, 0, 0), (G1, m, 0, n)]  # fmt: skip
    row = np.concatenate([first + k // wide for k, wide, first, _ in parts])
    column = np.concatenate([after + k % wide for k, wide, _, after in parts])
    flat, slots = np.unique(row * size + column, return_inverse=True)
    row, column = np.divmod(flat, size)
    place, width = _cuthill_mckee(row, column, size)
    if _WORTH * (width + 1) > size:
        return empty
    ptr = np.searchsorted(row, np.arange(size + 1))
    return Joint(ptr, column, slots, place, np.array(mass), 3 * width + 1)
