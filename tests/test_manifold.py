"""States, sensitivities and adjoints that are kept on constraints, and jumps at events."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.records import (
    CONTACTS,
    DRIFT,
    DYNAMICS,
    IMPACT,
    INDEX1,
    PENALTY,
    PROJECTED,
    STEP,
)

manifold, transposed = plain("event_driven.manifold"), plain("event_driven.transposed")
flow, saltation = plain("event_driven.flow"), plain("event_driven.saltation")
derivative, adjoint = plain("event_driven.impact_derivative"), plain("event_driven.adjoint")
N, N_PHI, N_RHO = 4, 2, 3


class Case:
    """phi = b t + e q + q' H q / 2 + k rho + rho_0 l q for each of the constraints."""

    def __init__(self, monkeypatch, seed, closed=(1, 1), wrt=(0, -1, 2), curved=0.1, near=0.0):
        rng = self.rng = np.random.default_rng(seed)
        normal = rng.normal
        self.b, self.e, self.k = normal(size=N_PHI), normal(size=(N_PHI, N)), normal(size=(N_PHI, N_RHO))  # fmt: skip
        self.l, H = normal(size=(N_PHI, N)), curved * normal(size=(N_PHI, N, N))
        self.H, self.rho = H + H.transpose(0, 2, 1), 0.3 * normal(size=N_RHO)
        self.M = normal(size=(N, N))
        self.M = self.M @ self.M.T + np.eye(N)
        nc, nt, size, wide = 1, 1, N + N_PHI, 2 * N
        count = nc + nt + N_PHI
        self.on = np.flatnonzero(closed)
        self.y = normal(size=(len(wrt) + 1) * (wide + 1))
        self.zero = 0.0
        self.zero = near - self.phi(0.3, self.y[:N])
        self.problem = SimpleNamespace(
            sizes=SimpleNamespace(n=N, n_x=wide, n_rho=N_RHO, n_c=nc, n_t=nt, rows=count, penalty=1 + wide),
            functions=SimpleNamespace(table=None, eliminated=-1), links=[SimpleNamespace(change=-1, sign=0)] * N_PHI, changes=[], inp=np.zeros(4 + wide), out=np.full(99, np.nan),
            rows=[SimpleNamespace(closed=c) for c in (0, 0, *closed)], partner=np.full(count, -1),
            state=[SimpleNamespace(held=sum(closed), form=INDEX1)], wrt=np.array(wrt),
            saddle=SimpleNamespace(W=np.full((size, size), np.nan), pivots=np.zeros(size, int),
                                   solution=np.zeros(size), tangent=np.full(size, np.nan)),
        )  # fmt: skip
        for module in (manifold.project, transposed.pull_back_projection, flow.assemble):
            monkeypatch.setitem(module.__globals__, "evaluate", self.evaluate)

    def phi(self, t, q):
        bent = np.einsum("cij,i,j->c", self.H, q, q) / 2
        return (
            self.zero
            + self.b * t
            + self.e @ q
            + bent
            + self.k @ self.rho
            + self.rho[0] * (self.l @ q)
        )

    def slope(self, q):
        return self.e + self.H @ q + self.rho[0] * self.l

    def drift(self, q, v):
        """Return phi_rho, (phi')_q and (phi')_rho."""
        by_rho, later = self.k.copy(), np.zeros((N_PHI, N_RHO))
        by_rho[:, 0] += self.l @ q
        later[:, 0] = self.l @ v
        return by_rho, self.H @ v, later

    def evaluate(self, _, which, inp, out):
        t, q, v = inp[0], inp[1 : 1 + N], inp[1 + N : 1 + 2 * N]
        nan = np.full(2, np.nan)  # of the contact, which is open, and its tangent
        values = {
            DYNAMICS: lambda: [self.M.ravel(), self.M @ np.ones(N)],
            CONTACTS: lambda: [nan, self.phi(t, q), nan, self.b, np.full(2 * N, np.nan), self.slope(q).ravel(), np.zeros(3)],
            DRIFT: lambda: [part.ravel() for part in self.drift(q, v)] + [np.zeros(N_PHI)],
        }[which]()  # fmt: skip
        out[:] = np.nan
        joined = np.concatenate(values)
        out[: len(joined)] = joined


