"""Proximal steps over the contacts of a graph, from soft contacts on.

A step solves the problem with w + give D_kk (P - P_0) for w, P_0 the impulses at hand (Rockafellar,
SIAM J. Control Optim. 14 (1976) 877). The softer the contacts, the fewer of them do something else
on the path from P_0 (`explorer.kernels.friction.graph_path`), and the less is gained. So contacts
become firmer from step to step, and softer again where a path does not end soon: friction makes the
problem one that may have several solutions, and paths between which t turns. With the set of a firm
step the rigid contacts are solved for.
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.delassus import along
from explorer.kernels.friction.graph_gauss_seidel import residual
from explorer.kernels.friction.graph_path import (
    along_path,
    answer,
    include,
    prepare,
    renew,
    stiffen,
)
from explorer.kernels.friction.graph_structures import Graph, Path
from explorer.kernels.friction.single_contact import OPEN, STICK
from explorer.kernels.references import kernel

__all__ = ["approach"]

# proximal terms beside D, whose smallest eigenvalues in a pile are 1e-4 and less
BEGIN, SOFTEST, FIRMEST, RIGID = 1e-3, 1e-1, 1e-8, 1e-8
SETTLED = 1e-4  # with less the set may be that of rigid contacts
FIRMER, CAREFULLY, SOFTER = 0.1, 0.3, 10.0
CHANGES = 60  # on one path
STALLED = 16  # of all changes that are allowed, one in so many may bring t no lower
WORSE = 3.0  # a step may leave so much more than the one before it
REFUSED = 12  # paths that did not end
IDLE = 2  # paths that do not halve what is small enough already
FACTORING = 4  # costs as much as so many changes
POLISH = 8  # proximal steps with the last set


@kernel(inner=True)
def polish(graph: Graph, path: Path) -> int:
    """Solve for the set in `mode` by proximal steps; LCP_ITERATIONS if it has no solution."""
    ptr, col, val, act, m, rows = graph.ptr, graph.col, graph.val, graph.act, graph.m, graph.rows
    place, mu, q, P, mode, unit = graph.place, graph.mu, graph.q, graph.P, graph.mode, graph.unit
    soft, u = graph.soft, graph.u
    off, change, size, before = path.off, path.change, 0.0, np.inf
    for j in range(rows):
        size = max(size, unit[j] * abs(P[j]))
    stiffen(graph, path, RIGID)
    if include(graph, path, -1, -1) < 0:
        return LCP_ITERATIONS
    for _ in range(POLISH):
        renew(graph)
        left = 0.0
        for k in range(m):
            t = place[k]
            off[k] = q[k] + along(ptr, col, val, act[k], u) + soft[k] * P[k]
            left = max(left, abs(off[k]) if mode[act[k]] != OPEN else 0.0)
            if t >= 0:
                off[t] = q[t] + along(ptr, col, val, act[t], u)
                left = max(left, abs(off[t]) if mode[act[k]] == STICK else 0.0)
        if left <= 1e-15 * size or not left < 0.5 * before:
            return SUCCESS
        before = left
        if not answer(graph, path, 0):
            return LCP_ITERATIONS
        for k in range(m):
            P[k] = max(P[k] + change[k], 0.0) if mode[act[k]] != OPEN else 0.0
            t = place[k]
            if t >= 0:
                bound = mu[k] * P[k]
                stuck = min(max(P[t] + change[t], -bound), bound)
                P[t] = stuck if mode[act[k]] == STICK else -mode[act[k]] * bound
                P[t] = 0.0 if mode[act[k]] == OPEN else P[t]
    return SUCCESS


@kernel(inner=True)
def approach(
    graph: Graph, path: Path, left: float, enough: float, least: float, most: int
) -> tuple[int, float]:
    """Go from P, whose residual is `left`, to a solution; return a status and the residual.

    It goes on down to a residual of `least` as long as steps halve it. LCP_RAY: the band is too
    wide; LCP_ITERATIONS: about `most` changes do not lead to a residual of `enough`, and P leaves
    little more than it did.
    """
    rows, P, kept, rough = graph.rows, graph.P, path.kept, path.rough
    if not prepare(graph, path):
        return LCP_RAY, left
    give, ratio, refused, spent, idle = BEGIN, FIRMER, 0, 0, 0
    while spent < most and refused < REFUSED:
        for j in range(rows):
            kept[j] = P[j]
        ends, changes = along_path(graph, path, give, CHANGES, most // STALLED)
        spent += FACTORING + changes
        now = np.inf
        if ends:
            now = residual(graph)
        if ends and give <= SETTLED and now > least:
            spent += FACTORING
            for j in range(rows):
                rough[j] = P[j]
            polish(graph, path)
            fine = residual(graph)
            for j in range(0 if fine < now else rows):
                P[j] = rough[j]
            now = min(now, fine) if np.isfinite(fine) else now
        settled = left <= enough
        idle += settled and not now < 0.5 * left
        if now < (1.0 if settled else WORSE) * left:
            left, give = now, max(give * ratio, FIRMEST)
        else:
            for j in range(rows):
                P[j] = kept[j]
            give, ratio, refused = min(give * SOFTER, SOFTEST), CAREFULLY, refused + 1
        if left <= least or idle > IDLE:
            break
    return SUCCESS if left <= enough else LCP_ITERATIONS, left
