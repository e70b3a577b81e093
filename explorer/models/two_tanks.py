"""Two tanks and one hose: x_i' = w - v_i in the tank that is filled, x_j' = -v_j in the other.

The hose moves to a tank as soon as its level falls to r_j. If w < v_1 + v_2 the switches accumulate
at (x_1 + x_2 - r_1 - r_2) / (v_1 + v_2 - w), with both tanks at their limits (Johansson, Egerstedt,
Lygeros and Sastry, Systems and Control Letters 38 (1999) 141). The automaton says nothing about
what follows: here the tanks share the inflow, and `share` = 1/2 is the limit of a hose that stays
equally long on both, however short that is.
"""

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import HybridSystem
from explorer.systems.schematic import wire
from explorer.systems.sketch import ground, line


def zeno_time(rho: dict[str, float]) -> float:
    """Return the time at which the switches accumulate, in s (infinite: they do not)."""
    surplus = rho["a1"] + rho["a2"] - rho["r1"] - rho["r2"]
    lack = rho["v1"] + rho["v2"] - rho["w"]
    if surplus == 0:
        return 0.0
    return surplus / lack if lack > 0 else np.inf


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x, (n_t, 2), with tank 1 filled first; NaN unless w > v1, v2 > 0 (both ways go)."""
    w, share = rho["w"], rho["share"]
    out, low = np.array([rho["v1"], rho["v2"]]), np.array([rho["r1"], rho["r2"]])
    level = np.array([rho["a1"], rho["a2"]], float)
    t = np.asarray(t, float)
    x = np.full((len(t), 2), np.nan)
    if not 0 < out.min() <= out.max() < w or (level < low).any():
        return {"x": x}
    now, filled, limit = 0.0, 0, zeno_time(rho)
    while now <= t[-1]:
        rate = np.where(np.arange(2) == filled, w, 0.0) - out
        dry = 1 - filled
        stay = (level[dry] - low[dry]) / out[dry]
        rows = (t >= now) & (t <= now + stay)
        x[rows] = level + rate * (t[rows] - now)[:, None]
        level, now, filled = level + rate * stay, now + stay, dry
        if stay <= 1e-12 * limit and now >= 0.5 * limit:
            break
    rows = t > min(limit, now)
    x[rows] = low + (w * np.array([share, 1 - share]) - out) * (t[rows] - limit)[:, None]
    return {"x": x}


@register(
    group="switches",
    references=("johansson-1999",),
    measures={"tanks: Zeno time, in s": lambda run: run().events[-1].t},
)
def two_tanks() -> HybridSystem:
    """Return two leaking tanks that share one hose."""
    tanks = HybridSystem(
        "two tanks",
        x="x1 x2",
        units="m",
        text=(
            "Infinitely many switches in a finite time, then a choice that the equations leave "
            "open."
        ),
    )
    x1, x2 = tanks.x
    w, v1, v2, r1, r2, a1, a2, share = tanks.params(
        w=Param(0.75, 0.65, 1.2, "m/s", "inflow"),
        v1=Param(0.5, 0.4, 0.6, "m/s", "outflow of tank 1"),
        v2=Param(0.5, 0.4, 0.6, "m/s", "outflow of tank 2"),
        r1=Param(0, -0.5, 0, "m", "limit of tank 1"),
        r2=Param(0, -0.5, 0.5, "m", "limit of tank 2"),
        a1=Param(0, 0, 1, "m", "level of tank 1 at the start"),
        a2=Param(1, 0.5, 1.5, "m", "level of tank 2 at the start"),
        share=Param(0.5, 0, 1, "", "share of tank 1 after the accumulation"),
    )
    first = tanks.mode("fill 1", [w - v1, -v2])
    second = tanks.mode("fill 2", [-v1, w - v2])
    both = tanks.mode("both short", [share * w - v1, (1 - share) * w - v2])
    tanks.guard(first, x2 - r2, to=second, zeno=both, name="tank 2 low")
    tanks.guard(second, x1 - r1, to=first, zeno=both, name="tank 1 low")
    tanks.start(x=[a1, a2], mode=first, t_end=5, h=1e-3)
    bottom = -1
    shapes = [ground((-0.5, bottom), (3, bottom))]
    for left, x, r in ((0, x1, r1), (1.5, x2, r2)):
        shapes += [
            line((left, bottom), (left + 1, bottom), (left + 1, x), (left, x), closed=True),
            line((left, 1.6), (left, bottom), (left + 1, bottom), (left + 1, 1.6)),
            line((left - 0.1, r), (left + 1.1, r)),
        ]
    hose = (("mode_fill_1", share, 0.5), ("mode_fill_2", 1 - share, 2.0))
    for mode, part, x in hose:
        flow = w * (sp.Symbol(mode) + part * sp.Symbol("mode_both_short"))
        shapes += wire((1.25, 2.6), (1.25, 2.2), (x, 1.9), (x, 1.6), current=flow, unit="m/s")
    tanks.sketch(*shapes)
    tanks.exact = exact
    tanks.published = {"tanks: Zeno time, in s": (4.0, 1e-9, "Johansson et al. 1999")}
    tanks.preset(
        "enough water",
        "w = v1 + v2: the sum of the levels stays, the hose never rests.",
        w=1,
        t_end=20,
    )
    tanks.preset("one-sided", "After the accumulation all water goes to tank 1.", share=1, t_end=6)
    tanks.preset("slow decay", "Little is missing: the switches accumulate late.", w=0.95, t_end=24)
    return tanks