@for_each(
    ("seed", "closed", "near"), itertools.product(range(3), ((1, 1), (1, 0), (0, 1)), (0.0, 1e-3))
)
def test_states_and_sensitivities_are_put_on_their_constraints(monkeypatch, seed, closed, near):
    """In the metric of the mass, so what acts has the directions of the constraints alone."""
    case = Case(monkeypatch, seed, closed, near=near)
    on, y, t = case.on, case.y, 0.3
    before = y.copy().reshape(-1, 2 * N + 1)
    first = case.slope(before[0, :N])[on]
    for row in case.problem.rows[:2]:
        row.closed = 1  # of a contact that is held nothing is asked
    assert manifold.project(case.problem, t, y, 3) == SUCCESS
    after = y.reshape(-1, 2 * N + 1)
    q, v = after[0, :N], after[0, N : 2 * N]
    G = case.slope(q)[on]
    np.testing.assert_allclose(case.phi(t, q)[on], 0.0, atol=1e-12)
    np.testing.assert_allclose((case.b[on] + case.slope(q)[on] @ v), 0.0, atol=1e-11 + 10 * near)
    phi_rho, by_q, later = case.drift(q, v)
    for k, w in enumerate(case.problem.wrt):
        Q, V = after[1 + k, :N], after[1 + k, N : 2 * N]
        by = phi_rho[on, w] if w >= 0 else 0.0
        np.testing.assert_allclose(G @ Q + by, 0.0, atol=1e-11 + 10 * near)
        by = later[on, w] if w >= 0 else 0.0
        np.testing.assert_allclose(G @ V + by_q[on] @ Q + by, 0.0, atol=1e-11 + 10 * near)
    moved = case.M @ (after - before)[:, : 2 * N].reshape(-1, N).T
    left = moved - first.T @ np.linalg.lstsq(first.T, moved, rcond=None)[0]
    np.testing.assert_allclose(left, 0.0, atol=1e-8)
    np.testing.assert_array_equal(after[:, 2 * N], before[:, 2 * N])  # the running cost


@for_each(("seed", "closed"), itertools.product(range(4), ((1, 1), (1, 0), (0, 1))))
def test_the_adjoint_goes_back_by_the_transpose(monkeypatch, seed, closed):
    """mu (A s + b) = (A' mu) s + (b mu) for the columns s that the projection moves."""
    case = Case(monkeypatch, seed, closed)
    columns = case.y.reshape(-1, 2 * N + 1)[1:, : 2 * N].copy()
    state = case.y[: 2 * N + 1].copy()
    assert manifold.project(case.problem, 0.3, case.y, 3) == SUCCESS
    moved = case.y.reshape(-1, 2 * N + 1)[1:, : 2 * N]
    mu, gradient = case.rng.normal(size=2 * N), np.zeros(3)
    start = mu.copy()
    assert transposed.pull_back_projection(case.problem, 0.3, state, mu, gradient) == SUCCESS
    np.testing.assert_allclose(state, case.y[: 2 * N + 1], atol=1e-12)
    np.testing.assert_allclose(moved @ start, columns @ mu + gradient, rtol=1e-9, atol=1e-11)


def test_what_has_no_direction_is_told(monkeypatch):
    case = Case(monkeypatch, 0, curved=0.0)
    case.e[1], case.l[1], case.l[0] = case.e[0], 0.0, 0.0
    case.zero = 0.0
    assert manifold.project(case.problem, 0.0, case.y, 0) == SINGULAR
    mu, gradient = np.ones(2 * N), np.zeros(3)
    assert transposed.pull_back_projection(case.problem, 0.0, case.y, mu, gradient) == SINGULAR
    assert manifold.hold(case.problem, 0.3, case.y) == -1
    assert [row.closed for row in case.problem.rows] == [0, 0, 1, 0]  # it follows from the other
    assert case.problem.state[0].held == 1
    case.problem.state[0].form = PENALTY
    assert manifold.hold(case.problem, 0.3, case.y) == -1
    assert [row.closed for row in case.problem.rows] == [0, 0, 1, 1]
    case.e[1] = 0.0
    assert manifold.hold(case.problem, 0.3, case.y) == 1
    case = Case(monkeypatch, 1, closed=(0, 0))
    case.problem.links = [SimpleNamespace(change=-1, sign=0), SimpleNamespace(change=0, sign=-1)]
    for side, held in ((1, [0, 1, 0]), (-1, [0, 1, 1])):  # the second holds on one side alone
        case.problem.changes = [SimpleNamespace(side=side)]
        assert manifold.hold(case.problem, 0.3, case.y) == -1
        assert [row.closed for row in case.problem.rows] == [0, *held]
        assert case.problem.state[0].held == sum(held)
    before = case.y.copy()
    assert manifold.hold(case.problem, 0.3, case.y) == -1  # both have a direction of their own
    assert [row.closed for row in case.problem.rows] == [0, 0, 1, 1]
    case.problem.state[0].held = 0
    for row in case.problem.rows:
        row.closed = 0
    assert manifold.project(case.problem, 0.0, case.y, 0) == SUCCESS  # nothing is held
    np.testing.assert_array_equal(case.y, before)


