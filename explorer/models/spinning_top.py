"""Spinning top with a foot in contact: a rigid body whose tip slides on a smooth table.

Centre of mass r and quaternion p, |p| = 1; 0 <= z - d cos(theta) perp lambda >= 0 is the contact of
the tip, d below the centre, with theta between the axis and the vertical. No friction: the centre
moves along the vertical only. In steady precession the table carries the weight, and the moment m g
d sin(theta) about the centre turns the angular momentum at the rate W ::

    m g d = C w W - A W^2 cos(theta)

with the moments A across and C about the axis, and the spin w about the axis (Whittaker 1937,
section 72, for the fixed tip). The start is this motion at `W`, times `spin`: at another spin the
top nods. Too slow, it hops.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.systems.linkages import Multibody


def _rate(run: Callable[..., Solution]) -> float:
    """Return how fast the axis goes round the vertical, in rad/s."""
    done = run("EventDriven")
    e0, e1, e2, e3 = done.q[:, 3:7].T
    turned = np.unwrap(np.arctan2(2 * (e2 * e3 - e0 * e1), 2 * (e1 * e3 + e0 * e2)))
    return float((turned[-1] - turned[0]) / done.t[-1])


@register(
    group="linkages",
    references=("whittaker-1937", "udwadia-schutte-2010"),
    measures={
        "spinning top: rate of the steady precession, in rad/s": _rate,
    },
)
def spinning_top() -> MechanicalSystem:
    """Return a top that precesses on a smooth table."""
    space = Multibody(
        "spinning top on a smooth table",
        gravity=Param(9.81, 1, 20, "m/s2", "gravity"),
        params={
            "m": Param(0.5, 0.1, 2, "kg", "mass"),
            "d": Param(0.05, 0.03, 0.08, "m", "distance of centre and tip"),
            "A": Param(2.2e-4, 2e-4, 8e-4, "kg m2", "moment of inertia across the axis"),
            "C": Param(4e-4, 2e-4, 8e-4, "kg m2", "moment of inertia about the axis"),
            "theta": Param(0.5, 0.1, 1, "rad", "start angle of the axis from the vertical"),
            "W": Param(20, 8, 30, "rad/s", "rate of the steady precession"),
            "spin": Param(1, 0.2, 1.5, "", "start spin, of that of the steady precession"),
            "e": Param(0, 0, 0.9, "", "restitution of the table"),
        },
        text="Gravity does not tip it over: the moment of the table turns its spin.",
    )
    m, d, A, C, theta, W, share = sp.symbols("m d A C theta W spin")
    w = (m * space.gravity * d + A * W**2 * sp.cos(theta)) / (C * W)
    top = space.body(
        "top",
        mass="m",
        inertia=("A", "A", "C"),
        at=(0, 0, d * sp.cos(theta)),
        turn=((1, 0, 0), theta),
        spin=(0, W * sp.sin(theta), share * w),
    )
    space.contact(top.point(0, 0, -d), ((0, 0, 0), (0, 0, 1)), e="e", name="tip")
    system = space.system(t_end=0.5, h=2e-5)
    system.published = {
        "spinning top: rate of the steady precession, in rad/s": (
            20,
            1e-6,
            "closed form, m g d = C w W - A W^2 cos(theta)",
        ),
    }
    system.preset("nodding", "With less spin it falls, catches itself, and rises.", spin=0.7)
    return system
