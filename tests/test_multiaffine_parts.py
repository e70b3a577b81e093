"""Parts of the search for roots of multiaffine functions, each against its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put

affine = plain("sliding.multiaffine")
SIDE, SAME = affine.SIDE, affine.SAME


def corners_of(m, seed=0):
    return np.random.default_rng(seed).normal(size=(m, 1 << m))


def at(corners, m, w):
    """Return the function at w, from its values at the corners."""
    table = corners.reshape((2,) * m)  # the last axis is that of the first unknown
    for a in reversed(range(m)):
        table = table[0] + w[a] * (table[1] - table[0])
    return float(table)


@for_each("m", [1, 2, 3])
def test_a_function_is_linear_in_each_unknown(m):
    corners, w = corners_of(m), np.random.default_rng(1).uniform(-1, 2, m)
    for j in range(m):
        assert affine.value(corners[j], m, -1, w) == pytest.approx(at(corners[j], m, w))
        for a in range(m):
            up, down = w.copy(), w.copy()
            up[a], down[a] = 1.0, 0.0
            slope = at(corners[j], m, up) - at(corners[j], m, down)
            assert affine.value(corners[j], m, a, w) == pytest.approx(slope)


@for_each(("w", "told"), [
    ((0.5, 0.5), 3), ((-SIDE, 1 + SIDE), 3), ((-SIDE - 1e-3, 0.5), 2), ((0.5, 1 + SIDE + 1e-3), 2), ((0.25, 0.75), 2), ((0.25 + 0.9 * SAME, 0.75 - 0.9 * SAME), 2),
    ((0.25 + 2 * SAME, 0.75), 3), ((0.25, 0.75 + 2 * SAME), 3), ((0.9, 0.1), 2), ((np.nan, 0.5), 2),
])  # fmt: skip
def test_a_root_is_kept_once_and_in_the_box(w, told):
    bench = affine.bench(2)
    bench.roots[:] = 9.0
    bench.roots[:2] = [[0.25, 0.75], [0.9, 0.1]]
    bench.w[:] = w
    assert affine.keep(bench, 2, 2) == told
    if told == 3:
        assert bench.roots[2].tolist() == [*w]
    assert (bench.roots[told:] == 9.0).all()


def test_no_more_roots_are_kept_than_there_is_room_for():
    bench = affine.bench(2)
    bench.roots[:] = np.linspace(0, 0.5, affine.LIMIT)[:, None]
    bench.w[:] = 0.9
    assert affine.keep(bench, 2, affine.LIMIT) == affine.LIMIT
    assert affine.keep(bench, 2, affine.LIMIT - 1) == affine.LIMIT
    assert bench.roots[-1].tolist() == [0.9, 0.9]


@for_each(("w", "told"), [((0.0, 0.5), True), ((-1.9e-3, 0.5), True), ((-2.1e-3, 0.5), False), ((2.0019, 0.5), True), ((2.0021, 0.5), False), ((1.0, 0.2496), True), ((1.0, 0.2494), False),
                               ((1.0, 0.7504), True), ((1.0, 0.7506), False), ((1.0, np.nan), False)])  # fmt: skip
def test_a_root_is_inside_but_for_a_thousandth_of_the_side(w, told):
    assert affine.inside(np.array([0.0, 0.25, 2.0, 0.75]), 2, np.array(w)) == told


@for_each(
    ("low", "high", "told"),
    [
        ((0, 0, 0), (1, 1, 1), 0),
        ((0, 0, 0), (1, 2, 2), 1),
        ((0, -2, 0), (1, 0, 2), 1),
        ((0, 0, -3), (2, 1, 0), 2),
        ((0.5, 0.5), (2, 1), 0),
        ((0.5, -4), (9, 5), 1),
    ],
)
def test_the_first_of_the_longest_sides_is_taken(low, high, told):
    assert affine.widest(np.array([*low, *high], float), len(low)) == told


@for_each("m", [1, 2, 3])
@for_each("shift", [0.0, 3.0, -3.0])
def test_a_box_is_excluded_where_a_row_has_one_sign_at_all_corners(m, shift):
    """Beyond round-off; the values at the corners are written as far as rows are looked at."""
    bench, rng = affine.bench(m), np.random.default_rng(m)
    size = len(bench.corners)
    box = np.append(rng.uniform(-0.5, 0.4, m), rng.uniform(0.6, 1.5, m))
    bench.corners[:m, : 1 << m] = corners_of(m, seed=5)
    values = np.array(
        [
            [
                at(
                    bench.corners[j, : 1 << m],
                    m,
                    [box[m + a] if c >> a & 1 else box[a] for a in range(m)],
                )
                for c in range(1 << m)
            ]
            for j in range(m)
        ]
    )
    if shift:
        bench.corners[m - 1, : 1 << m] += shift - (
            values[m - 1].min() if shift > 0 else values[m - 1].max()
        )
        values[m - 1] += shift - (values[m - 1].min() if shift > 0 else values[m - 1].max())
    one_sign = [(row.min() > 1e-9) or (row.max() < -1e-9) for row in values]
    assert affine.excludes(bench, m, box) == any(one_sign)
    last = one_sign.index(True) if any(one_sign) else m - 1
    np.testing.assert_allclose(bench.smaller[: last + 1, : 1 << m], values[: last + 1], atol=1e-12)
    assert size >= m


def verdict(rows):
    """Return what the values at the corners of a box tell, by the definition."""
    m = len(rows)
    J = np.array(
        [
            [
                sum(row[c] * (1 if c >> a & 1 else -1) for c in range(1 << m)) / 2 ** (m - 1)
                for a in range(m)
            ]
            for row in rows
        ]
    )
    if np.linalg.matrix_rank(J) < m:
        return affine.MANY
    rows = np.linalg.solve(J, rows)
    single = True
    for j, row in enumerate(rows):
        if row.min() > 1e-9 or row.max() < -1e-9:
            return affine.NONE
        slopes = [
            [row[c] - row[c ^ (1 << a)] for c in range(1 << m) if c >> a & 1] for a in range(m)
        ]
        others = sum(max(map(abs, slopes[a])) for a in range(m) if a != j)
        single = single and min(slopes[j]) > others
    return affine.ONE if single else affine.MANY


@for_each("seed", range(60))
def test_slopes_tell_how_many_roots_a_box_has(seed):
    """Each row's own slope exceeds those of all others: one at most. A row of one sign: none."""
    rng, m = np.random.default_rng(seed), 1 + seed % 3
    bench = affine.bench(m)
    linear = np.array(
        [
            [sum((3.0 if a == j else 0.4) * (c >> a & 1) for a in range(m)) for c in range(1 << m)]
            for j in range(m)
        ]
    )
    rows = (
        linear
        - rng.uniform(-1, 4, (m, 1))
        + rng.choice([0.0, 0.2, 1.5]) * rng.normal(size=(m, 1 << m))
    )
    if seed % 10 == 9:
        rows[-1] = 0.0
    bench.smaller[:m, : 1 << m] = rows
    assert affine.at_most_one(bench, m) == verdict(rows)


