"""The starts of many members at once: what one run of fixed steps finds out, in columns.

A member whose start is not plainly in order is marked. It is run by itself, where it is refused in
words or turns out to be in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from explorer.compiled import Bundle, Compiled
from explorer.runs.members import Members
from explorer.systems import LagrangianSystem
from explorer.types import is_sparse

__all__ = ["Starts", "accelerations", "evaluate", "is_plain", "starts"]

_MOST = 40  # coordinates
_DEEP = -1e-6  # m, see `explorer.compiled.mechanical`
_REGULAR = 1e-6  # least eigenvalue of a scaled mass matrix that is regular without doubt
_ALIKE = 1e-12  # of entries of a symmetric mass matrix


class Starts(NamedTuple):
    """The starts of k members, as `explorer.compiled.mechanical.Compiled` finds them.

    Attributes
    ----------
    plain : (k,) bool
        Which of them are in order.
    inp : (k, .) float
        Input vectors.
    M, K, C : (k, n, n) float
    G : (k, entries) float
    e : (k, rows) float
        Restitutions of the contacts, then tangential ones.
    F : (k, n) float
    """

    plain: np.ndarray
    inp: np.ndarray
    M: np.ndarray
    K: np.ndarray
    C: np.ndarray
    G: np.ndarray
    e: np.ndarray
    F: np.ndarray


def is_plain(compiled: object) -> bool:
    """Whether starts of a system need nothing but its formulas."""
    if type(compiled) is not Compiled or compiled.n > _MOST or compiled.bound:
        return False
    system = compiled.system
    gives = compiled.compliance
    whole = gives.bundle is None and gives._values is None and not gives.col.size
    full = not compiled.linear or not is_sparse(compiled._given[0])
    driven = system.drive is not None or system.records or system.springs
    return bool(whole and full and not driven and system.assembles is None)


def evaluate(bundle: Bundle, inp: np.ndarray) -> np.ndarray:
    """Return the outputs of a native function at many input vectors, (k, size)."""
    from explorer.kernels.model.at_inputs import evaluate_at

    found = np.zeros((len(inp), max(bundle.size, 1)))
    evaluate_at(bundle.address, bundle.data, np.ascontiguousarray(inp), found)
    return found[:, : bundle.size]


def starts(compiled: Compiled, members: Members) -> Starts:
    """Return the starts of members."""
    n, k, system = compiled.n, members.size, compiled.system
    inp = np.zeros((k, len(compiled.input(members.rho[0]))))
    inp[:, 1 + 2 * n : 1 + 2 * n + members.rho.shape[1]] = members.rho
    inp[:, 1 + 2 * n + members.rho.shape[1] :] = 1.0 if compiled.linear else 0.0
    values = np.tile(compiled._start._fixed, (k, 1))
    values[:, np.isnan(compiled._start._fixed)] = evaluate(compiled._start._bundle, inp)
    e = np.ascontiguousarray(values[:, 2 * n :])
    plain = np.isfinite(values[:, : 2 * n]).all(axis=1) & ((e >= 0) & (e <= 1)).all(axis=1)
    plain &= np.isfinite(members.rho).all(axis=1)
    inp[:, 1 : 1 + 2 * n] = np.where(np.isnan(members.start), values[:, : 2 * n], members.start)
    M, K, C = _matrices(compiled, inp)
    gap, G, mu = _contacts(compiled, inp)
    force = evaluate(compiled.bundles["force"], inp)
    parts = [x.reshape(k, -1).sum(axis=1) for x in (M, K, C, G, gap, force)]
    plain &= np.isfinite(sum(parts))
    plain &= (gap >= _DEEP).all(axis=1)
    slow, fast = np.split(mu, 2, axis=1)
    plain &= ((slow >= 0) & (slow <= fast) & (fast < np.inf)).all(axis=1)
    plain[plain] = _regular(M[plain])
    return Starts(plain, inp, M, K, C, G, e, _forces(compiled, inp, force[:, :n], system))


def accelerations(M: np.ndarray, F: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Return M^-1 F of the plain members, (k, n), as `explorer.runs.time_stepping.factors.solved`.

    Of the others it is zero.
    """
    n, found = F.shape[1], np.zeros_like(F)
    alone = plain & (np.count_nonzero(M.reshape(len(M), -1), axis=1) == n)
    found[alone] = F[alone] / M[alone][:, range(n), range(n)]
    full = plain & ~alone
    if full.any():
        found[full] = np.linalg.solve(M[full], F[full][:, :, None])[:, :, 0]
    return found


def _matrices(compiled: Compiled, inp: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return M, K and C, each (k, n, n)."""
    n, k = compiled.n, len(inp)
    if compiled.linear:
        given = [np.asarray(A.toarray() if is_sparse(A) else A, float) for A in compiled._given]
        M, K, C = (np.tile(A, (k, 1, 1)) for A in given)
        return M, K, C
    step = -evaluate(compiled.bundles["step"], inp)
    after = n + compiled.place_K.size
    M, K, C = np.zeros((3, k, n * n))
    M[:, compiled.place_M] = evaluate(compiled.bundles["mass"], inp)
    K[:, compiled.place_K] = step[:, n:after]
    C[:, compiled.place_C] = step[:, after:]
    return M.reshape(k, n, n), K.reshape(k, n, n), C.reshape(k, n, n)


def _contacts(compiled: Compiled, inp: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return gaps (k, n_c), entries of G (k, .), and mu, mu_s of the tangents."""
    k = len(inp)
    if not compiled.nc:
        return np.zeros((k, 0)), np.zeros((k, 0)), np.zeros((k, 0))
    found = evaluate(compiled.bundles["gap"], inp)
    first = compiled._at_G + len(compiled.gap_col)
    mu = found[:, first : first + 2 * (compiled.rows - compiled.nc)]
    return found[:, : compiled.nc], found[:, compiled._at_G : first], mu


def _forces(
    compiled: Compiled, inp: np.ndarray, force: np.ndarray, system: LagrangianSystem
) -> np.ndarray:
    """Return F (k, n): as `Compiled.forces` does, term by term."""
    if not compiled.linear:
        return force
    more = np.zeros_like(force)
    rows = np.repeat(np.arange(compiled.n), np.diff(compiled.lin_ptr))
    for row, column, value in zip(rows, compiled.lin_col, compiled.lin_val, strict=True):
        more[:, row] += value * inp[:, 1 + column]
    return np.asarray(force + more)


def _regular(M: np.ndarray) -> np.ndarray:
    """Return which mass matrices (k, n, n) are symmetric and positive definite without doubt."""
    if not len(M):
        return np.zeros(0, bool)
    n = M.shape[1]
    diagonal = M[:, range(n), range(n)]
    positive = (diagonal > 0).all(axis=1)
    if n == 1 or not M[:, ~np.eye(n, dtype=bool)].any():
        return np.asarray(positive)
    size = np.abs(M).reshape(len(M), -1).max(axis=1)
    alike = np.abs(M - M.transpose(0, 2, 1)).reshape(len(M), -1).max(axis=1) <= _ALIKE * size
    found = positive & alike
    root = np.sqrt(diagonal[found])
    scaled = M[found] / (root[:, :, None] * root[:, None, :])
    found[found] = np.linalg.eigvalsh(scaled)[:, 0] > _REGULAR
    return np.asarray(found)
