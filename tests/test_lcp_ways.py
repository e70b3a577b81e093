"""Ways to the solution of a complementarity problem, each by itself: scales, bands, and what is kept."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain, put

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.structures import Lcp, LcpOptions, lcp_workspace

lcp = plain("complementarity.lcp")
FAILS, LARGE = 77, 1e300  # what stands outside a band


def definite(m, seed=0, more=2):
    """Return a problem among more rows, whose numbers it never needs."""
    rng = np.random.default_rng(seed)
    act = rng.permutation(m + more)[:m]
    M = np.full((m + more,) * 2, LARGE)
    part = rng.normal(size=(m, m))
    M[np.ix_(act, act)] = part @ part.T + np.eye(m)
    return Lcp(M, act, rng.normal(size=m), np.full(m, 9.0))


def workspace(problem):
    return opened(lcp_workspace(len(problem.act), len(problem.M)))


def tableau(m):
    return np.full((m, 2 * m + 2), np.nan), np.full(m, -9), np.full(m, np.nan)


@for_each("unit", [1e-9, 1.0, 1e9])
@for_each("covered", [0, 1, 3])
@for_each("q", [(0.0, 0.0, 0.0), (2.0, 0.0, 0.5), (0.25, 8.0, 3.0)])
def test_lemke_begins_with_rows_of_size_one(unit, covered, q):
    """M is scaled by the roots of its diagonal, or of the largest entry of a row without one; q by its size."""
    m, act = 3, np.array([2, 0, 3])
    M, q = np.full((4, 4), LARGE), unit * np.array(q)
    M[np.ix_(act, act)] = [[4.0, 2.0, 0.0], [-5.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    T, basis, scale = tableau(m)
    z = np.full(m, 9.0)
    assert lcp.lemke(M, act, m, covered, q, 0, 1e-11, z, T, basis, scale) == SUCCESS
    np.testing.assert_allclose(scale, [0.5, 5**-0.5, 1.0])
    size = max(abs(q * scale))
    np.testing.assert_array_equal(T[:, :m], np.eye(m))
    np.testing.assert_allclose(
        T[:, m : 2 * m], -M[np.ix_(act, act)] * np.outer(scale, scale), rtol=1e-14
    )
    np.testing.assert_array_equal(T[:, 2 * m], [-1.0 if k < covered else 0.0 for k in range(m)])
    np.testing.assert_allclose(T[:, 2 * m + 1], q * scale / size if size else 0.0)
    assert basis.tolist() == [0, 1, 2]
    assert not z.any()


@for_each("unit", [1e-12, 1.0, 1e12])
@for_each("m", [1, 2, 3, 5])
def test_every_way_finds_the_solution_in_any_unit(unit, m):
    """And what is enumerated or swept is judged beside the size of q."""
    problem = definite(m, seed=m)
    inner = problem.M[np.ix_(problem.act, problem.act)]
    q = unit * problem.q
    q[0] = -abs(q[0])
    found = []
    for way in ("lemke", "all", "sweeps", "blocks"):
        work, one = workspace(problem), problem._replace(q=q, z=np.zeros(m))
        if way == "lemke":
            status = lcp.lemke(one.M, one.act, m, m, q, 100, 1e-11, one.z, *tableau(m))
        elif way == "all":
            status = lcp.enumerate_(one, m, 1e-11, work)
            assert work.kept[0].count < 0
        elif way == "sweeps":
            status = lcp.pgs(one, m, m, 1e-9, 9000)
        else:
            status = lcp.block_pivot(one, m, m, work)
        if way != "blocks" or status == SUCCESS:
            assert status == SUCCESS
            found.append(one.z)
        w = inner @ one.z + q
        assert abs(np.minimum(one.z, w)).max() <= 1e-6 * unit or way == "blocks"
    np.testing.assert_allclose(found, [found[0]] * len(found), atol=1e-6 * unit)


@for_each(("goods", "most", "told", "asked"), [
    ((0.5,), 8, SUCCESS, 1), ((1.0, 0.5), 16, SUCCESS, 2), ((1.0, 1.0), 8, LCP_ITERATIONS, 2), ((0.5,), 3, SUCCESS, 1), ((1.0,), 3, LCP_ITERATIONS, 1), ((0.51, 0.5), 9, SUCCESS, 2),
    ((1.0, 1.0, 0.5), 17, SUCCESS, 3), ((0.5,), 0, SUCCESS, 1),
])  # fmt: skip
def test_sweeps_are_judged_at_every_eighth_and_at_the_end(monkeypatch, goods, most, told, asked):
    """Beside the size of q, which is 4."""
    seen, goods = [], iter(goods)
    put(
        monkeypatch,
        lcp.pgs,
        residual=lambda problem, m, band: seen.append(problem.z[0]) or next(goods),
    )
    problem = Lcp(np.array([[2.0]]), np.array([0]), np.array([-4.0]), np.array([9.0]))
    assert lcp.pgs(problem, 1, 0, 0.125, most) == told
    assert len(seen) == asked
    assert seen[0] == (2.0 if most else 9.0)


@for_each("band", [0, 1, 2])
def test_sweeps_and_exchanges_read_nothing_outside_of_a_band(band):
    """What stands there is no part of the problem; a row without a diagonal keeps its z."""
    m, rng = 5, np.random.default_rng(band)
    near = abs(np.subtract.outer(np.arange(m), np.arange(m))) <= band
    clean = np.where(near, 0.1 * rng.normal(size=(m, m)), 0.0) + np.eye(m)
    M, q = np.where(near, clean, LARGE), rng.normal(size=m)
    one = Lcp(M, np.arange(m), q, np.zeros(m))
    assert lcp.pgs(one, m, band, 1e-10, 400) == SUCCESS
    assert abs(np.minimum(one.z, clean @ one.z + q)).max() < 1e-9
    still = Lcp(
        np.array([[0.0, 0.0], [0.0, 2.0]]),
        np.arange(2),
        np.array([1.0, -4.0]),
        np.array([5.0, 0.0]),
    )
    lcp.pgs(still, 2, 1, 1e-10, 3)
    assert still.z.tolist() == [5.0, 2.0]
    assert lcp.solve(one, m, band, LcpOptions(lcp.PGS, 1e-9, 400), workspace(one))[0] == SUCCESS


def test_a_block_is_factored_where_its_rows_change(monkeypatch):
    """With the same rows what is kept solves on, whatever the matrix has become."""
    problem, told = definite(4, seed=3), []
    work = workspace(problem)
    factor = lcp.lu_factor
    put(
        monkeypatch,
        lcp.solve_block,
        lu_factor=lambda *given: told.append(given[1]) or factor(*given),
    )
    M, act, q, z = problem
    before = M.copy()
    for places, made in (
        ((0, 2), True),
        ((0, 2), False),
        ((0, 3), True),
        ((0,), True),
        ((0,), False),
        ((0, 1), True),
        ((1, 2, 3), True),
        ((), True),
        ((), False),
    ):
        told.clear()
        work.member[:] = 0
        work.member[act[[*places]]] = 1
        if not made:
            M[:] = LARGE
        assert lcp.solve_block(problem, 4, work)
        assert told == ([len(places)] if made else [])
        M[:] = before
        expected = np.zeros(4)
        on = act[[*places]]
        expected[[*places]] = np.linalg.solve(M[np.ix_(on, on)], -q[[*places]])
        np.testing.assert_allclose(z, expected, rtol=1e-9)


@for_each("seed", range(30))
def test_rows_of_the_wrong_sign_change_sides_together(monkeypatch, seed):
    """z < 0 inside the set, w < 0 outside but for round-off; twelve times at most."""
    rng, m, band = np.random.default_rng(seed), 4, 1
    act = rng.permutation(6)[:m]
    M, unit = rng.choice([0.0, 1.0, -1.0, 0.5], (6, 6)), rng.choice([1e-9, 1.0, 1e9])
    q = unit * rng.choice([1.0, -1.0, 0.0, 0.5, -0.5], m)
    zs = unit * rng.choice([0.0, 1.0, -1.0, -0.5, -1e-14, 0.9e-14], (12, m))
    if seed % 2:
        zs[3 + seed % 5 :] = 0.0
        q = abs(q)
    seen = []
    problem = Lcp(M, act, q, np.zeros(m))
    work = workspace(problem)
    start = rng.integers(0, 2, 6)
    work.member[:] = start

    def solve_block(problem, m, work):
        problem.z[:] = zs[len(seen)]
        seen.append(work.member.tolist())
        return len(seen) != 11 or seed % 3

    put(monkeypatch, lcp.block_pivot, solve_block=solve_block)
    status = lcp.block_pivot(problem, m, band, work)
    member, told, wanted = start.copy(), [], LCP_ITERATIONS
    for turn in range(12):
        told.append(member.tolist())
        if turn == 10 and seed % 3 == 0:
            break
        z, wrong = zs[turn], []
        for i in range(m):
            on = range(max(0, i - band), min(m, i + band + 1))
            w = q[i] + sum(M[act[i], act[j]] * z[j] for j in on)
            if (member[act[i]] == 1 and z[i] < 0.0) or (
                member[act[i]] == 0 and w < -1e-14 * abs(q).max()
            ):
                wrong.append(act[i])
        member[wrong] = 1 - member[wrong]
        if not wrong:
            wanted = SUCCESS
            break
    assert (status, seen, work.member.tolist()) == (wanted, told, member.tolist())


@for_each(
    ("diagonal", "q"), itertools.product((0.25, 0.5, 1.0, 4.0), (-3.0, -1e-3, 0.0, 0.25, 5.0))
)
def test_a_row_by_itself_is_solved_for_any_diagonal(diagonal, q):
    done, z, off = lcp.solve_one(lcp.LEMKE, diagonal, q)
    assert done
    assert z == pytest.approx(max(0.0, -q / diagonal))
    assert off == pytest.approx(0.0, abs=1e-15)


@for_each(("m", "lemke", "off", "rest", "told"), [
    (9, SUCCESS, 0.5, FAILS, (SUCCESS, 0.5)), (9, SUCCESS, 0.6, FAILS, (LCP_RAY, 0.6)), (9, SUCCESS, 0.6, SUCCESS, (SUCCESS, 0.6)), (9, FAILS, 0.5, FAILS, (FAILS, 0.5)),
    (8, SUCCESS, 0.6, FAILS, (FAILS, 0.6)), (8, FAILS, 0.5, SUCCESS, (SUCCESS, 0.5)), (8, SUCCESS, np.nan, FAILS, (FAILS, np.nan)),
])  # fmt: skip
def test_what_pivots_leave_is_judged_and_swept_or_enumerated(
    monkeypatch, m, lemke, off, rest, told
):
    """Of more than eight rows the sweeps begin at zero; tolerances count beside the size of q, here 2."""
    said = []
    put(monkeypatch, lcp.cascade, block_pivot=lambda *_: FAILS, lemke=lambda *given: given[7].__setitem__(0, 3.0) or lemke, residual=lambda *_: off,
        enumerate_=lambda *_: said.append("all") or rest, pgs=lambda problem, m, *_: said.append(problem.z.tolist()) or rest)  # fmt: skip
    problem = Lcp(np.eye(m), np.arange(m), np.zeros(m), np.zeros(m))
    work = workspace(problem)
    np.testing.assert_equal(
        lcp.cascade(problem, m, m, LcpOptions(lcp.LEMKE, 0.25, 7), 2.0, work), told
    )
    good = lemke == SUCCESS and off <= 0.5
    assert said == ([] if good else ["all"] if m <= 8 else [[0.0] * m])
    assert work.member.tolist() == [1] + [0] * (m - 1)


@for_each("method", [lcp.LEMKE, lcp.VERTEX, lcp.PGS, lcp.ENUMERATION])
@for_each(
    ("status", "off", "told"),
    [
        (SUCCESS, 0.5, SUCCESS),
        (SUCCESS, 0.6, LCP_ITERATIONS),
        (SUCCESS, np.nan, LCP_ITERATIONS),
        (FAILS, 0.1, FAILS),
    ],
)
def test_a_method_is_asked_and_its_residual_decides(monkeypatch, method, status, off, told):
    """Beside the size of q, which is 2."""
    said = []
    put(monkeypatch, lcp.solve, cascade=lambda problem, m, band, options, size, work: said.append(("pivots", size)) or (status, off),
        pgs=lambda *_: said.append("sweeps") or status, enumerate_=lambda *_: said.append("all") or status, residual=lambda *_: off)  # fmt: skip
    problem = Lcp(np.eye(2), np.arange(2), np.array([2.0, -1.0]), np.full(2, 9.0))
    found = lcp.solve(problem, 2, 1, LcpOptions(method, 0.25, 7), None)
    np.testing.assert_equal(found, (told, off))
    assert said == [{lcp.PGS: "sweeps", lcp.ENUMERATION: "all"}.get(method, ("pivots", 2.0))]
    assert problem.z.tolist() == [0.0, 0.0]


@for_each(("q", "told"), [((0.0, 0.0), (SUCCESS, 0.0)), ((3.0, 0.5), (SUCCESS, 0.0)), ((0.0, -1e-300), "asks"), ((0.5, -0.5), "asks"), ((np.nan, 1.0), (LCP_RAY, np.nan)), ((1.0, -np.inf), (LCP_RAY, np.nan)),
                                 ((np.inf, 1.0), (LCP_RAY, np.nan))])  # fmt: skip
def test_nothing_is_solved_where_nothing_is_below_zero_or_something_is_no_number(
    monkeypatch, q, told
):
    put(monkeypatch, lcp.solve, cascade=lambda *_: (SUCCESS, 0.0 * abs(min(q))))
    problem = Lcp(np.eye(2), np.arange(2), np.array(q), np.full(2, 9.0))
    found = lcp.solve(problem, 2, 1, LcpOptions(lcp.LEMKE, 0.25, 7), None)
    np.testing.assert_equal(found, (SUCCESS, 0.0) if told == "asks" else told)
    assert problem.z.tolist() == [0.0, 0.0]


@for_each("at", [(0, 0), (1, 1), (3, 3), (1, 0), (0, 1), (2, 3)])
def test_a_matrix_is_looked_at_all_over_its_band(monkeypatch, at):
    """And not beyond it."""
    put(monkeypatch, lcp.solve, cascade=lambda *_: (SUCCESS, 0.0))
    M = np.eye(4)
    M[2, 0] = M[0, 2] = M[3, 1] = M[1, 3] = M[0, 3] = M[3, 0] = np.nan
    problem = Lcp(M, np.arange(4), -np.ones(4), np.zeros(4))
    assert lcp.solve(problem, 4, 1, LcpOptions(lcp.LEMKE, 0.25, 7), None) == (SUCCESS, 0.0)
    M[at] = np.inf
    assert lcp.solve(problem, 4, 1, LcpOptions(lcp.LEMKE, 0.25, 7), None)[0] == LCP_RAY
