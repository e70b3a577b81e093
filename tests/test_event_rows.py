"""What rows of several contacts, tangents and constraints hold, each found in its own place."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import CLOSING, CONTACTS, NEWMARK, RELEASE, STEP
from explorer.kernels.event_driven.structures import newton_of, step_of

dense = plain("linear_algebra.dense_lu")
clashing, flows = plain("event_driven.contradiction"), plain("event_driven.flow")
impacts, changing = plain("event_driven.contact_impact"), plain("event_driven.change_constraints")
stepping = plain("event_driven.newmark_step")
N, NC, NT, NPHI = 4, 3, 2, 2  # contact 0 has no friction
COUNT = NC + NT + NPHI
FUNCTIONS = SimpleNamespace(table=None, cost=0)


def sizes(**more) -> SimpleNamespace:
    own = {"n": N, "n_x": 2 * N, "n_c": NC, "n_t": NT, "rows": COUNT, "n_rho": 2, "n_w": 1}
    return SimpleNamespace(**own | {"mechanical": True} | more)


def rows_of(closed) -> list[SimpleNamespace]:
    return [SimpleNamespace(closed=int(c in closed), sigma=0.0) for c in range(COUNT)]


def solved(W, b) -> np.ndarray:
    """Solve with what `lu_factor` has left in W."""
    x = b.copy()
    dense.lu_solve(W[0], len(b), len(b) - 1, len(b) - 1, W[1], x)
    return x


@for_each(("seed", "wrong"), itertools.product(range(4), (None, 3, 4)))
def test_what_follows_from_rows_that_hold_has_their_accelerations(monkeypatch, seed, wrong):
    """G_c = sum w_k G_k contradicts them where gamma_c is not sum w_k gamma_k."""
    rng, n, first, penalty = np.random.default_rng(seed), 4, 2, 12
    count = first + 5
    G, gamma = rng.normal(size=(count, n)), rng.normal(size=count)
    for c in (3, 4):
        weights = rng.normal(size=2)
        G[first + c], gamma[first + c] = weights @ G[first : first + 2], weights @ gamma[first : first + 2]  # fmt: skip
    G[first + 2] = G[first]  # would contradict the first one, but does not hold
    if wrong is not None:
        gamma[first + wrong] += 0.1

    def evaluate(table, which, inp, out):
        assert which == CONTACTS
        assert (inp[penalty : penalty + 2] == 0.0).all()
        out[:] = np.concatenate([np.full(2 * count, np.nan), G.ravel(), gamma])

    space = clashing.contradiction.__globals__
    monkeypatch.setitem(space, "evaluate", evaluate)
    monkeypatch.setitem(space, "holds", lambda problem, c: c != 2)
    problem = SimpleNamespace(
        sizes=sizes(n=n, n_c=1, n_t=1, rows=count, penalty=penalty, rates=20), functions=FUNCTIONS,
        out=np.empty(2 * count + count * (n + 1)), inp=rng.normal(size=40),
        saddle=SimpleNamespace(W=np.full((n + 5, n + 5), np.nan)),
        state=[SimpleNamespace(dependent=1, form=0)],
    )  # fmt: skip
    told = clashing.contradiction(problem, 0.3, rng.normal(size=2 * n), 1.0)
    assert told == (-1 if wrong is None else wrong)


@for_each("closed", [(), (5,), (0, 4, 6), (1, 3, 5, 6)])
def test_the_matrix_of_a_step_is_the_slope_of_the_rows_that_hold(monkeypatch, closed):
    """W (1 - alpha_m) / s + [R; A]_q h^2 beta + [R; A]_v h gamma, and W over the forces."""
    rng, n, h, size = np.random.default_rng(len(closed)), N, 0.3, N + len(closed)
    alpha_m, alpha_f, beta, gamma = 0.2, 0.4, 0.3, 0.6
    by_q, by_v = rng.normal(size=(2, n, n))
    G, rows_by_q, rows_by_v = rng.normal(size=(3, COUNT, n))
    M, on = rng.normal(size=(n, n)), [*closed]
    zero = np.zeros((len(closed),) * 2)
    W = np.block([[M, G[on].T], [G[on], zero]])
    out = np.full(4 * n * n + 2 * COUNT * n + 9, np.nan)

    def evaluate(table, which, inp, out):
        assert which == STEP
        between = np.full(n * 2 + n, np.nan)  # by rho and by t
        told = np.concatenate([x.ravel() for x in (by_q, by_v, between, rows_by_q, rows_by_v)])
        out[: told.size] = told

    def assemble(problem, _):
        problem.saddle.W[:size, :size] = W

    for name, stand_in in {"evaluate": evaluate, "assemble": assemble}.items():
        monkeypatch.setitem(stepping.factor.__globals__, name, stand_in)
    co = SimpleNamespace(interpolated=0, alpha_m=alpha_m, alpha_f=alpha_f, beta=beta, gamma=gamma)
    order = n + COUNT
    newton, _ = newton_of(NEWMARK, 2 * n, order)
    newton.matrix[:], newton.saddle[:] = np.nan, np.nan
    problem = SimpleNamespace(
        sizes=sizes(), functions=FUNCTIONS, inp=None, out=out, rows=rows_of(closed),
        saddle=SimpleNamespace(W=np.full((order, order), np.nan)),
    )  # fmt: skip
    method = SimpleNamespace(newmark_newton=newton, newmark=[co])
    assert stepping.factor(problem, method, h, size) == 0
    expected = W.copy()
    expected[:, :n] *= (1 - alpha_m) / (1 - alpha_f)
    expected[:, :n] += h * h * beta * np.vstack([by_q, rows_by_q[on]])
    expected[:, :n] += h * gamma * np.vstack([by_v, rows_by_v[on]])
    b = rng.normal(size=size)
    np.testing.assert_allclose(expected @ solved((newton.matrix, newton.pivots), b), b, atol=1e-9)
    np.testing.assert_array_equal(newton.saddle[:size, :size], W)


def test_a_running_cost_is_summed_by_the_trapezoidal_rule(monkeypatch):
    """So are its derivatives, at the end of the step with the slopes of the flow there."""
    rng, nx, width, h = np.random.default_rng(0), 2 * N, 3, 0.25
    block = nx + 1
    y, begin, end = rng.normal(size=(3, (width + 1) * block))
    new = np.zeros((width + 1) * block)
    step = step_of(1, new.size)._replace(new=new)
    step.K[:] = np.nan
    step.slope[:] = begin
    space = stepping.newmark_step.__globals__

    def flow(problem, t, state, slope, wide):
        assert (t, wide) == (1.0 + h, width)
        assert state is new
        slope[:] = end
        return SUCCESS

    for name, stand_in in {
        "begin": lambda *_: SUCCESS, "solve": lambda *_: (SUCCESS, True), "columns": lambda *_: SUCCESS,
        "at_stage": lambda *_: None, "flow": flow,
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    problem = SimpleNamespace(sizes=sizes(), rows=rows_of(()), functions=FUNCTIONS)
    co = SimpleNamespace(interpolated=0, alpha_m=0.0, alpha_f=0.0, beta=0.25, gamma=0.5, weight=0.0)
    method = SimpleNamespace(newmark=[co])
    assert stepping.newmark_step(problem, method, step, 1.0, y, h, width) == SUCCESS
    costs = slice(nx, None, block)
    np.testing.assert_allclose(new[costs], y[costs] + h * (begin + end)[costs] / 2)
    np.testing.assert_array_equal(step.end[costs], end[costs])


def test_the_state_of_a_step_is_restored_from_its_row(monkeypatch):
    """Mode, rows, directions, sides and the interval of the inputs stand behind each other."""
    told, sides = [], [SimpleNamespace(now=9, place=p) for p in (2, 0, 1)]
    monkeypatch.setitem(flows.restore.__globals__, "enter_interval", lambda problem, k: told.append(k))  # fmt: skip
    rows, state = rows_of(()), [SimpleNamespace(mode=9, held=9)]
    for size in (0, 2):
        problem = SimpleNamespace(
            sizes=sizes(), rows=rows, state=state, inp=np.full(3, np.nan), drive=SimpleNamespace(t=np.zeros(size)),
            sides=np.array(sides),
        )  # fmt: skip
        states = np.arange(60).reshape(3, -1) * 10
        states[1, 1 : 1 + COUNT] = [0, 1, 1, 0, 1, 0, 1]
        flows.restore(problem, states, 1)
        assert [row.closed for row in rows] == [0, 1, 1, 0, 1, 0, 1]
        assert (state[0].mode, state[0].held) == (200, 4)
        at = 200 + 10 * (1 + COUNT)
        assert [row.sigma for row in rows[NC : NC + NT]] == [at, at + 10]
        assert [side.now for side in sides] == [at + 20, at + 30, at + 40]
        assert problem.inp.tolist() == [at + 30, at + 40, at + 20]
        assert told == ([at + 50] if size else [])


@for_each("seed", range(3))
def test_guards_of_what_is_closed_are_its_force_and_its_friction(monkeypatch, seed):
    """Lam, mu lam -+ lam_t where a tangent sticks, sigma (G v + gap_t) where it slides."""
    rng, lam = np.random.default_rng(seed), 30
    partner = np.array([-1, NC, NC + 1, 1, 2, -1, -1])
    G, mu, inp = rng.normal(size=(COUNT, N)), rng.uniform(0.1, 1, NT), rng.normal(size=60)
    v = inp[1 + N : 1 + 2 * N]
    out = np.full(2 * COUNT + COUNT * (N + 1) + 2 * NT + 9, np.nan)
    out[COUNT : 2 * COUNT] = rng.normal(size=COUNT)
    out[2 * COUNT : 2 * COUNT + COUNT * N] = G.ravel()
    out[2 * COUNT + COUNT * (N + 1) + NT :][:NT] = mu
    monkeypatch.setitem(flows.held_guards.__globals__, "accelerate", lambda _: SUCCESS)
    for closed in ((), (0,), (1, 3), (2, 4), (1, 2), (0, 1, 2, 4), (0, 1, 2, 3, 4)):
        rows = rows_of(closed)
        rows[NC].sigma, rows[NC + 1].sigma = 1.0, -1.0
        problem = SimpleNamespace(
            sizes=sizes(lam=lam), inp=inp, out=out, rows=rows, partner=partner
        )
        values = np.full(NC + 2 * NT, np.inf)
        assert flows.held_guards(problem, values) == SUCCESS
        expected, force = np.full(NC + 2 * NT, np.inf), inp[lam:]
        for c in set(closed) & {*range(NC)}:
            expected[c], k = force[c], partner[c]
            if k >= 0 and k in closed:
                bound = mu[k - NC] * force[c]
                expected[[k, k + NT]] = bound - force[k], bound + force[k]
            elif k >= 0:
                expected[k] = rows[k].sigma * (G[k] @ v + out[COUNT + k])
        np.testing.assert_allclose(values, expected)


@for_each(("seed", "held"), itertools.product(range(3), ((), (5,), (5, 6))))
def test_an_impact_reverses_what_touches_and_stops_what_begins_to_hold(monkeypatch, seed, held):
    """M dv = G' p over all rows; G v+ + g_t = -e (G v- + g_t) of contacts, 0 of all else."""
    rng, n, m = np.random.default_rng(seed), N, 2
    M, G, by_time = rng.normal(size=(n, n)), rng.normal(size=(COUNT, n)), rng.normal(size=COUNT)
    M = M @ M.T + n * np.eye(n)
    act = [2, 0, NC + 1] if len(held) < 2 else [2, 0]  # a tangent behind the contacts
    on, hold, e = act, [*held], np.array([0.3, 0.6, 0.9])
    size = n + len(hold)
    W = np.zeros((n + COUNT, n + COUNT))
    W[:size, :size] = np.block([[M, G[hold].T], [G[hold], np.zeros((len(hold),) * 2)]])
    full, pivots = W[:size, :size].copy(), np.zeros(n + COUNT, int)
    v, row, at = rng.normal(size=n), np.full(60, np.nan), SimpleNamespace(x_plus=3, p=20)
    row[at.x_plus + n : at.x_plus + 2 * n] = v
    out = np.full(2 * COUNT + COUNT * n, np.nan)
    out[2 * COUNT :] = G.ravel()
    inp, speed = np.full(60, np.nan), G @ v + by_time
    inp[13] = 1.0  # the share of the speeds of constraints that an impact takes away

    def speeds(problem, contacts):
        for c, one in enumerate(contacts.rows):
            one.speed = speed[c]

    def sharing(problem, contacts, band, now):
        contacts.act[: len(act)] = act
        assert dense.lu_factor(W, size, size - 1, size - 1, pivots) == 0
        return m, len(act)

    def coulomb(problem, contacts, touching, total, settles):
        columns = [np.linalg.solve(full, np.append(G[c], np.zeros(len(hold))))[:n] for c in on]
        contacts.force[:total] = np.linalg.solve(G[on] @ np.transpose(columns), -contacts.w[:total])
        return SUCCESS

    space = impacts.impact.__globals__
    for name, stand_in in {
        "speeds": speeds, "sharing": sharing, "coulomb": coulomb, "identity": lambda *_: None
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    problem = SimpleNamespace(
        sizes=sizes(e=20, penalty=10, rates=30), inp=inp, out=out, rows=rows_of(held),
        saddle=SimpleNamespace(W=W, pivots=pivots, solution=np.zeros(n + COUNT), tangent=np.zeros(n + COUNT)),
    )  # fmt: skip
    contacts = SimpleNamespace(
        rows=[SimpleNamespace() for _ in range(COUNT)], e_now=e, act=np.zeros(COUNT, int), w=np.zeros(COUNT),
        force=np.zeros(COUNT), sigma=np.zeros(COUNT, int),
    )  # fmt: skip
    event = SimpleNamespace(row=row, at=at, head=[SimpleNamespace(together=0)])
    assert impacts.impact(problem, contacts, 1e-9, event, False, 2) == SUCCESS
    p, after = row[at.p : at.p + COUNT], row[at.x_plus + n : at.x_plus + 2 * n]
    np.testing.assert_allclose(M @ (after - v), G.T @ p, atol=1e-10)
    np.testing.assert_allclose(inp[30 + n : 30 + 2 * n], after - v)
    bounced = G @ after + by_time
    for c in (*act, *held):
        assert bounced[c] == pytest.approx(-e[c] * speed[c] if c < NC else 0.0, abs=1e-10)
    assert event.head[0].together == m
    assert {*np.flatnonzero(p)} == {*act, *held}
    np.testing.assert_array_equal(inp[20 : 20 + NC], e)


@for_each(("holding", "told", "kind", "first"), [(*case, first) for first in (0, 2) for case in (
    ((0, 0, 0), 0, RELEASE), ((1, 0, 0), 0, CLOSING), ((0, 1, 0), 1, CLOSING),
    ((0, 0, 1), 2, CLOSING), ((0, 1, 1), 1, CLOSING), ((1, 1, 1), 0, CLOSING),
)])  # fmt: skip
def test_a_change_is_named_after_the_first_constraint_that_begins_or_else_ends(
    monkeypatch, holding, told, kind, first
):
    """Of those that it changes: others, which change with another guard, are never named."""
    space, other = changing.change_constraints.__globals__, 7
    of = {0: first, 1: 4, 2: 5}  # their places among all
    links = [SimpleNamespace(change=1 if k in of.values() else other) for k in range(6)]
    holds = {place: bool(holding[k]) for k, place in of.items()}
    for name, stand_in in {
        "identity": lambda *_: None, "holds": lambda problem, c: holds.get(c, True), "unsatisfied": lambda *_: -1,
        "hold": lambda *_: -1, "impact": lambda *_: SUCCESS, "settle": lambda *_: SUCCESS,
        "constrained": lambda *_: False, "contradicted": lambda *_: -1,
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    changes = [SimpleNamespace(side=1), SimpleNamespace(side=1)]
    state, head = [SimpleNamespace(fired=-1, fault=-1)], SimpleNamespace(t=0.0, guard=-9, kind=-9, together=9)  # fmt: skip
    problem = SimpleNamespace(
        sizes=sizes(penalty=10), state=state, inp=np.zeros(40), changes=changes, rows=rows_of(()),
        links=np.array(links),
    )  # fmt: skip
    contacts = SimpleNamespace(
        rows=[SimpleNamespace() for _ in range(COUNT)], e_now=np.zeros(NC), e=np.zeros(NC)
    )
    event = SimpleNamespace(head=[head], row=np.zeros(40), at=SimpleNamespace(x_plus=0))
    now = NC + 2 * NT + 1
    options = SimpleNamespace(band=1e-9, slopes=False)
    assert changing.change_constraints(problem, contacts, event, options, now, None) == SUCCESS
    assert (head.guard, head.kind) == (NC + of[told], kind)
    assert [change.side for change in changes] == [1, -1]
    assert state[0].fired == now
