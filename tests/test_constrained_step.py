"""Steps with position constraints, uncompiled: that what they find obeys the equations of the step."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain, put

from explorer.codes import INDEFINITE, NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.complementarity.lcp import LEMKE
from explorer.kernels.complementarity.structures import LcpOptions, lcp_workspace
from explorer.kernels.linear_algebra.structures import SaddlePoint
from explorer.kernels.model.structures import GAP, MASS, STEP, Rows
from explorer.kernels.time_stepping.moreau_jean_structures import Sizes, outputs

stepping = plain("time_stepping.constrained_step")
iterating = plain("time_stepping.constrained_alpha_iteration")
alpha = plain("time_stepping.constrained_alpha")
inputs, saddle_point = plain("model.inputs"), plain("linear_algebra.saddle_point")
N, CONTACTS, BOUND = 3, 1, 2  # coordinates, contacts, constraints
ALL = CONTACTS + BOUND
SIZES = Sizes(N, CONTACTS, CONTACTS, BOUND)
AT = outputs(SIZES, ALL * N)
TOLERANCE = 1e-12


class Motion:
    """M(q) v' = F(t, q, v) + G' lam, phi(t, q) = 0 and a gap, quadratic in q; at t = 0 q holds."""

    def __init__(self, monkeypatch, seed: int = 0, *, forced: bool = True):
        rng = np.random.default_rng(seed)
        self.q, v = rng.uniform(0.5, 1.0, N), rng.normal(size=N)
        A = rng.normal(size=(ALL, N, N))
        self.A, self.b = 0.2 * (A + A.transpose(0, 2, 1)), rng.normal(size=(ALL, N))
        self.d, self.e = rng.normal(size=ALL), rng.normal(size=ALL)
        self.c = np.zeros(ALL)
        self.c = -self.phi(0.0, self.q)
        G, free = self.G(self.q)[CONTACTS:], np.linalg.pinv(self.G(self.q)[CONTACTS:])
        self.v = v - free @ (G @ v + self.rate(0.0)[CONTACTS:])  # on the constraints
        S, T = rng.normal(size=(2, N, N))
        self.S, self.T = 0.05 * (S + S.T), T
        self.K, self.C = rng.normal(size=(2, N, N)) * forced
        self.cubic, self.w = 0.3 * forced, rng.normal(size=N)
        monkeypatch.setitem(inputs.evaluate.__globals__, "call", self.call)

    def phi(self, t, q):
        """Return the gap, then the constraints."""
        return 0.5 * (self.A @ q) @ q + self.b @ q + self.d * t + self.e * t**2 / 2 + self.c

    def rate(self, t):
        return self.d + self.e * t

    def G(self, q):
        return self.A @ q + self.b

    def M(self, q):
        return np.diag([2.0, 1.5, 3.0]) + q[0] * self.S

    def F(self, t, q, v):
        return t * self.w - self.K @ q - self.C @ v - self.cubic * q**3 / 3 + self.T[0]

    def call(self, which, data, out, inp):
        t, q, v = inp[0], inp[1 : 1 + N], inp[1 + N : 1 + 2 * N]
        out[:] = np.nan
        if which == STEP:
            by_q = -self.K - np.diag(self.cubic * q**2)
            told = [self.F(t, q, v), by_q.ravel(), -self.C.ravel()]
        elif which == MASS:
            told = [self.M(q).ravel()]
        else:
            assert which == GAP
            told = [
                self.phi(t, q)[:CONTACTS],
                self.rate(t),
                self.G(q).ravel(),
                self.phi(t, q)[CONTACTS:],
            ]
        told = np.concatenate(told)
        out[: told.size] = told

    def parts(self):
        """Return bundles, matrices, G and the saddle matrices of a step."""
        table = np.array([[k, 0] for k in range(8)])
        bundles = SimpleNamespace(
            table=table, inp=np.full(1 + 2 * N, np.nan), out=np.full(40, np.nan)
        )
        M, K, C = np.zeros((3, N, N))
        every = np.arange(N * N)
        matrices = SimpleNamespace(
            M=M, K=K, C=C, M_flat=M.reshape(-1), K_flat=K.reshape(-1), C_flat=C.reshape(-1),
            places=SimpleNamespace(M=every, K=every, C=every),
        )  # fmt: skip
        G = Rows(np.arange(0, ALL * N + 1, N), np.tile(np.arange(N), ALL), np.full(ALL * N, np.nan))
        none, size = np.zeros(0, np.int32), N + BOUND
        saddles = [
            SaddlePoint(np.full((size, size), np.nan), np.zeros(size, np.int64), none, none, none, np.zeros(0))
            for _ in range(2)
        ]  # fmt: skip
        linear = Rows(np.arange(N + 1) * 0, none, np.zeros(0))
        return bundles, matrices, G, saddles, linear


# ---------------------------------------------------------------- Moreau-Jean, at both levels


def both_levels(monkeypatch, motion, h, theta, c, *, q_star=True, P=None, **given):
    """Return the status of a step on positions and velocities, its work and its record."""
    bundles, matrices, G, (saddle, inertia), linear = motion.parts()
    acts = P is not None
    method = SimpleNamespace(gamma=c, q_star=q_star)
    options = SimpleNamespace(
        **{"state_force": bool(motion.cubic), "gives": False, "newton_tol": TOLERANCE, "newton_max": 30, **given}
    )  # fmt: skip
    problem = SimpleNamespace(
        bundles=bundles, linear=linear, sizes=SIZES, outputs=AT, matrices=matrices,
        contacts=SimpleNamespace(G=G), method=method, options=options, saddle=saddle, inertia=inertia,
    )  # fmt: skip
    q, v = np.full((2, 2, N), np.nan)
    q[0], v[0] = motion.q, motion.v
    record = SimpleNamespace(
        t=np.array([0.0, h]), q=q, v=v, active=np.zeros((2, CONTACTS), int), residuals=np.full((2, 2), np.nan),
        iterations=np.zeros(2, int), p_phi=np.full((2, BOUND), np.nan), gamma=np.full((2, BOUND), np.nan),
    )  # fmt: skip
    entries = {name: np.full(ALL * N, np.nan) for name in ("G0", "G1", "rows")}
    levels = SimpleNamespace(
        **entries, shift=np.full(N, np.nan), gamma=np.zeros(BOUND), P=np.zeros(BOUND),
        speed=np.zeros(BOUND), pair=np.zeros((N + BOUND, 2)),
    )  # fmt: skip
    vectors = {name: np.full(N, np.nan) for name in ("q", "v", "F1", "R", "size", "rhs")}
    iterate = SimpleNamespace(
        **vectors, F0=motion.F(0.0, motion.q, motion.v), v_free=np.full(N + BOUND, np.nan)
    )
    active = SimpleNamespace(
        act=np.array([0]), rate=np.full(1, np.nan), P=np.array([P if acts else np.nan]), D=None
    )
    work = SimpleNamespace(
        iterate=iterate, levels=levels, active=active, state=[SimpleNamespace(far=1.0)],
        projection=SimpleNamespace(dq=np.full(N + BOUND, np.nan)),
    )  # fmt: skip
    step = SimpleNamespace(row=0, h=h, ht=theta * h, t1=h, m=int(acts), held=int(acts))
    bundles.inp[:] = 0.0, *motion.q, *motion.v
    motion.call(GAP, 0, bundles.out, bundles.inp)  # looked at last: the end of the step before
    G.val[:] = bundles.out[AT.G : AT.G + ALL * N]

    def contact_step(problem, record, work, step, task, lost):
        """Add what an impulse does that is known."""
        b = np.append(G.val[:N] * P, np.zeros(BOUND))
        saddle_point.solve_step(saddle, b)
        iterate.v_free += b
        return SUCCESS, lost

    monkeypatch.setitem(stepping.constrained_step.__globals__, "contact_step", contact_step)
    task = SimpleNamespace(problem=problem, record=record, work=work)
    return stepping.constrained_step(task, step), work, record


@for_each(("theta", "c", "q_star", "P", "forced"), [
    (0.5, 0.5, True, None, True), (0.7, 0.3, True, None, True), (1.0, 0.5, False, None, True), (0.6, 0.5, True, 0.8, True),
    (0.5, 0.2, False, 0.8, True), (0.5, 0.5, True, 0.8, False), (0.8, 0.4, True, None, False),
])  # fmt: skip
def test_a_step_obeys_its_equations_at_both_levels(monkeypatch, theta, c, q_star, P, forced):
    """M (v1 - v0) = h [theta F1 + (1 - theta) F0] + G_m' P - X, and the constraints at both levels."""
    for seed in range(3):
        motion, h = Motion(monkeypatch, seed, forced=forced), 0.05
        status, work, record = both_levels(monkeypatch, motion, h, theta, c, q_star=q_star, P=P)
        assert status == SUCCESS
        place = c if q_star else 1.0
        q0, v0, q1, v1 = motion.q, motion.v, work.iterate.q, work.iterate.v
        G0, G1 = motion.G(q0), motion.G(q1)
        G, M = (1 - place) * G0 + place * G1, motion.M(q0 + place * (q1 - q0))
        lam, gamma = record.p_phi[1], record.gamma[1]
        F = h * (theta * motion.F(h, q1, v1) + (1 - theta) * motion.F(0.0, q0, v0))
        X = (G1 - G0)[CONTACTS:].T @ gamma / h
        pushed = G[0] * (P or 0.0)
        np.testing.assert_allclose(M @ (v1 - v0), F + G[CONTACTS:].T @ lam - X + pushed, atol=1e-10)
        np.testing.assert_allclose(motion.phi(h, q1)[CONTACTS:], 0, atol=1e-12)
        np.testing.assert_allclose((G1 @ v1 + motion.rate(h))[CONTACTS:], 0, atol=1e-10)
        d = q1 - q0 - h * (theta * v1 + (1 - theta) * v0)
        np.testing.assert_allclose(d, work.levels.shift, atol=1e-14)
        np.testing.assert_allclose(M @ d, G[CONTACTS:].T @ gamma, atol=0.03 * np.abs(M @ d).max())
        assert record.residuals[1, 1] <= TOLERANCE * np.abs(M @ v0).max() * 9
        assert 2 <= record.iterations[1] <= 12


