"""The state between the rows of a run, from the record of its steps."""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import accelerate, flow, keep_forces, restore, tangent
from explorer.kernels.event_driven.flow import evaluate as evaluate_function
from explorer.kernels.event_driven.manifold import constrained, project
from explorer.kernels.event_driven.records import STEP
from explorer.kernels.event_driven.runge_kutta import advance, dense_value, interpolate
from explorer.kernels.event_driven.saltation import largest
from explorer.kernels.event_driven.structures import Method, Polynomial, Problem, Step, Steps
from explorer.kernels.references import kernel, refer
from explorer.kernels.structures import Integers, Matrix, Stack, Table, Vector

__all__ = ["evaluate", "force_slopes", "forces", "states_at"]


@kernel(inline=True)
def carry(problem: Problem, method: Method, step: Step, steps: Steps, i: int) -> None:
    """Set the accelerations that the method carries through step `i`, if it carries any."""
    n, block, slope, carried = problem.sizes.n, problem.sizes.n_x + 1, step.slope, steps.carried
    for m in range(carried.shape[1]):
        slope[m // n * block + n + m % n] = carried[i, m]
    if carried.shape[1] > 0:
        method.newmark[0].begun, method.newmark[0].length = steps.t[i], steps.h[i]


@kernel(inner=True)
def set_free(problem: Problem, new: Vector, rates: Vector) -> bool:
    """Let formulas decide for themselves if one that is held to its side has ended there.

    As u^(3/2) has, held to u >= 0, where a shorter step than that of the run ends a hair beyond.
    """
    nx, held = problem.sizes.n_x, False
    if np.isfinite(largest(new, 0, nx)) and np.isfinite(largest(rates, 0, nx)):
        return False
    for j in range(problem.sides.size):
        held = held or problem.sides[j].now != 0
        problem.sides[j].now = 0
    return held


@kernel(inner=True)
def states_at(
    problem: Problem,
    method: Method,
    step: Step,
    steps: Steps,
    times: Vector,
    which: Integers,
    exact: bool,
    result: Matrix,
    rates: Matrix,
) -> int:
    """Write y (k, size) and x' (k, n_x + 1) at increasing times; return the status of the flow.

    `which` is the step that each time lies in, from whose start it is computed. A time gets a step
    of its own, as exact as the run; unless `exact`, where several times lie in one step, they share
    that step's polynomial (order 7).
    """
    nx, size, stage, new = problem.sizes.n_x, result.shape[1], step.stage, step.new
    width = size // (nx + 1) - 1
    k = 0
    while k < times.size:
        i = which[k]
        many = 1
        while k + many < times.size and which[k + many] == i:
            many += 1
        restore(problem, steps.state, i)
        t, length, y = steps.t[i], steps.h[i], steps.y[i]
        polynomial = Polynomial(method.code, step.dense, y, t, length)
        status = flow(problem, t, y, step.slope, width)
        shared = not exact and method.last > method.stages and many > 1
        if status == SUCCESS and shared:
            status = advance(problem, method, step, 1, method.last, t, y, length, width)
            interpolate(method, step, y, length, size)
        if status != SUCCESS:
            return status
        for one in range(k, k + many):
            h = times[one] - t
            carry(problem, method, step, steps, i)
            if h == 0.0:
                for m in range(size):
                    new[m] = y[m]
            elif shared:
                dense_value(polynomial, h / length, size, new)
                if constrained(problem):
                    status = project(problem, times[one], new, width)
            else:
                status = advance(problem, method, step, 1, method.stages, t, y, h, width)
            if status == SUCCESS:
                status = flow(problem, times[one], new, stage, 0)
            if status == SUCCESS and set_free(problem, new, stage):
                status = flow(problem, t, y, step.slope, width)
                if status == SUCCESS:
                    status = advance(problem, method, step, 1, method.stages, t, y, h, width)
                if status == SUCCESS:
                    status = flow(problem, times[one], new, stage, 0)
                restore(problem, steps.state, i)
                if status == SUCCESS:
                    status = flow(problem, t, y, step.slope, width)
            if status != SUCCESS:
                return status
            for m in range(size):
                result[one, m] = new[m]
            for m in range(nx + 1):
                rates[one, m] = stage[m]
        k += many
    return SUCCESS


@kernel()
def evaluate(
    problem: Problem,
    method: Method,
    step: Step,
    steps: Steps,
    times: Vector,
    which: Integers,
    exact: bool,
    result: Matrix,
    rates: Matrix,
) -> int:
    """Write what `states_at` writes; return the status of the flow."""
    problem, method, step, steps = refer(problem), refer(method), refer(step), refer(steps)
    return states_at(problem, method, step, steps, times, which, exact, result, rates)


@kernel()
def forces(
    problem: Problem, times: Vector, x: Matrix, states: Table, lam: Matrix, a: Matrix
) -> None:
    """Write the forces (n_t, rows) of what is held at each row, and its accelerations (n_t, n).

    NaN where they are not unique.
    """
    problem = refer(problem)
    nx, n, nc, nt = problem.sizes.n_x, problem.sizes.n, problem.sizes.n_c, problem.sizes.n_t
    count, inp, out = problem.sizes.rows, problem.inp, problem.out
    rows, partner = problem.rows, problem.partner
    first, mu, rates = problem.sizes.lam, count * (n + 3), problem.sizes.rates + n
    for k in range(times.size):
        restore(problem, states, k)
        for c in range(count):
            lam[k, c] = 0.0
        inp[0] = times[k]
        for i in range(nx):
            inp[1 + i] = x[k, i]
        status = accelerate(problem)
        for i in range(n):
            a[k, i] = inp[rates + i] if status == SUCCESS else np.nan
        if problem.state[0].held == 0:
            continue
        for c in range(count):
            if rows[c].closed == 1:
                lam[k, c] = inp[first + c] if status == SUCCESS else np.nan
        for c in range(nc, nc + nt):  # one that slides
            if rows[c].closed == 0:
                pull = rows[c].sigma * out[mu + c - nc]
                lam[k, c] = -pull * lam[k, partner[c]]


@kernel()
def force_slopes(
    problem: Problem, times: Vector, S: Matrix, x: Matrix, states: Table, lam: Stack, a: Stack
) -> None:
    """Write the derivatives of forces (n_t, p, rows) and of accelerations (n_t, p, n) at each row.

    S (n_t, size) are the columns of (x, z), one behind the other. NaN where they are not unique.
    """
    problem = refer(problem)
    nx, n, count = problem.sizes.n_x, problem.sizes.n, problem.sizes.rows
    inp, saddle, wrt = problem.inp, problem.saddle, problem.wrt
    for k in range(times.size):
        restore(problem, states, k)
        inp[0] = times[k]
        for i in range(nx):
            inp[1 + i] = x[k, i]
        status = accelerate(problem)
        evaluate_function(problem.functions.table, STEP, inp, problem.out)
        for j in range(wrt.size):
            for i in range(nx):
                saddle.direction[i] = S[k, j * (nx + 1) + i]
            tangent(problem, wrt[j])
            keep_forces(problem, j)
            for c in range(count):
                lam[k, j, c] = saddle.forces[j, c] if status == SUCCESS else np.nan
            for i in range(n):
                a[k, j, i] = saddle.tangent[i] if status == SUCCESS else np.nan
