"""How far a drawn polyline is from the curve it stands for, in pixels; knows nothing of views.

Both are painted on a raster of half a pixel; the distance of each from the other (Hausdorff's) is
read from distance transforms. Within one cell, 0.71 px, the figure is uncertain.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt

CELL = 0.5  # px
EDGE = 6  # px
NEAR = 0.8  # px, of a jump: what a line through it cannot avoid


def numbers(part: dict, buffers: list) -> np.ndarray:
    """Return what the browser makes of an array that was sent."""
    raw, kind = buffers[part["buf"]], part.get("kind", "f4")
    if kind != "u2":
        return np.frombuffer(raw, f"<{kind}")
    (low, high), parts = np.frombuffer(raw[:8], "<f4"), np.frombuffer(raw[8:], "<u2")
    return np.where(parts == 65535, np.nan, low + parts * (float(high) - low) / 65534)


def painted(x, y, size) -> np.ndarray:
    """Return the raster of a polyline in pixels; NaN lifts the pen."""
    wide, tall = (int(np.ceil((s + 2 * EDGE) / CELL)) for s in size)
    raster = np.zeros((tall, wide), bool)
    ends = np.stack([x, y], axis=1)
    ends = np.clip(ends, -1e4, 1e4)
    begin, step = ends[:-1], np.diff(ends, axis=0)
    whole = np.isfinite(step).all(axis=1)
    begin, step = begin[whole], step[whole]
    count = np.ceil(np.abs(step).max(axis=1, initial=0) / (0.7 * CELL)).astype(int) + 1
    of = np.repeat(np.arange(len(count)), count)
    k = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    at = begin[of] + step[of] * (k / np.maximum(count[of] - 1, 1))[:, None]
    lone = ends[np.isfinite(ends).all(axis=1)]
    i, j = np.floor((np.concatenate([at, lone]) + EDGE) / CELL).astype(int).T
    inside = (i >= 0) & (i < wide) & (j >= 0) & (j < tall)
    raster[j[inside], i[inside]] = True
    return raster


def apart(drawn, true, size) -> float:
    """Return how far the farthest point of either polyline is from the other, in px."""
    one, other = painted(*drawn, size), painted(*true, size)
    if not one.any() or not other.any():
        return 0.0 if one.any() == other.any() else np.inf
    far = max(distance_transform_edt(~b)[a].max() for a, b in ((one, other), (other, one)))
    return float(far) * CELL


def dense(solution, points: int = 40_000):
    """Return t, q, v (x, x') of a run with gaps at its jumps: from its own record.

    Of a run that locates its events states are sampled evenly and on both sides of each event.
    """
    march = getattr(solution, "march", None)
    if march is None:
        t, q, jumps = solution.t, solution.q, solution.jump_rows
        v = solution.v if solution.has_velocities else np.zeros((len(t), 0))
        if not v.shape[1]:
            v = solution.rates
        at = np.insert(np.arange(len(t)), jumps, jumps)  # the velocity lasts up to its jump
        before = at.copy()
        before[jumps + np.arange(len(jumps))] -= 1
        gaps = jumps + np.arange(len(jumps)) + 1
        return (np.insert(t[at], gaps, np.nan), np.insert(q[at], gaps, q[jumps], axis=0),
                np.insert(v[before], gaps, np.nan, axis=0))  # fmt: skip
    events = sorted({e.t: (e.x_minus, e.x_plus) for e in solution.events}.items())
    first = {e.t: e.x_minus for e in reversed(solution.events)}
    n = solution.x.shape[1]
    t = np.linspace(0, solution.t[-1], points)
    t = np.unique(np.concatenate([t, solution.t]))
    t = t[~np.isin(t, [e for e, _ in events])]
    x = march.sample(t, exact=False)[0][:, :n]
    place = np.repeat(np.searchsorted(t, [e for e, _ in events]), 3)
    if events:
        sides = [s for e, (_, after) in events for s in (first[e], np.full(n, np.nan), after)]
        t = np.insert(t, place, np.repeat([e for e, _ in events], 3))
        x = np.insert(x, place, sides, axis=0)
    if solution.has_velocities:
        half = solution.q.shape[1]
        return t, x[:, :half], x[:, half:]
    return t, x, None


def pixels(picture, trace, x, y, width, height):
    """Return a curve in the pixels of a trace's plot, and the size of that plot."""
    margin, at, size = picture.layout["margin"], [], []
    for name, values, whole in (
        (trace["xaxis"], x, width - margin["l"] - margin["r"]),
        (trace["yaxis"], y, height - margin["t"] - margin["b"]),
    ):
        axis = picture.layout[f"{name[0]}axis{name[1:]}"]
        low, high = axis["range"]
        share = np.subtract(*axis.get("domain", (0, 1))[::-1])
        size.append(share * whole)
        at.append((np.asarray(values, float) - low) / (high - low) * size[-1])
    return at, size


def crossed(drawn, true, jumps, reach: float = 1.5, most: int = 200) -> list[int]:
    """Return the jumps of a curve that a drawn line runs through, in what the curve leaves open.

    `drawn` and `true` are x and y in pixels, from left to right; the value before a jump lasts up
    to it. What the curve itself covers within `reach` of a jump is not open. Of very many jumps the largest are looked at.
    """
    (dx, dy), (x, y) = drawn, true
    starts = np.array(sorted({0, *jumps.tolist()}))
    ends, found = np.append(starts[1:], len(x)), []
    lasts = x[ends - 1]
    largest = jumps[np.argsort(-np.abs(y[jumps] - y[jumps - 1]))[:most]]
    for i in largest:
        low, high = sorted((y[i - 1], y[i]))
        if not high - low > reach:
            continue
        left, right = x[i] - reach, x[i] + reach
        covered = []
        for k in range(np.searchsorted(lasts, left), len(starts)):
            a, b = starts[k], ends[k]
            if x[a] > right:
                break
            until = x[b] if b < len(x) else x[b - 1]
            part = np.append(x[a:b], until), np.append(y[a:b], y[b - 1])
            inside = (part[0] >= left) & (part[0] <= right)
            ys = [*part[1][inside], *np.interp(np.clip([left, right], x[a], until), *part)]
            covered.append((np.nanmin(ys) - reach, np.nanmax(ys) + reach))
        level, room = low, (0.0, 0.0)  # the largest opening: its size, its middle
        for bottom, top in [*sorted(covered), (high, high)]:
            if bottom > level:
                room = max(room, (min(bottom, high) - level, (min(bottom, high) + level) / 2))
            level = max(level, top)
            if level >= high:
                break
        first, after = np.searchsorted(dx, [left, right])
        k = np.arange(max(first - 1, 0), min(after + 1, len(dx) - 1))
        if room[0] <= 0 or not len(k):
            continue
        below, above = dy[k] - room[1], dy[k + 1] - room[1]
        with np.errstate(all="ignore"):
            at = dx[k] + (dx[k + 1] - dx[k]) * (below / (below - above))
            if ((below * above < 0) & (np.abs(at - x[i]) < NEAR)).any():
                found.append(int(i))
    return found
