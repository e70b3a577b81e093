"""Ball on a vibrating table: y'' = -g, 0 <= y - A sin(omega t) perp p >= 0 (a rheonomic gap).

Luck and Mehta, Phys. Rev. E 48 (1993) 3988: one impact in each period is stable for
A omega^2 / g in [G1, G2], G1 = pi (1 - e) / (1 + e), G2 = sqrt(G1^2 + (2 (1 + e^2) / (1 + e)^2)^2).
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, line


def period_one(e: float) -> tuple[float, float]:
    """Return the ends G1, G2 of the range of A omega^2 / g with one impact in each period."""
    low = np.pi * (1 - e) / (1 + e)
    return low, float(np.hypot(low, 2 * (1 + e**2) / (1 + e) ** 2))


def _doubling(_: Callable[..., Solution]) -> float:
    """Return A omega^2 / g at which the period doubles, along the branch of one impact."""
    from explorer.study.continuation import continuation

    locked = continuation(vibrating_table(), parameter="a", period="2*pi/omega", over=(0.5, 1.2))
    return locked.found("flip")[0].parameter


@register(
    group="impacts",
    references=("luck-mehta-1993",),
    measures={"period one up to, e = 0.8": _doubling},
)
def vibrating_table() -> MechanicalSystem:
    """Return a ball on a table that moves up and down."""
    ball = MechanicalSystem(
        "ball on a vibrating table",
        q="y",
        units="m",
        text="The ball locks to the table, doubles its period, then becomes chaotic.",
    )
    (y,), t = ball.q, ball.t
    m, g, e, a, w, y0, v0 = ball.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        e=Param(0.8, 0, 0.95, "", "restitution"),
        a=Param(0.6, 0, 2.5, "", "table acceleration A omega^2 / g"),
        omega=Param(20, 5, 60, "rad/s", "table frequency"),
        y0=Param(0.0741, 0, 0.2, "m", "start height"),
        v0=Param(-1.075, -2, 2, "m/s", "start velocity"),
    )
    table = a * g / w**2 * sp.sin(w * t)
    ball.mass, ball.force, ball.potential = [[m]], [-m * g], m * g * y
    ball.contact(Contact(gap=y - table, e=e, name="table"))
    ball.start(q=[y0], v=[v0], t_end=6, h=1e-3)
    ball.sketch(line((-0.03, table), (0.03, table), role="ground"), circle(0, y + 0.004, 0.004))
    ball.published = {"period one up to, e = 0.8": (1.07084, 1e-5, "Luck and Mehta 1993")}
    ball.preset("locked", "One impact in each period of the table.", a=0.6, e=0.8)
    ball.preset(
        "doubled",
        "Above 1.07 the period doubles.",
        a=1.15,
        e=0.8,
        y0=0.1046,
        v0=-0.922,
        t_end=12,
        h=5e-4,
    )
    ball.preset("chaos", "No period at all.", a=2.2, e=0.8, t_end=10)
    ball.preset("chatter", "A weak table: the ball comes to rest and is carried.", a=0.9, e=0.3)
    return ball
