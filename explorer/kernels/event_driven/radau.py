"""A step of Radau IIA, order 5, for stiff flows (Hairer, Wanner, Solving ODEs II, IV.8).

Z_i = h sum_j a_ij f(y + Z_j) by simplified Newton with the matrix I - h A x J at the start of the
step, the same for the state and for every sensitivity column (each is a solution of the same
linearised flow); the running cost is a quadrature. Error: (mu / h I - J) err = f(y) + E'Z / h.
"""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import NX, PROBLEM, flow
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve

MU = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
ERROR = (-(13 + 7 * 6**0.5) / 3, (-13 + 7 * 6**0.5) / 3, -1 / 3)
MOST = 12
# of its own size what Newton may leave of a component, and of the tolerance
ROUND_OFF, SHARE = 1e-11, 1e-2


@kernel(
    f"int64({PROBLEM}, float64[:, ::1], float64[::1], int64, float64[:, ::1], int64[::1], float64,"
    " float64[::1], float64, float64[:, ::1], float64[::1], float64[::1], int64)",
    inner=True,
)
def radau_step(
    table, shape, inp, out, W, pivots, vec, state, A, c, s, lu, lpiv, t, y, h, K, stage, new, width
):  # fmt: skip
    """March y over h. K[1..3]: slopes of the stages, the last that of the end; K[4]: error / h.

    Rows of `lu`: 3 n_x of the Newton matrix, n_x of the error's, n_x of J, one vector, then rtol
    and atol. Newton goes on until round-off; what it leaves is judged beside the tolerance of each
    component (forces may cancel, so no component tells by itself to what it rounds). Where it fails
    `new` is NaN, so that the step is taken again, shorter.
    """
    nx = shape[NX]
    block = nx + 1
    size = (width + 1) * block
    J = lu[4 * nx : 5 * nx]
    r = lu[5 * nx]
    rtol, atol = lu[5 * nx + 1, 0], lu[5 * nx + 1, 1]
    first = lpiv[: 3 * nx]
    second = lpiv[3 * nx :]
    for m in range(nx):
        new[m] = y[m]
    for j in range(nx):  # by differences: it only has to make Newton converge
        d = 1e-7 * max(abs(y[j]), 1e-3)
        new[j] = y[j] + d
        status = flow(table, shape, inp, out, W, pivots, vec, state, t, new, stage, 0)
        if status != SUCCESS:
            return status
        new[j] = y[j]
        for m in range(nx):
            J[m, j] = (stage[m] - K[0, m]) / d
    for i in range(3):
        for j in range(3):
            for m in range(nx):
                for n in range(nx):
                    lu[i * nx + m, j * nx + n] = -h * A[i + 1, j + 1] * J[m, n]
                    if i == j and m == n:
                        lu[i * nx + m, j * nx + n] += 1.0
    error = lu[3 * nx : 4 * nx]
    for m in range(nx):
        for n in range(nx):
            error[m, n] = (MU / h if m == n else 0.0) - J[m, n]
    if lu_factor(lu, 3 * nx, 3 * nx - 1, 3 * nx - 1, first) != 0:
        new[0] = np.nan
        return SUCCESS
    if lu_factor(error, nx, nx - 1, nx - 1, second) != 0:
        new[0] = np.nan
        return SUCCESS

    # K[5..7] hold Z
    for i in range(3):
        for m in range(size):
            K[5 + i, m] = 0.0
    before, change, off = np.inf, np.inf, np.inf
    for iteration in range(MOST):
        for i in range(3):
            for m in range(size):
                stage[m] = y[m] + K[5 + i, m]
            status = flow(
                table, shape, inp, out, W, pivots, vec, state, t + c[i + 1] * h, stage, K[1 + i],
                width,
            )  # fmt: skip
            if status != SUCCESS:
                return status
        change, off = 0.0, 0.0
        for k in range(width + 1):
            at = k * block
            for i in range(3):
                for m in range(nx):
                    total = -K[5 + i, at + m]
                    for j in range(3):
                        total += h * A[i + 1, j + 1] * K[1 + j, at + m]
                    r[i * nx + m] = total
            lu_solve(lu, 3 * nx, 3 * nx - 1, 3 * nx - 1, first, r)
            for i in range(3):
                total = 0.0
                for j in range(3):
                    total += h * A[i + 1, j + 1] * K[1 + j, at + nx]
                K[5 + i, at + nx] = total
                for m in range(nx):
                    K[5 + i, at + m] += r[i * nx + m]
                    moved, part = abs(r[i * nx + m]), abs(y[at + m]) + abs(K[5 + i, at + m])
                    if not moved < np.inf:  # max() would swallow a NaN
                        new[0] = np.nan
                        return SUCCESS
                    change = max(change, moved / (part + 1e-6))
                    off = max(off, moved / (rtol * part + atol))
        good = change < ROUND_OFF or off < SHARE
        if change < 1e-14 or (iteration > 2 and change > 0.5 * before and good):
            break
        before = change
    if not (change < ROUND_OFF or off < SHARE):
        new[0] = np.nan
        return SUCCESS
    for k in range(width + 1):
        at = k * block
        for m in range(nx):
            total = K[0, at + m]
            for i in range(3):
                total += ERROR[i] * K[5 + i, at + m] / h
            r[m] = total
        lu_solve(error, nx, nx - 1, nx - 1, second, r)
        for m in range(nx):
            K[4, at + m] = r[m] / h
        K[4, at + nx] = 0.0
    for m in range(size):
        new[m] = y[m] + K[7, m]
    return flow(table, shape, inp, out, W, pivots, vec, state, t + h, new, K[3], width)
