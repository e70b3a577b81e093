"""Derivatives of an element of FESD, uncompiled: against difference quotients of its solution."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain
from test_element import SELECTED, SURFACES, N, element, elements, lu_factor

from explorer.codes import SUCCESS
from explorer.kernels.fesd.collocation import TABLEAUX
from explorer.kernels.fesd.structures import MULTIPLIER, SURFACE

tangents = plain("fesd.tangents")
WRT = np.array([1, -1, 0])  # of three columns: two parameters in another order, and a start value
P, RHO = len(WRT), 2
STEP = 1e-5


class Motion:
    """The system of an element with two parameters, f + rho_0 p + rho_1 P x, c + rho_0 r + rho_1 R x."""

    def __init__(self, monkeypatch, tableau, sliding, *, stages=2, priced=True):
        el, self.t, self.x, self.system = element(monkeypatch, tableau, stages, sliding)
        rng, self.h, self.rho = np.random.default_rng(5), 0.1, np.array([0.4, -0.3])
        self.p, self.r = rng.normal(size=N), rng.normal(size=SURFACES)
        self.P, self.R = 0.1 * rng.normal(size=(N, N)), 0.1 * rng.normal(size=(SURFACES, N))
        self.g = rng.normal(size=(1 + N + SELECTED + RHO,) * 2)
        for part, by in zip(("a", "F", "C", "H"), (0.1, 0.1, 0.01, 0.01), strict=True):
            getattr(self.system, part)[:] *= by
        self.problem = SimpleNamespace(
            n_x=N, n_c=SURFACES, n_sel=SELECTED, n_rho=RHO, inp=np.zeros(1 + N + SELECTED), out=np.zeros(60),
            c=np.zeros(SURFACES * (2 + N + RHO)), cost=SimpleNamespace(address=7 * priced, data=9),
        )  # fmt: skip
        self.el = el._replace(problem=self.problem)
        self.el.solver.newton["cap"] = 40
        for space in (elements.factor.__globals__, tangents.tangent.__globals__):
            monkeypatch.setitem(space, "flow", self.flow)
            monkeypatch.setitem(space, "switching", self.switching)
        monkeypatch.setitem(elements.factor.__globals__, "lu_factor", lu_factor)
        monkeypatch.setitem(tangents.tangent.__globals__, "call", self.call)
        self.slid = el.mode.zeros[:sliding]
        for j in self.slid:  # the start is on it
            self.system.d[j] -= self.c(self.t, self.x)[j] / self.t
        self.el.stages.K[:], self.el.stages.W[:] = 0.0, 0.5

    def flow(self, problem):
        t, x, w = np.split(problem.inp, [1, 1 + N])
        told = self.system.f(t[0], x, w)
        told[:N] += self.rho[0] * self.p + self.rho[1] * self.P @ x
        told[N : N + N * N] += self.rho[1] * self.P.ravel()
        by_rho = np.column_stack([self.p, self.P @ x]).ravel()
        problem.out[: told.size + by_rho.size] = np.concatenate([told, by_rho])

    def c(self, t, x):
        told = self.system.c(t, x)
        told[:SURFACES] += self.rho[0] * self.r + self.rho[1] * self.R @ x
        told[SURFACES : SURFACES * (1 + N)] += self.rho[1] * self.R.ravel()
        return np.append(told, np.column_stack([self.r, self.R @ x]).ravel())

    def switching(self, problem):
        problem.c[:] = self.c(problem.inp[0], problem.inp[1 : 1 + N])

    def price(self, inp):
        z = np.append(inp, self.rho)
        return z @ self.g @ z / 2, (self.g + self.g.T) @ z / 2

    def call(self, address, data, out, inp):
        assert (address, data) == (7, 9)
        value, slopes = self.price(inp)
        out[: 1 + slopes.size] = value, *slopes

    def solved(self, t, x, h, rho):
        """Return the end of an element, the cost along it, and its unknowns."""
        end, el, sliding = np.zeros(N), self.el, len(self.slid)
        el.solver.newton["h"], before, self.rho = h, self.rho, np.asarray(rho, float)
        assert elements.element(el, t, x, end, 0, 0, 0.0) == SUCCESS
        K, W, spent = el.stages.K, el.stages.W[:, :sliding], 0.0
        for i, b in enumerate(el.tableau.b):
            w = el.mode.base + el.mode.B[:, :sliding] @ W[i]
            at = [t + h * el.tableau.c[i], *(x + h * el.tableau.A[i] @ K), *w]
            spent += h * b * self.price(np.array(at))[0]
        self.rho = before
        return np.concatenate([end, [spent], np.hstack([K, W]).ravel()])

    def slope(self, t=0.0, x=0.0, h=0.0, rho=0.0):
        """Return the derivative of all that along a direction."""
        ends = [
            self.solved(self.t + s * t, self.x + s * x, self.h + s * h, self.rho + s * rho)
            for s in (STEP, -STEP)
        ]
        return (ends[0] - ends[1]) / (2 * STEP)

    def asked(self, wrt=WRT):
        ws = SimpleNamespace(element=self.el)
        return ws, tangents.asked(self.el, np.array([wrt]).reshape(1, -1))


@for_each(("tableau", "sliding"), itertools.product(TABLEAUX, (0, 1, 2)))
def test_derivatives_of_an_element_are_difference_quotients(monkeypatch, tableau, sliding):
    """Of its end, its cost and its unknowns: along what comes before, by parameters, by its length."""
    motion, rng = Motion(monkeypatch, tableau, sliding), np.random.default_rng(1)
    before, behind, own = (
        rng.normal(size=(P + 1, N + 2)),
        np.full((P + 1, N + 2), np.nan),
        np.zeros(N + 2),
    )
    columns = []
    for j in range(P + 1):
        parameter = np.eye(RHO)[WRT[j]] if j < P and WRT[j] >= 0 else 0.0
        columns.append(motion.slope(before[j, N + 1], before[j, :N], rho=parameter))
    columns.append(motion.slope(h=1.0))
    exact = motion.solved(motion.t, motion.x, motion.h, motion.rho)
    ws, asked = motion.asked()
    spent = tangents.tangent(ws, asked, motion.t, motion.x, before, behind, own)
    assert spent == pytest.approx(exact[N])
    near = {"rtol": 1e-6, "atol": 1e-7}
    for j in range(P + 1):
        np.testing.assert_allclose(behind[j, :N], columns[j][:N], **near)
        assert behind[j, N] == pytest.approx(before[j, N] + columns[j][N], rel=1e-6)
        assert behind[j, N + 1] == before[j, N + 1]
    np.testing.assert_allclose(own, [*columns[-1][: N + 1], 1.0], **near)
    unknowns = 2 * (N + sliding)
    for column, found in zip(columns, asked.rhs, strict=True):
        np.testing.assert_allclose(found[:unknowns], column[N + 1 :], rtol=1e-6, atol=1e-6)


def test_without_a_price_nothing_is_spent_and_without_columns_nothing_is_solved(monkeypatch):
    motion = Motion(monkeypatch, "radau_iia", 1, priced=False)
    exact = motion.solved(motion.t, motion.x, motion.h, motion.rho)
    before = np.ones((P + 1, N + 2))
    behind, own = np.zeros((P + 1, N + 2)), np.zeros(N + 2)
    ws, asked = motion.asked()
    assert tangents.tangent(ws, asked, motion.t, motion.x, before, behind, own) == 0
    assert behind[:, N:].tolist() == before[:, N:].tolist()
    assert own[N:].tolist() == [0, 1]
    motion.problem.cost.address = 7
    ws, asked = motion.asked(np.zeros(0, int))
    monkeypatch.setitem(tangents.tangent.__globals__, "factor", lambda *_: pytest.fail("solved"))
    behind = np.zeros((1, N + 2))
    spent = tangents.tangent(ws, asked, motion.t, motion.x, before[:1], behind, own)
    assert spent == pytest.approx(exact[N])
    assert behind[0].tolist() == [0] * N + [1, 1]


def test_an_element_without_derivatives_is_no_number(monkeypatch):
    motion = Motion(monkeypatch, "radau_iia", 1)
    monkeypatch.setitem(tangents.tangent.__globals__, "factor", lambda *_: 1)
    ws, asked = motion.asked()
    before = np.ones((P + 1, N + 2))
    assert np.isnan(
        tangents.tangent(ws, asked, 0.0, motion.x, before, before.copy(), np.zeros(N + 2))
    )


@for_each(("kind", "first"), [(SURFACE, 0), (SURFACE, 1), (MULTIPLIER, 0), (MULTIPLIER, 2)])
def test_the_switch_behind_a_phase_stays_one(monkeypatch, kind, first):
    """All ends of the phase move by the common length, until c or a multiplier has no derivative."""
    motion, rng, e, sliding, s = (
        Motion(monkeypatch, "radau_iia", 2),
        np.random.default_rng(2),
        3,
        2,
        2,
    )
    ws, asked = motion.asked()
    asked.rhs[:] = rng.normal(size=asked.rhs.shape)
    moved, which = rng.normal(size=(e + 3, P + 1, N + 2)), 1 if kind == SURFACE else 2
    given = moved.copy()
    switches = [SimpleNamespace(kind=kind if k == 5 else 0, which=which) for k in range(7)]
    record = SimpleNamespace(
        phase=np.array([2, 3, 4, 4]), begin=np.arange(4.0), length=np.full(4, 0.5), states=rng.normal(size=(5, N))
    )  # fmt: skip
    phases = SimpleNamespace(switches=switches)
    tangents.stays_a_switch(ws, asked, record, phases, moved, first, e)
    if kind == SURFACE:
        c = motion.c(3.5, record.states[4])
        by_x, by_t = (
            c[SURFACES:][: SURFACES * N].reshape(SURFACES, N)[which],
            c[SURFACES * (1 + N) + which],
        )
        by_rho = c[SURFACES * (2 + N) :].reshape(SURFACES, RHO)[which]
        drho = [by_rho[k] if k >= 0 else 0.0 for k in WRT]
        left = moved[e + 1, :P, :N] @ by_x + moved[e + 1, :P, N + 1] * by_t + drho
        np.testing.assert_allclose(left, 0, atol=1e-9)
        by = left - drho - given[e + 1, :P, :N] @ by_x - given[e + 1, :P, N + 1] * by_t
        by /= given[e + 1, P, :N] @ by_x + given[e + 1, P, N + 1] * by_t
    else:
        steps = asked.rhs[: P + 1, : s * (N + sliding)].reshape(P + 1, s, N + sliding)[..., N:]
        slopes = motion.el.tableau.end @ (steps @ motion.el.mode.B[which, :sliding])[..., None]
        by = -slopes[:P, 0] / slopes[P, 0]
    for k in range(e + 3):
        share = by[:, None] * given[k, P] if first + 1 <= k <= e + 1 else 0.0
        np.testing.assert_allclose(moved[k, :P], given[k, :P] + share, rtol=1e-8)
        assert moved[k, P].tolist() == given[k, P].tolist()


def test_derivatives_inside_an_element_are_at_a_fixed_time(monkeypatch):
    """Its begin moves; what comes before an element, and what has no solution, is told."""
    motion, rng = Motion(monkeypatch, "radau_iia", 1), np.random.default_rng(3)
    before = rng.normal(size=(2, P + 1, N + 2))
    record = SimpleNamespace(
        begin=np.array([0.0, motion.t]),
        length=np.array([0.2, motion.h]),
        states=np.array([np.zeros(N), motion.x]),
    )
    known = SimpleNamespace(moved=before, cost=np.array([0.5, 2.0]))
    loaded, fails = [], []

    def load(el, record, phases, e, length):
        loaded.append((e, length))
        el.solver.newton["h"] = length

    def solve(*given):
        return 77 if fails else elements.element(*given)

    for name, stand_in in {"load": load, "take": lambda *_: None, "element": solve}.items():
        monkeypatch.setitem(tangents.tangents.__globals__, name, stand_in)
    ws, asked = motion.asked()
    t = np.array([motion.t, motion.t + 0.6 * motion.h, motion.t + motion.h])
    which, S, z = np.array([1, 1, 1]), np.full((3, N + 1, P), np.nan), np.full(3, np.nan)
    motion.solved(motion.t, motion.x, motion.h, motion.rho)
    tangents.tangents(ws, asked, record, "phases", known, t, which, S, z)
    assert loaded == [(1, pytest.approx(0.6 * motion.h)), (1, pytest.approx(motion.h))]
    assert S[0].tolist() == before[1, :P, : N + 1].T.tolist()
    assert z[0] == 2.0
    for i in (1, 2):
        motion.h = t[i] - motion.t
        assert z[i] == pytest.approx(
            2.0 + motion.solved(motion.t, motion.x, motion.h, motion.rho)[N]
        )
        for j in range(P):
            dt, dx = before[1, j, N + 1], before[1, j, :N]
            parameter = np.eye(RHO)[WRT[j]] if WRT[j] >= 0 else 0.0
            slope = motion.slope(dt, dx, -dt, parameter)[: N + 1]
            slope[N] += before[1, j, N]
            np.testing.assert_allclose(S[i, :, j], slope, rtol=1e-6, atol=1e-6)
    fails.append(True)
    S[:] = 0.0
    tangents.tangents(ws, asked, record, "phases", known, t[1:2], which[:1], S, z)
    assert np.isnan(S[0]).all()
    assert np.isnan(z[0])