# -- jumps at events ------------------------------------------------------------------------------


def places(nx, nr, width):
    """Return where an event holds its parts, and how many numbers these are."""
    sizes = {"x_minus": nx + 1, "x_plus": nx + 1, "f_minus": nx + 1, "f_plus": nx + 1, "r_x": nx, "r_rho": nr,
             "h_x": nx * nx, "h_rho": nx * nr, "h_t": nx, "dtau": width,
             "s_minus": width * (nx + 1), "s_plus": width * (nx + 1)}  # fmt: skip
    ends = np.append(0, np.cumsum([*sizes.values()]))
    return (
        SimpleNamespace(**dict(zip(sizes, ends[:-1].tolist(), strict=True))),
        sizes,
        int(ends[-1]),
    )


@for_each(("seed", "chained"), itertools.product(range(4), (False, True)))
def test_every_column_jumps_by_the_saltation_matrix(seed, chained):
    """S+ = h_x S- + h_rho + (h_x f- + h_t - f+) dtau, dtau = -(r_x S- + r_rho) / D."""
    rng, nx, nr, wrt = np.random.default_rng(seed), 3, 4, np.array([2, -1, 0, 3])
    width = len(wrt)
    at, sizes, total = places(nx, nr, width)
    row = rng.normal(size=total)
    event = SimpleNamespace(row=row, at=at, head=[SimpleNamespace(D=1.7)])
    problem = SimpleNamespace(sizes=SimpleNamespace(n_x=nx, n_rho=nr), wrt=wrt)
    part = {name: row[getattr(at, name) :][:size].copy() for name, size in sizes.items()}
    h_x, h_rho = part["h_x"].reshape(nx, nx), part["h_rho"].reshape(nx, nr)
    S = part["s_minus"].reshape(width, nx + 1)
    by = np.array([np.append(h_rho[:, w], part["r_rho"][w]) if w >= 0 else np.zeros(nx + 1) for w in wrt])  # fmt: skip
    cause = rng.normal(size=total)
    tau = -(S[:, :nx] @ part["r_x"] + by[:, nx]) / 1.7
    tau = cause[at.dtau :][:width] if chained else tau
    jump = h_x @ part["f_minus"][:nx] + part["h_t"] - part["f_plus"][:nx]
    expected = S[:, :nx] @ h_x.T + by[:, :nx] + np.outer(tau, jump)
    cost = S[:, nx] + (part["f_minus"][nx] - part["f_plus"][nx]) * tau
    saltation.saltate(problem, event, width, cause, chained)
    got = row[at.s_plus :][: width * (nx + 1)].reshape(width, nx + 1)
    np.testing.assert_allclose(row[at.dtau :][:width], tau, rtol=1e-12)
    np.testing.assert_allclose(got, np.column_stack([expected, cost]), rtol=1e-12)


