"""One step of a Runge-Kutta method, its error, and a polynomial over the step.

Dormand-Prince 5(4) and 8(5,3) (Hairer, Norsett, Wanner, Solving ODEs I, II.5 and II.10), Radau IIA
of order 5 (`explorer.kernels.event_driven.radau`); the coefficients of the pairs come from SciPy.
The Newmark family (`explorer.kernels.event_driven.newmark_step`) steps in the same way, at its own
step size. The polynomial serves to look for events and for pictures; what `at` and a grid of the
user's return comes from a step of its own length, so it has the accuracy of the step.
"""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import flow, slopes
from explorer.kernels.event_driven.manifold import constrained, project, projected
from explorer.kernels.event_driven.newmark_step import newmark_step
from explorer.kernels.event_driven.radau import radau_step
from explorer.kernels.event_driven.records import DOP853, NEWMARK, RADAU
from explorer.kernels.event_driven.structures import Method, Polynomial, Problem, Step
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector


@kernel(inner=True)
def keep(problem: Problem, step: Step, t: float, width: int) -> int:
    """Put the end of a step of Newmark's on its constraints, and what is y' of the positions."""
    n, block, new, end = problem.sizes.n, problem.sizes.n_x + 1, step.new, step.end
    if not np.isfinite(new[0]):
        return SUCCESS
    status = project(problem, t, new, width)
    for k in range(width + 1):
        for i in range(k * block, k * block + n):
            end[i] = new[n + i]
    return status


@kernel(inner=True)
def advance(
    problem: Problem,
    method: Method,
    step: Step,
    first: int,
    last: int,
    t: float,
    y: Vector,
    h: float,
    width: int,
) -> int:
    """Compute the slopes K[first..last] of a step h from y; return the status of the flow.

    Row i of A gives stage i; the row `stages` is the end of the step, whose state goes to `new`,
    other states to `stage`. Rows behind it serve the polynomial. K[0] is y'(t).
    """
    if method.code == NEWMARK:
        status = newmark_step(problem, method, step, t, y, h, width)
        if status == SUCCESS and constrained(problem):
            status = keep(problem, step, t + h, width)
        return status
    if method.code == RADAU:
        return radau_step(problem, method, step, t, y, h, width)
    A, c, s, K, stage, new = method.A, method.c, method.stages, step.K, step.stage, step.new
    size = (width + 1) * (problem.sizes.n_x + 1)
    for i in range(first, last + 1):
        target = new if i == s else stage
        for m in range(size):
            target[m] = 0.0
        for j in range(i):
            a = A[i, j]
            if a != 0.0:
                for m in range(size):
                    target[m] += a * K[j, m]
        for m in range(size):
            target[m] = y[m] + h * target[m]
        status = SUCCESS
        if (i == s and constrained(problem)) or projected(problem):
            status = project(problem, t + c[i] * h, target, width)
        if status == SUCCESS:
            status = slopes(problem, t + c[i] * h, target, K[i], width)
        if status != SUCCESS:
            return status
    return SUCCESS


@kernel(inner=True)
def first_step(
    problem: Problem, method: Method, step: Step, t: float, y: Vector, longest: float
) -> float:
    """Return a first guess of the step (Hairer, Norsett, Wanner, II.4); K[0] is y'(t)."""
    block, rtol, atol = problem.sizes.n_x + 1, method.rtol, method.atol
    slope, x, other = step.slope, step.new, step.stage
    size, first, second = 0.0, 0.0, 0.0
    for i in range(block):
        scale = atol + rtol * abs(y[i])
        size += (y[i] / scale) ** 2
        first += (slope[i] / scale) ** 2
    h = 0.01 * np.sqrt(size / first) if size > 1e-10 and first > 1e-10 else 1e-6
    h = min(max(h, 1e-8 * longest), longest)
    for i in range(block):
        x[i] = y[i] + h * slope[i]
    if flow(problem, t + h, x, other, 0) != SUCCESS:
        return h
    for i in range(block):
        second += ((other[i] - slope[i]) / (atol + rtol * abs(y[i]))) ** 2
    bend = np.sqrt(max(first, second / (h * h)) / block)
    if not bend < np.inf:
        return h
    return min(100.0 * h, (0.01 / bend) ** -method.exponent, longest)


