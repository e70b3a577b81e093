"""What decides where a step ends and what guards are watched, as Python runs its kernels."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import (
    ARMED,
    CHANGES_BY_ALL,
    CONTACTS,
    NONE,
    RELEASE,
    STEP,
    UNARMED,
)
from explorer.kernels.event_driven.structures import step_of

arming, breaking = plain("event_driven.arm_guards"), plain("event_driven.input_break")
locating = plain("event_driven.locate_event")
making, sides = plain("event_driven.make_step"), plain("event_driven.sides")
saltation, stepping = plain("event_driven.saltation"), plain("event_driven.newmark_step")
SIZES = {"n": 3, "n_x": 6, "n_c": 2, "n_t": 1, "rows": 5, "n_rho": 2, "n_w": 2, "mechanical": True}


def sizes(**more) -> SimpleNamespace:
    return SimpleNamespace(**SIZES | more)


@for_each("closed", [(4,), (0, 4), (0, 3)])
def test_a_guard_is_held_where_its_gradient_is_one_of_rows_that_hold(monkeypatch, closed):
    """r_q = G' lam, and no r_v."""
    rng, n, count = np.random.default_rng(0), 3, 5
    M, G = np.diag([1.0, 2.0, 3.0]), rng.normal(size=(count, n))
    held = len(closed)
    on, r_x = G[[*closed]], 2
    W = np.block([[M, on.T], [on, np.zeros((held, held))]])
    saddle = SimpleNamespace(
        W=np.zeros_like(W), pivots=np.zeros(n + held, int), tangent=np.full(n + held, np.nan)
    )

    def accelerate(problem):
        saddle.W[:] = W
        return plain("linear_algebra.dense_lu").lu_factor(
            saddle.W, len(W), len(W) - 1, len(W) - 1, saddle.pivots
        )

    def evaluate(table, which, inp, out):
        assert which == CONTACTS
        out[2 * count :] = G.ravel()

    monkeypatch.setitem(arming.is_held.__globals__, "accelerate", accelerate)
    monkeypatch.setitem(arming.is_held.__globals__, "evaluate", evaluate)
    problem = SimpleNamespace(
        sizes=sizes(), rows=[SimpleNamespace(closed=int(c in closed)) for c in range(count)], saddle=saddle,
        state=[SimpleNamespace(held=held)], functions=SimpleNamespace(table=None), inp=None,
        out=np.full(2 * count + count * n, np.nan),
    )  # fmt: skip
    row = np.full(9, np.nan)
    scratch = SimpleNamespace(row=row, at=SimpleNamespace(r_x=r_x))
    row[r_x : r_x + n], row[r_x + n : r_x + 2 * n] = on.T @ rng.normal(size=held), 0.0
    assert arming.is_held(problem, scratch)
    row[r_x + 4] = 1e-3
    assert not arming.is_held(problem, scratch), "it depends on a velocity"
    row[r_x + 4] = 0.0
    row[r_x + 1] += 0.1
    assert not arming.is_held(problem, scratch)
    problem.state[0].held = 0
    assert not arming.is_held(problem, scratch), "nothing holds"


def test_conditions_of_guards_stand_behind_their_values(monkeypatch):
    """All are armed, and the first that fires at once is told."""
    space, count, armed = arming.rewatch.__globals__, 3, []
    out = np.arange(10.0)
    monkeypatch.setitem(space, "guards", lambda *_: None)
    monkeypatch.setitem(space, "guard_count", lambda *_: count)
    for fires, told in (((), -1), ((1, 2), 1)):

        def arm(problem, automaton, search, scratch, j, slope, band, fires=fires):
            assert search.when.tolist() == [3, 4, 5]
            armed.append(j)
            return j in fires

        monkeypatch.setitem(space, "arm_guard", arm)
        armed.clear()
        state = [SimpleNamespace(mode=4, watched=-1)]
        problem = SimpleNamespace(sizes=sizes(mechanical=False), inp=None, out=out, state=state)
        search = SimpleNamespace(when=np.zeros(count), values=np.zeros(count))
        assert arming.rewatch(problem, None, search, None, 0.0, None, None, 0.0) == told
        assert armed == [0, 1, 2]
        assert state[0].watched == 4


