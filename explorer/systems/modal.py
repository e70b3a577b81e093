"""Natural modes K phi = omega^2 M phi, and damping that they leave uncoupled.

Rayleigh damping C = a0 M + a1 K has the ratio xi(omega) = (a0 / omega + a1 omega) / 2; modal
damping C = M Phi diag(2 xi omega) Phi' M has the ratios that one wants (Chopra, *Dynamics of
Structures*, 11.4). Dense matrices by LAPACK; large sparse ones by Lanczos about a shift outside the
spectrum, whose place is proved by the signs of the pivots of L D L' (Sylvester's law of inertia).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array, diags_array

from explorer.arguments import several
from explorer.errors import BadValue
from explorer.parameters import number
from explorer.quantities import many, quantity
from explorer.systems.massless import condensed, full, has_mass, pivots, state_matrix, without_mass
from explorer.types import Matrix, MatrixLike, is_sparse

_HALF = 1e-7  # what eigenvalues that meet round to
_FULL = 200  # coordinates up to which all eigenvalues are looked for

__all__ = [
    "driven_growth",
    "largest_square",
    "lowest_square",
    "modal_damping",
    "natural_modes",
    "own_growth",
    "rayleigh",
]

_MOST = 5000  # coordinates of a full matrix
_DENSE = 300  # below, LAPACK is quicker than any iteration


def natural_modes(
    M: Matrix | None, K: Matrix, count: int | None = None, *, highest: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return omega^2 (k,) in 1/s2, lowest first, and the shapes (n, k) with phi' M phi = 1.

    Parameters
    ----------
    M, K : (n, n) float64 array or scipy.sparse, symmetric, M positive definite; None: M = 1
        M may be singular if K is not where M is: infinite frequencies are left out.
    count : int, optional
        How many of the lowest (or `highest`) modes; all by default.

    Raises
    ------
    BadModel
        A direction without mass has no stiffness either.
    """
    n = K.shape[0]
    N = np.empty((n, 0)) if M is None or has_mass(M) else without_mass(M)
    bare = N.shape[1]
    count = n - bare if count is None else min(count, n - bare)
    by_few = is_sparse(K) and n > _DENSE and count < n // 4
    if bare and not (by_few and not highest and (pivots(N.T @ K @ N) > 0).all()):
        M, K, T = condensed(M, K)
        squares, shapes = natural_modes(M, K, count, highest=highest)
        return squares, T @ shapes
    if is_sparse(K):
        if by_few:
            unit = diags_array(np.ones(n), format="csr")
            top = largest_square(M, K) if bare else 0.0
            return _lanczos(unit if M is None else M, K, count, highest, top)
        M, K = None if M is None else full(M), full(K)
    part = None if count == n else [n - count, n - 1] if highest else [0, count - 1]
    squares, shapes = scipy.linalg.eigh(K, M, subset_by_index=part)
    return squares, shapes


def largest_square(M: Matrix, K: Matrix) -> float:
    """Return a bound of the size of omega^2 in 1/s2 where there is mass, by the diagonals."""
    mass = M.diagonal()
    with_mass = mass > 0
    return float((abs(K.diagonal())[with_mass] / mass[with_mass]).max(initial=0.0))


def lowest_square(M: Matrix, K: Matrix) -> float:
    """Return the lowest omega^2 in 1/s2 if it is clearly negative, else 0 (a quick test)."""
    top = largest_square(M, K)
    if not top > 0:
        return 0.0
    lifted = K + 1e-9 * top * M
    if is_sparse(K):
        positive = (pivots(lifted) > 0).all()
    else:
        positive = scipy.linalg.lapack.dpotrf(lifted)[1] == 0
    return 0.0 if positive else min(float(natural_modes(M, K, 1)[0][0]), 0.0)


