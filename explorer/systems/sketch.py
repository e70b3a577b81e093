"""How a mechanism is drawn: polylines and circles whose points are formulas of t, q and rho."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from explorer.types import Formula, Value

__all__ = ["Shape", "arrow", "circle", "ground", "line", "spring"]


Point: TypeAlias = "tuple[Formula, Formula]"


@dataclass(frozen=True)
class Shape:
    """One shape of a sketch.

    Attributes
    ----------
    points : tuple of (x, y)
        Formulas (or numbers, or text) in metres.
    kind : str
        "line" or "circle".
    role : str
        "body", "ground", "link", "spring" or "arrow": decides the colour and the stroke.
    closed : bool
        Whether a line is a filled polygon.
    radius : formula
        Of a circle.
    """

    points: tuple[Point, ...]
    kind: str = "line"
    role: str = "body"
    closed: bool = False
    radius: Formula = 0


def line(*points: Point, role: str = "link", closed: bool = False) -> Shape:
    """Return a polyline through `points`; closed polygons are filled."""
    return Shape(points, "line", "body" if closed and role == "link" else role, closed)


def circle(x: Value, y: Value, radius: Value, role: str = "body") -> Shape:
    """Return a circle around (x, y)."""
    return Shape(((x, y),), "circle", role, True, radius)


def spring(start: Point, end: Point) -> Shape:
    """Return a zigzag from `start` to `end`."""
    return Shape((start, end), "line", "spring")


def arrow(start: Point, end: Point) -> Shape:
    """Return a direction, from `start` to its head at `end`."""
    return Shape((start, end), "line", "arrow")


def ground(start: Point, end: Point) -> Shape:
    """Return a hatched line; the solid is on its right-hand side, walking from start to end."""
    return Shape((start, end), "line", "ground")