@for_each(("start", "told"), [((0.5, 0.5), 0), ((0.25, 0.5), 0), ((2e6, 0.5), 1)])
def test_newtons_method_ends_at_a_root_or_says_so(start, told):
    """Of x = 1/4 and y = 1/2: a linear one needs a single step."""
    bench = affine.bench(2)
    bench.corners[:] = [[-0.25, 0.75, -0.25, 0.75], [-0.5, -0.5, 0.5, 0.5]]
    bench.w[:] = start
    assert affine.newton(bench, 2) == told
    if told == 0:
        np.testing.assert_allclose(bench.w, [0.25, 0.5], atol=1e-14)
    bench.corners[1] = bench.corners[0]
    bench.w[:] = 0.5
    assert affine.newton(bench, 2) == 1, "the rows depend on each other"


@for_each(("m", "expected"), [(1, [[0.25]]), (2, [[0.25, 0.5]]), (3, [[0.25, 0.5, 0.75]])])
@for_each("scale", [1e-9, 1.0, 1e9])
def test_a_linear_system_has_its_root(m, expected, scale):
    """In any unit of its rows, and none where a row is zero or no number."""
    bench, root = affine.bench(m), np.array(expected[0])
    for j in range(m):
        bench.corners[j, : 1 << m] = [scale * ((c >> j & 1) - root[j]) for c in range(1 << m)]
    kept = bench.corners.copy()
    assert affine.roots(bench, m) == 1
    np.testing.assert_allclose(bench.roots[0, :m], root, atol=1e-9)
    assert abs(bench.corners[:m, : 1 << m]).max(axis=1) == pytest.approx(np.ones(m))
    for bad in (0.0, np.inf, np.nan):
        bench.corners[:] = kept
        bench.corners[m - 1, : 1 << m] = bad
        assert affine.roots(bench, m) == 0


@for_each(("x", "y"), itertools.product((0.25, 0.75), (0.125, 0.5)))
def test_both_roots_of_two_equations_are_found(x, y):
    """(u - x)(1 - v) = 0 has u = x; then v = y by the other row, or v = 1 and u from it."""
    bench = affine.bench(2)
    u, v = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    bench.corners[:] = [(u - x) * (1 - v), v - y + 0.25 * (u - x) * (1 + v)]
    count = affine.roots(bench, 2)
    found = bench.roots[:count]
    other = x - (1 - y) / 0.5
    wanted = [[x, y]] + [[other, 1.0]] * (-SIDE <= other <= 1 + SIDE)
    assert count == len(wanted)
    for root in wanted:
        assert min(abs(found - root).max(axis=1)) < 1e-9


def test_memory_of_a_search_has_room_for_all():
    for unknowns in (1, 2, 3, affine.MOST, affine.MOST + 3):
        m, bench = max(min(unknowns, affine.MOST), 2), affine.bench(unknowns)
        shapes = [part.shape for part in bench]
        assert shapes == [
            (m, 1 << m),
            (affine.LIMIT, m),
            (m, 1 << m),
            (affine.DEPTH, 2 * m),
            (m, m),
            (m,),
            (m,),
            (m,),
        ]


def test_a_box_that_is_searched_for_long_is_left(monkeypatch):
    """Where nothing is told of it, down to boxes of no size; the number of trials ends the search."""
    seen = []
    put(
        monkeypatch,
        affine.roots,
        excludes=lambda bench, m, box: seen.append(box.copy()) or 0,
        at_most_one=lambda *_: affine.MANY,
        TRIALS=40,
    )
    bench = affine.bench(3)
    bench.corners[:] = 1.0
    assert affine.roots(bench, 3) == 0
    assert len(seen) == 40
    assert seen[0].tolist() == [-SIDE] * 3 + [1 + SIDE] * 3
    middle = 0.5
    assert seen[1].tolist() == [middle, -SIDE, -SIDE, 1 + SIDE, 1 + SIDE, 1 + SIDE]
    volumes = [np.prod(box[3:] - box[:3]) for box in seen]
    assert volumes[1] == pytest.approx(volumes[0] / 2)
