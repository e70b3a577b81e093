"""Boost converter: a clock turns the switch on, the current I_ref turns it off; V_in goes up to v.

On, L i' = V_in and C v' = -v / R; off, L i' = V_in - v and C v' = i - v / R, until the next tick
of the clock, s = 1 with s' = 1 / T. Should the current come down to zero before, the diode blocks
and it rests. The cycle of one tick doubles where the switch is on for half of the time: with a
large C, v = 2 V_in, the mean current is v^2 / (R V_in), and I_ref is half of the ripple above it,

    I_ref = 4 V_in / R + V_in T / (4 L),

because a deviation of the current grows by the ratio of both slopes, (v - V_in) / V_in, from tick
to tick. Period doublings, border collisions and chaos follow (Chan and Tse, *IEEE Trans. Circuits
Syst. I* 44 (1997) 1129; Banerjee and Chakrabarty, *IEEE Trans. Power Electron.* 13 (1998) 252).
"""

from collections.abc import Callable

import scipy
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.schematic import capacitor, diode, inductor, resistor, source, switch, wire


def _doubling(C: float) -> float:
    """Return I_ref at which a multiplier of the cycle of one tick is -1, in A."""
    from explorer.study.limit_cycle import limit_cycle

    system = boost_converter()

    def above(I_ref: float) -> float:
        guess = [20.0, I_ref - 0.5, 0.0]
        rho = {"C": C, "I_ref": I_ref}
        cycle = limit_cycle(system, section="tick", guess=guess, rho=rho)
        return float(cycle.multipliers.real.min()) + 1

    return float(scipy.optimize.brentq(above, 2.1, 2.3, xtol=1e-8))


def _large(_: Callable[..., Solution]) -> float:
    return _doubling(1e-2)


def _usual(_: Callable[..., Solution]) -> float:
    return _doubling(1e-4)


@register(
    group="circuits",
    references=("chan-tse-1997", "banerjee-chakrabarty-1998"),
    measures={
        "boost converter: I_ref at which the period doubles, C = 10 mF, in A": _large,
        "boost converter: I_ref at which the period doubles, C = 100 uF, in A": _usual,
    },
)
def boost_converter() -> HybridSystem:
    """Return a boost converter that is controlled by the peak of its current."""
    system = HybridSystem(
        "boost converter",
        x="v i s",
        units=("V", "A", ""),
        text="On by the clock, off by the current: above half of the time on, cycles double.",
    )
    v, i, s = system.x
    V_in, R, L, C, I_ref, T = system.params(
        V_in=Param(10, 5, 20, "V", "input"),
        R=Param(20, 10, 60, "Ω", "load"),
        L=Param(1e-3, 3e-4, 3e-3, "H", "inductance"),
        C=Param(1e-4, 1e-5, 1e-3, "F", "capacitance", log=True),
        I_ref=Param(1.5, 0.5, 5, "A", "peak of the current"),
        T=Param(1e-4, 2e-5, 3e-4, "s", "period of the clock"),
    )
    on = system.mode("on", [-v / (R * C), V_in / L, 1 / T])
    off = system.mode("off", [(i - v / R) / C, (V_in - v) / L, 1 / T])
    idle = system.mode("idle", [-v / (R * C), 0, 1 / T])
    system.guard(on, i - I_ref, direction=+1, to=off, name="opens")
    system.guard(off, i, direction=-1, to=idle, reset={i: 0}, name="blocks")
    system.guard([on, off, idle], s - 1, direction=+1, to=on, reset={s: 0}, name="tick")
    system.start(x=[16, 1, 0], mode=on, t_end=0.01, h=2e-6)
    closed, top = sp.Symbol("mode_on"), 2.8
    load, through = v / R, (1 - closed) * i
    system.sketch(
        source((0, 0), (0, top), "V_in", i),
        inductor((0, top), (2.4, top), "L", i),
        switch((2.4, top), (2.4, 0), closed, "switch", closed * i),
        diode((2.4, top), (4.8, top), through),
        capacitor((4.8, top), (4.8, 0), "C", through - load),
        wire((4.8, top), (6.6, top), current=load),
        resistor((6.6, top), (6.6, 0), "R", load),
        wire((6.6, 0), (4.8, 0), current=load),
        wire((4.8, 0), (2.4, 0), current=through),
        wire((2.4, 0), (0, 0), current=i),
    )
    system.published = {
        "boost converter: I_ref at which the period doubles, C = 10 mF, in A": (
            2.25,
            5e-3,
            "closed form for C without bound, 4 V_in / R + V_in T / (4 L)",
        ),
        "boost converter: I_ref at which the period doubles, C = 100 uF, in A": (
            2.184337,
            1e-5,
            "recomputed, tick by tick in closed form",
        ),
    }
    system.preset("doubled", "Long and short pulses in turn.", I_ref=2.4)
    system.preset("chaos", "No two pulses are equal.", I_ref=4, t_end=0.02)
    system.preset("light load", "The current comes to rest in each period.", R=60, I_ref=0.5)
    return system
