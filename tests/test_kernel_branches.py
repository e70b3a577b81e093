"""How kernels branch, uncompiled: inputs, rows, modes that slide, members of ensembles."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, reads, space

from explorer.codes import NOT_FINITE, SUCCESS

inputs, modes = plain("model.held_inputs"), plain("sliding.mode_functions")
layout = plain("sliding.structures")
stepping, marching = plain("time_stepping.ensemble"), plain("fesd.march")
ensembles, sliding = plain("event_driven.ensemble"), plain("fesd.slide_end")
FAILS = 77  # a status


# ---------------------------------------------------------------- inputs


@for_each(("now", "t", "k"), [
    (0, 2.5, 0), (1, 0.5, 1), (2, 0.5, 2), (inputs.AFTER, 1.0, 1), (inputs.BEFORE, 1.0, 0), (inputs.AFTER, 0.4, 0),
    (inputs.BEFORE, 2.6, 2), (inputs.AFTER, 2.0 - 1e-10, 2), (inputs.BEFORE, 2.0 + 1e-10, 1), (inputs.AFTER, 9.0, 2),
])  # fmt: skip
def test_present_values_are_written_and_the_model_is_called(monkeypatch, now, t, k):
    """At a break those of the interval behind it or before it, if no interval is named."""
    values, places, first, called = np.arange(9.0).reshape(3, 3) + 1, [4, 0, 2], 2, []
    schedule = inputs.memory_of(np.array([0.0, 1.0, 2.0, 3.0]), np.array(places), values, 1e-9)
    inputs.head_of(schedule)["now"] = now
    task = np.array([((11, 22), 33, first)], inputs.DRIVEN).view(np.int64)
    reads(monkeypatch, inputs.write, schedules=inputs.SCHEDULE, driven=inputs.DRIVEN)
    put(
        monkeypatch, inputs.write, pointer=lambda address: {33: schedule}[address],
        forward=lambda *given: called.append(given),
    )  # fmt: skip
    inp, out = np.full(8, 99.0), np.zeros(1)
    inp[0] = t
    inputs.write(out, inp, task)
    wanted = np.full(8, 99.0)
    wanted[0] = t
    wanted[[6, 2, 4]] = values[k]
    assert inp.tolist() == wanted.tolist()
    assert [one[:2] for one in called] == [(11, 22)]
    assert called[0][2] is out
    assert called[0][3] is inp


def test_states_between_rows_are_on_a_line_but_for_velocities_that_jump():
    t, rng = np.array([0.0, 0.5, 0.7, 1.7]), np.random.default_rng(4)
    q, v, point = rng.normal(size=(4, 2)), rng.normal(size=(4, 2)), np.full(4, np.nan)
    for i, jumps in itertools.product((1, 2, 3), (0, 1)):
        jump = np.zeros(4, np.int8)
        jump[i] = jumps
        for at in (0.0, 0.25, 0.9):
            when = t[i - 1] + at * (t[i] - t[i - 1])
            stepping.state_at(space(t=t, q=q, v=v), jump, i, when, point)
            line = [np.interp(when, t, x) for x in (*q.T, *v.T)]
            line[2:] = v[i - 1] if jumps else line[2:]
            np.testing.assert_allclose(point, line, rtol=1e-9)
        stepping.state_at(space(t=t, q=q, v=v), jump, i, t[i], point)
        assert point.tolist() == [*q[i], *v[i]]


def test_an_interval_begins_where_the_last_element_has_ended():
    n, n_c, n_sel, s, rng = 2, 4, 3, 3, np.random.default_rng(5)
    stages = space(
        K=np.full((s, n), np.nan), W=rng.normal(size=(s, n_c)), C=rng.normal(size=(s, n_c))
    )
    start = space(
        rate=np.full(n, np.nan),
        w=np.full(n_c, 9.0),
        multipliers=np.full(n_sel, np.nan),
        c=np.full(n_c, np.nan),
    )
    element = space(
        problem=space(n_x=n, n_c=n_c, n_sel=n_sel),
        stages=stages,
        mode=space(active=[space(sliding=2)]),
    )
    ws = space(element=element, start=start, march=[space(count=3)], end=rng.normal(size=n_sel))
    record = space(slopes=rng.normal(size=(5, s * n)))
    marching.carry_on(ws, record)
    assert start.rate.tolist() == record.slopes[2].reshape(s, n)[-1].tolist()
    assert start.w.tolist() == [*stages.W[-1, :2], 9.0, 9.0]
    assert start.multipliers.tolist() == ws.end.tolist()
    assert start.c.tolist() == stages.C[-1].tolist()


def test_where_no_input_jumps_no_interval_is_named():
    drive = inputs.Drive(np.zeros(0), np.array([5]), np.array([1]), np.array([[7.0]]), 3)
    inp = np.full(3, 9.0)
    inputs.hold(drive, inp, 0)
    assert (drive.now[0], inp.tolist()) == (5, [9.0] * 3)


# ---------------------------------------------------------------- sliding


def test_modes_that_go_on_are_asked_for_one_after_the_other(monkeypatch):
    """Of each the functions follow that it slides on, as many as it says."""
    asked, result = [], np.full(5, 9.0)
    each = [(4, 5, [1, 2]), (6, 7, []), (8, 9, [3]), (2, 1, [])]
    rows = np.array([(other, j, len(own)) for other, j, own in each], layout.FOLLOWER)
    functions = np.array([k for *_, own in each for k in own])
    first = layout.TASK_WORDS + len(each) * layout.FOLLOWER_WORDS

    def goes_on(model, mode, other, left, among, scratch):
        asked.append((mode, other, left, among.tolist()))
        return 0.5 * other

    put(monkeypatch, modes.write_conditions, goes_on=goes_on,
        integers=lambda words, at, many: words[at - first : at - first + many])  # fmt: skip
    scratch = space(base=None, out=None, slopes=None)
    model = space(head=np.zeros(1, layout.MODEL).view(np.recarray), signs=None)
    modes.write_conditions(result, model, 3, 0, rows.view(np.recarray), functions, scratch)
    assert asked == [(3, *one) for one in each]
    assert result.tolist() == [2, 3, 4, 1, 9]


@for_each(
    ("there", "moved", "told"), [(1, 0.0, 0.7), (1, 0.9e-6, 0.7), (1, -2e-6, -1.0), (0, 0.0, -1.0)]
)
def test_a_slide_goes_on_with_the_multipliers_that_it_has(monkeypatch, there, moved, told):
    n, nc, asked = 2, 3, []
    scratch = space(base=np.arange(6.0), slopes=np.full((nc, 1), np.nan))
    model = space(head=np.zeros(1, layout.MODEL).view(np.recarray))
    model.head.n, model.head.n_c = n, nc

    def solve(model, mode, scratch):
        asked.append(mode)
        scratch.base[1 + n + 1] += moved if mode == 8 else 0.0
        return there if mode == 8 else 1

    put(
        monkeypatch,
        modes.goes_on,
        solve=solve,
        attracts=lambda *given: 0.7 if given[1] == 17 else np.nan,
    )
    assert modes.goes_on(model, 3, 8, 17, None, scratch) == told
    assert asked == [3, 8]


# ---------------------------------------------------------------- members of an ensemble


def caught(monkeypatch, *, since=0.0, period=0.5, offset=0.1, end=2.0, pauses=True, by_period=True, catches=99,
           started=SUCCESS, goes=(), bad=99):  # fmt: skip
    """Run a member to its points; return status, what is noted of it, the times asked, and pauses."""
    run, asked, paused = space(t=0.0, steps=0, events=0), [], []
    seen = space(caught=[7], found=[7], track=[space(near=7, streak=7, outside=7)], points=None)
    members = space(
        period=[period],
        offset=[offset],
        since=[since],
        section=ensembles.BY_PERIOD if by_period else 1,
    )
    answers, looks = iter(goes), []

    def go_on(task, options, pause, first):
        paused.append((pause, first))
        status = next(answers, None)
        if status is not None:
            return status
        run.steps += 1
        run.events += 1
        run.t = min(pause + 0.2, end) if pauses and by_period else min(run.t + 0.5, end)
        return SUCCESS if run.t >= end else ensembles.PAUSED

    def point_at(task, seen, k, t, goes_on):
        asked.append((round(t, 12), goes_on))
        return SUCCESS if len(asked) < bad else FAILS

    def caught_by(known, point, track):
        return 3 if len(asked) >= catches else ensembles.FREE

    def look_at_events(task, known, members, seen, k, first):
        looks.append(first)
        seen.caught[k] = 3 if len(looks) >= catches else ensembles.FREE

    put(monkeypatch, ensembles.run_until_caught, start=lambda *_: started, go_on=go_on, point_at=point_at,
        caught_by=caught_by, look_at_events=look_at_events)  # fmt: skip
    record = space(steps=space(t=np.zeros(50)), events=space(head=np.zeros(40)))
    task = space(
        work=space(run=[run]),
        record=record,
        problem=None,
        automaton=None,
        surfaces=None,
        contacts=None,
    )
    seen.points = np.zeros((1, 1, 2))
    status = ensembles.run_until_caught(task, space(max_steps=50), None, members, seen, 0)
    return status, seen, asked, paused, looks


@for_each(("since", "offset", "first"), [(0.0, 0.1, 0.1), (0.1, 0.1, 0.1), (0.11, 0.1, 0.6), (1.1, 0.1, 1.1), (1.2, 0.1, 1.6), (0.0, 0.5, 0.5),
                                        (0.9, 0.4, 0.9), (0.0, 0.0, 0.0)])  # fmt: skip
def test_points_by_time_lie_a_period_apart_from_where_they_are_asked_for(
    monkeypatch, since, offset, first
):
    status, seen, asked, paused, _ = caught(monkeypatch, since=since, offset=offset)
    wanted = np.arange(first, 2.0 + 1e-9, 0.5)
    assert status == SUCCESS
    assert [t for t, _ in asked] == pytest.approx(wanted)
    assert [t for t, _ in paused[: len(wanted)]] == pytest.approx(wanted)
    assert {first for _, first in paused} == {40}
    assert seen.found == [len(wanted)]
    assert (seen.track[0].near, seen.track[0].streak, seen.track[0].outside) == (
        ensembles.FREE,
        0,
        0,
    )
    assert all(going for t, going in asked if t < 1.8)


def test_a_member_runs_until_it_is_caught_or_fails(monkeypatch):
    assert caught(monkeypatch, started=FAILS)[0] == FAILS
    assert caught(monkeypatch, goes=[FAILS])[0] == FAILS
    status, seen, asked, *_ = caught(monkeypatch, catches=2)
    assert (status, seen.caught, seen.found, len(asked)) == (SUCCESS, [3], [2], 2)
    assert caught(monkeypatch, bad=2)[0] == NOT_FINITE
    asked = caught(monkeypatch, pauses=False)[2]
    assert [t for t, _ in asked] == pytest.approx([0.1, 0.6, 1.1, 1.6])
    status, seen, asked, paused, looks = caught(monkeypatch, by_period=False)
    assert (status, asked, looks) == (SUCCESS, [], [0, 1, 2, 3])
    assert paused == [(np.inf, 0), (np.inf, 1), (np.inf, 2), (np.inf, 3)]
    assert caught(monkeypatch, by_period=False, catches=2)[4] == [0, 1]


@for_each(("before", "since"), [(True, 0.0), (False, 0.0), (False, 1.6), (True, 3.0)])
def test_events_are_points_from_a_time_on(monkeypatch, before, since):
    """Those that count as points; the state before them or behind them, and when they have ended."""
    n, asked = 2, []
    head = [space(t=float(k), rest=0.5) for k in range(4)]
    parts = np.arange(40.0).reshape(4, 10)
    at = space(x_minus=3, x_plus=6)
    seen = space(points=np.full((1, 1, n + 1), np.nan), found=[0], caught=[9], track=None)
    put(monkeypatch, ensembles.look_at_events, is_point=lambda members, events, i: i != 2,
        caught_by=lambda known, point, track: asked.append(point.tolist()) or ensembles.FREE)  # fmt: skip
    seen.caught[0] = ensembles.FREE
    task = space(record=space(events=space(head=head, parts=parts, at=at)), problem=space(sizes=space(n_x=n)),
                 work=space(run=[space(events=4)]))  # fmt: skip
    members = space(before=before, since=[since])
    ensembles.look_at_events(task, None, members, seen, 0, 1)
    begin = 3 if before else 6
    wanted = [[*parts[i, begin : begin + n], i + 0.5] for i in (1, 3) if i + 0.5 >= since]
    assert asked == wanted
    assert seen.found == [len(wanted)]
    put(monkeypatch, ensembles.look_at_events, caught_by=lambda *_: 2)
    ensembles.look_at_events(task, None, members, seen, 0, 0)
    assert seen.caught == [2]
    assert seen.found == [len(wanted) + 1]


# ---------------------------------------------------------------- the end of a slide


@for_each(("value", "root", "slope"), [
    (lambda tau: 1.0 + (tau + 0.25), -1.25, 1.0), (lambda tau: -3 * (tau - 0.5), 0.5, -3.0), (lambda tau: tau**3 + tau - 0.625, 0.5, 1.75),
    (lambda tau: 1e-3 * (tau + 0.25), -0.25, 1e-3), (lambda tau: np.expm1(tau - 1.0), 1.0, 1.0),
])  # fmt: skip
def test_a_multiplier_comes_to_its_bound_where_the_secant_method_ends(
    monkeypatch, value, root, slope
):
    asked, scale = [], 0.25 / sliding.PROBE
    put(
        monkeypatch,
        sliding.crossing,
        follow=lambda ws, t, x, tau, which: asked.append(tau) or 5.0 + value(tau),
    )
    found, tau, rate = sliding.crossing(None, 0.0, None, 1, 5.0, -9.0, 9.0, scale)
    assert found
    assert asked[:2] == [0.0, -sliding.PROBE * scale]
    assert tau == pytest.approx(root, abs=1e-6)
    assert rate == pytest.approx(slope, rel=1e-2)
    for low, high in ((-9.0, root - 0.01), (root + 0.01, 9.0)):
        if root != -0.25:  # which is the first that is asked for
            assert not sliding.crossing(None, 0.0, None, 1, 5.0, low, high, scale)[0]


@for_each("slope", [1e-9, -1e-9])
@for_each("bound", [0.0, 1.0])
def test_a_multiplier_that_hardly_moves_is_zero_to_its_round_off(monkeypatch, slope, bound):
    """Of 1e-12, which keeps each step of the secant method far longer than the round-off of time."""
    asked, off = [], 1e-12

    def follow(ws, t, x, tau, which):
        asked.append(tau)
        return bound + slope * (tau - 0.5) + off * (-1) ** len(asked)

    put(monkeypatch, sliding.crossing, follow=follow)
    found, tau, _ = sliding.crossing(None, 0.0, None, 1, bound, -9.0, 9.0, 0.25 / sliding.PROBE)
    assert found
    assert tau == pytest.approx(0.5, abs=4 * off / abs(slope))
    assert len(asked) < 8


def test_a_multiplier_that_does_not_move_comes_to_no_bound(monkeypatch):
    for value, told in ((0.5, False), (0.0, True), (2e6, False), (np.nan, False)):
        put(monkeypatch, sliding.crossing, follow=lambda *_, value=value: value)
        found, tau, slope = sliding.crossing(None, 0.0, None, 1, 0.0, -9.0, 9.0, 1.0)
        assert (found, tau, slope) == (told, -sliding.PROBE, 0.0)
