"""What recurs among the points of a run, against the same rules written point by point."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each

from explorer.study.recurrence import apart, cloud, period


def by_points(points, scale, tol, sure):
    """Return the shortest period by the rules of `period`, or 0, and how far it has to go."""
    x = points / scale
    k = len(x)
    for p in range(1, 65):
        if 3 * p > k:
            break
        back_by = {j: max(abs(x[j] - x[j - p])) for j in range(p, k)}  # of point j
        ends = max(back_by[j] for j in range(k - p, k))
        if ends > tol:
            continue
        rounds = (k - p) // (2 * p)  # ago
        before = max(back_by[j - rounds * p] for j in range(k - p, k)) if rounds else 0.0
        left = np.inf
        if ends < before:
            shrinks = (ends / before) ** (1 / rounds)  # in each round
            left = ends / (1 - shrinks)
        if ends > sure and left > 10 * tol:
            continue
        last = x[k - p :]
        fewer = [
            max(max(abs(last[i] - last[i - q])) for i in range(q, p)) for q in range(1, p) if p % q == 0
        ]  # fmt: skip
        if sure < tol and left < np.inf and min(fewer, default=np.inf) <= 4 * left:
            continue
        return p, left
    return 0, np.inf


def creeping(rng, p, k, base, size=1e-3):
    """Return points of a cycle of p that are come to unevenly, of two states."""
    shrinks = np.cumprod(rng.uniform(0.6, 0.95, k))
    way = rng.uniform(0.5, 1.5, (k, 2)) * np.array([1.0, 0.3])
    return base[np.arange(k) % p] + size * shrinks[:, None] * way


@for_each("seed", range(4))
@for_each("p", [1, 2, 3, 4])
def test_a_period_is_the_shortest_that_is_nearly_over(p, seed):
    """Both sides of each limit: what is left is ten times the tolerance, and the returns are sure."""
    rng = np.random.default_rng(10 * p + seed)
    scale, base = np.array([2.0, 0.25]), rng.normal(size=(p, 2))
    points = creeping(rng, p, int(rng.integers(5 * p, 9 * p + 3)), base)
    ends = float((abs(points[-p:] - points[-2 * p : -p]) / scale).max())
    _, left = by_points(points, scale, 1.0 if p == 1 else 0.05, 0.0)
    told = []
    for tol in (ends * 0.999, ends * 1.001, left / 10 * 0.999, left / 10 * 1.001, 0.05):
        for sure in (0.0, ends * 0.999, ends * 1.001, tol):
            found = period(points, scale, tol, sure)
            own, _ = by_points(points, scale, tol, sure)
            told.append(own)
            if not own:
                assert found is None
                continue
            assert found.period == own
            np.testing.assert_array_equal(found.points, points[-own:])
            by = abs(points[-own:] - points[len(points) - 2 * own : len(points) - own])
            np.testing.assert_allclose(found.drift, by.max(axis=0), rtol=1e-14)
            assert found.residual == pytest.approx((by / scale).max(), rel=1e-14)
            assert found.points.base is None
    assert {0, p} <= {*told}


@for_each(
    ("base", "close", "told"),
    [
        ([0.0, 1.0], 1.0, 2),
        ([0.0, 7.0, 1.0], 7.0, 3),  # two steps on it is nearly there, but 3 is no multiple of 2
        ([0.0, 5.0, 1.0, 6.0], 1.0, 4),
        ([0.0, 5.0, 9.0, 1.0, 6.0, 10.0], 1.0, 6),
    ],
)
def test_points_that_may_still_become_one_are_no_cycle_of_more(base, close, told):
    """They all come nearer by 0.8 in a round; `close` is the least way of a shorter cycle."""
    p, base, rounds = len(base), np.array(base)[:, None], 8
    away = 0.8 ** (np.arange(p * rounds) // p)
    unit = 0.8 ** (rounds - 2)  # what is left is the way of the last return but one
    for part, found in ((0.999, 0), (1.001, told)):
        points = np.tile(base, (rounds, 1)) + (close / 4 / unit / part) * away[:, None]
        points *= 8
        one = period(points, 8 * np.ones(1), tol=close / 4, sure=0.0)
        assert (one.period if one else 0) == found
        if p < 4:  # of fixed steps, where nothing is surer, they count as they are
            assert period(points, 8 * np.ones(1), tol=close / 4, sure=close / 4).period == told


@for_each(("far", "told"), [(2.0, 0), (2.001, 2)])
def test_points_as_far_apart_as_four_ways_may_still_become_one(far, told):
    """Their ways are halved in each round: a half is left behind 1, 1/2 and 1/4."""
    points = np.array([[0.0], [far]] * 3) + np.array([1.0, 1.0, 0.5, 0.5, 0.25, 0.25])[:, None]
    found = period(points, np.ones(1), tol=0.25, sure=0.0)
    assert (found.period if found else 0) == told


@for_each("p", [1, 2, 5, 64, 65])
def test_a_period_is_seen_three_times_and_is_no_longer_than_64(p):
    base = np.arange(p, dtype=float)[:, None] ** 2
    points = np.tile(base, (4, 1))
    found = period(points[-3 * p :], np.ones(1), 1e-9, 1e-9)
    assert (found.period if found else 0) == (p if p < 65 else 0)
    if p > 1:
        assert period(points[-3 * p + 1 :], np.ones(1), 1e-9, 1e-9) is None


def test_returns_of_as_much_as_is_allowed_are_within():
    points = np.array([[0.0], [0.5]] * 6)
    assert period(points, np.ones(1), 0.5, 0.5).period == 1
    assert period(points, np.ones(1), 0.4999, 0.4999).period == 2


@for_each(("k", "seed"), [(19, 0), (20, 0), (20, 1), (20, 2), (20, 3), (21, 4)])
def test_a_set_is_told_from_two_halves_of_20(k, seed):
    rng = np.random.default_rng(seed)
    half = rng.uniform(-1, 1, (k, 2)) * np.array([1.0, 0.01])
    moved = half + rng.uniform(-0.02, 0.02, (k, 2)) * np.array([1.0, 0.0])
    points = np.vstack([np.full((1, 2), 99.0), half, moved])
    scale = np.array([0.5, 2.0])
    found = cloud(points, scale)
    if k < 20:
        assert found is None
        return
    one, two = half / scale, moved / scale
    gaps = np.sqrt(((one[:, None] - two[None]) ** 2).sum(axis=2))
    away = max(np.quantile(gaps.min(axis=axis), 0.95) for axis in (0, 1))
    assert found.period == 0
    np.testing.assert_array_equal(found.points, points[1:])
    assert found.residual == pytest.approx(away, rel=1e-12)
    np.testing.assert_allclose(found.drift, away * scale, rtol=1e-12)


@for_each(("grows", "told"), [(0.79, False), (0.8, True), (1.0, True), (1.25, True), (1.26, False)])
def test_halves_of_a_set_are_nearly_as_wide(grows, told):
    """By the widest of its states, each in parts of its scale."""
    half = np.column_stack([0.3125 * (-1.0) ** np.arange(32), np.full(32, 5.0)])
    points = np.vstack([half, half * np.array([grows, 1.0])])
    assert (cloud(points, np.array([1.0, 50.0])) is not None) is told
    assert (cloud(points[:, ::-1], np.array([50.0, 1.0])) is not None) is told


@for_each(("off", "many", "told"), [
    (0.099, 40, True), (0.101, 40, False), (1.5, 2, True), (1.5, 3, False),
])  # fmt: skip
def test_nearly_all_points_of_a_set_lie_next_to_others(off, many, told):
    """Within a tenth of the scale; of 40 at least 38, in either half."""
    half = np.column_stack([10.0 * np.arange(40), np.zeros(40)])
    other = half.copy()
    other[:many, 1] = off
    for one, two in ((half, other), (other, half)):
        found = cloud(np.vstack([one, two]), np.array([1.0, 1.0]))
        assert (found is not None) is told


def test_sets_are_apart_by_their_nearest_points():
    """In parts of the scale: (3, 4) from (0, 0), and (6, 9) from (9, 5)."""
    one, other = np.array([[6.0, 36.0], [0.0, 100.0]]), np.array([[0.0, 20.0], [90.0, -9.0]])
    scale = np.array([2.0, 4.0])
    assert apart(one, other, scale) == pytest.approx(5.0)
    assert apart(other, one, scale) == pytest.approx(5.0)
