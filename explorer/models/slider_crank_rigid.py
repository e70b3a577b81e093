"""Slider-crank with rigid bars: crank and connecting rod in natural coordinates, a slider, a stop.

The joints are at r_1 and r_2; |r_1| = r, |r_2 - r_1| = l and y_2 = 0 are constraints, and
0 <= s - x_2 perp p >= 0 is the stop. At the dead centres, where the bars are in line, the slider is
at rest at any speed of the crank: a stop near one is hit slowly and hard (Garcia de Jalon, Bayo
1994, chapter 2). A test computes the same motion with one coordinate, the angle of the crank.
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import MechanicalSystem
from explorer.systems.linkages import Linkage


@register(
    group="linkages",
    references=("garcia-de-jalon-1994", "flores-2010"),
    measures={
        "slider-crank: speed of the first impact, in m/s": lambda run: (
            -run("EventDriven").events[0].gap_dot_minus
        ),
    },
)
def slider_crank_rigid() -> MechanicalSystem:
    """Return a crank that drives a slider against a stop."""
    engine = Linkage(
        "slider-crank with rigid bars",
        gravity=Param(9.81, 0, 20, "m/s2", "gravity"),
        params={
            "r": Param(0.15, 0.05, 0.2, "m", "length of the crank"),
            "l": Param(0.35, 0.25, 0.6, "m", "length of the connecting rod"),
            "m1": Param(0.3, 0.1, 2, "kg", "mass of the crank"),
            "m2": Param(0.5, 0.1, 2, "kg", "mass of the connecting rod"),
            "m3": Param(1, 0.1, 5, "kg", "mass of the slider"),
            "s": Param(0.47, 0.3, 0.55, "m", "place of the stop"),
            "e": Param(0.6, 0, 1, "", "restitution"),
            "a0": Param(1.6, 0.5, 3.1, "rad", "start angle of the crank"),
            "w0": Param(-6, -20, 20, "rad/s", "start speed of the crank"),
        },
        text="Near its dead centre a slow slider is driven by a strong crank: hits are hard.",
    )
    r, length, a, w = sp.symbols("r l a0 w0")
    x, y = r * sp.cos(a), r * sp.sin(a)
    engine.pin("O", 0, 0)
    engine.point("1", x, y, v=(-w * y, w * x))
    engine.point("2", x + sp.sqrt(length**2 - y**2), 0)
    engine.bar("O", "1", mass="m1", length="r", name="crank")
    engine.bar("1", "2", mass="m2", length="l", name="rod")
    engine.mass("2", "m3")
    engine.slider("2", ((0.1, 0), (0.6, 0)), name="guide")
    engine.contact("2", (("s", -0.08), ("s", 0.08)), e="e", name="stop")
    system = engine.system(hold="1", t_end=3, h=2e-4)
    system.published = {
        "slider-crank: speed of the first impact, in m/s": (
            1.005244301,
            1e-8,
            "closed form, energy by the angle of the crank",
        ),
    }
    system.preset("turning", "Without the stop the crank goes round.", s=0.55, w0=-12, t_end=1)
    system.preset("plastic", "The slider stays at the stop until the crank pulls it back.", e=0)
    return system
