"""What a mechanical system is between its events: residuals that one saddle system solves.

R = M a - F - G' lam and A = G a + gamma = gap'' (flow), I = M dv - G' p and
B = G v+ + gap_t + e (G v- + gap_t) (impact), with accelerations, forces and impulses as inputs
(Corner et al. 2019, eq. (15)).

The rows of G are first the contacts' normals, then the tangents of those with friction: a sticking
contact holds its tangent row too, a sliding one pulls with -sigma mu lam along it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import symengine as se

from explorer.compiled.bundle import Expr, smooth
from explorer.compiled.sides import Sides
from explorer.systems import LagrangianSystem

__all__ = ["gradient", "saddle"]


def gradient(functions: Sequence[Expr], variables: Sequence[Expr]) -> list[Expr]:
    """Return the Jacobian, row by row, flat."""
    return [f.diff(v) for f in functions for v in variables]


def saddle(
    system: LagrangianSystem,
    t: Expr,
    q: list[Expr],
    v: list[Expr],
    a: list[Expr],
    lam: list[Expr],
    e: list[Expr],
    sigma: list[Expr],
    by_rho: Callable[[Sequence[Expr]], list[Expr]],
    sides: Sides | None = None,
) -> list[list[Expr]]:
    """Return the outputs of the bundles in their order (`explorer.kernels.event_driven.flow`).

    Parameters
    ----------
    system : MechanicalSystem or LinearMechanicalSystem
    t, q, v, a, lam, e, sigma : symbols
        lam of all rows, e of the contacts, sigma of the tangents.
    by_rho : callable
        Returns the Jacobian of functions by the parameters, flat.
    sides : Sides, optional
        What the formulas of mass and force may be held to.
    """
    n, n_c, rough = system.n, len(system.contacts), system.rough
    M = [[smooth(m, sides) for m in row] for row in system.mass.tolist()]
    F = [smooth(f, sides) for f in system.force]
    gap = [smooth(c.gap) for c in system.contacts]
    frictions = [system.contacts[k] for k in rough]
    mu = [smooth(c.mu) for c in frictions]
    mu_s = [smooth(c.mu if c.mu_s is None else c.mu_s) for c in frictions]
    slip = [smooth(c.slip) for c in frictions]
    G = [[g.diff(s) for s in q] for g in gap] + [[s.diff(x) for x in v] for s in slip]
    at_rest = dict.fromkeys(v, 0)
    gap_t = [g.diff(t) for g in gap] + [s.subs(at_rest) for s in slip]
    speed = [sum((row[j] * v[j] for j in range(n)), r) for row, r in zip(G, gap_t, strict=True)]
    # gap'' = G a + gamma: everything of d(speed)/dt but the accelerations
    gamma = [s.diff(t) + sum((s.diff(q[j]) * v[j] for j in range(n)), se.Integer(0)) for s in speed]
    force = [
        *lam[:n_c],
        *(lam[n_c + k] - sigma[k] * mu[k] * lam[c] for k, c in enumerate(rough)),
    ]
    pull = [sum((g[i] * f for g, f in zip(G, force, strict=True)), se.Integer(0)) for i in range(n)]
    inertia = [sum((M[i][j] * a[j] for j in range(n)), se.Integer(0)) for i in range(n)]
    R = [inertia[i] - F[i] - pull[i] for i in range(n)]
    A = [sum((g[j] * a[j] for j in range(n)), more) for g, more in zip(G, gamma, strict=True)]
    B = [sum((g[j] * a[j] for j in range(n)), s) for g, s in zip(G, speed, strict=True)]
    B = [b + e[c] * speed[c] if c < n_c else b for c, b in enumerate(B)]
    I = [inertia[i] - pull[i] for i in range(n)]  # noqa: E741
    none = [se.Integer(0)] * len(slip)

    def block(f: list[Expr]) -> list[Expr]:
        return [*gradient(f, q), *gradient(f, v), *by_rho(f), *(r.diff(t) for r in f)]

    return [
        [*(m for row in M for m in row), *F],
        [*gap, *none, *gap_t, *(g for row in G for g in row), *gamma, *mu, *mu_s],
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
    ]