def test_a_step_that_cannot_be_made_says_why(monkeypatch):
    motion = Motion(monkeypatch)
    assert both_levels(monkeypatch, motion, 0.05, 0.5, 0.5, newton_max=1)[0] == NEWTON_CAP
    motion = Motion(monkeypatch)
    motion.S = 100 * np.diag([1.0, -1, 1])
    assert both_levels(monkeypatch, motion, 0.05, 0.5, 0.5)[0] == INDEFINITE
    motion = Motion(monkeypatch)
    motion.w[0] = np.nan
    assert both_levels(monkeypatch, motion, 0.05, 0.5, 0.5)[0] == NOT_FINITE


def steps_before(rng, degree, h, *, row, count=6):
    """Return a record of polynomials of time: v of this degree, P of one less, gamma of at most 1."""
    t = h * np.arange(count)

    def polynomial(size, most):
        by = rng.normal(size=(max(most, 0) + 1, size))
        return sum(a * (t[:, None] / h) ** k for k, a in enumerate(by))

    v, p = polynomial(N, degree), polynomial(BOUND, degree - 1)
    gamma = polynomial(BOUND, 1 if degree == 3 else 0)
    return SimpleNamespace(
        t=t, q=rng.normal(size=(count, N)), v=v, p_phi=p, gamma=gamma, active=np.zeros((count, 2), int)
    )  # fmt: skip


