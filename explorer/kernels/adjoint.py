"""The adjoint of the steps that were marched: exact transposition of the Runge-Kutta method.

For y1 = y0 + h sum b_i K_i, K_i = f(Y_i), Y_i = y0 + h sum a_ij K_j, going backwards
Kbar_i = h b_i mu1 + h sum_j a_ji Ybar_j,  Ybar_i = f_x(Y_i)' Kbar_i,  mu0 = mu1 + sum Ybar_i, and
the gradient gains f_rho(Y_i)' Kbar_i. It is the adjoint ODE mu' = -f_x' mu - g_x' solved by the
adjoint method of the pair (Sanz-Serna, SIAM Review 58 (2016) 3), so it agrees with the tangent
linear model on the same steps to round-off.

Of f only products with one row vector are formed: of a mechanical system one transposed solution of
the saddle system, however many parameters there are.
"""

from explorer.codes import SUCCESS
from explorer.kernels.flows import (
    CLOSED,
    COST,
    HELD,
    KIND,
    MODE,
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
from explorer.kernels.jit import call, kernel

__all__ = ["backward", "transposed_solve"]


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


@kernel(f"void({PROBLEM}, int64, float64[::1], float64[::1], float64[::1])", inner=True)
def pull_back(table, shape, inp, out, W, pivots, vec, state, p, weight, bar, gradient):
    """Write bar = f_x' weight, and add f_rho' weight to the gradient.

    weight (n_x + 1,), its last entry for the running cost, is changed. Wants `flows.flow` done at
    the state, without columns.
    """
    nx, n, nr, rows = shape[NX], shape[N], shape[NR], shape[ROWS]
    first = WRT + nx  # behind the columns of the start values
    for j in range(nx):
        bar[j] = 0.0
    if shape[COST] == 1:  # its outputs are the last that were written
        z = weight[nx]
        for j in range(nx):
            bar[j] = z * out[1 + j]
            weight[j] += z * out[1 + nx + j]
        for k in range(p):
            w = shape[first + k]
            gradient[k] += z * out[1 + 2 * nx + w] if w >= 0 else 0.0
    if shape[KIND] == 0:
        row = shape[TLM] + state[MODE]
        call(table[row, 0], table[row, 1], out, inp)
        for i in range(nx):
            for j in range(nx):
                bar[j] += out[nx + i * nx + j] * weight[i]
            for k in range(p):
                w = shape[first + k]
                gradient[k] += out[nx + nx * nx + i * nr + w] * weight[i] if w >= 0 else 0.0
        return
    size = n + state[HELD]
    s = vec[1]
    for i in range(size):
        s[i] = weight[n + i] if i < n else 0.0
    transposed_solve(W, size, pivots, s)
    call(table[STEP, 0], table[STEP, 1], out, inp)
    for j in range(n):
        bar[n + j] += weight[j]
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
            bar[j] -= force * out[at + row * n + j]
            bar[n + j] -= force * out[by_v + row * n + j]
        for k in range(p):
            w = shape[first + k]
            gradient[k] -= force * out[by_rho + row * nr + w] if w >= 0 else 0.0


@kernel(
    f"int64({PROBLEM}, float64[:, ::1], float64[::1], int64, float64[:, ::1], int64[:, ::1],"
    " int64, int64, int64, float64[::1], float64[::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], float64[::1], float64[::1])"
)
def backward(
    table, shape, inp, out, W, pivots, vec, state, A, c, s, steps, step_state, first, last, p, mu,
    gradient, K, bars, slopes, y, dy,
):  # fmt: skip
    """Carry mu (n_x + 1,), the last entry for the running cost, from step `last` - 1 to `first`.

    `shape` has n_x columns of start values, then the p parameters. K, bars (s, n_x + 1), slopes
    (s + 1, n_x + 1) and y, dy (n_x + 1,) are workspaces; `gradient` (p,) gains.
    """
    nx = shape[NX]
    block = nx + 1
    for i in range(last - 1, first - 1, -1):
        restore(shape, state, step_state, i)
        t, h = steps[i, 0], steps[i, 1]
        for stage in range(s):
            for m in range(block):
                total = 0.0
                for j in range(stage):
                    total += A[stage, j] * K[j, m]
                slopes[stage, m] = steps[i, 2 + m] + h * total
                y[m] = slopes[stage, m]
            status = flow(
                table, shape, inp, out, W, pivots, vec, state, t + c[stage] * h, y, K[stage], 0
            )
            if status != SUCCESS:
                return status
        for m in range(nx):
            slopes[s, m] = 0.0
        for stage in range(s - 1, -1, -1):
            for m in range(block):
                y[m] = slopes[stage, m]
            status = flow(table, shape, inp, out, W, pivots, vec, state, t + c[stage] * h, y, dy, 0)
            if status != SUCCESS:
                return status
            for m in range(block):
                total = A[s, stage] * mu[m]
                for j in range(stage + 1, s):
                    total += A[j, stage] * bars[j, m]
                y[m] = h * total  # Kbar
            pull_back(table, shape, inp, out, W, pivots, vec, state, p, y, bars[stage], gradient)
            bars[stage, nx] = 0.0
            for m in range(nx):
                slopes[s, m] += bars[stage, m]
        for m in range(nx):
            mu[m] += slopes[s, m]
    return SUCCESS
