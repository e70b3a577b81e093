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

Statuses: SUCCESS, also where Newton's method fails: then the new state is NaN, and the step is
taken again, shorter; SINGULAR, the saddle matrix or that of the sensitivities is singular.
"""

from typing import NamedTuple

import numpy as np

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.flow import assemble, evaluate, flow, tangent
from explorer.kernels.event_driven.records import STEP
from explorer.kernels.event_driven.structures import Method, Problem, Step
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Matrix, Vector
from explorer.kernels.time_stepping.newmark_error import local_error, middle

__all__ = ["newmark_step"]

# rows of K: y' at the start (a0 as the scheme carries it) and at the end, slopes; y' of the flow
# itself at the start, at the end and in the middle
START, END, SLOPE, FIRST, TRUE_START, TRUE_END, MIDDLE = 0, 1, 3, 4, 5, 6, 7
FAR = 1e3  # steps over which an error of a velocity moves a displacement at most


class Newton(NamedTuple):
    """What Newton's method for a1 works on; order = n + rows."""

    matrix: Matrix  # (order, order) the Newton matrix, or its factors
    saddle: Matrix  # (order, order) the saddle matrix
    pivots: Integers  # (order,)
    right: Vector  # (order,)
    r: Vector  # (order,) residual in m/s2, then the correction of a1


class Weights(NamedTuple):
    """The coefficients of a step."""

    alpha_m: float
    beta: float
    gamma: float
    w: float  # where the forces are taken, as a fraction of the step
    share: float  # of the forces there
    past: float  # of those at the start


@kernel(inline=True)
def newton_parts(method: Method) -> Newton:
    """Name the parts of the workspace."""
    memory = method.newton
    order = memory.shape[1]
    return Newton(
        memory[:order],
        memory[order : 2 * order],
        method.pivots,
        memory[2 * order],
        memory[2 * order + 1],
    )


@kernel(inline=True)
def weights_of(method: Method) -> Weights:
    """Return the coefficients of a step."""
    co = method.newmark[0]
    interpolated = co.interpolated == 1
    w = 1.0 if interpolated else 1.0 - co.alpha_f
    share, past = (1.0 - co.alpha_f, co.alpha_f) if interpolated else (1.0, 0.0)
    return Weights(co.alpha_m, co.beta, co.gamma, w, share, past)


@kernel(inline=True)
def at_stage(
    y: Vector,
    h: float,
    weights: Weights,
    w: float,
    n: int,
    at: int,
    to: int,
    K: Matrix,
    stage: Vector,
) -> None:
    """stage[to:] = (1 - w) y[at:] + w times the end of the step, whose a1 stands in K[END, at:]."""
    beta, gamma = weights.beta, weights.gamma
    for i in range(n):
        a0, a1, v0 = K[START, at + n + i], K[END, at + n + i], y[at + n + i]
        stage[to + i] = y[at + i] + w * h * (v0 + h * ((0.5 - beta) * a0 + beta * a1))
        stage[to + n + i] = v0 + w * h * ((1.0 - gamma) * a0 + gamma * a1)


@kernel(inner=True)
def factor(problem: Problem, method: Method, h: float, size: int) -> int:
    """Write the Newton matrix and the saddle matrix, and factor the former; leaves STEP in `out`.

    Wants `flow` done at the state: its accelerations and forces are in `inp`. Returns as
    `lu_factor`: 0, or more for a singular matrix.
    """
    n, nr, count = problem.sizes.n, problem.sizes.n_rho, problem.sizes.rows
    out, rows, W = problem.out, problem.rows, problem.saddle.W
    newton, weights = newton_parts(method), weights_of(method)
    lu, saddle = newton.matrix, newton.saddle
    by_a = (1.0 - weights.alpha_m) / (weights.share * weights.w)
    by_v, by_q = h * weights.gamma, h * h * weights.beta
    assemble(problem, 0)
    evaluate(problem.functions.table, STEP, problem.inp, out)
    at = 2 * n * n + n * nr + n
    held = n
    for i in range(n):
        for j in range(size):
            saddle[i, j] = W[i, j]
            lu[i, j] = W[i, j]
        for j in range(n):
            lu[i, j] *= by_a
            lu[i, j] += by_q * out[i * n + j] + by_v * out[n * n + i * n + j]
    for c in range(count):
        if rows[c].closed == 1:
            for j in range(size):
                saddle[held, j] = W[held, j]
                lu[held, j] = W[held, j]
            for j in range(n):
                lu[held, j] *= by_a
                lu[held, j] += by_q * out[at + c * n + j] + by_v * out[at + (count + c) * n + j]
            held += 1
    return lu_factor(lu, size, size - 1, size - 1, newton.pivots)


