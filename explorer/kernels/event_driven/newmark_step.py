"""A step of the Newmark family or of generalised-alpha on a flow, contacts that are held included.

With a(t, q, v) the accelerations of the saddle system of `explorer.kernels.event_driven.flow` (so
what is held stays held at acceleration level), *Newmark methods* and Chung and Hulbert 1993 read ::

    v1 = v0 + h [(1 - gamma) a0 + gamma a1],  d1 = d0 + h v0 + h^2 [(1/2 - beta) a0 + beta a1]
    (1 - alpha_m) a1 + alpha_m a0 = a(t_f, d_f, v_f),  d_f = (1 - alpha_f) d1 + alpha_f d0

or, interpolated, = (1 - alpha_f) a(t1, d1, v1) + alpha_f a(t0, d0, v0). a1 solves it by Newton's
method; with the saddle matrix W, the residuals R, A of its rows and s = 1 - alpha_f the matrix is
W (1 - alpha_m) / s + [R; A]_q h^2 beta + [R; A]_v h gamma over the coordinates, W over the forces.
The sensitivities are those of the step itself: the same matrix, one solve for each. The running
cost is a quadrature by the trapezoidal rule.
"""

import numpy as np

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.flow import (
    CLOSED,
    COST,
    NR,
    NX,
    PROBLEM,
    ROWS,
    STEP,
    WRT,
    N,
    assemble,
    flow,
    tangent,
)  # fmt: skip
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.time_stepping.newmark_error import local_error, middle

__all__ = ["newmark_step"]

# places in the first row of the tableau; a0 is carried for the step STEP_SIZE that begins at BEGUN
ALPHA_M, ALPHA_F, BETA, GAMMA, INTERPOLATED, ERROR, MOST, BEGUN, STEP_SIZE = range(9)
# rows of K: y' at the start (a0 as the scheme carries it) and at the end, the error, slopes; y' of
# the flow itself at the start, at the end and in the middle
START, END, OFF, SLOPE, FIRST, TRUE_START, TRUE_END, MIDDLE = range(8)
FAR = 1e3  # steps over which an error of a velocity moves a displacement at most


@kernel(
    "void(float64[::1], float64, float64, float64, float64, int64, int64, int64, float64[:, ::1],"
    " float64[::1])",
    inline=True,
)
def at_stage(y, h, w, beta, gamma, n, at, to, K, stage):
    """stage[to:] = (1 - w) y[at:] + w times the end of the step, whose a1 stands in K[END, at:]."""
    for i in range(n):
        a0, a1, v0 = K[START, at + n + i], K[END, at + n + i], y[at + n + i]
        stage[to + i] = y[at + i] + w * h * (v0 + h * ((0.5 - beta) * a0 + beta * a1))
        stage[to + n + i] = v0 + w * h * ((1.0 - gamma) * a0 + gamma * a1)


@kernel(
    f"void({PROBLEM}, float64, float64, float64, float64[:, ::1])",
    inner=True,
)
def matrix(table, shape, inp, out, W, pivots, vec, state, of_a, of_v, of_q, lu):
    """lu = the Newton matrix, and behind it the saddle matrix; leaves STEP in `out`.

    Wants `flow` done at the state: its accelerations and forces are in `inp`.
    """
    n, nr, rows = shape[N], shape[NR], shape[ROWS]
    size = assemble(table, shape, inp, out, W, pivots, vec, state)
    order = lu.shape[1]
    call(table[STEP, 0], table[STEP, 1], out, inp)
    at = 2 * n * n + n * nr + n
    held = n
    for i in range(n):
        for j in range(size):
            lu[order + i, j] = W[i, j]
            lu[i, j] = W[i, j]
        for j in range(n):
            lu[i, j] *= of_a
            lu[i, j] += of_q * out[i * n + j] + of_v * out[n * n + i * n + j]
    for c in range(rows):
        if state[CLOSED + c] == 1:
            for j in range(size):
                lu[order + held, j] = W[held, j]
                lu[held, j] = W[held, j]
            for j in range(n):
                lu[held, j] *= of_a
                lu[held, j] += of_q * out[at + c * n + j] + of_v * out[at + (rows + c) * n + j]
            held += 1


@kernel(
    "void(int64[::1], float64[:, ::1], int64[::1], int64, int64, float64, float64[::1])",
    inner=True,
)
def correct(state, lu, lpiv, n, size, share, r):
    """Overwrite r (n,), a residual in m/s2, by the correction of a1."""
    order = lu.shape[1]
    right = lu[2 * order]
    for i in range(size):
        total = 0.0
        for j in range(n):
            total -= lu[order + i, j] * r[j]
        right[i] = total / share
    lu_solve(lu, size, size - 1, size - 1, lpiv, right)
    for i in range(n):
        r[i] = right[i]


