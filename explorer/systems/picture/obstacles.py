"""Walls and grounds of the picture of a system: where its gaps are zero."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import sympy as sp

from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.picture.bodies import Bodies, Body
from explorer.systems.picture.corners import corner
from explorer.systems.sketch import Shape, circle, ground, line

__all__ = ["obstacles", "round_zero"]

Place: TypeAlias = "tuple[sp.Expr, sp.Expr]"
_AROUND = np.linspace(0, 2 * np.pi, 49)
_POINTS = 41  # of a curved ground
_RADIUS = re.compile(r"^[rR](_?\w{0,2})$")


def obstacles(system: LagrangianSystem, bodies: Bodies) -> list[Shape]:
    """Return a shape for each contact of one body with its surroundings.

    A wall touches the body, as large as it is drawn, exactly where the gap is zero. Gaps between
    two bodies have none: the bodies touch. Discs are given the radius at which they do.
    """
    found: list[Shape] = []
    gaps = [sp.sympify(contact.gap) for contact in system.contacts]
    for gap in gaps:
        _take_radius(gap, bodies)
    for gap in gaps:
        touching = bodies.of(gap.free_symbols)
        if len(touching) == 2:
            _touch(gap, touching, bodies)
        elif len(touching) == 1:
            ends = _ends(gap, touching[0], gaps, bodies)
            found += [ground(*ends)] if ends else _wall(gap, touching[0], bodies)
    return found


def _ends(gap: sp.Expr, body: Body, gaps: list[sp.Expr], bodies: Bodies) -> list[Place] | None:
    """Return where a wall along an axis begins and ends: at walls across it; None if at none."""
    if body.kind != "disc":
        return None
    half, reach = bodies.half(body), 8 * bodies.size

    def wall(gap: sp.Expr) -> tuple[int, int, sp.Expr] | None:
        """Return the axis that a wall is across, on which side is room, and where it is."""
        if body.turn is not None and gap.has(body.turn):
            return None
        for k, (q, other) in enumerate((body.q, body.q[::-1])):
            slope = gap.diff(q)
            if slope and not slope.free_symbols & {q, other} and not gap.has(other):
                side = _sign(slope)
                return k, side, sp.expand(q - gap / slope) - side * half
        return None

    own = wall(gap)
    walls = [one for one in map(wall, gaps) if one is not None]
    if own is None or not any(k != own[0] for k, *_ in walls):
        return None
    low, high = (
        [place for k, side, place in walls if k != own[0] and side == way] for way in (1, -1)
    )
    if not (low or high):
        return None
    start = low[0] if low else high[0] - 2 * reach
    end = high[0] if high else low[0] + 2 * reach
    ends = [(s, own[2]) if own[0] == 1 else (own[2], s) for s in (start, end)]
    return ends if (own[1] > 0) == (own[0] == 1) else ends[::-1]


def _take_radius(gap: sp.Expr, bodies: Bodies) -> None:
    """Let a disc whose centre is r from a wall at an impact have the radius r, if r is its name."""
    touching = bodies.of(gap.free_symbols)
    if len(touching) != 1 or touching[0].kind != "disc":
        return
    q = touching[0].q
    slopes, rest = [gap.diff(x) for x in q], gap.subs(dict.fromkeys(q, 0))
    if sorted(abs(x) if x.is_number else -1 for x in slopes) != [0, 1] or not gap.has(*q):
        return
    if (-rest).is_Symbol and _RADIUS.match(str(-rest)):
        bodies.radius.setdefault(touching[0].name, -rest)


def _touch(gap: sp.Expr, pair: list[Body], bodies: Bodies) -> None:
    """Let two discs be as large as their distance is where they touch."""
    one, other = pair
    if one.kind != "disc" or other.kind != "disc":
        return
    zero = round_zero(gap, one.q, other.place)
    if zero is None:
        return
    for body in pair:
        bodies.radius.setdefault(body.name, zero[1] / 2)


def _wall(gap: sp.Expr, body: Body, bodies: Bodies) -> Iterator[Shape]:
    if body.kind == "disc":
        yield from _in_the_plane(gap, body, bodies)
        return
    (q,) = body.q
    slope = gap.diff(q)
    if not slope or slope.has(q):
        return
    zero = sp.expand(q - gap / slope)
    (x, y), half = body.place, bodies.half(body)
    at = [sp.expand(c).subs(q, zero) for c in (x, y)]
    side = _sign(slope)
    if body.hinge is not None:
        # a stop: a piece of wall along the rod, beside the bob
        hx, hy = body.hinge
        ux, uy = at[0] - hx, at[1] - hy
        length = sp.sqrt(ux**2 + uy**2)
        nx, ny = -side * uy / length * half, side * ux / length * half
        ends = [(hx + s * ux - nx, hy + s * uy - ny) for s in (0.75, 1.2)]
        yield ground(*(ends if side > 0 else ends[::-1]))
        return
    across = 1.5 * bodies.size
    if 0 not in body.axis:
        ax, ay = body.axis
        fx, fy = at[0] - side * half * ax, at[1] - side * half * ay
        yield ground((fx - across * ay, fy + across * ax), (fx + across * ay, fy - across * ax))
        return
    if body.axis == (0, 1):
        level = at[1] - side * half
        ends = [(at[0] - across, level), (at[0] + across, level)]
        yield ground(*(ends if side > 0 else ends[::-1]))
        return
    level = at[0] - side * half
    ends = [(level, at[1] + across), (level, at[1] - across)]
    yield ground(*(ends if side > 0 else ends[::-1]))


def _sign(slope: sp.Expr) -> int:
    """Return the sign of a factor, of a parameter that of its name: parameters are positive."""
    positive = {s: sp.Symbol(s.name, positive=True) for s in slope.free_symbols}
    return -1 if slope.xreplace(positive).is_negative else 1


def _in_the_plane(gap: sp.Expr, body: Body, bodies: Bodies) -> Iterator[Shape]:
    x, y = body.q
    half, reach = bodies.half(body), 8 * bodies.size
    a, b = gap.diff(x), gap.diff(y)
    if body.turn is not None and gap.has(body.turn):
        yield from _at_a_corner(gap, body, body.turn, bodies)
        return
    if not a.has(x, y) and not b.has(x, y):
        if a == 0 and b == 0:
            return
        yield _plane(a, b, gap.subs({x: 0, y: 0}), half, reach)
        return
    zero = round_zero(gap, body.q, None)
    if zero is not None:
        (cx, cy), radius, outside = zero
        if outside:
            yield circle(cx, cy, radius - half, role="fixed")
        else:
            ring = radius + half
            yield line(
                *((cx + ring * float(np.cos(s)), cy + ring * float(np.sin(s))) for s in _AROUND),
                role="ground",
            )
        return
    if b.is_number and b:
        height = sp.expand(y - gap / b)
        at = np.linspace(-reach, reach, _POINTS)
        yield line(*((float(s), height.subs(x, float(s)) - half) for s in at), role="ground")


def _plane(a: sp.Expr, b: sp.Expr, c: sp.Expr, far: sp.Expr, reach: float) -> Shape:
    """Return the ground on which a x + b y + c is zero, moved by `far` against its normal."""
    size = sp.sqrt(a**2 + b**2)
    nx, ny = a / size, b / size
    offset = c / size + far
    foot = (-offset * nx, -offset * ny)
    return ground(
        (foot[0] - reach * ny, foot[1] + reach * nx),
        (foot[0] + reach * ny, foot[1] - reach * nx),
    )


def _at_a_corner(gap: sp.Expr, body: Body, turn: sp.Symbol, bodies: Bodies) -> Iterator[Shape]:
    """Yield what a corner of a body strikes, unless another corner strikes it too."""
    one = corner(gap, body.q, turn)
    if one is None:
        return
    known = bodies.corners.setdefault(body.name, [])
    if all(other[1:] != one[1:] for other in known):
        yield _plane(*one.normal, one.offset, sp.Integer(0), 8 * bodies.size)
    known.append(one)


def round_zero(
    gap: sp.Expr, point: tuple[sp.Symbol, ...], other: tuple[sp.Expr, sp.Expr] | None
) -> tuple[tuple[sp.Expr, sp.Expr], sp.Expr, bool] | None:
    """Return centre and radius of the circle on which a formula is zero, and if it is > 0 outside.

    For a formula of the distance of two points, `other` is the second one. None if it is not round.
    """
    x, y = point
    roots = [r for r in gap.atoms(sp.Pow) if r.exp == sp.Rational(1, 2) and r.has(x, y)]
    outside, inside = True, gap
    if len(roots) == 1:
        distance = sp.Dummy("distance")
        linear = gap.xreplace({roots[0]: distance})
        slope = linear.diff(distance)
        if slope.has(x, y, distance) or not slope:
            return None
        rest = linear.subs(distance, 0)
        if rest.has(x, y):
            return None
        outside = _sign(slope) > 0
        inside = roots[0].base - (rest / slope) ** 2
    elif roots:
        return None
    poly = inside.as_poly(x, y)
    if poly is None or poly.total_degree() != 2:
        return None
    xx, yy, xy = (poly.coeff_monomial(m) for m in (x**2, y**2, x * y))
    if xy != 0 or xx == 0 or sp.simplify(xx - yy) != 0:
        return None
    if not roots:
        outside = _sign(xx) > 0
    centre = tuple(-poly.coeff_monomial(s) / (2 * xx) for s in (x, y))
    square = centre[0] ** 2 + centre[1] ** 2 - poly.coeff_monomial(1) / xx
    if other is not None and any(
        sp.simplify(c - o) != 0 for c, o in zip(centre, other, strict=True)
    ):
        return None
    radius = sp.sqrt(sp.simplify(square))
    positive = {s: sp.Symbol(s.name, positive=True) for s in radius.free_symbols}
    back = {one: s for s, one in positive.items()}
    radius = sp.simplify(radius.xreplace(positive)).xreplace(back)
    return (centre[0], centre[1]), radius, outside
