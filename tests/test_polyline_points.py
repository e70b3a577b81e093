"""Points of curves that are drawn, uncompiled: small curves, each with what is kept of it."""

from __future__ import annotations

import itertools
import math

import numpy as np
from loops import for_each
from plain import plain

lines = plain("drawing.polyline")
NAN = math.nan


def written(count, points):
    return [tuple(int(one[k]) for one in points) for k in range(count)]


def room(n):
    return lines.Points(*np.full((2, n), -9), np.full(n, -9, np.int8))


def candidates(x, y, breaks=(), held=0, wide=1.0, near=0.0):
    points = room(3 * len(x) + 3)
    count = lines.candidates(np.array(x, float), np.array(y, float), np.array(breaks, int), held, wide, near, points)  # fmt: skip
    assert (points.across[count:] == -9).all()
    return written(count, points)


def extremes(y, starts, breaks=(), late=()):
    points = room(4 * len(y) + 9)
    count = lines.extremes(np.array(y, float), np.array(starts), np.array(breaks, int), np.array(late, np.int8), points)  # fmt: skip
    return written(count, points)


def thinned(x, y, lift=None, tolerance=0.5, reach=math.inf, turn=math.inf):
    kept = np.zeros(len(x), np.int8)
    lift = np.zeros(len(x), np.int8) if lift is None else np.array(lift, np.int8)
    many = lines.thin(np.array(x, float), np.array(y, float), lift, tolerance, reach, turn, kept)
    assert many == kept.sum()
    return np.flatnonzero(kept).tolist()


# ---------------------------------------------------------------- what is left out, or begins anew


@for_each(("x", "y", "given", "told"), [
    ([0, 1, 2], [0, 0, 0], {}, [(0, 0, 1), (1, 1, 0), (2, 2, 0)]), ([0, 1, 2], [0, NAN, 0], {}, [(0, 0, 1), (2, 2, 1)]), ([NAN, 1, 2], [0, 0, 0], {}, [(1, 1, 1), (2, 2, 0)]), ([0, 1], [0, 5], {"breaks": [1]}, [(0, 0, 1), (1, 1, 1)]),
    ([0, 1], [0, 1], {"breaks": [1], "held": 1}, [(0, 0, 1), (1, 1, 0)]), ([0, 1], [0, 1.5], {"breaks": [1], "held": 1}, [(0, 0, 1), (1, 0, 0), (1, 1, 1)]), ([0, 1], [0, 1], {"breaks": [1]}, [(0, 0, 1), (1, 1, 0)]), ([0, 2], [0, 0], {"breaks": [1]}, [(0, 0, 1), (1, 1, 1)]),
    ([0, 2], [0, 0], {"breaks": [1], "held": 1}, [(0, 0, 1), (1, 1, 0)]), ([1, 1], [0, 5], {"breaks": [1], "held": 1}, [(0, 0, 1), (1, 1, 1)]), ([0, 1, 2], [0, 0, 5], {"breaks": [0, 2]}, [(0, 0, 1), (1, 1, 0), (2, 2, 1)]), ([0, 9, 9], [0, 9, 9], {"breaks": [2]}, [(0, 0, 1), (1, 1, 0), (2, 2, 0)]),
    ([0, 1, 2], [0, NAN, 5], {"breaks": [2], "held": 1}, [(0, 0, 1), (2, 2, 1)]), ([0, 1, 2], [NAN, 0, 5], {"breaks": [2], "held": 1}, [(1, 1, 1), (2, 1, 0), (2, 2, 1)]), ([0, 1, 2, 3], [0, 0, 5, 9], {"breaks": [1, 1, 3]}, [(0, 0, 1), (1, 1, 0), (2, 2, 0), (3, 3, 1)]),
])  # fmt: skip
def test_a_line_is_lifted_where_it_has_no_value_or_jumps_far(x, y, given, told):
    assert candidates(x, y, **given) == told


