"""Patterns of signs in FESD, uncompiled: the equations of a slide, what has to hold, what is seen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

sets = plain("fesd.active_set")
N, NC, NSEL = 3, 4, 4  # states, functions, multipliers
BAND, NOISE = sets.BAND, sets.NOISE


class Case:
    """f = A + B sel + q |sel|^2, and functions with gradients and rates at random."""

    def __init__(self, monkeypatch, seed, zeros, *, bend=0.0):
        rng = self.rng = np.random.default_rng(seed)
        m = len(zeros)
        self.A, self.S, self.bend = rng.normal(size=N), rng.normal(size=(N, NSEL)), bend
        self.value, self.grad, self.rate = rng.normal(size=NC), rng.normal(size=(NC, N)), rng.normal(size=NC)  # fmt: skip
        self.f_x, self.log = rng.normal(size=(N, N)), []
        self.base, self.B = rng.uniform(0, 1, NSEL), np.full((NSEL, NC), 9.0)
        self.B[:, :m] = rng.normal(size=(NSEL, m)) * (rng.random((NSEL, m)) < 0.8)
        self.B[3, :m] = 0.0  # a multiplier that no slide moves
        problem = space(
            inp=np.full(1 + N + NSEL, np.nan), out=np.full(N + N * N + N * NSEL, np.nan),
            c=np.full(NC + NC * N + NC, np.nan), n_x=N, n_c=NC, n_sel=NSEL, subsystems=(), affine=1,
        )  # fmt: skip
        mode = space(zeros=np.array([*zeros, *[-9] * (NC - m)]), active=[space(sliding=m, choice=0)], sign=np.zeros(NC, int),
                     base=self.base, B=self.B)  # fmt: skip
        solver = space(M=np.full((NC, NC), 9.0), rhs=np.full(NC, 9.0), pivots=np.zeros(NC, int))
        pattern = space(multipliers=np.full(NSEL, 9.0), near=np.arange(NC), bench=space(roots=np.full((6, NC), 9.0), corners=np.full((NC, 1 << NC), 9.0)),
                        margins=np.full(20, 9.0), later=np.full(20, 9.0), x=np.full(N, 9.0), first=np.zeros(N), last=np.zeros(N))  # fmt: skip
        self.ws = space(element=space(problem=problem, mode=mode, solver=solver), pattern=pattern,
                        start=space(w=np.full(NC, 0.5), rate=np.full(N, 9.0)))  # fmt: skip
        put(monkeypatch, sets.put, switching=self.switching, flow=self.flow)

    def switching(self, problem):
        self.log.append(problem.inp[: 1 + N].tolist())
        problem.c[:] = [*self.value, *self.grad.ravel(), *self.rate]

    def f(self, sel):
        return self.A + self.S @ sel + self.bend * sel @ sel

    def flow(self, problem):
        sel = problem.inp[1 + N :]
        slopes = self.S + 2 * self.bend * sel
        problem.out[:] = [*self.f(sel), *self.f_x.ravel(), *slopes.ravel()]


def test_a_state_is_put_where_functions_are_taken(monkeypatch):
    case = Case(monkeypatch, 1, [])
    sets.put(case.ws.element.problem, 2.5, np.array([1.0, -2.0, 3.0]))
    assert case.log == [[2.5, 1.0, -2.0, 3.0]]
    assert np.isnan(case.ws.element.problem.inp[1 + N :]).all()


@for_each(("seed", "zeros", "size"), itertools.product(range(4), ([1], [3, 0], [2, 0, 1]), (1e-3, 1.0, 1e3)))  # fmt: skip
def test_the_equations_of_a_slide_and_how_far_they_are_solved(monkeypatch, seed, zeros, size):
    """dc/dt = 0 and its derivatives by w; beside the terms that cancel, whatever their unit."""
    case = Case(monkeypatch, seed, zeros)
    for one in (case.A, case.S):
        one *= size
    case.rate *= size
    problem, solver, m = case.ws.element.problem, case.ws.element.solver, len(zeros)
    problem.inp[1 + N :] = sel = case.rng.uniform(0, 1, NSEL)
    case.flow(problem)
    case.switching(problem)
    worst = sets.keep_on(case.ws)
    f, grad, rate, B = case.f(sel), case.grad[zeros], case.rate[zeros], case.B[:, :m]
    total, slope = rate + grad @ f, grad @ case.S @ B
    scale = abs(rate) + abs(grad) @ abs(f) + abs(slope).sum(axis=1)
    assert worst == pytest.approx((abs(total) / scale).max())
    np.testing.assert_allclose(solver.rhs[:m], -total)
    np.testing.assert_allclose(solver.M[:m, :m], slope)
    assert (solver.rhs[m:] == 9).all()
    assert (solver.M[m:] == 9).all()


@for_each(("seed", "zeros", "bend"), itertools.product(range(4), ([], [1], [3, 0], [2, 0, 1]), (0.0, 1e-5)))  # fmt: skip
def test_a_slide_keeps_its_functions_at_zero(monkeypatch, seed, zeros, bend):
    case = Case(monkeypatch, seed, zeros, bend=bend)
    ws, m = case.ws, len(zeros)
    case.switching(ws.element.problem)
    assert sets.slide(ws) == 0
    chosen = case.base + case.B[:, :m] @ ws.start.w[:m]
    np.testing.assert_allclose(ws.pattern.multipliers, chosen)
    np.testing.assert_allclose(ws.start.rate, case.f(chosen))
    np.testing.assert_allclose((case.rate + case.grad @ ws.start.rate)[zeros], 0.0, atol=1e-9)
    if m == 0:
        assert (ws.start.w == 0.5).all()


def test_a_slide_that_nothing_moves_is_none(monkeypatch):
    case = Case(monkeypatch, 1, [2, 0])
    case.B[:, 1] = 0.0
    case.switching(case.ws.element.problem)
    assert sets.slide(case.ws) == -1


@for_each(("left", "told", "turns"), [
    ([np.inf], -1, 1), ([np.nan], -1, 1), ([1.0, 1e-3, 1e-14], 0, 3), ([1.0] * sets.TURNS, -1, sets.TURNS),
    ([1.0] * (sets.TURNS - 1) + [0.9e-10], 0, sets.TURNS), ([1.0] * (sets.TURNS - 1) + [1.1e-10], -1, sets.TURNS),
])  # fmt: skip
def test_a_slide_is_solved_for_as_often_as_may_be(monkeypatch, left, told, turns):
    """What is left then is round-off, or there is no such slide."""
    case, asked = Case(monkeypatch, 1, [2]), []
    case.ws.element.solver.M[:] = 1.0

    def keep_on(ws):
        asked.append(ws.start.w[0])
        ws.element.solver.M[0, 0], ws.element.solver.rhs[0] = 2.0, 3.0
        return left[len(asked) - 1]

    put(monkeypatch, sets.slide, keep_on=keep_on)
    assert sets.slide(case.ws) == told
    assert asked == [0.5 + 1.5 * k for k in range(turns)]


@for_each(("seed", "zeros", "left"), itertools.product(range(3), ([], [1], [3, 0]), (-1, 2, sets.ALL)))  # fmt: skip
def test_what_has_to_hold_is_told_beside_its_scale(monkeypatch, seed, zeros, left):
    """Multipliers that slide lie in [0, 1]; other functions leave zero to their own sides."""
    case = Case(monkeypatch, seed, zeros)
    ws, m, x = case.ws, len(zeros), case.rng.normal(size=N)
    sign = ws.element.mode.sign
    sign[:] = case.rng.choice([-1, 1], NC)
    sign[zeros] = 0
    ws.pattern.near[:] = case.rng.permutation(NC)
    found = np.full(20, 9.0)
    count = sets.margins(ws, 2.5, x, NC, left, found)
    assert case.log[0] == [2.5, *x]
    sel, wanted = ws.pattern.multipliers, []
    for k in range(NSEL):
        if (case.B[k, :m] != 0).any():
            wanted += [sel[k], 1 - sel[k]]
    f = case.f(sel)
    terms = abs(f) + abs(case.f_x) @ abs(x) + abs(case.S).sum(axis=1)
    for j in ws.pattern.near:
        if sign[j] != 0:
            total = case.rate[j] + case.grad[j] @ f
            scale = abs(case.rate[j]) + abs(case.grad[j]) @ terms
            wanted.append(sign[j] * total / scale + sets.LENIENT * (left in (j, sets.ALL)))
    assert count == len(wanted)
    np.testing.assert_allclose(found[:count], wanted, rtol=1e-9)
    assert (found[count:] == 9).all()


# ---------------------------------------------------------------- where a slide begins


@for_each(("m", "regions", "affine"), itertools.product((0, 1, 2, 3), (True, False), (0, 1)))
def test_slides_begin_at_all_roots_or_in_the_middle(monkeypatch, m, regions, affine):
    """Of regions each has the same part; of functions each side half of it."""
    zeros = [3, 0, 2][:m]
    case = Case(monkeypatch, m, zeros)
    problem, bench, x = case.ws.element.problem, case.ws.pattern.bench, np.array([1.0, 2.0, 3.0])
    problem.affine, problem.subsystems = affine, ("a",) if regions else ()
    asked = []
    put(monkeypatch, sets.slides, roots=lambda bench, m: asked.append(m) or 5)
    many = sets.slides(case.ws, 2.5, x)
    if m < 2 or regions or not affine:
        assert (many, asked, case.log) == (1, [], [])
        assert bench.roots[0].tolist() == pytest.approx([1 / (m + 1) if regions else 0.5] * m + [9.0] * (NC - m))  # fmt: skip
        assert (bench.roots[1:] == 9).all()
        return
    assert (many, asked, case.log) == (5, [m], [[2.5, 1.0, 2.0, 3.0]])
    for corner in range(1 << m):
        sides = np.array([(corner >> a) & 1 for a in range(m)])
        f = case.f(case.base + case.B[:, :m] @ sides)
        total = case.rate[zeros] + case.grad[zeros] @ f
        np.testing.assert_allclose(bench.corners[:m, corner], total)
    assert (bench.corners[:, 1 << m :] == 9).all()


# ---------------------------------------------------------------- whether a pattern holds


def judged(monkeypatch, found, later=(), *, sign=(1,), value=(0.0,), band=BAND, count=None, sliding=0):  # fmt: skip
    """Judge a pattern by margins that are given, of functions `sign`, at the start and ahead."""
    asked, later = [], list(later) or [one + 1.0 for one in found]
    ws = space(
        element=space(mode=space(sign=np.array(sign), active=[space(sliding=sliding)]), problem=space(c=np.array(value, float), n_x=2)),
        pattern=space(near=np.arange(len(sign)), margins=np.zeros(9), later=np.zeros(9), x=np.zeros(2), bench=space(roots=np.arange(6.0).reshape(2, 3))),
        start=space(w=np.full(3, 9.0), rate=np.array([2.0, -4.0])),
    )  # fmt: skip

    def margins(ws, t, x, z, left, out):
        asked.append((t, x.tolist(), z, left))
        out[: len(found)] = later if t > 1.0 else found
        return len(found) if count is None else count

    put(monkeypatch, sets.consistent, margins=margins)
    told = sets.consistent(ws, 1.0, np.array([1.0, 1.0]), 0.25, len(sign), -7, band, 1)
    assert ws.start.w.tolist() == [3.0, 4.0, 5.0][:sliding] + [9.0] * (3 - sliding)
    assert asked[0] == (1.0, [1.0, 1.0], len(sign), -7)
    if len(asked) > 1:
        assert asked[1] == (1.25, [1.5, 0.0], len(sign), -7)
    return told, len(asked)


@for_each(("given", "told"), [
    ({"found": []}, (3, 1)), ({"found": [0.5], "count": -1}, (0, 1)), ({"found": [0.5, 0.1]}, (3, 1)), ({"found": [0.5, -0.1]}, (0, 1)),
    ({"found": [0.5, -BAND]}, (3, 3)), ({"found": [BAND]}, (3, 3)), ({"found": [2 * BAND], "later": [-9.0]}, (3, 1)),
    ({"found": [BAND], "later": [BAND]}, (2, 3)), ({"found": [0.0], "later": [0.0]}, (1, 3)), ({"found": [0.0], "later": [2e-3 * BAND]}, (3, 3)),
    ({"found": [0.0], "later": [-2e-3 * BAND]}, (0, 2)), ({"found": [0.0], "later": [0.9e-3 * BAND]}, (1, 3)), ({"found": [0.0], "later": [-0.9e-3 * BAND]}, (1, 3)),
    ({"found": [0.0], "later": [np.nan]}, (0, 2)), ({"found": [0.5, 0.0], "later": [-9.0, 0.0]}, (1, 3)), ({"found": [0.0], "later": [0.0], "value": [1e-9]}, (2, 3)),
    ({"found": [0.0], "later": [0.0], "value": [-1e-9]}, (1, 3)), ({"found": [0.0], "later": [0.0], "value": [-1e-9], "sign": (-1,)}, (2, 3)),
    ({"found": [-NOISE], "later": [0.0], "value": [1.0]}, (2, 3)), ({"found": [-1.1 * NOISE], "later": [0.0], "value": [1.0]}, (1, 3)),
    ({"found": [0.0, 0.0], "later": [0.0, 0.0], "value": [5.0, -1.0, 5.0, 1.0], "sign": (0, 1, 0, -1)}, (1, 3)),
    ({"found": [0.0, 0.0], "later": [0.0, 0.0], "value": [-5.0, 1.0, -5.0, -1.0], "sign": (0, 1, 0, -1)}, (2, 3)),
    ({"found": [0.5, 0.5, 0.0], "later": [0.5, 0.5, 0.0], "value": [-1.0, 1.0], "sign": (0, 1), "sliding": 1}, (2, 3)),
    ({"found": [0.5, 0.0, 0.5], "later": [0.5, 0.0, 0.5], "value": [1.0, 1.0], "sign": (0, 1), "sliding": 1}, (1, 3)), ({"found": [-1e-3], "band": 1e-2}, (3, 3)),
])  # fmt: skip
def test_a_pattern_holds_where_nothing_speaks_against_it(monkeypatch, given, told):
    """What is zero within the band is watched ahead; where it stays, the sign of the function tells."""
    assert judged(monkeypatch, **given) == told


@for_each(("one", "other", "told"), [((0.0, 0.0), (1e-9, 0.0), False), ((0.25, 0.0), (0.25 + 3e-10, 0.0), True), ((0.25, 0.0), (0.25 + 6e-10, 0.0), False)])  # fmt: skip
def test_slow_ways_are_compared_beside_themselves(one, other, told):
    assert sets.alike(np.array(one), np.array(other)) == told
