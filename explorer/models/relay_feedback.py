"""Relay feedback: x' = A x - b sgn(x1), a linear system driven by the sign of its own output.

A = [[-(2 z w + s), 1, 0], [-(2 z w s + w^2), 0, 1], [-w^2 s, 0, 0]]: the transfer function
(b1 p^2 + b2 p + b3) / ((p + s) (p^2 + 2 z w p + w^2)). With b = (1, -2, 1), w = 25, z = 0.05
there are cycles that slide on x1 = 0 and leave it several times (Johansson, Rantzer, Astroem,
*Automatica* 35 (1999) 539; di Bernardo, Johansson, Vasca, *Int. J. Bifurcation
Chaos* 11 (2001) 1121).
"""

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import StepSystem
from explorer.systems.schematic import block, name, path, relay, wire


@register(
    group="switches",
    references=("johansson-1999b", "di-bernardo-2001"),
    measures={
        "relay feedback: x2(10)": lambda run: run("EventDriven", rtol=1e-12).x[-1, 1],
        "relay feedback: x3(10)": lambda run: run("EventDriven", rtol=1e-12).x[-1, 2],
        "relay feedback of 1/(p + 1)^3: period, in s": lambda run: (
            run("EventDriven", preset="1/(p + 1)^3", t_end=60).events[-1].t
            - run("EventDriven", preset="1/(p + 1)^3", t_end=60).events[-3].t
        ),
    },
)
def relay_feedback() -> StepSystem:
    """Return a third-order system with a relay in its loop."""
    system = StepSystem(
        "relay feedback",
        x="x1 x2 x3",
        text="It oscillates by itself; where the relay switches too fast to follow, it slides.",
    )
    x1, x2, x3 = system.x
    w, z, s, b1, b2, b3 = system.params(
        w=Param(25, 0.5, 30, "1/s", "resonance"),
        z=Param(0.05, 0.01, 1, "", "its damping ratio"),
        s=Param(1, 0.1, 3, "1/s", "slow pole"),
        b1=Param(1, -2, 2, "", "input of x1"),
        b2=Param(-2, -4, 4, "", "input of x2"),
        b3=Param(1, 0.2, 2, "", "input of x3"),
    )
    alpha = system.switch(x1, name="relay")
    sign = 2 * alpha - 1
    system.f = [
        -(2 * z * w + s) * x1 + x2 - b1 * sign,
        -(2 * z * w * s + w**2) * x1 + x3 - b2 * sign,
        -(w**2) * s * x1 - b3 * sign,
    ]
    system.start(x=[0, -0.001, -0.02], t_end=10, h=0.02)
    system.sketch(
        relay(0, 0, x1, 0.015, alpha),
        name(0, 0.9, "relay"),
        wire((0.66, 0), (2.2, 0), current=-sign, unit=""),
        block(3.6, 0, 2.8, 1.2, "linear system"),
        path((5, 0), (6, 0), (6, -1.4), (-1.5, -1.4), (-1.5, 0), (-0.7, 0)),
        name(6.3, 0.3, "x1"),
        name(1.4, 0.4, "−sgn x1"),
    )
    system.published = {
        "relay feedback: x2(10)": (-0.8973301895, 1e-9, "FESD of order 7, 34 switches"),
        "relay feedback: x3(10)": (2.358698811, 1e-8, "FESD of order 7, 34 switches"),
        "relay feedback of 1/(p + 1)^3: period, in s": (3.679751, 1e-6, "closed form"),
    }
    system.preset(
        "1/(p + 1)^3",
        "No slide: a cycle of period 3.6798 s, its describing function says 3.6276 s.",
        w=1,
        z=1,
        b1=0,
        b2=0,
        b3=1,
        t_end=30,
        h=0.1,
    )
    system.preset("well damped", "One slide in each half of the cycle.", z=0.5)
    return system
