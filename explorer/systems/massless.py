"""Directions without mass: what a singular M leaves to algebraic and first-order equations.

With the columns N of the null space of M, the rows N' of M a = F(t, q, v) have no acceleration. Of
these directions C = -F_v acts on some, N1, and on the others, N2, not at all::

    N2' F(t, q)    = 0    static condensation: q along N2 follows the other coordinates
    N1' F(t, q, v) = 0    v along N1 does, from its own q

Their derivatives by t give v and a along N2, and a along N1 (Bathe, *Finite Element Procedures*,
10.3.2; Hairer and Wanner, *Solving Ordinary Differential Equations II*, VI.1, index 1). The pencil
s^2 M + s C + K is regular where N2' K N2 and N1' C N1 are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from explorer.errors import BadModel
from explorer.types import Matrix, Sparse, is_sparse

__all__ = [
    "Massless",
    "condensed",
    "filled",
    "full",
    "has_mass",
    "massless",
    "pivots",
    "plainly_singular",
    "state_matrix",
    "without_mass",
]

_ROUND = 1e-13  # an eigenvalue of a scaled matrix that is none
_RANK = 1e-12  # the same of a matrix that need not be symmetric
_MOST = 2000  # coordinates of which a direction without mass may be a combination


def pivots(A: Sparse) -> np.ndarray:
    """Return the pivots D of A = P L D L' P' for a symmetric sparse matrix; NaN if one is zero.

    As many are negative as A has negative eigenvalues.
    """
    from scipy.sparse.linalg import splu

    try:
        lu = splu(A.tocsc(), "MMD_AT_PLUS_A", 0.0, options={"SymmetricMode": True})
    except RuntimeError:  # "Factor is exactly singular"
        return np.full(A.shape[0], np.nan)
    diagonal: np.ndarray = lu.U.diagonal()
    return diagonal


def has_mass(M: Matrix) -> bool:
    """Whether a matrix is diagonal with positive entries, and so regular."""
    diagonal = M.diagonal()
    entries = M.nnz if is_sparse(M) else np.count_nonzero(M)
    return bool(entries == len(diagonal) and diagonal.min() > 0)


def without_mass(M: Matrix) -> Matrix:
    """Return orthonormal columns N (n, k) with M N = 0, sparse if M is; k = 0 if M is regular.

    Parameters
    ----------
    M : (n, n) float64 array or scipy.sparse, symmetric, positive semidefinite

    Raises
    ------
    BadModel
        More than 2000 coordinates have mass, and M is singular still.
    """
    sparse, n = is_sparse(M), M.shape[0]
    bare = _bare(M)
    rest = np.flatnonzero(~bare)
    null_columns = [_columns(np.flatnonzero(bare), n, sparse)]
    if len(rest) and not _regular(M[rest][:, rest]):
        if len(rest) > _MOST:
            raise BadModel(
                f"The mass matrix is singular in a combination of its {n} coordinates; such "
                f"combinations are found among at most {_MOST}. Use coordinates of which some have "
                "no mass at all."
            )
        part = full(M[rest][:, rest])
        size = np.sqrt(part.diagonal())
        squares, shapes = scipy.linalg.eigh(part / np.outer(size, size))
        null = np.zeros((n, int((squares <= _ROUND).sum())))
        null[rest] = shapes[:, squares <= _ROUND] / size[:, None]
        null_columns.append(_like(np.linalg.qr(null)[0], sparse))
    return _beside(null_columns)


def filled(M: Matrix) -> Matrix:
    """Return M with artificial mass in the massless directions, which makes it regular."""
    if has_mass(M):
        return M
    N = without_mass(M)
    return M + (abs(M).max() or 1.0) * (N @ N.T) if N.shape[1] else M


def plainly_singular(M: Matrix) -> bool:
    """Whether some coordinates have no entry in M, and M is positive definite on the others."""
    bare = _bare(M)
    rest = np.flatnonzero(~bare)
    return bool(bare.any() and M.diagonal()[rest].min(initial=1.0) > 0) and (
        not len(rest) or _regular(M[rest][:, rest])
    )


def _bare(A: Matrix) -> np.ndarray:
    """Return which rows are zero, (n,) bool."""
    return np.asarray(np.asarray(abs(A).sum(axis=1)).ravel() == 0)


def _regular(M: Matrix) -> bool:
    """Whether a symmetric matrix with a positive diagonal is positive definite."""
    size = np.sqrt(M.diagonal())
    if is_sparse(M):
        return bool((pivots(M.multiply(1 / size).multiply(1 / size[:, None])) > _ROUND).all())
    try:
        scaled = np.linalg.cholesky(M / np.outer(size, size))
    except np.linalg.LinAlgError:
        return False
    return bool(scaled.diagonal().min() ** 2 > _ROUND)


@dataclass(frozen=True)
class Massless:
    """The directions without mass of a system, and what they follow.

    Attributes
    ----------
    damped, free : (n, k1), (n, k2) array or scipy.sparse
        Orthonormal columns N1, on which C acts, and N2, on which it does not.
    C, K : (n, n)
        -F_v, -F_q of the system where it was looked at.
    places, rates : callable
        Solve with N2' K N2 and with N1' C N1.
    """

    damped: Matrix
    free: Matrix
    C: Matrix
    K: Matrix
    places: Callable[[np.ndarray], np.ndarray]
    rates: Callable[[np.ndarray], np.ndarray]

    @property
    def all(self) -> Matrix:
        """All directions without mass, (n, k)."""
        return _beside([self.damped, self.free])

    def place(self, F: np.ndarray) -> np.ndarray:
        """Return the change of q that gives N2' F = 0, (n,) or (n_t, n) as F."""
        return _along(self.free, self.places, F)

    def rate(self, F: np.ndarray) -> np.ndarray:
        """Return the change of v that gives N1' F = 0, shaped as in `place`."""
        return _along(self.damped, self.rates, F)

    def velocity(self, v: np.ndarray, F_t: np.ndarray) -> np.ndarray:
        """Return v with its part along N2 that follows from the other velocities."""
        consistent: np.ndarray = v + self.place(F_t - (self.K @ v.T).T)
        return consistent

    def acceleration(
        self, v: np.ndarray, a: np.ndarray, F_t: np.ndarray, F_tt: np.ndarray
    ) -> np.ndarray:
        """Return a with its parts along N1 and N2, which v and the other parts determine."""
        a = a + self.rate(F_t - (self.K @ v.T).T - (self.C @ a.T).T)
        consistent: np.ndarray = a + self.place(F_tt - (self.K @ a.T).T)
        return consistent


