"""The nonsmooth generalised-alpha step, uncompiled: coefficients, and what is taken of which contact."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.model.structures import Rows
from explorer.kernels.time_stepping.nonsmooth_alpha_structures import (
    BOTH,
    INSIDE,
    MEAN,
    VELOCITY,
    Method,
)

whole = plain("time_stepping.nonsmooth_alpha")
inner = plain("time_stepping.nonsmooth_alpha_iteration")
TOUCH = whole.TOUCH
NEXT = np.nextafter(TOUCH, 1.0)
N, NC = 2, 3
FAILS = 77  # a status
EQUAL = np.testing.assert_array_equal
# each contact has another number of entries
G = Rows(np.array([0, 2, 3, 5]), np.array([0, 1, 1, 0, 1]), np.array([1.0, 2.0, -3.0, 0.5, 4.0]))
DENSE = np.array([[1.0, 2.0], [0.0, -3.0], [0.5, 4.0]])


def method_of(level, interpolated=False):
    return Method(0.2, 0.4, 0.3, 0.7, 0.5, level, interpolated, 0.6, 0.6)


def copied():
    return Rows(G.ptr, G.col, G.val.copy())


# ---------------------------------------------------------------- a step and its coefficients


@for_each(("level", "s_d", "s_v", "c_w"), [(VELOCITY, 0.125, 1.0, 4.0), (MEAN, 0.25, 1.0, 4.0), (BOTH, 1.0, 0.0, 16.0), (INSIDE, 0.0, 0.0, 16.0)])  # fmt: skip
def test_coefficients_of_a_step_are_those_of_its_length(level, s_d, s_v, c_w):
    """beta h^2 and gamma h; W is a velocity, or a position, and counts as an acceleration."""
    step = whole.coefficients(space(method=method_of(level)), 1.0, 4, 0.25, 1.25)
    wanted = (4, 0.25, 1.25, 0.6 * 1.25 + 0.4, 0.3 * 0.0625, 0.175, s_d, s_v, c_w)
    assert tuple(step) == pytest.approx(wanted)


@for_each("constant", [True, False])
def test_gaps_of_a_row_take_the_gradients_of_their_own_contacts(constant):
    rng, rows = np.random.default_rng(1), copied()
    out, v = rng.normal(size=2 * NC + 5), rng.normal(size=(2, N))
    rows.val[:] = rng.normal(size=5)
    old = rows.val.copy()
    record = space(gap=np.full((2, NC), 9.0), gap_dot=np.full((2, NC), 9.0), v=v)
    problem = space(bundles=space(out=out), contacts=space(G=rows, e=np.zeros(NC)), options=space(constant=constant))  # fmt: skip
    whole.write_gaps(problem, record, 1)
    now = old if constant else out[2 * NC :]
    EQUAL(rows.val, now)
    speeds = [now[:2] @ v[1], now[2] * v[1, 1], now[3:] @ v[1]]
    np.testing.assert_allclose(record.gap_dot, [[9.0] * NC, out[NC : 2 * NC] + speeds])
    EQUAL(record.gap, [[9.0] * NC, out[:NC]])


@for_each(("nc", "level", "fails"), itertools.product((0, 1, 2), (VELOCITY, BOTH), ("", "factor", "respond", "jump")))  # fmt: skip
def test_constant_matrices_are_factored_with_the_contacts_that_there_are(monkeypatch, nc, level, fails):  # fmt: skip
    asked = []

    def note(name):
        return lambda *given: asked.append((name, given)) or (FAILS if name == fails else SUCCESS)

    put(monkeypatch, whole.factor_constant, **{name: note(name) for name in ("factor", "respond", "jump")},
        bandwidth=lambda D, n: (n, 5) if D == "D" else (6, n))  # fmt: skip
    kept = [[space(count=4)], [space(count=4)]]
    work = space(every=np.zeros(nc), state=[space(factored=0.0, span=9, span_jump=9)], responses=None, problem=space(M="D"),
                 jump=space(M="D jump"), lcp=space(kept=kept[0]), lcp_jump=space(kept=kept[1]))  # fmt: skip
    problem = space(matrices=space(M="M", K="K", C="C"), method=method_of(level), options=space(constant=True),
                    contacts=space(G=None))  # fmt: skip
    status = whole.factor_constant(problem, work, space(A_C=0.5, A_K=0.25), 0.125)
    names = ["factor", *["respond"] * (nc > 0), *["jump"] * (nc > 0 and level == BOTH)]
    names = names[: names.index(fails) + 1] if fails in names else names
    assert [name for name, _ in asked] == names
    assert asked[0][1][1:4] == (0.8, 0.5, 0.25)
    if "jump" in names:
        assert asked[-1][1][4] == 0.5 / 0.8
    bad = fails in names
    assert status == (FAILS if bad else SUCCESS)
    assert work.state[0].factored == 0.125
    assert (work.state[0].span, work.state[0].span_jump) == ((9, 9) if bad else (5, max(6, nc)))
    assert [one[0].count for one in kept] == ([4, 4] if bad else [-1, -1])


@for_each(("gap", "speed", "near"), [(TOUCH, 0.0, True), (NEXT, 0.0, False), (0.25, -1.0, True), (0.25, -0.9, False), (0.25, -9.0, True)])  # fmt: skip
def test_a_contact_takes_part_that_is_closed_at_its_forecast(gap, speed, near):
    """To half of the step, 0.25 s."""
    record = space(q=np.zeros((2, N)), v=np.zeros((2, N)), gap=np.array([[9.0, gap, 9.0]] * 2), gap_dot=np.array([[0.0, speed, 0.0]] * 2),
                   active=np.full((2, NC), 9), p=np.full((2, NC), 9.0))  # fmt: skip
    work = space(problem=space(act=np.full(NC, -9), z=np.full(NC, 9.0)), e_dot=np.zeros(NC), state=[space(before=0.0)],
                 x=np.zeros(N), w=np.zeros(N), before=np.zeros(N))  # fmt: skip
    method = method_of(VELOCITY)._replace(forecast=0.5)
    problem = space(contacts=space(e=np.ones(NC)), method=method)
    m = whole.active_set(problem, record, work, 0, 0.5)
    assert work.problem.act[:m].tolist() == [1] * near
    assert record.active[1].tolist() == [0, int(near), 0]


@for_each(("gaps", "z", "met"), [
    ((1.0, 1.0, 1.0), (0, 0, 0), []), ((TOUCH, NEXT, 1.0), (0, 0, 0), [0]), ((1.0, -1.0, TOUCH), (1e-3, 0, 0), [0, 1, 2]), ((1.0, 1.0, 1.0), (0, 0, 1e-3), [2]),
])  # fmt: skip
def test_impacts_are_of_contacts_that_touch_at_the_end_or_have_pushed(monkeypatch, gaps, z, met):
    """Newton's law for each, with the largest residual kept."""
    rng, asked = np.random.default_rng(2), []
    out, v1, Y = np.append(gaps, rng.normal(size=NC)), rng.normal(size=N), rng.normal(size=(9, NC, N))  # fmt: skip
    start, found = v1.copy(), rng.uniform(1, 2, NC)

    def complement(problem, m, span, options, lcp):
        asked.append((problem.act[:m].tolist(), problem.q[:m].tolist(), span))
        problem.z[:m] = found[:m]
        return SUCCESS, 0.5

    put(monkeypatch, whole.velocity_problem, complement=complement)
    law = space(act=np.zeros(NC, int), q=np.zeros(NC), z=np.array(z, float))
    work = space(jump=law, every=np.zeros(NC), v1=v1, e_dot=np.array([0.25, 0.5, 0.75]), responses=space(Y=Y),
                 state=[space(span_jump=3)], lcp_jump=None)  # fmt: skip
    problem = space(contacts=space(G=G), bundles=space(out=out), options=space(constant=True, lcp=None))  # fmt: skip
    for before, kept in ((0.25, 0.5), (0.75, 0.75)):
        law.z[:], v1[:] = z, start
        record = space(active=np.zeros((2, NC), int), residuals=np.array([[9.0, 9.0], [before, 9.0]]))  # fmt: skip
        assert whole.velocity_problem(problem, record, work, None, 1) == (SUCCESS, len(met))
        assert record.residuals.tolist() == [[9.0, 9.0], [kept, 9.0]]
    q = (out[NC:] + [0.25, 0.5, 0.75] + DENSE @ start)[met]
    assert asked == [(met, pytest.approx(q), 3)] * 2
    assert record.active[1].tolist() == [int(c in met) for c in range(NC)]
    np.testing.assert_allclose(v1, start + Y[whole.JUMP, met].T @ found[: len(met)])


