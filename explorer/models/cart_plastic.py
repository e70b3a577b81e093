"""Plastic impact on a cart: x1'' = 0 until x1 = x2, then (m1 + m2) x'' = -k x - c x'.

The mass hits the cart, which rests on its spring, and stays with it: at the impact the momentum is
kept, v+ = (m1 v1 + m2 v2) / (m1 + m2), and the share m2 / (m1 + m2) of the energy is lost. Without
damping the cart then moves out to m1 speed0 / sqrt(k (m1 + m2)).
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.sketch import ground, line, spring


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x1, v1, x2, v2 (right limits), (n_t, 4), of a mass that comes from the left."""
    m1, m2, k, c, d, speed0 = (rho[name] for name in ("m1", "m2", "k", "c", "d", "speed0"))
    t = np.asarray(t, float)
    hit = d / speed0 if speed0 > 0 else np.inf
    s = np.maximum(t - hit, 0)
    decay, speed = c / (2 * (m1 + m2)), m1 * speed0 / (m1 + m2)
    omega = np.emath.sqrt(k / (m1 + m2) - decay**2)  # imaginary if it creeps back
    if omega == 0:
        sine, cosine = s, np.ones_like(s)
    else:
        sine, cosine = np.real(np.sin(omega * s) / omega), np.real(np.cos(omega * s))
    x = speed * np.exp(-decay * s) * sine
    v = speed * np.exp(-decay * s) * (cosine - decay * sine)
    joined = t >= hit
    rows = (
        np.where(joined, x, speed0 * t - d),
        np.where(joined, v, speed0),
        np.where(joined, x, 0),
        np.where(joined, v, 0),
    )
    return {"x": np.stack(rows, axis=1)}


def _share(run: Callable[..., Solution]) -> float:
    """Return the kinetic energy after the impact, over that before it."""
    done = run(c=0)
    hit, m1, m2 = done.events[0], done.rho["m1"], done.rho["m2"]
    return float((m1 + m2) * hit.x_plus[1] ** 2 / (m1 * hit.x_minus[1] ** 2))


@register(
    group="impacts",
    references=("brogliato-2016",),
    measures={
        "cart: share of the energy after the impact": _share,
        "cart: largest excursion for c = 0, in m": lambda run: (
            run(c=0, t_eval=np.linspace(0.5, 1.5, 9999)).x[:, 0].max()
        ),
    },
)
def cart_plastic() -> HybridSystem:
    """Return a mass that slides into a cart and sticks to it."""
    system = HybridSystem(
        "plastic impact on a cart",
        x="x1 v1 x2 v2",
        units=("m", "m/s", "m", "m/s"),
        text="After the impact there is one body: the equations change with the event.",
    )
    x1, v1, x2, v2 = system.x
    m1, m2, k, c, d, speed0 = system.params(
        m1=Param(1, 0.1, 5, "kg", "mass that comes in"),
        m2=Param(2, 0.1, 5, "kg", "mass of the cart"),
        k=Param(12, 1, 100, "N/m", "stiffness"),
        c=Param(0.5, 0, 20, "N s/m", "damping"),
        d=Param(1, 0.1, 2, "m", "distance at the start"),
        speed0=Param(2, 0.2, 5, "m/s", "speed at the start"),
    )
    pull = -k * x2 - c * v2
    free = system.mode("free", [v1, 0, v2, pull / m2])
    joined = system.mode("joined", [v1, pull / (m1 + m2), v2, pull / (m1 + m2)])
    common = (m1 * v1 + m2 * v2) / (m1 + m2)
    system.guard(free, x2 - x1, to=joined, reset={x1: x2, v1: common, v2: common}, name="impact")
    system.start(x=[-d, speed0, 0, 0], mode=free, t_end=8, h=1e-3)
    a = sp.Rational(3, 10)
    system.sketch(
        ground((-2.5, 0), (3.5, 0)),
        ground((3.5, 0), (3.5, 2 * a)),
        line((x1 - a, 0), (x1, 0), (x1, a), (x1 - a, a), closed=True),
        line((x2, 0), (x2 + 2 * a, 0), (x2 + 2 * a, a), (x2, a), closed=True),
        spring((x2 + 2 * a, a / 2), (3.5, a / 2), force=-k * x2),
    )
    system.exact = exact
    system.published = {
        "cart: share of the energy after the impact": (1 / 3, 1e-9, "momentum, m1 / (m1 + m2)"),
        "cart: largest excursion for c = 0, in m": (
            1 / 3,
            1e-6,
            "closed form, m1 speed0 / sqrt(k (m1 + m2))",
        ),
    }
    system.preset("no damping", "The excursion is m1 speed0 / sqrt(k (m1 + m2)).", c=0)
    system.preset("heavy mass", "A heavy mass loses little in the impact.", m1=5, m2=0.5)
    system.preset("creeps back", "Overdamped: no swing after the impact.", c=20)
    return system
