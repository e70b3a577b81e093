"""A step of Radau IIA, order 5, for stiff flows (Hairer, Wanner, Solving ODEs II, IV.8).

Z_i = h sum_j a_ij f(y + Z_j) by simplified Newton with the matrix I - h A x J at the start of the
step, the same for the state and for every sensitivity column (each is a solution of the same
linearised flow); the running cost is a quadrature. Error: (mu / h I - J) err = f(y) + E'Z / h.

Newton's method goes on until round-off; what it leaves is judged beside the tolerance of each
component (forces may cancel, so no component tells by itself to what it rounds).

Statuses: SUCCESS, also where Newton's method fails: then the new state is NaN, and the step is
taken again, shorter; else that of the flow.
"""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import flow
from explorer.kernels.event_driven.manifold import constrained, project
from explorer.kernels.event_driven.structures import Method, Problem, RadauNewton, RadauSlopes, Step
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Matrix, Vector

MU = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
ERROR = (-(13 + 7 * 6**0.5) / 3, (-13 + 7 * 6**0.5) / 3, -1 / 3)
MOST = 12
# of its own size what Newton may leave of a component, and of the tolerance
ROUND_OFF, SHARE = 1e-11, 1e-2


@kernel(inner=True)
def jacobian(problem: Problem, step: Step, J: Matrix, t: float, y: Vector) -> int:
    """Write f_x at (t, y) by differences: it only has to make Newton's method converge."""
    nx, slope, stage, new = problem.sizes.n_x, step.slope, step.stage, step.new
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
            J[m, j] = (stage[m] - slope[m]) / d
    return SUCCESS


@kernel(inner=True)
def factor(newton: RadauNewton, A: Matrix, h: float, nx: int) -> bool:
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
    method: Method,
    newton: RadauNewton,
    slopes: RadauSlopes,
    y: Vector,
    h: float,
    nx: int,
    width: int,
) -> tuple[float, float]:
    """Correct Z; return the largest change, relative to its component and to its tolerance.

    Infinity: a change is not finite.
    """
    A, r, rtol, atol = method.A, newton.r, method.rtol, method.atol
    K, Z = slopes.K, slopes.Z
    block = nx + 1
    change, off = 0.0, 0.0
    for k in range(width + 1):
        at = k * block
        for i in range(3):
            for m in range(nx):
                total = -Z[i, at + m]
                for j in range(3):
                    total += h * A[i + 1, j + 1] * K[j, at + m]
                r[i * nx + m] = total
        lu_solve(newton.matrix, 3 * nx, 3 * nx - 1, 3 * nx - 1, newton.pivots, r)
        for i in range(3):
            total = 0.0
            for j in range(3):
                total += h * A[i + 1, j + 1] * K[j, at + nx]
            Z[i, at + nx] = total
            for m in range(nx):
                Z[i, at + m] += r[i * nx + m]
                moved, part = abs(r[i * nx + m]), abs(y[at + m]) + abs(Z[i, at + m])
                if not moved < np.inf:  # max() would swallow a NaN
                    return np.inf, np.inf
                change = max(change, moved / (part + 1e-6))
                off = max(off, moved / (rtol * part + atol))
    return change, off


@kernel(inner=True)
def estimate(newton: RadauNewton, step: Step, h: float, nx: int, width: int) -> None:
    """Write the error over h."""
    r, slope, error, Z = newton.r, step.slope, step.radau.error, step.radau.Z
    for k in range(width + 1):
        at = k * (nx + 1)
        for m in range(nx):
            total = slope[at + m]
            for i in range(3):
                total += ERROR[i] * Z[i, at + m] / h
            r[m] = total
        lu_solve(newton.error, nx, nx - 1, nx - 1, newton.error_pivots, r)
        for m in range(nx):
            error[at + m] = r[m] / h
        error[at + nx] = 0.0


@kernel(inner=True)
def radau_step(
    problem: Problem, method: Method, step: Step, t: float, y: Vector, h: float, width: int
) -> int:
    """March y over h: its end goes to `new`, its slopes and error to K."""
    nx, stage, new, c = problem.sizes.n_x, step.stage, step.new, method.c
    K, Z = step.radau.K, step.radau.Z
    size = (width + 1) * (nx + 1)
    newton = method.radau_newton
    status = jacobian(problem, step, newton.J, t, y)
    if status != SUCCESS:
        return status
    if not factor(newton, method.A, h, nx):
        new[0] = np.nan
        return SUCCESS
    for i in range(3):
        for m in range(size):
            Z[i, m] = 0.0
    before, change, off = np.inf, np.inf, np.inf
    for iteration in range(MOST):
        for i in range(3):
            for m in range(size):
                stage[m] = y[m] + Z[i, m]
            status = flow(problem, t + c[i + 1] * h, stage, K[i], width)
            if status != SUCCESS:
                return status
        change, off = correct(method, newton, step.radau, y, h, nx, width)
        if change == np.inf:
            break
        good = change < ROUND_OFF or off < SHARE
        if change < 1e-14 or (iteration > 2 and change > 0.5 * before and good):
            break
        before = change
    if not (change < ROUND_OFF or off < SHARE):
        new[0] = np.nan
        return SUCCESS
    estimate(newton, step, h, nx, width)
    for m in range(size):
        new[m] = y[m] + Z[2, m]
    if constrained(problem):
        status = project(problem, t + h, new, width)
        if status != SUCCESS:
            return status
    return flow(problem, t + h, new, step.end, width)
