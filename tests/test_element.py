"""An element of FESD: Newton's matrix and scales, and where its active set ends."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import SUCCESS
from explorer.kernels.fesd.collocation import TABLEAUX, collocation
from explorer.kernels.fesd.structures import ENDING, MULTIPLIER, NEWTON, SURFACE, Element

lu_factor = plain("linear_algebra.dense_lu").lu_factor
elements, ends = plain("fesd.element"), plain("fesd.active_set_ends")
tangents = plain("fesd.tangents")
N, SELECTED, SURFACES = 3, 3, 2
CASES = [*itertools.product(TABLEAUX, (0, 1, 2), (0, SURFACE, MULTIPLIER), (0.0, 1.0))]
CASES = [case for case in CASES if case[1] or case[2] != MULTIPLIER]


class Bilinear:
    """f = a t + F x + sum_o w_o (b_o + C_o x), c = d t + e x + x' H x / 2, in units of choice."""

    def __init__(self, rng, length=1.0, time=1.0, value=1.0):
        normal, speed = rng.normal, length / time
        self.a, self.F = normal(size=N) * speed / time, normal(size=(N, N)) / time
        self.b = normal(size=(N, SELECTED)) * speed
        self.C = normal(size=(N, SELECTED, N)) / time
        self.d, self.e = (
            normal(size=SURFACES) * value / time,
            normal(size=(SURFACES, N)) * value / length,
        )
        H = normal(size=(SURFACES, N, N)) * value / length**2
        self.H = H + H.transpose(0, 2, 1)

    def f(self, t, x, w):
        by_w = self.b + self.C @ x
        by_x = self.F + np.einsum("kop,o->kp", self.C, w)
        return np.concatenate(
            [self.a * t + self.F @ x + by_w @ w, by_x.ravel(), by_w.ravel(), self.a]
        )

    def c(self, t, x):
        slopes = self.e + self.H @ x
        return np.concatenate([self.d * t + (self.e + self.H @ x / 2) @ x, slopes.ravel(), self.d])


def element(monkeypatch, tableau, stages, sliding, seed=0, **units):
    """Return an element at an iterate, its time, its state, and the system."""
    rng, length, time = (
        np.random.default_rng(seed),
        units.get("length", 1.0),
        units.get("time", 1.0),
    )
    system, method = Bilinear(rng, **units), collocation(tableau, stages)
    s, size = stages, stages * (N + SURFACES) + 1
    inp = np.zeros(1 + N + SELECTED)
    out, c = np.zeros(N * (2 + N + SELECTED)), np.zeros(SURFACES * (2 + N))
    problem = SimpleNamespace(n_x=N, n_c=SURFACES, n_sel=SELECTED, inp=inp, out=out, c=c)
    newton = np.zeros(1, NEWTON).view(np.recarray)
    newton["h"] = 0.3 * time
    B = rng.normal(size=(SELECTED, SURFACES))
    B[1] = 0.0  # this multiplier is known
    mode = SimpleNamespace(sign=np.zeros(SURFACES, int), zeros=rng.permutation(SURFACES), base=rng.normal(size=SELECTED),
                           B=B, active=[SimpleNamespace(sliding=sliding)])  # fmt: skip
    stage = SimpleNamespace(K=rng.normal(size=(s, N)) * length / time, W=rng.normal(size=(s, SURFACES)),
                            C=np.zeros((s, SURFACES)), sel=np.zeros((s, SELECTED)))  # fmt: skip
    solver = SimpleNamespace(M=np.full((size, size), np.nan), pivots=np.zeros(size, int), rhs=np.full(size, np.nan),
                             scale=np.full(size, np.nan), steep=np.zeros(size), newton=newton)  # fmt: skip
    space = elements.factor.__globals__
    monkeypatch.setitem(space, "flow", lambda _: out.__setitem__(
        slice(None), system.f(inp[0], inp[1 : 1 + N], inp[1 + N :])))  # fmt: skip
    monkeypatch.setitem(
        space, "switching", lambda _: c.__setitem__(slice(None), system.c(inp[0], inp[1 : 1 + N]))
    )
    monkeypatch.setitem(space, "lu_factor", lambda *_: 0)  # the matrix itself
    el = Element(problem, method, mode, stage, solver)
    return el, 0.7 * time, rng.normal(size=N) * length, system


