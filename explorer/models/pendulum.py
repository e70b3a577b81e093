"""Pendulum through large angles: m l^2 theta'' + c l^2 theta' + m g l sin(theta) = 0.

For c = 0, with w = sqrt(g / l) and k^2 = sin(theta0 / 2)^2 + (theta0' / (2 w))^2: it swings for k <
1, sin(theta / 2) = k sn(w t + s | k^2), with the period 4 K(k^2) / w; for k > 1 it turns over,
theta / 2 = am(k w t + s | 1 / k^2), once in 2 K(1 / k^2) / (k w). (Whittaker, *Analytical
Dynamics*, 44.) K is the complete elliptic integral of the first kind.
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
from explorer.systems.sketch import circle, ground, line


def _energy(rho: dict[str, float]) -> tuple[float, float]:
    """Return w in rad/s and k^2."""
    w = np.sqrt(rho["g"] / rho["l"])
    return float(w), float(np.sin(rho["theta0"] / 2) ** 2 + np.square(rho["w0"] / (2 * w)))


def period(rho: dict[str, float]) -> float:
    """Return the time of a swing there and back, or of a turn, without damping, in s."""
    w, m = _energy(rho)
    return float(
        4 * scipy.special.ellipk(m) / w
        if m <= 1
        else 2 * scipy.special.ellipk(1 / m) / (np.sqrt(m) * w)
    )


def exact(t: npt.ArrayLike, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return theta and its rate, (n_t, 1) each, from theta0 and w0; NaN with damping."""
    t, (w, m) = np.asarray(t, float), _energy(rho)
    turns = 2 * np.pi * np.round(rho["theta0"] / (2 * np.pi))
    half, k = (rho["theta0"] - turns) / 2, np.sqrt(m)
    if rho["c"]:
        nothing = np.full((t.size, 1), np.nan)
        return {"q": nothing, "v": nothing}
    if m > 1:  # it turns over, always the same way
        way = np.sign(rho["w0"])
        _, _, dn, am = scipy.special.ellipj(
            k * w * t + scipy.special.ellipkinc(way * half, 1 / m), 1 / m
        )
        return {"q": turns + 2 * way * am[:, None], "v": 2 * way * k * w * dn[:, None]}
    s = scipy.special.ellipkinc(np.arcsin(np.clip(np.sin(half) / k, -1, 1)), m) if k else 0.0
    if rho["w0"] < 0:
        s = 2 * scipy.special.ellipk(m) - s
    sn, cn, _, _ = scipy.special.ellipj(w * t + s, m)
    return {"q": turns + 2 * np.arcsin(k * sn)[:, None], "v": 2 * k * w * cn[:, None]}


def _relative_period(run: Callable[..., Solution]) -> float:
    """Return the period at 90 degrees, over that of small swings."""
    done = run("EventDriven", theta0=np.pi / 2, t_end=8, t_eval=np.linspace(0, 8, 40001))
    period = np.diff(passages(done.t, done.q[:, 0]))[0]
    return float(period * np.sqrt(done.rho["g"] / done.rho["l"]) / (2 * np.pi))


@register(
    group="linkages",
    references=("whittaker-1937",),
    measures={"pendulum: period at 90 degrees, in small ones": _relative_period},
)
def pendulum() -> MechanicalSystem:
    """Return a mass on a rod that swings through large angles, or turns over."""
    system = MechanicalSystem(
        "pendulum",
        q="theta",
        units="rad",
        text="Wider swings take longer; towards the top the period tends to infinity.",
    )
    (a,), (w,) = system.q, system.v
    m, length, g, c, a0, w0 = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        l=Param(1, 0.2, 3, "m", "length"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        c=Param(0, 0, 2, "N s/m", "damping"),
        theta0=Param(2.5, -3.1, 3.1, "rad", "start angle"),
        w0=Param(0, -15, 15, "rad/s", "start velocity"),
    )
    system.mass = [[m * length**2]]
    system.force = [-m * g * length * sp.sin(a) - c * length**2 * w]
    system.potential = -m * g * length * sp.cos(a)
    system.start(q=[a0], v=[w0], t_end=10, h=5e-3)
    x, y = length * sp.sin(a), -length * sp.cos(a)
    system.sketch(
        ground((0.2, 0), (-0.2, 0)),
        line((0, 0), (x, y)),
        circle(x, y, sp.Rational(1, 12)),
    )
    system.exact = exact
    system.published = {
        "pendulum: period at 90 degrees, in small ones": (1.1803406, 1e-7, "2 K(1/2) / pi"),
    }
    system.preset("small", "Small angles: nearly harmonic.", theta0=0.1)
    system.preset("nearly at the top", "It lingers, and takes thrice the small period.", theta0=3.1)
    system.preset("over the top", "Fast enough to turn over.", theta0=0, w0=6.5)
    return system
