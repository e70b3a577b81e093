"""Block on a moving belt: m x'' = -k x + friction, up to mu_s m g sticking, mu m g sliding.

With Fs = mu_s m g, Fk = mu m g, w = sqrt(k / m) and belt speed v the limit cycle is known: it
sticks for 2 (Fs - Fk) / (k v) and slides for 2 (pi - atan((Fs - Fk) w / (k v))) / w. The run begins
on it, where the block begins to stick.
"""

from collections.abc import Callable

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import belt, ground, line, spring


def cycle(m: float, k: float, mu_s: float, mu: float, g: float, v: float) -> tuple[float, float]:
    """Return how long the block sticks and how long it slides in a period, in s."""
    lead, w = (mu_s - mu) * m * g / (k * v), np.sqrt(k / m)
    return 2 * lead, 2 * (np.pi - np.arctan(lead * w)) / w


def _exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    m, k, mu, g, v = (rho[name] for name in ("m", "k", "mu", "g", "v"))
    if not min(m, k, v) > 0:  # no cycle
        return dict.fromkeys(("q", "v"), np.full((len(t), 2), np.nan))
    sticks, slides = cycle(m, k, rho["mu_s"], mu, g, v)
    w, lead, rest = np.sqrt(k / m), (rho["mu_s"] - mu) * m * g / k, mu * m * g / k
    phase = np.asarray(t, float) % (sticks + slides)
    late = phase - sticks
    x = np.where(
        late < 0, rest - lead + v * phase, rest + lead * np.cos(w * late) + v / w * np.sin(w * late)
    )
    speed = np.where(late < 0, v, -lead * w * np.sin(w * late) + v * np.cos(w * late))
    none = np.zeros_like(x)
    return {"q": np.column_stack([x, none]), "v": np.column_stack([speed, none])}


def _cycle(run: Callable[..., Solution]) -> tuple[float, float]:
    """Return how long a block of unit values sticks and slides, measured, in s."""
    unit = {"m": 1, "k": 1, "g": 1, "mu_s": 1, "mu": 0.5, "v": 0.2}
    slips, sticks, again = [
        x.t for x in run("EventDriven", t_end=30, rtol=1e-12, **unit).events[:3]
    ]
    return again - sticks, sticks - slips


@register(
    group="friction",
    references=("leine-1998",),
    measures={
        "sticks, m = k = g = mu_s = 1, mu = 0.5, v = 0.2, in s": lambda run: _cycle(run)[0],
        "slides, m = k = g = mu_s = 1, mu = 0.5, v = 0.2, in s": lambda run: _cycle(run)[1],
    },
)
def stick_slip() -> MechanicalSystem:
    """Return a block that a belt drags along until its spring tears it off."""
    system = MechanicalSystem(
        "block on a belt",
        q="x y",
        units="m",
        text="Dry friction makes a limit cycle: the block sticks to the belt, then slides back.",
    )
    (x, y), (v_x, _) = system.q, system.v
    m, k, mu_s, mu, g, v = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        k=Param(4, 0.5, 20, "N/m", "stiffness"),
        mu_s=Param(0.4, 0.05, 1, "", "friction while it sticks"),
        mu=Param(0.2, 0.01, 1, "", "friction while it slides"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        v=Param(0.5, 0.05, 2, "m/s", "speed of the belt"),
    )
    system.mass, system.force = [[m, 0], [0, m]], [-k * x, -m * g]
    system.potential = k * x**2 / 2 + m * g * y
    system.contact(Contact(gap=y, name="belt", mu=mu, mu_s=mu_s, slip=v_x - v))
    system.start(q=[(2 * mu - mu_s) * m * g / k, 0], v=[v, 0], t_end=12)
    system.exact = _exact
    system.sketch(
        *belt(-0.8, 2.9, 0.12),
        ground((-1, 0.6), (-1, 0)),
        spring((-1, 0.2), (x - 0.25, y + 0.2), force=k * x),
        line((x - 0.25, y), (x + 0.25, y), (x + 0.25, y + 0.4), (x - 0.25, y + 0.4), closed=True),
    )
    system.published = {
        "sticks, m = k = g = mu_s = 1, mu = 0.5, v = 0.2, in s": (5, 1e-9, "closed form"),
        "slides, m = k = g = mu_s = 1, mu = 0.5, v = 0.2, in s": (3.902605, 1e-6, "closed form"),
    }
    system.preset(
        "textbook",
        "Fs = 1 N, Fk = 0.5 N: sticks 5 s, slides 3.9026 s.",
        m=1,
        k=1,
        mu_s=1,
        mu=0.5,
        g=1,
        v=0.2,
        t_end=40,
    )
    system.preset("fast belt", "It sticks only for a moment.", v=1.5)
    system.preset(
        "no drop", "Static friction is as small as sliding friction: no cycle.", mu=0.4, mu_s=0.4
    )
    return system
