"""Which points of a curve have to be drawn: what is left out is not seen."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.views.drawing import polyline as curves

lines = plain("drawing.polyline")


def curve(seed, n=60, size=12.0):
    """Return a walk in pixels, smooth or rough, which begins anew here and there."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 5, n)
    x, y = size * np.cos(t * (1 + seed % 3)) + t, size * np.sin(2 * t + seed)
    if seed % 2:
        x, y = np.cumsum(rng.normal(size=(2, n)), axis=1)
    return x, y, (rng.random(n) < 0.06).astype(np.int8)


def off_line(p, a, b):
    """Return how far a point is beside the line between two others, and beyond its ends."""
    way, size = b - a, np.hypot(*(b - a))
    if size == 0:
        return np.hypot(*(p - a)), 0.0
    along, across = (p - a) @ way / size, (p - a) @ [-way[1], way[0]] / size
    return abs(across), max(-along, along - size, 0.0)


@for_each("seed", range(20))
def test_points_that_are_left_out_lie_near_the_lines(seed):
    """Also those of a rough curve that comes back to where a line began."""
    x, y, lift = curve(seed)
    points, n = np.column_stack([x, y]), len(x)
    for tolerance, reach, turn in ((0.5, np.inf, np.inf), (2.0, np.inf, np.inf), (2.0, 3.0, np.inf),
                                   (5.0, np.inf, 0.5), (0.0, np.inf, np.inf)):  # fmt: skip
        kept = np.zeros(n, np.int8)
        assert lines.thin(x, y, lift, tolerance, reach, turn, kept) == kept.sum()
        begins = np.flatnonzero(lift)
        assert kept[[0, n - 1, *begins]].all()
        assert kept[begins[begins > 0] - 1].all()
        at = np.flatnonzero(kept)
        for a, b in itertools.pairwise(at):
            if lift[b]:
                continue
            for k in range(a, b + 1):
                assert max(off_line(points[k], points[a], points[b])) <= tolerance + 1e-9
            if b > a + 1:
                assert abs(x[b] - x[a]) <= reach
                ways = np.diff(points[a : b + 1], axis=0)
                angles = np.unwrap(np.arctan2(ways[:, 1], ways[:, 0]))
                before = np.hypot(*(points[b - 1] - points[a]))
                assert abs(np.diff(angles)).sum() <= turn + 1e-9 or before <= 2.0
        if tolerance == 2.0 and reach == np.inf and seed % 2 == 0:
            assert len(at) < 0.7 * n
    assert lines.thin(x[:0], y[:0], lift[:0], 1.0, np.inf, np.inf, kept[:0]) == 0


def test_a_line_that_comes_back_turns_once():
    """Also one along an axis, whose other coordinate stays; the turn is taken into the next line."""
    x = np.array([0.0, 10, 20, 10, 0, -10, -20])
    for turned in (0.0, np.pi / 2, np.pi, 0.3):
        c, s = np.round([np.cos(turned), np.sin(turned)], 15)
        for again, places in ((1, [0, 2, 3, 6]), (2, [0, 5, 7, 13])):  # each point twice
            kept, along = np.zeros(7 * again, np.int8), np.repeat(x, again)
            many = lines.thin(c * along, s * along, 0 * kept, 99.0, np.inf, 0.5, kept)
            assert np.flatnonzero(kept).tolist() == places
            assert many == 4


def test_a_straight_line_is_its_ends_and_a_corner_stands():
    x = np.linspace(0, 100, 51)
    for turned in np.linspace(0, 2 * np.pi, 9):
        c, s = np.cos(turned), np.sin(turned)
        kept = np.zeros(51, np.int8)
        assert lines.thin(c * x, s * x, np.zeros(51, np.int8), 0.5, np.inf, np.inf, kept) == 2
        up = np.where(x > 50, x - 50, 0.0)
        kept[:] = 0
        px, py = c * x - s * up, s * x + c * up
        assert lines.thin(px, py, np.zeros(51, np.int8), 0.01, np.inf, np.inf, kept) == 3
        assert np.flatnonzero(kept)[1] == 25
        kept[:] = 0  # back on the same line: the furthest point is seen
        there = np.where(x < 50, x, 100 - x)
        assert (
            lines.thin(c * there, s * there, np.zeros(51, np.int8), 0.5, np.inf, np.inf, kept) == 3
        )
        assert kept[25]
    kept = np.zeros(51, np.int8)
    assert lines.thin(0 * x, 0 * x, np.zeros(51, np.int8), 0.5, np.inf, np.inf, kept) == 2


