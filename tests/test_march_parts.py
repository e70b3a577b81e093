"""Parts of the event-driven march, uncompiled: start, loop, landing, events, ranks, states between."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import CHATTERING, EVENT_CAP, NOT_FINITE, RANK_LOST, SUCCESS
from explorer.kernels.event_driven.records import (
    CHAINED,
    DRIVEN,
    NEWMARK,
    STRIKE,
    UNARMED,
)

landing, firing = plain("event_driven.land"), plain("event_driven.fire_event")
starting, ranks = plain("event_driven.initial_state"), plain("event_driven.constraint_rank")
between, marching = plain("event_driven.dense_output"), plain("event_driven.march")
FAILS = 77  # a status


# ---------------------------------------------------------------- the end of a step on a guard


def landed(monkeypatch, g, guess, slope, *, h=1.0, most=2.0, code=0, noise=None, others=False, status=SUCCESS):  # fmt: skip
    """Land on the zero of g(t) along x' = 1, x_0 = 3; return status, length, end and what ran."""
    t, y, ran = 3.0, np.array([3.0, 0.0]), []
    step = space(end=np.ones(2), spare=np.ones(2), new=np.full(2, np.nan))
    search = space(
        values=np.full(2, np.nan), found=[space(fraction=guess / h, slope=slope * h, length=np.nan)],
        watch=[space(sign=-1.0, shift=0.25, arm=9), space(sign=1.0, shift=0.0, arm=9)],
    )  # fmt: skip

    def advance(problem, method, step, first, last, t, y, tau, width):
        assert (first, last, t, width) == (1, 6, 3.0, 0)
        ran.append("whole")
        step.new[:] = y[0] + tau, 0.0
        return status

    def flow(problem, t, y, out, width):
        ran.append("short")
        out[:] = 1.0, 0.0
        return status

    def guards(problem, automaton, now, new, values):
        assert now == pytest.approx(new[0], abs=1e-14)
        values[:] = -0.25 - g(new[0] - t), -1.0 if others else 1.0

    put(monkeypatch, landing.land, advance=advance, flow=flow, guards=guards,
        guard_count=lambda *_: 2)  # fmt: skip
    problem, method = space(sizes=space(n_x=1)), space(stages=6, code=code)
    told = landing.land(problem, None, method, step, search, 0, t, y, h, most, 0)
    return told, search.found[0].length, step.new[0] - t, ran


@for_each("guess", [0.4, 0.62, 0.6180339])
def test_a_step_ends_on_the_zero_of_its_guard(monkeypatch, guess):
    root = (5**0.5 - 1) / 2
    for h in (1.0, 0.8):
        told, length, end, _ = landed(monkeypatch, lambda s: s**2 + s - 1, guess, 2.2, h=h)
        assert (told, length, end) == (SUCCESS, pytest.approx(root, abs=4e-16), pytest.approx(root))


def test_a_small_correction_is_no_step_of_its_own(monkeypatch):
    g = lambda s: s - 0.5  # noqa: E731
    assert landed(monkeypatch, g, 0.5 + 1e-7, 1.0)[3] == ["whole", "short"]
    assert landed(monkeypatch, g, 0.5 + 1e-4, 1.0)[3] == ["whole", "whole"]
    assert landed(monkeypatch, g, 0.5 + 1e-7, 1.0, code=NEWMARK)[3] == ["whole", "whole"]
    assert landed(monkeypatch, g, 0.5, 1.0)[3] == ["whole"]
    assert landed(monkeypatch, lambda s: s - 0.25, 0.5, 0.0)[3] == ["whole"]  # no slope


def test_a_correction_stays_within_the_step_and_ahead(monkeypatch):
    told, length, _, _ = landed(monkeypatch, lambda s: s - 5.0, 0.5, 1.0, most=0.75)
    assert (told, length) == (SUCCESS, 0.75)
    told, length, _, ran = landed(monkeypatch, lambda s: s + 5.0, 0.5, 1.0)
    assert (told, length, ran) == (SUCCESS, 0.5, ["whole"])


def test_a_guard_of_noise_ends_where_it_is_least(monkeypatch):
    values = iter([1e-15, 3e-15, 2e-15, 9e-15, 9e-15, 9e-15])
    told, length, _, ran = landed(monkeypatch, lambda s: next(values), 0.5, 1e-9)
    assert (told, len(ran)) == (SUCCESS, 3)  # back to where it was least
    assert length == 0.5
    values = iter([1e-3, 1.1e-3, 1.2e-3, 1.3e-3, 5.0, 5.0])
    told, length, _, ran = landed(monkeypatch, lambda s: next(values), 0.5, 1.0)
    assert (told, len(ran)) == (SUCCESS, 5)


def test_a_landing_does_not_go_beyond_the_event_of_another(monkeypatch):
    told, length, _, _ = landed(monkeypatch, lambda s: s - 0.3, 0.5, 1.0, others=True)
    assert (told, length) == (SUCCESS, 0.5)  # 0.3 is far from the polynomial's zero, so back
    near = landed(monkeypatch, lambda s: s - 0.5, 0.5 + 1e-10, 1.0, others=True)
    assert near[1] == pytest.approx(0.5, abs=1e-15)


def test_a_landing_that_fails_tells_its_status(monkeypatch):
    told, length, _, ran = landed(monkeypatch, lambda s: s - 0.3, 0.5, 1.0, status=FAILS)
    assert (told, length, ran) == (FAILS, 0.5, ["whole"])


def test_only_an_armed_guard_below_its_zero_is_passed(monkeypatch):
    put(monkeypatch, landing.passes_another, guard_count=lambda *_: 3)
    for j, (sign, value, shift, arm), told in (
        (1, (1.0, -1e-3, 0.0, 9), False),  # itself
        (0, (1.0, -1e-3, 0.0, 9), True),
        (0, (-1.0, 1e-3, 0.0, 9), True),
        (0, (1.0, 1e-3, 0.0, 9), False),
        (0, (1.0, 1e-3, 2e-3, 9), True),
        (0, (1.0, -1e-3, -2e-3, 9), False),
        (0, (1.0, -1e-3, 0.0, UNARMED), False),
    ):
        search = space(values=[1.0, value, 1.0],
                       watch=[space(sign=1.0, shift=0.0, arm=9) for _ in range(3)])  # fmt: skip
        search.watch[1] = space(sign=sign, shift=shift, arm=arm)
        assert landing.passes_another(None, None, search, j) == told


