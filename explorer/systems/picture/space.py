"""The picture of a Filippov system with one or two states: its regions, fields, and its state.

One state moves along an axis whose parts are lit where their field holds; two states move in
their plane, with the surfaces that part the regions and the fields as small arrows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import sympy as sp

from explorer.systems.filippov import FilippovSystem
from explorer.systems.picture.obstacles import round_zero
from explorer.systems.schematic import lamp, name, path
from explorer.systems.sketch import Shape, line
from explorer.types import Value

__all__ = ["space"]

_WIDE, _TALL = 4.0, 3.0  # of the picture
_PAD = 0.12  # of a range
_COLUMNS, _ROWS = 8, 6  # of arrows of the field
_POINTS = 41  # of a surface


def space(
    system: FilippovSystem,
    ranges: Sequence[tuple[float, float]],
    marks: Sequence[tuple[str, Sequence[Value]]] = (),
) -> list[Shape]:
    """Return the picture of a system with states that go so far; none if it has none.

    One state needs switching functions that are linear in it, and no more than two can be drawn.
    `marks` are names and the states at which they stand.
    """
    limits = [_padded(low, high) for low, high in ranges]
    if system.n == 1:
        zeros = _zeros(system)
        return [] if zeros is None else _axis(system, limits[0], zeros, marks)
    return _plane(system, limits, marks) if system.n == 2 else []


def _zeros(system: FilippovSystem) -> list[sp.Expr] | None:
    """Return where the functions of one state are zero, in order; None if that cannot be told."""
    (x,), usual = system.x, _values(system)
    zeros = []
    for switch in system.switches:
        slope = switch.c.diff(x)
        if not slope or slope.has(x) or switch.c.has(system.t):
            return None
        zeros.append(sp.expand(x - switch.c / slope))
    if not all(zero.subs(usual).is_finite for zero in zeros):
        return None
    return sorted(zeros, key=lambda zero: float(zero.subs(usual)))


def _padded(low: float, high: float) -> tuple[float, float]:
    if not (math.isfinite(low) and math.isfinite(high)):
        return -1.0, 1.0
    span = high - low or 2.0
    return low - _PAD * span, high + _PAD * span


def _values(system: FilippovSystem) -> dict[sp.Basic, float]:
    return {sp.Symbol(k): p.value for k, p in system.parameters.items()}


def _signals(system: FilippovSystem) -> Iterator[tuple[str, sp.Symbol]]:
    """Yield the name of each region, and the symbol of its multiplier."""
    regions = [r for part in system.subsystems for r in part.regions]
    for region, signal in zip(regions, system.signals, strict=True):
        yield region.name, sp.Symbol(signal)


def _field(system: FilippovSystem, at: dict[sp.Basic, sp.Expr]) -> list[sp.Expr]:
    """Return x' at a place of no surface: each multiplier is 0 or 1 there."""
    sides = {s.alpha: sp.Heaviside(s.c.subs(at), sp.Rational(1, 2)) for s in system.switches}
    return [f.subs(at).subs(sides) for f in system.f]


def _axis(
    system: FilippovSystem,
    limits: tuple[float, float],
    zeros: list[sp.Expr],
    marks: Sequence[tuple[str, Sequence[Value]]],
) -> list[Shape]:
    """Return an axis from the lowest to the highest state, parted where a function is zero."""
    (x,), (low, high) = system.x, limits

    def at(value: Value) -> sp.Expr:
        inside = sp.Min(sp.Max(sp.sympify(value), low), high)
        return _WIDE * (inside - low) / (high - low)

    usual = _values(system)
    inner = [float(z.subs(usual)) for z in zeros]
    ends = [sp.Float(low), *zeros, sp.Float(high)]
    middles = [(a + b) / 2 for a, b in itertools.pairwise([low, *inner, high])]
    lit = dict(_signals(system))
    found: list[Shape] = []
    for (a, b), middle in zip(itertools.pairwise(ends), middles, strict=True):
        here = usual | {x: middle, system.t: 0.0}
        held = [r for part in system.subsystems for r in part.regions if _holds(system, r, here)]
        value = lit[held[0].name] if held else sp.Integer(0)
        corners = [(at(a), -0.3), (at(b), -0.3), (at(b), 0.3), (at(a), 0.3)]
        label = held[0].name if held else ""
        found.append(Shape(tuple(corners), "line", "lamp", True, value=value, unit="on"))
        found.append(Shape(((at((a + b) / 2), 0.75),), "text", "text", label=label))
        (rate,) = _field(system, {x: (a + b) / 2})
        way = 0.4 * rate / sp.sqrt(rate**2 + 1e-12)
        found.append(
            Shape(((at((a + b) / 2), -0.65), (at((a + b) / 2) + way, -0.65)), "line", "arrow")
        )
    for written, (value,) in marks:
        found.append(line((at(value), -1.1), (at(value), -0.9), role="node"))
        found.append(_written(at(value), sp.Float(-1.4), written))
    state = Shape(((at(x), sp.Integer(0)),), "circle", "point", True, 0.12)
    return [*found, *path((0, -1), (_WIDE + 0.4, -1)), name(_WIDE + 0.6, -1, x.name), state]