@for_each(("back", "row"), [(0, 0), (1, 1), (2, 2), (3, 3), (3, 4)])
def test_an_iterate_begins_where_smooth_steps_lead(back, row):
    """Polynomials are continued exactly; at the start, and behind an impulse, nothing is known."""
    rng, h, theta = np.random.default_rng(row), 0.1, 0.7
    record = steps_before(rng, back, h, row=row)
    out = rng.normal(size=40)
    iterate = SimpleNamespace(q=np.full(N, np.nan), v=np.full(N, np.nan))
    levels = SimpleNamespace(
        shift=np.full(N, np.nan), P=np.full(BOUND, np.nan), gamma=np.full(BOUND, np.nan), G0=np.zeros(ALL * N)
    )  # fmt: skip
    inp = np.zeros(1 + 2 * N)
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=N, contacts=2), outputs=AT, bundles=SimpleNamespace(out=out, inp=inp)
    )  # fmt: skip
    step = SimpleNamespace(row=row, h=h, ht=theta * h, t1=2.5)
    stepping.predict(problem, record, SimpleNamespace(iterate=iterate, levels=levels), step)
    v0, v1 = record.v[row], record.v[row + 1] if back else record.v[row]
    np.testing.assert_allclose(iterate.v, v1, atol=1e-9)
    np.testing.assert_allclose(
        iterate.q, record.q[row] + h * (theta * iterate.v + (1 - theta) * v0)
    )
    np.testing.assert_allclose(levels.P, record.p_phi[row + 1] if back else 0, atol=1e-9)
    np.testing.assert_allclose(levels.gamma, record.gamma[row + 1] if back else 0, atol=1e-9)
    assert not levels.shift.any()
    assert levels.G0.tolist() == out[AT.G : AT.G + ALL * N].tolist()
    assert inp.tolist() == [2.5, *iterate.q, *iterate.v]