def test_resets_are_read_with_their_derivatives_or_change_nothing(monkeypatch):
    nx, nr, rng = 3, 2, np.random.default_rng(0)
    at, sizes, total = places(nx, nr, 0)
    x, by_t, by_x, by_rho = rng.normal(size=nx), rng.normal(size=nx), rng.normal(size=(nx, nx)), rng.normal(size=(nx, nr))  # fmt: skip
    out = np.concatenate([x, by_t, by_x.ravel(), by_rho.ravel()])
    asked = []
    monkeypatch.setitem(saltation.reset.__globals__, "evaluate", lambda table, which, *_: asked.append(which))  # fmt: skip
    row = rng.normal(size=total)
    event = SimpleNamespace(row=row, at=at)
    problem = SimpleNamespace(sizes=SimpleNamespace(n_x=nx, n_rho=nr), out=out, inp=None,
                              functions=SimpleNamespace(table=None, reset=40), state=[SimpleNamespace(mode=9)])  # fmt: skip
    automaton = SimpleNamespace(guards=[SimpleNamespace(to=5), SimpleNamespace(to=7)])

    def held():
        return [row[getattr(at, name) :][: sizes[name]] for name in ("h_t", "h_x", "h_rho")]

    saltation.reset(problem, automaton, 1, event)
    assert (asked, problem.state[0].mode) == ([41], 7)
    np.testing.assert_array_equal(row[at.x_plus :][:nx], x)
    for got, expected in zip(held(), (by_t, by_x.ravel(), by_rho.ravel()), strict=True):
        np.testing.assert_array_equal(got, expected)
    saltation.identity(problem.sizes, event)
    np.testing.assert_array_equal(row[at.x_plus :][:nx], row[at.x_minus :][:nx])
    for got, expected in zip(held(), (np.zeros(nx), np.eye(nx).ravel(), np.zeros(nx * nr)), strict=True):  # fmt: skip
        np.testing.assert_array_equal(got, expected)


def test_the_largest_of_some_numbers():
    x = np.array([9.0, -3.0, 2.0, 8.0])
    assert saltation.largest(x, 1, 3) == 3.0
    for bad in (np.nan, np.inf):
        assert saltation.largest(np.array([0.0, bad, 1.0]), 0, 3) == np.inf
    assert saltation.largest(x, 2, 2) == pytest.approx(0.0)


# -- the saddle system ----------------------------------------------------------------------------


class Saddle:
    """Numbers for M, F, G, gamma and their derivatives: two contacts, their tangents, two constraints."""

    def __init__(self, monkeypatch, seed, closed, sigma=(0, 0)):
        rng = self.rng = np.random.default_rng(seed)
        n, nr, nc, nt, count = 4, 2, 2, 2, 6
        self.n, self.nr, self.count, self.on = n, nr, count, np.flatnonzero(closed)
        self.M = rng.normal(size=(n, n)) + 3 * np.eye(n)
        self.F, self.gamma = rng.normal(size=n), rng.normal(size=count)
        self.G, self.mu = rng.normal(size=(count, n)), np.array([0.3, 0.7])
        self.step = [rng.normal(size=shape) for part in (n, count)
                     for shape in ((part, n), (part, n), (part, nr), (part,))]  # fmt: skip
        size, wide = n + len(self.on), 2 * n
        lam = 1 + wide + nr + wide
        self.problem = SimpleNamespace(
            sizes=SimpleNamespace(n=n, n_x=wide, n_rho=nr, n_c=nc, n_t=nt, rows=count, rates=1 + wide + nr,
                                  lam=lam, sigma=lam + count, penalty=lam + count + nt),
            functions=SimpleNamespace(table=None, eliminated=-1), inp=np.zeros(lam + count + nt + 3), out=np.full(300, np.nan),
            rows=[SimpleNamespace(closed=c, sigma=0) for c in closed], partner=np.array([3, 2, 1, 0, -1, -1]),
            state=[SimpleNamespace(held=len(self.on))],
            saddle=SimpleNamespace(W=np.full((size, size), np.nan), pivots=np.zeros(size, int), forces=np.full((2, count), np.nan),
                                   solution=np.zeros(size), tangent=np.zeros(size), direction=rng.normal(size=wide)),
        )  # fmt: skip
        self.problem.rows[2].sigma, self.problem.rows[3].sigma = sigma
        self.problem.inp[:] = rng.normal(size=len(self.problem.inp))
        self.soft = np.zeros(count)
        self.soft[nc + nt :] = self.problem.inp[self.problem.sizes.penalty + 2]
        for module in (flow.assemble, derivative.impact_derivative):
            monkeypatch.setitem(module.__globals__, "evaluate", self.evaluate)
        # a sliding contact pulls along its tangent, against its velocity
        self.pull = self.G.copy()
        self.pull[1] -= sigma[0] * self.mu[0] * self.G[2]
        self.pull[0] -= sigma[1] * self.mu[1] * self.G[3]

    def evaluate(self, _, which, inp, out):
        rest = np.full(self.count, np.nan)
        values = {
            DYNAMICS: [self.M.ravel(), self.F],
            CONTACTS: [rest, rest, self.G.ravel(), self.gamma, self.mu, [0.5, 0.9]],
            STEP: [part.ravel() for part in self.step],
            IMPACT: [part.ravel() for part in self.step],
        }[which]
        out[:] = np.nan
        joined = np.concatenate(values)
        out[: len(joined)] = joined

    def matrix(self):
        G, pull = self.G[self.on], self.pull[self.on]
        return np.block([[self.M, pull.T], [G, -np.diag(self.soft[self.on])]])


