"""Newton's method of a Newmark step: its matrices entry by entry, and how it ends, step by step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.time_stepping.newmark_structures import Bands, Method, Part

iteration = plain("time_stepping.newmark_iteration")
linear = plain("time_stepping.newmark_linear")
METHOD = Method(0.2, 0.4, 0.3, 0.6, 1.0, 2, 2, False, 0.7, 0.6, 0.5)
STEP, FORCE, MASS, INERTIA = (getattr(iteration, name) for name in ("STEP", "FORCE", "MASS", "INERTIA"))  # fmt: skip


def springs_of(count):
    return space(committed=np.zeros(count))


# ---------------------------------------------------------------- forces and matrices


@for_each("springs", range(3))
def test_a_force_is_that_of_the_model_and_of_its_springs(monkeypatch, springs):
    asked, F, out = [], np.full(2, 9.0), np.array([3.0, 4.0, 99.0])

    def bilinear(bundles, given, F, K, tangent):
        asked.append((given.committed.size, K, tangent))
        F -= 1.0

    put(monkeypatch, iteration.forces, evaluate=lambda bundles, which: asked.append(which), bilinear=bilinear)  # fmt: skip
    problem = space(bundles=space(out=out), springs=springs_of(springs), matrices=space(K_flat="K"))
    iteration.forces(problem, F)
    assert asked == [FORCE, *[(springs, "K", False)] * (springs > 0)]
    assert F.tolist() == ([2.0, 3.0] if springs else [3.0, 4.0])


def test_masses_are_what_the_model_tells():
    flat, out = np.full(4, 9.0), np.array([0.25, 0.5, 7.0])
    bundles = space(out=out, inp=None, table=None)
    problem = space(bundles=bundles, matrices=space(M_flat=flat), places=space(M=np.array([3, 0])))
    asked = []
    iteration.mass.__globals__["evaluate"] = lambda bundles, which: asked.append(which)
    iteration.mass(problem)
    assert asked == [MASS]
    assert flat.tolist() == [0.5, 9.0, 9.0, 0.25]


@for_each(("n", "moves", "springs"), itertools.product((1, 3), (True, False), range(3)))
def test_matrices_are_those_at_the_state_of_the_step(monkeypatch, n, moves, springs):
    """K = -F_q, (M a)_q over the share of F, springs; nothing is left in it of the step before."""
    rng, asked = np.random.default_rng(n), []
    below, above = (0, 0) if n == 1 else (1, 1)
    band = np.tril(np.triu(np.ones((n, n)), -below), above) > 0
    of = np.flatnonzero(band.ravel())
    at_K, at_C, at_M, at_inertia = of[:1], of[-1:], of[:1], of[-1:]
    slopes, a_m = rng.normal(size=n + 2), rng.normal(size=n)
    K, C, M = (np.full((n, n), 9.0) for _ in range(3))
    out, inp = np.full(20, np.nan), np.full(4 + n, np.nan)

    def evaluate(bundles, which):
        asked.append(which)
        if which == INERTIA:
            assert inp[-n:].tolist() == a_m.tolist()
        out[: {STEP: n + 2, MASS: 1, INERTIA: 1}[which]] = {STEP: slopes, MASS: 0.5, INERTIA: 0.9}[which]  # fmt: skip

    def bilinear(bundles, given, F, K, tangent):
        asked.append((given.committed.size, tangent))
        K += 100.0

    put(monkeypatch, iteration.linearise, evaluate=evaluate, bilinear=bilinear)
    iteration.mass.__globals__["evaluate"] = evaluate
    problem = space(
        bundles=space(inp=inp, out=out), method=METHOD, bands=Bands(0, 0, below, above),
        matrices=space(K=K, K_flat=K.ravel(), C_flat=C.ravel(), M_flat=M.ravel()),
        places=space(K=at_K, C=at_C, M=at_M, inertia=at_inertia), options=space(moves=moves),
        springs=springs_of(springs),
    )  # fmt: skip
    F = np.full(n, np.nan)
    iteration.linearise(problem, space(F=F, a_m=a_m, x=np.zeros(n)))
    assert asked == [STEP, *[MASS, INERTIA] * moves, *[(springs, True)] * (springs > 0)]
    assert F.tolist() == slopes[:n].tolist()
    clean = n == 1 or moves or springs > 0
    wanted = np.where(band & clean, 0.0, 9.0).ravel()
    wanted[at_K] = -slopes[n]
    wanted[at_inertia] += 0.9 / 0.6 * moves
    wanted += 100.0 * (springs > 0)
    np.testing.assert_allclose(K.ravel(), wanted)
    dampers, masses = np.full(n * n, 9.0), np.full(n * n, 9.0)
    dampers[at_C] = -slopes[n + 1]
    masses[at_M] = 0.5 if moves else 9.0
    assert C.ravel().tolist() == dampers.tolist()
    assert M.ravel().tolist() == masses.tolist()


def part_of(rng, n):
    """Return a step from 0.7 s to 0.9 s whose coefficients are all different."""
    d0, v0, a0, d1, v1, a1 = rng.normal(size=(6, n))
    return Part(0.7, 0.9, 0.2, 0.03, 0.6, 2.5, d0, v0, a0, d1, v1, a1)


def test_a_force_on_one_coordinate_that_depends_on_none_has_no_stiffness(monkeypatch):
    put(monkeypatch, iteration.linearise, evaluate=lambda *_: None)
    K, none = np.full((1, 1), 9.0), np.zeros(0, int)
    problem = space(
        bundles=space(inp=np.zeros(4), out=np.array([5.0])), method=METHOD, bands=Bands(0, 0, 0, 0),
        matrices=space(K=K, K_flat=K.ravel(), C_flat=np.zeros(1)), places=space(K=none, C=none),
        options=space(moves=False), springs=springs_of(0),
    )  # fmt: skip
    iteration.linearise(problem, space(F=np.zeros(1), a_m=None, x=np.zeros(1)))
    assert K[0, 0] == 0.0


@for_each(("n", "below", "above"), [(1, 0, 0), (2, 1, 1), (5, 1, 2), (5, 2, 1), (5, 0, 0), (4, 3, 3), (6, 2, 0)])  # fmt: skip
def test_the_matrix_of_a_step_is_formed_within_its_band(monkeypatch, n, below, above):
    """(1 - alpha_m) c_a M + share w (c_v C + c_d K); beyond it zeros, as far as rows are exchanged."""
    rng = np.random.default_rng(n)
    M, C, K = rng.normal(size=(3, n, n))
    part, r, W, asked = part_of(rng, n), rng.normal(size=n), np.full((n, n), 9.0), []
    work = space(W=W, pivots="pivots", r=r, dx=np.full(n, 9.0), x=np.zeros(n))
    put(monkeypatch, iteration.correction, lu_factor=lambda *given: asked.append(given[1:]) or 0,
        lu_solve=lambda *given: asked.append(given[1:5]))  # fmt: skip
    problem = space(matrices=space(M=M, C=C, K=K), bands=Bands(0, 0, below, above), method=METHOD)
    assert iteration.correction(problem, part, work) == SUCCESS
    A = 0.8 * 2.5 * M + 0.6 * 0.7 * (0.6 * C + 0.03 * K)
    i, j = np.indices((n, n))
    inside, filled = (j >= i - below) & (j <= i + above), (j > i + above) & (j <= i + above + below)
    np.testing.assert_allclose(W, np.where(inside, A, np.where(filled, 0.0, 9.0)))
    np.testing.assert_allclose(work.dx, -r / A[0, 0] if n == 1 else -r)
    assert asked == [] if n == 1 else [(n, below, above, "pivots")] * 2


@for_each("n", [1, 3])
def test_a_state_and_a_move_have_the_coefficients_of_the_step(n):
    rng = np.random.default_rng(n)
    part, x, dx, r = part_of(rng, n), *rng.normal(size=(3, n))
    work = space(x=x.copy(), dx=dx, best=np.zeros(n), r=r, a_m=np.zeros(n))
    inp = np.full(1 + 2 * n, np.nan)
    size = max(abs(x + dx).max(), abs(part.a1 / 2.5).max())
    told = iteration.move(part, work)
    assert told == pytest.approx((abs(dx).max(), size, abs(dx @ r)))
    big = part._replace(a1=np.full(n, 1000.0))
    work.dx = np.zeros(n)
    assert iteration.move(big, work)[1] == pytest.approx(400.0)
    iteration.evaluate_state(space(bundles=space(inp=inp), method=METHOD), part, work)
    x = work.x
    d1 = part.d0 + 0.2 * part.v0 + 0.02 * part.a0 + 0.03 * x
    v1, a1 = part.v0 + 0.2 * part.a0 + 0.6 * x, part.a0 + 2.5 * x
    np.testing.assert_allclose([part.d1, part.v1, part.a1], [d1, v1, a1])
    np.testing.assert_allclose(work.a_m, 0.8 * a1 + 0.2 * part.a0)
    between = [0.7 * 0.9 + 0.3 * 0.7, *(0.7 * d1 + 0.3 * part.d0), *(0.7 * v1 + 0.3 * part.v0)]
    np.testing.assert_allclose(inp, between)


# ---------------------------------------------------------------- how Newton's method ends


def solved(monkeypatch, residuals, steps, *, newton_max=9, tol=1e-10, beside=None, **options):
    """Run Newton's method whose residuals and corrections are given; return what it tells, and x.

    What is beside the terms of r is |r|, if nothing else is given.
    """
    rows, moves = iter(residuals), iter(steps)
    n = len(residuals[0])
    part = part_of(np.random.default_rng(0), n)
    for vector in part[6:]:
        vector[:] = 0.0
    work = space(x=np.zeros(n), r=np.zeros(n), dx=np.zeros(n), best=np.zeros(n), F0=None, F=None, a_m=None)  # fmt: skip
    told = iter(beside) if beside else itertools.repeat(None)

    def unbalanced(M, F, F0, a, bands, share, old, r):
        r[:] = next(rows)
        return float(np.sqrt((r * r).sum()))

    def correction(problem, part, work):
        work.dx[:] = next(moves)
        return SUCCESS

    def how(problem, work):
        one = next(told)
        return float(np.sqrt((work.r * work.r).sum())) if one is None else one

    put(monkeypatch, iteration.newton, evaluate_state=lambda *_: None, linearise=lambda *_: None,
        unbalanced=unbalanced, correction=correction, beside=how)  # fmt: skip
    given = {"explicit": False, "analytic": False, **options}
    problem = space(method=METHOD, matrices=space(M=None), bands=None,
                    options=space(newton_tol=tol, newton_max=newton_max, **given))  # fmt: skip
    with np.errstate(all="ignore"):
        return (*iteration.newton(problem, part, work), work.x.tolist(), part)


INF = np.inf


def test_a_first_residual_is_corrected_even_where_it_is_zero(monkeypatch):
    """What is beside it is known only then; of one that is not finite it stays 0."""
    status, many, norm, ratio, x, _ = solved(monkeypatch, [[0.0], [0.0]], [[3.0]])
    assert (status, many, norm, ratio, x) == (SUCCESS, 1, 0.0, 0.0, [3.0])
    for bad in (INF, np.nan):
        status, many, _, ratio, _, _ = solved(monkeypatch, [[bad]], [])
        assert (status, many, ratio) == (NOT_FINITE, 0, 0.0)


def test_one_correction_is_enough_where_it_solves(monkeypatch):
    told = solved(monkeypatch, [[4.0], [1e-11]], [[3.0]])
    assert told[:5] == (SUCCESS, 1, 1e-11, 1e-11, [3.0])


def test_a_correction_that_is_infinite_ends_the_method(monkeypatch):
    assert solved(monkeypatch, [[4.0], [0.0]], [[INF]])[:2] == (NOT_FINITE, 0)
    assert solved(monkeypatch, [[4.0, 1.0], [0.0, 0.0]], [[1.0, -INF]])[:2] == (NOT_FINITE, 0)


def test_a_residual_that_stays_infinite_is_not_finite(monkeypatch):
    """After all halves; nor is it solved where the step was round-off of what it changed."""
    many = [[1.0], *[[INF]] * 20]
    assert solved(monkeypatch, many, [[1.0]])[:2] == (NOT_FINITE, 1)
    assert solved(monkeypatch, [[1.0], *[[2.0]] * 20], [[1.0]])[:2] == (NEWTON_CAP, 1)
    steps = [[1.0], [1e-16], [1e-16]]
    told = solved(monkeypatch, [[1.0], [0.5], [INF], [0.1]], steps, newton_max=2)
    assert told[:3] == (NEWTON_CAP, 2, INF)


def test_three_residuals_that_do_not_fall_by_half_are_round_off(monkeypatch):
    """From the first one on, of changes that are small beside the unknown."""
    for norms, many in (
        ((1.5, 1.0, 0.9, 0.8, 0.7), 3), ((1.5, 1.0, 0.5, 0.4, 0.3, 0.2, 0.15), 5),
        ((1.5, 0.7, 0.5, 0.2, 0.15, 0.12, 0.1, 0.09), 6),
    ):  # fmt: skip
        steps = [[100.0], *[[1e-10]] * 9]  # the first correction is no small one
        told = solved(monkeypatch, [[one] for one in norms], steps, tol=1e-30)
        assert told[:2] == (SUCCESS, many)


@for_each(("second", "halves"), [((3.0, 1.0), 0), ((3.0, 1.25), 1), ((-3.0, -1.0), 0), ((3.0, -1.0), 0), ((3.0, -1.25), 1)])  # fmt: skip
def test_a_longer_residual_is_taken_where_it_falls_along_the_correction(monkeypatch, second, halves):  # fmt: skip
    """r' dx by half, of the whole way, that included; dx = (0, 2), r = (0, 2) at first."""
    residuals = [[0.0, 2.0], [*second], [0.0, 0.0], [0.0, 0.0]]
    *_, x, _ = solved(monkeypatch, residuals, [[0.0, 2.0], [5.0, 0.0]])
    wanted = [5.0, 2.0] if not halves else [0.0, 1.0]
    assert x == wanted


