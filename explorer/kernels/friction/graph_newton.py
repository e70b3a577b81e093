"""Bands over the contacts of a graph, and Newton's method for all of them together."""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.delassus import along
from explorer.kernels.friction.alart_curnier import WEDGED
from explorer.kernels.friction.graph_gauss_seidel import GRAPH, LOCAL, residual
from explorer.kernels.friction.single_contact import OPEN, STICK
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.banded_lu import band_factor, band_solve

__all__ = ["assemble", "harden", "newton"]

STEPS = 60
LEVELS = 40  # of softness, on the way to rigid contacts
SHORTEST = 0.03  # of a step that does not reduce the residual either

BAND = (  # of both methods that factor a band
    f"int64({GRAPH}, {LOCAL}, float64[:, ::1], float64[:, ::1], int64[:, ::1], int64[::1],"
    " float64[::1], float64, int64)"
)


@kernel(
    f"int64({GRAPH}, {LOCAL}, float64[:, ::1], int64[:, ::1], int64[::1], int64)",
    inner=True,
)
def assemble(
    ptr,
    col,
    val,
    inverse,
    act,
    m,
    rows,
    place,
    mu,
    q,
    P,
    mode,
    unit,
    cross,
    soft,
    u,
    A,
    ints,
    near,
    widest,
):
    """Fill A with the band of D over the rows of the list that are chosen; return its width.

    The column of a contact that slides is that of its normal less mu times that of its tangent.
    Returns -1 if it is wider than `widest`. ints[0] chosen rows, state[0] their number; ints[1]
    where the rows of each coordinate begin; near: these rows, and where their entries of G stand.
    """
    chosen, head, state = ints[0], ints[1], ints[4]
    size, n, most = state[0], inverse.size, near.size // 2
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


@kernel(BAND, inner=True)
def newton(
    ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u, A, vec, ints,
    near, found, enough, widest,
):  # fmt: skip
    """Solve P_n = proj(P_n - w_n), P_t = proj(P_t - w_t) from P by damped steps of Newton's method.

    The projections are on P_n >= 0 and on |P_t| <= mu P_n (Alart, Curnier, CMAME 92 (1991) 353).
    Where no step reduces the residual a short one is taken: the sets that matter are found on the
    way. ``found[0]`` is the residual. LCP_RAY: the band is wider than `widest`; LCP_ITERATIONS:
    P is the best that was found. The second half of the rows of A holds D.
    """
    d, best, begin, chosen, pivots = vec[0], vec[1], vec[9], ints[0], ints[2]
    n = 0
    for k in range(m):
        mode[act[k]] = STICK
        chosen[n] = k
        n += 1
        if place[k] >= 0:
            chosen[n] = place[k]
            n += 1
    ints[4, 0] = n
    ints[4, 1] = -1
    w = assemble(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u,
                 A, ints, near, widest)  # fmt: skip
    if w < 0:
        return LCP_RAY
    half = A.shape[0] // 2
    for r in range(n):
        for c in range(2 * w + 1):
            A[half + r, c] = A[r, c]
    off = residual(
        ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u
    )
    least = off
    for j in range(rows):
        best[j] = P[j]
    for _ in range(STEPS):
        if not off > enough:
            break
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
        if band_factor(A, n, w, pivots) != 0:
            break
        band_solve(A, n, w, pivots, d)
        for j in range(rows):
            begin[j] = P[j]
        step, now = 1.0, np.inf
        while True:
            for r in range(n):
                P[chosen[r]] = begin[chosen[r]] + step * d[r]
            now = residual(
                ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u
            )
            if now < off or step <= SHORTEST:
                break
            step = max(0.4 * step, SHORTEST)
        off = now
        if not np.isfinite(off):
            break
        if off < least:
            least = off
            for j in range(rows):
                best[j] = P[j]
    for k in range(m):
        P[k] = max(best[k], 0.0)
        mode[act[k]] = STICK if P[k] > 0.0 else OPEN
        t = place[k]
        if t >= 0:
            most = mu[k] * P[k]
            P[t] = min(max(best[t], -most), most)
            if P[k] > 0.0 and abs(best[t]) >= most * (1.0 - 1e-12):
                mode[act[k]] = -1 if best[t] > 0.0 else 1
    found[0] = residual(
        ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u
    )
    return SUCCESS if found[0] <= enough else LCP_ITERATIONS


@kernel(BAND, inner=True)
def harden(
    ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u, A, vec, ints,
    near, found, enough, widest,
):  # fmt: skip
    """Solve for soft contacts, make them harder, and again: see
    `explorer.kernels.friction.alart_curnier`.

    Parameters as those of `newton`; vec[7] holds the P to begin with, which stays if nothing is
    better. LCP_RAY: impulses grow as contacts harden, so that they wedge and have no solution.
    """
    kept, solved = vec[7], vec[8]
    known, ratio, gives, wedged, status = 1.0, 0.1, 0.0, False, LCP_ITERATIONS
    off = residual(
        ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u
    )
    for j in range(rows):
        P[j] = solved[j] = 0.0
    for _ in range(LEVELS):
        give = known * ratio if known > 1e-9 else 0.0
        for j in range(rows):
            soft[j] += give * unit[j]
        status = newton(
            ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u, A,
            vec, ints, near, found, enough, widest,
        )  # fmt: skip
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
        return SUCCESS
    found[0] = residual(
        ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u
    )
    if not found[0] < off:
        found[0] = off
        for j in range(rows):
            P[j] = kept[j]
    return LCP_RAY if wedged else LCP_ITERATIONS
