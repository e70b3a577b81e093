"""What happens where inputs change, and what a start lets go, uncompiled."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain, put

from explorer.codes import EVENT_CAP, SUCCESS
from explorer.kernels.event_driven.records import CROSSING, NEWMARK, NONE

breaking, changing = plain("event_driven.input_break"), plain("event_driven.change_constraints")
stepping, law = plain("event_driven.runge_kutta"), plain("event_driven.velocity_reset")
FAILS = 77  # a status


# ---------------------------------------------------------------- modes where inputs change


def test_conditions_of_a_start_decide_for_the_first_mode_that_holds_or_the_present_one(monkeypatch):
    """But for round-off the nearest; what is no number does not hold. State and time are written."""
    put(monkeypatch, breaking.begin_anew, evaluate=lambda table, k, inp, out: None)
    starts = [SimpleNamespace(first=2 * k, last=2 * k + 2, to=7 + k) for k in range(3)]
    automaton = SimpleNamespace(starts=np.array(starts, object), conditions=None)
    work = SimpleNamespace(y=np.array([3.0, 4.0, 99.0]))
    for out, present, told in (
        ([1, 1, -1, 1, 1, 1], 0, 7), ([1, 1, -1, 1, 1, 1], 9, 9), ([1, 1, -1, 1, 1, 1], 8, 7),
        ([1, -1e-7, -1, 1, -2, 1], 9, 7), ([-1e-5, 1, -1, 1, -2, 1], 9, -1), ([np.nan, 1, 2, 3, -1, 1], 7, 8),
        ([-1e-7, 1, -1e-8, 1, -1, 1], 9, 8), ([0, 1, -1, 1, -1, 1], 9, 7),
    ):  # fmt: skip
        problem = SimpleNamespace(
            out=np.array(out, float), state=[SimpleNamespace(mode=present)], inp=np.full(4, np.nan),
            sizes=SimpleNamespace(n_x=2),
        )  # fmt: skip
        assert breaking.begin_anew(problem, automaton, 2.0, work) == told, (out, present)
        assert problem.inp[:3].tolist() == [2, 3, 4]
        assert np.isnan(problem.inp[3])


@for_each(("after", "events", "status", "told"), [
    (-1, 2, SUCCESS, "stays"), (0, 2, SUCCESS, "stays"), (2, 2, SUCCESS, "event"), (2, 5, EVENT_CAP, "full"),
    (1, 2, breaking.UNMADE, "unmade"), (2, 2, FAILS, "fails"),
])  # fmt: skip
def test_another_mode_behind_a_change_of_inputs_is_an_event(
    monkeypatch, after, events, status, told
):
    """Written with the inputs before, ended with those behind; its guard is the first of its mode."""
    log = []
    put(
        monkeypatch, breaking.next_interval, release=lambda *_: log.append("release"),
        enter_interval=lambda problem, k: log.append(k), begin_anew=lambda *_: after,
        write_event=lambda *given: log.append(("event", *given[4:])) or (FAILS if told == "fails" else SUCCESS),
        end_event=lambda *_: log.append("end") or SUCCESS,
    )  # fmt: skip
    run = SimpleNamespace(interval=3, t=1.0, events=events, stop=0.0, fresh=0, at=-1)
    state = [SimpleNamespace(mode=0, fired=4)]
    table = [SimpleNamespace(address=a) for a in (5, 0, 6)]
    problem = SimpleNamespace(
        sizes=SimpleNamespace(mechanical=False), state=state, drive=SimpleNamespace(t=np.arange(9.0)),
        functions=SimpleNamespace(table=table),
    )  # fmt: skip
    automaton = SimpleNamespace(starts=np.zeros(2), guards=np.zeros(4), first=np.array([1, 2, 3]))
    work, options = SimpleNamespace(run=[run]), SimpleNamespace(max_events=5, t_end=20.0)
    found = breaking.next_interval(problem, automaton, None, None, options, work, None)
    assert found == (status, NONE)
    written = [3, ("event", 1, CROSSING)]
    assert log == ["release", 4, *{
        "stays": [], "full": [], "event": [*written, 4, "end"], "unmade": [*written, 4], "fails": written,
    }[told]]  # fmt: skip
    assert state[0].mode == (after if told in ("event", "unmade") else 0)
    assert run.at == (1 if told == "unmade" else -1)
    if status == SUCCESS:
        assert (run.interval, run.stop, run.fresh, state[0].fired) == (4, 4.0, 1, -1)
    else:
        assert (run.interval, run.fresh) == (3, 0)


# ---------------------------------------------------------------- forces that hold constraints


@for_each(("last", "values", "left"), [
    ((0, 0), (-1.0, -1.0), None), ((-1, 0), (-1.0, -1.0), [0]), ((0, -1), (-1.0, -1.0), [1]), ((-1, -1), (-1.0, -1.0), [0, 1]),
    ((-1, -1), (0.0, 1.0), []), ((1, -1), (-1.0, -0.9e-6), []), ((1, -1), (-1.0, -1.1e-6), [1]),
])  # fmt: skip
def test_a_force_of_the_wrong_sign_lets_go_at_the_start(monkeypatch, last, values, left):
    """Of what is held by a force; the constraints that it holds are open then, and contacts settle."""
    n_c, n_t, told = 1, 2, []
    first = n_c + n_t
    changes = [SimpleNamespace(side=1, last=one) for one in last]
    links = [SimpleNamespace(change=0), SimpleNamespace(change=1), SimpleNamespace(change=1)]
    rows = [SimpleNamespace(closed=1) for _ in range(first + 3)]

    def change_guards(_, out):
        out[first + n_t :] = values

    put(
        monkeypatch, changing.leave_unloaded, accelerate=lambda _: told.append("forces") or SUCCESS,
        change_guards=change_guards, settle=lambda *given: told.append(given[2:]) or 55,
        holds=lambda problem, c: problem.changes[links[c].change].side > 0,
    )  # fmt: skip
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n_c=n_c, n_t=n_t, n_w=2, rows=first + 3), changes=changes, rows=rows,
        state=[SimpleNamespace(held=6)], links=links,
    )  # fmt: skip
    status = changing.leave_unloaded(problem, None, 1e-6, 1e-9, np.full(first + n_t + 2, np.nan))
    assert [k for k in (0, 1) if changes[k].side == -1] == (left or [])
    opened = [c for c in range(3) if links[c].change in (left or [])]
    assert [c for c in range(3) if rows[first + c].closed == 0] == opened
    assert problem.state[0].held == 6 - len(opened)
    assert told == (["forces"] if left is not None else []) + (
        [(1e-6, 1e-9, -1, 0)] if left else []
    )
    assert status == (55 if left else SUCCESS)


@for_each(
    ("fails", "n_c"),
    [
        (None, 2),
        (None, 0),
        ("impact", 2),
        ("project", 2),
        ("contradicted", 2),
        ("unsatisfied", 2),
        ("hold", 2),
    ],
)
def test_a_constraint_that_begins_strikes_and_what_touches_settles(monkeypatch, fails, n_c):
    """With all of the share of springs that hold it, which stays as it was; up to a part that fails."""
    told, y = [], np.array([0.0, 0, 3, -4])
    n, share = 2, 0.25

    def part(name, answer, bad):
        def does(*given):
            told.append(name)
            if name == "impact":
                assert inp[13] == 1.0
                assert given[2:] == (1e-6, event, "slopes", -1)
                event.row[3:7] = 5.0, 6.0, 7.0, -9.0
            if name == "project":
                assert (given[1], given[2][:4].tolist(), given[3]) == (2.0, [5, 6, 7, -9], 0)
            return bad if name == fails else answer

        return does

    put(
        monkeypatch, changing.change_constraints, identity=lambda *_: None, holds=lambda *_: True,
        constrained=lambda _: True, settle=lambda *given: told.append(given[2:]) or 66,
        **{name: part(name, SUCCESS, FAILS) for name in ("impact", "project")},
        **{name: part(name, -1, 3) for name in ("unsatisfied", "hold", "contradicted")},
    )  # fmt: skip
    inp = np.zeros(20)
    inp[0], inp[13] = 2.0, share
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, n_x=2 * n, n_c=n_c, n_t=0, rows=n_c + 1, penalty=10), inp=inp,
        rows=[SimpleNamespace(closed=0) for _ in range(n_c + 1)], links=np.array([SimpleNamespace(change=0)]),
        changes=[SimpleNamespace(side=-1)], state=[SimpleNamespace(fired=-1, fault=-1)],
    )  # fmt: skip
    contacts = SimpleNamespace(
        rows=[SimpleNamespace(prior=9) for _ in range(n_c + 1)],
        e=np.full(n_c, 0.5),
        e_now=np.zeros(n_c),
    )
    event = SimpleNamespace(
        head=[SimpleNamespace(t=2.0, guard=-1, kind=-1, together=9)], row=np.zeros(9), at=SimpleNamespace(x_plus=3)
    )  # fmt: skip
    options = SimpleNamespace(band=1e-6, slopes="slopes")
    status = changing.change_constraints(problem, contacts, event, options, n_c, y)
    order = ["unsatisfied", "hold", "impact", "project", "contradicted"]
    assert [one for one in told if isinstance(one, str)] == order[
        : ([*order, None].index(fails) + 1)
    ]
    assert inp[13] == share
    if fails:
        assert status == (FAILS if fails in ("impact", "project") else changing.NOT_MET)
        assert problem.state[0].fault == (-1 if fails in ("impact", "project") else 3)
        return
    assert inp[1:5].tolist() == [5, 6, 7, -9]
    assert (contacts.e_now.tolist(), event.head[0].together) == ([0.5] * n_c, 1)
    assert status == (66 if n_c else SUCCESS)
    assert told[5:] == ([(1e-6, pytest.approx(1e-11), -1, 0)] if n_c else [])


BAND, STILL = 1e-6, changing.STILL


@for_each(("out", "last", "rate", "glance", "side"), [
    (2e-6, 0, None, None, 1), (-2e-6, 0, None, None, -1), (-2.0, -1, None, None, 1), (1.0, 1, None, None, 1),
    (0.5e-6, 0, 1.0, None, 1), (0.5e-6, 0, -1.0, None, -1), (-0.5e-6, 1, -1.0, None, -1), (0.0, 0, 0.0, 1.0, 1), (0.0, 0, 0.0, -1.0, -1),
    (0.0, 0, -0.9 * STILL, 1.0, 1), (0.0, 0, -1.1 * STILL, None, -1), (0.0, 1, 0.0, None, 1), (0.0, 1, -0.5 * STILL, None, -1),
])  # fmt: skip
def test_the_side_of_a_change_is_its_sign_or_where_it_goes(
    monkeypatch, out, last, rate, glance, side
):
    """What depends on a force holds; where nothing moves a formula the forces decide."""
    told = []
    put(
        monkeypatch, changing.first_sides, evaluate=lambda *_: None, hold=lambda *_: told.append("hold"),
        accelerate=lambda _: told.append("forces"), rate_of=lambda problem, k: told.append(k) or rate,
        glance=lambda problem, k, y: told.append("glance") or glance,
    )  # fmt: skip
    changes = [SimpleNamespace(side=9, last=0), SimpleNamespace(side=9, last=last)]
    rows = [SimpleNamespace(closed=1) for _ in range(3)]
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n_w=2, rows=3), changes=changes, out=np.array([-7.0, out]), rows=rows,
        functions=SimpleNamespace(table=None), inp=None, state=[SimpleNamespace(held=2)],
    )  # fmt: skip
    changing.first_sides(problem, "y", BAND)
    assert [one.side for one in changes] == [-1, side]
    asked = rate is not None
    assert told == (["hold", "forces", 1] if asked else []) + ["glance"] * (glance is not None)
    if asked:
        assert ([one.closed for one in rows], problem.state[0].held) == ([0, 0, 0], 0)


def test_a_constraint_that_follows_from_another_leaves_nothing_to_choose():
    """Two gradients along one line determine one coordinate, not two."""
    for rows, told in (
        ([[1.0, 2, 3], [2.0, 4, 6]], -1),
        ([[1.0, 2, 3], [2.0, 4, 7]], 1),
        ([[0.0] * 3, [1.0, 0, 0]], -1),
    ):
        marks = np.zeros(3, int)
        assert law.keep_others(np.array(rows), 2, marks) == told


# ---------------------------------------------------------------- states on their constraints


@for_each(("every", "held"), [(False, True), (True, True), (False, False)])
def test_stages_are_put_on_their_constraints_at_their_own_times(monkeypatch, every, held):
    """The end of a step, or each of its stages."""
    t, h, c, asked = 2.0, 0.5, np.array([0.0, 0.25, 1.0]), []

    def project(problem, at, target, width):
        asked.append((at, target.copy()))
        target += 100.0
        return SUCCESS

    def slopes(problem, at, target, out, width):
        out[:] = at + target[0]
        return SUCCESS

    put(
        monkeypatch, stepping.advance, project=project, slopes=slopes, constrained=lambda _: held,
        projected=lambda _: every,
    )  # fmt: skip
    step = SimpleNamespace(K=np.ones((3, 2)), stage=np.zeros(2), new=np.zeros(2))
    A = np.array([[0.0, 0, 0], [0.25, 0, 0], [0.5, 0.5, 0]])
    method = SimpleNamespace(code=0, A=A, c=c, stages=2)
    problem, y = SimpleNamespace(sizes=SimpleNamespace(n_x=1)), np.array([1.0, 2.0])
    assert stepping.advance(problem, method, step, 1, 2, t, y, h, 0) == SUCCESS
    times = [t + 0.25 * h, t + h] if every else [t + h] if held else []
    assert [at for at, _ in asked] == times
    first = y + h * 0.25 + 100.0 * every
    assert step.stage.tolist() == first.tolist()
    slope = t + 0.25 * h + first[0]
    assert step.new == pytest.approx(y + h * (0.5 + 0.5 * slope) + 100.0 * held)


@for_each("finite", [True, False])
def test_the_end_of_a_step_of_newmark_is_kept_on_its_constraints(monkeypatch, finite):
    """And its velocities are what y' of the positions is, in each column."""
    n, width, told = 2, 1, []
    block = 2 * n + 1
    step = SimpleNamespace(new=np.arange(10.0, 10.0 + 2 * block), end=np.zeros(2 * block))
    step.new[0] = 10.0 if finite else np.nan
    put(
        monkeypatch, stepping.advance, newmark_step=lambda *_: SUCCESS, constrained=lambda _: True,
        project=lambda problem, t, y, width: told.append((t, width)) or SUCCESS,
    )  # fmt: skip
    problem = SimpleNamespace(sizes=SimpleNamespace(n=n, n_x=2 * n))
    method = SimpleNamespace(code=NEWMARK)
    assert stepping.advance(problem, method, step, 1, 1, 2.0, None, 0.5, width) == SUCCESS
    assert told == ([(2.5, width)] if finite else [])
    slopes = step.end.reshape(2, block)
    assert slopes[:, :n].tolist() == ([[12, 13], [17, 18]] if finite else [[0, 0], [0, 0]])
    assert not slopes[:, n:].any()


