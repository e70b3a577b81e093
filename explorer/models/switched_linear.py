"""Two stable systems that blow up together: x' = A_1 x where x y > 0, x' = A_2 x where x y < 0.

A_1 = [[-d, k], [-1, -d]] and A_2 = [[-d, 1], [-k, -d]] have the same eigenvalues -d +- i sqrt(k),
so each alone spirals in. Both turn clockwise, on ellipses that are sqrt(k) times longer in x or
in y; switched on the axes, each quarter turn starts on a short axis and ends on a long one. It
takes pi / (2 sqrt(k)), so that |x| grows as exp(g t) from axis to axis with

    g = ln(k) sqrt(k) / pi - d

above zero for small d; the other order, `swapped` = 1, shrinks it faster than each alone, as -ln(k)
sqrt(k) / pi - d (Branicky, *IEEE Trans. Automatic Control* 43 (1998) 475, doi:10.1109/9.664150;
Liberzon, *Switching in Systems and Control*, 2003, part 2).
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import FilippovSystem
from explorer.systems.schematic import lamp, name, tank
from explorer.systems.sketch import arrow, line


def growth(k: float, d: float) -> float:
    """Return how fast the state grows from axis to axis, in 1/s."""
    return float(np.log(k) * np.sqrt(k) / np.pi - d)


def _grows(run: Callable[..., Solution], swapped: float) -> float:
    """Return ln |x| between the first axis and the last one, over the time between, in 1/s."""
    events = run("EventDriven", swapped=swapped, t_end=15).events
    sizes = [np.linalg.norm(e.x_plus) for e in (events[0], events[-1])]
    return float(np.log(sizes[1] / sizes[0]) / (events[-1].t - events[0].t))


@register(
    group="switches",
    references=("branicky-1998", "liberzon-2003"),
    measures={
        "two stable systems: growth, in 1/s": lambda run: _grows(run, 0),
        "two stable systems: growth, swapped, in 1/s": lambda run: _grows(run, 1),
    },
)
def switched_linear() -> FilippovSystem:
    """Return two stable linear systems that take turns."""
    system = FilippovSystem(
        "two stable systems",
        x="x y",
        units="",
        text="Each alone spirals in. Switched at the right places they blow up together.",
    )
    x, y = system.x
    k, d, swapped, x0, y0 = system.params(
        k=Param(2, 1.2, 6, "1/s2", "ratio of the axes, squared, and square of the frequency"),
        d=Param(0.15, 0, 1, "1/s", "how fast each alone decays"),
        swapped=Param(0, 0, 1, "", "0: each where it stretches, 1: where it shrinks"),
        x0=Param(0.1, -1, 1, "", "start"),
        y0=Param(0.9, 0.1, 1, "", "start"),
    )
    long = [-d * x + k * y, -x - d * y]
    tall = [-d * x + y, -k * x - d * y]
    mixed = [
        [(1 - swapped) * a + swapped * b for a, b in zip(one, other, strict=True)]
        for one, other in ((long, tall), (tall, long))
    ]
    system.subsystem({"x y above 0": mixed[0], "x y below 0": mixed[1]}, c={"axes": x * y})
    system.start(x=[x0, y0], t_end=15, h=0.02)
    size = sp.sqrt(x**2 + y**2 + sp.Float(1e-12))
    on = ("theta_x_y_above_0", "theta_x_y_below_0")
    system.sketch(
        line((-2, 0), (2, 0), role="trace"),
        line((0, -2), (0, 2), role="trace"),
        *(
            lamp(1.4 * i, 1.4 * j, 0.9, 0.9, on[0 if i * j > 0 else 1])
            for i in (-1, 1)
            for j in (-1, 1)
        ),
        arrow((0, 0), (1.8 * x / size, 1.8 * y / size)),
        tank(3.6, -2, 0.8, 4, (sp.log(size) + 4) / 8),
        name(3.6, -2.5, "ln |x|"),
        *(name(1.4 * i, 2.3, f"{two}") for i, two in ((-1, "x y < 0"), (1, "x y > 0"))),
    )
    system.published = {
        "two stable systems: growth, in 1/s": (growth(2, 0.15), 1e-8, "closed form, Branicky 1998"),
        "two stable systems: growth, swapped, in 1/s": (
            -growth(2, 0.15) - 0.3,
            1e-8,
            "closed form, -ln(k) sqrt(k) / pi - d",
        ),
    }
    system.preset("shrinks", "The same two systems, swapped: faster in than each alone.", swapped=1)
    system.preset(
        "balance", "d = ln(k) sqrt(k) / pi: it comes back to where it was.", d=growth(2, 0)
    )
    system.preset("fast", "A longer ellipse: it grows in no time.", k=4, t_end=5)
    return system