@for_each("bad", [None, *itertools.product(("d1", "v1", "a1", "gap", "speed"), (np.inf, np.nan))])
def test_the_end_of_a_step_is_written_behind_it_where_it_is_finite(bad):
    """A contact that takes part without an impulse stays what it was."""
    rng, row = np.random.default_rng(5), 2
    out, z = rng.normal(size=2 * NC), np.array([0.5, 0.0, 9.0])
    work = space(problem=space(act=np.array([2, 0, 1]), z=z), every=np.zeros(NC), force_before=np.zeros(NC), x=np.zeros(N),
                 **{name: rng.normal(size=N) for name in ("d1", "v1", "a1")})  # fmt: skip
    if bad:
        place, value = bad
        where = {"gap": (out, 1), "speed": (out, NC + 1)}.get(place) or (getattr(work, place), 1)
        where[0][where[1]] = value
    record = space(**{name: np.full((4, N), 9.0) for name in "qva"}, active=np.full((4, NC), 1),
                   **{name: np.full((4, NC), 9.0) for name in ("p", "gap", "gap_dot")})  # fmt: skip
    problem = space(contacts=space(G=G), bundles=space(out=out), method=method_of(VELOCITY))
    step = space(row=row - 1, h=0.1)
    with np.errstate(all="ignore"):
        assert whole.keep(problem, record, work, step, 2) == (bad is None)
    assert record.active.tolist() == [[1] * NC, [1] * NC, [1, 1, 2], [1] * NC]
    assert record.p.tolist() == [[9.0] * NC, [9.0] * NC, [0.0, 9.0, 0.5], [9.0] * NC]
    EQUAL([record.q[row], record.v[row], record.a[row]], [work.d1, work.v1, work.a1])
    EQUAL(record.gap[row], out[:NC])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(record.gap_dot[row], out[NC:] + DENSE @ work.v1)
    assert (record.q[[0, 1, 3]] == 9).all()


