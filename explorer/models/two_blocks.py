"""Block on a block: the lower one is pulled, friction decides whether the upper one comes along.

With N1 = (m1 + m2) g and N2 = m2 g, from rest under a force f::

    f <= mu1 N1                          both rest
    a = (f - mu1 N1)/(m1 + m2) <= mu2 g  both move with a
    else                                 a1 = (f - mu1 N1 - mu2 N2)/m1, a2 = mu2 g
"""

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import Shape, ground, line


def accelerations(rho: dict[str, float]) -> tuple[float, float]:
    """Return what the lower and the upper block are accelerated with, in m/s2."""
    m1, m2, mu1, mu2, g, f = (rho[name] for name in ("m1", "m2", "mu1", "mu2", "g", "f"))
    both = max(f - mu1 * (m1 + m2) * g, 0.0) / (m1 + m2)
    if both <= mu2 * g:
        return both, both
    return (f - mu1 * (m1 + m2) * g - mu2 * m2 * g) / m1, mu2 * g


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return place and speed, (n_t, 4) each."""
    t, (a1, a2) = np.asarray(t, float)[:, None], accelerations(rho)
    a = np.array([a1, 0, a2, 0])
    return {"q": a * t**2 / 2, "v": a * t}


@register(group="friction", references=("leine-nijmeijer-2004",))
def two_blocks() -> MechanicalSystem:
    """Return two blocks on a rough floor, one upon the other."""
    system = MechanicalSystem(
        "two blocks with friction",
        q="x1 y1 x2 y2",
        units="m",
        text="Pull the cloth from under the plate: two contacts, each sticking or sliding.",
    )
    (x1, y1, x2, y2), (v1, _, v2, _) = system.q, system.v
    m1, m2, mu1, mu2, g, f = system.params(
        m1=Param(2, 0.5, 5, "kg", "mass of the lower block"),
        m2=Param(1, 0.2, 5, "kg", "mass of the upper block"),
        mu1=Param(0.2, 0, 1, "", "friction on the floor"),
        mu2=Param(0.3, 0, 1, "", "friction between them"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        f=Param(18, 0, 40, "N", "force on the lower block"),
    )
    system.mass = np.diag([m1, m1, m2, m2]).tolist()
    system.force = [f, -m1 * g, 0, -m2 * g]
    system.potential = m1 * g * y1 + m2 * g * y2 - f * x1
    system.contact(Contact(y1, 0, "floor", mu1, v1))
    system.contact(Contact(y2 - y1, 0, "between", mu2, v2 - v1))
    system.start(q=[0, 0, 0, 0], v=[0, 0, 0, 0], t_end=1, h=2e-3)
    system.exact = exact

    def box(x: sp.Expr, y: sp.Expr, wide: float, high: float) -> Shape:
        return line(
            (x - wide, y), (x + wide, y), (x + wide, y + high), (x - wide, y + high), closed=True
        )

    system.sketch(ground((-1, 0), (4, 0)), box(x1, y1, 0.6, 0.3), box(x2, y2 + 0.3, 0.2, 0.3))
    system.preset("together", "Less force: they move as one.", f=12)
    system.preset("held", "f < mu1 (m1 + m2) g: nothing moves.", f=5)
    system.preset("smooth plate", "The upper block stays nearly where it is.", mu2=0.02)
    return system