SETS = [((0, 0, 0, 0, 0, 0), (0, 0)), ((1, 0, 0, 0, 0, 1), (0, 0)), ((1, 1, 1, 0, 0, 0), (0, -1)),
        ((0, 1, 0, 0, 1, 1), (1, 0)), ((1, 1, 0, 0, 0, 0), (-1, 1)), ((1, 0, 0, 1, 0, 0), (0, 0))]  # fmt: skip


@for_each(("seed", "held"), itertools.product(range(3), SETS))
def test_accelerations_and_forces_solve_the_saddle_system(monkeypatch, seed, held):
    """[[M, G'], [G, -1/alpha]] (a, -lam) = (F, -gamma), and its derivative along a direction."""
    case = Saddle(monkeypatch, seed, *held)
    p, n, on = case.problem, case.n, case.on
    v = p.inp[1 + n : 1 + 2 * n].copy()
    assert flow.accelerate(p) == SUCCESS
    solved = np.linalg.solve(case.matrix(), np.append(case.F, -case.gamma[on]))
    rates, lam = p.inp[p.sizes.rates :][: 2 * n], np.zeros(case.count)
    lam[on] = -solved[n:]
    np.testing.assert_allclose(rates, np.append(v, solved[:n]), rtol=1e-9)
    np.testing.assert_allclose(p.inp[p.sizes.lam :][: case.count], lam, rtol=1e-9)
    np.testing.assert_array_equal(p.inp[p.sizes.sigma :][:2], held[1])
    case.evaluate(None, STEP, p.inp, p.out)
    R, A = case.step[:4], case.step[4:]
    along = p.saddle.direction
    for k, w in enumerate((0, 1, flow.PARAMETERLESS, flow.BY_TIME)):
        right = []
        for by_q, by_v, by_rho, by_t in (R, [part[on] for part in A]):
            part = by_q @ along[:n] + by_v @ along[n:]
            part += by_rho[:, w] if w >= 0 else by_t if w == flow.BY_TIME else 0.0
            right.append(-part)
        flow.tangent(p, w)
        expected = np.linalg.solve(case.matrix(), np.concatenate(right))
        np.testing.assert_allclose(p.saddle.tangent[: n + len(on)], expected, rtol=1e-8)
        flow.keep_forces(p, k % 2)
        forces = np.zeros(case.count)
        forces[on] = -expected[n:]
        np.testing.assert_allclose(p.saddle.forces[k % 2], forces, rtol=1e-8)


