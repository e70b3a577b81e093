"""Ball thrown on a rough floor: each impact takes mu (1 + e) u off its tangential speed.

u is the normal speed before the impact; friction takes no more than there is. Dropped from y0 with
g t_1 = u_1 the impacts accumulate at t_1 (1 + e) / (1 - e), until when they have taken
mu u_1 (1 + e) / (1 - e) together; then it slides, slowed by mu g, and sticks. The ball does not
turn. For e = 0 the first impact is the last (Nurkanovic, Albrecht, Brogliato and Diehl 2023).
"""

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, ground


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return q and v (right limits), (n_t, 2); NaN unless g, y0 > 0 and speed >= 0."""
    t = np.asarray(t, float)
    y0, g, e, mu, speed = (rho[name] for name in ("y0", "g", "e", "mu", "speed"))
    states = np.full((2, len(t), 2), np.nan)
    if not (g > 0 and y0 > 0 and speed >= 0):
        return {"q": states[0], "v": states[1]}
    end = float(t.max(initial=0.0))
    begin, x, y, rise, span = 0.0, 0.0, y0, 0.0, float(np.sqrt(2 * y0 / g))
    while begin <= end and span > 1e-13:
        s = t - begin
        here = (s >= 0) & (s < span)
        path = np.array([x + speed * s, y + rise * s - g * s**2 / 2])
        states[0, here] = path.T[here]
        states[1, here] = np.column_stack([np.full(len(t), speed), rise - g * s])[here]
        u = g * span - rise
        begin, x, y, rise = begin + span, x + speed * span, 0.0, e * u
        speed, span = max(speed - mu * (1 + e) * u, 0.0), 2 * rise / g
    brakes = max(mu * g, 1e-300)
    s = np.minimum(np.maximum(t - begin, 0.0), speed / brakes)
    rests = t >= begin
    states[0, rests] = np.column_stack([x + speed * s - brakes * s**2 / 2, 0 * t])[rests]
    states[1, rests] = np.column_stack([speed - brakes * s, 0 * t])[rests]
    return {"q": states[0], "v": states[1]}


@register(group="friction", references=("nurkanovic-2023b",))
def thrown_ball() -> MechanicalSystem:
    """Return a ball that is thrown along a rough floor."""
    ball = MechanicalSystem(
        "ball thrown on a rough floor",
        q="x y",
        units="m",
        text="Every bounce costs speed along the floor; then it slides, and sticks.",
    )
    (x, y), (v_x, _) = ball.q, ball.v
    m, g, e, mu, y0, speed = ball.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        e=Param(0.5, 0, 1, "", "restitution"),
        mu=Param(0.2, 0, 1, "", "friction"),
        y0=Param(0.5, 0.1, 2, "m", "height at the start"),
        speed=Param(4, 0, 10, "m/s", "speed of the throw"),
    )
    ball.mass, ball.force, ball.potential = [[m, 0], [0, m]], [0, -m * g], m * g * y
    ball.contact(Contact(gap=y, e=e, mu=mu, slip=v_x, name="floor"))
    ball.start(q=[0, y0], v=[speed, 0], t_end=2.5, h=1e-3)
    ball.exact = exact
    ball.sketch(ground((-0.2, 0), (6, 0)), circle(x, y + 0.06, 0.06))
    ball.preset("clay", "e = 0: one impact, then it slides to rest.", e=0)
    ball.preset("rough", "A few bounces take all of its speed.", mu=0.6)
    ball.preset("on ice", "No friction: it keeps its speed.", mu=0)
    return ball
