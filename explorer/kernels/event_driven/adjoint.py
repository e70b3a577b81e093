"""The adjoint of the steps that were marched: exact transposition of the Runge-Kutta method.

For y1 = y0 + h sum b_i K_i, K_i = f(Y_i), Y_i = y0 + h sum a_ij K_j, going backwards
Kbar_i = h b_i mu1 + h sum_j a_ji Ybar_j,  Ybar_i = f_x(Y_i)' Kbar_i,  mu0 = mu1 + sum Ybar_i, and
the gradient gains f_rho(Y_i)' Kbar_i; at an event mu- = Xi' mu+ and it gains Pi' mu+. It is the
adjoint ODE mu' = -f_x' mu - g_x' solved by the adjoint method of the pair (Sanz-Serna, SIAM Review
58 (2016) 3), so it agrees with the tangent linear model on the same steps to round-off.

Of f only products with row vectors are formed: of a mechanical system one transposed solution of
the saddle system for each, however many parameters there are. Beside the step goes the transpose of
its embedded error, which the state alone does not tell: of mu, and of what the gradient gains.
"""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import (
    CLOSED,
    COST,
    COST_ROW,
    HELD,
    KIND,
    MODE,
    NP,
    NR,
    NX,
    PROBLEM,
    ROWS,
    STEP,
    TLM,
    WRT,
    N,
    flow,
    restore,
)  # fmt: skip
from explorer.kernels.event_driven.saltation import F_MINUS, F_PLUS, H_RHO, H_T, H_X, R_RHO, R_X, D
from explorer.kernels.jit import call, kernel

__all__ = ["JUMP_ROW", "PLACES", "STEP_ROW", "TIME_ROW", "backward", "transposed_solve"]

STEP_ROW, JUMP_ROW, TIME_ROW = 0, 1, 2
EVERY = 4  # of so many steps the error of one is looked at
BEHIND, PLACES = 13, 14  # the end of a record's row; how many places are told of it


@kernel("void(float64[:, ::1], int64, int64[::1], float64[::1])", inner=True)
def transposed_solve(A, n, pivots, b):
    """Overwrite `b` by the solution of A' x = b, `A` factored by `linalg.lu_factor`, full."""
    for k in range(n):
        total = b[k]
        for j in range(k):
            total -= A[j, k] * b[j]
        b[k] = total / A[k, k]
    for k in range(n - 1, -1, -1):
        total = b[k]
        for i in range(k + 1, n):
            total -= A[i, k] * b[i]
        b[k] = total
        best = pivots[k]
        if best != k:
            b[k], b[best] = b[best], b[k]


@kernel(
    f"void({PROBLEM}, float64[:, ::1], float64[:, ::1], float64[:, ::1])",
    inner=True,
)
def pull_back(table, shape, inp, out, W, pivots, vec, state, weights, bars, gains):
    """Write bar = f_x' weight, and add f_rho' weight to the gains, for each of `weights`.

    weights (k, n_x + 1), the last entry for the running cost, is changed. Wants `flows.flow` done
    at the state, without columns.
    """
    nx, n, nr, rows, p = shape[NX], shape[N], shape[NR], shape[ROWS], shape[NP]
    many = weights.shape[0]
    for r in range(many):
        for j in range(nx + 1):
            bars[r, j] = 0.0
    if shape[COST] == 1:
        row = shape[COST_ROW]
        call(table[row, 0], table[row, 1], out, inp)
        for r in range(many):
            z = weights[r, nx]
            for j in range(nx):
                bars[r, j] = z * out[1 + j]
                weights[r, j] += z * out[1 + nx + j]
            for k in range(p):
                w = shape[WRT + k]
                gains[r, k] += z * out[1 + 2 * nx + w] if w >= 0 else 0.0
    if shape[KIND] == 0:
        row = shape[TLM] + state[MODE]
        call(table[row, 0], table[row, 1], out, inp)
        for r in range(many):
            for i in range(nx):
                for j in range(nx):
                    bars[r, j] += out[nx + i * nx + j] * weights[r, i]
                for k in range(p):
                    w = shape[WRT + k]
                    if w >= 0:
                        gains[r, k] += out[nx + nx * nx + i * nr + w] * weights[r, i]
        return
    size = n + state[HELD]
    s = vec[1]
    call(table[STEP, 0], table[STEP, 1], out, inp)
    for r in range(many):
        for i in range(size):
            s[i] = weights[r, n + i] if i < n else 0.0
        transposed_solve(W, size, pivots, s)
        for j in range(n):
            bars[r, n + j] += weights[r, j]
        held = n
        for i in range(n + rows):  # the rows of R, then those of A that are held
            if i >= n and state[CLOSED + i - n] == 0:
                continue
            if i < n:
                row, at, count, force = i, 0, n, s[i]
            else:
                row, at, count, force = i - n, 2 * n * n + n * nr + n, rows, s[held]
                held += 1
            by_v, by_rho = at + count * n, at + 2 * count * n
            for j in range(n):
                bars[r, j] -= force * out[at + row * n + j]
                bars[r, n + j] -= force * out[by_v + row * n + j]
            for k in range(p):
                w = shape[WRT + k]
                gains[r, k] -= force * out[by_rho + row * nr + w] if w >= 0 else 0.0


