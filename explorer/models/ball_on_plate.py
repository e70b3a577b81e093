"""Ball on a moving plate: a plate on a hinge and a torsional spring, and a ball that lands on it.

The plate is a uniform bar from the hinge O to r_1, |r_1| = L. The ball at r_2 has the gap
u x r_2 >= 0, where u = r_1 / L is the direction of the plate: the surface that it meets turns
(Brogliato 2016, chapter 1). It bounces, slides without friction, and flies again when the plate
falls away below it.
"""

from collections.abc import Callable

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.systems.linkages import Linkage


def _mass(run: Callable[..., Solution]) -> float:
    """Return the mass that the first impact feels, p / ((1 + e) |gap_dot|), in kg."""
    hit = run("EventDriven").events[0]
    return float(hit.impulse / (hit.gap_dot_plus - hit.gap_dot_minus))


@register(
    group="impacts",
    references=("brogliato-2016", "garcia-de-jalon-1994"),
    measures={
        "ball on a plate: mass that the first impact feels, in kg": _mass,
    },
)
def ball_on_plate() -> MechanicalSystem:
    """Return a ball that lands on a plate with a spring."""
    two = Linkage(
        "ball on a moving plate",
        gravity=Param(9.81, 1, 20, "m/s2", "gravity"),
        params={
            "M": Param(1, 0.2, 5, "kg", "mass of the plate"),
            "m": Param(0.5, 0.05, 5, "kg", "mass of the ball"),
            "k": Param(120, 20, 500, "N m/rad", "stiffness of the torsional spring"),
            "c": Param(0, 0, 5, "N m s/rad", "damping"),
            "e": Param(0.5, 0, 1, "", "restitution"),
            "x0": Param(0.5, 0.1, 0.9, "m", "start of the ball"),
            "y0": Param(0.4, 0.05, 1, "m", "start of the ball, height"),
        },
        text="The plate gives way: what is hit moves, and its speed counts in every impact.",
    )
    two.pin("O", 0, 0)
    two.point("1", 1, 0)
    two.point("2", "x0", "y0", mass="m")
    two.bar("O", "1", mass="M", length=1, name="plate")
    two.torsion("O", "1", k="k", c="c", angle=0, name="spring")
    two.contact("2", ("O", "1"), e="e", name="ball")
    system = two.system(t_end=1, h=5e-4)
    system.published = {
        "ball on a plate: mass that the first impact feels, in kg": (
            4 / 11,
            5e-5,
            "closed form, 1 / (1/m + 3 x0^2 / (M L^2))",
        ),
    }
    system.preset("soft", "A soft spring: the plate throws the ball.", k=40)
    system.preset(
        "plastic", "With e = 0 the ball stays on the plate as long as it is pressed.", e=0
    )
    return system
