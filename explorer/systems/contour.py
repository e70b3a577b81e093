"""Where a function over a rectangle is positive: closed polygons, by marching squares.

(Lorensen and Cline 1987, in two dimensions; at a saddle the mean of the four corners decides.)
"""

from __future__ import annotations

import itertools

import numpy as np

__all__ = ["areas", "outlines"]


def areas(x: np.ndarray, y: np.ndarray, g: np.ndarray) -> list[np.ndarray]:
    """Return the closed polygons, each (k, 2), that together bound g > 0.

    Holes turn the other way round: the even-odd rule and the nonzero rule fill the same.

    Parameters
    ----------
    x, y : (n,), (m,)
        Increasing coordinates of the grid.
    g : (m, n)
        Values of the function; where one is not finite it counts as negative.
    """
    # a rim of negative values, of no width, closes what reaches the border
    values = np.pad(np.where(np.isfinite(g), g, -1.0), 1, constant_values=-1.0)
    x, y = (np.concatenate([a[:1], a, a[-1:]]) for a in (x, y))
    inside = values > 0
    flat, steep = inside[:, 1:] != inside[:, :-1], inside[1:] != inside[:-1]  # edges that are cut
    number_flat = np.where(flat, np.cumsum(flat).reshape(flat.shape) - 1, -1)
    count = int(flat.sum())
    number_steep = np.where(steep, count + np.cumsum(steep).reshape(steep.shape) - 1, -1)
    i, j = np.nonzero(flat)
    part = values[i, j] / (values[i, j] - values[i, j + 1])
    points = [np.column_stack([x[j] + part * (x[j + 1] - x[j]), y[i]])]
    i, j = np.nonzero(steep)
    part = values[i, j] / (values[i, j] - values[i + 1, j])
    points.append(np.column_stack([x[j], y[i] + part * (y[i + 1] - y[i])]))
    # of each cell the cut edges: below, right, above, left
    cut = np.stack(
        [number_flat[:-1], number_steep[:, 1:], number_flat[1:], number_steep[:, :-1]], axis=-1
    )
    cells = cut.reshape(-1, 4)
    many = (cells >= 0).sum(axis=1)
    pairs = [cells[many == 2][cells[many == 2] >= 0].reshape(-1, 2)]
    if (many == 4).any():
        full = inside[:-1, :-1].ravel()[many == 4]
        sums = values[:-1, :-1] + values[1:, :-1] + values[:-1, 1:] + values[1:, 1:]
        turned = (sums.ravel()[many == 4] > 0) == full  # then the corners inside are joined
        saddles = cells[many == 4]
        left = np.where(turned[:, None], saddles[:, [0, 1]], saddles[:, [0, 3]])
        right = np.where(turned[:, None], saddles[:, [2, 3]], saddles[:, [1, 2]])
        pairs += [left, right]
    return _loops(np.concatenate(points), np.concatenate(pairs))


def _loops(points: np.ndarray, pairs: np.ndarray) -> list[np.ndarray]:
    """Chain segments, two of which meet in each point, to closed polygons without idle points."""
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    both = ends[np.argsort(ends[:, 0], kind="stable"), 1].reshape(-1, 2).tolist()
    left, found = set(range(len(points))), []
    scale = np.ptp(points, axis=0) if len(points) else np.ones(2)
    scale[scale == 0] = 1.0
    while left:
        first = here = next(iter(left))
        before, loop = -1, []
        while True:
            loop.append(here)
            left.discard(here)
            a, b = both[here]
            before, here = here, b if a == before else a
            if here == first:
                break
        polygon = points[loop]
        unit = polygon / scale
        apart = np.abs(unit - np.roll(unit, 1, axis=0)).max(axis=1) > 1e-12
        polygon, unit = polygon[apart], unit[apart]
        along, back = np.roll(unit, -1, axis=0) - unit, unit - np.roll(unit, 1, axis=0)
        bend = np.abs(along[:, 0] * back[:, 1] - along[:, 1] * back[:, 0])
        polygon = polygon[bend > 1e-12]
        if len(polygon) > 2:
            found.append(polygon)
    deep = [sum(_holds(other, p[0]) for other in found if other is not p) for p in found]
    return [
        p if (_area(p) > 0) == (depth % 2 == 0) else p[::-1]
        for p, depth in zip(found, deep, strict=True)
    ]


def _area(polygon: np.ndarray) -> float:
    x, y = (polygon - polygon[0]).T
    return float(0.5 * (x * np.roll(y, -1) - np.roll(x, -1) * y).sum())


def _holds(polygon: np.ndarray, point: np.ndarray) -> bool:
    """Tell whether a point lies inside: a ray from it meets the border an odd number of times."""
    (x, y), (x_next, y_next) = polygon.T, np.roll(polygon, -1, axis=0).T
    passes = (y > point[1]) != (y_next > point[1])
    at = x + (point[1] - y) / np.where(passes, y_next - y, 1.0) * (x_next - x)
    return bool(np.count_nonzero(passes & (at > point[0])) % 2)


def outlines(
    polygons: list[np.ndarray], x: tuple[float, float], y: tuple[float, float]
) -> list[np.ndarray]:
    """Return the stretches of polygons, each (k, 2), that do not run along the border."""
    found = []
    for polygon in polygons:
        closed = np.concatenate([polygon, polygon[:1]])
        rim = np.zeros(len(polygon), bool)
        for axis, limits in enumerate((x, y)):
            slack = 1e-9 * (limits[1] - limits[0])
            for limit in limits:
                on = np.abs(closed[:, axis] - limit) <= slack
                rim |= on[1:] & on[:-1]
        if rim.any():  # begin behind a stretch of border
            turn = int(np.flatnonzero(rim)[-1]) + 1
            closed = np.concatenate([np.roll(polygon, -turn, axis=0)] * 2)[: len(polygon) + 1]
            rim = np.roll(rim, -turn)
        cuts = [-1, *np.flatnonzero(rim).tolist(), len(polygon)]
        found += [closed[a + 1 : b + 1] for a, b in itertools.pairwise(cuts) if b - a > 1]
    return found
