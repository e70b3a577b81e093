"""Where inputs change: the state goes on, and the mode is decided anew.

The time of a break depends on no parameter and the state is continuous, so S+ = S-. An event is
recorded only if the mode changes there, as one whose time is fixed.

mechanical   which contacts stay closed, stick or slide follows from the accelerations with the new
             inputs, as at the start of a run
automaton    with conditions for the start of a run, these decide; else a guard that is beyond its
             zero with the new inputs fires at once
"""

from explorer.codes import EVENT_CAP, SUCCESS
from explorer.kernels.event_driven.fire_event import depart
from explorer.kernels.event_driven.flow import (
    enter_interval,
    evaluate,
    flow,
    guard_count,
    guards,
)
from explorer.kernels.event_driven.initial_state import UNMADE
from explorer.kernels.event_driven.records import (
    ARMED,
    CROSSING,
    DRIVEN,
    NONE,
    RELEASE,
    REVERSAL,
    SLIDING,
    STICKING,
)
from explorer.kernels.event_driven.saltation import identity, largest
from explorer.kernels.event_driven.settle import settle
from explorer.kernels.event_driven.sides import release
from explorer.kernels.event_driven.structures import (
    Automaton,
    Contacts,
    Event,
    Events,
    Options,
    Problem,
    Surfaces,
    Workspace,
)
from explorer.kernels.references import kernel, value_of

__all__ = ["next_interval"]

PARTED = -1e300


@kernel(inner=True)
def place_state(problem: Problem, t: float, work: Workspace) -> None:
    """Write time and state to the input vector."""
    problem.inp[0] = t
    for i in range(problem.sizes.n_x):
        problem.inp[1 + i] = work.y[i]


@kernel(inner=True)
def decide(problem: Problem, contacts: Contacts, options: Options, work: Workspace) -> int:
    """Decide which contacts stay closed, and stick; return a status."""
    y, n, n_x = work.y, problem.sizes.n, problem.sizes.n_x
    place_state(problem, work.run[0].t, work)
    for c in range(problem.sizes.rows):
        contacts.rows[c].prior = problem.rows[c].closed
    slow = 1e-12 * (1.0 + largest(y, n, n_x))
    return settle(problem, contacts, options.band, slow, -1, 0)


@kernel(inner=True)
def changed_row(problem: Problem, contacts: Contacts) -> tuple[int, int]:
    """Return the first contact whose rows are held otherwise than before, and the kind of event.

    `PriorRows.prior` says which were held before, 2 or 3: they slid, backwards or forwards.
    """
    rows, prior, nc = problem.rows, contacts.rows, problem.sizes.n_c
    for c in range(nc):
        if rows[c].closed == 0 and prior[c].prior == 1:
            return c, RELEASE
    for k in range(nc, nc + problem.sizes.n_t):
        contact = problem.partner[k]
        before, now = prior[k].prior, rows[k].closed
        if rows[contact].closed == 1 and before != now:
            return contact, STICKING if now == 1 else SLIDING
    return NONE, RELEASE


@kernel(inner=True)
def write_event(
    problem: Problem, options: Options, work: Workspace, events: Events, guard: int, kind: int
) -> int:
    """Write what an event has before it, at the old inputs and in the old mode.

    No zero of a guard makes it, so it has no derivatives of one.
    """
    k, y, block, slope = work.run[0].events, work.y, problem.sizes.n_x + 1, work.step.slope
    at = value_of(events.at)
    event = Event(events.head[k : k + 1], events.parts[k], at)
    row, head = event.row, event.head
    status = flow(problem, work.run[0].t, y, slope, 0)
    if status != SUCCESS:
        return status
    for i in range(at.size):
        row[i] = 0.0
    for i in range(block):
        row[at.x_minus + i] = row[at.x_plus + i] = y[i]
        row[at.f_minus + i] = slope[i]
    for i in range(options.columns * block):
        row[at.s_minus + i] = y[block + i]
    identity(problem.sizes, event)
    head[0].t, head[0].rest, head[0].D, head[0].r_t, head[0].bend = (
        work.run[0].t,
        0.0,
        0.0,
        0.0,
        0.0,
    )
    head[0].guard, head[0].kind, head[0].before = guard, kind, problem.state[0].mode
    head[0].together, head[0].how = 1, DRIVEN
    return SUCCESS


@kernel(inner=True)
def end_event(problem: Problem, options: Options, work: Workspace, events: Events) -> int:
    """Write what the event has behind it, and count it."""
    k = work.run[0].events
    event = Event(events.head[k : k + 1], events.parts[k], value_of(events.at))
    status = depart(problem, options, work, event, event)
    if status != SUCCESS:
        return status
    event.head[0].after, event.head[0].step = problem.state[0].mode, work.run[0].steps
    work.run[0].events += 1
    return SUCCESS


