"""Ways to the solution of a problem in a box, each by itself, as Python runs the kernels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SINGULAR, SUCCESS
from explorer.kernels.complementarity.structures import Box, Sides, box_workspaces

box_lcp = plain("complementarity.box_lcp")
INF, FAILS = np.inf, 77
KINDS = [(0.5, INF), (-INF, 0.25), (-1.0, 2.0), (-INF, INF)]


def problem(seed, kinds):
    rng, n = np.random.default_rng(seed), len(kinds)
    M = rng.normal(size=(n, n))
    lower, upper = np.array([KINDS[k] for k in kinds]).T.copy()
    return Box(
        M @ M.T + 0.5 * np.eye(n) + np.triu(M, 1) - np.triu(M, 1).T,
        2 * rng.normal(size=n),
        lower,
        upper,
    )


def workspaces(n):
    block, work = box_workspaces(n)
    return block._replace(kept=block.kept.view(np.recarray)), work


def empty(n, side=0):
    return Sides(np.full(n, side, np.int8), np.zeros(n), np.zeros(n))


MIXED = [(0, 1, 2, 3), (3, 2, 1, 0), (2, 2, 0), (3, 3, 1), (1, 1), (3,), (0,), (2, 3, 2, 3, 1)]


@for_each("kinds", MIXED)
def test_equalities_are_eliminated_and_the_others_are_a_plain_problem(kinds):
    """w = small z + g is the law of lam = lower + z or upper - z, whatever z is."""
    box, n = problem(len(kinds), kinds), len(kinds)
    M, q, lower, upper = box
    block, work = workspaces(n)
    m, size = box_lcp.eliminate(box, block, work)
    equal, rest = [k for k in range(n) if kinds[k] == 3], [k for k in range(n) if kinds[k] != 3]
    assert (m, size) == (len(rest), len(rest) + kinds.count(2))
    assert (work.equal[: len(equal)].tolist(), work.rest[:m].tolist()) == (equal, rest)
    right = np.column_stack([M[np.ix_(equal, rest)], q[equal]])
    np.testing.assert_allclose(
        work.X[: len(equal), : m + 1], np.linalg.solve(M[np.ix_(equal, equal)], right), atol=1e-12
    )
    work.small[:], work.q[:], work.act[:] = np.nan, np.nan, -1
    box_lcp.reduce(box, work, m, size)
    assert work.act[:size].tolist() == [*range(size)]
    z = np.random.default_rng(9).normal(size=size)
    lam = np.zeros(n)
    for i, a in enumerate(rest):
        lam[a] = upper[a] - z[i] if kinds[a] == 1 else lower[a] + z[i]
    lam[equal] = -np.linalg.solve(
        M[np.ix_(equal, equal)], q[equal] + M[np.ix_(equal, rest)] @ lam[rest]
    )
    y, wanted, at = M @ lam + q, np.zeros(size), m
    for i, a in enumerate(rest):
        wanted[i] = -y[a] if kinds[a] == 1 else y[a]
        if kinds[a] == 2:
            wanted[i] += z[at]
            wanted[at] = upper[a] - lower[a] - z[i]
            at += 1
    np.testing.assert_allclose(work.small[:size, :size] @ z + work.q[:size], wanted, atol=1e-11)


def test_equalities_that_depend_on_each_other_have_no_solution():
    box = problem(0, (3, 0, 3))
    box.M[np.ix_([0, 2], [0, 2])] = [[1.0, 2.0], [2.0, 4.0]]
    block, work = workspaces(3)
    assert box_lcp.eliminate(box, block, work) == (1, -1)
    assert box_lcp.by_lemke(box, empty(3), block, work) == SINGULAR


@for_each(("z", "lam", "side"), [
    ((0.0, 0.0, 0.0, 0.0), (0.5, 0.25, -1.0), (-1, 1, -1)), ((1.5, 0.5, 1.0, 0.0), (2.0, -0.25, 0.0), (0, 0, 0)), ((0.25, 0.75, 3.0, 0.0), (0.75, -0.5, 2.0), (0, 0, 1)),
    ((0.25, 0.75, 3.5, 0.0), (0.75, -0.5, 2.0), (0, 0, 1)), ((0.25, 0.75, 2.0, 0.5), (0.75, -0.5, 2.0), (0, 0, 1)), ((0.25, 0.75, 0.0, 0.5), (0.75, -0.5, 2.0), (0, 0, 1)),
])  # fmt: skip
def test_sides_follow_from_the_solution_of_the_plain_problem(monkeypatch, z, lam, side):
    """Of a lower bound, an upper one, both, and none, which is what the others make of it."""
    box, asked = problem(1, (0, 1, 2, 3)), []
    block, work = workspaces(4)

    def lemke(small, act, m, covered, q, most, least, into, *_):
        asked.append((m, covered, most, least))
        into[:4] = z
        return SUCCESS

    put(monkeypatch, box_lcp.by_lemke, lemke=lemke)
    solution = empty(4, 9)
    assert box_lcp.by_lemke(box, solution, block, work) == SUCCESS
    assert asked == [(4, 4, 100, 1e-11)]
    last = -(box.q[3] + box.M[3, :3] @ lam) / box.M[3, 3]
    assert solution.lam == pytest.approx([*lam, last])
    assert solution.side.tolist() == [*side, 0]
    put(monkeypatch, box_lcp.by_lemke, lemke=lambda *_: FAILS)
    assert box_lcp.by_lemke(box, solution, block, work) == FAILS


@for_each(("count", "most"), [(2, 100), (3, 120), (5, 200)])
def test_lemkes_method_gets_twenty_pivots_a_row(monkeypatch, count, most):
    """Of relays, which have two rows each; a hundred at least."""
    asked, (block, work) = [], workspaces(count)
    put(monkeypatch, box_lcp.by_lemke, lemke=lambda *given: asked.append(given[5]) or FAILS)
    assert box_lcp.by_lemke(problem(2, (2,) * count), empty(count), block, work) == FAILS
    assert asked == [most]


@for_each("kinds", [*itertools.product(range(4), repeat=2), (0, 1, 2), (2, 1, 3), (1, 3, 2)])
def test_every_way_finds_the_solution_of_few_rows(kinds):
    """The one of a P-matrix: it satisfies its law, and all ways agree."""
    n, found = len(kinds), []
    for seed in range(2):
        box = problem(seed, kinds)
        for way in ("pivots", "lemke", "all"):
            block, work = workspaces(n)
            solution = empty(n)
            if way == "pivots":
                status = box_lcp.principal_pivoting(box, solution, block)
            elif way == "lemke":
                status = box_lcp.by_lemke(box, solution, block, work)
            else:
                status = box_lcp.enumerate_box(box, solution, 1e-10, block)
            assert status == SUCCESS
            lam = solution.lam
            y = box.M @ lam + box.q
            assert (lam >= box.lower - 1e-12).all()
            assert (lam <= box.upper + 1e-12).all()
            np.testing.assert_allclose(np.where(solution.side == 0, y, 0.0), 0.0, atol=1e-9)
            assert (solution.side * y <= 1e-9).all()
            found.append(lam.copy())
        np.testing.assert_allclose(found[-3:], [found[-1]] * 3, atol=1e-9)


def pivoted(marks, n):
    """Return the sides at every solve, and whether the last of them is right."""
    side, seen = np.zeros(n, int), []
    for turn in range(10 + 10 * n):
        seen.append(side.tolist())
        now = marks(turn)
        wrong = [i for i in range(n) if now[i] != 0]
        if not wrong:
            return seen, True
        for i in wrong if turn < 10 else wrong[-1:]:
            side[i] = 0 if now[i] == 2 else now[i]
    return seen, False


@for_each("seed", range(40))
def test_wrong_sides_change_together_and_after_ten_rounds_one_by_one(monkeypatch, seed):
    """The last of them: also where it is the first row."""
    rng, n, seen = np.random.default_rng(seed), 1 + seed % 3, []
    rounds = int(rng.choice([0, 1, 2, 9, 10, 11, 12, 15, 10 + 10 * n]))
    table = rng.choice([-1, 0, 1, 2], (60, n), p=[0.2, 0.4, 0.2, 0.2])
    table[(table == 0).all(axis=1), 0] = 1
    table[rounds:] = 0
    solution = empty(n)
    put(monkeypatch, box_lcp.principal_pivoting, between_bounds=lambda box, solution, block: seen.append(solution.side.tolist()) or SUCCESS,
        misplaced=lambda box, solution, i: table[len(seen) - 1, i])  # fmt: skip
    block, _ = workspaces(n)
    status = box_lcp.principal_pivoting(problem(0, (0,) * n), solution, block)
    sides, right = pivoted(lambda turn: table[turn], n)
    assert seen == sides
    assert status == (SUCCESS if right else LCP_ITERATIONS)


@for_each("scale", [1e-30, 1.0, 1e30])
@for_each("diagonal", [0.25, 4.0, 0.0, -2.0])
def test_a_residual_has_the_unit_of_its_row_and_no_scale(scale, diagonal):
    """|mid| of lam and y in the unit of its diagonal, or of 1 where that is none; relative to its terms."""
    box = Box(np.array([[diagonal]]), scale * np.array([3.0]), np.array([0.0]), np.array([INF]))
    solution = Sides(np.zeros(1, np.int8), scale * np.array([0.5]), np.zeros(1))
    off = box_lcp.natural_residual(box, solution)
    unit = diagonal if diagonal > 0 else 1.0
    y, terms = 3.0 + diagonal * 0.5, 3.0 + abs(diagonal) * 0.5
    assert off == pytest.approx(abs(min(y, unit * 0.5)) / terms)
    solution.lam[0] = 100 * box_lcp.MOST * scale
    assert box_lcp.natural_residual(box, solution) == 1.0


@for_each(("most", "told"), [(6, SUCCESS), (5, LCP_ITERATIONS)])
def test_as_many_sides_are_tried_as_may_be(monkeypatch, most, told):
    box = problem(0, (2, 0))
    put(monkeypatch, box_lcp.enumerate_box, _PATTERNS=most)
    block, _ = workspaces(2)
    assert box_lcp.enumerate_box(box, empty(2), 1e-10, block) == told


@for_each(("pivots", "off", "told"), [(SUCCESS, 0.5, (SUCCESS, 0.5)), (SUCCESS, 0.25, (SUCCESS, 0.25)), (SUCCESS, 0.6, (LCP_ITERATIONS, 0.6)), (FAILS, 0.1, (LCP_ITERATIONS, INF)),
                                          (SUCCESS, np.nan, (LCP_ITERATIONS, np.nan))])  # fmt: skip
def test_pivots_are_judged_by_their_residual(monkeypatch, pivots, off, told):
    put(
        monkeypatch,
        box_lcp.solve_from_sides,
        principal_pivoting=lambda *_: pivots,
        natural_residual=lambda *_: off,
    )
    np.testing.assert_equal(box_lcp.solve_from_sides(None, None, 0.5, None), told)


@for_each("method", [box_lcp.LEMKE, box_lcp.ENUMERATION, "pivots"])
@for_each("good", [None, "pivots", "lemke", "all"])
@for_each("large", [False, True])
def test_ways_follow_each_other_until_one_is_good(monkeypatch, method, good, large):
    """What is kept of a matrix counts for pivots alone; a residual that is too large is no solution."""
    method = max(box_lcp.LEMKE, box_lcp.ENUMERATION) + 1 if method == "pivots" else method
    said, (block, work) = [], workspaces(1)
    block.kept[0].count = 5

    def way(name):
        def solve(*_):
            said.append((name, block.kept[0].count))
            block.kept[0].count = 3
            return SUCCESS if name == good else FAILS

        return solve

    put(
        monkeypatch,
        box_lcp.solve_box,
        principal_pivoting=way("pivots"),
        by_lemke=way("lemke"),
        enumerate_box=way("all"),
        natural_residual=lambda *_: 0.75 if large else 0.5,
    )
    told = box_lcp.solve_box(method, None, None, 0.5, block, work)
    order = [("all", -1)] if method == box_lcp.ENUMERATION else []
    order += [("pivots", -1 if order else 5)] * (method != box_lcp.LEMKE) + [("lemke", -1)]
    order += [("all", -1)] * (method != box_lcp.ENUMERATION)
    names = [name for name, _ in order]
    stops = good is not None and not large and good in names
    assert said == (order[: names.index(good) + 1] if stops else order)
    ray = LCP_RAY if good == "lemke" else FAILS
    assert told == ((SUCCESS, 0.5) if stops else (ray, 0.75 if large else 0.5))
    if said[-1][0] == "all":
        assert block.kept[0].count == -1
