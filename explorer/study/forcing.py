"""The period with which a system is driven, and the section that its motion is seen on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np
import sympy as sp

from explorer.derivatives.question import event_names
from explorer.errors import BadValue
from explorer.quantities import number
from explorer.study.section import Section
from explorer.systems import (
    FirstOrderSystem,
    HybridSystem,
    LinearMechanicalSystem,
    MechanicalSystem,
    StepSystem,
    System,
)
from explorer.systems.expressions import expression
from explorer.systems.kinks import slope

__all__ = [
    "check_period",
    "check_section",
    "clock_of",
    "depends_on_time",
    "forcing_period",
    "usual_section",
]

_WAVES = (sp.sin, sp.cos, sp.tan)
_LOOKED_AT, _SEED = 31, 7  # times of a period, each at another state
_ROUND_OFF = 1e-12
_SAME = 1e-6  # of what a formula varies by: a period that was typed with seven digits will do


def depends_on_time(system: System) -> bool:
    """Whether the time stands in the equations of a system."""
    return any(system.t in f.free_symbols for f in _formulas(system))


def check_period(system: System, period: float, values: Mapping[str, float]) -> None:
    """Refuse a period after which the equations of a driven system are not what they were.

    A state that comes back after another time belongs to no cycle. Looked at are all formulas in
    which the time stands, at states of the size of the start.

    Parameters
    ----------
    period : in the unit of time of the system
    values : of the parameters by name

    Raises
    ------
    BadValue
    """
    if system.discrete:
        return
    natives = system.made.get("driven")
    if natives is None:
        natives = system.made["driven"] = [*_driven(system)]
    rho = [values[k] for k in system.parameters]
    random = np.random.default_rng(_SEED)
    t = period * (np.arange(_LOOKED_AT) + 0.1234567) / _LOOKED_AT
    for f, count in natives:
        x = random.standard_normal((count, _LOOKED_AT))
        with np.errstate(all="ignore"):
            now, then, still = (
                np.broadcast_to(np.asarray(f(at, *rho, *x), float), t.shape)
                for at in (t, t + period, np.full_like(t, t[0]))
            )
        off, varies = np.abs(then - now), np.abs(now - still)
        known_at = np.isfinite(off) & np.isfinite(varies)
        allowed = _SAME * varies[known_at].max(initial=0.0) + _ROUND_OFF * np.abs(now)
        if not (off > allowed)[known_at].any():
            continue
        known, unit = forcing_period(system), system.time_unit
        means = "Give the period of what drives it, or a whole multiple."
        if known is not None:
            its = number(_at(known, values), 8)
            means = f"It is driven with the period {known} = {its} {unit}."
        raise BadValue(
            f"'{system.name}' depends on t, and its equations are not the same after "
            f"period = {number(period, 8)} {unit}, so no motion repeats with it. {means}"
        )


def check_section(system: System, section: Section, rho: Sequence[float] | np.ndarray) -> None:
    """Refuse a section by a period with which the equations do not repeat; see `check_period`.

    Raises
    ------
    BadValue
    """
    if section.period is None or system.discrete:
        return
    values = dict(zip(system.parameters, rho, strict=True))
    formula = expression(section.period, system.symbols(state=False), "period")
    check_period(system, _at(formula, values), values)


def _driven(system: System) -> Iterator[tuple[Callable[..., object], int]]:
    """Yield the formulas in which the time stands, of it, the parameters and so many more."""
    rho = [sp.Symbol(k) for k in system.parameters]
    for formula in _formulas(system):
        if system.t in formula.free_symbols:
            others = sorted(formula.free_symbols - {system.t, *rho}, key=str)
            yield sp.lambdify([system.t, *rho, *others], formula, "numpy"), len(others)


def _at(formula: sp.Expr, values: Mapping[str, float]) -> float:
    return float(sp.N(formula.xreplace({sp.Symbol(k): sp.Float(v) for k, v in values.items()})))


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

    A clock that is a state drives it, too: a guard of all modes that is come to at a rate without
    states, as the ramp of a converter. The section of a map is each of its iterates.

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
        return Section(event=clock_of(system) or events[0])
    raise BadValue(
        f"'{system.name}' has no event to stop at and no period that is known. Give a section, as "
        "in section=Section(period='2*pi/omega')."
    )


def clock_of(system: System) -> str | None:
    """Return the name of the first guard of all modes whose rate is one number but for parameters.

    At other guards, which a state may miss, a motion is not seen in each of its turns.
    """
    if not isinstance(system, HybridSystem):
        return None
    for name in dict.fromkeys(g.name for g in system.guards):
        own = [g for g in system.guards if g.name == name]
        if {g.mode for g in own} != set(range(len(system.modes))):
            continue
        rates = {
            sum(slope(g.r, s) * f for s, f in zip(system.x, system.modes[g.mode].flow, strict=True))
            for g in own
            if g.reset and g.when is None
        }
        rate = sp.sympify(rates.pop()) if len(rates) == 1 else sp.Integer(0)
        if rate != 0 and not rate.free_symbols & set(system.x):
            return name
    return None


def _formulas(system: System) -> Iterator[sp.Expr]:
    """Yield the formulas of the flow and its events."""
    found: list[object] = []
    if isinstance(system, HybridSystem):
        found += [f for mode in system.modes for f in mode.flow]
        for g in system.guards:
            found += [g.r, *g.reset, *g.conditions, *(() if g.when is None else (g.when,))]
    elif isinstance(system, StepSystem):
        found += [*system.f, *(s.c for s in system.switches)]
    elif isinstance(system, FirstOrderSystem):
        found += [*system.f, *system.y, *system.r]
    else:
        assert isinstance(system, MechanicalSystem | LinearMechanicalSystem)
        found += [*system.mass, *system.force]
        found += [
            f for c in system.contacts for f in (c.gap, *c.slips, c.mu, c.mu_s) if f is not None
        ]
        found += [f for c in system.constraints for f in (c.phi, c.when) if f is not None]
        found += [f for c in system.contacts for f in dict(c.reset or {}).values()]
    yield from (sp.sympify(f) for f in found)
