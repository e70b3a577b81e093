"""A grid whose cells are halved only where their corners differ; the rest is filled."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import scipy

__all__ = ["UNKNOWN", "Grid", "refined"]

UNKNOWN = np.iinfo(np.int64).min


class Grid:
    """The labels of a grid, known at some of its points.

    Attributes
    ----------
    labels : (...) int
        UNKNOWN where nothing is known.
    computed : (...) bool
        Whether a label was computed; others that are known are those of neighbours that agree.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.labels, self.computed = np.full(shape, UNKNOWN), np.zeros(shape, bool)

    def coarse(self, level: int) -> np.ndarray:
        """Return the places of every 2^level-th point of each axis, and the last one, (k,)."""
        wanted = np.zeros(self.labels.shape, bool)
        wanted[np.ix_(*(_knots(n, 2**level) for n in wanted.shape))] = True
        return np.flatnonzero(wanted & ~self.computed)

    def between(self, level: int) -> np.ndarray:
        """Return the places to compute next when the coarse points of a level are known, (k,).

        Those of the next finer level in cells whose corners differ, and in their neighbours; the
        other cells are filled.
        """
        labels, shape = self.labels, self.labels.shape
        wanted = np.zeros(shape, bool)
        coarse = [_knots(n, 2**level) for n in shape]
        fine = [_knots(n, 2 ** (level - 1)) for n in shape]
        mixed = _mixed(labels[np.ix_(*coarse)])
        for cell in itertools.product(*(range(max(len(knots) - 1, 1)) for knots in coarse)):
            inside = np.ix_(*(_within(f, c, i) for f, c, i in zip(fine, coarse, cell, strict=True)))
            if mixed[cell]:
                wanted[inside] = True
            else:
                first = tuple(knots[i] for knots, i in zip(coarse, cell, strict=True))
                part = labels[inside]
                labels[inside] = np.where(part == UNKNOWN, labels[first], part)
        return np.flatnonzero(wanted & ~self.computed)

    def put(self, places: np.ndarray, labels: np.ndarray) -> None:
        """Take in labels (k,) that were computed."""
        self.labels.reshape(-1)[places] = labels
        self.computed.reshape(-1)[places] = True

    def spread(self, level: int) -> np.ndarray:
        """Return all labels, (...): what is not known is as the nearest coarse point of a level."""
        near = []
        for n in self.labels.shape:
            knots = _knots(n, 2**level)
            near.append(knots[np.abs(np.arange(n)[:, None] - knots).argmin(axis=1)])
        return np.where(self.labels == UNKNOWN, self.labels[np.ix_(*near)], self.labels)

    def filled(self, labels: np.ndarray) -> np.ndarray:
        """Return labels (...) in which what is UNKNOWN is as the nearest point that is known."""
        unknown = labels == UNKNOWN
        if not unknown.any() or unknown.all():
            return labels
        near = scipy.ndimage.distance_transform_edt(
            unknown, return_distances=False, return_indices=True
        )
        return np.asarray(labels[tuple(near)])


def refined(
    label_of: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...], levels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of a grid (prod(shape),), and which of them were computed.

    Parameters
    ----------
    label_of : function of places (k,) in the flat grid, which returns their labels (k,)
    shape : tuple of int
    levels : int
        The grid begins with every 2^levels-th point of each axis, and the last one.
    """
    grid = Grid(shape)
    places = grid.coarse(levels)
    for level in range(levels, -1, -1):
        if len(places):
            grid.put(places, label_of(places))
        places = grid.between(level) if level else places
    return grid.labels.ravel(), grid.computed.ravel()


def _knots(n: int, stride: int) -> np.ndarray:
    """Return every `stride`-th of n points, and the last one."""
    return np.asarray(np.unique(np.append(np.arange(0, n, stride), n - 1)))


def _within(fine: np.ndarray, coarse: np.ndarray, i: int) -> np.ndarray:
    """Return the fine knots in a coarse cell, its ends included."""
    last = coarse[min(i + 1, len(coarse) - 1)]
    return np.asarray(fine[(fine >= coarse[i]) & (fine <= last)])


def _mixed(corners: np.ndarray) -> np.ndarray:
    """Return which cells have corners that differ, or a neighbour that has."""
    low = high = corners
    for axis in range(corners.ndim):
        n = corners.shape[axis]
        one, two = (np.arange(max(n - 1, 1)), np.minimum(np.arange(1, max(n, 2)), n - 1))
        low = np.minimum(low.take(one, axis), low.take(two, axis))
        high = np.maximum(high.take(one, axis), high.take(two, axis))
    found = np.asarray(low != high)
    wide = found.copy()
    for shift in itertools.product((-1, 0, 1), repeat=found.ndim):
        take = [
            np.clip(np.arange(n) + s, 0, n - 1) for n, s in zip(found.shape, shift, strict=True)
        ]
        wide |= found[np.ix_(*take)]
    return wide
