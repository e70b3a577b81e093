"""Three blocks between springs on a rough floor, the last one shaken: each sticks and slips.

q1'' = -q1 + (q2 - q1) - v1 - mu Sgn v1, q2'' = (q1 - q2) + (q3 - q2) - v2 - mu Sgn v2,
q3'' = (q2 - q3) - v3 + A cos(pi t) - mu Sgn v3: three surfaces v_i = 0, on which up to three slide
at once.
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import StepSystem
from explorer.systems.sketch import ground, line, spring


@register(
    group="friction",
    references=("leine-nijmeijer-2004",),
    measures={
        "three blocks: q1(5), in m": lambda run: run("EventDriven", rtol=1e-12).x[-1, 0],
        "three blocks: q2(5), in m": lambda run: run("EventDriven", rtol=1e-12).x[-1, 1],
        "three blocks: q3(5), in m": lambda run: run("EventDriven", rtol=1e-12).x[-1, 2],
        "three blocks: v1(5), in m/s": lambda run: run("EventDriven", rtol=1e-12).x[-1, 3],
        "three blocks: v2(5), in m/s": lambda run: run("EventDriven", rtol=1e-12).x[-1, 4],
        "three blocks: v3(5), in m/s": lambda run: run("EventDriven", rtol=1e-12).x[-1, 5],
    },
)
def three_blocks() -> StepSystem:
    """Return three blocks in a row with dry friction."""
    system = StepSystem(
        "three blocks with friction",
        x="q1 q2 q3 v1 v2 v3",
        units=["m"] * 3 + ["m/s"] * 3,
        text="Each block sticks or slides on its own; the set of moving blocks changes twelve "
        "times.",
    )
    q1, q2, q3, v1, v2, v3 = system.x
    mu, c, A = system.params(
        mu=Param(0.3, 0, 1, "m/s2", "dry friction, by mass"),
        c=Param(1, 0, 2, "1/s", "viscous friction"),
        A=Param(10, 0, 20, "m/s2", "forcing"),
    )
    rough = [c * v + mu * sp.sign(v) for v in (v1, v2, v3)]
    system.f = [
        v1,
        v2,
        v3,
        -q1 + (q2 - q1) - rough[0],
        (q1 - q2) + (q3 - q2) - rough[1],
        (q2 - q3) + A * sp.cos(sp.pi * system.t) - rough[2],
    ]
    system.start(x=[-1, 1, -1, -1, 1, 1], t_end=5)
    places = [3 * k + q for k, q in enumerate((q1, q2, q3))]
    blocks = [
        line((x - 0.4, 0), (x + 0.4, 0), (x + 0.4, 0.6), (x - 0.4, 0.6), closed=True)
        for x in places
    ]
    ends = [-3, *places]
    springs = [
        spring((a + (0.4 if k else 0), 0.3), (b - 0.4, 0.3), force=b - a - 3, unit="m/s2")
        for k, (a, b) in enumerate(zip(ends, places, strict=False))
    ]
    system.sketch(ground((-3, 0), (9, 0)), ground((-3, 1), (-3, 0)), *springs, *blocks)
    end = (0.1792634346, 0.1775087041, 1.147032623, 0, 0.1863410665, -1.193369415)
    system.published = {
        f"three blocks: {name}(5), in {'m' if name[0] == 'q' else 'm/s'}": (
            x,
            1e-9,
            "FESD of order 7, 12 switches",
        )
        for name, x in zip(system.coordinates, end, strict=True)
    }
    system.preset(
        "they come to rest", "Without forcing friction stops all three for good.", A=0, t_end=10
    )
    system.preset("hardly rough", "Crossings, no slides.", mu=0.02)
    system.preset("very rough", "The first two rest most of the time.", mu=1, t_end=10)
    return system
