"""How a system is drawn: polylines and circles whose points are formulas of t, q and rho.

A shape may show a `value` too: a force, a current, whether a mode is active. Circuits and block
diagrams are made of such shapes (`explorer.systems.schematic`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from explorer.types import Formula, Value

__all__ = ["Shape", "arrow", "belt", "circle", "ground", "line", "spring", "text"]


Point: TypeAlias = "tuple[Formula, Formula]"


@dataclass(frozen=True)
class Shape:
    """One shape of a sketch.

    Attributes
    ----------
    points : tuple of (x, y)
        Formulas (or numbers, or text) in metres.
    kind : str
        "line", "circle" or "text".
    role : str
        "body", "ground", "link", "spring", "trace", "arrow", "fixed" (a solid that does not
        move), "mark" (a line on a body) or "node" (of a network, which has no length): decides
        the colour and the stroke. "point" is a state, with its path behind it. With a value:
        "wire" (a current: arrows move along it), "part" (filled while the value is positive),
        "lamp" (as bright as the value, which is at most 1), "blade" (of a switch, closed where the
        value is above 1/2).
    closed : bool
        Whether a line is a filled polygon.
    radius : formula
        Of a circle.
    label : str
        A name for it; of a text what is written at its point.
    value : formula, optional
        What it shows, in `unit`: a formula of t, states, parameters, velocities, and of what
        `explorer.systems.System.sketch` names.
    unit : str
    """

    points: tuple[Point, ...]
    kind: str = "line"
    role: str = "body"
    closed: bool = False
    radius: Formula = 0
    label: str = ""
    value: Formula | None = None
    unit: str = ""


def line(*points: Point, role: str = "link", closed: bool = False, label: str = "") -> Shape:
    """Return a polyline; closed polygons are filled.

    Parameters
    ----------
    *points : (x, y)
        Numbers in m, or formulas of t, coordinates and parameters.
    role : str
        What it is, such as "link", "body" or "fixed": decides the colour and the stroke.
    closed : bool
        Whether the last point is joined with the first one.
    label : str
        A name for it.

    Raises
    ------
    BadModel
        Later, by `System.sketch`: a formula has an unknown symbol.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.line((0, 0), ("sin(phi)", "-cos(phi)")).role
    'link'
    """
    role = "body" if closed and role == "link" else role
    return Shape(points, "line", role, closed, label=label)


def circle(x: Value, y: Value, radius: Value, role: str = "body", label: str = "") -> Shape:
    """Return a circle around (x, y).

    Parameters
    ----------
    x, y, radius : number or formula
        Centre and radius in m: formulas of t, coordinates and parameters.
    role : str
        What it is: a "body", or "fixed" for a solid that does not move.
    label : str
        A name for it.

    Raises
    ------
    BadModel
        Later, by `System.sketch`: a formula has an unknown symbol.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.circle(0, "y + 0.1", 0.1).radius
    0.1
    """
    return Shape(((x, y),), "circle", role, True, radius, label)


def spring(start: Point, end: Point, force: Formula | None = None, unit: str = "N") -> Shape:
    """Return a zigzag from `start` to `end`; it is coloured by its `force`, tension positive.

    >>> import explorer as ex
    >>> ex.spring((0, 0), ("x", 0), force="k*(x - l)").unit
    'N'
    """
    return Shape((start, end), "line", "spring", value=force, unit=unit)


def arrow(start: Point, end: Point) -> Shape:
    """Return a direction, from `start` to its head at `end`."""
    return Shape((start, end), "line", "arrow")


def ground(start: Point, end: Point) -> Shape:
    """Return a hatched line; the solid is on its right-hand side, walking from start to end.

    Parameters
    ----------
    start, end : (x, y)
        Numbers in m, or formulas of t, coordinates and parameters.

    Raises
    ------
    BadModel
        Later, by `System.sketch`: a formula has an unknown symbol.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.ground((-0.5, 0), (0.5, 0)).role
    'ground'
    """
    return Shape((start, end), "line", "ground")


def belt(left: float, right: float, radius: float, top: float = 0) -> tuple[Shape, ...]:
    """Return a belt on two rollers of a `radius`: its upper run lies at `top`.

    >>> [shape.kind for shape in belt(-1, 1, 0.1)]
    ['line', 'line', 'circle', 'circle']
    """
    runs = (line((left, y), (right, y)) for y in (top, top - 2 * radius))
    return *runs, *(circle(x, top - radius, radius) for x in (left, right))


def text(x: float, y: float, written: str, width: float = 0) -> Shape:
    """Return a text that begins at (x, y); the picture keeps room for `width` in m."""
    return Shape(((x, y), (x + width, y)), "text", "text", label=written)
