"""Parts of a step of the Newmark family, each against its definition."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain, put

from explorer.codes import NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.model.held_inputs import NEVER
from explorer.kernels.time_stepping.newmark_structures import (
    Bands,
    Matrices,
    Method,
    Part,
    linear_workspace,
    workspace,
)

left, error = plain("time_stepping.newmark_residual"), plain("time_stepping.newmark_error")
iteration, linear = plain("time_stepping.newmark_iteration"), plain("time_stepping.newmark_linear")
whole, springs = plain("time_stepping.newmark"), plain("time_stepping.bilinear_springs")
METHOD = Method(0.2, 0.4, 0.3, 0.6, 1.0, 2, 2, False, 0.6, 0.6, 0.0)


def banded(rng, n, below, above):
    """Return a matrix that is zero beyond its band."""
    return np.triu(np.tril(rng.normal(size=(n, n)) + 3 * np.eye(n), above), -below)


class Case:
    """M, C and K in bands, vectors at random, and a step from one state to another."""

    def __init__(self, seed: int, n: int):
        rng = self.rng = np.random.default_rng(seed)
        self.n, (a, b, c, d) = n, rng.integers(0, n, 4)
        self.bands = Bands(min(a, c), min(b, d), c, d)
        M = banded(rng, n, min(a, c), min(b, d))
        C, K = banded(rng, n, c, d), banded(rng, n, c, d)
        self.matrices = Matrices(M, K, C, M.ravel(), K.ravel(), C.ravel())
        self.work = opened(workspace(n, 0.1, np.zeros(n)))
        for vector in self.work[3:]:
            vector[:] = rng.normal(size=n)
        d0, v0, a0, d1, v1, a1 = rng.normal(size=(6, n))
        self.part = Part(1.0, 1.1, 0.1, 0.003, 0.06, 1.0, d0, v0, a0, d1, v1, a1)
        self.problem = SimpleNamespace(
            matrices=self.matrices, bands=self.bands, method=METHOD,
            bundles=SimpleNamespace(inp=rng.normal(size=1 + 2 * n)),
        )  # fmt: skip


@for_each("n", [1, 2, 5])
@for_each("seed", range(6))
def test_the_residual_and_the_terms_that_cancel_in_it(seed, n):
    case = Case(seed, n)
    (M, K, C, *_), w, inp = case.matrices, case.work, case.problem.bundles.inp
    norm = left.unbalanced(M, w.F, w.F0, w.a_m, case.bands, 0.6, 0.4, w.r)
    np.testing.assert_allclose(w.r, M @ w.a_m - 0.6 * w.F - 0.4 * w.F0, atol=1e-13)
    assert norm == pytest.approx(np.linalg.norm(w.r))
    d, v = inp[1 : 1 + n], inp[1 + n :]
    for old in (0.0, 0.4):
        case.problem.method = METHOD._replace(old=old)
        terms = (
            0.6 * abs(w.F)
            + old * abs(w.F0)
            + abs(M) @ abs(w.a_m)
            + abs(K) @ abs(d)
            + abs(C) @ abs(v)
        )
        assert left.beside(case.problem, w) == pytest.approx((abs(w.r) / terms).max(), rel=1e-12)
    for vector in (w.F, w.F0, w.a_m, inp):
        vector[:] = 0.0
    with np.errstate(invalid="ignore"):
        assert left.beside(case.problem, w) == np.inf
    w.r[:] = 0.0
    assert left.beside(case.problem, w) == 0.0


@for_each("n", [1, 2, 5])
@for_each("seed", range(6))
def test_a_correction_solves_for_the_unknown(seed, n):
    case = Case(seed, n)
    (M, K, C, *_), w, part = case.matrices, case.work, case.part
    w.W[:] = np.nan
    assert iteration.correction(case.problem, part, w) == SUCCESS
    A = (1 - 0.2) * part.c_a * M + 0.6 * 0.6 * (part.c_v * C + part.c_d * K)
    np.testing.assert_allclose(A @ w.dx, -w.r, atol=1e-10)
    x, a1 = w.x.copy(), part.a1
    change, size, slope = iteration.move(part, w)
    np.testing.assert_array_equal(w.best, x)
    np.testing.assert_allclose(w.x, x + w.dx)
    assert change == abs(w.dx).max()
    assert size == pytest.approx(max(abs(w.x).max(), abs(a1 / part.c_a).max()))
    assert slope == pytest.approx(abs(w.r @ w.dx))
    for of in (M, K, C):
        of[:] = 0.0
    assert iteration.correction(case.problem, part, w) == SINGULAR


@for_each("n", [1, 3])
def test_the_state_of_a_step_follows_from_its_unknown(n):
    case = Case(2, n)
    p, w, inp = case.part, case.work, case.problem.bundles.inp
    iteration.evaluate_state(case.problem, p, w)
    d1 = p.d0 + p.h * p.v0 + p.h**2 / 2 * p.a0 + p.c_d * w.x
    v1, a1 = p.v0 + p.h * p.a0 + p.c_v * w.x, p.a0 + p.c_a * w.x
    for got, expected in ((p.d1, d1), (p.v1, v1), (p.a1, a1), (w.a_m, 0.8 * a1 + 0.2 * p.a0),
                          (inp[1 : 1 + n], 0.6 * d1 + 0.4 * p.d0),
                          (inp[1 + n :], 0.6 * v1 + 0.4 * p.v0)):  # fmt: skip
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert inp[0] == pytest.approx(0.6 * 1.1 + 0.4 * 1.0)


def solve(residuals, newton_max=9, **options):
    """Run Newton's method for r = k x + ... as told by a function of x; return what it does."""
    case = Case(0, 1)
    space, seen = iteration.newton.__globals__, []
    names = ("evaluate_state", "linearise", "unbalanced", "correction", "beside")
    real = {name: space[name] for name in names}
    case.problem.options = SimpleNamespace(
        **{"newton_tol": 1e-10, "newton_max": newton_max, "explicit": False, "analytic": False}
        | options
    )
    w, part = case.work, case.part
    w.x[:] = w.r[:] = w.dx[:] = 0.0
    for vector in (part.d1, part.v1, part.a1):
        vector[:] = 0.0
    r, slope = residuals

    def unbalanced(M, F, F0, a, bands, share, old, out):
        seen.append(w.x[0])
        out[0] = r(w.x[0])
        return abs(out[0])

    def correction(problem, part, work):
        work.dx[0] = -work.r[0] / slope(work.x[0])
        return SUCCESS if slope(work.x[0]) else SINGULAR

    space |= {"evaluate_state": lambda *_: None, "linearise": lambda *_: None, "unbalanced": unbalanced,
              "correction": correction, "beside": lambda problem, work: abs(work.r[0])}  # fmt: skip
    try:
        with np.errstate(all="ignore"):
            return (*iteration.newton(case.problem, part, w), w.x[0], seen, part)
    finally:
        space |= real