# ---------------------------------------------------------------- its iterations


def test_contacts_with_a_restitution_of_one_are_looked_at_where_they_are(monkeypatch):
    """In the middle between the end and one step before the start: (d1 + before) / 2."""
    inp, out, asked = np.full(1 + 2 * N, np.nan), np.zeros(2 * NC + 5), []

    def evaluate(bundles, which):
        asked.append(inp[: 1 + N].tolist())
        out[:NC] = 10.0 * len(asked)

    put(monkeypatch, inner.look, evaluate=evaluate)
    law = space(act=np.array([1, 0, 2]), q=np.zeros(NC), z=np.zeros(NC), M=np.eye(NC))
    work = space(problem=law, d1=np.array([1.0, 2.0]), v1=np.zeros(N), before=np.array([3.0, -2.0]), point=np.zeros(N),
                 x=np.zeros(N), e_dot=np.zeros(NC))  # fmt: skip
    problem = space(bundles=space(inp=inp, out=out), contacts=space(G=G, e=np.ones(NC)), method=method_of(MEAN),
                    options=space(constant=True))  # fmt: skip
    told = inner.look(problem, work, space(t1=1.5, h=0.5), 1.0, NC, True)
    assert told == (True, 0.0, pytest.approx(2.0))  # the first coordinate of the first contact
    assert asked == [[1.0, 2.0, 0.0]]
    assert law.q.tolist() == [20.0] * NC


