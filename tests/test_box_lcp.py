"""Linear complementarity in a box, as Python runs its kernels: every way against all sides tried."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SINGULAR, SUCCESS
from explorer.kernels.complementarity.structures import Box, Sides, box_workspaces

box_lcp, glocker = plain("complementarity.box_lcp"), plain("friction.glocker_lcp")
INF = np.inf
KINDS = [(0.0, INF), (-INF, 0.5), (-1.0, 2.0), (-INF, INF), (0.3, 0.3 + 1e-3)]


def problem(seed: int, n: int = 4, definite: bool = True) -> Box:
    """Return a problem with every kind of bounds; a P-matrix has exactly one solution."""
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(n, n))
    M = M @ M.T + 0.3 * np.eye(n) + 0.5 * (np.triu(M, 1) - np.triu(M, 1).T) if definite else M
    bounds = np.array([KINDS[k] for k in rng.integers(0, len(KINDS), n)])
    return Box(M, 2 * rng.normal(size=n), *np.ascontiguousarray(bounds.T))


def workspaces(n: int):
    """Return workspaces whose records have their fields by name in Python too."""
    block, work = box_workspaces(n)
    return block._replace(kept=block.kept.view(np.recarray)), work


def empty(n: int, side: int = 0) -> Sides:
    return Sides(np.full(n, side, np.int8), np.zeros(n), np.zeros(n))


def solutions(box: Box) -> list[np.ndarray]:
    """Return lam for each choice of sides that satisfies the law."""
    M, q, lower, upper = box
    found = []
    for side in itertools.product((-1, 0, 1), repeat=len(q)):
        s = np.array(side)
        lam = np.where(s < 0, lower, np.where(s > 0, upper, 0.0))
        if not np.isfinite(lam).all():
            continue
        free = s == 0
        if free.any():
            lam[free] = np.linalg.solve(M[np.ix_(free, free)], -(q + M @ lam)[free])
        y = M @ lam + q
        inside = (lam >= lower - 1e-12).all() and (lam <= upper + 1e-12).all()
        if inside and (s * y <= 1e-12).all():
            found.append(lam)
    return found


@for_each("seed", range(60))
def test_each_method_finds_the_solution(seed):
    box = problem(seed)
    n = len(box.q)
    (wanted, *_) = solutions(box)
    for start in (-1, 0, 1):
        block, work = workspaces(n)
        bounded = np.isfinite(box.lower if start < 0 else box.upper)
        sides = empty(n)
        sides.side[bounded] = start
        assert box_lcp.principal_pivoting(box, sides, block) == SUCCESS
        assert sides.lam == pytest.approx(wanted, abs=1e-10)
        status, off = box_lcp.solve_from_sides(box, sides, 1e-10, block)
        assert (status, off <= 1e-10) == (SUCCESS, True)
    block, work = workspaces(n)
    sides = empty(n)
    assert box_lcp.by_lemke(box, sides, block, work) == SUCCESS
    assert sides.lam == pytest.approx(wanted, abs=1e-10)
    assert (sides.side[(sides.lam > box.lower + 1e-9) & (sides.lam < box.upper - 1e-9)] == 0).all()
    assert (sides.side[sides.lam == box.upper] == 1).all()
    block, work = workspaces(n)
    sides = empty(n)
    assert box_lcp.enumerate_box(box, sides, 1e-10, block) == SUCCESS
    assert sides.lam == pytest.approx(wanted, abs=1e-10)
    assert sides.y == pytest.approx(box.M @ wanted + box.q, abs=1e-9)
    for method in (box_lcp.PIVOTING, box_lcp.LEMKE, box_lcp.ENUMERATION):
        block, work = workspaces(n)
        sides = empty(n)
        status, off = box_lcp.solve_box(method, box, sides, 1e-10, block, work)
        assert (status, off <= 1e-10) == (SUCCESS, True)
        assert sides.lam == pytest.approx(wanted, abs=1e-10)


@for_each("seed", range(40))
def test_any_matrix_is_solved_where_there_is_a_solution(seed):
    """Not definite: none, one or several; what is returned is one of them."""
    box = problem(seed, 3, definite=False)
    all_of_them = solutions(box)
    block, work = workspaces(3)
    sides = empty(3)
    status, off = box_lcp.solve_box(box_lcp.PIVOTING, box, sides, 1e-9, block, work)
    assert (status == SUCCESS) == bool(all_of_them)
    if status == SUCCESS:
        assert off <= 1e-9
        assert min(np.abs(sides.lam - one).max() for one in all_of_them) < 1e-7


@pytest.mark.parametrize("side", [-1, 0, 1])
def test_of_several_solutions_the_method_takes_its_own(side):
    """y = 1/2 - lam on [-1, 1]: pivoting keeps its side, the first that is tried is the lower."""
    box = Box(-np.eye(1), np.array([0.5]), np.array([-1.0]), np.array([1.0]))
    found = {}
    for method in (box_lcp.PIVOTING, box_lcp.LEMKE, box_lcp.ENUMERATION):
        block, work = workspaces(1)
        sides = empty(1, side)
        status, _ = box_lcp.solve_box(method, box, sides, 1e-10, block, work)
        assert status == SUCCESS
        found[method] = sides.lam[0]
    assert found[box_lcp.PIVOTING] == {-1: -1.0, 0: 0.5, 1: 1.0}[side]
    assert found[box_lcp.ENUMERATION] == -1
    assert found[box_lcp.LEMKE] in (-1.0, 0.5, 1.0)


@for_each("seed", range(30))
def test_the_residual_is_its_definition(seed):
    box = problem(seed, definite=seed % 2 > 0)
    M, q, lower, upper = box
    M[0, 0] *= seed % 3 - 1  # what is not positive counts as one
    rng = np.random.default_rng(seed)
    sides = empty(4)
    sides.lam[:] = rng.normal(size=4)
    y = M @ sides.lam + q
    d = np.where(np.diag(M) > 0, np.diag(M), 1.0)
    off = np.maximum(d * (sides.lam - upper), np.minimum(y, d * (sides.lam - lower)))
    size = (np.abs(q) + np.abs(M) @ np.abs(sides.lam)).max()
    assert box_lcp.natural_residual(box, sides) == pytest.approx(np.abs(off).max() / size)
    assert sides.y == pytest.approx(y)
    sides.lam[2] = np.nan
    assert np.isnan(box_lcp.natural_residual(box, sides))


def test_a_residual_of_what_has_no_digits_left_is_one():
    free = np.array([-INF]), np.array([INF])
    box, sides = Box(np.eye(1), np.array([-1.0]), *free), empty(1)
    for lam, off in ((1.0, 0.0), (2.0, 1 / 3), (9e12, (9e12 - 1) / (9e12 + 1)), (2e13, 1.0)):
        sides.lam[0] = lam
        assert box_lcp.natural_residual(box, sides) == pytest.approx(off, abs=1e-15)
    held = Box(np.eye(1), np.array([-1.0]), np.array([2e13]), np.array([INF]))
    sides.lam[0] = 2e13  # at its bound: that is what is given
    assert box_lcp.natural_residual(held, sides) == 0
    nothing = Box(np.eye(1), np.zeros(1), *free)
    sides.lam[0] = 0.0
    assert box_lcp.natural_residual(nothing, sides) == 0


def test_a_block_is_factored_again_only_if_its_rows_change():
    box = problem(3)
    block, _ = workspaces(4)
    sides = empty(4, -1)
    sides.side[[1, 3]] = 0
    box.lower[[0, 2]] = [0.5, -1.0]
    for q in (box.q.copy(), np.arange(4.0)):
        box.q[:] = q
        assert box_lcp.between_bounds(box, sides, block) == SUCCESS
        assert block.kept[0]["count"] == 2
        assert sides.lam[[0, 2]].tolist() == [0.5, -1]
        assert (box.M @ sides.lam + q)[[1, 3]] == pytest.approx([0, 0], abs=1e-12)
        box.M[1, 1] *= 1.0
    factors = block.A.copy()
    sides.side[3], box.lower[3] = -1, 0.2
    assert box_lcp.between_bounds(box, sides, block) == SUCCESS
    assert block.kept[0]["count"] == 1
    assert (box.M @ sides.lam + box.q)[1] == pytest.approx(0, abs=1e-12)
    assert block.A[0, 0] != factors[0, 0] or box.M[1, 1] == factors[0, 0]
    sides.side[:] = [0, -1, 0, -1]
    box.lower[1] = 0.1
    assert box_lcp.between_bounds(box, sides, block) == SUCCESS
    assert (box.M @ sides.lam + box.q)[[0, 2]] == pytest.approx([0, 0], abs=1e-12)
    box.M[np.ix_([0, 1], [0, 1])] = 1.0
    sides.side[:] = [0, 0, -1, -1]
    assert box_lcp.between_bounds(box, sides, block) == SINGULAR
    assert block.kept[0]["count"] == -1


def test_a_wrong_side_is_told():
    M = np.array([[2.0, 1.0], [1.0, 3.0]])
    box = Box(M, np.array([1.0, -1.0]), np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    for lam, side, told in (
        ([0.0, 0.5], [0, 0], 0), ([-1.5, 0.5], [0, 0], -1), ([1.5, 0.5], [0, 0], 1),
        ([1.0, 0.0], [1, 0], 2), ([1.0, -5.0], [1, 0], 0), ([-1.0, 0.0], [-1, 0], 2),
        ([-1.0, 5.0], [-1, 0], 0), ([-1.0, 1.0], [-1, 0], 0), ([1.0, -3.0], [1, 0], 0),
    ):  # fmt: skip
        sides = Sides(np.array(side, np.int8), np.array(lam), np.zeros(2))
        assert box_lcp.misplaced(box, sides, 0) == told, (lam, side)
        assert sides.y[0] == 1 + 2 * lam[0] + lam[1]


def test_no_solution_is_a_ray_and_a_lam_that_is_no_number_ends_the_pivoting():
    box = Box(-np.eye(1), np.array([-1.0]), np.zeros(1), np.array([INF]))
    block, work = workspaces(1)
    status, off = box_lcp.solve_box(box_lcp.PIVOTING, box, empty(1), 1e-10, block, work)
    assert status == LCP_RAY
    assert off > 0
    block, work = workspaces(1)
    bad = Box(np.eye(1), np.array([np.nan]), np.zeros(1), np.array([INF]))
    assert box_lcp.principal_pivoting(bad, empty(1), block) == LCP_ITERATIONS
    equal = Box(np.zeros((1, 1)), np.ones(1), np.array([-INF]), np.array([INF]))
    block, work = workspaces(1)
    assert box_lcp.by_lemke(equal, empty(1), block, work) == SINGULAR
    many = problem(1, 9)
    many.lower[:], many.upper[:] = -1.0, 1.0  # 3^9 = 19683 choices
    block, work = workspaces(9)
    assert box_lcp.enumerate_box(many, empty(9), 1e-10, block) == LCP_ITERATIONS


@for_each("seed", range(20))
def test_contacts_that_stick_or_slide_are_complementary(seed):
    """Glocker's variables: P_t = a_l - mu P_n, a_r = 2 mu P_n - a_l, of what sticks; w by D."""
    rng = np.random.default_rng(seed)
    m, frictional = 3, (0, 2) if seed % 2 else (1,)
    rows = m + len(frictional)
    A = rng.normal(size=(8, 8))
    D, act = A @ A.T, rng.permutation(8)[:rows]
    place = np.full(m, -1)
    for k, c in enumerate(frictional):
        place[c] = m + k
    sigma = rng.choice([glocker.FREE, 1, -1], rows)
    mu, q = rng.uniform(0.1, 1, m), rng.normal(size=rows)
    free = [c for c in frictional if sigma[place[c]] == glocker.FREE]
    ratio = np.array([
        mu[c] * (1 if c in free or place[c] < 0 else sigma[place[c]]) for c in range(m)
    ])  # fmt: skip
    B, g = np.full((m + 4, m + 4), np.nan), np.full(m + 4, np.nan)
    size = glocker.standard_form(D, act, m, place, ratio, sigma, q, B, g)
    assert size == m + 2 * len(free)
    z = rng.normal(size=size)
    P = np.zeros(rows)
    P[:m] = z[:m]
    for c in frictional:
        P[place[c]] = -ratio[c] * P[c]
    for k, c in enumerate(free):
        P[place[c]] += z[m + 2 * k + 1 - 1]
    w = D[np.ix_(act, act)] @ P + q
    y = B[:size, :size] @ z + g[:size]
    assert y[:m] == pytest.approx(w[:m])
    for k, c in enumerate(free):
        at, unit = m + 2 * k, D[act[place[c]], act[place[c]]]
        assert y[at] == pytest.approx(w[place[c]] + unit * z[at + 1])
        assert y[at + 1] == pytest.approx(unit * (2 * mu[c] * P[c] - z[at]))


