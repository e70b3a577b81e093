"""On which side of a surface u(t, x, rho) = 0 a formula is evaluated, and where steps end on it.

A formula with |u|, max, cases or floor is smooth on either side of its surfaces. The side is held
while a step is made, also for stages that lie beyond the surface: so the step has the order of its
method. Where u changes sign inside a step, the step ends there and the next one holds the other
side (Hairer, Norsett, Wanner, Solving ODEs I, II.6, "discontinuous equations"). A side is a number:
+1 or -1 of u, 2 n + 1 of floor(u) = n, and 0 (free) has the formula decide for itself.
"""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import evaluate, flow
from explorer.kernels.event_driven.locate_event import first_event
from explorer.kernels.event_driven.records import ARMED, HIDDEN, LEAVING, NONE, PASSED
from explorer.kernels.event_driven.runge_kutta import advance, interpolate
from explorer.kernels.event_driven.saltation import largest
from explorer.kernels.event_driven.structures import (
    Method,
    Polynomial,
    Problem,
    Search,
    Step,
    Surfaces,
)
from explorer.kernels.references import kernel, value_of
from explorer.kernels.structures import Vector

__all__ = ["FAILED", "HIDDEN", "NONE", "cross", "free", "release", "turn"]

FAILED = -3  # a step has failed: its status is in `found`
ROUND_OFF = 1e-12  # of the largest |u|: not to be told from zero
CLEAR = 1e-6  # where u is held again that has come back too soon
SOON, OFTEN = 1e-3, 3  # of a step; so many times, and it is free


@kernel(inner=True)
def put(problem: Problem, j: int, side: int) -> None:
    """Write the side of surface `j`."""
    problem.sides[j].now = side
    problem.inp[problem.sides[j].place] = side


@kernel(inner=True)
def release(problem: Problem, surfaces: Surfaces) -> None:
    """Let all formulas decide for themselves."""
    for j in range(problem.sides.size):
        put(problem, j, 0)
        surfaces.watch[j].arm = PASSED


@kernel(inline=True)
def free(problem: Problem) -> bool:
    """Whether no side is held."""
    held = False
    for j in range(problem.sides.size):
        held = held or problem.sides[j].now != 0
    return not held


@kernel(inner=True)
def look(problem: Problem, surfaces: Surfaces, t: float, x: Vector) -> None:
    """Write u / size and u of all surfaces to `out`."""
    inp = problem.inp
    inp[0] = t
    for i in range(problem.sizes.n_x):
        inp[1 + i] = x[i]
    evaluate(surfaces.functions.table, 0, inp, problem.out)


@kernel(inner=True)
def catch(problem: Problem, surfaces: Surfaces, j: int) -> bool:
    """Hold the side of free surface `j` where u is clear of zero, or leaves it by a later u.

    u at the start of the stretch is noted, the later one is in `out`. Returns False where u is zero
    and does not move: its side stays free.
    """
    out, watch, history, sides = problem.out, surfaces.watch, surfaces.history, problem.sides
    u, later, whole = history[j].value, out[sides.size + j], history[j].whole == 1
    size = max(history[j].size, abs(u), abs(later), 1.0 if whole else 0.0)
    if sides[j].now != 0 or not 0.0 < size < np.inf:
        return True
    history[j].size = size
    moved = later - u
    if not abs(moved) > 1e-3 * ROUND_OFF * size:
        moved = 0.0
    zero = np.floor(u + 0.5) if whole else 0.0
    off = u - zero
    if abs(off) > (CLEAR if history[j].quick >= OFTEN else ROUND_OFF) * size:
        watch[j].arm, watch[j].shift = ARMED, 0.0
    elif history[j].quick < OFTEN and moved != 0.0:
        watch[j].arm = LEAVING
        watch[j].shift = -abs(off) / size if off * moved < 0.0 else 0.0
        off = moved
    else:
        return False
    up = off > 0.0
    problem.inp[surfaces.inverse + j] = 1.0 / size
    watch[j].sign = 1.0 if whole or up else -1.0
    watch[j].nearest, watch[j].falling = np.inf, 0
    side = 1 if up else -1
    put(problem, j, np.int64(2.0 * zero) + side if whole else side)
    return True


@kernel(inner=True)
def hold(
    problem: Problem,
    surfaces: Surfaces,
    search: Search,
    t: float,
    y: Vector,
    rates: Vector,
    ahead: float,
) -> bool:
    """Hold the sides that are free and clear; return whether one has been held.

    What is zero is held where the flow takes it, y' = `rates`, and stays free where that leads
    nowhere: two steps of Euler's method, since a velocity may be zero too.
    """
    sides, history, nx = problem.sides, surfaces.history, problem.sizes.n_x
    x, slope = search.x, search.rates
    some, held = False, False
    for j in range(sides.size):
        some = some or sides[j].now == 0
    if not some:
        return False
    look(problem, surfaces, t, y)
    for j in range(sides.size):
        history[j].value = problem.out[sides.size + j]
    for i in range(nx):
        x[i], slope[i] = y[i], rates[i]
    x[nx] = 0.0
    for trial in range(2):
        for i in range(nx):
            x[i] += ahead * slope[i]
        t += ahead
        look(problem, surfaces, t, x)
        for j in range(sides.size):
            was = sides[j].now
            if not catch(problem, surfaces, j):
                some = False
            held = held or sides[j].now != was
        if some or trial > 0:
            break
        if flow(problem, t, x, slope, 0) != SUCCESS:
            break
    return held


