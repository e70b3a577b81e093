"""Pendulum and wall: m l^2 theta'' = -m g l sin(theta), 0 <= l sin(theta) + d perp p >= 0.

With d = 0 the wall is met at the lowest point; released at rest at theta_0 that takes the quarter
period sqrt(l / g) K(sin(theta_0 / 2)), K the complete elliptic integral of the first kind.
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, ground, line


@register(
    group="impacts",
    references=("whittaker-1937", "brogliato-2016"),
    measures={
        "pendulum and wall: first impact, preset quarter period, in s": lambda run: (
            run("EventDriven", preset="quarter period").events[0].t
        ),
    },
)
def pendulum_wall() -> MechanicalSystem:
    """Return a pendulum that hits a vertical wall."""
    system = MechanicalSystem(
        "pendulum and wall",
        q="theta",
        units="rad",
        text="One nonlinear equation, one nonlinear gap.",
    )
    (theta,), (rate,) = system.q, system.v
    m, length, g, c, d, e, start = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        l=Param(1, 0.2, 2, "m", "length"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        c=Param(0, 0, 1, "N m s", "damping of the joint"),
        d=Param(0.2, -0.5, 0.9, "m", "distance of the wall"),
        e=Param(0.9, 0, 1, "", "restitution"),
        theta0=Param(1.2, -0.2, 3, "rad", "start angle"),
    )
    system.mass = [[m * length**2]]
    system.force = [-m * g * length * sp.sin(theta) - c * rate]
    system.potential = m * g * length * (1 - sp.cos(theta))
    system.contact(Contact(gap=length * sp.sin(theta) + d, e=e, name="wall"))
    system.start(q=[start], v=[0], t_end=10, h=2e-3)
    x, y = length * sp.sin(theta), -length * sp.cos(theta)
    system.sketch(
        ground((-d - 0.05, 0.4), (-d - 0.05, -2.1)),
        line((0, 0), (x, y)),
        circle(x, y, 0.05),
        ground((0.15, 0), (-0.15, 0)),
    )
    system.published = {
        "pendulum and wall: first impact, preset quarter period, in s": (
            0.5827466955,
            1e-9,
            "closed form, sqrt(l / g) K(sin(theta0 / 2))",
        ),
    }
    system.preset(
        "quarter period",
        "d = 0: the first impact is at sqrt(l/g) K(sin(theta0/2)).",
        d=0,
        e=1,
        theta0=1.5,
    )
    system.preset(
        "comes to rest",
        "The wall beyond the lowest point: rest against it.",
        d=-0.3,
        e=0.6,
        theta0=1.2,
    )
    return system