@kernel(
    "float64(int64[::1], float64[::1], int64[::1], float64[:, ::1], float64, boolean)", inner=True
)
def leap(shape, row, lay, ends, waiting, jumps):
    """Carry ends[0] = mu and ends[1] = gradient over an event; return the weight of its time.

    mu- = h_x' mu+ and the gradient gains h_rho' mu+. What the time of the event weighs, with
    `waiting` from those that are chained to it, joins mu by dt/drho = -(r_x S- + r_rho) / D; of a
    chained one it waits for its cause. Without `jumps` the cost ends there, before the reset. The
    row is a record's, and behind it, from lay[BEHIND] on: the weight of its time in the cost,
    whether it is chained, mu on both sides and what the gradient gains, which are written.
    """
    nx, nr, p = shape[NX], shape[NR], shape[NP]
    mu, gradient, block, at = ends[0], ends[1], nx + 1, lay[BEHIND]
    minus, plus, gains = at + 2, at + 2 + block, at + 2 + 2 * block
    for i in range(block):
        row[plus + i] = mu[i]
    for k in range(p):
        row[gains + k] = 0.0
    waiting += row[at]
    if jumps:
        after = row[plus:]
        waiting += (row[lay[F_MINUS] + nx] - row[lay[F_PLUS] + nx]) * after[nx]
        for j in range(nx):
            mu[j] = 0.0
        for i in range(nx):
            kick = row[lay[F_PLUS] + i] - row[lay[H_T] + i]
            for j in range(nx):
                h = row[lay[H_X] + i * nx + j]
                kick -= h * row[lay[F_MINUS] + j]
                mu[j] += h * after[i]
            waiting -= kick * after[i]
            for k in range(p):
                w = shape[WRT + k]
                row[gains + k] += row[lay[H_RHO] + i * nr + w] * after[i] if w >= 0 else 0.0
    if row[at + 1] == 0.0:
        rate, waiting = -waiting / row[D], 0.0
        for i in range(nx):
            mu[i] += rate * row[lay[R_X] + i]
        for k in range(p):
            w = shape[WRT + k]
            row[gains + k] += rate * row[lay[R_RHO] + w] if w >= 0 else 0.0
    for k in range(p):
        gradient[k] += row[gains + k]
    for i in range(block):
        row[minus + i] = mu[i]
    return waiting


@kernel("int64(int64[:, ::1], int64)", inner=True)
def counted(walk, r):
    """Return for how many steps the error of the one in row `r` stands, 0: it is not looked at.

    Every fourth one; and those beside an event, where a formula may have a kink.
    """
    last = walk.shape[0] - 1
    what = walk.shape[1] - 2
    if (r < last and walk[r + 1, what] != STEP_ROW) or (r > 0 and walk[r - 1, what] != STEP_ROW):
        return 1
    return EVERY if r % EVERY == 0 else 0


