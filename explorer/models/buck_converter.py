"""Buck converter: a switch, driven by a comparison with a ramp, turns V_in down to about V_ref.

L i' = u V_in - v + v_D, C v' = i - v / R. The switch is a relay: u = 1 while the control voltage
a (v - V_ref) is below the sawtooth from V_low to V_up of period T, else 0. The diode lets no
current flow back, 0 <= i perp v_D >= 0. As V_in rises the period of the cycle doubles at 24.516 V
and again at 31.12 V, and chaos follows (Fossas and Olivar, *IEEE Trans. Circuits Syst. I* 43 (1996)
13).
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import FirstOrderSystem


@register(references=("fossas-olivar-1996",))
def buck_converter() -> FirstOrderSystem:
    """Return a voltage-controlled buck converter."""
    system = FirstOrderSystem(
        "buck converter",
        x="v i",
        units=("V", "A"),
        text="A clock switches this circuit; its period doubles again and again, up to chaos.",
    )
    (v, i), t = system.x, system.t
    V_in, R, L, C, a, V_ref, V_low, V_up, T = system.params(
        V_in=Param(20, 15, 35, "V", "input"),
        R=Param(22, 10, 50, "Ω", "load"),
        L=Param(20e-3, 5e-3, 50e-3, "H", "inductance"),
        C=Param(47e-6, 1e-5, 1e-4, "F", "capacitance"),
        a=Param(8.4, 1, 20, "", "gain of the control"),
        V_ref=Param(11.3, 5, 15, "V", "wanted output"),
        V_low=Param(3.8, 0, 6, "V", "bottom of the ramp"),
        V_up=Param(8.2, 6, 12, "V", "top of the ramp"),
        T=Param(400e-6, 1e-4, 1e-3, "s", "period of the ramp"),
    )
    # phase of the clock in [0, 1), by an angle; a tick is the first moment of its period
    angle = 2 * sp.pi * (t / T + sp.Float(1e-6))
    phase = sp.Rational(1, 2) + sp.atan2(-sp.sin(angle), -sp.cos(angle)) / (2 * sp.pi)
    u = system.law("u", "relay", lb=0, ub=1, y_name="v_e", y_unit="V")
    v_D = system.law("v_D", unit="V", y_name="i_D", y_unit="A")
    system.f = [(i - v / R) / C, -v / L]
    system.r = {i: (u * V_in + v_D) / L}
    system.y = [a * (v - V_ref) - V_low - (V_up - V_low) * phase, i]
    system.output("v_ramp", V_low + (V_up - V_low) * phase, "V")
    system.output("v_control", a * (v - V_ref), "V")
    system.start(x=[12, 0.55], t_end=0.01, h=2e-6)
    system.published = {
        "buck converter: the period doubles at V_in": (24.516, 0.05, "Fossas and Olivar 1996"),
        "buck converter: the period doubles again at V_in": (31.12, 0.03, "recomputed"),
    }
    system.preset("doubled", "Above 24.516 V two periods of the clock make one cycle.", V_in=28)
    system.preset("chaos", "Above 32.27 V no period is left.", V_in=33)
    system.preset(
        "light load", "The current comes to rest in each period: the diode blocks.", R=200, V_in=24
    )
    return system