def test_newtons_method_ends_where_it_should():
    status, n, norm, ratio, x, seen, _ = solve((lambda x: x**2 + x - 1, lambda x: 2 * x + 1))
    assert (status, x) == (SUCCESS, pytest.approx((5**0.5 - 1) / 2))
    assert norm == ratio <= 1e-10
    assert n == len(seen) - 1
    assert n <= 6
    assert solve((lambda x: np.nan, lambda x: 1.0))[0] == NOT_FINITE
    assert solve((lambda x: np.inf, lambda x: 1.0))[:2] == (NOT_FINITE, 0)
    assert solve((lambda x: np.inf, lambda x: 0.0))[:2] == (NOT_FINITE, 0)
    assert solve((lambda x: 1.0 + x, lambda x: 0.0))[:2] == (SINGULAR, 0)
    assert solve((lambda x: 1.0 + x, lambda x: 1e-320))[0] == NOT_FINITE
    status, n, *_ = solve((lambda x: x**2 + x - 1, lambda x: 2 * x + 1), newton_max=2)
    assert (status, n) == (NEWTON_CAP, 2)


def test_a_newton_step_that_does_not_help_is_halved():
    """arctan from far: whole steps run away; |r| falls with every accepted one."""
    status, n, _, _, x, seen, _ = solve(
        (lambda x: np.arctan(x - 4), lambda x: 1 / (1 + (x - 4) ** 2)), 30
    )
    assert (status, x) == (SUCCESS, pytest.approx(4.0))
    assert len(seen) > n + 1
    assert len(seen) < 2 * n + 6
    # nothing helps: ten halves, then it is said
    status, n, _, _, x, seen, _ = solve((lambda x: 1.0 + abs(x), lambda x: 1.0))
    assert (status, n) == (NEWTON_CAP, 1)
    assert seen == [0.0, *(-(0.5**k) for k in range(11))]
    status, n, *_ = solve((lambda x: 1.0 if x == 0 else np.nan, lambda x: 1.0))
    assert (status, n) == (NOT_FINITE, 1)


def test_half_of_a_step_that_is_nothing_beside_the_unknown_is_not_halved():
    """1.6e-10 of it is, and does not help; then the next correction is tried."""
    rest = iter((1.0, 1.6e-10, 3e-10, 3e-10, 3e-10))
    status, n, _, _, _, seen, _ = solve((lambda x: next(rest), lambda x: 1.0), 3, newton_tol=1e-30)
    assert (status, n, len(seen)) == (NEWTON_CAP, 3, 5)