@for_each("width", [0, 2])
def test_the_end_of_a_step_is_shifted_by_a_step_of_heun(monkeypatch, width):
    size = 3 * (width + 1)
    K, A = np.random.default_rng(1).normal(size=(17, size)), np.diag(np.arange(1.0, size + 1))
    x, move = np.arange(1.0, size + 1), 0.1
    K[6] = A @ x

    def flow(problem, t, y, out, given):
        assert (t, given) == (1.5, width)
        out[:] = A @ y
        return FAILS

    put(monkeypatch, landing.shift_end, flow=flow)
    step, problem = space(end=K[6], spare=K[16], new=x.copy()), space(sizes=space(n_x=2))
    assert landing.shift_end(problem, step, 1.5, move, width) == FAILS
    ahead = x + move * A @ x
    np.testing.assert_allclose(step.new, x + 0.5 * move * (A @ x + A @ ahead))
    np.testing.assert_allclose(K[6], A @ ahead)


# ---------------------------------------------------------------- one event

AT = space(x_minus=0, f_minus=3, x_plus=6, f_plus=9, p=12, dtau=14, s_minus=16, s_plus=22)
ROW = 28


def event_of(**head) -> SimpleNamespace:
    own = {"t": np.nan, "rest": np.nan, "bend": np.nan, "how": 0, "kind": STRIKE}
    return space(head=[space(**own | head)], row=np.full(ROW, np.nan), at=AT)


@for_each(("slopes", "fails"), itertools.product((False, True), (False, True)))
def test_an_event_has_what_is_before_it(monkeypatch, slopes, fails):
    event, asked = event_of(), []
    y = np.arange(1.0, 10)  # a state, its cost, and two columns
    work = space(run=[space(t=1.5, h=0.2)], y=y, step=space(slope=np.full(9, np.nan)))

    def flow(problem, t, y, out, width):
        assert (t, width) == (1.5, 0)
        out[:3] = [7.0, 8.0, 9.0]
        return FAILS if fails else SUCCESS

    put(monkeypatch, firing.approach, flow=flow,
        guard_gradient=lambda p, a, guard, e: asked.append(("gradient", guard)),
        bend=lambda p, a, guard, size, e: asked.append(("bend", guard, round(size, 15))))  # fmt: skip
    problem = space(sizes=space(n_x=2, rows=2))
    options = space(columns=2, slopes=slopes)
    told = firing.approach(problem, None, options, work, event, 4)
    assert told == (FAILS if fails else SUCCESS)
    head = event.head[0]
    assert (head.t, head.rest) == (1.5, 0.0)
    if fails:
        assert asked == []
        return
    assert asked == [("gradient", 4)] + [("bend", 4, 2e-4)] * slopes
    assert head.bend == 0.0
    row = np.full(ROW, np.nan)
    row[:3], row[3:6], row[12:14], row[16:22] = y[:3], [7, 8, 9], 0.0, y[3:]
    np.testing.assert_array_equal(event.row, row)


@for_each(("how", "fails"), [(0, False), (CHAINED, False), (DRIVEN, False), (0, True)])
def test_an_event_has_what_is_behind_it(monkeypatch, how, fails):
    event, cause, asked = event_of(how=how), event_of(), []
    event.row[6:8], cause.row[:] = [5.0, 6.0], 3.0
    y = np.arange(1.0, 10)
    work = space(run=[space(t=1.5)], y=y, step=space(slope=np.full(9, np.nan)))

    def flow(problem, t, x, out, width):
        assert (t, width) == (1.5, 0)
        assert x[:3].tolist() == [5.0, 6.0, 3.0]  # the cost goes on
        out[:3] = [7.0, 8.0, 9.0]
        return FAILS if fails else SUCCESS

    def saltate(problem, one, width, source, chained):
        assert one is event
        asked.append((width, source is event.row, source is cause.row, chained))
        event.row[22:28] = np.arange(6.0) + 50

    put(monkeypatch, firing.depart, flow=flow, saltate=saltate)
    problem, options = space(sizes=space(n_x=2)), space(columns=2)
    told = firing.depart(problem, options, work, event, cause)
    assert told == (FAILS if fails else SUCCESS)
    if fails:
        assert asked == []
        return
    driven = how == DRIVEN
    assert asked == [(2, driven, not driven, how in (CHAINED, DRIVEN))]
    assert event.row[9:12].tolist() == [7.0, 8.0, 9.0]
    np.testing.assert_array_equal(event.row[14:16], 0.0 if driven else np.nan)
    assert y.tolist() == [5.0, 6.0, 3.0, 50, 51, 52, 53, 54, 55]


def test_a_contact_that_gives_no_impulse_was_grazed():
    problem = space(sizes=space(n_c=1, n_t=1))
    for kind, p, told in ((STRIKE, [0, 0], True), (STRIKE, [2, 0], False), (STRIKE, [0, -1], False),
                          (STRIKE + 1, [0, 0], False)):  # fmt: skip
        event = event_of(kind=kind)
        event.row[12:14] = p
        assert firing.is_graze(problem, event) == told


def happening(monkeypatch, k=2, mechanical=True, **more):
    """Let guard 1 fire as event `k`; return status, order of calls, heads, progress and watch."""
    own = {"t": 2.0, "cap": 5, "repeated": 3, "status": {}, "graze": False, "ends": firing.GOES_ON,
           "address": 1, "n_c": 1, "x": 1.0, "nearest": 0.5, "miss_at": 2.0, "arm": 9}  # fmt: skip
    told = own | more
    head = np.array([(0.1 * i, 9, 9, 9, 9, 9, 9) for i in range(40)], [
        (name, float if name == "t" else int) for name in ("t", "guard", "before", "together", "how", "after", "step")
    ]).view(np.recarray)  # fmt: skip
    calls, parts = [], np.full((40, ROW), np.nan)
    parts[:, 0] = np.arange(40)
    run = space(t=told["t"], events=k, repeated=told["repeated"], fresh=0, steps=17, at=-1)
    watch = [None, space(nearest=told["nearest"], miss_at=told["miss_at"], arm=told["arm"])]
    y = np.array([told["x"], 2.0, 3.0])
    work = space(run=[run], y=y, search=space(watch=watch))
    state = [space(mode=1)]

    def answer(name, *said):
        calls.append((name, *said))
        return told["status"].get(name, SUCCESS)

    def switch(problem, automaton, options, event, guard, back):
        answer("switch", guard, round(back, 9), int(event.row[0]))
        state[0].mode = 2
        return told["ends"]

    put(
        monkeypatch, firing.happen, value_of=lambda one: one,
        approach=lambda p, a, o, w, event, guard: answer("approach", guard, int(event.row[0])),
        release=lambda *_: answer("release"), switch=switch,
        touch=lambda p, c, o, event, guard, y, crowd: answer("touch", guard, round(crowd, 9), int(event.row[0])),
        is_graze=lambda p, event: told["graze"], largest=lambda y, first, last: y[first:last].max(),
        depart=lambda p, o, w, event, cause: answer("depart", int(event.row[0]), int(cause.row[0]), round(cause.head[0]["t"], 9)),
    )  # fmt: skip
    problem = space(
        sizes=space(n_c=told["n_c"], n_x=2, mechanical=mechanical), state=state,
        functions=space(table=[space(address=7), space(address=7), space(address=told["address"])]),
    )  # fmt: skip
    options = space(max_events=told["cap"])
    events = space(head=head, parts=parts, at=AT)
    status = firing.happen(problem, None, None, None, options, work, events, 1, 6)
    return status, calls, head[k], run, watch[1], parts[k], head


