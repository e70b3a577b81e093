"""Entry and exit of a slide: x' = 1, y' = -1 above y = 0 and y' = a - x below.

From (0, y0) with 0 < y0 < a the line is reached at t = y0 and slid on up to the fold of the lower
field at x = a, where it is left tangentially: y = -(t - a)^2 / 2. With y0 > a it is crossed. On the
slide alpha = (a - x) / (1 + a - x), zero at the exit (Filippov 1988, section 4).
"""

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import FilippovSystem
from explorer.systems.picture.space import space


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return (x, y), (n_t, 2)."""
    t, a, y0 = np.asarray(t, float), rho["a"], rho["y0"]
    leaves = max(y0, a)  # when y < 0 begins
    below = ((leaves - a) ** 2 - (t - a) ** 2) / 2
    y = np.where(t < y0, y0 - t, np.where(t < leaves, 0.0, below))
    return {"x": np.column_stack([t, y])}


@register(group="switches", references=("filippov-1988",))
def sliding_entry() -> FilippovSystem:
    """Return a point that slides on a line up to a fold."""
    system = FilippovSystem(
        "entry and exit of a slide",
        x="x y",
        units="m",
        text=(
            "A line holds the state while both sides push to it, and releases it where one turns "
            "away."
        ),
    )
    x, _ = system.x
    a, y0 = system.params(
        a=Param(2, 0.5, 3, "m", "place of the fold"),
        y0=Param(1, 0.1, 4, "m", "height at the start"),
    )
    system.subsystem({"above": [1, -1], "below": [1, a - x]}, c={"line": system.x[1]})
    system.start(x=[0, y0], t_end=4, h=0.1)
    system.sketch(
        lambda: space(system, [(0, 4), (-2, 1.5)], [("fold", [a, 0]), ("line", [3.8, 0])])
    )
    system.exact = exact
    system.preset("crosses", "It comes behind the fold: no slide.", y0=2.5)
    return system
