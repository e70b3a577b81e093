"""Painleve's paradox: a contact that slides and is pressed down by the force that should lift it.

With n, t the rows of G of a contact's normal and tangent and D = G M^-1 G', a force lam on a
contact that slides with the sign s, friction -mu s lam with it, changes gap'' by (D_nn - mu s D_nt)
lam. If that factor is not positive, sliding has no solution, or several. A motion that holds its
contact comes to that place only where the force it needs vanishes together with the factor, and
with enough friction the force grows without bound on the way: the contact jams. (Genot, Brogliato,
Eur. J. Mech. A/Solids 18 (1999) 653.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from explorer.quantities import number, quantity
from explorer.results.run import Run
from explorer.systems.massless import filled, full

if TYPE_CHECKING:
    from explorer.compiled.mechanical import Compiled

__all__ = ["Paradox", "lifting", "paradox", "paradox_at"]

_TOUCHES = 1e-6  # m
_LARGE = 60  # coordinates: beyond, to look at each state would take longer than the run


@dataclass(frozen=True)
class Paradox:
    """A sliding contact without a consistent force.

    Attributes
    ----------
    t : float
        In s.
    contact : str
        Its name.
    mu, least : float
        Its friction coefficient, and the least one for which the paradox exists in this state.
    factor : float
        D_nn - mu s D_nt in 1/kg, not positive; positive and next to nothing where a contact jams.
    """

    t: float
    contact: str
    mu: float
    least: float
    factor: float

    @property
    def words(self) -> str:
        """The paradox in words, without its time."""
        if self.factor > 0:
            return (
                f"{self.contact!r} slides with mu = {self.mu:g} to a point where the contact force "
                "no longer separates the bodies (D_nn - mu sgn(slip) D_nt = "
                f"{quantity(self.factor, '1/kg', 1)}). The force grows without bound and the "
                "contact jams, at the border of Painleve's paradox"
            )
        return (
            f"{self.contact!r} slides with mu = {self.mu:g}, and for mu >= {number(self.least, 4)} "
            "the contact force presses the bodies together instead of separating them (D_nn - mu "
            f"sgn(slip) D_nt = {quantity(self.factor, '1/kg', 3)}): sliding has no solution, or "
            "several (Painleve's paradox)"
        )

    def __str__(self) -> str:
        return (
            f"At t = {quantity(self.t, 's', 4)} {self.words}. Time stepping continues with an "
            "impulse, which jams the contact without a collision"
        )


def lifting(
    compiled: Compiled, rho: Sequence[float], t: np.ndarray, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return D_nn, D_nt (1/kg) and mu of the contacts with friction, (k, n_t) each, at k states.

    Parameters
    ----------
    t, q, v : (k,), (k, n), (k, n) float
    """
    from explorer.kernels.model.along_rows import evaluate  # loads compiled code

    n, count, rough = compiled.n, len(t), len(compiled.system.rough)
    parts = [np.ascontiguousarray(a, float) for a in (t, q, v)]

    def along(name: str) -> np.ndarray:
        native = compiled.bundles[name]
        out = np.empty((count, native.size))
        evaluate(
            native.address,
            native.data,
            *parts,
            compiled.input(rho),
            np.empty(max(native.size, 1)),
            out,
        )
        return out

    if compiled.linear:
        M = filled(compiled.matrices(compiled.input(rho))[0])
        M = np.broadcast_to(full(M), (count, n, n))
    else:
        M = np.zeros((count, n * n))
        M[:, compiled.place_M] = along("mass")
        M = M.reshape(count, n, n)
    gap, at = along("gap"), compiled.nc + compiled.rows + compiled.bound
    G = np.zeros((count, compiled.rows, n))
    for row in range(compiled.rows):
        here = slice(*compiled.gap_ptr[row : row + 2])
        G[:, row, compiled.gap_col[here]] = gap[:, at:][:, here]
    normals, tangents = G[:, list(compiled.system.rough)], G[:, compiled.nc :]
    pushed = np.linalg.solve(M, normals.transpose(0, 2, 1)).transpose(0, 2, 1)
    D_nn, D_nt = (np.einsum("kcn,kcn->kc", pushed, rows) for rows in (normals, tangents))
    first = at + len(compiled.gap_col)
    return D_nn, D_nt, gap[:, first : first + rough]


def paradox(compiled: Compiled, rho: Sequence[float], run: Run) -> Paradox | None:
    """Return the first paradox of a run by time stepping, or None.

    `run` holds t, q, v, p, slip as a `Solution` does. A state counts if a contact slides
    in it and carries an impulse in the step that follows.
    """
    p, slip = run.p, run.slip
    rough = list(compiled.system.rough)
    if not rough or compiled.n > _LARGE or slip.ndim > 2:  # friction along lines
        return None
    if not compiled.by_formula:  # friction only turns a disc: D_nt = 0
        return None
    fast = 1e-9 * np.abs(slip).max(initial=0.0)
    loaded = (p[1:, rough] > 0) & (np.abs(slip[:-1, rough]) > fast)
    rows = np.flatnonzero(loaded.any(axis=1))
    if not len(rows):
        return None
    D_nn, D_nt, mu = lifting(compiled, rho, run.t[rows], run.q[rows], run.v[rows])
    factor = D_nn - mu * np.sign(slip[rows][:, rough]) * D_nt
    wedged = np.argwhere(loaded[rows] & (factor <= 0))
    if not len(wedged):
        return None
    k, c = wedged[0]
    least = float(D_nn[k, c] / abs(D_nt[k, c]))
    name = compiled.system.contacts[rough[c]].name
    return Paradox(float(run.t[rows[k]]), name, float(mu[k, c]), least, float(factor[k, c]))


def paradox_at(
    compiled: Compiled,
    rho: Sequence[float],
    t: float,
    q: np.ndarray,
    v: np.ndarray,
    *,
    near: float = 0.0,
) -> Paradox | None:
    """Return what forbids a force on a contact that touches in one state, or None.

    The slip counts as that of the worse direction, for it may be about to begin. `near`, in parts
    of D_nn, is what still counts as a factor that has vanished.
    """
    rough = list(compiled.system.rough)
    if not rough or compiled.n > _LARGE or not compiled.by_formula:
        return None
    at = np.array([t]), q[None], v[None]
    (D_nn,), (D_nt,), (mu,) = lifting(compiled, rho, *at)
    inp = compiled.input(rho)
    inp[0], inp[1 : 1 + compiled.n], inp[1 + compiled.n : 1 + 2 * compiled.n] = t, q, v
    touches = compiled.bundles["gap"](inp)[rough] < _TOUCHES
    factor = D_nn - mu * np.abs(D_nt)
    wedged = np.flatnonzero(touches & (factor <= near * D_nn))
    if not len(wedged):
        return None
    c = int(wedged[0])
    name = compiled.system.contacts[rough[c]].name
    return Paradox(t, name, float(mu[c]), float(D_nn[c] / abs(D_nt[c])), float(factor[c]))
