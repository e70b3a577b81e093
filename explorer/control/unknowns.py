"""Parameters that a plan chooses: one value over the horizon, or one in each control interval.

An unknown parameter is one more variable of the nonlinear program. A stage parameter is a control
that is no input of the system, and that feedback leaves as planned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import sympy as sp

from explorer.arguments import mapping
from explorer.control.ranges import pair
from explorer.errors import BadValue, suggest
from explorer.systems import HybridSystem, MechanicalSystem, StepSystem, System

__all__ = ["check_places", "formulas_of", "stage_ranges", "unknown_ranges"]

_FIXED = ("gap", "constraint", "switching function")  # a jump of them would be one of the state


def unknown_ranges(
    given: object, system: System, controls: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Return the ranges of the parameters that are unknown.

    Raises
    ------
    BadValue
        No mapping, an unknown name, a control, a range that is empty or not finite.
    """
    found = {}
    for name, value in mapping(given, "unknowns", '{"k": (1, 10)}').items():
        _check_name("unknowns", name, system, controls)
        found[name] = _finite("unknowns", name, value, system)
    return found


def stage_ranges(
    given: object, system: System, controls: Sequence[str], intervals: int
) -> dict[str, np.ndarray]:
    """Return the ranges (N, 2) of the stage parameters.

    Raises
    ------
    BadValue
        As `unknown_ranges`, and a wrong number of values.
    """
    found = {}
    for name, value in mapping(given, "stagewise", '{"k": (1, 10)}').items():
        _check_name("stagewise", name, system, controls)
        several = list(value) if _listed(value) else []
        ends = len(several) == 2 and not any(map(_listed, several))
        if ends and (isinstance(value, tuple) or intervals != 2):
            several = [value] * intervals
        if len(several) != intervals:
            count = f"{len(several)} values" if _listed(value) else repr(value)
            raise BadValue(
                f"stagewise: {name!r} has {count}. Give a range (low, high) for all intervals, or "
                f"a list of {intervals} values or ranges, one for each."
            )
        found[name] = np.array([_finite("stagewise", name, one, system) for one in several])
    return found


def _listed(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _check_name(what: str, name: str, system: System, controls: Sequence[str]) -> None:
    if name not in system.parameters:
        raise BadValue(
            f"{what}: '{system.name}' has no parameter {name!r}."
            f"{suggest(name, list(system.parameters))}"
        )
    if name in controls:
        raise BadValue(f"{what}: {name!r} is a control already; each parameter has one role.")


def _finite(what: str, name: str, value: object, system: System) -> tuple[float, float]:
    """Return a finite range."""
    low, high = (-math.inf, math.inf) if value is None else pair(value, f"The range of {name!r}")
    if not (math.isfinite(low) and math.isfinite(high)):
        usual = system.parameters[name]
        raise BadValue(
            f"{what}: {name!r} needs two bounds, because a search may take it anywhere. Give "
            f"{what}={{{name!r}: (low, high)}}; the slider has ({usual.low:g}, {usual.high:g})."
        )
    return low, high


def check_places(
    system: System, controls: Sequence[str], unknowns: Sequence[str], asked: Iterable[sp.Expr]
) -> None:
    """Refuse controls with which a state would jump, and unknowns on which nothing depends.

    Parameters
    ----------
    system : System
    controls, unknowns : sequence of str
    asked : formulas of the problem itself

    Raises
    ------
    BadValue
        A control in a gap, a constraint or a switching function; an unknown in no formula.
    """
    places = list(formulas_of(system))
    for what, name, formula in places:
        jumping = sorted({s.name for s in formula.free_symbols} & set(controls))
        if jumping and what in _FIXED:
            raise BadValue(
                f"{jumping[0]!r} is constant in each control interval and jumps between them, and "
                f"the {what} of {name!r} would jump with it. Make it an unknown, with one value "
                f"over the horizon: unknowns={{{jumping[0]!r}: (low, high)}}; or a state whose "
                "rate is a control."
            )
    every = [*(formula for _, _, formula in places), *asked]
    used = {s.name for formula in every for s in formula.free_symbols}
    for name in unknowns:
        if name not in used:
            raise BadValue(
                f"unknowns: no formula of '{system.name}' and of the problem depends on {name!r}, "
                "so any value is as good. Leave it out."
            )


def formulas_of(system: System) -> Iterator[tuple[str, str, sp.Expr]]:
    """Yield all formulas of a system: in words what each one is, and of which part by its name."""
    if isinstance(system, MechanicalSystem):
        for c in system.contacts:
            yield "gap", c.name, sp.sympify(c.gap)
            for what, one in (("restitution", c.e), ("friction", c.mu), ("sliding", c.slip)):
                yield what, c.name, sp.sympify(one or 0)
        for constraint in system.constraints:
            yield "constraint", constraint.name, sp.sympify(constraint.phi)
        yield from (("mass", "", sp.sympify(one)) for one in sp.Matrix(system.mass))
        yield from (("force", "", sp.sympify(one)) for one in system.force)
    elif isinstance(system, StepSystem):
        yield from (("switching function", s.name, s.c) for s in system.switches)
        yield from (("right-hand side", "", one) for one in system.f)
    elif isinstance(system, HybridSystem):
        yield from (
            ("right-hand side", mode.name, one) for mode in system.modes for one in mode.flow
        )
        for guard in system.guards:
            yield "guard", guard.name, sp.sympify(guard.r)
            yield from (("reset", guard.name, sp.sympify(one)) for one in guard.reset)
            yield "condition", guard.name, sp.S.One if guard.when is None else guard.when
