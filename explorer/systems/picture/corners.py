"""Corners of a body that turns: n . (r + R(phi) p) + d is the gap of its corner p from a plane.

A gap n_x x + n_y y + A cos(phi) + B sin(phi) + d has p = (A n_x + B n_y, A n_y - B n_x) / |n|^2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import sympy as sp

from explorer.systems.sketch import Shape, circle, line

__all__ = ["Corner", "corner", "cornered"]

Place = tuple[sp.Expr, sp.Expr]


class Corner(NamedTuple):
    """A corner in the axes of its body in m, and the plane that it strikes: n . r + d = 0."""

    place: Place
    normal: Place
    offset: sp.Expr


def corner(gap: sp.Expr, q: tuple[sp.Symbol, ...], turn: sp.Symbol) -> Corner | None:
    """Return the corner of a body at (x, y) that a gap is of; None if it is of none."""
    x, y = q
    cos, sin = sp.cos(turn), sp.sin(turn)
    gap = sp.expand(gap)
    nx, ny, a, b = gap.coeff(x), gap.coeff(y), gap.coeff(cos), gap.coeff(sin)
    rest = sp.expand(gap - nx * x - ny * y - a * cos - b * sin)
    if any(part.has(x, y, turn) for part in (nx, ny, a, b, rest)):
        return None
    if (nx == 0 and ny == 0) or (a == 0 and b == 0):
        return None
    square = nx**2 + ny**2
    place = sp.simplify((a * nx + b * ny) / square), sp.simplify((a * ny - b * nx) / square)
    return Corner(place, (nx, ny), rest)


def cornered(
    name: str,
    at: Place,
    turn: sp.Symbol,
    places: list[Place],
    usual: Mapping[sp.Basic, float],
    size: float,
) -> list[Shape]:
    """Return a body with corners: a rod for up to two, of which the other end may strike nothing.

    `usual` are the values of parameters, by which the corners are put in order.
    """
    cos, sin = sp.cos(turn), sp.sin(turn)

    def placed(p: Place) -> Place:
        return at[0] + p[0] * cos - p[1] * sin, at[1] + p[0] * sin + p[1] * cos

    ends = list(dict.fromkeys(places))
    if len(ends) == 1:
        ends.append((-ends[0][0], -ends[0][1]))
    if len(ends) == 2:
        rod = line(*map(placed, ends), label=name)
        return [rod, circle(*at, 0.3 * size, label=name)]

    def direction(p: Place) -> float:
        px, py = (float(sp.sympify(c).subs(usual)) for c in p)
        return math.atan2(py, px)

    around = sorted(ends, key=direction)
    return [
        line(*map(placed, around), closed=True, label=name),
        line(at, placed(around[0]), role="mark"),
    ]
