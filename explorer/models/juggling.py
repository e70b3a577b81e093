"""Juggling by a mirror: a ball is hit by a paddle that moves as its mirror image, r = -kappa y.

y'' = -g; where the ball comes down to y = 0 it meets the paddle, which moves up at -kappa v:

    v(+) = -(e + (1 + e) kappa) v(-),     kappa = (1 - e_m) / (1 + e_m) + K (1 - H / h)

H = y + v^2 / (2 g) is how high the ball flies, h how high it should, e_m the restitution that the
controller takes for true. From flight to flight H(+) = (e + (1 + e) kappa)^2 H. It rests at

    H* = h (1 - ((1 - e) / (1 + e) - (1 - e_m) / (1 + e_m)) / K)

with the multiplier 1 - 2 (1 + e) K H* / h.

For e_m = e it juggles at h, stable for K < 1 / (1 + e); beyond, throws are high and low by turns.
Throws die out where H* would be negative: the controller hits too softly.
(Bühler, Koditschek and Kindlmann, *Int. J. Robotics Research* 13 (1994) 101.)
"""

from collections.abc import Callable

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.sketch import circle, ground, line, text


def _apex(run: Callable[..., Solution]) -> float:
    """Return the height at which throws settle with a wrong restitution, in m."""
    done = run("EventDriven", preset="wrong restitution", t_end=60)
    return float(done.events[-1].x_plus[1] ** 2 / (2 * done.rho["g"]))


def _multiplier(_: Callable[..., Solution]) -> float:
    """Return by what a deviation of one throw is multiplied at the next."""
    from explorer.study.limit_cycle import limit_cycle

    return float(limit_cycle(juggling(), section="hit").multipliers[0].real)


def _flip(_: Callable[..., Solution]) -> float:
    """Return the gain at which throws begin to differ by turns, along the branch of equal ones."""
    from explorer.study.continuation import continuation

    throws = continuation(juggling(), parameter="K", section="hit", over=(0.2, 0.8))
    return throws.found("flip")[0].parameter


@register(
    group="impacts",
    references=("buehler-1994",),
    measures={
        "juggling: height with a wrong restitution, in m": _apex,
        "juggling: multiplier of a throw": _multiplier,
        "juggling: gain up to which throws are equal": _flip,
    },
)
def juggling() -> HybridSystem:
    """Return a ball that a paddle throws to a wanted height."""
    system = HybridSystem(
        "juggling with a mirror law",
        x="y v",
        units=("m", "m/s"),
        text="The paddle mirrors the ball, and each hit corrects the height of the next throw.",
    )
    y, v = system.x
    g, e, e_m, K, h, y0 = system.params(
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        e=Param(0.7, 0.2, 0.95, "", "restitution"),
        e_m=Param(0.7, 0.2, 0.95, "", "restitution in the eyes of the controller"),
        K=Param(0.25, 0.02, 0.8, "", "gain"),
        h=Param(1, 0.3, 1.5, "m", "wanted height"),
        y0=Param(0.5, 0.1, 1.5, "m", "drop height"),
    )
    kappa = (1 - e_m) / (1 + e_m) + K * (1 - (y + v**2 / (2 * g)) / h)
    flies = system.mode("flies", [v, -g])
    lies = system.mode("lies", [0, 0])
    throw = -(e + (1 + e) * kappa) * v
    system.guard(flies, y, direction=-1, reset={v: throw}, zeno=lies, name="hit")
    system.start(x=[y0, 0], mode=flies, t_end=12, h=2e-3)
    paddle, R, low = -kappa * y, 0.05, -0.9
    system.sketch(
        ground((-0.5, low), (0.5, low)),
        line((-0.08, low), (-0.08, low + 0.3), (0.08, low + 0.3), (0.08, low), closed=True),
        line((0, low + 0.3), (0, paddle - 0.03)),
        line(
            (-0.3, paddle - 0.04), (0.3, paddle - 0.04), (0.3, paddle), (-0.3, paddle), closed=True
        ),
        circle(0, y + R, R),
        line((-0.4, h + 2 * R), (0.4, h + 2 * R), role="trace"),
        text(0.45, h + 2 * R, "wanted", 0.4),
    )
    system.published = {
        "juggling: height with a wrong restitution, in m": (
            1 - (0.3 / 1.7 - 0.2 / 1.8) / 0.25,
            1e-6,
            "closed form, h (1 - ((1 - e) / (1 + e) - (1 - e_m) / (1 + e_m)) / K)",
        ),
        "juggling: multiplier of a throw": (0.15, 1e-6, "closed form, 1 - 2 (1 + e) K"),
        "juggling: gain up to which throws are equal": (1 / 1.7, 1e-6, "closed form, 1 / (1 + e)"),
    }
    system.preset("wrong restitution", "It takes 0.8 for 0.7: throws stay too low.", e_m=0.8)
    system.preset("too eager", "K > 1 / (1 + e): high and low throws by turns.", K=0.65)
    system.preset("timid", "A small gain: many throws until it is right.", K=0.05)
    system.preset("dies out", "It takes 0.8 for 0.5, with a small gain.", e=0.5, e_m=0.8, K=0.1)
    system.preset("chaos", "A larger gain still: no throw is like another.", K=0.78, t_end=30)
    return system
