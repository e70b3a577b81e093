"""Three genes in a ring: x1' = -x1 - sgn x3, x2' = -x2 + sgn x1, x3' = -x3 + sgn x2.

Each gene is switched on by the one before it, the first one off by the last. The cycle passes six
orthants; with golden = (1 + sqrt 5) / 2 it stays log(golden) in each, the period is 6 log(golden) =
2.887271 (Glass and Pasternack, *Bull. Math. Biol.* 40 (1978) 27).
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import StepSystem
from explorer.systems.schematic import path, tank
from explorer.systems.sketch import line


@register(
    group="genes",
    references=("glass-pasternack-1978",),
    measures={
        "three genes: period for k = 1, in s": lambda run: (
            (  # the mean of 5
                run("EventDriven", rtol=1e-13, atol=1e-14, t_end=60).events[-1].t
                - run("EventDriven", rtol=1e-13, atol=1e-14, t_end=60).events[-31].t
            )
            / 5
        )
    },
)
def glass_network() -> StepSystem:
    """Return a ring of three genes with one repression in it."""
    system = StepSystem(
        "three genes in a ring",
        x="x1 x2 x3",
        text="Genes are on or off; a ring with one repression oscillates for ever.",
    )
    x1, x2, x3 = system.x
    k, y = system.params(
        k=Param(1, 0.2, 3, "1/s", "rate of decay"),
        y=Param(0.3, -1, 1, "", "start of the second gene"),
    )
    system.f = [
        k * (-x1 - sp.sign(x3)), k * (-x2 + sp.sign(x1)), k * (-x3 + sp.sign(x2)),
    ]  # fmt: skip
    system.start(x=[0.5, y, -0.2], t_end=20, h=0.1)
    on = {s.c: s.alpha for s in system.switches}
    system.sketch(
        *(tank(3 * k, 0, 1, 2, (x + 1) / 2, f"gene {k + 1}") for k, x in enumerate(system.x)),
        *(line((3 * k - 0.65, 1), (3 * k + 0.65, 1), role="trace") for k in range(3)),
        path((0.7, 1.5), (2.3, 1.5), lit=on[x1]),
        path((3.7, 1.5), (5.3, 1.5), lit=on[x2]),
        path((6, -0.15), (6, -0.7), (0, -0.7), (0, -0.15), lit=on[x3], head="bar"),
    )
    system.published = {
        "three genes: period for k = 1, in s": (
            2.8872709503576206,
            1e-12,
            "6 log((1 + sqrt 5) / 2)",
        ),
    }
    system.preset("slow", "The same cycle in thrice the time.", k=1 / 3, t_end=30)
    return system
