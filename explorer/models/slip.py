"""SLIP, a mass on a springy leg: flight y'' = -g; stance on a spring k of natural length l.

The leg touches down at the angle `attack` and leaves the ground at its natural length; there is no
mass in it, so nothing is lost. Which height an apex returns to is a map of the interval: at m = 80,
k = 20 000, 68 degrees and the energy of 5 m/s at 1 m it has the stable point 0.940267 m (multiplier
-0.1613) and the unstable one 1.337686 m (1.6870) (Seyfarth, Geyer, Guenther and Blickhan, J.
Biomech. 35 (2002) 649). In x the place of the last foot is the origin.
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.sketch import circle, ground, spring


def _apexes(run: Callable[..., Solution], **settings: float) -> list[float]:
    """Return the heights of all apexes, in m."""
    found = run("EventDriven", rtol=1e-11, **settings).events
    return [float(x.x_plus[1]) for x in found if x.contact == "apex"]


def _multiplier(run: Callable[..., Solution]) -> float:
    """Return by what a small deviation from the stable apex is multiplied in one step."""
    first, second, third = _apexes(run, y0=0.9404)[:3]
    return (third - second) / (second - first)


def _returned(run: Callable[..., Solution], y0: float) -> float:
    """Return the height of the next apex after one at `y0`, in m."""
    return _apexes(run, y0=y0, t_end=1.5)[0]


def _unstable(run: Callable[..., Solution]) -> float:
    """Return the higher apex that returns to itself, by bisection, in m."""
    low, high = 1.2, 1.35
    while high - low > 1e-7:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _returned(run, middle) < middle else (low, middle)
    return low


def _unstable_multiplier(run: Callable[..., Solution]) -> float:
    """Return by what a small deviation from that apex is multiplied in one step."""
    at, d = _unstable(run), 1e-4
    return (_returned(run, at + d) - _returned(run, at - d)) / (2 * d)


@register(
    group="walking",
    references=("seyfarth-2002",),
    measures={
        "SLIP: stable height of the apex, in m": lambda run: _apexes(run)[-1],
        "SLIP: multiplier of the stable apex": _multiplier,
        "SLIP: unstable height of the apex, in m": _unstable,
        "SLIP: multiplier of the unstable apex": _unstable_multiplier,
    },
)
def slip() -> HybridSystem:
    """Return the spring-loaded inverted pendulum, started at an apex."""
    runner = HybridSystem(
        "running on a spring (SLIP)",
        x="x y v_x v_y",
        units=("m", "m", "m/s", "m/s"),
        text="It runs by itself: the angle of the leg is its only control.",
    )
    x, y, vx, vy = runner.x
    m, k, length, g, degrees, v1, y0 = runner.params(
        m=Param(80, 40, 120, "kg", "mass"),
        k=Param(20_000, 5_000, 40_000, "N/m", "stiffness of the leg"),
        l=Param(1, 0.8, 1.2, "m", "length of the leg"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        attack=Param(68, 50, 85, "deg", "angle of attack"),
        v1=Param(5, 3, 7, "m/s", "speed at an apex of 1 m (the energy)"),
        y0=Param(0.940267, 0.9, 1.6, "m", "height of the first apex"),
    )
    angle = sp.pi / 180 * degrees
    reach, low = length * sp.cos(angle), length * sp.sin(angle)
    leg = sp.sqrt(x**2 + y**2)
    push = k / m * (length / leg - 1)
    flight = runner.mode("flight", [vx, vy, 0, -g])
    stance = runner.mode("stance", [vx, vy, push * x, push * y - g])
    # a leg that would not be pressed together (running backwards) does not hold
    pressed = reach * vx - low * vy
    runner.guard(
        flight, y - low, direction=-1, to=stance, reset={x: -reach}, when=pressed, name="touchdown"
    )
    runner.guard(stance, leg - length, direction=+1, to=flight, name="lift-off")
    runner.guard(flight, vy, direction=-1, name="apex")
    runner.guard("*", y - length / 5, direction=-1, terminal=True, name="falls")
    runner.start(x=[0, y0, sp.sqrt(v1**2 + 2 * g * (1 - y0)), 0], mode=flight, t_end=4, h=1e-3)
    # on a treadmill: the mass stays above the origin; in flight the leg waits at its angle
    near = leg < length
    foot = sp.Piecewise((-x, near), (reach, True)), sp.Piecewise((0, near), (y - low, True))
    runner.sketch(
        ground((-1, 0), (1, 0)),
        spring((0, y), foot, force=-k * sp.Max(length - leg, 0) * sp.Symbol("mode_stance")),
        circle(0, y, 0.08),
    )
    runner.published = {
        "SLIP: stable height of the apex, in m": (
            0.940267,
            1e-5,
            "recomputed; Seyfarth et al. 2002",
        ),
        "SLIP: multiplier of the stable apex": (-0.1613, 1e-3, "recomputed; Seyfarth et al. 2002"),
        "SLIP: unstable height of the apex, in m": (
            1.337686,
            1e-5,
            "recomputed; Seyfarth et al. 2002",
        ),
        "SLIP: multiplier of the unstable apex": (1.6870, 1e-3, "recomputed; Seyfarth et al. 2002"),
    }
    runner.preset("returns", "From 1.2 m it comes back to the stable height.", y0=1.2, t_end=8)
    runner.preset(
        "stumbles", "Above the unstable height it jumps higher, then falls.", y0=1.36, t_end=8
    )
    runner.preset(
        "flat leg", "Too flat an angle: the leg throws it up, then it falls.", attack=58, t_end=4
    )
    return runner
