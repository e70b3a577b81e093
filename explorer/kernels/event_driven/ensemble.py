"""Many event-driven runs in one call: of each march only what is asked for stays.

The members share one workspace and one record, which each of them overwrites. So a member costs its
steps, and what is read from its record; it is the run that `march` makes alone, to the last bit.
"""

from typing import NamedTuple

import numpy as np

from explorer.codes import NOT_FINITE, SUCCESS
from explorer.kernels.event_driven.capture import Known, caught_by
from explorer.kernels.event_driven.dense_output import states_at
from explorer.kernels.event_driven.extremes import Span, extremes
from explorer.kernels.event_driven.flow import evaluate, restore
from explorer.kernels.event_driven.initial_state import UNMADE
from explorer.kernels.event_driven.march import PAUSED, Task, go_on, integrate, start
from explorer.kernels.event_driven.records import (
    CONTACTS,
    RELEASE,
    REST_SHARE,
    SLIDING,
    TrackRow,
)
from explorer.kernels.event_driven.step_record import note
from explorer.kernels.event_driven.structures import Events, Options, Problem
from explorer.kernels.members import BY_EVENT, BY_PERIOD, FREE, NOWHERE
from explorer.kernels.references import kernel, refer
from explorer.kernels.stored import Bytes, stored
from explorer.kernels.structures import Integers, Matrix, Stack, Table, Vector

__all__ = ["Blank", "Members", "Seen", "ensemble"]

REFUSED = -1  # beside a status: no mode holds at the start
DRIFT = 1e-6  # m, as far below zero a long run may leave a gap that rests
SWEEPS = 8  # over all gaps, while one is put back


class Members(NamedTuple):
    """Runs that differ in parameters, starts and times."""

    rho: Matrix  # (k, n_rho)
    start: Matrix  # (k, n_x), NaN: the model's own
    t_end: Vector  # (k,) s
    since: Vector  # (k,) s, nothing is observed before
    period: Vector  # (k,) s, of a section by time
    offset: Vector  # (k,) s, its points lie at offset + j period
    chained: bool  # a member starts where the one before has ended
    behind: bool  # the starts are ends of other runs; of a chain only the first one is
    section: int  # NOWHERE, BY_EVENT or BY_PERIOD
    before: bool  # the state before an event, not behind it
    met: Integers  # (guards,) 1: events of this guard are points of the section
    extrema: bool  # of all states
    max_steps: Integers  # (k,)
    max_events: Integers  # (k,)


class Blank(NamedTuple):
    """What a run begins with, and the memory of the problem where it stands."""

    inp: Vector
    mode: Integers  # (k,) of members that do not follow another; below zero: in none
    form: int
    rows: Bytes  # the bytes of the held rows
    run: Bytes  # and of the progress


class Seen(NamedTuple):
    """What was observed."""

    code: Integers  # (k,)
    at: Integers  # (k,) what a start that makes no sense is about
    t: Vector  # (k,) time that was reached, s
    end: Matrix  # (k, n_x)
    mode: Integers  # (k,) at the end
    events: Table  # (k, guards) how many there were
    found: Integers  # (k,) points of the section, also those beyond the room for them
    points: Stack  # (k, most, n_x + 1) states, and the time behind them
    low: Matrix  # (k, n_x), or (0, n_x)
    high: Matrix
    times: Vector  # (most,)
    which: Integers  # (most,)
    rates: Matrix  # (most, n_x + 1)
    caught: Integers  # (k,) attractor whose points it meets, FREE or ESCAPED
    track: TrackRow  # (1,)
    kept: Matrix  # the slopes of a step, while a point is computed


@kernel(inner=True)
def lift(problem: Problem, y: Vector) -> None:
    """Put gaps that a run before has left below zero back to zero, in turn along their gradients.

    Contacts rest at the level of accelerations, so their gaps drift by the errors of the steps.
    """
    n, rows, table, inp, out = (
        problem.sizes.n,
        problem.sizes.rows,
        problem.functions.table,
        problem.inp,
        problem.out,
    )
    for _ in range(SWEEPS):
        for i in range(n):
            inp[1 + i] = y[i]
        evaluate(table, CONTACTS, inp, out)
        moved = False
        for c in range(problem.sizes.n_c):
            gap, square = out[c], 0.0
            for i in range(n):
                square += out[2 * rows + c * n + i] ** 2
            if -DRIFT < gap < 0.0 and square > 0.0:
                for i in range(n):
                    y[i] -= gap * out[2 * rows + c * n + i] / square
                moved = True
        if not moved:
            break


@kernel(inline=True)
def leads(members: Members, seen: Seen, k: int) -> bool:
    """Whether the member behind `k` begins at its end: not if it has failed, or met no section."""
    return seen.code[k] == SUCCESS and (members.section == NOWHERE or seen.found[k] > 0)