@for_each("once", [True, False])
@for_each("place", [-1, 3, 4])
def test_the_gradient_of_what_changes_constraints_counts_the_forces_it_reads(
    monkeypatch, once, place
):
    """c(t, q, v, lam): of lam, which follows from t, x and rho, where it is one's own and acts."""
    rng, n, nx, nr, n_w, count, first = np.random.default_rng(1), 3, 6, 2, 2, 5, 3
    change = 1
    by_q, by_v, by_rho, by_t = (rng.normal(size=(n_w, size)) for size in (n, n, nr, 1))
    by_lam, lam_by = rng.normal(size=(n_w, count)), rng.normal(size=nx + nr + 1)

    def evaluate(table, which, inp, out):
        assert which in (CHANGES_BY_ALL, STEP)
        if which == CHANGES_BY_ALL:
            told = np.concatenate([x.ravel() for x in (by_q, by_v, by_rho, by_t, by_lam)])
            out[: told.size] = told

    def tangent(problem, which):
        at = {space["PARAMETERLESS"]: int(np.argmax(saddle.direction)), space["BY_TIME"]: nx + nr}
        saddle.tangent[:] = np.nan
        saddle.tangent[n + behind] = -lam_by[at.get(which, nx + which)]

    space = saltation.change_gradient.__globals__
    for name, stand_in in {
        "evaluate": evaluate,
        "tangent": tangent,
        "accelerate": lambda _: SUCCESS,
    }.items():
        monkeypatch.setitem(space, name, stand_in)
    closed = [1, 0, 0, int(place == 3), int(place >= 3)]
    behind = sum(closed[: max(place, 0)])  # rows that hold before it
    saddle = SimpleNamespace(direction=np.zeros(nx), tangent=np.zeros(n + count))
    links = [
        SimpleNamespace(change=change if first + c == place else 0) for c in range(count - first)
    ]
    problem = SimpleNamespace(
        sizes=sizes(), functions=SimpleNamespace(table=None), inp=None, out=np.full(99, np.nan), saddle=saddle,
        changes=[SimpleNamespace(last=0), SimpleNamespace(last=-1 if once else 0)], links=links,
        rows=[SimpleNamespace(closed=c) for c in closed],
    )  # fmt: skip
    event = SimpleNamespace(row=np.full(20, np.nan), at=SimpleNamespace(r_x=1, r_rho=9),
                            head=[SimpleNamespace(r_t=np.nan)])  # fmt: skip
    j = SIZES["n_c"] + 2 * SIZES["n_t"] + change
    assert saltation.change_gradient(problem, j, event) == SUCCESS
    expected = np.concatenate([by_q[change], by_v[change], by_rho[change], by_t[change]])
    if once and place >= 0:
        expected += by_lam[change, place] * lam_by
    found = np.concatenate([event.row[1 : 1 + nx], event.row[9 : 9 + nr], [event.head[0].r_t]])
    assert found == pytest.approx(expected)


