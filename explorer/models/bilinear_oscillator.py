"""Bilinear hysteresis: m x'' + c x' + r(x) = f sin(omega t), r a spring that yields at f_y.

Stiffness k up to the yield force, b k beyond, unloading with k again (kinematic
hardening; Caughey, J. Appl. Mech. 27 (1960) 640).
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import BilinearSpring, MechanicalSystem
from explorer.systems.sketch import circle, ground, spring


def _loop(run: Callable[..., Solution]) -> float:
    """Return the work of the drive in a period, over the loss of damper and yielding spring."""
    done = run("Newmark", h=1e-3, t_end=120)
    rho = done.rho
    last = done.t >= done.t[-1] - 10 * 2 * np.pi / rho["omega"]
    t, x, v = done.t[last], done.q[last, 0], done.v[last, 0]
    work = np.trapezoid(rho["f"] * np.sin(rho["omega"] * t) * v, t)
    damper = np.trapezoid(rho["c"] * v**2, t)
    reach = (x.max() - x.min()) / 2 - rho["f_y"] / rho["k"]
    return float((work - damper) / (10 * 4 * (1 - rho["b"]) * rho["f_y"] * reach))


@register(
    group="structures",
    references=("caughey-1960",),
    measures={
        "bilinear: loss in a period over the area of the loop": _loop,
    },
)
def bilinear_oscillator() -> MechanicalSystem:
    """Return a mass on a column that yields."""
    system = MechanicalSystem(
        "bilinear oscillator",
        q="x",
        units="m",
        text="The spring yields: it dissipates, and does not come back to where it was.",
    )
    (x,), (v,), t = system.q, system.v, system.t
    m, c, k, f_y, b, f, w = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        c=Param(0.1, 0, 2, "N s/m", "damping"),
        k=Param(20, 1, 100, "N/m", "stiffness"),
        f_y=Param(2, 0.1, 20, "N", "yield force"),
        b=Param(0.05, 0, 0.9, "", "hardening ratio"),
        f=Param(3, 0, 20, "N", "forcing amplitude"),
        omega=Param(3, 0.1, 10, "rad/s", "forcing frequency"),
    )
    system.mass, system.force = [[m]], [f * sp.sin(w * t) - c * v]
    system.potential = sp.Integer(0)
    system.spring(BilinearSpring(x, k, f_y, b, name="column"))
    system.start(q=[0], v=[0], t_end=20, h=5e-3)
    system.sketch(ground((-1, 0.2), (-1, -0.2)), spring((-1, 0), (x - 0.1, 0)), circle(x, 0, 0.1))
    system.published = {
        "bilinear: loss in a period over the area of the loop": (
            1,
            5e-3,
            "closed form, area 4 (1 - b) f_y (X - f_y / k)",
        ),
    }
    system.preset("elastic", "It never yields.", f=1, f_y=20)
    system.preset("no hardening", "b = 0: it drifts as it yields.", b=0, f=4, t_end=40)
    return system
