"""Parts of many runs in one call, uncompiled: what is prepared, read, watched, and its extremes."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain, put

from explorer.codes import NOT_FINITE, SUCCESS
from explorer.kernels.event_driven.records import CLOSING, RELEASE, SLIDING

COVERS = (
    "kernels/event_driven/capture.py",
    "kernels/event_driven/ensemble.py",
    "kernels/event_driven/extremes.py",
)  # see mutant_rooms.py
many, bounds = plain("event_driven.ensemble"), plain("event_driven.extremes")
capture = plain("event_driven.capture")
N = 2
FAILS = 77  # a status


# ---------------------------------------------------------------- extremes


def curves(monkeypatch, *functions) -> None:
    """Let the polynomial of a step be some functions of its fraction."""

    def dense_value(polynomial, s, count, x):
        assert 0.0 <= s <= 1.0
        assert 0 < count <= len(functions)
        for m in range(count):
            x[m] = functions[m](s)

    put(monkeypatch, bounds.summit, dense_value=dense_value)


@for_each(("seed", "sign"), itertools.product(range(4), (1.0, -1.0)))
def test_a_summit_between_samples_is_found(monkeypatch, seed, sign):
    rng = np.random.default_rng(seed)
    top, height, rate = rng.uniform(0.3, 0.7), rng.normal(), rng.uniform(2, 4)
    curves(monkeypatch, np.exp, lambda s: sign * (height + np.cos(rate * (s - top))))
    at, x = top + rng.uniform(-0.1, 0.1), np.full(N, np.nan)
    assert bounds.summit(None, 1, sign, at, 0.125, x) == pytest.approx(height + 1, abs=1e-12)


def test_a_summit_next_to_an_end_of_a_step_is_found(monkeypatch):
    for top in (0.04, 0.97):
        curves(monkeypatch, lambda s, top=top: np.cos(3 * (s - top)))
        for at in (0.0, 0.125) if top < 0.5 else (0.875, 1.0):
            found = bounds.summit(None, 0, 1.0, at, 0.125, np.empty(1))
            assert found == pytest.approx(1.0, abs=1e-7)


def test_without_a_summit_the_largest_of_three_counts(monkeypatch):
    for f in (lambda s: s, lambda s: s**2, lambda s: -s, lambda s: (s - 0.5) ** 2):
        curves(monkeypatch, f)
        ends = max(f(0.25), f(0.5), f(0.75))
        assert bounds.summit(None, 0, 1.0, 0.5, 0.25, np.empty(1)) == ends


@for_each(("seed", "begin"), itertools.product(range(4), (0.0, 0.37)))
def test_the_bounds_of_a_part_of_a_step_are_those_of_a_fine_grid(monkeypatch, seed, begin):
    rng = np.random.default_rng(seed)
    waves = [(rng.normal(), rng.uniform(3, 6), rng.uniform(0, 6)) for _ in range(N)]
    functions = [lambda s, a=a, w=w, p=p: a * np.sin(w * s + p) for a, w, p in waves]
    curves(monkeypatch, *functions)
    low, high = np.full(N, np.inf), np.full(N, -np.inf)
    bounds.in_step(None, begin, low, high, np.empty(N), N)
    grid = np.linspace(begin, 1, 200_001)
    for m, f in enumerate(functions):
        assert (low[m], high[m]) == pytest.approx((f(grid).min(), f(grid).max()), abs=1e-8)


def test_nothing_before_the_part_of_a_step_counts(monkeypatch):
    begin, low, high = 0.4, np.full(2, np.inf), np.full(2, -np.inf)
    curves(monkeypatch, lambda s: s, lambda s: (s - 0.1) ** 2)
    bounds.in_step(None, begin, low, high, np.empty(2), 2)
    np.testing.assert_allclose([low, high], [[0.4, 0.09], [1.0, 0.81]], rtol=1e-12)


def followed(monkeypatch, functions, low, high, begin=0.0) -> list[tuple]:
    """Return where summits are looked for, each of which is 1 beyond the bound before."""
    asked = []

    def summit(polynomial, m, sign, at, width, x):
        asked.append((m, sign, round(at, 12), round(width, 12)))
        return (high[m] if sign > 0 else -low[m]) + 1.0

    curves(monkeypatch, *functions)
    put(monkeypatch, bounds.in_step, summit=summit)
    bounds.in_step(None, begin, low, high, np.empty(len(functions)), len(functions))
    return asked


def test_a_summit_is_looked_for_where_it_may_be_a_bound(monkeypatch):
    ridge = lambda s: 1 - abs(s - 0.5)  # noqa: E731
    low, high = np.array([0.0, np.inf]), np.array([1.004, -np.inf])
    functions = (ridge, lambda s: -2 * ridge(s))
    assert followed(monkeypatch, functions, low, high) == [(0, 1.0, 0.5, 0.125), (1, -1.0, 0.5, 0.125)]  # fmt: skip
    np.testing.assert_array_equal(high, [2.004, -1.0])
    np.testing.assert_array_equal(low, [0.0, -3.0])
    low, high = np.array([0.0]), np.array([1.02])  # too far above it
    assert followed(monkeypatch, (ridge,), low, high) == []
    for f in (lambda s: s, lambda s: -s, lambda s: 0 * s):  # at the ends
        assert followed(monkeypatch, (f,), np.array([np.inf]), np.array([-np.inf]), 0.2) == []
    later = followed(monkeypatch, (ridge,), np.array([0.0]), np.array([0.9]), 0.2)
    assert later == [(0, 1.0, 0.5, 0.1)]


def run_of(times, lengths, event_times, rests=None):
    """Return the record of a run whose states at step k and at event k are told apart."""
    k, e = len(times), len(event_times)
    steps = SimpleNamespace(
        t=np.array(times, float), h=np.array(lengths, float), state=object(),
        y=np.arange(k * N, dtype=float).reshape(k, N),
    )  # fmt: skip
    head = np.empty(e, object)
    for i, (t, r) in enumerate(zip(event_times, rests or [0.0] * e, strict=True)):
        head[i] = SimpleNamespace(t=t, rest=r, guard=i % 2, kind=CLOSING)
    events = SimpleNamespace(
        head=head, parts=np.random.default_rng(3).normal(size=(e, 2 * N + 1)),
        at=SimpleNamespace(x_minus=1, x_plus=1 + N),
    )  # fmt: skip
    return SimpleNamespace(steps=steps, events=events)


@for_each("failing", ["", "flow", "advance"])
def test_a_span_of_a_run_has_its_steps_events_and_end(monkeypatch, failing):
    record = run_of([0.0, 1.0, 2.0, 2.0, 2.5], [1.0, 1.0, 0.0, 0.5, 9.0], [0.5, 1.25, 2.0, 7.0])
    seen, problem = [], SimpleNamespace(sizes=SimpleNamespace(n_x=N))
    method, step = SimpleNamespace(last=6, code=4), SimpleNamespace(slope=1, dense=2, stage=3)

    def flow(p, t, y, slope, width):
        seen.append(["flow", t, slope, width])
        return FAILS if failing == "flow" and t == 2.0 else SUCCESS

    def advance(p, m, s, first, last, t, y, h, width):
        seen.append(["advance", first, last, t, y[0], h, width])
        return FAILS if failing == "advance" and t == 2.0 else SUCCESS

    def in_step(polynomial, begin, low, high, x, n):
        assert (polynomial.y[0], polynomial.t, polynomial.h) in [(2, 1, 1), (6, 2, 0.5)]
        seen.append(["in", polynomial.code, polynomial.dense, begin, x, n])
        low[0] -= 100.0

    put(monkeypatch, bounds.extremes, restore=lambda p, s, i: seen.append(["restore", i]), flow=flow,
        advance=advance, interpolate=lambda *given: seen.append(["poly", *given[3:]]), in_step=in_step)  # fmt: skip
    monkeypatch.setitem(
        bounds.extremes.__globals__, "Polynomial",
        lambda code, dense, y, t, h: SimpleNamespace(code=code, dense=dense, y=y, t=t, h=h),
    )  # fmt: skip
    low, high, end = np.full(N, np.nan), np.full(N, np.nan), np.array([5.0, -5.0])
    span = bounds.Span(steps=4, events=3, since=1.25, until=2.5)
    told = bounds.extremes(problem, method, step, record, end, span, low, high)
    first = [["restore", 1], ["flow", 1.0, 1, 0], ["advance", 1, 6, 1.0, 2.0, 1.0, 0],
             ["poly", 1.0, N], ["in", 4, 2, 0.25, 3, N]]  # fmt: skip
    second = [["restore", 3], ["flow", 2.0, 1, 0], ["advance", 1, 6, 2.0, 6.0, 0.5, 0],
              ["poly", 0.5, N], ["in", 4, 2, 0.0, 3, N]]  # fmt: skip
    stop = {"flow": 2, "advance": 3, "": 5}[failing]
    assert seen == first + second[:stop]
    assert told == (FAILS if failing else SUCCESS)
    both = np.vstack([record.events.parts[1:3, 1:].reshape(-1, N), end])  # also the one at `since`
    visited = 100.0 * sum(one[0] == "in" for one in seen)
    np.testing.assert_allclose(low, both.min(0) - np.array([visited, 0]))
    np.testing.assert_allclose(high, both.max(0))


def test_a_step_that_ends_where_the_span_begins_is_left_out(monkeypatch):
    record, seen = run_of([0.0, 1.0], [1.0, 1.0], []), []
    put(monkeypatch, bounds.extremes, restore=lambda p, s, i: seen.append(i), flow=lambda *_: FAILS)
    problem, step = SimpleNamespace(sizes=SimpleNamespace(n_x=N)), SimpleNamespace(slope=None)
    span, x = bounds.Span(2, 0, 1.0, 2.0), np.zeros((3, N))
    assert bounds.extremes(problem, None, step, record, x[0], span, x[1], x[2]) == FAILS
    assert seen == [1]


# ---------------------------------------------------------------- capture


def caught_slowly(known, points) -> list[int]:
    """Return what has caught a run after each of its points, from what is said of `Known`."""
    told = []
    for k in range(len(points)):
        outside = [((p < known.low) | (p > known.high)).any() for p in points[: k + 1]]
        if k + 1 >= known.lost and all(outside[k + 1 - known.lost :]):
            told.append(capture.ESCAPED)
            continue
        near = []
        for p in points[: k + 1]:
            far = np.sqrt((((p - known.points) / known.scale) ** 2).sum(1))
            inside = np.where(far <= known.radius, far, np.inf)
            near.append(int(np.argmin(inside)) if np.isfinite(inside).any() else None)
        told.append(capture.FREE)
        if near[k] is not None:
            owner, hits = known.owner[near[k]], known.hits[near[k]]
            row = near[max(k + 1 - hits, 0) :]
            if len(row) == hits and all(i is not None and known.owner[i] == owner for i in row):
                told[-1] = owner
    return told


@for_each("seed", range(12))
def test_points_are_caught_as_a_slow_reading_of_the_rule_says(seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (3, N))
    known = capture.Known(
        points, np.array([0, 1, 1]), rng.uniform(0.4, 0.9, 3), rng.integers(1, 4, 3),
        np.array([1.0, 0.6]), np.array([-1.2, -1.0]), np.array([1.2, 1.0]), int(rng.integers(1, 4)),
    )  # fmt: skip
    row = [points[i % 3] + rng.normal(0, 0.4, N) for i in rng.integers(0, 3, 40)]
    track = [SimpleNamespace(near=capture.FREE, streak=0, outside=0)]
    told = [capture.caught_by(known, point, track) for point in row]
    until = told.index(capture.ESCAPED) + 1 if capture.ESCAPED in told else len(told)
    assert told[:until] == caught_slowly(known, np.array(row))[:until]
    assert len({*told}) > 1
    first = next((k for k, one in enumerate(told) if one != capture.FREE), len(told))
    track = [SimpleNamespace(near=1, streak=9, outside=9)]
    found = told[first] if first < len(told) else capture.FREE
    assert capture.caught_in(known, np.array(row), track) == (found, first)


def test_bounds_of_the_box_and_of_a_ball_belong_to_them():
    one = np.ones(1)
    known = capture.Known(0 * one[None], np.array([3]), one, np.array([1]), one, -one, one, 1)
    for x, told in ((1.0, 3), (-1.0, 3), (1.1, capture.ESCAPED), (-1.1, capture.ESCAPED)):
        track = [SimpleNamespace(near=capture.FREE, streak=0, outside=0)]
        assert capture.caught_by(known, np.array([x]), track) == told
    track = [SimpleNamespace(near=capture.FREE, streak=0, outside=0)]
    assert capture.caught_by(known, np.array([np.nan]), track) == capture.ESCAPED
    later = known._replace(lost=2, radius=0 * one)
    for x, told in (([2.0, 0.5, 2.0], (capture.FREE, 3)), ([0.5, 2.0, 2.0], (capture.ESCAPED, 2))):
        assert capture.caught_in(later, np.array(x)[:, None], track) == told


# ---------------------------------------------------------------- members

FULL = SimpleNamespace(max_steps=9)


def members_of(count=2, **more) -> SimpleNamespace:
    own = {
        "rho": np.arange(3.0 * count).reshape(count, 3) + 0.5,
        "start": np.full((count, N), np.nan), "t_end": np.linspace(2.0, 3.0, count),
        "since": np.full(count, 1.0), "period": np.full(count, 0.5), "offset": np.full(count, 0.2),
        "chained": False, "behind": False, "section": many.BY_EVENT, "before": False, "met": np.array([1, 0]),
        "extrema": False, "max_steps": np.full(count, 9), "max_events": np.full(count, 4),
    }  # fmt: skip
    return SimpleNamespace(**own | more)


def seen_of(count=2, most=3) -> SimpleNamespace:
    return SimpleNamespace(
        code=np.full(count, SUCCESS), at=np.full(count, -9), t=np.full(count, np.nan),
        end=np.arange(10.0, 10 + N * count).reshape(count, N), mode=np.full(count, -9),
        events=np.zeros((count, 2), int), found=np.full(count, -9),
        points=np.full((count, most, N + 1), np.nan), low=np.zeros((count, N)),
        high=np.zeros((count, N)), times=np.full(most, np.nan), which=np.full(most, -9),
        rates=np.full((most, N + 1), np.nan), caught=np.full(count, many.FREE),
        track=[SimpleNamespace(near=5, streak=5, outside=5)], kept=np.full((2, N), np.nan),
    )  # fmt: skip


def task_of(record, steps, events, t) -> SimpleNamespace:
    work = SimpleNamespace(
        run=[SimpleNamespace(steps=steps, events=events, t=t, at=4)], y=np.array([1.5, 2.5]),
        step=SimpleNamespace(K=np.arange(2.0 * N).reshape(2, N), slope="slope"),
    )  # fmt: skip
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n_x=N), state=[SimpleNamespace(mode=2, held=3)],
    )  # fmt: skip
    more = {"automaton": None, "surfaces": None, "contacts": None, "method": "method"}
    return SimpleNamespace(record=record, work=work, problem=problem, **more)


@for_each(("k", "chained", "code"), [(0, False, 0), (1, False, 0), (0, True, 0), (1, True, 0), (1, True, FAILS)])  # fmt: skip
def test_a_member_begins_with_nothing_of_the_one_before(monkeypatch, k, chained, code):
    fields = ("mode", "held", "fired", "watched", "moments", "form", "fault", "dependent")
    state, inp = [SimpleNamespace(**dict.fromkeys(fields, 7))], np.full(1 + N + 3 + 1, 7.0)
    own = np.array([0.25, -0.5])
    asked = []

    def evaluate(table, which, inp, out):
        asked.append((which, inp.tolist()))
        out[:] = own

    problem = SimpleNamespace(
        sizes=SimpleNamespace(n_x=N, n_c=0), inp=inp, out=np.empty(N), state=state,
        functions=SimpleNamespace(table=np.zeros(5)),
        sides=np.array([(7,), (7,)], [("now", int)]).view(np.recarray),
    )  # fmt: skip
    task = SimpleNamespace(problem=problem, work=SimpleNamespace(y=np.full(N, np.nan)))
    blank = SimpleNamespace(
        inp=-np.arange(1.0, 8), form=6, rows=np.full(3, 7, np.uint8), run=np.full(3, 7, np.uint8)
    )
    members = members_of(chained=chained)
    members.start[:, 1] = [30.0, 31.0]
    seen = seen_of()
    seen.code[0], seen.found[:] = code, 1
    put(monkeypatch, many.prepare, evaluate=evaluate)
    many.prepare(task, blank, members, seen, k, 4)
    expected = [-1.0, -2.0, -3.0, *members.rho[k], -7.0]
    assert asked == [(4, expected)]
    assert inp.tolist() == expected
    assert [getattr(state[0], name) for name in fields] == [4, 0, 0, 0, 0, 6, 0, 0]
    for cleared in (blank.rows, blank.run, problem.sides.now):
        assert not cleared.any()
    follows = chained and k == 1 and code == SUCCESS
    assert task.work.y.tolist() == ([10.0, 11.0] if follows else [0.25, 30.0 + k])
    for contacts, behind in itertools.product((0, 1), (False, True)):  # gaps at an end may drift
        lifted, members.behind, problem.sizes.n_c = [], behind, contacts
        put(monkeypatch, many.prepare, lift=lambda p, y, lifted=lifted: lifted.append(y))
        many.prepare(task, blank, members, seen, k, 4)
        ended = behind and (k == 0 or not chained)
        assert len(lifted) == (contacts > 0 and (follows or ended))


@for_each(("section", "before", "most"), itertools.product((many.NOWHERE, many.BY_EVENT), (False, True), (2, 9)))  # fmt: skip
def test_events_are_counted_and_those_on_the_section_kept(section, before, most):
    times, rests = [0.2, 0.8, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5], [0.0, 0.3, 0.0, 0, 0, 0, 0.125, 0]
    record = run_of([], [], times, rests)
    guards, kinds = [0, 0, 0, 1, 0, 0, 0, 0], [CLOSING] * 4 + [RELEASE, SLIDING, CLOSING, CLOSING]
    for one, guard, kind in zip(record.events.head, guards, kinds, strict=True):
        one.guard, one.kind = guard, kind
    members, seen = members_of(section=section, before=before), seen_of(most=most)
    many.read_events(task_of(record, 0, 7, 3.2), members, seen, 1)
    assert seen.events.tolist() == [[0, 0], [5, 1]]
    on = [1, 2, 6] if section == many.BY_EVENT else []
    assert seen.found.tolist() == [-9, len(on)]
    first = 1 if before else 1 + N
    kept = [[*record.events.parts[i, first : first + N], times[i] + rests[i]] for i in on[:most]]
    np.testing.assert_array_equal(seen.points[1, : len(kept)], np.reshape(kept, (-1, N + 1)))
    assert np.isnan(seen.points[1, len(kept) :]).all()
    assert np.isnan(seen.points[0]).all()


@for_each(("since", "end", "most", "offset"), [
    (1.0, 3.2, 9, 0.2), (1.2, 3.2, 9, 0.2), (1.0, 3.2, 2, 0.2), (-5.0, 3.2, 9, 0.2), (0.0, 3.2 - 1e-14, 9, 0.2),
    (0.0, 3.2 - 1e-6, 9, 0.2), (0.0, 3.2, 9, 0.0), (0.0, 0.1, 9, 0.2),
])  # fmt: skip
def test_points_by_time_lie_on_the_lattice_up_to_the_end(monkeypatch, since, end, most, offset):
    times = [0.0, 0.2, 0.2, 0.9, 1.7, 2.6]
    record = run_of(times, np.diff([*times, end]), [])
    members, seen, given = members_of(since=np.full(2, since)), seen_of(most=most), []
    members.offset[:] = offset

    def states_at(problem, method, step, steps, t, which, right, points, rates):
        given.append((t.tolist(), which.tolist(), right, method, len(rates)))
        points[:, :N] = t[:, None] * [10, 100]
        return FAILS

    put(monkeypatch, many.read_times, states_at=states_at)
    assert many.read_times(task_of(record, 6, 0, end), members, seen, 1) == FAILS
    lattice = [offset + 0.5 * j for j in range(20)]
    expected = [min(t, end) for t in lattice if since - 1e-8 <= t <= end + 1e-12][:most]
    (t, which, right, method, room) = given[0]
    np.testing.assert_allclose(t, expected, rtol=1e-14)
    assert which == [max(i for i in range(6) if times[i] <= one) for one in t]
    assert (right, method, room) == (True, "method", len(t))
    assert all(one <= end for one in t)
    assert seen.found.tolist() == [-9, len(t)]
    np.testing.assert_allclose(seen.points[1, : len(t)], np.outer(t, [10, 100, 1]))
    assert np.isnan(seen.points[1, len(t) :]).all()


def test_a_run_without_a_step_has_no_points_by_time(monkeypatch):
    seen = seen_of()
    put(monkeypatch, many.read_times, states_at=lambda *given: SUCCESS)
    record = run_of([0.0, 0.0], [0.0, 0.0], [])
    members = members_of(since=np.zeros(2), offset=np.zeros(2))
    assert many.read_times(task_of(record, 0, 0, 0.0), members, seen, 0) == SUCCESS
    assert seen.found[0] == 0
    assert many.read_times(task_of(record, 1, 0, 0.0), members, seen, 0) == SUCCESS
    assert seen.found[0] == 1


@for_each(("goes_on", "t"), itertools.product((False, True), (0.0, 0.1, 0.2, 0.7, 2.6, 3.0)))
def test_a_point_between_steps_leaves_the_march_as_it_was(monkeypatch, goes_on, t):
    times = [0.0, 0.2, 0.2, 0.9, 1.7, 2.6, 9.0]
    record, seen, said = run_of(times, np.diff([*times, 9.5]), []), seen_of(most=2), []
    task = task_of(record, 6, 0, 3.0)
    state, step = task.problem.state[0], task.work.step
    before = step.K.copy()

    def states_at(problem, method, given, steps, at, which, right, points, rates):
        said.append(("at", at.tolist(), which.tolist(), right, points.shape, rates.shape))
        given.K[:], state.mode, state.held = -1.0, -1, -1
        points[0, :N] = [3.0, 4.0]
        return FAILS

    put(monkeypatch, many.point_at, states_at=states_at,
        note=lambda p, s, row, t, h, y, slope: said.append(("note", row, t, h, y[0], slope)),
        restore=lambda p, s, row: said.append(("restore", row)))  # fmt: skip
    assert many.point_at(task, seen, 1, t, goes_on) == FAILS
    row = max(i for i in range(6) if times[i] <= t)
    around = [("note", 6, 3.0, 0.0, 1.5, "slope")], [("restore", 6)]
    middle = [("at", [t], [row], True, (1, N + 1), (1, N + 1))]
    assert said == (around[0] + middle + around[1] if goes_on else middle)
    assert seen.points[1, 0].tolist() == [3.0, 4.0, t]
    if goes_on:
        assert (state.mode, state.held) == (2, 3)
        np.testing.assert_array_equal(step.K, before)


def caught_from(limit):
    """Return a stand-in that catches a run at its first point from a time on, and what it is shown."""
    shown = []

    def caught_by(known, point, track):
        assert len(track) == 1
        shown.append(point.tolist())
        return 5 if point[N] >= limit else many.FREE

    return caught_by, shown


@for_each(("before", "limit", "first"), itertools.product((False, True), (0.0, 2.0, 9.0), (0, 3)))
def test_a_run_is_looked_at_at_its_events(monkeypatch, before, limit, first):
    record = run_of([], [], [0.5, 0.9, 1.5, 2.0, 2.5, 3.0, 3.5], [0, 0.1, 0, 0, 0, 0, 0])
    for i, one in enumerate(record.events.head):
        one.guard = int(i == 2)
    record.events.head[3].kind = RELEASE
    members, seen = members_of(before=before), seen_of()
    seen.found[:] = 0
    caught_by, shown = caught_from(limit)
    put(monkeypatch, many.look_at_events, caught_by=caught_by)
    many.look_at_events(task_of(record, 0, 6, 3.2), None, members, seen, 1, first)
    begin = 1 if before else 1 + N
    on = [i for i in (1, 4, 5) if i >= first]
    times = {1: 1.0, 4: 2.5, 5: 3.0}
    asked = next((n + 1 for n, i in enumerate(on) if times[i] >= limit), len(on))
    assert shown == [[*record.events.parts[i, begin : begin + N], times[i]] for i in on[:asked]]
    assert seen.points[1, 0].tolist() == shown[-1]
    assert seen.found.tolist() == [0, asked]
    assert seen.caught.tolist() == [many.FREE, 5 if limit < 9 else many.FREE]


def march(task, ends, rows=None, fails=None):
    """Return a march that pauses behind each step, goes on to `ends`, and what it is asked."""
    asked, run = [], task.work.run[0]

    def go_on(same, options, pause, events):
        asked.append((pause, events))
        if fails is not None and len(asked) > fails:
            return FAILS
        run.steps += 1
        run.t = ends[run.steps - 1]
        run.events = run.steps
        return SUCCESS if run.steps == len(ends) else many.PAUSED

    return go_on, asked


@for_each(("limit", "since", "offset"), [
    (9.0, 1.0, 0.2), (1.7, 1.0, 0.2), (2.2, 1.2, 0.2), (9.0, 0.0, 0.0), (0.0, 0.0, 0.0), (3.2, 0.0, 0.2)
])  # fmt: skip
def test_a_watched_run_stops_at_the_point_where_it_is_caught(monkeypatch, limit, since, offset):
    ends = [0.1, 0.2, 1.3, 1.7, 3.2]
    task = task_of(run_of(np.zeros(9), np.zeros(9), [0.0] * 4), 0, 0, 0.0)
    go_on, asked = march(task, ends)
    points, members, seen = [], members_of(section=many.BY_PERIOD), seen_of()
    members.since[:], members.offset[:] = since, offset

    def point_at(task, seen, k, t, goes_on):
        points.append((round(t, 12), goes_on))
        seen.points[k, 0] = [0.0, 0.0, t]
        return SUCCESS

    caught_by, _shown = caught_from(limit - 1e-9)
    put(monkeypatch, many.run_until_caught, start=lambda *_: SUCCESS, go_on=go_on, point_at=point_at,
        caught_by=caught_by)  # fmt: skip
    assert many.run_until_caught(task, FULL, None, members, seen, 1) == SUCCESS
    lattice = [round(offset + 0.5 * j, 12) for j in range(20) if offset + 0.5 * j >= since - 1e-9]
    lattice = [t for t in lattice if t <= 3.2]
    stop = next((n + 1 for n, t in enumerate(lattice) if t >= limit - 1e-9), len(lattice))
    # a point at the end of a step waits for the step that begins there
    expected = [(t, next(e for e in ends if e > t or e == 3.2) != 3.2) for t in lattice[:stop]]
    assert points == expected
    assert seen.found.tolist() == [-9, stop]
    assert seen.caught.tolist() == [many.FREE, 5 if limit < 9 else many.FREE]
    taken = next(n + 1 for n, e in enumerate(ends) if e > points[-1][0] or e == 3.2)
    assert task.work.run[0].steps == (taken if limit < 9 else 5)
    for (pause, room), done in zip(asked, [0.0, *ends], strict=False):
        assert room == 4
        assert pause == pytest.approx(next((t for t in lattice if t >= done), 3.7))
    track = seen.track[0]
    assert (track.near, track.streak, track.outside) == (many.FREE, 0, 0)


def test_a_watched_run_by_events_pauses_behind_each_of_them(monkeypatch):
    for limit, count in ((9.0, 5), (3.0, 3)):
        task = task_of(run_of(np.zeros(9), np.zeros(9), [0.0] * 4), 0, 0, 0.0)
        go_on, asked = march(task, [1.0, 2.0, 3.0, 4.0, 5.0])
        looked, seen = [], seen_of()

        def look(task, known, members, seen, k, first, looked=looked, limit=limit):
            looked.append(first)
            seen.caught[k] = 5 if task.work.run[0].t >= limit else many.FREE

        put(monkeypatch, many.run_until_caught, start=lambda *_: SUCCESS, go_on=go_on,
            look_at_events=look, point_at=None)  # fmt: skip
        assert many.run_until_caught(task, FULL, None, members_of(), seen, 0) == SUCCESS
        assert looked == [*range(count)]
        assert asked == [(np.inf, n) for n in range(count)]
        assert seen.found[0] == 0


def test_a_watched_run_that_fails_tells_its_status(monkeypatch):
    members, room = members_of(section=many.BY_PERIOD, since=np.zeros(2)), np.zeros(9)
    task = task_of(run_of(room, room, []), 0, 0, 0.0)
    put(monkeypatch, many.run_until_caught, start=lambda *_: FAILS, go_on=None)
    assert many.run_until_caught(task, FULL, None, members, seen_of(), 0) == FAILS
    go_on, _ = march(task, [0.1, 0.15, 1.0], fails=2)
    put(monkeypatch, many.run_until_caught, start=lambda *_: SUCCESS, go_on=go_on, point_at=None)
    assert many.run_until_caught(task, FULL, None, members, seen_of(), 0) == FAILS
    task = task_of(run_of(room, room, []), 0, 0, 0.0)
    go_on, _ = march(task, [0.5, 1.0])
    put(monkeypatch, many.run_until_caught, go_on=go_on, point_at=lambda *_: FAILS)
    assert many.run_until_caught(task, FULL, None, members, seen_of(), 0) == NOT_FINITE
    for rows, points in ((2, 1), (1, 0)):  # a point needs a row behind the last step
        task, shown = task_of(run_of(room[:rows], room[:rows], []), 0, 0, 0.0), []
        go_on, _ = march(task, [0.5, 0.6, 0.7], fails=1)
        put(monkeypatch, many.run_until_caught, go_on=go_on,
            point_at=lambda *given, shown=shown: shown.append(given[3]) or SUCCESS,
            caught_by=lambda *_: many.FREE)  # fmt: skip
        full = SimpleNamespace(max_steps=rows)
        assert many.run_until_caught(task, full, None, members, seen_of(), 0) == FAILS
        assert len(shown) == points


def test_the_end_of_a_watched_run_is_the_point_where_it_is_caught(monkeypatch):
    for caught in (many.FREE, 0, 3, capture.ESCAPED):
        task, seen = task_of(run_of([], [], []), 0, 0, 2.5), seen_of()
        seen.points[1, 0] = [8.0, 9.0, 1.25]
        seen.points[1, 1] = 99.0

        def run_until_caught(task, options, known, members, seen, k, caught=caught):
            seen.caught[k] = caught
            return FAILS

        put(monkeypatch, many.watch_one, run_until_caught=run_until_caught)
        assert many.watch_one(task, None, None, None, seen, 1) == FAILS
        free = caught == many.FREE
        assert seen.end.tolist() == [[10.0, 11.0], [1.5, 2.5] if free else [8.0, 9.0]]
        assert seen.t[1] == (2.5 if free else 1.25)
        assert (seen.at[1], seen.mode[1]) == (4, 2)


@for_each(("status", "by_time", "extrema"), itertools.product((SUCCESS, FAILS), (None, SUCCESS, FAILS), (False, True)))  # fmt: skip
def test_a_run_keeps_what_is_asked_for(monkeypatch, status, by_time, extrema):
    task, seen, said = task_of(run_of([], [], []), 6, 8, 2.5), seen_of(), []

    def extremes(problem, method, step, record, y, span, low, high):
        said.append(tuple(span))
        low[:], high[:] = 1.0, 2.0
        return 55

    put(monkeypatch, many.run_one, integrate=lambda *_: status, extremes=extremes,
        read_events=lambda *_: said.append("events"),
        read_times=lambda *_: said.append("times") or by_time)  # fmt: skip
    section = many.BY_EVENT if by_time is None else many.BY_PERIOD
    told = many.run_one(task, None, members_of(section=section, extrema=extrema), seen, 1)
    assert seen.end.tolist() == [[10.0, 11.0], [1.5, 2.5]]
    assert (seen.t[1], seen.at[1], seen.mode[1]) == (2.5, 4, 2)
    goes = status == SUCCESS
    asked = ["events"] * goes + ["times"] * (goes and by_time is not None)
    spans = goes and by_time != FAILS and extrema
    assert said == asked + [(6, 8, 1.0, 2.5)] * spans
    assert told == (status if status != SUCCESS else 55 if spans else by_time or SUCCESS)
    assert seen.high[1].tolist() == ([2.0, 2.0] if spans else [0.0, 0.0])


OPTIONS = dict.fromkeys(
    ("h", "band", "rest", "lowest", "max_steps", "max_events", "columns", "slopes", "picks"), 0
)


@for_each(("chained", "lost", "grid"), itertools.product((False, True), (0, 3), (0.0, 0.5)))
def test_members_run_one_after_the_other(monkeypatch, chained, lost, grid):
    members, seen, said = members_of(4, chained=chained), seen_of(4), []
    ends = [SUCCESS, FAILS, SUCCESS, SUCCESS]
    seen.mode[:], seen.found[:] = [20, 21, 22, 23], 1

    def run(name, options, k):
        said.append((name, options.t_end, options.grid, options.spacing))
        assert options.caps == (9, 4)
        return ends[k]

    put(
        monkeypatch, many.ensemble, stored=lambda memory, kind: memory,
        prepare=lambda task, blank, members, seen, k, mode: said.append((k, mode)),
        run_one=lambda task, options, members, seen, k: run("one", options, k),
        watch_one=lambda task, options, known, members, seen, k: run("watch", options, k),
        Options=lambda t_end, h, spacing, given, *more: SimpleNamespace(
            t_end=t_end, grid=given, spacing=spacing, caps=more[3:5]),
    )  # fmt: skip
    options, blank = SimpleNamespace(grid=grid, **OPTIONS), SimpleNamespace(mode=[7, 8, 9, 10])
    known = SimpleNamespace(lost=lost)
    seen.code[:] = -5
    assert many.ensemble(None, options, blank, known, members, seen, 0) == 4
    assert seen.code.tolist() == ends
    modes = [7, 20, 9, 22] if chained else [7, 8, 9, 10]
    assert said[::2] == [*enumerate(modes)]
    name = "watch" if lost else "one"
    assert said[1::2] == [(name, t, grid, grid or t / 4) for t in members.t_end]
    said.clear()
    blank.mode[2] = -1  # begins in none, and follows no other: the one before has failed
    assert many.ensemble(None, options, blank, known, members, seen, 1) == 4
    assert seen.code.tolist() == [*ends[:2], many.REFUSED, ends[3]]
    assert said[::2] == [*enumerate(modes)][1::2] if not chained else [(1, 20), (3, 10)]
    blank.mode[2] = 9
    said.clear()
    ends[2] = many.UNMADE
    assert many.ensemble(None, options, blank, known, members, seen, 1) == 2
    assert said[::2] == [*enumerate(modes)][1:3]
