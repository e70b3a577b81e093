"""Block that an input pushes on a rough floor: x'' + c sgn(x') ∋ u, sgn(0) = [-1, 1].

It sticks while |u| <= c, and slides with x'' = u - c sgn(x') otherwise (Filippov 1988, section 8).
From rest to rest over a distance d, with |u| <= U and U > c, it takes least time with u = U up to
the time t1 and u = -U behind it::

    t1 = sqrt(d (U + c) / ((U - c) U)),    t2 = t1 (U - c) / (U + c)
"""

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import StepSystem
from explorer.systems.sketch import arrow, ground, line


def fastest(d: float, c: float, U: float) -> tuple[float, float]:
    """Return how long the block is pushed, and how long it is braked, in s."""
    pushed = float(np.sqrt(d * (U + c) / ((U - c) * U)))
    return pushed, pushed * (U - c) / (U + c)


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x and v, (n_t, 2), at a constant input."""
    t, c, u, v0 = np.asarray(t, float), rho["c"], rho["u"], rho["v0"]
    side = np.sign(v0)
    a = u - c * side
    turns = -v0 / a if v0 * a < 0 else np.inf
    if v0 == 0:
        turns = 0.0
    before = np.minimum(t, turns)
    x, v = v0 * before + a * before**2 / 2, v0 + a * before
    later = np.maximum(t - turns, 0.0)
    slides = (u - c * np.sign(u)) * (abs(u) > c)
    x, v = x + slides * later**2 / 2, np.where(t > turns, slides * later, v)
    return {"x": np.column_stack([x, v])}


@register(group="friction", references=("filippov-1988",))
def pushed_block() -> StepSystem:
    """Return a block on a rough floor with an input."""
    system = StepSystem(
        "pushed block",
        x="x v",
        units=["m", "m/s"],
        text="A small push lets it stick, a large one lets it slide: double integrator, friction.",
    )
    _, v0 = system.params(
        c=Param(1, 0.1, 3, "m/s2", "friction over mass"),
        v0=Param(1, -2, 2, "m/s", "start velocity"),
    )
    system.inputs("u", low=-5, high=5, units="m/s2", value=-2, text="push over mass")
    system.f = ["v", "u - c*sign(v)"]
    system.start(x=[0, v0], t_end=2, h=0.05)
    system.exact = exact
    sides = [("x - 0.1", 0), ("x + 0.1", 0), ("x + 0.1", 0.12), ("x - 0.1", 0.12)]
    system.sketch(
        ground((-0.5, 0), (1.5, 0)),
        line(*sides, closed=True),
        arrow(("x", 0.2), ("x + u/20", 0.2)),
    )
    system.preset("sticks", "The push is smaller than friction.", u=-0.5)
    return system