@kernel(inner=True)
def prepare(task: Task, blank: Blank, members: Members, seen: Seen, k: int, mode: int) -> None:
    """Clear what the run before has left, and set parameters and start of member `k`."""
    problem, y, n = task.problem, task.work.y, task.problem.sizes.n_x
    inp, out, state, functions = problem.inp, problem.out, problem.state, problem.functions
    for i in range(inp.size):
        inp[i] = blank.inp[i]
    for i in range(members.rho.shape[1]):
        inp[1 + n + i] = members.rho[k, i]
    blank.rows[:] = 0
    blank.run[:] = 0
    for i in range(problem.sides.size):
        problem.sides[i].now = 0
    state[0].mode, state[0].held, state[0].fired, state[0].watched = mode, 0, 0, 0
    state[0].moments, state[0].form, state[0].fault, state[0].dependent = 0, blank.form, 0, 0
    follows = members.chained and k > 0 and leads(members, seen, k - 1)
    evaluate(functions.table, functions.table.size - 1, inp, out)
    for i in range(n):
        y[i] = out[i]
        if follows:
            y[i] = seen.end[k - 1, i]
        elif not np.isnan(members.start[k, i]):
            y[i] = members.start[k, i]
    ended = members.behind and (k == 0 or not members.chained)
    if (follows or ended) and problem.sizes.n_c > 0:
        lift(problem, y)


@kernel(inner=True)
def is_point(members: Members, events: Events, i: int) -> bool:
    """Whether event `i` lies on the section: its guard is met there, not left, nor slid on."""
    kind = events.head[i].kind
    return members.met[events.head[i].guard] == 1 and kind != RELEASE and kind < SLIDING


@kernel(inner=True)
def read_events(task: Task, members: Members, seen: Seen, k: int) -> None:
    """Count the events of member `k`, and keep those on the section."""
    events, n = task.record.events, task.problem.sizes.n_x
    first = events.at.x_minus if members.before else events.at.x_plus
    most, found = seen.points.shape[1], 0
    for i in range(task.work.run[0].events):
        t = events.head[i].t + events.head[i].rest
        if t < members.since[k]:
            continue
        seen.events[k, events.head[i].guard] += 1
        if members.section != BY_EVENT or not is_point(members, events, i):
            continue
        if found < most:
            for m in range(n):
                seen.points[k, found, m] = events.parts[i, first + m]
            seen.points[k, found, n] = t
        found += 1
    seen.found[k] = found


@kernel(inner=True)
def read_times(task: Task, members: Members, seen: Seen, k: int) -> int:
    """Keep the states of member `k` at times of its section; return the status of the flow."""
    run, steps, n = task.work.run, task.record.steps, task.problem.sizes.n_x
    period, offset, last = members.period[k], members.offset[k], run[0].steps - 1
    most, found, i = seen.points.shape[1], 0, 0
    j = max(int(np.ceil((members.since[k] - offset) / period - 1e-9)), 0)
    while last >= 0 and found < most:
        t = offset + j * period
        if t > run[0].t:
            if t > run[0].t * (1.0 + 1e-12):
                break
            t = run[0].t
        while i < last and steps.t[i + 1] <= t:
            i += 1
        seen.times[found], seen.which[found] = t, i
        found += 1
        j += 1
    seen.found[k] = found
    times, which, rates = seen.times[:found], seen.which[:found], seen.rates[:found]
    points = seen.points[k, :found]
    status = states_at(
        task.problem, task.method, task.work.step, steps, times, which, True, points, rates
    )
    for i in range(found):
        points[i, n] = times[i]
    return status


@kernel(inner=True)
def point_at(task: Task, seen: Seen, k: int, t: float, goes_on: bool) -> int:
    """Write the state of member `k` at a time that its steps have passed; return a status.

    What a march that goes on reads of its last step is as it was.
    """
    problem, step, steps, n = (
        task.problem,
        task.work.step,
        task.record.steps,
        task.problem.sizes.n_x,
    )
    row, K, kept, state = task.work.run[0].steps, step.K, seen.kept, problem.state
    mode, held, i = state[0].mode, state[0].held, task.work.run[0].steps - 1
    if goes_on:
        note(problem, steps, row, task.work.run[0].t, 0.0, task.work.y, step.slope)
        for r in range(K.shape[0]):
            for m in range(K.shape[1]):
                kept[r, m] = K[r, m]
    while i > 0 and steps.t[i] > t:
        i -= 1
    seen.times[0], seen.which[0] = t, i
    points = seen.points[k, :1]
    times, which, rates = seen.times[:1], seen.which[:1], seen.rates[:1]
    status = states_at(problem, task.method, step, steps, times, which, True, points, rates)
    points[0, n] = t
    if goes_on:
        restore(problem, steps.state, row)
        state[0].mode, state[0].held = mode, held
        for r in range(K.shape[0]):
            for m in range(K.shape[1]):
                K[r, m] = kept[r, m]
    return status


@kernel(inner=True)
def look_at_events(
    task: Task, known: Known, members: Members, seen: Seen, k: int, first: int
) -> None:
    """Look whether member `k` is caught at its events from `first` on; keep the last point."""
    events, n = task.record.events, task.problem.sizes.n_x
    begin = events.at.x_minus if members.before else events.at.x_plus
    for i in range(first, task.work.run[0].events):
        t = events.head[i].t + events.head[i].rest
        if t < members.since[k] or not is_point(members, events, i) or seen.caught[k] != FREE:
            continue
        for m in range(n):
            seen.points[k, 0, m] = events.parts[i, begin + m]
        seen.points[k, 0, n] = t
        seen.found[k] += 1
        seen.caught[k] = caught_by(known, seen.points[k, 0], seen.track)