@for_each(("late", "struck", "row", "told"), [
    (None, None, 5, 3), (None, None, 2, 2), (None, None, 0, 0), (5, None, 5, 0), (4, None, 5, 1), (3, None, 5, 2), (2, None, 5, 3),
    (None, 5, 5, 0), (None, 4, 5, 1), (None, 3, 5, 2), (None, 2, 5, 3), (3, 4, 5, 1), (4, 3, 5, 1),
])  # fmt: skip
def test_steps_are_smooth_that_are_as_long_and_without_an_impulse(late, struck, row, told):
    """Of the last three: up to the last that was longer, or in which a contact gave an impulse."""
    t, active = 0.1 * np.arange(6), np.ones((6, 3), int)
    if late is not None:
        t[late:] += 1e-6
    if struck is not None:
        active[struck, 1] = 2
    active[:, 2] = 2  # a tangent
    record = SimpleNamespace(t=t, active=active)
    problem = SimpleNamespace(sizes=SimpleNamespace(contacts=2))
    assert stepping.smooth_steps(problem, record, row, 0.1) == told


@for_each(("seed", "held"), itertools.product(range(3), [0, 1]))
def test_rows_are_taken_to_the_iterate_and_tell_how_far_they_have_turned(monkeypatch, seed, held):
    """In parts of the speeds in them; positions count beside what their terms round to."""
    motion, rng, h, c = Motion(monkeypatch, seed), np.random.default_rng(seed), 0.1, 0.3
    bundles, _, G, _, _ = motion.parts()
    G.val[:], v1, t1 = rng.normal(size=ALL * N), rng.normal(size=N), 0.4
    G0, before, rate = rng.normal(size=(ALL, N)), G.val.reshape(ALL, N).copy(), rng.normal(size=1)
    levels = SimpleNamespace(
        G0=G0.ravel(), G1=np.full(ALL * N, np.nan), speed=np.full(BOUND, np.nan)
    )
    active = SimpleNamespace(act=np.array([0]), rate=rate.copy())
    problem = SimpleNamespace(
        sizes=SIZES, outputs=AT, bundles=bundles, contacts=SimpleNamespace(G=G),
        method=SimpleNamespace(gamma=c, q_star=True),
    )  # fmt: skip
    work = SimpleNamespace(levels=levels, iterate=SimpleNamespace(v=v1), active=active)
    bundles.inp[:] = t1, *motion.q, *v1
    turned, closed = stepping.renew_rows(problem, None, work, SimpleNamespace(h=h, held=held))
    G1, rates = motion.G(motion.q), motion.rate(t1)
    Gm = (1 - c) * G0 + c * G1
    speed = G1 @ v1 + rates
    fast = np.maximum(np.abs(rates), np.abs(G1 * v1).max(axis=1))
    broken = np.abs(speed[CONTACTS:]).max() / fast[CONTACTS:].max()
    if held:
        law = rate[0] + before[0] @ v1  # that the last solution has obeyed
        assert active.rate[0] == pytest.approx(rates[0] + (G1 - Gm)[0] @ v1)
        broken = max(broken, abs(speed[0] - law) / fast[0])
    assert turned == pytest.approx(broken)
    taken = slice(1 - held, ALL)
    np.testing.assert_allclose(G.val.reshape(ALL, N)[taken], Gm[taken])
    np.testing.assert_allclose(levels.G1.reshape(ALL, N)[taken], G1[taken])
    np.testing.assert_allclose(levels.speed, speed[CONTACTS:])
    assert not closed
    way = np.abs(motion.q) + h * np.abs(v1)
    for q, far in ((motion.q, way), (motion.q * [1, 1, 0], None), (np.array([0.01, 9.0, 0.0]), None)):  # fmt: skip
        least = 0.1 * np.abs(q).max()
        size = np.abs(motion.G(q)) @ np.maximum(np.abs(q) + h * np.abs(v1), least)
        for part, told in ((0.9, True), (1.1, False)):
            for row in range(CONTACTS, ALL):
                motion.c -= motion.phi(t1, q)
                motion.c[row] += part * stepping.CLOSE * size[row]
                if abs(motion.phi(t1, q)[row] / size[row] / stepping.CLOSE - part) > 0.05:
                    continue  # round-off of phi itself
                bundles.inp[:] = t1, *q, *v1
                step = SimpleNamespace(h=h, held=held)
                assert stepping.renew_rows(problem, None, work, step)[1] == told
        assert far is None or least < far.max()