@for_each(("x", "y", "given", "told"), [
    ([0, 0.1, 0.2, 5], [0] * 4, {}, [0, 3]), ([0, 0.1, 0.2], [0] * 3, {}, [0, 2]), ([0, 0.1, NAN, 5], [0] * 4, {}, [0, 1, 3]), ([0, 0.5, 1.0], [0] * 3, {}, [0, 1, 2]), ([0, 0.4, 0.8], [0] * 3, {}, [0, 2]), ([0, 0, 0], [0, 0.3, 0.6], {}, [0, 2]),
    ([0, 0.3, 0.3], [0, 0.3, 0.45], {}, [0, 2]), ([0.9, 1.0, 1.1, 9], [0.9, 1.0, 1.1, 9], {}, [0, 3]), ([0.9, 1.0], [1.0, 1.0], {}, [0, 1]), ([0, 0.1, 0.2, 0.3], [0, 0, 9, 9], {"breaks": [2]}, [0, 1, 2, 3]), ([0, 9, 9.1, 9.2, 20], [0] * 5, {}, [0, 1, 4]),
    ([0.1, 0.2, NAN, 0.3, 0.35, NAN, 0.4], [0] * 7, {}, [0, 1, 3, 4, 6]),
])  # fmt: skip
def test_what_follows_near_is_left_out_but_the_last(x, y, given, told):
    """Nearer than half a pixel, that not included."""
    found = candidates(x, y, near=0.5, **given)
    assert [one[0] for one in found] == told
    lifts = [k for k, (i, _, lift) in enumerate(found) if lift]
    begins = {0, *(k for k, (i, _, _) in enumerate(found) if i > 0 and (math.isnan(x[i - 1]) or i in given.get("breaks", ())))}  # fmt: skip
    assert set(lifts) == begins


# ---------------------------------------------------------------- what a column holds


@for_each(("y", "told"), [
    ([3, 1, 5, 2], [0, 1, 2, 3]), ([3, 5, 1, 2], [0, 1, 2, 3]), ([1, 5, 2], [0, 1, 2]), ([5, 1, 2], [0, 1, 2]), ([1, 2, 3], [0, 2]), ([3, 2, 1], [0, 2]), ([2, 2, 2], [0, 2]), ([2, 1, 1, 2], [0, 1, 3]), ([2, 3, 3, 2], [0, 1, 3]), ([7], [0]), ([4, 1, 9, 1, 9, 5], [0, 1, 2, 5]),
    ([2, 1, 2, 1, 3, 3, 2], [0, 1, 4, 6]), ([NAN, 2, 1, 2], [1, 2, 3]), ([2, 1, 2, NAN], [0, 1, 2]), ([NAN, NAN], []),
])  # fmt: skip
def test_of_one_column_the_first_extremes_are_kept_in_their_order(y, told):
    found = extremes(y, [0, len(y)])
    assert [one[:2] for one in found] == [(k, k) for k in told]
    assert [one[2] for one in found] == [1, *[0] * (len(told) - 1)][: len(told)]


@for_each(("y", "starts", "given", "told"), [
    ([1, 2, 3, 4], [0, 2, 4], {}, [(0, 0, 1), (1, 1, 0), (2, 2, 0), (3, 3, 0)]), ([1, 2, 3, 4], [0, 0, 4, 4], {}, [(0, 0, 1), (3, 3, 0)]), ([1, 2, 9, 8], [0, 4], {"breaks": [2], "late": [0]}, [(0, 0, 1), (1, 1, 0), (2, 2, 1), (3, 3, 0)]),
    ([1, 2, 9, 8], [0, 4], {"breaks": [2], "late": [1]}, [(0, 0, 1), (1, 1, 0), (2, 1, 0), (2, 2, 1), (3, 3, 0)]), ([1, 2, 9, 8], [0, 2, 4], {"breaks": [2], "late": [1]}, [(0, 0, 1), (1, 1, 0), (2, 1, 0), (2, 2, 1), (3, 3, 0)]),
    ([1, NAN, 9, 8], [0, 2, 4], {"breaks": [2], "late": [1]}, [(0, 0, 1), (2, 2, 1), (3, 3, 0)]), ([1, 2, NAN, 4, 5], [0, 5], {}, [(0, 0, 1), (1, 1, 0), (3, 3, 1), (4, 4, 0)]), ([5, 2, 1, NAN], [0, 2, 4], {}, [(0, 0, 1), (1, 1, 0), (2, 2, 0)]),
    ([1, 2, NAN, 4], [0, 3, 4], {}, [(0, 0, 1), (1, 1, 0), (3, 3, 1)]), ([0, 5, 1, 7, 2], [0, 1, 5], {"breaks": [1], "late": [1]}, [(0, 0, 1), (1, 0, 0), (1, 1, 1), (2, 2, 0), (3, 3, 0), (4, 4, 0)]),
])  # fmt: skip
def test_a_curve_in_columns_is_lifted_where_it_breaks(y, starts, given, told):
    assert extremes(y, starts, **given) == told


