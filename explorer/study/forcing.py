"""The period with which a system is driven, and the section that its motion is seen on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import sympy as sp

from explorer.derivatives.question import event_names
from explorer.errors import BadValue
from explorer.study.section import Section
from explorer.systems import (
    FirstOrderSystem,
    HybridSystem,
    LinearMechanicalSystem,
    MechanicalSystem,
    StepSystem,
    System,
)

__all__ = ["depends_on_time", "forcing_period", "usual_section"]

_WAVES = (sp.sin, sp.cos, sp.tan)


def depends_on_time(system: System) -> bool:
    """Whether the time stands in the equations of a system."""
    return any(system.t in f.free_symbols for f in _formulas(system))


def forcing_period(system: System) -> sp.Expr | None:
    """Return the period with which a system is driven, as a formula of its parameters in s.

    It is that of all its sines and cosines of the time together. None if there are none, or if
    they have no common period, or if the time stands elsewhere too.

    Examples
    --------
    >>> import explorer as ex
    >>> from explorer.study.forcing import forcing_period
    >>> forcing_period(ex.models.impact_oscillator())
    2*pi/omega
    """
    t, rates = system.t, []
    if system.discrete:
        return None
    for formula in _formulas(system):
        waves = [w for w in formula.atoms(*_WAVES) if w.has(t)]
        rest = formula.xreplace({w: sp.Dummy() for w in waves})
        if rest.has(t):
            return None
        for wave in waves:
            rate = sp.diff(wave.args[0], t)
            if rate.has(t) or rate.free_symbols - set(map(sp.Symbol, system.parameters)):
                return None
            rates.append(rate)
    if not rates:
        return None
    parts = [sp.simplify(rate / rates[0]) for rate in rates]
    if not all(part.is_Rational for part in parts):
        return None
    common = reduce(sp.gcd, map(abs, parts))
    return sp.simplify(2 * sp.pi / (rates[0] * common))


def usual_section(system: System) -> Section:
    """Return the section of a system: once in a period of what drives it, or at its first event.

    That of a map is each of its iterates.

    Raises
    ------
    BadValue
        Neither is known.
    """
    if system.discrete:
        return Section(period=1)
    period = forcing_period(system)
    if period is not None:
        return Section(period=str(period))
    events = event_names(system)
    if events and not depends_on_time(system):
        return Section(event=events[0])
    raise BadValue(
        f"'{system.name}' has no event to stop at and no period that is known. Give a section, as "
        "in section=Section(period='2*pi/omega')."
    )


def _formulas(system: System) -> Iterator[sp.Expr]:
    """Yield the formulas of the flow and its events."""
    found: list[object] = []
    if isinstance(system, HybridSystem):
        found += [f for mode in system.modes for f in mode.flow]
        for g in system.guards:
            found += [g.r, *g.reset, *g.conditions]
    elif isinstance(system, StepSystem):
        found += [*system.f, *(s.c for s in system.switches)]
    elif isinstance(system, FirstOrderSystem):
        found += [*system.f, *system.y, *system.r]
    else:
        assert isinstance(system, MechanicalSystem | LinearMechanicalSystem)
        found += [*system.mass, *system.force]
        found += [f for c in system.contacts for f in (c.gap, *c.slips)]
        found += [f for c in system.constraints for f in (c.phi, c.when) if f is not None]
        found += [f for c in system.contacts for f in dict(c.reset or {}).values()]
    yield from (sp.sympify(f) for f in found)
