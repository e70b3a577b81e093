"""How kernels branch, uncompiled: inputs, guards, contacts, members of ensembles, modes that slide."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import NOT_FINITE, SINGULAR, SUCCESS

inputs, modes = plain("model.held_inputs"), plain("sliding.mode_functions")
clashing, impacts = plain("event_driven.contradiction"), plain("event_driven.contact_impact")
arming, ensembles = plain("event_driven.arm_guards"), plain("event_driven.ensemble")
FAILS, FREE = 77, impacts.FREE  # a status; a tangent


def space(**fields) -> SimpleNamespace:
    return SimpleNamespace(**fields)


def put(monkeypatch, function, **stand_ins) -> None:
    for name, stand_in in stand_ins.items():
        monkeypatch.setitem(function.__globals__, name, stand_in)


# ---------------------------------------------------------------- inputs


@for_each(("now", "t", "k"), [
    (0, 2.5, 0), (1, 0.5, 1), (2, 0.5, 2), (inputs.AFTER, 1.0, 1), (inputs.BEFORE, 1.0, 0), (inputs.AFTER, 0.4, 0),
    (inputs.BEFORE, 2.6, 2), (inputs.AFTER, 2.0 - 1e-10, 2), (inputs.BEFORE, 2.0 + 1e-10, 1), (inputs.AFTER, 9.0, 2),
])  # fmt: skip
def test_present_values_are_written_and_the_model_is_called(monkeypatch, now, t, k):
    """At a break those of the interval behind it or before it, if no interval is named."""
    values, places, first, called = np.arange(9.0).reshape(3, 3) + 1, [4, 0, 2], 2, []
    schedule = inputs.memory_of(np.array([0.0, 1.0, 2.0, 3.0]), np.array(places), values, 1e-9)
    schedule[inputs.NOW] = now
    put(
        monkeypatch, inputs.write, words=lambda address: {33: schedule}[address],
        number=lambda word: np.int64(word).view(np.float64), forward=lambda *given: called.append(given),
    )  # fmt: skip
    inp, out = np.full(8, 99.0), np.zeros(1)
    inp[0] = t
    inputs.write(out, inp, np.array([11, 22, 33, first]))
    wanted = np.full(8, 99.0)
    wanted[0] = t
    wanted[[6, 2, 4]] = values[k]
    assert inp.tolist() == wanted.tolist()
    assert [one[:2] for one in called] == [(11, 22)]
    assert called[0][2] is out
    assert called[0][3] is inp


# ---------------------------------------------------------------- events


@for_each(("fast", "reach", "span", "by"), [
    (1e6, 2.0, 1e3, 1e12 / 2), (3e5, 4.0, 1.0, 9e10 / 4), (0.0, 2.0, 1e-6, 2e12), (1e-3, 50.0, 1e-5, 5e11), (1e6, 0.0, 1.0, 0.0),
])  # fmt: skip
def test_a_contradiction_is_larger_than_what_cancels(monkeypatch, fast, reach, span, by):
    """Two equal rows of length 3: noise is 1e-10 (v^2 / x + x / span^2) of it, beside 1e-6 of gamma."""
    limit = 3 * 1e-10 * by + (1e-6 if by == 0 else 0.0)
    for part, told in ((0.5, -1), (2.5, 1)):
        G, gamma = np.array([[3.0, 0.0], [3.0, 0.0]]), np.array([0.0, limit * part])
        if by == 0:
            gamma += 0.5  # both of its terms count: 1e-6 (0.5 + 0.5)
        put(
            monkeypatch, clashing.contradiction, holds=lambda *_: True,
            evaluate=lambda table, which, inp, out, G=G, gamma=gamma: out.__setitem__(
                slice(None), [*[np.nan] * 4, *G.ravel(), *gamma]),
        )  # fmt: skip
        problem = space(
            sizes=space(n=2, n_c=0, n_t=0, rows=2, penalty=9, rates=12), functions=space(table=None),
            out=np.empty(10), inp=np.zeros(20), saddle=space(W=np.full((4, 4), np.nan)),
            state=[space(dependent=1, form=0)],
        )  # fmt: skip
        y = np.array([0.0, -reach, fast, -0.5 * fast])
        assert clashing.contradiction(problem, 0.0, y, span) == told


@for_each("seed", range(4))
def test_contacts_that_touch_and_rest_are_settled(monkeypatch, seed):
    """gap'' = G u + gamma of each; tangents that move slide, the others are free to stick."""
    rng, n, nc, count, band, slow = np.random.default_rng(seed), 3, 4, 8, 1e-6, 1e-3
    G, gamma, free = rng.normal(size=(count, n)), rng.normal(size=count), rng.normal(size=n)
    gaps = np.array([0.0, 2e-6, 1e-6, 0.0])
    held = impacts.HELD_BEFORE * slow
    speed = np.array([1e-3, 0.0, -0.9 * held, 1.1 * held, 5 * held, -5 * held, 1e-3, -1e-3])
    out = np.concatenate([gaps, np.full(2 * count - nc, np.nan), G.ravel(), gamma])
    rows = [space(speed=s, prior=p) for s, p in zip(speed, [0, 0, 1, 1, 0, 0, 0, 0], strict=True)]
    act, still, told = np.full(count, -1), (-1, 4, 5)[seed % 3], []
    contacts = space(act=act, sigma=np.full(count, 9), w=np.full(count, np.nan), rows=rows)
    problem = space(sizes=space(n=n, n_c=nc, rows=count), out=out, saddle=space(solution=free))

    def delassus(problem, contacts, m):
        act[m : m + 4] = 4, 5, 6, 7
        told.append(act[:m].tolist())
        return m + 4

    def coulomb(problem, contacts, m, total, resting):
        told.append((m, total, resting))
        return FAILS

    opened = []
    put(monkeypatch, impacts.settle, speeds=lambda *_: None, delassus=delassus, coulomb=coulomb,
        open_all=opened.append)  # fmt: skip
    assert impacts.settle(problem, contacts, band, slow, still) == FAILS
    assert told == [[0, 2], (2, 6, True)]
    assert opened == [problem]
    np.testing.assert_allclose(contacts.w[:6], (G @ free + gamma)[act[:6]], rtol=1e-12)
    slides = [FREE if c in (6, 7, still) else 1 if speed[c] > 0 else -1 for c in act[2:6]]
    assert contacts.sigma[2:6].tolist() == slides
    put(monkeypatch, impacts.settle, delassus=lambda *_: -1)
    assert impacts.settle(problem, contacts, band, slow, still) == SINGULAR
    out[:nc] = 1.0
    assert impacts.settle(problem, contacts, band, slow, still) == SUCCESS


@for_each(("mechanical", "fire", "told"), [
    (True, (), -1), (True, (1, 4), 1), (True, (4, 3), 3), (True, (3,), 3), (True, (0,), 0), (False, (), -1), (False, (0, 2), 0), (False, (2, 4), 2),
])  # fmt: skip
def test_the_first_guard_that_fires_at_once_is_told_and_all_are_armed(
    monkeypatch, mechanical, fire, told
):
    """Of a mechanical system those of contacts, then those of its own functions; 1e-12 of speeds is slow."""
    count, n, n_w, armed = 5, 2, 2, []
    y = np.array([9.0, 9.0, -3.0, 2.0])

    def arm_contact(problem, search, j, y, slope, slow, band):
        assert slow == pytest.approx(4e-12)
        armed.append(("contact", j, band))
        return j in fire

    def arm_change(problem, automaton, search, scratch, j, y, slope, band):
        armed.append(("change", j, band))
        return j in fire

    def arm_guard(problem, automaton, search, scratch, j, slope, band):
        armed.append(("guard", j, band))
        return j in fire

    put(
        monkeypatch, arming.rewatch, guards=lambda *given: armed.append(given[2:4]), guard_count=lambda *_: count,
        evaluate=lambda *_: None, arm_contact=arm_contact, arm_change=arm_change, arm_guard=arm_guard,
    )  # fmt: skip
    state = [space(mode=6, watched=-9)]
    problem = space(sizes=space(n=n, n_w=n_w, mechanical=mechanical), inp=None, functions=space(table=None),
                    out=np.arange(20.0), state=state)  # fmt: skip
    search = space(when=np.full(count, np.nan), values=None)
    assert arming.rewatch(problem, None, search, None, 0.5, y, None, 1e-6) == told
    kinds = ["contact"] * 3 + ["change"] * 2 if mechanical else ["guard"] * 5
    assert armed[1:] == [(kind, j, 1e-6) for j, kind in enumerate(kinds)]
    assert state[0].watched == 6
    if not mechanical:
        assert search.when.tolist() == [5, 6, 7, 8, 9]


# ---------------------------------------------------------------- sliding


def test_modes_that_go_on_are_asked_for_one_after_the_other(monkeypatch):
    """Of each the words of its multipliers follow, as many as they say."""
    asked, result = [], np.full(5, 9.0)
    each = [(4, 5, [1, 2]), (6, 7, []), (8, 9, [3]), (2, 1, [])]
    words = [0, 0, 0, len(each)]
    places = []
    for other, function, more in each:
        words += [other, 1, modes.ATTRACTS]
        places.append(len(words))
        words += [function, len(more), *more]

    def goes_on(model, mode, other, data, place, scratch):
        asked.append((mode, other, place))
        return 0.5 * other

    put(monkeypatch, modes.write_conditions, goes_on=goes_on)
    scratch = space(base=None, out=None, slopes=None)
    modes.write_conditions(result, np.zeros(40, int), 3, 0, np.array(words), scratch)
    assert asked == [(3, one[0], place) for one, place in zip(each, places, strict=True)]
    assert result.tolist() == [2, 3, 4, 1, 9]


@for_each(
    ("there", "moved", "told"), [(1, 0.0, 0.7), (1, 0.9e-6, 0.7), (1, -2e-6, -1.0), (0, 0.0, -1.0)]
)
def test_a_slide_goes_on_with_the_multipliers_that_it_has(monkeypatch, there, moved, told):
    n, nc, asked = 2, 3, []
    scratch = space(base=np.arange(6.0), slopes=np.full((nc, 1), np.nan))
    model = np.zeros(40, int)
    model[modes.N], model[modes.NC] = n, nc

    def solve(model, mode, scratch):
        asked.append(mode)
        scratch.base[1 + n + 1] += moved if mode == 8 else 0.0
        return there if mode == 8 else 1

    put(
        monkeypatch,
        modes.goes_on,
        solve=solve,
        attracts=lambda *given: 0.7 if given[2] == 17 else np.nan,
    )
    assert modes.goes_on(model, 3, 8, None, 17, scratch) == told
    assert asked == [3, 8]


# ---------------------------------------------------------------- members of an ensemble


def caught(monkeypatch, *, since=0.0, period=0.5, offset=0.1, end=2.0, pauses=True, by_period=True, catches=99,
           started=SUCCESS, goes=(), bad=99):  # fmt: skip
    """Run a member to its points; return status, what is noted of it, the times asked, and pauses."""
    run, asked, paused = space(t=0.0, steps=0, events=0), [], []
    seen = space(caught=[7], found=[7], track=[space(near=7, streak=7, outside=7)], points=None)
    members = space(period=[period], offset=[offset], since=[since], section=ensembles.BY_PERIOD if by_period else 1)
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
    task = space(work=space(run=[run]), record=record, problem=None, automaton=None, surfaces=None, contacts=None)
    seen.points = np.zeros((1, 1, 2))
    status = ensembles.run_until_caught(task, None, None, members, seen, 0)
    return status, seen, asked, paused, looks


@for_each(("since", "offset", "first"), [(0.0, 0.1, 0.1), (0.1, 0.1, 0.1), (0.11, 0.1, 0.6), (1.1, 0.1, 1.1), (1.2, 0.1, 1.6), (0.0, 0.5, 0.5),
                                        (0.9, 0.4, 0.9), (0.0, 0.0, 0.0)])  # fmt: skip
def test_points_by_time_lie_a_period_apart_from_where_they_are_asked_for(monkeypatch, since, offset, first):
    status, seen, asked, paused, _ = caught(monkeypatch, since=since, offset=offset)
    wanted = np.arange(first, 2.0 + 1e-9, 0.5)
    assert status == SUCCESS
    assert [t for t, _ in asked] == pytest.approx(wanted)
    assert [t for t, _ in paused[: len(wanted)]] == pytest.approx(wanted)
    assert {first for _, first in paused} == {40}
    assert seen.found == [len(wanted)]
    assert (seen.track[0].near, seen.track[0].streak, seen.track[0].outside) == (ensembles.FREE, 0, 0)
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
