"""Car with a turbo charger: q' = v, v' = u, and v' = 3 u with the turbo, here u = a cos(w t).

It comes in at v = v2 and goes out at v = v1 < v2: between them the speed alone does not tell
whether it works, the mode remembers (Nurkanovic and Diehl, *IEEE Control Syst. Lett.* 6 (2022)
3182, where u is controlled). Between switches v is linear in sin(w t), by which all are known.
"""

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import HybridSystem
from explorer.systems.schematic import lamp, name
from explorer.systems.sketch import circle, ground, line


def _switches(rho: dict[str, float], end: float) -> list[tuple[float, float]]:
    """Return the times of the switches up to `end` in s, the first 0, and v at each."""
    a, w, v1, v2 = (rho[name] for name in ("a", "w", "v1", "v2"))
    switches = [(0.0, 0.0)]
    while True:
        t, v = switches[-1]
        turbo = len(switches) % 2 == 0
        goal = v1 if turbo else v2
        s = np.sin(w * t) + (goal - v) * w / ((3 if turbo else 1) * a)
        if not abs(s) < 1:
            return switches
        # the first time behind t at which sin(w t) falls (rises) through s
        phase = np.pi - np.arcsin(s) if turbo else np.arcsin(s)
        phase += 2 * np.pi * np.ceil((w * t - phase) / (2 * np.pi) - 1e-12)
        if phase / w > end:
            return switches
        switches.append((phase / w, goal))


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return (q, v), (n_t, 2); NaN unless a, w > 0 and 0 < v1 < v2."""
    t = np.asarray(t, float)
    a, w, v1, v2 = (rho[name] for name in ("a", "w", "v1", "v2"))
    if not (a > 0 and w > 0 and 0 < v1 < v2):
        return {"x": np.full((len(t), 2), np.nan)}
    q0, q, v = 0.0, np.zeros_like(t), np.zeros_like(t)
    switches = _switches(rho, float(t.max(initial=0.0)))
    for k, (begin, speed) in enumerate(switches):
        gain = (3 if k % 2 else 1) * a / w
        end = switches[k + 1][0] if k + 1 < len(switches) else np.inf

        def moved(
            t: np.ndarray, begin: float = begin, speed: float = speed, gain: float = gain
        ) -> np.ndarray:
            swing = (np.cos(w * begin) - np.cos(w * t)) / w
            return np.asarray(swing * gain + (speed - gain * np.sin(w * begin)) * (t - begin))

        here = (t >= begin) & (t < end)
        q[here] = q0 + moved(t[here])
        v[here] = speed + gain * (np.sin(w * t[here]) - np.sin(w * begin))
        q0 += moved(np.array(end)).item() if np.isfinite(end) else 0.0
    return {"x": np.column_stack([q, v])}


@register(
    group="switches",
    references=("nurkanovic-diehl-2022",),
    measures={
        "car with a turbo: top speed, in m/s": lambda run: (
            run(t_end=8, t_eval=[np.pi / (2 * 0.25)]).x[:, 1].max()
        )
    },
)
def turbo_car() -> HybridSystem:
    """Return a car whose turbo charger has two thresholds."""
    car = HybridSystem(
        "car with a turbo",
        x="q v",
        units=("m", "m/s"),
        text="The same pedal gives up to three times the thrust; it depends on the history.",
    )
    q, v = car.x
    a, w, v1, v2 = car.params(
        a=Param(5, 1, 10, "m/s2", "most thrust, by mass"),
        w=Param(0.25, 0.1, 1, "1/s", "angular frequency of the pedal"),
        v1=Param(10, 1, 14, "m/s", "turbo goes out below"),
        v2=Param(15, 11, 30, "m/s", "turbo comes in above"),
    )
    u = a * sp.cos(w * car.t)
    plain = car.mode("plain", [v, u])
    turbo = car.mode("turbo", [v, 3 * u])
    car.guard(plain, v - v2, direction=+1, to=turbo, name="turbo in")
    car.guard(turbo, v - v1, direction=-1, to=plain, name="turbo out")
    car.start(x=[0, 0], mode=plain, t_end=40, h=0.02)
    hull = (
        (-2, 0.5),
        (2, 0.5),
        (2, 1),
        (1.2, 1.15),
        (0.5, 1.75),
        (-0.9, 1.75),
        (-1.5, 1.1),
        (-2, 1),
    )
    turn = q / 5  # of a wheel, slower than it is: the eye can follow

    def on_dial(speed: sp.Expr, r: float) -> tuple[sp.Expr, sp.Expr]:
        angle = speed * sp.pi / 45
        return 3.9 + r * sp.sin(angle), 1.1 + r * sp.cos(angle)

    car.sketch(
        ground((-2.6, 0), (2.6, 0)),
        line(*hull, closed=True),
        *(circle(x, 0.42, 0.42) for x in (-1.2, 1.2)),
        *(circle(x, 0.42, 0.26, role="mark") for x in (-1.2, 1.2)),
        *(
            line((x, 0.42), (x + 0.26 * sp.sin(turn), 0.42 + 0.26 * sp.cos(turn)), role="mark")
            for x in (-1.2, 1.2)
        ),
        lamp(-0.3, 2.4, 1.6, 0.6, "mode_turbo", "turbo"),
        circle(3.9, 1.1, 1.05, role="part"),
        *(line(on_dial(x, 0.8), on_dial(x, 1.05), role="part") for x in (v1, v2)),
        line(on_dial(sp.Integer(0), 0), on_dial(v, 0.9), role="arrow"),
        name(3.9, 2.5, "speed"),
    )
    car.exact = exact
    car.published = {
        "car with a turbo: top speed, in m/s": (30.0, 1e-9, "v2 + 3 a (1 - v2 w / a) / w"),
    }
    car.preset("weak engine", "It never comes to the turbo.", a=3)
    car.preset("quick pedal", "Many short pushes.", w=0.3, v1=12, v2=14, t_end=60)
    return car