@for_each(("values", "told"), [
    ([(0.5, 1.0)], [[1, 1], [NAN, NAN]]), ([(0.2, 1.0), (0.8, 3.0)], [[1, 3], [NAN, NAN]]), ([(0.2, 3.0), (0.8, 1.0)], [[3, 1], [NAN, NAN]]), ([(0.2, 1.0), (0.4, 3.0), (0.6, 1.0)], [[1, 3], [NAN, NAN]]), ([(0.2, 2.0), (0.4, 3.0), (0.6, 1.0)], [[3, 1], [NAN, NAN]]),
    ([(0.5, 0.0), (1.5, 4.0)], [[0, 2], [2, 4]]), ([(-3.0, 7.0)], [[7, 7], [NAN, NAN]]), ([(5.0, 7.0)], [[NAN, NAN], [7, 7]]), ([(0.5, 4.0), (1.5, 0.0)], [[4, 2], [2, 0]]), ([(0.2, 3.0), (0.4, 3.0), (0.6, 1.0), (0.8, 1.0)], [[3, 1], [NAN, NAN]]),
    ([(0.2, 1.0), (0.4, 3.0), (0.6, 2.0), (0.8, 3.0), (0.9, 1.0)], [[1, 3], [NAN, NAN]]), ([(0.5, 0.0), (0.75, -1.0), (1.75, 3.0)], [[0, -1], [0, 3]]), ([(0.5, 1.0), (9.5, 10.0)], [[1, 1.5], [1.5, 10.0]]),
])  # fmt: skip
def test_an_envelope_has_the_extremes_in_the_order_they_are_met(values, told):
    x, y = np.array(values).T
    ends = np.zeros((2, 2))
    lines.envelope(x, y, np.zeros(len(x), np.int8), ends)
    np.testing.assert_allclose(ends, told)


# ---------------------------------------------------------------- which of them are drawn


@for_each(("x", "y", "given", "told"), [
    ([0, 1, 2, 3], [0] * 4, {}, [0, 3]), ([0, 1, 2, 3], [0, 0, 0, 5], {}, [0, 2, 3]), ([0, 5, 10], [0, 0.5, 0], {}, [0, 2]), ([0, 5, 10], [0, 0.51, 0], {}, [0, 1, 2]), ([0], [0], {}, [0]), ([0, 1], [0, 0], {}, [0, 1]), ([0, 0, 0, 9], [0] * 4, {}, [0, 3]),
    ([0, 1, 2, 3], [0] * 4, {"lift": [0, 0, 1, 0]}, [0, 1, 2, 3]), ([0, 1, 2, 3, 4, 5], [0] * 6, {"lift": [1, 0, 0, 1, 0, 0]}, [0, 2, 3, 5]), ([0, 1, 2], [0] * 3, {"lift": [0, 1, 0]}, [0, 1, 2]), ([0, 1, 2], [0] * 3, {"lift": [0, 1, 1]}, [0, 1, 2]),
    ([0, 2, 4, 6, 8], [0] * 5, {"reach": 4.0}, [0, 2, 4]), ([0, 2, 4, 6, 8], [0] * 5, {"reach": 3.9}, [0, 1, 2, 3, 4]), ([0, 9, 18], [0] * 3, {"reach": 4.0}, [0, 1, 2]), ([0, -2, -4, -6], [0] * 4, {"reach": 4.0}, [0, 2, 3]), ([0, 2, 4], [0, 0, 0], {"reach": 4.0}, [0, 2]),
    ([0, 5, 4.6, 9], [0] * 4, {}, [0, 3]), ([0, 5, 4.5, 9], [0] * 4, {}, [0, 3]), ([0, 5, 4.4, 9], [0] * 4, {}, [0, 1, 2, 3]), ([0, 5, 2, 9], [0] * 4, {}, [0, 1, 2, 3]), ([0, 0.4, 0, 0.3], [0] * 4, {}, [0, 3]), ([0, 5, 0.2], [0] * 3, {}, [0, 1, 2]),
    ([0, 10, 10, 10], [0, 0, 5, 10], {}, [0, 1, 3]), ([0, 0, 0], [0, 5, 10], {}, [0, 2]), ([0, -5, -10, -15], [0, 0.2, -0.2, 0], {}, [0, 3]), ([1, 2, 3, 4], [1, 2, 3, 4], {}, [0, 3]), ([7, 8, 9, 8], [0, 0, 0, 9], {}, [0, 2, 3]),
])  # fmt: skip
def test_of_a_small_curve_those_points_are_drawn(x, y, given, told):
    """Within half a pixel of its lines; no line goes back, or further than it may reach."""
    assert thinned(x, y, **given) == told
    if "reach" not in given:
        assert thinned(y, x, **given) == told


