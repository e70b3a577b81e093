"""Parts of marches, uncompiled, each against its rule: what is asked in turn, and with what."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS

marching, sides = plain("event_driven.march"), plain("event_driven.sides")
euler, modes = plain("time_stepping.euler_moreau"), plain("sliding.mode_functions")
changing = plain("event_driven.change_constraints")
straight, bent = plain("time_stepping.newmark_linear"), plain("time_stepping.newmark")
NONE, CHAINED, DRIVEN = marching.NONE, marching.CHAINED, marching.DRIVEN
FAILS = 77  # a status
EQUAL = np.testing.assert_array_equal


# ---------------------------------------------------------------- a march with events


@for_each(("broken", "guard", "value", "mechanical", "change", "told"), [
    (0, NONE, 0.0, False, False, (0, DRIVEN)), (3, NONE, 0.0, False, False, (3, DRIVEN)), (0, 1, -0.2, False, False, (1, DRIVEN)),
    (0, 1, -0.05, False, False, (1, 1)), (0, 1, -0.2, True, False, (1, 1)), (0, 1, -0.2, True, True, (1, DRIVEN)),
    (0, 0, -0.2, False, False, (0, DRIVEN)), (NONE, 1, -0.2, False, False, None), (NONE, NONE, 0.0, False, False, None),
])  # fmt: skip
def test_behind_a_break_of_the_inputs_a_march_does_not_pause(
    monkeypatch, broken, guard, value, mechanical, change, told
):
    """Its guard would be forgotten; an event that an input has caused is told as driven."""
    said, values = [], np.zeros(4)
    run = space(t=1.0, stop=1.0, fresh=0, events=0)

    def next_interval(*_):
        run.events, run.fresh, run.stop = 5, 1, 2.0
        return SUCCESS, broken

    def begin_stretch(*_):
        run.fresh, values[guard] = 0, 2 * value
        return SUCCESS, guard

    put(monkeypatch, marching.go_on, next_interval=next_interval, begin_stretch=begin_stretch, is_change=lambda problem, j: change,
        happen=lambda *given: said.append(given[-2:]) or FAILS)  # fmt: skip
    search = space(watch=[space(sign=0.5)] * 4, values=values)
    task = space(problem=space(sizes=space(mechanical=mechanical)), automaton=None, surfaces=None, method=None, contacts=None,
                 work=space(run=[run], search=search), record=space(events=None))  # fmt: skip
    options = space(t_end=2.0, band=0.1)
    status = marching.go_on(task, options, 9.0, 4)
    assert status == (marching.PAUSED if told is None else FAILS)
    assert said == ([] if told is None else [told])
    run.t, run.fresh, said[:] = 0.5, 1, []
    assert marching.go_on(task, options, 0.4, 9) == marching.PAUSED
    assert marching.go_on(task, options, 0.5, 4) == marching.PAUSED
    if guard >= 0:
        assert marching.go_on(task, options, 0.5, 5) == FAILS
        caused = value < -0.1 / 2 - 1e-9 and (change or not mechanical)
        assert said == [(guard, CHAINED if caused else 1)]
    run.t = run.stop = 2.0
    if guard < 0:
        assert marching.go_on(task, options, 2.0, 5) == SUCCESS


@for_each(("step", "happens", "told"), [
    ((SUCCESS, NONE), None, "end"), ((FAILS, NONE), None, FAILS), ((FAILS, 2), None, FAILS), ((marching.AGAIN, NONE), None, "end"),
    ((SUCCESS, 2), FAILS, FAILS), ((SUCCESS, 2), marching.GOES_ON, "end"), ((SUCCESS, 0), FAILS, FAILS),
    ((marching.AGAIN, 2), marching.GOES_ON, "end"),
])  # fmt: skip
def test_a_march_goes_on_as_long_as_steps_and_events_do(monkeypatch, step, happens, told):
    said, run = [], space(t=0.0, stop=1.0, fresh=0, events=0)

    def make_step(*_):
        said.append("step")
        run.t = float(len(said) > 1)
        return step if len(said) == 1 else (SUCCESS, NONE)

    def happen(*given):
        said.append(given[-2:])
        return happens

    put(monkeypatch, marching.go_on, make_step=make_step, happen=happen, begin_stretch=None, next_interval=None)  # fmt: skip
    work = space(run=[run], search=space(watch=None, values=None))
    task = space(problem=None, automaton=None, surfaces=None, method=None, contacts=None, work=work,
                 record=space(events=None, steps=None))  # fmt: skip
    status = marching.go_on(task, space(t_end=1.0), np.inf, 9)
    assert status == (SUCCESS if told == "end" else told)
    events = [] if happens is None else [(step[1], 0)]
    assert said == ["step", *events, *["step"] * (told == "end")]


# ---------------------------------------------------------------- sides of surfaces


@for_each(
    ("j", "held", "sides_free", "finite"), itertools.product((-1, 0, 2), *[(False, True)] * 3)
)
def test_slopes_are_those_of_the_sides_that_are_held(monkeypatch, j, held, sides_free, finite):
    """Where they are no numbers on a side, no side is held; without one nothing is to release."""
    said, y, slope = [], np.zeros(3), np.zeros(3)

    def hold(problem, surfaces, search, t, at, rate, span):
        assert (t, at is y, rate is slope) == (0.5, True, True)
        said.append(("hold", pytest.approx(span)))
        return held

    def flow(problem, t, at, rate, width):
        assert (t, at is y, rate is slope, width) == (0.5, True, True, 2)
        said.append("flow")
        return FAILS if said.count("flow") > 1 else SUCCESS

    put(monkeypatch, sides.turn, hold=hold, flow=flow, free=lambda problem: sides_free, largest=lambda given, first, last: 1.0 if finite else np.inf,
        flip=lambda problem, surfaces, *given: said.append(("flip", given[0], given[1], given[3])),
        release=lambda *_: said.append("release"))  # fmt: skip
    status = sides.turn(None, None, space(slope=slope), None, j, 0.5, y, 0.2, 2)
    once, again = held or j >= 0, not sides_free and not finite
    assert said == [*[("flip", j, 0.5, 0.2)] * (j >= 0), ("hold", 2e-4), *["flow"] * once,
                    *["release", "flow"] * again]  # fmt: skip
    assert status == (FAILS if once and again else SUCCESS)


# ---------------------------------------------------------------- others


def test_a_march_of_euler_and_moreau_begins_without_factors(monkeypatch):
    said = []
    put(monkeypatch, euler.begin, evaluate_at=lambda *given: said.append(given))
    kept, state = space(count=5), space(factored=0.3)
    work = space(state=[state], block=space(kept=[kept]), iterate="iterate")
    euler.begin(space(bundles="bundles"), "record", work, 4)
    assert said == [("bundles", "record", "iterate", 4, False)]
    assert (state.factored, kept.count) == (0.0, -1)


@for_each(("n", "nc", "nrho"), [(1, 1, 1), (2, 3, 2), (3, 1, 0), (2, 2, 3)])
@for_each("tangents", (0, 1))
def test_a_field_moves_with_its_multipliers(monkeypatch, n, nc, nrho, tangents):
    """f, and of its derivatives by x and rho those at fixed multipliers and what they move it by."""
    rng, said, solved = np.random.default_rng(n), [], [1]
    f, f_x, f_sel, f_t, f_rho = (rng.normal(size=s) for s in (n, (n, n), (n, nc), n, (n, nrho)))
    moved = rng.normal(size=(nc, 1 + n + nrho))
    head = space(n=n, n_c=nc, n_rho=nrho)
    head.f, head.f_all = space(address="flow", data="of flow"), space(address="all", data="of all")
    model = space(head=[head])

    def call(address, data, out, inp):
        said.append((address, data, inp))
        every = [*f, *f_x.ravel(), *f_sel.ravel(), *f_t, *f_rho.ravel()]
        out[: len(every) if address == "all" else n] = every if address == "all" else f

    put(monkeypatch, modes.write_field, call=call, solve=lambda model, mode, scratch: solved[0],
        derive=lambda model, mode, scratch: said.append(("derive", mode)))  # fmt: skip
    scratch = space(out=np.full(60, np.nan), moved=moved, base="base")
    size = n * (1 + n + nrho if tangents else 1)
    result = np.full(size + 1, 9.0)
    modes.write_field(result, model, 4, tangents, scratch)
    by_x, by_rho = f_x + f_sel @ moved[:, 1 : 1 + n], f_rho + f_sel @ moved[:, 1 + n :]
    expected = [*f, *by_x.ravel(), *by_rho.ravel()][:size]
    np.testing.assert_allclose(result, [*expected, 9.0], rtol=1e-12)
    one = [("derive", 4), ("all", "of all", "base")]
    assert said == (one if tangents else [("flow", "of flow", "base")])
    solved[0], result[:] = 0, 9.0
    modes.write_field(result, model, 4, tangents, scratch)
    EQUAL(result, [*[np.nan] * size, 9.0])


@for_each("seed", range(60))
def test_sides_are_held_where_two_steps_of_euler_lead(monkeypatch, seed):
    """A second step is made where after the first one a side is free that could not be held."""
    rng, nx, count, said = np.random.default_rng(seed), 2, 2, []
    now = rng.choice([0, 0, 1, -1], count)
    later = rng.choice([0, 1], (2, count))  # what can be held in each trial
    status, t, ahead = [FAILS, SUCCESS][seed % 3 > 0], 0.5, 0.25
    y, rates, other = np.array([1.0, 2.0, 9.0]), np.array([3.0, 4.0]), np.array([-1.0, 5.0])
    problem = space(
        sizes=space(n_x=nx),
        out=np.zeros(2 * count),
        sides=np.array([(k,) for k in now], [("now", int)]).view(np.recarray),
    )
    surfaces = space(history=[space(value=np.nan) for _ in range(count)])
    search = space(x=np.full(nx + 1, np.nan), rates=np.full(nx, np.nan))

    def look(problem, surfaces, t, x):
        said.append(("look", t, *x[:nx]))
        problem.out[count:] = [10 * t, 20 * t]

    def catch(problem, surfaces, j):
        trial = sum(one[0] == "look" for one in said) - 2
        said.append(("catch", j))
        if problem.sides[j].now == 0 and later[trial, j]:
            problem.sides[j].now = 1
        return problem.sides[j].now != 0

    def flow(problem, t, x, slope, width):
        assert (width, x[nx]) == (0, 0.0)
        said.append(("flow", t))
        slope[:] = other
        return status

    put(monkeypatch, sides.hold, look=look, catch=catch, flow=flow)
    got = sides.hold(problem, surfaces, search, t, y, rates, ahead)
    if now.all():
        assert (got, said) == (False, [])
        return
    x = y[:nx] + ahead * rates
    expected = [("look", t, *y[:nx]), ("look", t + ahead, *x), ("catch", 0), ("catch", 1)]
    held = (now != 0) | (later[0] == 1)
    if not held.all():
        expected.append(("flow", t + ahead))
        if status == SUCCESS:
            expected += [("look", t + 2 * ahead, *(x + ahead * other)), ("catch", 0), ("catch", 1)]
            held |= later[1] == 1
    assert said == expected
    assert got == bool((held & (now == 0)).any())
    EQUAL(problem.sides["now"], np.where((now == 0) & held, 1, now))
    assert [one.value for one in surfaces.history] == [10 * t, 20 * t]


# ---------------------------------------------------------------- Newmark's error


@for_each(("linear", "am", "af", "moves"), [(True, 0.0, 0.0, False), (True, 0.2, 0.4, False), (True, 0.0, 0.4, False), (True, 0.2, 0.0, False),
                                           (False, 0.0, 0.0, False), (False, 0.2, 0.4, True), (False, 0.0, 0.4, False), (False, 0.2, 0.0, True)])  # fmt: skip
def test_true_accelerations_are_corrected_once(monkeypatch, linear, am, af, moves):
    """From those of the step, and half way from their mean; by factors that are not those of M."""
    n, rng, said, told = 2, np.random.default_rng(1), [], []
    M, A = rng.normal(size=(2, n, n))
    q0, v0, q1, v1, a1, true0, F1, F = rng.normal(size=(8, n))
    forces, inp, c_a, h, t0 = (
        iter([F1, F] if am or af else [F]),
        np.full(1 + 2 * n, np.nan),
        0.7,
        0.2,
        1.0,
    )
    weight = (1 - am) * c_a

    def force(*given):
        said.append(("force", *inp))
        given[-1][:] = next(forces)

    def middle(n, span, *given):
        assert span == h
        told.append(("middle", *given[:-1]))
        given[-1][:] = 5.0

    def correct(a, F):
        said.append(("correct",))
        a += np.linalg.solve(A, weight * (F - M @ a))

    def to_equilibrium(problem, *given):
        if not linear:
            assert given[1] == weight
        else:
            assert given[0] == weight
        correct(given[-1], work.F)

    def fill(inp, t, q, v, n):
        inp[:] = [t, *q, *v]

    work = space(
        F=np.zeros(n),
        true0=true0.copy(),
        true1=np.zeros(n),
        centre=np.zeros(n),
        a_m=np.zeros(n),
        x=np.zeros(n),
        state=[space(c_a=c_a)],
    )
    problem = space(
        bundles=space(inp=inp),
        method=space(alpha_m=am, alpha_f=af),
        linear=None,
        grid=space(t_end=9.0),
        options=space(moves=moves),
    )
    stand_ins = {
        "fill": fill,
        "middle": middle,
        "to_equilibrium": to_equilibrium,
        "local_error": lambda *given: told.append(("error", *given)) or 0.125,
    }
    if linear:
        put(monkeypatch, straight.estimate, force=force, **stand_ins)
        none = np.full(n, np.nan)
        record = space(
            t=np.array([0.0, t0]),
            q=np.array([none, q0, q1]),
            v=np.array([none, v0, v1]),
            a=np.array([none, none, a1]),
        )
        assert straight.estimate(problem, record, work, 1, h, t0 + h) == 0.125
    else:
        put(
            monkeypatch,
            bent.estimate,
            forces=force,
            mass=lambda problem: said.append(("mass",)),
            **stand_ins,
        )
        part = space(d0=q0, v0=v0, d1=q1, v1=v1, a1=a1, c_a=c_a, t0=t0, t1=t0 + h, h=h)
        assert bent.estimate(problem, part, work) == 0.125
    true1 = a1.copy()
    masses = [("mass",)] * moves
    expected = [("force", pytest.approx(t0 + h / 2), *[5.0] * (2 * n)), *masses, ("correct",)]
    if am or af:
        true1 += np.linalg.solve(A, weight * (F1 - M @ a1))
        expected = [("force", t0 + h, *q1, *v1), *masses, ("correct",), *expected]
    centre = (true0 + true1) / 2
    centre += np.linalg.solve(A, weight * (F - M @ centre))
    assert said == expected
    np.testing.assert_allclose(np.array(told[0][1:]), [q0, v0, true0, q1, v1, true1], rtol=1e-12)
    assert told[1][1:4] == (n, h, 9.0)
    np.testing.assert_allclose(
        np.array(told[1][4:]), [q0, v0, true0, centre, true1, q1, v1], rtol=1e-12
    )


# ---------------------------------------------------------------- constraints that change


@for_each(("unmet", "gone"), [(0, -1), (2, -1), (-1, 0), (-1, 1), (-1, -1)])
@for_each("holding", (True, False))
def test_a_constraint_that_cannot_be_met_ends_the_run(monkeypatch, unmet, gone, holding):
    """The one that the state does not obey, or whose gradient is lost, also the first one."""
    said = []
    put(monkeypatch, changing.change_constraints, identity=lambda *_: None, holds=lambda problem, c: holding and c == 2, unsatisfied=lambda problem, k: unmet,
        hold=lambda problem, t, y: said.append("hold") or gone, impact=lambda *_: said.append("impact") or FAILS,
        settle=lambda *_: said.append("settle") or FAILS)  # fmt: skip
    problem = space(sizes=space(n=1, n_x=2, n_c=2, n_t=1, rows=6, penalty=0), state=[space(fired=9, fault=9)], inp=np.arange(9.0), rows=[space(closed=c) for c in (1, 0, 1, 0, 1, 0)],
                    changes=[space(side=1), space(side=-1)], links=np.array([(0,), (1,), (1,)], [("change", int)]).view(np.recarray))  # fmt: skip
    contacts = space(
        rows=[space(prior=9) for _ in range(6)], e=np.array([0.1, 0.2]), e_now=np.zeros(2)
    )
    head = space(t=0.5, guard=9, kind=9)
    event, now = space(head=[head], row=None, at=None), 2 + 1 + 1 + 1  # the second change
    fails = unmet >= 0 or gone >= 0
    if not fails and not holding:
        return
    status = changing.change_constraints(
        problem, contacts, event, space(band=0.1, slopes=0), now, np.zeros(3)
    )
    assert status == (changing.NOT_MET if fails else FAILS)
    assert problem.state[0].fired == now
    assert problem.state[0].fault == (unmet if unmet >= 0 else gone if gone >= 0 else 9)
    assert said == (["hold"] if unmet < 0 else []) + ["impact"] * (not fails)
    assert [one.side for one in problem.changes] == [1, 1]
    assert [one.prior for one in contacts.rows] == [1, 0, 1, 0, 1, 0]
    assert (head.guard, head.kind) == (
        2 + (2 if holding else 1),
        changing.CLOSING if holding else changing.RELEASE,
    )