@for_each("below", [0, 1])
def test_a_small_residual_is_told_beside_small_terms(below):
    """What lies beyond the band of M is not looked at."""
    n, rng = 4, np.random.default_rng(below)
    M = np.full((n, n), np.nan)
    i, j = np.indices((n, n))
    inside = (j >= i - below) & (j <= i + 1 - below)
    M[inside] = rng.normal(size=inside.sum())
    F, a_m = 1e-3 * rng.normal(size=(2, n))
    work = space(problem=space(act=None, z=None), F=F, F0=np.zeros(n), r=np.zeros(n), a_m=a_m, d_f=None, v_f=None, x=np.zeros(n),
                 state=[space(below=below, above=1 - below)])  # fmt: skip
    problem = space(contacts=space(G=G), matrices=space(M=M, K=None, C=None), options=space(constant=True), method=method_of(VELOCITY))  # fmt: skip
    norm, scale = inner.residual(problem, work, 0)
    full = np.where(inside, M, 0.0)
    assert norm == pytest.approx(np.linalg.norm(full @ a_m - 0.6 * F))
    assert scale == pytest.approx((abs(F) + abs(full) @ abs(a_m)).max())


@for_each(("m", "status"), itertools.product((0, 1, 2), (SUCCESS, SINGULAR)))
def test_contacts_that_take_part_are_responded_to(monkeypatch, m, status):
    """Also a single one; not where the matrix of the step has no inverse."""
    asked = []
    put(monkeypatch, inner.correct, factor=lambda *given: asked.append(("factor", *given[1:4])) or status,
        respond=lambda *given: asked.append(given[0]) or FAILS, lu_solve=lambda *_: None, complement=lambda *_: (SUCCESS, 0.0))  # fmt: skip
    nothing = np.zeros(N)
    work = space(responses=space(Y=np.zeros((9, NC, N)), LU=[None] * 9, band=[space(below=0, above=0)] * 9, pivots=[None] * 9), old=None, w=nothing.copy(), dx=nothing.copy(),
                 problem=space(M=None, act=None, q=None, z=None), best=nothing.copy(), r=np.array([1.0, 2.0]), x=nothing.copy(), a1=nothing, lcp=space(kept=[space(count=3)]))  # fmt: skip
    problem = space(contacts=space(G=G), matrices=space(M=None, K=None, C=None), options=space(constant=False), method=method_of(VELOCITY))  # fmt: skip
    told = inner.correct(problem, None, work, space(c_w=4.0), space(A_C=0.5, A_K=0.25), m)
    works = status == SUCCESS
    assert asked == [("factor", 0.8, 0.5, 0.25), *[m] * (works and m > 0)]
    assert told == ((FAILS if m else SUCCESS) if works else SINGULAR, 0.0 if m or not works else 2.0, 0.0 if m or not works else 2.0)  # fmt: skip
    assert work.lcp.kept[0].count == (-1 if works and m else 3)


@for_each(("gaps", "told"), [((1.0, 1.0, NEXT), False), ((1.0, TOUCH, 1.0), True), ((-1.0, 1.0, 1.0), True), ((1.0, 1.0, np.nan), True)])  # fmt: skip
def test_positions_penetrate_where_any_contact_is_closed(monkeypatch, gaps, told):
    filled, out = [], np.array(gaps)
    put(monkeypatch, inner.penetrates, fill=lambda *given: filled.append(given), evaluate=lambda *_: None)  # fmt: skip
    act = np.full(NC, 9)
    work = space(every=np.zeros(NC), d1="d", v1="v", x=np.zeros(N), problem=space(act=act))
    assert inner.penetrates(space(bundles=space(inp="inp", out=out)), work, space(t1=2.0)) == told
    assert filled == [("inp", 2.0, "d", "v", N)]
    assert act.tolist() == [0, 1, 2]


def solved(monkeypatch, norms, *, m=0, level=VELOCITY, constant=False, changes=(1.0,) * 20, misses=(0.0,) * 20, scale=2.0, near=4.0, most=9,
           penetrates=False):  # fmt: skip
    """Run Newton's method whose residuals and changes are given; return what it tells, and what was asked."""
    left, moves, off, said = iter(norms), iter(changes), iter(misses), []

    def look(problem, work, step, t0, m, first):
        said.append(("look", first))
        return True, next(off), near

    def correct(*given):
        said.append("correct")
        return SUCCESS, next(moves), 8.0

    put(monkeypatch, inner.newton, evaluate_state=lambda *_: said.append("state"), look=look, correct=correct, penetrates=lambda *_: penetrates,
        linearise=lambda problem, work, step, check: said.append(check) or SUCCESS, residual=lambda *_: (next(left), scale))  # fmt: skip
    work = space(x=np.zeros(1), dx=np.ones(1), best=np.zeros(1), every=np.zeros(NC))
    record = space(t=np.zeros(3), iterations=np.zeros(3, int), residuals=np.zeros((3, 2)))
    problem = space(method=method_of(level), options=space(constant=constant, newton_tol=0.125, newton_max=most))  # fmt: skip
    told = inner.newton(problem, record, work, space(row=0), None, m)
    return told, said, record.iterations[1]


