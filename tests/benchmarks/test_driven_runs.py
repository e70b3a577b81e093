"""What inputs along time cost: runs with them against runs at a constant input, whole calls."""

import time

import numpy as np
import pytest

import explorer as ex
from explorer.systems import System

AIM, MOST = 1.1, 1.15  # the set-up of a call of a millisecond weighs more on some processors


def chain() -> ex.MechanicalSystem:
    """Return six masses between springs that harden, pushed at both ends."""
    system = ex.MechanicalSystem("chain", q=[f"x{i}" for i in range(6)], mass=np.eye(6).tolist())
    system.inputs("u w", units="N")
    left, right = ["0", *(f"x{i}" for i in range(5))], [*(f"x{i}" for i in range(1, 6)), "0"]
    forces = [
        f"30*({a} - 2*x{i} + {b}) - v_x{i}/10 - x{i}**3"
        for i, (a, b) in enumerate(zip(left, right, strict=True))
    ]
    system.force = [f"{forces[0]} + u", *forces[1:-1], f"{forces[-1]} + w"]
    system.start(q=[0.1 * i for i in range(6)], t_end=1, h=1e-3)
    return system


def pendulum() -> ex.MechanicalSystem:
    """Return a point on a circle that an input pushes."""
    system = ex.MechanicalSystem("pendulum", q="x y", mass=[[1, 0], [0, 1]])
    system.inputs("u", units="N")
    system.force = ["u", "-9.81"]
    system.constraint("x**2 + y**2 - 1")
    system.start(q=[1, 0], t_end=1, h=1e-3)
    return system


def crossing() -> ex.StepSystem:
    """Return a mass with dry friction that an input pushes."""
    system = ex.StepSystem("dry friction", x="x v")
    system.inputs("u")
    system.f = ["v", "u - 2*sign(v)"]
    system.start(x=[0, 1], t_end=1, h=1e-3)
    return system


CASES = {
    "Moreau-Jean, constraint": (pendulum, ex.MoreauJean(h=1e-3), 1.0),
    "Newmark, nonlinear": (chain, ex.Newmark(h=1e-3), 1.0),
    "generalised-alpha, nonlinear": (chain, ex.GeneralizedAlpha(h=1e-3), 1.0),
    "nonsmooth generalised-alpha": (chain, ex.NonsmoothGeneralizedAlpha(h=1e-3), 1.0),
    "FESD": (crossing, ex.FESD(h=1e-3), 1.0),
    "EventDriven": (chain, ex.EventDriven(rtol=1e-10, atol=1e-12), 60.0),
}


@pytest.mark.parametrize("name", CASES)
def test_inputs_cost_about_a_tenth(name):
    """Fifty intervals in about a thousand steps, the values of each call in arrays of their own.

    Of this thread, each before the other in turn, up to two hundred pairs, for other processes take
    the caches away: the least of each, or the median of the pairs where none was left alone. Every
    twenty pairs have a system of their own, whose code lies elsewhere in memory.
    """
    make, scheme, t_end = CASES[name]
    grid = np.linspace(0, t_end, 51)

    def seconds(system: System, **arguments: object) -> float:
        begin = time.thread_time()
        ex.simulate(system, scheme, t_end=t_end, **arguments)
        return time.thread_time() - begin

    def pair(system: System, kind: str, first: bool) -> tuple[float, float]:
        names = system.input_names
        values = np.full(50 + (kind == "linear"), 0.3)  # the same work
        u = dict.fromkeys(names, ex.Input(grid, values, kind))
        driven = seconds(system, u=u) if first else np.inf
        plain = seconds(system, rho=dict.fromkeys(names, 0.3))
        return plain, driven if first else seconds(system, u=u)

    for kind in ("constant", "linear"):
        pairs, found = [], np.inf
        while found > AIM and len(pairs) < 200:
            system = make()
            pairs += [pair(system, kind, k % 2 == 0) for k in range(20)]
            plain, driven = np.transpose(pairs)
            found = min(driven.min() / plain.min(), np.median(driven / plain))
        assert found <= MOST, f"{name}, {kind}: {found:.3f} after {len(pairs)} pairs"
