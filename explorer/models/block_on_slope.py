"""Block on a slope: x'' = -g sin(alpha) + friction, |friction| <= mu g cos(alpha) by mass.

Thrown up with v0, it stops after v0 / (g sin(alpha) + mu g cos(alpha)). There it stays if
mu >= tan(alpha); else it slides down with g sin(alpha) - mu g cos(alpha).
"""

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import Point, ground, line


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return place and speed; NaN for a block that starts downwards."""
    g, mu, alpha, v0 = (rho[name] for name in ("g", "mu", "alpha", "speed"))
    t = np.asarray(t, float)
    if v0 < 0:
        return dict.fromkeys(("q", "v"), np.full((len(t), 2), np.nan))
    up, down = (g * (np.sin(alpha) + s * mu * np.cos(alpha)) for s in (1, -1))
    stop = v0 / up if up > 0 else 1e300
    late = np.maximum(t - stop, 0.0)
    down = max(down, 0.0)
    rises = t < stop
    x = np.where(rises, v0 * t - up * t**2 / 2, v0 * stop / 2 - down * late**2 / 2)
    speed = np.where(rises, v0 - up * t, -down * late)
    none = np.zeros_like(x)
    return {"q": np.column_stack([x, none]), "v": np.column_stack([speed, none])}


@register(group="friction", references=("leine-nijmeijer-2004",))
def block_on_slope() -> MechanicalSystem:
    """Return a block that is thrown up a rough slope."""
    system = MechanicalSystem(
        "block on a slope",
        q="x y",
        units="m",
        text="It stops in a finite time; whether it stays depends on one angle alone.",
    )
    (x, y), (v_x, _) = system.q, system.v
    m, mu, alpha, g, speed = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        mu=Param(0.6, 0, 1.5, "", "friction"),
        alpha=Param(0.4, 0, 1.2, "rad", "angle of the slope"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        speed=Param(3, 0, 5, "m/s", "speed of the throw"),
    )
    pull, press = m * g * sp.sin(alpha), m * g * sp.cos(alpha)
    system.mass, system.force = [[m, 0], [0, m]], [-pull, -press]
    system.potential = pull * x + press * y
    system.contact(Contact(gap=y, name="slope", mu=mu, slip=v_x))
    system.start(q=[0, 0], v=[speed, 0], t_end=1.5, h=1e-3)
    system.exact = exact

    def at(along: sp.Expr, above: sp.Expr) -> Point:
        return (
            along * sp.cos(alpha) - above * sp.sin(alpha),
            along * sp.sin(alpha) + above * sp.cos(alpha),
        )

    corners = ((x - 0.1, y), (x + 0.1, y), (x + 0.1, y + 0.15), (x - 0.1, y + 0.15))
    system.sketch(ground(at(-1, 0), at(2, 0)), line(*(at(*c) for c in corners), closed=True))
    system.preset("too steep", "mu < tan(alpha): it comes back.", alpha=0.7)
    system.preset("just held", "mu a little above tan(alpha) = 0.4228.", mu=0.43)
    system.preset("no friction", "A parabola.", mu=0)
    return system