def test_an_event_of_a_mechanical_system_is_written(monkeypatch):
    status, calls, head, run, _, row, heads = happening(monkeypatch)
    assert status == firing.GOES_ON
    assert [c[0] for c in calls] == ["approach", "release", "touch", "depart"]
    assert calls[0] == ("approach", 1, 2)
    assert calls[2][1:] == (1, pytest.approx(firing.LONG_AGO), 2)
    assert calls[3] == ("depart", 2, 1, 0.1)  # its cause is the event before it
    assert [head[n] for n in ("guard", "before", "together", "how", "after", "step")] == [1, 1, 1, 6, 1, 17]  # fmt: skip
    assert (run.events, run.fresh, run.repeated) == (3, 1, 0)
    assert row[6:9].tolist() == [1.0, 2.0, 3.0]
    assert heads[3].guard == 9
    assert heads[1].guard == 9
    first = happening(monkeypatch, k=0)
    assert first[1][-1] == ("depart", 0, 0, 0.0)
    late = happening(monkeypatch, k=20, cap=30)
    assert late[1][2] == ("touch", 1, pytest.approx(0.4), 20)  # 8 a contact, and 8 more, before
    assert happening(monkeypatch, k=16, cap=30)[1][2][2] == pytest.approx(0.0)


def test_an_event_of_a_mode_switches_it(monkeypatch):
    status, calls, head, run, *_ = happening(monkeypatch, mechanical=False, k=20, cap=30)
    assert status == firing.GOES_ON
    assert calls[2] == ("switch", 1, pytest.approx(0.8), 20)
    assert (head["before"], head["after"], run.events) == (1, 2, 21)
    status, calls, _, run, *_ = happening(monkeypatch, mechanical=False, address=0)
    assert (status, run.at, run.events) == (firing.UNMADE, 2, 2)
    assert calls[-1][0] == "switch"
    status, _, _, run, *_ = happening(monkeypatch, mechanical=False, ends=FAILS)
    assert (status, run.events, run.fresh) == (FAILS, 3, 0)


def test_what_ends_a_run_at_an_event_is_told(monkeypatch):
    assert happening(monkeypatch, cap=2)[:2] == (EVENT_CAP, [])
    assert happening(monkeypatch, cap=3)[0] == firing.GOES_ON
    for name in ("approach", "touch", "depart"):
        status, calls, _, run, *_ = happening(monkeypatch, status={name: FAILS})
        assert (status, calls[-1][0], run.events) == (FAILS, name, 2)
    assert happening(monkeypatch, x=np.inf)[0] == NOT_FINITE
    status, calls, _, run, watch, *_ = happening(monkeypatch, graze=True)
    assert (status, run.events, run.fresh) == (firing.GOES_ON, 2, 1)
    assert (watch.nearest, watch.miss_at) == (0.0, 2.0)
    assert calls[-1][0] == "touch"


@for_each(("given", "stuck"), [
    ({}, False), ({"t": 0.1}, True), ({"arm": UNARMED}, True), ({"nearest": 0.0}, True),
    ({"nearest": 0.0, "miss_at": 1.9}, False), ({"t": 0.1, "k": 0, "miss_at": 0}, False), ({"t": 0.0}, False),
])  # fmt: skip
def test_events_that_repeat_at_one_time_end_a_run(monkeypatch, given, stuck):
    limit = firing.REPEATS + 30
    status, _, _, run, *_ = happening(monkeypatch, repeated=limit, **given)
    assert status == (CHATTERING if stuck else firing.GOES_ON)
    status, _, _, run, *_ = happening(monkeypatch, repeated=limit - 1, **given)
    assert status == firing.GOES_ON
    assert run.repeated == (limit if stuck else 0)


@for_each("n_c", [0, 1, 4])
def test_many_contacts_may_strike_one_after_the_other(monkeypatch, n_c):
    """30 more events each before they are taken for chatter."""
    limit = firing.REPEATS + 30 * n_c
    for repeated, told in ((limit - 1, firing.GOES_ON), (limit, CHATTERING)):
        assert happening(monkeypatch, repeated=repeated, arm=UNARMED, n_c=n_c)[0] == told


# ---------------------------------------------------------------- the start

NX, NSIZE, ROWS, NR = 4, 2, 4, 3  # one contact, one tangent, two constraints