@for_each("case", CASES)
def test_newtons_matrix_is_the_derivative_of_the_equations(monkeypatch, case):
    """By the slopes, by what slides, and by the length of the element where it is unknown."""
    tableau, sliding, kind, bound = case
    el, t, x, _ = element(monkeypatch, tableau, 2, sliding)
    which, d, s = 1, N + sliding, 2
    size = s * d + (kind > 0)
    elements.factor(el, t, x, kind, which, bound)
    matrix = el.solver.M[:size, :size].copy()
    K, W, newton = el.stages.K, el.stages.W, el.solver.newton

    def off(p, by):
        place = divmod(p, d)
        at = (K, place) if place[1] < N else (W, (place[0], place[1] - N))
        at = (newton["h"], 0) if p == s * d else at
        before = at[0][at[1]]
        at[0][at[1]] = before + by
        elements.defect(el, t, x, kind, which, bound)
        at[0][at[1]] = before
        return el.solver.rhs[:size].copy()

    step = 1e-6
    differences = np.array([(off(p, -step) - off(p, step)) / (2 * step) for p in range(size)]).T
    np.testing.assert_allclose(matrix, differences, atol=2e-8)


@for_each("case", CASES)
def test_residuals_are_compared_with_their_terms_in_whatever_units(monkeypatch, case):
    """What is solved to round-off does not depend on the unit of a length, a time or a function."""
    tableau, sliding, kind, bound = case
    d, s = N + sliding, 2
    size = s * d + (kind > 0)
    scales = {}
    for units in ((1.0, 1.0, 1.0), (1e-3, 1.0, 1.0), (1.0, 0.25, 1.0), (1.0, 1.0, 16.0)):
        named = dict(zip(("length", "time", "value"), units, strict=True))
        el, t, x, _ = element(monkeypatch, tableau, s, sliding, **named)
        elements.factor(el, t, x, kind, 1, bound)
        length, time, value = units
        of = np.tile([*[length / time] * N, *[value / time] * sliding], s)
        end = {0: [], SURFACE: [value / time if bound else value], MULTIPLIER: [1.0]}[kind]
        scales[units] = el.solver.scale[:size] * np.append(of, end)
        np.testing.assert_allclose(scales[units], scales[1.0, 1.0, 1.0], rtol=1e-12)


@for_each(("sliding", "large"), itertools.product(range(3), (1.0, 1e9)))
def test_a_slope_is_compared_with_its_terms(monkeypatch, sliding, large):
    """|K|, |f_t t|, what multipliers add, and of those that are known no more than can be seen."""
    el, t, x, system = element(monkeypatch, "radau_iia", 2, sliding)
    system.F[:], system.C[:] = 0.0, 0.0  # f does not know x
    known = el.mode.B[:, :sliding].any(axis=1) == 0
    system.b[:, 1] *= large
    elements.factor(el, t, x, 0, 0, 0.0)
    times = t + 0.3 * el.tableau.c
    terms = abs(el.stages.K) + abs(system.b[:, ~known]).sum(axis=1)
    seen = np.minimum(abs(system.b[:, known]).sum(axis=1), elements.UNSEEN * terms)
    expected = terms + seen + abs(system.a) * abs(times[:, None])
    got = 1.0 / el.solver.scale[: 2 * (N + sliding)].reshape(2, -1)[:, :N]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_states_round_to_parts_of_the_steepest_slope(monkeypatch):
    """By h times its terms, which each slope feels by its derivatives."""
    lengths, inverse = (0.1, 0.2), []
    for h in lengths:
        el, t, x, system = element(monkeypatch, "radau_iia", 2, 1)
        el.stages.K[:], system.a[:] = 0.0, 0.0  # a state that does not depend on h
        el.solver.newton["h"] = h
        el.solver.M[:] = 0.0
        steep = elements.slope_rows(el, t, x, 0)
        inverse.append(1.0 / el.solver.scale[: 2 * (N + 1)].reshape(2, -1)[:, :N])
    rise = [abs(system.F + np.einsum("kop,o->kp", system.C, w)).sum(axis=1) for w in el.stages.sel]
    np.testing.assert_allclose(inverse[1] - inverse[0], 0.1 * steep * np.array(rise), rtol=1e-9)
    assert steep == pytest.approx((inverse[0] - 0.1 * steep * np.array(rise)).max())


