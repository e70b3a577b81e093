"""Which guards are armed when a stretch of flow begins, and which fires at once."""

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import accelerate, evaluate, guard_count, guards
from explorer.kernels.event_driven.guard_zero import NOISE
from explorer.kernels.event_driven.locate_event import flags_of
from explorer.kernels.event_driven.records import (
    ARMED,
    BOUNDS,
    CHANGES,
    CONTACTS,
    HAS_WHEN,
    LEAVING,
    PASSED,
    UNARMED,
)
from explorer.kernels.event_driven.saltation import guard_gradient, largest
from explorer.kernels.event_driven.structures import Automaton, Event, Problem, Search
from explorer.kernels.linear_algebra.dense_lu import lu_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["rewatch"]

NEAR = 1e-13  # of the state: nothing but round-off
SAME = 1e-9  # of a gradient
NEVER = -1e300  # a shift that no guard comes to


@kernel(inner=True)
def arm_contact(
    problem: Problem, search: Search, j: int, y: Vector, slope: Vector, slow: float, band: float
) -> bool:
    """Set the watch of guard `j` of a mechanical system; return whether it fires at once.

    The outputs of CONTACTS stand in `out`. What moves no faster than `slow` does not move.
    """
    n, nc, nt, count = problem.sizes.n, problem.sizes.n_c, problem.sizes.n_t, problem.sizes.rows
    out, rows, watch, values = problem.out, problem.rows, search.watch, search.values
    fired, guards_ = problem.state[0].fired, nc + 2 * nt
    watch[j].sign, watch[j].shift, watch[j].falling = 1.0, 0.0, 0
    if j >= nc + nt or rows[j].closed == 1:
        watch[j].arm = ARMED
        return False
    watch[j].arm = UNARMED
    if j >= nc:  # a sliding velocity; it leaves zero after a reversal, not a breakaway
        rate = out[2 * count + count * n + j]
        for i in range(n):
            rate += out[2 * count + j * n + i] * slope[n + i]
        rate *= rows[j].sigma
        if values[j] > slow:
            watch[j].arm = ARMED
        elif rate > 1e-12 and fired != j + guards_:
            watch[j].arm, watch[j].shift = LEAVING, min(values[j], 0.0)
        return False
    speed = out[count + j]
    for i in range(n):
        speed += out[2 * count + j * n + i] * y[n + i]
    if values[j] > band:
        watch[j].arm = ARMED
    elif fired == j + guards_:
        return False
    elif speed > slow:
        watch[j].arm, watch[j].shift = LEAVING, min(values[j], 0.0)
    elif speed < -slow and values[j] > NOISE:
        watch[j].arm = ARMED  # it has its own time
    elif speed < -slow:
        return True  # touching and approaching: an impact
    return False


@kernel(inner=True)
def arm_guard(
    problem: Problem,
    automaton: Automaton,
    search: Search,
    scratch: Event,
    j: int,
    slope: Vector,
    band: float,
) -> bool:
    """Set the watch of guard `j` of an automaton; return whether it fires at once."""
    watch, row, at, state = search.watch, scratch.row, scratch.at, problem.state
    fired, count = state[0].fired, guard_count(problem, automaton)
    direction = automaton.guards[automaton.first[state[0].mode] + j].direction
    flags = flags_of(problem, automaton, j)
    for i in range(problem.sizes.n_x + 1):
        row[at.f_minus + i] = slope[i]
    r = search.values[j]
    guard_gradient(problem, automaton, j, scratch)
    rate = scratch.head[0].D
    sign = -1.0 if direction > 0 else 1.0
    if direction == 0:
        sign = 1.0 if r > band or (r >= -band and rate > 0.0) else -1.0
    watch[j].sign, watch[j].shift, watch[j].falling = sign, 0.0, 0
    r, rate = sign * r, sign * rate
    passed = watch[j].arm == PASSED and fired > -2 and state[0].watched == state[0].mode
    if r > band:
        watch[j].arm = ARMED
    elif fired == j + count:  # the event was on its zero, which is left, maybe tangentially
        watch[j].arm, watch[j].shift = LEAVING, min(r, 0.0)
    elif passed or (j == fired and rate < -1e-12):
        watch[j].arm = PASSED  # the state goes through, maybe with a reset
    elif r >= -band:
        if rate > 1e-12:
            watch[j].arm, watch[j].shift = LEAVING, min(r, 0.0)
            return False
        watch[j].arm = UNARMED
        # a guard that only watches does not fire for being started on
        counts_now = (flags & BOUNDS) != 0 or fired > -2
        if rate < -1e-12 and search.when[j] > 0.0 and counts_now:
            if r <= NOISE:
                return True
            watch[j].arm = ARMED  # it has its own time
    else:
        # landed beyond it: an event at once, unless it is on its way back, or started there
        watch[j].arm = PASSED
        if (flags & (BOUNDS | HAS_WHEN)) == BOUNDS and rate <= 0.0 and fired > -2:
            watch[j].arm = UNARMED
            return True
    return False


