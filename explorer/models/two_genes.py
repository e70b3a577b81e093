"""Two genes that repress each other: x1' = b s(1 - x2) - k x1, x2' = b s(1 - x1) - k x2.

s is the step function, concentrations are in units of the threshold. If b > k the one that reaches
its threshold first, at t = log((b/k - x) / (b/k - 1)) / k, switches the other off for ever: a
toggle switch (de Jong, Gouze, Hernandez, Page, Sari and Geiselmann, *Bull. Math. Biol.* 66 (2004)
301). From equal starts both arrive at once, and the solution is not unique.
"""

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import StepSystem
from explorer.systems.schematic import path, tank
from explorer.systems.sketch import line


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x, (n_t, 2); NaN unless k, b > 0 and both start below the threshold, not equal."""
    t, b, k = np.asarray(t, float), rho["b"], rho["k"]
    start = np.array([rho["a1"], rho["a2"]])
    if not (k > 0 and b > 0 and start.max() < 1 and start[0] != start[1]):
        return {"x": np.full((len(t), 2), np.nan)}
    top, first = b / k, int(start.argmax())
    x = top + (start - top) * np.exp(-k * t)[:, None]
    if top > 1:
        hit = np.log((top - start[first]) / (top - 1)) / k
        level = top + (start[1 - first] - top) * np.exp(-k * hit)
        x[:, 1 - first] = np.where(t < hit, x[:, 1 - first], level * np.exp(-k * (t - hit)))
    return {"x": x}


@register(group="genes", references=("de-jong-2004",))
def two_genes() -> StepSystem:
    """Return a toggle switch of two genes."""
    system = StepSystem(
        "two genes",
        x="x1 x2",
        text="Two genes repress each other: the first one wins, and a tie has no unique solution.",
    )
    x1, x2 = system.x
    b, k, a1, a2 = system.params(
        b=Param(2, 0.5, 4, "1/s", "rate of synthesis"),
        k=Param(1, 0.2, 2, "1/s", "rate of decay"),
        a1=Param(0.3, 0, 2, "", "start of the first"),
        a2=Param(0.1, 0, 2, "", "start of the second"),
    )
    step = sp.Heaviside
    system.f = [b * step(1 - x2) - k * x1, b * step(1 - x1) - k * x2]
    system.start(x=[a1, a2], t_end=5, h=0.1)
    high = {str(s.c.free_symbols): s.alpha for s in system.switches}
    first, second = (high[str({x})] for x in (x1, x2))
    system.sketch(
        tank(0, 0, 1, 2, x1 / 2, "gene 1"),
        tank(3, 0, 1, 2, x2 / 2, "gene 2"),
        *(line((x - 0.65, 1), (x + 0.65, 1), role="trace") for x in (0, 3)),
        path((0.7, 1.4), (2.3, 1.4), lit=first, head="bar"),
        path((2.3, 0.6), (0.7, 0.6), lit=second, head="bar"),
    )
    system.exact = exact
    system.preset("the other", "A little more of the second gene decides.", a2=0.31)
    system.preset("a tie", "Both arrive at once: a rule chooses the side.", a2=0.3)
    return system
