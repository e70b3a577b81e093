"""The gradients of gaps, slips and constraints of a mechanical system at a row of a run."""

from __future__ import annotations

import numpy as np

from explorer.compiled import compile_system
from explorer.results.solution import Solution
from explorer.verification.energy_balance import evaluated

__all__ = ["Rows", "gradients"]


class Rows:
    """Velocities of the contacts, and what their impulses do, with G at other places than the rows.

    Parameters
    ----------
    solution : of a time-stepping scheme, contacts by formulas
    q : (n_k, n) where G is taken
    v, t : (n_k, n), (n_k,)

    Attributes
    ----------
    w : (n_k, n_rows + n_constraints) velocities G v + gap_t of all rows of G
    size : the same, the moduli of their terms
    """

    def __init__(self, solution: Solution, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> None:
        self.compiled = compile_system(solution.system)
        compiled = self.compiled
        count = compiled.rows + compiled.bound
        out = evaluated(solution, "gap", q=q, v=v, t=t)
        at = compiled.nc + count
        self.entries = out[:, at : at + len(compiled.gap_col)]
        self.of = np.repeat(np.arange(count), np.diff(compiled.gap_ptr))
        self.w = out[:, compiled.nc : at].copy()
        self.size = np.abs(self.w)
        for k, (row, column) in enumerate(zip(self.of, compiled.gap_col, strict=True)):
            term = self.entries[:, k] * v[:, column]
            self.w[:, row] += term
            self.size[:, row] += np.abs(term)

    def push(self, p: np.ndarray) -> np.ndarray:
        """Return G' p, (n_k, n), of impulses of all rows of G."""
        found = np.zeros((len(p), self.compiled.n))
        for k, (row, column) in enumerate(zip(self.of, self.compiled.gap_col, strict=True)):
            found[:, column] += self.entries[:, k] * p[:, row]
        return found


def gradients(solution: Solution, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of the gaps (n_c, n) and of the constraints (n_phi, n) at a row."""
    compiled = compile_system(solution.system)
    n, count = compiled.n, compiled.rows + compiled.bound
    inp = compiled.input(list(solution.rho.values()))
    inp[: 1 + n] = solution.t[row], *solution.q[row]
    entries = compiled.bundles["gap"](inp)[compiled.nc + count :]
    found = np.zeros((count, n))
    for a in range(count):
        here = slice(compiled.gap_ptr[a], compiled.gap_ptr[a + 1])
        found[a, compiled.gap_col[here]] = entries[here]
    return found[: compiled.nc], found[compiled.rows :]