@kernel(inner=True)
def correct(newton: Newton, n: int, size: int, share: float) -> None:
    """Overwrite the residual by the correction of a1."""
    saddle, right, r = newton.saddle, newton.right, newton.r
    for i in range(size):
        total = 0.0
        for j in range(n):
            total -= saddle[i, j] * r[j]
        right[i] = total / share
    lu_solve(newton.matrix, size, size - 1, size - 1, newton.pivots, right)
    for i in range(n):
        r[i] = right[i]


@kernel(inner=True)
def columns(
    problem: Problem,
    method: Method,
    step: Step,
    size: int,
    t: float,
    y: Vector,
    h: float,
    width: int,
) -> int:
    """Carry the sensitivities over the step; `stage` is the state at which F was evaluated, at t.

    The derivative of the step is linear in that of a1: from a1' = a0' one correction is exact.
    """
    n, nx, wrt, saddle = problem.sizes.n, problem.sizes.n_x, problem.wrt, problem.saddle
    K, stage, new = step.K, step.stage, step.new
    newton, weights = newton_parts(method), weights_of(method)
    w, share, past, r = weights.w, weights.share, weights.past, newton.r
    block = nx + 1
    status = flow(problem, t, stage, K[SLOPE], 0)
    if status == SUCCESS:
        if factor(problem, method, h, size) != 0:
            return SINGULAR
        status = flow(problem, t, stage, K[SLOPE], 0)
    if status != SUCCESS:
        return status
    evaluate(problem.functions.table, STEP, problem.inp, problem.out)
    for k in range(width):
        at = (k + 1) * block
        for i in range(n):
            K[END, at + n + i] = K[START, at + n + i]
        at_stage(y, h, weights, w, n, at, 0, K, saddle.direction)
        tangent(problem, wrt[k])
        for i in range(n):
            r[i] = K[START, at + n + i] - share * saddle.tangent[i] - past * K[FIRST, at + n + i]
        correct(newton, n, size, share * w)
        for i in range(n):
            K[END, at + n + i] += r[i]
        at_stage(y, h, weights, 1.0, n, at, at, K, new)
        for i in range(n):
            K[END, at + i] = new[at + n + i]
    return SUCCESS


@kernel(inner=True)
def begin(
    problem: Problem, method: Method, step: Step, t: float, y: Vector, h: float, width: int
) -> int:
    """Write y' of the flow at the start where it is not a0, the acceleration that is carried.

    a0, and its derivative by each parameter, are off by what is proportional to the step: where
    the step changes they change with it.
    """
    n, block, K = problem.sizes.n, problem.sizes.n_x + 1, step.K
    weights, co = weights_of(method), method.newmark
    if co[0].weight > 0.0:
        for m in range(block):
            K[TRUE_START, m] = K[START, m]
        if co[0].alpha_m != 0.0 or co[0].alpha_f != 0.0:
            begun, was = co[0].begun, co[0].length
            realigned = was > 0.0 and h != was and (t == begun or t == begun + was)
            wide = width if realigned else 0
            status = flow(problem, t, y, K[TRUE_START], wide)
            if status != SUCCESS:
                return status
            for k in range(wide + 1 if realigned else 0):
                for i in range(k * block + n, k * block + 2 * n):
                    true = K[TRUE_START, i]
                    K[START, i] = true + h / was * (K[START, i] - true)
            co[0].begun, co[0].length = t, h
    if weights.past != 0.0:
        return flow(problem, t, y, K[FIRST], width)
    for m in range((width + 1) * block):
        K[FIRST, m] = 0.0
    return SUCCESS


