"""The forces on a mechanical system apart from its potential: what does work on it.

With T = v' M v / 2 and V(t, q), along a motion M v' = F + contact forces::

    d/dt (T + V) = v' f + V_t + contacts,    f = F + V_q + M' v - (v' M v)_q / 2

where M' is the rate of M along the motion: the forces of inertia in F, which do no work together
with it, cancel.
"""

from __future__ import annotations

import symengine as se
import sympy as sp

from explorer.compiled.bundle import Bundle, smooth
from explorer.compiled.held import schedule_of
from explorer.systems import DiscSystem, MechanicalSystem

__all__ = ["compile_power"]


def compile_power(system: MechanicalSystem) -> Bundle:
    """Return the bundle of f (n,), V_t, the slip along each tangent, and u, k, b of each spring.

    Compiled once for each change. Where no potential is known, V = 0.
    """
    if schedule := schedule_of(system):
        assert isinstance(system.base, MechanicalSystem)
        return schedule.bundle(compile_power(system.base), 1 + 2 * system.n)
    if "power" not in system.made:
        t = se.Symbol("t")
        q, v = ([se.Symbol(s.name) for s in x] for x in (system.q, system.v))
        V = smooth(sp.S.Zero if system.potential is None else system.potential)
        M = [[smooth(x) for x in row] for row in system.mass.tolist()]
        momentum = [sum((m * s for m, s in zip(row, v, strict=True)), se.Integer(0)) for row in M]
        twice = sum((p * s for p, s in zip(momentum, v, strict=True)), se.Integer(0))
        moving = any(x.free_symbols & set(q) for row in M for x in row)
        outputs = []
        for force, x, p in zip(system.force, q, momentum, strict=True):
            f = smooth(force) + V.diff(x)
            if moving:
                f += sum(p.diff(y) * s for y, s in zip(q, v, strict=True)) - twice.diff(x) / 2
            outputs.append(f)
        outputs.append(V.diff(t))
        if not isinstance(system, DiscSystem):
            outputs += [smooth(slip) for _, _, slip in system.tangents]
        outputs += [smooth(x) for s in system.springs for x in (s.elongation, s.k, s.b)]
        names = ["t", *system.coordinates, *(s.name for s in system.v), *system.parameters]
        system.made["power"] = Bundle([se.Symbol(name) for name in names], outputs)
    power: Bundle = system.made["power"]
    return power
