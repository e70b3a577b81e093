"""Solvers of complementarity problems uncompiled: each against all bases that there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain, put

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.structures import Lcp, LcpOptions, lcp_workspace

lcp = plain("complementarity.lcp")
METHODS = (lcp.LEMKE, lcp.ENUMERATION, lcp.PGS, lcp.VERTEX)
MORE = 3  # rows of M that take no part


def solutions(M, q):
    """Return all z of nonsingular bases."""
    found, m = [], len(q)
    for pattern in itertools.product((False, True), repeat=m):
        on, z = np.array(pattern), np.zeros(m)
        if on.any():
            z[on] = np.linalg.solve(M[np.ix_(on, on)], -q[on])
        if (z >= -1e-12).all() and (M @ z + q >= -1e-12).all():
            found.append(z)
    return found


def problem(seed, m, band=None):
    """Return a problem over m rows in some order of a positive definite matrix with scales."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m + MORE, m + MORE))
    unit = 10.0 ** rng.integers(-1, 2, m + MORE)
    M = (A @ A.T + 0.5 * np.eye(m + MORE)) * np.outer(unit, unit)
    act = rng.permutation(m + MORE)[:m]
    if band is not None:
        far = abs(np.subtract.outer(range(m), range(m))) > band
        own = M[np.ix_(act, act)]
        own[far] = 0.0
        own += np.diag(abs(own).sum(axis=1))
        M[np.ix_(act, act)] = own
    q = rng.normal(size=m) * unit[act]
    return Lcp(M, act, q, np.full(m, np.nan)), M[np.ix_(act, act)]


def worst(M, q, z):
    """Return the natural residual, with its unit that of q."""
    d = np.diag(M)
    return abs(np.minimum(np.where(d > 0, d, 1.0) * z, M @ z + q)).max()


@for_each(("seed", "m"), itertools.product(range(6), (1, 2, 4)))
def test_the_residual_is_the_natural_one(seed, m):
    one, M = problem(seed, m)
    one.z[:] = np.random.default_rng(seed).normal(size=m)
    assert lcp.residual(one, m, m - 1) == pytest.approx(worst(M, one.q, one.z))
    one.M[one.act[0], one.act[0]] = M[0, 0] = 0.0
    assert lcp.residual(one, m, m - 1) == pytest.approx(worst(M, one.q, one.z))
    one.z[-1] = np.nan
    assert np.isnan(lcp.residual(one, m, m - 1))


def test_the_residual_of_a_band_reads_no_more():
    for band in (0, 1, 2):
        one, M = problem(3, 6, band)
        one.z[:] = 0.5
        assert lcp.residual(one, 6, band) == pytest.approx(worst(M, one.q, one.z))
        one, M = problem(3, 6)
        one.z[:] = 0.5
        own = np.where(abs(np.subtract.outer(range(6), range(6))) > band, 0.0, M)
        assert lcp.residual(one, 6, band) == pytest.approx(worst(own, one.q, one.z))


@for_each(("method", "seed"), itertools.product(METHODS, range(8)))
def test_a_definite_problem_has_its_only_solution(method, seed):
    for m in (1, 2, 3, 4, 5):
        one, M = problem(seed, m)
        (expected,) = solutions(M, one.q)
        work = opened(lcp_workspace(m, m + MORE))
        options = LcpOptions(method, 1e-9, 400)
        status, off = lcp.solve(one, m, m - 1, options, work)
        if method == lcp.PGS and status != SUCCESS:
            assert status == LCP_ITERATIONS
            continue
        assert status == SUCCESS
        assert off == pytest.approx(worst(M, one.q, one.z), abs=1e-15 * abs(one.q).max())
        unit = np.sqrt(np.diag(M))
        np.testing.assert_allclose(
            one.z * unit, expected * unit, atol=1e-7 * abs(one.q / unit).max()
        )


@for_each(("seed", "band"), itertools.product(range(5), (0, 1, 3)))
def test_projected_gauss_seidel_converges_to_the_solution_of_a_band(seed, band):
    one, M = problem(seed, 4, band)
    one.z[:] = 0.0
    assert lcp.pgs(one, 4, band, 1e-10, 999) == SUCCESS
    (expected,) = solutions(M, one.q)
    unit = np.sqrt(np.diag(M))
    np.testing.assert_allclose(one.z * unit, expected * unit, atol=1e-8 * abs(one.q / unit).max())
    one.z[:] = 0.0
    lcp.pgs(one, 4, band, 0.0, 1)  # one sweep, row by row
    z = np.zeros(4)
    for i in range(4):
        z[i] = max(0.0, z[i] - (M[i] @ z + one.q[i]) / M[i, i])
    np.testing.assert_allclose(one.z, z)


@for_each("seed", range(8))
def test_a_working_set_is_exchanged_until_no_sign_is_wrong(seed):
    """Warm from the solution it is confirmed at once; factors of the same set serve again."""
    m = 5
    one, M = problem(seed, m)
    (expected,) = solutions(M, one.q)
    work = opened(lcp_workspace(m, m + MORE))
    assert lcp.block_pivot(one, m, m - 1, work) in (SUCCESS, LCP_ITERATIONS)
    work.member[one.act] = expected > 0
    work.member[[k for k in range(m + MORE) if k not in one.act]] = 1  # of others: no matter
    assert lcp.block_pivot(one, m, m - 1, work) == SUCCESS
    np.testing.assert_allclose(one.z, expected, rtol=1e-9)
    assert work.kept[0].count == (expected > 0).sum()
    one.q[:] *= 2
    before = work.A.copy()
    assert lcp.block_pivot(one, m, m - 1, work) == SUCCESS
    np.testing.assert_allclose(one.z, 2 * expected, rtol=1e-9)
    np.testing.assert_array_equal(work.A, before)
    work.member[one.act] = 1
    one.M[:] = 0.0
    work.kept[0].count = -1
    assert lcp.block_pivot(one, m, m - 1, work) == LCP_ITERATIONS
    assert work.kept[0].count == -1


