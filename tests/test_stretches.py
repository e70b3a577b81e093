"""Stretches of elements with one active set, uncompiled: guesses, ends, cuts, equal lengths."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import ELEMENT_CAP, SUCCESS
from explorer.kernels.fesd.collocation import collocation
from explorer.kernels.fesd.structures import COARSE, MULTIPLIER, SURFACE

marching, equal = plain("fesd.march_active_set"), plain("fesd.equilibrate")
N, NC, S = 2, 2, 3
OTHER, AT_ONCE = marching.OTHER, marching.AT_ONCE
FAILS = 77  # a status


def workspace(sliding=1, sign=(0, 1), seed=0) -> SimpleNamespace:
    """Return a workspace of two functions, of which those with sign 0 slide."""
    rng = np.random.default_rng(seed)
    newton = [space(h=np.nan, cap=20)]
    stages = space(K=rng.normal(size=(S, N)), W=rng.normal(size=(S, NC)), C=rng.normal(size=(S, NC)),
                   sel=rng.uniform(0, 1, (S, NC)))  # fmt: skip
    B = np.diag([float(one == 0) for one in sign])
    element = space(
        stages=stages, tableau=collocation("radau_iia", S), problem=space(n_x=N, n_c=NC, n_sel=NC),
        mode=space(sign=np.array(sign), active=[space(sliding=sliding)], B=B),
        solver=space(newton=newton, rhs=np.full(S, np.nan)),
    )  # fmt: skip
    start = space(c=rng.normal(size=NC), multipliers=rng.uniform(0.2, 0.8, NC), rate=rng.normal(size=N),
                  w=rng.normal(size=NC), tolerance=np.full(NC, 1e-9))  # fmt: skip
    kept = space(K=np.full((S, N), np.nan), W=np.full((S, NC), np.nan), c=np.full(NC, np.nan),
                 multipliers=np.full(NC, np.nan))  # fmt: skip
    ending = [space(which=-1, bound=-1.0, kind=0, fraction=np.nan)]
    return space(element=element, start=start, kept=kept, ending=ending, end=np.full(NC, np.nan),
                 nodes=None, differences=None)  # fmt: skip


def record_of(count=9, seed=1) -> SimpleNamespace:
    rng = np.random.default_rng(seed)
    return space(
        begin=np.full(count, np.nan), length=np.full(count, np.nan), slopes=rng.normal(size=(count, S * N)),
        mult=np.full((count, S * NC), np.nan), states=np.arange(2.0 * count).reshape(count, 2),
    )  # fmt: skip


@for_each(("at_first", "sliding"), itertools.product((True, False), (0, 1, 2)))
def test_the_first_guess_is_constant_and_the_next_the_polynomial_before(at_first, sliding):
    ws, record, e = workspace(sliding), record_of(), 4
    W = ws.element.stages.W.copy()
    marching.predict(ws, record, e, at_first)
    ahead = ws.element.tableau.ahead
    slopes = np.tile(ws.start.rate, (S, 1)) if at_first else ahead @ record.slopes[3].reshape(S, N)
    np.testing.assert_allclose(ws.element.stages.K, slopes, rtol=1e-12)
    wanted = W.copy()
    wanted[:, :sliding] = (np.tile(ws.start.w, (S, 1)) if at_first else ahead @ W)[:, :sliding]
    np.testing.assert_allclose(ws.element.stages.W, wanted, rtol=1e-12)


def test_what_is_put_aside_comes_back():
    for sliding in (0, 1, 2):
        ws = workspace(sliding)
        K, W = ws.element.stages.K.copy(), ws.element.stages.W.copy()
        marching.put_aside(ws.element, ws.kept)
        ws.element.stages.K[:], ws.element.stages.W[:] = 5.0, 5.0
        marching.bring_back(ws.element, ws.kept)
        np.testing.assert_array_equal(ws.element.stages.K, K)
        W[:, sliding:] = 5.0
        np.testing.assert_array_equal(ws.element.stages.W, W)


def test_an_element_is_written_and_the_next_begins_at_its_end():
    ws, record = workspace(), record_of()
    el = ws.element
    el.solver.newton[0].h = 0.25
    marching.write(el, record, 3, 1.5)
    assert (record.begin[3], record.length[3]) == (1.5, 0.25)
    np.testing.assert_array_equal(record.slopes[3], el.stages.K.ravel())
    np.testing.assert_array_equal(record.mult[3], el.stages.sel.ravel())
    assert np.isnan(record.begin[[2, 4]]).all()
    el.tableau = collocation("gauss", S)
    marching.follow(ws)
    ends = el.tableau.end @ el.stages.sel
    np.testing.assert_array_equal(ws.start.c, el.stages.C[-1])
    np.testing.assert_allclose(ws.start.multipliers, ends)
    assert marching.at_end(ws, 1) == pytest.approx(ends[1])
    for c, told in ((0.0, 1.0), (1e-300, 0.0), (-2.0, 0.0)):
        ws.start.c[1] = c
        assert marching.on_it(ws.start, 1) == told


@for_each(("c", "first", "sliding", "end", "begin", "told"), [
    (0.5, 0.7, 1, 0.5, 0.4, None), (5e-10, 0.7, 1, 0.5, 0.4, ("s", 1)), (-5e-10, -0.7, 1, 0.5, 0.4, ("s", 1)),
    (5e-10, 5e-10, 1, 0.5, 0.4, None), (1e-9, 0.7, 0, 0.5, 0.4, ("s", 1)), (0.5, 0.7, 1, 1.0, 0.4, ("m", 0, 1.0)),
    (0.5, 0.7, 1, 1.0 - 5e-12, 0.4, ("m", 0, 1.0)), (0.5, 0.7, 1, 0.0, 0.4, ("m", 0, 0.0)), (0.5, 0.7, 0, 0.0, 0.4, None),
    (0.5, 0.7, 1, 0.0, 5e-12, None), (0.5, 0.7, 1, 1.0, 1.0, None), (0.5, 0.7, 1, 1e-9, 0.4, None), (5e-10, 0.7, 1, 0.0, 0.4, ("s", 1)),
])  # fmt: skip
def test_an_element_may_end_just_on_a_surface_or_at_a_bound(c, first, sliding, end, begin, told):
    ws = workspace(sliding)  # function 0 slides, function 1 does not
    ws.element.stages.C[-1] = 0.0, c
    ws.start.c[:] = 0.9, first
    ws.element.stages.sel[-1] = end, 1.0
    ws.start.multipliers[:] = begin, 0.4
    marching.ends_just_there(ws)
    ending = ws.ending[0]
    if told is None:
        assert ending.kind == 0
    elif told[0] == "s":
        assert (ending.kind, ending.which) == (SURFACE, 1)
    else:
        assert (ending.kind, ending.which, ending.bound) == (MULTIPLIER, *told[1:])


def stretched(monkeypatch, reaches, kind=0, most=4, first=2, just=None):
    """March a stretch of elements that end as `reaches` say: (status, kind, length)."""
    ws, record, said = workspace(), record_of(), []
    answers = iter(reaches)
    ws.ending[0].which, ws.ending[0].bound = 1, 0.75
    begins = ws.start.c.copy(), ws.start.multipliers.copy()

    def reach(ws, t, x, h, end, goal, coarse):
        ending = ws.ending[0]
        said.append((round(t, 12), x[0], end[0], h, goal, ending.which, ending.bound, coarse))
        status, ending.kind, ws.element.solver.newton[0].h = next(answers)
        ending.which, ending.bound = 0, 0.0
        return status

    def follow(ws):
        ws.start.c[:], ws.start.multipliers[:] = 5.0, 6.0

    put(
        monkeypatch, marching.stretch, reach=reach, follow=follow,
        predict=lambda ws, record, e, at_first: said.append((e, at_first)),
        ends_just_there=lambda ws: setattr(ws.ending[0], "kind", (just or {}).get(len(said) // 2, 0)),
        write=lambda el, record, e, t: record.length.__setitem__(e, el.solver.newton[0].h),
    )  # fmt: skip
    status, made = marching.stretch(ws, record, first, 1.0, 0.5, most, kind, 3)
    np.testing.assert_array_equal(ws.start.c, begins[0])
    np.testing.assert_array_equal(ws.start.multipliers, begins[1])
    return status, made, said, ws, record


def test_a_stretch_has_as_many_elements_as_fit(monkeypatch):
    status, made, said, ws, record = stretched(monkeypatch, [(SUCCESS, 0, 0.5)] * 4)
    assert (status, made) == (SUCCESS, 4)
    assert said[::2] == [(2, True), (3, False), (4, False), (5, False)]
    assert said[1::2] == [(1 + 0.5 * k, 2.0 * (2 + k), 2.0 * (3 + k), 0.5, 0, 1, 0.75, 3) for k in range(4)]  # fmt: skip
    assert record.length[2:6].tolist() == [0.5] * 4
    assert ws.end.tolist() == [6.0, 6.0]


def test_a_stretch_ends_at_its_first_switch(monkeypatch):
    told = [(SUCCESS, 0, 0.5), (SUCCESS, SURFACE, 0.2)]
    status, made, _, ws, record = stretched(monkeypatch, told)
    assert (status, made, ws.ending[0].kind) == (SUCCESS, 2, SURFACE)
    assert record.length[2:4].tolist() == [0.5, 0.2]
    status, made, _, ws, _ = stretched(monkeypatch, [(SUCCESS, 0, 0.5)] * 4, just={2: MULTIPLIER})
    assert (status, made, ws.ending[0].kind) == (SUCCESS, 2, MULTIPLIER)
    status, made, *_ = stretched(monkeypatch, [(SUCCESS, 0, 0.5), (FAILS, 0, 0.1)])
    assert (status, made) == (FAILS, 1)


def test_a_stretch_aims_with_its_last_element_only(monkeypatch):
    status, made, said, *_ = stretched(monkeypatch, [(SUCCESS, 0, 0.5)] * 2 + [(SUCCESS, SURFACE, 0.4)], kind=SURFACE, most=3)  # fmt: skip
    assert (status, made) == (SUCCESS, 3)
    assert [one[4] for one in said[1::2]] == [0, 0, SURFACE]
    status, made, *_ = stretched(monkeypatch, [(SUCCESS, 0, 0.5), (SUCCESS, SURFACE, 0.2)], kind=SURFACE, most=3)  # fmt: skip
    assert (status, made) == (OTHER, 1)
    status, made, *_ = stretched(monkeypatch, [(SUCCESS, 0, 0.5)] * 2, kind=SURFACE, most=3, just={2: SURFACE})  # fmt: skip
    assert (status, made) == (OTHER, 1)


def test_what_ends_at_once_ends_the_element_before(monkeypatch):
    status, made, _, ws, _ = stretched(monkeypatch, [(SUCCESS, 0, 0.45), (AT_ONCE, 0, 1e-14)])
    assert (status, made, ws.ending[0].kind) == (SUCCESS, 1, MULTIPLIER)
    assert ws.element.solver.newton[0].h == 0.45
    assert stretched(monkeypatch, [(AT_ONCE, 0, 1e-14)])[:2] == (AT_ONCE, 0)
    told = stretched(
        monkeypatch, [(SUCCESS, 0, 0.45), (AT_ONCE, 0, 1e-14)], kind=MULTIPLIER, most=2
    )
    assert told[:2] == (AT_ONCE, 1)


def reached(monkeypatch, kind=0, solved=(SUCCESS, 0.5), first=0, dips=0, on=False):
    ws, said = workspace(), []
    ws.ending[0].which, ws.ending[0].bound, ws.start.c[1] = 1, 0.75, 0.0 if on else 0.3

    def solve(el, t, x, end, goal, which, bound):
        said.append((goal, which, bound, el.solver.newton[0].h))
        status, el.solver.newton[0].h = solved
        return status

    def first_end(el, start, ending, coarse):
        ending[0].which = 0
        return first

    put(monkeypatch, marching.reach, solve=solve, first_end=first_end, dips=lambda *_: dips,
        there_and_back=lambda *given: said.append("there") or 33,
        cut=lambda ws, t, x, h, end, why, coarse: said.append(("cut", h, why)) or 44)  # fmt: skip
    status = marching.reach(ws, 1.0, None, 0.5, None, kind, 0)
    return status, said, ws.ending[0]


def test_an_element_is_cut_where_its_active_set_ends(monkeypatch):
    status, said, ending = reached(monkeypatch)
    assert (status, said, ending.kind) == (SUCCESS, [(0, 1, 0.75, 0.5)], 0)
    assert reached(monkeypatch, solved=(FAILS, 0.5))[0] == FAILS
    assert reached(monkeypatch, first=COARSE)[:2] == (OTHER, [(0, 1, 0.75, 0.5)])
    for why in (SURFACE, MULTIPLIER):
        assert reached(monkeypatch, first=why)[:2] == (44, [(0, 1, 0.75, 0.5), ("cut", 0.5, why)])
    assert reached(monkeypatch, dips=1)[:2] == (33, [(0, 1, 0.75, 0.5), "there"])
    assert reached(monkeypatch, dips=1, first=SURFACE)[0] == 44


def test_an_element_that_aims_ends_there_or_elsewhere(monkeypatch):
    for on in (False, True):
        status, said, ending = reached(monkeypatch, kind=SURFACE, on=on)
        assert (status, said) == (SUCCESS, [(SURFACE, 1, float(on), 0.5)])
        assert (ending.kind, ending.which, ending.bound) == (SURFACE, 1, float(on))
    assert reached(monkeypatch, kind=MULTIPLIER)[1] == [(MULTIPLIER, 1, 0.75, 0.5)]
    for solved, first, told in (((FAILS, 0.5), 0, OTHER), ((SUCCESS, 2.1), 0, OTHER), ((SUCCESS, 2.0), 0, SUCCESS),
                                ((SUCCESS, 0.5), SURFACE, OTHER)):  # fmt: skip
        assert reached(monkeypatch, kind=SURFACE, solved=solved, first=first, dips=1)[0] == told


def cut_of(monkeypatch, limits, guess, solvable=1.0, kinds=(SURFACE, MULTIPLIER)):
    """Cut an element of length 1 whose active set ends at `limits` (of kinds), by Newton's method
    that finds a limit from within `solvable` of it; return status, length and ending."""  # fmt: skip
    ws = workspace()
    ending, newton = ws.ending[0], ws.element.solver.newton[0]
    ending.which, ending.fraction = guess

    def element(el, t, x, end, goal, which, bound):
        if goal:
            if abs(newton.h - limits[which]) > solvable:
                return FAILS
            newton.h = limits[which]
        return SUCCESS

    def violated(el, start, ending, coarse):
        over = [k for k in range(len(limits)) if limits[k] < newton.h - 1e-13]
        if not over:
            return 0
        k = min(over, key=lambda k: limits[k])
        ending[0].which, ending[0].bound = k, 1.0
        ending[0].fraction = limits[k] / newton.h
        return kinds[k]

    put(monkeypatch, marching.cut, element=element, violated=violated, drift=lambda el, j: -1.0)
    return ws, marching.cut(ws, 0.0, None, 1.0, None, kinds[guess[0]], 0), newton.h, ending


@for_each("solvable", [1.0, 0.1, 0.01])
def test_an_element_ends_at_the_first_of_two_limits(monkeypatch, solvable):
    for limits in ((0.3, 0.7), (0.7, 0.3), (0.301, 0.3), (2.0, 0.4)):
        for which in (0, 1):
            if limits[which] > 1:
                continue
            _, status, h, ending = cut_of(monkeypatch, limits, (which, limits[which]), solvable)
            first = int(limits[1] < limits[0])
            assert (status, h) == (SUCCESS, limits[first])
            assert (ending.which, ending.kind) == (first, (SURFACE, MULTIPLIER)[first])


def test_a_guess_that_is_far_off_is_halved_towards_the_limit(monkeypatch):
    for fraction in (0.02, 0.9):
        _, status, h, ending = cut_of(monkeypatch, (0.3, 9.0), (0, fraction), 0.003)
        assert (status, h, ending.which) == (SUCCESS, 0.3, 0)
    _, status, h, _ = cut_of(monkeypatch, (9.0, 1e-14), (1, 0.5), -1.0)
    assert status == AT_ONCE
    assert h < 1e-11
    _, status, *_ = cut_of(monkeypatch, (0.3, 9.0), (0, 0.3), -1.0)
    assert status == OTHER  # no element ends there


def equalised(monkeypatch, switch, span, even, kind=SURFACE, most=9.0, status=SUCCESS, rate=1.0):
    """Make elements of equal length up to a switch, at whose time their length has a small say."""
    ws, tried = workspace(), []
    ws.ending[0].which, ws.ending[0].bound, ws.ending[0].kind = 1, 0.5, kind

    def stretch(ws, record, first, t, h, count, why, coarse):
        tried.append((h, count, why, first, coarse, ws.ending[0].which, ws.ending[0].bound))
        ws.ending[0].which, ws.ending[0].bound = 0, 0.0
        at = switch * (1 + 0.01 * (rate - 1) * h)
        ws.element.solver.newton[0].h = at - (count - 1) * h
        return status, count

    put(monkeypatch, equal.equal, stretch=stretch)
    made = equal.equal(ws, None, 3, 1.0, span, even, most, 7)
    return made, tried


@for_each(("even", "rate"), itertools.product((2, 3, 5), (1.0, 4.0)))
def test_elements_up_to_a_switch_become_equal(monkeypatch, even, rate):
    made, tried = equalised(monkeypatch, 1.2, 1.3, even, rate=rate)
    assert made == even
    h = tried[-1][0]
    assert even * h == pytest.approx(1.2 * (1 + 0.01 * (rate - 1) * h), rel=1e-13)
    assert tried[0][0] == pytest.approx(1.3 / even)
    assert len(tried) <= (2 if rate == 1 else 5)
    assert {one[1:] for one in tried} == {(even, SURFACE, 3, 7, 1, 0.5)}


def test_elements_that_cannot_become_equal_are_none(monkeypatch):
    assert equalised(monkeypatch, 1.2, 1.2, 3, status=FAILS)[0] == 0
    assert equalised(monkeypatch, 1.2, 1.3, 3, most=1.1)[0] == 0
    assert equalised(monkeypatch, 1.2, 1.3, 3, most=1.2 + 1e-9)[0] == 3
    assert equalised(monkeypatch, 9.0, 1.0, 3)[0] == 0  # longer than twice their sum, about
    assert equalised(monkeypatch, 5.0, 5.2, 2)[0] == 2
    assert equalised(monkeypatch, 0.05, 0.04, 2)[0] == 2
    assert equalised(monkeypatch, 0.7, 1.0, 1) == (1, [(1.0, 1, SURFACE, 3, 7, 1, 0.5)])


def phased(monkeypatch, answers, *, equals=(0, 0), rest=1.0, most=4, halved=0, split=True, close=1e-9, room=99,
           elements=4):  # fmt: skip
    """Solve a phase by scripted stretches (status, made, kind, last length) and equalities."""
    ws, asked, tally = workspace(), [], [space(made=-1, halvings=-1, uneven=0)]
    answers, equals = iter(answers), iter(equals)

    def stretch(ws, record, first, t, h, count, kind, coarse):
        asked.append(("stretch", round(h, 12), count, kind, coarse))
        status, made, ws.ending[0].kind, ws.element.solver.newton[0].h = next(answers)
        ws.ending[0].which, ws.ending[0].bound = 1, 0.25
        return status, made

    def same(ws, record, first, t, span, even, limit, coarse):
        ending = ws.ending[0]
        asked.append(("equal", round(span, 12), even, round(limit, 6), coarse))
        assert (ending.kind, ending.which, ending.bound) == (SURFACE, 1, 0.25)
        ending.kind, ending.which, ending.bound = 0, 0, 0.0
        return next(equals)

    put(monkeypatch, equal.phase, stretch=stretch, equal=same)
    record, options = space(begin=np.zeros(room)), space(split=split, elements=elements)
    status = equal.phase(ws, record, options, tally, 2, 1.0, 1.0 + rest, close, most, halved)
    return status, asked, tally[0], ws.ending[0]


def test_a_phase_without_a_switch_is_one_stretch(monkeypatch):
    status, asked, tally, _ = phased(monkeypatch, [(SUCCESS, 4, 0, 0.25)])
    assert (status, asked) == (SUCCESS, [("stretch", 0.25, 4, 0, 0)])
    assert (tally.made, tally.halvings, tally.uneven) == (4, 0, 0)
    status, asked, tally, _ = phased(monkeypatch, [(SUCCESS, 8, 0, 0.25)], halved=1)
    assert (asked, tally.halvings) == ([("stretch", 0.125, 8, 0, 0)], 1)
    assert phased(monkeypatch, [(SUCCESS, 4, 0, 0.25)], split=False)[1] == [("stretch", 0.25, 4, 0, 1)]  # fmt: skip
    assert phased(monkeypatch, [], room=7)[0] == ELEMENT_CAP
    assert phased(monkeypatch, [(SUCCESS, 4, 0, 0.25)], room=8)[0] == SUCCESS


def test_a_phase_up_to_a_switch_has_equal_elements(monkeypatch):
    hit = (SUCCESS, 3, SURFACE, 0.1)  # at 0.6
    status, asked, tally, ending = phased(monkeypatch, [hit], equals=[2])
    assert (status, tally.made, tally.uneven) == (SUCCESS, 2, 0)
    assert asked[1] == ("equal", 0.6, 2, 1.0, 0)
    assert (ending.kind, ending.which) == (SURFACE, 1)
    status, asked, tally, _ = phased(monkeypatch, [hit], equals=[0, 3])
    assert [one[2] for one in asked[1:]] == [2, 3]
    assert tally.made == 3
    at_end = (SUCCESS, 4, SURFACE, 0.25)
    assert phased(monkeypatch, [at_end], equals=[4])[1][1] == ("equal", 1.0, 4, 1.0, 0)
    near = (SUCCESS, 4, SURFACE, 0.2499)  # not all of them, as time is left
    assert phased(monkeypatch, [near], equals=[3])[1][1][2] == 3
    once = (SUCCESS, 1, SURFACE, 0.01)
    assert phased(monkeypatch, [once])[1] == [("stretch", 0.25, 4, 0, 0)]
    long = (SUCCESS, 1, SURFACE, 0.45)  # as long as two of them
    status, asked, tally, _ = phased(monkeypatch, [long], equals=[0, 1])
    assert [one[2] for one in asked[1:]] == [2, 1]
    assert (status, tally.made) == (SUCCESS, 1)


def test_a_phase_without_a_solution_takes_shorter_elements(monkeypatch):
    status, asked, tally, _ = phased(
        monkeypatch, [(FAILS, 1, 0, 0.1)] * 2 + [(SUCCESS, 16, 0, 0.1)]
    )
    assert [one[1:3] for one in asked] == [(0.25, 4), (0.125, 8), (0.0625, 16)]
    assert (status, tally.halvings, tally.made) == (SUCCESS, 2, 16)
    status, asked, tally, _ = phased(monkeypatch, [(FAILS, 1, 0, 0.1)] * 9, room=999)
    assert (status, len(asked), tally.halvings) == (FAILS, equal.FINER, equal.FINER)
    assert [one[4] for one in asked] == [0] * (equal.FINER - 1) + [1]
    status, asked, tally, _ = phased(monkeypatch, [(FAILS, 1, 0, 0.1)], split=False)
    assert (status, len(asked), tally.halvings) == (FAILS, 1, 1)
    status, asked, tally, _ = phased(monkeypatch, [(equal.AT_ONCE, 0, 0, 0.1)])
    assert (status, len(asked), tally.halvings) == (equal.AT_ONCE, 1, 0)


def test_a_phase_that_cannot_be_equal_keeps_its_first_length(monkeypatch):
    hit = (SUCCESS, 3, SURFACE, 0.1)
    answers = [hit, (SUCCESS, 5, SURFACE, 0.1), (FAILS, 0, 0, 0.1), *[(FAILS, 0, 0, 0.1)] * 3, hit]
    status, asked, tally, _ = phased(monkeypatch, answers, equals=[0] * 4, room=999)
    assert asked[-1] == ("stretch", 0.25, 4, 0, 1)
    assert (status, tally.made, tally.uneven) == (SUCCESS, 3, 1)
