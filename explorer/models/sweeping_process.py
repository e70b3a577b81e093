"""Moreau's sweeping process: a moving set C(t) carries a point along, -x' in N_C(t)(x).

Here C(t) is a disc of radius R whose centre c runs on a circle of radius a: the point rests where
it is inside, and is pushed by the rim, at right angles to it, where it would be left outside. By
the relation 0 <= (R^2 - |x - c|^2) / (2 R) perp lambda >= 0, x' = -lambda (x - c) / R. Implicit
Euler is the catching-up algorithm, x_{k+1} = proj(x_k, C(t_{k+1})) (Moreau, *J. Differential
Equations* 26 (1977) 347, doi:10.1016/0022-0396(77)90085-7).

For a > R the point ends on a circle about the same centre: its velocity, along the circle, points
to c, so that |x|^2 + R^2 = a^2. For a < R it comes to rest.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import FirstOrderSystem
from explorer.systems.sketch import circle, line


def _radius(run: Callable[..., Solution]) -> float:
    """Return how far from the centre of the circle the point ends, in m."""
    done = run("EulerMoreau", h=1e-3, t_end=30)
    return float(np.linalg.norm(done.x[-1]))


@register(
    group="friction",
    references=("moreau-1977",),
    measures={"sweeping process: radius of the point's circle, in m": _radius},
)
def sweeping_process() -> FirstOrderSystem:
    """Return a point that a moving disc sweeps along."""
    system = FirstOrderSystem(
        "sweeping process",
        x="x y",
        units="m",
        text="A point rests until the rim of a moving set reaches it, and pushes it inwards.",
    )
    (x, y), t = system.x, system.t
    R, a, w, x0 = system.params(
        R=Param(0.6, 0.2, 1.5, "m", "radius of the disc"),
        a=Param(1, 0.2, 2, "m", "radius of the circle of its centre"),
        omega=Param(1, 0.2, 3, "rad/s", "how fast it runs"),
        x0=Param(1, -2, 2, "m", "start"),
    )
    cx, cy = a * sp.cos(w * t), a * sp.sin(w * t)
    push = system.law("push", unit="m/s", y_name="room", y_unit="m")
    system.f = [0, 0]
    system.r = {x: -push * (x - cx) / R, y: -push * (y - cy) / R}
    system.y = [(R**2 - (x - cx) ** 2 - (y - cy) ** 2) / (2 * R)]
    system.start(x=[x0, 0], t_end=12, h=1e-2)
    rim = [sp.pi * k / 24 for k in range(49)]
    system.sketch(
        line(*((a * sp.cos(k), a * sp.sin(k)) for k in rim), role="trace"),
        line(*((cx + R * sp.cos(k), cy + R * sp.sin(k)) for k in rim)),
        circle(x, y, "0.05"),
        line((cx, cy), (x, y), role="trace"),
    )
    system.published = {
        "sweeping process: radius of the point's circle, in m": (
            0.8,
            2e-3,
            "closed form, sqrt(a^2 - R^2)",
        ),
    }
    system.preset("to rest", "a < R: it is swept inwards until the rim no longer meets it.", R=1.2)
    system.preset("small disc", "The point nearly runs on the circle of the centre.", R=0.2)
    system.preset("caught", "A start outside is projected onto the disc at once.", x0=2)
    return system
