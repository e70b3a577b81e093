"""Spherical pendulum: a mass on a rod in space, in Cartesian coordinates.

m r'' = -m g e_z - lambda r / L with (|r|^2 - L^2) / (2 L) = 0; lambda is the tension of the rod.
The energy and the moment m (x y' - y x') are kept, the height runs between two roots of a cubic,
and from one highest place to the next the mass turns by more than pi about the vertical: its path
precesses (Whittaker 1937, section 55). With u0 = sqrt(g L sin(a) tan(a)) it is a conical pendulum,
which goes round at the rate sqrt(g / (L cos(a))).
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import Constraint, MechanicalSystem
from explorer.systems.sketch import Point, circle, line


def _rate(run: Callable[..., Solution]) -> float:
    """Return how fast the conical pendulum goes round, in rad/s."""
    done = run("EventDriven", preset="conical")
    turned = np.unwrap(np.arctan2(done.q[:, 1], done.q[:, 0]))
    return float((turned[-1] - turned[0]) / done.t[-1])


@register(
    group="linkages",
    references=("whittaker-1937",),
    measures={
        "spherical pendulum: rate of the conical motion, in rad/s": _rate,
    },
)
def spherical_pendulum() -> MechanicalSystem:
    """Return a mass on a rod that swings in space."""
    system = MechanicalSystem(
        "spherical pendulum",
        q="x y z",
        units="m",
        text="No angle, no singularity: three coordinates and one constraint.",
    )
    x, y, z = system.q
    m, L, g, a, u0 = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        L=Param(1, 0.3, 2, "m", "length of the rod"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        a=Param(1, 0.1, 1.5, "rad", "start angle from the vertical"),
        u0=Param(1, 0, 6, "m/s", "start velocity, horizontal"),
    )
    system.mass = [[m, 0, 0], [0, m, 0], [0, 0, m]]
    system.force = [0, 0, -m * g]
    system.potential = m * g * z
    system.constraint(Constraint((x**2 + y**2 + z**2 - L**2) / (2 * L), "rod"))
    system.start(
        q=[L * sp.sin(a), 0, -L * sp.cos(a)], v=[0, u0, 0], t_end=6, h=2e-4, assemble="x y z"
    )

    def seen(r: sp.Expr, s: sp.Expr, h: sp.Expr) -> Point:
        """Return a place as it is seen from the front and from above."""
        return r, h + s / 3

    ring = [
        seen(L * sp.sin(a) * sp.cos(k), L * sp.sin(a) * sp.sin(k), -L * sp.cos(a))
        for k in (sp.pi * i / 16 for i in range(33))
    ]
    system.sketch(
        line(*ring, role="ground"),
        line(seen(sp.Integer(0), sp.Integer(0), sp.Integer(0)), seen(x, y, z)),
        circle(*seen(x, y, z), L / 20),
    )
    system.published = {
        "spherical pendulum: rate of the conical motion, in rad/s": (
            4.261044730,
            1e-6,
            "closed form, sqrt(g / (L cos(a)))",
        ),
    }
    system.preset(
        "conical",
        "At the right speed the height stays, and the tension is constant.",
        u0=float(sp.sqrt(9.81 * sp.sin(1.0) * sp.tan(1.0))),
    )
    system.preset("plane", "Without sideways speed it is the pendulum in the plane.", u0=0)
    return system
