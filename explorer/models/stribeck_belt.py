"""Block on a belt whose friction falls with speed: q'' = -q + F sgn(v0 - q') / (1 + d |v0 - q'|).

Where q' = v0 the block sticks, a slide on the surface v = v0, until |q| = F; then it slips and the
spring brings it back: a limit cycle (Leine, van Campen, de Kraker, van den Steen, *Nonlinear
Dynamics* 16 (1998) 41, for d = 3).
"""

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import FilippovSystem
from explorer.systems.sketch import belt, ground, line, spring


@register(
    group="friction",
    references=("leine-1998",),
    measures={
        "falling friction: q(40), in m": lambda run: run("EventDriven", rtol=1e-12).x[-1, 0],
        "falling friction, d = 3: period, in s": lambda run: (
            run("EventDriven", rtol=1e-12, preset="Leine et al.").events[-1].t
            - run("EventDriven", rtol=1e-12, preset="Leine et al.").events[-3].t
        ),
    },
)
def stribeck_belt() -> FilippovSystem:
    """Return a block on a belt with a friction that falls as it slips faster."""
    system = FilippovSystem(
        "belt with falling friction",
        x="q v",
        units=("m", "m/s"),
        text="Friction falls with speed, so sticking and slipping take turns.",
    )
    q, v = system.x
    F, d, v0 = system.params(
        F=Param(1, 0.2, 2, "m/s2", "friction at rest, by mass"),
        d=Param(1, 0, 5, "s/m", "how fast it falls"),
        v0=Param(0.2, 0.05, 1, "m/s", "speed of the belt"),
    )
    slow, fast = v0 - v, v - v0
    system.subsystem(
        {"slower": [v, -q + F / (1 + d * slow)], "faster": [v, -q - F / (1 + d * fast)]},
        c={"slip": fast},
        S=[[-1], [1]],
    )
    system.start(x=[0.04, -0.01], t_end=40, h=0.1)
    system.sketch(
        *belt(-1.4, 2.2, 0.12),
        ground((-1.6, 0.6), (-1.6, 0)),
        spring((-1.6, 0.2), (q - 0.25, 0.2), force=q, unit="m/s2"),
        line((q - 0.25, 0), (q + 0.25, 0), (q + 0.25, 0.4), (q - 0.25, 0.4), closed=True),
    )
    system.published = {
        "falling friction: q(40), in m": (0.6289436367, 1e-9, "FESD of order 7 and event location"),
        "falling friction, d = 3: period, in s": (12.001031, 1e-5, "Leine et al. 1998, recomputed"),
    }
    system.preset("Leine et al.", "It sticks 7.705 s and slips 4.296 s.", d=3, t_end=60)
    system.preset("fast belt", "Hardly time to stick.", v0=0.8)
    system.preset("no fall", "d = 0: it ends up swinging without ever slipping again.", d=0)
    return system
