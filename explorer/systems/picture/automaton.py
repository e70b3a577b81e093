"""The diagram of an automaton: a lamp for each mode, an arrow for each guard."""

from __future__ import annotations

import math

import sympy as sp

from explorer.systems.hybrid import HybridSystem
from explorer.systems.modes import Guard
from explorer.systems.schematic import Place, lamp, name, path
from explorer.systems.sketch import Shape

__all__ = ["automaton"]

_HIGH, _LETTER, _LEAST = 0.7, 0.17, 1.2
_MOST = 12  # modes; of more the first ones are drawn


def automaton(system: HybridSystem, x: float, y: float) -> list[Shape]:
    """Return the modes from (x, y) downwards to the right; the active one is lit."""
    modes = system.modes[:_MOST]
    wide = max(_LEAST, *(_LETTER * len(mode.name) + 0.4 for mode in modes))
    places = _places(len(modes), wide, x, y)
    found: list[Shape] = []
    for place, mode, signal in zip(places, modes, system.signals, strict=False):
        found += lamp(*place, wide, _HIGH, sp.Symbol(signal), mode.name)
    said: dict[tuple[int, int], list[str]] = {}
    for guard in system.guards:
        for to in dict.fromkeys([b.to for b in guard.branches] or [guard.to]):
            if max(guard.mode, to) < len(modes):
                said.setdefault((guard.mode, to), []).append(_condition(guard))
    for (a, b), words in said.items():
        found += _arrow(places[a], places[b], wide, ", ".join(words))
    return found


def _places(count: int, wide: float, x: float, y: float) -> list[Place]:
    """Return the middles of the modes: on a line if they are few, else on a circle."""
    if count <= 2:
        return [(x + wide / 2 + (wide + 2.6) * k, y) for k in range(count)]
    radius = max(0.9 * wide, 0.32 * count * wide)
    turn = [math.pi / 2 - 2 * math.pi * k / count for k in range(count)]
    middle = x + radius + wide / 2, y - radius + _HIGH
    return [
        (middle[0] + 1.3 * radius * math.cos(a), middle[1] + radius * math.sin(a)) for a in turn
    ]


def _condition(guard: Guard) -> str:
    """Return the name of a guard, or its formula if it has none of its own."""
    return f"{guard.r} = 0" if guard.name.startswith("guard ") else guard.name


def _arrow(start: Place, end: Place, wide: float, words: str) -> list[Shape]:
    """Return an arrow from mode to mode, beside the one that leads back, with its words."""
    if start == end:
        x, y = start
        top = y + _HIGH / 2
        loop = [(x - 0.3, top), (x - 0.3, top + 0.45), (x + 0.3, top + 0.45), (x + 0.3, top)]
        return [*path(*loop), name(x, top + 0.75, words)]
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    ux, uy = dx / length, dy / length
    room = min((wide / 2 + 0.08) / max(abs(ux), 1e-9), (_HIGH / 2 + 0.08) / max(abs(uy), 1e-9))
    aside = 0.2
    ax, ay = start[0] + room * ux - aside * uy, start[1] + room * uy + aside * ux
    bx, by = end[0] - room * ux - aside * uy, end[1] - room * uy + aside * ux
    away = 0.28 + _LETTER / 2 * len(words) * abs(uy)  # words lie: beside what stands, more room
    middle = (ax + bx) / 2 - away * uy, (ay + by) / 2 + away * ux
    return [*path((ax, ay), (bx, by)), name(*middle, words)]