@for_each("seed", range(20))
def test_angles_are_wrapped(seed):
    for angle in np.random.default_rng(seed).normal(size=9) * 10:
        got = lines._wrapped(angle)
        assert -math.pi < got <= math.pi
        assert math.cos(got - angle) == pytest.approx(1)
    assert lines._wrapped(math.pi) == math.pi
    assert lines._wrapped(-math.pi) == math.pi
    assert lines._wrapped(3 * math.pi) == pytest.approx(math.pi)


@for_each("seed", range(12))
def test_the_envelope_is_the_range_of_the_curve_in_each_column(seed):
    """Of points in order from left to right; the extreme that is met last stands second."""
    rng, columns = np.random.default_rng(seed), 9
    x = np.sort(rng.uniform(0, columns, 14))
    x = x[(x > 0.7) | (x < 0.2)]
    y, lift = rng.normal(size=len(x)), (rng.random(len(x)) < 0.2).astype(np.int8)
    ends = np.full((columns, 2), 9.0)
    lines.envelope(x, y, lift, ends)
    seen = [[] for _ in range(columns)]
    for k in range(len(x)):
        if k and not lift[k]:
            parts = np.unique(
                np.concatenate([[x[k - 1], x[k]], np.arange(np.ceil(x[k - 1]), x[k])])
            )
            values = np.interp(parts, x[k - 1 : k + 1], y[k - 1 : k + 1])
            for p, value in zip(parts, values, strict=True):
                for c in {math.floor(p), math.floor(p) - (p == math.floor(p) and p > x[k - 1])}:
                    seen[min(max(c, 0), columns - 1)].append(value)
        else:
            seen[math.floor(x[k])].append(y[k])
    for c in range(columns):
        if not seen[c]:
            assert np.isnan(ends[c]).all()
            continue
        assert sorted(ends[c]) == pytest.approx([min(seen[c]), max(seen[c])])
        order = [v for v in seen[c] if v in (min(seen[c]), max(seen[c]))]
        assert ends[c, 1] == pytest.approx(order[-1]) or order[0] == order[-1]
    far = np.full((3, 2), 9.0)  # beyond the columns the first and the last of them hold it
    lines.envelope(np.array([-5.0, 7.0]), np.array([1.0, 2.0]), np.array([1, 1], np.int8), far)
    np.testing.assert_array_equal(far, [[1, 1], [np.nan, np.nan], [2, 2]])


def room(n):
    return lines.Points(*np.full((2, n), -9), np.full(n, -9, np.int8))


def drawn(points, count):
    return [(int(a), int(b), int(c)) for a, b, c in zip(*(p[:count] for p in points), strict=True)]


def candidates(x, y, breaks=(), held=0, wide=1.0, near=0.0):
    points = room(3 * len(x) + 3)
    count = lines.candidates(np.array(x, float), np.array(y, float), np.array(breaks, int), held, wide,
                             near, points)  # fmt: skip
    assert (points.across[count:] == -9).all()
    return drawn(points, count)


def test_the_pen_is_lifted_where_a_curve_jumps_or_is_none():
    nan = np.nan
    plainly = [(0, 0, 1), (1, 1, 0), (2, 2, 0), (3, 3, 0)]
    x, y = [0, 1, 2, 3], [0, 0, 5, 5]
    assert candidates(x, y) == plainly
    assert candidates(x, y, [2]) == [(0, 0, 1), (1, 1, 0), (2, 2, 1), (3, 3, 0)]
    assert candidates(x, y, [2], wide=6) == plainly  # no jump that is seen
    assert candidates(x, [0, 0, 0.5, 0.5], [2]) == plainly
    assert candidates([0, 1, 5, 6], [0] * 4, [2]) == [(0, 0, 1), (1, 1, 0), (2, 2, 1), (3, 3, 0)]
    assert candidates([0, 1, 5, 6], [0] * 4, [2], held=1) == plainly  # a value that lasts
    assert candidates(x, y, [2], held=1) == [(0, 0, 1), (1, 1, 0), (2, 1, 0), (2, 2, 1), (3, 3, 0)]
    assert candidates([0, 1, 1, 2], y, [2], held=1) == [(0, 0, 1), (1, 1, 0), (2, 2, 1), (3, 3, 0)]
    assert candidates(x, y, [0, 3]) == plainly
    assert candidates(x, [0, nan, 5, 5]) == [(0, 0, 1), (2, 2, 1), (3, 3, 0)]
    assert candidates([0, 1, np.inf, 3], y) == [(0, 0, 1), (1, 1, 0), (3, 3, 1)]
    assert candidates([0, 1, nan, 3], y, [2], held=1) == [(0, 0, 1), (1, 1, 0), (3, 3, 1)]
    assert candidates(x, [0, nan, 5, 5], [2], held=1) == [(0, 0, 1), (2, 2, 1), (3, 3, 0)]
    assert candidates([], []) == []