@for_each(("given", "status", "many"), [
    ({"norms": [9.0, 0.25]}, SUCCESS, 1), ({"norms": [0.0, 0.0]}, SUCCESS, 1), ({"norms": [9.0, 0.5, 0.26, 0.2]}, SUCCESS, 3), ({"norms": [9.0] * 3, "most": 2}, NEWTON_CAP, 0),
    ({"norms": [9.0, 0.03125], "scale": 0.25}, SUCCESS, 1), ({"norms": [9.0, 0.04, 0.03], "scale": 0.25}, SUCCESS, 2), ({"norms": [9.0, np.nan]}, NOT_FINITE, 0),
    ({"norms": [9.0, 5.0], "changes": [7e-11]}, SUCCESS, 1), ({"norms": [9.0, 5.0, 0.1], "changes": [9e-11, 1.0]}, SUCCESS, 2),
    ({"norms": [9.0, 0.1, 0.1], "m": 1, "misses": [0.0, 4 * TOUCH]}, SUCCESS, 1), ({"norms": [9.0, 0.1, 0.1], "m": 1, "misses": [0.0, 5 * TOUCH, 0.0]}, SUCCESS, 2),
    ({"norms": [9.0, 0.1], "m": 1, "misses": [0.0, 1.0], "changes": [7e-15]}, SUCCESS, 1),
])  # fmt: skip
def test_iterations_end_where_the_step_and_its_laws_are_solved(monkeypatch, given, status, many):
    told, said, iterations = solved(monkeypatch, **given)
    assert (told[0], iterations) == (status, many)
    assert [one for one in said if isinstance(one, bool)][:2] == [True, False][: said.count("state")]  # fmt: skip
    looks = [one[1] for one in said if isinstance(one, tuple)]
    assert looks == ([True] + [False] * 9)[: len(looks)]
    assert bool(looks) == (given.get("m", 0) > 0)


def test_a_step_without_contacts_goes_half_the_way_back_up_to_eight_times(monkeypatch):
    """Where its residual is longer than the one before; as long is no reason."""
    told, said, _ = solved(monkeypatch, [1.0, 1.0, 1.0, 0.1])
    assert (told[0], said.count("correct"), said.count("state")) == (SUCCESS, 3, 4)
    told, said, _ = solved(monkeypatch, [1.0, 2.0, 2.0, 0.5, 0.1])
    assert (told[0], said.count("correct"), said.count("state")) == (SUCCESS, 2, 5)
    told, said, _ = solved(monkeypatch, [1.0, *[2.0] * 9, 0.1])
    assert (told[0], said.count("correct"), said.count("state")) == (SUCCESS, 2, 11)
    told, said, _ = solved(monkeypatch, [1.0, 2.0, 0.1], m=1)
    assert (told[0], said.count("correct"), said.count("state")) == (SUCCESS, 2, 3)


@for_each("constant", [True, False])
def test_positions_that_penetrate_are_solved_for_once_more(monkeypatch, constant):
    """With all contacts and anew: the first residual then is no end, nor is it halved."""
    norms = [9.0, 0.1, 0.1, 0.1] if not constant else [9.0, 9.0]
    told, said, many = solved(monkeypatch, norms, level=BOTH, constant=constant, penetrates=True)
    assert (told[0], told[1], told[2], many) == (SUCCESS, NC, True, 2)
    assert [one[1] for one in said if isinstance(one, tuple)] == [True, False][: 1 if constant else 2]  # fmt: skip
    assert said.count("correct") == 2
    told, said, many = solved(monkeypatch, norms, level=BOTH, constant=constant)
    assert (told[0], told[1], told[2], many) == (SUCCESS, 0, False, 1)
