"""Gap spring: m x'' + c x' + k x + k2 max(x - s, 0) = f cos(omega t), a stop with clearance s.

The force is continuous, its slope is not: no event, no impact, and a Newton iteration has to find
the side. Free and undamped, from rest in x = -d with d > s, the mass is on the first spring for
2 acos(-s / d) / w1 in each period and on both for 2 atan(v / (w2 X)) / w2, where w1 = sqrt(k / m),
w2 = sqrt((k + k2) / m), v = w1 sqrt(d^2 - s^2) is the speed of the passage and X = k s / (k + k2)
(Shaw and Holmes, J. Sound Vib. 90 (1983) 129).
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.passages import passages
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.systems.sketch import ground, line, spring


def _passage(rho: dict[str, float]) -> tuple[float, float, float, float, float]:
    """Return w1, w2 in rad/s, X in m, and the times on the first spring and on both, in s."""
    w1, w2 = np.sqrt(rho["k"] / rho["m"]), np.sqrt((rho["k"] + rho["k2"]) / rho["m"])
    d, s, X = rho["d"], rho["s"], rho["k"] * rho["s"] / (rho["k"] + rho["k2"])
    if d <= s:
        return w1, w2, X, 2 * np.pi / w1, 0.0
    both = 2 * np.arctan2(w1 * np.sqrt((d - s) * (d + s)), w2 * X) / w2
    return w1, w2, X, 2 * np.arccos(-s / d) / w1, both


def period(rho: dict[str, float]) -> float:
    """Return the period of the free undamped motion, in s."""
    return float(sum(_passage(rho)[3:]))


def exact(t: npt.ArrayLike, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x and x', (n_t, 1) each, from rest in x = -d; NaN if c or f is not 0, or s, d < 0."""
    t, d, s = np.asarray(t, float), rho["d"], rho["s"]
    if rho["c"] or rho["f"] or s < 0 or d < 0:
        nothing = np.full((t.size, 1), np.nan)
        return {"q": nothing, "v": nothing}
    w1, w2, X, alone, both = _passage(rho)
    tau = np.mod(t + alone / 2, alone + both) - alone / 2  # 0 where it rests in -d
    on_one, deepest = tau <= alone / 2, (alone + both) / 2
    reach = np.hypot(X, w1 / w2 * np.sqrt(max((d - s) * (d + s), 0.0)))  # about s - X, rest of both
    x = np.where(on_one, -d * np.cos(w1 * tau), s - X + reach * np.cos(w2 * (tau - deepest)))
    v = np.where(on_one, w1 * d * np.sin(w1 * tau), -w2 * reach * np.sin(w2 * (tau - deepest)))
    return {"q": x[:, None], "v": v[:, None]}


def _period(run: Callable[..., Solution]) -> float:
    """Return the time between two passages through x = 0, in s."""
    done = run("EventDriven", t_end=10, t_eval=np.linspace(0, 10, 20001))
    return float(np.diff(passages(done.t, done.q[:, 0]))[0])


@register(
    group="structures",
    references=("shaw-holmes-1983",),
    measures={"stop with clearance: period, in s": _period},
)
def gap_stop() -> MechanicalSystem:
    """Return a driven mass on a spring whose way ends at a second spring."""
    system = MechanicalSystem(
        "stop with clearance",
        q="x",
        units="m",
        text="A spring acts on one side only: the kink of its force bends the resonance.",
    )
    (x,), (v,), t = system.q, system.v, system.t
    m, c, k, k2, s, f, w, d = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        c=Param(0, 0, 1, "N s/m", "damping"),
        k=Param(1, 0.1, 10, "N/m", "stiffness"),
        k2=Param(20, 0, 300, "N/m", "stiffness of the stop"),
        s=Param(0.5, 0, 3, "m", "clearance"),
        f=Param(0, 0, 2, "N", "forcing amplitude"),
        omega=Param(1.5, 0.1, 6, "rad/s", "forcing frequency"),
        d=Param(1.5, 0, 3, "m", "start at rest in x = -d"),
    )
    beyond = sp.Max(x - s, 0)
    system.mass = [[m]]
    system.force = [f * sp.cos(w * t) - c * v - k * x - k2 * beyond]
    system.potential = k * x**2 / 2 + k2 * beyond**2 / 2
    system.start(q=[-d], v=[0], t_end=20, h=5e-3)
    b, wall = sp.Rational(1, 4), s + 2
    plate = sp.Max(x, s)
    system.sketch(
        ground((-5, b), (-5, -b)),
        spring((-5, 0), (x - 2 * b, 0), force=k * x),
        line((x - 2 * b, -b), (x, -b), (x, b), (x - 2 * b, b), closed=True),
        ground((wall, -2 * b), (wall, 2 * b)),
        spring((plate, 0), (wall, 0), force=-k2 * beyond),
        line((plate, -2 * b), (plate, 2 * b)),
    )
    system.exact = exact
    system.published = {"stop with clearance: period, in s": (4.473213, 1e-6, "closed form")}
    system.preset("hard stop", "Nearly a wall: the passage is short, its force is large.", k2=200)
    system.preset("no stop", "k2 = 0: harmonic.", k2=0)
    system.preset(
        "forced",
        "Damped and driven above the first resonance: the stop answers.",
        c=0.1,
        f=0.5,
        omega=1.5,
        s=0.2,
        d=0,
        t_end=60,
    )
    return system
