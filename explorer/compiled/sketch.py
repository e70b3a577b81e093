"""The points of the sketch of a system x' = ... as one native function.

Its input vector is ``[t, x, 0, rho]``: as many zeros as states stand where a mechanical system has
its velocities, so `explorer.kernels.model.along_rows` evaluates both.
"""

from __future__ import annotations

import symengine as se

from explorer.compiled.bundle import Bundle, smooth
from explorer.compiled.held import schedule_of
from explorer.systems import StateSpaceSystem

__all__ = ["compile_sketch"]


def compile_sketch(system: StateSpaceSystem) -> Bundle:
    """Return the bundle of all points, then all radii; compiled once for each change."""
    if schedule := schedule_of(system):
        assert isinstance(system.base, StateSpaceSystem)
        return schedule.bundle(compile_sketch(system.base), 1 + 2 * system.n)
    if "sketch" not in system.made:
        shapes = system.shapes
        points = [c for s in shapes for p in s.points for c in p]
        unused = [f"_v_{state}" for state in system.coordinates]
        names = ["t", *system.coordinates, *unused, *system.parameters]
        outputs = [smooth(x) for x in [*points, *(s.radius for s in shapes)]]
        system.made["sketch"] = Bundle([se.Symbol(name) for name in names], outputs)
    sketch: Bundle = system.made["sketch"]
    return sketch
