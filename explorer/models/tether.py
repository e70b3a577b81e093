"""Tether, slack and taut: a mass on a rope, a contact with e = 0.

0 <= (L^2 - |r|^2) / (2 L) perp lambda >= 0, where lambda is the tension. From the bottom with the
speed u0, 2 g L < u0^2 < 5 g L, the mass swings to the height (u0^2 - 2 g L) / (3 g) above its pin,
where the tension vanishes, flies on a parabola until the rope is taut again, and loses its radial
velocity there (Brogliato 2016, chapter 1).
"""

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import MechanicalSystem
from explorer.systems.linkages import Linkage


@register(
    group="impacts",
    references=("brogliato-2016",),
    measures={
        "tether: height at which the rope goes slack, in m": lambda run: (
            run("EventDriven").events[0].x_minus[1]
        ),
    },
)
def tether() -> MechanicalSystem:
    """Return a mass on a rope that is slack or taut."""
    rope = Linkage(
        "tether",
        gravity=Param(9.81, 1, 20, "m/s2", "gravity"),
        params={
            "L": Param(1, 0.5, 2, "m", "length of the rope"),
            "m": Param(1, 0.1, 5, "kg", "mass"),
            "e": Param(0, 0, 0.9, "", "restitution"),
            "x0": Param(0, -1, 1, "m", "start, to the right"),
            "y0": Param(-1, -1, 1, "m", "start, upwards"),
            "u0": Param(5, -8, 8, "m/s", "start velocity, to the right"),
        },
        text="A rope pulls but does not push: taut it is a constraint, slack it is nothing.",
    )
    rope.pin("O", 0, 0)
    rope.point("1", "x0", "y0", v=("u0", 0), mass="m")
    rope.rope("O", "1", length="L", e="e", name="rope")
    system = rope.system(t_end=6, h=5e-4)
    system.published = {
        "tether: height at which the rope goes slack, in m": (
            0.1828066598,
            1e-8,
            "closed form, (u0^2 - 2 g L) / (3 g)",
        ),
    }
    system.preset("fall", "From above its pin it falls, and jerks the rope.", x0=0.7, y0=0.5, u0=0)
    system.preset("elastic", "With e > 0 the rope throws the mass back.", e=0.6)
    return system
