"""On which side of a surface u(t, x, rho) = 0 a formula is evaluated, and where steps end on it.

A formula with |u|, max, cases or floor is smooth on either side of its surfaces. The side is held
while a step is made, also for stages that lie beyond the surface: so the step has the order of its
method. Where u changes sign inside a step, the step ends there and the next one holds the other
side (Hairer, Norsett, Wanner, Solving ODEs I, II.6, "discontinuous equations"). A side is a number:
+1 or -1 of u, 2 n + 1 of floor(u) = n, and 0 (free) has the formula decide for itself.
"""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import (
    CLOSED,
    EACH,
    GUARDS,
    NC,
    NX,
    ROWS,
    SIDES,
    SIDES_AT,
    flow,
)
from explorer.kernels.event_driven.locate_event import (
    ARM,
    ARMED,
    FRACTION,
    LEAVING,
    LENGTH,
    NEAREST,
    PASSED,
    SHIFT,
    SIGN,
    SLOPE,
    first_event,
)
from explorer.kernels.event_driven.runge_kutta import advance, interpolate
from explorer.kernels.event_driven.saltation import largest
from explorer.kernels.event_driven.structures import Method, Problem, Surfaces
from explorer.kernels.jit import call, kernel
from explorer.kernels.structures import Matrix, Vector, takes

__all__ = ["FAILED", "HIDDEN", "cross", "free", "release", "turn"]

# columns of the watch of a surface behind those of a guard: u, its largest |u|, the time of its
# last crossing, how many crossings came soon after the one before
VALUE, SIZE, LAST, QUICK = 5, 6, 7, 8
INVERSE = 2  # in the shape of the surfaces: the place in `inp` of their inverse sizes
HIDDEN, FAILED = -2, -3  # the samples do not show the surfaces; a step has failed: found[FRACTION]
NONE = -1
ROUND_OFF = 1e-12  # of the largest |u|: not to be told from zero
CLEAR = 1e-6  # where u is held again that has come back too soon
SOON, OFTEN = 1e-3, 3  # of a step; so many times, and it is free


@kernel(takes(Problem, int, int), inner=True)
def put(problem, j, side):
    """Write the side of surface `j`."""
    shape = problem.shape
    problem.state[CLOSED + 2 * shape[ROWS] - shape[NC] + j] = side
    problem.inp[shape[shape[SIDES_AT] + j]] = side


@kernel(takes(Surfaces, int, returns=int), inner=True)
def meant(surfaces, j):
    """Whether floor(u) is meant by surface `j`, and not the sign of u."""
    return surfaces.shape[surfaces.shape[GUARDS] + 2 + EACH * j]


@kernel(takes(Problem, Surfaces), inner=True)
def release(problem, surfaces):
    """Let all formulas decide for themselves."""
    for j in range(problem.shape[SIDES]):
        put(problem, j, 0)
        surfaces.watch[j, ARM] = PASSED


@kernel(takes(Problem, returns=int), inner=True)
def free(problem):
    """Whether no side is held."""
    first = CLOSED + 2 * problem.shape[ROWS] - problem.shape[NC]
    for j in range(problem.shape[SIDES]):
        if problem.state[first + j] != 0:
            return 0
    return 1


@kernel(takes(Problem, Surfaces, float, Vector), inner=True)
def evaluate(problem, surfaces, t, x):
    """Write u / size and u of all surfaces to `out`."""
    problem.inp[0] = t
    for i in range(problem.shape[NX]):
        problem.inp[1 + i] = x[i]
    call(surfaces.table[0, 0], surfaces.table[0, 1], problem.out, problem.inp)


@kernel(takes(Problem, Surfaces, int, float, returns=float), inner=True)
def way(problem, surfaces, j, size):
    """Return the way of surface `j` from its value to that in `out`; 0.0: none to speak of."""
    moved = problem.out[problem.shape[SIDES] + j] - surfaces.watch[j, VALUE]
    return moved if abs(moved) > 1e-3 * ROUND_OFF * size else 0.0


@kernel(
    takes(Problem, Surfaces, Matrix, float, Vector, Vector, float, returns=int),
    inner=True,
)
def hold(problem, surfaces, bench, t, y, rates, ahead):
    """Hold the sides that are free and clear; return whether there is one.

    What is zero is held where the flow takes it, y' = `rates`, and stays free where that leads
    nowhere: two steps of Euler's method, since a velocity may be zero too.
    """
    count, held, some = problem.shape[SIDES], 0, False
    first = CLOSED + 2 * problem.shape[ROWS] - problem.shape[NC]
    for j in range(count):
        some = some or problem.state[first + j] == 0
    if not some:
        return 0
    table, shape, inp, out, W, pivots, vec, state = problem
    watch, x, slope = surfaces.watch, bench[2], bench[4]
    evaluate(problem, surfaces, t, y)
    for j in range(count):
        watch[j, VALUE] = out[count + j]
    for i in range(shape[NX]):
        x[i], slope[i] = y[i], rates[i]
    x[shape[NX]] = 0.0
    for trial in range(2):
        for i in range(shape[NX]):
            x[i] += ahead * slope[i]
        t += ahead
        evaluate(problem, surfaces, t, x)
        for j in range(count):
            u, whole = watch[j, VALUE], meant(surfaces, j)
            size = max(watch[j, SIZE], abs(u), abs(out[count + j]), 1.0 if whole else 0.0)
            if state[first + j] != 0 or not 0.0 < size < np.inf:
                continue
            watch[j, SIZE], moved = size, way(problem, surfaces, j, size)
            zero = np.floor(u + 0.5) if whole else 0.0
            off = u - zero
            if abs(off) > (CLEAR if watch[j, QUICK] >= OFTEN else ROUND_OFF) * size:
                watch[j, ARM], watch[j, SHIFT] = ARMED, 0.0
            elif watch[j, QUICK] < OFTEN and moved != 0.0:
                watch[j, ARM] = LEAVING
                watch[j, SHIFT] = -abs(off) / size if off * moved < 0.0 else 0.0
                off = moved
            else:
                some = False
                continue
            inp[surfaces.shape[INVERSE] + j], up = 1.0 / size, off > 0.0
            watch[j, SIGN] = 1.0 if whole or up else -1.0
            watch[j, NEAREST] = np.inf
            side = 1 if up else -1
            put(problem, j, np.int64(2.0 * zero) + side if whole else side)
            held = 1
        if some or trial > 0:
            break
        if flow(table, shape, inp, out, W, pivots, vec, state, t, x, slope, 0) != SUCCESS:
            break
    return held


