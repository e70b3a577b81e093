"""Sliding-mode control: x' = d sin(w t) - a sgn x, a disturbance that a relay holds down.

From x0 > 0 the surface x = 0 is reached in finite time, where
x0 - a t + (d / w) (1 - cos(w t)) = 0; as long as |d| <= a it is never left again, and the relay's
mean value is that of the disturbance: alpha = (1 + (d / a) sin(w t)) / 2.
"""

import numpy as np
import scipy
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import StepSystem
from explorer.systems.schematic import block, name, path, relay, wire
from explorer.systems.sketch import circle


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x, (n_t, 1); NaN where the relay is too weak, |d| > a, or unless w, x0 > 0."""
    t = np.asarray(t, float)
    a, d, w, x0 = (rho[k] for k in ("a", "d", "w", "x0"))
    if not (abs(d) <= a and a > 0 and w > 0 and x0 > 0):
        return {"x": np.full((len(t), 1), np.nan)}

    def free(t: float | np.ndarray) -> float | np.ndarray:
        return x0 - a * t + d / w * (1 - np.cos(w * t))

    hit = scipy.optimize.brentq(free, 0, (x0 + 2 * abs(d) / w) / a + 1, xtol=1e-15, rtol=1e-15)
    return {"x": np.where(t < hit, free(t), 0.0)[:, None]}


@register(group="switches", references=("acary-brogliato-2010", "filippov-1988"))
def sliding_mode() -> StepSystem:
    """Return a state that a relay forces to zero against a disturbance."""
    system = StepSystem(
        "sliding-mode control",
        x="x",
        text="The relay reaches the surface in finite time; chattering comes from the scheme.",
    )
    (x,) = system.x
    a, d, w, x0 = system.params(
        a=Param(1, 0.2, 3, "1/s", "relay"),
        d=Param(0.7, 0, 2, "1/s", "disturbance"),
        w=Param(3, 0.5, 10, "1/s", "its angular frequency"),
        x0=Param(1, 0.1, 2, "", "start"),
    )
    alpha = system.switch(x, name="surface")
    system.f = [d * sp.sin(w * system.t) - a * (2 * alpha - 1)]
    system.start(x=[x0], t_end=6)
    rate = "1/s"
    push, held = d * sp.sin(w * system.t), -a * (2 * alpha - 1)
    system.sketch(
        relay(0, 0, x, 1, alpha),
        name(0, 0.9, "relay"),
        wire((0.66, 0), (2, 0), current=held, unit=rate),
        wire((2.2, 1.5), (2.2, 0.2), current=push, unit=rate),
        name(2.2, 1.8, "disturbance"),
        wire((2.4, 0), (3.6, 0), current=held + push, unit=rate),
        circle(2.2, 0, 0.2, role="part"),
        block(4.1, 0, 1, 1, "∫"),
        path((4.6, 0), (5.6, 0), (5.6, -1.4), (-1.5, -1.4), (-1.5, 0), (-0.7, 0)),
        name(5.9, 0.3, "x"),
    )
    system.exact = exact
    system.preset("too weak", "d > a: it slides only while the disturbance is small.", d=1.5)
    system.preset("no disturbance", "It arrives at x0 / a.", d=0, t_end=2)
    return system
