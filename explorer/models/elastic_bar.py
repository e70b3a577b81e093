"""Elastic bar against a rigid wall: rho A u_tt = E A u_xx, lumped into n elements.

u is the displacement of a section that was at x; the bar flies with speed V, its gap to the wall
is d + u(0) >= 0. A wave of pressure runs from the wall through the bar at c = sqrt(E / rho) and
back as a wave of release: contact lasts 2 L / c under the constant force V A sqrt(E rho), and the
bar leaves at rest in itself with reversed velocity (d'Alembert; Doyen, Ern and Piperno, SIAM J.
Sci. Comput. 33 (2011) 223). The end that touches has mass rho A L / (2 n): an impact with e = 0
takes 1 / (2 n) of the energy, which vanishes as n grows.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import sympy as sp

from explorer.dispatch.simulate import simulate
from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, ground, line

_HALF = sp.Rational(1, 2)


def contact_time(L: float, E: float, rho: float) -> float:
    """Return how long the bar touches the wall, in s: 2 L / c."""
    return float(2 * L * np.sqrt(rho / E))


def waves(
    t: npt.ArrayLike, x: npt.ArrayLike, rho: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return u in m and u_t in m/s of the bar without lumps, (n_t, n_x), at the places x in m."""
    c, V = np.sqrt(rho["E"] / rho["rho"]), rho["V"]
    since = np.asarray(t, float)[:, None] - (rho["d"] / V if V > 0 else np.inf)
    x = np.asarray(x, float)
    stops, goes = x / c, (2 * rho["L"] - x) / c
    u = -rho["d"] - V * np.minimum(since, stops) + V * np.maximum(since - goes, 0)
    return u, V * ((since > goes).astype(float) - (since < stops))


def exact(n: int, t: npt.ArrayLike, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return `waves` where a bar of `n` elements has its lumps."""
    q, v = waves(t, rho["L"] * np.arange(n + 1) / n, rho)
    return {"q": q, "v": v}


def _touched(_: Callable[..., Solution]) -> float:
    """Return how long a bar of 100 elements touches the wall, in s."""
    done = simulate(elastic_bar(100), "MoreauJean", t_end=1.2)
    t = done.t[done.active[:, 0] > 0]
    return float(t[-1] - t[0])


@register(
    group="structures",
    references=("doyen-2011",),
    measures={"elastic bar: contact time, in s": _touched},
)
def elastic_bar(n: int = 20) -> MechanicalSystem:
    """Return a bar of `n` elements that flies against a wall."""
    system = MechanicalSystem(
        f"elastic bar of {n} elements",
        q=[f"u{i}" for i in range(n + 1)],
        units="m",
        text="A wave runs through the bar and back; when it returns, the bar leaves the wall.",
    )
    system.sizes = {"n": Param(n, 1, 100, "", "number of elements")}
    u = system.q
    E, rho, L, A, V, d, e = system.params(
        E=Param(900, 100, 4000, "N/m2", "Young's modulus"),
        rho=Param(1, 0.2, 5, "kg/m3", "density"),
        L=Param(10, 2, 20, "m", "length"),
        A=Param(1, 0.1, 4, "m2", "cross section"),
        V=Param(10, 0, 20, "m/s", "speed towards the wall"),
        d=Param(3, 0, 10, "m", "distance from the wall"),
        e=Param(0, 0, 1, "", "restitution of the end"),
    )
    m, k = rho * A * L / n, E * A * n / L
    lumps = [m * (_HALF if i in (0, n) else 1) for i in range(n + 1)]
    pull = [k * (u[i + 1] - u[i]) for i in range(n)]
    system.mass = [[lumps[i] if i == j else 0 for j in range(n + 1)] for i in range(n + 1)]
    system.force = [(pull[i] if i < n else 0) - (pull[i - 1] if i else 0) for i in range(n + 1)]
    system.potential = k * sum((u[i + 1] - u[i]) ** 2 for i in range(n)) / 2
    system.contact(Contact(gap=d + u[0], e=e, name="wall"))
    system.start(v=[-V] * (n + 1), t_end=1.4, h=2e-3)
    high = sp.Rational(1, 2)
    place = [d + i * L / n + u[i] for i in range(n + 1)]
    system.sketch(
        ground((0, 2 * high), (0, -2 * high)),
        line((place[0], -high), (place[n], -high), (place[n], high), (place[0], high), closed=True),
        *(circle(place[i], 0, high / 2) for i in range(0, n + 1, -(-n // 10))),
    )
    system.exact = partial(exact, n)
    system.exact_of = "the bar without lumps, which many elements approach"
    system.published = {
        "elastic bar: contact time, in s": (2 / 3, 1e-2, "2 L / c, Doyen et al. 2011")
    }
    system.preset("soft", "E a ninth: the wave takes three times as long.", E=100, t_end=3)
    return system
