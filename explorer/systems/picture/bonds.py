"""Rods, tracks and springs of the picture of a system, from its constraints and its stiffness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import sympy as sp

from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.mechanical import MechanicalSystem
from explorer.systems.picture.bodies import Bodies, Body
from explorer.systems.picture.couplings import stiffness
from explorer.systems.picture.obstacles import round_zero
from explorer.systems.sketch import Shape, circle, ground, line, spring

__all__ = ["bonds"]

_NEGLIGIBLE = 1e-9  # of the largest stiffness
_POINTS = 41  # of a curved track
Point = tuple[sp.Expr, sp.Expr]


def bonds(system: LagrangianSystem, bodies: Bodies) -> list[Shape]:
    """Return rods for distances that are kept, tracks for curves, springs for linear forces."""
    return [*_rods(system, bodies), *_springs(system, bodies)]


def _rods(system: LagrangianSystem, bodies: Bodies) -> Iterator[Shape]:
    for constraint in system.constraints:
        phi = sp.sympify(constraint.phi)
        held = bodies.of(phi.free_symbols)
        if len(held) == 2 and all(body.kind == "disc" for body in held):
            yield line(held[0].place, held[1].place)
        elif sorted(body.kind for body in held) == ["block", "disc"]:
            block, disc = sorted(held, key=lambda body: body.kind)
            if round_zero(phi, disc.q, block.place) is not None:
                yield line(disc.place, block.place)
        elif len(held) == 1 and held[0].kind == "disc":
            yield from _track(phi, held[0], bodies)


def _track(phi: sp.Expr, body: Body, bodies: Bodies) -> Iterator[Shape]:
    """Yield the rod to a fixed point, or the curve that a point is held on."""
    zero = round_zero(phi, body.q, None)
    if zero is not None:
        yield line(zero[0], body.place)
        yield circle(*zero[0], 0.2 * bodies.size, role="fixed")
        return
    x, y = body.q
    reach = 8 * bodies.size
    at = [float(s) for s in np.linspace(-reach, reach, _POINTS)]
    for free, held in ((x, y), (y, x)):
        slope = phi.diff(held)
        if slope.has(held) or slope.has(free) or not slope:
            continue
        curve = sp.expand(held - phi / slope)
        points = [(sp.Float(s), curve.subs(free, s)) for s in at]
        yield line(*(p if free == x else p[::-1] for p in points), role="trace")
        return


def _springs(system: LagrangianSystem, bodies: Bodies) -> Iterator[Shape]:
    entries = stiffness(system)
    least = _NEGLIGIBLE * max((abs(k) for k in entries.values()), default=0.0)
    rails = [body for body in bodies.all if body.kind == "block"]
    linear = _Linear(system, entries)
    number = {body.q[0]: i for i, body in enumerate(rails)}
    place = {i: number[q] for i, q in enumerate(system.q) if q in number}
    to_ground = np.zeros(len(rails))
    for (i, j), k in entries.items():
        if i not in place or j not in place:
            continue
        to_ground[place[i]] += k
        if place[i] < place[j] and k < -least:
            pull = linear.between(i, j)
            yield _between(rails[place[i]], rails[place[j]], bodies, pull)
    for k, body in enumerate(rails):
        if to_ground[k] > max(least, 1e-6 * max(map(abs, to_ground))):
            row = [i for i, other in enumerate(rails) if _same_rail(other, body)]
            side = -1 if k == row[0] else 1 if k == row[-1] else 0
            yield from _anchored(body, bodies, side, linear.to_ground(body.q[0], -side))
    points = {q: body for body in bodies.all if body.kind == "disc" for q in body.q}
    seen = set()
    for (i, j), k in entries.items():
        one, other = points.get(system.q[i]), points.get(system.q[j])
        if one is None or other is None or one is other or k >= -least:
            continue
        if (pair := frozenset((one.name, other.name))) not in seen:
            seen.add(pair)
            yield spring(one.place, other.place)


class _Linear:
    """Forces of springs that are linear; None where a rest length cannot be told from a load."""

    def __init__(self, system: LagrangianSystem, entries: Mapping[tuple[int, int], float]) -> None:
        self.system, self.entries = system, entries

    def _slope(self, i: int, j: int) -> sp.Expr | None:
        """Return dF_i/dq_j if F_i is linear in the coordinates and zero where they are."""
        system = self.system
        if not isinstance(system, MechanicalSystem):
            return sp.Float(-self.entries.get((i, j), 0.0))
        still = dict.fromkeys([*system.v, system.t], 0)
        f = sp.sympify(system.force[i])
        slope = f.diff(system.q[j])
        at_rest = f.subs({**still, **dict.fromkeys(system.q, 0)})
        return slope if at_rest == 0 and not slope.has(*system.q, *system.v) else None

    def between(self, i: int, j: int) -> sp.Expr | None:
        """Return the tension of the spring between two coordinates."""
        slope, q = self._slope(i, j), self.system.q
        return None if slope is None else slope * (q[j] - q[i])

    def to_ground(self, q: sp.Symbol, side: int) -> sp.Expr | None:
        """Return the tension of the spring to a wall below (side 1) or above (-1) of it."""
        i = self.system.q.index(q)
        slopes = [self._slope(i, j) for j in range(self.system.n) if (i, j) in self.entries]
        if side == 0 or any(slope is None for slope in slopes):
            return None
        return -side * sp.Add(*slopes) * q


def _faces(body: Body, bodies: Bodies, side: int) -> Point:
    """Return the middle of the face of a block that looks along its rail (side 1) or back."""
    half = bodies.half(body)
    return body.place[0] + side * half * body.axis[0], body.place[1] + side * half * body.axis[1]


def _between(one: Body, other: Body, bodies: Bodies, force: sp.Expr | None) -> Shape:
    if one.axis == (0, 1) and one.place[0] != other.place[0]:  # beads of a string
        return line(one.place, other.place)
    return spring(_faces(one, bodies, 1), _faces(other, bodies, -1), force)


def _same_rail(one: Body, other: Body) -> bool:
    if one.axis != other.axis or 0 not in one.axis:
        return one is other
    across = 1 - one.axis.index(1)
    return bool(one.place[across] == other.place[across])


def _anchored(body: Body, bodies: Bodies, side: int, force: sp.Expr | None) -> Iterator[Shape]:
    """Yield a spring from a wall to its block, where it rests at 0.

    Behind the first block of a rail (side -1), before the last one (1), below one between (0).
    """
    (q,) = body.q
    low, high = bodies.ranges[q.name]
    far = float(f"{1.2 * max(high if side > 0 else -low, 0.0) + 2 * bodies.size:.3g}")
    across = 0.8 * bodies.size
    dx, dy = body.axis
    if side == 0:
        (x, y), half = body.place, bodies.half(body)
        ux, uy, far = -dy, -dx, 1.2 * bodies.size
        face = (x + ux * half, y + uy * half)
    else:
        ux, uy = side * dx, side * dy
        face = _faces(body, bodies, side)
    zero = tuple(sp.expand(c).subs(q, 0) for c in face)
    foot = (zero[0] + far * ux, zero[1] + far * uy)
    yield ground(*((foot[0] + s * across * uy, foot[1] - s * across * ux) for s in (-1, 1)))
    yield spring(foot, face, force)