def begun(monkeypatch, given=False, seeds=False, rows=ROWS, held=(True, True), sides=0, **more):
    """Begin a run from x = (0.1, 0.2, 3, -4), of which the gap is 0.5; return status, y and more."""
    told = {"x": [0.1, 0.2, 3.0, -4.0], "e": 0.5, "gap": 0.5, "mu": 0.2, "mu_s": 0.3, "phi": [0, 0],
            "rate": [0, 0]} | more  # fmt: skip
    first = np.concatenate([told["x"], [told["e"]], np.arange(15.0) + 100])  # with slopes by rho
    slope = np.random.default_rng(5).normal(size=(ROWS, NSIZE))
    speed = np.array(told["x"][2:])
    out = np.zeros(60)
    begin = space(inp=np.full(20, np.nan), asked=[])

    def evaluate(table, which, inp, out):
        begin.asked.append(which)
        if which == len(table) - 1:
            out[: first.size] = first
        else:
            assert inp[1 : 1 + NX].tolist() == list(y[:NX])
            out[:] = np.nan
            out[: 2 * ROWS] = [told["gap"], np.nan, *told["phi"], np.nan, np.nan, *(told["rate"] - slope[2:] @ speed)]  # fmt: skip
            out[2 * ROWS : 2 * ROWS + slope.size] = slope.ravel()
            out[ROWS * 5 : ROWS * 5 + 2] = told["mu"], told["mu_s"]

    y = np.full(15, np.nan)
    if given:
        y[:NX] = told["x"]
        first[:NX] = -7.0
    if seeds:
        y[5:9] = y[10:14] = 0.75
    contacts = space(e=np.full(1, np.nan), e_rho=np.full((1, NR), np.nan))
    run = [space(at=-1)]
    put(monkeypatch, starting.begin, evaluate=evaluate, holds=lambda p, c: held[c],
        first_sides=lambda p, y, band: begin.asked.append(("sides", band)))  # fmt: skip
    problem = space(
        sizes=space(n_x=NX, n=NSIZE, n_c=1, n_t=1, n_rho=NR, rows=rows, n_w=sides), inp=begin.inp, out=out,
        functions=space(table=np.zeros(9)), wrt=np.array([2, -1]),
    )  # fmt: skip
    options = space(columns=2, given_state=given, given_seeds=seeds, band=0.25)
    status = starting.begin(problem, contacts, options, y, run)
    return status, y, contacts, run[0].at, begin.asked


@for_each(("given", "seeds"), itertools.product((False, True), (False, True)))
def test_a_start_is_completed_by_the_formulas_of_the_model(monkeypatch, given, seeds):
    status, y, contacts, _, asked = begun(monkeypatch, given, seeds)
    assert status == SUCCESS
    own = [100 + i * NR + 2 for i in range(NX)]  # by the third parameter; the other is a start
    columns = [[0.75] * 4, [0.75] * 4] if seeds else [own, [0.0] * 4]
    assert y.tolist() == [0.1, 0.2, 3.0, -4.0, 0.0, *columns[0], 0.0, *columns[1], 0.0]
    assert contacts.e.tolist() == [0.5]
    assert contacts.e_rho.tolist() == [[112, 113, 114]]
    assert asked == [8, starting.CONTACTS]
    assert begun(monkeypatch, sides=1)[4] == [8, starting.CONTACTS, ("sides", 0.25), starting.CONTACTS]  # fmt: skip
    assert begun(monkeypatch, rows=0, gap=-1.0)[::4] == (SUCCESS, [8])


def test_a_start_that_makes_no_sense_is_refused(monkeypatch):
    for told, more in (
        (SUCCESS, {"e": 0.0}), (SUCCESS, {"e": 1.0}), (SUCCESS, {"gap": -1e-10}), (SUCCESS, {"gap": 0.0}),
        (SUCCESS, {"mu": 0.3}), (SUCCESS, {"mu": 0.0, "mu_s": 0.0}), (SUCCESS, {"phi": [1e-7, -1e-7]}),
        (SUCCESS, {"rate": [4e-6, -4e-6]}), (SUCCESS, {"phi": [0, 1], "held": (True, False)}),
        (starting.RESTITUTION, {"e": -1e-9}), (starting.RESTITUTION, {"e": 1 + 1e-9}),
        (starting.RESTITUTION, {"e": np.nan}), (starting.INSIDE, {"gap": -1e-8}),
        (starting.FRICTION, {"mu": -1e-9}), (starting.FRICTION, {"mu": 0.31}), (starting.FRICTION, {"mu_s": np.inf}),
        (starting.VIOLATED, {"phi": [2e-6, 0]}), (starting.VIOLATED, {"phi": [0, -2e-6]}),
        (starting.VIOLATED, {"rate": [6e-6, 0]}), (starting.VIOLATED, {"rate": [0, -6e-6]}),
        (starting.VIOLATED, {"phi": [0, 1], "held": (False, True)}),
        (starting.NOT_FINITE, {"x": [0.1, np.inf, 3.0, 4.0]}), (starting.NOT_FINITE, {"x": [0.1, 1, 3.0, np.nan]}),
    ):  # fmt: skip
        status, _, _, at, _ = begun(monkeypatch, **more)
        assert status == told, more
        assert at == (-1 if told == starting.NOT_FINITE else 0)


# ---------------------------------------------------------------- the rank of constraints


def rank_of(n=3, held=2) -> SimpleNamespace:
    return space(G=np.full((held + 1, n), np.nan), columns=np.full(n, -1), state=np.full(2 * n, np.nan),
                 now=[space(sign=np.nan, last=np.nan, lost=np.nan)])  # fmt: skip


@for_each("seed", range(6))
def test_pivots_have_the_sign_of_the_determinant(seed):
    rng, n, held = np.random.default_rng(seed), 5, 3
    rank = rank_of(n, held)
    G = rng.normal(size=(held, n))
    for rows, wide in ((held, 0), (held + 1, 1)):
        rank.G[:held] = G
        rank.G[held] = 0.5 * (G[0] + G[1])  # follows from the others
        sign = ranks.eliminate(rank, rows, held, True)
        assert sorted(rank.columns) == [*range(n)]
        chosen = rank.columns[:held].copy()
        if not wide:
            assert sign == np.sign(np.linalg.det(G[:, chosen]))
        size = abs(np.vstack([G, 0.5 * (G[0] + G[1])[None]])[:rows])
        assert size[:, chosen[0]].max() == size.max()
    rank.G[:held] = G
    assert ranks.eliminate(rank, held, held, True) in (1.0, -1.0)
    other = G + 0.1 * rng.normal(size=G.shape)
    rank.G[:held], chosen = other, rank.columns[:held].copy()
    assert ranks.eliminate(rank, held, held, False) == np.sign(np.linalg.det(other[:, chosen]))
    flat = G.copy()
    flat[2] = flat[0] - 2 * flat[1]
    rank.G[:held] = flat
    ranks.eliminate(rank, held, held, True)
    assert rank.now[0].last < 1e-14
    rank.G[:held] = [[2.0, 0, 0, 0, 0], [0, 0, -1.0, 0, 0], [0, 0, 0, 0, 0.5]]
    assert ranks.eliminate(rank, held, held, True) == -1.0  # of the columns in the order chosen
    assert (rank.now[0].last, [*rank.columns[:held]]) == (0.25, [0, 2, 4])
    rank.G[:held] = 0.0
    assert ranks.eliminate(rank, held, held, True) == 0.0
    assert rank.now[0].last == 0.0


