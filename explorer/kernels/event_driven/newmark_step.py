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
from explorer.kernels.event_driven.structures import Method, NewmarkNewton, Problem, Step
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector
from explorer.kernels.time_stepping.newmark_error import local_error, middle

__all__ = ["newmark_step"]

FAR = 1e3  # steps over which an error of a velocity moves a displacement at most


class Weights(NamedTuple):
    """The coefficients of a step."""

    alpha_m: float
    beta: float
    gamma: float
    w: float  # where the forces are taken, as a fraction of the step
    share: float  # of the forces there
    past: float  # of those at the start


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
    slope: Vector,
    end: Vector,
    stage: Vector,
) -> None:
    """stage[to:] = (1 - w) y[at:] + w times the end of the step, whose a1 stands in `end`."""
    beta, gamma = weights.beta, weights.gamma
    for i in range(n):
        a0, a1, v0 = slope[at + n + i], end[at + n + i], y[at + n + i]
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
    newton, weights = method.newmark_newton, weights_of(method)
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
def correct(newton: NewmarkNewton, n: int, size: int, share: float) -> None:
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
    slope, end, stage, new = step.slope, step.end, step.stage, step.new
    forces, first = step.newmark.forces, step.newmark.first
    newton, weights = method.newmark_newton, weights_of(method)
    w, share, past, r = weights.w, weights.share, weights.past, newton.r
    block = nx + 1
    status = flow(problem, t, stage, forces, 0)
    if status == SUCCESS:
        if factor(problem, method, h, size) != 0:
            return SINGULAR
        status = flow(problem, t, stage, forces, 0)
    if status != SUCCESS:
        return status
    evaluate(problem.functions.table, STEP, problem.inp, problem.out)
    for k in range(width):
        at = (k + 1) * block
        for i in range(n):
            end[at + n + i] = slope[at + n + i]
        at_stage(y, h, weights, w, n, at, 0, slope, end, saddle.direction)
        tangent(problem, wrt[k])
        for i in range(n):
            r[i] = slope[at + n + i] - share * saddle.tangent[i] - past * first[at + n + i]
        correct(newton, n, size, share * w)
        for i in range(n):
            end[at + n + i] += r[i]
        at_stage(y, h, weights, 1.0, n, at, at, slope, end, new)
        for i in range(n):
            end[at + i] = new[at + n + i]
    return SUCCESS


@kernel(inner=True)
def begin(
    problem: Problem, method: Method, step: Step, t: float, y: Vector, h: float, width: int
) -> int:
    """Write y' of the flow at the start where it is not a0, the acceleration that is carried.

    a0, and its derivative by each parameter, are off by what is proportional to the step: where
    the step changes they change with it.
    """
    n, block, slope = problem.sizes.n, problem.sizes.n_x + 1, step.slope
    first, true_start = step.newmark.first, step.newmark.true_start
    weights, co = weights_of(method), method.newmark
    if co[0].weight > 0.0:
        for m in range(block):
            true_start[m] = slope[m]
        if co[0].alpha_m != 0.0 or co[0].alpha_f != 0.0:
            begun, was = co[0].begun, co[0].length
            realigned = was > 0.0 and h != was and (t == begun or t == begun + was)
            wide = width if realigned else 0
            status = flow(problem, t, y, true_start, wide)
            if status != SUCCESS:
                return status
            for k in range(wide + 1 if realigned else 0):
                for i in range(k * block + n, k * block + 2 * n):
                    true = true_start[i]
                    slope[i] = true + h / was * (slope[i] - true)
            co[0].begun, co[0].length = t, h
    if weights.past != 0.0:
        return flow(problem, t, y, first, width)
    for m in range((width + 1) * block):
        first[m] = 0.0
    return SUCCESS


