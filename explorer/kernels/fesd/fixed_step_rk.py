"""Runge-Kutta time stepping of the dynamic complementarity system: fixed steps, switches anywhere.

Nurkanovic et al. 2023, eq. (15): the stages of each step by Newton's method, whose linear
complementarity problems (`explorer.kernels.fesd.stage_complementarity`) are solved with the active
set of the iterate before, or else by Lemke's method: covering the first inequalities alone it
always ends in a solution, for the variables stay in a simplex.
"""

import numpy as np

from explorer.codes import NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.complementarity.lcp import lemke
from explorer.kernels.fesd.element import MODEL, NC, NSEL, N, S, place
from explorer.kernels.fesd.stage_complementarity import (
    LAYOUT,
    LINEAR,
    SNAP,
    SOLVER,
    STAGE,
    keeps,
    linearise,
    mismatch,
    stays,
)
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve

__all__ = ["march"]

ENOUGH = 1e-14  # residual of a solved equation beside its terms
STALLED = 1e-12  # one that no longer falls
WHOLE = 12  # Newton steps before they are halved, lest they alternate


@kernel(
    f"int64({MODEL}, {LAYOUT}, {STAGE}, {LINEAR}, {SOLVER}, float64, float64[::1], float64, int64,"
    " int64[::1], float64[::1])",
    inner=True,
)
def step(
    table, shape, inp, out, switch, tableau, member, group, leader, K, V, sel, end, C, Cx, size, R,
    F, J, pivots, b, M, q, z, T, basis, scale, act, A, t, x, h, cap, counts, residual,
):  # fmt: skip
    """Solve one step from (t, x); K and V hold a guess, then the solution; return a status."""
    n = shape[N]
    nc = shape[NC]
    s = shape[S]
    nv = len(member)
    ng = len(leader)
    wide = s * n
    before = np.inf
    for iteration in range(cap + 1):
        worst = linearise(
            table, shape, inp, out, switch, tableau, member, group, leader, K, V, sel, end, C, Cx,
            size, R, F, J, pivots, b, M, q, z, T, basis, scale, act, A, t, x, h,
        )  # fmt: skip
        counts[1] += 1
        residual[0] = worst
        if not worst < np.inf:
            return NOT_FINITE
        off = mismatch(shape, member, group, leader, K, V, sel, end, C, Cx, size, R, F)
        worst = max(worst, off)
        residual[0] = worst
        if worst <= ENOUGH or (worst <= STALLED and worst > 0.3 * before):
            place(table, shape, inp, out, switch, tableau, t + h, x, h, 3 * s + 2, K)
            for k in range(n):
                end[k] = inp[1 + k]
                if not np.isfinite(end[k]):
                    return NOT_FINITE
            return SUCCESS
        before = worst
        if iteration == cap:
            break
        if lu_factor(J, wide, wide - 1, wide - 1, pivots) != 0:
            return NEWTON_CAP
        lu_solve(J, wide, wide - 1, wide - 1, pivots, b[0])
        if stays(
            table, shape, inp, out, switch, tableau, member, group, leader, K, V, sel, end, C, Cx,
            size, R, F, J, pivots, b, M, q, z, T, basis, scale, act, A, h,
        ):  # fmt: skip
            for i in range(s):
                for k in range(n):
                    K[i, k] += b[0, i * n + k]
            continue
        for i in range(s):  # how K moves with each variable, and so every g
            for v in range(nv):
                column = b[1 + i * nv + v]
                for p in range(wide):
                    column[p] = 0.0
                for k in range(n):
                    column[i * n + k] = F[i, k * nv + v]
                lu_solve(J, wide, wide - 1, wide - 1, pivots, column)
        m = s * (nv + ng)
        for p in range(m):
            for o in range(m):
                M[p, o] = 0.0
        for i in range(s):
            for v in range(nv):
                row = i * nv + v
                q[row] = 0.0
                for p in range(wide):
                    T[0, p] = 0.0
                for j in range(nc):
                    if R[i, v, j] == 0.0:
                        continue
                    q[row] += R[i, v, j] * C[i, j]
                    for k in range(n):
                        for o in range(s):
                            T[0, o * n + k] += h * R[i, v, j] * Cx[i, j * n + k] * tableau[i, o]
                for p in range(wide):
                    q[row] += T[0, p] * b[0, p]
                for o in range(s * nv):
                    total = 0.0
                    for p in range(wide):
                        total += T[0, p] * b[1 + o, p]
                    M[row, o] = total
                    q[row] -= total * V[o // nv, o % nv]
                last = s * nv + i * ng + group[v]
                M[row, last] = 1.0
                M[last, row] = -1.0
        for p in range(s * nv, m):
            q[p] = 1.0
        if not keeps(M, q, z, member, group, leader, V, s, A, pivots, basis, scale):
            counts[2] += 1
            if lemke(M, act, m, s * nv, q, 50 * m, 1e-11, z, T, basis, scale) != SUCCESS:
                return NEWTON_CAP
        part = 1.0 if iteration < WHOLE else 0.5
        for i in range(s):
            for v in range(nv):
                now = z[i * nv + v]
                now = 0.0 if now < SNAP else 1.0 if now > 1.0 - SNAP else now
                change = part * (now - V[i, v])
                for p in range(wide):
                    b[0, p] += change / part * b[1 + i * nv + v, p]
                V[i, v] = now if part == 1.0 else V[i, v] + change
        for i in range(s):
            for k in range(n):
                K[i, k] += part * b[0, i * n + k]
    return NEWTON_CAP


@kernel(
    f"int64({MODEL}, {LAYOUT}, {STAGE}, {LINEAR}, {SOLVER}, float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64, float64, int64, int64[::1], float64[::1])"
)
def march(
    table, shape, inp, out, switch, tableau, member, group, leader, K, V, sel, end, C, Cx, size, R,
    F, J, pivots, b, M, q, z, T, basis, scale, act, A, states, slopes, mult, times, t_end, h, cap,
    counts, residual,
):  # fmt: skip
    """March from ``states[0]`` over [0, t_end] in steps of h; return a status.

    counts: steps, Newton iterations, of these with Lemke's method. ``residual[0]``: of the last.
    """
    n = shape[N]
    nsel = shape[NSEL]
    s = shape[S]
    nv = len(member)
    for e in range(len(times)):
        t = e * h
        length = (t_end if e == len(times) - 1 else (e + 1) * h) - t
        status = SUCCESS
        for attempt in range(3):
            uneven = e == 0 or attempt > 0
            for i in range(1, 0 if uneven else s):
                for v in range(nv):
                    uneven = uneven or V[i, v] != V[0, v]
            if e == 0 or attempt == 2:  # from the middle, where nothing is chosen
                for k in range(n):
                    K[s - 1, k] = 0.0
                for v in range(nv):
                    V[s - 1, v] = 0.5 if leader[group[v]] < 0 else 1.0 / (nv + 1.0)
            elif attempt == 1:
                for k in range(n):
                    K[s - 1, k] = slopes[e - 1, (s - 1) * n + k]
                for v in range(nv):
                    V[s - 1, v] = mult[e - 1, (s - 1) * nsel + member[v]]
            for i in range(s):
                for k in range(n):
                    total = 0.0
                    if not uneven:
                        for j in range(s):
                            total += tableau[2 * s + i, j] * slopes[e - 1, j * n + k]
                    K[i, k] = K[s - 1, k] if uneven else total
                for v in range(nv):
                    V[i, v] = V[s - 1, v]
            status = step(
                table, shape, inp, out, switch, tableau, member, group, leader, K, V, sel, end, C,
                Cx, size, R, F, J, pivots, b, M, q, z, T, basis, scale, act, A, t, states[e],
                length, cap, counts, residual,
            )  # fmt: skip
            if status == SUCCESS:
                break
        if status != SUCCESS:
            return status
        times[e, 0] = t
        times[e, 1] = length
        for k in range(n):
            states[e + 1, k] = end[k]
        for i in range(s):
            for k in range(n):
                slopes[e, i * n + k] = K[i, k]
            for k in range(nsel):
                mult[e, i * nsel + k] = sel[i, k]
        counts[0] = e + 1
    return SUCCESS
