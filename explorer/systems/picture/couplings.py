"""Which coordinates of a mechanical system act on each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp

from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.linear import LinearMechanicalSystem
from explorer.systems.mechanical import MechanicalSystem

__all__ = ["coupled", "order_along", "rest_distance", "stiffness"]


def stiffness(system: LagrangianSystem) -> dict[tuple[int, int], float]:
    """Return the entries of the stiffness at the usual start that are not zero, -dF_i/dq_j."""
    if isinstance(system, LinearMechanicalSystem):
        K = system.K.tocoo() if hasattr(system.K, "tocoo") else None
        if K is not None:
            pairs = zip(K.row, K.col, K.data, strict=True)
            return {(int(i), int(j)): float(x) for i, j, x in pairs if x}
        rows, columns = np.nonzero(np.asarray(system.K))
        return {(int(i), int(j)): float(system.K[i, j]) for i, j in zip(rows, columns, strict=True)}
    if not isinstance(system, MechanicalSystem):
        return {}
    values: dict[sp.Basic, object] = {sp.Symbol(k): p.value for k, p in system.parameters.items()}
    start = [x.subs(values) for x in system.start_q]
    values |= dict(zip(system.q, start, strict=True)) | dict.fromkeys([*system.v, system.t], 0)
    found = {}
    for i, f in enumerate(system.force):
        for j, q in enumerate(system.q):
            if q not in f.free_symbols:
                continue
            slope = f.diff(q).subs(values)
            if slope.is_number and slope.is_real and slope.is_finite and slope != 0:
                found[i, j] = -float(slope)
    return found


def _bonds(system: LagrangianSystem) -> set[frozenset[str]]:
    """Return the pairs of coordinates that share a force, a mass, a gap or a constraint."""
    names = system.coordinates
    pairs = {frozenset((names[i], names[j])) for i, j in stiffness(system)}
    if isinstance(system, MechanicalSystem):
        pairs |= {frozenset((names[i], names[j])) for i, j in system.inertia}
    formulas = [c.gap for c in system.contacts] + [c.phi for c in system.constraints]
    for formula in formulas:
        inside = [s.name for s in sp.sympify(formula).free_symbols & set(system.q)]
        pairs |= {frozenset((inside[0], k)) for k in inside}
    return {pair for pair in pairs if len(pair) == 2}


def coupled(system: LagrangianSystem, names: Sequence[str]) -> list[list[str]]:
    """Return names in groups that act on each other, each in the order of the coordinates."""
    pairs = [pair for pair in _bonds(system) if pair <= set(names)]
    group = {name: {name} for name in names}
    for one, other in map(sorted, pairs):
        if group[one] is group[other]:
            continue
        joined = group[one] | group[other]
        for name in joined:
            group[name] = joined
    found: list[list[str]] = []
    for name in names:
        if not any(name in one for one in found):
            found.append([k for k in names if k in group[name]])
    return found


def rest_distance(system: LagrangianSystem, before: sp.Symbol, q: sp.Symbol) -> sp.Expr | None:
    """Return c of a gap q - before + c between two bodies on one rail; None if there is none."""
    for contact in system.contacts:
        gap = sp.sympify(contact.gap)
        if gap.free_symbols & set(system.q) != {before, q}:
            continue
        if gap.diff(q) == 1 and gap.diff(before) == -1:
            return sp.simplify(gap - q + before)
    return None


def order_along(system: LagrangianSystem, names: Sequence[str]) -> list[str]:
    """Return the names on one rail in the order in which contacts keep them, from low to high."""
    after: dict[str, set[str]] = {name: set() for name in names}
    for contact in system.contacts:
        gap = sp.sympify(contact.gap)
        inside = {s.name: gap.diff(s) for s in gap.free_symbols & set(system.q)}
        if set(inside) <= set(names) and sorted(map(str, inside.values())) == ["-1", "1"]:
            low, high = sorted(inside, key=lambda k: int(inside[k]))
            after[low].add(high)
    found: list[str] = []
    left = list(names)
    while left:
        first = next((k for k in left if not any(k in after[j] for j in left)), left[0])
        found.append(first)
        left.remove(first)
    return found
