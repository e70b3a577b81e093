"""phi, and phi' = phi_q v + phi_t, along a run: how far it leaves its constraints, how fast."""

from __future__ import annotations

import numpy as np

from explorer.compiled import compile_system
from explorer.results.solution import Solution

__all__ = ["constraint_drifts", "constraint_rates"]


def constraint_drifts(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return phi and phi' along a run, (n_t, m) each, NaN while a constraint does not hold."""
    phi, rates = solution.phi, constraint_rates(solution)
    if not solution.has("march") or not solution.system.changes:
        return phi, rates
    holds = solution.recorded_row("holds").astype(bool)
    return np.where(holds, phi, np.nan), np.where(holds, rates, np.nan)


def constraint_rates(solution: Solution) -> np.ndarray:
    """Return phi' of each constraint along a run, (n_t, m), in the unit of phi per second."""
    compiled = compile_system(solution.system)
    count, first = compiled.bound, compiled.rows
    if not count:
        return np.zeros((len(solution.t), 0))
    assert solution.observe is not None
    values = solution.observe(solution, "gap")  # gaps, rates at v = 0, entries of G
    begin = compiled.nc + first + count
    rates = values[:, begin - count : begin].copy()
    for k in range(count):
        low, high = compiled.gap_ptr[first + k : first + k + 2]
        entries = values[:, begin + low : begin + high]
        rates[:, k] += (entries * solution.v[:, compiled.gap_col[low:high]]).sum(axis=1)
    return rates