def test_newtons_method_ends_at_round_off_after_three_that_do_not_help():
    """Changes far below 1e-10 of the unknown that are not halved: three in a row, from then on."""
    left = {
        (1.0, 1e-12, 0.9e-12, 0.8e-12, 0.7e-12, 0.6e-12): 4,  # the first of them falls
        (
            1.0,
            2.0**-40,
            2.0**-41,
            0.9 * 2.0**-41,
            0.8 * 2.0**-41,
            0.7 * 2.0**-41,
            0.0,
        ): 5,  # half falls
        (1.0, 1e-12, 0.9e-12, 0.8e-12, 1e-13, 0.9e-13, 0.8e-13, 0.7e-13, 0.6e-13): 7,
    }
    for residuals, expected in left.items():
        rest = iter(residuals)
        status, n, norm, *_ = solve(
            (lambda x, rest=rest: next(rest), lambda x: 1.0), newton_tol=1e-30, newton_max=20
        )
        assert (status, n, norm) == (SUCCESS, expected, residuals[expected])


def test_one_step_is_enough_where_it_is_exact_or_what_is_left_is_known():
    status, n, norm, ratio, x, seen, part = solve((lambda x: x - 3.0, lambda x: 1.0), explicit=True)
    assert (status, n, norm, ratio, x, len(seen)) == (SUCCESS, 1, 0.0, 0.0, 3.0, 1)
    assert (part.a1[0], part.v1[0], part.d1[0]) == pytest.approx(
        (3 * part.c_a, 3 * part.c_v, 3 * part.c_d)
    )
    quadratic = (lambda x: x**2 + x - 1, lambda x: 2 * x + 1)
    plainly, known = solve(quadratic), solve(quadratic, analytic=True)
    assert known[0] == SUCCESS
    assert known[1] == plainly[1]
    assert len(known[5]) == len(plainly[5]) - 1  # the last residual is not looked at
    assert known[4] == pytest.approx(plainly[4], abs=1e-10)
    assert 0 < known[3] <= 1e-10
    falls = [abs(quadratic[0](x)) for x in known[5]]
    assert known[2] == pytest.approx(falls[-1] * (falls[-1] / falls[-2]) ** 2)


@for_each("seed", range(8))
def test_cubics_and_the_local_error_are_exact_for_polynomials(seed):
    """The state in the middle is that of the cubic; the error that of the quadrature of a step."""
    rng, n, h = np.random.default_rng(seed), 4, 0.3
    motions = [np.poly1d(rng.normal(size=4)) for _ in range(n)]
    at = lambda k, s: np.array([m.deriv(k)(s) if k else m(s) for m in motions])  # noqa: E731
    state = np.full(2 * n, 9.0)
    error.middle(n, h, at(0, 0), at(1, 0), at(2, 0), at(0, h), at(1, h), at(2, h), state)
    np.testing.assert_allclose(state, [*at(0, h / 2), *at(1, h / 2)], atol=1e-12)
    ends = at(0, 0), at(1, 0), at(2, 0), at(2, h / 2), at(2, h)
    assert error.local_error(n, h, 10.0, *ends, at(0, h), at(1, h)) <= 1e-13
    off_d, off_v = np.zeros((2, n))
    off_d[seed % n] = 1e-3
    assert error.local_error(n, h, 10.0, *ends, at(0, h) + off_d, at(1, h)) == pytest.approx(1e-3)
    # an error of v counts by the frequency: of x = A sin(omega t + phi) by 1 / omega
    omega, phase = 0.7 + seed, 0.3 * seed
    off_v[seed % n] = 1.0
    x = [
        omega**k * np.sin(omega * np.array([0, 0.005, 0.01]) + phase + k * np.pi / 2)
        for k in range(3)
    ]
    one = np.ones(n)
    q0, v0, a0, am, a1 = (y * one for y in (x[0][0], x[1][0], x[2][0], x[2][1], x[2][2]))
    got = error.local_error(n, 0.01, 1e9, q0, v0, a0, am, a1, x[0][2] * one, x[1][2] * one + off_v)
    assert got == pytest.approx(1 / omega, rel=3e-3)
    assert error.local_error(
        n, 0.01, 1e-3, q0, v0, a0, am, a1, x[0][2] * one, x[1][2] * one + off_v
    ) == (pytest.approx(1e-3, rel=1e-3))
    assert error.local_error(n, h, 10.0, *ends, at(0, h) + np.nan, at(1, h)) == np.inf
    with np.errstate(all="ignore"):
        assert error.local_error(n, h, 10.0, *ends, at(0, h), at(1, h) + np.inf) == np.inf