def test_gradients_are_those_of_constraints_that_hold(monkeypatch):
    n, count, rng = 3, 5, np.random.default_rng(2)
    slope, out, inp = rng.normal(size=(count, n)), np.full(40, np.nan), np.full(9, 9.0)
    slope[4] = 0.0

    def evaluate(table, which, inp, out):
        assert which == ranks.CONTACTS
        assert inp.tolist() == [0.5, 1, 2, 3, 9, 9, 9, 9, 9]
        out[2 * count : 2 * count + count * n] = slope.ravel()

    put(monkeypatch, ranks.gradients, evaluate=evaluate, holds=lambda p, c: c != 1)
    rows = [space(closed=c in (0, 2, 4)) for c in range(count)]
    problem = space(sizes=space(n=n, rows=count, n_c=1, n_t=1), inp=inp, out=out, rows=rows,
                    functions=space(table=None))  # fmt: skip
    for every, on in ((False, [2, 4]), (True, [2, 4])):
        rank = rank_of()
        assert ranks.gradients(problem, rank, 0.5, np.arange(1.0, 9), every) == 2
        length = np.linalg.norm(slope[on], axis=1)
        np.testing.assert_allclose(rank.G[:2], slope[on] / np.where(length > 0, length, 1)[:, None])
    rows[2].closed = 0
    assert ranks.gradients(problem, rank_of(), 0.5, np.arange(1.0, 9), False) == 1
    assert ranks.gradients(problem, rank_of(), 0.5, np.arange(1.0, 9), True) == 2


@for_each("s", [0.0, 0.3, 0.8, 1.0])
def test_between_the_ends_of_a_step_lies_their_cubic(monkeypatch, s):
    rng, n, h = np.random.default_rng(4), 2, 0.4
    a = rng.normal(size=(4, n))
    at = lambda x: a[0] + a[1] * x + a[2] * x**2 + a[3] * x**3  # noqa: E731
    rate = lambda x: (a[1] + 2 * a[2] * x + 3 * a[3] * x**2) / h  # noqa: E731
    y, new = np.append(at(0), rate(0)), np.append(at(1), rate(1))
    put(monkeypatch, ranks.along, gradients=lambda p, rank, t, q, every: (t, every))
    rank = rank_of(n)
    told = ranks.along(space(sizes=space(n=n)), rank, 2.0, y, new, h, s, True)
    assert told == (pytest.approx(2 + s * h), True)
    np.testing.assert_allclose(rank.state[:n], at(s), atol=1e-12)
    np.testing.assert_allclose(rank.state[n:], (1 - s) * rate(0) + s * rate(1), atol=1e-12)


def ranked(monkeypatch, G, watched=True, dependent=0, every=None):
    """Look at a step of length 0.5 from t = 1, along which there are gradients G(s)."""
    rank, problem = rank_of(2, 2), space(state=[space(dependent=dependent)])

    def along(problem, rank, t, y, new, h, s, all_of_them):
        assert (t, h) == (1.0, 0.5)
        rows = np.atleast_2d(every(s) if all_of_them else G(s))
        rank.G[: len(rows)] = rows
        return len(rows)

    def gradients(problem, rank, t, q, all_of_them):
        assert not all_of_them
        return along(problem, rank, 1.0, None, None, 0.5, (t - 1.0) / 0.5, False)

    put(monkeypatch, ranks.keeps_rank, along=along, gradients=gradients,
        watched=lambda p: watched)  # fmt: skip
    ranks.chart(problem, rank, 1.0, None)
    before = rank.now[0].sign
    status = ranks.keeps_rank(problem, rank, 1.0, None, None, 0.5)
    return status, rank.now[0], before, rank


def test_a_gradient_that_vanishes_is_a_loss_of_rank(monkeypatch):
    folds = lambda s: [[1.0, 0.0], [1.0, 0.25 - s]]  # noqa: E731
    status, now, *_ = ranked(monkeypatch, folds)
    assert (status, now.lost) == (RANK_LOST, pytest.approx(1.125, abs=1e-12))
    whole = lambda s: [*folds(s), [0.0, 1.0]]  # noqa: E731  others hold what these do no more
    status, now, *_ = ranked(monkeypatch, folds, dependent=1, every=whole)
    assert status == SUCCESS
    assert ranked(monkeypatch, folds, dependent=1, every=folds)[0] == RANK_LOST
    assert ranked(monkeypatch, folds, dependent=0, every=whole)[0] == RANK_LOST
    assert ranked(monkeypatch, folds, watched=False)[0] == SUCCESS


def test_another_choice_of_coordinates_is_no_loss(monkeypatch):
    turns = lambda s: [[np.cos(3 * s), np.sin(3 * s)]]  # noqa: E731
    status, now, before, rank = ranked(monkeypatch, turns)
    assert (status, before) == (SUCCESS, 1.0)
    end = turns(1.0)[0]
    assert now.sign == np.sign(end[rank.columns[0]])
    assert rank.columns[0] == int(abs(end[1]) > abs(end[0]))
    often = lambda s: [[np.cos(25 * s), np.sin(25 * s)]]  # noqa: E731
    assert ranked(monkeypatch, often)[0] == SUCCESS


# ---------------------------------------------------------------- states between the rows


