"""Woodpecker toy: a sleeve that jams on a pole, a spring, and a bird whose beak hits the pole.

Height y, angles phi_M of the sleeve and phi_S of the bird, all motions about the axis linear. With
friction the sleeve slides, jams at its upper or lower edge and comes free by the bird's swing
(Pfeiffer, Ing.-Archiv 54 (1984) 232; Leine, Glocker, van Campen, *Nonlinear dynamics of the
woodpecker toy*, DETC2001/VIB-21608). Data are those of the Siconos example Woodpecker. In the limit
of small steps: one beak impact in a period of 0.145976 s, in which the toy sinks by 19.445 mm.
(Siconos prints 0.1460 s and 19.47 mm, at its step of 20 us.)
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.event import Event
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import Point, circle, line


def _beak(run: Callable[..., Solution]) -> list[Event]:
    """Return the impacts of the beak in a long run."""
    return [
        x
        for x in run("MoreauJean", h=1e-5, t_end=1.2).events
        if x.kind == "impact" and x.contact == "beak"
    ]


def _drop(run: Callable[..., Solution]) -> float:
    """Return the height that the bird loses from one impact of the beak to the next, in m."""
    before, after = (run("MoreauJean", h=1e-5, t_end=1.2).q[x.row, 0] for x in _beak(run)[-2:])
    return float(before - after)


@register(
    group="friction",
    references=("pfeiffer-1984", "leine-2001", "siconos-2019"),
    measures={
        "woodpecker: period, in s": lambda run: float(np.diff([x.t for x in _beak(run)])[-1]),
        "woodpecker: height lost in a period, in m": _drop,
        "woodpecker: speed of the beak's impact, in rad/s": lambda run: _beak(run)[-1].v_minus[2],
    },
)
def woodpecker() -> MechanicalSystem:
    """Return the toy on its limit cycle."""
    system = MechanicalSystem(
        "woodpecker toy",
        q="y phi_M phi_S",
        units=("m", "rad", "rad"),
        text="Gravity drives the bird, friction holds and releases it in turn: a limit cycle.",
    )
    y, a, b = system.q
    v_y, w, _ = system.v
    m_S, c, g, h_M, r_M, mu, e = system.params(
        m_S=Param(0.0045, 0.001, 0.01, "kg", "mass of the bird"),
        c=Param(0.0056, 0.002, 0.02, "N m", "spring"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        h_M=Param(0.0058, 0.004, 0.008, "m", "half height of the sleeve"),
        r_M=Param(0.0031, 0.003, 0.0035, "m", "radius of the sleeve"),
        mu=Param(0.3, 0.1, 0.6, "", "friction"),
        e=Param(0.5, 0, 0.9, "", "restitution of the beak"),
    )
    m_M, J_S, J_M = 0.0003, 7e-7, 5e-9  # sleeve in kg, bird and sleeve in kg m2
    l_M, l_G, l_S, h_S, r_O = 0.010, 0.015, 0.0201, 0.02, 0.0025  # lengths in m: r_O of the pole
    system.mass = [
        [m_S + m_M, m_S * l_M, m_S * l_G],
        [m_S * l_M, J_M + m_S * l_M**2, m_S * l_M * l_G],
        [m_S * l_G, m_S * l_M * l_G, J_S + m_S * l_G**2],
    ]
    weight = [g * (m_S + m_M), g * m_S * l_M, g * m_S * l_G]
    system.force = [-weight[0], -weight[1] - c * (a - b), -weight[2] - c * (b - a)]
    system.potential = weight[0] * y + weight[1] * a + weight[2] * b + c * (a - b) ** 2 / 2
    beak, play = l_M + l_G - l_S - r_O, r_M - r_O
    system.contact(
        Contact(beak - h_S * b, e, "beak", mu, v_y + l_M * w + (l_G - l_S) * system.v[2])
    )
    for side, name in ((1, "lower edge"), (-1, "upper edge")):
        system.contact(Contact(play + side * h_M * a, 0, name, mu, v_y + r_M * w))
    system.start(q=[0, -play / h_M, -0.2788], v=[-0.3411, 0, -7.4583], t_end=0.3, h=5e-5)
    low, high = -0.055, 0.028  # as far as the bird comes: a longer pole would make it small

    def sleeve(x: sp.Expr, z: sp.Expr) -> Point:
        return x - z * a, y + z + x * a

    def bird(x: sp.Expr, z: sp.Expr) -> Point:
        return l_M + x - z * b, y + l_M * a + z + x * b

    system.sketch(
        *(line((s * r_O, low), (s * r_O, high), role="ground") for s in (-1, 1)),
        line(
            *(sleeve(i * r_M, j * h_M) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))),
            closed=True,
        ),
        line(sleeve(r_M, 0), sleeve(l_M, 0), bird(l_G, 0), bird(l_G, h_S), bird(l_G - l_S, h_S)),
        circle(l_M + l_G, y + l_M * a + l_G * b, h_S / 3),
    )
    system.published = {
        "woodpecker: period, in s": (0.145976, 2e-4, "data of Siconos, limit h -> 0"),
        "woodpecker: height lost in a period, in m": (
            0.019445,
            2e-4,
            "data of Siconos, limit h -> 0",
        ),
        "woodpecker: speed of the beak's impact, in rad/s": (
            16.911,
            0.05,
            "data of Siconos, limit h -> 0",
        ),
    }
    system.preset("slippery", "With little friction it never jams: it falls.", mu=0.1)
    system.preset("rough", "More friction: it sinks more slowly.", mu=0.45)
    system.preset("dull beak", "e = 0: still a cycle; friction, not the beak, is the clock.", e=0)
    return system