def test_the_step_that_follows_aims_at_the_tolerance():
    def follow(off, order=2, step=0.1, h=0.1, most=1.0, t1=1.0, t_end=2.0, tol=1e-3):
        return error.following(off, tol, order, step, h, most, t1, t_end)

    for order in (1, 2, 3):
        for ratio in (10.0, 1.5, 0.3, 0.01):
            factor = 0.9 * ratio ** (-1 / (order + 1))
            got = follow(ratio * 1e-3, order)
            if ratio > 1:
                assert got < 0
                assert -got == pytest.approx(0.1 * max(factor, 0.2), abs=0.1 / 64)
            elif 1.0 <= factor <= 1.3:
                assert got == 0.1
            else:
                assert got == pytest.approx(0.1 * min(factor, 2.0), abs=0.1 / 64)
            parts = abs(got) / 0.1 * 64
            assert parts == pytest.approx(round(parts)) or parts == pytest.approx(12.8)
    assert follow(1e3) == pytest.approx(-0.02)  # no less than a fifth
    assert follow(0.0) == pytest.approx(0.2)  # no more than twice
    assert follow(0.0, most=0.15) == 0.15
    assert follow(1e-3 * 0.9**3) == 0.1  # a small change is none
    assert follow(0.99e-3) < 0.1
    assert follow(0.99e-3) > 0
    assert follow(1e-9, t1=2.0) == 0.1  # the end
    assert follow(0.0, step=0.05, h=0.1) == pytest.approx(0.1)
    assert follow(1e-3 * 0.9**3, step=0.05, h=0.1) == 0.1
    assert follow(np.nan) < 0
    assert follow(1.0, step=1e-13, t_end=2.0) > 0  # too short to be taken again


@for_each("shorter", [0.5, 1.0, 1.7])
def test_carried_accelerations_are_moved_with_the_step(shorter):
    """They are those of the time t + (alpha_m - alpha_f) h: linear ones are moved exactly."""
    before, h = 0.2, 0.2 * shorter
    shift = METHOD.alpha_m - METHOD.alpha_f
    slope = np.array([3.0, -1.0, 0.5])

    def carried(t, h):
        return np.array([2.0, 1.0, -4.0]) + slope * (t + shift * h)

    work = opened(workspace(3, h, np.zeros(3)))
    work.state[0].before, work.state[0].c_a = before, 2.0
    work.a_before[:] = carried(0.0, before)
    base, problem = carried(before, before), SimpleNamespace(method=METHOD)
    moved = whole.moves_to(problem, work, base, h)
    assert moved == (shorter != 1.0)
    a0 = work.a_moved if moved else base
    np.testing.assert_allclose(a0, carried(before, h), rtol=1e-12)
    np.testing.assert_allclose(work.x, h / before * (a0 - work.a_before) / 2.0)  # extrapolated
    alike = SimpleNamespace(method=METHOD._replace(alpha_m=0.4))
    assert not whole.moves_to(alike, work, base, h)
    work.state[0].before = 0.0
    assert not whole.moves_to(problem, work, base, h)
    assert not work.x.any()
    space, seen = linear.step_linear.__globals__, []
    real = {name: space[name] for name in ("predict", "correct")}
    space |= {"predict": lambda p, record, row, h, t1, a0: seen.append(a0.copy()),
              "correct": lambda *_: False}  # fmt: skip
    try:
        work = opened(linear_workspace(3, h, np.zeros(3)))
        a = np.array([carried(0.0, before), base, base])
        record = SimpleNamespace(t=np.array([0.0, before, before + h]), a=a)
        grid = SimpleNamespace(drive=NEVER, t_end=1.0)
        problem = SimpleNamespace(method=METHOD, options=None, grid=grid)
        assert linear.step_linear(problem, record, work, 1, h, before + h) == NOT_FINITE
        np.testing.assert_allclose(seen.pop(), carried(before, h), rtol=1e-12)
        linear.step_linear(problem, record, work, 0, h, h)
        np.testing.assert_array_equal(seen.pop(), a[0])
        work.state[0].factored = 9.0
        assert linear.step_linear(problem, record, work, 1, h, before + h) == linear.UNFACTORED
        assert work.state[0].factored == h
    finally:
        space |= real


