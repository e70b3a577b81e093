"""Sigma-delta modulator: it adds up input minus output; the sign of the sum is the next output.

x_{n+1} = p x_n + u - sgn(x_n). Its bits, +1 and -1, have the input u as their mean: for p = 1 the
share of ones is (1 + u) / 2, because x stays bounded and is a rotation of a circle. With a leak,
p < 1, each rational share holds on an interval of inputs: a devil's staircase. Both points of the
cycle +1, -1 are (u (1 + p) +- (1 - p)) / (1 - p^2), so the share 1/2 holds for

    |u| < (1 - p) / (1 + p)

(Park and Gray, *IEEE Trans. Inf. Theory* 38 (1992) 1512). For p > 1 it is chaotic, with the
exponent ln p.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import MapSystem
from explorer.systems.schematic import block, lamp, name, path, relay, tank
from explorer.systems.sketch import circle


def share(run: Callable[..., Solution], u: float, p: float) -> float:
    """Return the share of ones among 6000 bits."""
    x = run(u=u, p=p, t_end=6600).x[600:-1, 0]
    return float(np.mean(x >= 0))


def _step(run: Callable[..., Solution]) -> float:
    """Return the largest input whose share of ones is 1/2, p = 0.8, by bisection."""
    low, high = 0.0, 0.5
    while high - low > 1e-9:
        u = 0.5 * (low + high)
        low, high = (u, high) if share(run, u, 0.8) == 0.5 else (low, u)
    return low


@register(
    group="maps",
    references=("park-gray-1992",),
    measures={
        "sigma-delta: share of ones, u = 0.2, p = 1": lambda run: share(run, 0.2, 1.0),
        "sigma-delta: end of the step of the share 1/2, p = 0.8": _step,
    },
)
def sigma_delta() -> MapSystem:
    """Return a modulator of one bit with a leaky integrator."""
    modulator = MapSystem(
        "sigma-delta modulator",
        x="x",
        text="One bit at a time, right on average; a leak makes stairs of a straight line.",
    )
    (x,) = modulator.x
    u, p, x0 = modulator.params(
        u=Param(0.2, -0.9, 0.9, "", "input"),
        p=Param(1, 0.5, 1.3, "", "what the integrator keeps"),
        x0=Param(0.1, -1, 1, "", "start"),
    )
    modulator.branch("one", [p * x + u - 1], when=x)
    modulator.branch("minus one", [p * x + u + 1])
    modulator.start(x=[x0], t_end=80)
    one = sp.Piecewise((1, x >= 0), (0, True))
    modulator.sketch(
        path((-3.2, 0), (-1.95, 0), lit=u),
        name(-2.8, 0.35, "u"),
        circle(-1.7, 0, 0.25, role="node"),
        path((-1.45, 0), (-0.5, 0)),
        *block(0.2, 0, 1.4, 1.2, ""),
        tank(0.2, -0.5, 0.5, 1, x / 4 + sp.Rational(1, 2)),
        name(0.2, 0.9, "sum x"),
        path((0.9, 0), (1.7, 0)),
        *relay(2.4, 0, x, 2, one),
        name(2.4, 0.9, "sign"),
        path((3.1, 0), (4.0, 0)),
        lamp(4.5, 0, 0.9, 0.9, one, "bit"),
        path((3.5, 0), (3.5, -1.6), (-1.7, -1.6), (-1.7, -0.25)),
        name(-1.45, -0.6, "−"),
    )
    modulator.published = {
        "sigma-delta: share of ones, u = 0.2, p = 1": (0.6, 2e-4, "closed form, (1 + u) / 2"),
        "sigma-delta: end of the step of the share 1/2, p = 0.8": (
            1 / 9,
            1e-8,
            "closed form, (1 - p) / (1 + p)",
        ),
    }
    modulator.preset(
        "leak", "The input 0.1 gives the same bits as 0: a step of stairs.", p=0.8, u=0.1
    )
    modulator.preset("third", "Two ones for each minus one.", u=1 / 3)
    modulator.preset("chaos", "p > 1: bits without a period, and still right on average.", p=1.1)
    return modulator