@for_each(("seed", "held"), itertools.product(range(3), SETS))
def test_the_derivative_of_an_impact_solves_the_same_system(monkeypatch, seed, held):
    """d(dv) from the derivatives of I = M dv - G' p and of the law, whose restitution has its own."""
    case = Saddle(monkeypatch, seed, *held)
    p, n, nr, on, wide = case.problem, case.n, case.nr, case.on, 2 * case.n
    at, _, total = places(wide, nr, 0)
    at.p = total
    row = case.rng.normal(size=total + case.count)
    before = row.copy()
    event = SimpleNamespace(row=row, at=at)
    e, e_rho = np.array([0.0, 0.6]), case.rng.normal(size=(2, nr))
    speed = case.rng.normal(size=case.count)
    contacts = SimpleNamespace(e_now=e, e_rho=e_rho, rows=[SimpleNamespace(speed=s) for s in speed])
    assert derivative.impact_derivative(p, contacts, event) == SUCCESS
    given = np.where(np.isin(np.arange(case.count), on), before[at.p :], 0.0)
    np.testing.assert_array_equal(p.inp[p.sizes.lam :][: case.count], given)
    np.testing.assert_array_equal(p.inp[p.sizes.sigma :][:2], held[1])
    R, A = case.step[:4], [part[on] for part in case.step[4:]]
    by_law = np.zeros((case.count, nr))
    by_law[1] = speed[1] * e_rho[1]
    A[2] = A[2] + by_law[on]
    right = -np.vstack([np.hstack([*R[:3], R[3][:, None]]), np.hstack([*A[:3], A[3][:, None]])])
    solved = np.linalg.solve(case.matrix(), right)[:n]
    h_x = row[at.h_x :][: wide * wide].reshape(wide, wide)[n:]
    h_rho = row[at.h_rho :][: wide * nr].reshape(wide, nr)[n:]
    kept = before[at.h_x :][: wide * wide].reshape(wide, wide)[n:]
    np.testing.assert_allclose(h_x - kept, solved[:, :wide], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(h_rho, solved[:, wide:-1], rtol=1e-8)
    np.testing.assert_allclose(row[at.h_t :][n:wide], solved[:, -1], rtol=1e-8)


@for_each(("seed", "width"), itertools.product(range(3), (0, 3)))
def test_slopes_of_a_mode_its_columns_and_its_cost(monkeypatch, seed, width):
    """S' = f_x S + f_rho, and of the cost g(x, x', rho, lam): g_x S + g_x' S' + g_rho."""
    rng, nx, nr, wrt = np.random.default_rng(seed), 3, 4, np.array([2, -1, 0])
    f, by_x, by_rho, cost = rng.normal(size=nx), rng.normal(size=(nx, nx)), rng.normal(size=(nx, nr)), 30  # fmt: skip
    g, g_x, g_slope, g_rho = rng.normal(), *rng.normal(size=(2, nx)), rng.normal(size=nr)
    given = {1: [f], 11: [f, by_x.ravel(), by_rho.ravel()], cost: [[g], g_x, g_slope, g_rho]}
    inp, out = np.full(1 + nx + nr + nx + 1, np.nan), np.full(60, np.nan)

    def evaluate(table, which, given_inp, out):
        np.testing.assert_array_equal(given_inp[: 1 + nx], np.append(0.7, y[:nx]))
        assert given_inp[-1] == -1.0
        joined = np.concatenate(given[which])
        out[:], out[: len(joined)] = np.nan, joined

    monkeypatch.setitem(flow.slopes.__globals__, "evaluate", evaluate)
    y, dy = rng.normal(size=(width + 1) * (nx + 1)), np.full((width + 1) * (nx + 1), np.nan)
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n_x=nx, n_rho=nr, rates=1 + nx + nr, rows=0, mechanical=False), inp=inp, out=out, wrt=wrt,
        sides=np.array([(len(inp) - 1, -1)], [("place", int), ("now", int)]).view(np.recarray),
        functions=SimpleNamespace(table=None, cost=cost, tlm=10), state=[SimpleNamespace(mode=1)],
        saddle=SimpleNamespace(forces=np.zeros((3, 0))),
    )  # fmt: skip
    assert flow.slopes(problem, 0.7, y, dy, width) == SUCCESS
    np.testing.assert_array_equal(dy[: nx + 1], np.append(f, g))
    np.testing.assert_array_equal(inp[1 + nx + nr :][:nx], f)
    for k, w in enumerate(wrt[:width]):
        S = y[(k + 1) * (nx + 1) :][:nx]
        slope = by_x @ S + (by_rho[:, w] if w >= 0 else 0.0)
        last = g_x @ S + g_slope @ slope + (g_rho[w] if w >= 0 else 0.0)
        got = dy[(k + 1) * (nx + 1) :][: nx + 1]
        np.testing.assert_allclose(got, np.append(slope, last), rtol=1e-12)
    problem.functions.cost = -1
    flow.slopes(problem, 0.7, y, dy, width)
    assert not dy[nx :: nx + 1].any()


