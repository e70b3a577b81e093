"""Many runs of fixed steps in one call: of each march only what is asked for stays.

One kernel for every scheme of `explorer.kernels.time_stepping.march`. It calls the march by its
address, and knows of the structures only which bytes differ from member to member. The members
share one workspace and one record, which each of them overwrites. So a member costs its steps and
what is read from its rows; it is the run that the scheme makes alone, to the last bit.
"""

from typing import Annotated, NamedTuple, get_args

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.capture import Known, caught_by
from explorer.kernels.event_driven.records import TrackRow
from explorer.kernels.members import APART, BY_EVENT, BY_PERIOD, FREE
from explorer.kernels.references import kernel, refer
from explorer.kernels.structures import Flags, Integers, Matrix, Stack, Table, Vector, rows_of
from explorer.kernels.time_stepping.march import UNFACTORED
from explorer.kernels.time_stepping.shared_march import Addresses, clear, copy, go_on
from explorer.kernels.time_stepping.step_events import (
    Contacts,
    Found,
    Trace,
    friction_events,
    impulse_events,
    law_events,
)

__all__ = ["APART", "Members", "Patches", "Seen", "ensemble"]

BLOWN, FIRST = 1e6, 3  # how far the end lies beyond the first rows of a run that may be unstable
PATCH = np.dtype(  # bytes that are copied
    [
        ("target", np.int64),  # address
        ("source", np.int64),  # address, of the first member
        ("stride", np.int64),  # bytes from member to member
        ("bytes", np.int64),
    ]
)
CLEARED = np.dtype([("address", np.int64), ("bytes", np.int64)])  # of a row, with its size
PatchRows = Annotated[np.ndarray, get_args(rows_of(PATCH))[1]]
ClearedRows = Annotated[np.ndarray, get_args(rows_of(CLEARED))[1]]


class Patches(NamedTuple):
    """Bytes that are copied before a march."""

    begin: PatchRows  # before the first step
    last: PatchRows  # before a last step of another size
    cleared: ClearedRows  # what must be zero where it is written
    row: Integers  # (1,) the last row that holds, where the march keeps it


class Members(NamedTuple):
    """What is asked of k members."""

    rows: Integers  # (k,) of the record
    t_end: Vector  # (k,) s
    since: Vector  # (k,) s, nothing is observed before
    period: Vector  # (k,) s, of a section by time
    offset: Vector  # (k,) s, its points lie at offset + j period
    section: int  # NOWHERE, BY_EVENT or BY_PERIOD
    contact: int  # whose events are points
    before: bool  # the state a row before an event, not that behind it
    extrema: bool  # of all states


class Seen(NamedTuple):
    """What was observed."""

    code: Integers  # (k,)
    t: Vector  # (k,) time that was reached, s
    end: Matrix  # (k, n_x)
    events: Table  # (k, n_c) how many there were
    found: Integers  # (k,) points of the section, also those beyond the room for them
    points: Stack  # (k, most, n_x)
    times: Matrix  # (k, most) s
    low: Matrix  # (k, n_x), or (0, n_x)
    high: Matrix
    caught: Integers  # (k,) attractor whose points it meets, FREE or ESCAPED
    point: Vector  # (n_x,) scratch
    hit: Integers  # (n_t,) scratch, rows of points
    events_at: Integers  # (n_t + 2,) scratch
    jump: Flags  # (n_t,) scratch
    track: TrackRow  # (1,)


@kernel(inner=True)
def prepare(patches: Patches, rows: int, k: int) -> None:
    """Clear what the run before has left, and set parameters and start of member `k`."""
    cleared, begin = patches.cleared, patches.begin
    for i in range(cleared.size):
        clear(cleared[i].address, rows * cleared[i].bytes)
    for i in range(begin.size):
        copy(begin[i].target, begin[i].source + k * begin[i].stride, begin[i].bytes)


@kernel(inner=True)
def march_one(task: Addresses, patches: Patches, rows: int, k: int) -> int:
    """March with member `k`; return the status, of a march that wants something else APART."""
    prepare(patches, rows, k)
    status = go_on(task.march, task.problem, task.record, task.work)
    if status == UNFACTORED:
        last = patches.last
        for i in range(last.size):
            copy(last[i].target, last[i].source + k * last[i].stride, last[i].bytes)
        status = go_on(task.march, task.problem, task.record, task.work)
    return status if status >= 0 else APART


@kernel(inner=True)
def may_be_blown(trace: Trace) -> bool:
    """Whether the end is so far beyond the first rows that the certificate is to judge the run."""
    v, rows, first, last = trace.v, trace.t.size, 0.0, 0.0
    if v.shape[1] == 0:
        v = trace.q
    if rows <= FIRST:
        return False
    for j in range(v.shape[1]):
        for i in range(FIRST):
            first = max(first, abs(v[i, j]))
        last = max(last, abs(v[rows - 1, j]))
    return not last <= BLOWN * first


@kernel(inner=True)
def state_in(trace: Trace, i: int, point: Vector) -> None:
    """Set the state of row i."""
    n = trace.q.shape[1]
    for j in range(n):
        point[j] = trace.q[i, j]
    for j in range(trace.v.shape[1]):
        point[n + j] = trace.v[i, j]


@kernel(inner=True)
def state_at(trace: Trace, jump: Flags, i: int, t: float, point: Vector) -> None:
    """Set the state at a time between rows i - 1 and i, or at row i."""
    n = trace.q.shape[1]
    if trace.t[i] == t:
        state_in(trace, i, point)
        return
    s = (t - trace.t[i - 1]) / (trace.t[i] - trace.t[i - 1])
    for j in range(n):
        point[j] = (1.0 - s) * trace.q[i - 1, j] + s * trace.q[i, j]
    for j in range(trace.v.shape[1]):
        point[n + j] = (1.0 - s) * trace.v[i - 1, j] + s * trace.v[i, j]
        if jump[i] == 1:
            point[n + j] = trace.v[i - 1, j]


