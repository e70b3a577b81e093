"""What contacts and laws did in a recorded run of fixed steps, compiled.

The rules stand in `explorer.results.stepped` and `explorer.results.law_steps`. A test compares both
on every scheme.
"""

from __future__ import annotations

from typing import NamedTuple

from explorer.kernels.references import kernel
from explorer.kernels.structures import FlagRows, Flags, Integers, Matrix, Vector

__all__ = ["Contacts", "Found", "Trace", "friction_events", "impulse_events", "law_events"]

STICK, CLOSED_STEPS, SHORT = 2, 3, 3
CLOSED_GAP, SLOW = 1e-9, 0.02  # m and m/s at the start; part of the largest speed of a gap


class Trace(NamedTuple):
    """The rows of one run that are read."""

    t: Vector  # (n_t,) s
    q: Matrix  # (n_t, n)
    v: Matrix  # (n_t, n), or (n_t, 0) where q is the whole state
    p: Matrix  # (n_t, rows) N s
    gap: Matrix  # (n_t, n_c) m
    gap_dot: Matrix  # (n_t, rows) m/s
    doing: FlagRows  # (n_t, rows), what each contact does, or the place of each multiplier


class Contacts(NamedTuple):
    """What contacts are, or laws."""

    rigid: Flags  # (n_c,) 1: an impact jumps
    along: Integers  # (n_c,) column of `Trace.doing` that tells of its friction, -1: none
    impact_steps: int  # over which an impact is spread; 0: these are laws


class Found(NamedTuple):
    """Events of one contact in order of time, and the rows where velocities jump."""

    row: Integers  # (n_t,) of those that meet the contact: impacts and closings
    jump: Flags  # (n_t,) 1: at this row, by any contact


@kernel(inner=True)
def closes(trace: Trace, i: int, a: int) -> bool:
    """Whether contact `a` carries an impulse in the step that ends at row `i`."""
    if i > 0:
        return trace.p[i, a] > 0.0
    return abs(trace.gap[0, a]) <= CLOSED_GAP and abs(trace.gap_dot[0, a]) <= CLOSED_GAP


@kernel(inner=True)
def tell_stretch(
    trace: Trace, contacts: Contacts, found: Found, a: int, first: int, after: int, since: float
) -> int:
    """Write the events of a stretch of rows in which contact `a` is closed, behind found.row[0].

    Return how many there are from `since` on.
    """
    t, count = trace.t, 0
    lasting = after - first >= CLOSED_STEPS
    over = min(first + contacts.impact_steps, after) - 1
    if first > 0 and contacts.rigid[a] == 1 and trace.gap_dot[first - 1, a] < 0.0:
        found.jump[over] = 1
        found.row[0] += 1
        found.row[found.row[0]] = over
        count += t[over] >= since
    if first > 0 and lasting:
        found.row[0] += 1
        found.row[found.row[0]] = over
        count += t[over] >= since
    if lasting and after < t.size:
        count += t[after] >= since
    return count


@kernel(inner=True)
def impulse_events(trace: Trace, contacts: Contacts, found: Found, a: int, since: float) -> int:
    """Find impacts, closings and releases of contact `a`.

    Return how many there are from `since` on. found.row[0] tells how many rows with impacts and
    closings stand behind it.
    """
    gap_dot, rows, slow = trace.gap_dot, trace.t.size, 0.0
    count, begun, ended, i = 0, -1, -1, 0
    found.row[0] = 0
    for k in range(rows):
        slow = max(slow, abs(gap_dot[k, a]))
    slow *= SLOW
    while i < rows:
        if not closes(trace, i, a):
            i += 1
            continue
        first = i
        while i < rows and closes(trace, i, a):
            i += 1
        if begun >= 0:
            joined = False
            if first - ended < CLOSED_STEPS:
                back, away = -gap_dot[first - 1, a], gap_dot[ended - 1, a]
                joined = back <= slow or away < back / 2
            if not joined:
                count += tell_stretch(trace, contacts, found, a, begun, ended, since)
                begun = first
        else:
            begun = first
        ended = i
    if begun >= 0:
        count += tell_stretch(trace, contacts, found, a, begun, ended, since)
    return count


@kernel(inner=True)
def friction_events(trace: Trace, column: int, since: float) -> int:
    """Return how often friction slips, sticks or turns from `since` on."""
    doing, rows = trace.doing, trace.t.size
    count, before, first = 0, doing[0, column], 0
    while first < rows:
        now, after = doing[first, column], first
        while after < rows and doing[after, column] == now:
            after += 1
        passing = after < rows and doing[after, column] != 0
        if not (now == STICK and after - first < SHORT and passing):
            if now != 0 and before != 0 and now != before:
                count += trace.t[first] >= since
            before = now
        first = after
    return count


@kernel(inner=True)
def law_events(trace: Trace, found: Found, a: int, since: float) -> int:
    """Find where the multiplier of law `a` changes its place, as `impulse_events` does."""
    doing, count = trace.doing, 0
    found.row[0] = 0
    for i in range(2, trace.t.size):  # a run begins where its first step ends
        if doing[i, a] != doing[i - 1, a]:
            found.row[0] += 1
            found.row[found.row[0]] = i
            count += trace.t[i] >= since
    return count
