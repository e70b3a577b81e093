"""Bands over the contacts of a graph, and Newton's method for all of them together::

    P_n - proj(P_n - w_n) = 0,   P_t - proj(P_t - w_t) = 0

The projections are on P_n >= 0 and on |P_t| <= mu P_n (Alart, Curnier, CMAME 92 (1991) 353,
doi:10.1016/0045-7825(91)90022-X).

Status: LCP_RAY, the band is wider than allowed, or impulses grow as contacts harden, so that they
wedge; LCP_ITERATIONS, P is the best that was found.
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.delassus import along
from explorer.kernels.friction.alart_curnier import WEDGED
from explorer.kernels.friction.graph_gauss_seidel import residual
from explorer.kernels.friction.graph_structures import Band, Graph, Newton
from explorer.kernels.friction.single_contact import OPEN, STICK
from explorer.kernels.linear_algebra.banded_lu import band_factor, band_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["assemble", "harden", "newton"]

STEPS = 60
LEVELS = 40  # of softness, on the way to rigid contacts
SHORTEST = 0.03  # of a step that does not reduce the residual either


@kernel(inner=True)
def list_chosen(graph: Graph, band: Band) -> None:
    """List the chosen rows at each coordinate in `near`, and where their entries of G stand."""
    ptr, col, act = graph.ptr, graph.col, graph.act
    near, chosen, head = band.near, band.chosen, band.head
    size, n, most = band.state[0].chosen, graph.inverse.size, near.size // 2
    for j in range(n + 2):
        head[j] = 0
    for r in range(size):
        for k in range(ptr[act[chosen[r]]], ptr[act[chosen[r]] + 1]):
            head[col[k] + 2] += 1
    for j in range(n):
        head[j + 2] += head[j + 1]
    for r in range(size):
        for k in range(ptr[act[chosen[r]]], ptr[act[chosen[r]] + 1]):
            at = head[col[k] + 1]
            near[at], near[most + at] = r, k
            head[col[k] + 1] = at + 1


@kernel(inner=True)
def assemble(graph: Graph, band: Band, widest: int) -> int:
    """Fill A with the band of D over the rows of the list that are chosen; return its width.

    The column of a contact that slides is that of its normal less mu times that of its tangent.
    Returns -1 if it is wider than `widest`.
    """
    ptr, col, val, inverse = graph.ptr, graph.col, graph.val, graph.inverse
    act, m, place, mu, mode = graph.act, graph.m, graph.place, graph.mu, graph.mode
    soft = graph.soft
    A, near, chosen, head = band.A, band.near, band.chosen, band.head
    size, most = band.state[0].chosen, near.size // 2
    list_chosen(graph, band)
    width = 0
    for fill in range(2):
        if fill == 1:
            for r in range(size):
                for d in range(3 * width + 1):
                    A[r, d] = 0.0
        for c in range(size):
            j = chosen[c]
            slides = j < m and place[j] >= 0 and mode[act[j]] != STICK
            for part in range(2 if slides else 1):
                a, share = act[j], 1.0
                if part == 1:
                    a, share = act[place[j]], -mode[act[j]] * mu[j]
                for k in range(ptr[a], ptr[a + 1]):
                    first, after = head[col[k]], head[col[k] + 1]
                    if fill == 0 and first < after:
                        width = max(width, c - near[first], near[after - 1] - c)
                    elif fill == 1:
                        y = share * inverse[col[k]] * val[k]
                        for s in range(first, after):
                            A[near[s], c - near[s] + width] += y * val[near[most + s]]
            if fill == 1:
                A[c, width] += soft[j]
        if width > widest:
            return -1
    return width


@kernel(inner=True)
def choose_all(graph: Graph, band: Band) -> int:
    """Let all contacts stick, and make unknowns of their rows; return how many."""
    act, place, mode, chosen, n = graph.act, graph.place, graph.mode, band.chosen, 0
    for k in range(graph.m):
        mode[act[k]] = STICK
        chosen[n] = k
        n += 1
        if place[k] >= 0:
            chosen[n] = place[k]
            n += 1
    band.state[0].chosen, band.state[0].width = n, -1
    return n


@kernel(inner=True)
def linearise(graph: Graph, work: Newton, n: int, w: int) -> None:
    """Fill A with the Jacobian of the equations at P, and d with what they leave.

    D stands in the second half of the rows of A, its bandwidth is `w`.
    """
    ptr, col, val, act, m, place = graph.ptr, graph.col, graph.val, graph.act, graph.m, graph.place
    mu, q, P, unit, soft, u = graph.mu, graph.q, graph.P, graph.unit, graph.soft, graph.u
    A, d = work.band.A, work.d
    half = A.shape[0] // 2
    for r in range(n):
        for c in range(3 * w + 1):
            A[r, c] = 0.0
    r = 0
    for k in range(m):
        t = place[k]
        w_n = q[k] + along(ptr, col, val, act[k], u) + soft[k] * P[k]
        closed = unit[k] * P[k] > w_n
        if closed:
            for c in range(2 * w + 1):
                A[r, c] = A[half + r, c]
            d[r] = -w_n
        else:
            A[r, w] = unit[k]
            d[r] = -unit[k] * P[k]
        A[r, w] += 1e-9 * unit[k] + 1e-300
        if t >= 0:
            r += 1
            w_t = q[t] + along(ptr, col, val, act[t], u) + soft[t] * P[t]
            free, bound = unit[t] * P[t] - w_t, mu[k] * unit[t] * max(P[k], 0.0)
            if closed and abs(free) <= bound:
                for c in range(2 * w + 1):
                    A[r, c] = A[half + r, c]
                d[r] = -w_t
            else:
                side = 0.0 if not closed else 1.0 if free > 0.0 else -1.0
                A[r, w] = unit[t]
                A[r, w - 1] = -side * mu[k] * unit[t]
                d[r] = side * bound - unit[t] * P[t]
            A[r, w] += 1e-9 * unit[t] + 1e-300
        r += 1


@kernel(inner=True)
def search(graph: Graph, work: Newton, n: int, off: float) -> float:
    """Take as much of the step d as reduces the residual `off`, or a short one; return the new."""
    P, chosen, d, begin = graph.P, work.band.chosen, work.d, work.begin
    for j in range(graph.rows):
        begin[j] = P[j]
    step, now = 1.0, np.inf
    while True:
        for r in range(n):
            P[chosen[r]] = begin[chosen[r]] + step * d[r]
        now = residual(graph)
        if now < off or step <= SHORTEST:
            break
        step = max(0.4 * step, SHORTEST)
    return now


@kernel(inner=True)
def finish(graph: Graph, best: Vector) -> None:
    """Take the best impulses, kept within the laws, and note what each contact does."""
    act, place, mu, P, mode = graph.act, graph.place, graph.mu, graph.P, graph.mode
    for k in range(graph.m):
        P[k] = max(best[k], 0.0)
        mode[act[k]] = STICK if P[k] > 0.0 else OPEN
        t = place[k]
        if t >= 0:
            most = mu[k] * P[k]
            P[t] = min(max(best[t], -most), most)
            if P[k] > 0.0 and abs(best[t]) >= most * (1.0 - 1e-12):
                mode[act[k]] = -1 if best[t] > 0.0 else 1


@kernel(inner=True)
def newton(
    graph: Graph, work: Newton, off_before: float, enough: float, widest: int
) -> tuple[int, float]:
    """Solve the equations from P by damped steps of Newton's method.

    Where no step reduces the residual a short one is taken: the sets that matter are found on the
    way. Returns a status and the residual, `off_before` if the band is wider than `widest`.
    """
    band, best, P = work.band, work.best, graph.P
    A = band.A
    n = choose_all(graph, band)
    w = assemble(graph, band, widest)
    if w < 0:
        return LCP_RAY, off_before
    half = A.shape[0] // 2
    for r in range(n):
        for c in range(2 * w + 1):
            A[half + r, c] = A[r, c]
    off = residual(graph)
    least = off
    for j in range(graph.rows):
        best[j] = P[j]
    for _ in range(STEPS):
        if not off > enough:
            break
        linearise(graph, work, n, w)
        if band_factor(A, n, w, band.pivots) != 0:
            break
        band_solve(A, n, w, band.pivots, work.d)
        off = search(graph, work, n, off)
        if not np.isfinite(off):
            break
        if off < least:
            least = off
            for j in range(graph.rows):
                best[j] = P[j]
    finish(graph, best)
    off = residual(graph)
    return SUCCESS if off <= enough else LCP_ITERATIONS, off


@kernel(inner=True)
def harden(
    graph: Graph, work: Newton, off_before: float, enough: float, widest: int
) -> tuple[int, float]:
    """Solve for soft contacts, make them harder, and again: see
    `explorer.kernels.friction.alart_curnier`.

    ``work.given`` holds the P to begin with, which stays if nothing is better. Returns a status and
    the residual.
    """
    rows, P, unit, soft, solved = graph.rows, graph.P, graph.unit, graph.soft, work.solved
    known, ratio, gives, wedged, status = 1.0, 0.1, 0.0, False, LCP_ITERATIONS
    off, now = residual(graph), off_before
    for j in range(rows):
        P[j] = solved[j] = 0.0
    for _ in range(LEVELS):
        give = known * ratio if known > 1e-9 else 0.0
        for j in range(rows):
            soft[j] += give * unit[j]
        status, now = newton(graph, work, now, enough, widest)
        for j in range(rows):
            soft[j] -= give * unit[j]
        if give == 0.0 or status == LCP_RAY:
            break
        if status == SUCCESS:
            before, gives = gives, 0.0
            for j in range(rows):
                solved[j] = P[j]
                gives = max(gives, give * unit[j] * abs(P[j]))
            wedged = give <= WEDGED and gives > before * (give / known) ** 0.1
            known, ratio = give, max(0.1, ratio * ratio)
        else:
            ratio = np.sqrt(ratio)
            for j in range(rows):
                P[j] = solved[j]
    if status == SUCCESS:
        return SUCCESS, now
    now = residual(graph)
    if not now < off:
        now = off
        for j in range(rows):
            P[j] = work.given[j]
    return LCP_RAY if wedged else LCP_ITERATIONS, now