def massless(
    name: str, coordinates: Sequence[str], M: Matrix, C: Matrix, K: Matrix
) -> Massless | None:
    """Return the directions without mass of M a + C v + K q = f; None if M is regular.

    Raises
    ------
    BadModel
        The pencil s^2 M + s C + K is singular, so that the motion is not determined, or C couples
        what it does not act on by itself.
    """
    N = without_mass(M)
    if not N.shape[1]:
        return None
    P = N.T @ C @ N
    W = _null(P, f"The damping of what has no mass in '{name}'")
    free = N @ W
    if W.shape[1]:
        damped = N @ _rest(W)
        loose = max(abs(C @ free).max(), abs(free.T @ C).max())
        if loose > _RANK * max(abs(C).max(), 1e-300):
            raise BadModel(
                f"'{name}': C couples massless directions to others, but does not damp them "
                f"({_named(free[:, [0]], coordinates)}), so it would constrain velocities. Give "
                "these coordinates mass, or damping of their own."
            )
    else:
        damped = N
    S = free.T @ K @ free
    V = _null(S, f"The stiffness of what has no mass in '{name}'")
    if V.shape[1]:
        raise BadModel(
            f"The mass matrix of '{name}' is singular, and the motion of "
            f"{_named(free @ V[:, [0]], coordinates)} is not determined: it has neither mass, "
            "damping nor stiffness (or none beyond that of the others). Every coordinate needs "
            "one of them: inertia, damping, or stiffness."
        )
    return Massless(damped, free, C, K, _solver(S), _solver(damped.T @ C @ damped))


