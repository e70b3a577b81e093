"""Oscillator with dry friction: m x'' + k x + mu N sgn(x') ∋ f cos(omega t).

sgn(0) = [-1, 1]: at x' = 0 the mass sticks while |f cos(omega t) - k x| <= mu N. Free (f = 0), the
amplitude falls by 2 d, d = mu N / k, in each half swing of pi sqrt(m / k), until |x| <= d.
Driven without sticking, m = k = f = 1 and b = omega, the amplitude is sqrt(V^2 - (mu N U)^2) with
V = 1 / (1 - b^2), U = sin(pi / b) / (b (1 + cos(pi / b))) (Den Hartog, Phil. Mag. 9 (1930) 801).
"""

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import HybridSystem
from explorer.systems.sketch import ground, line, spring

# At the border of sticking and turning back (x a multiple of d) one of the two must count.
_OVERLAP = sp.Float(1e-9)


def half_swings(rho: dict[str, float]) -> tuple[list[float], list[float]]:
    """Return the times and places at which the free motion comes to x' = 0, the last one stays."""
    w, d = np.sqrt(rho["k"] / rho["m"]), rho["mu"] * rho["N"] / rho["k"]
    start_x, start_v = rho["start_x"], rho["start_v"]
    times = [float(np.arctan2(start_v / w, start_x + d) / w)]
    places = [float(np.hypot(start_x + d, start_v / w) - d)]
    while abs(places[-1]) > d and d > 0 and len(places) < 10_000:
        times.append(times[-1] + np.pi / w)
        places.append(-(abs(places[-1]) - 2 * d) * np.sign(places[-1]))
    return times, places


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x and v, (n_t, 2), of the free motion; NaN with forcing or start_v < 0."""
    w, d = np.sqrt(rho["k"] / rho["m"]), rho["mu"] * rho["N"] / rho["k"]
    t = np.asarray(t, float)
    if rho["f"] or rho["start_v"] < 0:
        return {"x": np.full((len(t), 2), np.nan)}
    times, places = map(np.array, half_swings(rho))
    i = np.searchsorted(times, t, side="right") - 1
    swing = np.maximum(i, 0)
    centre = d * np.sign(places[swing])
    s, a = w * (t - times[swing]), places[swing] - centre
    rests = d > 0
    moves = (i < len(times) - 1) | (not rests)
    a, centre = np.where(moves, a, 0), np.where(moves, centre, places[swing])
    first = i < 0
    s = np.where(first, w * t, s)
    start, kick = rho["start_x"] + d, rho["start_v"] / w
    x = np.where(first, start * np.cos(s) + kick * np.sin(s) - d, centre + a * np.cos(s))
    v = np.where(first, w * (kick * np.cos(s) - start * np.sin(s)), -w * a * np.sin(s))
    return {"x": np.stack([x, v], axis=1)}


@register(
    group="friction",
    references=("den-hartog-1930",),
    measures={
        "dry friction: place of rest, in m": lambda run: run(t_end=30).x[-1, 0],
        "dry friction: time of rest, in s": lambda run: run(t_end=30).events[-1].t,
        "dry friction: amplitude, preset Den Hartog, in m": lambda run: (
            run(preset="Den Hartog", t_eval=np.linspace(30, 40, 9999)).x[:, 0].max()
        ),
    },
)
def coulomb_oscillator() -> HybridSystem:
    """Return a mass on a spring that slides on a rough floor."""
    system = HybridSystem(
        "Coulomb oscillator",
        x="x v",
        units=("m", "m/s"),
        text="Dry friction stops the mass in a finite time, in general not in the middle.",
    )
    (x, v), t = system.x, system.t
    m, k, mu, N, f, w, start_x, start_v = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        k=Param(1, 0.1, 10, "N/m", "stiffness"),
        mu=Param(0.1, 0, 1, "", "friction"),
        N=Param(10, 1, 20, "N", "normal force"),
        f=Param(0, 0, 5, "N", "forcing amplitude"),
        omega=Param(1.5, 0.1, 4, "rad/s", "forcing frequency"),
        start_x=Param(12, -15, 15, "m", "start"),
        start_v=Param(6, 0, 10, "m/s", "start velocity"),
    )
    force, limit = f * sp.cos(w * t) - k * x, mu * N
    right = system.mode("slide+", [v, (force - limit) / m])
    left = system.mode("slide-", [v, (force + limit) / m])
    stick = system.mode("stick", [0, 0])
    widened = limit * (1 + _OVERLAP)
    system.guard(
        right, v, direction=-1, to=stick, reset={v: 0}, when=force + widened, name="sticks"
    )
    system.guard(right, v, direction=-1, to=left, reset={v: 0}, when=-force - limit, name="turns")
    system.guard(left, v, direction=+1, to=stick, reset={v: 0}, when=widened - force, name="sticks")
    system.guard(left, v, direction=+1, to=right, reset={v: 0}, when=force - limit, name="turns")
    system.guard(stick, force - limit, direction=+1, to=right, name="slips right")
    system.guard(stick, force + limit, direction=-1, to=left, name="slips left")
    system.start(x=[start_x, start_v], mode=right, t_end=25, h=1e-2)
    b = 1
    system.sketch(
        ground((-20, -b), (18, -b)),
        ground((-20, 2 * b), (-20, -b)),
        spring((-20, 0), (x - b, 0), force=k * x),
        line((x - b, -b), (x + b, -b), (x + b, b), (x - b, b), closed=True),
    )
    system.exact = exact
    system.published = {
        "dry friction: place of rest, in m": (
            0.682179,
            1e-5,
            "closed form; Siconos FrictionOscillator 0.682044",
        ),
        "dry friction: time of rest, in s": (22.4236, 1e-4, "closed form"),
        "dry friction: amplitude, preset Den Hartog, in m": (0.765942, 1e-5, "Den Hartog 1930"),
    }
    system.preset("weak friction", "Half the friction: twice as many swings.", mu=0.05, t_end=50)
    system.preset(
        "Den Hartog",
        "Driven, without a stop: amplitude 0.765942.",
        f=1,
        omega=1.5,
        mu=0.02,
        start_x=-0.736599,
        start_v=0.301031,
        t_end=40,
    )
    system.preset(
        "stick-slip",
        "Slow driving: two stops in each period.",
        f=1,
        omega=0.3,
        mu=0.06,
        start_x=0,
        start_v=0,
        t_end=80,
    )
    return system
