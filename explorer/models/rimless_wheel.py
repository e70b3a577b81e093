"""Rimless wheel: theta'' = (g/l) sin(theta) on one spoke; at the next, w+ = cos(2 alpha) w-.

A wheel of n spokes, 2 alpha = 2 pi / n apart, rolls down a slope gamma without a slip; theta is the
tilt of the spoke that stands, from the vertical. The foot that comes down takes the angular
momentum about itself. Rolling, the speed after an impact tends to cot(2 alpha) sqrt(4 (g/l)
sin(alpha) sin(gamma)), the error of its square by cos^2(2 alpha) in each step, if it is above the
threshold sqrt(2 (g/l) (1 - cos(gamma - alpha))); below it the wheel rocks to rest on two spokes
(McGeer, Int. J. Robotics Research 9 (1990) 62; Tedrake, *Underactuated Robotics*, ch. 4).
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.sketch import circle, ground, line


def _multiplier(run: Callable[..., Solution]) -> float:
    """Return by what the distance of w^2 from its fixed point shrinks from impact to impact."""
    after = [x.x_plus[1] ** 2 for x in run("EventDriven", rtol=1e-12, preset="settles").events[:3]]
    return float((after[2] - after[1]) / (after[1] - after[0]))


def _threshold(run: Callable[..., Solution]) -> float:
    """Return the least speed that takes the wheel to its next spoke, by bisection, in rad/s."""
    low, high = 0.5, 1.5
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        over = run(w0=middle, t_end=15).events[0].contact == "next spoke"
        low, high = (low, middle) if over else (middle, high)
    return high


@register(
    group="walking",
    references=("mcgeer-1990", "tedrake"),
    measures={
        "rimless wheel: speed after an impact, in rad/s": lambda run: (
            run(preset="settles", t_end=40).events[-1].x_plus[1]
        ),
        "rimless wheel: multiplier": _multiplier,
        "rimless wheel: threshold of the speed, in rad/s": _threshold,
    },
)
def rimless_wheel(n: int = 8) -> HybridSystem:
    """Return a wheel of `n` spokes without a rim that rolls down a slope."""
    wheel = HybridSystem(
        f"rimless wheel, {n} spokes",
        x="theta w",
        units=("rad", "rad/s"),
        text="It rolls for ever or rocks to rest: a limit cycle made by its impacts.",
    )
    wheel.sizes = {"n": Param(n, 5, 24, "", "number of spokes")}
    theta, w = wheel.x
    g, length, gamma, w0 = wheel.params(
        g=Param(9.8, 1, 20, "m/s2", "gravity"),
        l=Param(1, 0.2, 2, "m", "length of a spoke"),
        gamma=Param(0.08, 0, 0.3, "rad", "slope"),
        w0=Param(1.094904, 0, 3, "rad/s", "speed after the first impact"),
    )
    alpha = sp.pi / n
    kept = sp.cos(2 * alpha) * w
    roll = wheel.mode("one spoke", [w, g / length * sp.sin(theta)])
    stand = wheel.mode("two spokes", [0, 0])
    wheel.guard(
        roll,
        theta - gamma - alpha,
        direction=+1,
        zeno=stand,
        name="next spoke",
        reset={theta: gamma - alpha, w: kept},
    )
    wheel.guard(
        roll,
        theta - gamma + alpha,
        direction=-1,
        zeno=stand,
        name="back",
        reset={theta: gamma + alpha, w: kept},
    )
    wheel.start(x=[gamma - alpha, w0], mode=roll, t_end=8, h=2e-3)
    # on a treadmill: along the slope the hub stays where it is
    down, up = (sp.cos(gamma), -sp.sin(gamma)), (sp.sin(gamma), sp.cos(gamma))
    hub = tuple(length * sp.cos(theta - gamma) * c for c in up)
    spokes = [theta + 2 * alpha * i for i in range(n)]
    ends = [(hub[0] - length * sp.sin(a), hub[1] - length * sp.cos(a)) for a in spokes]
    wheel.sketch(
        ground(tuple(-1.5 * c for c in down), tuple(1.5 * c for c in down)),
        *(line(hub, end) for end in ends),
        circle(hub[0], hub[1], 0.06),
    )
    if n == 8:
        wheel.published = {
            "rimless wheel: speed after an impact, in rad/s": (
                1.094904,
                1e-5,
                "McGeer 1990, closed form",
            ),
            "rimless wheel: multiplier": (0.5, 1e-6, "closed form, cos(2 alpha)^2"),
            "rimless wheel: threshold of the speed, in rad/s": (0.974920, 1e-5, "closed form"),
        }
    wheel.preset("settles", "Started fast, it settles at the same speed.", w0=2.5)
    wheel.preset("falls back", "Just below the threshold it rocks to rest on two spokes.", w0=0.97)
    wheel.preset("steep", "A steep slope: a low threshold, a high speed.", w0=0.6, gamma=0.25)
    wheel.preset("level ground", "Without a slope every wheel stops.", gamma=0, w0=2.5)
    return wheel
