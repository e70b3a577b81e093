"""Thermostat: T' = -a (T - x_m), heating on (x_on) until T = U, off (x_off) until T = L.

A relay with hysteresis: between L and U the temperature alone does not say whether it heats, the
mode remembers. Closed form: after the first rise it swings between L and U with the period
(1/a) [ln((xo - L) / (xo - U)) + ln((U - xe) / (L - xe))].
"""

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import HybridSystem
from explorer.systems.schematic import lamp, name, path, tank
from explorer.systems.sketch import Shape, line
from explorer.types import Formula


def times(rho: dict[str, float]) -> tuple[float, float]:
    """Return how long it heats from L to U and cools from U to L, in s (infinite: never there)."""
    a, xe, xo, L, U = (rho[name] for name in ("a", "xe", "xo", "L", "U"))
    heats = float(np.log((xo - L) / (xo - U)) / a) if xo > U else np.inf
    cools = float(np.log((U - xe) / (L - xe)) / a) if xe < L else np.inf
    return heats, cools


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x, (n_t, 1), of a room that heats from L on."""
    a, xe, xo, L, U = (rho[name] for name in ("a", "xe", "xo", "L", "U"))
    heats, cools = times(rho)
    s = np.mod(t, heats + cools) if np.isfinite(heats + cools) else np.asarray(t, float)
    up = xo + (L - xo) * np.exp(-a * s)
    down = xe + (U - xe) * np.exp(-a * np.maximum(s - heats, 0))
    return {"x": np.where(s < heats, up, down)[:, None]}


@register(
    group="switches",
    references=("goebel-2012",),
    measures={"thermostat: period, in s": lambda run: run().events[2].t - run().events[0].t},
)
def thermostat() -> HybridSystem:
    """Return a room with a heater that is switched on below L and off above U."""
    room = HybridSystem(
        "thermostat",
        x="T",
        units="degC",
        text="Two thresholds: between them the mode depends on the history.",
    )
    (T,) = room.x
    a, xe, xo, L, U = room.params(
        a=Param(0.1, 0.02, 0.5, "1/s", "rate of exchange"),
        xe=Param(15, 0, 18, "degC", "temperature outside"),
        xo=Param(30, 23, 60, "degC", "temperature that heating alone would reach"),
        L=Param(19, 18.5, 19.9, "degC", "switches on below"),
        U=Param(21, 20.1, 22.5, "degC", "switches off above"),
    )
    on = room.mode("on", [-a * (T - xo)])
    off = room.mode("off", [-a * (T - xe)])
    room.guard(on, T - U, direction=+1, to=off, name="too hot")
    room.guard(off, T - L, direction=-1, to=on, name="too cold")
    room.start(x=[L], mode=on, t_end=20, h=0.01)

    def height(value: Formula) -> Formula:
        return 0.5 + 2.2 * (value - L + 2) / (U - L + 4)

    walls = ((0, 0), (5, 0), (5, 3.2), (2.5, 4.4), (0, 3.2), (0, 0))
    room.sketch(
        path(*walls, head=""),
        tank(3.8, 0.5, 0.4, 2.2, (height(T) - 0.5) / 2.2),
        name(3.8, 3.0, "T"),
        *(line((3.5, height(x)), (4.1, height(x)), role="trace") for x in (L, U)),
        *(Shape(((4.3, height(x)),), "text", "text", label=x.name) for x in (L, U)),
        *(lamp(0.7 + 0.35 * k, 0.9, 0.25, 1.2, "mode_on") for k in range(5)),
        name(1.4, 1.9, "heater"),
    )
    room.exact = exact
    room.published = {"thermostat: period, in s": (6.061358, 1e-5, "closed form")}
    room.preset(
        "narrow band", "The closer the thresholds, the more often it switches.", L=19.9, U=20.1
    )
    room.preset("cold day", "Outside at 0 °C: short pauses, long heating.", xe=0, xo=23, t_end=60)
    room.preset("strong heater", "Short pulses of heat, slow cooling.", xo=60, a=0.05, t_end=60)
    return room