@kernel(inner=True)
def cross(
    problem: Problem,
    method: Method,
    surfaces: Surfaces,
    step: Step,
    search: Search,
    t: float,
    y: Vector,
    h: float,
    width: int,
    patient: bool,
) -> int:
    """Return the surface that the step meets first, NONE, HIDDEN or FAILED.

    The step ends there then: its slopes are in K, its end in `new`, its length in found.length;
    0.0: it is too short to be told from none.
    """
    out, found, watch, s = problem.out, search.found, surfaces.watch, method.stages
    if method.last > s:
        status = advance(problem, method, step, s + 1, method.last, t, y, h, 0)
        if status != SUCCESS:
            found[0].status = status
            return FAILED
    interpolate(method, step, y, h, problem.sizes.n_x)
    look(problem, surfaces, t, y)
    for j in range(problem.sides.size):
        surfaces.samples[0, j] = out[j]
    watched = Problem(
        value_of(surfaces.functions),
        value_of(surfaces.sizes),
        problem.wrt,
        problem.partner,
        problem.resets,
        problem.inp,
        out,
        value_of(problem.saddle),
        surfaces.state,
        problem.rows,
        problem.sides,
        problem.changes,
        problem.links,
        value_of(problem.drive),
        problem.active,
    )
    sampled = Search(
        search.x, search.rates, search.values, search.when, surfaces.samples, watch, found
    )
    polynomial = Polynomial(method.code, step.dense, y, t, h)
    j = first_event(watched, surfaces.automaton, polynomial, sampled, False, ROUND_OFF, patient)
    if j < 0:
        return j
    tau, slope = min(found[0].fraction, 1.0) * h, found[0].slope / h
    if t + tau <= t:
        found[0].length = 0.0
        return j
    for _ in range(6):
        status = advance(problem, method, step, 1, s, t, y, tau, width)
        if status != SUCCESS:
            found[0].status = status
            return FAILED
        found[0].length = tau
        if not slope < 0.0:
            break
        look(problem, surfaces, t + tau, step.new)
        move = -(watch[j].sign * out[j] - watch[j].shift) / slope
        if not abs(move) > 4e-16 * (abs(t) + tau):
            break
        tau = min(max(tau + move, 0.5 * tau), h)
    return j


@kernel(inner=True)
def flip(problem: Problem, surfaces: Surfaces, j: int, t: float, y: Vector, h: float) -> None:
    """Hold the other side of surface `j`, at which a step of at most h has ended at (t, y).

    One that comes back at once, again and again, is slid along, or grazes: it becomes free.
    """
    watch, history, sides = surfaces.watch, surfaces.history, problem.sides
    side = sides[j].now
    if side == 0:
        watch[j].arm = PASSED
        return
    if history[j].whole == 1:
        look(problem, surfaces, t, y)
        side += 2 if 2.0 * problem.out[sides.size + j] > side else -2
    else:
        side, watch[j].sign = -side, -watch[j].sign
    history[j].quick = history[j].quick + 1 if t - history[j].crossed <= SOON * h else 0
    history[j].crossed = t
    if history[j].quick >= OFTEN:
        put(problem, j, 0)
        watch[j].arm = PASSED
        return
    put(problem, j, side)
    look(problem, surfaces, t, y)
    watch[j].arm, watch[j].shift = LEAVING, min(watch[j].sign * problem.out[j], 0.0)
    watch[j].nearest, watch[j].falling = np.inf, 0


@kernel(inner=True)
def turn(
    problem: Problem,
    surfaces: Surfaces,
    step: Step,
    search: Search,
    j: int,
    t: float,
    y: Vector,
    h: float,
    width: int,
) -> int:
    """Hold the other side of surface `j` (NONE: -1), and all that may be held from (t, y) on.

    The slope at the start becomes that of these sides. The step to here was, or the next one is, of
    length h.
    """
    slope = step.slope
    if j >= 0:
        flip(problem, surfaces, j, t, y, h)
    status = SUCCESS
    if hold(problem, surfaces, search, t, y, slope, 1e-3 * h) or j >= 0:
        status = flow(problem, t, y, slope, width)
    if not free(problem) and not np.isfinite(largest(slope, 0, y.size)):
        release(problem, surfaces)  # a formula may end at its surface, as that of sqrt(u) does
        status = flow(problem, t, y, slope, width)
    return status