@kernel(inner=True)
def solve(
    problem: Problem, method: Method, step: Step, size: int, t: float, y: Vector, h: float
) -> tuple[int, bool]:
    """Solve for a1 = K[END] by Newton's method; return a status, and whether it has converged."""
    n, K, stage = problem.sizes.n, step.K, step.stage
    newton, weights = newton_parts(method), weights_of(method)
    am, w, share, past, r = weights.alpha_m, weights.w, weights.share, weights.past, newton.r
    for i in range(n):
        K[END, n + i] = K[START, n + i]
    stage[problem.sizes.n_x] = 0.0
    factored, slow, before = False, False, 0.0
    for trial in range(method.newmark[0].most):
        at_stage(y, h, weights, w, n, 0, 0, K, stage)
        status = flow(problem, t + w * h, stage, K[SLOPE], 0)
        if status != SUCCESS:
            return status, False
        residual, largest = 0.0, 0.0
        for i in range(n):
            r[i] = (1.0 - am) * K[END, n + i] + am * K[START, n + i] - share * K[SLOPE, n + i]
            r[i] -= past * K[FIRST, n + i]
            if not abs(r[i]) < np.inf:  # max() would swallow a NaN
                return SUCCESS, False
            residual = max(residual, abs(r[i]))
            largest = max(largest, abs(K[END, n + i]), abs(K[START, n + i]))
        if weights.beta == 0.0 and trial < 2:  # explicit, unless a force depends on a velocity
            if trial == 1 and residual <= 1e-15 * largest:
                return SUCCESS, True
            for i in range(n):
                K[END, n + i] -= r[i] / (1.0 - am)
            continue
        if (slow or not factored) and factor(problem, method, h, size) != 0:
            return SUCCESS, False
        correct(newton, n, size, share * w)
        change = 0.0
        for i in range(n):
            K[END, n + i] += r[i]
            if not abs(r[i]) < np.inf:
                return SUCCESS, False
            change = max(change, abs(r[i]))
        rate = change / before if factored and before > 0.0 else 1.0
        # what is left is about rate * change, or nothing but rounding
        if rate * change <= 1e-15 * largest or (
            rate > 0.5 and factored and change <= 1e-9 * largest
        ):
            return SUCCESS, True
        factored, slow, before = True, rate > 0.1 and factored, change
    return SUCCESS, False


@kernel(inner=True)
def estimate(problem: Problem, method: Method, step: Step, t: float, y: Vector, h: float) -> int:
    """Estimate the local error (`explorer.kernels.time_stepping.newmark_error`)."""
    n, nx, K, stage, new = problem.sizes.n, problem.sizes.n_x, step.K, step.stage, step.new
    co = method.newmark
    for m in range(nx + 1):
        K[TRUE_END, m] = K[END, m]
    if co[0].alpha_m != 0.0 or co[0].alpha_f != 0.0:
        status = flow(problem, t + h, new, K[TRUE_END], 0)
        if status != SUCCESS:
            return status
    middle(n, h, y, y[n:], K[TRUE_START, n:], new, new[n:], K[TRUE_END, n:], stage)
    status = flow(problem, t + 0.5 * h, stage, K[MIDDLE], 0)
    if status != SUCCESS:
        return status
    co[0].error = co[0].weight * local_error(
        n, h, FAR * h, y, y[n:], K[TRUE_START, n:], K[MIDDLE, n:], K[TRUE_END, n:], new, new[n:]
    )
    return SUCCESS


@kernel(inner=True)
def newmark_step(
    problem: Problem, method: Method, step: Step, t: float, y: Vector, h: float, width: int
) -> int:
    """March y over h; K[END] is y' at the end, the error goes to the coefficients of the method."""
    n, nx, count, rows = problem.sizes.n, problem.sizes.n_x, problem.sizes.rows, problem.rows
    K, stage, new, weights = step.K, step.stage, step.new, weights_of(method)
    block = nx + 1
    size = n
    for c in range(count):
        size += rows[c].closed
    new[0] = np.nan
    status = begin(problem, method, step, t, y, h, width)
    if status != SUCCESS:
        return status
    status, converged = solve(problem, method, step, size, t, y, h)
    if status != SUCCESS or not converged:
        return status
    at_stage(y, h, weights, 1.0, n, 0, 0, K, new)
    for i in range(n):
        K[END, i] = new[n + i]
    method.newmark[0].error = 0.0
    if method.newmark[0].weight > 0.0:
        status = estimate(problem, method, step, t, y, h)
        if status != SUCCESS:
            return status
    if width > 0:
        at_stage(y, h, weights, weights.w, n, 0, 0, K, stage)
        status = columns(problem, method, step, size, t + weights.w * h, y, h, width)
        if status != SUCCESS:
            return status
    for k in range(width + 1):
        new[k * block + nx] = y[k * block + nx]
        K[END, k * block + nx] = 0.0
    if problem.functions.cost >= 0:
        status = flow(problem, t + h, new, K[SLOPE], width)
        if status != SUCCESS:
            return status
        for k in range(nx, (width + 1) * block, block):
            K[END, k] = K[SLOPE, k]
            new[k] += 0.5 * h * (K[START, k] + K[END, k])
    return SUCCESS
