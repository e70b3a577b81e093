"""Where the bodies of a mechanical system are, read from the names and units of coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import sympy as sp

from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.mechanical import MechanicalSystem
from explorer.systems.picture.corners import Corner, cornered
from explorer.systems.picture.couplings import coupled, order_along, rest_distance
from explorer.systems.sketch import Shape, circle, line

__all__ = ["Bodies", "Body", "bodies_of"]

_ANGLES = re.compile(r"^(theta|phi|psi|alpha|beta|gamma|th|angle|rot)(?![a-z])", re.IGNORECASE)
_UPWARD = re.compile(r"^(y|z|h|height)(?![a-z])", re.IGNORECASE)
_LENGTHS = re.compile(r"^(l|L|r|R|length)(_?\w{0,2})$")
_SHARE = 0.16  # of the usual way of a body: its size
_TALLEST = 12  # blocks on one rail; more are points of a string


@dataclass(frozen=True)
class Body:
    """Something that moves.

    Attributes
    ----------
    name : str
    place : (x, y)
        Formulas of its centre in m.
    q : tuple of sympy.Symbol
        The coordinates that place it: (x, y) in the plane, or the one of a rail or hinge.
    kind : str
        "disc", "block" on a rail along `axis`, "wedge" that carries such a rail, or "bob" at the
        end of a rod.
    axis : (x, y)
        Direction of a rail: a unit vector, of formulas if it rises.
    hinge : (x, y) or None
        Where the rod of a bob begins.
    turn : formula or None
        Angle of a body of the plane.
    """

    name: str
    place: tuple[sp.Expr, sp.Expr]
    q: tuple[sp.Symbol, ...]
    kind: str
    axis: tuple[sp.Expr | int, sp.Expr | int] = (1, 0)
    hinge: tuple[sp.Expr, sp.Expr] | None = None
    turn: sp.Symbol | None = None


@dataclass
class Bodies:
    """All bodies of a system, the size in m with which they are drawn, and how far each goes."""

    size: float
    ranges: dict[str, tuple[float, float]]
    all: list[Body] = field(default_factory=list)
    radius: dict[str, sp.Expr] = field(default_factory=dict)  # of discs that touch each other
    corners: dict[str, list[Corner]] = field(default_factory=dict)  # of bodies that strike by them
    usual: dict[sp.Basic, float] = field(default_factory=dict)  # values of the parameters

    def of(self, symbols: set[sp.Basic]) -> list[Body]:
        """Return the bodies that some symbols place."""
        return [body for body in self.all if symbols & set(body.q)]

    def half(self, body: Body) -> sp.Expr:
        """Return half of the size of a body."""
        return self.radius.get(body.name, sp.Float(self.size / 2))

    def _rails(self) -> list[Shape]:
        """Return the rails of blocks at which something hangs: of carts."""
        found = []
        hinges = [body.hinge for body in self.all]
        for body in self.all:
            if body.kind == "block" and body.axis == (1, 0) and body.place in hinges:
                (x, y), w = body.place, self.size
                low, high = self.ranges[body.name]
                ends = [
                    (x.subs(body.q[0], at) + s * w, y - w / 2) for at, s in ((low, -1), (high, 1))
                ]
                found.append(line(*ends, role="trace"))
        return found

    def _wedge(self, body: Body) -> Shape:
        """Return the triangle below the way of the block that a wedge carries."""
        rider = next(
            one
            for one in self.all
            if one.name in self.ranges and one.axis == body.axis and one.kind == "block"
        )
        ax, ay = body.axis
        low, high = self.ranges[rider.name]
        ends = [
            (body.place[0] + s * ax, body.place[1] + s * ay)
            for s in (low - self.size, high + self.size)
        ]
        falls = float(sp.sympify(ay).subs(self.usual)) < 0
        top, foot = ends if falls else ends[::-1]
        return line(top, foot, (top[0], foot[1]), closed=True, label=body.name)

    @property
    def shapes(self) -> list[Shape]:
        """The bodies as they are drawn, each with its name."""
        found = self._rails()
        for body in self.all:
            (x, y), r = body.place, self.half(body)
            if body.hinge is not None:
                found.append(line(body.hinge, body.place))
            if body.kind == "wedge":
                found.append(self._wedge(body))
                continue
            if body.kind == "block" and 0 not in body.axis:
                ax, ay = body.axis
                pairs = [(-r, -r), (r, -r), (r, r), (-r, r)]
                tilted = [(x + i * ax - j * ay, y + i * ay + j * ax) for i, j in pairs]
                found.append(line(*tilted, closed=True, label=body.name))
                continue
            if body.kind == "block":
                corners = [(x + i * r, y + j * r) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
                found.append(line(*corners, closed=True, label=body.name))
                continue
            if body.turn is not None and body.name in self.corners:
                places = [one.place for one in self.corners[body.name]]
                given = body.name, body.place, body.turn, places
                found += cornered(*given, self.usual, self.size)
                continue
            found.append(circle(x, y, r, label=body.name))
            if body.turn is not None:
                mark = (x + r * sp.cos(body.turn), y + r * sp.sin(body.turn))
                found.append(line((x, y), mark, role="mark"))
        return found


def bodies_of(system: LagrangianSystem, ranges: Sequence[tuple[float, float]]) -> Bodies:
    """Return the bodies of a system; `ranges` tell how far each coordinate goes."""
    left = dict(zip(system.coordinates, system.q, strict=True))
    angles = {k for k, unit in zip(left, system.units, strict=True) if _is_angle(k, unit)}
    points = _points(left, angles)
    reach = _reach(system, ranges, angles)
    known = {
        name: (low, high) if np.isfinite(low) and np.isfinite(high) else (0.0, 0.0)
        for name, (low, high) in zip(system.coordinates, ranges, strict=True)
    }
    usual: dict[sp.Basic, float] = {sp.Symbol(k): p.value for k, p in system.parameters.items()}
    bodies = Bodies(float(f"{_SHARE * reach:.2g}"), known, usual=usual)
    for name, (x, y) in points.items():
        turn = next((k for k in angles & left.keys() if _suffix(k) == _suffix(x)), None)
        left = {k: s for k, s in left.items() if k not in (x, y, turn)}
        place = sp.Symbol(x), sp.Symbol(y)
        along = None if turn is None else sp.Symbol(turn)
        bodies.all.append(Body(name, place, place, "disc", turn=along))
    _add_rails(system, bodies, [k for k in left if k not in angles])
    _add_rods(system, bodies, [k for k in left if k in angles], reach)
    return bodies


def _is_angle(name: str, unit: str) -> bool:
    return unit.startswith(("rad", "deg")) or (not unit and bool(_ANGLES.match(name)))


def _suffix(name: str) -> str:
    """Return what tells two bodies apart: 1 of x1, theta_1 and q1_x."""
    found = re.sub(r"(x|y|z|theta|phi|psi|alpha|beta|gamma|angle|th|rot)", "", name, count=1)
    return found.strip("_")


def _points(left: Mapping[str, sp.Symbol], angles: set[str]) -> dict[str, tuple[str, str]]:
    """Return pairs of coordinates that are points of the plane, by the name of the body."""
    found: dict[str, tuple[str, str]] = {}
    taken: set[str] = set()
    for name in left:
        for place in (i for i, c in enumerate(name) if c in "xX"):
            for up in "yz" if name[place] == "x" else "YZ":
                other = name[:place] + up + name[place + 1 :]
                if other in left and not {name, other} & (angles | taken):
                    taken |= {name, other}
                    key = (name[:place] + name[place + 1 :]).strip("_")
                    found[key] = (name, other)
                    break
    return found


def _reach(
    system: LagrangianSystem, ranges: Sequence[tuple[float, float]], angles: set[str]
) -> float:
    """Return how far things move in m: the largest way, or what else tells of a length."""
    pairs = zip(system.coordinates, ranges, strict=True)
    ways = [high - low for name, (low, high) in pairs if name not in angles]
    ways = [way for way in ways if np.isfinite(way) and way > 1e-9]
    if ways:
        return max(ways)
    lengths = [abs(p.value) for p in system.parameters.values() if p.unit == "m" and p.value]
    return max(lengths, default=1.0)


def _add_rails(system: LagrangianSystem, bodies: Bodies, names: list[str]) -> None:
    """Add a block for each coordinate that moves along a line; what is coupled shares a rail."""
    w = bodies.size
    for row, group in enumerate(coupled(system, names)):
        upward = all(_UPWARD.match(k) for k in group)
        axis = (0, 1) if upward else (1, 0)
        offset: sp.Expr = sp.Integer(0)
        before: sp.Symbol | None = None
        if (riding := _riding(system, group)) is not None:
            bodies.all += _wedged(riding, bodies)
            continue
        across = sp.Float((2.2 if upward else -2.2) * w * row) if row else sp.Integer(0)
        string = len(group) > _TALLEST
        for k, name in enumerate(order_along(system, group)):
            q = sp.Symbol(name)
            if before is not None and not string:
                rest = rest_distance(system, before, q)
                offset += _apart(bodies, before.name, name) if rest is None else w + rest
            along = q + offset
            place = (across, along) if upward else (along, across)
            if string:
                place = (sp.Float(1.2 * w * k), q)
            axis = (0, 1) if string else axis
            bodies.all.append(Body(name, place, (q,), "block", axis))
            before = q


class _Riding(NamedTuple):
    """A coordinate along a slope of a body that another one moves."""

    carrier: sp.Symbol
    rider: sp.Symbol
    axis: tuple[sp.Expr, sp.Expr]


def _riding(system: LagrangianSystem, names: Sequence[str]) -> _Riding | None:
    """Return which of two coordinates moves on the other: where its mass also moves with that one.

    Of m along s on a wedge X the inertia is m, and m cos(a) between both: it moves along (cos(a),
    sin(a)), and down where gravity draws it on.
    """
    if len(names) != 2 or not isinstance(system, MechanicalSystem):
        return None
    usual: dict[sp.Basic, float] = {sp.Symbol(k): p.value for k, p in system.parameters.items()}
    places = [system.coordinates.index(name) for name in names]
    own = [_entry(system, k, k) for k in places]
    shared = _entry(system, *places)
    if shared == 0 or any(one.has(*system.q, *system.v, system.t) for one in (shared, *own)):
        return None
    first, second = (float(one.subs(usual)) for one in own)
    light = int(second < first)
    level = sp.simplify(shared / own[light])
    share = float(level.subs(usual))
    if not 0 < abs(share) < 1:
        return None
    rider, carrier = (system.q[places[k]] for k in (light, 1 - light))
    values: dict[sp.Basic, object] = {**usual, **dict.fromkeys([*system.q, *system.v, system.t], 0)}
    pull = system.force[places[light]].subs(values)
    falls = bool(pull.is_number and pull.is_real and float(pull) > 0)
    rise = sp.sqrt(1 - level**2)
    return _Riding(carrier, rider, (level, -rise if falls else rise))


def _wedged(riding: _Riding, bodies: Bodies) -> list[Body]:
    """Return a wedge and the block on it, which stands on the slope."""
    carrier, rider, (ax, ay) = riding
    half, side = sp.Float(bodies.size / 2), 1 if float(ax.subs(bodies.usual)) > 0 else -1
    place = carrier + rider * ax - side * half * ay, rider * ay + side * half * ax
    return [
        Body(carrier.name, (carrier, sp.Integer(0)), (carrier,), "wedge", riding.axis),
        Body(rider.name, place, (rider,), "block", riding.axis),
    ]


def _apart(bodies: Bodies, before: str, name: str) -> float:
    """Return how far apart two blocks rest on a rail that do not touch in a usual run."""
    meet = bodies.ranges[before][1] - bodies.ranges[name][0]
    return float(f"{max(2.5 * bodies.size, 1.2 * meet + 1.5 * bodies.size):.3g}")


def _add_rods(system: LagrangianSystem, bodies: Bodies, names: list[str], reach: float) -> None:
    """Add a rod for each angle: at the body or at the rod that it is coupled with."""
    for row, name in enumerate(names):
        q = sp.Symbol(name)
        own, before = _carrier(system, bodies, q)
        length = _length(system, name, reach)
        hinge = own.place if own is not None else (sp.Float(3.0 * reach * row), sp.Integer(0))
        angle: sp.Expr = q
        if before is not None:
            angle = q + before
        x, y = sp.sin(angle), -sp.cos(angle)
        if not _hangs(system, q):
            y = -y
        place = (hinge[0] + length * x, hinge[1] + length * y)
        bodies.all.append(Body(name, place, (q,), "bob", hinge=hinge))


def _entry(system: LagrangianSystem, i: int, j: int) -> sp.Expr:
    if isinstance(system, MechanicalSystem):
        return system.inertia.get((i, j), sp.Integer(0))
    return sp.Integer(0)


def _carrier(
    system: LagrangianSystem, bodies: Bodies, q: sp.Symbol
) -> tuple[Body | None, sp.Expr | None]:
    """Return the body at which a rod hangs, and the angle that its own one is counted from."""
    i = system.q.index(q)
    for body in reversed(bodies.all):
        for other in body.q:
            entry = _entry(system, i, system.q.index(other))
            if entry == 0:
                continue
            relative = body.kind == "bob" and other not in entry.free_symbols
            return body, (other if relative else None)
    return None, None


def _length(system: LagrangianSystem, name: str, reach: float) -> sp.Expr:
    """Return the length of the rod of an angle: a parameter of its inertia, or a usual length."""
    i = system.coordinates.index(name)
    symbols = {s.name for s in _entry(system, i, i).free_symbols}
    lengths = [k for k in symbols & system.parameters.keys() if _LENGTHS.match(k)]
    own = [k for k in lengths if k.endswith(_suffix(name))]
    return sp.Symbol(min(own or lengths)) if lengths else sp.Float(reach)


def _hangs(system: LagrangianSystem, q: sp.Symbol) -> bool:
    """Whether an angle is counted from the lower position: from there gravity draws it back."""
    if not isinstance(system, MechanicalSystem):
        return True
    f = system.force[system.q.index(q)]
    values: dict[sp.Basic, object] = {sp.Symbol(k): p.value for k, p in system.parameters.items()}
    values |= dict.fromkeys([*system.q, *system.v, system.t], 0)
    slope = f.diff(q).subs(values)
    return not (slope.is_number and slope.is_real and float(slope) > 0)
