"""The Newmark family and generalised-alpha for M a = F with constant M, F_q, F_v.

The equations of `explorer.kernels.newmark`, where one iteration is exact and A is the same in
every step of the same size: a step is one evaluation of the force at the state with a_1 = a_0 and
one solution with factors that were made outside. Products run over entries, never over zeros.
"""

import numpy as np

from explorer.codes import NOT_FINITE, SUCCESS
from explorer.kernels.equations import fill, force
from explorer.kernels.factors import FACTORS, solve_factored
from explorer.kernels.jit import kernel
from explorer.kernels.newmark import (
    ALPHA_F,
    ERROR_CONSTANT,
    ERROR_TOL,
    FULL,
    H_MAX,
    INTERPOLATED,
    STEP,
    T_END,
    UNKNOWN,
    H,
)
from explorer.kernels.steps import following, next_step

__all__ = ["UNFACTORED", "run"]

UNFACTORED = -2  # factors for the step knobs[STEP] are wanted: make them and call again


@kernel(
    "int64(int64[:, ::1], float64[::1], int64[::1], float64[::1], float64[::1],"
    " int64[::1], int64[::1], float64[::1], int64[::1], int64[::1], float64[::1],"
    f" {FACTORS}, float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[::1], int64[::1])"
)
def run(
    table, knobs, options, c, inp, lin_ptr, lin_col, lin_val, mass_ptr, mass_col, mass_val,
    factors, t, q, v, a, residuals, vec, out, rows,
):  # fmt: skip
    """March from row rows[0] to t_end or the last row; return a status, last row in rows[0].

    Parameters
    ----------
    table : (k, 2) addresses; the first row is the force
    knobs : (9,) see `explorer.kernels.newmark`, and the step for which `factors` hold
    options, c : see there
    inp : (1 + 2 n + p,) input vector [t, q, v, rho]
    lin_ptr, lin_col, lin_val : CSR rows added to F as a matrix times (q, v)
    mass_ptr, mass_col, mass_val : CSR rows of M
    factors : of A, see `explorer.kernels.factors`
    t, q, v, a, residuals : records; row rows[0] is the start; residuals[:, 0] the local error in m
    vec, out : (3, n), (outputs,) workspaces
    """
    n = q.shape[1]
    t_end, af = knobs[T_END], knobs[ALPHA_F]
    interpolated, unknown = options[INTERPOLATED] == 1, options[UNKNOWN]
    even, tol = knobs[ERROR_TOL] <= 0.0, knobs[ERROR_TOL]
    F0, F, x = vec[0], vec[1], vec[2]
    # where F is evaluated the new state has the weight w, and F has the weight share in r
    w = 1.0 if interpolated else 1.0 - af
    share = 1.0 - af if interpolated else 1.0
    old = af if interpolated else 0.0
    row, h, step = rows[0], knobs[H], knobs[STEP]
    c_d, c_v, c_a = (
        c[0] * step**unknown, c[1] * step ** (unknown - 1), c[2] * step ** (unknown - 2),
    )  # fmt: skip
    if interpolated:
        fill(inp, t[row], q[row], v[row], n)
        force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F0)
    while t[row] < t_end:
        knobs[H] = h
        if row + 1 >= t.size:
            return FULL
        wanted, t1 = next_step(t[row], h, t[0], t_end, row, even)
        if wanted != step:
            knobs[STEP] = wanted
            return UNFACTORED
        new = row + 1
        inp[0] = w * t1 + (1.0 - w) * t[row]
        for i in range(n):
            ai, vi, qi = a[row, i], v[row, i], q[row, i]
            dv = step * ai
            dq = step * (vi + 0.5 * dv)
            q[new, i] = qi + dq
            v[new, i] = vi + dv
            inp[1 + i] = qi + w * dq
            inp[1 + n + i] = vi + w * dv
        force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F)
        for i in range(n):
            total = share * F[i]
            if interpolated:
                total += old * F0[i]
            for k in range(mass_ptr[i], mass_ptr[i + 1]):
                total -= mass_val[k] * a[row, mass_col[k]]
            x[i] = total
        solve_factored(factors, n, x)
        most = 0.0
        for i in range(n):
            da = c_a * x[i]
            q[new, i] += c_d * x[i]
            v[new, i] += c_v * x[i]
            a[new, i] = a[row, i] + da
            most = max(most, abs(da))
            if not abs(da) < np.inf:
                return NOT_FINITE
        local = knobs[ERROR_CONSTANT] * step * step * most
        proposed = following(local, tol, step, h, knobs[H_MAX], t1, t_end, even)
        h = abs(proposed)
        if proposed < 0.0:
            continue
        t[new] = t1
        residuals[new, 0] = local
        row = new
        rows[0] = row
        if interpolated:
            fill(inp, t1, q[row], v[row], n)
            force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F0)
    return SUCCESS
