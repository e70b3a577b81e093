"""Contacts that give way: 0 <= gap(q, lam) perp lam >= 0 at the end of a step.

gap(q, lam) = g(t, q) + d(lam), D = dd/dlam. With p = h lam, q = q_i + h (theta v + (1 - theta) v_i)
and the iterates v_k and l_k of velocities and forces, a step's condition is, over h theta::

    0 <= [g(q_k) + d(l_k) - D l_k] / (h theta) + G (v - v_k) + D / (h^2 theta) p  perp  p >= 0

Acary, Brogliato, *Numerical Methods for Nonsmooth Dynamical Systems*, 3.5 (compliant models), at
the level of positions. Where d is linear and g too, that is the condition itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from explorer.kernels.complementarity.delassus import along
from explorer.kernels.model.inputs import evaluate
from explorer.kernels.model.structures import COMPLIANCE, GAP, Bundles, Rows
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["Compliance", "bend", "bends", "broken", "give", "predicted"]

NARROW = 8.0  # part of a force that a step of Newton's method may leave of it


class Compliance(NamedTuple):
    """How contacts give way, and the iterates of that."""

    diagonal: Vector  # (n_c,) m/N, of D; 0 of a rigid contact
    ptr: Integers  # (n_c + 1,) rows of D; all 0 if it is but its diagonal
    col: Integers  # empty then
    val: Vector  # m/N
    gap: Vector  # (n_c,) m, g at the iterate, by number among the active contacts
    given: Vector  # (n_c,) m, d(l_k) - D l_k
    point: Vector  # (n_c,) N, l_k
    force: Vector  # (n_c,) N


@kernel(inline=True)
def give(compliance: Compliance, a: int, hht: float, D: Matrix) -> None:
    """Add column `a` of D / (h^2 theta) to the Delassus matrix; hht: h^2 theta."""
    diagonal, ptr, col, val = compliance.diagonal, compliance.ptr, compliance.col, compliance.val
    if a < diagonal.size and diagonal[a] > 0.0:
        if col.size == 0:
            D[a, a] += diagonal[a] / hht
        for k in range(ptr[a], ptr[a + 1]):
            D[col[k], a] += val[k] / hht


@kernel(inline=True)
def bends(bundles: Bundles) -> bool:
    """Whether d(lam) is not linear."""
    return bundles.table.shape[0] > COMPLIANCE


@kernel(inner=True)
def bend(bundles: Bundles, compliance: Compliance, lam: Vector) -> None:
    """Set d(lam) - D lam, and D: its entries.

    An entry that is not finite, as that of a cusp at lam = 0, is taken as rigid: then the force
    found is too large, and where that is, D is finite.
    """
    ptr, col, val, given = compliance.ptr, compliance.col, compliance.val, compliance.given
    inp, out, nc = bundles.inp, bundles.out, given.size
    for a in range(nc):
        inp[inp.size - nc + a] = lam[a]
    evaluate(bundles, COMPLIANCE)
    for a in range(nc):
        total = out[a] if np.isfinite(out[a]) else 0.0
        for k in range(ptr[a], ptr[a + 1]):
            val[k] = out[nc + k] if np.isfinite(out[nc + k]) else 0.0
            total -= val[k] * lam[col[k]]
        given[a] = total


@kernel(inline=True)
def predicted(
    compliance: Compliance,
    act: Integers,
    m: int,
    ht: float,
    G: Rows,
    v: Vector,
    rate: Vector,
    law: Vector,
) -> None:
    """Set what stands besides G v and D p in the condition of the contacts that give way.

    v : (n,) the iterate; rate, law : (m,) velocities at v = 0, and what is set
    """
    diagonal, gap, given = compliance.diagonal, compliance.gap, compliance.given
    ptr, col, val = G.ptr, G.col, G.val
    for j in range(m):
        a = act[j]
        if diagonal[a] > 0.0:
            law[j] = (gap[j] + given[a]) / ht - rate[j]
            law[j] -= along(ptr, col, val, a, v)


@kernel(inline=True)
def move_point(bundles: Bundles, compliance: Compliance) -> None:
    """Take l_k to the forces, but not to less than a part of itself."""
    force, point, moved = compliance.force, compliance.point, False
    for a in range(force.size):
        point[a] = max(force[a], point[a] / NARROW)
        moved = moved or point[a] != force[a]
    if moved:
        bend(bundles, compliance, point)


@kernel(inner=True)
def broken(
    bundles: Bundles,
    compliance: Compliance,
    noise: float,
    act: Integers,
    m: int,
    h: float,
    ht: float,
    P: Vector,
    D: Matrix,
) -> float:
    """Return the natural residual of the condition at the iterate, relative; take its g and d.

    noise : what g may be off by round-off, in m; P : (m,) impulses; D : the Delassus matrix
    """
    diagonal, ptr, col, val = compliance.diagonal, compliance.ptr, compliance.col, compliance.val
    gaps, given, force = compliance.gap, compliance.given, compliance.force
    worst, size, out = 0.0, 0.0, bundles.out
    evaluate(bundles, GAP)
    for a in range(diagonal.size):
        force[a] = 0.0
    for j in range(m):
        gaps[j], force[act[j]] = out[act[j]], P[j] / h
    if bends(bundles):
        bend(bundles, compliance, force)
    for j in range(m):
        a = act[j]
        if diagonal[a] > 0.0:
            yielded = given[a]
            if col.size == 0:
                yielded += diagonal[a] * force[a]
            for k in range(ptr[a], ptr[a + 1]):
                yielded += val[k] * force[col[k]]
            gap, push = (gaps[j] + yielded) / ht, D[a, a] * P[j]
            worst = max(worst, abs(min(gap, push)) - noise / ht)
            size = max(size, (abs(gaps[j]) + abs(yielded)) / ht, push)
    if bends(bundles):
        move_point(bundles, compliance)
    return worst / size if size > 0.0 else 0.0
