"""Runs of systems with massless directions: the start, and the motion of these directions.

The schemes find q there by the equations themselves, for those have no acceleration; v and a are
the derivatives of these equations by t (`explorer.systems.massless`), not what a difference formula
of the scheme carries on.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

from explorer.compiled.checks import short
from explorer.compiled.mechanical import Compiled
from explorer.errors import BadModel, ModelWarning
from explorer.systems.massless import Massless, filled, has_mass, massless
from explorer.types import Matrix, Reals, is_sparse

__all__ = ["consistent", "directions", "follow"]

_MOST = 50  # Newton iterations of a start
_STILL = 1e-13
_NEAR = 1e-6  # a start that was written down with few digits


def directions(compiled: Compiled, inp: np.ndarray, M: Matrix) -> Massless | None:
    """Return the directions without mass at an input vector; None if M is regular.

    Raises
    ------
    BadModel
        The motion is not determined there.
    """
    made = compiled.system.lasting
    key = "directions without mass"
    if has_mass(M):
        return None
    if not compiled.linear:
        return _at(compiled, inp)
    if key not in made:
        made[key] = _at(compiled, inp)
    directions: Massless | None = made[key]
    return directions


def _at(compiled: Compiled, inp: np.ndarray) -> Massless | None:
    M, K, C = compiled.tangents(inp)
    return massless(compiled.system.name, compiled.system.coordinates, M, C, K)


def _steady(compiled: Compiled) -> bool:
    return compiled.constant and not compiled.system.springs


def consistent(compiled: Compiled, found: Massless, inp: np.ndarray) -> np.ndarray:
    """Move the state in `inp` to one that satisfies the massless equations; return a, (n,).

    Directions with mass keep their place and speed. A start that was given elsewhere, not left at
    zero, is warned of.

    Raises
    ------
    BadModel
        Newton's method finds no place for what has no mass.
    """
    n = compiled.n
    q, v = inp[1 : 1 + n], inp[1 + n : 1 + 2 * n]
    name, begun = compiled.system.name, found
    given = (("q", found.free, q, q.copy()), ("v", found.all, v, v.copy()))
    for x, correct in ((q, Massless.place), (v, Massless.rate)):
        for _ in range(_MOST):
            step = correct(begun, compiled.forces(inp))
            x += step
            if not np.abs(step).max() > _STILL * np.abs(x).max():
                break
            if not _steady(compiled):
                begun = _at(compiled, inp) or begun
        else:
            raise BadModel(
                f"'{name}' has massless coordinates, and Newton's method finds no equilibrium for "
                "them at the start. Start closer to an equilibrium, or give them mass."
            )
    F_t, F_tt = rates(compiled, begun, inp[:1], inp)
    v[:] = begun.velocity(v, F_t[0])
    for what, N, x, old in given:
        was, now = N.T @ old, N.T @ x
        if np.abs(was).max(initial=0.0) > 0 and np.abs(was - now).max() > _NEAR * np.abs(x).max():
            warnings.warn(
                f"'{name}' has massless coordinates, which the other coordinates determine: at the "
                f"start {what} is {short(x)}, not {short(old)}.",
                ModelWarning,
                stacklevel=6,
            )
    M, _, _, _ = compiled.matrices(inp)
    N = begun.all
    a = _solved(filled(M), compiled.forces(inp))
    a = a - np.asarray(N @ (N.T @ a))
    return begun.acceleration(v, a, F_t[0], F_tt[0])


def follow(
    compiled: Compiled,
    found: Massless,
    rho: Reals,
    t: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray | None = None,
) -> None:
    """Write the velocities and accelerations (n_t, n) of the massless directions to v and a.

    Of constant matrices by the equations; else by differences of the rows, of second order.
    """
    if _steady(compiled):
        F_t, F_tt = rates(compiled, found, t, compiled.input(rho))
        v[:] = found.velocity(v, F_t)
        if a is not None:
            a[:] = found.acceleration(v, a, F_t, F_tt)
        return
    if len(t) < 2:
        return
    N = found.all
    order: Literal[1, 2] = 1 if len(t) == 2 else 2
    for x, rate, columns in ((q, v, found.free), (v, a, N)):
        if rate is not None:
            mean = np.gradient((columns.T @ x.T).T, t, axis=0, edge_order=order)
            rate += (columns @ (mean.T - columns.T @ rate.T)).T


def rates(
    compiled: Compiled, found: Massless, t: np.ndarray, inp: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and second derivatives of F by t where there is no mass, (n_t, n) each.

    Between samples a force is linear; at a sample it is the one that follows.
    """
    n, inp = compiled.n, inp.copy()
    F_t, F_tt = np.zeros((len(t), n)), np.zeros((len(t), n))
    N = abs(found.all)
    rows = np.flatnonzero(np.asarray(N.sum(axis=1)).ravel() > 0)
    time = compiled.args[0]
    first = [compiled._force[i].diff(time) for i in rows]
    if any(x != 0 for x in first):
        both = compiled.bundle([*first, *(x.diff(time) for x in first)])
        for i, now in enumerate(t):
            inp[0] = now
            F_t[i, rows], F_tt[i, rows] = np.split(both(inp), 2)
    along = compiled._along(inp).reshape(-1, n)
    for record, direction in zip(compiled.system.records, along, strict=True):
        if not direction[rows].any():
            continue
        slopes = np.diff(record.values) / record.dt
        place = np.clip((t / record.dt * (1 + 1e-12)).astype(int), 0, len(slopes) - 1)
        F_t += slopes[place, None] * direction
    return F_t, F_tt


def _solved(A: Matrix, b: np.ndarray) -> np.ndarray:
    if is_sparse(A):
        from scipy.sparse.linalg import spsolve

        return np.asarray(spsolve(A.tocsc(), b))
    return np.linalg.solve(A, b)
