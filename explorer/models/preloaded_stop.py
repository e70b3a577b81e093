"""Preloaded stop: m x'' = -k x - c x' + f cos(omega t), and -F0 - k2 x more where x > 0.

The second spring is held back with the force F0, so it engages with a jump of force: the velocity
is continuous, the acceleration is not. Closed form for c = f = 0: a half swing on the first spring
takes pi / w1, w1 = sqrt(k / m); one on both takes 2 atan(v / (w2 X)) / w2, with w2 = sqrt((k + k2)
/ m), X = F0 / (k + k2) and v the speed of the passage (Shaw and Holmes, J. Sound Vib. 90 (1983)
129, for F0 = 0).
"""

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import HybridSystem
from explorer.systems.sketch import ground, line, spring


def period(rho: dict[str, float]) -> float:
    """Return the period of the free undamped motion, in s."""
    slow, fast = np.sqrt(rho["k"] / rho["m"]), np.sqrt((rho["k"] + rho["k2"]) / rho["m"])
    centre = rho["F0"] / (rho["k"] + rho["k2"])
    return float(np.pi / slow + 2 * np.arctan2(slow * rho["d"], fast * centre) / fast)


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x and v, (n_t, 2), of the free motion from x = -d; NaN with damping or forcing."""
    slow, fast = np.sqrt(rho["k"] / rho["m"]), np.sqrt((rho["k"] + rho["k2"]) / rho["m"])
    centre, d = rho["F0"] / (rho["k"] + rho["k2"]), rho["d"]
    if rho["c"] or rho["f"] or d == 0:
        return {"x": np.full((len(t), 2), 0.0 if d == rho["f"] == 0 else np.nan)}
    # from one passage with x' < 0 to the next: half a swing on one spring, then on both
    s = np.mod(np.asarray(t, float) + np.pi / (2 * slow), period(rho))
    left = s < np.pi / slow
    s2, speed = s - np.pi / slow, slow * d
    x = np.where(
        left,
        -d * np.sin(slow * s),
        centre * (np.cos(fast * s2) - 1) + speed / fast * np.sin(fast * s2),
    )
    v = np.where(
        left,
        -d * slow * np.cos(slow * s),
        -centre * fast * np.sin(fast * s2) + speed * np.cos(fast * s2),
    )
    return {"x": np.stack([x, v], axis=1)}


@register(
    group="structures",
    references=("shaw-holmes-1983",),
    measures={"preloaded stop: period, in s": lambda run: run().events[2].t - run().events[0].t},
)
def preloaded_stop() -> HybridSystem:
    """Return a mass on a spring that meets a second, preloaded spring."""
    system = HybridSystem(
        "preloaded stop",
        x="x v",
        units=("m", "m/s"),
        text="A jump of the force: the velocity has a kink, no impact.",
    )
    (x, v), t = system.x, system.t
    m, k, k2, F0, c, f, w, d = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        k=Param(1, 0.1, 10, "N/m", "stiffness"),
        k2=Param(4, 0, 50, "N/m", "stiffness of the stop"),
        F0=Param(2, 0, 10, "N", "preload of the stop"),
        c=Param(0, 0, 1, "N s/m", "damping"),
        f=Param(0, 0, 2, "N", "forcing amplitude"),
        omega=Param(1.2, 0.1, 6, "rad/s", "forcing frequency"),
        d=Param(1.5, 0.1, 3, "m", "start at rest at x = -d"),
    )
    outer = -k * x - c * v + f * sp.cos(w * t)
    free = system.mode("free", [v, outer / m])
    contact = system.mode("contact", [v, (outer - F0 - k2 * x) / m])
    system.guard(free, x, direction=+1, to=contact, name="engages")
    system.guard(contact, x, direction=-1, to=free, name="releases")
    system.start(x=[-d, 0], mode=free, t_end=20, h=2e-3)
    b, wall = sp.Rational(1, 4), 2
    plate = sp.Max(x, 0)
    system.sketch(
        ground((-5, b), (-5, -b)),
        spring((-5, 0), (x - 2 * b, 0), force=k * x),
        line((x - 2 * b, -b), (x, -b), (x, b), (x - 2 * b, b), closed=True),
        ground((wall, -2 * b), (wall, 2 * b)),
        spring((plate, 0), (wall, 0), force=-F0 - k2 * plate),
        line((plate, -2 * b), (plate, 2 * b)),
    )
    system.exact = exact
    system.published = {"preloaded stop: period, in s": (4.065637, 1e-6, "closed form")}
    system.preset("no preload", "F0 = 0: only the stiffness jumps, no longer the force.", F0=0)
    system.preset("hard stop", "A strong preload is nearly a wall without loss.", F0=10, k2=50)
    system.preset(
        "forced",
        "Damped and driven: the stop bends the resonance.",
        c=0.1,
        f=1,
        omega=1.4,
        t_end=80,
    )
    return system
