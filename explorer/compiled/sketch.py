"""The points of a sketch as one native function, of a system that is not compiled with it.

The input vector is ``[t, q, v, rho]``; of a system x' = ... it is ``[t, x, 0, rho]``: as many zeros
as states stand where a mechanical system has its velocities, so
`explorer.kernels.model.along_rows` evaluates both.
"""

from __future__ import annotations

import symengine as se

from explorer.compiled.bundle import Bundle, smooth
from explorer.compiled.held import schedule_of
from explorer.systems import LagrangianSystem, StateSpaceSystem, System

__all__ = ["compile_sketch", "compile_values"]


def compile_sketch(system: LagrangianSystem | StateSpaceSystem) -> Bundle:
    """Return the bundle of all points, then all radii; compiled once for each change."""
    if schedule := schedule_of(system):
        assert isinstance(system.base, (LagrangianSystem, StateSpaceSystem))
        return schedule.bundle(compile_sketch(system.base), 1 + 2 * system.n)
    if "sketch" not in system.made:
        shapes = system.pictured
        points = [c for s in shapes for p in s.points for c in p]
        unused = [f"_v_{state}" for state in system.coordinates]
        names = ["t", *system.coordinates, *unused, *system.parameters]
        outputs = [smooth(x) for x in [*points, *(s.radius for s in shapes)]]
        system.made["sketch"] = Bundle([se.Symbol(name) for name in names], outputs)
    sketch: Bundle = system.made["sketch"]
    return sketch


def compile_values(system: System) -> Bundle:
    """Return the bundle of what shapes show, each value once, of ``[t, x, signals, rho]``."""
    if schedule := schedule_of(system):
        assert isinstance(system.base, System)
        first = 1 + len(system.coordinates) + len(system.signals)
        return schedule.bundle(compile_values(system.base), first)
    if "sketched values" not in system.made:
        names = ["t", *system.coordinates, *system.signals, *system.parameters]
        shown = dict.fromkeys(s.value for s in system.pictured if s.value is not None)
        outputs = [smooth(value) for value in shown]
        system.made["sketched values"] = Bundle([se.Symbol(name) for name in names], outputs)
    values: Bundle = system.made["sketched values"]
    return values
