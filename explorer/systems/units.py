"""Units of formulas (costs, gaps, guards), derived from the units of their symbols.

A unit is a product of powers of names, as in "kg m2/s2"; each "/" divides by the one factor behind
it. An angle is a number beside any other unit: N m/rad times rad is N m.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import sympy as sp

from explorer.systems.constraints import force_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from explorer.systems.base import System
    from explorer.systems.sketch import Shape

__all__ = [
    "constraint_units",
    "event_unit",
    "length_unit",
    "measured",
    "phi_unit",
    "product",
    "symbol_units",
]

Powers = dict[str, sp.Rational]
_DERIVED = {
    "N": "kg m/s2", "J": "kg m2/s2", "W": "kg m2/s3", "Pa": "kg/m/s2", "Hz": "1/s", "C": "A s",
    "V": "kg m2/A/s3", "Ω": "kg m2/A2/s3", "F": "A2 s4/kg/m2", "H": "kg m2/A2/s2",
}  # fmt: skip
_TIMES = {"s", "min"}
_LENGTHS = ("m", "mm", "cm", "km", "µm", "nm")
_FACTOR = re.compile(r"(/?)\s*(?:\(([^()]*)\)|1|(°?[^\W\d]+)\^?(-?\d*))")
_SAME = (sp.Abs, sp.re)
_LIKE = (sp.Add, sp.Max, sp.Min)


def _read(text: str) -> Powers:
    powers: Powers = {}
    for over, inner, name, power in _FACTOR.findall(text):
        part = _read(inner) if inner else {name: sp.Rational(power or 1)} if name else {}
        for key, value in part.items():
            powers[key] = powers.get(key, 0) + (-value if over else value)
    return _kept(powers)


def _kept(powers: Powers) -> Powers:
    return {name: power for name, power in powers.items() if power != 0}


def _times(one: Powers, two: Powers, power: sp.Rational | int = 1) -> Powers:
    return _kept({k: one.get(k, 0) + power * two.get(k, 0) for k in {**one, **two}})


def _base(powers: Powers) -> Powers:
    """Return a unit in base units, without angles; the terms of a sum must agree in it."""
    base: Powers = {}
    for name, power in powers.items():
        part = _base(_read(_DERIVED[name])) if name in _DERIVED else {name: sp.Integer(1)}
        base = _times(base, part, power)
    return {name: power for name, power in base.items() if name not in ("rad", "deg")}


def _written(powers: Powers) -> str | None:
    """Return the text of a unit; None if a power is not an integer."""
    if any(not power.is_Integer for power in powers.values()):
        return None
    if {*powers} - _TIMES - {"rad"}:
        powers = {name: power for name, power in powers.items() if name != "rad"}
    top = " ".join(f"{k}{p if p > 1 else ''}" for k, p in powers.items() if p > 0)
    low = [f"{k}{-p if p < -1 else ''}" for k, p in powers.items() if p < 0]
    under = f"({' '.join(low)})" if len(low) > 1 else "".join(low)
    return f"{top or '1'}/{under}" if low else top


@functools.lru_cache(1000)  # a table asks for the same ones at every picture
def product(*units: str) -> str:
    """Return the unit of a product.

    >>> product("m2/s2", "s"), product("N/m", "m2", "s"), product("1/min", "min")
    ('m2/s', 'N m s', '')
    """
    total: Powers = {}
    for unit in units:
        total = _times(total, _read(unit))
    return _written(total) or ""


def measured(formula: sp.Expr, units: Mapping[str, str]) -> str | None:
    """Return the unit of a formula, "" for a pure number, None if its terms do not agree.

    Numbers in a sum are taken for what they are added to.

    >>> y, v, k = sp.symbols("y v_y k")
    >>> units = {"y": "m", "v_y": "m/s", "k": "N/m"}
    >>> measured(v**2, units), measured(k * y**2 / 2 + k * y, units), measured(y - 1, units)
    ('m2/s2', None, 'm')
    """
    powers = _powers(formula, units)
    return None if powers is None else _written(powers)


def _powers(formula: sp.Expr, units: Mapping[str, str]) -> Powers | None:
    if formula.is_Symbol:
        return _read(units[formula.name]) if formula.name in units else None
    if not formula.free_symbols:
        return {}
    if isinstance(formula, sp.Piecewise):
        return _common([value for value, _ in formula.args], units)
    if isinstance(formula, _LIKE):
        return _common(formula.args, units)
    if isinstance(formula, _SAME):
        return _powers(formula.args[0], units)
    parts = [_powers(arg, units) for arg in formula.args]
    if any(part is None for part in parts):
        return None
    if isinstance(formula, sp.Mul):
        total: Powers = {}
        for part in parts:
            total = _times(total, part or {})
        return total
    if isinstance(formula, sp.Pow) and formula.exp.is_Rational:
        return _times({}, parts[0] or {}, formula.exp)
    if isinstance(formula, (sp.sign, sp.Heaviside)) or not any(_base(part or {}) for part in parts):
        return {}
    return None


def _common(terms: tuple[sp.Expr, ...] | list[sp.Expr], units: Mapping[str, str]) -> Powers | None:
    """Return the common unit of all terms that are not numbers."""
    parts = [_powers(term, units) for term in terms if term.free_symbols]
    first = parts[0]
    if first is None or any(one is None or _base(one) != _base(first) for one in parts):
        return None
    return first


def symbol_units(system: System) -> dict[str, str]:
    """Return the unit of each symbol of a system's formulas; empty if none is declared.

    Velocities are v_<coordinate>, accelerations a_<coordinate> and rates of states d_<state>.
    """
    names: tuple[str, ...] = getattr(system, "coordinates", ())
    own: tuple[str, ...] = getattr(system, "units", ())
    declared = {name: param.unit for name, param in system.parameters.items()}
    if not any([*own, *declared.values()]):
        return {}
    time = system.time_unit
    known = {"t": time}
    for name, unit in zip(names, own, strict=True):
        rate = product(unit, f"1/{time}")
        known |= {f"v_{name}": rate, f"d_{name}": rate, f"a_{name}": product(rate, f"1/{time}")}
    return known | dict(zip(names, own, strict=True)) | declared


def length_unit(system: System, shapes: Sequence[Shape]) -> str:
    """Return the unit of length of a picture, "" if formulas of its points name none, or two."""
    kept: tuple[Sequence[Shape], str] = system.lasting.get("length unit", ((), ""))
    if kept[0] != shapes:  # many pictures a second are made of the same shapes
        units = symbol_units(system)
        places = {x for shape in shapes for point in shape.points for x in map(sp.sympify, point)}
        known = {measured(x, units) for x in places if x.free_symbols}
        found = [unit for unit in _LENGTHS if unit in known]
        kept = system.lasting["length unit"] = shapes, found[0] if len(found) == 1 else ""
    return kept[1]


def event_unit(system: System, kind: str, name: str) -> str | None:
    """Return the unit of dr/dt at an event of this kind: r is the gap, the guard, the function.

    Where a contact is released, or slips, r is a force; where it sticks or turns, its slip in m/s.
    """
    if "guard units" not in system.lasting:
        units = symbol_units(system)
        functions = {c.name: c.gap for c in system.contacts}
        functions |= {g.name: g.r for g in getattr(system, "guards", ())}
        functions |= {s.name: s.c for s in getattr(system, "switches", ())}
        changing = [c for c in system.constraints if c.when is not None]
        functions |= {c.name: sp.sympify(c.when) for c in changing}
        forces = zip(system.constraints, constraint_units(system), strict=True)
        units |= {force_name(c.name): u for c, (_, u) in forces if u is not None}
        system.lasting["guard units"] = {k: measured(r, units) for k, r in functions.items()}
    unit: str | None = system.lasting["guard units"].get(name)
    contact = name in [c.name for c in system.contacts]
    if contact and kind not in ("impact", "closed"):
        r = {"released": "N", "slips": "N", "sticks": "m/s", "turns": "m/s"}.get(kind)
        unit = r if unit == "m" else None
    elif kind in ("leaves", "zeno"):  # of a slide that ends r is a multiplier
        unit = None
    return None if unit is None else product(unit, f"1/{system.time_unit}")


def constraint_units(system: System) -> list[tuple[str | None, str | None]]:
    """Return the units of each constraint phi and of its force lam, None where they are not known.

    The virtual work lam phi is one in J: a phi in m has a force in N, a pure number one in N m. A
    constraint that declares its `units` has these.
    """
    if "constraint units" not in system.lasting:
        units = symbol_units(system)
        own = {*map(_bare, getattr(system, "units", ())), ""}
        found = [
            _seen(sp.sympify(c.phi), units, own) if c.units is None else c.units
            for c in system.constraints
        ]
        system.lasting["constraint units"] = [(u, None if u is None else _force(u)) for u in found]
    both: list[tuple[str | None, str | None]] = system.lasting["constraint units"]
    return both


def phi_unit(system: System, k: int, *, rate: bool = False) -> str:
    """Return the unit of constraint `k` or of its rate, empty if it is not known."""
    unit = constraint_units(system)[k][0]
    return "" if unit is None else product(unit, f"1/{system.time_unit}") if rate else unit


def _seen(phi: sp.Expr, units: Mapping[str, str], own: set[str]) -> str | None:
    """Return the unit of phi; None where a number may hide one, as that in x**2 + y**2 - 1 does.

    `own` are the units of coordinates: a number beside one of them is a place or an angle.
    """
    for part in sp.preorder_traversal(phi):
        if isinstance(part, sp.Add) and any(not x.free_symbols for x in part.args):
            unit = measured(part, units)
            if unit is None or _bare(unit) not in own:
                return None
    return measured(phi, units)


def _bare(unit: str) -> str:
    return _written(_base(_read(unit))) or ""


def _force(unit: str) -> str:
    return product("N m", f"1/({unit})") if unit not in ("", "rad") else "N m"
