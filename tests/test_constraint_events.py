"""Constraints that begin, end, contradict each other or lose rank: bounds exactly hit, and what is asked."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import RANK_LOST, SUCCESS
from explorer.kernels.event_driven.manifold import DEPENDENT

changing, ranks = plain("event_driven.change_constraints"), plain("event_driven.constraint_rank")
clashing, eliminating = plain("event_driven.contradiction"), plain("event_driven.elimination")
BAND = 2.0**-10


# ---------------------------------------------------------------- sides and forces


@for_each(
    ("value", "rate", "sides"),
    [
        (BAND, -1.0, (-1, -1)),
        (-BAND, 1.0, (1, 1)),
        (1.01 * BAND, -1.0, (1, -1)),
        (-1.01 * BAND, 1.0, (-1, 1)),
    ],
)
def test_a_change_on_the_edge_of_its_band_goes_where_its_rate_leads(
    monkeypatch, value, rate, sides
):
    """What holds is found at t = 0; the second change is on its zero in any case."""
    told = []
    put(monkeypatch, changing.first_sides, evaluate=lambda *_: None, hold=lambda problem, t, y: told.append((t, y)), accelerate=lambda _: None,
        rate_of=lambda problem, k: rate)  # fmt: skip
    changes = [space(side=9, last=0), space(side=9, last=0)]
    problem = space(sizes=space(n_w=2, rows=0), changes=changes, out=np.array([value, 0.0]), rows=[], functions=space(table=None), inp=None,
                    state=[space(held=2)])  # fmt: skip
    changing.first_sides(problem, "y", BAND)
    assert tuple(one.side for one in changes) == sides
    assert told == [(0.0, "y")]


@for_each(("force", "n_c", "side"), [(-BAND, 2, 1), (-1.01 * BAND, 2, -1), (-1.0, 0, -1)])
def test_a_force_is_let_go_that_pulls_by_more_than_its_band(monkeypatch, force, n_c, side):
    """Without contacts there is nothing to settle."""
    told, first, n_t = [], n_c + 1 * (n_c > 0), int(n_c > 0)
    put(monkeypatch, changing.leave_unloaded, accelerate=lambda _: SUCCESS, holds=lambda *_: True, settle=lambda *_: told.append("settle") or 55,
        change_guards=lambda problem, values: values.__setitem__(slice(first + n_t, None), force))  # fmt: skip
    changes = [space(side=1, last=-1)]
    problem = space(sizes=space(n_c=n_c, n_t=n_t, n_w=1, rows=first), changes=changes, rows=[space(closed=0)] * first, state=[space(held=0)])  # fmt: skip
    status = changing.leave_unloaded(problem, None, BAND, 1e-9, np.full(first + n_t + 1, np.nan))
    assert changes[0].side == side
    settled = side < 0 < n_c
    assert (status, told) == ((55, ["settle"]) if settled else (SUCCESS, []))


@for_each(("part", "told"), [(1.0, -1), (1.0 + 1e-12, 0), (-1.0, -1), (-1.0 - 1e-12, 0)])
def test_a_constraint_may_be_off_by_a_millionth_of_the_places_and_of_the_speeds(monkeypatch, part, told):  # fmt: skip
    """And no more: exactly that much is satisfied."""
    n, off = 2, changing.OFF
    put(monkeypatch, changing.unsatisfied, evaluate=lambda *_: None, holds=lambda *_: True)
    links = np.array([(4,)], [("change", int)]).view(np.recarray)
    problem = space(sizes=space(n=n, n_c=0, n_t=0, rows=1), functions=space(table=None), inp=np.array([50.0, -3.0, 1.0, 80.0, 90.0]),
                    out=np.array([part * (off * (1.0 + 3.0))]), state=[space(form=changing.PENALTY + 1)], rows=[space(closed=0)], links=links)  # fmt: skip
    assert changing.unsatisfied(problem, 4) == told
    put(monkeypatch, changing.contradicted, evaluate=lambda *_: None, holds=lambda *_: True)
    problem.inp[1:] = [70.0, 80.0, -7.0, 2.0]
    problem.out = np.array([np.nan, part * (off * (1.0 + 7.0)), 0.0, 0.0])
    assert changing.contradicted(problem) == told


@for_each(("fault", "status"), [(-1, 66), (0, changing.NOT_MET), (2, changing.NOT_MET)])
def test_what_rests_is_judged_by_the_speeds_behind_an_event(monkeypatch, fault, status):
    """1e-12 of 1 + the largest of them, not of the places; a fault of the first constraint is one too."""
    told, n = [], 2
    put(monkeypatch, changing.change_constraints, identity=lambda *_: None, holds=lambda *_: True, unsatisfied=lambda *_: -1, hold=lambda *_: -1,
        impact=lambda *_: SUCCESS, constrained=lambda _: False, contradicted=lambda _: fault, settle=lambda *given: told.append(given[2:]) or 66)  # fmt: skip
    row = np.array([99.0, 0.5, 88.0, 0.25, 77.0, -0.75, 66.0])
    problem = space(sizes=space(n=n, n_x=2 * n, n_c=1, n_t=0, rows=2, penalty=10), inp=np.zeros(20), rows=[space(closed=0)] * 2,
                    links=np.array([space(change=0)]), changes=[space(side=-1)], state=[space(fired=-1, fault=-1)])  # fmt: skip
    contacts = space(rows=[space(prior=9)] * 2, e=np.zeros(1), e_now=np.zeros(1))
    event = space(head=[space(t=2.0, guard=-1, kind=-1, together=9)], row=row, at=space(x_plus=2))
    assert changing.change_constraints(problem, contacts, event, space(band=BAND, slopes=None), 1, None) == status  # fmt: skip
    assert problem.state[0].fault == fault
    # the state behind the event is (88, 0.25, 77, -0.75)
    assert told == ([(BAND, pytest.approx(78e-12, abs=0), -1, 0)] if fault < 0 else [])


# ---------------------------------------------------------------- what follows from others


def clash(
    monkeypatch, G, gamma, *, count=None, dependent=1, y=(0.0, 0.0, 0.0, 0.0), span=1.0, held=None
):
    """Return which of some constraints contradicts those before it, and the problem."""
    G, gamma = np.array(G, float), np.array(gamma, float)
    rows = len(G)
    seen = []

    def evaluate(table, which, inp, out):
        seen.append(inp.copy())
        out[:] = [*[np.nan] * (2 * rows), *G.ravel(), *gamma]

    put(monkeypatch, clashing.contradiction, evaluate=evaluate, holds=lambda problem, c: held is None or held[c])  # fmt: skip
    inp = np.arange(100.0, 120.0)
    problem = space(
        sizes=space(n=2, n_c=0, n_t=0, rows=rows if count is None else count, penalty=9, rates=12), functions=space(table=None),
        out=np.empty(5 * rows), inp=inp, saddle=space(W=np.full((rows + 1, 4), np.nan)), state=[space(dependent=dependent, form=0)],
    )  # fmt: skip
    return clashing.contradiction(problem, 0.25, np.array(y), span), inp, seen


def test_constraints_are_looked_at_where_the_state_is_without_penalties(monkeypatch):
    told, inp, seen = clash(
        monkeypatch, [[1.0, 0.0], [1.0, 0.0]], [0.5, 1.5], y=(1.0, 2.0, 3.0, 4.0)
    )
    assert told == 1
    assert seen[0].tolist() == [0.25, 1, 2, 3, 4, 105, 106, 107, 108, 0, 0, *range(111, 120)]
    assert inp.tolist() == [0.25, 1, 2, 3, 4, *range(105, 120)]


@for_each(("count", "dependent"), [(0, 1), (2, 0), (0, 0)])
def test_where_none_follows_from_others_nothing_is_looked_at(monkeypatch, count, dependent):
    told, inp, seen = clash(monkeypatch, [[1.0, 0.0], [1.0, 0.0]], [0.5, 1.5], count=count, dependent=dependent)  # fmt: skip
    assert (told, seen) == (-1, [])
    assert inp.tolist() == [*range(100, 120)]


@for_each("size", [100.0, 1.0, 0.01])
@for_each(("part", "told"), [(2.0, -1), (0.5, 1), (0.0, 1)])
def test_a_row_follows_from_others_where_1e_8_of_its_length_is_left(monkeypatch, size, part, told):
    rows = [[1.0, 0.0], [size, size * part * DEPENDENT]]
    assert clash(monkeypatch, rows, [0.0, size])[0] == told


@for_each(("gamma", "told"), [(1.0, 1), (-1.0, 1), (0.0, -1)])
def test_a_row_without_a_gradient_contradicts_all_if_it_moves(monkeypatch, gamma, told):
    """As 0 = gamma does; it takes no direction from those behind it."""
    assert clash(monkeypatch, [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [0.3, gamma, 0.4])[0] == told
    rows = [[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    assert clash(monkeypatch, rows, [0.3, gamma, 0.4])[0] == (told if told > 0 else 2)


@for_each(("part", "told"), [(0.9, -1), (1.1, 2)])
def test_what_cancels_is_judged_by_the_sum_of_its_terms(monkeypatch, part, told):
    """G_2 = G_0 + G_1 with gamma 500 and -500, at 1e-6 of 500 + 500 and what is left of them."""
    gamma = part * 1e-6 * 1000
    assert clash(monkeypatch, np.eye(2)[[0, 1, 1]] + [[0, 0], [0, 0], [1, 0]], [500.0, -500.0, gamma])[0] == told  # fmt: skip


@for_each(
    ("y", "by"),
    [
        ((0.5, 0.0, 3.0, 0.0), 18.5),
        ((0.0, 0.25, 0.0, 2.0), 16.25),
        ((0.0, 0.0, 9.0, 9.0), 0.0),
        ((8.0, 2.0, 4.0, 0.0), 10.0),
    ],
)
def test_round_off_is_told_by_speeds_and_places(monkeypatch, y, by):
    """1e-10 (v^2 / x + x / T^2), with the largest of either; nothing where all places are 0."""
    for part, told in ((0.9, -1), (1.1, 1)):
        gamma = 1e-10 * by * part if by else part * 1e-16
        found = clash(monkeypatch, [[1.0, 0.0], [1.0, 0.0]], [0.0, gamma], y=y)[0]
        assert found == (told if by else 1)


@for_each("held", itertools.product((True, False), repeat=3))
def test_only_constraints_that_hold_contradict_each_other(monkeypatch, held):
    """All have one gradient, and each another gamma: the second of those that hold is the one."""
    told = clash(monkeypatch, [[2.0, 1.0]] * 3, [0.0, 1.0, 3.0], held=held)[0]
    assert told == ([c for c in range(3) if held[c]] + [-1, -1])[1]


# ---------------------------------------------------------------- rank


def test_pivots_are_sought_below_and_the_first_of_equals_is_taken():
    rank = space(G=np.array([[0.0, 2.0], [-3.0, 1.0]]), columns=np.array([0, 1]), now=[space(last=np.nan)])  # fmt: skip
    assert ranks.eliminate(rank, 2, 2, False) == 1.0  # of det = 6
    assert rank.now[0].last == pytest.approx(2 / 3)
    rank.G[:] = [[1.0, -1.0], [1.0, 1.0]]
    assert ranks.eliminate(rank, 2, 2, True) == 1.0
    assert rank.columns.tolist() == [0, 1]
    assert rank.now[0].last == pytest.approx(2.0)
    rank.G[:] = [[1.0, 1.0], [1.0, -1.0]]
    assert ranks.eliminate(rank, 2, 2, True) == -1.0
    assert rank.columns.tolist() == [0, 1]


@for_each(("constrained", "held"), itertools.product((True, False), (0, 1, 2)))
def test_rank_is_watched_where_constraints_hold(monkeypatch, constrained, held):
    put(
        monkeypatch,
        ranks.watched,
        constrained=lambda _: constrained,
        held_constraints=lambda _: held,
    )
    assert ranks.watched(None) == (constrained and held > 0)


def rank_along(monkeypatch, *signs):
    """Return what a step of length 0.5 from t = 1 tells, along which the determinant has signs.

    Those of one choice of coordinates after the other.
    """
    said, now, signs = [], space(sign=1.0, last=1.0, lost=np.nan), [*signs]

    def along(problem, rank, t, y, new, h, s, every):
        said.append(s)
        return 1

    def eliminate(rank, rows, held, chooses):
        if chooses:
            signs.pop(0)
        return 1.0 if chooses else signs[0](said[-1])

    put(monkeypatch, ranks.keeps_rank, along=along, eliminate=eliminate, watched=lambda _: True,
        chart=lambda problem, rank, t, y: said.append((t, y)))  # fmt: skip
    problem = space(state=[space(dependent=0)])
    return ranks.keeps_rank(problem, space(now=[now]), 1.0, "y", "new", 0.5), now, said


def test_a_determinant_that_keeps_its_sign_is_looked_at_once(monkeypatch):
    """At the end of the step, not behind it, where the chart is chosen anew."""
    status, _, said = rank_along(monkeypatch, lambda s: 1.0 if s <= 1.0 else -1.0)
    assert (status, said) == (SUCCESS, [1.0, (1.5, "new")])


def test_a_second_change_of_sign_is_sought_behind_the_first_and_within_the_step(monkeypatch):
    """At 0.25, where other coordinates are chosen, and at 0.75, where they lose their sign."""
    status, _, said = rank_along(
        monkeypatch, lambda s: 1.0 if s < 0.25 else -1.0, lambda s: -1.0 if 0.75 <= s <= 1.0 else 1.0, lambda s: 1.0
    )  # fmt: skip
    assert (status, said[-1]) == (SUCCESS, (1.5, "new"))
    ends = [s for s in said if not isinstance(s, tuple)]
    assert max(ends) == 1.0
    first = next(k for k, s in enumerate(ends) if k and s == 1.0)
    assert ends[first - 1] == pytest.approx(0.25, abs=1e-15)
    assert ends[-2] == pytest.approx(0.75, abs=1e-15)
    assert min(ends[first:]) > 0.25


def test_a_loss_is_told_with_its_time(monkeypatch):
    put(monkeypatch, ranks.keeps_rank, LOST=2.0)  # so any change of sign is one
    status, now, _ = rank_along(monkeypatch, lambda s: 1.0 if s < 0.75 else -1.0)
    assert (status, now.lost) == (RANK_LOST, pytest.approx(1.375, abs=1e-15))


# ---------------------------------------------------------------- formulas in place of pivots


def formulas(monkeypatch, masses, left, sizes, *, closed=(0, 0, 0), held=None):
    """Return whether factors are taken of the given pivots, and the workspace."""
    n, n_phi = len(masses), len(left)
    order, rng = n + n_phi, np.random.default_rng(0)
    solution, factors = rng.normal(size=order), rng.normal(size=(order, order))
    factors[np.diag_indices(order)] = [*masses, *-np.array(left)]
    table = [space(address=1, data=2), space(address=3, data=4)]

    def call(address, data, out, inp):
        assert (address, data, inp) == (3, 4, "inp")
        told = np.concatenate([solution, sizes, factors.ravel()])
        out[:] = np.nan
        out[: len(told)] = told

    put(monkeypatch, eliminating.eliminate, call=call)
    saddle = space(W=np.full((order, order), np.nan), solution=np.full(order, np.nan), pivots=np.full(order, -1))  # fmt: skip
    problem = space(
        functions=space(eliminated=1, table=table), sizes=space(n=n, n_c=2, n_t=1, rows=3 + n_phi), saddle=saddle, inp="inp",
        out=np.empty(60), state=[space(held=n_phi if held is None else held)], rows=[space(closed=c) for c in (*closed, *[1] * n_phi)],
    )  # fmt: skip
    return eliminating.eliminate(problem), saddle, solution, factors


@for_each(("masses", "left", "sizes", "taken"), [
    ((1e-6, 3e-6, 2e-6), (1.0, 0.5), (2.0, 3.0), True), ((1e-6, 3e-6, 2.9e-10), (1.0, 0.5), (2.0, 3.0), False), ((1.0, 1.1e-4, 0.5), (1.0, 0.5), (2.0, 3.0), True),
    ((0.9e-4, 1.0, 0.5), (1.0, 0.5), (2.0, 3.0), False), ((1.0, 1.0, 1.0), (2.1e-3, 3.1e-3), (2.0, 3.0), True), ((1.0, 1.0, 1.0), (1.9e-3, 3.1e-3), (2.0, 3.0), False),
    ((1.0, 1.0, 1.0), (2.1e-3, 2.9e-3), (2.0, 3.0), False), ((1.0, 1.0, 1.0), (-1.0, 1.0), (2.0, 3.0), False), ((1.0, np.nan, 1.0), (1.0, 1.0), (2.0, 3.0), False),
    ((1.0, 1.0, 1.0), (1.0, np.nan), (2.0, 3.0), False), ((1.0, 1.0, 1.0), (6e-6, 8e-6), (5e-3, 7e-3), True), ((0.0, 0.0, 0.0), (1.0, 1.0), (2.0, 3.0), False),
])  # fmt: skip
def test_factors_by_formulas_are_taken_where_no_pivot_is_small(
    monkeypatch, masses, left, sizes, taken
):
    """1e-4 of the largest mass, and 1e-3 of what a row of G M^-1 G' is by itself."""
    good, saddle, solution, factors = formulas(monkeypatch, masses, left, sizes)
    assert good == taken
    if taken:
        np.testing.assert_array_equal(saddle.W, factors)
        np.testing.assert_array_equal(saddle.solution, solution)
        assert saddle.pivots.tolist() == [*range(5)]
    else:
        assert np.isnan(saddle.W).all()


@for_each(
    ("closed", "held"),
    [((1, 0, 0), 2), ((0, 1, 0), 2), ((0, 0, 1), 2), ((0, 0, 0), 1), ((0, 0, 0), 3)],
)
def test_formulas_hold_all_constraints_and_nothing_else(monkeypatch, closed, held):
    assert not formulas(monkeypatch, (1.0, 1.0, 1.0), (1.0, 1.0), (1.0, 1.0), closed=closed, held=held)[0]  # fmt: skip