@for_each(("exact", "code", "held"), itertools.product((False, True), (7, 12), (False, True)))
def test_states_at_times_come_from_the_step_that_they_lie_in(monkeypatch, exact, code, held):
    """x' = x along steps from 0, 1 and 2: by a step of their own, or by a polynomial they share."""
    nx, width, last = 1, 1, 12 if code == 12 else 6
    size, stages = (width + 1) * (nx + 1), 6
    steps = space(t=np.arange(3.0), h=np.ones(3), y=np.exp(np.arange(3.0))[:, None] * np.ones(size),
                  state="state", carried=np.zeros((3, 0)))  # fmt: skip
    step = space(stage=np.zeros(size), new=np.zeros(size), slope="slope", dense="dense", K=None)
    ran = []

    def flow(problem, t, y, out, given):
        if isinstance(out, str):
            ran.append(("flow", t, given))
        else:
            out[:] = 10 * y
        return SUCCESS

    def advance(problem, method, step, first, rows, t, y, h, given):
        assert (first, given) == (1, width)
        ran.append(("advance", rows, t, round(h, 12)))
        step.new[:] = y * np.exp(h)
        return SUCCESS

    def dense_value(polynomial, s, count, out):
        assert count == size
        assert (polynomial.t, polynomial.length) == (1.0, 1.0)
        ran.append(("dense", round(s, 12)))
        out[:] = polynomial.y * np.exp(s)

    def project(problem, t, x, given):
        assert given == width
        ran.append(("project", round(t, 12)))
        return SUCCESS

    put(monkeypatch, between.states_at, flow=flow, advance=advance, dense_value=dense_value,
        interpolate=lambda m, s, y, length, count: ran.append(("poly", length, count)),
        restore=lambda p, state, i: ran.append(("restore", i)), constrained=lambda p: held,
        project=project, carry=lambda *_: None,
        Polynomial=lambda code, dense, y, t, length: space(y=y, t=t, length=length))  # fmt: skip
    problem, method = space(sizes=space(n_x=nx)), space(last=last, stages=stages, code=code)
    times, which = np.array([0.5, 1.0, 1.25, 1.5, 3.0]), np.array([0, 1, 1, 1, 2])
    result, rates = np.full((5, size), np.nan), np.full((5, nx + 1), np.nan)
    assert between.states_at(problem, method, step, steps, times, which, exact, result, rates) == SUCCESS  # fmt: skip
    np.testing.assert_allclose(result, np.exp(times)[:, None] * np.ones(size))
    np.testing.assert_allclose(rates, 10 * np.exp(times)[:, None] * np.ones(nx + 1))
    shared = not exact and last > stages
    middle = [("advance", last, 1.0, 1.0), ("poly", 1.0, size)] if shared else []
    for s in (0.25, 0.5):
        own = [("dense", s)] + [("project", 1 + s)] * held
        middle += own if shared else [("advance", stages, 1.0, s)]
    expected = [("restore", 0), ("flow", 0.0, width), ("advance", stages, 0.0, 0.5), ("restore", 1),
                ("flow", 1.0, width), *middle, ("restore", 2), ("flow", 2.0, width),
                ("advance", stages, 2.0, 1.0)]  # fmt: skip
    assert ran == expected


def test_states_that_fail_tell_the_status_of_the_flow(monkeypatch):
    steps = space(t=np.zeros(1), h=np.ones(1), y=np.ones((1, 2)), state=None, carried=np.zeros((1, 0)))  # fmt: skip
    step = space(stage=np.zeros(2), new=np.zeros(2), slope="slope", dense=None, K=None)
    problem, method = space(sizes=space(n_x=1)), space(last=6, stages=6, code=0)
    for bad in ("first", "step", "end"):

        def flow(p, t, y, out, width, bad=bad):
            return FAILS if bad == ("first" if isinstance(out, str) else "end") else SUCCESS

        put(monkeypatch, between.states_at, flow=flow, restore=lambda *_: None, carry=lambda *_: None,
            Polynomial=lambda *_: None,
            advance=lambda *_, bad=bad: FAILS if bad == "step" else SUCCESS)  # fmt: skip
        result = np.full((2, 2), np.nan)
        told = between.states_at(problem, method, step, steps, np.array([0.5, 0.75]), np.zeros(2, int), True, result, result.copy())  # fmt: skip
        assert told == FAILS
        assert np.isnan(result).all()


def test_accelerations_that_a_method_carries_go_behind_the_velocities():
    n, columns = 2, 3
    block = 2 * n + 1
    step, method = space(slope=np.full(columns * block, np.nan)), space(newmark=[space(begun=np.nan, length=np.nan)])  # fmt: skip
    carried = np.arange(12.0).reshape(2, 6)
    steps = space(carried=carried, t=np.array([1.0, 2.0]), h=np.array([0.1, 0.2]))
    between.carry(space(sizes=space(n=n, n_x=2 * n)), method, step, steps, 1)
    a = step.slope.reshape(columns, block)
    np.testing.assert_array_equal(a[:, n : 2 * n], carried[1].reshape(columns, n))
    assert np.isnan(a[:, :n]).all()
    assert (method.newmark[0].begun, method.newmark[0].length) == (2.0, 0.2)
    steps.carried, method.newmark[0].begun = np.zeros((2, 0)), 5.0
    between.carry(space(sizes=space(n=n, n_x=2 * n)), method, step, steps, 0)
    assert method.newmark[0].begun == 5.0


# ---------------------------------------------------------------- the loop


def went_on(monkeypatch, begins, *, makes=(), breaks=(), ends=(), stop=1.0, t_end=1.0, pause=np.inf,
            most=99, mechanical=True, change=True, values=(0.0, 0.0)):  # fmt: skip
    """Go on with scripted stretches (status, guard), steps (status, guard, t) and events."""
    run = space(t=0.0, events=0, fresh=1, stop=stop)
    said, begins, makes, breaks, ends = [], iter(begins), iter(makes), iter(breaks), iter(ends)

    def begin_stretch(*_):
        said.append("begin")
        run.fresh = 0
        return next(begins)

    def make_step(*_):
        status, guard, run.t = next(makes)
        said.append("step")
        return status, guard

    def next_interval(*_):
        status, broken = next(breaks)
        said.append("break")
        run.stop, run.fresh = t_end, 1
        return status, broken

    def happen(p, a, s, c, o, w, e, guard, how):
        said.append((guard, how))
        run.events += 1
        run.fresh = 1
        return next(ends)

    put(monkeypatch, marching.go_on, begin_stretch=begin_stretch, make_step=make_step,
        next_interval=next_interval, happen=happen, is_change=lambda p, guard: change)  # fmt: skip
    watch = [space(sign=1.0), space(sign=-1.0)]
    work = space(run=[run], search=space(watch=watch, values=np.array(values)))
    record = space(events=None, steps=None)
    problem = space(sizes=space(mechanical=mechanical))
    task = space(problem=problem, automaton=None, surfaces=None, method=None, contacts=None, work=work, record=record)  # fmt: skip
    options = space(band=1e-3, t_end=t_end)
    return marching.go_on(task, options, pause, most), said, run


GOES = firing.GOES_ON
NONE = marching.NONE