@kernel(inner=True)
def take_point(known: Known, seen: Seen, k: int, t: float) -> bool:
    """Keep a point of member `k`; return whether it is caught, so that no other is wanted."""
    place = 0 if known.lost > 0 else seen.found[k]
    if place < seen.points.shape[1]:
        for j in range(seen.point.size):
            seen.points[k, place, j] = seen.point[j]
        seen.times[k, place] = t
    seen.found[k] += 1
    if known.lost > 0:
        seen.caught[k] = caught_by(known, seen.point, seen.track)
    return seen.caught[k] != FREE


@kernel(inner=True)
def read_contacts(trace: Trace, contacts: Contacts, members: Members, seen: Seen, k: int) -> int:
    """Count the events of member `k`; return how many rows with points `seen.hit` holds."""
    since, hits = members.since[k], 0
    for i in range(trace.t.size):
        seen.jump[i] = 0
    found = refer(Found(seen.events_at, seen.jump))
    for a in range(contacts.rigid.size):
        if contacts.impact_steps == 0:
            seen.events[k, a] = law_events(trace, found, a, since)
        else:
            seen.events[k, a] = impulse_events(trace, contacts, found, a, since)
        if members.section == BY_EVENT and a == members.contact:
            for i in range(seen.events_at[0]):
                row = seen.events_at[1 + i]
                if trace.t[row] >= since:
                    seen.hit[hits] = row
                    hits += 1
        if contacts.along[a] >= 0:
            seen.events[k, a] += friction_events(trace, contacts.along[a], since)
    return hits


@kernel(inner=True)
def read_events(
    trace: Trace, known: Known, members: Members, seen: Seen, k: int, hits: int
) -> None:
    """Keep the states of member `k` at events of its section."""
    for i in range(hits):
        row = seen.hit[i]
        state_in(trace, max(row - 1, 0) if members.before else row, seen.point)
        if take_point(known, seen, k, trace.t[row]):
            return


@kernel(inner=True)
def read_times(trace: Trace, known: Known, members: Members, seen: Seen, k: int) -> None:
    """Keep the states of member `k` at times of its section."""
    period, offset, i = members.period[k], members.offset[k], 0
    end, most = trace.t[trace.t.size - 1], seen.points.shape[1]
    j = max(int(np.ceil((members.since[k] - offset) / period - 1e-9)), 0)
    while known.lost > 0 or seen.found[k] < most:
        t = offset + j * period
        if not t <= end * (1.0 + 1e-12):
            return
        t = min(t, end)
        while trace.t[i] < t:
            i += 1
        state_at(trace, seen.jump, i, t, seen.point)
        if take_point(known, seen, k, t):
            return
        j += 1


@kernel(inner=True)
def read_extrema(trace: Trace, since: float, low: Vector, high: Vector) -> None:
    """Set the least and the largest value of each state from `since` on."""
    n = trace.q.shape[1]
    for j in range(low.size):
        low[j], high[j] = np.inf, -np.inf
    for i in range(trace.t.size):
        if trace.t[i] >= since:
            for j in range(n):
                low[j], high[j] = min(low[j], trace.q[i, j]), max(high[j], trace.q[i, j])
            for j in range(trace.v.shape[1]):
                low[n + j] = min(low[n + j], trace.v[i, j])
                high[n + j] = max(high[n + j], trace.v[i, j])


@kernel(inner=True)
def read(
    trace: Trace, contacts: Contacts, known: Known, members: Members, seen: Seen, k: int
) -> None:
    """Keep what is asked of member `k`, whose rows are there."""
    state_in(trace, trace.t.size - 1, seen.end[k])
    seen.caught[k], seen.found[k] = FREE, 0
    seen.track[0].near, seen.track[0].streak, seen.track[0].outside = FREE, 0, 0
    hits = read_contacts(trace, contacts, members, seen, k)
    if members.section == BY_EVENT:
        read_events(trace, known, members, seen, k, hits)
    elif members.section == BY_PERIOD:
        read_times(trace, known, members, seen, k)
    if members.extrema:
        read_extrema(trace, members.since[k], seen.low[k], seen.high[k])
    if seen.caught[k] != FREE:
        seen.t[k] = seen.times[k, 0]
        for j in range(seen.point.size):
            seen.end[k, j] = seen.points[k, 0, j]


@kernel()
def ensemble(
    task: Addresses,
    patches: Patches,
    trace: Trace,
    contacts: Contacts,
    known: Known,
    members: Members,
    seen: Seen,
) -> None:
    """Run all members whose code is not APART already."""
    patches, contacts, known = refer(patches), refer(contacts), refer(known)
    members, seen, task = refer(members), refer(seen), refer(task)
    for k in range(members.rows.size):
        if seen.code[k] == APART:
            continue
        code = march_one(task, patches, members.rows[k], k)
        rows = patches.row[0] + 1
        seen.code[k], seen.t[k] = code, trace.t[rows - 1]
        if code != SUCCESS:
            continue
        own = refer(
            Trace(
                trace.t[:rows],
                trace.q[:rows],
                trace.v[:rows],
                trace.p[:rows],
                trace.gap[:rows],
                trace.gap_dot[:rows],
                trace.doing[:rows],
            )
        )
        if may_be_blown(own):
            seen.code[k] = APART
        else:
            read(own, contacts, known, members, seen, k)
