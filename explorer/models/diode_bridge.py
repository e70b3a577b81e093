"""Diode bridge: an LC tank feeds a resistor through four ideal diodes.

C v' = -i + i_F - i_R,  L i' = v. The bridge turns the current round, so the resistor sees |v|: one
pair of diodes conducts at a time, and towards the tank the bridge is the resistor itself. The tank
is linear, v'' + v' / (R C) + v / (L C) = 0, and has a closed form (model of Siconos, DiodeBridge).
"""

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import FirstOrderSystem


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return v and i, (n_t, 2): a damped oscillation; NaN unless R > sqrt(L / C) / 2."""
    t, (R, L, C, v0) = np.asarray(t, float), (rho[k] for k in ("R", "L", "C", "v0"))
    a, w2 = 1 / (2 * R * C), 1 / (L * C)
    w = np.sqrt(w2 - a**2) if w2 > a**2 else np.nan
    decay = v0 * np.exp(-a * t)
    v = decay * (np.cos(w * t) - a / w * np.sin(w * t))
    return {"x": np.column_stack([v, decay * np.sin(w * t) / (w * L)])}


@register(references=("acary-bonnefon-brogliato-2011", "siconos-2019"))
def diode_bridge() -> FirstOrderSystem:
    """Return a resonant tank with a full-wave rectifier."""
    system = FirstOrderSystem(
        "diode bridge",
        x="v i",
        units=("V", "A"),
        text="Four ideal diodes: two conduct, two block; the equations decide when.",
    )
    R, L, C, v0 = system.params(
        R=Param(1000, 100, 5000, "Ω", "load"),
        L=Param(1e-2, 1e-3, 1e-1, "H", "inductance", log=True),
        C=Param(1e-6, 1e-7, 1e-5, "F", "capacitance", log=True),
        v0=Param(10, 1, 20, "V", "start voltage"),
    )
    # diodes to ground: their blocking voltages; diodes from the tank: their currents
    system.law("v_R1", unit="V", y_name="i_R1", y_unit="A")
    system.law("v_F2", unit="V", y_name="i_F2", y_unit="A")
    system.law("i_F1", unit="A", y_name="v_F1", y_unit="V")
    system.law("i_R2", unit="A", y_name="v_R2", y_unit="V")
    system.affine(A=[[0, -1 / C], [1 / L, 0]])
    system.linear(
        C=[[0, 0], [0, 0], [-1, 0], [1, 0]],
        D=[[1 / R, 1 / R, -1, 0], [1 / R, 1 / R, 0, -1], [1, 0, 0, 0], [0, 1, 0, 0]],
        B=[[0, 0, -1 / C, 1 / C], [0, 0, 0, 0]],
    )
    system.output("v_load", "v_R1 + v_F2", "V")
    system.output("i_load", "(v_R1 + v_F2)/R", "A")
    system.start(x=[v0, 0], t_end=5e-3, h=5e-6)
    system.exact = exact
    system.published = {
        "diode bridge: v(4.999 ms)": (0.788425, 1e-6, "closed form; Siconos, h = 1 us: 0.786384"),
    }
    system.preset("implicit", "theta = 1 damps the tank: energy that no resistor took.", theta=1)
    system.preset("weak damping", "A larger load resistance: ringing for longer.", R=5000)
    return system
