"""Four-bar with a stop: a torque on the crank presses the rocker against a stop.

The joints are at r_1 and r_2; |r_1 - r_A| = a, |r_2 - r_1| = b and |r_B - r_2| = c are constraints,
and 0 <= s - x_2 perp p >= 0 is the stop. The shortest and the longest bar are together shorter than
the other two (Grashof), so the crank could turn all the way round (Garcia de Jalon, Bayo 1994,
chapter 2). A test computes the same motion with one coordinate, the angle of the crank.
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.systems.linkages import Linkage


def _held(run: Callable[..., Solution]) -> float:
    """Return the force of the stop when the rocker rests against it, in N."""
    return float(run("EventDriven", preset="plastic").lam[-1, 0])


@register(
    group="linkages",
    references=("garcia-de-jalon-1994",),
    measures={
        "four-bar: force of the stop at rest, in N": _held,
    },
)
def four_bar_stop() -> MechanicalSystem:
    """Return a crank and rocker whose rocker hits a stop."""
    four = Linkage(
        "four-bar with a stop",
        gravity=Param(9.81, 0, 20, "m/s2", "gravity"),
        params={
            "a": Param(0.3, 0.2, 0.35, "m", "length of the crank"),
            "b": Param(0.8, 0.75, 0.9, "m", "length of the coupler"),
            "c": Param(0.6, 0.55, 0.7, "m", "length of the rocker"),
            "T": Param(8, -10, 20, "N m", "torque on the crank"),
            "s": Param(0.85, 0.6, 1.3, "m", "place of the stop"),
            "e": Param(0.7, 0, 1, "", "restitution"),
            "a0": Param(2.0, 1, 3, "rad", "start angle of the crank"),
        },
        text="Impacts of the rocker accumulate; then one force holds what a torque drives.",
    )
    a, a0 = sp.symbols("a a0")
    four.pin("A", 0, 0)
    four.pin("B", 0.8, 0)
    four.point("1", a * sp.cos(a0), a * sp.sin(a0))
    four.point("2", 0.6, 0.55)
    four.bar("A", "1", mass=1, length="a", name="crank")
    four.bar("1", "2", mass=2, length="b", name="coupler")
    four.bar("2", "B", mass=1.5, length="c", name="rocker")
    four.motor("A", "1", torque="-T", name="motor")
    four.contact("2", (("s", 0.35), ("s", 0.75)), e="e", name="stop")
    system = four.system(hold="1", t_end=3, h=1e-3)
    system.published = {
        "four-bar: force of the stop at rest, in N": (
            43.23200862,
            1e-6,
            "virtual work of torque and weights",
        ),
    }
    system.preset(
        "turning",
        "With the stop out of reach the crank goes round, ever faster.",
        s=1.3,
        t_end=1,
    )
    system.preset("plastic", "One impact, and the rocker stays at the stop.", e=0)
    return system
