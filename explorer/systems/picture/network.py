"""The picture of a system x' = ...: a node for each state, filled to its level, arrows, lamps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import sympy as sp

from explorer.systems.filippov import FilippovSystem
from explorer.systems.first_order import FirstOrderSystem
from explorer.systems.hybrid import HybridSystem
from explorer.systems.picture.automaton import automaton
from explorer.systems.schematic import Place, block, diode, lamp, name, path, relay
from explorer.systems.sketch import Shape, arrow, line, text
from explorer.systems.state_space import StateSpaceSystem
from explorer.systems.step import StepSystem

__all__ = ["network"]

_MOST = 16  # nodes; of more the first ones are drawn
_WIDE, _TALL = 0.5, 1.0  # of a node
_LAMP = 0.16
_LETTER = 0.13  # width
_BLOCKS, _IN_A_ROW = 2, 3  # relays that are drawn as blocks, beside so many states

Ranges: TypeAlias = "Sequence[tuple[float, float]]"


def network(system: StateSpaceSystem, ranges: Sequence[tuple[float, float]]) -> list[Shape]:
    """Return tanks that fill from the least to the largest value of each state in a usual run.

    An arrow leads to each state from those that its rate depends on. What switches stands beside
    it: relays and diodes with wires to what they act on, lamps for many of them, and the modes of
    an automaton.
    """
    n = min(system.n, _MOST)
    places = _places(n)
    found: list[Shape] = []
    for i, (x, y) in enumerate(places):
        low, high = ranges[i]
        span = high - low if math.isfinite(high - low) and high > low else 1.0
        state = sp.Symbol(system.coordinates[i])
        level = sp.Min(sp.Max((state - low) / span, 0), 1)
        left, right, base = x - _WIDE / 2, x + _WIDE / 2, y - _TALL / 2
        top = base + _TALL * level
        found.append(line((left, base), (right, base), (right, top), (left, top), closed=True))
        rim = [(left, base + _TALL), (left, base), (right, base), (right, base + _TALL)]
        found.append(line(*rim, role="node", label=system.coordinates[i]))
        for j in _sources(system, i, n):
            if i != j:
                found.append(arrow(*_shortened(places[j], (x, y))))
    return found + _switches(system, places, ranges)


def _places(n: int) -> list[tuple[float, float]]:
    if n <= 3:
        return [(1.6 * k, 0.0) for k in range(n)]
    radius = max(1.4, 0.32 * n)
    turn = [math.pi / 2 - 2 * math.pi * k / n for k in range(n)]
    return [(radius * math.cos(a), radius * math.sin(a)) for a in turn]


def _shortened(
    start: tuple[float, float], end: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return an arrow from tank to tank, beside the one that leads back."""
    a, b = np.array(start), np.array(end)
    along = (b - a) / np.hypot(*(b - a))
    aside = 0.12 * np.array([-along[1], along[0]])
    room = 0.42 + 0.2 * abs(along[1])
    tail, head = a + room * along + aside, b - room * along + aside
    return (float(tail[0]), float(tail[1])), (float(head[0]), float(head[1]))


def _sources(system: StateSpaceSystem, i: int, n: int) -> list[int]:
    """Return the states that the rate of a state depends on."""
    names = {k: j for j, k in enumerate(system.coordinates[:n])}
    symbols: set[sp.Basic] = set()
    for rate in _rates(system, i):
        symbols |= sp.sympify(rate).free_symbols
    for switch in getattr(system, "switches", ()):
        if switch.alpha in symbols:
            symbols |= switch.c.free_symbols
    return sorted(names[s.name] for s in symbols if s.name in names)


def _rates(system: StateSpaceSystem, i: int) -> list[object]:
    rates = [getattr(system, "f", None)]
    rates += [mode.flow for mode in getattr(system, "modes", ())]
    return [rate[i] for rate in rates if rate is not None]


def _switches(system: StateSpaceSystem, places: list[Place], ranges: Ranges) -> list[Shape]:
    """Return what switches: relays and diodes with wires to what they act on, lamps, modes."""
    right = max(x for x, _ in places) + _WIDE / 2
    ups = [y for _, y in places]
    if isinstance(system, HybridSystem):
        return automaton(system, min(x for x, _ in places) - _WIDE / 2, min(ups) - _TALL - 1.1)
    if isinstance(system, FilippovSystem):
        said = [region.name for part in system.subsystems for region in part.regions]
        return _lamps(said, system.signals, right, ups)
    if isinstance(system, StepSystem):
        if 0 < len(system.switches) <= _BLOCKS and len(places) <= _IN_A_ROW:
            return _relays(system, places, ranges, right)
        alphas = [s.alpha.name for s in system.switches]
        return _lamps([f"{s.name} > 0" for s in system.switches], alphas, right, ups)
    if isinstance(system, FirstOrderSystem):
        return _laws(system, places, ranges, right)
    return []


