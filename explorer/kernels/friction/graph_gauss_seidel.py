"""Sweeps over the contacts of a graph: see `explorer.kernels.friction.graph` for the problem.

Nonsmooth Gauss-Seidel (Jourdan, Alart, Jean, CMAME 155 (1998) 31), contact by contact in closed
form with the velocities u = W^-1 G' P at hand; each sweep as a gradient of the nonlinear conjugate
gradient method (Silcowitz, Niebe, Erleben, Vis. Comput. 26 (2010) 893).
"""

import numpy as np

from explorer.codes import LCP_RAY, SUCCESS
from explorer.kernels.complementarity.delassus import along
from explorer.kernels.friction.graph_structures import Graph, Sweeps
from explorer.kernels.friction.single_contact import NONE, OPEN, STICK, on_line
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Vector

__all__ = ["coupling", "follow", "residual", "sweeps"]


@kernel(inline=True)
def spread(
    ptr: Integers, col: Integers, val: Vector, inverse: Vector, a: int, P: float, u: Vector
) -> None:
    """u += W^-1 G_a' P."""
    for k in range(ptr[a], ptr[a + 1]):
        u[col[k]] += inverse[col[k]] * val[k] * P


@kernel(inline=True)
def coupling(ptr: Integers, col: Integers, val: Vector, inverse: Vector, a: int, c: int) -> float:
    """Return G_a W^-1 G_c'."""
    total = 0.0
    for i in range(ptr[a], ptr[a + 1]):
        for k in range(ptr[c], ptr[c + 1]):
            if col[i] == col[k]:
                total += val[i] * inverse[col[i]] * val[k]
    return total


@kernel(inner=True)
def follow(graph: Graph) -> None:
    """u = W^-1 G' P, anew."""
    ptr, col, val, inverse, act = graph.ptr, graph.col, graph.val, graph.inverse, graph.act
    rows, P, u = graph.rows, graph.P, graph.u
    for j in range(inverse.size):
        u[j] = 0.0
    for k in range(rows):
        if P[k] != 0.0:
            spread(ptr, col, val, inverse, act[k], P[k], u)


@kernel(inner=True)
def residual(graph: Graph) -> float:
    """Return the largest natural residual of a normal or a tangent, in the unit of q; u is new."""
    ptr, col, val, act, m, place = graph.ptr, graph.col, graph.val, graph.act, graph.m, graph.place
    mu, q, P, unit, soft, u = graph.mu, graph.q, graph.P, graph.unit, graph.soft, graph.u
    worst = 0.0
    follow(graph)
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


@kernel(inner=True)
def sweep(graph: Graph) -> int:
    """Go through all contacts, there and back; LCP_RAY: one of them has no solution."""
    ptr, col, val, inverse, act = graph.ptr, graph.col, graph.val, graph.inverse, graph.act
    m, place, mu, q, P, mode = graph.m, graph.place, graph.mu, graph.q, graph.P, graph.mode
    unit, cross, soft, u = graph.unit, graph.cross, graph.soft, graph.u
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


@kernel(inner=True)
def sweeps(
    graph: Graph, work: Sweeps, size_before: float, share: float, count: int
) -> tuple[int, float, float]:
    """Sweep `count` times, each a gradient of the nonlinear conjugate gradient method.

    Without it stresses that hold each other drift for ever. Returns a status, the size of the last
    change and the share of the last direction, which the next call takes; 0 at the beginning.
    """
    rows, P, unit = graph.rows, graph.P, graph.unit
    direction, change = work.direction, work.change
    for _ in range(count):
        if share > 0.0:
            for k in range(rows):
                P[k] += share * direction[k]
                direction[k] = share * direction[k] + change[k]
        elif size_before > 0.0:
            for k in range(rows):
                direction[k] = change[k]
        for k in range(rows):
            change[k] = P[k]
        follow(graph)
        if sweep(graph) != SUCCESS:
            return LCP_RAY, size_before, share
        size = 0.0
        for k in range(rows):
            change[k] = P[k] - change[k]
            size += unit[k] * change[k] ** 2
        share = min(1.0, size / size_before) if size_before > 0.999 * size else 0.0
        size_before = size
    return SUCCESS, size_before, share
