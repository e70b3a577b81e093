"""Where inputs change: M (a+ - a-) = F+ - F-, with the constraints G (a+ - a-) = 0."""

from __future__ import annotations

import numpy as np

from explorer.compiled import Compiled
from explorer.compiled.held import schedule_of
from explorer.types import is_sparse

__all__ = ["acceleration_jump", "state_at"]


def state_at(inp: np.ndarray, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return an input vector at another state."""
    other, n = inp.copy(), len(q)
    other[0], other[1 : 1 + n], other[1 + n : 1 + 2 * n] = t, q, v
    return other


def acceleration_jump(compiled: Compiled, inp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the jump of a (n,) at a break, and of the forces of constraints.

    These act by + G' lam.
    """
    schedule, n, bound = schedule_of(compiled.system), compiled.n, compiled.bound
    assert schedule is not None
    k, force = int(schedule.intervals(inp[:1])[0]), compiled.bundles["force"]
    with schedule.holding(k - 1):
        before = force(inp)[:n]
    with schedule.holding(k):
        jump = force(inp)[:n] - before
    M = compiled.matrices(inp)[0] if compiled.linear else _mass(compiled, inp)
    if bound == 0 and is_sparse(M):
        from scipy.sparse.linalg import spsolve

        return np.asarray(spsolve(M.tocsc(), jump)), np.zeros(0)
    full = M.toarray() if is_sparse(M) else M
    if bound == 0:
        try:
            return np.linalg.solve(full, jump), np.zeros(0)
        except np.linalg.LinAlgError:  # some directions have no mass
            return np.linalg.lstsq(full, jump, rcond=None)[0], np.zeros(0)
    A = np.zeros((n + bound, n + bound))
    rows = compiled.constrained(compiled.matrices(inp)[3])
    A[:n, :n], A[n:, :n], A[:n, n:] = full, rows, -rows.T
    found = np.linalg.lstsq(A, np.append(jump, np.zeros(bound)), rcond=None)[0]
    return found[:n], found[n:]


def _mass(compiled: Compiled, inp: np.ndarray) -> np.ndarray:
    """Return M at an input vector, (n, n)."""
    M = np.zeros(compiled.n**2)
    M[compiled.place_M] = compiled.bundles["mass"](inp)
    return M.reshape(compiled.n, compiled.n)