# ---------------------------------------------------------------- generalised alpha


@for_each(("interpolated", "pull"), itertools.product([False, True], [0.0, 0.7]))
def test_a_smooth_step_of_generalised_alpha_obeys_its_equations(monkeypatch, interpolated, pull):
    """M a_m = F + G' lam where forces are taken: between the ends, or interpolated; phi = 0 at the end."""
    for seed in range(3):
        motion, h, t0 = Motion(monkeypatch, seed), 0.05, 0.0
        rng = np.random.default_rng(seed)
        bundles, matrices, G, (saddle, _), linear = motion.parts()
        method = SimpleNamespace(
            alpha_m=0.2, alpha_f=0.4, beta=0.36, gamma=0.7, interpolated=interpolated
        )
        am, af, beta, gamma = 0.2, 0.4, 0.36, 0.7
        problem = SimpleNamespace(
            bundles=bundles, matrices=matrices, linear=linear, sizes=SIZES, outputs=AT, G=G, saddle=saddle,
            method=method, newton_tol=TOLERANCE, newton_max=30,
        )  # fmt: skip
        q, v, a = (
            np.array([x, np.full(N, np.nan)]) for x in (motion.q, motion.v, rng.normal(size=N))
        )
        record = SimpleNamespace(
            q=q, v=v, a=a, lam=np.array([rng.normal(size=BOUND), np.full(BOUND, np.nan)]),
            residuals=np.full((2, 2), np.nan), iterations=np.zeros(2, int),
        )  # fmt: skip
        F0 = motion.F(t0, q[0], v[0]) + motion.G(q[0])[CONTACTS:].T @ record.lam[0]
        names = ("d", "v", "a", "a_m", "F", "R", "size")
        work = SimpleNamespace(
            **{name: np.full(N, np.nan) for name in names}, zero=np.zeros(N), F0=F0,
            lam=np.full(BOUND, np.nan), pull=np.array([pull]), dx=np.full(N + BOUND, np.nan),
            rows=np.full(ALL * N, np.nan),
        )  # fmt: skip
        t_f = h if interpolated else h * (1 - af)
        share = (1 - af) * gamma / (1 - am)
        step = SimpleNamespace(row=0, h=h, t1=h, t_f=t_f, ht=share * h)
        assert iterating.smooth(problem, record, work, step) == SUCCESS
        d = q[0] + h * v[0] + h**2 * ((0.5 - beta) * a[0] + beta * work.a)
        v1 = v[0] + h * ((1 - gamma) * a[0] + gamma * work.a)
        np.testing.assert_allclose(work.d, d, atol=1e-13)
        np.testing.assert_allclose(work.v, v1, atol=1e-13)
        np.testing.assert_allclose(motion.phi(h, d)[CONTACTS:], 0, atol=1e-13)
        if interpolated:
            where, speed, own = d, v1, 1 - af
        else:
            where, speed, own = (1 - af) * d + af * q[0], (1 - af) * v1 + af * v[0], 1.0
        G_f = motion.G(where)
        F = motion.F(t_f, where, speed) + G_f[CONTACTS:].T @ work.lam + pull * G_f[0]
        M = motion.M(where)
        left = own * F + (1 - own) * F0 - M @ ((1 - am) * work.a + am * a[0])
        np.testing.assert_allclose(left, 0, atol=1e-10)
        assert 2 <= record.iterations[1] <= 9, "the matrix of the step is its derivative"
        assert record.residuals[1, 1] == pytest.approx(np.linalg.norm(left), abs=1e-11)
        for told, changed in ((NEWTON_CAP, {"newton_max": 1}), (SUCCESS, {})):
            assert (
                iterating.smooth(
                    SimpleNamespace(**{**vars(problem), **changed}), record, work, step
                )
                == told
            )