def test_a_step_has_all_its_stages_before_surfaces_are_looked_for(monkeypatch):
    told, space = [], sides.cross.__globals__
    for name in ("interpolate", "look"):
        monkeypatch.setitem(space, name, lambda *_: None)
    monkeypatch.setitem(space, "first_event", lambda *_: NONE)
    monkeypatch.setitem(space, "Problem", lambda *given: None)
    monkeypatch.setitem(
        space, "advance", lambda problem, method, step, a, b, *_: told.append((a, b)) or SUCCESS
    )
    names = "wrt partner resets inp saddle rows changes links drive active"
    problem = SimpleNamespace(
        sizes=sizes(),
        sides=np.zeros(2),
        out=np.array([7.0, 8.0, 9.0]),
        **dict.fromkeys(names.split()),
    )
    surfaces = SimpleNamespace(watch=None, samples=np.zeros((3, 2)), automaton=None, functions=None,
                               sizes=None, state=None)  # fmt: skip
    search = SimpleNamespace(found=None, x=None, rates=None, values=None, when=None)
    step = SimpleNamespace(dense=None)
    for last, expected in ((12, []), (15, [(13, 15)])):
        told.clear()
        method = SimpleNamespace(last=last, stages=12, code=0)
        given = problem, method, surfaces, step, search, 0.0, None, 0.1, 0, True
        assert sides.cross(*given) == NONE
        assert told == expected
        assert surfaces.samples[0].tolist() == [7, 8]


@for_each(
    ("fraction", "arm", "how"),
    [(1.0, ARMED, None), (0.5, ARMED, "land"), (0.5, UNARMED, "advance"), (1.0, UNARMED, None)],
)
def test_an_event_at_the_end_of_a_step_is_where_the_step_ends(monkeypatch, fraction, arm, how):
    """One inside it is landed on, or the step is made shorter where nothing is to be solved for."""
    space, told, length = making.arrive.__globals__, [], 0.5
    found = [SimpleNamespace(fraction=fraction, length=np.nan)]

    def land(*_):
        told.append("land")
        found[0].length = fraction * length
        return SUCCESS

    monkeypatch.setitem(space, "land", land)
    monkeypatch.setitem(space, "advance", lambda *_: told.append("advance") or SUCCESS)
    monkeypatch.setitem(space, "keeps_rank", lambda *_: SUCCESS)
    monkeypatch.setitem(space, "note", lambda *_: None)
    run, y = [SimpleNamespace(t=1.0, stop=9.0, steps=3)], np.zeros(2)
    search = SimpleNamespace(found=found, watch=[SimpleNamespace(arm=arm)])
    step = SimpleNamespace(new=np.array([4.0, 5.0]), slope=None)
    work = SimpleNamespace(run=run, step=step, search=search, y=y, rank=None)
    reach = SimpleNamespace(length=length, guard=0, final=False)
    method = SimpleNamespace(stages=7)
    status = making.arrive(None, None, method, SimpleNamespace(columns=0), work, None, reach)
    assert status == SUCCESS
    assert told == ([how] if how else [])
    assert run[0].t == 1.0 + fraction * length
    assert run[0].steps == 4
    assert y.tolist() == [4, 5]