def test_a_half_is_taken_where_half_of_the_way_falls_by_a_quarter(monkeypatch):
    """dx = (0, 2) is halved to (0, 1): r' dx must be 1 or less of 4 at the whole way."""
    for last, wanted in ((1.0, [5.0, 1.0]), (1.25, [0.0, 0.5])):
        residuals = [[0.0, 2.0], [3.0, 2.0], [3.0, last], [0.0, 0.0], [0.0, 0.0]]
        *_, x, _ = solved(monkeypatch, residuals, [[0.0, 2.0], [5.0, 0.0]])
        assert x == wanted


@for_each(("norms", "ratios", "many", "left"), [
    ((8.0, 0.5, 0.25), (1e-7, 1.0), 3, None), ((8.0, 0.5, 0.25), (1e-8,), 2, 0.5 / 8), ((8.0, 0.01, 1e-12), (1e-5,), 2, 0.01 / 8), ((8.0, 0.01, 1e-12), (1e-3, 1e-12), 2, None),
    ((0.1, 0.05, 1e-12), (1e-11,), 1, None), ((0.1, 0.08, 1e-4, 1e-12), (1e-3, 1e-7), 3, 1e-4 / 0.08),
])  # fmt: skip
def test_what_a_known_convergence_leaves_is_not_looked_at(monkeypatch, norms, ratios, many, left):
    """Residuals that fall quadratically: r_2 = r_1 (r_1 / r_0)^2, from the second on."""
    several = [*ratios, 1e-12, 1e-12]
    residuals = [[one] for one in norms] + [[1e-12]] * 3
    told = solved(monkeypatch, residuals, [[1.0], [0.5], [0.25], [0.1]], beside=several, analytic=True)  # fmt: skip
    status, iterations, norm, ratio, _, part = told
    assert (status, iterations) == (SUCCESS, many)
    if left is not None:
        assert norm == pytest.approx(norms[many - 1] * left**2)
        assert ratio == pytest.approx(ratios[-1] * left**2)
        last = [1.0, 0.5, 0.25][many - 1]
        assert [part.a1[0], part.v1[0], part.d1[0]] == pytest.approx([2.5 * last, 0.6 * last, 0.03 * last])  # fmt: skip


