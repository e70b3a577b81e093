"""A surface that is crossed: x' = a below x = 0, x' = b above it.

From x0 < 0 the surface is reached at t_s = -x0 / a; behind it x = b (t - t_s), so that
dx/dx0 = b / a: 1 / 3 for x' = 2 - sgn x. Time stepping has another derivative, however small its
steps (Stewart and Anitescu, *Numerische Mathematik* 114 (2010) 653). If b < 0, x stays on the
surface.
"""

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import FilippovSystem
from explorer.systems.picture.space import space


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x, (n_t, 1); NaN unless a > 0, and b >= 0 if x0 >= 0."""
    t, a, b, x0 = np.asarray(t, float), rho["a"], rho["b"], rho["x0"]
    if not (a > 0 and (b >= 0 or x0 < 0)):
        return {"x": np.full((len(t), 1), np.nan)}
    reached = max(-x0 / a, 0.0)
    x = np.where(t < reached, x0 + a * t, max(x0, 0.0) + max(b, 0.0) * (t - reached))
    return {"x": x[:, None]}


@register(group="switches", references=("stewart-anitescu-2010",))
def sign_crossing() -> FilippovSystem:
    """Return a state that crosses a surface, and is slower behind it."""
    system = FilippovSystem(
        "crossing of a surface",
        x="x",
        c={"surface": "x"},
        S=[[1], [-1]],
        params={
            "a": Param(3, 0.5, 5, "1/s", "speed below the surface"),
            "b": Param(1, -2, 5, "1/s", "speed above it"),
            "x0": Param(-1, -2, -0.1, "", "start"),
        },
        modes={"above": ["b"], "below": ["a"]},
        text="The simplest switch: how does the end depend on the start?",
    )
    system.start(x=["x0"], t_end=1, h=0.1)
    system.sketch(lambda: space(system, [(-1, 0.7)], [("surface", [0])]))
    system.exact = exact
    system.preset("it sticks", "Both fields point to the surface: the start is forgotten.", b=-1)
    return system
