"""Why constraints have ended a run: not met where they begin, dependent, or without inertia."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from explorer.quantities import number, quantity
from explorer.runs.event_driven.changes import holding, sides_of
from explorer.runs.event_driven.run import Run
from explorer.systems.assembly import dependence
from explorer.systems.constraints import Constraint
from explorer.systems.units import phi_unit

__all__ = ["contradictory", "dependent", "not_met", "rank_lost", "tied", "without_inertia"]

_NEAR = 1e5  # a condition number from which on a run may fail for it
_SINGULAR = 1e-12  # of the largest: no inertia
_TIED = 1e-9  # of a gradient of length one: smaller is zero
_MOVES = 0.1  # of the largest part of a motion


def not_met(run: Run) -> str:
    """Say which constraint cannot begin to hold where the run ended."""
    t, x, *_ = run.end()
    system = run.flow.system
    constraint, unit = system.constraints[run.fault], phi_unit(system, run.fault)
    phi, G = (part[run.fault] for part in _values(run, t, x))
    what = f"the constraint {constraint.name!r} begins to hold here (when = {constraint.when})"
    if abs(phi) <= 1e-6 * (1 + np.abs(x).max()) and G.any():
        return (
            f"{what}, but it contradicts the others: its gradient depends on theirs, and no "
            "velocity satisfies all of them. Leave one of them out"
        )
    if abs(phi) <= 1e-6:
        return (
            f"{what}, but its gradient is zero, so no force can keep it. Write it as a difference "
            "of lengths or coordinates"
        )
    return (
        f"{what}, but it is not satisfied: phi = {quantity(phi, unit)}. Let `when` change where "
        "phi is zero, or use a smaller rtol if phi is zero there but for the error of the run"
    )


def contradictory(run: Run) -> str:
    """Say which constraint asks for other accelerations than those on which it depends."""
    t, x, *_ = run.end()
    flow, k = run.flow, run.fault
    system, G = flow.system, _values(run, t, x)[1]
    others = [c for c in np.flatnonzero(holding(run, sides_of(run)[-1:])[0]).tolist() if c < k]
    size = np.linalg.norm(G[others], axis=1)
    weights = np.linalg.lstsq((G[others] / size[:, None]).T, G[k], rcond=_TIED)[0]
    small = _TIED * np.abs(weights).max()
    names = [system.constraints[c].name for c in others]
    on = [repr(one) for one, w in zip(names, weights, strict=True) if abs(w) > small]
    return (
        f"the constraint {system.constraints[k].name!r} contradicts {', '.join(on)} at t = "
        f"{quantity(t, system.time_unit)}: its gradient depends on theirs, and no acceleration "
        "satisfies all of them. Leave one of them out, or let them say the same"
    )


def rank_lost(run: Run) -> str:
    """Say where constraints that hold have become dependent in the last step, and which."""
    assert run.lost is not None
    t, x = run.lost
    G, names, condition = _gradients(run, t, x)
    return (
        f"the constraints lose rank at t = {quantity(t, 's')}, where the condition number of their "
        f"gradients is {number(condition, 2)}{_which(names, G, 1e-6)}. Behind such a position, as "
        "where a linkage folds, the motion is not unique. End before this time, or keep the motion "
        "away from this position"
    )


def dependent(run: Run) -> str:
    """Say that constraints are nearly dependent where the run ended; empty: they are not."""
    t, x, *_ = run.end()
    if not run.flow.n_phi or not np.isfinite(x).all():
        return ""
    G, names, condition = _gradients(run, t, x)
    if not condition > _NEAR:
        return ""
    return (
        "the constraints lose rank here: the condition number of their gradients is "
        f"{number(condition, 2)}{_which(names, G, 10 / condition)}, and no forces keep them all. "
        "End before this time, or keep the motion away from this position"
    )


def without_inertia(run: Run, M: np.ndarray) -> str:
    """Say that M is singular on the motions that constraints leave free; empty: it is not."""
    t, x, *_ = run.end()
    free = scipy.linalg.null_space(_gradients(run, t, x)[0])
    if not free.size:
        return ""
    inertia, ways = np.linalg.eigh(free.T @ M @ free)
    if inertia[0] > _SINGULAR * np.abs(M).max():
        return ""
    way = np.abs(free @ ways[:, 0])
    coordinates = run.flow.system.coordinates
    moved = [repr(c) for c, part in zip(coordinates, way, strict=True) if part > _MOVES * way.max()]
    return (
        f"the mass matrix of '{run.flow.system.name}' is singular on a motion that its constraints "
        f"leave free, at t = {quantity(t, 's')}: nothing determines the acceleration of "
        f"{', '.join(moved)}. Give this motion inertia, or add a constraint that determines it"
    )


def tied(run: Run) -> str:
    """Say which velocities of an impact law depend on each other; empty: none."""
    flow, (t, x, *_) = run.flow, run.end()
    laws = [c for c in flow.system.contacts if c.reset] if flow.mechanical and flow.n_phi else []
    if not laws:
        return ""
    G, names = _gradients(run, t, x)[0], flow.system.coordinates
    rank = int(np.linalg.matrix_rank(G, _TIED))
    for contact in laws:
        given = np.isin(names, list(dict(contact.reset or {})))
        across = scipy.linalg.null_space(G[:, ~given].T, rcond=_TIED)
        ties = np.abs(across.T @ G[:, given]).max(axis=0, initial=0.0)
        found = [repr(c) for c, tie in zip(np.array(names)[given].tolist(), ties, strict=True)
                 if tie > _TIED]  # fmt: skip
        if found:
            free = len(names) - rank
            return (
                f"the impact law of {contact.name!r} gives the velocities of {', '.join(found)}, "
                f"which depend on each other by the constraints: {free} of {len(names)} velocities "
                f"{'is' if free == 1 else 'are'} independent. Give fewer"
            )
    return ""


def _which(names: tuple[Constraint, ...], G: np.ndarray, small: float) -> str:
    found = dependence(names, G, small)
    return f" ({found})" if found else ""


def _gradients(
    run: Run, t: float, x: np.ndarray
) -> tuple[np.ndarray, tuple[Constraint, ...], float]:
    """Return phi_q of the constraints that hold, each of length one, these, and their condition."""
    G = _values(run, t, x)[1]
    held = np.flatnonzero(holding(run, sides_of(run)[-1:])[0])
    G = G[held] / np.maximum(np.linalg.norm(G[held], axis=1, keepdims=True), 1e-300)
    singular = np.linalg.svd(G, compute_uv=False) if G.size else np.ones(1)
    constraints = run.flow.system.constraints
    with np.errstate(divide="ignore"):
        condition = singular[0] / singular[-1]
    return G, tuple(constraints[k] for k in held), float(condition)


def _values(run: Run, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return phi (n_phi,) and phi_q (n_phi, n) of all constraints."""
    flow, rows, n = run.flow, run.flow.rows, run.flow.n
    inp = flow.input(run.rho)
    inp[0], inp[1 : 1 + flow.n_x] = t, x
    out = np.asarray(flow.bundles[1](inp))
    own = slice(rows - flow.n_phi, rows)
    return out[own].copy(), out[2 * rows : (2 + n) * rows].reshape(rows, n)[own].copy()
