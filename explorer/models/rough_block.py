"""Rocking block with friction: it turns about its corners, and may slide on them.

Three coordinates and two rough corners. With enough friction it rocks like Housner's block (Bull.
Seism. Soc. Am. 53 (1963) 403). A shaken floor makes it slide, rock or topple: at rest it starts to
slide at the acceleration mu g and to rock at (B / H) g, whichever is less.
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import Point, ground, line


def _kept(run: Callable[..., Solution]) -> float:
    """Return the angular speed after the first impact over that before."""
    hit = run("EventDriven").events[0]
    return float(hit.v_plus[2] / hit.v_minus[2])


@register(
    group="friction",
    references=("housner-1963",),
    measures={
        "rough block: ratio of angular speeds, B/H = 1/4": _kept,
    },
)
def rough_block() -> MechanicalSystem:
    """Return a block that is let go at a tilt, on a floor that may shake."""
    system = MechanicalSystem(
        "rocking block with friction",
        q="x y theta",
        units=("m", "m", "rad"),
        text="Slide or rock? It depends on friction compared with width over height.",
    )
    (x, y, a), (v_x, _, w) = system.q, system.v
    m, B, H, g, mu, e, tilt, shake, omega = system.params(
        m=Param(1, 0.1, 10, "kg", "mass"),
        B=Param(0.5, 0.1, 1, "m", "width"),
        H=Param(2, 0.5, 4, "m", "height"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        mu=Param(0.6, 0, 1, "", "friction"),
        e=Param(0, 0, 1, "", "restitution of the corners"),
        tilt=Param(0.5, 0, 0.95, "", "start angle / alpha"),
        shake=Param(0, 0, 8, "m/s2", "acceleration of the floor"),
        omega=Param(6, 1, 20, "rad/s", "its frequency"),
    )
    system.mass = sp.diag(m, m, m * (B**2 + H**2) / 12)
    # seen from the floor
    system.force = [-m * shake * sp.sin(omega * system.t), -m * g, 0]

    system.potential = m * g * y

    def corner(i: int, j: int) -> Point:
        return (
            x + i * B / 2 * sp.cos(a) - j * H / 2 * sp.sin(a),
            y + i * B / 2 * sp.sin(a) + j * H / 2 * sp.cos(a),
        )

    for side, name in ((-1, "left corner"), (1, "right corner")):
        along, height = corner(side, -1)
        system.contact(Contact(height, e, name, mu, v_x + along.diff(a) * w))
    start = tilt * sp.atan(B / H)
    system.start(
        q=[0, B / 2 * sp.sin(start) + H / 2 * sp.cos(start), start], v=[0, 0, 0], t_end=2, h=2e-3
    )
    system.sketch(
        ground((-2, 0), (2, 0)),
        line(*(corner(i, j) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))), closed=True),
    )
    system.published = {
        "rough block: ratio of angular speeds, B/H = 1/4": (
            0.911764705882353,
            1e-9,
            "Housner 1963, 1 - 1.5 sin(alpha)^2",
        ),
    }
    system.preset("ice", "Nearly no friction: the corners slip outwards.", mu=0.05, t_end=0.8)
    system.preset("earthquake", "Shaken by more than B/H g: it rocks.", tilt=0, shake=4, t_end=8)
    return system
