"""A step of Radau IIA, order 5, for stiff flows (Hairer, Wanner, Solving ODEs II, IV.8).

Z_i = h sum_j a_ij f(y + Z_j) by simplified Newton with the matrix I - h A x J at the start of the
step, the same for the state and for every sensitivity column (each is a solution of the same
linearised flow); the running cost is a quadrature. Error: (mu / h I - J) err = f(y) + E'Z / h.

Newton's method goes on until round-off; what it leaves is judged beside the tolerance of each
component (forces may cancel, so no component tells by itself to what it rounds).

Statuses: SUCCESS, also where Newton's method fails: then the new state is NaN, and the step is
taken again, shorter; else that of the flow.
"""

from typing import NamedTuple

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import flow
from explorer.kernels.event_driven.manifold import constrained, project
from explorer.kernels.event_driven.structures import Method, Problem, Step
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

MU = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
ERROR = (-(13 + 7 * 6**0.5) / 3, (-13 + 7 * 6**0.5) / 3, -1 / 3)
MOST = 12
# of its own size what Newton may leave of a component, and of the tolerance
ROUND_OFF, SHARE = 1e-11, 1e-2
# rows of K: slopes of the stages from STAGE on, the last that of the end; error / h; Z
STAGE, OFF, Z = 1, 4, 5


class Newton(NamedTuple):
    """What the simplified Newton method works on."""

    matrix: Matrix  # (3 n_x, 3 n_x) I - h A x J, or its factors
    error: Matrix  # (n_x, n_x) mu / h I - J, or its factors
    J: Matrix  # (n_x, n_x) f_x
    r: Vector  # (3 n_x,) residual and correction
    pivots: Integers  # (3 n_x,)
    error_pivots: Integers  # (n_x,)


@kernel(inline=True)
def newton_parts(method: Method, nx: int) -> Newton:
    """Name the parts of the workspace."""
    memory, pivots = method.newton, method.pivots
    return Newton(
        memory[: 3 * nx],
        memory[3 * nx : 4 * nx],
        memory[4 * nx : 5 * nx],
        memory[5 * nx],
        pivots[: 3 * nx],
        pivots[3 * nx :],
    )


@kernel(inner=True)
def jacobian(problem: Problem, step: Step, J: Matrix, t: float, y: Vector) -> int:
    """Write f_x at (t, y) by differences: it only has to make Newton's method converge."""
    nx, K, stage, new = problem.sizes.n_x, step.K, step.stage, step.new
    for m in range(nx):
        new[m] = y[m]
    for j in range(nx):
        d = 1e-7 * max(abs(y[j]), 1e-3)
        new[j] = y[j] + d
        status = flow(problem, t, new, stage, 0)
        if status != SUCCESS:
            return status
        new[j] = y[j]
        for m in range(nx):
            J[m, j] = (stage[m] - K[0, m]) / d
    return SUCCESS


@kernel(inner=True)
def factor(newton: Newton, A: Matrix, h: float, nx: int) -> bool:
    """Write the two matrices and factor them; return whether neither is singular."""
    lu, error, J = newton.matrix, newton.error, newton.J
    for i in range(3):
        for j in range(3):
            for m in range(nx):
                for n in range(nx):
                    lu[i * nx + m, j * nx + n] = -h * A[i + 1, j + 1] * J[m, n]
                    if i == j and m == n:
                        lu[i * nx + m, j * nx + n] += 1.0
    for m in range(nx):
        for n in range(nx):
            error[m, n] = (MU / h if m == n else 0.0) - J[m, n]
    if lu_factor(lu, 3 * nx, 3 * nx - 1, 3 * nx - 1, newton.pivots) != 0:
        return False
    return lu_factor(error, nx, nx - 1, nx - 1, newton.error_pivots) == 0


@kernel(inner=True)
def correct(
    method: Method, newton: Newton, K: Matrix, y: Vector, h: float, nx: int, width: int
) -> tuple[float, float]:
    """Correct Z; return the largest change, relative to its component and to its tolerance.

    Infinity: a change is not finite.
    """
    A, r, rtol, atol = method.A, newton.r, method.rtol, method.atol
    block = nx + 1
    change, off = 0.0, 0.0
    for k in range(width + 1):
        at = k * block
        for i in range(3):
            for m in range(nx):
                total = -K[Z + i, at + m]
                for j in range(3):
                    total += h * A[i + 1, j + 1] * K[STAGE + j, at + m]
                r[i * nx + m] = total
        lu_solve(newton.matrix, 3 * nx, 3 * nx - 1, 3 * nx - 1, newton.pivots, r)
        for i in range(3):
            total = 0.0
            for j in range(3):
                total += h * A[i + 1, j + 1] * K[STAGE + j, at + nx]
            K[Z + i, at + nx] = total
            for m in range(nx):
                K[Z + i, at + m] += r[i * nx + m]
                moved, part = abs(r[i * nx + m]), abs(y[at + m]) + abs(K[Z + i, at + m])
                if not moved < np.inf:  # max() would swallow a NaN
                    return np.inf, np.inf
                change = max(change, moved / (part + 1e-6))
                off = max(off, moved / (rtol * part + atol))
    return change, off


@kernel(inner=True)
def estimate(newton: Newton, K: Matrix, h: float, nx: int, width: int) -> None:
    """Write the error over h to K[OFF]."""
    r = newton.r
    for k in range(width + 1):
        at = k * (nx + 1)
        for m in range(nx):
            total = K[0, at + m]
            for i in range(3):
                total += ERROR[i] * K[Z + i, at + m] / h
            r[m] = total
        lu_solve(newton.error, nx, nx - 1, nx - 1, newton.error_pivots, r)
        for m in range(nx):
            K[OFF, at + m] = r[m] / h
        K[OFF, at + nx] = 0.0


@kernel(inner=True)
def radau_step(
    problem: Problem, method: Method, step: Step, t: float, y: Vector, h: float, width: int
) -> int:
    """March y over h: its end goes to `new`, its slopes and error to K."""
    nx, K, stage, new, c = problem.sizes.n_x, step.K, step.stage, step.new, method.c
    size = (width + 1) * (nx + 1)
    newton = newton_parts(method, nx)
    status = jacobian(problem, step, newton.J, t, y)
    if status != SUCCESS:
        return status
    if not factor(newton, method.A, h, nx):
        new[0] = np.nan
        return SUCCESS
    for i in range(3):
        for m in range(size):
            K[Z + i, m] = 0.0
    before, change, off = np.inf, np.inf, np.inf
    for iteration in range(MOST):
        for i in range(3):
            for m in range(size):
                stage[m] = y[m] + K[Z + i, m]
            status = flow(problem, t + c[i + 1] * h, stage, K[STAGE + i], width)
            if status != SUCCESS:
                return status
        change, off = correct(method, newton, K, y, h, nx, width)
        if change == np.inf:
            break
        good = change < ROUND_OFF or off < SHARE
        if change < 1e-14 or (iteration > 2 and change > 0.5 * before and good):
            break
        before = change
    if not (change < ROUND_OFF or off < SHARE):
        new[0] = np.nan
        return SUCCESS
    estimate(newton, K, h, nx, width)
    for m in range(size):
        new[m] = y[m] + K[Z + 2, m]
    if constrained(problem):
        status = project(problem, t + h, new, width)
        if status != SUCCESS:
            return status
    return flow(problem, t + h, new, K[STAGE + 2], width)
