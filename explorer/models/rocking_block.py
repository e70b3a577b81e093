"""Rocking block on a rough rigid floor (Housner, Bull. Seism. Soc. Am. 53 (1963) 403).

Coordinates: height y of the centre, tilt theta. The block does not slide: it turns about the corner
that touches, so the centre moves sideways by x(theta) = -(H/2) sin(theta) - sgn(theta) (B/2)
(1 - cos(theta)), which enters the mass M_22 = J + m x'(theta)^2. The two corners are two contacts::

    0 <= y -+ (B/2) sin(theta) - (H/2) cos(theta) perp p >= 0

With e = 0 an impact keeps the share 1 - (3/2) sin^2(alpha) of the angular speed, tan(alpha) = B/H:
that is Housner's ratio, here an outcome of the two contacts. A slender block swings from theta_0 to
the upright position in acosh(1 / (1 - theta_0 / alpha)) / p, p^2 = 3 g / (4 R), R = half diagonal.
"""

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import ground, line


@register(
    group="impacts",
    references=("housner-1963",),
    measures={
        "ratio of angular speeds, B/H = 1/4": lambda run: float(
            np.divide(
                run("EventDriven").events[0].x_plus[3], run("EventDriven").events[0].x_minus[3]
            )
        ),
        "quarter period for tilt 0.5, in s": lambda run: run("EventDriven", tilt=0.5).events[0].t,
    },
)
def rocking_block() -> MechanicalSystem:
    """Return a block released at a tilt."""
    system = MechanicalSystem(
        "rocking block",
        q="y theta",
        units=("m", "rad"),
        text="Each impact moves the pivot to the other corner and removes the same share of speed.",
    )
    (y, a), (_, w) = system.q, system.v
    m, B, H, g, e, tilt = system.params(
        m=Param(1, 0.1, 10, "kg", "mass"),
        B=Param(0.5, 0.1, 1, "m", "width"),
        H=Param(2, 0.5, 4, "m", "height"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        e=Param(0, 0, 1, "", "restitution of the corners"),
        tilt=Param(0.5, 0.05, 0.95, "", "start angle / alpha"),
    )
    arm = H / 2 * sp.cos(a) + B / 2 * sp.sin(sp.Abs(a))
    slope = B / 2 * sp.sign(a) * sp.cos(a) - H / 2 * sp.sin(a)
    J = m * (B**2 + H**2) / 12
    system.mass = [[m, 0], [0, J + m * arm**2]]
    system.force = [-m * g, -m * arm * slope * w**2]
    system.potential = m * g * y
    for side, name in ((-1, "left corner"), (1, "right corner")):
        gap = y + side * B / 2 * sp.sin(a) - H / 2 * sp.cos(a)
        system.contact(Contact(gap=gap, e=e, name=name))
    start = tilt * sp.atan(B / H)
    system.start(
        q=[B / 2 * sp.sin(start) + H / 2 * sp.cos(start), start], v=[0, 0], t_end=8, h=2e-3
    )
    x = -H / 2 * sp.sin(a) - sp.sign(a) * B / 2 * (1 - sp.cos(a))
    corners = [
        (
            x + i * B / 2 * sp.cos(a) - j * H / 2 * sp.sin(a),
            y + i * B / 2 * sp.sin(a) + j * H / 2 * sp.cos(a),
        )
        for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    system.sketch(ground((-1.5, 0), (1.5, 0)), line(*corners, closed=True))
    system.published = {
        "ratio of angular speeds, B/H = 1/4": (0.911765, 1e-3, "Housner 1963"),
        "quarter period for tilt 0.5, in s": (0.493803, 5e-4, "Housner 1963, before sin x = x"),
    }
    system.preset("Housner", "2 m x 0.5 m, released at half the critical tilt.", tilt=0.5)
    system.preset("near the limit", "Close to overturning the first swing is slow.", tilt=0.95)
    system.preset("squat", "A wide block loses more in each impact.", B=1, H=1.2, tilt=0.6)
    return system
