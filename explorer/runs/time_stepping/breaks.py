"""Where inputs change and M is singular: M (a+ - a-) = F+ - F-."""

from __future__ import annotations

import numpy as np

from explorer.compiled import Compiled
from explorer.compiled.held import schedule_of
from explorer.types import is_sparse

__all__ = ["acceleration_jump"]


def acceleration_jump(
    compiled: Compiled, inp: np.ndarray, t: float, q: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Return the least jump of a (n,) at a break and a state; `inp` holds the parameters."""
    schedule, n, force = schedule_of(compiled.system), compiled.n, compiled.bundles["force"]
    assert schedule is not None
    inp = inp.copy()
    inp[0], inp[1 : 1 + n], inp[1 + n : 1 + 2 * n] = t, q, v
    k = int(schedule.intervals(inp[:1])[0])
    with schedule.holding(k - 1):
        before = force(inp)[:n]
    with schedule.holding(k):
        jump = force(inp)[:n] - before
    if compiled.linear:
        M = compiled.matrices(inp)[0]
        M = M.toarray() if is_sparse(M) else M
    else:
        M = np.zeros(n**2)
        M[compiled.place_M] = compiled.bundles["mass"](inp)
    return np.asarray(np.linalg.lstsq(np.reshape(M, (n, n)), jump, rcond=None)[0])