def test_what_follows_near_is_left_out_but_the_last_of_its_part():
    x, zero = np.arange(6) * 0.5, np.zeros(6)
    assert candidates(x, zero, near=1.25) == [(0, 0, 1), (3, 3, 0), (5, 5, 0)]
    assert candidates(zero, x, near=1.25) == [(0, 0, 1), (3, 3, 0), (5, 5, 0)]
    assert candidates(x, zero, near=0.5) == [(k, k, int(k == 0)) for k in range(6)]
    assert candidates(x, [0, 0, 0, 0, 9, 9], [4], near=1.25) == [
        (0, 0, 1), (3, 3, 0), (4, 4, 1), (5, 5, 0)]  # fmt: skip
    assert candidates(x, [0, 0, 0, 9, 9, 9], [3], near=1.25) == [
        (0, 0, 1), (2, 2, 0), (3, 3, 1), (5, 5, 0)]  # fmt: skip
    assert candidates(x, [0, 0, np.nan, 0, 0, 0], near=1.25) == [
        (0, 0, 1), (1, 1, 0), (3, 3, 1), (5, 5, 0)]  # fmt: skip


def extremes(y, starts, breaks=(), late=()):
    points = room(6 * len(y) + 6)
    count = lines.extremes(np.array(y, float), np.array(starts), np.array(breaks, int),
                           np.array(late, np.int8), points)  # fmt: skip
    return drawn(points, count)


