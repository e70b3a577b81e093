"""Pendulum on a moving pivot: a uniform bar, its pin at x = A sin(w t), and a wall.

The constraint |r_1 - r_O(t)| = L depends on time: its force does work (Garcia de Jalon, Bayo 1994,
section 3.2). By the angle phi from the vertical, phi'' = -3/2 (g sin(phi) - A w^2 sin(w t)
cos(phi)) / L between the impacts at the wall, 0 <= x_1 + d perp p >= 0.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.systems.linkages import Linkage


def _answer(run: Callable[..., Solution]) -> float:
    """Return the angle after 2 s over the amplitude of a pivot that hardly moves, in rad/m."""
    done = run("EventDriven", d=3, a0=0, A=1e-4, t_end=2)
    return float(np.arcsin(done.q[-1, 0] - 1e-4 * np.sin(2 * done.rho["w"])) / 1e-4)


@register(
    group="linkages",
    references=("garcia-de-jalon-1994", "brogliato-2016"),
    measures={
        "pendulum on a moving pivot: angle after 2 s by amplitude": _answer,
    },
)
def pendulum_moving_pivot() -> MechanicalSystem:
    """Return a bar on a pin that is moved, beside a wall."""
    swing = Linkage(
        "pendulum on a moving pivot",
        gravity=Param(9.81, 1, 20, "m/s2", "gravity"),
        params={
            "L": Param(1, 0.3, 2, "m", "length"),
            "A": Param(0.15, 0, 0.4, "m", "amplitude of the pivot"),
            "w": Param(3, 0.5, 12, "rad/s", "frequency of the pivot"),
            "d": Param(0.5, 0.4, 3, "m", "distance of the wall"),
            "e": Param(0.8, 0, 1, "", "restitution"),
            "a0": Param(0.6, -0.3, 1.2, "rad", "start angle"),
        },
        text="A constraint that moves brings energy in, and the wall takes it out.",
    )
    L, A, w, a = sp.symbols("L A w a0")
    swing.pin("O", A * sp.sin(w * swing.t), 0)
    swing.point("1", L * sp.sin(a), -L * sp.cos(a), v=(A * w, 0))
    swing.bar("O", "1", mass=1, length="L", name="bar")
    swing.contact("1", (("-d", 0), ("-d", -1.2)), e="e", name="wall")
    system = swing.system(t_end=8, h=5e-4)
    system.published = {
        "pendulum on a moving pivot: angle after 2 s by amplitude": (
            -2.47693,
            1e-4,
            "closed form of the linear equation",
        ),
    }
    system.preset("resonance", "At its own frequency, with no wall in reach.", w=3.7, A=0.05, d=3)
    system.preset("plastic", "The bar leans on the wall for a while each time.", e=0)
    return system
