"""The mass matrix along a run: positive definite at every state that was accepted.

A mass matrix that depends on the coordinates may lose that on the way, as m (1 - q^2) does beyond
q = 1. Schemes that solve with M stop there. Those that march by formulas of the accelerations go
on, with a mass that is negative. Where constraints hold, M counts along the directions that they
leave free: Z' M Z, with G Z = 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from explorer.certificate import Check
from explorer.compiled import compile_system
from explorer.quantities import number, quantity
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.verification.energy_balance import evaluated
from explorer.verification.gradients import Rows

if TYPE_CHECKING:
    from explorer.kernels.event_driven.structures import Steps

__all__ = ["inertia"]

_LARGEST = 1e14  # what a mass matrix that is refused at the start exceeds, see `check_mass`
_NUMBERS = 2_000_000  # of the matrices that are looked at
_MOST = 100  # of them with constraints


def inertia(run: Solution, steps: Steps | None = None) -> list[Check]:
    """Return the check of M at the rows of a run; of a constant one none.

    Its figure is 1 / the smallest square on the diagonal of Cholesky's factor of M, which is scaled
    by its diagonal; infinite where M is not positive definite.

    Parameters
    ----------
    run : of a mechanical system
    steps : of `EventDriven`, optional
        Their starts are looked at besides the rows.
    """
    system = run.system
    if not isinstance(system, MechanicalSystem):
        return []
    changes = system.mass.free_symbols & {system.t, *system.q}
    if not changes and not system.constraints:  # it was checked at the start
        return []
    t, q = run.t, run.q
    if steps is not None:
        t, q = np.concatenate([t, steps.t]), np.vstack([q, steps.y[:, : q.shape[1]]])
    most = max(_NUMBERS // q.shape[1] ** 2, 2)
    if len(t) > most:
        at = np.linspace(0, len(t) - 1, most).astype(int)
        t, q = t[at], q[at]
    with np.errstate(all="ignore"):
        return _checked(run, t, q)


def _checked(run: Solution, t: np.ndarray, q: np.ndarray) -> list[Check]:
    M = _matrices(run, t, q)
    known = np.isfinite(M).all(axis=(1, 2))  # a state that is no number has a check of its own
    t, q, M = t[known], q[known], M[known]
    largest, at = _largest(M)
    if largest > _LARGEST and run.system.constraints:
        lost = np.flatnonzero(at > _LARGEST)
        lost = lost[np.linspace(0, len(lost) - 1, min(len(lost), _MOST)).astype(int)]
        t, M = t[lost], M[lost]
        free = _free(run, t, q[lost])
        if free is None:
            return []
        M = np.einsum("kia,kij,kjb->kab", free, M, free)
        largest, at = _largest(M)
    words = ""
    if not largest <= _LARGEST:
        row = int(np.where(at > _LARGEST, t, np.inf).argmin())
        low = float(np.linalg.eigvalsh(_scaled(M[row]))[0])
        kind = "singular" if low > -1e-13 else "indefinite"
        words = (
            f"The mass matrix of '{run.system.name}' is {kind} at t = {quantity(t[row], 's', 4)}: "
            f"its smallest eigenvalue (scaled by the diagonal) is {number(low, 2)}, so the motion "
            "from there on means nothing. Check the mass matrix, or end the run before."
        )
    return [Check("mass matrix", largest, _LARGEST, "", words)]


def _matrices(run: Solution, t: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return M at states, (k, n, n)."""
    compiled, n = compile_system(run.system), q.shape[1]
    found = np.zeros((len(t), n * n))
    found[:, compiled.place_M] = evaluated(run, "mass", t=t, q=q, v=np.zeros_like(q))
    return found.reshape(-1, n, n)


def _scaled(M: np.ndarray) -> np.ndarray:
    """Return matrices (..., n, n) whose diagonals are scaled to 1 or -1; a zero stays."""
    size = np.sqrt(np.abs(M.diagonal(axis1=-2, axis2=-1)))
    size = np.where(size == 0, 1.0, size)
    return np.asarray(M / (size[..., :, None] * size[..., None, :]))


def _largest(M: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the largest figure of matrices (k, n, n), and all of them, (k,)."""
    if not M.size:
        return 1.0, np.ones(len(M))
    scaled, found = _scaled(M), np.full(len(M), np.inf)
    try:
        found = np.linalg.cholesky(scaled).diagonal(axis1=1, axis2=2).min(axis=1) ** -2.0
    except np.linalg.LinAlgError:
        whole = np.linalg.eigvalsh(scaled)[:, 0] > 1 / _LARGEST
        found[whole] = 1.0  # up to rounding: only those beyond count
    return float(found.max()), found


def _free(run: Solution, t: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """Return orthonormal columns Z with G Z = 0 at states, (k, n, f); None: there are none.

    All constraints count, also those that hold at times only.
    """
    rows = Rows(run, q, np.zeros_like(q), t)
    compiled, n = rows.compiled, q.shape[1]
    G = np.zeros((len(t), compiled.rows + compiled.bound, n))
    G[:, rows.of, compiled.gap_col] = rows.entries
    found = [scipy.linalg.null_space(one) for one in G[:, compiled.rows :]]
    fewest = min(Z.shape[1] for Z in found)
    return np.stack([Z[:, :fewest] for Z in found]) if fewest else None