def _lanczos(
    M: Matrix, K: Matrix, count: int, highest: bool, top: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return `natural_modes` by Lanczos; `top` is the largest abs(omega^2), computed if it is 0."""
    from scipy.sparse.linalg import eigsh

    begin = np.random.default_rng(0).normal(size=M.shape[0])
    top = top or eigsh(K, 1, M, v0=begin, tol=1e-3, return_eigenvectors=False)[0]
    sign, shift, step = (-1, 1.002 * abs(top), 1.01) if highest else (1, 1e-9 * abs(top), 10.0)
    while not (pivots(sign * K + shift * M) > 0).all():
        shift *= step
    squares, shapes = eigsh(K, count, M, sigma=-sign * shift, v0=begin)
    order = np.argsort(squares)
    return squares[order], shapes[:, order]


def rayleigh(
    M: MatrixLike, K: MatrixLike, ratios: float | Sequence[float], frequencies: Sequence[float]
) -> tuple[float, float, Matrix]:
    """Return a0 (1/s), a1 (s) and C = a0 M + a1 K with two damping ratios at two frequencies.

    Parameters
    ----------
    M, K : (n, n) array or scipy.sparse
    ratios : float or two floats
        Damping ratios xi, such as 0.05.
    frequencies : two floats
        Circular frequencies omega in rad/s at which the ratios hold. If both ratios are equal, the
        ratio is smaller between the two frequencies and larger outside of them.

    Raises
    ------
    BadValue
        The frequencies are equal or not positive, or the ratios need a negative coefficient, which
        would make modes grow.

    Examples
    --------
    >>> import explorer as ex
    >>> a0, a1, C = ex.rayleigh([[1.0]], [[4.0]], 0.05, (1, 3))
    >>> round(a0, 4), round(a1, 4)
    (0.075, 0.025)
    """
    xi, omega = _pair(ratios, "damping ratio"), _pair(frequencies, "frequency")
    if not (omega > 0).all() or omega[0] == omega[1]:
        raise BadValue(
            f"Rayleigh damping needs two different positive frequencies, not {omega[0]:g} and "
            f"{quantity(omega[1], 'rad/s')}."
        )
    a0, a1 = np.linalg.solve(0.5 * np.stack([1 / omega, omega], axis=1), xi).tolist()
    if min(a0, a1) < 0:
        name, value, far = ("a0", a0, "low") if a0 < 0 else ("a1", a1, "high")
        raise BadValue(
            f"The ratios {xi[0]:g} and {xi[1]:g} at {omega[0]:g} and {quantity(omega[1], 'rad/s')} "
            f"need {name} = {value:.3g}: modes of {far} frequency would grow. Take ratios that are "
            "closer to each other, or modal_damping."
        )
    M, K = _alike(M, K)
    return a0, a1, a0 * M + a1 * K


def _alike(M: MatrixLike, K: MatrixLike) -> tuple[Matrix, Matrix]:
    """Return both as arrays, or both as csr_array if one is sparse."""
    sparse = hasattr(M, "tocsr") or hasattr(K, "tocsr")
    found = []
    for name, X in (("M", M), ("K", K)):
        try:
            found.append(csr_array(X, dtype=float) if sparse else np.array(X, float, ndmin=2))
        except (TypeError, ValueError):
            raise BadValue(f"{name} must be a matrix of numbers, not {X!r}.") from None
    M, K = found
    if M.ndim != 2 or M.shape[0] != M.shape[1] or M.shape != K.shape:
        sizes = (" x ".join(map(str, X.shape)) for X in found)
        raise BadValue("M and K must be square and of one size, but are {} and {}.".format(*sizes))
    return M, K


def _pair(values: float | Sequence[float], what: str) -> np.ndarray:
    items = several(values, 2)
    if len(items) != 2:
        raise BadValue(
            f"Rayleigh damping needs two {what[:-1] + 'ies' if what[-1] == 'y' else what + 's'}, "
            f"but {len(items)} {'is' if len(items) == 1 else 'are'} given."
        )
    return np.array([number(x, f"A {what}") for x in items])


def modal_damping(M: MatrixLike, K: MatrixLike, ratios: float | Sequence[float]) -> np.ndarray:
    """Return the damping matrix C (n, n) in which mode k has the damping ratio ``ratios[k]``.

    Parameters
    ----------
    M, K : (n, n) array or scipy.sparse, symmetric
    ratios : float or sequence of float
        One for all modes, or one each for the lowest ones; the others are not damped. C is full,
        even where M and K are sparse.

    Raises
    ------
    BadValue
        A negative ratio, more ratios than modes, a mode with omega^2 <= 0 that is to be damped,
        a matrix that would be too large.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.modal_damping([[2.0]], [[8.0]], 0.1)
    array([[0.8]])
    """
    M, K = _alike(M, K)
    n = M.shape[0]
    if n > _MOST:
        raise BadValue(
            f"Modal damping of {n} coordinates would fill a matrix of {8e-9 * n * n:.3g} GB; "
            "rayleigh damping stays as sparse as M and K."
        )
    items = several(ratios, n)
    if len(items) > n:
        raise BadValue(f"{len(items)} damping ratios are given for {many(n, 'mode')}.")
    xi = np.array([number(x, f"ratios[{k}]") for k, x in enumerate(items)])
    if xi.min(initial=0) < 0:
        raise BadValue(
            f"A damping ratio of {xi.min():g} would add energy to its mode: ratios are >= 0."
        )
    squares, shapes = natural_modes(M, K, len(xi))
    bad = np.flatnonzero((squares <= 1e-12 * abs(squares).max(initial=0)) & (xi > 0))
    if bad.size:
        raise BadValue(
            f"Mode {bad[0] + 1} has omega^2 = {squares[bad[0]]:.3g}: it does not oscillate and has "
            "no damping ratio. Give it the ratio 0."
        )
    momentum = M @ shapes
    C: np.ndarray = (momentum * (2 * xi * np.sqrt(np.maximum(squares, 0)))) @ momentum.T
    return C


def own_growth(M: np.ndarray, C: np.ndarray, K: np.ndarray) -> float:
    """Return the largest real part of an eigenvalue of M q'' + C q' + K q = 0, 1/s, at least 0.

    Less than what eigenvalues round to is 0: they lose half their digits where they meet.
    """
    values = np.linalg.eigvals(state_matrix(M, C, K))
    largest = float(values.real.max(initial=0.0))
    return largest if largest > _HALF * np.abs(values).max() else 0.0


def driven_growth(M: Matrix, K: Matrix, C: Matrix) -> float:
    """Return `own_growth` if C is indefinite or K not symmetric, else 0; of few coordinates."""
    if K.shape[0] > _FULL:
        return 0.0
    M, K, C = (np.asarray(A.todense() if hasattr(A, "todense") else A) for A in (M, K, C))
    skew = np.abs(K - K.T).max() > 1e-9 * np.abs(K).max()
    drives = np.linalg.eigvalsh(C + C.T)[0] < -1e-9 * np.abs(C).max()
    return own_growth(M, C, K) if skew or drives else 0.0
