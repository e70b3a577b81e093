"""Which guards are armed when a stretch of flow begins, and which fires at once."""

from explorer.kernels.event_driven.flow import evaluate, guard_count, guards
from explorer.kernels.event_driven.guard_zero import NOISE
from explorer.kernels.event_driven.locate_event import flags_of
from explorer.kernels.event_driven.records import (
    ARMED,
    BOUNDS,
    CONTACTS,
    HAS_WHEN,
    LEAVING,
    PASSED,
    UNARMED,
)
from explorer.kernels.event_driven.saltation import guard_gradient, largest
from explorer.kernels.event_driven.structures import Automaton, Event, Problem, Search
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["rewatch"]


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
        for j in range(count):
            if arm_contact(problem, search, j, y, slope, slow, band) and at_once < 0:
                at_once = j
    else:
        for j in range(count):
            when[j] = out[count + j]
        for j in range(count):
            if arm_guard(problem, automaton, search, scratch, j, slope, band) and at_once < 0:
                at_once = j
    problem.state[0].watched = problem.state[0].mode
    return at_once