def _lamps(said: Sequence[str], lit: Sequence[str], right: float, ups: list[float]) -> list[Shape]:
    """Return a column of lamps with what each says."""
    middle = (max(ups) + min(ups)) / 2 + (min(len(said), _MOST) - 1) * 1.6 * _LAMP
    found: list[Shape] = []
    for k, (words, value) in enumerate(zip(said[:_MOST], lit, strict=False)):
        y = middle - 3.2 * _LAMP * k
        found += lamp(right + 0.5 + _LAMP, y, 2 * _LAMP, 2 * _LAMP, sp.Symbol(value))
        found.append(text(right + 0.5 + 3 * _LAMP, y, words, _LETTER * len(words)))
    return found


def _size(system: StateSpaceSystem, c: sp.Expr, ranges: Ranges) -> float:
    """Return how large a function is at most at the corners of the ranges of its states."""
    usual: dict[sp.Basic, object] = {sp.Symbol(k): p.value for k, p in system.parameters.items()}
    inside = [k for k, x in enumerate(system.x) if x in c.free_symbols][:4]
    sizes = [1e-9]
    for corner in itertools.product((0, 1), repeat=len(inside)):
        at = {system.x[k]: ranges[k][i] for k, i in zip(inside, corner, strict=True)}
        value = c.subs({**usual, **at, system.t: 0})
        sizes += [abs(float(value))] if value.is_number and value.is_real else []
    return float(f"{max(sizes) if max(sizes) > 1e-9 else 1.0:.2g}")


def _relays(system: StepSystem, places: list[Place], ranges: Ranges, right: float) -> list[Shape]:
    """Return the blocks of relays, each in a loop: from what it looks at to what it drives."""
    found: list[Shape] = []
    for k, switch in enumerate(system.switches):
        y = -1.6 * k + 0.4 * (len(system.switches) - 1)
        seen, driven = _ends(system, {switch.alpha}, switch.c, len(places))
        found += relay(right + 1.9, y, switch.c, _size(system, switch.c, ranges), switch.alpha)
        found.append(name(right + 1.9, y + 0.75, switch.name))
        found += _loop(places, seen, driven, (right + 1.9, y), k)
    return found


def _laws(
    system: FirstOrderSystem, places: list[Place], ranges: Ranges, right: float
) -> list[Shape]:
    """Return a relay or a diode for each law; of many laws lamps."""
    several = [law for law in system.laws if law.kind != "equality"]
    if len(several) > _BLOCKS or len(places) > _IN_A_ROW:
        said = [f"{law.name} > 0" for law in several]
        found: list[Shape] = []
        y = max(y for _, y in places) + _TALL / 2
        for k, (law, words) in enumerate(zip(several[:_MOST], said, strict=False)):
            low = y - 0.5 * k
            lit = sp.Heaviside(law.lam, 0)
            found += lamp(right + 0.7, low, 2 * _LAMP, 2 * _LAMP, lit)
            found.append(text(right + 1.0, low, words, _LETTER * len(words)))
        return found
    found = []
    for k, law in enumerate(several):
        y = -1.6 * k + 0.4 * (len(several) - 1)
        opposed = system.y[system.laws.index(law)]
        seen, driven = _ends(system, {law.lam}, opposed, len(places))
        x = right + 1.9
        bounds = [bound.is_infinite for bound in (law.lb, law.ub)]
        if law.kind == "relay" and not any(bounds):
            high = (law.lam - law.lb) / (law.ub - law.lb)
            found += relay(x, y, -opposed.subs(law.lam, 0), 1, high)
        else:
            found += block(x, y, 1.5, 0.8)
            away = law.ub - law.lam if bounds[0] else law.lam - law.lb
            found += diode((x - 0.75, y), (x + 0.75, y), away)
        found.append(name(x, y + 0.65, law.name))
        found += _loop(places, seen, driven, (x, y), k)
    return found


def _ends(
    system: StateSpaceSystem, by: set[sp.Symbol], c: sp.Expr, n: int
) -> tuple[list[int], list[int]]:
    """Return the states that a switch looks at, and those whose rates it changes."""
    seen = [k for k, x in enumerate(system.x[:n]) if x in c.free_symbols]
    driven = []
    for i in range(n):
        rates = [*_rates(system, i), *getattr(system, "r", ())[i : i + 1]]
        if any(by & sp.sympify(rate).free_symbols for rate in rates):
            driven.append(i)
    return seen, driven


def _loop(
    places: list[Place], seen: list[int], driven: list[int], at: Place, k: int
) -> list[Shape]:
    """Return the wires of a block: above from what it looks at, below to what it drives."""
    x, y = at
    found: list[Shape] = []
    over, under = _TALL / 2 + 0.5 + 0.2 * k, -_TALL / 2 - 0.35 - 0.25 * k
    if y < 0:
        under -= 0.8
    for i in seen:
        px, top = places[i][0] + 0.08 * k, places[i][1] + _TALL / 2 + 0.38
        found += path((px, top), (px, over), (x - 1.1, over), (x - 1.1, y), (x - 0.7, y))
    for i in driven:
        px, bottom = places[i][0] + 0.12 * k, places[i][1] - _TALL / 2 - 0.05
        found += path((x + 0.66, y), (x + 1, y), (x + 1, under), (px, under), (px, bottom))
    return found
