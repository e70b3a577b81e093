"""Which systems and options an optimal control problem takes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp

from explorer.arguments import items
from explorer.control.algebraic import Relation
from explorer.errors import BadValue, NotApplicable, suggest
from explorer.systems import FilippovSystem, HybridSystem, MechanicalSystem, StepSystem, System
from explorer.systems.kinks import slope
from explorer.transcription.contact_formulas import obstacle as contact_obstacle
from explorer.transcription.modes import obstacle
from explorer.types import Settings

__all__ = ["check_bounds", "check_horizon", "check_options", "check_system"]

SHORTEST = 1e-8  # of an element, in units of time: the solver meets equations to 1e-11

MOST_STAGES = 4
_CHOICES = {
    "grid": ("uniform", "free"),
    "representation": ("step", "stewart"),
    "method": ("fesd", "standard"),
}


def check_system(system: System) -> None:
    """Refuse a system that cannot be optimised.

    Raises
    ------
    NotApplicable
        A system of another type, or with a part that is not covered.
    """
    if not isinstance(system, (StepSystem, HybridSystem, MechanicalSystem)):
        raise NotApplicable(
            "OptimalControlProblem takes systems with step functions, Filippov systems, hybrid "
            f"and mechanical systems, but '{system.name}' is a {system.kind}."
        )
    why = ""
    if isinstance(system, HybridSystem):
        why = obstacle(system)
    elif isinstance(system, MechanicalSystem):
        why = contact_obstacle(system)
    if why:
        raise NotApplicable(f"'{system.name}' cannot be optimised: {why}")


def check_options(system: System, options: Settings) -> None:
    """Refuse options that are inconsistent.

    Raises
    ------
    BadValue
        An unknown choice, too many stages, a contact without friction.
    NotApplicable
        An option that the system does not have.
    """
    if options["stages"] > MOST_STAGES:
        raise BadValue(f"stages = {options['stages']}: the method has 1 to {MOST_STAGES} stages.")
    for name, known in _CHOICES.items():
        value = options[name]
        if value not in known:
            raise BadValue(f"{name} = {value!r} is unknown.{suggest(str(value), known)}")
    rough = [c.name for c in getattr(system, "contacts", ()) if c.slip is not None]
    for name in items(options["no_slip"], "no_slip", str):
        if name not in rough:
            raise BadValue(
                f"no_slip: '{system.name}' has no contact {name!r} with friction."
                f"{suggest(name, rough)}"
            )
    stewart = options["representation"] == "stewart"
    if stewart and not isinstance(system, FilippovSystem):
        raise NotApplicable(
            f"Stewart's form combines the fields of regions, but '{system.name}' is a "
            f"{system.kind} without regions. Use representation='step'."
        )
    if not isinstance(options["lifting"], bool):
        raise BadValue(f"lifting = {options['lifting']!r} must be True or False.")
    if options["lifting"] and (stewart or not isinstance(system, StepSystem)):
        why = "Stewart's form" if stewart else f"a {system.kind}"
        raise BadValue(f"lifting = True: {why} has no products of multipliers. Leave it out.")


def check_horizon(t_end: float, elements: int, unit: str) -> None:
    """Refuse a horizon whose elements are shorter than the solver resolves.

    Raises
    ------
    BadValue
        A final time that is not positive, or too early.
    """
    if t_end <= 0:
        raise BadValue(f"t_end: the final time must be positive, not {t_end:g} {unit}.")
    if t_end / elements < SHORTEST:
        raise BadValue(
            f"t_end = {t_end:g}: elements of {t_end / elements:g} {unit} are shorter than the "
            f"solver resolves, {SHORTEST:g} {unit}. Give a later end, fewer intervals or elements, "
            "or write the system in smaller units of time."
        )


def check_bounds(
    bounds: Mapping[str, tuple[float, float]], running: sp.Expr, relation: Relation
) -> None:
    """Refuse controls that may grow without limit.

    A control needs a bound on each side to which the running cost does not hold it back: on both
    where the cost is independent of it, on the cheaper one where the cost is linear in it.

    Parameters
    ----------
    bounds : mapping of str to (low, high)
        The ranges of the controls.
    running : formula
    relation : Relation
        Where the cost depends on algebraic variables, it may depend on controls by their equations.

    Raises
    ------
    BadValue
        Names the control, and the bounds that it lacks.
    """
    behind = {s for g in relation.equations for s in g.free_symbols}
    if not running.free_symbols & set(relation.z):
        behind = set()
    for name, (low, high) in bounds.items():
        u = sp.Symbol(name)
        rise = slope(running, u)
        if u in rise.free_symbols or u in behind:
            continue
        ends = {"lower": (low, rise.is_negative), "upper": (high, rise.is_positive)}
        open_ = [end for end, (bound, held) in ends.items() if np.isinf(bound) and not held]
        if open_:
            how = "linear in it" if rise else "independent of it"
            raise BadValue(
                f"The control {name!r} has no {' and no '.join(open_)} bound, and the running cost "
                f"is {how}, so it may grow without limit. Give bounds={{{name!r}: (low, high)}}, "
                f"or a running cost with {name}**2."
            )
