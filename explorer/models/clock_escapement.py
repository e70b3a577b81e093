"""Clock escapement: a pendulum with dry friction that is kicked as it passes the lowest point.

    x'' + x = -f sgn(x'),   and at x = 0, x' > 0: x'(+)^2 = x'(-)^2 + h^2

in units of the natural frequency. Between kicks the turning points come nearer by 2 f in each half
swing, about +-f; once in a period the escape wheel gives the energy h^2 / 2 back. The loss in a
period, 4 f X with the mean amplitude X, balances it, so that the swing to the right reaches a_1 and
that to the left a_2 = a_1 - 2 f, with the speed v behind the kick::

    v^2 = (a_1 + f)^2 - f^2,   v^2 - h^2 = (a_2 - f)^2 - f^2   =>   a_1 = f + h^2 / (8 f)

Any start above a threshold tends to it: a self-oscillation that takes its energy from a weight
(Andronov, Vitt and Khaikin, *Theory of Oscillators*, 1966, ch. 3.5). Below, at rest or with too
small a swing, the clock stops: a clock must be set going.
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.sketch import Shape, circle, ground, line


def _reach(run: Callable[..., Solution]) -> float:
    """Return how far the swing to the right goes in the end, in rad."""
    turns = [e for e in run("EventDriven", t_end=400).events if e.contact == "turns back"]
    return float(turns[-1].x_plus[0])


def _period(run: Callable[..., Solution]) -> float:
    """Return the time between two kicks in the end, in s."""
    kicks = [e.t for e in run("EventDriven", t_end=400).events if e.contact == "kick"]
    return float(kicks[-1] - kicks[-2])


@register(
    group="friction",
    references=("andronov-1966",),
    measures={
        "clock: swing to the right in the end, in rad": _reach,
        "clock: period in the end, in s": _period,
    },
)
def clock_escapement() -> HybridSystem:
    """Return a pendulum that a falling weight kicks through an escape wheel."""
    clock = HybridSystem(
        "clock escapement",
        x="x v n",
        units=("rad", "rad/s", ""),
        text="Friction takes from each swing, a kick gives back: a clock, once it is set going.",
    )
    x, v, n = clock.x
    f, h, x0 = clock.params(
        f=Param(0.02, 0.005, 0.1, "rad", "friction, as the angle that it holds"),
        h=Param(0.2, 0, 0.5, "rad/s", "kick: the speed that it gives to a pendulum at rest"),
        x0=Param(-0.4, -0.6, 0, "rad", "start, to the left"),
    )
    right = clock.mode("right", [v, -x - f, 0])
    left = clock.mode("left", [v, -x + f, 0])
    rest = clock.mode("rest", [0, 0, 0])
    clock.guard(
        right, x, direction=+1, when=v, name="kick", reset={v: sp.sqrt(v**2 + h**2), n: n + 1}
    )
    clock.guard(
        right, v, direction=-1, to={left: x - f, rest: f - x}, reset={v: 0}, name="turns back"
    )
    clock.guard(
        left, v, direction=+1, to={right: -x - f, rest: x + f}, reset={v: 0}, name="turns again"
    )
    clock.start(x=[x0, 0, 0], mode={right: -x0 - f, rest: x0 + f}, t_end=60, h=0.02)
    clock.sketch(lambda: _drawn(x, n))
    clock.published = {
        "clock: swing to the right in the end, in rad": (
            0.27,
            1e-6,
            "closed form, f + h^2 / (8 f)",
        ),
        "clock: period in the end, in s": (
            6.309547662,
            1e-6,
            "closed form, 2 pi + arccos(f / (a_1 + f)) - arccos(f / (a_1 - 3 f))",
        ),
    }
    clock.preset("starts small", "From 0.1 rad it works up to its own swing.", x0=-0.1)
    clock.preset("stops", "Too small a start: friction holds it before the kick.", x0=-0.04)
    clock.preset("worn out", "More friction: a smaller swing.", f=0.04)
    return clock


def _drawn(x: sp.Symbol, n: sp.Symbol) -> list[Shape]:
    """Return the escape wheel behind n teeth, and the pendulum with its anchor at the angle x."""
    teeth, R, pivot, length = 15, sp.Rational(1, 2), sp.Rational(4, 5), 2
    wheel = []
    for k in range(teeth):
        for part, far in ((0, R), (sp.Rational(1, 5), R * sp.Rational(5, 4)), (1, R)):
            a = 2 * sp.pi * (k + part - n) / teeth
            wheel.append((far * sp.sin(a), far * sp.cos(a)))

    def hangs(along: sp.Expr, aside: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """Return a place of the anchor and pendulum, from its pivot down and to the right."""
        return (
            along * sp.sin(x) + aside * sp.cos(x),
            pivot - along * sp.cos(x) + aside * sp.sin(x),
        )

    arm = sp.Rational(1, 2)
    return [
        line(*wheel, closed=True),
        circle(0, 0, R / 8, role="fixed"),
        line(hangs(arm / 2, -arm), hangs(0, -arm / 2), hangs(0, arm / 2), hangs(arm / 2, arm)),
        line(hangs(0, 0), hangs(length, 0)),
        circle(*hangs(length, 0), "0.15"),
        ground((R, pivot + R / 5), (-R, pivot + R / 5)),
    ]