@kernel(inner=True)
def run_until_caught(
    task: Task, options: Options, known: Known, members: Members, seen: Seen, k: int
) -> int:
    """Run member `k` until its points on the section meet a known attractor, or to its end."""
    run, looked = task.work.run, 0
    period, offset = members.period[k], members.offset[k]
    timed = members.section == BY_PERIOD
    j = max(int(np.ceil((members.since[k] - offset) / period - 1e-9)), 0)
    track = seen.track
    track[0].near, track[0].streak, track[0].outside = FREE, 0, 0
    seen.caught[k], seen.found[k] = FREE, 0
    status = start(task.problem, task.automaton, task.surfaces, task.contacts, options, task.work)
    if status != SUCCESS:
        return status
    while seen.caught[k] == FREE:
        pause = offset + j * period if timed else np.inf
        status = go_on(task, options, pause, task.record.events.head.size if timed else looked)
        if status != SUCCESS and status != PAUSED:
            return status
        ends = status == SUCCESS
        if not timed:
            look_at_events(task, known, members, seen, k, looked)
            looked = run[0].events
        while timed and run[0].steps > 0 and seen.caught[k] == FREE:
            t = offset + j * period
            if (ends and t > run[0].t * (1.0 + 1e-12)) or (not ends and t >= run[0].t):
                break
            if not ends and run[0].steps >= options.max_steps:
                break  # the record is full, which the next step tells
            if point_at(task, seen, k, min(t, run[0].t), not ends) != SUCCESS:
                return NOT_FINITE
            j += 1
            seen.found[k] += 1
            seen.caught[k] = caught_by(known, seen.points[k, 0], seen.track)
        if ends:
            break
    return SUCCESS


@kernel(inner=True)
def watch_one(
    task: Task, options: Options, known: Known, members: Members, seen: Seen, k: int
) -> int:
    """Run member `k` until it is caught; its end is the point where it was."""
    run, n = task.work.run, task.problem.sizes.n_x
    status = run_until_caught(task, options, known, members, seen, k)
    seen.at[k], seen.t[k], seen.mode[k] = run[0].at, run[0].t, task.problem.state[0].mode
    for i in range(n):
        seen.end[k, i] = task.work.y[i]
        if seen.caught[k] != FREE:
            seen.end[k, i] = seen.points[k, 0, i]
    if seen.caught[k] != FREE:
        seen.t[k] = seen.points[k, 0, n]
    return status


@kernel(inner=True)
def run_one(task: Task, options: Options, members: Members, seen: Seen, k: int) -> int:
    """Run member `k`, which is prepared, and keep what is asked of it; return its status."""
    run, y, n = task.work.run, task.work.y, task.problem.sizes.n_x
    status = integrate(task, options)
    seen.at[k], seen.t[k], seen.mode[k] = run[0].at, run[0].t, task.problem.state[0].mode
    for i in range(n):
        seen.end[k, i] = y[i]
    if status != SUCCESS:
        return status
    read_events(task, members, seen, k)
    if members.section == BY_PERIOD:
        status = read_times(task, members, seen, k)
    if status == SUCCESS and members.extrema:
        status = extremes(
            task.problem,
            task.method,
            task.work.step,
            task.record,
            y,
            Span(run[0].steps, run[0].events, members.since[k], run[0].t),
            seen.low[k],
            seen.high[k],
        )
    return status


@kernel()
def ensemble(
    memory: Bytes,
    options: Options,
    blank: Blank,
    known: Known,
    members: Members,
    seen: Seen,
    first: int,
) -> int:
    """Run members from `first` on with the task that `bind` has stored.

    Returns how many have been run: fewer than all if one comes to a mode that is to be compiled,
    which `at` tells.
    """
    task, options, blank = stored(memory, Task), refer(options), refer(blank)
    members, seen, known = refer(members), refer(seen), refer(known)
    for k in range(first, members.t_end.size):
        own = Options(
            members.t_end[k],
            options.h,
            options.grid if options.grid > 0.0 else members.t_end[k] / 4,
            options.grid,
            options.band,
            min(options.rest, REST_SHARE * members.t_end[k]),
            options.lowest,
            members.max_steps[k],
            members.max_events[k],
            options.columns,
            options.slopes,
            True,
            False,
            options.picks,
        )
        mode = blank.mode[k]
        if members.chained and k > 0 and leads(members, seen, k - 1):
            mode = seen.mode[k - 1]
        if mode < 0:
            seen.code[k] = REFUSED
            continue
        prepare(task, blank, members, seen, k, mode)
        if known.lost > 0:
            seen.code[k] = watch_one(task, own, known, members, seen, k)
        else:
            seen.code[k] = run_one(task, own, members, seen, k)
        if seen.code[k] == UNMADE:
            return k
    return members.t_end.size
