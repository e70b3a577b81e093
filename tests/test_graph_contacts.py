"""Contacts known by their graph: each part of the solvers against dense matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.friction.graph_structures import SPARE, WIDEST, Graph, graph_workspace

OPEN, STICK = 0, 2
FRICTION = [seed for seed in range(28) if seed % 4]  # of the cases below
gauss = plain("friction.graph_gauss_seidel")
bands = plain("friction.graph_newton")
sets = plain("friction.graph_exchange")
paths = plain("friction.graph_path")
coordinates = plain("friction.graph_velocities")
proximal = plain("friction.graph_proximal")
whole = plain("friction.graph")
one = plain("friction.single_contact")


class Case:
    """A chain of contacts, some with friction, some of them active; and the same in dense form."""

    def __init__(self, seed: int, soft: bool = True, m: int = 5, extra: int = 2, mu: float = 0.4):
        rng = self.rng = np.random.default_rng(seed)
        nc, n = m + extra, m + extra + 3
        rough = np.flatnonzero(rng.random(nc) < 0.7) if seed % 4 else np.arange(0)
        G = np.zeros((nc + len(rough), n))
        for r in range(len(G)):
            a = r if r < nc else rough[r - nc]
            G[r, a : a + 3] = rng.normal(size=3) + (np.eye(3)[1] if r < nc else 0)
        self.inverse = rng.uniform(0.5, 2, n)
        ptr = np.append(0, np.cumsum((G != 0).sum(axis=1)))
        normals = rng.permutation(nc)[:m]
        tangents = [nc + int(np.flatnonzero(rough == a)[0]) for a in normals if a in rough]
        act = np.append(normals, tangents).astype(int)
        place = np.array([m + tangents.index(nc + int(np.flatnonzero(rough == a)[0]))
                          if a in rough else -1 for a in normals])  # fmt: skip
        rows = len(act)
        work = self.work = opened(graph_workspace(n, nc, len(G), ptr[-1]))
        for one_of in work[4:8]:
            one_of[:] = 0.0
        self.soft = np.where(np.arange(rows) < m, rng.uniform(0.1, 1, rows), 0.0) * soft
        work.soft[:rows] = self.soft
        bare = (G * self.inverse) @ G.T
        self.D = bare[np.ix_(act, act)] + np.diag(self.soft)
        work.unit[:rows] = np.diag(self.D)
        for k in range(m):
            work.cross[k] = bare[act[k], act[place[k]]] if place[k] >= 0 else 0.0
        self.G, self.m, self.rows, self.place, self.act = G, m, rows, place, act
        q = rng.normal(size=rows)
        q[:m] -= 0.5
        mode = rng.choice([OPEN, STICK, 1, -1], nc)
        mode[normals[place < 0]] = rng.choice([OPEN, STICK], (place < 0).sum())
        self.graph = Graph(
            *(ptr, np.nonzero(G)[1], G[G != 0], self.inverse, act, m, rows, place),
            *(rng.uniform(0.5, 1.5, m) * mu, q, np.zeros(rows), mode, work.unit, work.cross),
            *(work.soft, work.u),
        )

    def impulses(self):
        """Draw impulses that keep to the law, and set what each contact does."""
        g, rng = self.graph, self.rng
        for k in range(self.m):
            g.P[k] = rng.uniform(0.5, 1) * (g.mode[g.act[k]] != OPEN)
            if (t := self.place[k]) >= 0:
                what, bound = g.mode[g.act[k]], g.mu[k] * g.P[k]
                g.P[t] = rng.uniform(-0.9, 0.9) * bound if what == STICK else -what * bound

    def w(self, P=None):
        return self.D @ (self.graph.P if P is None else P) + self.graph.q

    def off(self, P=None):
        """Return the natural residuals of all rows."""
        g, unit = self.graph, np.diag(self.D)
        P = g.P if P is None else P
        w, off = self.w(P), np.zeros(self.rows)
        off[: self.m] = np.minimum(unit[: self.m] * P[: self.m], w[: self.m])
        for k, t in enumerate(self.place):
            if t >= 0:
                bound = g.mu[k] * unit[t] * P[k]
                off[t] = unit[t] * P[t] - np.clip(unit[t] * P[t] - w[t], -bound, bound)
        return np.abs(off)

    def columns(self, chosen):
        """Return D over chosen rows; what slides drags the column of its tangent along."""
        g = self.graph
        A = self.D[np.ix_(chosen, chosen)].copy()
        for c, j in enumerate(chosen):
            if j < self.m and self.place[j] >= 0 and (s := g.mode[g.act[j]]) != STICK:
                A[:, c] -= s * g.mu[j] * self.D[chosen, self.place[j]]
        return A

    def chosen(self):
        """Return the rows that are unknowns of the set."""
        found = []
        for k in range(self.m):
            what = self.graph.mode[self.act[k]]
            found += [k] if what != OPEN else []
            found += [self.place[k]] if what == STICK and self.place[k] >= 0 else []
        return found


def dense(A, n, w):
    """Return a matrix whose band stands by rows."""
    return np.array([[A[i, j - i + w] if abs(i - j) <= w else 0.0 for j in range(n)]
                     for i in range(n)]).reshape(n, n)  # fmt: skip


# -- what impulses do -----------------------------------------------------------------------------


@for_each("seed", range(24))
def test_impulses_act_through_the_velocities_that_they_make(seed):
    case = Case(seed)
    g, G, act = case.graph, case.G, case.act
    g.P[:] = case.rng.normal(size=case.rows) * (case.rng.random(case.rows) < 0.8)
    u = case.inverse * (G[act].T @ g.P)
    for renew in (gauss.follow, paths.renew):
        g.u[:] = 7.0
        renew(g)
        np.testing.assert_allclose(g.u, u, atol=1e-13)
    bare = (G * case.inverse) @ G.T
    for a, c in itertools.product(range(len(G)), repeat=2):
        got = gauss.coupling(g.ptr, g.col, g.val, g.inverse, a, c)
        assert got == pytest.approx(bare[a, c], abs=1e-13)
    g.P[: case.m] = abs(g.P[: case.m])
    assert gauss.residual(g) == pytest.approx(case.off().max(), rel=1e-12)
    for row in range(case.rows):
        g.q[row], before = np.nan, g.q[row]
        assert np.isnan(gauss.residual(g))
        g.q[row] = before


@for_each("seed", range(12))
def test_the_sizes_of_all_rows_are_those_of_the_dense_matrix(seed):
    case = Case(seed)
    g, nc = case.graph, case.m + 2
    compliance = np.zeros(nc)
    compliance[case.act[: case.m]] = case.soft[: case.m] * 0.25
    compliance[case.act[0]] = 0.0
    unit = np.diag(case.D).copy()
    unit[0] -= case.soft[0]
    cross = g.cross.copy()
    for one_of in (g.unit, g.cross, g.soft, g.P):
        one_of[: case.rows] = 5.0
    g.q[0] = -3.0 + 2 * (seed % 2)
    size, lowest = whole.measure(g, compliance, 0.25)
    assert (size, lowest) == (abs(g.q).max(), min(0.0, g.q[: case.m].min()))
    np.testing.assert_allclose(g.unit[: case.rows], unit, rtol=1e-12)
    np.testing.assert_allclose(g.cross[: case.m], cross[: case.m], atol=1e-13)
    np.testing.assert_allclose(g.soft[: case.rows], np.append(0, case.soft[1:]), rtol=1e-12)
    assert not g.P[: case.rows].any()
    g.q[: case.m] = abs(g.q[: case.m])
    assert whole.measure(g, compliance, 0.25)[1] == 0.0
    for bad in (np.nan, np.inf):
        g.q[case.rows - 1] = bad
        assert np.isnan(whole.measure(g, compliance, 0.25)[0])


@for_each("seed", range(8))
def test_a_step_begins_where_its_contacts_were_at_the_end_of_the_last(seed):
    case = Case(seed, m=6)
    g = case.graph
    last, listed = case.rng.normal(size=len(case.G)), case.rng.integers(2, 6, len(case.G))
    g.q[1], before, old = 0.0, g.mode.copy(), listed.copy()
    g.P[:] = 0.0
    whole.resume(g, last, listed, 5)
    for k in range(case.m):
        a, t, known = case.act[k], case.place[k], old[case.act[k]] == 4
        assert g.P[k] == (last[a] if known else 0.0)
        assert g.mode[a] == (before[a] if known else STICK if g.q[k] <= 0 else OPEN)
        assert listed[a] == 5
        if t >= 0:
            assert g.P[t] == (last[case.act[t]] if known else 0.0)
    others = np.setdiff1d(np.arange(len(case.G)), case.act[: case.m])
    assert (listed[others] == old[others]).all()


# -- sweeps ---------------------------------------------------------------------------------------


def swept(case, P):
    """Go through the contacts there and back, each solved for with the others held."""
    D, g, P, mode = case.D, case.graph, P.copy(), {}
    for k in [*range(case.m), *reversed(range(case.m))]:
        t = case.place[k]
        if t < 0:
            P[k] = 0.0
            P[k] = max(0.0, -(D[k] @ P + g.q[k]) / D[k, k])
            mode[k] = STICK if P[k] > 0 else OPEN
            continue
        P[[k, t]] = 0.0
        q_n, q_t = D[[k, t]] @ P + g.q[[k, t]]
        P[k], P[t], what = one.on_line(D[k, k], D[k, t], D[t, k], D[t, t], g.mu[k], q_n, q_t)
        mode[k] = int(what)
    return P, mode


@for_each("seed", range(24))
def test_a_sweep_solves_for_each_contact_there_and_back(seed):
    case = Case(seed)
    g = case.graph
    case.impulses()
    P, mode = swept(case, g.P)
    gauss.follow(g)
    assert gauss.sweep(g) == SUCCESS
    np.testing.assert_allclose(g.P, P, atol=1e-12)
    assert {k: g.mode[case.act[k]] for k in range(case.m)} == mode
    np.testing.assert_allclose(g.u, case.inverse * (case.G[case.act].T @ P), atol=1e-12)


@for_each("seed", range(12))
def test_sweeps_are_gradients_of_a_conjugate_gradient_method(seed):
    """P and its direction d as Silcowitz, Niebe and Erleben have them, called in one go or in two."""
    case = Case(seed)
    g, work, unit = case.graph, case.work.sweeps, np.diag(case.D)
    case.impulses()
    start, P, d, step, size = g.P.copy(), g.P.copy(), None, None, 0.0
    share, shares = 0.0, []
    for _ in range(4):
        if share > 0:
            P = P + share * d
            d = share * d + step
        else:
            d = step
        after, _ = swept(case, P)
        step, P = after - P, after
        new = unit @ step**2
        share = min(1.0, new / size) if size > 0.999 * new else 0.0
        size = new
        shares.append(share)
    for counts in ((4,), (2, 2)):
        g.P[:], known, part = start, 0.0, 0.0
        for count in counts:
            status, known, part = gauss.sweeps(g, work, known, part, count)
            assert status == SUCCESS
        np.testing.assert_allclose(g.P, P, atol=1e-10)
        assert (known, part) == pytest.approx((size, share), rel=1e-6, abs=1e-12)
        np.testing.assert_allclose(work.change[: case.rows], step, atol=1e-10)
    assert max(shares) > 0 or not size


def test_a_contact_without_mass_has_no_solution():
    case = next(c for c in map(Case, range(1, 20)) if c.place[0] >= 0)
    g = case.graph
    g.q[0], g.unit[0], g.cross[0] = -1.0, 0.0, 0.0
    gauss.follow(g)
    assert gauss.sweep(g) == LCP_RAY
    assert gauss.sweeps(g, case.work.sweeps, 3.0, 0.5, 4)[0] == LCP_RAY
    case = Case(0)
    case.graph.unit[0], case.graph.q[0], case.graph.P[0] = 0.0, -1.0, 2.0
    gauss.follow(case.graph)
    assert gauss.sweep(case.graph) == SUCCESS
    assert case.graph.P[0] == 0.0
    assert case.graph.mode[case.act[0]] == OPEN


# -- bands, sets and Newton's method --------------------------------------------------------------


@for_each("seed", range(24))
def test_the_band_of_a_set_is_that_of_the_dense_matrix(seed):
    case = Case(seed)
    g, band = case.graph, case.work.exchange.band
    chosen = case.chosen()
    n = sets.unknowns(g.mode, g.act, g.place, g.m, band.chosen)
    assert [*band.chosen[:n]] == chosen
    band.state[0].chosen = n
    band.A[:] = np.nan
    w = bands.assemble(g, band, WIDEST)
    A = case.columns(chosen)
    bare = A - np.diag(case.soft[chosen])
    assert w == max(
        (abs(i - j) for i, j in zip(*np.nonzero(abs(bare) > 0), strict=True)), default=0
    )
    np.testing.assert_allclose(dense(band.A, n, w), A, atol=1e-12)
    assert not band.A[:n, 2 * w + 1 : 3 * w + 1].any()
    if w > 0:
        assert bands.assemble(g, band, w - 1) == -1
        assert bands.assemble(g, band, w) == w


@for_each("seed", FRICTION)
def test_a_linear_model_is_the_derivative_of_the_equations(seed):
    case = Case(seed)
    g, work, rng = case.graph, case.work.newton, case.rng
    n = bands.choose_all(g, work.band)
    assert (work.band.state[0].chosen, work.band.state[0].width) == (n, -1)
    chosen = work.band.chosen[:n].copy()
    assert {*chosen} == {*range(case.rows)}
    w = bands.assemble(g, work.band, 50)
    half = work.band.A.shape[0] // 2
    D = dense(work.band.A, n, w)
    np.testing.assert_allclose(D, case.D[np.ix_(chosen, chosen)], atol=1e-12)
    work.band.A[half : half + n, : 2 * w + 1] = work.band.A[:n, : 2 * w + 1]
    g.P[:] = rng.normal(size=case.rows)
    g.P[: case.m] = abs(g.P[: case.m])
    unit = np.diag(case.D)

    def equations(P):
        w, out = case.w(P), np.zeros(case.rows)
        out[: case.m] = np.minimum(unit[: case.m] * P[: case.m], w[: case.m])
        for k, t in enumerate(case.place):
            if t >= 0:
                free, most = unit[t] * P[t] - w[t], g.mu[k] * unit[t] * max(P[k], 0.0)
                closed = unit[k] * P[k] > w[k]
                out[t] = unit[t] * P[t] - (np.clip(free, -most, most) if closed else 0.0)
        return out

    gauss.follow(g)
    bands.linearise(g, work, n, w)
    step = 1e-6
    J = np.array([(equations(g.P + step * e) - equations(g.P - step * e)) / (2 * step)
                  for e in np.eye(case.rows)]).T  # fmt: skip
    J += 1e-9 * np.diag(unit)
    # the radius of what pulls is held: P_n is no impulse there
    np.testing.assert_allclose(dense(work.band.A, n, w), J[np.ix_(chosen, chosen)], atol=1e-7)
    np.testing.assert_allclose(work.d[:n], -equations(g.P)[chosen], atol=1e-12)


@for_each("seed", FRICTION[:9])
def test_newtons_method_and_the_exchange_find_solutions(seed):
    case = Case(seed, mu=0.2)
    g = case.graph
    wide = (case.work.newton.band.A.shape[1] - 1) // 3
    solved = 0
    for solve in ("newton", "harden", "exchange"):
        g.P[:] = 0.0
        if solve == "exchange":
            g.mode[case.act[: case.m]] = np.where(g.q[: case.m] <= 0, STICK, OPEN)
            status = sets.exchange(g, case.work.exchange, abs(g.q).max(), False)
            off = gauss.residual(g)
        else:
            case.work.newton.given[: case.rows] = 0.0
            status, off = getattr(bands, solve)(g, case.work.newton, gauss.residual(g), 1e-11, wide)
            assert off == pytest.approx(case.off().max(), abs=1e-14)
            assert (off <= 1e-11) == (status == SUCCESS)
        solved += status == SUCCESS
        if status == SUCCESS:
            assert case.off().max() <= 1e-11
            np.testing.assert_allclose(g.soft[: case.rows], case.soft, atol=1e-14)
            for k in range(case.m):
                what, t, w = g.mode[case.act[k]], case.place[k], case.w()
                assert (what != OPEN) == (g.P[k] > 0)
                if t >= 0 and what in (1, -1):
                    assert g.P[t] == pytest.approx(-what * g.mu[k] * g.P[k], abs=1e-11)
                    assert what * w[t] >= -1e-11
        if solve != "exchange":
            assert bands.newton(g, case.work.newton, 0.37, 1e-11, 0) == (LCP_RAY, 0.37)
    assert solved >= 2


@for_each("seed", range(24))
def test_the_velocities_of_a_set_vanish_where_it_holds(seed):
    case = Case(seed, mu=0.2)
    g, work = case.graph, case.work.exchange
    chosen = case.chosen()
    assert sets.solve_set(g, work, False) == SUCCESS
    np.testing.assert_allclose(
        g.P[chosen], np.linalg.solve(case.columns(chosen), -g.q[chosen]), rtol=1e-8
    )
    np.testing.assert_allclose(g.u, case.inverse * (case.G[case.act].T @ g.P), atol=1e-10)
    for k in range(case.m):
        what, t = g.mode[case.act[k]], case.place[k]
        assert what != OPEN or g.P[k] == 0
        if t >= 0 and what != STICK:
            assert g.P[t] == pytest.approx(-what * g.mu[k] * g.P[k])
    w = case.w()
    wanted, size = np.full(case.m, 9), 1.0
    expected = [sets.verdict(g.mode[a], g.P[k], g.P[t] if (t := case.place[k]) >= 0 else 0.0,
                             g.mu[k], w[k] if g.mode[a] == OPEN else w[t], 1e-12)
                for k, a in enumerate(case.act[: case.m])]  # fmt: skip
    wrong, last = sets.judge(g, wanted, size)
    differ = [k for k, a in enumerate(case.act[: case.m]) if expected[k] != g.mode[a]]
    assert [*wanted] == expected
    assert (wrong, last) == (len(differ), max(differ, default=0))


def test_factors_serve_the_same_set_again_and_no_other():
    case = Case(5)
    g, work, state = case.graph, case.work.exchange, case.work.exchange.band.state
    g.mode[:] = STICK
    assert sets.factor_set(g, work, False) == (SUCCESS, 1, 0.0)
    n, factors = state[0].factored, work.band.A.copy()
    assert n == state[0].chosen == len(case.chosen())
    work.band.A[0, 0] += 1.0
    for steady, mode, kept in ((True, STICK, True), (False, STICK, False), (True, OPEN, False)):
        g.mode[case.act[2]] = mode
        work.band.A[0, 0] = 123.0
        assert sets.factor_set(g, work, steady)[0] == SUCCESS
        assert (work.band.A[0, 0] == 123.0) == kept
        assert state[0].chosen == len(case.chosen())
        if not kept and mode == STICK:
            np.testing.assert_array_equal(work.band.A[:n, 1:], factors[:n, 1:])
    k = next(k for k in range(case.m) if case.place[k] >= 0)
    g.mode[case.act[k]] = 1
    for _ in range(2):  # what slides is always factored: its mu may be another
        work.band.A[0, 0] = 123.0
        sets.factor_set(g, work, True)
        assert work.band.A[0, 0] != 123.0


@for_each("seed", range(8))
def test_contacts_that_say_the_same_share_what_one_would_carry(seed):
    """The smallest of all solutions: of two rows that are equal both take half."""
    case = Case(4 * seed, soft=False)
    g, work = case.graph, case.work
    G = case.G.copy()
    a, c = case.act[:2]
    G[c] = G[a]
    g = g._replace(
        ptr=np.append(0, np.cumsum((G != 0).sum(axis=1))), col=np.nonzero(G)[1], val=G[G != 0]
    )
    g.q[1], g.mode[:] = g.q[0], STICK
    assert sets.solve_set(g, work.exchange, True) == SUCCESS
    D = ((G * case.inverse) @ G.T)[np.ix_(case.act, case.act)]
    np.testing.assert_allclose(g.P, -np.linalg.pinv(D, 1e-10) @ g.q, rtol=1e-6, atol=1e-6)
    assert work.exchange.band.state[0].width == -1  # these factors are no others'


# -- paths ----------------------------------------------------------------------------------------


def prepared(case, give=0.3):
    """Return the workspace of a path, numbered and made firm; and W and G of its coordinates."""
    g, path = case.graph, case.work.path
    assert paths.prepare(g, path)
    paths.stiffen(g, path, give)
    return g, path


@for_each("seed", FRICTION)
def test_coordinates_are_numbered_so_that_contacts_move_near_ones(seed):
    case = Case(seed)
    g, path = case.graph, case.work.path
    hidden = case.rng.permutation(len(case.inverse))  # a chain whose order is lost
    g.col[:] = hidden[g.col]
    done, width = coordinates.number_coordinates(g, path)
    moved = case.G[case.act].any(axis=0)
    touched = {int(hidden[j]) for j in np.flatnonzero(moved)}
    assert done == len(touched)
    assert {*map(int, path.order[:done])} == touched
    for j in range(len(case.inverse)):
        assert (path.order[path.where[j]] == j) if j in touched else (path.where[j] == -1)
    spans = [np.ptp(path.where[hidden[np.flatnonzero(case.G[a])]]) for a in case.act]
    assert width == max(spans) <= 4
    listed = [sorted({k for k in range(case.m) for a in (k, case.place[k])
                      if a >= 0 and j in hidden[np.flatnonzero(case.G[case.act[a]])]})
              for j in range(len(case.inverse))]  # fmt: skip
    for j, contacts in enumerate(listed):
        assert sorted({*path.near[path.head[j] : path.head[j + 1]]}) == contacts
    assert paths.prepare(g, path)
    assert (path.state[0].order, path.state[0].span, path.state[0].width) == (done, width, -1)
    assert not paths.prepare(g, path._replace(A=path.A[:, : 3 * width]))
    assert paths.prepare(g, path._replace(A=path.A[:, : 3 * width + 1]))
    assert paths.prepare(g, path._replace(A=path.A[:done]))
    assert not paths.prepare(g, path._replace(A=path.A[: done - 1]))


def closed_system(case, path, modes):
    """Return W and what closed contacts add to it, in the order of the band."""
    g, order = case.graph, path.order[: path.state[0].order]
    A = np.diag(1 / case.inverse)
    for k in range(case.m):
        what, t, G_n = modes[case.act[k]], case.place[k], case.G[case.act[k]]
        if what == OPEN:
            continue
        A += path.firm[k] * np.outer(G_n, G_n)
        if t >= 0:
            G_t = case.G[case.act[t]]
            A += (path.firm[t] * np.outer(G_t, G_t) if what == STICK
                  else -what * g.mu[k] * path.firm[k] * np.outer(G_t, G_n))  # fmt: skip
    return A[np.ix_(order, order)]


@for_each("seed", FRICTION)
def test_factors_answer_for_their_set_and_for_others_near_it(seed):
    """The change of P and u takes `off` off w + (P - P_0) / firm of what holds; slides follow."""
    case = Case(seed)
    g, path = prepared(case)
    firm = 1 / (case.soft + 0.3 * np.diag(case.D))
    np.testing.assert_allclose(path.firm[: case.rows], firm, rtol=1e-12)
    coordinates.assemble_band(g, path)
    n, w = path.state[0].order, path.state[0].span
    np.testing.assert_allclose(dense(path.A, n, w), closed_system(case, path, g.mode), atol=1e-12)
    path.off[: case.rows] = case.rng.normal(size=case.rows)
    off = path.off[: case.rows].copy()
    changed = paths.include(g, path, -1, -1)
    assert changed == 0
    done = []
    for turn in range(5):
        if turn:
            k = int(case.rng.integers(case.m))
            choice = [OPEN, STICK, 1, -1] if case.place[k] >= 0 else [OPEN, STICK]
            g.mode[case.act[k]] = case.rng.choice(choice)
            done += [] if k in done else [k]
            changed = paths.include(g, path, k, changed)
            assert changed == len(done)
        assert paths.answer(g, path, changed)
        change = np.zeros(case.rows)
        rows = case.chosen()
        if rows:
            A = case.columns(rows) - np.diag(case.soft[rows]) + np.diag(1 / firm[rows])
            change[rows] = np.linalg.solve(A, -off[rows])
        for k, t in enumerate(case.place):
            if t >= 0 and (what := g.mode[case.act[k]]) in (1, -1):
                change[t] = -what * g.mu[k] * change[k]
        np.testing.assert_allclose(path.change[: case.rows], change, atol=1e-10)
        np.testing.assert_allclose(path.du[: len(case.inverse)],
                                   case.inverse * (case.G[case.act].T @ change), atol=1e-10)  # fmt: skip
    for k in range(case.m):  # more of them than the factors can serve
        changed = paths.include(g, path, k, changed)
    most = min(SPARE, path.columns.shape[1] // 2)
    path.changed[:] = -1
    assert paths.include(g, path, 0, most - 1) == most
    assert paths.include(g, path, 0, most) == most  # it is among them
    assert paths.include(g, path, 1, most) == 0
    assert [*path.was[: case.m]] == [*g.mode[case.act[: case.m]]]


@for_each("n", range(1, 7))
def test_a_small_system_is_eliminated(n):
    rng = np.random.default_rng(n)
    for singular in (False, True):
        B, y = rng.normal(size=(n, n)), rng.normal(size=n)
        B[0, 0] = 0.0 if n > 1 else B[0, 0]
        if singular:
            B[:, -1] = 0.0
        wide, right = np.full((n + 1, n + 1), np.nan), np.append(y, np.nan)
        wide[:n, :n] = B
        assert coordinates.eliminate(wide, right, n) != singular
        if not singular:
            np.testing.assert_allclose(right[:n], np.linalg.solve(B, y), rtol=1e-9)


@for_each("seed", FRICTION)
def test_the_next_change_is_the_first_that_a_march_meets(seed):
    """Along a straight line of P and w, up to the step that is given; its own place is not met again."""
    case = Case(seed, mu=0.6)
    g, path, rng = case.graph, case.work.path, case.rng
    case.impulses()
    for of, scale in ((path.w, 1), (path.dw, 1), (path.change, 0.4)):
        of[: case.rows] = rng.normal(size=case.rows) * scale
    path.w[: case.m] = abs(path.w[: case.m])
    for k, t in enumerate(case.place):
        if t >= 0 and (what := g.mode[case.act[k]]) in (1, -1):
            path.w[t] = what * abs(path.w[t])
            path.change[t] = -what * g.mu[k] * path.change[k]
    for way in (1.0, -1.0):
        for most in (np.inf, 0.05):
            events = [(most, -1, 0)]
            for k, t in enumerate(case.place):
                what = g.mode[case.act[k]]
                P, dP = g.P[k], way * path.change[k]
                w, dw = path.w[k], way * path.dw[k]
                if what == OPEN:
                    if dw < 0:
                        after = w / -dw
                        slip = path.w[t] + after * way * path.dw[t] if t >= 0 else 0
                        events.append((after, k, STICK if t < 0 else 1 if slip > 0 else -1))
                    continue
                if dP < 0 and (what != STICK or t < 0):
                    events.append((P / -dP, k, OPEN))
                if t < 0:
                    continue
                if what == STICK:
                    for side in (-1, 1):
                        room = g.mu[k] * P + side * g.P[t]
                        rate = g.mu[k] * dP + side * way * path.change[t]
                        events += [(room / -rate, k, side)] if rate < 0 else []
                elif what * way * path.dw[t] < 0:
                    events.append((-path.w[t] / (way * path.dw[t]), k, STICK))
            step, hit, now = min(events)
            got = paths.next_change(g, path, most, way, -1, 0)
            assert got == (pytest.approx(step), hit, now)
            if hit >= 0:
                other = paths.next_change(g, path, most, way, hit, now)
                assert other[0] >= step - 1e-12
                assert other[1] != hit or other[2] != now


@for_each("seed", FRICTION)
def test_a_path_leads_to_a_solution_and_proximal_steps_do(seed):
    case = Case(seed, soft=seed % 2 == 0, mu=0.3)
    g, path = prepared(case)
    before = g.P.copy()
    g.P[:] = before
    ends, count = paths.along_path(g, path, 1e-3, 60, 60)
    assert ends
    start, give = path.start[: case.rows], 1e-3
    term = give * np.diag(case.D) * (g.P - start)
    np.testing.assert_allclose(start, before)
    g.q[:] += term
    assert case.off().max() <= 1e-8
    g.q[:] -= term
    np.testing.assert_allclose(g.u, case.inverse * (case.G[case.act].T @ g.P), atol=1e-9)
    if count:
        g.P[:] = before
        assert paths.along_path(g, path, give, count, 60) == (False, count)
        g.P[:] = before
        assert paths.along_path(g, path, give, count + 1, 60) == (True, count)
    g.P[:] = before
    left = gauss.residual(g)
    status, off = proximal.approach(g, path, left, 1e-9, 1e-11, 2400)
    assert status == SUCCESS
    assert off <= 1e-9
    assert case.off().max() == pytest.approx(off, abs=1e-13)
    g.P[:] = before
    assert proximal.approach(g, path, left, 1e-9, 1e-11, 0) == (LCP_ITERATIONS, left)
    narrow = path._replace(A=path.A[:, :1])
    assert proximal.approach(g, narrow, left, 1e-9, 1e-11, 99) == (LCP_RAY, left)
