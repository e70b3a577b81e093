"""The Newmark family and generalised-alpha for M a = F with constant M, F_q, F_v.

The equations of `explorer.kernels.time_stepping.newmark`, where one iteration is exact and A is the
same in every step of the same size: a step is one evaluation of the force at the state with a_1 =
a_0 and one solution with factors that were made outside. Products run over entries, never over
zeros.
"""

import numpy as np

from explorer.codes import NOT_FINITE, SUCCESS
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.factored_solve import FACTORS, solve_factored
from explorer.kernels.model.inputs import fill, force
from explorer.kernels.time_stepping.newmark import (
    ALPHA_F,
    ALPHA_M,
    ERROR_TOL,
    FULL,
    H_MAX,
    INTERPOLATED,
    ORDER,
    STEP,
    T_END,
    UNKNOWN,
    H,
)
from explorer.kernels.time_stepping.newmark_error import following, local_error, middle
from explorer.kernels.time_stepping.time_grid import next_step

__all__ = ["UNFACTORED", "run"]

UNFACTORED = -2  # factors for the step knobs[STEP] are wanted: make them and call again
TRUE = 3  # row of `vec` that holds M^-1 F at the start of the step


@kernel(
    f"void({FACTORS}, int64[::1], int64[::1], float64[::1], int64, float64, float64[::1],"
    " float64[::1])",
    inline=True,
)
def to_equilibrium(factors, ptr, col, val, n, weight, F, a):
    """Correct accelerations by M^-1 (F - M a), A in the place of weight M: see the other kernel."""
    for i in range(n):
        total = F[i]
        for k in range(ptr[i], ptr[i + 1]):
            total -= val[k] * a[col[k]]
        F[i] = weight * total
    solve_factored(factors, n, F)
    for i in range(n):
        a[i] += F[i]


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
    knobs : (8,) see `explorer.kernels.time_stepping.newmark`, and the step for which `factors` hold
    options, c : see there
    inp : (1 + 2 n + p,) input vector [t, q, v, rho]
    lin_ptr, lin_col, lin_val : CSR rows added to F as a matrix times (q, v)
    mass_ptr, mass_col, mass_val : CSR rows of M
    factors : of A, see `explorer.kernels.linear_algebra.factored_solve`
    t, q, v, a, residuals : records; row rows[0] is the start; residuals[:, 0] the local error in m
    vec, out : (7, n), (outputs,) workspaces; vec[TRUE] is M^-1 F at the start
    """
    n = q.shape[1]
    t_end, am, af = knobs[T_END], knobs[ALPHA_M], knobs[ALPHA_F]
    interpolated, unknown = options[INTERPOLATED] == 1, options[UNKNOWN]
    even = knobs[ERROR_TOL] <= 0.0
    F0, F, x, true0, true1, centre, moved = (
        vec[0], vec[1], vec[2], vec[TRUE], vec[4], vec[5], vec[6],
    )  # fmt: skip
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
        a0 = a[row]
        if am != af and row > 0:
            last = t[row] - t[row - 1]
            if abs(step - last) > 1e-9 * last:
                for i in range(n):
                    moved[i] = a0[i] + (am - af) * (step - last) / last * (a0[i] - a[row - 1, i])
                a0 = moved
        inp[0] = w * t1 + (1.0 - w) * t[row]
        for i in range(n):
            ai, vi, qi = a0[i], v[row, i], q[row, i]
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
                total -= mass_val[k] * a0[mass_col[k]]
            x[i] = total
        solve_factored(factors, n, x)
        for i in range(n):
            da = c_a * x[i]
            q[new, i] += c_d * x[i]
            v[new, i] += c_v * x[i]
            a[new, i] = a0[i] + da
            if not abs(da) < np.inf:
                return NOT_FINITE
        if not even:
            for i in range(n):
                true1[i] = a[new, i]
            if am != 0.0 or af != 0.0:
                fill(inp, t1, q[new], v[new], n)
                force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F)
                to_equilibrium(factors, mass_ptr, mass_col, mass_val, n, (1.0 - am) * c_a, F, true1)
            inp[0] = t[row] + 0.5 * step
            middle(n, step, q[row], v[row], true0, q[new], v[new], true1, inp[1:])
            force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F)
            for i in range(n):
                centre[i] = 0.5 * (true0[i] + true1[i])
            to_equilibrium(factors, mass_ptr, mass_col, mass_val, n, (1.0 - am) * c_a, F, centre)
            local = local_error(
                n, step, t_end, q[row], v[row], true0, centre, true1, q[new], v[new]
            )
            proposed = following(
                local, knobs[ERROR_TOL], options[ORDER], step, h, knobs[H_MAX], t1, t_end
            )
            h = abs(proposed)
            if proposed < 0.0:
                continue
            residuals[new, 0] = local
            for i in range(n):
                true0[i] = true1[i]
                a[row, i] = a0[i]
        t[new] = t1
        row = new
        rows[0] = row
        if interpolated:
            fill(inp, t1, q[row], v[row], n)
            force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F0)
    return SUCCESS
