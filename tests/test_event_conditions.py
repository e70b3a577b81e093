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

arming, breaking = plain("event_driven.arm_guards"), plain("event_driven.input_break")
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
    K = np.zeros((9, 2 * n + 1))
    K[space["START"], n : 2 * n] = start
    weights = SimpleNamespace(alpha_m=0.0, w=1.0, share=1.0, past=0.0, beta=0.0)

    def flow(problem, t, stage, slope, width):
        looks.append(t)
        slope[n : 2 * n] = end
        return SUCCESS

    for name, stand_in in {
        "newton_parts": lambda _: SimpleNamespace(r=np.zeros(n)), "weights_of": lambda _: weights, "flow": flow,
        "at_stage": lambda *_: None, "factor": lambda *_: pytest.fail("there is nothing to be solved"),
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    step, method = (
        SimpleNamespace(K=K, stage=np.zeros(2 * n + 1)),
        SimpleNamespace(newmark=[SimpleNamespace(most=9)]),
    )
    assert stepping.solve(
        SimpleNamespace(sizes=sizes(n=n, n_x=2 * n)), method, step, n, 1.0, None, 0.25
    ) == (SUCCESS, True)
    assert looks == [1.25, 1.25]
    assert K[space["END"], n : 2 * n] == pytest.approx(end, rel=1e-9)
