"""Double pendulum with a stop: two uniform bars whose tip hits a wall.

The joints are at r_1 and r_2; |r_1| = l1 and |r_2 - r_1| = l2 are constraints, and
0 <= x_2 + d perp p >= 0 is the wall. A uniform bar has the masses m/3 at its ends and m/6 between
them (Garcia de Jalon, Bayo 1994, section 4.2). A test computes the same motion with two angles.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.passages import passages
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.systems.linkages import Linkage

_SHAPE = 1.381367621240751  # of the slower mode: angle of the lower bar over that of the upper one


def _slow(run: Callable[..., Solution]) -> float:
    """Return the frequency of small swings in which both bars go together, in rad/s."""
    end = 6.0
    done = run(
        "EventDriven", d=3.5, a0=0.01, b0=0.01 * _SHAPE, t_end=end, t_eval=np.linspace(0, end, 6001)
    )
    turns = passages(done.t, done.q[:, 0])
    return float(2 * np.pi * (len(turns) - 1) / (turns[-1] - turns[0]))


@register(
    group="linkages",
    references=("garcia-de-jalon-1994", "brogliato-2016"),
    measures={
        "double pendulum: lower frequency of small swings, in rad/s": _slow,
    },
)
def double_pendulum_stop() -> MechanicalSystem:
    """Return two bars that swing, and a wall."""
    two = Linkage(
        "double pendulum with a stop",
        gravity=Param(9.81, 1, 20, "m/s2", "gravity"),
        params={
            "l1": Param(1, 0.3, 2, "m", "length of the upper bar"),
            "l2": Param(0.8, 0.3, 2, "m", "length of the lower bar"),
            "m1": Param(1, 0.1, 5, "kg", "mass of the upper bar"),
            "m2": Param(1, 0.1, 5, "kg", "mass of the lower bar"),
            "d": Param(0.3, 0, 3.5, "m", "distance of the wall"),
            "e": Param(0.8, 0, 1, "", "restitution"),
            "a0": Param(0.9, 0, 3, "rad", "start angle of the upper bar"),
            "b0": Param(0.4, 0, 3, "rad", "start angle of the lower bar"),
        },
        text="The wall pushes the tip only, but both joints feel the impact.",
    )
    l1, l2, a, b = sp.symbols("l1 l2 a0 b0")
    x, y = l1 * sp.sin(a), -l1 * sp.cos(a)
    two.pin("O", 0, 0)
    two.point("1", x, y)
    two.point("2", x + l2 * sp.sin(b), y - l2 * sp.cos(b))
    two.bar("O", "1", mass="m1", length="l1", name="upper")
    two.bar("1", "2", mass="m2", length="l2", name="lower")
    two.contact("2", (("-d", 0), ("-d", -2)), e="e", name="wall")
    system = two.system(t_end=6, h=2e-4)
    system.published = {
        "double pendulum: lower frequency of small swings, in rad/s": (
            2.79333525,
            2e-4,
            "closed form, K phi = w^2 M phi of two uniform bars",
        ),
    }
    system.preset("free", "No wall in reach: energy shows the order of a scheme.", d=3.5, a0=1.5)
    system.preset("plastic", "The tip slides down the wall and leaves it.", e=0)
    return system