def test_a_smooth_step_without_mass_or_force_says_so(monkeypatch):
    for told in (INDEFINITE, NOT_FINITE):
        motion = Motion(monkeypatch)
        bundles, matrices, G, (saddle, _), linear = motion.parts()
        if told == INDEFINITE:
            motion.S = 100 * np.diag([1.0, -1, 1])
        else:
            motion.w[0] = np.nan
        method = SimpleNamespace(alpha_m=0.2, alpha_f=0.4, beta=0.36, gamma=0.7, interpolated=False)
        problem = SimpleNamespace(
            bundles=bundles, matrices=matrices, linear=linear, sizes=SIZES, outputs=AT, G=G, saddle=saddle,
            method=method, newton_tol=TOLERANCE, newton_max=30,
        )  # fmt: skip
        record = SimpleNamespace(
            q=motion.q[None], v=motion.v[None], a=np.zeros((1, N)), lam=np.zeros((1, BOUND)),
            residuals=np.zeros((2, 2)), iterations=np.zeros(2, int),
        )  # fmt: skip
        names = ("d", "v", "a", "a_m", "F", "R", "size")
        work = SimpleNamespace(
            **{name: np.zeros(N) for name in names}, zero=np.zeros(N), F0=np.zeros(N), lam=np.zeros(BOUND),
            pull=np.zeros(1), dx=np.zeros(N + BOUND), rows=np.zeros(ALL * N),
        )  # fmt: skip
        step = SimpleNamespace(row=0, h=0.05, t1=0.05, t_f=0.03, ht=0.02)
        assert iterating.smooth(problem, record, work, step) == told


def corrected(monkeypatch, seed, *, gap, pull=0.7, damped=True, by_speed=False, ahead=0.0):
    """Return a motion, and problem, record, work and step of generalised alpha at the end of a step."""
    motion, rng, h = Motion(monkeypatch, seed), np.random.default_rng(seed), 0.05
    bundles, matrices, G, (saddle, _), linear = motion.parts()
    matrices.M[:], matrices.C[:], matrices.K[:] = motion.M(motion.q), damped * motion.C, motion.K
    motion.c[0] += gap - motion.phi(h, motion.q)[0]
    method = SimpleNamespace(velocity=by_speed, forecast=1.0)
    problem = SimpleNamespace(
        bundles=bundles, matrices=matrices, linear=linear, sizes=SIZES, outputs=AT, G=G, saddle=saddle,
        method=method, newton_max=30, e=np.array([0.6]), lcp=LcpOptions(LEMKE, 1e-12, 99),
    )  # fmt: skip
    record = SimpleNamespace(
        gap=np.array([[ahead + 1.0], [np.nan], [np.nan]]), gap_dot=np.array([[-1.0 / h], [np.nan], [np.nan]]),
        residuals=np.array([[0.0, 9], [0.25, 9], [0, 9]]), active=np.zeros((3, 1), int), p=np.zeros((3, 1)), jump=np.zeros((3, BOUND)),
    )  # fmt: skip
    vectors = {name: np.full(N, np.nan) for name in ("shift", "before")}
    work = SimpleNamespace(
        **vectors, d=motion.q.copy(), v=motion.v + rng.normal(size=N), zero=np.zeros(N), pull=np.array([pull]),
        dx=np.full(N + BOUND, np.nan), rhs=np.full(N + BOUND, np.nan), rows=np.full(ALL * N, np.nan),
        none=np.zeros((N, N)), D=np.full((1, 1), np.nan), act=np.zeros(1, int), w=np.zeros(1), z=np.zeros(1),
        lcp=opened(lcp_workspace(1, 1)),
    )  # fmt: skip
    work.lcp.kept[0].count = 1  # factors of another matrix
    step = SimpleNamespace(row=0, h=h, t1=h, t_f=h, ht=0.4 * h)
    return motion, problem, record, work, step