@for_each("case", [c for c in CASES if c[2] != SURFACE or (c[1] < 2 and c[3] == 0.0)])
def test_a_solved_element_obeys_its_equations(monkeypatch, case):
    """K = f at the stages, c = 0 where it slides, and the end where it was asked for."""
    tableau, sliding, kind, bound = case
    el, t, x, system = element(monkeypatch, tableau, 3, sliding)
    monkeypatch.setitem(elements.factor.__globals__, "lu_factor", lu_factor)
    method, stages, newton, end = el.tableau, el.stages, el.solver.newton, np.zeros(N)
    for part, by in ((system.a, 0.1), (system.F, 0.1), (system.C, 0.01), (system.H, 0.01)):
        part *= by
    newton["h"], newton["cap"] = 0.1, 40
    which = el.mode.zeros[1] if sliding < 2 else 1  # one that is not slid on
    stages.K[:] = system.f(t, x, np.full(SELECTED, 0.5))[:N]
    slid = el.mode.zeros[:sliding]
    for j in slid:  # the start is on it
        system.d[j] -= system.c(t, x)[j] / t
    assert elements.element(el, t, x, end, 0, 0, 0.0) == SUCCESS
    if kind == SURFACE:  # moved to where the element was, a little shorter
        target = t + 0.09, x + 0.9 * (end - x)
        system.d[which] -= system.c(*target)[which] / target[0]
    if kind == MULTIPLIER:
        which, w = 0, method.end @ stages.W[:, :sliding]
        bound = el.mode.base[0] + el.mode.B[0, :sliding] @ (w + 0.01 * (w - stages.W[0, :sliding]))
    before = newton.evaluations[0]
    assert elements.element(el, t, x, end, kind, which, bound) == SUCCESS
    assert newton.evaluations[0] > before
    h = newton.h[0]
    assert (h == 0.1) == (kind == 0)
    multipliers = el.mode.base + stages.W[:, :sliding] @ el.mode.B[:, :sliding].T
    for i in range(3):
        at = t + h * method.c[i], x + h * method.A[i] @ stages.K, multipliers[i]
        np.testing.assert_allclose(stages.K[i], system.f(*at)[:N], rtol=1e-10, atol=1e-10)
        c = system.c(t + h * method.where[i], x + h * method.at[i] @ stages.K)[:SURFACES]
        np.testing.assert_allclose(stages.C[i], c, atol=1e-10)
        np.testing.assert_allclose(c[slid], 0.0, atol=1e-11)
    np.testing.assert_allclose(end, x + h * method.b @ stages.K, rtol=1e-12)
    if kind == SURFACE:
        assert system.c(t + h, end)[which] == pytest.approx(0.0, abs=1e-11)
    if kind == MULTIPLIER:
        assert method.end @ multipliers[:, 0] == pytest.approx(bound, abs=1e-10)


# -- where an active set ends ---------------------------------------------------------------------


def along(tableau, stages, sliding=1):
    """Return an element without values, what it starts with, and an ending."""
    method = collocation(tableau, stages)
    el = SimpleNamespace(
        problem=SimpleNamespace(n_x=0, n_c=2, n_sel=2, c=np.zeros(4)), tableau=method,
        mode=SimpleNamespace(sign=np.array([0, 1]), B=np.array([[0.0], [1.0]]),
                             active=[SimpleNamespace(sliding=sliding)]),
        stages=SimpleNamespace(K=np.zeros((stages, 0)), C=np.zeros((stages, 2)), sel=np.full((stages, 2), 0.5)),
    )  # fmt: skip
    start = SimpleNamespace(c=np.zeros(2), tolerance=np.full(2, 1e-12), multipliers=np.full(2, 0.5))
    return el, start, np.zeros(1, ENDING).view(np.recarray)


