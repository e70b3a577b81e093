"""Contacts known by their graph: sweeps, sets and Newton's method against dense matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from contact_graph import FRICTION, OPEN, STICK, Case, dense
from loops import for_each
from plain import plain

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.friction.graph_structures import WIDEST

gauss, bands = plain("friction.graph_gauss_seidel"), plain("friction.graph_newton")
sets, whole = plain("friction.graph_exchange"), plain("friction.graph")
paths, one = plain("friction.graph_path"), plain("friction.single_contact")


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
        work.direction[:] = work.change[:] = np.nan  # nothing is known of the sweeps before
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
    assert np.isnan(band.A[:n, 3 * w + 1 :]).all()  # room that a band of this width need not have
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
    work.band.A[half : half + n, 2 * w + 1 :] = 7.0
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
    beside = work.band.A[:n, 3 * w + 1 :]
    beside[:] = 7.0
    bands.linearise(g, work, n, w)
    assert (beside == 7.0).all()
    assert (work.band.A[:n, 2 * w + 1 : 3 * w + 1] == 0.0).all()  # room for what factors fill in
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
    singular = g._replace(val=np.zeros_like(g.val), soft=np.zeros_like(g.soft))
    assert sets.factor_set(singular, work, True)[0] == LCP_ITERATIONS
    assert state[0].width == -1
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


@for_each("open_", (True, False))
def test_what_cancels_to_round_off_is_no_contradiction(open_):
    """A velocity is zero within 1e-15 of its terms, to whichever side, of a contact that is open or slides."""
    case = Case(FRICTION[0])
    g, wanted = case.graph, np.zeros(case.m, np.int64)
    k = next(k for k in range(case.m) if case.place[k] >= 0)
    row = case.act[k] if open_ else case.act[case.place[k]]
    g.mode[case.act[: case.m]], g.P[:] = OPEN, 0.0
    g.q[:], g.u[:] = 1.0, 0.0
    g.mode[case.act[k]] = OPEN if open_ else 1
    entries = slice(g.ptr[row], g.ptr[row + 1])
    g.u[g.col[entries][0]] = -1e6 / g.val[entries][0]  # of this row, G u = -1e6
    j = k if open_ else case.place[k]
    others = np.ones(case.rows, bool)
    others[j] = False
    g.q[others] = 1e9  # far from all else
    for rest, right in ((-1e-10, True), (1e-10, True), (-1e-7, False)):
        g.q[j] = 1e6 + rest
        wrong, last = sets.judge(g, wanted, 0.0)
        assert (wanted[k] == g.mode[case.act[k]]) == right
        assert (wrong, last) == ((0, 0) if right else (1, k))