@kernel(inner=True)
def solve(
    problem: Problem, method: Method, step: Step, size: int, t: float, y: Vector, h: float
) -> tuple[int, bool]:
    """Solve for a1 in `end` by Newton's method; return a status, and whether it has converged."""
    n, slope, end, stage = problem.sizes.n, step.slope, step.end, step.stage
    forces, first = step.newmark.forces, step.newmark.first
    newton, weights = method.newmark_newton, weights_of(method)
    am, w, share, past, r = weights.alpha_m, weights.w, weights.share, weights.past, newton.r
    for i in range(n):
        end[n + i] = slope[n + i]
    stage[problem.sizes.n_x] = 0.0
    factored, slow, before = False, False, 0.0
    for trial in range(method.newmark[0].most):
        at_stage(y, h, weights, w, n, 0, 0, slope, end, stage)
        status = flow(problem, t + w * h, stage, forces, 0)
        if status != SUCCESS:
            return status, False
        residual, largest = 0.0, 0.0
        for i in range(n):
            r[i] = (1.0 - am) * end[n + i] + am * slope[n + i] - share * forces[n + i]
            r[i] -= past * first[n + i]
            if not abs(r[i]) < np.inf:  # max() would swallow a NaN
                return SUCCESS, False
            residual = max(residual, abs(r[i]))
            largest = max(largest, abs(end[n + i]), abs(slope[n + i]))
        if weights.beta == 0.0 and trial < 2:  # explicit, unless a force depends on a velocity
            if trial == 1 and residual <= 1e-15 * largest:
                return SUCCESS, True
            for i in range(n):
                end[n + i] -= r[i] / (1.0 - am)
            continue
        if (slow or not factored) and factor(problem, method, h, size) != 0:
            return SUCCESS, False
        correct(newton, n, size, share * w)
        change = 0.0
        for i in range(n):
            end[n + i] += r[i]
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
    n, nx, end, stage, new = problem.sizes.n, problem.sizes.n_x, step.end, step.stage, step.new
    true_start, true_end = step.newmark.true_start, step.newmark.true_end
    between, co = step.newmark.middle, method.newmark
    for m in range(nx + 1):
        true_end[m] = end[m]
    if co[0].alpha_m != 0.0 or co[0].alpha_f != 0.0:
        status = flow(problem, t + h, new, true_end, 0)
        if status != SUCCESS:
            return status
    middle(n, h, y, y[n:], true_start[n:], new, new[n:], true_end[n:], stage)
    status = flow(problem, t + 0.5 * h, stage, between, 0)
    if status != SUCCESS:
        return status
    co[0].error = co[0].weight * local_error(
        n, h, FAR * h, y, y[n:], true_start[n:], between[n:], true_end[n:], new, new[n:]
    )
    return SUCCESS


@kernel(inner=True)
def newmark_step(
    problem: Problem, method: Method, step: Step, t: float, y: Vector, h: float, width: int
) -> int:
    """March y over h; `end` is y' there, the error goes to the coefficients of the method."""
    n, nx, count, rows = problem.sizes.n, problem.sizes.n_x, problem.sizes.rows, problem.rows
    slope, end, stage, new = step.slope, step.end, step.stage, step.new
    forces, weights = step.newmark.forces, weights_of(method)
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
    at_stage(y, h, weights, 1.0, n, 0, 0, slope, end, new)
    for i in range(n):
        end[i] = new[n + i]
    method.newmark[0].error = 0.0
    if method.newmark[0].weight > 0.0:
        status = estimate(problem, method, step, t, y, h)
        if status != SUCCESS:
            return status
    if width > 0:
        at_stage(y, h, weights, weights.w, n, 0, 0, slope, end, stage)
        status = columns(problem, method, step, size, t + weights.w * h, y, h, width)
        if status != SUCCESS:
            return status
    for k in range(width + 1):
        new[k * block + nx] = y[k * block + nx]
        end[k * block + nx] = 0.0
    if problem.functions.cost >= 0:
        status = flow(problem, t + h, new, forces, width)
        if status != SUCCESS:
            return status
        for k in range(nx, (width + 1) * block, block):
            end[k] = forces[k]
            new[k] += 0.5 * h * (slope[k] + end[k])
    return SUCCESS