@for_each("tangent", [False, True])
def test_springs_yield_and_remember_their_slip(tangent):
    """Forces of two springs, one within its strength and two beyond; slips move with hardening."""
    n, rng = 3, np.random.default_rng(1)
    k, yields, b = np.array([2.0, 3.0, 4.0]), np.array([1.0, 0.5, 0.7]), np.array([0.1, 0.2, 0.3])
    committed, u = np.array([0.1, -0.2, 0.0]), np.array([0.3, 1.4, -2.0])
    places = [[0, 1], [1, 2], [2]]
    slopes = [rng.normal(size=len(p)) for p in places]
    count = 3
    starts = count + 1 + np.append(0, np.cumsum([len(p) for p in places]))
    pattern = np.array([*starts, *np.concatenate(places)])
    out = np.concatenate([u, k, yields, b, *slopes])
    springs.bilinear.__globals__["evaluate"] = lambda bundles, which: None
    held = springs.Springs(pattern, committed, np.zeros(count))
    F, K = np.full(n, 5.0), np.full((n, n), 2.0)
    springs.bilinear(SimpleNamespace(out=out), held, F, K.ravel(), tangent)
    elastic = (1 - b) * k * (u - committed)
    bound = (1 - b) * yields
    force = b * k * u + np.clip(elastic, -bound, bound)
    assert [*(abs(elastic) > bound)] == [False, True, True]
    stiff = np.where(abs(elastic) > bound, b * k, k)
    F1, K1 = np.full(n, 5.0), np.full((n, n), 2.0)
    for p, g, pull, s in zip(places, slopes, force, stiff, strict=True):
        F1[p] -= g * pull
        K1[np.ix_(p, p)] += s * np.outer(g, g)
    np.testing.assert_allclose(F, F1)
    np.testing.assert_allclose(K, K1 if tangent else np.full((n, n), 2.0))
    slip = np.where(abs(elastic) > bound, u - np.sign(elastic) * bound / ((1 - b) * k), committed)
    np.testing.assert_allclose(held.trial, slip)
    np.testing.assert_array_equal(held.committed, [0.1, -0.2, 0.0])


@for_each(("alphas", "degree"), itertools.product([(0.0, 0.0), (0.2, 0.4), (0.2, 0.0)], (4, 7)))
def test_the_error_of_a_step_is_that_of_a_motion_under_its_forces(monkeypatch, alphas, degree):
    """None where a quartic solves M a = F(t), whatever a step carries; else by F at its middle."""
    n, h, t0, (am, af) = 3, 0.1, 1.0, alphas
    case = Case(4, n)
    space, part, inp = whole.estimate.__globals__, case.part, case.problem.bundles.inp
    path = [np.polynomial.Polynomial(c) for c in case.rng.normal(size=(n, degree + 1))]

    def motion(t, order=0):
        return np.array([(p.deriv(order) if order else p)(t - t0) for p in path])

    def forces(problem, F):  # the mass matrix moves with time
        F[:] = (np.eye(n) + inp[0] * np.diag([1.0, 2.0, 3.0])) @ motion(inp[0], 2)

    def mass(problem):
        case.matrices.M[:] = np.eye(n) + inp[0] * np.diag([1.0, 2.0, 3.0])

    def lu_solve(W, n, below, above, pivots, b):
        b[:] = np.linalg.solve((1 - am) * part.c_a * case.matrices.M, b)

    for name, stand_in in (("forces", forces), ("mass", mass), ("lu_solve", lu_solve)):
        monkeypatch.setitem(space, name, stand_in)
    problem = SimpleNamespace(
        method=METHOD._replace(alpha_m=am, alpha_f=af), bundles=case.problem.bundles, matrices=case.matrices,
        bands=Bands(n - 1, n - 1, n - 1, n - 1), options=SimpleNamespace(moves=True), grid=SimpleNamespace(t_end=2.0),
    )  # fmt: skip
    part = part._replace(t0=t0, t1=t0 + h, h=h, c_a=1.0)
    part.d0[:], part.v0[:], part.d1[:], part.v1[:] = motion(t0), motion(t0, 1), motion(t0 + h), motion(t0 + h, 1)  # fmt: skip
    case.work.true0[:] = motion(t0, 2)
    if am == af == 0.0:
        part.a1[:] = motion(t0 + h, 2)  # else something that is carried
    got = whole.estimate(problem, part, case.work)
    np.testing.assert_allclose(case.work.true1, motion(t0 + h, 2), rtol=1e-9)
    np.testing.assert_allclose(case.work.a_m, motion(t0 + h / 2, 2), rtol=1e-9)
    expected = error.local_error(n, h, 2.0, part.d0, part.v0, motion(t0, 2), motion(t0 + h / 2, 2),
                                 motion(t0 + h, 2), part.d1, part.v1)  # fmt: skip
    assert got == pytest.approx(expected, abs=1e-14)
    assert (got < 1e-13) == (degree == 4)


