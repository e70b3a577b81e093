"""The adjoint of the steps that were marched: exact transposition of the Runge-Kutta method.

For y1 = y0 + h sum b_i K_i, K_i = f(Y_i), Y_i = y0 + h sum a_ij K_j, going backwards
Kbar_i = h b_i mu1 + h sum_j a_ji Ybar_j,  Ybar_i = f_x(Y_i)' Kbar_i,  mu0 = mu1 + sum Ybar_i, and
the gradient gains f_rho(Y_i)' Kbar_i. It is the adjoint ODE mu' = -f_x' mu - g_x' solved by the
adjoint method of the pair (Sanz-Serna, SIAM Review 58 (2016) 3), so it agrees with the tangent
linear model on the same steps to round-off.
"""

from explorer.codes import SUCCESS
from explorer.kernels.flows import NX, PROBLEM, flow, restore
from explorer.kernels.jit import kernel

__all__ = ["backward"]


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

    `shape` has n_x columns of start values (the unit matrix gives f_x), then the p parameters.
    K (s, n_x + 1), bars and slopes (s, (n_x + 1)) and y, dy are workspaces; `gradient` (p,) gains.
    """
    nx = shape[NX]
    block = nx + 1
    width = nx + p
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
            for k in range(width):
                for m in range(block):
                    y[(k + 1) * block + m] = 1.0 if k < nx and k == m else 0.0
            status = flow(
                table, shape, inp, out, W, pivots, vec, state, t + c[stage] * h, y, dy, width
            )
            if status != SUCCESS:
                return status
            for m in range(block):
                total = A[s, stage] * mu[m]
                for j in range(stage + 1, s):
                    total += A[j, stage] * bars[j, m]
                slopes[stage, m] = h * total  # Kbar
            for k in range(width):
                total = 0.0
                for m in range(block):
                    total += slopes[stage, m] * dy[(k + 1) * block + m]
                if k < nx:
                    bars[stage, k] = total
                else:
                    gradient[k - nx] += total
            bars[stage, nx] = 0.0
            for m in range(nx):
                slopes[s, m] += bars[stage, m]
        for m in range(nx):
            mu[m] += slopes[s, m]
    return SUCCESS
