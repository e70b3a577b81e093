"""A resonant tank L, C in series with a resistor R and an ideal diode.

C v' = -i - i_D, L i' = v, and 0 <= R i_D - v perp i_D >= 0. While the diode blocks (v < 0) the tank
swings freely with 1 / sqrt(L C); while it conducts, i_D = v / R takes energy. So the amplitude
falls in every second half swing only (model of Siconos, CircuitRLCD).
"""

import numpy as np
import scipy

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import FirstOrderSystem
from explorer.systems.schematic import capacitor, inductor, resistor, wire
from explorer.systems.schematic import diode as diode_of


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return v and i, (n_t, 2): half swings joined at v = 0; NaN unless R > sqrt(L / C) / 2."""
    t, (R, L, C, v0) = np.asarray(t, float), (rho[k] for k in ("R", "L", "C", "v0"))
    a, w2 = 1 / (2 * R * C), 1 / (L * C)
    w, w0 = np.sqrt(w2 - a**2) if w2 > a**2 else np.nan, np.sqrt(w2)
    x = np.full((len(t), 2), np.nan)
    if not (np.isfinite(w) and v0 > 0):
        return {"x": x}

    def swing(s: np.ndarray, v: float, i: float, a: float, w: float) -> np.ndarray:
        """v'' + 2 a v' + w0^2 v = 0 with C v' = -i - 2 a C v."""
        decay = np.exp(-a * s)
        other = -(i / C + a * v) / w
        value = decay * (v * np.cos(w * s) + other * np.sin(w * s))
        current = i * np.cos(w * s) + (v / L + a * i) / w * np.sin(w * s)
        return np.column_stack([value, decay * current])

    # from (v0, 0) to v = 0 while it conducts, then half swings with turns
    first = scipy.optimize.brentq(
        lambda s: swing(np.array([s]), v0, 0.0, a, w)[0, 0], 0, np.pi / w, xtol=1e-18
    )
    begin, state, conducts = 0.0, (v0, 0.0), True
    length = first
    while begin <= t.max(initial=0.0):
        here = (t >= begin) & (t <= begin + length)
        kind = (a, w) if conducts else (0.0, w0)
        x[here] = swing(t[here] - begin, *state, *kind)
        state = (0.0, float(swing(np.array([length]), *state, *kind)[0, 1]))
        begin, conducts = begin + length, not conducts
        length = np.pi / w if conducts else np.pi / w0
    return {"x": x}


@register(group="circuits", references=("acary-bonnefon-brogliato-2011", "siconos-2019"))
def rlcd_circuit() -> FirstOrderSystem:
    """Return a resonant tank with a diode."""
    system = FirstOrderSystem(
        "RLCD circuit",
        x="v i",
        units=("V", "A"),
        text="One ideal diode: the circuit changes its equations, but one formula describes it.",
    )
    v, i = system.x
    R, L, C, v0 = system.params(
        R=Param(1000, 100, 5000, "Ω", "resistance"),
        L=Param(1e-2, 1e-3, 1e-1, "H", "inductance", log=True),
        C=Param(1e-6, 1e-7, 1e-5, "F", "capacitance", log=True),
        v0=Param(10, 1, 20, "V", "start voltage"),
    )
    diode = system.law("i_D", unit="A", y_name="v_D", y_unit="V")
    system.f = [-i / C, v / L]
    system.r = {v: -diode / C}
    system.y = [R * diode - v]
    system.output("v_R", R * diode, "V")
    system.start(x=[v0, 0], t_end=5e-3, h=1e-5)
    top, total = 2.8, i + diode
    system.sketch(
        capacitor((0, top), (0, 0), "C", -total),
        wire((0, top), (2, top), current=total),
        inductor((2, top), (2, 0), "L", i),
        wire((2, top), (4, top), current=diode),
        resistor((4, top), (4, top / 2), "R", diode),
        diode_of((4, top / 2), (4, 0), diode, "D"),
        wire((4, 0), (2, 0), current=diode),
        wire((2, 0), (0, 0), current=total),
    )
    system.exact = exact
    system.preset("explicit law", "gamma = 0: the diode acts a step late.", gamma=0)
    system.preset("small resistance", "R near sqrt(L / C) / 2 stops it in one half swing.", R=60)
    return system