def test_a_march_makes_steps_up_to_its_end(monkeypatch):
    again = marching.AGAIN
    status, said, _run = went_on(monkeypatch, [(SUCCESS, NONE)], makes=[
        (SUCCESS, NONE, 0.4), (again, NONE, 0.4), (SUCCESS, NONE, 1.0)])  # fmt: skip
    assert (status, said) == (SUCCESS, ["begin", "step", "step", "step"])
    told = went_on(monkeypatch, [(SUCCESS, NONE)], makes=[(FAILS, NONE, 0.4)])
    assert told[:2] == (FAILS, ["begin", "step"])
    assert went_on(monkeypatch, [(FAILS, NONE)])[:2] == (FAILS, ["begin"])


def test_a_march_lets_the_guard_of_a_step_fire(monkeypatch):
    status, said, _ = went_on(monkeypatch, [(SUCCESS, NONE)] * 2, makes=[
        (SUCCESS, 0, 0.4), (SUCCESS, NONE, 1.0)], ends=[GOES])  # fmt: skip
    assert (status, said) == (SUCCESS, ["begin", "step", (0, 0), "begin", "step"])
    told = went_on(monkeypatch, [(SUCCESS, NONE)], makes=[(SUCCESS, 1, 0.4)], ends=[FAILS])
    assert told[:2] == (FAILS, ["begin", "step", (1, 0)])


@for_each(("guard", "value", "mechanical", "change", "chained"), [
    (0, -2e-3, True, True, True), (1, 2e-3, True, True, True), (0, 2e-3, True, True, False), (1, -2e-3, True, True, False),
    (0, -5e-4, True, True, False), (0, -2e-3, True, False, False), (0, -2e-3, False, False, True),
])  # fmt: skip
def test_a_guard_that_fires_at_once_is_chained_if_it_is_beyond(monkeypatch, guard, value, mechanical, change, chained):  # fmt: skip
    values = [0.0, 0.0]
    values[guard] = value
    how = CHAINED if chained else 1
    more = {"values": values, "mechanical": mechanical, "change": change}
    status, said, _ = went_on(monkeypatch, [(SUCCESS, guard)], ends=[FAILS], **more)
    assert (status, said) == (FAILS, ["begin", (guard, how)])
    status, said, _ = went_on(  # at once behind a break of the inputs: these drive it
        monkeypatch, [(SUCCESS, NONE), (SUCCESS, guard)], makes=[(SUCCESS, NONE, 0.5)], stop=0.5,
        breaks=[(SUCCESS, 0)], ends=[FAILS], **more,
    )  # fmt: skip
    assert said == ["begin", "step", "break", "begin", (guard, DRIVEN if chained else 1)]


def test_a_march_goes_through_breaks_of_inputs(monkeypatch):
    makes = [(SUCCESS, NONE, 0.5), (SUCCESS, NONE, 1.0)]
    status, said, _ = went_on(monkeypatch, [(SUCCESS, NONE)] * 2, makes=makes, stop=0.5,
                              breaks=[(SUCCESS, NONE)])  # fmt: skip
    assert (status, said) == (SUCCESS, ["begin", "step", "break", "begin", "step"])
    for broken in (0, 1):
        status, said, _ = went_on(monkeypatch, [(SUCCESS, NONE)] * 3, makes=makes, stop=0.5,
                                  breaks=[(SUCCESS, broken)], ends=[GOES])  # fmt: skip
        driven = ["begin", "step", "break", "begin", (broken, DRIVEN), "begin", "step"]
        assert (status, said) == (SUCCESS, driven)
    status, said, _ = went_on(monkeypatch, [(SUCCESS, NONE)], makes=makes, stop=0.5,
                              breaks=[(FAILS, 0)])  # fmt: skip
    assert (status, said) == (FAILS, ["begin", "step", "break"])


def test_a_march_pauses_behind_a_time_and_behind_events(monkeypatch):
    makes = [(SUCCESS, NONE, 0.25), (SUCCESS, NONE, 0.5), (SUCCESS, NONE, 0.75)]
    told = went_on(monkeypatch, [(SUCCESS, NONE)], makes=makes, pause=0.25)
    assert told[:2] == (marching.PAUSED, ["begin", "step", "step"])
    hits = [(SUCCESS, 0, 0.25), (SUCCESS, 0, 0.5)]
    told = went_on(monkeypatch, [(SUCCESS, NONE)] * 2, makes=hits, ends=[GOES] * 2, most=1)
    assert told[:2] == (marching.PAUSED, ["begin", "step", (0, 0), "begin", "step", (0, 0)])
    # not between a break and what it drives
    status, said, _ = went_on(monkeypatch, [(SUCCESS, NONE)] * 2, makes=[(SUCCESS, NONE, 0.5)], stop=0.5,
                              breaks=[(SUCCESS, 0)], ends=[GOES], pause=0.5 - 1e-9)  # fmt: skip
    assert status == marching.PAUSED
    assert said == ["begin", "step"]


def started(monkeypatch, statuses=None, *, n_c=1, rows=4, held=True, n_w=1, breaks=(), without=-1, address=1,
            mechanical=True):  # fmt: skip
    """Start a run, of which everything holds what another has left; return status, calls and more."""
    statuses, said = statuses or {}, []

    def answer(name, *given):
        said.append((name, *given))
        return statuses.get(name, SUCCESS)

    run = space(
        **dict.fromkeys(("t", "h", "fresh", "error", "length", "interval", "stop", "at"), 7)
    )
    watch = [space(sign=7.0, shift=7.0, arm=7, nearest=7.0) for _ in range(2)]
    history = [space(value=7.0, size=7.0, crossed=7.0, quick=7) for _ in range(2)]
    last = [space(first=7.0, second=7.0, third=7.0) for _ in range(3)]
    state = [space(mode=1, fired=7, dependent=7)]
    contacts = space(
        lcp=space(member=np.full(3, 7), kept=[space(count=7)]),
        rows=np.array([(7,), (7,)], [("prior", int)]).view(np.recarray),
    )  # fmt: skip
    search = space(
        watch=np.array([(7.0,)] * 2, [("nearest", float)]).view(np.recarray), values="values"
    )
    problem = space(
        sizes=space(n_c=n_c, n_t=1, rows=rows, n=1, n_x=3, n_w=n_w, mechanical=mechanical), state=state,
        drive=space(t=np.array(breaks, float)), functions=space(table=[None, space(address=address)]),
    )  # fmt: skip
    surfaces = space(watch=np.array(watch, object), history=history)
    automaton = space(last=np.array(last, object))
    y = np.array([9.0, -2.0, 0.5, 8.0])
    put(
        monkeypatch, marching.start, enter_interval=lambda p, k: answer("interval", k),
        release=lambda p, s: answer("release"), begin=lambda p, c, o, y, r: answer("begin"),
        hold=lambda p, t, y: said.append(("hold", t)) or without, constrained=lambda p: held,
        project=lambda p, t, y, columns: answer("project", t, columns),
        largest=lambda y, first, end: abs(y[first:end]).max(),
        settle=lambda p, c, band, slow, cause, begins: answer("settle", band, slow, cause, begins),
        leave_unloaded=lambda p, c, band, slow, values: answer("leave", band, slow, values),
    )  # fmt: skip
    work = space(run=[run], y=y, search=search)
    options = space(h=0.125, t_end=9.0, columns=2, band=0.25)
    status = marching.start(problem, automaton, surfaces, contacts, options, work)
    return status, said, run, (watch, history, last, state[0], contacts, search)


