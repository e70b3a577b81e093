"""Border collision in the plane: x' = tau x + y + mu, y' = -delta x, with its own tau, delta for
x < 0 and x > 0.

The normal form of Nusse and Yorke (Physica D 57 (1992) 39, doi:10.1016/0167-2789(92)90087-4): tau
and delta are the trace and the determinant on each side. Fixed points are x = mu / (1 - tau +
delta), y = -delta x, where x has the side's sign; Banerjee and Grebogi (Phys. Rev. E 59 (1999)
4052, doi:10.1103/PhysRevE.59.4052) classify what follows at mu = 0. With one delta on both sides
the area shrinks by it everywhere, so that the exponents sum up to ln |delta|. Chaos without any
window: Banerjee, Yorke and Grebogi, Phys. Rev. Lett. 80 (1998) 3049,
doi:10.1103/PhysRevLett.80.3049.
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import MapSystem
from explorer.systems.schematic import name
from explorer.systems.sketch import circle, line


def _sum(_: Callable[..., Solution]) -> float:
    """Return the sum of the exponents in robust chaos."""
    from explorer.study.lyapunov import lyapunov

    return float(lyapunov(border_collision_plane(), iterates=2000).exponents.sum())


@register(
    group="maps",
    references=("nusse-yorke-1992", "banerjee-grebogi-1999", "banerjee-1998"),
    measures={
        "border collision in the plane: sum of the exponents": _sum,
        "border collision in the plane: fixed point": lambda run: run(preset="a fixed point").x[
            -1, 0
        ],
    },
)
def border_collision_plane() -> MapSystem:
    """Return the normal form of a border collision in the plane."""
    border = MapSystem(
        "border collision in the plane",
        x="x y",
        text="Two linear maps, glued along a line: chaos that no small change of numbers ends.",
    )
    x, y = border.x
    tl, dl, tr, dr, mu, x0 = border.params(
        tau_L=Param(1.7, -2, 2, "", "trace on the left"),
        delta_L=Param(0.5, 0, 0.9, "", "determinant on the left"),
        tau_R=Param(-1.7, -2, 2, "", "trace on the right"),
        delta_R=Param(0.5, 0, 0.9, "", "determinant on the right"),
        mu=Param(1, -1, 1, "", "distance of the border"),
        x0=Param(0.1, -1, 1, "", "start"),
    )
    border.branch("left", [tl * x + y + mu, -dl * x], when=-x)
    border.branch("right", [tr * x + y + mu, -dr * x])
    border.start(x=[x0, 0], t_end=400)
    far = sp.Integer(3)
    border.sketch(
        line((0, -far / 2), (0, far / 2), role="node"),
        line((-far, 0), (far / 2, 0), role="node"),
        name(1.7, 0, "x"),
        name(0.25, 1.4, "y"),
        name(0.7, -1.4, "border"),
        circle(x, y, "0.06"),
    )
    border.published = {
        "border collision in the plane: sum of the exponents": (
            -0.6931471805599453,
            1e-9,
            "closed form, ln delta",
        ),
        "border collision in the plane: fixed point": (
            1 / 2.3,
            1e-9,
            "closed form, mu / (1 - tau_R + delta_R)",
        ),
    }
    border.preset("robust chaos", "Both sides expand: chaos without any periodic window.")
    border.preset("a fixed point", "Both sides contract.", tau_L=0.5, tau_R=-0.8)
    border.preset(
        "a cycle of three",
        "Complex multipliers: the orbit turns about the border.",
        tau_L=0.2,
        delta_L=0.8,
        tau_R=-1.5,
        delta_R=0.6,
    )
    return border