def test_what_lies_on_a_bound_lies_between_them():
    """Only beyond a bound a multiplier is misplaced, and only by the wrong sign of y on it."""
    misplaced = plain("complementarity.box_lcp").misplaced
    box = (np.eye(1), np.array([0.5]), np.array([-1.0]), np.array([2.0]))
    for side, lam in itertools.product((-1, 0, 1), (-1.1, -1.0, -0.6, 0.0, 0.3, 2.0, 2.1)):
        y = np.full(1, np.nan)
        found = misplaced(box, (np.array([side]), np.array([lam]), y), 0)
        beyond = -1 if lam < -1 else 1 if lam > 2 else 0
        assert found == (beyond if side == 0 else 2 * int(side * (0.5 + lam) > 0))
        assert y[0] == 0.5 + lam


@for_each(("good", "wrong", "singular"), [((1, -1, 0), False, False), ((0, 0, 0), False, False), ((0, -1, 1), False, False), (None, False, False), ((1, -1, 0), True, False), ((1, -1, 0), False, True)])  # fmt: skip
def test_all_sides_of_bounded_multipliers_are_tried(monkeypatch, good, wrong, singular):
    """Twelve: between, and at each bound that there is. One with a y of the wrong sign is left out."""
    lower, upper = np.array([-1.0, -2.0, -INF]), np.array([1.0, INF, 3.0])
    tried, side = [], np.zeros(3, np.int8)

    def between(box, solution, block):
        tried.append(tuple(side.tolist()))
        return SINGULAR if singular and tried[-1] == good else SUCCESS

    put(monkeypatch, box_lcp.enumerate_box, between_bounds=between, natural_residual=lambda *given: 0.5 if tried[-1] == good else 0.6,
        misplaced=lambda box, solution, i: 2 if wrong and i == 2 else 1)  # fmt: skip
    status = box_lcp.enumerate_box(space(lower=lower, upper=upper), space(side=side), 0.5, None)
    if good is not None and not wrong and not singular:
        assert (status, tried[-1]) == (SUCCESS, good)
        return
    assert status == LCP_RAY
    assert sorted(tried) == [(a, b, c) for a in (-1, 0, 1) for b in (-1, 0) for c in (0, 1)]


def test_too_many_sides_are_not_tried():
    box = space(lower=np.zeros(40), upper=np.full(40, INF))
    assert box_lcp.enumerate_box(box, space(side=np.zeros(40, np.int8)), 0.5, None) == LCP_ITERATIONS  # fmt: skip
