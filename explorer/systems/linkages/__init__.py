"""Mechanisms written part by part: `Linkage` in the plane.

It makes a `MechanicalSystem`, whose mass, force, potential, constraints, contacts, start and sketch
are formulas. `assemble` finds starts that satisfy constraints.
"""

from explorer.systems.linkages.assembly import assemble
from explorer.systems.linkages.linkage import Linkage
from explorer.systems.linkages.parts import Point

__all__ = ["Linkage", "Point", "assemble"]