# ---------------------------------------------------------------- constant matrices


@for_each("bad", [None, INF, -INF, np.nan])
def test_a_step_of_constant_matrices_is_finite_in_every_coordinate(monkeypatch, bad):
    asked, n = [], 2
    put(monkeypatch, linear.correct, force=lambda bundles, which, rows, F: F.__setitem__(slice(None), 1.0),
        solve_factored=lambda factors, n, x: asked.append(x.copy()) or x.__setitem__(1, 3.0 if bad is None else bad))  # fmt: skip
    rows = space(ptr=np.array([0, 1, 2]), col=np.array([0, 1]), val=np.array([2.0, 4.0]))
    record = space(q=np.zeros((2, n)), v=np.zeros((2, n)), a=np.zeros((2, n)))
    work = space(F=np.zeros(n), F0=np.array([10.0, 20.0]), x=np.zeros(n), state=[space(c_d=0.1, c_v=0.2, c_a=0.3)])  # fmt: skip
    problem = space(mass=rows, method=METHOD, bundles=None, linear=None, factors=None)
    with np.errstate(all="ignore"):
        told = linear.correct(problem, record, work, 0, np.array([1.0, -1.0]))
    assert told == (bad is None)
    assert asked[0].tolist() == pytest.approx([0.6 - 2.0, 0.6 + 4.0])
    if bad is None:
        assert record.a[1].tolist() == pytest.approx([1 + 0.3 * -1.4, -1 + 0.9])


@for_each(
    ("late", "moves"), [(0.5e-9, False), (2e-9, True), (-0.5e-9, False), (-2e-9, True), (0.5, True)]
)
def test_carried_accelerations_stay_where_the_step_is_a_rounding_longer(monkeypatch, late, moves):
    asked = []
    put(monkeypatch, linear.step_linear, predict=lambda *given: asked.append(given[5].copy()),
        correct=lambda *_: False, changes_at=lambda *_: False)  # fmt: skip
    h, t = 0.25 * (1 + late), np.array([0.0, 0.25, 9.0])
    a = np.array([[1e9], [3.0], [0.0]])
    work = space(state=[space(factored=h)], a_moved=np.zeros(1), x=np.zeros(1))
    problem = space(method=METHOD, options=None, grid=None)
    assert linear.step_linear(problem, space(t=t, a=a), work, 1, h, 0.5) == NOT_FINITE
    shift = -0.2 * (h - 0.25) / 0.25 * (3.0 - 1e9) if moves else 0.0
    assert asked[0][0] == (pytest.approx(3.0 + shift) if moves else 3.0)
