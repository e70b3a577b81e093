"""Roots of functions that are affine in each unknown, as their corner values tell of them."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain

many = plain("sliding.multiaffine")


def corner_values(rng, m, root):
    """Return corner values of m functions that vanish at a root."""
    table = rng.normal(size=(m, 1 << m))
    weights = [
        np.prod([root[a] if c >> a & 1 else 1 - root[a] for a in range(m)]) for c in range(1 << m)
    ]
    return table - (table @ np.array(weights))[:, None]


@for_each("m", [1, 2, 3, 4])
@for_each("seed", range(6))
def test_a_function_is_known_by_its_corners(seed, m):
    rng = np.random.default_rng(seed)
    w, bench = rng.uniform(0.1, 0.9, m), many.bench(m)
    table = corner_values(rng, m, w)
    for row in table:
        assert many.value(row, m, -1, w) == pytest.approx(0.0, abs=1e-12)
        for a in range(m):
            step = 1e-3 * np.eye(m)[a]
            slope = (many.value(row, m, -1, w + step) - many.value(row, m, -1, w - step)) / 2e-3
            assert many.value(row, m, a, w) == pytest.approx(slope, abs=1e-9)
        for corner in range(1 << m):
            bits = np.array([corner >> a & 1 for a in range(m)], float)
            assert many.value(row, m, -1, bits) == pytest.approx(row[corner])
    if m < 2:
        return
    bench.corners[:] = table
    bench.w[:] = w + 1e-3 * rng.normal(size=m)
    assert many.newton(bench, m) == 0
    np.testing.assert_allclose(bench.w, w, atol=1e-9)
    bench.corners[0] = bench.corners[1]
    assert many.newton(bench, m) in (0, 1)
    bench.corners[:] = 1.0
    assert many.newton(bench, m) == 1


@for_each("seed", range(20))
def test_two_equations_have_two_roots_of_opposite_jacobians(seed):
    rng = np.random.default_rng(seed)
    bench = many.bench(2)
    bench.corners[:] = corner_values(rng, 2, rng.uniform(size=2))
    under = many.discriminant(bench.corners)
    for side in (1, -1):
        assert many.pair(bench.corners, side, bench.w, 0) == side
        w = bench.w
        J = np.array([[many.value(bench.corners[i], 2, a, w) for a in range(2)] for i in range(2)])
        for row in bench.corners:
            assert many.value(row, 2, -1, w) == pytest.approx(
                0.0, abs=1e-8 * (1 + abs(w).max()) ** 2
            )
        assert np.sign(np.linalg.det(J)) == -side
        assert np.linalg.det(J) ** 2 == pytest.approx(under, rel=1e-6)
    # x = y and x y = -0.1 have none; both have met at their middle where they count
    bench.corners[:] = [[0, 1, -1, 0], [0.1, 0.1, 0.1, 1.1]]
    assert many.discriminant(bench.corners) < 0
    assert many.pair(bench.corners, 1, bench.w, 0) == 0.0
    assert many.pair(bench.corners, 1, bench.w, 1) == 1
    np.testing.assert_allclose(bench.w, 0.0, atol=1e-12)
    bench.corners[0, 0] = np.nan
    assert many.pair(bench.corners, 1, bench.w, 1) == 0.0


def test_roots_that_have_met_are_no_pair():
    """x = y and x y = x / 2 + y / 2 - 1 / 4 touch at 1 / 2: the flow on both surfaces has an end there."""
    bench = many.bench(2)
    bench.corners[:] = [[0, 1, -1, 0], [0.25, -0.25, -0.25, 0.25]]
    assert many.discriminant(bench.corners) == 0.0
    for side in (1, -1):
        assert many.pair(bench.corners, side, bench.w, 0) == 0.0
        assert many.pair(bench.corners, side, bench.w, 1) == side
        np.testing.assert_allclose(bench.w, 0.5, atol=1e-12)


@for_each("seed", range(6))
def test_two_lines_meet_once_and_at_infinity(seed):
    """The root whose Jacobian has the other sign is none."""
    rng, bench = np.random.default_rng(seed), many.bench(2)
    A, w = rng.normal(size=(2, 2)), rng.uniform(size=2)
    corners = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    bench.corners[:] = A @ (corners - w).T
    side = -int(np.sign(np.linalg.det(A)))
    assert many.pair(bench.corners, side, bench.w, 0) == side
    np.testing.assert_allclose(bench.w, w, atol=1e-12)
    assert many.pair(bench.corners, -side, bench.w, 0) == 0.0
    assert many.roots(bench, 2) == 1
    np.testing.assert_allclose(bench.roots[0], w, atol=1e-12)


@for_each(("bend", "said"), [(1.0, "MANY"), (0.75, "ONE")])
def test_slopes_that_only_equal_those_of_others_prove_no_single_root(bend, said):
    """x + b x y = 0 = y + b x y over |x|, |y| <= 1/2: 1 - b / 2 has to be more than b / 2."""
    bench = many.bench(2)
    for corner in range(4):
        x, y = (corner & 1) - 0.5, (corner >> 1) - 0.5
        bench.corners[:, corner] = x + bend * x * y, y + bend * x * y
    assert many.excludes(bench, 2, np.array([0.0, 0.0, 1.0, 1.0])) == 0
    assert many.at_most_one(bench, 2) == getattr(many, said)


@for_each("m", [2, 3])
@for_each("seed", range(12))
def test_what_corners_tell_of_a_box_is_true(seed, m):
    rng = np.random.default_rng(seed)
    bench, root = many.bench(m), rng.uniform(0.3, 0.7, m)
    bench.corners[:] = corner_values(rng, m, root)
    around = np.concatenate([root - 0.02, root + 0.02])
    beside = np.concatenate([root + 0.01, root + 0.02])
    assert many.excludes(bench, m, around) == 0
    for corner in range(1 << m):
        at = np.array([around[m + a] if corner >> a & 1 else around[a] for a in range(m)])
        values = [many.value(row, m, -1, at) for row in bench.corners]
        np.testing.assert_allclose(bench.smaller[:, corner], values, atol=1e-14)
    assert many.at_most_one(bench, m) in (many.ONE, many.MANY)
    tiny = np.concatenate([root - 1e-4, root + 1e-4])
    many.excludes(bench, m, tiny)
    assert many.at_most_one(bench, m) == many.ONE
    if many.excludes(bench, m, beside) == 0:
        assert many.at_most_one(bench, m) == many.NONE
    bench.corners[0] = 0.5 + rng.random(1 << m)
    for sign in (1.0, -1.0):
        bench.corners[0] *= sign
        assert many.excludes(bench, m, around) == 1


def test_boxes_and_roots_are_kept_in_order():
    bench, box = many.bench(3), np.array([0.0, 0, 0, 1, 2, 1.5])
    assert many.widest(box, 3) == 1
    box[4] = 0.5
    assert many.widest(box, 3) == 2
    box[3] = 1.5
    assert many.widest(box, 3) == 0
    for w, inside in (([0.5, 0.2, 1], True), ([-0.001, 0.2, 1], True), ([-0.01, 0.2, 1], False),
                      ([0.5, 0.5005, 1], True), ([0.5, 0.51, 1], False), ([np.nan, 0.2, 1], False)):  # fmt: skip
        assert many.inside(box, 3, np.array(w)) == inside
    count = 0
    for w, there in (([0.5] * 3, 1), ([0.5, 0.5, 0.5 + 1e-10], 1), ([0.5, 0.5, 0.6], 2),
                     ([-0.005, 0.5, 1.005], 3), ([-0.02, 0.5, 0.5], 3), ([0.5, 1.02, 0.5], 3),
                     ([0.5, 0.5, 0.6], 3)):  # fmt: skip
        bench.w[:] = w
        count = many.keep(bench, 3, count)
        assert count == there
    for k in range(20):
        bench.w[:] = 0.01 * k
        count = many.keep(bench, 3, count)
    assert count == many.LIMIT


@for_each(("m", "seed"), [(m, seed) for m in (1, 2, 3, 4) for seed in range(5)])
def test_a_box_is_cut_where_it_is_longest(m, seed):
    low = np.random.default_rng(seed).uniform(0, 1, m)
    high = low + np.random.default_rng(seed + 9).uniform(0, 1, m)
    assert many.widest(np.append(low, high), m) == np.argmax(high - low)


@for_each("m", [2, 3])
def test_equations_that_are_affine_become_distances_from_their_root(m):
    """Multiplied by the inverse of their mean Jacobian: w - w* at every corner of the box."""
    rng, bench = np.random.default_rng(m), many.bench(m)
    A, root = rng.normal(size=(m, m)), rng.uniform(size=m)
    corners = np.array([[corner >> a & 1 for a in range(m)] for corner in range(1 << m)], float)
    bench.corners[:] = A @ (corners - root).T
    low, wide = np.full(m, 0.25), np.arange(1, m + 1) / 8
    assert many.excludes(bench, m, np.concatenate([low, low + wide])) in (0, 1)
    at = low + wide * corners
    bench.smaller[:] = A @ (at - root).T
    many.at_most_one(bench, m)
    np.testing.assert_allclose(bench.smaller, ((at - root) / wide).T, atol=1e-12)
