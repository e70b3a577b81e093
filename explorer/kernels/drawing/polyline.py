"""Polylines in pixels: which points of a curve have to be drawn, so that no more are seen.

`extremes` keeps of each pixel column the first, lowest, highest and last point (M4: Jugel et al.
2014, Proc. VLDB Endow. 7(10), 797), `candidates` all that lie apart; `thin` ends a segment where it
would leave the cone of directions that pass every point within a tolerance (Williams 1978, Comput.
Graph. Image Process. 8(2), 286); `envelope` is the range of the curve in each column. All are one
pass over the points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from explorer.kernels.jit import kernel
from explorer.kernels.structures import Flags, Integers, Matrix, Vector

__all__ = ["Points", "candidates", "envelope", "extremes", "thin"]

_PARTS = 40


class Points(NamedTuple):
    """The points of a line; x and y may be of different rows, at a value that lasts."""

    across: Integers  # (k,) rows for x
    up: Integers  # (k,) rows for y
    lift: Flags  # (k,) whether the line begins anew at the point


class Part(NamedTuple):
    """Rows of the part of a curve in a column, for x and for y."""

    first_x: int
    first_y: int
    low_x: int
    low_y: int
    high_x: int
    high_y: int
    last_x: int
    last_y: int


@kernel(inner=True)
def _flush(part: Part, points: Points, count: int) -> int:
    """Write first, lowest and highest in their order, and last; none of them twice."""
    fx, fy, sx, sy, hx, hy, lx, ly = part
    across, up, lift = points
    low_first = sx < hx or (sx == hx and sy <= hy)
    for k in range(4):
        x, y = fx, fy
        if k == 3:
            x, y = lx, ly
        elif (k == 1) == low_first and k > 0:
            x, y = sx, sy
        elif k > 0:
            x, y = hx, hy
        if k > 0:
            if across[count - 1] == x and up[count - 1] == y:
                continue
            lift[count] = 0
        across[count], up[count] = x, y
        count += 1
    return count


@kernel(inline=True)
def _wrapped(angle: float) -> float:
    """Return an angle in (-pi, pi]."""
    return angle - 2 * math.pi * math.ceil((angle - math.pi) / (2 * math.pi))


@kernel(inline=True)
def _widen(ends: Matrix, c: int, y: float) -> None:
    """Let the column hold a value; the extreme that was met last stands second."""
    if math.isnan(ends[c, 0]):
        ends[c, 0] = ends[c, 1] = y
        return
    low, high = min(ends[c, 0], ends[c, 1]), max(ends[c, 0], ends[c, 1])
    if y > high:
        ends[c, 0], ends[c, 1] = low, y
    elif y < low:
        ends[c, 0], ends[c, 1] = high, y


@kernel()
def candidates(
    px: Vector, py: Vector, breaks: Integers, held: int, wide: float, near: float, points: Points
) -> int:
    """Write the points that a line needs; return how many.

    A row in `breaks` begins anew if it jumps by more than `wide` px: `lift` is 1 there. With `held`
    the value before lasts up to it. NaN lifts the pen too. What follows a point within `near` px
    is left out, but for the last of its part.
    """
    across, up, lift = points
    count, b, pen, waits = 0, 0, 1, -1  # waits: the last of what is left out
    lx = ly = 0.0
    for i in range(px.size):
        breaking = False
        while b < breaks.size and breaks[b] <= i:
            breaking = breaks[b] == i and i > 0
            b += 1
        if breaking:
            breaking = abs(py[i] - py[i - 1]) > wide
            breaking = breaking or (not held and abs(px[i] - px[i - 1]) > wide)
        here = math.isfinite(px[i]) and math.isfinite(py[i])
        if waits >= 0 and (breaking or not here):
            across[count], up[count], lift[count] = waits, waits, 0
            count, waits = count + 1, -1
        if breaking:
            if held and px[i] != px[i - 1] and math.isfinite(px[i]) and math.isfinite(py[i - 1]):
                across[count], up[count], lift[count] = i, i - 1, pen
                count += 1
            pen = 1
        if not here:
            pen = 1
        elif not pen and (px[i] - lx) ** 2 + (py[i] - ly) ** 2 < near * near:
            waits = i
        else:
            across[count], up[count], lift[count] = i, i, pen
            count, pen, waits = count + 1, 0, -1
            lx, ly = px[i], py[i]
    if waits >= 0:
        across[count], up[count], lift[count] = waits, waits, 0
        count += 1
    return count


@kernel()
def extremes(y: Vector, starts: Integers, breaks: Integers, late: Flags, points: Points) -> int:
    """Write what a curve from left to right is in columns; return how many points.

    Of each part of it in a column, the rows from ``starts[c]`` to ``starts[c + 1]``, at most four
    points are kept. A row in `breaks` begins anew; where it is `late`, the value before lasts up to
    it. What has more than `_PARTS` in a column is drawn through. NaN lifts the pen too.
    """
    lift = points.lift
    count, b, pen = 0, 0, 1
    for c in range(starts.size - 1):
        i, lifts = starts[c], 0
        fx = fy = lx = ly = sx = sy = hx = hy = -1  # first, last, lowest, highest of the part
        while i < starts[c + 1]:
            if b < breaks.size and breaks[b] == i:
                if late[b] and math.isfinite(y[i - 1]):  # the left limit, where it lasts
                    if fx < 0:
                        fx, fy, sx, sy, hx, hy = i, i - 1, i, i - 1, i, i - 1
                        lift[count], pen = pen, 0
                    lx, ly = i, i - 1  # a value of the part, or its first one
                b += 1
                if lifts < _PARTS:
                    lifts, pen = lifts + 1, 1
            stop = min(starts[c + 1], breaks[b]) if b < breaks.size else starts[c + 1]
            while i < stop:
                if fx < 0 or pen:
                    if not math.isfinite(y[i]):
                        pen, i = 1, i + 1
                        continue
                    if fx >= 0:  # the part before is complete
                        part = Part(fx, fy, sx, sy, hx, hy, lx, ly)
                        count = _flush(part, points, count)
                    fx = sx = hx = fy = sy = hy = i
                    lift[count], pen = pen, 0
                low, high, last = y[sy], y[hy], i - 1
                while i < stop:
                    value = y[i]
                    if not math.isfinite(value):
                        pen = 1
                        break
                    if value < low:
                        low, sx, sy = value, i, i
                    if value > high:
                        high, hx, hy = value, i, i
                    last = i
                    i += 1
                if last >= fx:
                    lx = ly = last
        if fx >= 0:
            count = _flush(Part(fx, fy, sx, sy, hx, hy, lx, ly), points, count)
    return count


@kernel()
def thin(
    px: Vector, py: Vector, lift: Flags, tolerance: float, reach: float, turn: float, kept: Flags
) -> int:
    """Mark the points to draw; return how many.

    Every point lies within `tolerance` px of the lines between those. No line reaches further to
    the side than `reach` px, if the points allow it, and along none that is longer than two pixels
    does the curve turn by more than `turn`.
    """
    n, count, a = px.size, 0, 0
    low = high = reference = far = turned = way = before = 0.0
    known = False
    k = 0
    while k < n:
        if k == 0 or lift[k]:
            if k > 0 and not kept[k - 1]:
                kept[k - 1] = 1
                count += 1
            kept[k], a = 1, k
            count += 1
            known, far, turned, way = False, 0.0, 0.0, math.nan
            k += 1
            continue
        x, y = px[k] - px[a], py[k] - py[a]
        d = math.hypot(x, y)
        fits = d >= far - tolerance
        direction = wide = 0.0
        if d > tolerance:
            wide = math.asin(tolerance / d)
            direction = math.atan2(y, x)
            if known:
                direction = _wrapped(direction - reference)
                fits = fits and low <= direction <= high
        elif known:  # back at the start of the line, which has gone out of it
            fits = False
        if k - 1 > a:
            fits = fits and abs(x) <= reach
        bend = 0.0
        if turn < math.inf:
            sx, sy = px[k] - px[k - 1], py[k] - py[k - 1]
            if sx != 0.0 or sy != 0.0:
                before = math.atan2(sy, sx)
                if not math.isnan(way):
                    bend = abs(_wrapped(before - way))
                if turned + bend > turn and math.hypot(px[k - 1] - px[a], py[k - 1] - py[a]) > 2.0:
                    fits = False
        if not fits and k - 1 > a:
            a = k - 1
            kept[a] = 1
            count += 1
            known, far, turned = False, 0.0, 0.0
            continue
        if turn < math.inf and (px[k] != px[k - 1] or py[k] != py[k - 1]):
            turned, way = turned + bend, before
        if d > tolerance:
            if known:
                low, high = max(low, direction - wide), min(high, direction + wide)
            else:
                reference, low, high, known = direction, -wide, wide, True
        far = max(far, d)
        k += 1
    if n > 0 and not kept[n - 1]:
        kept[n - 1] = 1
        count += 1
    return count


@kernel()
def envelope(px: Vector, values: Vector, lift: Flags, ends: Matrix) -> None:
    """Write the two extremes of the curve in each column of a pixel from 0 on, in their order.

    `ends` (columns, 2) is NaN where there is no curve.
    """
    for c in range(ends.shape[0]):
        ends[c, 0] = ends[c, 1] = math.nan
    for k in range(px.size):
        x, y = px[k], values[k]
        here = min(max(math.floor(x), 0), ends.shape[0] - 1)
        if k > 0 and not lift[k]:  # what the line is at the borders of the columns on its way
            x0, y0 = px[k - 1], values[k - 1]
            first = min(max(math.floor(x0), 0), ends.shape[0] - 1)
            for c in range(first, here):
                border = y0 + (y - y0) * (c + 1 - x0) / (x - x0)
                _widen(ends, c, border)
                _widen(ends, c + 1, border)
        _widen(ends, here, y)