def _holds(system: FilippovSystem, region: object, at: dict[sp.Basic, float]) -> bool:
    sides = {s.alpha: float(bool(s.c.subs(at) > 0)) for s in system.switches}
    return bool(region.theta.subs(sides) > 0.5)  # type: ignore[attr-defined]


def _written(x: sp.Expr, y: sp.Expr, words: str) -> Shape:
    """Return words around a place that may be a formula."""
    half = 0.085 * len(words)
    return Shape(((x - half, y), (x + half, y)), "text", "text", label=words)


def _plane(
    system: FilippovSystem,
    limits: list[tuple[float, float]],
    marks: Sequence[tuple[str, Sequence[Value]]],
) -> list[Shape]:
    (x, y), (xs, ys) = system.x, limits

    def at(a: Value, b: Value) -> tuple[sp.Expr, sp.Expr]:
        places = []
        for value, (low, high), size in ((a, xs, _WIDE), (b, ys, _TALL)):
            inside = sp.Min(sp.Max(sp.sympify(value), low), high)
            places.append(size * (inside - low) / (high - low))
        return places[0], places[1]

    found = [*path((0, 0), (_WIDE + 0.4, 0)), *path((0, 0), (0, _TALL + 0.4))]
    found += [name(_WIDE + 0.7, 0, x.name), name(0, _TALL + 0.7, y.name)]
    found += _arrows(system, limits)
    for switch in system.switches:
        for curve in _surfaces(switch.c, (x, y), limits):
            found.append(line(*(at(*p) for p in curve), role="node"))
    for k, (label, lit) in enumerate(_signals(system)):
        wide = 0.17 * len(label) + 0.5
        found += lamp(_WIDE + 1.0 + wide / 2, _TALL - 0.3 - 0.8 * k, wide, 0.55, lit, label)
    for written, place in marks:
        px, py = at(*place)
        found += [
            Shape(((px, py),), "circle", "node", True, 0.06),
            _written(px, py + 0.25, written),
        ]
    return [*found, Shape((at(x, y),), "circle", "point", True, 0.08)]


def _arrows(system: FilippovSystem, limits: list[tuple[float, float]]) -> Iterator[Shape]:
    """Yield the directions of the field, as small arrows on a grid."""
    (x, y), (xs, ys) = system.x, limits
    scale = _WIDE / (xs[1] - xs[0]), _TALL / (ys[1] - ys[0])
    for i, j in itertools.product(range(_COLUMNS), range(_ROWS)):
        px, py = _WIDE * (i + 0.5) / _COLUMNS, _TALL * (j + 0.5) / _ROWS
        place = {x: sp.Float(xs[0] + px / scale[0]), y: sp.Float(ys[0] + py / scale[1])}
        u, v = (s * f for s, f in zip(scale, _field(system, place), strict=True))
        size = sp.sqrt(u**2 + v**2 + 1e-12)
        dx, dy = 0.14 * u / size, 0.14 * v / size
        tip = px + dx, py + dy
        barbs = [(px + 0.3 * dx - s * 0.5 * dy, py + 0.3 * dy + s * 0.5 * dx) for s in (-1, 1)]
        yield line((px - dx, py - dy), tip, barbs[0], tip, barbs[1], role="trace")


def _surfaces(
    c: sp.Expr, states: Sequence[sp.Symbol], limits: list[tuple[float, float]]
) -> Iterator[list[tuple[sp.Expr, sp.Expr]]]:
    """Yield the curve on which a function is zero, where a formula of it is known."""
    x, y = states
    zero = round_zero(c, (x, y), None)
    if zero is not None:
        (mx, my), r, _ = zero
        turn = np.linspace(0, 2 * np.pi, _POINTS).tolist()
        yield [(mx + r * math.cos(a), my + r * math.sin(a)) for a in turn]
        return
    for free, held, (low, high) in ((x, y, limits[0]), (y, x, limits[1])):
        slope = c.diff(held)
        if not slope or slope.has(held) or slope.has(free):
            continue
        curve = sp.expand(held - c / slope)
        points = np.linspace(low, high, _POINTS if curve.has(free) else 2).tolist()
        values = [curve.subs(free, s) for s in points]
        yield [
            (sp.Float(s), b) if free == x else (b, sp.Float(s))
            for s, b in zip(points, values, strict=True)
        ]
        return
