"""Two modes with memory as step functions: a mode is switched in pseudo-time.

Between its thresholds the state alone does not tell the mode of a relay with hysteresis. A memory w
does: w = 0 in the first mode, w = 1 in the second one (Nurkanovic and Diehl, IEEE Control Systems
Letters 6 (2022) 3182). With r > 0 where the guard of the first mode is reached, a > 0 of any size
and a small b > 0, for w < 1/2::

    r + b w < 0, w < 0:   x' = 2 f(t, x),  t' = 2,  w' = a
    r + b w < 0, w > 0:   x' = 0,          t' = 0,  w' = -a
    r + b w > 0:          x' = 0,          t' = 0,  w' = a

and so mirrored at w = 1/2 for the second mode. The first two slide on w = 0, where x' = f and
t' = 1; at r = 0 the clock stops, w goes to 1, and x slides there in the second mode.
"""

from __future__ import annotations

import sympy as sp

from explorer.arguments import a
from explorer.reformulations.time_freezing import FrozenSystem, fresh
from explorer.systems import HybridSystem

__all__ = ["hysteresis", "misses"]


def misses(system: HybridSystem) -> str:
    """Return why this reformulation does not cover a system, in a sentence; empty if it does."""
    ways = sorted((guard.mode, guard.to) for guard in system.guards)
    if len(system.modes) != 2 or ways != [(0, 1), (1, 0)]:
        return "time freezing covers two modes, with one guard from each to the other."
    for guard in system.guards:
        if guard.jumps or guard.terminal or guard.when is not None or not guard.direction:
            return (
                "time freezing covers only guards with one direction and without reset, condition "
                f"or end, which {guard.name!r} is not."
            )
        if guard.branches:
            return f"{guard.name!r} leads to several modes."
    if sp.simplify(sum(guard.direction * guard.r for guard in system.guards)) == 0:
        return "its two guards coincide, so there is no hysteresis between them."
    if system.start_branches:
        return "the state decides in which mode it starts."
    return ""


def hysteresis(system: HybridSystem) -> FrozenSystem:
    """Return a hybrid system of two modes as one with step functions; states: x, memory, clock."""
    a(system, HybridSystem, "a hybrid system", "hysteresis(ex.models.thermostat())")
    if "frozen" not in system.made:
        system.made["frozen"] = _freeze(system)
    frozen: FrozenSystem = system.made["frozen"]
    return frozen


def _freeze(system: HybridSystem) -> FrozenSystem:
    taken = set(system.symbols())
    memory, clock = fresh("memory", taken), fresh("clock", taken)
    frozen = FrozenSystem(
        f"{system.name}, time freezing",
        [*system.coordinates, memory, clock],
        units=[*system.units, "", "s"],
        text=system.text,
    )
    frozen.source, frozen.scale = system, fresh("a", {*taken, memory, clock})
    tilt = fresh("b", {*taken, memory, clock, frozen.scale})
    a, b = frozen.params(**system.parameters, **{frozen.scale: 10 / system.t_end, tilt: 1e-3})[-2:]
    w, t = frozen.x[-2:]

    def now(formula: sp.Expr) -> sp.Expr:
        return sp.sympify(formula).xreplace({system.t: t})

    guards = {guard.mode: guard for guard in system.guards}
    reached, beyond = [], []
    for mode, away in ((0, w), (1, 1 - w)):  # how far w is from the value of the mode
        guard = guards[mode]
        r = guard.direction * now(guard.r)
        reached.append(frozen.switch(r + b * away, name=guard.name))
        beyond.append(1 - frozen.switch(away, name=f"memory of {system.modes[mode].name}"))
    second = frozen.switch(w - sp.Rational(1, 2), name="memory")
    x_dot, w_dot, t_dot = [sp.Integer(0)] * system.n, sp.Integer(0), sp.Integer(0)
    for mode, here in enumerate((1 - second, second)):
        flows = here * (1 - reached[mode]) * beyond[mode]
        back = here * (1 - reached[mode]) * (1 - beyond[mode])
        x_dot = [
            x + 2 * flows * now(f) for x, f in zip(x_dot, system.modes[mode].flow, strict=True)
        ]
        w_dot += (1 - 2 * mode) * a * (flows - back + here * reached[mode])
        t_dot += 2 * flows
    frozen.f = [*x_dot, w_dot, t_dot]
    frozen.start(x=[*system.start_x, system.start_mode, 0], t_end=system.t_end, h=system.h)
    return frozen