@for_each("seed", range(20))
def test_of_a_column_the_first_the_extremes_and_the_last_are_kept(seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(30).astype(float)
    starts = np.unique([0, *rng.integers(0, 31, 5), 30])
    expected = []
    for a, b in itertools.pairwise(starts):
        part = np.arange(a, b)
        rows = {a, part[y[a:b].argmin()], part[y[a:b].argmax()], b - 1}
        expected += [(int(k), int(k), int(k == 0)) for k in sorted(rows)]
    assert extremes(y, starts) == expected
    assert extremes(y, [0, 10, 10, 30]) == extremes(y, [0, 10, 30])


def test_a_curve_in_columns_begins_anew_where_it_jumps():
    nan, y = np.nan, [3, 1, 5, 2, 8, 6, 9, 7]
    whole = [(0, 0, 1), (1, 1, 0), (6, 6, 0), (7, 7, 0)]
    assert extremes(y, [0, 8]) == whole
    two = [(0, 0, 1), (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 1), (5, 5, 0), (6, 6, 0), (7, 7, 0)]
    assert extremes(y, [0, 8], [4], [0]) == two
    held = [*two[:4], (4, 3, 0), *two[4:]]  # the value before lasts up to the row that jumps
    assert extremes(y, [0, 8], [4], [1]) == [held[0], held[1], held[2], held[4], *held[5:]]
    assert extremes(y, [0, 4, 8], [4], [1]) == [*two[:4], (4, 3, 0), *two[4:]]
    assert extremes([3, nan, 5, 2], [0, 4]) == [(0, 0, 1), (2, 2, 1), (3, 3, 0)]
    assert extremes([nan, nan, 5, 2], [0, 2, 4]) == [(2, 2, 1), (3, 3, 0)]
    assert extremes([nan, 4, 5, 2], [0, 4], [1], [1]) == [(1, 1, 1), (2, 2, 0), (3, 3, 0)]
    assert extremes([], [0]) == []
    flat = extremes([4.0] * 5, [0, 5])
    assert flat == [(0, 0, 1), (4, 4, 0)]


def test_a_column_with_very_many_jumps_is_drawn_through():
    n = 3 * lines._PARTS
    y = np.tile([0.0, 1.0, 0.5], n // 3)
    breaks = np.arange(3, n, 3)
    got = extremes(y, [0, n], breaks, np.zeros(len(breaks)))
    assert sum(lift for _, _, lift in got) == lines._PARTS
    got = extremes(np.tile(y, 2), [0, 2 * n], np.arange(3, 2 * n, 3), np.zeros(2 * n // 3))
    assert sum(lift for _, _, lift in got) == lines._PARTS + 1
    assert len(got) <= 4 * (lines._PARTS + 1)
    assert got[-1][0] == 2 * n - 1


# ---------------------------------------------------------------- the points of one curve


def chosen(x, y, rows, gaps=(), size=100.0, t=None, over_time=False):
    """Return a curve of which some rows are shown, with gaps before some of these."""
    x, y = np.array(x, float), np.array(y, float)
    one = object.__new__(curves._Chosen)
    one.x, one.y, one.t = x, y, x if t is None else np.array(t, float)
    one.box = curves.Box(curves.Axis(0.0, 10.0, size), curves.Axis(0.0, 10.0, size), over_time)
    one.all = np.arange(len(x)), np.arange(len(x)), np.zeros(len(x), np.int8)
    one.all[2][[0, *gaps]] = 1
    one.across = one.up = np.array(rows)
    one.lift = np.isin(one.across, [0, *gaps]).astype(np.int8)
    one.px, one.py = one.box.x.pixels(x), one.box.y.pixels(y)
    return one


@for_each(("gaps", "wanted"), [((), [0, 1, 3, 4]), ((3,), [0, 1, None, 3, 4]), ((1, 3), [0, None, 1, None, 3, 4]), ((2,), [0, 1, 3, 4])])  # fmt: skip
def test_a_gap_is_no_value_before_the_point_behind_it(gaps, wanted):
    """But its time goes on; of other curves x has no value there either."""
    x, y, t = np.arange(5.0), np.arange(5.0) ** 2, 10 * np.arange(5.0)
    for own in (None, t):
        one = chosen(x, y, [0, 1, 3, 4], gaps, t=own)
        across, up, times = one.points(curves.Shared(), np.float64)
        later = [one.t[k if k is not None else wanted[n + 1]] for n, k in enumerate(wanted)]
        assert times.tolist() == later
        np.testing.assert_array_equal(up, [np.nan if k is None else y[k] for k in wanted])
        if own is None:
            assert across.tolist() == later
        else:
            np.testing.assert_array_equal(across, [np.nan if k is None else x[k] for k in wanted])
    none = chosen(x, y, np.zeros(0, int))
    assert [part.tolist() for part in none.points(curves.Shared(), np.float32)] == [curves.OFF[0].tolist(), curves.OFF[1].tolist(), curves.OFF[0].tolist()]  # fmt: skip


@for_each(("since", "rows"), [(-1.0, [0, 2, 4]), (0.0, [0, 2, 4]), (0.5, [1, 2, 4]), (2.0, [2, 4]), (2.5, [3, 4]), (4.0, [4]), (9.0, [])])  # fmt: skip
def test_a_curve_that_is_cut_begins_at_its_first_later_point(since, rows):
    one = chosen(np.arange(5.0), np.arange(5.0), [0, 2, 4])
    one.cut(since)
    assert one.across.tolist() == one.up.tolist() == rows
    assert len(one.lift) == len(rows)


@for_each(("y", "gap", "told"), [
    ([0, 5, 0, 5, 0, 5, 0, 5], 4, True), ([0, 1, 0, 1, 8, 9, 8, 9], 4, False), ([0, 1, 0, 1, 1.01, 0, 1, 0], 4, True), ([0, 5, 0, 5, 0.2, 0.3, 0.2, 0.3], 4, True), ([0, 0.1, 0, 0.1, 3, 4, 3, 4], 4, False),
])  # fmt: skip
def test_a_gap_is_not_seen_where_the_curve_beside_it_covers_it(y, gap, told):
    """Curves that go up and down within a pixel from left to right; a pixel is 0.1 high."""
    one = chosen(5 + 1e-4 * np.arange(8.0), y, range(8), (gap,))
    assert one._crowded == told
    if told and abs(y[gap] - y[gap - 1]) > 0.2:
        wide = chosen(0.5 * np.arange(8.0), y, range(8), (gap,))
        assert not wide._crowded
