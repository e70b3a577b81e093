"""Event-driven integration: march, locate, jump, restart.

Between events the flow and its tangent linear model are marched together with step control on all
of them (Corner et al. 2019, eq. (18)); at an event the state jumps by its reset and every
sensitivity by `explorer.kernels.event_driven.saltation.saltate`. Whatever is returned comes from a
step of the method that ends there (at an event put right to round-off), never from an interpolant.

It is not the march of the schemes with fixed steps (`explorer.kernels.time_stepping`): there every
step ends on a grid and contact laws hold over the step, here its length follows from its error, and
it ends at the first zero of a guard, where the flow changes. So a step may be rejected, cut, or end
in an event of no length.
"""

from typing import NamedTuple

import numpy as np

from explorer.codes import CONTRADICTORY, NOT_FINITE, SUCCESS
from explorer.kernels.event_driven.arm_guards import rewatch
from explorer.kernels.event_driven.change_constraints import leave_unloaded
from explorer.kernels.event_driven.constraint_rank import chart
from explorer.kernels.event_driven.contradiction import contradiction
from explorer.kernels.event_driven.fire_event import happen
from explorer.kernels.event_driven.flow import enter_interval, flow, guard_count, is_change
from explorer.kernels.event_driven.initial_state import UNMADE, WITHOUT_GRADIENT, begin
from explorer.kernels.event_driven.input_break import next_interval
from explorer.kernels.event_driven.make_step import AGAIN, make_step
from explorer.kernels.event_driven.manifold import constrained, hold, project
from explorer.kernels.event_driven.records import CHAINED, DRIVEN, NONE
from explorer.kernels.event_driven.runge_kutta import first_step
from explorer.kernels.event_driven.saltation import largest
from explorer.kernels.event_driven.settle import settle
from explorer.kernels.event_driven.sides import release, turn
from explorer.kernels.event_driven.structures import (
    Automaton,
    Contacts,
    Method,
    Options,
    Problem,
    Record,
    Surfaces,
    Workspace,
)
from explorer.kernels.event_driven.transition import GOES_ON, LONG_AGO
from explorer.kernels.references import kernel, refer
from explorer.kernels.stored import Bytes, store, stored

__all__ = ["PAUSED", "Task", "bind", "go_on", "integrate", "march", "start"]

AHEAD = 1e-5  # s: so far is looked ahead where neither force nor motion tells what follows,
SOON = 1e-4  # but no farther than this part of the run
PAUSED = -11  # beside a status: the run goes on when it is called again


@kernel(inner=True)
def start(
    problem: Problem,
    automaton: Automaton,
    surfaces: Surfaces,
    contacts: Contacts,
    options: Options,
    work: Workspace,
) -> int:
    """Set all that a run begins with; return the status of the start."""
    run, state, y, watch = work.run, problem.state, work.y, work.search.watch
    run[0].t, run[0].h, run[0].fresh = 0.0, options.h, 1
    run[0].error, run[0].length = 0.0, 1.0
    enter_interval(problem, 0)
    run[0].interval, run[0].stop = 0, options.t_end
    if problem.drive.t.size > 0:
        run[0].stop = problem.drive.t[0]
    for j in range(automaton.last.size):
        last = automaton.last[j]
        last.first, last.second, last.third = LONG_AGO, LONG_AGO, LONG_AGO
    contacts.lcp.member[:] = 0
    for c in range(contacts.rows.size):
        contacts.rows[c].prior = 0
    contacts.lcp.kept[0].count = -1  # nothing is factored
    for j in range(watch.size):
        watch[j].nearest = np.inf
    for j in range(surfaces.watch.size):
        here, history = surfaces.watch[j], surfaces.history[j]
        here.sign, here.shift, here.arm, here.nearest = 0.0, 0.0, 0, 0.0
        history.value, history.size, history.crossed, history.quick = 0.0, 0.0, 0.0, 0
    release(problem, surfaces)
    state[0].fired, state[0].dependent = -2, 0
    state[0].ahead = min(AHEAD, SOON * options.t_end)
    if not problem.sizes.mechanical and problem.functions.table[state[0].mode].address == 0:
        run[0].at = state[0].mode
        return UNMADE
    status = begin(problem, contacts, options, y, run)
    if status == SUCCESS and problem.sizes.rows > problem.sizes.n_c + problem.sizes.n_t:
        run[0].at = hold(problem, 0.0, y)
        if run[0].at >= 0:
            return WITHOUT_GRADIENT
    if status == SUCCESS and constrained(problem):
        status = project(problem, 0.0, y, options.columns)
    slow = 1e-12 * (1.0 + largest(y, problem.sizes.n, problem.sizes.n_x))
    if status == SUCCESS and problem.sizes.n_c > 0:
        status = settle(problem, contacts, options.band, slow, -1, 0)
    if status == SUCCESS and problem.sizes.n_w > 0:
        status = leave_unloaded(problem, contacts, options.band, slow, work.search.values)
    return status