@for_each(("am", "af"), [(0.0, 0.0), (0.2, 0.4), (0.2, 0.0), (0.0, 0.4)])
def test_the_error_of_a_linear_step_is_that_of_a_motion_under_its_forces(monkeypatch, am, af):
    """Accelerations are those of F = M a at both ends; what a step carries with alphas is another."""
    n, h, t0, t1, rng = 3, 0.1, 1.0, 1.1, np.random.default_rng(3)
    M = rng.normal(size=(n, n)) + 4 * np.eye(n)
    path = [np.polynomial.Polynomial(c) for c in rng.normal(size=(n, 8))]
    inp, asked = np.full(1 + 2 * n, np.nan), []

    def motion(t, order=0):
        return np.array([(p.deriv(order) if order else p)(t - t0) for p in path])

    def force(bundles, which, rows, F):
        asked.append(inp.copy())
        F[:] = M @ motion(inp[0], 2)

    def solve_factored(factors, n, x):
        x[:] = np.linalg.solve((1 - am) * 0.7 * M, x)

    put(monkeypatch, linear.estimate, force=force, solve_factored=solve_factored)
    record = SimpleNamespace(t=np.array([0.0, t0]), **{
        name: np.array([np.full(n, np.nan), motion(t0, k), motion(t1, k)]) for k, name in enumerate("qva")
    })  # fmt: skip
    record.a[1] = np.nan
    carried = am == af == 0.0
    record.a[2] += 0.0 if carried else 1.0
    work = opened(linear_workspace(n, h, motion(t0, 2)))
    work.state[0].c_a = 0.7
    problem = SimpleNamespace(
        method=METHOD._replace(alpha_m=am, alpha_f=af), bundles=SimpleNamespace(inp=inp), linear=None, factors=None,
        mass=SimpleNamespace(ptr=np.arange(n + 1) * n, col=np.tile(np.arange(n), n), val=M.ravel()),
        grid=SimpleNamespace(t_end=2.0),
    )  # fmt: skip
    got = linear.estimate(problem, record, work, 1, h, t1)
    np.testing.assert_allclose(work.true1, motion(t1, 2), rtol=1e-9)
    np.testing.assert_allclose(work.centre, motion(t0 + h / 2, 2), rtol=1e-9)
    expected = error.local_error(n, h, 2.0, motion(t0), motion(t0, 1), motion(t0, 2), motion(t0 + h / 2, 2),
                                 motion(t1, 2), motion(t1), motion(t1, 1))  # fmt: skip
    assert got == pytest.approx(expected, abs=1e-14)
    assert len(asked) == 1 + (not carried)
    if not carried:
        np.testing.assert_array_equal(asked[0], [t1, *motion(t1), *motion(t1, 1)])
    middle = np.full(2 * n, np.nan)
    error.middle(
        n,
        h,
        motion(t0),
        motion(t0, 1),
        motion(t0, 2),
        motion(t1),
        motion(t1, 1),
        motion(t1, 2),
        middle,
    )
    np.testing.assert_allclose(asked[-1], [t0 + h / 2, *middle], rtol=1e-9)


@for_each("below", (0, 1, 2))
def test_accelerations_are_taken_to_equilibrium_as_far_as_the_step_resolves_it(monkeypatch, below):
    """a + W^-1 w (F - M a), with M in its band."""
    n, rng = 5, np.random.default_rng(below)
    M, W = banded(rng, n, below, 2 - below), rng.normal(size=(n, n))
    bands = SimpleNamespace(mass_below=below, mass_above=2 - below, below=n - 1, above=n - 1)
    a, F = rng.normal(size=(2, n))
    expected = a + np.linalg.solve(W, 0.7 * (F - M @ a))
    monkeypatch.setitem(whole.to_equilibrium.__globals__, "lu_solve",
                        lambda W, n, low, high, pivots, b: b.__setitem__(slice(None), np.linalg.solve(W, b)))  # fmt: skip
    problem = SimpleNamespace(bands=bands, matrices=SimpleNamespace(M=M + 9 * (M == 0)))
    work = SimpleNamespace(W=W, F=F, pivots=None)
    whole.to_equilibrium(problem, work, 0.7, a)
    np.testing.assert_allclose(a, expected, rtol=1e-10)


