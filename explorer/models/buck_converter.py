"""Buck converter: a switch, driven by a comparison with a ramp, turns V_in down to about V_ref.

L i' = u V_in - v + v_D, C v' = i - v / R. The switch is a relay: u = 1 while the control voltage
a (v - V_ref) is below the sawtooth from V_low to V_up of period T, else 0. The diode lets no
current flow back, 0 <= i perp v_D >= 0. As V_in rises the period of the cycle doubles at 24.516 V
and again at 31.12 V, it is 16 at 32.25 V, and chaos follows (Fossas and Olivar, *IEEE Trans.
Circuits Syst. I* 43 (1996) 13).

Where i stays above zero, the circuit has two modes and a clock s, s' = 1 / T, that is set back to
zero when it reaches one: `buck_modes`. Its switchings are located, so cycles can be followed.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import FirstOrderSystem, HybridSystem, System
from explorer.systems.schematic import (
    capacitor,
    diode,
    inductor,
    resistor,
    source,
    switch,
    wire,
)


def _doublings() -> tuple[float, float]:
    """Return V_in at which the cycle of one and that of two periods of the clock double, in V."""
    from explorer.study.continuation import continuation

    single = continuation(
        buck_modes(), parameter="V_in", section="tick", over=(20, 33), direction="up"
    )
    return single.found("flip")[0].parameter, single.switch().found("flip")[0].parameter


def _period(_: Callable[..., Solution]) -> float:
    """Return how many ticks of the clock make one cycle at 32.25 V, after 1500 of them."""
    from explorer.study.orbit_diagram import orbit_diagram
    from explorer.study.section import Section

    found = orbit_diagram(
        buck_modes(),
        over={"V_in": [32.25]},
        section=Section(event="tick"),
        transient="1500 * T",
        t_end="1564.5 * T",
        points=64,
        progress=False,
    )
    return float(len(np.unique(found.dots("i")[1].round(6))))


_MEASURES = {
    "buck converter: the period doubles at V_in, in V": lambda _: _doublings()[0],
    "buck converter: the period doubles again at V_in, in V": lambda _: _doublings()[1],
    "buck converter: periods of the clock in a cycle at 32.25 V": _period,
}
_PUBLISHED = {
    "buck converter: the period doubles at V_in, in V": (24.516, 2e-3, "Fossas and Olivar 1996"),
    "buck converter: the period doubles again at V_in, in V": (
        31.121,
        1e-2,
        "as quoted of Fossas and Olivar",
    ),
    "buck converter: periods of the clock in a cycle at 32.25 V": (16, 0.0, "recomputed"),
}


def _parameters(system: System) -> tuple[sp.Symbol, ...]:
    return system.params(
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


def _draw(system: System, u: sp.Symbol, v: sp.Symbol, i: sp.Symbol, R: sp.Symbol) -> None:
    top, load = 2.8, v / R
    system.sketch(
        source((0, 0), (0, top), "V_in", u * i),
        switch((0, top), (2.4, top), u, "switch", u * i),
        diode((2.4, 0), (2.4, top), (1 - u) * i),
        inductor((2.4, top), (4.8, top), "L", i),
        capacitor((4.8, top), (4.8, 0), "C", i - load),
        wire((4.8, top), (6.6, top), current=load),
        resistor((6.6, top), (6.6, 0), "R", load),
        wire((6.6, 0), (4.8, 0), current=load),
        wire((4.8, 0), (2.4, 0), current=i),
        wire((2.4, 0), (0, 0), current=u * i),
    )


@register(group="circuits", references=("fossas-olivar-1996",), measures=_MEASURES)
def buck_converter() -> FirstOrderSystem:
    """Return a voltage-controlled buck converter."""
    system = FirstOrderSystem(
        "buck converter",
        x="v i",
        units=("V", "A"),
        text="A clock switches this circuit; its period doubles again and again, up to chaos.",
    )
    (v, i), t = system.x, system.t
    V_in, R, L, C, a, V_ref, V_low, V_up, T = _parameters(system)
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
    _draw(system, u, v, i, R)
    system.published = _PUBLISHED
    system.preset("doubled", "Above 24.516 V two periods of the clock make one cycle.", V_in=28)
    system.preset("chaos", "Above 32.27 V no period is left.", V_in=33)
    system.preset(
        "light load", "The current comes to rest in each period: the diode blocks.", R=200, V_in=24
    )
    return system


@register(group="circuits", references=("fossas-olivar-1996",), measures=_MEASURES)
def buck_modes() -> HybridSystem:
    """Return the buck converter as two modes with a clock, for currents above zero."""
    system = HybridSystem(
        "buck converter, by modes",
        x="v i s",
        units=("V", "A", ""),
        text="The same circuit, switching by switching: its cycles can be followed.",
    )
    v, i, s = system.x
    V_in, R, L, C, a, V_ref, V_low, V_up, T = _parameters(system)
    on = system.mode("on", [(i - v / R) / C, (V_in - v) / L, 1 / T])
    off = system.mode("off", [(i - v / R) / C, -v / L, 1 / T])
    control = a * (v - V_ref)
    over = control - V_low - (V_up - V_low) * s
    system.guard(on, over, direction=+1, to=off, name="opens")
    system.guard(off, over, direction=-1, to=on, name="closes")
    # at a tick the ramp falls to its bottom, mostly below the control voltage
    after = {off: control - V_low, on: V_low - control}
    system.guard([on, off], s - 1, direction=+1, to=after, reset={s: 0}, name="tick")
    system.start(x=[12, 0.6, 0], mode=off, t_end=0.01, h=2e-6)
    _draw(system, sp.Symbol("mode_on"), v, i, R)
    system.published = _PUBLISHED
    system.preset("doubled", "Above 24.516 V two periods of the clock make one cycle.", V_in=28)
    system.preset("chaos", "Above 32.27 V no period is left.", V_in=33, t_end=0.03)
    return system
