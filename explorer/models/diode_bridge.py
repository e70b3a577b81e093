"""Diode bridge: an LC tank feeds a resistor through four ideal diodes.

C v' = -i + i_F - i_R,  L i' = v. The bridge turns the current round, so the resistor sees |v|: one
pair of diodes conducts at a time, and towards the tank the bridge is the resistor itself. The tank
is linear, v'' + v' / (R C) + v / (L C) = 0, and has a closed form (model of Siconos, DiodeBridge).
"""

from collections.abc import Callable

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import FirstOrderSystem
from explorer.systems.schematic import capacitor, diode, earth, inductor, resistor, wire


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return v and i, (n_t, 2): a damped oscillation; NaN unless R > sqrt(L / C) / 2."""
    t, (R, L, C, v0) = np.asarray(t, float), (rho[k] for k in ("R", "L", "C", "v0"))
    a, w2 = 1 / (2 * R * C), 1 / (L * C)
    w = np.sqrt(w2 - a**2) if w2 > a**2 else np.nan
    decay = v0 * np.exp(-a * t)
    v = decay * (np.cos(w * t) - a / w * np.sin(w * t))
    return {"x": np.column_stack([v, decay * np.sin(w * t) / (w * L)])}


def _fine(run: Callable[..., Solution], gamma: float) -> float:
    """Return the voltage at 4.999 ms in steps of 1 us, theta = 1/2."""
    done = run("EulerMoreau", theta=0.5, gamma=gamma, h=1e-6, t_end=4.999e-3)
    return float(done.x[-1, 0])


@register(
    group="circuits",
    references=("acary-bonnefon-brogliato-2011", "siconos-2019"),
    measures={
        "diode bridge: v(4.999 ms), in V": lambda run: _fine(run, 0.5),
        "diode bridge: v(4.999 ms), h = 1 us, gamma = 1, in V": lambda run: _fine(run, 1.0),
    },
)
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
    v_R1 = system.law("v_R1", unit="V", y_name="i_R1", y_unit="A")
    v_F2 = system.law("v_F2", unit="V", y_name="i_F2", y_unit="A")
    i_F1 = system.law("i_F1", unit="A", y_name="v_F1", y_unit="V")
    i_R2 = system.law("i_R2", unit="A", y_name="v_R2", y_unit="V")
    system.affine(A=[[0, -1 / C], [1 / L, 0]])
    system.linear(
        C=[[0, 0], [0, 0], [-1, 0], [1, 0]],
        D=[[1 / R, 1 / R, -1, 0], [1 / R, 1 / R, 0, -1], [1, 0, 0, 0], [0, 1, 0, 0]],
        B=[[0, 0, -1 / C, 1 / C], [0, 0, 0, 0]],
    )
    system.output("v_load", "v_R1 + v_F2", "V")
    system.output("i_load", "(v_R1 + v_F2)/R", "A")
    system.start(x=[v0, 0], t_end=5e-3, h=5e-6)
    i, load = system.x[1], (v_R1 + v_F2) / R
    into = i_F1 - i_R2  # from the tank into the bridge
    left, right, up, down = (3.6, 1.5), (6.8, 1.5), (5.2, 3.1), (5.2, -0.1)
    system.sketch(
        capacitor((0, 3.1), (0, 0), "C", -i - into),
        wire((0, 3.1), (1.8, 3.1), current=i + into),
        inductor((1.8, 3.1), (1.8, 0), "L", i),
        wire((1.8, 0), (0, 0), current=i),
        wire((1.8, 3.1), (3.2, 3.1), (3.2, 1.5), left, current=into),
        diode(left, up, i_F1),
        diode(right, up, load - i_F1),
        diode(down, right, load - i_R2),
        diode(down, left, i_R2),
        wire(up, (8.6, 3.1), current=load),
        resistor((8.6, 3.1), (8.6, -0.1), "R", load),
        wire((8.6, -0.1), down, current=load),
        wire(right, (7.4, 1.5), current=into),
        earth(7.4, 1.5),
        earth(0, 0),
    )
    system.exact = exact
    system.published = {
        "diode bridge: v(4.999 ms), in V": (0.788425, 5e-4, "closed form"),
        "diode bridge: v(4.999 ms), h = 1 us, gamma = 1, in V": (
            0.786384,
            1e-6,
            "Siconos DiodeBridge",
        ),
    }
    system.preset("implicit", "theta = 1 damps the tank: energy that no resistor took.", theta=1)
    system.preset("weak damping", "A larger load resistance: ringing for longer.", R=5000)
    return system