@for_each(("seed", "interpolated"), itertools.product(range(4), (False, True)))
def test_a_linear_step_is_corrected_by_what_is_left_of_its_forces(monkeypatch, seed, interpolated):
    """W x = share F + old F_0 - M a_0; the state at the end moves by c_d x, c_v x and c_a x."""
    n, row, rng = 4, 1, np.random.default_rng(seed)
    M, W, (F, F0, a0) = rng.normal(size=(n, n)), rng.normal(size=(n, n)), rng.normal(size=(3, n))
    weights = {"c_d": 0.003, "c_v": 0.06, "c_a": 1.2}
    space = linear.correct.__globals__
    monkeypatch.setitem(space, "force", lambda bundles, which, linear, out: out.__setitem__(slice(None), F))  # fmt: skip
    monkeypatch.setitem(space, "solve_factored", lambda factors, n, x: x.__setitem__(slice(None), np.linalg.solve(W, x)))  # fmt: skip
    record = SimpleNamespace(**{k: rng.normal(size=(3, n)) for k in "qva"})
    before = {k: getattr(record, k).copy() for k in "qva"}
    work = SimpleNamespace(F=np.zeros(n), F0=F0, x=np.zeros(n), state=[SimpleNamespace(**weights)])
    problem = SimpleNamespace(
        mass=SimpleNamespace(ptr=np.arange(n + 1) * n, col=np.tile(np.arange(n), n), val=M.ravel()),
        method=METHOD._replace(interpolated=interpolated, share=0.6, old=0.4), bundles=None, linear=None, factors=None,
    )  # fmt: skip
    assert linear.correct(problem, record, work, row, a0)
    x = np.linalg.solve(W, 0.6 * F + 0.4 * F0 * interpolated - M @ a0)
    expected = {"q": before["q"][2] + 0.003 * x, "v": before["v"][2] + 0.06 * x, "a": a0 + 1.2 * x}
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(record, name)[2], value, rtol=1e-10)
        np.testing.assert_array_equal(getattr(record, name)[:2], before[name][:2])
    F[n - 1] = np.inf
    assert not linear.correct(problem, record, work, row, a0)


@for_each(("row", "proposed"), itertools.product((0, 1, 2), (0.3, -0.05)))
def test_a_linear_step_is_kept_or_repeated_as_its_error_tells(monkeypatch, row, proposed):
    """What is kept has its error beside the state that it leads to, and its forces go on from there."""
    n, h, rng, space = 3, 0.2, np.random.default_rng(row), linear.step_linear.__globals__
    work = opened(linear_workspace(n, h, np.zeros(n)))
    work.state[0].factored, work.state[0].h = h, 0.7
    work.true0[:], work.true1[:] = rng.normal(size=(2, n))
    record = SimpleNamespace(
        t=h * np.arange(4.0),
        **{k: rng.normal(size=(4, n)) for k in "qva"},
        error=np.full(4, np.nan),
    )
    a, true0, true1, moved = record.a.copy(), work.true0.copy(), work.true1.copy(), []
    problem = SimpleNamespace(
        method=METHOD._replace(interpolated=True), options=SimpleNamespace(h_max=3.0, error_tol=0.01),
        grid=SimpleNamespace(even=False, t_end=9.0, drive=NEVER), linear=None, bundles=SimpleNamespace(inp=np.full(1 + 2 * n, np.nan)),
    )  # fmt: skip

    def following(error, tol, order, step, now, h_max, t1, t_end):
        assert (error, tol, order, step, now) == (0.004, 0.01, METHOD.order, h, 0.7)
        assert (h_max, t1, t_end) == (3.0, (row + 1) * h, 9.0)
        return proposed

    for name, stand_in in (("predict", lambda *given: moved.append(given[-1].copy())), ("correct", lambda *_: True),
                           ("estimate", lambda *_: 0.004), ("following", following), ("force", lambda *_: None)):  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    again = linear.step_linear(problem, record, work, row, h, (row + 1) * h) == linear.AGAIN
    assert again == (proposed < 0)
    assert work.state[0].h == abs(proposed)
    error = np.full(4, np.nan)
    if not again:
        error[row + 1], true0, a[row] = 0.004, true1, moved[0]
        inp = [(row + 1) * h, *record.q[row + 1], *record.v[row + 1]]
        np.testing.assert_array_equal(problem.bundles.inp, inp)
    np.testing.assert_array_equal(record.error, error)
    np.testing.assert_array_equal(work.true0, true0)
    np.testing.assert_array_equal(record.a, a)


