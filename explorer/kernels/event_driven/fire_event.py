"""One event of the event-driven march: what is before it, its reset, what is behind it."""

import numpy as np

from explorer.codes import CHATTERING, EVENT_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.event_driven.flow import flow
from explorer.kernels.event_driven.initial_state import UNMADE
from explorer.kernels.event_driven.records import CHAINED, DRIVEN, STRIKE, UNARMED
from explorer.kernels.event_driven.saltation import bend, guard_gradient, largest, saltate
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
from explorer.kernels.event_driven.transition import GOES_ON, LONG_AGO, switch, touch
from explorer.kernels.references import kernel, value_of

__all__ = ["depart", "happen"]

REPEATS = 60  # events at one time beside 30 a contact


@kernel(inner=True)
def approach(
    problem: Problem,
    automaton: Automaton,
    options: Options,
    work: Workspace,
    event: Event,
    guard: int,
) -> int:
    """Write what an event has before it: x-, f-, S- and the derivatives of its guard."""
    run, y, slope, head, row, at = (
        work.run,
        work.y,
        work.step.slope,
        event.head,
        event.row,
        event.at,
    )
    block, t = problem.sizes.n_x + 1, run[0].t
    head[0].t, head[0].rest = t, 0.0
    status = flow(problem, t, y, slope, 0)
    if status != SUCCESS:
        return status
    for i in range(block):
        row[at.x_minus + i] = y[i]
        row[at.f_minus + i] = slope[i]
    for k in range(options.columns * block):
        row[at.s_minus + k] = y[block + k]
    for c in range(problem.sizes.rows):
        row[at.p + c] = 0.0
    guard_gradient(problem, automaton, guard, event)
    head[0].bend = 0.0
    if options.slopes:
        bend(problem, automaton, guard, 1e-3 * run[0].h, event)
    return SUCCESS


@kernel(inner=True)
def depart(problem: Problem, options: Options, work: Workspace, event: Event, cause: Event) -> int:
    """Write what an event has behind it: f+ and S+; the march goes on from (x+, S+).

    The time of an event that happens beyond its zero is that of its `cause`, or of inputs that
    change.
    """
    y, slope, row, at, nx = work.y, work.step.slope, event.row, event.at, problem.sizes.n_x
    block, width = nx + 1, options.columns
    row[at.x_plus + nx] = y[nx]
    status = flow(problem, work.run[0].t, row[at.x_plus :], slope, 0)
    if status != SUCCESS:
        return status
    for i in range(block):
        row[at.f_plus + i] = slope[i]
        y[i] = row[at.x_plus + i]
    chained, source = event.head[0].how >= CHAINED, cause.row
    if event.head[0].how == DRIVEN:
        source = row
        for k in range(width):
            row[at.dtau + k] = 0.0
    saltate(problem, event, width, source, chained)
    for k in range(width * block):
        y[block + k] = row[at.s_plus + k]
    return SUCCESS


@kernel(inner=True)
def is_graze(problem: Problem, event: Event) -> bool:
    """Whether a contact was struck without impulse, and is open: nothing has happened.

    The zero of the polynomial of a step is then none of the flow, or one at which the gap opens.
    """
    if event.head[0].kind != STRIKE:
        return False
    met = False
    for c in range(problem.sizes.n_c + problem.sizes.n_t):
        met = met or event.row[event.at.p + c] != 0.0
    return not met


@kernel(inline=True)
def time_back(events: Events, k: int, back: int) -> float:
    """Return the time of the event so many before number `k`."""
    return events.head[k - back].t if k >= back else LONG_AGO


@kernel(inner=True)
def happen(
    problem: Problem,
    automaton: Automaton,
    surfaces: Surfaces,
    contacts: Contacts,
    options: Options,
    work: Workspace,
    events: Events,
    guard: int,
    how: int,
) -> int:
    """Let guard `guard` fire at (t, y); return GOES_ON, or the status with which the run ends.

    A contact that is touched without impulse is a near miss of distance 0, and no event.
    `how` it has come there: see EVENT.
    """
    run, y, head, at, nc = work.run, work.y, events.head, value_of(events.at), problem.sizes.n_c
    t, k, block = run[0].t, run[0].events, problem.sizes.n_x + 1
    if k >= options.max_events:
        return EVENT_CAP
    watch = work.search.watch[guard]
    stuck = (k > 0 and t == head[k - 1].t) or watch.arm == UNARMED
    stuck = stuck or (watch.nearest == 0.0 and watch.miss_at == t)
    run[0].repeated = run[0].repeated + 1 if stuck else 0
    if run[0].repeated > REPEATS + 30 * nc:
        return CHATTERING
    event = Event(head[k : k + 1], events.parts[k], at)
    status = approach(problem, automaton, options, work, event, guard)
    if status != SUCCESS:
        return status
    release(problem, surfaces)
    for i in range(block):
        event.row[at.x_plus + i] = y[i]
    head[k].guard, head[k].before = guard, problem.state[0].mode
    head[k].together, head[k].how = 1, how
    ends = GOES_ON
    if problem.sizes.mechanical:
        crowd = time_back(events, k, 8 * (nc + 1))
        status = touch(problem, contacts, options, event, guard, y, crowd)
        if status != SUCCESS:
            return status
        if is_graze(problem, event):
            watch.nearest, watch.miss_at = 0.0, t
            run[0].fresh = 1
            return GOES_ON
    else:
        ends = switch(problem, automaton, options, event, guard, time_back(events, k, 12))
        if problem.functions.table[problem.state[0].mode].address == 0:
            run[0].at = problem.state[0].mode
            return UNMADE
    cause = max(k - 1, 0)
    status = depart(
        problem, options, work, event, Event(head[cause : cause + 1], events.parts[cause], at)
    )
    if status != SUCCESS:
        return status
    head[k].after, head[k].step = problem.state[0].mode, run[0].steps
    run[0].events += 1
    if ends != GOES_ON:
        return ends
    run[0].fresh = 1
    return GOES_ON if np.isfinite(largest(y, 0, block)) else NOT_FINITE