@for_each(("tableau", "stages"), [(t, s) for t in TABLEAUX for s in (2, 3, 4)])
def test_what_changes_evenly_leaves_where_a_line_leaves(tableau, stages):
    for first, last, bound in (
        (0.2, -0.3, 0.0),
        (0.9, -2.0, 0.0),
        (0.3, 1.1, 1.0),
        (0.9, 3.0, 1.0),
    ):
        el, start, ending = along(tableau, stages)
        start.multipliers[1] = first
        el.stages.sel[:, 1] = first + (last - first) * el.tableau.c
        start.c[1], el.stages.C[:, 1] = 1.0, 1.0
        assert ends.first_end(el, start, ending, 1) == MULTIPLIER
        assert (ending.which[0], ending.bound[0]) == (1, bound)
        assert ending.fraction[0] == pytest.approx((first - bound) / (first - last), rel=1e-9)
        for surface in (0.5, 2.0):  # before, and behind
            zero = surface * ending.fraction[0]
            for sign in (1, -1):
                el.mode.sign[1] = sign
                start.c[1], el.stages.C[:, 1] = sign * zero, sign * (zero - el.tableau.where)
                kind = ends.first_end(el, start, ending, 1)
                if surface < 1:
                    assert (kind, ending.which[0]) == (SURFACE, 1) or kind == MULTIPLIER
                    assert ending.fraction[0] == pytest.approx(zero, rel=1e-9)
                    ending.fraction[0] *= 2
                else:
                    assert kind == MULTIPLIER
            el.mode.sign[1] = 1


@for_each("tableau", TABLEAUX)
def test_what_begins_beyond_its_bound_ends_at_half_of_the_first_time(tableau):
    el, start, ending = along(tableau, 3)
    for beyond, bound in ((-0.2, 0.0), (1.2, 1.0)):
        start.multipliers[1] = el.stages.sel[:, 1] = beyond
        start.c[1], el.stages.C[:, 1] = 1.0, 1.0
        assert ends.first_end(el, start, ending, 1) == MULTIPLIER
        first = el.tableau.c[el.tableau.c > 0][0]
        assert (ending.bound[0], ending.fraction[0]) == (bound, pytest.approx(0.5 * first))


@for_each(("tableau", "sign"), itertools.product(TABLEAUX, (1, -1)))
def test_a_dip_between_constraints_is_seen_where_the_polynomial_has_its_zeros(tableau, sign):
    """c = (t - a)(t - b)(t + 2) is that polynomial with two stages: its samples say where it dips."""
    stages = 2
    for a, b in ((0.02, 0.3), (0.05, 0.2), (0.45, 0.9), (0.5, 0.52), (1.2, 1.4), (-0.5, -0.1)):
        el, start, ending = along(tableau, stages)
        el.mode.sign[1] = sign
        where = el.tableau.where

        def c(t, a=a, b=b):
            return (t - a) * (t - b) * (t + 2)

        if c(where).min() < 0:
            continue  # seen without
        start.c[1], el.stages.C[:, 1] = sign * c(0.0), sign * c(where)
        h, slope = 0.5, (c(1 + 1e-6) - c(1 - 1e-6)) / 2e-6
        el.problem.c = np.array([0.0, 0.0, 0.0, sign * slope / h])  # with no state: c_t
        times = np.append(0.0, where)
        samples = np.concatenate([[0.0], *(low + (high - low) * np.arange(1, 5) / 4
                                           for low, high in itertools.pairwise(times))])  # fmt: skip
        below = np.flatnonzero(c(samples) < -1e-12)
        nodes, differences = np.zeros(stages + 2), np.zeros(stages + 2)
        assert ends.dips(el, start, ending, nodes, differences, h) == bool(below.size)
        if below.size:
            was, at = samples[below[0] - 1], samples[below[0]]
            assert ending.which[0] == 1
            secant = was + (at - was) * c(was) / (c(was) - c(at))
            assert ending.fraction[0] == pytest.approx(secant, rel=1e-6)


