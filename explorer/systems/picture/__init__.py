"""A picture of a system that declares none: its coordinates, gaps, constraints and springs drawn.

What a formula is about is read from names, units and structure: ``x1, y1`` is a point of the plane,
an angle turns a rod, one coordinate moves a block along a rail, and a gap is a wall where it is
zero. A system x' = ... is a network of its states, which fill like tanks, with its relays, diodes
or modes; a Filippov system of one or two states is its space with the regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from explorer.systems.base import System
from explorer.systems.filippov import FilippovSystem
from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.picture.bodies import bodies_of
from explorer.systems.picture.bonds import bonds
from explorer.systems.picture.network import network
from explorer.systems.picture.obstacles import obstacles
from explorer.systems.picture.space import space
from explorer.systems.sketch import Shape
from explorer.systems.state_space import StateSpaceSystem

__all__ = ["automatic"]


def automatic(system: System, ranges: Sequence[tuple[float, float]]) -> tuple[Shape, ...]:
    """Return the shapes of a system without a sketch; none if nothing of it can be placed.

    Parameters
    ----------
    system : System
    ranges : sequence of (low, high)
        How far each coordinate or state goes in a usual run; decides how large things are drawn.
    """
    shapes: list[Shape] = []
    if isinstance(system, StateSpaceSystem):
        if isinstance(system, FilippovSystem):
            shapes = space(system, ranges)
        shapes = shapes or network(system, ranges)
    elif isinstance(system, LagrangianSystem):
        bodies = bodies_of(system, ranges)
        shapes = [*obstacles(system, bodies), *bonds(system, bodies), *bodies.shapes]
    return tuple(
        replace(
            one,
            points=tuple((sp.sympify(x), sp.sympify(y)) for x, y in one.points),
            radius=sp.sympify(one.radius),
            value=None if one.value is None else sp.sympify(one.value),
        )
        for one in shapes
    )
