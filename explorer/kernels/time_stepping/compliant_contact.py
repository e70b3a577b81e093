"""Contacts that give way: 0 <= gap(q, lam) perp lam >= 0 at the end of a step.

gap(q, lam) = g(t, q) + d(lam), D = dd/dlam. With p = h lam, q = q_i + h (theta v + (1 - theta) v_i)
and the iterates v_k and l_k of velocities and forces, a step's condition is, over h theta::

    0 <= [g(q_k) + d(l_k) - D l_k] / (h theta) + G (v - v_k) + D / (h^2 theta) p  perp  p >= 0

Acary, Brogliato, *Numerical Methods for Nonsmooth Dynamical Systems*, 3.5 (compliant models), at
the level of positions. Where d is linear and g too, that is the condition itself.
"""

import numpy as np

from explorer.kernels.complementarity.delassus import along
from explorer.kernels.jit import call, kernel

__all__ = ["FLEX", "bend", "broken", "give", "predicted"]

# compliance (n_c,) in m/N: the diagonal of D, 0 of a rigid contact; rows (ptr, col, val) of D,
# empty if it is but its diagonal
FLEX = "Tuple((float64[::1], int64[::1], int64[::1], float64[::1]))"
NARROW = 8.0  # part of a force that a step of Newton's method may leave of it


@kernel(f"void({FLEX}, int64, int64, float64, float64[:, ::1])", inline=True)
def give(flex, a, nc, hht, D):
    """Add column `a` of D / (h^2 theta) to the Delassus matrix."""
    compliance, ptr, col, val = flex
    if a < nc and compliance[a] > 0.0:
        if col.size == 0:
            D[a, a] += compliance[a] / hht
        for k in range(ptr[a] if col.size > 0 else 0, ptr[a + 1] if col.size > 0 else 0):
            D[col[k], a] += val[k] / hht


@kernel(
    f"void(int64[:, ::1], float64[::1], float64[::1], {FLEX}, float64[::1], float64[::1])",
    inner=True,
)
def bend(table, inp, out, flex, lam, given):
    """Set d(lam) - D lam, and D: its entries in `flex`.

    An entry that is not finite, as that of a cusp at lam = 0, is taken as rigid: then the force
    found is too large, and where that is, D is finite.
    """
    ptr, col, val = flex[1], flex[2], flex[3]
    nc = given.size
    for a in range(nc):
        inp[inp.size - nc + a] = lam[a]
    call(table[4, 0], table[4, 1], out, inp)
    for a in range(nc):
        total = out[a] if np.isfinite(out[a]) else 0.0
        for k in range(ptr[a], ptr[a + 1]):
            val[k] = out[nc + k] if np.isfinite(out[nc + k]) else 0.0
            total -= val[k] * lam[col[k]]
        given[a] = total


@kernel(
    f"void({FLEX}, int64[::1], int64, float64, int64[::1], int64[::1], float64[::1],"
    " float64[::1], float64[::1], float64[:, ::1], float64[::1])",
    inline=True,
)
def predicted(flex, act, m, ht, gap_ptr, gap_col, gap_val, v, probe, depth, e_dot):
    """Set what stands besides G v and D p in the condition of the contacts that give way.

    depth : (2, .) g at v by number in `act`, and what `bend` gives by contact
    """
    for j in range(m):
        a = act[j]
        if flex[0][a] > 0.0:
            e_dot[j] = (depth[0, j] + depth[1, a]) / ht - probe[j]
            e_dot[j] -= along(gap_ptr, gap_col, gap_val, a, v)


@kernel(
    f"float64(int64[:, ::1], float64[::1], float64[::1], {FLEX}, float64, int64[::1], int64,"
    " float64, float64, float64[::1], float64[:, ::1], float64[:, ::1])",
    inner=True,
)
def broken(table, inp, out, flex, noise, act, m, h, ht, z, D, depth):
    """Return the natural residual of the condition at `inp`, relative; take its g and d.

    noise : what g may be off by round-off, in m
    depth : (4, .) as `predicted` takes it, the point l_k of the forces, theirs
    """
    nc, worst, size, bends = flex[0].size, 0.0, 0.0, table.shape[0] > 4
    call(table[3, 0], table[3, 1], out, inp)
    force, point = depth[3, :nc], depth[2, :nc]
    for a in range(nc):
        force[a] = 0.0
    for j in range(m):
        depth[0, j], force[act[j]] = out[act[j]], z[j] / h
    if bends:
        bend(table, inp, out, flex, force, depth[1, :nc])
    for j in range(m):
        a = act[j]
        if flex[0][a] > 0.0:
            yielded = depth[1, a]
            if flex[2].size == 0:
                yielded += flex[0][a] * force[a]
            for k in range(flex[1][a], flex[1][a + 1]):
                yielded += flex[3][k] * force[flex[2][k]]
            gap, push = (depth[0, j] + yielded) / ht, D[a, a] * z[j]
            worst = max(worst, abs(min(gap, push)) - noise / ht)
            size = max(size, (abs(depth[0, j]) + abs(yielded)) / ht, push)
    if bends:
        moved = False
        for a in range(nc):
            point[a] = max(force[a], point[a] / NARROW)
            moved = moved or point[a] != force[a]
        if moved:
            bend(table, inp, out, flex, point, depth[1, :nc])
    return worst / size if size > 0.0 else 0.0
