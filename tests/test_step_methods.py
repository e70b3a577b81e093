"""One step of each Runge-Kutta method: against SciPy's, and against its stability function."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain
from scipy.integrate import DOP853, RK45

from explorer.codes import NOT_FINITE, SUCCESS
from explorer.kernels.event_driven.butcher import METHODS
from explorer.kernels.event_driven.records import NEWMARK
from explorer.kernels.event_driven.structures import Polynomial, newton_of, step_of

explicit, radau = plain("event_driven.runge_kutta"), plain("event_driven.radau")
adjoint = plain("event_driven.adjoint")
SCIPY = {"dopri5": RK45, "dop853": DOP853}


class March:
    """x' = f(t, x) of n unknowns beside a running cost, with columns of sensitivities."""

    def __init__(self, name, n=3, width=0, seed=0, linear=False):
        rng = np.random.default_rng(seed)
        self.n, self.width, self.size = n, width, (width + 1) * (n + 1)
        self.J = rng.normal(size=(n, n)) - 2 * np.eye(n)
        self.linear, self.status, self.calls = linear, SUCCESS, []
        tableau = METHODS[name]()
        self.method = SimpleNamespace(
            A=tableau.A, c=tableau.c, E=tableau.E, D=tableau.D, code=tableau.code, stages=tableau.stages,
            last=tableau.last, exponent=tableau.exponent, rtol=1e-3, atol=1e-5,
            radau_newton=newton_of(tableau.code, n, n)[1],
            newmark=[SimpleNamespace(error=0.25)],
        )  # fmt: skip
        self.step = step_of(tableau.stages, self.size)
        self.step.K[:] = np.nan
        for memory in (self.step.dense, self.step.stage, self.step.new):
            memory[:] = 0.0
        self.problem = SimpleNamespace(sizes=SimpleNamespace(n_x=n, n_c=0, n_t=0, rows=0))
        self.y = rng.normal(size=self.size)
        for space in (explicit.advance.__globals__, radau.radau_step.__globals__):
            space |= {"flow": self.flow, "slopes": self.flow}

    def f(self, t, y):
        """Return the slopes of all columns; the cost gains t^2 and the sum of x."""
        y, n = y.reshape(-1, self.n + 1), self.n
        out = np.zeros_like(y)
        x, tangents = y[0, :n], y[1:, :n]
        turn = 0.0 if self.linear else 0.3
        out[0, :n] = self.J @ x + turn * np.sin(t + x)
        out[0, n] = 5 * t**4 if self.linear else t**2 + x.sum()
        out[1:, :n] = tangents @ (self.J + turn * np.diag(np.cos(t + x))).T
        out[1:, n] = 0.0 if self.linear else tangents.sum(axis=1)
        return out.ravel()

    def flow(self, problem, t, y, out, width):
        self.calls.append(t)
        count = (width + 1) * (self.n + 1)
        out[:count] = self.f(t, y[:count])
        return self.status


@for_each("name", sorted(SCIPY))
def test_the_coefficients_are_those_of_scipy_to_the_last_bit(name):
    mine, pair = METHODS[name](), SCIPY[name]
    stages = mine.stages
    wide = pair.A.shape[1]
    np.testing.assert_array_equal(mine.A[:stages, :wide], pair.A[:stages])
    np.testing.assert_array_equal(mine.A[stages, :stages], pair.B)
    np.testing.assert_array_equal(mine.c[:stages], pair.C[:stages])
    if name == "dop853":
        np.testing.assert_array_equal(mine.A[13:], pair.A_EXTRA)
        np.testing.assert_array_equal(mine.c[13:], pair.C_EXTRA)
        np.testing.assert_array_equal(mine.E[:, :13], [pair.E5, pair.E3])
        np.testing.assert_array_equal(mine.D, pair.D)
    else:
        np.testing.assert_array_equal(mine.E[0, :7], pair.E)
        np.testing.assert_array_equal(mine.D[:, :7], pair.P.T)