def test_a_contact_that_an_input_opens_is_an_event_of_the_state_before_it(monkeypatch):
    """The event is written with the contacts as they were, and ends with those of the new input."""
    space, log = breaking.settle_anew.__globals__, []
    state, rows = [SimpleNamespace(held=1)], [SimpleNamespace(closed=1, sigma=0)]
    prior = [SimpleNamespace(prior=1)]

    def decide(*_):
        rows[0].closed, state[0].held = 0, 0
        return SUCCESS

    def wrote(problem, options, work, events, contact, kind):
        log.append(("event", contact, kind, rows[0].closed, state[0].held))
        return SUCCESS

    for name, stand_in in {
        "enter_interval": lambda problem, k: log.append(k), "decide": decide, "write_event": wrote,
        "changed_row": lambda *_: (0, RELEASE), "end_event": lambda *_: log.append("end") or SUCCESS,
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    problem = SimpleNamespace(
        rows=rows, state=state, partner=None, sizes=sizes(n_c=1, n_t=0, rows=1)
    )
    work = SimpleNamespace(
        search=SimpleNamespace(when=np.zeros(1)), run=[SimpleNamespace(events=0)]
    )
    contacts, options = SimpleNamespace(rows=prior), SimpleNamespace(max_events=9)
    assert breaking.settle_anew(problem, contacts, options, work, None, 3) == SUCCESS
    assert log == [3, 2, ("event", 0, RELEASE, 1, 1), 3, "end"]
    assert (rows[0].closed, state[0].held) == (0, 0)


@for_each("begins", [0.0, *np.random.default_rng(0).uniform(size=20), 1e3])
def test_an_explicit_step_takes_two_looks_at_the_forces_however_they_change(monkeypatch, begins):
    """They are those of the first, to rounding, unless a force depends on a velocity."""
    space, n, looks = stepping.solve.__globals__, 2, []
    start, end = np.array([0.0, -1e-3 * begins]), np.array([0.0, 1 - 1e-7])
    step = step_of(1, 2 * n + 1)
    step.K[:], step.slope[n : 2 * n] = 0.0, start
    weights = SimpleNamespace(alpha_m=0.0, w=1.0, share=1.0, past=0.0, beta=0.0)

    def flow(problem, t, stage, slope, width):
        looks.append(t)
        slope[n : 2 * n] = end
        return SUCCESS

    for name, stand_in in {
        "weights_of": lambda _: weights, "flow": flow,
        "at_stage": lambda *_: None, "factor": lambda *_: pytest.fail("there is nothing to be solved"),
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    newton = SimpleNamespace(r=np.zeros(n))
    method = SimpleNamespace(newmark=[SimpleNamespace(most=9)], newmark_newton=newton)
    assert stepping.solve(
        SimpleNamespace(sizes=sizes(n=n, n_x=2 * n)), method, step, n, 1.0, None, 0.25
    ) == (SUCCESS, True)
    assert looks == [1.25, 1.25]
    assert step.end[n : 2 * n] == pytest.approx(end, rel=1e-9)


def test_what_a_guard_does_next_is_told_from_where_the_motion_leads(monkeypatch):
    """The state is y + s v + s^2 a / 2 a while s later, and y again behind it."""
    rng, n, ahead = np.random.default_rng(4), 3, 2e-5
    y, slope, seen = rng.normal(size=2 * n), rng.normal(size=2 * n), []
    inp, moved = np.concatenate([[7.0], y]), 0.0

    def evaluate(table, which, inp, out):
        seen.append(inp.copy())
        out[1] = moved

    monkeypatch.setitem(arming.stays.__globals__, "is_held", lambda *_: True)
    monkeypatch.setitem(arming.stays.__globals__, "evaluate", evaluate)
    problem = SimpleNamespace(
        sizes=sizes(), functions=SimpleNamespace(table=None), inp=inp, out=np.full(4, np.nan),
        state=[SimpleNamespace(ahead=ahead)],
    )  # fmt: skip
    for fast in (0, 1, 2, 3, 4, 5, 6, 7, 8):  # each number in turn sets how far all reaches
        at, by = y.copy(), slope.copy()
        if fast < 2 * n:
            at[fast] = 1e5 / (1.0 if fast < n else ahead)
        else:
            by[n + fast % n] = 1e5 / ahead
        for told in (True, False):
            moved = (0.5 if told else 2.0) * arming.NEAR * 1e5
            inp[1:] = at
            assert arming.stays(problem, None, 2 + 2 * 1 + 1, at, by) == told
            later = at[:n] + ahead * at[n:] + ahead**2 / 2 * by[n:]
            expected = np.concatenate([[7.0 + ahead], later, at[n:] + ahead * by[n:]])
            assert seen[-1] == pytest.approx(expected)
            assert np.array_equal(inp, [7.0, *at])


@for_each(("value", "rate", "fired", "arm", "shift"), [
    (0.2, -1.0, -1, "ARMED", 0.0), (0.1, 1.0, -1, "LEAVING", 0.0), (0.1, 0.0, -1, "UNARMED", 0.0),
    (-0.3, 1.0, -1, "LEAVING", -0.3), (-0.3, -1.0, -1, "UNARMED", 0.0), (-0.3, 1.0, 7, "UNARMED", 0.0),
])  # fmt: skip
def test_a_sliding_velocity_is_watched_once_it_has_left_zero(value, rate, fired, arm, shift):
    """Its rate is the gradient of it times the acceleration, plus what moves by itself."""
    rng, n, count, j = np.random.default_rng(5), 3, 5, 3
    out, slope = rng.normal(size=2 * count + count * (n + 1)), rng.normal(size=2 * n)
    given = out[2 * count + j * n : 2 * count + (j + 1) * n] @ slope[n:]
    out[2 * count + count * n + j] = -rate - given
    rows = [SimpleNamespace(closed=0, sigma=-1.0) for _ in range(count)]
    if not rate:
        out[2 * count + j * n : 2 * count + (j + 1) * n], out[2 * count + count * n + j] = 0.0, 0.0
    watch = [SimpleNamespace(sign=9.0, shift=9.0, falling=9, arm=99) for _ in range(9)]
    problem = SimpleNamespace(
        sizes=sizes(n_t=2), out=out, rows=rows, state=[SimpleNamespace(fired=fired + (fired > 0) * (j - 1))]
    )  # fmt: skip
    search = SimpleNamespace(watch=watch, values=np.full(9, value))
    assert not arming.arm_contact(problem, search, j, np.zeros(2 * n), slope, 0.1, 1e-9)
    space = arming.arm_contact.__globals__
    assert (watch[j].arm, watch[j].shift, watch[j].sign) == (space[arm], shift, 1.0)


def test_the_gradients_of_friction_are_those_of_its_law(monkeypatch):
    """Of a sliding velocity g' v, and of mu lam -+ lam_t, for the last of two tangents."""
    rng, n, nx, nr, nc, nt, count = np.random.default_rng(6), 3, 6, 2, 2, 2, 5
    of = {"gap": (nc, nr), "q": (nt, n), "rho": (nt, nr), "t": (nt,), "mu x": (nt, nx)}
    of |= {"mu rho": (nt, nr), "mu t": (nt,)}
    by = {name: rng.normal(size=shape) for name, shape in of.items()}
    G, mu = rng.normal(size=(count, n)), rng.normal(size=nt)
    lam_by = rng.normal(size=(count, nx + nr + 1))

    def evaluate(table, which, inp, out):
        if which == arming.CONTACTS:
            out[2 * count : 2 * count + count * n] = G.ravel()
        else:
            told = np.concatenate([one.ravel() for one in by.values()])
            out[: told.size] = told

    def accelerate(problem):
        problem.out[2 * count + count * (n + 1) + nt :][:nt] = mu
        return SUCCESS

    def tangent(problem, which):
        at = {space["PARAMETERLESS"]: int(np.argmax(saddle.direction)), space["BY_TIME"]: nx + nr}
        saddle.tangent[:] = np.nan
        saddle.tangent[n : n + 2] = -lam_by[[1, 3], at.get(which, nx + which)]

    space = saltation.force_gradient.__globals__
    for name, one in (("evaluate", evaluate), ("accelerate", accelerate), ("tangent", tangent)):
        monkeypatch.setitem(space, name, one)
    saddle = SimpleNamespace(direction=np.zeros(nx), tangent=np.zeros(n + count))
    rows = [SimpleNamespace(closed=int(c in (1, 3)), sigma=-1.0) for c in range(count)]
    inp = np.zeros(20)
    inp[12 + 1] = 2.5  # the force of contact 1, along which tangent 3 holds
    problem = SimpleNamespace(
        sizes=sizes(n_t=nt, n_w=0, lam=12), functions=SimpleNamespace(table=None), inp=inp, rows=rows,
        out=np.full(99, np.nan), saddle=saddle, partner=[-1, -1, 0, 1, -1],
    )  # fmt: skip

    def gradient(event):
        return np.concatenate([event.row[1 : 1 + nx], event.row[9 : 9 + nr], [event.head[0].r_t]])

    def event():
        return SimpleNamespace(
            row=np.full(20, np.nan), at=SimpleNamespace(r_x=1, r_rho=9), head=[SimpleNamespace(r_t=np.nan)]
        )  # fmt: skip

    one = event()
    saltation.speed_gradient(problem, 3, one)
    assert gradient(one) == pytest.approx(
        -np.concatenate([by["q"][1], G[3], by["rho"][1], by["t"][1:]])
    )
    for j, sign in ((3, -1.0), (3 + nt, 1.0)):
        one = event()
        assert saltation.force_gradient(problem, j, 3, one) == SUCCESS
        law = mu[1] * lam_by[1] + sign * lam_by[3]
        law += 2.5 * np.concatenate([by["mu x"][1], by["mu rho"][1], by["mu t"][1:]])
        assert gradient(one) == pytest.approx(law)


@for_each(("starts", "guards"), [(0, 0), (2, 0), (0, 2), (2, 2)])
def test_modes_begin_anew_where_inputs_change_if_they_can(monkeypatch, starts, guards):
    """Else the same mode goes on, and a guard that the new inputs carry beyond zero fires."""
    space, done, anew = breaking.next_interval.__globals__, [], bool(starts and guards)
    for name, stand_in in {
        "release": lambda *_: None, "enter_interval": lambda problem, k: done.append(k),
        "begin_anew": lambda *_: done.append("begins") or -1, "jumped": lambda *_: done.append("jumped") or 1,
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    run, state = SimpleNamespace(t=1.0, interval=0, stop=0.0, fresh=0), [SimpleNamespace(mode=0, fired=9)]  # fmt: skip
    problem = SimpleNamespace(
        sizes=sizes(mechanical=False), state=state, drive=SimpleNamespace(t=np.array([1.0, 2.0]))
    )
    automaton = SimpleNamespace(starts=np.zeros(starts), guards=np.zeros(guards))
    work, options = SimpleNamespace(run=[run], y=None), SimpleNamespace(t_end=9.0)
    told = breaking.next_interval(problem, automaton, None, None, options, work, None)
    assert told == (SUCCESS, NONE if anew else 1)
    assert done == [1, "begins" if anew else "jumped"]
    assert (run.interval, run.stop, run.fresh, state[0].fired) == (1, 2.0, 1, -1)


@for_each("fails", [None, "advance", "control", "locate", "arrive"])
def test_a_step_goes_on_until_a_part_of_it_fails(monkeypatch, fails):
    """Its status is the step's; without one the guards of the next step are taken over."""
    space, log = making.make_step.__globals__, []
    reach = SimpleNamespace(blur=0.0, guard=NONE, final=False, turned=NONE)

    def part(name, more):
        def does(*_):
            log.append(name)
            status = 42 if name == fails else SUCCESS
            return (status, more) if more is not None else status

        return does

    parts = {"advance": None, "control": 0.25, "locate": reach, "arrive": None, "go_on": None}
    for name, more in parts.items():
        monkeypatch.setitem(space, name, part(name, more))
    monkeypatch.setitem(space, "step_length", lambda options, t, h: h)
    monkeypatch.setitem(space, "guard_count", lambda *_: 0)
    run = SimpleNamespace(t=0.0, h=0.125, stop=9.0, steps=0, evaluations=10)
    problem = SimpleNamespace(sides=np.zeros(0), state=[SimpleNamespace(dependent=0)])
    work = SimpleNamespace(run=[run], step=None, y=None)
    method, options = SimpleNamespace(stages=7), SimpleNamespace(columns=0, max_steps=9)
    status = making.make_step(problem, None, None, method, options, work, None)
    assert status == (42 if fails else SUCCESS, NONE)
    assert log == [*parts][: [*parts, None].index(fails) + 1]
    assert run.evaluations == (10 if fails == "advance" else 17)
    assert run.h == (0.125 if fails else 0.25)
    if fails is None:  # a constraint that follows from others may contradict them
        for dependent, fault, wanted in ((1, 0, making.CONTRADICTORY), (2, 3, making.CONTRADICTORY), (1, -1, SUCCESS), (0, 0, SUCCESS)):  # fmt: skip
            problem.state[0] = SimpleNamespace(dependent=dependent, fault=-5)
            monkeypatch.setitem(space, "contradiction", lambda problem, t, y, t_end, fault=fault: fault)  # fmt: skip
            options.t_end, run.steps = 9.0, 0
            told = making.make_step(problem, None, None, method, options, work, None)
            assert told == (wanted, NONE)
            assert problem.state[0].fault == (fault if dependent else -5)
        run.steps = 9
        assert making.make_step(problem, None, None, method, options, work, None) == (making.STEP_CAP, NONE)  # fmt: skip


@for_each(("falling", "begins", "looks"), [(1, 0.1, True), (0, -0.1, True), (0, 0.1, False)])
def test_a_guard_may_dip_before_the_first_sample_if_it_has_fallen(
    monkeypatch, falling, begins, looks
):
    """At the end of the last step, or at the begin of this one; it is higher at the first sample."""
    space, looked = locating.fires.__globals__, []
    none = space["Bracket"](-1.0, 0.0, 0.0, 0.0)
    for name, stand_in in {
        "flags_of": lambda *_: 0, "leaves": lambda *_: True,
        "turning": lambda problem, automaton, polynomial, search, zero, k, *_: looked.append(k) or none,
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    samples = np.full((space["SAMPLES"] + 3, 1), 0.5)
    samples[: space["SAMPLES"] + 1, 0] = 0.5 + 0.1 * np.arange(space["SAMPLES"] + 1)
    samples[space["SAMPLES"] + 1] += begins
    watch = [SimpleNamespace(sign=1.0, shift=0.0, arm=ARMED, falling=falling)]
    search = SimpleNamespace(samples=samples, watch=watch)
    assert locating.fires(None, None, None, search, 0, 2.0, False, 1e-9) == 2.0
    assert looked == ([1] if looks else [])


@for_each(("first", "leaves", "arm", "told"), [
    (-1.0, False, ARMED, "root"), (0.0, False, ARMED, "root"), (1.0, False, ARMED, "early"), (1.0, True, ARMED, None), (0.99e-4, False, ARMED, None), (1.01e-4, False, ARMED, "early"),
    (1.0, False, UNARMED, None),
])  # fmt: skip
def test_a_guard_that_is_near_zero_at_first_may_have_fallen_before_the_first_sample(
    monkeypatch, first, leaves, arm, told
):
    """It is 1e-6 at the start; looked at closely unless it leaves, or is seen to fall anyhow."""
    space, asked = locating.fires.__globals__, []
    begun = space["Bracket"](0.0, 0.01, 1e-6, -1e-6)
    none = space["Bracket"](-1.0, 0.0, 0.0, 0.0)
    for name, stand_in in {
        "flags_of": lambda *_: 0, "leaves": lambda *_: leaves, "turning": lambda *_: none,
        "early": lambda *given: asked.append(("early", given[-1])) or begun,
        "root": lambda *given: asked.append(("root", given[-1])) or 0.25,
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    many = space["SAMPLES"]
    samples = np.full((many + 3, 1), 2.0)
    samples[[0, 1, many + 1], 0] = 1e-6, first, 1e-6
    watch = [SimpleNamespace(sign=1.0, shift=0.0, arm=arm, falling=0)]
    search = SimpleNamespace(samples=samples, watch=watch)
    fraction = locating.fires(None, None, None, search, 0, 2.0, False, 1e-9)
    assert fraction == (2.0 if told is None else 0.25)
    bracket = begun if told == "early" else space["Bracket"](0.0, 1 / many, 1e-6, first)
    wanted = [("early", 1e-6)] if told == "early" else []
    assert asked == ([*wanted, ("root", bracket)] if told else [])
