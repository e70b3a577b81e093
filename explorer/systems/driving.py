"""A system with its inputs along time: `driven`.

Where an input is linear, its formula in an interval stands in all formulas for its symbol; so
derivatives by t hold its slope.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import sympy as sp

from explorer.errors import BadModel, BadValue
from explorer.parameters import InputParam
from explorer.systems.base import System
from explorer.systems.drive import Drive, Input, Layout, laid_out, ramp, schedule, slots
from explorer.systems.lagrangian import LagrangianSystem

__all__ = ["along", "copied", "driven", "redriven", "undriven"]

S = TypeVar("S", bound=System)
T = TypeVar("T")
_NO_FORMULAS = ("made", "parameters", "presets", "published", "sizes", "exact", "drive", "base")
_MOST = 16  # layouts that are kept


def driven(system: S, u: object, t_end: float) -> tuple[S, dict[str, float]]:
    """Return the system with these inputs, as `explorer.simulate` takes them, and constant ones.

    Raises
    ------
    BadModel
        An input that jumps stands in a gap or a constraint.
    BadValue
        See `explorer.systems.drive.schedule`.
    """
    origin = undriven(system)
    moving, fixed = schedule(origin, u, t_end)
    if not moving:
        return origin, fixed
    base, layout = _laid_out(origin, moving, t_end)
    drive = Drive(moving, layout, layout.filled(moving.values()))
    # a closed form is that of constant inputs
    return copied(base, made={}, exact=None, drive=drive, base=base), fixed


def _laid_out(system: S, moving: Mapping[str, Input], t_end: float) -> tuple[S, Layout]:
    """Return the system with the formulas of its linear inputs, and the layout of all.

    Kept for runs with other values on the same grids.
    """
    kept: dict[object, tuple[S, Layout]] = system.made.setdefault("layouts", {})
    key = t_end, *((name, signal.steps) for name, signal in moving.items())
    if key not in kept:
        linear = tuple(k for k, signal in moving.items() if signal.kind == "linear")
        _check_positions(system, {*moving} - {*linear})
        found = _ramped(system, linear), laid_out(moving, t_end)
        if len(kept) >= _MOST:
            kept.clear()
        kept[key] = found
    return kept[key]


def copied(system: S, **changes: object) -> S:
    """Return a copy with other attributes."""
    other: S = object.__new__(type(system))
    own = vars(system).copy()  # quicker than to fill one
    own.update(changes)
    object.__setattr__(other, "__dict__", own)
    return other


def redriven(system: S, inputs: Mapping[str, Input]) -> S:
    """Return a driven system with other values of some inputs on the same grids."""
    drive = system.drive
    assert drive is not None
    signals = {**drive.inputs, **inputs}
    values = drive.layout.filled(signals.values())
    return copied(system, made={}, drive=Drive(signals, drive.layout, values))


def along(system: System, formula: sp.Expr) -> sp.Expr:
    """Return a formula with those of the linear inputs of a driven system in their place."""
    drive = system.drive
    if drive is None:
        return formula
    linear = [name for name, signal in drive.inputs.items() if signal.kind == "linear"]
    return formula.xreplace({sp.Symbol(name): ramp(name) for name in linear})


def undriven(system: S) -> S:
    """Return the system as it was declared, its inputs constant."""
    while system.base is not None:
        system = system.base  # type: ignore[assignment]
    return system


def _check_positions(system: System, jumping: set[str]) -> None:
    """Refuse a gap or a constraint that would jump."""
    if not isinstance(system, LagrangianSystem):
        return
    symbols = {sp.Symbol(name) for name in jumping}
    places = [(f"gap of {c.name!r}", c.gap) for c in system.contacts]
    places += [(f"constraint {c.name!r}", c.phi) for c in system.constraints]
    for what, formula in places:
        if found := sp.sympify(formula).free_symbols & symbols:
            raise BadModel(
                f"The {what} of '{system.name}' depends on the input {min(map(str, found))!r}, "
                "which jumps from interval to interval, and a position cannot. Use Input.linear."
            )


def _ramped(system: S, linear: tuple[str, ...]) -> S:
    """Return the system with the formulas of its linear inputs; made once for each change."""
    if not linear:
        return system
    kept: dict[tuple[str, ...], S] = system.made.setdefault("ramped", {})
    if linear not in kept:
        more = [name for u in linear for name in slots(u, "linear")[1:]]
        if taken := sorted({*more} & {*system.symbols()}):
            raise BadValue(
                f"'{system.name}' has a symbol {taken[0]!r}, a name that a linear input needs. "
                "Rename it, or use Input.constant."
            )
        other = copied(system, made={}, base=system)
        changes = {sp.Symbol(name): ramp(name) for name in linear}
        for key, value in vars(system).items():
            if key not in _NO_FORMULAS:
                vars(other)[key] = _replaced(value, changes)
        other.parameters = dict(system.parameters)
        for name in more:
            other.parameters[name] = InputParam(1.0 if name.endswith("_span") else 0.0)
        kept[linear] = other
    return kept[linear]


def _replaced(value: T, changes: Mapping[sp.Symbol, sp.Expr]) -> T:
    """Return formulas, or what holds them, with symbols replaced; else the same object."""
    if isinstance(value, (sp.Basic, sp.MatrixBase)):
        return value.xreplace(changes)  # type: ignore[no-any-return]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_replaced(x, changes) for x in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_replaced(x, changes) for x in value)
    if isinstance(value, dict):
        return {k: _replaced(x, changes) for k, x in value.items()}  # type: ignore[return-value]
    if isinstance(value, np.ndarray) and value.dtype == object:
        found = np.empty_like(value)
        for k, x in enumerate(value.flat):
            found.reshape(-1)[k] = _replaced(x, changes)
        return found
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        other = copy.copy(value)
        for field in dataclasses.fields(value):
            x = _replaced(getattr(value, field.name), changes)
            object.__setattr__(other, field.name, x)
        return other
    return value