@for_each("name", ["dopri5", "dop853"])
@for_each("width", [0, 2])
def test_explicit_steps_errors_and_polynomials_are_those_of_scipy(name, width):
    march, h, t = March(name, width=width), 0.2, 0.7
    y, step, method = march.y, march.step, march.method
    step.K[0] = march.f(t, y)
    assert explicit.advance(march.problem, method, step, 1, method.last, t, y, h, width) == SUCCESS
    theirs = SCIPY[name](march.f, t, y, t + 1, max_step=h, first_step=h, rtol=1e10, atol=1e10)
    assert theirs.step() is None
    assert theirs.h_previous == pytest.approx(h)
    np.testing.assert_allclose(step.new, theirs.y, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(step.K[method.stages], march.f(t + h, step.new), rtol=1e-12)
    block = march.n + 1
    worst = []
    for k in range(width + 1):
        on = slice(k * block, (k + 1) * block)
        scale = 1e-5 + 1e-3 * np.maximum(abs(y), abs(step.new))[on]
        K = step.K[: method.stages + 1, on]
        worst.append(theirs._estimate_error_norm(K, h, scale))
    got = explicit.step_error(method, step, y, h, block, width)
    assert got == pytest.approx(max(worst), rel=1e-9)
    assert explicit.step_error(method, step, y, -h, block, width) == got
    explicit.interpolate(method, step, y, h, march.size)
    dense, x = theirs.dense_output(), np.zeros(march.size)
    polynomial = Polynomial(method.code, step.dense, y, t, h)
    for s in (0.0, 0.1, 0.5, 0.93, 1.0):
        explicit.dense_value(polynomial, s, march.size, x)
        np.testing.assert_allclose(x, dense(t + s * h), rtol=1e-10, atol=1e-12)
    explicit.dense_value(polynomial, 0.5, 1, x)  # of the first unknown alone
    march.status = NOT_FINITE
    assert explicit.advance(march.problem, method, step, 1, 3, t, y, h, width) == NOT_FINITE
    step.new[0] = np.nan
    assert np.isnan(explicit.step_error(method, step, y, h, block, width))
    step.new[0], step.K[2, -2] = 0.0, np.nan
    assert np.isnan(explicit.step_error(method, step, y, h, block, width))
    method.code = NEWMARK
    assert explicit.step_error(method, step, y, h, block, width) == 0.25


def test_the_polynomial_of_newmark_is_the_cubic_of_both_ends():
    march, h = March("dopri5"), 0.3
    cubics = [np.poly1d(c) for c in np.random.default_rng(1).normal(size=(4, 4))]
    at = lambda k, t: np.array([c.deriv(k)(t) if k else c(t) for c in cubics])  # noqa: E731
    march.method.code, march.method.stages, march.step = NEWMARK, 1, step_of(1, march.size)
    march.step.K[0], march.step.K[1], march.step.new[:] = at(1, 0), at(1, h), at(0, h)
    explicit.interpolate(march.method, march.step, at(0, 0), h, 4)
    x = np.zeros(4)
    for s in (0.0, 0.3, 0.8, 1.0):
        explicit.dense_value(Polynomial(NEWMARK, march.step.dense, at(0, 0), 0.0, h), s, 4, x)
        np.testing.assert_allclose(x, at(0, s * h), atol=1e-12)


@for_each("seed", range(6))
def test_the_largest_eigenvalue_is_seen_where_a_flow_is_stiff(seed):
    march, h = March("dopri5", seed=seed, linear=True), 0.1
    march.J = np.diag([-40.0 - seed] * 3)
    march.step.K[0] = march.f(0, march.y)
    explicit.advance(march.problem, march.method, march.step, 1, 6, 0.0, march.y, h, 0)
    march.step.stage[:] = march.y + h * march.method.A[5, :5] @ march.step.K[:5]
    assert explicit.stiffness(march.step, 6, h, 3) == pytest.approx(h * (40 + seed))
    assert explicit.stiffness(march.step, 6, -h, 3) == pytest.approx(h * (40 + seed))
    march.step.new[:] = march.step.stage
    assert explicit.stiffness(march.step, 6, h, 3) == 0.0


@for_each("name", ["dopri5", "dop853"])
def test_the_first_step_is_guessed_from_two_slopes(name):
    """Hairer, Norsett, Wanner, II.4: h^p max(|y'|, |y''|) = 0.01 in the norm of the tolerances."""
    for seed in range(6):
        march = March(name, seed=seed)
        y, scale = march.y, 1e-5 + 1e-3 * abs(march.y)
        march.step.slope[:] = march.f(0.0, y)
        norm = lambda u, scale=scale: np.sqrt(np.mean((u / scale) ** 2))  # noqa: E731
        small = 0.01 * norm(y) / norm(march.step.slope)
        bend = norm(march.f(small, y + small * march.step.slope) - march.step.slope) / small
        expected = (0.01 / max(norm(march.step.slope), bend)) ** -march.method.exponent
        for longest in (10.0, 0.01, 1e-5):
            got = explicit.first_step(march.problem, march.method, march.step, 0.0, y, longest)
            short = min(max(small, 1e-8 * longest), longest)
            if short == small:
                assert got == pytest.approx(min(100 * small, expected, longest))
            assert got <= longest
    still = March(name)
    still.f = lambda t, y: 0 * y
    still.step.slope[:] = 0.0
    with np.errstate(divide="ignore"):
        got = explicit.first_step(still.problem, still.method, still.step, 0.0, still.y, 1e2)
    assert got == pytest.approx(1e-4)  # a hundred times the least
    march = March(name, seed=5)  # where the second slope is none
    march.step.slope[:] = march.f(0.0, y)
    march.status = NOT_FINITE
    got = explicit.first_step(march.problem, march.method, march.step, 0.0, y, 10.0)
    assert got == pytest.approx(small)
    march.status, march.f = SUCCESS, lambda t, y: np.full(4, np.inf)
    with np.errstate(all="ignore"):
        got = explicit.first_step(march.problem, march.method, march.step, 0.0, y, 10.0)
    assert got == pytest.approx(small)


def rational(hJ):
    """Return R(h J) of Radau IIA: the (2, 3) approximation of Pade to the exponential."""
    one = np.eye(len(hJ))
    top = one + 2 / 5 * hJ + hJ @ hJ / 20
    bottom = one - 3 / 5 * hJ + 3 / 20 * hJ @ hJ - hJ @ hJ @ hJ / 60
    return np.linalg.solve(bottom, top)


@for_each("h", [0.01, 0.3, 5.0])
@for_each("seed", range(3))
def test_a_step_of_radau_is_its_stability_function(seed, h):
    """Of a linear flow, and of its columns; the cost is integrated exactly up to the fifth power."""
    march = March("radau", width=2, seed=seed, linear=True)
    y, step, n, t = march.y, march.step, 3, 0.4
    step.K[0] = march.f(t, y)
    assert radau.radau_step(march.problem, march.method, step, t, y, h, 2) == SUCCESS
    R, before, after = rational(h * march.J), y.reshape(3, 4), step.new.reshape(3, 4)
    np.testing.assert_allclose(after[:, :n], before[:, :n] @ R.T, rtol=1e-7, atol=1e-9)
    assert after[0, n] == pytest.approx(before[0, n] + (t + h) ** 5 - t**5, rel=1e-9)
    assert after[1:, n] == pytest.approx(before[1:, n])
    np.testing.assert_allclose(step.end, march.f(t + h, step.new), rtol=1e-9, atol=1e-12)
    Z = step.radau.Z.reshape(3, 3, 4)[:, :, :n]
    slope = step.K[0].reshape(3, 4)[:, :n]
    for k in range(3):
        right = slope[k] + np.tensordot(radau.ERROR, Z[:, k], 1) / h
        off = np.linalg.solve(radau.MU / h * np.eye(n) - march.J, right) / h
        np.testing.assert_allclose(step.radau.error.reshape(3, 4)[k, :n], off, rtol=1e-4, atol=1e-5)
    assert not step.radau.error.reshape(3, 4)[:, n].any()


def test_the_jacobian_is_that_of_the_flow():
    march = March("radau")
    march.step.K[0] = march.f(0.3, march.y)
    J = np.full((3, 3), np.nan)
    assert radau.jacobian(march.problem, march.step, J, 0.3, march.y) == SUCCESS
    expected = march.J + 0.3 * np.diag(np.cos(0.3 + march.y[:3]))
    np.testing.assert_allclose(J, expected, atol=1e-5)
    march.status = NOT_FINITE
    assert radau.jacobian(march.problem, march.step, J, 0.3, march.y) == NOT_FINITE
    assert (
        radau.radau_step(march.problem, march.method, march.step, 0.3, march.y, 0.1, 0)
        == NOT_FINITE
    )


def test_a_step_of_radau_that_fails_is_no_number():
    """The stages of a nonlinear flow solve their equations; where nothing does, the state is NaN."""
    march, h, t = March("radau", width=1), 0.2, 0.1
    step, A, c = march.step, march.method.A, march.method.c
    step.K[0] = march.f(t, march.y)
    assert radau.radau_step(march.problem, march.method, step, t, march.y, h, 1) == SUCCESS
    Z = step.radau.Z
    slopes = np.array([march.f(t + c[i + 1] * h, march.y + Z[i]) for i in range(3)])
    np.testing.assert_allclose(Z, h * A[1:4, 1:4] @ slopes, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(step.new, march.y + Z[2], rtol=1e-15)
    assert len(march.calls) < 3 + 3 * 12 + 1
    march.f = lambda t, y: np.full(len(y), np.nan)
    assert radau.radau_step(march.problem, march.method, step, t, march.y, h, 1) == SUCCESS
    assert np.isnan(step.new[0])
    rng, march = np.random.default_rng(0), March("radau")
    march.f = lambda t, y: rng.normal(size=len(y)) * 100
    step.K[0, :4] = 1.0
    assert radau.radau_step(march.problem, march.method, march.step, t, march.y, h, 0) == SUCCESS
    assert np.isnan(march.step.new[0])


@for_each("times", [0, 1, 4])
def test_errors_of_a_sweep_are_those_of_the_pair(times):
    """e1^2 / sqrt(e1^2 + 0.01 e2^2) of each gain, and of mu in its scale, relative to mu."""
    rng, nx, p, stages = np.random.default_rng(2), 3, 4, 5
    sweep = SimpleNamespace(
        mu=rng.normal(size=nx + 1), errors=rng.random(p + 1), scale=rng.random(nx + 1),
        bars=rng.normal(size=(3 * stages, nx + 1)), gains=rng.normal(size=(3, p)),
        gradient=rng.normal(size=p),
    )  # fmt: skip
    sweep.gains[1, 2] = 0.0
    sweep.bars[1::3, 0] = 0.0
    mu, errors, gradient = sweep.mu.copy(), sweep.errors.copy(), sweep.gradient.copy()
    adjoint.account(sweep, nx, p, times)
    bars = sweep.bars.reshape(stages, 3, nx + 1)
    mu += bars[:-1, 0].sum(axis=0)
    np.testing.assert_allclose(sweep.mu, mu)
    np.testing.assert_allclose(sweep.gradient, gradient + sweep.gains[0])

    def pair(e1, e2):
        return np.where(e1 == 0, 0.0, e1**2 / np.sqrt(e1**2 + 0.01 * e2**2 + 1e-300))

    errors[:p] += times * pair(*sweep.gains[1:])
    e1, e2 = bars[:, 1].sum(axis=0), bars[:, 2].sum(axis=0)
    errors[p] += times * (sweep.scale * pair(e1, e2)).sum() / (sweep.scale * abs(mu)).sum()
    np.testing.assert_allclose(sweep.errors, errors)
    sweep.mu[:], sweep.bars[:] = 0.0, 0.0
    before = sweep.errors[p]
    adjoint.account(sweep, nx, p, times)
    assert sweep.errors[p] == before


def test_one_step_in_eight_counts_and_those_beside_an_event():
    kinds = [adjoint.STEP_ROW] * 12
    kinds[5] = adjoint.STEP_ROW + 1
    walk = [SimpleNamespace(kind=k) for k in kinds]

    class Rows(list):
        size = 12

    counts = [adjoint.counted(Rows(walk), r) for r in range(12)]
    assert counts == [8, 0, 0, 0, 1, 0, 1, 0, 8, 0, 0, 0]
