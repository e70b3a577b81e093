"""Sweeps over the contacts of a graph: see `explorer.kernels.friction.graph` for the problem.

Nonsmooth Gauss-Seidel (Jourdan, Alart, Jean, CMAME 155 (1998) 31), contact by contact in closed
form with the velocities u = W^-1 G' P at hand; each sweep as a gradient of the nonlinear conjugate
gradient method (Silcowitz, Niebe, Erleben, Vis. Comput. 26 (2010) 893).
"""

import numpy as np

from explorer.codes import LCP_RAY, SUCCESS
from explorer.kernels.complementarity.delassus import along
from explorer.kernels.friction.single_contact import NONE, OPEN, STICK, on_line
from explorer.kernels.jit import kernel

__all__ = ["GRAPH", "LOCAL", "coupling", "follow", "residual", "sweeps"]

# G by rows (ptr, col, val), the diagonal of W^-1, the rows of G that take part (normals of the
# first m, then tangents), m, their number, where the tangent of a contact stands among them or
# -1, mu, q, P, what each contact does by its number
GRAPH = (
    "int64[::1], int64[::1], float64[::1], float64[::1], int64[::1], int64, int64, int64[::1],"
    " float64[::1], float64[::1], float64[::1], int64[::1]"
)
# unit: D_kk of each row; cross: D_kt of a contact and its tangent; soft: s of each row; u
LOCAL = "float64[::1], float64[::1], float64[::1], float64[::1]"


@kernel(
    "void(int64[::1], int64[::1], float64[::1], float64[::1], int64, float64, float64[::1])",
    inline=True,
)
def spread(ptr, col, val, inverse, a, P, u):
    """u += W^-1 G_a' P."""
    for k in range(ptr[a], ptr[a + 1]):
        u[col[k]] += inverse[col[k]] * val[k] * P


@kernel("float64(int64[::1], int64[::1], float64[::1], float64[::1], int64, int64)", inline=True)
def coupling(ptr, col, val, inverse, a, c):
    """Return G_a W^-1 G_c'."""
    total = 0.0
    for i in range(ptr[a], ptr[a + 1]):
        for k in range(ptr[c], ptr[c + 1]):
            if col[i] == col[k]:
                total += val[i] * inverse[col[i]] * val[k]
    return total


@kernel(f"void({GRAPH}, {LOCAL})", inner=True)
def follow(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u):
    """u = W^-1 G' P, anew."""
    for j in range(inverse.size):
        u[j] = 0.0
    for k in range(rows):
        if P[k] != 0.0:
            spread(ptr, col, val, inverse, act[k], P[k], u)


@kernel(f"float64({GRAPH}, {LOCAL})", inner=True)
def residual(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u):
    """Return the largest natural residual of a normal or a tangent, in the unit of q; u is new."""
    worst = 0.0
    follow(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u)
    for k in range(m):
        w = q[k] + along(ptr, col, val, act[k], u) + soft[k] * P[k]
        off = abs(min(unit[k] * P[k] if unit[k] > 0.0 else P[k], w))
        t = place[k]
        if t >= 0:
            bound = mu[k] * unit[t] * P[k]
            free = (unit[t] - soft[t]) * P[t] - q[t] - along(ptr, col, val, act[t], u)
            off = max(off, abs(unit[t] * P[t] - min(max(free, -bound), bound)))
            off += 0.0 * free
        if not np.isfinite(off + w):  # min() and max() would swallow a NaN
            return np.nan
        worst = max(worst, off)
    return worst


@kernel(f"int64({GRAPH}, {LOCAL})", inner=True)
def sweep(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u):
    """Go through all contacts, there and back."""
    for turn in range(2):
        for step in range(m):
            k = step if turn == 0 else m - 1 - step
            a, t = act[k], place[k]
            w = q[k] + along(ptr, col, val, a, u) + soft[k] * P[k]
            P_n, P_t, what = 0.0, 0.0, OPEN * 1.0
            if t < 0:
                if unit[k] > 0.0:
                    P_n = max(0.0, P[k] - w / unit[k])
                what = STICK * 1.0 if P_n > 0.0 else OPEN * 1.0
            else:
                q_n = w - unit[k] * P[k] - cross[k] * P[t]
                q_t = q[t] + along(ptr, col, val, act[t], u) - cross[k] * P[k] - unit[t] * P[t]
                P_n, P_t, what = on_line(unit[k], cross[k], cross[k], unit[t], mu[k], q_n, q_t)
                if what == NONE:
                    return LCP_RAY
                if P_t != P[t]:
                    spread(ptr, col, val, inverse, act[t], P_t - P[t], u)
                    P[t] = P_t
            if P_n != P[k]:
                spread(ptr, col, val, inverse, a, P_n - P[k], u)
                P[k] = P_n
            mode[a] = int(what)
    return SUCCESS


@kernel(f"int64({GRAPH}, {LOCAL}, float64[::1], float64[::1], float64[::1], int64)", inner=True)
def sweeps(
    ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u, direction,
    change, memory, count,
):  # fmt: skip
    """Sweep `count` times, each a gradient of the nonlinear conjugate gradient method.

    Without it stresses that hold each other drift for ever. memory[1], [2] : size of the last
    change and share of the last direction, 0 at the beginning; direction, change : kept with them.
    """
    for _ in range(count):
        if memory[2] > 0.0:
            for k in range(rows):
                P[k] += memory[2] * direction[k]
                direction[k] = memory[2] * direction[k] + change[k]
        elif memory[1] > 0.0:
            for k in range(rows):
                direction[k] = change[k]
        for k in range(rows):
            change[k] = P[k]
        follow(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u)
        if sweep(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft,
                 u) != SUCCESS:  # fmt: skip
            return LCP_RAY
        size = 0.0
        for k in range(rows):
            change[k] = P[k] - change[k]
            size += unit[k] * change[k] ** 2
        memory[2] = min(1.0, size / memory[1]) if memory[1] > 0.999 * size else 0.0
        memory[1] = size
    return SUCCESS
