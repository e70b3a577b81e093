"""What is read from the rows of a member, with nothing scripted: random runs, and the same in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, space

from explorer.kernels.members import NOWHERE

members, capture = plain("time_stepping.ensemble"), plain("event_driven.capture")
STICKS, SLIDES = 2, 1
N, MEMBER = 2, 1  # coordinates, and which member is read


def run_of(seed: int, speeds: bool = True):
    """Return a run with two contacts that hit at known rows, and the rows of these hits."""
    rng = np.random.default_rng(seed)
    t = np.append(0.0, np.cumsum(rng.uniform(0.05, 0.3, 20)))
    hits = [np.array([2, 7, 12]), np.array([1, 7, 15, 20])]
    p, gap_dot = np.zeros((21, 2)), np.ones((21, 2))
    for a, rows in enumerate(hits):
        p[rows, a] = 1.0
        gap_dot[rows - 1, a] = -1.0
    v = rng.normal(size=(21, N if speeds else 0))
    doing = np.full((21, 2), SLIDES, np.int8)
    doing[9:] = STICKS
    trace = members.Trace(t, rng.normal(size=(21, N)), v, p, np.ones((21, 2)), gap_dot, doing)
    return trace, hits


def seen_of(trace, most: int = 9):
    n, n_t = trace.q.shape[1] + trace.v.shape[1], trace.t.size
    return members.Seen(
        np.full(2, 7), np.full(2, 7.0), np.full((2, n), 7.0), np.full((2, 2), 7), np.full(2, 7),
        np.full((2, most, n), 7.0), np.full((2, most), 7.0), np.full((2, n), 7.0), np.full((2, n), 7.0),
        np.full(2, 7), np.full(n, 7.0), np.full(n_t, 7), np.full(n_t + 2, 7), np.full(n_t, 7, np.int8),
        [space(near=7, streak=7, outside=7)],
    )  # fmt: skip


def nothing_known(n: int, lost: int = 0):
    none = np.zeros(0, int)
    box = np.full(n, 1e9)
    return capture.Known(np.zeros((0, n)), none, np.zeros(0), none, np.ones(n), -box, box, lost)


def asked(section: int, since: float, *, contact=0, before=False, period=0.4, offset=0.1):
    two = lambda value: np.array([-9.0, value])  # noqa: E731
    return members.Members(
        np.zeros(2), two(9.0), two(since), two(period), two(offset), section, contact, before, True
    )


def state(trace, row):
    return [*trace.q[row], *trace.v[row]]


@for_each(("seed", "contact", "before", "at"), [
    (1, 0, False, 0), (2, 1, True, 0), (3, 0, True, 7), (4, 1, False, 15), (5, 1, True, 20), (6, 1, False, 1),
])  # fmt: skip
def test_the_events_of_a_contact_are_points_from_their_time_on(seed, contact, before, at):
    """One that lies at that time is one of them; an event is counted from then on too."""
    trace, hits = run_of(seed)
    seen, since = seen_of(trace), trace.t[at]
    given = asked(members.BY_EVENT, since, contact=contact, before=before)
    contacts = members.Contacts(np.ones(2, np.int8), np.array([0, -1]), 1)
    members.read(trace, contacts, nothing_known(2 * N), given, seen, MEMBER)
    rows = hits[contact][hits[contact] >= at]
    assert seen.found.tolist() == [7, len(rows)]
    assert seen.times[1, : len(rows)].tolist() == trace.t[rows].tolist()
    for place, row in enumerate(rows):
        assert seen.points[1, place].tolist() == state(trace, row - before)
    assert (seen.points[1, len(rows) :] == 7).all()
    assert (seen.points[0] == 7).all()
    many = [(one >= at).sum() for one in hits]
    many[0] += at <= 9  # where friction comes to stick
    assert seen.events.tolist() == [[7, 7], many]
    jumps = np.zeros(21)
    jumps[np.concatenate(hits)] = 1
    assert seen.jump.tolist() == jumps.tolist()
    assert seen.end[1].tolist() == state(trace, 20)
    assert seen.caught.tolist() == [7, capture.FREE]


@for_each(("seed", "speeds", "at"), itertools.product(range(3), (True, False), (0, 4, 20)))
def test_the_extrema_of_every_state_are_those_from_a_time_on(seed, speeds, at):
    trace, _ = run_of(seed, speeds)
    seen = seen_of(trace)
    contacts = members.Contacts(np.ones(2, np.int8), np.array([-1, -1]), 1)
    known = nothing_known(seen.point.size)
    members.read(trace, contacts, known, asked(NOWHERE, trace.t[at]), seen, MEMBER)
    states = np.hstack([trace.q, trace.v])[at:]
    assert seen.low[1].tolist() == states.min(axis=0).tolist()
    assert seen.high[1].tolist() == states.max(axis=0).tolist()
    assert (seen.low[0] == 7).all()
    assert (seen.high[0] == 7).all()
    assert seen.found[1] == 0


@for_each(("seed", "at", "most"), [(1, 0, 99), (2, 3, 99), (3, 0, 3), (4, 11, 2)])
def test_points_of_a_period_are_states_on_lines_between_rows(seed, at, most):
    """Velocities that jump within a row are those before it."""
    trace, hits = run_of(seed)
    seen, since, period, offset = seen_of(trace, most), trace.t[at], 0.17, 0.05
    contacts = members.Contacts(np.ones(2, np.int8), np.array([-1, -1]), 1)
    given = asked(members.BY_PERIOD, since, period=period, offset=offset)
    members.read(trace, contacts, nothing_known(2 * N), given, seen, MEMBER)
    times = offset + period * np.arange(99)
    times = times[(times >= since) & (times <= trace.t[-1])][:most]
    assert seen.found[1] == len(times)
    np.testing.assert_allclose(seen.times[1, : len(times)], times, rtol=1e-12)
    for place, t in enumerate(times):
        row = np.searchsorted(trace.t, t)
        line = [np.interp(t, trace.t, x) for x in (*trace.q.T, *trace.v.T)]
        if row in np.concatenate(hits):
            line[N:] = trace.v[row - 1]
        np.testing.assert_allclose(seen.points[1, place], line, rtol=1e-9)


def test_one_point_outside_of_the_box_ends_what_is_observed():
    """The end of the member is then that point, and the time is that of it."""
    trace, _ = run_of(1)
    seen = seen_of(trace, 1)
    trace.q[:], trace.q[7:, 1] = 0.0, 2e9
    contacts = members.Contacts(np.ones(2, np.int8), np.array([-1, -1]), 1)
    members.read(trace, contacts, nothing_known(2 * N, 1), asked(members.BY_EVENT, 0.0), seen, 1)
    assert seen.caught.tolist() == [7, capture.ESCAPED]
    assert seen.found[1] == 2
    assert seen.t[1] == seen.times[1, 0] == trace.t[7]
    assert seen.end[1].tolist() == seen.points[1, 0].tolist() == state(trace, 7)
    later = asked(members.BY_PERIOD, 0.0, period=0.2, offset=0.0)
    members.read(trace, contacts, nothing_known(2 * N, 1), later, seen, 1)
    assert seen.caught[1] == capture.ESCAPED
    times = 0.2 * np.arange(20)
    first = np.flatnonzero(np.interp(times, trace.t, trace.q[:, 1]) > 1e9)[0]
    assert seen.found[1] == first + 1
    assert seen.t[1] == pytest.approx(times[first])
    assert seen.end[1, 1] == pytest.approx(np.interp(times[first], trace.t, trace.q[:, 1]))


def test_events_of_laws_are_points_of_every_law():
    """Each of them writes its rows anew; a law with no event has none."""
    trace, _ = run_of(1)
    trace.doing[:, 1] = 0
    trace.doing[5:, 1] = 1
    seen = seen_of(trace)
    contacts = members.Contacts(np.zeros(2, np.int8), np.array([-1, -1]), 0)
    given = asked(members.BY_EVENT, 0.0, contact=1)
    members.read(trace, contacts, nothing_known(2 * N), given, seen, MEMBER)
    assert seen.events[1].tolist() == [1, 1]
    assert (seen.found[1], seen.times[1, 0]) == (1, trace.t[5])
    assert not seen.jump.any()


@for_each(("size", "last", "blown"), [(0.0, 0.0, False), (0.0, 0.5, True), (1e-9, 0.9e-3, False), (1e-9, 1.1e-3, True)])  # fmt: skip
def test_how_far_a_run_goes_is_seen_beside_its_own_first_rows(size, last, blown):
    x = np.zeros((5, 2))
    x[1, 0], x[4, 1] = -size, last
    trace = space(q=x, v=np.zeros((5, 0)), t=np.zeros(5))
    assert members.may_be_blown(trace) == blown