@for_each(
    ("counts", "uneven"),
    itertools.product(
        ((4, (2, 2), (1, 3)), ((3, 1), 4, (2, 1, 1)), ((1, 2, 1), (1, 2, 1), 4)), (False, True)
    ),
)
def test_where_a_switch_moves_the_rest_of_its_interval_takes_it_up(monkeypatch, counts, uneven):
    """Times of intervals stand still: what a switch moves is taken up in equal parts behind it."""
    intervals = [c if isinstance(c, tuple) else (c,) for c in counts]
    phase, interval, switches, rng = [], [], [0], np.random.default_rng(1)
    for i, parts in enumerate(intervals):
        for k, part in enumerate(parts):
            if k:
                switches.append(len(phase))
            phase += [len(switches) - 1] * part
            interval += [i] * part
    n, p, count, m = 2, 3, len(phase), 1
    moved, own = np.zeros((count + 1, p + 1, n + 2)), np.zeros((count, n + 2))
    rhs, at_switch = np.zeros((p + 2, 2 * (n + m))), {}

    def tangent(ws, asked, t, x, before, after, of_length):
        after[:], of_length[:] = before, np.append(rng.normal(size=n + 1), 1.0)
        rhs[:] = 0.0
        rhs[p + 1] = 1.0
        return 0.5

    def stays_a_switch(ws, asked, record, phases, moved, first, last):
        # by the common length of its elements all of them have moved
        assert moved[last + 1, p, n + 1] == (1 if uneven and last > first else last + 1 - first)
        if uneven and last > first and first in at_switch:  # as if there were no switch ahead
            parts = 4 - (first - interval.index(interval[first]))
            np.testing.assert_allclose(
                moved[first + 1, :p, n + 1], at_switch[first] * (1 - 1 / parts)
            )
        at_switch[last + 1] = moved[last + 1, :p, n + 1] = rng.normal(size=p)

    for name, stand_in in (
        ("load", lambda *_: None),
        ("tangent", tangent),
        ("stays_a_switch", stays_a_switch),
    ):
        monkeypatch.setitem(tangents.differentiate.__globals__, name, stand_in)
    element = SimpleNamespace(
        problem=SimpleNamespace(n_x=n, drive=SimpleNamespace(now=[0])),
        stages=SimpleNamespace(K=np.zeros((2, n))),
        mode=SimpleNamespace(active=[SimpleNamespace(sliding=m)]),
    )  # fmt: skip
    ws, asked = (
        SimpleNamespace(element=element),
        SimpleNamespace(rhs=rhs, own=own, wrt=np.zeros(p, int), active=np.zeros((1, p), int)),
    )
    length = np.arange(1.0, count + 1) if uneven else np.ones(count)
    record = SimpleNamespace(
        begin=np.zeros(count),
        length=length,
        phase=phase,
        interval=interval,
        states=np.zeros((count + 1, n)),
    )
    phases = SimpleNamespace(switches=[SimpleNamespace(element=e, kind=1) for e in switches])
    to = SimpleNamespace(moved=moved, own=own, cost=np.zeros(count + 1))
    assert tangents.differentiate(ws, asked, record, phases, 4, to) == SUCCESS
    ends = [e for e in range(1, count + 1) if e == count or interval[e] != interval[e - 1]]
    np.testing.assert_allclose(moved[ends, :p, n + 1], 0.0, atol=1e-14)
    for e, tau in at_switch.items():
        end = next(x for x in ends if x > e)
        last = next(x for x in [*sorted(at_switch), end] if x > e)
        if last == end:
            shares = np.linspace(1, 0, end - e + 1)[:, None] * tau
            np.testing.assert_allclose(moved[e : end + 1, :p, n + 1], shares, atol=1e-14)
    assert len(at_switch) == len(switches) - 1
