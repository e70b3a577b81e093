"""Column of n balls falling on the floor: m y_i'' = -m g, gaps y_1 - R and y_i - y_{i-1} - 2 R."""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, ground


@register(
    group="many bodies",
    references=("brogliato-2016", "siconos-2019"),
    measures={
        "column: the lowest ball reaches the floor at, in s": lambda run: (
            run("EventDriven").events[0].t
        ),
    },
)
def column(n: int = 10) -> MechanicalSystem:
    """Return a column of `n` balls above each other, dropped together."""
    system = MechanicalSystem(
        f"column of {n} balls",
        q=[f"y{i + 1}" for i in range(n)],
        units="m",
        text="Impacts run up and down the column until it lies still.",
    )
    system.sizes = {"n": Param(n, 1, 1000, "", "number of balls")}
    y = system.q
    m, R, g, e, y0, spread = system.params(
        m=Param(1, 0.1, 5, "kg", "mass of a ball"),
        R=Param(0.1, 0.02, 0.2, "m", "radius"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        e=Param(0.9, 0, 1, "", "restitution"),
        y0=Param(1, 0.2, 2, "m", "height of the lowest ball"),
        d=Param(0.25, 0.2, 0.5, "m", "distance of the centres"),
    )
    system.mass = [[m if i == j else 0 for j in range(n)] for i in range(n)]
    system.force = [-m * g] * n
    system.potential = m * g * sp.Add(*y)
    system.contact(Contact(gap=y[0] - R, e=e, name="floor"))
    for i in range(1, n):
        system.contact(Contact(gap=y[i] - y[i - 1] - 2 * R, e=e, name=f"{i}-{i + 1}"))
    system.start(q=[y0 + spread * i for i in range(n)], t_end=2, h=1e-3)
    system.sketch(ground((-0.5, 0), (0.5, 0)), *(circle(0, yi, R) for yi in y))
    system.published = {
        "column: the lowest ball reaches the floor at, in s": (
            0.4283529369,
            1e-9,
            "closed form, sqrt(2 (y0 - R) / g)",
        ),
    }
    system.preset("clay", "e = 0: each ball stays on the one below.", e=0)
    system.preset("superballs", "e = 1: no loss in any impact.", e=1, t_end=4)
    return system
