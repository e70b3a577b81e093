"""The forces F and the masses of a mechanical system along a run, springs and samples included."""

from __future__ import annotations

import numpy as np

from explorer.compiled import compile_system
from explorer.compiled.held import left_of_breaks
from explorer.results.solution import Solution
from explorer.systems import LinearMechanicalSystem
from explorer.systems.massless import filled, has_mass, without_mass
from explorer.types import Matrix
from explorer.verification.energy_balance import evaluated

__all__ = ["at_breaks", "force", "force_before", "inverse_masses", "momentum", "null_of_mass"]

_DENSE = 500  # coordinates up to which a mass matrix is solved with


def force_before(solution: Solution, **changes: np.ndarray) -> np.ndarray:
    """Return the same as `force`, where inputs change the F before it."""
    with left_of_breaks(solution.system):
        return force(solution, **changes)


def force(solution: Solution, **changes: np.ndarray) -> np.ndarray:
    """Return F along a run, (n_t, n), with other arrays if given; no spring that yields.

    Where inputs change it is the F behind it.
    """
    system, n = solution.system, solution.q.shape[1]
    found = evaluated(solution, "force", **changes)[:, :n]
    if isinstance(system, LinearMechanicalSystem):
        q, v = changes.get("q", solution.q), changes.get("v", solution.v)
        found = found - (system.K @ q.T).T - (system.C @ v.T).T
    return found + evaluated(solution, "recorded", **changes) if system.records else found


def at_breaks(solution: Solution) -> np.ndarray:
    """Return the rows at which inputs change, (n_t,) bool."""
    drive, t = solution.system.drive, solution.t
    if drive is None or not len(drive.breaks):
        return np.zeros(len(t), bool)
    near = np.clip(np.searchsorted(drive.breaks, t), 1, len(drive.breaks) - 1)
    apart = np.minimum(*(np.abs(t - drive.breaks[k]) for k in (near - 1, near % len(drive.breaks))))
    return np.asarray(apart <= 1e-9 * t[-1])


def momentum(
    solution: Solution, t: np.ndarray, q: np.ndarray, v: np.ndarray, *, size: bool = False
) -> np.ndarray:
    """Return M(q) v, (n_t, n); with `size` the sum of the moduli of its terms."""
    system = solution.system
    if isinstance(system, LinearMechanicalSystem):
        M = abs(system.M) if size else system.M
        return np.asarray((M @ (np.abs(v) if size else v).T).T)
    compiled = compile_system(system)
    entries = evaluated(solution, "mass", t=t, q=q, v=v)
    found = np.zeros_like(v)
    for k, (i, j) in enumerate(zip(*divmod(compiled.place_M, compiled.n), strict=True)):
        term = entries[:, k] * v[:, j]
        found[:, i] += np.abs(term) if size else term
    return found


def null_of_mass(solution: Solution) -> Matrix:
    """Return orthonormal columns N (n, k) with M N = 0 at the start; k = 0 if M is regular."""
    compiled = compile_system(solution.system)
    inp = compiled.input(list(solution.rho.values()))
    inp[: 1 + compiled.n] = solution.t[0], *solution.q[0]
    M = compiled.matrices(inp)[0]
    return np.empty((compiled.n, 0)) if has_mass(M) else without_mass(M)


def inverse_masses(solution: Solution) -> np.ndarray:
    """Return 1 / the mass that an impulse along each row of G meets at the start, (n_rows,), 1/kg.

    A scale: of many coordinates, and of discs, from the diagonal of M alone.
    """
    compiled = compile_system(solution.system)
    inp = compiled.input(list(solution.rho.values()))
    inp[: 1 + compiled.n] = solution.t[0], *solution.q[0]
    M, _, _, entries = compiled.matrices(inp)
    M = filled(M)  # no row of G reaches where there is no mass
    diagonal = M.diagonal()
    if solution.has("discs"):
        return np.full(compiled.rows, 3.0 / diagonal[0::3].min())
    found, dense = np.zeros(compiled.rows), compiled.n <= _DENSE
    full = np.asarray(M.todense() if hasattr(M, "todense") else M) if dense else None
    for a in range(compiled.rows):
        here = slice(compiled.gap_ptr[a], compiled.gap_ptr[a + 1])
        columns, g = compiled.gap_col[here], entries[here]
        if full is None:
            found[a] = (g**2 / diagonal[columns]).sum()
        else:
            along = np.bincount(columns, g, compiled.n)
            found[a] = along @ np.linalg.solve(full, along)
    return found