@for_each(("seed", "k"), itertools.product(range(4), range(2)))
def test_the_adjoint_leaps_by_the_transpose_of_the_saltation(seed, k):
    """mu+ S+ + moved dtau = mu- S- + what the gradient gains, whatever S- is."""
    rng, nx, nr, wrt = np.random.default_rng(seed), 3, 4, np.array([2, -1, 0])
    p, block = len(wrt), nx + 1
    at, _, total = places(nx, nr, p)
    row, start = rng.normal(size=total), rng.normal(size=block)
    head = SimpleNamespace(D=1.7, how=0)
    event = SimpleNamespace(row=row, at=at, head=[head])
    problem = SimpleNamespace(sizes=SimpleNamespace(n_x=nx, n_rho=nr), wrt=wrt)
    before, other = row[at.s_minus :][: p * block].reshape(p, block), np.full((2, 2, block), np.nan)
    moved = rng.normal(size=2)
    for resets, chained in itertools.product((True, False), repeat=2):
        head.how = adjoint.CHAINED if chained else 0
        jumps = adjoint.Jumps(moved, other.copy(), np.full((2, p), np.nan))
        sweep = SimpleNamespace(mu=start.copy(), gradient=np.zeros(p))
        waits = 0.4 * chained
        weight = adjoint.leap(problem, event, k, jumps, sweep, waits, resets)
        cause = rng.normal(size=total)  # which has the time of what is chained
        saltation.saltate(problem, event, p, cause, chained)
        tau = row[at.dtau :][:p]
        after = row[at.s_plus :][: p * block].reshape(p, block) if resets else before
        left = after @ start + (moved[k] + waits) * tau
        np.testing.assert_allclose(left, before @ sweep.mu + sweep.gradient + weight * tau, rtol=1e-9)  # fmt: skip
        assert chained or weight == 0.0
        np.testing.assert_array_equal(jumps.mu[k], [sweep.mu, start])
        np.testing.assert_array_equal(jumps.gains[k], sweep.gradient)
        assert np.isnan(jumps.mu[1 - k]).all()
        assert np.isnan(jumps.gains[1 - k]).all()


@for_each("seed", range(4))
def test_a_running_cost_is_pulled_back_by_its_derivatives(monkeypatch, seed):
    """Of z g: bars gain z g_x, weights of x' gain z g_x', gains z g_rho; g_lam is left."""
    rng, nx, rows, nr, wrt = np.random.default_rng(seed), 3, 2, 4, np.array([2, -1, 0])
    g_x, g_slope = rng.normal(size=(2, nx))
    g_lam, g_rho = rng.normal(size=rows), rng.normal(size=nr)
    out = np.concatenate([[np.nan], g_x, g_slope, g_lam, g_rho, np.full(9, np.nan)])
    monkeypatch.setitem(adjoint.pull_back_cost.__globals__, "evaluate", lambda *_: None)
    weights, bars, gains = rng.normal(size=(2, nx + 1)), np.full((2, nx + 1), 9.0), rng.normal(size=(2, 3))  # fmt: skip
    before, first = weights.copy(), gains.copy()
    forces = np.full((2, rows), np.nan)
    problem = SimpleNamespace(sizes=SimpleNamespace(n_x=nx, rows=rows), wrt=wrt, out=out, inp=None,
                              functions=SimpleNamespace(table=None, cost=0), saddle=SimpleNamespace(forces=forces))  # fmt: skip
    adjoint.pull_back_cost(problem, weights, bars, gains)
    z = before[:, nx:]
    np.testing.assert_allclose(bars[:, :nx], z * g_x)
    np.testing.assert_allclose(weights, before + np.append(g_slope, 0.0) * z)
    by_rho = np.array([g_rho[w] if w >= 0 else 0.0 for w in wrt])
    np.testing.assert_allclose(gains, first + z * by_rho)
    np.testing.assert_array_equal(forces[0], g_lam)