@for_each(("seed", "hit", "gap"), itertools.product(range(4), [False, True], [0.0, 0.1]))
def test_velocities_behind_a_step_obey_constraints_and_impacts(monkeypatch, seed, hit, gap):
    """W (v' - v) = G' (impulses) less those of forces that were known; Newton's law where it is closed."""
    motion, problem, record, work, step = corrected(monkeypatch, seed, gap=gap)
    before, h = work.v.copy(), step.h
    assert alpha.velocities(problem, record, work, step, hit) == SUCCESS
    G, rate = motion.G(motion.q), motion.rate(h)
    assert record.residuals.tolist() == [[0, 9], [0.25, 9], [0, 9]], "the largest is kept"
    speed = G @ work.v + rate
    np.testing.assert_allclose(speed[CONTACTS:], 0, atol=1e-12)
    W = problem.matrices.M + (step.ht if hit else 0.0) * problem.matrices.C
    z = record.p[1, 0]
    known = h * work.pull[0] if hit else 0.0
    pushed = G.T @ [z - known, *record.jump[1]]
    np.testing.assert_allclose(W @ (work.v - before), pushed, atol=1e-12)
    if hit and gap == 0:
        law = speed[0] + 0.6 * record.gap_dot[0, 0]
        assert min(z, law) >= -1e-12
        assert z * law == pytest.approx(0, abs=1e-9)
        assert record.active[1, 0] == (2 if z > 0 else 1)
    else:
        assert (z, record.active[1, 0]) == (0, 0)


@for_each(("ahead", "near"), [(1e-3, False), (-1e-3, True)])
def test_contacts_at_velocity_level_are_those_that_a_forecast_closes(monkeypatch, ahead, near):
    """The gap at the start, and its rate over the step; not the gap at the end."""
    for gap in (-0.1, 0.1):
        found = corrected(monkeypatch, 0, gap=gap, by_speed=True, ahead=ahead)
        _, problem, record, work, step = found
        assert alpha.velocities(problem, record, work, step, True) == SUCCESS
        assert (record.active[1, 0] > 0) == near


@for_each(("seed", "nc"), itertools.product(range(4), [0, 1]))
def test_positions_behind_a_step_obey_constraints_and_gaps(monkeypatch, seed, nc):
    """What moves them acts along the gradients; a gap that is open is left."""
    for gap in (-0.02, 0.05):
        motion, problem, record, work, step = corrected(monkeypatch, seed, gap=gap, pull=0.0)
        motion.c[CONTACTS:] += [0.01, -0.02]
        before = work.d.copy()
        assert alpha.positions(problem, record, work, step, nc) == SUCCESS
        phi = motion.phi(step.h, work.d)
        np.testing.assert_allclose(phi[CONTACTS:], 0, atol=1e-13)
        W = problem.matrices.M + step.ht * problem.matrices.C + step.ht**2 * problem.matrices.K
        along = np.linalg.lstsq(motion.G(work.d).T, W @ (work.d - before), rcond=None)[0]
        assert not work.zero.any()
        np.testing.assert_allclose(work.d - before, work.shift)
        if nc:
            assert phi[0] >= -1e-12
            assert work.z[0] * phi[0] == pytest.approx(0, abs=1e-12)
            assert along[0] == pytest.approx(work.z[0], abs=1e-3)
        assert np.abs(motion.G(work.d).T @ along - W @ (work.d - before)).max() < 1e-12


