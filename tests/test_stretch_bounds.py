"""Starts, stretches and their constraints where a number lies on a bound, or where there is only one of a kind."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.manifold import DEPENDENT
from explorer.kernels.event_driven.records import (
    CHAINED,
    INDEX1,
    NONE,
    PENALTY,
    PROJECTED,
)

marching = plain("event_driven.march")
manifold = plain("event_driven.manifold")
starting = plain("event_driven.initial_state")
dense = plain("linear_algebra.dense_lu")
FAILS = 77


# ---------------------------------------------------------------- a start


NX, NC, NT, NR, ROWS = 4, 3, 2, 2, 7


def begun(
    monkeypatch,
    e=(0.1, 0.2, 0.3),
    mu=(0.1, 0.2),
    mu_s=(0.2, 0.4),
    rate=(0.0, 0.0),
    v=(0.25, -0.5),
    wrt=(0, -1),
):
    """Begin a run of three contacts, two of them with friction, and two constraints."""
    n, first = NX // 2, np.concatenate([[1.0, 2.0, *v], e, 100.0 + np.arange((NX + NC) * NR)])
    G, y, run = (
        np.arange(1.0, 1 + ROWS * n).reshape(ROWS, n),
        np.full(3 * (NX + 1), np.nan),
        [space(at=-1)],
    )

    def evaluate(table, which, inp, out):
        out[:] = np.nan
        if which == 8:
            out[: len(first)] = first
        else:
            moves = np.append(np.full(NC + NT, np.nan), np.array(rate) - G[NC + NT :] @ v)
            told = np.concatenate(
                [
                    np.full(NC, 0.5),
                    np.full(NT, np.nan),
                    [0.0, 0.0],
                    moves,
                    G.ravel(),
                    np.full(ROWS, np.nan),
                    mu,
                    mu_s,
                ]
            )
            out[: len(told)] = told

    put(monkeypatch, starting.begin, evaluate=evaluate, holds=lambda *_: True)
    contacts = space(e=np.full(NC, np.nan), e_rho=np.full((NC, NR), np.nan))
    problem = space(sizes=space(n_x=NX, n=n, n_c=NC, n_t=NT, n_rho=NR, rows=ROWS, n_w=0), inp=np.zeros(9), out=np.empty(80),
                    functions=space(table=np.zeros(9)), wrt=np.array(wrt))  # fmt: skip
    options = space(columns=2, given_state=False, given_seeds=False, band=0.25)
    return starting.begin(problem, contacts, options, y, run), y, contacts, run[0].at


@for_each("w", [0, 1])
def test_a_start_by_any_parameter_and_of_all_contacts(monkeypatch, w):
    status, y, contacts, _ = begun(monkeypatch, wrt=(w, -1))
    assert status == SUCCESS
    assert contacts.e.tolist() == [0.1, 0.2, 0.3]
    assert contacts.e_rho.tolist() == [[108, 109], [110, 111], [112, 113]]
    assert y.reshape(3, 5)[1:].tolist() == [[100 + w, 102 + w, 104 + w, 106 + w, 0], [0] * 5]


@for_each(("given", "told", "at"), [
    ({"e": (0.1, 1.5, 0.3)}, "RESTITUTION", 1), ({"e": (0.1, 0.2, -0.5)}, "RESTITUTION", 2), ({"mu": (0.1, 0.5)}, "FRICTION", 1), ({"mu": (0.3, 0.2)}, "FRICTION", 0),
    ({"mu_s": (0.2, np.inf)}, "FRICTION", 1), ({"rate": (0.0, 1.4e-6)}, None, 1), ({"rate": (0.0, 1.6e-6)}, "VIOLATED", 1), ({"v": (0.0, 0.0), "rate": (1.1e-6, 0.0)}, "VIOLATED", 1),
    ({"v": (0.0, 0.0), "rate": (0.9e-6, 0.0)}, None, 1),
])  # fmt: skip
def test_a_start_is_refused_by_the_contact_or_the_constraint_at_fault(monkeypatch, given, told, at):
    """A rate is compared with 1e-6 of 1 and the largest speed."""
    status, *_, where = begun(monkeypatch, **given)
    assert status == (SUCCESS if told is None else getattr(starting, told))
    assert where == at


# ---------------------------------------------------------------- constraints


@for_each(
    ("n_c", "n_t", "phi", "form"),
    itertools.product((0, 1, 3), (0, 1), (0, 1, 2), (INDEX1, PROJECTED, PENALTY)),
)
def test_states_are_kept_on_constraints_where_there_are_some(n_c, n_t, phi, form):
    problem = space(sizes=space(n_c=n_c, n_t=n_t, rows=n_c + n_t + phi), state=[space(form=form)])
    assert manifold.constrained(problem) == (phi > 0 and form != PENALTY)
    assert manifold.projected(problem) == (phi > 0 and form == PROJECTED)


@for_each(
    ("change", "sign", "side", "told"),
    [
        (-1, 0, 0, True),
        (0, 1, 1, True),
        (0, 1, -1, False),
        (0, -1, -1, True),
        (0, -1, 1, False),
        (0, 1, 0, False),
        (0, -1, 0, False),
    ],
)
def test_a_constraint_holds_on_its_side_of_a_change(change, sign, side, told):
    """Not where the side is still to be found, which is 0."""
    problem = space(links=[None, space(change=change, sign=sign)], changes=[space(side=side)])
    assert manifold.holds(problem, 1) == told


@for_each("size", [100.0, 1.0, 0.01])
@for_each(("part", "closed"), [(2.0, [1, 1]), (0.5, [1, 0]), (0.0, [1, 0])])
@for_each("form", [INDEX1, PENALTY])
def test_a_constraint_is_held_where_1e_8_of_its_gradient_is_left(
    monkeypatch, size, part, closed, form
):
    """By penalties in any case; what follows from others is counted."""
    G = np.array([[1.0, 0.0], [size, size * part * DEPENDENT]])
    put(
        monkeypatch,
        manifold.hold,
        evaluate=lambda table, which, inp, out: out.__setitem__(slice(6, 10), G.ravel()),
    )
    rows = [space(closed=1), space(closed=9), space(closed=9)]
    problem = space(sizes=space(n=2, n_x=4, n_c=1, n_t=0, rows=3), functions=space(table=None), inp=np.zeros(5), out=np.zeros(12), rows=rows,
                    saddle=space(W=np.full((4, 4), np.nan)), state=[space(held=9, dependent=9, form=form)], links=[space(change=-1, sign=0)] * 2, changes=[])  # fmt: skip
    problem.out[4:8] = 9.0
    put(
        monkeypatch,
        manifold.hold,
        evaluate=lambda table, which, inp, out: out.__setitem__(slice(8, 12), G.ravel()),
    )
    assert manifold.hold(problem, 0.5, np.arange(1.0, 5.0)) == -1
    assert problem.inp.tolist() == [0.5, 1, 2, 3, 4]
    assert [row.closed for row in rows] == [1, *([1, 1] if form == PENALTY else closed)]
    assert problem.state[0].dependent == 2 - sum(closed)
    assert problem.state[0].held == sum(row.closed for row in rows)


def projecting(monkeypatch, offs, reach, width=0, factors=0):
    """Return the status, how often a position is corrected, and what else is asked."""
    said, offs = [], iter(offs)
    put(monkeypatch, manifold.project, held_constraints=lambda _: 1, eliminate=lambda _: False, assemble=lambda problem, first: said.append(("first", first)),
        lu_factor=lambda *_: factors, evaluate=lambda *_: None, residuals=lambda problem, level: said.append(level) or (next(offs) if level == 0 else 0.0),
        correction=lambda problem, size: said.append(("right", size)), project_columns=lambda problem, y, size, width: said.append(("columns", size, width)))  # fmt: skip
    problem = space(sizes=space(n=2, n_x=4, n_c=2, n_t=1), functions=space(table=None), inp=np.zeros(5), out=None,
                    saddle=space(W=None, pivots=None, tangent=np.array([0.0, 0.0, 0.0])))  # fmt: skip
    status = manifold.project(problem, 0.5, np.array([reach, -0.5 * reach, 9.0, 9.0, 9.0]), width)
    return status, said


@for_each(("offs", "reach", "count"), [
    ([1e-9, 0.0], 1e-6, 1), ([1e-9], 1e6, 0), ([0.9 * manifold.DONE], 1.0, 0), ([manifold.DONE], 1.0, 0), ([1.1 * manifold.DONE, 0.0], 1.0, 1), ([50 * manifold.DONE], 64.0, 0),
    ([1.0, 0.25, 0.125], 1.0, 2), ([1.0, 0.5], 1.0, 1), ([1.0, 0.75, 0.1, 0.0], 1.0, 1), ([1.0, np.nan], 1.0, 1), ([0.5 * manifold.DONE, 0.0], 0.01, 1),
])  # fmt: skip
def test_positions_are_corrected_until_they_are_right_or_come_no_nearer(
    monkeypatch, offs, reach, count
):
    """Beside the largest of them; each time they come nearer by half at least."""
    status, said = projecting(monkeypatch, offs, reach)
    assert status == SUCCESS
    assert said == [("first", 3), *[0, ("right", 3)] * count, 0, 1, ("right", 3)]


@for_each("width", [0, 1, 2])
def test_columns_are_put_right_where_there_are_some(monkeypatch, width):
    assert projecting(monkeypatch, [0.0], 1.0, width)[1][4:] == [("columns", 3, width)] * (
        width > 0
    )
    assert projecting(monkeypatch, [0.0], 1.0, width, factors=2)[0] == SINGULAR


def test_residuals_are_put_right_by_all_of_the_factors():
    """The last row of the matrix counts with its first column, and rows are exchanged."""
    W = np.array(
        [[0.1, 0.0, 2.0, 0.5], [0.0, 3.0, 0.0, 1.0], [2.0, 0.0, 0.0, 0.0], [0.5, 1.0, 0.0, 0.0]]
    )
    factors, pivots = W.copy(), np.zeros(4, int)
    assert dense.lu_factor(factors, 4, 3, 3, pivots) == 0
    saddle = space(W=factors, pivots=pivots, tangent=np.array([9.0, 9.0, 0.5, -0.25]))
    manifold.correction(space(saddle=saddle, sizes=space(n=2)), 4)
    np.testing.assert_allclose(
        saddle.tangent, np.linalg.solve(W, [0.0, 0.0, 0.5, -0.25]), rtol=1e-13
    )


# ---------------------------------------------------------------- a march


@for_each(("value", "how"), [(-0.25, 1), (-0.2500001, CHAINED), (0.25, 1)])
def test_a_guard_that_is_beyond_its_band_is_chained(monkeypatch, value, how):
    """One that lies on the edge of it is not."""
    said = []
    put(monkeypatch, marching.go_on, begin_stretch=lambda *_: (SUCCESS, 0), is_change=lambda *_: True,
        happen=lambda *given: said.append(given[-2:]) or FAILS)  # fmt: skip
    work = space(
        run=[space(t=0.0, events=0, fresh=1)], search=space(watch=[space(sign=1.0)], values=[value])
    )
    task = space(problem=space(sizes=space(mechanical=True)), automaton=None, surfaces=None, method=None, contacts=None, work=work,
                 record=space(events=None, steps=None))  # fmt: skip
    assert marching.go_on(task, space(band=0.25, t_end=1.0), 9.0, 9) == FAILS
    assert said == [(0, how)]


@for_each(("dependent", "asked"), [(0, False), (1, True), (2, True)])
def test_a_stretch_is_contradictory_only_where_constraints_follow_from_others(
    monkeypatch, dependent, asked
):
    said = []
    put(monkeypatch, marching.begin_stretch, contradiction=lambda *_: said.append("asked") or -1, chart=lambda *_: None,
        flow=lambda problem, t, y, slope, width: slope.__setitem__(slice(None), [np.nan, 1.0]) or SUCCESS)  # fmt: skip
    work = space(
        run=[space(t=0.0, h=0.5)],
        step=space(slope=np.zeros(2)),
        search=None,
        y=np.zeros(2),
        rank=None,
    )
    told = marching.begin_stretch(
        space(state=[space(dependent=dependent, fault=-1)]),
        None,
        None,
        None,
        space(columns=0, h_max=1.0, t_end=1.0),
        work,
    )
    assert told == (marching.NOT_FINITE, NONE)  # of the first slope, too
    assert said == ["asked"] * asked


@for_each(("t_end", "ahead"), [(0.01, 1e-6), (0.05, 5e-6), (10.0, 1e-5)])
@for_each("breaks", [(), (0.5,), (0.5, 0.75)])
def test_a_start_looks_ahead_by_a_part_of_the_run_and_stops_at_the_first_break(
    monkeypatch, t_end, ahead, breaks
):
    """What is slow is so beside 1 and the largest velocity."""
    said = []
    put(monkeypatch, marching.start, enter_interval=lambda *_: None, release=lambda *_: None, begin=lambda *_: SUCCESS, constrained=lambda _: False,
        settle=lambda problem, contacts, band, slow, still, begins: said.append(slow) or SUCCESS)  # fmt: skip
    run, state = space(at=0), [space(mode=0)]
    none = np.array([], object)
    problem = space(sizes=space(n_c=1, n_t=0, rows=1, n=1, n_x=2, n_w=0, mechanical=True), state=state, drive=space(t=np.array(breaks)),
                    functions=space(table=None))  # fmt: skip
    contacts = space(
        lcp=space(member=np.zeros(1), kept=[space(count=0)]),
        rows=np.array([(7,)], [("prior", int)]).view(np.recarray),
    )
    work = space(run=[run], y=np.array([9.0, -0.25, 9.0]), search=space(watch=none, values=None))
    options = space(h=0.0, t_end=t_end, columns=0, band=0.25)
    assert (
        marching.start(
            problem, space(last=none), space(watch=none, history=[]), contacts, options, work
        )
        == SUCCESS
    )
    assert state[0].ahead == pytest.approx(ahead)
    assert run.stop == (breaks[0] if breaks else t_end)
    assert said == [pytest.approx(1.25e-12, abs=0)]