@for_each(
    ("seed", "form", "times"), itertools.product(range(3), (INDEX1, PROJECTED, PENALTY), (0, 4))
)
def test_a_step_goes_back_by_the_transpose_of_its_stages(monkeypatch, seed, form, times):
    """mu s+ = mu- s- + (what the gradient gains), with each stage put on its constraints, or none."""
    rng, stages, block, p, h = np.random.default_rng(seed), 4, 5, 2, 0.3
    many, t = stages + 1, 1.7
    J, Pi = rng.normal(size=(2, many, block, block))
    by_rho, moves = rng.normal(size=(2, many, block, p))
    A, c = np.tril(rng.normal(size=(many, many)), -1), np.linspace(0, 1, many)
    c[-2] = 0.9

    def through(start, gains, moves):
        """Return columns at all stages."""
        slopes, ends = np.zeros((many, *start.shape)), []
        for stage in range(many):
            one = start + h * np.einsum("j,j...->...", A[stage], slopes)
            if stage and (form == PROJECTED or (form == INDEX1 and stage == stages)):
                one = Pi[stage] @ one + moves[stage]
            slopes[stage] = J[stage] @ one + gains[stage]
            ends.append(one)
        return ends

    def of(here, at, y):
        stage = int(here.inp[0])
        assert at == pytest.approx(t + c[stage] * h if stage < stages else t + h)
        return stage

    def flow_(here, at, y, slope, width):
        stage = of(here, at, y)
        assert width == 0
        np.testing.assert_allclose(y, states[stage], rtol=1e-9, atol=1e-9)
        slope[:] = J[stage] @ y
        return SUCCESS

    def project(here, at, y, width):
        assert width == 0
        y[:] = Pi[of(here, at, y)] @ y
        return SUCCESS

    def pull_back(here, weights, bars, gains):
        stage = int(here.inp[0])
        bars[: len(weights)] = weights @ J[stage]
        gains[: len(weights)] += weights @ by_rho[stage]

    def pull_back_projection(here, at, y, bar, gains):
        stage = of(here, at, y)
        gains += bar @ moves[stage]
        bar[:] = bar @ Pi[stage]
        if stage == stages:  # the others are on their constraints already
            y[:] = Pi[stage] @ y
        return SUCCESS

    for name, stand_in in (("flow", flow_), ("project", project), ("pull_back", pull_back),
                           ("pull_back_projection", pull_back_projection)):  # fmt: skip
        monkeypatch.setitem(adjoint.step_back.__globals__, name, stand_in)
    saddle = adjoint.Saddle(np.zeros((2 * many, 2)), np.zeros(2 * many, int), *[None] * 4)
    sizes = SimpleNamespace(n_x=block - 1, n_c=1, n_t=1, rows=3)
    problem = SimpleNamespace(
        **dict.fromkeys(("functions", "partner", "resets", "out", "rows", "sides", "changes", "links")),
        drive=None, active=None,
        sizes=sizes, wrt=np.zeros(p, int), inp=np.repeat(np.arange(many), 3), saddle=saddle, state=[SimpleNamespace(form=form)],
    )  # fmt: skip
    method = SimpleNamespace(stages=stages, A=A, c=c, E=rng.normal(size=(2, many)))
    steps = SimpleNamespace(t=[0.0, t], h=[0.0, h], y=rng.normal(size=(2, block)))
    still, mu = np.zeros(many), rng.normal(size=block)
    states = through(steps.y[1], still, still)
    sweep = adjoint.Sweep(
        mu.copy(), np.zeros(p), np.zeros(p + 1), np.ones(block), *np.full((2, many, block), np.nan),
        np.full((3 * many, block), np.nan), np.full((3, block), np.nan), np.full((3, p), np.nan),
    )  # fmt: skip
    assert adjoint.step_back(problem, method, steps, 1, sweep, times) == SUCCESS
    start = rng.normal(size=(block, p))
    end = through(start, by_rho, moves)[-1]
    np.testing.assert_allclose(mu @ end, sweep.mu @ start + sweep.gradient, rtol=1e-9)
    assert (sweep.errors[:p] > 0).all() == (times > 0)
    if form == PENALTY:  # a step and its embedded errors: h E K, of what the parameters do
        columns = np.array(through(np.zeros((block, p)), by_rho, moves))
        slopes = np.einsum("jmi,jik->jmk", J, columns) + by_rho
        e1, e2 = h * np.einsum("ej,jmk,m->ek", method.E, slopes, mu)
        np.testing.assert_allclose(sweep.errors[:p], times * e1**2 / np.hypot(e1, 0.1 * e2))
