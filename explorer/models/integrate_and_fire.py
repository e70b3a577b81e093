"""Integrate and fire: v' = -gamma v + S + A sin(omega t); at v = 1 the neuron fires, v+ = 0.

Alone (A = 0) it fires every ln(S / (S - gamma)) / gamma seconds, if S > gamma. A periodic current
locks it: p pulses in q of its periods, on tongues of (S, A). From v(t) = 0 to v(t + P) = 1, with
P = 2 pi / omega, the linear equation gives the edges of the tongue of one pulse in each period,

    S = gamma / (1 - exp(-gamma P)) +- gamma A / sqrt(gamma^2 + omega^2)

while S - A > gamma, so that v rises through the threshold at any phase (Coombes and Bressloff,
*Phys. Rev. E* 60 (1999) 2086, doi:10.1103/PhysRevE.60.2086).
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.schematic import lamp, name, path, tank
from explorer.systems.sketch import line


def tongue(gamma: float, A: float, omega: float) -> tuple[float, float]:
    """Return the least and the largest S with one pulse in each period."""
    middle = gamma / -np.expm1(-2 * np.pi * gamma / omega)
    half = gamma * A / np.hypot(gamma, omega)
    return float(middle - half), float(middle + half)


def winding(run: Callable[..., Solution], S: float) -> float:
    """Return how many pulses there are in a period, over 300 of them."""
    done = run("EventDriven", S=S, t_end=400.0)
    times = np.array([e.t for e in done.events])
    late = times[times > 100]
    return float((len(late) - 1) / (late[-1] - late[0]))


def _edge(run: Callable[..., Solution], out: float) -> float:
    """Return S where one pulse in each period ends, by bisection between S = 1.58 and `out`."""
    inside, outside = 1.58, out
    while abs(inside - outside) > 1e-6:
        S = 0.5 * (inside + outside)
        locked = abs(winding(run, S) - 1) < 1e-4
        inside, outside = (S, outside) if locked else (inside, S)
    return inside


@register(
    group="switches",
    references=("coombes-bressloff-1999",),
    measures={
        "neuron: period alone, in s": lambda run: run("EventDriven", A=0).events[0].t,
        "neuron: least S with one pulse in each period, in 1/s": lambda run: _edge(run, 1.4),
        "neuron: largest S with one pulse in each period, in 1/s": lambda run: _edge(run, 1.8),
    },
)
def integrate_and_fire() -> HybridSystem:
    """Return a neuron that fires at a threshold, driven by a periodic current."""
    neuron = HybridSystem(
        "neuron that integrates and fires",
        x="v",
        text="A leaky integrator with a reset: its pulses lock to those of the drive.",
    )
    (v,), t = neuron.x, neuron.t
    gamma, S, A, w, v0 = neuron.params(
        gamma=Param(1, 0.2, 3, "1/s", "leak"),
        S=Param(1.55, 0.5, 4, "1/s", "mean current"),
        A=Param(0.5, 0, 2, "1/s", "amplitude of the current"),
        omega=Param(2 * float(np.pi), 2, 12, "rad/s", "its frequency"),
        v0=Param(0, 0, 0.9, "", "start"),
    )
    current = S + A * sp.sin(w * t)
    rise = neuron.mode("integrates", [current - gamma * v])
    neuron.guard(rise, v - 1, direction=+1, reset={v: 0}, name="fires")
    neuron.start(x=[v0], mode=rise, t_end=12, h=2e-3)
    neuron.sketch(
        path((-3, 3.4), (0, 3.4), (0, 2.9), lit=current),
        name(-1.7, 3.75, "current"),
        tank(0, 0, 1.6, 2.6, v / 1.3),
        line((-0.95, 2.0), (0.95, 2.0), role="trace"),
        name(2.0, 2.0, "threshold"),
        path((0.8, 0.25), (1.9, 0.25), (1.9, -0.5), lit=v),
        name(2.6, 0.2, "leak"),
        lamp(4.2, 1.1, 0.7, 0.7, sp.exp(-8 * v)),
        name(4.2, 1.75, "pulse"),
    )
    low, high = tongue(1.0, 0.5, 2 * np.pi)
    neuron.published = {
        "neuron: period alone, in s": (
            1.0360919316867756,
            1e-9,
            "closed form, ln(S / (S - gamma)) / gamma",
        ),
        "neuron: least S with one pulse in each period, in 1/s": (low, 2e-4, "closed form"),
        "neuron: largest S with one pulse in each period, in 1/s": (high, 2e-4, "closed form"),
    }
    neuron.preset("alone", "No drive: it keeps its own period.", A=0)
    neuron.preset("two in three", "Two pulses in three periods of the drive.", S=1.28, t_end=18)
    neuron.preset("silent", "Too little current: the leak wins.", S=0.8, A=0.3)
    return neuron