@kernel(
    takes(Problem, Method, Surfaces, Matrix, Matrix, Matrix, Vector, float, float, int,
          returns=int),
    inner=True,
)  # fmt: skip
def cross(problem, method, surfaces, bench, K, dense, y, t, h, patient):
    """Return the surface that the step meets first, NONE, HIDDEN or FAILED.

    The step ends there then: its slopes are in K, its end in `bench`, its length in found[LENGTH];
    0.0: it is too short to be told from none.
    """
    table, shape, inp, out, W, pivots, vec, state = problem
    A, c, L, lp, D, s, code, extra, width = method
    stage, new, x, values, found = bench[0], bench[1], bench[2], bench[3], bench[5]
    nx, watch = shape[NX], surfaces.watch
    if extra > s:
        status = advance(
            table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, s + 1, extra, t, y, h, K,
            stage, new, 0,
        )  # fmt: skip
        if status != SUCCESS:
            found[FRACTION] = status
            return FAILED
    interpolate(code, D, s, K, y, new, h, nx, dense)
    evaluate(problem, surfaces, t, y)
    for j in range(shape[SIDES]):
        surfaces.samples[0, j] = out[j]
    j = first_event(
        surfaces.table, surfaces.shape, inp, out, W, pivots, vec, surfaces.state, code, dense, y, t,
        h, 0, ROUND_OFF, watch, surfaces.samples, x, values, found, patient,
    )  # fmt: skip
    if j < 0:
        return j
    tau, slope = min(found[FRACTION], 1.0) * h, found[SLOPE] / h
    if t + tau <= t:
        found[LENGTH] = 0.0
        return j
    for _ in range(6):
        status = advance(
            table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, 1, s, t, y, tau, K,
            stage, new, width,
        )  # fmt: skip
        if status != SUCCESS:
            found[FRACTION] = status
            return FAILED
        found[LENGTH] = tau
        if not slope < 0.0:
            break
        evaluate(problem, surfaces, t + tau, new)
        move = -(watch[j, SIGN] * out[j] - watch[j, SHIFT]) / slope
        if not abs(move) > 4e-16 * (abs(t) + tau):
            break
        tau = min(max(tau + move, 0.5 * tau), h)
    return j


@kernel(takes(Problem, Surfaces, int, float, Vector, float), inner=True)
def flip(problem, surfaces, j, t, y, h):
    """Hold the other side of surface `j`, at which a step of at most h has ended at (t, y).

    One that comes back at once, again and again, is slid along, or grazes: it becomes free.
    """
    shape, watch = problem.shape, surfaces.watch
    side = problem.state[CLOSED + 2 * shape[ROWS] - shape[NC] + j]
    if side == 0:
        watch[j, ARM] = PASSED
        return
    if meant(surfaces, j) == 1:
        evaluate(problem, surfaces, t, y)
        side += 2 if 2.0 * problem.out[shape[SIDES] + j] > side else -2
    else:
        side, watch[j, SIGN] = -side, -watch[j, SIGN]
    watch[j, QUICK] = watch[j, QUICK] + 1.0 if t - watch[j, LAST] <= SOON * h else 0.0
    watch[j, LAST] = t
    if watch[j, QUICK] >= OFTEN:
        put(problem, j, 0)
        watch[j, ARM] = PASSED
        return
    put(problem, j, side)
    evaluate(problem, surfaces, t, y)
    watch[j, ARM], watch[j, SHIFT] = LEAVING, min(watch[j, SIGN] * problem.out[j], 0.0)
    watch[j, NEAREST] = np.inf


@kernel(
    takes(Problem, Surfaces, Matrix, Matrix, int, float, Vector, float, int, returns=int),
    inner=True,
)  # fmt: skip
def turn(problem, surfaces, bench, K, j, t, y, h, width):
    """Hold the other side of surface `j` (none: -1), and all that may be held from (t, y) on.

    K[0] = y' becomes that of these sides. The step to here was, or the next one is, of length h.
    """
    table, shape, inp, out, W, pivots, vec, state = problem
    if j >= 0:
        flip(problem, surfaces, j, t, y, h)
    status = SUCCESS
    if hold(problem, surfaces, bench, t, y, K[0], 1e-3 * h) == 1 or j >= 0:
        status = flow(table, shape, inp, out, W, pivots, vec, state, t, y, K[0], width)
    if free(problem) == 0 and not np.isfinite(largest(K[0], 0, y.size)):
        release(problem, surfaces)  # a formula may end at its surface, as that of sqrt(u) does
        status = flow(table, shape, inp, out, W, pivots, vec, state, t, y, K[0], width)
    return status
