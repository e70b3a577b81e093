"""phi' = phi_q v + phi_t along a run: how fast its velocities leave the constraints."""

from __future__ import annotations

import numpy as np

from explorer.compiled import compile_system
from explorer.results.solution import Solution

__all__ = ["constraint_rates"]


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
