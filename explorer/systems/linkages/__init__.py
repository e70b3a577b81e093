"""Mechanisms written part by part: `Linkage` in the plane, `Multibody` in space.

Both make a `MechanicalSystem`, whose mass, force, potential, constraints, contacts, start and
sketch are formulas. `assemble` finds starts that satisfy constraints.
"""

from explorer.systems.linkages.assembly import assemble
from explorer.systems.linkages.body import Body
from explorer.systems.linkages.linkage import Linkage
from explorer.systems.linkages.multibody import Joint, Multibody
from explorer.systems.linkages.parts import Point

__all__ = ["Body", "Joint", "Linkage", "Multibody", "Point", "assemble"]