@kernel(inner=True)
def step_error(method: Method, step: Step, y: Vector, h: float, block: int, width: int) -> float:
    """Return the error of a step in units of the tolerance: the worst of all columns."""
    new = step.new
    if not np.isfinite(new[0]):  # so a step says that it has failed; max() would swallow it
        return np.nan
    if method.code == NEWMARK:  # it knows its own
        return method.newmark[0].error
    E, K, rtol, atol = method.E, step.K, method.rtol, method.atol
    rows = method.stages + (1 if method.code < RADAU else 2)
    worst = 0.0
    for k in range(width + 1):
        first, second = 0.0, 0.0
        for m in range(k * block, (k + 1) * block):
            scale = atol + rtol * max(abs(y[m]), abs(new[m]))
            e1, e2 = 0.0, 0.0
            for j in range(rows):
                e1 += E[0, j] * K[j, m]
                e2 += E[1, j] * K[j, m]
            first += (e1 / scale) ** 2
            second += (e2 / scale) ** 2
        if method.code == DOP853:
            bottom = first + 0.01 * second
            error = 0.0 if bottom == 0.0 else abs(h) * first / np.sqrt(bottom * block)
        else:
            error = abs(h) * np.sqrt(first / block)
        if not error <= worst:  # also NaN
            worst = error
    return worst


@kernel(inner=True)
def stiffness(step: Step, s: int, h: float, nx: int) -> float:
    """Return an estimate of h times the largest eigenvalue (Hairer, Wanner, Solving ODEs II, IV.2).

    The last stage and the end of the step lie at the same time: how much the slope differs, over
    how much the state does. `stage` holds the last stage's state.
    """
    K, stage, new = step.K, step.stage, step.new
    top, bottom = 0.0, 0.0
    for m in range(nx):
        top += (K[s, m] - K[s - 1, m]) ** 2
        bottom += (new[m] - stage[m]) ** 2
    return abs(h) * np.sqrt(top / bottom) if bottom > 0.0 else 0.0


@kernel(inner=True)
def interpolate(method: Method, step: Step, y: Vector, h: float, nx: int) -> None:
    """Write the polynomial of the step: for 8(5,3) and Newmark in the nested form, else in powers.

    Of Newmark it is the cubic through both ends and their slopes.
    """
    D, K, new, dense, s = method.D, step.K, step.new, step.dense, method.stages
    slope, end = step.slope, step.end
    if method.code == DOP853 or method.code == NEWMARK:
        rows = s + 4 if method.code == DOP853 else 0
        for m in range(nx):
            delta = new[m] - y[m]
            dense[0, m] = delta
            dense[1, m] = h * slope[m] - delta
            dense[2, m] = 2.0 * delta - h * (end[m] + slope[m])
            for r in range(4):
                total = 0.0
                for j in range(rows):
                    total += D[r, j] * K[j, m]
                dense[3 + r, m] = h * total
    else:
        for m in range(nx):
            for r in range(4):
                total = 0.0
                for j in range(s + 1):
                    total += D[r, j] * K[j, m]
                dense[r, m] = h * total


@kernel(inline=True)
def dense_value(polynomial: Polynomial, s: float, nx: int, x: Vector) -> None:
    """Evaluate the polynomial at the fraction `s` of the step."""
    dense, y = polynomial.dense, polynomial.y
    nested = polynomial.code == DOP853 or polynomial.code == NEWMARK
    for m in range(nx):
        total = 0.0
        if nested:
            for r in range(6, -1, -1):
                total += dense[r, m]
                total *= s if r % 2 == 0 else 1.0 - s
        else:
            for r in range(3, -1, -1):
                total = (total + dense[r, m]) * s
        x[m] = y[m] + total