def test_half_of_the_impulses_of_a_step_move_its_positions(monkeypatch):
    _, problem, record, work, step = corrected(monkeypatch, 1, gap=0.0)
    told, v, d = [], work.v.copy(), work.d.copy()

    def velocities(_, __, ___, ____, hit):
        assert hit
        work.v += [1.0, 2.0, -3.0]
        work.z[0] = record.p[1, 0] = 5.0
        return SUCCESS

    def positions(*given):
        told.append(given[-1])
        return 77

    monkeypatch.setitem(alpha.half_way.__globals__, "velocities", velocities)
    monkeypatch.setitem(alpha.half_way.__globals__, "positions", positions)
    assert alpha.half_way(problem, record, work, step) == 77
    np.testing.assert_allclose(work.d, d + 0.5 * step.h * np.array([1.0, 2.0, -3.0]))
    np.testing.assert_allclose(work.v, v, rtol=1e-12)
    assert (work.z[0], record.p[1, 0], told) == (0, 0, [0])


@for_each(
    ("part", "impulse", "told"),
    [(0.9, 2.0, True), (1.1, 2.0, False), (0.0, 0.0, False), (0.0, 2.0, True)],
)
def test_a_contact_that_stays_closed_is_known_to_push_on(monkeypatch, part, impulse, told):
    """If what it closed by, (1 + e) |gap'|, is a small part of what its impulse makes."""
    _, problem, record, work, step = corrected(monkeypatch, 1, gap=0.0)
    work.D[0, 0] = 0.25
    record.p[1, 0] = impulse
    record.gap_dot[0, 0] = -part * alpha.STAYS * 0.25 * impulse / 1.6
    alpha.predict(problem, record, work, step)
    assert work.pull[0] == (impulse / step.h if told else 0)


@for_each(("seed", "regular"), itertools.product(range(3), (True, False)))
def test_accelerations_and_multipliers_jump_with_the_inputs(monkeypatch, seed, regular):
    """M a - G' lam = F+ - F-, G a = 0 over the constraints alone."""
    motion, rng, row = Motion(monkeypatch, seed), np.random.default_rng(seed), 2
    bundles, matrices, G, (saddle, _), linear = motion.parts()
    G.val[:], matrices.C[:], bundles.inp[:] = motion.G(motion.q).ravel(), 0.0, [0.0, *motion.q, *motion.v]  # fmt: skip
    if not regular:
        G.val[-N:] = G.val[-2 * N : -N]
    forces, now, said = rng.normal(size=(2, N)), [0], []

    def force(given, which, rows, F):
        F[:N] = forces[now[0]]

    put(monkeypatch, alpha.next_interval, force=force, hold=lambda drive, inp, k: now.__setitem__(0, k),
        look=lambda *given: said.append("look"), all_forces=lambda *given: said.append("forces"))  # fmt: skip
    problem = SimpleNamespace(bundles=bundles, matrices=matrices, sizes=SIZES, G=G, linear=linear, saddle=saddle,
                              grid=SimpleNamespace(drive=None))  # fmt: skip
    work = SimpleNamespace(dx=np.full(N + BOUND, 7.0), rows=np.full(ALL * N, np.nan), F=np.full(N, np.nan), none=np.zeros((N, N)))  # fmt: skip
    a, lam = rng.normal(size=(4, N)), rng.normal(size=(4, BOUND))
    record = SimpleNamespace(a=a.copy(), lam=lam.copy())
    assert alpha.next_interval(problem, record, work, row, 1) == regular
    np.testing.assert_array_equal(work.rows, G.val)
    others = [0, 1, 3]
    assert record.a[others].tolist() == a[others].tolist()
    assert record.lam[others].tolist() == lam[others].tolist()
    if not regular:
        assert said == ["look"]
        return
    assert said == ["look", "look", "forces"]
    da, dlam, held = record.a[row] - a[row], record.lam[row] - lam[row], motion.G(motion.q)[CONTACTS:]  # fmt: skip
    np.testing.assert_allclose(motion.M(motion.q) @ da - held.T @ dlam, forces[1] - forces[0], atol=1e-11)  # fmt: skip
    np.testing.assert_allclose(held @ da, 0.0, atol=1e-11)
