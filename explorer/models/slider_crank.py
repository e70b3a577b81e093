"""Slider-crank with clearance: a block with four rough corners that rattles in its guide.

Angles of crank, connecting rod and slider; the slider's centre is at (l1 cos theta1 + l2 cos
theta2, l1 sin theta1 + l2 sin theta2) and its corners (+-a, +-b) beside it hit the guide at y =
+-(b + c). (Flores, Leine, Glocker, Multibody Syst. Dyn. 23 (2010) 165, Table 1; the Siconos example
SliderCrank, whose first impact, both upper corners at once, is published here: one Newton iteration
in a smooth step and two at the impact, h = 1e-4 s.)
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.event import Event
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import Point, circle, ground, line

_L1, _L2 = 0.153, 0.306  # crank and rod, m
_A, _B = 0.05, 0.025  # half length and half height of the slider, m
_M1, _M2 = 0.038, 0.038  # crank and rod, kg
_J1, _J2, _J3 = 7.4e-5, 5.9e-4, 2.7e-6  # about the centres, kg m2


def _hit(run: Callable[..., Solution]) -> Event:
    """Return the first impact, with the steps and the Newton iteration of the reference."""
    settings = {"h": 1e-4, "mass_point": "iterate", "newton_tol": 1e-6}
    done = run("MoreauJean", t_end=4.8e-3, **settings)
    hit: Event = next(x for x in done.events if x.kind == "impact")
    return hit


@register(
    group="linkages",
    references=("flores-2010", "siconos-2019"),
    measures={
        "slider-crank: crank after the first impact, h = 1e-4, in rad/s": lambda run: _hit(
            run
        ).v_plus[0],
        "slider-crank: rod after the first impact, h = 1e-4, in rad/s": lambda run: _hit(
            run
        ).v_plus[1],
    },
)
def slider_crank() -> MechanicalSystem:
    """Return a crank that turns freely and drives a slider with play."""
    system = MechanicalSystem(
        "slider-crank with clearance",
        q="theta1 theta2 theta3",
        units="rad",
        text="A millimetre of play: the slider hits its guide with one corner, or two, and tilts.",
    )
    (a1, a2, a3), (w1, w2, _) = system.q, system.v
    m, c, e, mu, e_t, g, omega = system.params(
        m=Param(0.076, 0.02, 0.2, "kg", "mass of the slider"),
        c=Param(1e-3, 2e-4, 5e-3, "m", "clearance", log=True),
        e=Param(0.4, 0, 0.9, "", "restitution"),
        mu=Param(0.01, 0, 0.3, "", "friction"),
        e_t=Param(0, 0, 0.9, "", "tangential restitution"),
        g=Param(9.81, 0, 20, "m/s2", "gravity"),
        omega=Param(150, 20, 250, "rad/s", "start speed of the crank"),
    )
    both = (_M2 / 2 + m) * _L1 * _L2
    first, second = _M1 / 2 + _M2 + m, _M2 / 2 + m
    system.mass = [
        [_J1 + (_M1 / 4 + _M2 + m) * _L1**2, both * sp.cos(a1 - a2), 0],
        [both * sp.cos(a1 - a2), _J2 + (_M2 / 4 + m) * _L2**2, 0],
        [0, 0, _J3],
    ]
    system.force = [
        -both * sp.sin(a1 - a2) * w2**2 - first * g * _L1 * sp.cos(a1),
        both * sp.sin(a1 - a2) * w1**2 - second * g * _L2 * sp.cos(a2),
        0,
    ]
    system.potential = g * (first * _L1 * sp.sin(a1) + second * _L2 * sp.sin(a2))
    x, y = (_L1 * f(a1) + _L2 * f(a2) for f in (sp.cos, sp.sin))

    def corner(ahead: int, above: int) -> Point:
        return (
            x + ahead * _A * sp.cos(a3) - above * _B * sp.sin(a3),
            y + ahead * _A * sp.sin(a3) + above * _B * sp.cos(a3),
        )

    for above, up in ((1, "upper"), (-1, "lower")):
        for ahead, front in ((-1, "rear"), (1, "front")):
            along, height = corner(ahead, above)
            slip = sum(along.diff(q) * w for q, w in zip(system.q, system.v, strict=True))
            system.contact(Contact(_B + c - above * height, e, f"{up} {front}", mu, slip, e_t=e_t))
    system.start(q=[0, 0, 0], v=[omega, -omega * _L1 / _L2, 0], t_end=0.03, h=2e-5)
    pin = _L1 * sp.cos(a1), _L1 * sp.sin(a1)
    low, high = 0.08, 0.53
    system.sketch(
        ground((low, -_B - c), (high, -_B - c)),
        ground((high, _B + c), (low, _B + c)),
        line(*(corner(i, j) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))), closed=True),
        ground((-0.03, -0.03), (0.03, -0.03)),
        line((-0.03, -0.03), (0, 0), (0.03, -0.03)),
        line((0, 0), pin, (x, y)),
        circle(0, 0, "0.006", role="fixed"),
        circle(*pin, "0.009"),
        circle(x, y, "0.011", role="mark"),
    )
    system.published = {
        "slider-crank: crank after the first impact, h = 1e-4, in rad/s": (
            107.6237372780463,
            1e-9,
            "Siconos SliderCrank, direct projection",
        ),
        "slider-crank: rod after the first impact, h = 1e-4, in rad/s": (
            -52.11864863381527,
            1e-9,
            "Siconos SliderCrank, direct projection",
        ),
    }
    system.preset("worn", "Five millimetres of play: rarer, harder hits.", c=5e-3)
    system.preset("dry", "Without grease the slider tilts where it touches.", mu=0.3)
    return system