@kernel(
    f"int64({PROBLEM}, float64[:, ::1], float64[:, ::1], int64[::1], int64, float64, float64,"
    " float64[::1], float64, float64[:, ::1], float64[::1], float64[::1], int64)",
    inner=True,
)
def columns(
    table, shape, inp, out, W, pivots, vec, state, A, lu, lpiv, size, w, t, y, h, K, stage, new,
    width,
):  # fmt: skip
    """Carry the sensitivities over the step; `stage` is the state at which F was evaluated, at t.

    The derivative of the step is linear in that of a1: from a1' = a0' one correction is exact.
    """
    n, nx = shape[N], shape[NX]
    block = nx + 1
    am, af, beta, gamma = A[0, ALPHA_M], A[0, ALPHA_F], A[0, BETA], A[0, GAMMA]
    share, past = (1.0 - af, af) if w == 1.0 else (1.0, 0.0)
    status = flow(table, shape, inp, out, W, pivots, vec, state, t, stage, K[SLOPE], 0)
    if status == SUCCESS:
        matrix(table, shape, inp, out, W, pivots, vec, state, (1.0 - am) / (share * w), h * gamma,
               h * h * beta, lu)  # fmt: skip
        if lu_factor(lu, size, size - 1, size - 1, lpiv) != 0:
            return SINGULAR
        status = flow(table, shape, inp, out, W, pivots, vec, state, t, stage, K[SLOPE], 0)
    if status != SUCCESS:
        return status
    call(table[STEP, 0], table[STEP, 1], out, inp)
    r = lu[2 * lu.shape[1] + 1]
    for k in range(width):
        at = (k + 1) * block
        for i in range(n):
            K[END, at + n + i] = K[START, at + n + i]
        at_stage(y, h, w, beta, gamma, n, at, 0, K, vec[2])
        tangent(table, shape, inp, out, W, pivots, vec, state, shape[WRT + k])
        for i in range(n):
            r[i] = K[START, at + n + i] - share * vec[1, i] - past * K[FIRST, at + n + i]
        correct(state, lu, lpiv, n, size, share * w, r)
        for i in range(n):
            K[END, at + n + i] += r[i]
        at_stage(y, h, 1.0, beta, gamma, n, at, at, K, new)
        for i in range(n):
            K[END, at + i] = new[at + n + i]
    return SUCCESS


