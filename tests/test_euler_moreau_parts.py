"""Steps of the Euler-Moreau scheme, dense and banded, against the equations that they solve."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain, put, space

from explorer.codes import NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.complementarity.box_lcp import LEMKE, PIVOTING
from explorer.kernels.model.held_inputs import NEVER
from explorer.kernels.time_stepping.euler_moreau_structures import (
    CONSTANT,
    LINEAR,
    NONLINEAR,
    STATE,
    Method,
    Model,
    Options,
    Places,
    Problem,
    Record,
    workspace,
)
from explorer.kernels.time_stepping.march import Grid

dense, banded = plain("time_stepping.euler_moreau"), plain("time_stepping.euler_moreau_band")
N, M = 3, 2
COEFFICIENTS = [  # theta, a, s: gamma on r, then on the relation
    (1.0, 1.0, 1.0), (0.5, 1.0, 1.0), (0.5, 0.6, 1.0), (1.0, 1.0, 0.7), (0.6, 1.0, 0.5),
]  # fmt: skip


class Case:
    """f = F x + a (sin t) + bend x^2, y = H x + J lam + b (t) + bend x_0^2, r = G lam + K x."""

    def __init__(self, monkeypatch, kind, coefficients, seed=0, lcp=PIVOTING, steps=5):
        rng = np.random.default_rng(seed)
        self.kind, self.bend, self.moves = kind, 0.3 * (kind == NONLINEAR), float(kind != CONSTANT)
        normal = rng.normal
        self.F, self.H, self.G = normal(size=(N, N)), normal(size=(M, N)), normal(size=(N, M))
        self.K, self.J = 0.2 * normal(size=(N, N)), 2 * np.eye(M) + 0.3 * normal(size=(M, M))
        self.a, self.b = normal(size=N), 3 * normal(size=M)
        self.mass = np.eye(N) + 0.2 * normal(size=(N, N))
        monkeypatch.setitem(dense.run.__globals__, "call", self.call)
        sizes = (N * N, M * N, M * M, N * N, N * M)
        places = Places(*map(np.arange, sizes))
        table = np.array([[bundle, 0] for bundle in range(4)])
        lower, upper = np.array([-0.8, 0.0]), np.array([0.8, np.inf])
        self.model = Model(table, np.zeros(1 + N + M), np.full(99, np.nan), places, self.mass, lower, upper)  # fmt: skip
        self.method, self.h = Method(*coefficients), 0.05
        self.grid = Grid((steps - 0.4) * self.h, steps, True, NEVER)
        self.options = Options(kind, 30, 1e-13, lcp, 1e-9)
        rows = steps + 1
        self.record = Record(np.zeros(rows), np.zeros((rows, N)), np.zeros((rows, M)), np.zeros((rows, M)),
                             np.zeros((rows, M), np.int8), np.zeros(rows, np.int32), np.zeros((rows, 2)))  # fmt: skip
        self.record.x[0] = normal(size=N)
        self.record.side[0] = 0, -1
        self.work = opened(workspace(N, M, np.array([lower, upper]), self.h))

    def f(self, t, x):
        return self.F @ x + self.a * np.sin(15 * t * self.moves) + self.bend * x**2

    def y(self, t, x, lam):
        return self.H @ x + self.J @ lam + self.b * np.cos(25 * t * self.moves) + self.bend * x[0] ** 2  # fmt: skip

    def r(self, x, lam):
        return self.G @ lam + self.K @ x + self.bend * x[1] * lam[0]

    def call(self, bundle, _, out, inp):
        t, x, lam = inp[0], inp[1 : 1 + N], inp[1 + N : 1 + N + M]
        H, K, G = self.H.copy(), self.K.copy(), self.G.copy()
        H[:, 0] += 2 * self.bend * x[0]
        K[:, 1] += self.bend * lam[0]
        G[:, 0] += self.bend * x[1]
        values = {
            dense.FORCE: lambda: self.f(t, x), dense.FORCE_X: lambda: (self.F + np.diag(2 * self.bend * x)).ravel(),
            dense.RELATION: lambda: np.append(self.y(t, x, lam), self.r(x, lam)),
            dense.RELATION_X: lambda: np.concatenate([H.ravel(), self.J.ravel(), K.ravel(), G.ravel()]),
        }[bundle]()  # fmt: skip
        out[:] = np.nan
        out[: len(values)] = values

    @property
    def problem(self):
        return Problem(self.model, self.method, self.options, self.grid)

    def run(self):
        status = dense.run(self.problem, self.record, self.work)
        return status, self.work.state[0].row

    def check(self, tol=1e-10):
        """Assert that every row solves the equations of its step."""
        (t, x, lam, y, *_), (theta, a, s) = self.record, self.method
        h, t_end = self.h, self.grid.t_end
        np.testing.assert_allclose(t[:-1], h * np.arange(len(t) - 1), rtol=1e-12)
        assert t[-1] == t_end
        np.testing.assert_allclose(y[0], self.y(t[0], x[0], lam[0]))
        for i in range(len(t) - 1):
            step, u = t[i + 1] - t[i], s * x[i + 1] + (1 - s) * x[i]
            left = self.mass @ (x[i + 1] - x[i])
            right = step * (theta * self.f(t[i + 1], x[i + 1]) + (1 - theta) * self.f(t[i], x[i]))
            right += step * (a * self.r(u, lam[i + 1]) + (1 - a) * self.r(x[i], lam[i]))
            np.testing.assert_allclose(left, right, atol=tol)
            at = t[i] + s * step
            np.testing.assert_allclose(y[i + 1], self.y(at, u, lam[i + 1]), atol=tol)
        off = lam[1:] - np.clip(lam[1:] - y[1:], self.model.lower, self.model.upper)
        np.testing.assert_allclose(off, 0.0, atol=tol)
        return {*map(tuple, self.record.side[1:])}


@for_each(("kind", "coefficients", "lcp"), itertools.product(
    (NONLINEAR, LINEAR, CONSTANT), COEFFICIENTS, (PIVOTING, LEMKE)))  # fmt: skip
def test_steps_solve_their_equations(monkeypatch, kind, coefficients, lcp):
    """Also the last one, which is shorter."""
    sides = set()
    for seed in range(2):
        case = Case(monkeypatch, kind, coefficients, seed, lcp)
        assert case.run() == (SUCCESS, 5)
        sides |= case.check()
        assert (case.record.iterations[1:] > 1).any() == (kind == NONLINEAR)
        assert case.record.residuals.max() <= 1e-9
    assert len(sides) > 1 or kind == CONSTANT


@for_each(("kind", "coefficients"), itertools.product((LINEAR, CONSTANT), COEFFICIENTS))
def test_a_band_solves_the_same_steps(monkeypatch, kind, coefficients):
    for seed in range(2):
        case, other = (Case(monkeypatch, kind, coefficients, seed) for _ in range(2))
        size = N + M
        entries = [*itertools.product(range(size), range(size))]
        slot = {entry: k for k, entry in enumerate(entries)}
        blocks = ((0, 0, N, N), (N, 0, M, N), (N, N, M, M), (0, 0, N, N), (0, N, N, M))
        # of M and f_x, then H0, H1, G0, G1
        slots = [slot[r + i, c + j] for r, c, p, q in (blocks[0], *blocks) for i in range(p) for j in range(q)]  # fmt: skip
        place = np.random.default_rng(seed).permutation(size)
        kept = [SimpleNamespace(count=0)]
        zeros = {name: np.zeros(n) for name, n in (("b", size), ("y", size), ("before", size), ("rhs", size),
                                                   ("lam", M), ("f0", N), ("r0", N))}  # fmt: skip
        band = SimpleNamespace(ptr=np.arange(size + 1) * size, col=np.tile(np.arange(size), size), slots=np.array(slots),
                               place=place, mass=case.mass.ravel(), val=np.zeros(size * size), kept=kept,
                               W=np.zeros((size, 3 * (size - 1) + 1)), pivots=np.zeros(size, int), **zeros)  # fmt: skip
        state = np.zeros(1, STATE).view(np.recarray)
        state.h = case.h
        assert banded.run(case.problem, case.record, state, band) == SUCCESS
        assert state[0].row == 5
        case.check()
        monkeypatch.setitem(dense.run.__globals__, "call", other.call)
        assert other.run() == (SUCCESS, 5)
        np.testing.assert_allclose(case.record.x, other.record.x, atol=1e-10)
        np.testing.assert_array_equal(case.record.side, other.record.side)


def test_what_has_no_solution_is_told(monkeypatch):
    case = Case(monkeypatch, NONLINEAR, COEFFICIENTS[0])
    case.options = case.options._replace(newton_max=1)
    assert case.run() == (NEWTON_CAP, 0)
    case = Case(monkeypatch, NONLINEAR, COEFFICIENTS[0])
    case.a[1] = np.inf
    with np.errstate(invalid="ignore"):
        assert case.run()[0] == NOT_FINITE
    assert case.record.residuals[0].tolist() == [0.0, 0.0]
    with pytest.raises(AssertionError):
        case.check()


@for_each(("coefficients", "seed"), itertools.product(COEFFICIENTS, range(3)))
def test_the_residual_of_an_iterate_is_beside_its_terms(monkeypatch, coefficients, seed):
    """Of the states beside f, r and what they are sums of; of the relation beside its terms."""
    case = Case(monkeypatch, NONLINEAR, coefficients, seed)
    case.bend, h, (theta, a, s) = 3.0, 0.05, coefficients
    case.options = case.options._replace(newton_max=1)
    assert case.run() == (NEWTON_CAP, 0)
    x0, lam0, t1 = case.record.x[0], case.record.lam[0], h
    state, linear, box = case.work.iterate, case.work.linear, case.work.box
    x, lam, at = state.x, state.lam, s * h
    u = s * x + (1 - s) * x0
    f0, f1, r0, r = case.f(0.0, x0), case.f(t1, x), case.r(x0, lam0), case.r(u, lam)
    off = case.mass @ (x - x0) - h * (theta * f1 + (1 - theta) * f0) - h * (a * r + (1 - a) * r0)
    terms = h * (abs(f0) + abs(f1) + abs(r)) + abs(case.mass) @ abs(x0) + h * abs(linear.G1) @ abs(lam)  # fmt: skip
    missed = abs(case.y(at, u, lam) - case.work.solution.y) / (abs(box.q) + abs(box.M) @ abs(lam))
    expected = max((abs(off) / terms).max(), missed.max())
    assert case.record.residuals[1, 1] == pytest.approx(expected, rel=1e-9)
    assert expected > 1e-6


@for_each(
    ("at", "side", "lam"),
    [(2.0, 0, 2.0), (-1.0, 0, -1.0), (2.5, 1, 2.0), (-1.5, -1, -1.0), (0.5, 0, 0.5)],
)
def test_a_multiplier_at_its_bound_with_a_vanishing_y_lies_between(monkeypatch, at, side, lam):
    """x + lam = 1 + at and lam - at = y: between the bounds y = 0, beyond them lam stays at one."""
    N, before = 2, np.array([0.25, 0.5])  # x and lam at the start
    A = np.array([[1.0, 1.0], [0.0, 1.0]])  # of the steps
    new = np.array([1.0, at])
    kept = np.zeros(1, [("count", int)]).view(np.recarray)
    kept[0].count = -1
    band = SimpleNamespace(
        ptr=np.array([0, 2, 3]), col=np.array([0, 1, 1]), place=np.array([1, 0]), val=np.array([1.0, 1.0, 1.0]), W=np.zeros((N, 4)),
        pivots=np.zeros(N, int), kept=kept, b=np.zeros(N), y=np.zeros(N), before=before, rhs=np.array([(A @ (new - before))[0], -(A @ (new - before))[1]]),
    )  # fmt: skip
    lower, upper, sides, found = np.array([-1.0]), np.array([2.0]), np.zeros(1, np.int8), np.zeros(1)  # fmt: skip
    assert banded.solve_sides(band, lower, upper, sides, found) == 0.0
    assert (sides[0], found[0]) == (side, lam)
    assert band.rhs.tolist() == [pytest.approx(1 + at - lam - before[0]), pytest.approx(lam - at)]
    assert band.y[1] == band.rhs[1]


def test_the_band_of_a_step_has_the_tangents_of_its_forces_at_its_end_and_of_its_relation(
    monkeypatch,
):
    asked, one = [], np.zeros(1, int)
    put(monkeypatch, banded.assemble, evaluate=lambda model, which: asked.append((which, model.inp.tolist())))  # fmt: skip
    model = space(inp=np.array([0.0, 7.0, 8.0]), out=np.array([10.0, 20.0, 30.0, 40.0]),
                  places=space(F=one, H0=one, H1=one, G0=one, G1=one))  # fmt: skip
    band = space(val=np.full(6, 9.0), slots=np.array([5, 4, 3, 2, 1, 0]), mass=np.array([3.0]))
    banded.assemble(model, space(theta=0.5, a=0.25, s=2.0), band, 0.1, 1.5, 1.25)
    assert asked == [(banded.FORCE_X, [1.5, 7.0, 8.0]), (banded.RELATION_X, [1.25, 7.0, 8.0])]
    np.testing.assert_allclose(band.val, [-1.0, -1.5, 20.0, 20.0, -0.5, 3.0], rtol=1e-15)


@pytest.mark.parametrize(("f", "expected"), [(9e-10, 0.0), (3e-9, 2e-9)])
def test_what_large_terms_of_f_round_to_is_no_residual(f, expected):
    """At rest in x = 1, where terms of 1e6 cancel: f up to 1e-15 of them may be round-off."""
    none, one = np.zeros((1, 0)), np.ones(1)
    linear = space(F=np.array([[1e6]]), H0=none.T, G1=none)
    iterate = space(f0=f * one, f1=f * one, r0=0 * one, x=one, lam=np.zeros(0))
    work = space(linear=linear, iterate=iterate, box=space(M=np.zeros((0, 0)), q=np.zeros(0)))
    model = space(out=np.zeros(1), M=np.eye(1))
    found = dense.newton_residual(model, Method(0.5, 1.0, 1.0), work, one, np.zeros(0), 1.0)
    assert found == pytest.approx(expected, rel=1e-6, abs=0.0)