@for_each(("turn", "told"), [(0.79, [0, 2, 3, 4]), (1.6, [0, 3, 4]), (0.7, [0, 1, 2, 3, 4]), (9.0, [0, 4]), (2.4, [0, 4])])  # fmt: skip
def test_a_line_that_turns_is_broken(turn, told):
    """By an eighth of a turn at each corner; what it turned where it begins counts too."""
    angles = np.pi / 4 * np.arange(4)
    x, y = (np.append(0.0, np.cumsum(3 * f(angles))) for f in (np.cos, np.sin))
    assert thinned(x, y, tolerance=99.0, turn=turn) == told
    again = np.repeat([x, y], 2, axis=1)  # each point twice turns no more
    found = thinned(*again, tolerance=99.0, turn=turn)
    assert [k // 2 for k in found] == told


def test_short_lines_may_turn():
    """Up to two pixels from their start."""
    for size, told in ((0.9, [0, 4]), (2.1, [0, 1, 2, 3, 4])):
        angles = np.pi / 2 * np.arange(4)
        x, y = (np.append(0.0, np.cumsum(size * f(angles))) for f in (np.cos, np.sin))
        assert thinned(x, y, tolerance=99.0, turn=0.5) == told


def test_angles_of_a_turn_are_counted_the_short_way():
    for begin in (3.0, -3.0, 0.0):
        angles = begin + 0.2 * np.arange(5)
        x, y = (np.append(0.0, np.cumsum(3 * f(angles))) for f in (np.cos, np.sin))
        assert thinned(x, y, tolerance=99.0, turn=0.5) == [0, 3, 5]
        assert thinned(x, -y, tolerance=99.0, turn=0.5) == [0, 3, 5]


@for_each(("low", "high"), list(itertools.permutations((0, 1, 2), 2)))
def test_a_part_is_written_in_its_order_and_nothing_twice(low, high):
    points = room(9)
    part = lines.Part(0, 0, low, low, high, high, 2, 2)
    points.lift[0] = 1
    count = lines._flush(part, points, 0)
    wanted = [0, *(k for k in sorted({low, high}) if k > 0), 2]
    assert [one[0] for one in written(count, points)] == [k for k, _ in itertools.groupby(wanted)]
    same = lines.Part(0, 0, 1, 1, 1, 0, 2, 2)  # at one row a jump: the value before, then behind
    points.lift[0] = 1
    count = lines._flush(same, points, 0)
    assert [one[:2] for one in written(count, points)] == [(0, 0), (1, 0), (1, 1), (2, 2)]


def test_a_tolerance_reaches_as_far_as_points_allow():
    """Each within it of one line, though a straight one from the first could not pass them all."""
    x = np.arange(0.0, 50.0, 5.0)
    wave = 0.3 * (-1.0) ** np.arange(10)
    assert thinned(x, 3 * wave) == [*range(10)]
    assert thinned(x, np.where(x > 20, 0.4, 0.0)) == [0, 9]