@for_each("status", [SUCCESS, FAILS])
def test_an_event_of_the_inputs_is_written_with_the_state_before_it(monkeypatch, status):
    """It has no zero of its own, so no derivatives of one; nothing jumps but what its inputs change."""
    n, columns, block, k = 2, 2, 3, 1
    names = ("x_minus", "x_plus", "f_minus", "f_plus", "s_minus")
    at = SimpleNamespace(size=30, **{name: 6 * j for j, name in enumerate(names)})
    parts, y = np.full((3, 30), 7.0), np.arange(1.0, 10.0)
    head = np.array([SimpleNamespace(t=9.0, rest=9.0, D=9.0, r_t=9.0, bend=9.0, guard=9, kind=9, before=9, together=9, how=9) for _ in range(3)])  # fmt: skip
    events, work = SimpleNamespace(head=head, parts=parts, at=at), SimpleNamespace(run=[SimpleNamespace(events=k, t=0.5)], y=y, step=SimpleNamespace(slope=np.zeros(3)))  # fmt: skip
    problem, same = SimpleNamespace(sizes=SimpleNamespace(n_x=n), state=[SimpleNamespace(mode=4)]), []  # fmt: skip

    def flow(problem, t, x, slope, width):
        assert (t, width) == (0.5, 0)
        slope[:] = 10 * x[:block]
        return status

    put(monkeypatch, breaking.write_event, flow=flow, identity=lambda sizes, event: same.append(event.row is not None))  # fmt: skip
    assert breaking.write_event(problem, SimpleNamespace(columns=columns), work, events, 3, CROSSING) == status  # fmt: skip
    if status != SUCCESS:
        assert (parts == 7.0).all()
        return
    assert same == [True]
    row, wanted = parts[k], np.zeros(30)
    wanted[0:3] = wanted[6:9] = y[:3]
    wanted[12:15], wanted[24:30] = 10 * y[:3], y[3:9]
    assert row.tolist() == wanted.tolist()
    assert (parts[[0, 2]] == 7.0).all()
    assert vars(head[k]) == {"t": 0.5, "rest": 0.0, "D": 0.0, "r_t": 0.0, "bend": 0.0, "guard": 3, "kind": CROSSING, "before": 4, "together": 1, "how": breaking.DRIVEN}  # fmt: skip
    assert vars(head[0])["t"] == vars(head[2])["t"] == 9.0
