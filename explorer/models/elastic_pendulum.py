"""Elastic pendulum between two walls: a mass matrix that depends on q.

Polar coordinates (r, theta) of a mass on a spring of stiffness k and natural length l::

    m r'' = m r theta'^2 + m g cos(theta) - k (r - l)
    m r^2 theta'' = -2 m r r' theta' - m g r sin(theta)
    0 <= d -+ r sin(theta) perp p >= 0
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.passages import passages
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, ground, spring


def _period(run: Callable[..., Solution]) -> float:
    """Return the period of the mass that moves straight up and down, in s."""
    done = run("EventDriven", theta0=0, t_end=4, t_eval=np.linspace(0, 4, 20001))
    return float(np.diff(passages(done.t, done.v[:, 0]))[0])


@register(
    group="impacts",
    references=("brogliato-2016",),
    measures={
        "elastic pendulum: period straight up and down, in s": _period,
    },
)
def elastic_pendulum() -> MechanicalSystem:
    """Return a mass on a spring that swings between two vertical walls."""
    system = MechanicalSystem(
        "elastic pendulum, two walls",
        q="r theta",
        units=("m", "rad"),
        text="The mass matrix changes with the motion: compare the two mass points.",
    )
    (r, a), (vr, w) = system.q, system.v
    m, k, length, g, d, e, r0, a0 = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        k=Param(60, 10, 500, "N/m", "spring stiffness"),
        l=Param(1, 0.3, 2, "m", "natural length"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        d=Param(0.7, 0.1, 2, "m", "distance of the walls"),
        e=Param(0.8, 0, 1, "", "restitution"),
        r0=Param(1, 0.3, 2, "m", "start length"),
        theta0=Param(0.6, -1.5, 1.5, "rad", "start angle"),
    )
    system.mass = [[m, 0], [0, m * r**2]]
    system.force = [
        m * r * w**2 + m * g * sp.cos(a) - k * (r - length),
        -2 * m * r * vr * w - m * g * r * sp.sin(a),
    ]
    system.potential = k * (r - length) ** 2 / 2 - m * g * r * sp.cos(a)
    x, y = r * sp.sin(a), -r * sp.cos(a)
    system.contact(Contact(gap=d - x, e=e, name="right wall"))
    system.contact(Contact(gap=d + x, e=e, name="left wall"))
    system.start(q=[r0, a0], v=[0, 0], t_end=10, h=2e-3)
    system.sketch(
        ground((-d - 0.05, 0.2), (-d - 0.05, -2)),
        ground((d + 0.05, -2), (d + 0.05, 0.2)),
        spring((0, 0), (x, y), force=k * (r - length)),
        circle(x, y, 0.05),
    )
    system.published = {
        "elastic pendulum: period straight up and down, in s": (
            0.8111557352,
            1e-6,
            "closed form, 2 pi sqrt(m / k)",
        ),
    }
    system.preset("free swing", "Walls out of reach: energy shows the order.", d=2, theta0=0.8)
    system.preset("narrow", "A narrow shaft.", d=0.3, theta0=0.25, e=0.9)
    return system
