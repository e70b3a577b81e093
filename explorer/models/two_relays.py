"""Two relays that turn each other: x' = b [[1, -k], [k, 1]] u, u_j in -sgn x_j.

|x1| + |x2| falls at the rate 2 b. For k > 1 the state runs round the origin, each quarter turn
(k - 1) / (k + 1) of the one before: it arrives at t = s / b after infinitely many switches. For
k <= 1 it slides along x2 = 0. Siconos's example Filippov has b = 2, k = 26, s = 3: steps pass over
most switches, so that the state arrives at 1.11 s for h = 1 ms and at 1.49 s for h = 10 us, not at
1.5 s. k = 0 is x' = -b sgn x twice: implicit Euler then rests at zero, explicit Euler chatters with
amplitude b h (Acary and Brogliato, *Systems & Control Letters* 59 (2010) 284).
"""

from collections.abc import Callable

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import FirstOrderSystem
from explorer.systems.schematic import block, name, path, relay, wire
from explorer.systems.sketch import Shape


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x, (n_t, 2), corner by corner; NaN unless b, s > 0, k >= 0."""
    t, (b, k, s) = np.asarray(t, float), (rho[name] for name in ("b", "k", "s"))
    if not (b > 0 and s > 0 and k >= 0):
        return {"x": np.full((len(t), 2), np.nan)}
    first = s / (b * (k + 1))
    times, corners = [0.0, first], [[s, s], [2 * s * k / (k + 1), 0.0]]
    if k <= 1:
        times.append(first + corners[1][0] / (b * (1 + k**2)))
        corners.append([0.0, 0.0])
    while k > 1 and abs(corners[-1][0]) + abs(corners[-1][1]) > 1e-14 * s:
        x, y = corners[-1]
        times.append(times[-1] + (abs(x) + abs(y)) / (b * (k + 1)))
        corners.append([y * (k - 1) / (k + 1), -x * (k - 1) / (k + 1)])
    path = np.array(corners).T
    return {"x": np.column_stack([np.interp(t, times, x, right=0.0) for x in path])}


def _arrival(run: Callable[..., Solution]) -> float:
    """Return when both states are zero to round-off, with k = 2, in s."""
    done = run("EulerMoreau", k=2, h=1e-4)
    return float(done.t[np.abs(done.x).sum(axis=1) < 1e-9][0])


@register(
    group="circuits",
    references=("acary-brogliato-2010", "siconos-2019"),
    measures={
        "two relays: time of arrival, b = 2, s = 3, in s": _arrival,
    },
)
def two_relays() -> FirstOrderSystem:
    """Return two states, each driven by the signs of both."""
    system = FirstOrderSystem(
        "two relays",
        x="x1 x2",
        text="Infinitely many switches before t = s / b. "
        "Steps pass over most of them, so rest comes too early unless h is small.",
    )
    b, k, s = system.params(
        b=Param(2, 0.5, 5, "1/s", "strength"),
        k=Param(26, 0, 40, "", "coupling"),
        s=Param(3, 0.5, 5, "", "start of both"),
    )
    u1, u2 = (system.law(f"u{j}", "relay", lb=-1, ub=1, y_name=f"x_{j}") for j in (1, 2))
    system.f = [0, 0]
    system.linear(C=[[1, 0], [0, 1]], B=[[b, -k * b], [k * b, b]])
    system.start(x=[s, s], t_end=2, h=1e-3)
    shapes: list[Shape] = []
    for y, x, u, away in ((0, system.x[0], u1, 1), (-2.6, system.x[1], u2, -1)):
        shapes += [
            *relay(0, y, -x, s, (1 + u) / 2),
            *wire((0.66, y), (3.8, y), current=u, unit=""),
            *block(4.4, y, 1.2, 1, "∫"),
            *path(
                (5, y),
                (5.8, y),
                (5.8, y + 1.2 * away),
                (-1.5, y + 1.2 * away),
                (-1.5, y),
                (-0.7, y),
            ),
            name(6.1, y + 0.3, x.name),
            name(-1.1, y + 0.3, "−"),
        ]
    system.sketch(
        *shapes,
        wire((1.4, 0), (3.3, -2.2), (3.8, -2.2), current=u1, unit=""),
        wire((1.4, -2.6), (3.3, -0.4), (3.8, -0.4), current=-u2, unit=""),
        name(3.4, -1.8, "k"),
        name(3.4, -0.8, "−k"),
    )
    system.exact = exact
    system.published = {
        "two relays: time of arrival, b = 2, s = 3, in s": (1.5, 1e-3, "closed form s / b"),
    }
    system.preset(
        "explicit",
        "The law a step late: it never comes to rest.",
        gamma=0,
        gamma_on="relation",
        h=4e-3,
    )
    system.preset("x' = -b sgn x", "No coupling: implicit Euler rests at zero to round-off.", k=0)
    system.preset(
        "chattering",
        "The same by explicit Euler: for ever within b h of zero.",
        k=0,
        gamma=0,
        gamma_on="relation",
        h=2e-2,
    )
    system.preset("slide", "k < 1: along x2 = 0 to the origin.", k=0.5)
    return system