def condensed(M: Matrix, K: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return M and K of the coordinates with mass, full, and T (n, k): q = T y.

    The rest follows at rest: N' K q = 0 (static condensation, Guyan, AIAA J. 3 (1965) 380).

    Raises
    ------
    BadModel
        N' K N is singular.
    """
    N = without_mass(M)
    R, N, M, K = full(_complement(N)), full(N), full(M), full(K)
    S = N.T @ K @ N
    if _null(S, "The stiffness of what has no mass").shape[1]:
        raise BadModel(
            "Some direction has neither mass nor stiffness, so the shapes of the modes are not "
            "determined there. Give it stiffness or mass, or remove it."
        )
    T = R - N @ np.linalg.solve(S, N.T @ K @ R) if N.shape[1] else R
    return R.T @ M @ R, T.T @ K @ T, T


def state_matrix(M: np.ndarray, C: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Return A of x' = A x for M q'' + C q' + K q = 0, full matrices.

    x = (q, v); of a singular M it is (q where C or M acts, v where M does).
    """
    n = len(M)
    directions = massless("the system", [str(i) for i in range(n)], M, C, K)
    if directions is None:
        return np.vstack([np.eye(n, 2 * n, n), -np.linalg.solve(M, np.hstack([K, C]))])
    R, N1 = _complement(directions.all), directions.damped
    states = np.eye(R.shape[1] * 2 + N1.shape[1])
    q, v = states[:, : R.shape[1]] @ R.T, states[:, n - directions.free.shape[1] :] @ R.T
    q = q + states[:, R.shape[1] : n - directions.free.shape[1]] @ N1.T
    q = q + directions.place(-q @ K.T)
    v = v + directions.rate(-q @ K.T - v @ C.T)
    F = -q @ K.T - v @ C.T
    return np.vstack([R.T @ v.T, N1.T @ v.T, np.linalg.solve(R.T @ M @ R, R.T @ F.T)])


def _along(N: Matrix, solve: Callable[[np.ndarray], np.ndarray], F: np.ndarray) -> np.ndarray:
    """Return N solve(N' F), of one F (n,) or of rows (n_t, n)."""
    return np.asarray((N @ solve(N.T @ F.T)).T) if N.shape[1] else np.zeros_like(F)


def _solver(A: Matrix) -> Callable[[np.ndarray], np.ndarray]:
    if not A.shape[0]:
        return lambda b: b
    if is_sparse(A):
        from scipy.sparse.linalg import splu

        solve: Callable[[np.ndarray], np.ndarray] = splu(A.tocsc()).solve
        return solve
    factors = scipy.linalg.lu_factor(A)
    return lambda b: scipy.linalg.lu_solve(factors, b)


def _null(A: Matrix, what: str) -> Matrix:
    """Return orthonormal columns W (k, m) with A W = 0, sparse if A is.

    Raises
    ------
    BadModel
        More than 2000 rows, none of which is zero, that are singular.
    """
    sparse, k = is_sparse(A), A.shape[0]
    bare = _bare(A) & _bare(A.T)
    rest = np.flatnonzero(~bare)
    null_columns = [_columns(np.flatnonzero(bare), k, sparse)]
    part = A[rest][:, rest]
    by_row = _largest(part)
    if is_sparse(part):
        part = part.multiply(1 / by_row[:, None]).tocsr()
    else:
        part = (part.T * (1 / by_row)).T
    by_column = _largest(part.T)
    part = part.multiply(1 / by_column).tocsr() if is_sparse(part) else part / by_column
    if len(rest) and not _clear(part):
        if len(rest) > _MOST:
            raise BadModel(f"{what} is singular in a combination of {len(rest)} coordinates.")
        _, d, V = np.linalg.svd(full(part))
        null = np.zeros((k, int((d <= _RANK * d[0]).sum())))
        null[rest] = V[d <= _RANK * d[0]].T / by_column[:, None]
        null_columns.append(_like(np.linalg.qr(null)[0], sparse))
    return _beside(null_columns)


def _largest(A: Matrix) -> np.ndarray:
    """Return the largest modulus of each row, 1 where all are zero."""
    sizes = np.zeros(A.shape[0])
    if A.shape[1]:
        largest = abs(A).max(axis=1)
        sizes = np.asarray(largest.toarray() if hasattr(largest, "toarray") else largest).ravel()
    return np.where(sizes > 0, sizes, 1.0)


def _clear(A: Matrix) -> bool:
    """Whether a scaled matrix is clearly regular, by the ratio of its pivots."""
    if is_sparse(A):
        from scipy.sparse.linalg import splu

        try:
            d = np.abs(splu(A.tocsc()).U.diagonal())
        except RuntimeError:  # "Factor is exactly singular"
            return False
    else:
        d = np.abs(scipy.linalg.lu(A)[2].diagonal())
    return bool(d.min() > np.sqrt(_RANK) * d.max())


def _complement(N: Matrix) -> Matrix:
    """Return orthonormal columns that complete those of N to a basis."""
    n, k = N.shape
    if is_sparse(N):
        used = np.asarray(abs(N).sum(axis=1)).ravel() > 0
        if N.nnz == k == used.sum():
            return _columns(np.flatnonzero(~used), n, True)
        return _like(_complement(full(N)), True)
    used = np.abs(N).sum(axis=1) > 0
    if used.sum() == k:
        return _columns(np.flatnonzero(~used), n, False)
    return np.linalg.qr(N, mode="complete")[0][:, k:]


_rest = _complement


def _named(direction: Matrix, coordinates: Sequence[str]) -> str:
    """Return the coordinates that a direction moves, the largest first."""
    size = np.abs(full(direction)).ravel()
    moved = np.argsort(-size, kind="stable")[: int((size > 1e-6 * size.max()).sum())]
    names = [repr(coordinates[i]) for i in moved[:3]]
    return " with ".join(names) + (" and others" if len(moved) > 3 else "")


def _columns(places: np.ndarray, n: int, sparse: bool) -> Matrix:
    """Return the unit vectors of some coordinates as columns."""
    if sparse:
        from scipy.sparse import csr_array

        ones = np.ones(len(places))
        return csr_array((ones, (places, np.arange(len(places)))), shape=(n, len(places)))
    return np.eye(n)[:, places]


def _beside(parts: list[Matrix]) -> Matrix:
    if is_sparse(parts[0]):
        from scipy.sparse import csr_array, hstack

        return csr_array(hstack(parts))
    return np.hstack(parts)


def _like(A: np.ndarray, sparse: bool) -> Matrix:
    if sparse:
        from scipy.sparse import csr_array

        return csr_array(A)
    return A


def full(A: Matrix) -> np.ndarray:
    """Return a matrix as an array."""
    return np.asarray(A.toarray() if is_sparse(A) else A)