def halved(monkeypatch, fails, even=True, t0=0.0, h=1.0, t1=1.0):
    """Take a step whose parts have no solution where it fails; return what it does and leaves."""
    space, taken, n = whole.step.__globals__, [], 2

    def newton(problem, part, work):
        part.d1[:] = part.v1[:] = part.a1[:] = 1.0
        return NEWTON_CAP if fails(part.t0, part.h) else SUCCESS, 1, 0.5, 0.25

    for name, stand_in in {
        "newton": newton, "rescale": lambda *_: None, "moves_to": lambda *_: False,
        "commit": lambda problem, part, work: taken.append(part), "adapt": lambda *_: (0.125, False),
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    names = ("error", "residual", "imbalance", "parts", "iterations")
    record = SimpleNamespace(
        t=np.array([t0, np.nan]), **{k: np.zeros((2, n)) for k in "qva"}, slip=np.zeros((2, 1)),
        **{name: np.full(2, np.nan) for name in names},
    )  # fmt: skip
    state = [SimpleNamespace(c_d=1.0, c_v=1.0, c_a=1.0, h=h)]
    parts = {f"part_{k}": np.zeros(n) for k in "dva"}
    work = SimpleNamespace(x=np.zeros(n), state=state, a_moved=None, **parts)
    problem = SimpleNamespace(
        grid=SimpleNamespace(even=even, t_end=1.0),
        springs=SimpleNamespace(committed=np.array([0.5])),
    )
    return whole.step(problem, record, work, 0, h, t1), taken, record, state[0].h


@for_each("fails", [lambda t, h: False, lambda t, h: h > 0.3, lambda t, h: t >= 0.5 and h > 0.2,
                    lambda t, h: (t < 0.25 and h > 0.1) or h > 0.6])  # fmt: skip
def test_a_step_that_has_no_solution_is_taken_in_halves(monkeypatch, fails):
    """Parts fill the step without gap, each a half of a half as often as needed, and grow again."""
    status, taken, record, _ = halved(monkeypatch, fails)
    assert status == SUCCESS
    reached = 0.0
    for part in taken:
        assert part.t0 == reached
        assert (part.t0 / part.h) % 1 == 0, "where a part of this length may begin"
        reached += part.h
        assert part.t1 == reached
        longer = 2 * part.h
        assert longer > 1 or (part.t0 / longer) % 1 or fails(part.t0, longer)
    assert reached == 1.0
    assert record.parts[1] == len(taken)
    assert (record.residual[1], record.imbalance[1]) == (0.5, 0.25)
    assert record.iterations[1] >= len(taken)
    assert record.slip[1] == 0.5


def test_the_last_part_ends_where_the_step_does_whatever_is_rounded(monkeypatch):
    assert 0.1 + 0.2 != 0.3
    for parts, longest in ((1, 1.0), (2, 0.1), (4, 0.05)):
        status, taken, *_ = halved(monkeypatch, lambda _, h, most=longest: h > 1.01 * most, True, 0.1, 0.2, 0.3)  # fmt: skip
        assert (status, len(taken), taken[-1].t1) == (SUCCESS, parts, 0.3)


@for_each(("even", "h", "told"), [
    (True, 0.5, NEWTON_CAP), (False, 0.5, "AGAIN"), (False, 1.1e-12, "AGAIN"), (False, 0.9e-12, NEWTON_CAP),
])  # fmt: skip
def test_a_step_without_a_solution_is_taken_again_where_its_length_is_free(
    monkeypatch, even, h, told
):
    """Half as long, down to a billionth of a thousandth of the run; else the run ends, and says |r|."""
    status, taken, record, after = halved(monkeypatch, lambda *_: True, even, 0.0, h, h)
    assert (status, taken) == (whole.AGAIN if told == "AGAIN" else told, [])
    assert after == (h / 2 if told == "AGAIN" else h)
    assert np.isnan(record.residual[1]) if told == "AGAIN" else record.residual[1] == 0.5


@for_each(("row", "breaks", "interpolated", "before"), [(0, False, False, 0.0), (2, False, True, 0.5), (2, True, False, 0.0), (1, False, True, 0.25)])  # fmt: skip
def test_a_march_looks_back_at_the_step_before_unless_its_inputs_change(monkeypatch, row, breaks, interpolated, before):  # fmt: skip
    t, a, filled = np.array([0.0, 0.25, 0.75]), np.arange(6.0).reshape(3, 2), []
    record = SimpleNamespace(t=t, a=a, q=a + 10, v=a + 20)
    work = SimpleNamespace(x=np.zeros(2), a_before=np.full(2, 9.0), state=[SimpleNamespace(before=9.0)], F0=np.full(2, 9.0))  # fmt: skip
    problem = SimpleNamespace(grid="g", method=SimpleNamespace(interpolated=interpolated), bundles=SimpleNamespace(inp=None))  # fmt: skip
    put(monkeypatch, whole.begin, changes_at=lambda grid, at: breaks and at == t[row], forces=lambda problem, F: F.fill(5.0),
        fill=lambda inp, at, q, v, n: filled.append((at, q.tolist(), v.tolist(), n)))  # fmt: skip
    whole.begin(problem, record, work, row)
    assert work.a_before.tolist() == a[max(row - 1, 0)].tolist()
    assert work.state[0].before == before
    assert filled == ([(t[row], (a[row] + 10).tolist(), (a[row] + 20).tolist(), 2)] if interpolated else [])  # fmt: skip
    assert work.F0.tolist() == [5.0 if interpolated else 9.0] * 2
