"""Elements of schematics: circuits, block diagrams, tanks, genes, modes. Each is a few shapes.

Places are numbers on a sheet without a unit; an element is about 1 long. What an element shows is a
formula of the state, of parameters and of `System.signals`: a diode is filled while its current
flows, a switch is closed while its value is above 1/2, a lamp is as bright as its value, and arrows
move along a wire as its current does.

>>> [shape.role for shape in diode((0, 0), (2, 0), current="i_D")]
['wire', 'wire', 'part', 'part']
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeAlias

import sympy as sp

from explorer.systems.sketch import Shape, circle, line, text
from explorer.types import Formula, Value

__all__ = [
    "Place",
    "block",
    "capacitor",
    "diode",
    "earth",
    "inductor",
    "lamp",
    "name",
    "path",
    "relay",
    "resistor",
    "source",
    "switch",
    "tank",
    "wire",
]

Place: TypeAlias = "tuple[float, float]"
Shapes: TypeAlias = "tuple[Shape, ...]"

_LETTER = 0.17  # width of a letter
_LONG, _WIDE = 0.9, 0.3  # of an element
_HEAD = 0.2  # of an arrow


def wire(*points: Place, current: Formula | None = None, unit: str = "A") -> Shapes:
    """Return a wire; its `current` is positive from the first point to the last."""
    return (Shape(points, "line", "wire", value=current, unit=unit),)


def resistor(start: Place, end: Place, label: str = "", current: Formula | None = None) -> Shapes:
    """Return a resistor with its leads."""
    at, leads = _between(start, end, current)
    half = _WIDE / 2
    corners = [at(-1, -half), at(1, -half), at(1, half), at(-1, half)]
    return *leads, _part(*corners, closed=True), *_beside(at, label)


def inductor(start: Place, end: Place, label: str = "", current: Formula | None = None) -> Shapes:
    """Return an inductor with its leads."""
    at, leads = _between(start, end, current)
    turns, points = 4, []
    for k in range(turns):
        for j in range(9):
            angle = math.pi * j / 8
            along = -1 + (2 * k + 1 - math.cos(angle)) / turns
            points.append(at(along, 0.12 * math.sin(angle)))
    return *leads, _part(*points), *_beside(at, label)


def capacitor(start: Place, end: Place, label: str = "", current: Formula | None = None) -> Shapes:
    """Return a capacitor with its leads."""
    at, leads = _between(start, end, current, 0.16)
    plates = [_part(at(s, -0.28), at(s, 0.28)) for s in (-1, 1)]
    return *leads, *plates, *_beside(at, label, 0.3)


def source(start: Place, end: Place, label: str = "", current: Formula | None = None) -> Shapes:
    """Return a source of voltage with its leads; its plus stands at `end`."""
    at, leads = _between(start, end, current)
    (x, y), (px, py) = at(0, 0), at(0.5, 0)
    ring = Shape(((x, y),), "circle", "part", True, _LONG / 2)
    cross = [
        _part((px - 0.09, py), (px + 0.09, py)),
        _part((px, py - 0.09), (px, py + 0.09)),
    ]
    return *leads, ring, *cross, *_beside(at, label, _LONG / 2)


def diode(start: Place, end: Place, current: Formula, label: str = "") -> Shapes:
    """Return a diode that conducts from `start` to `end`; it is filled while its current flows."""
    at, leads = _between(start, end, current, 0.4)
    body = Shape(
        (at(-1, -0.24), at(1, 0), at(-1, 0.24)), "line", "part", True, value=current, unit="A"
    )
    return *leads, body, _part(at(1, -0.24), at(1, 0.24)), *_beside(at, label)


def switch(
    start: Place, end: Place, closed: Formula, label: str = "", current: Formula | None = None
) -> Shapes:
    """Return a switch; it is closed while `closed` is above 1/2."""
    at, leads = _between(start, end, current)
    blade = Shape((at(-1, 0), at(1, 0)), "line", "blade", value=closed)
    dots = [Shape((at(s, 0),), "circle", "part", True, 0.06) for s in (-1, 1)]
    return *leads, blade, *dots, *_beside(at, label, 0.4)


def earth(x: float, y: float) -> Shapes:
    """Return the sign of the ground of a circuit."""
    return tuple(
        _part((x - wide, y - low), (x + wide, y - low))
        for wide, low in ((0.25, 0.0), (0.16, 0.09), (0.07, 0.18))
    )


def block(x: float, y: float, wide: float, high: float, label: str = "") -> Shapes:
    """Return a block of a diagram around (x, y)."""
    return (Shape(_corners(x, y, wide, high), "line", "part", True, label=label),)


def lamp(x: float, y: float, wide: float, high: float, lit: Formula, label: str = "") -> Shapes:
    """Return a lamp around (x, y), as bright as `lit`, which is at most 1."""
    return (
        Shape(_corners(x, y, wide, high), "line", "lamp", True, label=label, value=lit, unit="on"),
    )


def path(*points: Place, lit: Formula | None = None, head: str = "arrow") -> Shapes:
    """Return a line that leads to the last point, lit while `lit` is positive.

    Its `head` is an "arrow", a "bar" (what represses), or "" (none).
    """
    (ax, ay), (bx, by) = points[-2:]
    length = math.hypot(bx - ax, by - ay) or 1.0
    ux, uy = (bx - ax) / length, (by - ay) / length

    def at(back: float, aside: float) -> Place:
        return bx - back * ux - aside * uy, by - back * uy + aside * ux

    heads = {
        "arrow": [at(_HEAD, -0.6 * _HEAD), (bx, by), at(_HEAD, 0.6 * _HEAD)],
        "bar": [at(0, -_HEAD), at(0, _HEAD)],
    }
    lines = [points, *([tuple(heads[head])] if head in heads else [])]
    role = "part" if lit is None else "lamp"
    return tuple(Shape(tuple(one), "line", role, value=lit, unit="on") for one in lines)


def relay(x: float, y: float, c: Value, most: Value, high: Formula) -> Shapes:
    """Return the block of a relay around (x, y), with its characteristic.

    A dot stands at `c` between -`most` and `most`. The branch that holds is lit; both are where
    `high`, 1 above and 0 below, lies in between, because the relay slides.
    """
    wide, tall = 0.6, 0.35
    at = x + wide * sp.Min(sp.Max(sp.sympify(c) / sp.sympify(most), -1), 1)
    return (
        *block(x, y, 2.2 * wide, 3 * tall),
        line((x - wide, y), (x + wide, y), role="node"),
        line((x, y - tall), (x, y + tall), role="node"),
        *path((x - wide, y - tall), (x, y - tall), lit=1 - sp.sympify(high), head=""),
        *path((x, y + tall), (x + wide, y + tall), lit=high, head=""),
        circle(at, y, 0.08),
    )


def tank(x: float, y: float, wide: float, high: float, level: Value, label: str = "") -> Shapes:
    """Return a tank on (x, y), filled by `level`, a part of its height between 0 and 1."""
    left, right = x - wide / 2, x + wide / 2
    full = y + high * sp.Min(sp.Max(sp.sympify(level), 0), 1)
    rim = [(left, y + high), (left, y), (right, y), (right, y + high)]
    return (
        line((left, y), (right, y), (right, full), (left, full), closed=True),
        line(*rim, role="node", label=label),
    )


def name(x: float, y: float, written: str) -> Shape:
    """Return words around (x, y)."""
    wide = _LETTER * len(written)
    return text(x - wide / 2, y, written, wide)


def _corners(x: float, y: float, wide: float, high: float) -> tuple[Place, ...]:
    return tuple(
        (x + i * wide / 2, y + j * high / 2) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    )


def _part(*points: Place, closed: bool = False) -> Shape:
    return Shape(tuple(points), "line", "part", closed)


def _between(
    start: Place, end: Place, current: Formula | None, long: float = _LONG
) -> tuple[Callable[[float, float], Place], Shapes]:
    """Return where an element between two places is, and its leads.

    The first is a function of how far along, -1 to 1 from end to end, and how far to the left.
    """
    (ax, ay), (bx, by) = start, end
    length = math.hypot(bx - ax, by - ay)
    ux, uy = (bx - ax) / length, (by - ay) / length

    def at(along: float, left: float) -> Place:
        s = along * long / 2
        return (ax + bx) / 2 + s * ux - left * uy, (ay + by) / 2 + s * uy + left * ux

    leads = wire(start, at(-1, 0), current=current) + wire(at(1, 0), end, current=current)
    return at, leads


def _beside(at: Callable[[float, float], Place], label: str, far: float = 0.2) -> Iterable[Shape]:
    """Yield the name of an element: above one that lies, to the right of one that stands."""
    if not label:
        return
    (x, y), (ax, _) = at(0, 0), at(1, 0)
    if abs(ax - x) > 1e-9:
        yield name(x, y + far + 0.28, label)
    else:
        yield text(x + far + 0.12, y, label, _LETTER * len(label))