@kernel(inner=True)
def settle_anew(
    problem: Problem,
    contacts: Contacts,
    options: Options,
    work: Workspace,
    events: Events,
    k: int,
) -> int:
    """Decide the contacts with the inputs of interval `k`; return a status."""
    rows, prior, held = problem.rows, contacts.rows, problem.state[0].held
    nc, nt = problem.sizes.n_c, problem.sizes.n_t
    closed = False
    for c in range(nc):
        closed = closed or rows[c].closed == 1
    if not closed:  # open ones stay open: no velocity has changed
        enter_interval(problem, k)
        return SUCCESS
    signs = work.search.when  # of sliding, before
    for j in range(nt):
        signs[j] = float(rows[nc + j].sigma)
    enter_interval(problem, k)
    status = decide(problem, contacts, options, work)
    if status != SUCCESS:
        return status
    contact, kind = changed_row(problem, contacts)
    for j in range(nt):
        turned = signs[j] * rows[nc + j].sigma < 0.0
        if contact < 0 and rows[problem.partner[nc + j]].closed == 1 and turned:
            contact, kind = problem.partner[nc + j], REVERSAL
    if contact < 0:
        return SUCCESS
    if work.run[0].events >= options.max_events:
        return EVENT_CAP
    enter_interval(problem, k - 1)
    for c in range(problem.sizes.rows):
        rows[c].closed = prior[c].prior
    for j in range(nt):
        rows[nc + j].sigma = int(signs[j])
    problem.state[0].held = held
    status = write_event(problem, options, work, events, contact, kind)
    if status != SUCCESS:
        return status
    enter_interval(problem, k)
    status = decide(problem, contacts, options, work)
    return end_event(problem, options, work, events) if status == SUCCESS else status


@kernel(inner=True)
def begin_anew(problem: Problem, automaton: Automaton, t: float, work: Workspace) -> int:
    """Return the mode that the conditions of a start choose at the state, or -1: none holds.

    The present mode stays if its conditions hold.
    """
    out, starts, present = problem.out, automaton.starts, problem.state[0].mode
    place_state(problem, t, work)
    evaluate(automaton.conditions, 0, problem.inp, out)
    best, chosen, first = -1e-6, -1, -1
    for b in range(starts.size):
        least = 1e300
        for i in range(starts[b].first, starts[b].last):
            least = PARTED if out[i] != out[i] else min(least, out[i])
        if least > 0.0 and starts[b].to == present:
            return present
        if least > 0.0 and first < 0:
            first = starts[b].to
        if least > best:
            best, chosen = least, starts[b].to
    return first if first >= 0 else chosen


@kernel(inner=True)
def jumped(problem: Problem, automaton: Automaton, options: Options, work: Workspace) -> int:
    """Return a guard that the new inputs have carried beyond its zero, or NONE."""
    watch, values, when = work.search.watch, work.search.values, work.search.when
    guards(problem, automaton, work.run[0].t, work.y, values)
    count = guard_count(problem, automaton)
    for j in range(count):
        when[j] = problem.out[count + j]
    for j in range(count):
        beyond = watch[j].sign * values[j] < -options.band
        if watch[j].arm == ARMED and beyond and when[j] > 0.0:
            return j
    return NONE


@kernel(inner=True)
def next_interval(
    problem: Problem,
    automaton: Automaton,
    surfaces: Surfaces,
    contacts: Contacts,
    options: Options,
    work: Workspace,
    events: Events,
) -> tuple[int, int]:
    """Go on to the next interval; return a status, and a guard that fires at once, or NONE."""
    run, state, guard = work.run, problem.state, NONE
    k, breaks = run[0].interval + 1, problem.drive.t
    status = SUCCESS
    release(problem, surfaces)
    if problem.sizes.mechanical:
        status = settle_anew(problem, contacts, options, work, events, k)
    elif automaton.starts.size > 0 and automaton.guards.size > 0:
        mode = state[0].mode
        enter_interval(problem, k)
        after = begin_anew(problem, automaton, run[0].t, work)
        if after >= 0 and after != mode:
            if run[0].events >= options.max_events:
                return EVENT_CAP, NONE
            enter_interval(problem, k - 1)
            named = min(automaton.first[mode], automaton.guards.size - 1)
            status = write_event(problem, options, work, events, named, CROSSING)
            if status != SUCCESS:
                return status, NONE
            enter_interval(problem, k)
            state[0].mode = after
            if problem.functions.table[after].address == 0:
                run[0].at = after
                return UNMADE, NONE
            status = end_event(problem, options, work, events)
    else:
        enter_interval(problem, k)
        guard = jumped(problem, automaton, options, work)
    if status != SUCCESS:
        return status, NONE
    run[0].interval = k
    run[0].stop = breaks[k] if k < breaks.size else options.t_end
    run[0].fresh = 1
    state[0].fired = -1
    return SUCCESS, guard
