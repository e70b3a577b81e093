"""The least and the largest value of each state along a run, from the polynomials of its steps.

A step is sampled; about the largest sample the parabola through three of them is followed to its
vertex, three times. Both sides of events count.
"""

from typing import NamedTuple

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import flow, restore
from explorer.kernels.event_driven.runge_kutta import advance, dense_value, interpolate
from explorer.kernels.event_driven.structures import Method, Polynomial, Problem, Record, Step
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["Span", "extremes"]

PARTS = 8  # of a step
CLOSER = 3  # parabolas, one after the other


class Span(NamedTuple):
    """Which part of a run is looked at."""

    steps: int  # how many it has
    events: int
    since: float  # s
    until: float  # s


@kernel(inline=True)
def widen(x: Vector, low: Vector, high: Vector) -> None:
    """Let the bounds hold a state."""
    for m in range(low.size):
        low[m], high[m] = min(low[m], x[m]), max(high[m], x[m])


@kernel(inner=True)
def summit(
    polynomial: Polynomial, m: int, sign: float, at: float, width: float, x: Vector
) -> float:
    """Return the largest value of sign x_m about the sample `at`, its neighbours `width` apart."""
    dense_value(polynomial, at, m + 1, x)
    best = sign * x[m]
    for _ in range(CLOSER):
        left, right = max(at - width, 0.0), min(at + width, 1.0)
        centre = 0.5 * (left + right)
        half = 0.5 * (right - left)
        dense_value(polynomial, left, m + 1, x)
        a = sign * x[m]
        dense_value(polynomial, centre, m + 1, x)
        b = sign * x[m]
        dense_value(polynomial, right, m + 1, x)
        c = sign * x[m]
        best = max(best, max(a, max(b, c)))
        bend = a - 2.0 * b + c
        if not bend < 0.0:
            break
        at = min(max(centre + 0.5 * half * (a - c) / bend, left), right)
        dense_value(polynomial, at, m + 1, x)
        best = max(best, sign * x[m])
        width *= 0.1
    return best


@kernel(inner=True)
def in_step(
    polynomial: Polynomial, begin: float, low: Vector, high: Vector, x: Vector, n: int
) -> None:
    """Let the bounds hold the part of a step from the fraction `begin` on."""
    for k in range(PARTS + 1):
        dense_value(polynomial, begin + (1.0 - begin) * k / PARTS, n, x)
        widen(x, low, high)
    width = (1.0 - begin) / PARTS
    for m in range(n):
        for side in range(2):
            sign = 1.0 if side == 1 else -1.0
            best, at = -np.inf, begin
            for k in range(PARTS + 1):
                s = begin + width * k
                dense_value(polynomial, s, m + 1, x)
                if sign * x[m] > best:
                    best, at = sign * x[m], s
            bound = high[m] if side == 1 else -low[m]
            if best < bound - 1e-2 * (high[m] - low[m]) or at <= begin or at >= 1.0 - 1e-12:
                continue
            best = summit(polynomial, m, sign, at, width, x)
            if side == 1:
                high[m] = max(high[m], best)
            else:
                low[m] = min(low[m], -best)


@kernel(inner=True)
def extremes(
    problem: Problem,
    method: Method,
    step: Step,
    record: Record,
    end: Vector,
    span: Span,
    low: Vector,
    high: Vector,
) -> int:
    """Write the bounds of each state over a span of a run; return the status of the flow."""
    steps, events, n = record.steps, record.events, problem.sizes.n_x
    low[:], high[:] = np.inf, -np.inf
    for i in range(span.events):
        if events.head[i].t >= span.since:
            widen(events.parts[i, events.at.x_minus :], low, high)
            widen(events.parts[i, events.at.x_plus :], low, high)
    widen(end, low, high)
    for i in range(span.steps):
        t, length, y = steps.t[i], steps.h[i], steps.y[i]
        if t + length <= span.since or length <= 0.0:
            continue
        restore(problem, steps.state, i)
        status = flow(problem, t, y, step.slope, 0)
        if status == SUCCESS:
            status = advance(problem, method, step, 1, method.last, t, y, length, 0)
        if status != SUCCESS:
            return status
        interpolate(method, step, y, length, n)
        polynomial = Polynomial(method.code, step.dense, y, t, length)
        begin = max((span.since - t) / length, 0.0)
        in_step(polynomial, begin, low, high, step.stage, n)
    return SUCCESS
