"""Impacts and the rows that hold: few contacts, contacts that hold already, and a flow's small cases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.records import DYNAMICS, GAPS

impacts, flowing = plain("event_driven.contact_impact"), plain("event_driven.flow")
between = plain("event_driven.dense_output")
FREE, FAILS = impacts.FREE, 77


def rows_of(count, closed=()):
    return [space(closed=int(c in closed), sigma=0) for c in range(count)]


@for_each("size", [1e6, 1.0, 1e-6])
@for_each(("part", "told"), [(0.5, 1), (2.0, 2)])
def test_contacts_are_coupled_by_an_entry_beside_its_diagonal(size, part, told):
    """1e-12 of the root of both, which may differ by much."""
    D = size * np.array([[4.0, part * 1e-12 * 8.0], [0.0, 16.0]])
    contacts = space(reached=np.full(2, 9), order=np.full(2, -1), D=D, act=np.array([5, 3]), place=np.full(2, -1))  # fmt: skip
    assert impacts.reach(contacts, 2, 2, 5) == told
    assert contacts.reached.tolist() == [1, told - 1]
    assert impacts.reach(contacts, 2, 2, 3) == 1  # nothing leads back


@for_each(
    ("closed", "mu", "bad"), [(1, 0.3, False), (1, 0.5, True), (0, 0.5, False), (1, np.nan, True)]
)
def test_the_coefficient_of_a_single_tangent_is_looked_at(monkeypatch, closed, mu, bad):
    n, rows = 2, 2
    out = np.full(20, np.nan)
    out[rows * (n + 3) :][:2] = mu, 0.4
    put(monkeypatch, impacts.frictions, evaluate=lambda *_: None)
    problem = space(sizes=space(n=n, n_c=1, n_t=1, n_x=4, rows=rows), functions=space(table=None), inp=np.zeros(9), out=out,
                    state=[space(held=1)], partner=np.array([1, 0]), rows=rows_of(rows, [0] * closed))  # fmt: skip
    assert impacts.frictions(problem, 0.0, np.zeros(4)) == (impacts.IMPROPER if bad else SUCCESS)


@for_each(("mu", "z", "sigma", "pull"), [
    (0.0, (2.0, 0.0, 0.5), -1, 0.0), (0.5, (2.0, 1.5, 0.5), -1, 0.5), (0.5, (2.0, 1.5, 0.0), 0, 0.5), (0.5, (2.0, 0.0, 0.0), 1, -1.0),
    (0.0, (2.0, 0.0, 0.0), -1, 0.0), (0.5, (2.0, 2.0, 0.0), -1, 1.0), (0.5, (2.0, 0.5, 0.25), -1, -0.5),
])  # fmt: skip
def test_a_tangent_without_room_in_its_cone_slides(monkeypatch, mu, z, sigma, pull):
    """Also where mu is 0, so that no force tells which way."""
    put(monkeypatch, impacts.distribute, open_all=lambda _: None)
    rows = rows_of(2)
    problem = space(sizes=space(n=1, n_c=1, n_t=1, rows=2), out=np.full(20, mu), rows=rows, state=[space(held=0)])  # fmt: skip
    contacts = space(act=np.array([0, 1]), place=np.array([1]), sigma=np.array([9, FREE]), force=np.full(2, np.nan), z=np.array(z))  # fmt: skip
    impacts.distribute(problem, contacts, 1, 5)
    assert contacts.sigma[1] == sigma
    assert contacts.force.tolist() == pytest.approx([2.0, pull])
    assert (rows[1].closed, rows[1].sigma) == (int(sigma == 0), sigma)
    assert problem.state[0].held == 1 + (sigma == 0)


@for_each("now", [0, 1, 2, -1])
def test_an_impact_of_any_contact_is_shared_by_those_it_reaches(monkeypatch, now):
    """Also of the first one; what begins to hold is shared by all."""
    made = []
    put(monkeypatch, impacts.sharing, delassus=lambda problem, contacts, m: made.append(m) or 3 * m,
        reach=lambda contacts, m, total, which: contacts.reached.__setitem__(slice(None), [int(k == which) for k in range(3)]) or 1)  # fmt: skip
    problem = space(sizes=space(n_c=3), out=np.zeros(3), rows=rows_of(3))
    contacts = space(act=np.full(3, -1), reached=np.zeros(3, int))
    m, total = impacts.sharing(problem, contacts, 1e-6, now)
    assert contacts.act[:m].tolist() == ([now] if now >= 0 else [0, 1, 2])
    assert (total, made) == (3 * m, [3, 1] if now >= 0 else [3])


@for_each("share", [1.0, 0.25, 0.0])
@for_each("held", [(), (4,), (3,), (3, 4)])
def test_an_impact_asks_the_speeds_of_constraints_and_no_others(share, held):
    """Contacts and tangents that hold have no part in it."""
    rows = rows_of(5, (0, 1, 2, *held))
    problem = space(sizes=space(n=2, n_c=2, n_t=1, rows=5, penalty=1), rows=rows, inp=np.array([9.0, 9.0, 9.0, 9.0, share]))  # fmt: skip
    contacts, right = space(rows=[space(speed=10.0 + c) for c in range(5)]), np.full(6, np.nan)
    size = impacts.closing_speeds(problem, contacts, right)
    assert right[:size].tolist() == [0.0, 0.0, *(-share * (10.0 + c) for c in held)]


@for_each("held", [(), (3,), (3, 4)])
def test_contacts_answer_to_impulses_beside_the_constraints_that_hold(monkeypatch, held):
    """D is what M and the rows of constraints make of forces; rows of contacts have no part in it."""
    rng, n, count, nc, nt = np.random.default_rng(len(held)), 4, 5, 2, 1
    M, F, G = rng.normal(size=(n, n)) + 3 * np.eye(n), rng.normal(size=n), 5 * rng.normal(size=(count, n))  # fmt: skip
    size = n + len(held)
    W = np.block([[M, G[[*held]].T], [G[[*held]], np.zeros((len(held),) * 2)]])

    def assemble(problem, first):
        assert first == nc + nt
        problem.saddle.W[:size, :size] = W
        problem.saddle.solution[:size] = [*F, *[0.0] * len(held)]
        return size

    put(monkeypatch, impacts.delassus, assemble=assemble,
        evaluate=lambda table, which, inp, out: out.__setitem__(slice(2 * count, 2 * count + count * n), G.ravel()))  # fmt: skip
    saddle = space(W=np.full((size, size), np.nan), pivots=np.zeros(size, int), solution=np.full(size, np.nan), tangent=np.full(size, 7.0))  # fmt: skip
    problem = space(sizes=space(n=n, n_c=nc, n_t=nt, rows=count), functions=space(table=None), rows=rows_of(count, held), inp=None,
                    out=np.full(40, np.nan), partner=np.array([-1, 2, 1, -1, -1]), saddle=saddle)  # fmt: skip
    contacts = space(act=np.array([1, 0, -9]), place=np.full(2, -9), D=np.full((3, 3), np.nan))
    assert impacts.delassus(problem, contacts, 2) == 3
    assert contacts.act.tolist() == [1, 0, 2]
    columns = np.linalg.solve(W, np.vstack([G.T, np.zeros((len(held), count))]))[:n]
    np.testing.assert_allclose(contacts.D, (G @ columns)[np.ix_([1, 0, 2], [1, 0, 2])], atol=1e-11)


@for_each(("act", "m", "closed", "met"), [
    ((), 0, (), 1), ((2,), 1, (), 1), ((2,), 1, (2,), 1), ((2, 0), 2, (), 2), ((2, 0), 2, (2,), 1), ((2, 0, 1), 3, (0,), 2), ((1, 3), 1, (1, 3), 1), ((0, 1, 2), 3, (), 3),
])  # fmt: skip
@for_each("held", [(), (5,), (5, 6)])
def test_an_impact_counts_those_that_meet_and_stops_what_begins(
    monkeypatch, act, m, closed, met, held
):
    """Contacts that hold already are not met; constraints stop also where nothing touches."""
    rng, n, nc, nt, count = np.random.default_rng(m), 3, 3, 2, 7
    M, G = rng.normal(size=(n, n)), 4 * rng.normal(size=(count, n))
    M = M @ M.T + np.eye(n)
    size, total, asked = n + len(held), len(act), []
    full = np.block([[M, G[[*held]].T], [G[[*held]], np.zeros((len(held),) * 2)]])
    W, pivots, row, v = full.copy(), np.zeros(size, int), np.full(40, np.nan), rng.normal(size=n)
    row[3 + n : 3 + 2 * n] = v
    speed, inp, e = G @ v, np.full(40, np.nan), np.array([0.3, 0.6, 0.9])
    inp[13], out = 1.0, np.concatenate([np.full(2 * count, np.nan), G.ravel()])

    def sharing(problem, contacts, band, now):
        assert (band, now) == (1e-9, 2)
        contacts.act[:total] = act
        assert plain("linear_algebra.dense_lu").lu_factor(W, size, size - 1, size - 1, pivots) == 0
        return m, total

    def coulomb(problem, contacts, touching, of, settles):
        asked.append((touching, of, settles))
        assert (contacts.sigma[:total] == FREE).all()
        bounce = np.array([1.0 + e[c] if k < m else 1.0 for k, c in enumerate(act)])
        stops = np.linalg.solve(full, np.append(np.zeros(n), -speed[[*held]]))[:n]
        np.testing.assert_allclose(
            contacts.w[:total], bounce * speed[[*act]] + G[[*act]] @ stops, atol=1e-10
        )
        contacts.force[:total] = np.arange(1.0, 1 + total)
        return SUCCESS

    put(monkeypatch, impacts.impact, sharing=sharing, coulomb=coulomb, identity=lambda *_: None,
        speeds=lambda problem, contacts: [setattr(one, "speed", s) for one, s in zip(contacts.rows, speed, strict=True)])  # fmt: skip
    rows = rows_of(count, (*closed, *held))
    problem = space(sizes=space(n=n, n_c=nc, n_t=nt, rows=count, e=30, penalty=10, rates=20), inp=inp, out=out, rows=rows,
                    saddle=space(W=W, pivots=pivots, solution=np.zeros(size), tangent=np.zeros(size)))  # fmt: skip
    contacts = space(rows=[space(prior=9) for _ in rows], e_now=e, act=np.full(count, -9), w=np.full(count, np.nan), force=np.zeros(count),
                     sigma=np.zeros(count, int))  # fmt: skip
    event = space(row=row, at=space(x_plus=3, p=12), head=[space(together=9)])
    assert impacts.impact(problem, contacts, 1e-9, event, False, 2) == SUCCESS
    assert asked == [(m, total, False)] * (total > 0)
    assert event.head[0].together == met
    assert [one.prior for one in contacts.rows] == [one.closed for one in rows]
    forces = G[[*act]].T @ np.arange(1.0, 1 + total)
    solved = np.linalg.solve(full, np.append(forces, -speed[[*held]]))
    np.testing.assert_allclose(row[3 + n : 3 + 2 * n], v + solved[:n], atol=1e-10)
    impulses = np.zeros(count)
    impulses[[*act]], impulses[[*held]] = np.arange(1.0, 1 + total), -solved[n:]
    np.testing.assert_allclose(row[12 : 12 + count], impulses, atol=1e-9)
    put(monkeypatch, impacts.impact, sharing=lambda *_: (0, -1))
    assert impacts.impact(problem, contacts, 1e-9, event, False, 2) == SINGULAR


# ---------------------------------------------------------------- a flow


@for_each(("held", "first"), [(0, 0), (0, 3), (3, 3), (0, 1)])
def test_contacts_are_not_looked_at_where_no_row_can_hold(monkeypatch, held, first):
    """Not one is, or all of them are left out."""

    def evaluate(table, which, inp, out):
        assert which == DYNAMICS
        out[:2] = 4.0, 6.0

    put(monkeypatch, flowing.assemble, evaluate=evaluate)
    problem = space(sizes=space(n=1, n_c=2, n_t=1, rows=3), functions=space(table=None), inp=None, out=np.zeros(2), partner=None, state=[space(held=held)],
                    rows=rows_of(3, range(held)), saddle=space(W=np.zeros((1, 1)), solution=np.zeros(1)))  # fmt: skip
    assert flowing.assemble(problem, first) == 1
    assert (problem.saddle.W[0, 0], problem.saddle.solution[0]) == (4.0, 6.0)


@for_each("first", [0, 1, 3])
def test_only_the_column_of_a_sliding_contact_is_turned(monkeypatch, first):
    """A tangent that holds keeps its own, whatever its contact does."""
    n, count = 2, 4
    G, gamma, mu = (
        np.arange(1.0, 9.0).reshape(count, n),
        np.array([0.1, 0.2, 0.3, 0.4]),
        [0.5, 0.25],
    )

    def evaluate(table, which, inp, out):
        told = [np.eye(2).ravel(), [7.0, 8.0]] if which == DYNAMICS else [[np.nan] * (2 * count), G.ravel(), gamma, mu]  # fmt: skip
        told = np.concatenate(told)
        out[: len(told)] = told

    put(monkeypatch, flowing.assemble, evaluate=evaluate)
    rows = rows_of(count, (0, 1, 2))
    rows[3].sigma = -1  # contact 1 slides along tangent 3
    rows[0].sigma = rows[1].sigma = 5  # which is read of tangents only
    problem = space(sizes=space(n=n, n_c=2, n_t=2, rows=count), functions=space(table=None), inp=None, out=np.zeros(30), partner=np.array([2, 3, 0, 1]),
                    state=[space(held=3)], rows=rows, saddle=space(W=np.full((6, 6), np.nan), solution=np.full(6, np.nan)))  # fmt: skip
    on = [c for c in (0, 1, 2) if c >= first]
    assert flowing.assemble(problem, first) == n + len(on)
    pulls = G.copy()
    pulls[1] += mu[1] * G[3]
    expected = np.block([[np.eye(2), pulls[on].T], [G[on], np.zeros((len(on),) * 2)]])
    size = n + len(on)
    np.testing.assert_allclose(problem.saddle.W[:size, :size], expected)
    np.testing.assert_allclose(problem.saddle.solution[:size], [7.0, 8.0, *-gamma[on]])


@for_each(("mode", "width"), itertools.product((0, 1), range(3)))
def test_an_automaton_has_the_field_of_its_mode_and_its_tangents(monkeypatch, mode, width):
    """Without columns the short function is asked for."""
    rng, nx, nr, rates, asked = np.random.default_rng(width), 2, 3, 6, []
    f, by_x, by_rho, wrt = rng.normal(size=nx), rng.normal(size=(nx, nx)), rng.normal(size=(nx, nr)), np.array([0, -1])  # fmt: skip

    def evaluate(table, which, inp, out):
        asked.append(which)
        told = np.concatenate([f, by_x.ravel(), by_rho.ravel()]) if which >= 10 else f
        out[:] = np.nan
        out[: len(told)] = told

    put(monkeypatch, flowing.field, evaluate=evaluate)
    y, dy, inp = rng.normal(size=9), np.full(9, np.nan), np.full(9, np.nan)
    problem = space(sizes=space(n_x=nx, n_rho=nr, rates=rates), functions=space(table=None, tlm=10), inp=inp, out=np.empty(20), wrt=wrt,
                    state=[space(mode=mode)])  # fmt: skip
    flowing.field(problem, y, dy, width)
    assert asked == [10 + mode if width else mode]
    expected = np.full((3, 3), np.nan)
    for k in range(width + 1):
        S = y[3 * k : 3 * k + 2]
        expected[k, :nx] = f if k == 0 else by_x @ S + (by_rho[:, 0] if k == 1 else 0.0)
    np.testing.assert_allclose(dy, expected.ravel(), rtol=1e-13)
    np.testing.assert_array_equal(inp[rates : rates + nx], f)


def test_a_single_change_of_constraints_is_watched(monkeypatch):
    told = []
    put(monkeypatch, flowing.guards, evaluate=lambda table, which, inp, out: told.append(which), held_guards=lambda *_: SUCCESS,
        change_guards=lambda problem, values: values.__setitem__(0, 5.0))  # fmt: skip
    problem = space(sizes=space(n_x=2, n_c=0, n_t=0, n_w=1, mechanical=True), functions=space(table=None, guard=0), state=[space(mode=0, held=0)],
                    changes=[space(last=0)], rows=[], inp=np.zeros(3), out=np.zeros(1))  # fmt: skip
    values = np.zeros(1)
    assert flowing.guards(problem, None, 0.5, np.array([1.0, 2.0]), values) == SUCCESS
    assert (told, values[0], problem.inp.tolist()) == ([GAPS], 5.0, [0.5, 1.0, 2.0])


@for_each(("intervals", "p"), [(0, 2), (1, 2), (3, 1), (2, 0), (0, 0)])
def test_columns_follow_the_parameters_of_an_interval(monkeypatch, intervals, p):
    """Where there are such; inputs have their values of it in any case."""
    told = []
    put(
        monkeypatch, flowing.enter_interval, hold=lambda drive, inp, k: told.append((drive, inp, k))
    )
    active, wrt = 10 * np.arange(intervals)[:, None] + np.arange(p), np.full(p, -5)
    k = max(0, intervals - 1)
    flowing.enter_interval(space(active=active, wrt=wrt, drive="drive", inp="inp"), k)
    assert told == [("drive", "inp", k)]
    assert wrt.tolist() == ([10 * k + j for j in range(p)] if intervals else [-5] * p)


@for_each("size", [0, 1, 2])
def test_the_interval_of_inputs_is_restored_where_there_are_some(monkeypatch, size):
    told = []
    put(monkeypatch, flowing.restore, enter_interval=lambda problem, k: told.append(k))
    problem = space(sizes=space(n_c=0, n_t=0, rows=0), rows=[], state=[space(mode=9, held=9)], inp=np.zeros(1), drive=space(t=np.zeros(size)),
                    sides=np.array([]))  # fmt: skip
    flowing.restore(problem, np.array([[0, 0], [3, 4]]), 1)
    assert (problem.state[0].mode, problem.state[0].held, told) == (3, 0, [4] * (size > 0))


# ---------------------------------------------------------------- between the rows


@for_each(
    ("times", "shared"), [((1.125,), False), ((1.125, 1.25), True), ((1.0, 1.375, 1.5), True)]
)
def test_two_times_in_a_step_share_its_polynomial(monkeypatch, times, shared):
    """At fractions of its length, which is 1/2."""
    told = []

    def dense_value(polynomial, s, size, out):
        told.append(s)
        out[:] = s

    put(monkeypatch, between.states_at, flow=lambda problem, t, y, dy, width: SUCCESS, advance=lambda *given: told.append("step") or SUCCESS, restore=lambda *_: None,
        carry=lambda *_: None, interpolate=lambda *_: None, dense_value=dense_value, constrained=lambda _: False, set_free=lambda *_: False,
        Polynomial=lambda *given: given)  # fmt: skip
    steps = space(t=np.array([1.0]), h=np.array([0.5]), y=np.zeros((1, 2)), state=None)
    step = space(stage=np.zeros(2), new=np.zeros(2), slope=np.zeros(2), dense=None)
    result = np.full((len(times), 2), np.nan)
    given = (
        space(sizes=space(n_x=1)),
        space(last=15, stages=12, code=0),
        step,
        steps,
        np.array(times),
    )
    assert (
        between.states_at(*given, np.zeros(len(times), int), False, result, result.copy())
        == SUCCESS
    )
    fractions = [2 * (t - 1.0) for t in times]
    if shared:
        assert told == ["step", *(s for s in fractions if s)]
        assert result[:, 0].tolist() == fractions
    else:
        assert told == ["step"]


def test_the_acceleration_of_a_single_coordinate_is_carried():
    step, method = space(slope=np.full(3, np.nan)), space(newmark=[space(begun=0.0, length=0.0)])
    steps = space(carried=np.array([[5.0], [7.0]]), t=np.array([1.0, 2.0]), h=np.array([0.25, 0.5]))
    between.carry(space(sizes=space(n=1, n_x=2)), method, step, steps, 1)
    np.testing.assert_array_equal(step.slope, [np.nan, 7.0, np.nan])
    assert (method.newmark[0].begun, method.newmark[0].length) == (2.0, 0.5)
