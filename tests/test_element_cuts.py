"""Elements that are cut where their active set ends, uncompiled: the search, on known switches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import NEWTON_CAP, SUCCESS

cutting, differing = plain("fesd.march_active_set"), plain("fesd.tangents")
SURFACE, MULTIPLIER, COARSE = cutting.SURFACE, cutting.MULTIPLIER, cutting.COARSE
FAILS = 77  # a status


class Cut:
    """An element that meets switches (kind, which, where); an equation for one is solved from near."""

    def __init__(self, monkeypatch, h, switches, *, near=9.0, kind=SURFACE, which=1, fraction=0.5, coarse_from=np.inf, fails_from=np.inf, drifts=lambda h: -1.0, seen=None):  # fmt: skip
        self.asked, self.kept, self.switches = [], [], switches
        self.ending = space(which=which, bound=9.0, fraction=fraction, kind=9)
        newton = space(h=h, cap=50)
        self.newton = newton

        def element(el, t, x, end, what, which, bound):
            self.asked.append((what, which if what else None, round(newton.h, 9)))
            if what == 0:
                return FAILS if newton.h >= fails_from else SUCCESS
            for kind, number, at in switches:
                if (kind, number) == (what, which) and abs(newton.h - at) <= near:
                    newton.h = at
                    return SUCCESS
            return NEWTON_CAP

        def violated(el, start, ending, coarse):
            if newton.h >= coarse_from:
                return COARSE
            met = [
                one
                for one in (switches if seen is None else seen)
                if one[2] < newton.h * (1 - 1e-12)
            ]
            if not met:
                return 0
            kind, number, at = min(met, key=lambda one: one[2])
            self.ending.which, self.ending.bound, self.ending.fraction = number, 0.5, at / newton.h
            return kind

        put(monkeypatch, cutting.cut, element=element, violated=violated, put_aside=lambda el, kept: self.kept.append("aside"), bring_back=lambda el, kept: self.kept.append("back"),
            drift=lambda el, which: drifts(newton.h))  # fmt: skip
        ws = space(element=space(solver=space(newton=[newton]), mode=space(sign=np.array([1, 1, 1]))), start=space(c=np.array([0.0, 0.5, 0.0])), ending=[self.ending], kept=None)  # fmt: skip
        self.status = cutting.cut(ws, 1.0, None, h, None, kind, 3)

    def told(self):
        return self.status, round(self.newton.h, 9), self.ending.kind, self.ending.which


@for_each(("at", "fraction", "kind"), itertools.product((0.3, 0.5, 0.9, 1.0), (0.25, 0.5, 1.0), (SURFACE, MULTIPLIER)))  # fmt: skip
def test_an_element_is_cut_where_its_switch_is(monkeypatch, at, fraction, kind):
    """By one solution of its equation, from the guess that there is."""
    one = Cut(monkeypatch, 1.0, [(kind, 1, at)], kind=kind, fraction=fraction)
    assert one.told() == (SUCCESS, at, kind, 1)
    assert one.asked == [(kind, 1, fraction)]
    assert one.ending.bound == (0.0 if kind == SURFACE else 9.0)


def test_a_surface_on_which_an_element_starts_is_told(monkeypatch):
    one = Cut(monkeypatch, 1.0, [(SURFACE, 2, 0.5)], which=2)
    assert (one.told(), one.ending.bound) == ((SUCCESS, 0.5, SURFACE, 2), 1.0)


@for_each(("h", "near"), itertools.product((1.0, 0.25), (0.3, 0.1, 0.02)))
def test_where_its_equation_is_not_solved_the_interval_is_halved(monkeypatch, h, near):
    """Up to the switch the active set holds, behind it it does not: from a better guess each time."""
    for at in (0.8, 0.55, 0.3):
        one = Cut(monkeypatch, h, [(SURFACE, 1, at * h)], near=near * h, fraction=0.05)
        assert one.told() == (SUCCESS, pytest.approx(at * h), SURFACE, 1)
        low, high, guess = 0.0, h, 0.05 * h
        wanted = []
        while True:
            wanted.append((SURFACE, 1, round(guess, 9)))
            if abs(guess - at * h) <= near * h:
                break
            middle = 0.5 * (low + high)
            wanted.append((0, None, round(middle, 9)))
            if middle * (1 - 1e-12) <= at * h:
                low = middle
                guess = 0.5 * (low + high)
            else:
                high = middle
                guess = max(at * h, low + 0.01 * (high - low))
        assert one.asked == wanted


def test_an_earlier_switch_is_found_before_a_later_one(monkeypatch):
    """Of another function or multiplier: the length of the later one is the longest that may be."""
    for kind, which in ((MULTIPLIER, 0), (SURFACE, 2)):
        one = Cut(monkeypatch, 2.0, [(SURFACE, 1, 1.5), (kind, which, 0.5)], fraction=0.5)
        assert one.told() == (SUCCESS, 0.5, kind, which)
        assert one.asked == [(SURFACE, 1, 1.0), (kind, which, 0.5)]
    same = Cut(monkeypatch, 2.0, [(SURFACE, 1, 1.5), (MULTIPLIER, 1, 0.5)], fraction=0.5)
    assert same.told() == (SUCCESS, 0.5, MULTIPLIER, 1)


@for_each(("places", "near", "tries", "found"), [
    ((1.0, 0.4), 0.2, [1.0, 0.4995], 0.4), ((1.0, 0.6, 0.2), 0.15, [1.0, 0.4995, 0.2997], 0.2), ((1.0,), 0.2, [1.0, 0.4995, 0.4995], None),
])  # fmt: skip
def test_a_surface_that_is_left_again_has_been_crossed_before(monkeypatch, places, near, tries, found):  # fmt: skip
    """Where the function comes back to its own side; so half of the way up to there is tried."""
    every = [(SURFACE, 1, at) for at in places]
    last = min(places)
    one = Cut(monkeypatch, 2.0, every, near=near, seen=[], drifts=lambda h: -1.0 if h == last and found else 1.0)  # fmt: skip
    if found:
        assert one.told() == (SUCCESS, found, SURFACE, 1)
        assert [h for _, _, h in one.asked] == pytest.approx(tries)
    else:
        assert [h for _, _, h in one.asked][:3] == pytest.approx(tries[:3])


def test_an_element_may_be_too_long_or_have_no_solution(monkeypatch):
    assert Cut(monkeypatch, 1.0, [(SURFACE, 1, 0.5)], coarse_from=0.4).status == cutting.OTHER
    assert Cut(monkeypatch, 1.0, [(SURFACE, 2, 0.9)], coarse_from=0.4).status == cutting.OTHER
    assert Cut(monkeypatch, 1.0, [(SURFACE, 2, 0.9)], fails_from=0.4).status == FAILS
    lost = Cut(monkeypatch, 1.0, [], near=0.0)
    assert lost.status == cutting.OTHER
    assert len(lost.asked) == 2 * cutting.HALVINGS
    assert lost.asked[-1][2] == pytest.approx(1 - 0.5**cutting.HALVINGS, abs=1e-9)


def test_a_multiplier_at_its_bound_from_the_start_ends_at_once(monkeypatch):
    """Where halves are as short as nothing; a surface is searched for on."""
    one = Cut(monkeypatch, 1.0, [(MULTIPLIER, 1, 1e-15)], near=0.0, kind=MULTIPLIER)
    assert one.status == cutting.AT_ONCE
    assert one.asked[-1][2] < cutting.TINY
    other = Cut(monkeypatch, 1.0, [(SURFACE, 1, 1e-15)], near=0.0)
    assert other.status != cutting.AT_ONCE


@for_each(("fraction", "h", "found", "drifts", "violates", "taken"), [
    (0.25, 2.0, 0.75, -1.0, 0, True), (0.25, 2.0, 2.0, -1.0, 0, True), (0.25, 2.0, 2.1, -1.0, 0, False), (0.25, 2.0, 0.75, 1.0, 0, False), (0.25, 2.0, 0.75, 0.0, 0, False), (0.25, 2.0, 0.75, -1.0, 1, False), (0.5, 0.5, None, -1.0, 0, False),
])  # fmt: skip
@for_each("cap", [50, 1])
def test_a_surface_that_is_crossed_twice_ends_an_element(monkeypatch, fraction, h, found, drifts, violates, taken, cap):  # fmt: skip
    """Where it leaves its side there, and nothing is met before; else the element is solved whole."""
    asked, kept, newton = [], [], space(h=9.0, cap=cap)
    ending = space(which=1, bound=9.0, fraction=fraction, kind=9)

    def element(el, t, x, end, what, which, bound):
        asked.append((what, which, bound, newton.h, newton.cap))
        if what == 0:
            return FAILS
        newton.h = found or newton.h
        return SUCCESS if found else NEWTON_CAP

    put(monkeypatch, cutting.there_and_back, element=element, violated=lambda *_: violates, drift=lambda el, which: drifts,
        put_aside=lambda *_: kept.append("aside"), bring_back=lambda *_: kept.append("back"))  # fmt: skip
    ws = space(element=space(solver=space(newton=[newton]), mode=space(sign=np.array([1, 1]))), start=space(c=np.array([5.0, 0.0])), ending=[ending], kept=None)  # fmt: skip
    status = cutting.there_and_back(ws, 1.0, None, h, None, 3)
    assert asked[0] == (SURFACE, 1, 1.0, fraction * h, min(cap, cutting.PROBE))
    assert newton.cap == cap
    if taken:
        assert (status, ending.kind, ending.which, ending.bound, newton.h) == (SUCCESS, SURFACE, 1, 1.0, found)  # fmt: skip
        assert kept == ["aside"]
    else:
        assert (status, ending.kind, newton.h) == (FAILS, 0, h)
        assert asked[1] == (0, 0, 0.0, h, cap)
        assert kept == ["aside", "back"]


# ---------------------------------------------------------------- derivatives along a record


@for_each(("switched", "even"), itertools.product((True, False), repeat=2))
def test_lengths_of_a_phase_share_how_far_its_ends_move(monkeypatch, switched, even):
    """Of one that ends at a switch all move as it does; else the ends of all stay in their sum."""
    n, p, s, many = 1, 2, 2, 3
    rng = np.random.default_rng(1)
    spent, ends, ask = [0.5, -0.25, 2.0], rng.normal(size=(many, p + 1, n + 2)), []
    own_of, rhs_of = rng.normal(size=(many, n + 2)), rng.normal(size=(many, p + 2, s * n))
    rhs = np.zeros((p + 2, s * n))
    moved, own = np.zeros((many + 1, p + 1, n + 2)), np.zeros((many, n + 2))
    moved[0] = start = rng.normal(size=(p + 1, n + 2))

    def tangent(ws, asked, t, x, before, behind, mine):
        e = len(ask)
        ask.append((t, x.tolist(), before.copy()))
        behind[:], mine[:], rhs[:] = ends[e], own_of[e], rhs_of[e]
        return spent[e]

    ended = []
    put(monkeypatch, differing.differentiate, load=lambda *given: None, take=lambda *_: None, tangent=tangent, last_of=lambda record, e: many - 1,
        stays_a_switch=lambda ws, asked, record, phases, moved, first, e: ended.append((first, e, rhs.copy())))  # fmt: skip
    length = np.array([1.0, 1.0, 1.0 if even else 0.5])
    record = space(begin=np.array([0.0, 1.0, 2.0]), length=length, states=np.arange(4.0)[:, None], phase=np.zeros(3, int), interval=np.zeros(3, int))  # fmt: skip
    phases = space(switches=[space(element=0, kind=0), space(element=3, kind=int(switched))])
    ws = space(element=space(problem=space(n_x=n), stages=space(K=np.zeros((s, n))), mode=space(active=[space(sliding=0)])))  # fmt: skip
    to = space(moved=moved, own=own, cost=np.zeros(many + 1))
    elements = 5
    assert differing.differentiate(ws, space(rhs=rhs, wrt=[0] * p), record, phases, elements, to) == SUCCESS  # fmt: skip
    assert to.cost.tolist() == [0.0, 0.5, 0.25, 2.25]
    uneven = switched and not even
    parts = elements if uneven else many
    for e in range(many):
        cut = switched and (e == many - 1 or not uneven)
        by = [0.0 if cut else -start[j, n + 1] / parts for j in range(p)] + [float(cut)]
        wanted = ends[e] + np.multiply.outer(by, own_of[e])
        np.testing.assert_allclose(moved[e + 1], wanted)
        if e + 1 < many:
            np.testing.assert_allclose(ask[e + 1][2], wanted)
    assert not moved[0, p].any()
    np.testing.assert_allclose(ask[0][2][:p], start[:p])
    assert [one[:2] for one in ended] == ([(0, 2)] if switched else [])
    if switched:
        np.testing.assert_allclose(ended[0][2][:p], rhs_of[2, :p])
        np.testing.assert_allclose(ended[0][2][p], rhs_of[2, p] + rhs_of[2, p + 1])
    spent[1] = np.nan
    ask.clear()
    assert differing.differentiate(ws, space(rhs=rhs, wrt=[0] * p), record, phases, elements, to) != SUCCESS  # fmt: skip
