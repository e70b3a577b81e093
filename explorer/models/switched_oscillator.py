"""Switched oscillator: x' = A1 x within the unit circle, A2 x outside: growing spirals that turn.

A1 = [[1, w], [-w, 1]], A2 = [[1, -w], [w, 1]], c = |x|^2 - 1. From (r0, 0) with r0 < 1 the circle
is reached at t_s = -log r0; x = e^(t - t_s) (cos phi, sin phi) with phi = -w t before it and
phi = w (t - 2 t_s) behind it. The test of integration order of Nurkanovic et al. 2023, section
IV-A, where the sine of the end has the wrong sign.
"""

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import FilippovSystem
from explorer.systems.picture.space import space


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x, (n_t, 2); NaN unless r0 > 0."""
    t, w, r0 = np.asarray(t, float), rho["w"], rho["r0"]
    if not r0 > 0:
        return {"x": np.full((len(t), 2), np.nan)}
    switch = max(-np.log(r0), 0.0)
    phi = np.where(t < switch, -w * t, w * (t - 2 * switch))
    return {"x": (r0 * np.exp(t))[:, None] * np.column_stack([np.cos(phi), np.sin(phi)])}


@register(
    group="switches",
    references=("nurkanovic-2023",),
    measures={
        "switched oscillator: x1(pi/2)": lambda run: run("EventDriven", rtol=1e-13, atol=1e-14).x[
            -1, 0
        ],
        "switched oscillator: x2(pi/2)": lambda run: run("EventDriven", rtol=1e-13, atol=1e-14).x[
            -1, 1
        ],
    },
)
def switched_oscillator() -> FilippovSystem:
    """Return a spiral that turns round where it leaves the unit circle."""
    system = FilippovSystem(
        "switched oscillator",
        x="x1 x2",
        text="One switch decides the order: 1 if it is passed over, 2 s - 1 if it is located.",
    )
    x1, x2 = system.x
    w, r0 = system.params(
        w=Param(2 * np.pi, 1, 12, "1/s", "angular velocity"),
        r0=Param(float(np.exp(-1)), 0.1, 1.5, "", "radius at the start"),
    )
    system.subsystem(
        {"inside": [x1 + w * x2, -w * x1 + x2], "outside": [x1 - w * x2, w * x1 + x2]},
        c={"circle": x1**2 + x2**2 - 1},
        S=[[-1], [1]],
    )
    system.start(x=[r0, 0], t_end=np.pi / 2, h=0.02)
    system.sketch(lambda: space(system, [(-2.2, 2.2), (-1.65, 1.65)], [("unit circle", [0, 1])]))
    system.exact = exact
    system.published = {
        "switched oscillator: x1(pi/2)": (-1.5974603774507, 1e-12, "closed form"),
        "switched oscillator: x2(pi/2)": (-0.7614936206060, 1e-12, "closed form, sign corrected"),
    }
    system.preset(
        "coarse", "Elements of 1/12 s: the switch is still on the boundary of one.", h=1 / 6
    )
    system.preset("starts outside", "No switch at all.", r0=1.2, t_end=1)
    return system