def test_a_run_starts_with_nothing_of_another(monkeypatch):
    status, said, run, (watch, history, last, state, contacts, search) = started(monkeypatch)
    slow = pytest.approx(3e-12, rel=1e-9)
    assert status == SUCCESS
    assert said == [("interval", 0), ("release",), ("begin",), ("hold", 0.0), ("project", 0.0, 2),
                    ("settle", 0.25, slow, -1, 0), ("leave", 0.25, slow, "values")]  # fmt: skip
    assert vars(run) | {"at": 0} == {"t": 0.0, "h": 0.125, "fresh": 1, "error": 0.0, "length": 1.0,
                                     "interval": 0, "stop": 9.0, "at": 0}  # fmt: skip
    assert all(vars(one) == {"sign": 0.0, "shift": 0.0, "arm": 0, "nearest": 0.0} for one in watch)
    assert all(not any(vars(one).values()) for one in history)
    assert all({*vars(one).values()} == {marching.LONG_AGO} for one in last)
    assert (state.fired, state.dependent, contacts.lcp.kept[0].count) == (-2, 0, -1)
    assert not contacts.lcp.member.any()
    assert not contacts.rows.prior.any()
    assert np.isinf(search.watch.nearest).all()
    assert started(monkeypatch, breaks=(0.5, 2.0))[2].stop == 0.5


def test_a_start_asks_for_what_the_system_has(monkeypatch):
    for given, names in (
        ({"rows": 2}, ["begin", "project", "settle", "leave"]), ({"held": False}, ["begin", "hold", "settle", "leave"]),
        ({"n_c": 0, "rows": 1}, ["begin", "project", "leave"]), ({"n_w": 0}, ["begin", "hold", "project", "settle"]),
        ({"address": 0}, ["begin", "hold", "project", "settle", "leave"]),
    ):  # fmt: skip
        status, said, *_ = started(monkeypatch, **given)
        assert (status, [one[0] for one in said[2:]]) == (SUCCESS, names)


def test_a_start_that_fails_ends_there(monkeypatch):
    order = ["begin", "hold", "project", "settle", "leave"]
    for name in ("begin", "project", "settle", "leave"):
        status, said, *_ = started(monkeypatch, {name: FAILS})
        assert (status, [one[0] for one in said[2:]]) == (FAILS, order[: order.index(name) + 1])
    for without in (0, 3):
        status, said, run, _ = started(monkeypatch, without=without)
        assert (status, run.at, said[-1][0]) == (marching.WITHOUT_GRADIENT, without, "hold")
    status, said, run, _ = started(monkeypatch, address=0, mechanical=False)
    assert (status, run.at, said[-1][0]) == (marching.UNMADE, 1, "release")
    assert started(monkeypatch, mechanical=False)[0] == SUCCESS


@for_each(("dependent", "fault", "status", "first", "h", "told"), [
    (0, -1, SUCCESS, 1.0, 0.0, SUCCESS), (0, -1, SUCCESS, 1.0, 0.5, SUCCESS), (1, -1, SUCCESS, 1.0, 0.0, SUCCESS),
    (1, 0, SUCCESS, 1.0, 0.0, "contradictory"), (0, -1, FAILS, 1.0, 0.0, FAILS), (0, -1, SUCCESS, np.inf, 0.0, NOT_FINITE),
    (0, -1, SUCCESS, np.nan, 0.0, NOT_FINITE),
])  # fmt: skip
def test_a_stretch_begins_with_its_slopes_and_guards(monkeypatch, dependent, fault, status, first, h, told):  # fmt: skip
    said = []

    def flow(p, t, y, slope, width):
        slope[:] = first
        said.append(("flow", t, width))
        return status

    put(
        monkeypatch, marching.begin_stretch, flow=flow, contradiction=lambda p, t, y, end: fault,
        chart=lambda p, rank, t, y: said.append("chart"), largest=lambda y, a, b: np.max(y[a:b]),
        turn=lambda p, s, step, search, none, t, y, ahead, width: said.append(("turn", none, round(ahead, 9))) or SUCCESS,
        rewatch=lambda p, a, search, scratch, t, y, slope, band: said.append(("watch", band)) or 1,
        guard_count=lambda *_: 2,
        first_step=lambda p, m, s, t, y, most: said.append(("first", most)) or 0.0625,
    )  # fmt: skip
    run = space(t=1.0, h=h, stop=3.0, fresh=1, wary=1)
    search = space(samples=np.full((3, 2), np.nan), values=np.array([5.0, 6.0]))
    step = space(slope=np.full(4, np.nan))
    work = space(run=[run], step=step, search=search, y=np.zeros(4), rank=None, scratch=None)
    state = [space(dependent=dependent, fault=-1)]
    options = space(columns=2, h_max=9.0, t_end=4.0, band=0.25)
    got, guard = marching.begin_stretch(space(state=state), None, None, None, options, work)
    if told == "contradictory":
        assert (got, guard, state[0].fault, said) == (marching.CONTRADICTORY, NONE, 0, [])
        return
    assert got == told
    if told != SUCCESS:
        assert guard == NONE
        assert said == ["chart", ("flow", 1.0, 2)]
        return
    ahead = h or 0.002
    rest = [] if h else [("first", 2.0)]
    assert said == ["chart", ("flow", 1.0, 2), ("turn", NONE, ahead), ("watch", 0.25), *rest]
    assert (guard, run.fresh, run.wary, run.h) == (1, 0, 0, h or 0.0625)
    assert search.samples[0].tolist() == [5.0, 6.0]
    assert np.isnan(search.samples[1:]).all()
