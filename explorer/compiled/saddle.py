"""What a mechanical system is between its events: residuals that one saddle system solves.

R = M a - F - G' lam and A = G a + gamma = gap'' (flow), I = M dv - G' p and
B = G v+ + gap_t + e (G v- + gap_t) (impact), with accelerations, forces and impulses as inputs
(Corner et al. 2019, eq. (15)).

The rows of G are first the contacts' normals, then the tangents of those with friction: a sticking
contact holds its tangent row too, a sliding one pulls with -sigma mu lam along it. Then come the
constraints phi(t, q) = 0, rows that never open; their force in the paper's sign is -lam.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import symengine as se
import sympy as sp

from explorer.compiled.bundle import Expr, smooth
from explorer.compiled.sides import Sides
from explorer.systems import LagrangianSystem, System
from explorer.systems.constraints import force_name

__all__ = ["Inputs", "forces_of", "gradient", "inputs_of", "saddle"]


class Inputs(NamedTuple):
    """Symbols of what the kernels hand over beside the state."""

    lam: list[Expr]  # of all rows
    e: list[Expr]  # of the contacts
    sigma: list[Expr]  # of the tangents
    # where there are constraints 2 xi omega, omega^2, 1 / alpha and 0 of the penalty formulation,
    # 0, 0, 0 and 1 of others
    penalty: list[Expr]


def inputs_of(n_c: int, n_t: int, n_phi: int) -> Inputs:
    """Return the symbols for so many contacts, tangents and constraints."""
    counts = {"lam": n_c + n_t + n_phi, "e": n_c, "sigma": n_t, "penalty": 4 if n_phi else 0}
    return Inputs(*([se.Symbol(f"_{s}_{k}") for k in range(n)] for s, n in counts.items()))


def forces_of(system: System) -> dict[str, sp.Expr]:
    """Return lam_<name> of contacts and constraints as the inputs have them; "_" for spaces."""
    first = len(system.contacts) + len(system.rough)
    rows = {c.name: sp.Symbol(f"_lam_{k}") for k, c in enumerate(system.contacts)}
    rows |= {c.name: -sp.Symbol(f"_lam_{first + k}") for k, c in enumerate(system.constraints)}
    return {force_name(name): force for name, force in rows.items()}


def gradient(functions: Sequence[Expr], variables: Sequence[Expr]) -> list[Expr]:
    """Return the Jacobian, row by row, flat."""
    found: list[Expr] = []
    for f in functions:
        own = f.free_symbols  # of a long chain, each function has few of its variables
        found += [f.diff(v) if v in own else se.Integer(0) for v in variables]
    return found


def saddle(
    system: LagrangianSystem,
    t: Expr,
    q: list[Expr],
    v: list[Expr],
    a: list[Expr],
    inputs: Inputs,
    by_rho: Callable[[Sequence[Expr]], list[Expr]],
    sides: Sides | None = None,
) -> list[list[Expr]]:
    """Return the outputs of the bundles in their order (`explorer.kernels.event_driven.flow`).

    Parameters
    ----------
    system : MechanicalSystem or LinearMechanicalSystem
    t, q, v, a : symbols
    inputs : Inputs
    by_rho : callable
        Returns the Jacobian of functions by the parameters, flat.
    sides : Sides, optional
        What the formulas of mass and force may be held to.
    """
    lam, e, sigma, penalty = inputs
    n, n_c, rough = system.n, len(system.contacts), system.rough
    M = [[smooth(m, sides) for m in row] for row in system.mass.tolist()]
    F = [smooth(f, sides) for f in system.force]
    gap = [smooth(c.gap) for c in system.contacts]
    frictions = [system.contacts[k] for k in rough]
    mu = [smooth(c.mu) for c in frictions]
    mu_s = [smooth(c.mu if c.mu_s is None else c.mu_s) for c in frictions]
    slip = [smooth(c.slip) for c in frictions]
    phi = [smooth(c.phi) for c in system.constraints]
    by_q = [[g.diff(s) for s in q] for g in (*gap, *phi)]
    G = [*by_q[:n_c], *([s.diff(x) for x in v] for s in slip), *by_q[n_c:]]
    at_rest = dict.fromkeys(v, 0)
    gap_t = [
        *(g.diff(t) for g in gap),
        *(s.subs(at_rest) for s in slip),
        *(c.diff(t) for c in phi),
    ]
    speed = [sum((row[j] * v[j] for j in range(n)), r) for row, r in zip(G, gap_t, strict=True)]
    # gap'' = G a + gamma: everything of d(speed)/dt but the accelerations
    gamma = [s.diff(t) + sum((s.diff(q[j]) * v[j] for j in range(n)), se.Integer(0)) for s in speed]
    for k, c in enumerate(phi, start=n_c + len(slip)):
        gamma[k] += penalty[0] * speed[k] + penalty[1] * c
    force = [
        *lam[:n_c],
        *(lam[n_c + k] - sigma[k] * mu[k] * lam[c] for k, c in enumerate(rough)),
        *lam[n_c + len(rough) :],
    ]
    pull = [sum((g[i] * f for g, f in zip(G, force, strict=True)), se.Integer(0)) for i in range(n)]
    inertia = [sum((M[i][j] * a[j] for j in range(n)), se.Integer(0)) for i in range(n)]
    R = [inertia[i] - F[i] - pull[i] for i in range(n)]
    A = [sum((g[j] * a[j] for j in range(n)), more) for g, more in zip(G, gamma, strict=True)]
    B = [sum((g[j] * a[j] for j in range(n)), s) for g, s in zip(G, speed, strict=True)]
    B = [b + e[c] * speed[c] if c < n_c else b for c, b in enumerate(B)]
    for k in range(n_c + len(slip), len(G)):
        B[k] += (penalty[3] - 1) * speed[k]
    I = [inertia[i] - pull[i] for i in range(n)]  # noqa: E741
    none, held = [se.Integer(0)] * len(slip), speed[n_c + len(slip) :]

    def block(f: list[Expr]) -> list[Expr]:
        return [*gradient(f, q), *gradient(f, v), *by_rho(f), *(r.diff(t) for r in f)]

    changes: list[list[Expr]] = []
    if system.changes:
        known = {sp.Symbol(name): force for name, force in forces_of(system).items()}
        when = [smooth(sp.sympify(c.r).xreplace(known)) for c in system.changes]
        slopes = [*gradient(when, q), *gradient(when, v), *by_rho(when)]
        changes = [when, [*slopes, *(r.diff(t) for r in when), *gradient(when, lam)]]
    return [
        [*(m for row in M for m in row), *F],
        [*gap, *none, *phi, *gap_t, *(g for row in G for g in row), *gamma, *mu, *mu_s],
        gap,
        [*block(R), *block(A)],
        [*block(I), *block(B)],
        [
            *by_rho(gap),
            *gradient(slip, q),
            *by_rho(slip),
            *(s.diff(t) for s in slip),
            *gradient(mu_s, [*q, *v]),
            *by_rho(mu_s),
            *(m.diff(t) for m in mu_s),
        ],
        [*by_rho(phi), *gradient(held, q), *by_rho(held), *(r.diff(t) for r in held)],
        *changes,
    ]