@kernel(
    f"int64({PROBLEM}, float64[:, ::1], float64[:, ::1], int64[::1], float64, float64[::1],"
    " float64, float64[:, ::1], float64[::1], float64[::1], int64)",
    inner=True,
)
def newmark_step(
    table, shape, inp, out, W, pivots, vec, state, A, lu, lpiv, t, y, h, K, stage, new, width
):  # fmt: skip
    """March y over h; K[END] is y' at the end, K[OFF, 0] the error in units of its tolerance.

    `lu` (2 order + 2, order) with order = n + rows and `lpiv` are workspaces. Where Newton fails
    `new` is NaN, so that the step is taken again, shorter.
    """
    n, nx, rows = shape[N], shape[NX], shape[ROWS]
    block = nx + 1
    am, af, beta, gamma = A[0, ALPHA_M], A[0, ALPHA_F], A[0, BETA], A[0, GAMMA]
    interpolated = A[0, INTERPOLATED] == 1.0
    w = 1.0 if interpolated else 1.0 - af
    share, past = (1.0 - af, af) if interpolated else (1.0, 0.0)
    order = lu.shape[1]
    r = lu[2 * order + 1]
    size = n
    for c in range(rows):
        size += state[CLOSED + c]
    of_d, of_v = h * h * beta, h * gamma
    new[0] = np.nan
    adapts, carries = A[0, ERROR] > 0.0, am != 0.0 or af != 0.0
    if adapts:
        for m in range(block):
            K[TRUE_START, m] = K[START, m]
        if carries:
            # a0, and its derivative by each parameter, are off by what is proportional to the step
            begun, was = A[0, BEGUN], A[0, STEP_SIZE]
            realigned = was > 0.0 and h != was and (t == begun or t == begun + was)
            wide = width if realigned else 0
            status = flow(table, shape, inp, out, W, pivots, vec, state, t, y, K[TRUE_START], wide)
            if status != SUCCESS:
                return status
            for k in range(wide + 1 if realigned else 0):
                for i in range(k * block + n, k * block + 2 * n):
                    true = K[TRUE_START, i]
                    K[START, i] = true + h / was * (K[START, i] - true)
            A[0, BEGUN], A[0, STEP_SIZE] = t, h
    if past != 0.0:  # K[START] carries a0, which is not the acceleration at the start
        status = flow(table, shape, inp, out, W, pivots, vec, state, t, y, K[FIRST], width)
        if status != SUCCESS:
            return status
    else:
        for m in range((width + 1) * block):
            K[FIRST, m] = 0.0
    for i in range(n):
        K[END, n + i] = K[START, n + i]
    stage[nx] = 0.0
    converged, factored, slow, before = False, False, False, 0.0
    for trial in range(int(A[0, MOST])):
        at_stage(y, h, w, beta, gamma, n, 0, 0, K, stage)
        status = flow(table, shape, inp, out, W, pivots, vec, state, t + w * h, stage, K[SLOPE], 0)
        if status != SUCCESS:
            return status
        residual, largest = 0.0, 0.0
        for i in range(n):
            r[i] = (1.0 - am) * K[END, n + i] + am * K[START, n + i] - share * K[SLOPE, n + i]
            r[i] -= past * K[FIRST, n + i]
            residual = max(residual, abs(r[i]))
            largest = max(largest, abs(K[END, n + i]), abs(K[START, n + i]))
        if beta == 0.0 and trial < 2:  # explicit, unless a force depends on a velocity
            if trial == 1 and residual <= 1e-15 * largest:
                converged = True
                break
            for i in range(n):
                K[END, n + i] -= r[i] / (1.0 - am)
            continue
        if slow or not factored:
            matrix(table, shape, inp, out, W, pivots, vec, state, (1.0 - am) / (share * w),
                   of_v, of_d, lu)  # fmt: skip
            if lu_factor(lu, size, size - 1, size - 1, lpiv) != 0:
                return SUCCESS
        correct(state, lu, lpiv, n, size, share * w, r)
        change = 0.0
        for i in range(n):
            K[END, n + i] += r[i]
            change = max(change, abs(r[i]))
        if not np.isfinite(change):
            return SUCCESS
        rate = change / before if factored and before > 0.0 else 1.0
        # what is left is about rate * change, or nothing but rounding
        if rate * change <= 1e-15 * largest or (
            rate > 0.5 and factored and change <= 1e-9 * largest
        ):
            converged = True
            break
        factored, slow, before = True, rate > 0.1 and factored, change
    if not converged:
        return SUCCESS
    at_stage(y, h, 1.0, beta, gamma, n, 0, 0, K, new)
    for i in range(n):
        K[END, i] = new[n + i]
    K[OFF, 0] = 0.0
    if adapts:
        for m in range(block):
            K[TRUE_END, m] = K[END, m]
        if carries:
            status = flow(table, shape, inp, out, W, pivots, vec, state, t + h, new, K[TRUE_END], 0)
            if status != SUCCESS:
                return status
        middle(n, h, y, y[n:], K[TRUE_START, n:], new, new[n:], K[TRUE_END, n:], stage)
        status = flow(
            table, shape, inp, out, W, pivots, vec, state, t + 0.5 * h, stage, K[MIDDLE], 0
        )
        if status != SUCCESS:
            return status
        K[OFF, 0] = A[0, ERROR] * local_error(
            n, h, FAR * h, y, y[n:], K[TRUE_START, n:], K[MIDDLE, n:], K[TRUE_END, n:], new, new[n:]
        )
    if width > 0:
        at_stage(y, h, w, beta, gamma, n, 0, 0, K, stage)
        status = columns(table, shape, inp, out, W, pivots, vec, state, A, lu, lpiv, size, w,
                         t + w * h, y, h, K, stage, new, width)  # fmt: skip
        if status != SUCCESS:
            return status
    for k in range(width + 1):
        new[k * block + nx] = y[k * block + nx]
        K[END, k * block + nx] = 0.0
    if shape[COST] == 1:
        status = flow(table, shape, inp, out, W, pivots, vec, state, t + h, new, K[SLOPE], width)
        if status != SUCCESS:
            return status
        for k in range(nx, (width + 1) * block, block):
            K[END, k] = K[SLOPE, k]
            new[k] += 0.5 * h * (K[START, k] + K[END, k])
    return SUCCESS
