"""A step of Newmark's in the event-driven march, uncompiled: a linear system has a closed form."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import NEWMARK
from explorer.kernels.event_driven.structures import newton_of, step_of

stepping = plain("event_driven.newmark_step")
N, H, T, NRHO = 2, 0.3, 1.5, 2
BLOCK = 2 * N + 1
FAILS = 77  # a status


class Linear:
    """q'' = A q + B v + b t + P rho, in a step from a state at T; two parameters are asked for."""

    def __init__(self, monkeypatch, interpolated=0, beta=0.3, cubic=0.0, most=9):
        rng = np.random.default_rng(3)
        self.A, self.B = -4 * np.eye(N) + rng.normal(size=(N, N)), -rng.uniform(0.1, 0.4, (N, N))
        self.b, self.P, self.cubic = rng.normal(size=N), rng.normal(size=(N, NRHO)), cubic
        self.co = SimpleNamespace(interpolated=interpolated, alpha_m=0.2, alpha_f=0.4, beta=beta,
                                  gamma=0.6, most=most, weight=0.0, begun=0.0, length=0.0)  # fmt: skip
        width = NRHO
        self.y = rng.normal(size=(width + 1) * BLOCK)
        size = self.y.size
        self.step = step_of(1, size)._replace(stage=np.zeros(BLOCK), new=np.zeros(size))
        self.step.K[:] = np.nan
        self.step.slope[:] = rng.normal(size=size)
        self.step.newmark.first[:] = rng.normal(size=size)
        newton, _ = newton_of(NEWMARK, 2 * N, N)
        self.method = SimpleNamespace(newmark_newton=newton, newmark=[self.co])
        self.problem = SimpleNamespace(
            sizes=SimpleNamespace(n=N, n_x=2 * N, n_rho=NRHO, rows=0), inp=None, rows=[], out=np.full(99, np.nan),
            functions=SimpleNamespace(table=None), wrt=np.array([0, 1]),
            saddle=SimpleNamespace(W=np.eye(N), direction=np.full(2 * N, np.nan), tangent=np.full(N, np.nan)),
        )  # fmt: skip
        self.asked, self.status = [], SUCCESS
        for name, stand_in in {
            "flow": self.flow, "evaluate": self.evaluate, "assemble": lambda *_: None, "tangent": self.tangent,
            "factor": stepping.factor,
        }.items():  # fmt: skip
            monkeypatch.setitem(stepping.solve.__globals__, name, stand_in)

    def force(self, t, q, v):
        return self.A @ q + self.B @ v + self.b * t - self.cubic * q**3

    def flow(self, problem, t, state, slope, width):
        self.asked.append(t)
        slope[:N], slope[N : 2 * N] = state[N : 2 * N], self.force(t, state[:N], state[N : 2 * N])
        self.at = state[:N].copy()
        return self.status

    def evaluate(self, table, which, inp, out):
        by_q = -self.A + 3 * self.cubic * np.diag(self.at**2)
        out[: 2 * N * N] = np.concatenate([by_q.ravel(), -self.B.ravel()])

    def tangent(self, problem, j):
        s = problem.saddle
        s.tangent[:] = self.A @ s.direction[:N] + self.B @ s.direction[N:] + self.P[:, j]

    def stage(self, a1, w, at=0):
        """Return q and v at a fraction w of the step, by an acceleration at its end."""
        a0, co = self.step.slope[at + N : at + 2 * N], self.co
        q, v = self.y[at : at + N], self.y[at + N : at + 2 * N]
        return (q + w * (H * v + H * H * ((0.5 - co.beta) * a0 + co.beta * a1)),
                v + w * H * ((1 - co.gamma) * a0 + co.gamma * a1))  # fmt: skip

    def weights(self):
        co = self.co
        return (1.0, 1 - co.alpha_f, co.alpha_f) if co.interpolated else (1 - co.alpha_f, 1.0, 0.0)

    def residual(self, a1, at=0, j=None):
        """Return what vanishes at the end: of the step, or of its derivative by parameter `j`."""
        w, share, past = self.weights()
        q, v = self.stage(a1, w, at)
        force = self.force(T + w * H, q, v) if j is None else self.A @ q + self.B @ v + self.P[:, j]
        a0, first = (row[at + N : at + 2 * N] for row in (self.step.slope, self.step.newmark.first))
        return 0.8 * a1 + 0.2 * a0 - share * force - past * first


@for_each(("interpolated", "beta", "cubic"), itertools.product((0, 1), (0.3, 0.0), (0.0, 0.5)))
def test_the_acceleration_at_the_end_solves_the_equation_of_the_step(monkeypatch, interpolated, beta, cubic):  # fmt: skip
    one = Linear(monkeypatch, interpolated, beta, cubic)
    status, done = stepping.solve(one.problem, one.method, one.step, N, T, one.y, H)
    assert (status, done) == (SUCCESS, True)
    a1 = one.step.end[N : 2 * N]
    np.testing.assert_allclose(one.residual(a1), 0.0, atol=1e-12)
    assert {*one.asked} == {T + one.weights()[0] * H}
    assert len(one.asked) <= (3 if cubic == 0 and beta > 0 else 9)
    assert one.step.stage[2 * N] == 0.0


def test_an_explicit_step_without_dampers_needs_no_matrix(monkeypatch):
    one = Linear(monkeypatch, 0, 0.0)
    one.B[:] = 0.0
    monkeypatch.setitem(stepping.solve.__globals__, "factor", None)
    assert stepping.solve(one.problem, one.method, one.step, N, T, one.y, H) == (SUCCESS, True)
    assert len(one.asked) == 2
    np.testing.assert_allclose(one.residual(one.step.end[N : 2 * N]), 0.0, atol=1e-14)


def test_a_step_that_is_not_solved_says_so(monkeypatch):
    one = Linear(monkeypatch, most=1)
    assert stepping.solve(one.problem, one.method, one.step, N, T, one.y, H) == (SUCCESS, False)
    one = Linear(monkeypatch)
    one.status = FAILS
    assert stepping.solve(one.problem, one.method, one.step, N, T, one.y, H) == (FAILS, False)
    one = Linear(monkeypatch)
    monkeypatch.setitem(stepping.solve.__globals__, "factor", lambda *_: 1)
    assert stepping.solve(one.problem, one.method, one.step, N, T, one.y, H) == (SUCCESS, False)


@for_each("interpolated", [0, 1])
def test_derivatives_of_a_step_solve_its_derivative(monkeypatch, interpolated):
    one = Linear(monkeypatch, interpolated)
    assert stepping.columns(one.problem, one.method, one.step, N, T, one.y, H, NRHO) == SUCCESS
    for j in range(NRHO):
        at = (j + 1) * BLOCK
        a1 = one.step.end[at + N : at + 2 * N]
        np.testing.assert_allclose(one.residual(a1, at, j), 0.0, atol=1e-12)
        q, v = one.stage(a1, 1.0, at)
        np.testing.assert_allclose(one.step.new[at : at + 2 * N], [*q, *v], rtol=1e-12)
        np.testing.assert_allclose(one.step.end[at : at + N], v)
    one.status = FAILS
    assert stepping.columns(one.problem, one.method, one.step, N, T, one.y, H, NRHO) == FAILS
    monkeypatch.setitem(stepping.columns.__globals__, "factor", lambda *_: 1)
    one.status = SUCCESS
    assert stepping.columns(one.problem, one.method, one.step, N, T, one.y, H, NRHO) == stepping.SINGULAR  # fmt: skip


@for_each(("weight", "begun", "length", "moves"), [
    (0.0, T, 0.1, False), (1.0, T, 0.1, True), (1.0, T - 0.1, 0.1, True), (1.0, T - 0.2, 0.1, False),
    (1.0, T, H, False), (1.0, T, 0.0, False),
])  # fmt: skip
def test_what_is_carried_changes_with_the_step(monkeypatch, weight, begun, length, moves):
    """Of a0 what is off the flow is proportional to the step, and so of its derivatives."""
    one = Linear(monkeypatch, 0)
    one.co.weight, one.co.begun, one.co.length = weight, begun, length
    before, true = one.step.slope.copy(), np.arange(one.y.size) + 1.0

    def flow(problem, t, y, slope, width):
        one.asked.append((t, width))
        slope[:] = true
        return one.status

    monkeypatch.setitem(stepping.begin.__globals__, "flow", flow)
    assert stepping.begin(one.problem, one.method, one.step, T, one.y, H, NRHO) == SUCCESS
    assert one.asked == ([(T, NRHO if moves else 0)] if weight else [])
    wanted = before.copy()
    for k in range(NRHO + 1) if moves else ():
        part = slice(k * BLOCK + N, k * BLOCK + 2 * N)
        wanted[part] = true[part] + H / length * (before[part] - true[part])
    np.testing.assert_allclose(one.step.slope, wanted)
    assert not one.step.newmark.first.any()
    assert (one.co.begun, one.co.length) == ((T, H) if weight else (begun, length))
    if weight:
        np.testing.assert_array_equal(one.step.newmark.true_start, true)
        one.status = FAILS
        assert stepping.begin(one.problem, one.method, one.step, T, one.y, H, NRHO) == FAILS
        one.status, one.co.alpha_m, one.co.alpha_f = SUCCESS, 0.0, 0.0
        one.asked.clear()
        assert stepping.begin(one.problem, one.method, one.step, T, one.y, H, NRHO) == SUCCESS
        assert one.asked == []
        np.testing.assert_array_equal(one.step.newmark.true_start[:BLOCK], one.step.slope[:BLOCK])


def test_forces_at_the_start_are_those_of_the_flow_where_they_count(monkeypatch):
    one = Linear(monkeypatch, 1)

    def flow(problem, t, y, slope, width):
        assert (t, width) == (T, NRHO)
        slope[:] = 5.0
        return FAILS

    monkeypatch.setitem(stepping.begin.__globals__, "flow", flow)
    assert stepping.begin(one.problem, one.method, one.step, T, one.y, H, NRHO) == FAILS
    assert one.step.newmark.first.tolist() == [5.0] * one.y.size
    assert pytest.approx(one.weights()) == (1.0, 0.6, 0.4)


@for_each(("alpha_m", "alpha_f"), [(0.0, 0.0), (0.2, 0.0), (0.0, 0.4)])
def test_the_error_of_a_step_is_of_the_flow_itself(monkeypatch, alpha_m, alpha_f):
    """Its accelerations are asked for at the end too where the scheme carries others."""
    one, asked = Linear(monkeypatch), []
    one.co.alpha_m, one.co.alpha_f, one.co.weight = alpha_m, alpha_f, 4.0
    one.step.end[:] = np.random.default_rng(1).normal(size=one.y.size)
    carried = one.step.end[:BLOCK].copy()

    def flow(problem, t, y, slope, width):
        asked.append(t)
        slope[:BLOCK] = t
        return one.status

    def local_error(n, h, far, *given):
        assert (n, h, far) == (N, H, stepping.FAR * H)
        np.testing.assert_array_equal(given[3][:N], T + H / 2)
        end = T + H if alpha_m or alpha_f else carried[N : 2 * N]
        np.testing.assert_array_equal(given[4][:N], end)
        return 0.125

    for name, stand_in in (
        ("flow", flow),
        ("local_error", local_error),
        ("middle", lambda *_: None),
    ):
        monkeypatch.setitem(stepping.estimate.__globals__, name, stand_in)
    given = one.problem, one.method, one.step, T, one.y, H
    assert stepping.estimate(*given) == SUCCESS
    assert asked == [T + H] * bool(alpha_m or alpha_f) + [T + H / 2]
    assert one.co.error == 0.5
    one.status = FAILS
    assert stepping.estimate(*given) == FAILS