@for_each(("method", "diagonal", "q", "found"), [
    (lcp.LEMKE, 2.0, -3.0, (True, 1.5, 0.0)), (lcp.LEMKE, 2.0, 3.0, (True, 0.0, 0.0)), (lcp.LEMKE, 2.0, 0.0, (True, 0.0, 0.0)),
    (lcp.LEMKE, 0.0, -3.0, (False, 0.0, 0.0)), (lcp.LEMKE, 2.0, np.nan, (False, 0.0, 0.0)), (lcp.LEMKE, 2.0, -np.inf, (False, 0.0, 0.0)),
    (lcp.PGS, 2.0, -3.0, (False, 0.0, 0.0)), (lcp.VERTEX, 2.0, 3.0, (False, 0.0, 0.0)),
])  # fmt: skip
def test_one_row_has_a_closed_form(method, diagonal, q, found):
    assert lcp.solve_one(method, diagonal, q) == found


def test_what_has_no_solution_or_is_no_number_is_told():
    for method in METHODS:
        options, work = LcpOptions(method, 1e-9, 50), opened(lcp_workspace(2, 2))
        one = Lcp(np.diag([1.0, -1.0]), np.arange(2), np.array([1.0, -1.0]), np.zeros(2))
        status, off = lcp.solve(one, 2, 1, options, work)
        assert status in (LCP_RAY, LCP_ITERATIONS)
        assert off >= 1.0
        for q in ([np.nan, -1.0], [np.inf, -1.0]):
            given = Lcp(np.eye(2), np.arange(2), np.array(q), np.ones(2))
            status, off = lcp.solve(given, 2, 1, options, work)
            assert status == LCP_RAY
            assert np.isnan(off)
        given = Lcp(np.eye(2), np.arange(2), np.array([0.0, 1.0]), np.ones(2))
        assert lcp.solve(given, 2, 1, options, work) == (SUCCESS, 0.0)
        assert given.z.tolist() == [0.0, 0.0]


def test_lemke_covers_the_first_rows():
    """A row whose q is not negative may stay uncovered."""
    for seed in range(10):
        one, M = problem(seed, 4)
        one.q[2:] = abs(one.q[2:])
        one.q[:2] = -abs(one.q[:2])
        work = lcp_workspace(4, 4 + MORE)
        basis = np.zeros(4, np.int64)
        told = lcp.lemke(one.M, one.act, 4, 2, one.q, 99, 1e-11, one.z, work.T, basis, work.b)
        if told == SUCCESS:
            assert worst(M, one.q, one.z) <= 1e-9 * abs(one.q).max()
        told = lcp.lemke(one.M, one.act, 4, 4, one.q, 99, 1e-11, one.z, work.T, basis, work.b)
        assert told == SUCCESS
        assert lcp.lemke(one.M, one.act, 4, 4, one.q, 0, 1e-11, one.z, work.T, basis, work.b) == LCP_ITERATIONS  # fmt: skip


@for_each(("m", "vertex", "block", "found", "asked"), [
    (3, False, SUCCESS, SUCCESS, ["lemke"]), (4, False, SUCCESS, SUCCESS, ["block"]),
    (4, False, LCP_ITERATIONS, SUCCESS, ["block", "lemke"]), (4, True, SUCCESS, SUCCESS, ["lemke"]),
    (8, False, LCP_ITERATIONS, LCP_RAY, ["block", "lemke", "all"]), (9, False, LCP_ITERATIONS, LCP_RAY, ["block", "lemke", "pgs"]),
])  # fmt: skip
def test_what_fails_is_tried_by_another_method(monkeypatch, m, vertex, block, found, asked):
    said = []
    work = opened(lcp_workspace(m, m + MORE))
    one = Lcp(np.eye(m + MORE), np.arange(m), -np.ones(m), np.zeros(m))

    def lemke(M, act, m, covered, q, most, least, z, T, basis, scale):
        assert (most, least, covered) == (max(100, 20 * m), 1e-8 if vertex else 1e-11, m)
        assert work.kept[0].count == -1
        z[:] = np.arange(m)
        said.append("lemke")
        return found

    work.kept[0].count = 2
    put(monkeypatch, lcp.cascade, block_pivot=lambda *_: said.append("block") or block, lemke=lemke,
        enumerate_=lambda *_: said.append("all") or LCP_RAY, pgs=lambda *_: said.append("pgs") or SUCCESS,
        residual=lambda *_: 0.5)  # fmt: skip
    status, off = lcp.cascade(one, m, m - 1, LcpOptions(lcp.VERTEX if vertex else lcp.LEMKE, 0.1, 7), 6.0, work)  # fmt: skip
    assert said == asked
    assert off == 0.5
    assert status == (LCP_RAY if asked[-1] == "all" else SUCCESS)
    if "lemke" in asked:
        assert work.member[:m].tolist() == [0] + [1] * (m - 1)
    assert one.z.tolist() == ([0.0] * m if "pgs" in asked or "lemke" not in asked else [*range(m)])
    if asked[-1] in ("lemke", "block"):  # what it leaves is too much: another method
        said.clear()
        status, _ = lcp.cascade(one, m, m - 1, LcpOptions(lcp.VERTEX if vertex else lcp.LEMKE, 0.01, 7), 6.0, work)  # fmt: skip
        assert said == [*asked, "all"]
        assert status == LCP_RAY
