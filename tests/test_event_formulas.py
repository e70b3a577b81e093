"""Formulas of event-driven runs, uncompiled, each against its definition at random numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain, put, space

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.complementarity.structures import lcp_workspace
from explorer.kernels.event_driven.records import (
    ARMED,
    CHANGES,
    CONTACTS,
    GAPS,
    GAPS_BY_RHO,
    STEP,
)

impacts, changing = plain("event_driven.contact_impact"), plain("event_driven.saltation")
flowing, settling = plain("event_driven.flow"), plain("event_driven.settle")
breaking, leaving = plain("event_driven.input_break"), plain("event_driven.transition")
FAILS = 77  # a status


# ---------------------------------------------------------------- contact problems


@for_each("seed", range(60))
def test_touching_contacts_press_rub_and_part(monkeypatch, seed):
    """w = D f + w_0: no pull, no penetration, |f_t| <= mu f_n, and what slides is rubbed at the bound."""
    rng = np.random.default_rng(seed)
    n, nc, nt, sticky = 3, 5, 4, bool(seed % 2)
    count, m = nc + nt + 1, 3
    normals = rng.permutation(nc)[:m]
    partner = {int(c): nc + i for i, c in enumerate(rng.permutation(nc)[:nt])}
    rough = [k for k in range(m) if int(normals[k]) in partner]
    act = np.array([*normals, *(partner[int(normals[k])] for k in rough), *[0] * nt])
    place = np.full(m, -1)
    place[rough] = m + np.arange(len(rough))
    total = m + len(rough)
    X = rng.normal(size=(total, total + 2))
    D, w = X @ X.T, rng.normal(size=total) - 0.5
    sigma = np.full(total, impacts.FREE)
    for k in rough:
        sigma[place[k]] = rng.choice([impacts.FREE, impacts.FREE, 1, -1])
    at_mu = 2 * count + count * (n + 1)
    out = np.full(at_mu + 2 * nt + 5, np.nan)
    mu, most = rng.uniform(0.05, 0.25, nt), rng.uniform(0.25, 0.4, nt)
    out[at_mu : at_mu + nt], out[at_mu + nt : at_mu + 2 * nt] = mu, most
    work = opened(lcp_workspace(3 * m, 3 * m))
    work.kept[0].count = 1  # factors of another matrix
    contacts = space(act=act, place=place, sigma=sigma.copy(), order=np.zeros(3 * m, int), ratio=np.full(m, np.nan), w=w,
                     force=np.full(3 * m, np.nan), B=np.full((3 * m, 3 * m), np.nan), z=np.zeros(3 * m), D=D, lcp=work)  # fmt: skip
    problem = space(sizes=space(n=n, n_c=nc, n_t=nt, rows=count), out=out, state=[space(held=0)],
                    rows=[space(closed=0, sigma=0) for _ in range(count)])  # fmt: skip
    assert impacts.coulomb(problem, contacts, m, total, sticky) == SUCCESS
    assert work.kept[0].count < 0
    force = contacts.force[:total]
    speed = D @ force + w
    assert (force[:m] >= 0).all()
    assert (speed[:m] >= -1e-8).all()
    assert abs(force[:m] * speed[:m]).max() <= 1e-8
    for k in rough:
        t, j = place[k], act[place[k]] - nc
        if sigma[t] != impacts.FREE:
            assert force[t] == pytest.approx(-sigma[t] * mu[j] * force[k])
            continue
        bound = (most if sticky else mu)[j] * force[k]
        assert abs(force[t]) <= bound + 1e-9
        assert abs(speed[t]) <= 1e-8 or force[t] == pytest.approx(-np.sign(speed[t]) * bound)
    if rough:
        t = act[place[rough[0]]] - nc
        for wrong in (-0.1, most[t] + 0.1, np.nan):
            out[at_mu + t] = wrong
            assert impacts.coulomb(problem, contacts, m, total, sticky) == impacts.IMPROPER
        out[at_mu : at_mu + nt], out[at_mu + t] = np.nan, mu[t]  # those of others do not count
        assert impacts.coulomb(problem, contacts, m, m + 1, sticky) != impacts.IMPROPER
    out[at_mu : at_mu + nt] = mu
    with monkeypatch.context() as other:
        put(other, impacts.coulomb, solve=lambda *_: (FAILS, 0))
        assert impacts.coulomb(problem, contacts, m, total, sticky) == FAILS


def test_speeds_of_rows_are_those_of_their_gaps(monkeypatch):
    """G v + gap_t."""
    n, count, rng = 3, 4, np.random.default_rng(1)
    G, by_time, v = rng.normal(size=(count, n)), rng.normal(size=count), rng.normal(size=n)
    out, asked = np.full(40, np.nan), []

    def evaluate(table, which, inp, out):
        asked.append(which)
        out[count : 2 * count], out[2 * count : (2 + n) * count] = by_time, G.ravel()

    put(monkeypatch, impacts.speeds, evaluate=evaluate)
    problem = space(sizes=space(n=n, rows=count), functions=space(table=None), out=out,
                    inp=np.concatenate([np.full(1 + n, np.nan), v, [np.nan]]))  # fmt: skip
    contacts = space(rows=[space(speed=np.nan) for _ in range(count)])
    impacts.speeds(problem, contacts)
    assert [one.speed for one in contacts.rows] == pytest.approx(G @ v + by_time)
    assert asked == [CONTACTS]


@for_each(("closed", "wrong", "held"), itertools.product((0, 1, 2), (0, 1, None), (0, 1)))
def test_coefficients_count_where_a_contact_is_closed(monkeypatch, closed, wrong, held):
    """Two of three contacts have friction; 0 <= mu <= mu_s."""
    n, nc, nt, nx, rows = 2, 3, 2, 4, 6
    at = 2 * rows + rows * (n + 1)
    y, out, inp = np.arange(1.0, 1 + nx), np.full(60, np.nan), np.full(9, np.nan)

    def evaluate(table, which, inp, out):
        assert which == CONTACTS
        assert inp[: 1 + nx].tolist() == [2.5, *y]
        assert np.isnan(inp[1 + nx])
        out[at : at + 2 * nt] = [0.1, 0.2, 0.3, 0.4]
        if wrong is not None:
            out[at + wrong] = 0.35 if wrong == 0 else 0.45

    put(monkeypatch, impacts.frictions, evaluate=evaluate)
    problem = space(sizes=space(n=n, n_c=nc, n_t=nt, n_x=nx, rows=rows), functions=space(table=None), inp=inp, out=out,
                    state=[space(held=held)], partner=np.array([3, -1, 4, 0, 2, -1]),
                    rows=[space(closed=int(c == closed)) for c in range(rows)])  # fmt: skip
    bad = held > 0 and wrong is not None and closed == (0, 2)[wrong]
    assert impacts.frictions(problem, 2.5, y) == (impacts.IMPROPER if bad else SUCCESS)
    problem.sizes.n_t = 0
    assert impacts.frictions(problem, 2.5, y) == SUCCESS


# ---------------------------------------------------------------- gradients of guards


def event_of(nx, nr):
    at = space(r_x=2, r_rho=2 + nx, f_minus=2 + nx + nr)
    return space(at=at, row=np.full(3 + 2 * nx + nr, np.nan), head=[space(r_t=np.nan, D=np.nan)])


def test_a_guard_of_an_automaton_has_the_derivatives_of_its_formula(monkeypatch):
    nx, nr, asked = 3, 2, []
    told = np.arange(1.0, 2 + nx + nr)

    def evaluate(table, which, inp, out):
        asked.append(which)
        out[: len(told)] = told

    put(monkeypatch, changing.formula_gradient, evaluate=evaluate)
    event = event_of(nx, nr)
    problem = space(sizes=space(n_x=nx, n_rho=nr), functions=space(table=None, guard_tlm=20), inp=None, out=np.full(9, np.nan),
                    state=[space(mode=1)])  # fmt: skip
    changing.formula_gradient(problem, space(first=[0, 4, 9]), 3, event)
    assert asked == [27]
    assert event.head[0].r_t == told[0]
    np.testing.assert_array_equal(event.row, [np.nan] * 2 + [*told[1:]] + [np.nan] * (1 + nx))


@for_each("j", range(3))
def test_a_gap_has_the_derivatives_of_its_formula(monkeypatch, j):
    n, nr, count, rng = 2, 3, 4, np.random.default_rng(j)
    by_rho, by_time, G = (
        rng.normal(size=(count, nr)),
        rng.normal(size=count),
        rng.normal(size=(count, n)),
    )

    def evaluate(table, which, inp, out):
        out[:] = np.nan
        if which == GAPS_BY_RHO:
            out[: count * nr] = by_rho.ravel()
        if which == CONTACTS:
            out[count : 2 * count], out[2 * count : (2 + n) * count] = by_time, G.ravel()

    put(monkeypatch, changing.gap_gradient, evaluate=evaluate)
    event = event_of(2 * n, nr)
    problem = space(sizes=space(n=n, n_rho=nr, rows=count), functions=space(table=None), inp=None, out=np.empty(40))  # fmt: skip
    changing.gap_gradient(problem, j, event)
    assert event.head[0].r_t == by_time[j]
    expected = [np.nan] * 2 + [*G[j]] + [0.0] * n + [*by_rho[j]] + [np.nan] * (1 + 2 * n)
    np.testing.assert_array_equal(event.row, expected)


@for_each(("j", "closed", "told"), [
    (0, (), ("gap", 0)), (1, (1,), ("force", 1, 1)), (1, (0,), ("gap", 1)), (2, (), ("speed", 2)), (3, (2,), ("speed", 3)),
    (2, (2,), ("force", 2, 2)), (3, (3,), ("force", 3, 3)), (4, (2,), ("force", 4, 2)), (5, (3,), ("force", 5, 3)),
    (5, (), ("speed", 5)), (6, (), ("change", 6)), (7, (0, 1, 2, 3), ("change", 7)),
])  # fmt: skip
def test_each_guard_is_differentiated_as_what_it_is(monkeypatch, j, closed, told):
    """Of two contacts with friction and two changes; D = r_t + r_x f-."""
    nx, said, rng = 4, [], np.random.default_rng(j)
    event = event_of(nx, 1)
    event.row[:], event.head[0].r_t = rng.normal(size=len(event.row)), 0.7
    status = [SUCCESS]

    def teller(name, least):
        def tell(*given):
            said.append((name, *(x for x in given[least:] if isinstance(x, int))))
            return status[0]

        return tell

    put(monkeypatch, changing.guard_gradient, **{f"{k}_gradient": teller(k, 1) for k in ("gap", "speed", "force", "change", "formula")})  # fmt: skip
    problem = space(sizes=space(n_c=2, n_t=2, n_x=nx, mechanical=True), rows=[space(closed=int(c in closed)) for c in range(4)])  # fmt: skip
    assert changing.guard_gradient(problem, None, j, event) == SUCCESS
    assert said == [told]
    assert (
        pytest.approx(0.7 + event.row[2 : 2 + nx] @ event.row[3 + nx : 3 + 2 * nx])
        == event.head[0].D
    )
    status[0] = FAILS
    fails = told[0] in ("force", "change")
    assert changing.guard_gradient(problem, None, j, event) == (FAILS if fails else SUCCESS)
    problem.sizes.mechanical = False
    assert changing.guard_gradient(problem, None, j, event) == SUCCESS
    assert said[-1] == ("formula", j)


# ---------------------------------------------------------------- what a flow looks at


@for_each(("mechanical", "mode"), itertools.product((True, False), (0, 1)))
def test_guards_are_those_of_what_is_watched(monkeypatch, mechanical, mode):
    """Gaps or formulas, 1 where nothing is watched yet; then forces and changes, where there are any."""
    nc, nt, nw, nx, said, status = 2, 1, 2, 3, [], [SUCCESS]
    x, formulas = np.arange(1.0, 4.0), [3.0, 4.0, 5.0, 6.0]

    def evaluate(table, which, inp, out):
        said.append(which)
        assert inp[:4].tolist() == [0.3, *x]
        assert np.isnan(inp[4])
        out[:6] = [*formulas, np.nan, np.nan]

    def held_guards(problem, values):
        said.append("held")
        return status[0]

    put(monkeypatch, flowing.guards, evaluate=evaluate, held_guards=held_guards, change_guards=lambda *_: said.append("changes"))  # fmt: skip
    problem = space(
        sizes=space(n_c=nc, n_t=nt, n_w=nw * mechanical, n_x=nx, mechanical=mechanical), functions=space(table=None, guard=30),
        state=[space(mode=mode, held=0)], rows=[space(closed=0) for _ in range(4)], changes=[space(last=0, side=1) for _ in range(nw)],
        inp=np.full(9, np.nan), out=np.empty(6),
    )  # fmt: skip
    automaton, values = space(first=[0, 3, 4]), np.full(9, np.nan)
    count = nc + 2 * nt + nw if mechanical else (3, 1)[mode]
    assert flowing.guard_count(problem, automaton) == count
    assert [flowing.is_change(problem, j) for j in range(6)] == [mechanical and j >= 4 for j in range(6)]  # fmt: skip
    assert flowing.guards(problem, automaton, 0.3, x, values) == SUCCESS
    given = nc if mechanical else count
    expected = [*formulas[:given], *[1.0] * (count - given), *[np.nan] * (9 - count)]
    np.testing.assert_array_equal(values, expected)
    look = GAPS if mechanical else 30 + mode
    assert said == [look, "changes"] if mechanical else said == [look]
    if not mechanical:
        automaton.first = [0, 0, 0]
        assert flowing.guards(problem, automaton, 0.3, x, values) == SUCCESS
        assert said == [look]
        return
    for closed, last, held, asked in ((0, 0, 1, True), (1, 0, 1, True), (2, 0, 1, False), (None, -1, 1, True),
                                      (0, 0, 0, False), (None, 1, 1, False), (None, -1, 0, False)):  # fmt: skip
        said.clear()
        problem.state[0].held = held
        for c, row in enumerate(problem.rows):
            row.closed = int(c == closed)
        problem.changes[1].last = last
        assert flowing.guards(problem, automaton, 0.3, x, values) == SUCCESS
        assert said == [GAPS, *["held"] * asked, "changes"]
    said.clear()
    problem.state[0].held, problem.rows[0].closed, status[0] = 1, 1, FAILS
    assert flowing.guards(problem, automaton, 0.3, x, values) == FAILS
    assert said == [GAPS, "held"]


@for_each(("side", "last"), itertools.product((-1, 1), (-2, -1, 0, 1, 2)))
def test_a_change_whose_force_has_let_go_is_not_watched(monkeypatch, side, last):
    nc, nt, asked, values = 2, 1, [], np.full(7, np.nan)

    def evaluate(table, which, inp, out):
        asked.append(which)
        out[:] = [5.0, 6.0]

    put(monkeypatch, flowing.change_guards, evaluate=evaluate)
    problem = space(sizes=space(n_c=nc, n_t=nt, n_w=2), functions=space(table=None), inp=None, out=np.empty(2),
                    changes=[space(side=side, last=last), space(side=1, last=0)])  # fmt: skip
    flowing.change_guards(problem, values)
    assert asked == [CHANGES]
    np.testing.assert_array_equal(values, [*[np.nan] * 4, 1.0 if side * last > 0 else 5.0, 6.0, np.nan])  # fmt: skip


@for_each(("width", "cost"), [(0, 3), (1, 3), (2, 3), (2, 0), (2, -1)])
def test_a_motion_has_its_accelerations_and_its_columns_theirs(monkeypatch, width, cost):
    """Derivatives of forces are kept for a cost."""
    n, rates, said, rng = 2, 5, [], np.random.default_rng(width)
    nx, block, status = 2 * n, 2 * n + 1, [SUCCESS]
    y, dy, a = rng.normal(size=3 * block), np.full(3 * block, np.nan), rng.normal(size=n)
    columns = rng.normal(size=(2, n))
    inp = np.full(12, np.nan)
    inp[rates + n : rates + nx] = a
    saddle = space(direction=np.empty(nx), tangent=np.empty(n))

    def tangent(problem, w):
        k = int(np.flatnonzero(problem.wrt == w)[0])
        np.testing.assert_array_equal(saddle.direction, y[(k + 1) * block : (k + 1) * block + nx])
        saddle.tangent[:] = columns[k]

    put(monkeypatch, flowing.motion, accelerate=lambda *_: status[0], tangent=tangent,
        evaluate=lambda table, which, inp, out: said.append(which), keep_forces=lambda problem, k: said.append(("kept", k)))  # fmt: skip
    problem = space(sizes=space(n_x=nx, n=n, rates=rates), functions=space(table=None, cost=cost), inp=inp, out=None,
                    wrt=np.array([4, -1]), saddle=saddle)  # fmt: skip
    assert flowing.motion(problem, y, dy, width) == SUCCESS
    expected = np.full((3, block), np.nan)
    expected[0, :nx] = [*y[n:nx], *a]
    for k in range(width):
        at = (k + 1) * block
        expected[k + 1, :nx] = [*y[at + n : at + nx], *columns[k]]
    np.testing.assert_array_equal(dy, expected.ravel())
    assert said == [*[STEP] * (width > 0), *(("kept", k) for k in range(width if cost >= 0 else 0))]
    status[0] = FAILS
    assert flowing.motion(problem, y, dy, width) == FAILS


# ---------------------------------------------------------------- what holds


@for_each("seed", range(40))
def test_what_is_unforced_slides_as_it_is_accelerated(monkeypatch, seed):
    """What sticks, or is rubbed, or slides already, stays as it is."""
    rng, m, total = np.random.default_rng(seed), 4, 7
    place = np.array([4, -1, 5, 6])
    act, D, w = rng.permutation(9)[:total], rng.normal(size=(total, total)), rng.normal(size=total)
    force = np.where(rng.random(total) < 0.5, 0.0, rng.normal(size=total))
    sigma = rng.choice([0, 1, -1], 9)
    rows, slides = [space(sigma=int(s)) for s in sigma], rng.random(9) < 0.5
    still = int(act[rng.integers(4, 7)])
    contacts = space(act=act, place=place, force=force, w=w, D=D)
    put(monkeypatch, settling.turn_unforced, at_rest=lambda contacts, c, slow: not slides[c])
    settling.turn_unforced(space(rows=rows), contacts, m, total, 0.1, still)
    rate, expected = D @ force + w, sigma.copy()
    for t in (4, 5, 6):
        c = act[t]
        if sigma[c] and force[t] == 0.0 and (c == still or not slides[c]):
            expected[c] = np.sign(rate[t])
    assert [row.sigma for row in rows] == expected.tolist()


@for_each("speed", [0.99, -0.99, 1.0, -1.0, 1.01, -1.01, 0.99e4, 1.0e4, -1.01e4])
def test_what_was_held_may_move_faster(speed):
    for prior, least in ((0, 1.0), (1, settling.HELD_BEFORE)):
        contacts = space(rows=[None, space(prior=prior, speed=0.5 * speed)])
        assert settling.at_rest(contacts, 1, 0.5) == (abs(speed) <= least)


def test_positions_move_ahead():
    inp = np.arange(7.0)
    settling.look_ahead(space(inp=inp, sizes=space(n=2)), 0.5)
    assert inp.tolist() == [0.5, 1 + 1.5, 2 + 2.0, 3.0, 4.0, 5.0, 6.0]


@for_each(("k", "force", "rest", "balanced"), [(k, *one) for k in (0, 1) for one in (
    (0.0, 0.0, True), (1.0, 0.0, False), (0.0, 1.0, False), (0.0, 1e-9, False), (1e-9, 0.0, False), (0.0, 1e-14, True),
    (1e-14, 0.0, True), (0.0, -1e-9, False),
)])  # fmt: skip
def test_a_contact_is_balanced_without_force_and_acceleration(k, force, rest, balanced):
    """Beside one that is pressed: its own terms tell what round-off is."""
    n, count, m, total, rng = 2, 4, 2, 3, np.random.default_rng(k)
    act = np.array([2, 0, 3])
    D, f, G = (
        rng.normal(size=(3, 3)) + 3 * np.eye(3),
        np.array([2.0, 2.0, -0.7]),
        rng.normal(size=(count, n)),
    )
    f[k] = force
    free, by_time = rng.normal(size=n), rng.normal(size=count)
    w = -D @ f
    w[k] += rest
    out = np.full(40, np.nan)
    out[2 * count : 2 * count + count * n] = G.ravel()
    out[2 * count + count * n : 3 * count + count * n] = by_time
    problem = space(sizes=space(n=n, rows=count), out=out, saddle=space(solution=free))
    contacts = space(act=act, w=w, force=f, D=D)
    assert settling.is_balanced(problem, contacts, m, total) == balanced
    size = abs(by_time[act[k]]) + abs(G[act[k]] * free).sum() + abs(D[k] * f).sum()
    for part in (0.9, 1.1):  # of what counts as round-off
        w[k] = -(D[k] @ f) + part * settling.BALANCED * size
        if force == 0.0:
            assert settling.is_balanced(problem, contacts, m, total) == (part < 1)


@for_each(
    ("balanced", "later", "begins"), itertools.product((False, True), (SUCCESS, FAILS), (0, 1))
)
def test_where_forces_are_balanced_those_of_a_moment_later_decide(
    monkeypatch, balanced, later, begins
):
    """As long as there are such."""
    n, nc, said, told = 1, 4, [], iter([SUCCESS, later, SUCCESS])
    out, inp = np.array([0.0, 0.2, 0.1, -1.0]), np.array([1.0, 2.0, 3.0])

    def hold_or_part(problem, contacts, m, slow, still, begins_to):
        assert contacts.act[:m].tolist() == [0, 2]
        assert (slow, still, begins_to) == (0.5, 7, begins)
        said.append(("solved", *problem.inp))
        return next(told), 5

    put(monkeypatch, settling.settle, speeds=lambda *_: said.append("speeds"), open_all=lambda *_: said.append("open"),
        hold_or_part=hold_or_part, is_balanced=lambda *given: balanced and given[2:] == (2, 5),
        at_rest=lambda contacts, c, slow: c != 3, turn_unforced=lambda *given: said.append(given[2:]))  # fmt: skip
    problem = space(sizes=space(n_c=nc, n=n), out=out, inp=inp, state=[space(ahead=0.25)])
    contacts = space(act=np.full(nc, 9))
    assert settling.settle(problem, contacts, 0.1, 0.5, 7, begins) == SUCCESS
    now, then = ("solved", 1.0, 2.0, 3.0), ("solved", 1.25, 2.75, 3.0)
    expected = ["speeds", "open", now]
    if balanced:
        expected += ["open", then] + (["open", now] if later == FAILS else [])
    assert said == [*expected, (2, 5, 0.5, 7 if begins == 0 else -1)]
    put(monkeypatch, settling.settle, hold_or_part=lambda *_: (SINGULAR, 0))
    said.clear()
    assert settling.settle(problem, contacts, 0.1, 0.5, 7, begins) == SINGULAR
    assert said == ["speeds", "open"]
    assert settling.settle(problem, contacts, -2.0, 0.5, 7, begins) == SUCCESS


# ---------------------------------------------------------------- inputs that change, contacts that let go


@for_each(("held", "before", "told"), [
    ((1, 1, 0, 1, 0), (1, 1, 0, 1, 0), (breaking.NONE, breaking.RELEASE)), ((0, 1, 0, 0, 0), (1, 1, 0, 0, 0), (0, breaking.RELEASE)),
    ((1, 0, 0, 1, 0), (1, 1, 0, 0, 0), (1, breaking.RELEASE)), ((1, 1, 0, 1, 0), (1, 1, 0, 2, 0), (0, breaking.STICKING)),
    ((1, 1, 0, 0, 0), (1, 1, 0, 1, 0), (0, breaking.SLIDING)), ((0, 1, 0, 0, 0), (0, 1, 0, 1, 0), (breaking.NONE, breaking.RELEASE)),
    ((1, 1, 1, 0, 1), (1, 1, 1, 0, 0), (2, breaking.STICKING)), ((1, 1, 1, 0, 0), (1, 1, 1, 0, 1), (2, breaking.SLIDING)),
    ((0, 0, 0, 0, 0), (0, 1, 1, 0, 0), (1, breaking.RELEASE)), ((1, 0, 0, 0, 0), (0, 0, 0, 0, 0), (breaking.NONE, breaking.RELEASE)),
])  # fmt: skip
def test_the_first_row_that_is_held_otherwise_names_the_event(held, before, told):
    """Of three contacts, of which the first and the third have friction."""
    problem = space(rows=[space(closed=c) for c in held], sizes=space(n_c=3, n_t=2), partner=[3, -1, 4, 0, 2])  # fmt: skip
    contacts = space(rows=[space(prior=c) for c in before])
    assert breaking.changed_row(problem, contacts) == told


def test_contacts_are_decided_on_at_the_state_of_the_run(monkeypatch):
    """What is slow is so beside the largest velocity; which were held is noted."""
    n, y, told = 2, np.array([5.0, 9.0, -3.0, 2.0, 8.0]), []
    problem = space(
        sizes=space(n=n, n_x=4, rows=3),
        inp=np.full(7, np.nan),
        rows=[space(closed=c) for c in (1, 0, 1)],
    )
    contacts = space(rows=[space(prior=9) for _ in range(3)])
    work = space(y=y, run=[space(t=0.4)])

    def settle(problem, contacts, *given):
        told.append(given)
        return FAILS

    put(monkeypatch, breaking.decide, settle=settle)
    assert breaking.decide(problem, contacts, space(band=0.1), work) == FAILS
    assert told == [(0.1, pytest.approx(4e-12), -1, 0)]
    np.testing.assert_array_equal(problem.inp, [0.4, *y[:4], np.nan, np.nan])
    assert [row.prior for row in contacts.rows] == [1, 0, 1]


@for_each("status", [SUCCESS, FAILS])
def test_an_event_that_has_ended_counts(monkeypatch, status):
    head, parts, told = np.array([7, 8, 9], object), ["a", "b", "c"], []
    head[1] = space(after=None, step=None)
    run = space(events=1, steps=40)
    work, events = space(run=[run]), space(head=head, parts=parts, at=None)
    put(monkeypatch, breaking.end_event, depart=lambda *given: told.append(given[3:]) or status)
    assert breaking.end_event(space(state=[space(mode=3)]), None, work, events) == status
    (event, same), one = told[0], head[1]
    assert event is same
    assert (event.head[0], event.row) == (one, "b")
    ended = status == SUCCESS
    assert (one.after, one.step, run.events) == ((3, 40, 2) if ended else (None, None, 1))


@for_each(("values", "arms", "when", "told"), [
    ((-1.0, -1.0, -1.0), "AAA", (1, 1, 1), 0), ((1.0, -1.0, -1.0), "AAA", (1, 1, 1), 1), ((1.0, 1.0, 1.0), "AAA", (1, 1, 1), None),
    ((-1.0, -1.0, -1.0), "LAA", (1, 0, 1), 2), ((-1.0, -1.0, -1.0), "AAA", (0, -1, 1), 2), ((-0.1, -0.05, -0.11), "AAA", (1, 1, 1), 2),
    ((1.0, 1.0, -1.0), "AAL", (1, 1, 1), None),
])  # fmt: skip
def test_an_input_carries_an_armed_guard_beyond_its_zero(monkeypatch, values, arms, when, told):
    """By more than the band, on its own side, and where its condition holds."""
    sign, asked = [1.0, -1.0, 1.0], []

    def guards(problem, automaton, t, x, into):
        asked.append((t, x))
        into[:3] = np.multiply(values, sign)
        problem.out[3:6] = when

    put(monkeypatch, breaking.jumped, guards=guards, guard_count=lambda *_: 3)
    watch = [
        space(sign=s, arm=ARMED if a == "A" else ARMED + 1) for s, a in zip(sign, arms, strict=True)
    ]
    search = space(watch=watch, values=np.zeros(4), when=np.zeros(4))
    work = space(search=search, run=[space(t=0.3)], y="y")
    problem = space(out=np.full(6, np.nan))
    assert breaking.jumped(problem, None, space(band=0.1), work) == (breaking.NONE if told is None else told)  # fmt: skip
    assert asked == [(0.3, "y")]


@for_each(("gap", "speed", "closed", "contact", "anew"), [
    (0.1, 0.5, 0, 0, True), (0.11, 0.5, 0, 0, False), (0.1, -0.5, 0, 0, True), (0.1, -0.6, 0, 0, False), (-1.0, 0.0, 0, 0, True),
    (0.1, 0.0, 1, 0, False), (0.1, 0.0, 0, 1, False),
])  # fmt: skip
def test_others_that_touch_take_over_from_what_lets_go(
    monkeypatch, gap, speed, closed, contact, anew
):
    """Contact 1, at rest and within the band, where another one lets go."""
    told = []
    put(monkeypatch, leaving.let_others_take_over, speeds=lambda *_: told.append("speeds"),
        settle=lambda *given: told.append(given[2:]) or FAILS)  # fmt: skip
    problem = space(sizes=space(n_c=3, rows=4), out=np.array([9.0, gap, 9.0, 0.0]), rows=[space(closed=c) for c in (0, closed, 0, 1)])  # fmt: skip
    if contact:
        problem.out[0] = 9.0
    contacts = space(rows=[space(speed=s, prior=9) for s in (0.0, speed, 0.0, 0.0)])
    status = leaving.let_others_take_over(problem, contacts, 0.1, 0.5, contact)
    assert status == (FAILS if anew else SUCCESS)
    assert told == ["speeds", *[(0.1, 0.5, -1, 0)] * anew]
    assert [row.prior for row in contacts.rows] == ([1, closed, 0, 1] if anew else [9] * 4)
