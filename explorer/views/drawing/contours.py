"""Areas where a function on a grid is positive, and lines where it is zero."""

from __future__ import annotations

import itertools
from typing import Protocol, cast

import contourpy
import numpy as np

__all__ = ["areas", "lines", "straightened"]


def areas(x: np.ndarray, y: np.ndarray, g: np.ndarray) -> list[np.ndarray]:
    """Return the closed polygons, each (k, 2), that together bound g > 0.

    Holes turn the other way round: the even-odd rule and the nonzero rule fill the same.

    Parameters
    ----------
    x, y : (n,), (m,)
        Increasing coordinates of the grid.
    g : (m, n)
        Values of the function; where one is not finite nothing is drawn.
    """
    points, offsets = _generator(x, y, g).filled(0.0, np.inf)
    parts = [
        straightened(one[first:last])
        for one, ends in zip(points, offsets, strict=True)
        for first, last in itertools.pairwise(ends)
    ]
    return [part for part in parts if len(part) > 3]


def lines(x: np.ndarray, y: np.ndarray, g: np.ndarray) -> list[np.ndarray]:
    """Return the lines, each (k, 2), on which g is zero; a closed one ends where it begins."""
    return [straightened(line) for line in _generator(x, y, g).lines(0.0)]


class _Contours(Protocol):
    """What contourpy makes with these types of lines and areas."""

    def filled(self, lower: float, upper: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the points of each area, and the offsets of its boundaries among them."""

    def lines(self, level: float) -> list[np.ndarray]:
        """Return the points of each line."""


def _generator(x: np.ndarray, y: np.ndarray, g: np.ndarray) -> _Contours:
    generator = contourpy.contour_generator(
        x, y, np.ma.masked_invalid(g), line_type="Separate", fill_type="OuterOffset"
    )
    return cast(_Contours, generator)  # its own types are those of all line and area types


def straightened(line: np.ndarray) -> np.ndarray:
    """Return a line without repeated points and without points on a straight part."""
    scaled = line / (np.ptp(line, axis=0).max() or 1.0)
    moves = np.append(True, np.abs(np.diff(scaled, axis=0)).max(axis=1) > 1e-12)
    line, scaled = line[moves], scaled[moves]
    if len(line) < 3:
        return line
    step = np.diff(scaled, axis=0)
    bend = np.abs(step[1:, 0] * step[:-1, 1] - step[1:, 1] * step[:-1, 0])
    corners: np.ndarray = line[np.concatenate([[True], bend > 1e-12, [True]])]
    return corners
