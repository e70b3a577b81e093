"""Falling weight: y'' = -g above a table that it does not leave, 0 <= y perp p >= 0."""

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, ground


@register(references=("moreau-1988",))
def falling_weight() -> MechanicalSystem:
    """Return a weight above a table."""
    weight = MechanicalSystem("falling weight", q="y", units="m", text="It falls, and stays.")
    (y,) = weight.q
    (g,) = weight.params(g=Param(9.81, 1, 20, "m/s2", "gravity"))
    weight.mass, weight.force, weight.potential = [[1]], [-g], g * y
    weight.contact(Contact(gap=y, e=0, name="table"))
    weight.start(q=[0.3], v=[0], t_end=0.5, h=1e-3)
    weight.sketch(ground((-0.5, 0), (0.5, 0)), circle(0, y + 0.06, 0.06))
    return weight
