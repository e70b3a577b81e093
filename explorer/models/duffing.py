"""Duffing's oscillator: m x'' + c x' + k x + k3 x^3 = f cos(omega t).

Free and undamped, from rest at x0: x = x0 cn(w t | m2) with w^2 = (k + k3 x0^2) / m and
m2 = k3 x0^2 / (2 (k + k3 x0^2)) (Kovacic and Brennan, *The Duffing Equation*, 2011, 2.2).
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.passages import passages
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.systems.sketch import circle, ground, spring


def free(
    t: npt.ArrayLike, m: float, k: float, k3: float, x0: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return x and x' of the free, undamped swing from rest (k, k3 >= 0)."""
    w = np.sqrt((k + k3 * x0**2) / m)
    sn, cn, dn, _ = scipy.special.ellipj(
        w * np.asarray(t, float), k3 * x0**2 / (2 * (k + k3 * x0**2))
    )
    return x0 * cn, -x0 * w * sn * dn


def _period(run: Callable[..., Solution]) -> float:
    """Return the period of the free swing, in s."""
    done = run("EventDriven", preset="free", t_end=8, t_eval=np.linspace(0, 8, 40001))
    return float(np.diff(passages(done.t, done.q[:, 0]))[0])


@register(
    group="structures",
    references=("kovacic-brennan-2011",),
    measures={
        "Duffing: period of the free swing, x0 = 2, in s": _period,
    },
)
def duffing() -> MechanicalSystem:
    """Return a driven oscillator on a spring that hardens."""
    system = MechanicalSystem(
        "Duffing's oscillator",
        q="x",
        units="m",
        text="A hardening spring bends the resonance curve, and the response can jump.",
    )
    (x,), (v,), t = system.q, system.v, system.t
    m, c, k, k3, f, w, x0 = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        c=Param(0.1, 0, 2, "N s/m", "damping"),
        k=Param(1, -2, 10, "N/m", "stiffness"),
        k3=Param(1, 0, 10, "N/m3", "cubic stiffness"),
        f=Param(0.5, 0, 5, "N", "forcing amplitude"),
        omega=Param(1.4, 0.1, 5, "rad/s", "forcing frequency"),
        x0=Param(1, -3, 3, "m", "start"),
    )
    system.mass, system.force = [[m]], [f * sp.cos(w * t) - c * v - k * x - k3 * x**3]
    system.potential = k * x**2 / 2 + k3 * x**4 / 4
    system.start(q=[x0], v=[0], t_end=40, h=1e-2)
    system.sketch(
        ground((-4, 0.4), (-4, -0.4)),
        spring((-4, 0), (x - 0.3, 0), force=k * x + k3 * x**3),
        circle(x, 0, 0.3),
    )
    system.published = {
        "Duffing: period of the free swing, x0 = 2, in s": (
            3.179723317,
            1e-6,
            "closed form, 4 K(m2) / w",
        ),
    }
    system.preset("free", "No damping, no force: a Jacobi elliptic function.", c=0, f=0, x0=2)
    system.preset(
        "chaos",
        "A double well (k < 0), driven: chaos.",
        k=-1,
        k3=1,
        c=0.25,
        f=0.3,
        omega=1,
        t_end=100,
    )
    return system
