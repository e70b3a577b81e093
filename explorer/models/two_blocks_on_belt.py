"""Two blocks on a belt, joined by a spring, whose friction falls as they slip faster:

q1'' = -q1 - k (q1 - q2) + F1(v0 - q1'), q2'' = -q2 - k (q2 - q1) + F2(v0 - q2') with
Fi(u) = fi sgn(u) / (1 + d u^2). Two surfaces: each block sticks for itself, and where both do it is
a slide of codimension 2 (after Galvanetto, *J. Sound Vib.* 248 (2001) 653; such slides: Dieci and
Lopez, *Numer. Math.* 117 (2011) 779).
"""

from collections.abc import Callable

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import FilippovSystem
from explorer.systems.sketch import belt, ground, line, spring


def _loose(run: Callable[..., Solution]) -> float:
    """Return the pull of the springs where the first block breaks loose from the belt, in m/s2."""
    done = run("EventDriven", t_end=12)
    q1, q2 = next(e for e in done.events if (e.kind, e.contact) == ("leaves", "slip1")).x_minus[:2]
    return float(q1 + done.rho["k"] * (q1 - q2))


@register(
    group="friction",
    references=("galvanetto-2001", "dieci-lopez-2011"),
    measures={
        "two blocks: pull at which the first one breaks loose, in m/s2": _loose,
    },
)
def two_blocks_on_belt() -> FilippovSystem:
    """Return two coupled blocks that stick to a belt, one of them or both."""
    system = FilippovSystem(
        "two blocks on a belt",
        x="q1 q2 v1 v2",
        units=["m"] * 2 + ["m/s"] * 2,
        text="One sticks, both stick, or one breaks loose and pulls the other along.",
    )
    q1, q2, v1, v2 = system.x
    k, f1, f2, d, v0 = system.params(
        k=Param(1.2, 0, 3, "1/s2", "spring between them, by mass"),
        f1=Param(1, 0.2, 2, "m/s2", "friction of the first at rest, by mass"),
        f2=Param(1.3, 0.2, 2, "m/s2", "that of the second"),
        d=Param(3, 0, 6, "s2/m2", "how fast it falls"),
        v0=Param(0.3, 0.05, 1, "m/s", "speed of the belt"),
    )
    pulls = (-q1 - k * (q1 - q2), -q2 - k * (q2 - q1))
    for i, (v, pull, f) in enumerate(zip((v1, v2), pulls, (f1, f2), strict=True)):
        friction = f / (1 + d * (v - v0) ** 2)
        at, rate = f"q{i + 1}", f"v{i + 1}"
        system.subsystem(
            {
                f"{at} slower": {at: v, rate: pull + friction},
                f"{at} faster": {at: v, rate: pull - friction},
            },
            c={f"slip{i + 1}": v - v0},
            S=[[-1], [1]],
        )
    system.start(x=[0.2, -0.4, 0, 0], t_end=12, h=0.02)
    left, right = 0.8 * q1 - 1, 0.8 * q2 + 1
    system.sketch(
        *belt(-2.4, 3.2, 0.12),
        ground((-2.6, 0.6), (-2.6, 0)),
        spring((-2.6, 0.2), (left - 0.2, 0.2), force=q1, unit="m/s2"),
        spring((left + 0.2, 0.2), (right - 0.2, 0.2), force=k * (q2 - q1), unit="m/s2"),
        *(
            line((x - 0.2, 0), (x + 0.2, 0), (x + 0.2, 0.4), (x - 0.2, 0.4), closed=True)
            for x in (left, right)
        ),
    )
    system.published = {
        "two blocks: pull at which the first one breaks loose, in m/s2": (
            1,
            1e-9,
            "closed form, f1",
        ),
    }
    system.preset("apart", "No spring between them: each has a cycle of its own.", k=0)
    system.preset("stiff", "They stick and slip nearly as one.", k=3)
    return system
