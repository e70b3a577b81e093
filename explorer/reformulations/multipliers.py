"""Systems with step functions as first-order systems with multipliers and laws, exactly.

Step form: alpha_j in step(c_j) is a relay in [0, 1] with y_j = -c_j. Stewart's form: with one theta
for each cell of signs s, g_s = -sum_j s_j c_j is least where x lies, so theta solves a linear
program in the unit simplex: 0 <= g_s - mu perp theta_s >= 0, sum theta = 1 (Stewart, *Numer. Math.*
58 (1990) 299; Nurkanovic et al. 2023, section II). In both f is the mean of the fields and r the
rest, so a theta scheme treats what does not switch by theta and what does implicitly.
"""

from __future__ import annotations

import sympy as sp

from explorer.arguments import a
from explorer.errors import NotApplicable
from explorer.systems import FilippovSystem, FirstOrderSystem, StepSystem

__all__ = ["relays", "stewart"]

_HALF = sp.Rational(1, 2)


def relays(system: StepSystem) -> FirstOrderSystem:
    """Return the system with a relay for each switching function.

    Examples
    --------
    >>> system = relays(StepSystem("relay", x="x", params={"a": 2}, f=["-a*sign(x)"]))
    >>> system.f, system.r, system.y
    ((0,), (-2*a*alpha_1 + a,), (-x,))
    """
    a(system, StepSystem, "a system with step functions", "relays(ex.models.sliding_mode())")
    first_order, middle = _like(system), {s.alpha: _HALF for s in system.switches}
    first_order.f = mean = [sp.expand_mul(f.xreplace(middle)) for f in system.f]
    for s in system.switches:
        first_order.law(
            s.alpha.name, "relay", lb=0, ub=1, y_name=f"y_{s.name}" if _fit(s.name) else ""
        )
    first_order.y = [-s.c for s in system.switches]
    first_order.r = [sp.expand_mul(f - m) for f, m in zip(system.f, mean, strict=True)]
    return first_order


def stewart(system: StepSystem) -> FirstOrderSystem:
    """Return the system with a multiplier for each cell of its regions.

    Raises
    ------
    NotApplicable
        A system without regions.
    """
    a(system, StepSystem, "a system with step functions", "stewart(ex.FilippovSystem(...))")
    if not isinstance(system, FilippovSystem):
        raise NotApplicable(
            f"Stewart's form combines the fields of regions, but '{system.name}' is a "
            f"{system.kind} without regions. Use representation='step', or write the system as a "
            "FilippovSystem."
        )
    first_order = _like(system)
    y: dict[str, sp.Expr] = {}
    f, r = [sp.Integer(0)] * system.n, [sp.Integer(0)] * system.n
    for k, part in enumerate(system.subsystems):
        switches = system.switches[part.first : part.first + part.count]
        cells = [(bits, part.regions[i]) for bits, i in enumerate(part.cells) if i >= 0]
        mean = [
            sum((c.field[i] for _, c in cells), sp.Integer(0)) / len(cells) for i in range(system.n)
        ]
        mu, total = sp.Symbol(f"mu_{k + 1}"), sp.Integer(-1)
        for bits, region in cells:
            theta = first_order.law(f"theta_{k + 1}_{bits}", y_name=f"g_{k + 1}_{bits}")
            g = sum((s.c * (-1 if (bits >> j) & 1 else 1) for j, s in enumerate(switches)), -mu)
            y[theta.name] = g
            total += theta
            r = [a + theta * (b - m) for a, b, m in zip(r, region.field, mean, strict=True)]
        first_order.law(mu.name, "equality", y_name=f"s_{k + 1}")
        y[mu.name] = total
        f = [a + m for a, m in zip(f, mean, strict=True)]
    first_order.f, first_order.r, first_order.y = f, r, y
    return first_order


def _like(system: StepSystem) -> FirstOrderSystem:
    first_order = FirstOrderSystem(
        system.name,
        system.coordinates,
        params=system.parameters,
        units=system.units,
        text=system.text,
        start={"x": system.start_x, "t_end": system.t_end, "h": system.h},
    )
    first_order.sketched_as(system)
    first_order.exact = system.exact
    return first_order


def _fit(name: str) -> bool:
    return name.isidentifier()
