"""The tent map: x_{n+1} = mu min(x, 1 - x), which stretches everywhere by mu.

So its Lyapunov exponent is ln mu exactly, for any orbit. For mu < 1 all orbits tend to 0; for
1 < mu <= 2 the attractor lies in [mu (2 - mu) / 2, mu / 2], of 2^k bands for
mu^(2^k) < 2 (Collet and Eckmann, *Iterated Maps on the Interval as Dynamical Systems*, 1980,
doi:10.1007/978-0-8176-4927-2); above 2 almost all escape to minus infinity. At mu = 2 a computer
halves and doubles binary numbers without error, so each orbit falls to 0 within 54 iterates: that
is no property of the map.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import MapSystem
from explorer.systems.sketch import circle, line


def _exponent(_: Callable[..., Solution]) -> float:
    """Return the exponent of the orbit from the start, over ln μ."""
    from explorer.study.lyapunov import lyapunov

    return float(lyapunov(tent_map(), iterates=2000).largest / np.log(tent_map().rho()[0]))


@register(
    group="maps",
    references=("collet-eckmann-1980",),
    measures={"tent map: exponent in units of ln mu": _exponent},
)
def tent_map() -> MapSystem:
    """Return the tent map, which stretches and folds."""
    tent = MapSystem(
        "tent map",
        x="x",
        text="Stretching makes chaos, folding keeps it in place: the exponent is ln mu.",
    )
    (x,) = tent.x
    mu, x0 = tent.params(
        mu=Param(1.8, 0.1, 2.2, "", "slope"),
        x0=Param(0.3, 0, 1, "", "start"),
    )
    tent.branch("rises", [mu * x], when="1/2 - x")
    tent.branch("falls", [mu * (1 - x)])
    tent.start(x=[x0], t_end=80)
    half, top = sp.Rational(1, 2), sp.Min(mu * x, mu * (1 - x))
    tent.sketch(
        line((0, 0), (1, 1), role="trace"),
        line((0, 0), (half, mu / 2), (1, 0)),
        line((x, x), (x, top), (top, top), role="trace"),
        circle(x, top, "0.02"),
    )
    tent.published = {
        "tent map: exponent in units of ln mu": (1.0, 1e-12, "Collet and Eckmann 1980"),
    }
    tent.preset("it dies out", "mu < 1: every orbit tends to 0.", mu=0.9)
    tent.preset("two bands", "mu < sqrt(2): the orbit changes sides at each iterate.", mu=1.3)
    tent.preset(
        "the trap of binary numbers",
        "mu = 2 is chaotic, but doubling loses a bit each time: after 54 iterates x = 0.",
        mu=2.0,
    )
    return tent
