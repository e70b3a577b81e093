"""Whether a step of Euler and Moreau had another solution, of which its run knows nothing.

Where a multiplier drives its own y away from zero, a step may keep the multiplier at its bound and
may as well leave it. The law holds at the end of both. No monotone system has such steps (Acary,
Brogliato, *Numerical Methods for Nonsmooth Dynamical Systems*, 2008, 9.5,
doi:10.1007/978-3-540-75392-6).
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.compiled import FirstOrder
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.verification.first_order import along

__all__ = ["other_steps"]

_ROUND_OFF = 1e-9  # of the largest y: at the start it is zero
_CLEAR = 1e-3  # of what the other multiplier changes: how far y is from zero at the end


def other_steps(solution: Solution, compiled: FirstOrder) -> Check:
    """Return the check that no step that leaves a bound could have kept it.

    `compiled` is what ran. Of each step one multiplier is set to the bound that it had before, and
    the others stay.
    """
    y, count, first = solution.y, 0, (len(solution.t), "")
    before = np.sign(solution.side).astype(float)
    before[0] = np.where(np.abs(y[0]) > _ROUND_OFF * np.abs(y).max(axis=0), -np.sign(y[0]), 0)
    for j in range(compiled.m):
        for bound in (-1.0, 1.0):
            rows = np.flatnonzero((before[:-1, j] == bound) & (solution.side[1:, j] != bound))
            if before[0, j] == 0 and solution.side[1, j] != bound:
                rows = np.r_[0, rows]
            rows = rows[_keeps(solution, compiled, rows, j, bound)]
            count += len(rows)
            if len(rows):
                first = min(first, (int(rows[0]), compiled.system.laws[j].name))
    words = ""
    if count:
        row, law = first
        words = (
            f"The step to t = {quantity(solution.t[row + 1], solution.system.time_unit, 4)} has "
            f"another solution, in which {law!r} is at another bound: {law!r} drives its own y "
            "away from zero. The run takes one of them. A smaller h tells them apart, unless the "
            "run starts at y = 0, where the motion itself is not unique."
        )
    return Check("steps with another solution", count, 0, "", words)


def _keeps(
    run: Solution, compiled: FirstOrder, rows: np.ndarray, j: int, bound: float
) -> np.ndarray:
    """Return at which steps multiplier `j` may have the bound -1 (lower) or 1 (upper) as well."""
    scheme, m = run.scheme, compiled.m
    _, M, bounds = compiled.start(list(run.rho.values()))
    limit = float(bounds[int(bound > 0), j])
    if not np.isfinite(limit) or not len(rows):
        return np.zeros(len(rows), bool)
    h, lam = np.diff(run.t)[rows], run.lam[rows + 1]
    a, s = (scheme.gamma, 1.0) if scheme.gamma_on == "r" else (1.0, scheme.gamma)
    u = s * run.q[rows + 1] + (1 - s) * run.q[rows]
    other = lam.copy()
    other[:, j] = limit
    t = run.t[rows] + s * h
    rates = [along(run, compiled, "relation", t, u, each, True)[:, m:] for each in (other, lam)]
    moved = u + (a * s * h)[:, None] * np.linalg.solve(M, (rates[0] - rates[1]).T).T
    y = along(run, compiled, "relation", t, moved, other, True)[:, j]
    change = np.abs(y - run.y[rows + 1, j])
    return np.asarray(-bound * y > _CLEAR * change)