@kernel(inner=True)
def begin_stretch(
    problem: Problem,
    automaton: Automaton,
    surfaces: Surfaces,
    method: Method,
    options: Options,
    work: Workspace,
) -> tuple[int, int]:
    """Evaluate slopes, hold sides and arm guards behind an event or at the start.

    Returns a status and the guard that fires at once, or NONE.
    """
    run, step, search, y, slope = work.run, work.step, work.search, work.y, work.step.slope
    t, h, width, longest = run[0].t, run[0].h, options.columns, options.h_max
    if problem.state[0].dependent > 0:
        problem.state[0].fault = contradiction(problem, t, y, options.t_end)
        if problem.state[0].fault >= 0:
            return CONTRADICTORY, NONE
    chart(problem, work.rank, t, y)
    status = flow(problem, t, y, slope, width)
    if status != SUCCESS:
        return status, NONE
    if not np.isfinite(largest(slope, 0, y.size)):
        return NOT_FINITE, NONE
    ahead = h if h > 0.0 else 1e-3 * min(run[0].stop - t, longest)
    status = turn(problem, surfaces, step, search, NONE, t, y, ahead, width)
    if status != SUCCESS:
        return status, NONE
    guard = rewatch(problem, automaton, search, work.scratch, t, y, slope, options.band)
    for j in range(guard_count(problem, automaton)):
        search.samples[0, j] = search.values[j]
    run[0].fresh, run[0].wary = 0, 0
    if h <= 0.0:
        run[0].h = first_step(problem, method, step, t, y, min(run[0].stop - t, longest))
    return SUCCESS, guard


class Task(NamedTuple):
    """What a march works on, from run to run."""

    problem: Problem
    automaton: Automaton
    surfaces: Surfaces
    method: Method
    contacts: Contacts
    work: Workspace
    record: Record


@kernel()
def bind(task: Task, memory: Bytes) -> int:
    """Store a task where `march` finds it, if there is room; return how many bytes it needs."""
    return store(memory, task)


@kernel(inner=True)
def go_on(task: Task, options: Options, pause: float, most: int) -> int:
    """Integrate a run that `start` has begun up to its end; return a status, see `integrate`.

    PAUSED: a step has gone beyond the time `pause`, or there are more than `most` events. Called
    again it goes on, and makes the steps that it would have made at once.
    """
    problem, automaton, surfaces = task.problem, task.automaton, task.surfaces
    method, contacts, work, record = task.method, task.contacts, task.work, task.record
    run, watch, values = work.run, work.search.watch, work.search.values
    broken = NONE
    while True:
        if broken < 0 and (run[0].t > pause or run[0].events > most):
            return PAUSED
        guard, how = NONE, 0
        if run[0].fresh == 1:
            status, guard = begin_stretch(problem, automaton, surfaces, method, options, work)
            if status != SUCCESS:
                return status
            if guard >= 0:
                beyond = watch[guard].sign * values[guard] < -options.band
                caused = not problem.sizes.mechanical or is_change(problem, guard)
                how = CHAINED if caused and beyond else 1
                how = DRIVEN if broken >= 0 and how == CHAINED else how
            elif broken >= 0:
                guard, how = broken, DRIVEN
            broken = NONE
        if guard < 0:
            if run[0].t >= run[0].stop:
                if run[0].t >= options.t_end:
                    return SUCCESS
                status, broken = next_interval(
                    problem, automaton, surfaces, contacts, options, work, record.events
                )
                if status != SUCCESS:
                    return status
                continue
            status, guard = make_step(
                problem, automaton, surfaces, method, options, work, record.steps
            )
            if status != SUCCESS and status != AGAIN:
                return status
        if guard >= 0:
            status = happen(
                problem, automaton, surfaces, contacts, options, work, record.events, guard, how
            )
            if status != GOES_ON:
                return status


@kernel(inner=True)
def integrate(task: Task, options: Options) -> int:
    """Integrate from t = 0 to t_end; return a status.

    SUCCESS: the end, or a terminal event; RANK_LOST, see
    `explorer.kernels.event_driven.constraint_rank`; NOT_MET, see
    `explorer.kernels.event_driven.change_constraints`; CONTRADICTORY, see
    `explorer.kernels.event_driven.contradiction`;
    STEP_CAP, EVENT_CAP: the record is full; STIFF: the
    explicit method is at its limit of stability; NOT_FINITE: no step is small enough; CHATTERING:
    events repeat without time passing; ZENO, NO_ACTIVE_SET: see
    `explorer.kernels.event_driven.transition.switch`; SINGULAR, IMPROPER, LCP_RAY, LCP_ITERATIONS:
    see `explorer.kernels.event_driven.contact_impact`; UNMADE: it comes to the mode run.at, which
    is to be compiled first; others below zero: see `explorer.kernels.event_driven.initial_state`.
    """
    status = start(task.problem, task.automaton, task.surfaces, task.contacts, options, task.work)
    return (
        go_on(task, options, np.inf, task.record.events.head.size) if status == SUCCESS else status
    )


@kernel()
def march(memory: Bytes, options: Options) -> int:
    """Integrate with the task that `bind` has stored; return the status of `integrate`."""
    return integrate(stored(memory, Task), refer(options))
