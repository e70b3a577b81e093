"""Bouncing ball: y'' = -g, 0 <= y perp p >= 0, y'(+) = -e y'(-).

Closed form: dropped from y0, the ball hits the floor at t_1 (1 + 2 e (1 - e^k) / (1 - e)) with
t_1 = sqrt(2 y0 / g), k = 0, 1, ...; the impacts accumulate at t_1 (1 + e) / (1 - e), after a path
y0 (1 + e^2) / (1 - e^2) (Brogliato, *Nonsmooth Mechanics*, 2016, ch. 1).
"""

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, ground


def zeno_time(y0: float, g: float, e: float) -> float:
    """Return the time at which the impacts accumulate, in s (infinite for e = 1)."""
    return float(np.sqrt(2 * y0 / g) * (1 + e) / (1 - e)) if e < 1 else np.inf


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return q and v (right limits), (n_t, 1), of the ball dropped at rest."""
    y0, g, e = rho["y0"], rho["g"], rho["e"]
    t = np.asarray(t, float)
    if y0 == 0 or g <= 0:  # it lies on the floor, or never comes down
        fall = 0.0 if y0 == 0 and g >= 0 else g
        return {"q": (y0 - fall * t**2 / 2)[:, None], "v": (-fall * t)[:, None]}
    first = np.sqrt(2 * y0 / g)
    tau = np.maximum(t - first, 0.0) / (2 * first)
    with np.errstate(divide="ignore", invalid="ignore"):
        if e == 1:
            k = np.floor(tau)
            since = tau - k
        elif e == 0:
            k, since = np.zeros_like(tau), tau
        else:
            inside = np.maximum(1 - tau * (1 - e) / e, 1e-300)
            k = np.floor(np.log(inside) / np.log(e) + 1e-12)
            since = tau - e * (1 - e**k) / (1 - e)
    speed = g * first * e ** (k + 1)
    s = 2 * first * since
    flying = (t < first, (t >= first) & (t < zeno_time(y0, g, e)))
    y = np.select(flying, (y0 - g * t**2 / 2, speed * s - g * s**2 / 2), 0.0)
    v = np.select(flying, (-g * t, speed - g * s), 0.0)
    return {"q": y[:, None], "v": v[:, None]}


@register(
    group="impacts",
    references=("brogliato-2016",),
    measures={
        "Zeno time for y0 = 1, g = 9.81, e = 0.9, in s": lambda run: (
            run("EventDriven", e=0.9, t_end=10).events[-1].t
        )
    },
)
def bouncing_ball() -> MechanicalSystem:
    """Return a ball dropped on a rigid floor."""
    ball = MechanicalSystem(
        "bouncing ball",
        q="y",
        units="m",
        text="Infinitely many impacts in a finite time, then rest.",
    )
    (y,) = ball.q
    m, g, e, y0 = ball.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        e=Param(0.8, 0, 1, "", "restitution"),
        y0=Param(1, 0.1, 2, "m", "drop height"),
    )
    ball.mass, ball.force, ball.potential = [[m]], [-m * g], m * g * y
    ball.contact(Contact(gap=y, e=e, name="floor"))
    ball.start(q=[y0], v=[0], t_end=4.5, h=2e-3)
    ball.sketch(ground((-0.5, 0), (0.5, 0)), circle(0, y + 0.06, 0.06))
    ball.exact = exact
    ball.published = {
        "Zeno time for y0 = 1, g = 9.81, e = 0.9, in s": (8.57895, 1e-5, "closed form")
    }
    ball.preset("Zeno", "The impacts accumulate at 4.06 s.", e=0.8, t_end=4.5)
    ball.preset("superball", "Without loss it bounces for ever.", e=1.0, t_end=4.5)
    ball.preset("clay", "e = 0: the first impact is the last.", e=0.0, t_end=1.5)
    ball.preset("coarse step", "A step of 30 ms: penetration is O(h).", h=0.03, e=0.8)
    return ball