@kernel(inner=True)
def is_held(problem: Problem, scratch: Event) -> bool:
    """Whether the guard whose derivatives `scratch` holds is constant where the constraints hold.

    To first order: r_q is a combination of the rows held, and r does not depend on v.
    """
    n, count, rows = problem.sizes.n, problem.sizes.rows, problem.rows
    saddle, out, r_x, row = problem.saddle, problem.out, scratch.at.r_x, scratch.row
    size = n + problem.state[0].held
    if size == n or accelerate(problem) != SUCCESS or largest(row, r_x + n, r_x + 2 * n) > 0.0:
        return False
    evaluate(problem.functions.table, CONTACTS, problem.inp, out)
    for i in range(n):
        saddle.tangent[i] = row[r_x + i]
    for i in range(n, size):
        saddle.tangent[i] = 0.0
    lu_solve(saddle.W, size, size - 1, size - 1, saddle.pivots, saddle.tangent)
    for i in range(n):
        left, place = row[r_x + i], n
        for c in range(count):
            if rows[c].closed == 1:
                left -= out[2 * count + c * n + i] * saddle.tangent[place]
                place += 1
        if abs(left) > SAME * largest(row, r_x, r_x + n):
            return False
    return True


@kernel(inner=True)
def stays(problem: Problem, scratch: Event, j: int, y: Vector, slope: Vector) -> bool:
    """Whether guard `j`, on zero and still, is kept there by the constraints that hold.

    Then it is nothing but round-off, and no event.
    """
    n, inp, k = problem.sizes.n, problem.inp, j - problem.sizes.n_c - 2 * problem.sizes.n_t
    if not is_held(problem, scratch):
        return False
    reach, t, ahead = 1.0, inp[0], problem.state[0].ahead
    inp[0] += ahead
    for i in range(n):
        inp[1 + i] = y[i] + ahead * (y[n + i] + 0.5 * ahead * slope[n + i])
        inp[1 + n + i] = y[n + i] + ahead * slope[n + i]
        reach = max(reach, abs(y[i]), ahead * abs(y[n + i]), ahead * abs(slope[n + i]))
    evaluate(problem.functions.table, CHANGES, inp, problem.out)
    inp[0] = t
    for i in range(2 * n):
        inp[1 + i] = y[i]
    return abs(problem.out[k]) <= NEAR * reach


@kernel(inner=True)
def arm_change(
    problem: Problem,
    automaton: Automaton,
    search: Search,
    scratch: Event,
    j: int,
    y: Vector,
    slope: Vector,
    band: float,
) -> bool:
    """Set the watch of guard `j`, which changes constraints; return whether it fires at once.

    It is watched on the side on which its constraints are. A state that is beyond its zero has been
    carried there by another event.
    """
    watch, row, at = search.watch, scratch.row, scratch.at
    change = problem.changes[j - problem.sizes.n_c - 2 * problem.sizes.n_t]
    sign = 1.0 if change.side * change.last > 0 else float(change.side)
    watch[j].sign, watch[j].shift, watch[j].falling = sign, 0.0, 0
    watch[j].arm = ARMED
    r = sign * search.values[j]
    if r > band:
        return False
    if r < -band:
        watch[j].arm = UNARMED
        return True
    for i in range(problem.sizes.n_x + 1):
        row[at.f_minus + i] = slope[i]
    guard_gradient(problem, automaton, j, scratch)
    rate = sign * scratch.head[0].D
    if rate > 1e-12:
        watch[j].arm, watch[j].shift = LEAVING, min(r, 0.0)
    elif rate < -1e-12 and (r <= NOISE or problem.state[0].fired == j):
        watch[j].arm = UNARMED
        return True
    elif not rate < -1e-12:
        watch[j].arm = UNARMED
        if stays(problem, scratch, j, y, slope):
            watch[j].arm, watch[j].shift = ARMED, NEVER
    return False


@kernel(inner=True)
def rewatch(
    problem: Problem,
    automaton: Automaton,
    search: Search,
    scratch: Event,
    t: float,
    y: Vector,
    slope: Vector,
    band: float,
) -> int:
    """Set every guard's watch at the start of a stretch; return one that fires at once, or -1.

    y' = `slope`; `scratch` is an event to work on.
    """
    n, inp, out, when = problem.sizes.n, problem.inp, problem.out, search.when
    guards(problem, automaton, t, y, search.values)
    count = guard_count(problem, automaton)
    at_once = -1
    if problem.sizes.mechanical:
        evaluate(problem.functions.table, CONTACTS, inp, out)
        slow = 1e-12 * (1.0 + largest(y, n, 2 * n))
        contacts = count - problem.sizes.n_w
        for j in range(contacts):
            if arm_contact(problem, search, j, y, slope, slow, band) and at_once < 0:
                at_once = j
        for j in range(contacts, count):
            fires = arm_change(problem, automaton, search, scratch, j, y, slope, band)
            if fires and at_once < 0:
                at_once = j
    else:
        for j in range(count):
            when[j] = out[count + j]
        for j in range(count):
            if arm_guard(problem, automaton, search, scratch, j, slope, band) and at_once < 0:
                at_once = j
    problem.state[0].watched = problem.state[0].mode
    return at_once