@kernel("void(float64[:, ::1], float64[:, ::1], float64[:, ::1], int64, int64, int64)", inner=True)
def account(ends, bars, gains, nx, p, times):
    """Add what a step does to mu = ends[0] and gradient = ends[1].

    ends[2] gains its errors so many `times`; with 0 they are not known. `bars` has three rows for
    each stage and `gains` three in all: of the step itself and of its two embedded errors, which
    are put together as the pair does. The error of mu, relative in the scale ends[3], is the last.
    """
    mu, errors, scale, top, bottom = ends[0], ends[2], ends[3], 0.0, 0.0
    for m in range(nx + 1):
        change, e1, e2 = 0.0, 0.0, 0.0
        for i in range(0, bars.shape[0] - 3, 3):  # the end of a step is a stage of its errors only
            change += bars[i, m]
        mu[m] += change
        if times == 0:
            continue
        for i in range(0, bars.shape[0], 3):
            e1 += bars[i + 1, m]
            e2 += bars[i + 2, m]
        bottom += scale[m] * abs(mu[m])
        if e1 != 0.0:
            top += scale[m] * e1 * e1 / np.sqrt(e1 * e1 + 0.01 * e2 * e2)
    errors[p] += times * top / bottom if bottom > 0.0 else 0.0
    for k in range(p):
        ends[1, k] += gains[0, k]
        e1, e2 = gains[1, k], gains[2, k]
        if times > 0 and e1 != 0.0:
            errors[k] += times * e1 * e1 / np.sqrt(e1 * e1 + 0.01 * e2 * e2)


@kernel(f"int64({PROBLEM}, float64[:, ::1], float64[:, ::1], int64[:, ::1], float64[:, ::1])")
def backward(table, shape, inp, out, W, pivots, vec, state, steps, record, walk, work):
    """Carry work[0] = mu (n_x + 1,), its last entry for the running cost, from the end to t = 0.

    Parameters
    ----------
    table .. state : the problem, its `inp`, `W` and `pivots` one for each stage, one behind the
        other; behind its own `shape` has the places in a row of the record
    steps : as recorded; record : the events, see `leap`
    walk : what is gone back through, one row each: the mode and held rows of a step as `restore`
        takes them, then what it is (STEP_ROW, JUMP_ROW or TIME_ROW) and its number
    work : rows mu, gradient (p,), errors (p + 1,), scale (n_x + 1,) as `account` takes them; then A
        (s + 1), c, the two rows of E; and 5 (s + 1) + 6 more. The end of a step is its last stage.
    """
    nx, p, s = shape[NX], shape[NP], (work.shape[0] - 19) // 6
    block, lay, many = nx + 1, shape[shape.size - PLACES :], s + 1
    mu, A, c, E = work[0], work[4 : 5 + s], work[5 + s], work[6 + s : 8 + s]
    K = work[8 + s : 8 + s + many]
    stages = work[8 + s + many : 8 + s + 2 * many]
    bars = work[8 + s + 2 * many : 8 + s + 5 * many]
    weights, gains = work[8 + s + 5 * many : 11 + s + 5 * many], work[11 + s + 5 * many :]
    long, order, waiting = inp.size // many, W.shape[1], 0.0
    for r in range(walk.shape[0] - 1, -1, -1):
        what, i = walk[r, walk.shape[1] - 2], walk[r, walk.shape[1] - 1]
        if what != STEP_ROW:
            waiting = leap(shape, record[i], lay, work, waiting, what == JUMP_ROW)
            continue
        restore(shape, state, walk, r)
        t, h, times = steps[i, 0], steps[i, 1], counted(walk, r)
        sets, used = (3, many) if times > 0 else (1, s)
        for stage in range(used):
            y = stages[stage]
            for m in range(block):
                total = 0.0
                for j in range(stage):
                    total += A[stage, j] * K[j, m]
                y[m] = steps[i, 2 + m] + h * total
            status = flow(
                table, shape, inp[stage * long : (stage + 1) * long], out,
                W[stage * order : (stage + 1) * order], pivots[stage * order :], vec, state,
                t + c[stage] * h, y, K[stage], 0,
            )  # fmt: skip
            if status != SUCCESS:
                return status
        gains[:, :] = 0.0
        for stage in range(used - 1, -1, -1):
            for e in range(sets):
                of_mu = E[e - 1, stage] if e > 0 else A[s, stage] if stage < s else 0.0
                for m in range(block):
                    total = of_mu * mu[m]
                    for j in range(stage + 1, many if e > 0 else s):
                        total += A[j, stage] * bars[3 * j + e, m]
                    weights[e, m] = h * total  # Kbar
            pull_back(
                table, shape, inp[stage * long : (stage + 1) * long], out,
                W[stage * order : (stage + 1) * order], pivots[stage * order :], vec, state,
                weights[:sets], bars[3 * stage : 3 * stage + 3], gains,
            )  # fmt: skip
        account(work, bars, gains, nx, p, times)
    return SUCCESS
