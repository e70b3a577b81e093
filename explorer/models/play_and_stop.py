"""Play and stop: a pin u(t) drives a frame w with the play 2 r, -w' in N_[u - r, u + r](w).

The simplest sweeping process: w rests while the pin is inside the frame, and follows it at one of
its ends,

    w(t) = max(u(t) - r, min(u(t) + r, w before))

on each stretch on which u rises or falls. What is left, u - w, is the stop. It remembers all turns
of u that no larger one has wiped out (Krasnosel'skii and Pokrovskii, *Systems with Hysteresis*,
1989, part 1; Moreau, *J. Differential Equations* 26 (1977) 347). Over one period of u = A sin(omega
t), A > r, the loop of (u, w) has the area 4 r (A - r).
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import FirstOrderSystem
from explorer.systems.sketch import circle, ground, line


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return w, (n_t, 1), from a start inside the play; NaN for a second sine."""
    t, (A, w, r, w0) = np.asarray(t, float), (rho[k] for k in ("A", "omega", "r", "w0"))
    if rho["B"] or r <= 0 or abs(w0) > 1:
        return {"x": np.full((len(t), 1), np.nan)}
    u, turns = A * np.sin(w * t), np.floor(w * t / np.pi + 0.5)
    start = w0 * r
    first = max(start, A - r)  # where it stands at the first turn of u, and at all later ones
    last = np.where(turns == 0, start, np.where(turns % 2 == 1, first, min(first, r - A)))
    last = np.where((turns > 1) & (turns % 2 == 1), max(min(first, r - A), A - r), last)
    return {"x": np.clip(last, u - r, u + r)[:, None]}


def _loop(run: Callable[..., Solution]) -> float:
    """Return the area of the loop of (u, w) in the second period, in m2."""
    done = run("EulerMoreau", h=1e-3, t_end=4 * np.pi)
    late = done.t >= 2 * np.pi - 1e-9
    u = done.rho["A"] * np.sin(done.rho["omega"] * done.t[late])
    return float(-np.trapezoid(done.x[late, 0], u))


@register(
    group="friction",
    references=("krasnoselskii-1989", "moreau-1977"),
    measures={"play: area of its loop, in m2": _loop},
)
def play_and_stop() -> FirstOrderSystem:
    """Return a frame that a pin drives with play."""
    system = FirstOrderSystem(
        "play and stop",
        x="w",
        units="m",
        text="Hysteresis from one inclusion: the frame follows the pin only at its ends.",
    )
    (w,), t = system.x, system.t
    A, omega, r, B, w0 = system.params(
        A=Param(1, 0.1, 2, "m", "amplitude of the pin"),
        omega=Param(1, 0.2, 3, "rad/s", "its frequency"),
        r=Param(0.4, 0.05, 1, "m", "half of the play"),
        B=Param(0, 0, 1, "m", "amplitude of a second sine, three times as fast"),
        w0=Param(0, -1, 1, "", "start of the frame, by half of the play"),
    )
    u = A * sp.sin(omega * t) + B * sp.sin(3 * omega * t)
    left = system.law("left", unit="m/s", y_name="room_left", y_unit="m")
    right = system.law("right", unit="m/s", y_name="room_right", y_unit="m")
    system.f = [0]
    system.r = {w: left - right}
    system.y = [w - u + r, u + r - w]
    system.output("u", u, "m")
    system.output("stop", u - w, "m")
    system.start(x=[w0 * r], t_end=15, h=5e-3)
    thick, high, back = (sp.Rational(k, 10) for k in (1, 8, 3))
    inner, outer = r + thick, r + 3 * thick
    frame = [(-outer, 0), (outer, 0), (outer, high), (inner, high), (inner, back)]
    frame += [(-along, up) for along, up in reversed(frame[2:])]
    system.sketch(
        ground((-2, 0), (2, 0)),
        line(*((w + along, up) for along, up in frame), closed=True),
        line((u, 6 * thick), (u, 14 * thick)),
        circle(u, 6 * thick, thick),
        line((-2, 14 * thick), (2, 14 * thick), role="trace"),
    )
    system.exact = exact
    system.published = {"play: area of its loop, in m2": (0.96, 5e-3, "closed form, 4 r (A - r)")}
    system.preset("too small", "A < r: the frame never moves.", A=0.3)
    system.preset("inner loops", "A faster sine on top: small loops inside the large one.", B=0.8)
    system.preset("no play", "r small: the frame follows the pin.", r=0.05)
    return system
