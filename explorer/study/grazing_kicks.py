"""What an event that almost grazes does to a motion: Z of `explorer.study.grazing`, and its order.

All is read from the saltation data of the event and from the fields on both sides of its guard.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from explorer.errors import NotApplicable
from explorer.results.event import Jump
from explorer.results.solution import Solution
from explorer.study.cycles import Cycles
from explorer.study.near_misses import guards_of
from explorer.systems import HybridSystem, StepSystem
from explorer.systems.kinks import slope, slopes

__all__ = ["kick_of"]

_SAME = 1e-6  # relative to the rates: fields that do not differ
_ACROSS = 1e-6  # relative: how much of the fields' difference may cross the surface


def kick_of(
    problem: Cycles, hit: Solution, name: str, curvature: float, side: float
) -> tuple[str, float, np.ndarray]:
    """Return the kind, the exponent and Z from the saltation of an event that almost grazes."""
    n = problem.n
    events = [k for k, e in enumerate(hit.located) if e.contact == name]
    k = min(events, key=lambda i: abs(hit.located[i].slope))
    jump: Jump = hit.march.jump(k)
    before, after = jump.f_minus[:n], jump.f_plus[:n]
    thrown = (jump.h_x - np.eye(n)) @ before
    size = float(np.abs(before).max())
    if float(np.abs(thrown).max()) > _SAME * size:
        # x- = touch - f v / a: where the speed v is zero there is no jump
        return "impact", 0.5, -thrown * np.sqrt(2 / curvature)
    step = after - before
    if hit.located[k].kind == "slides":
        step = _other_side(problem, jump, name, side) - before
        return "sliding", 1.0, step / abs(float(jump.r_x @ step))
    if float(np.abs(step).max()) > 1e-2 * size:
        return "discontinuous", 0.5, _turned_back(problem, jump, name, curvature, side, step)
    slope = _difference(problem, jump, name, side)
    return "continuous", 1.5, -side * (4 / 3) * np.sqrt(2 / curvature) * slope


def _turned_back(
    problem: Cycles, jump: Jump, name: str, curvature: float, side: float, step: np.ndarray
) -> np.ndarray:
    """Return Z where another field, by which the guard has the same rate, turns the motion back."""
    system = problem.system
    g = next(q[3] for q in guards_of(system) if q[0] == name)
    x, other = [sp.Symbol(s) for s in system._state_names()], _fields(problem, name, side)[1]

    def rate(of: sp.Expr) -> sp.Expr:
        along = (slope(of, s) * f for s, f in zip(x, other, strict=True))
        return slope(of, system.t) + sum(along, sp.Integer(0))

    back = side * float(rate(rate(g)).subs(_given(problem, jump)))
    across = abs(float(jump.r_x @ step)) > _ACROSS * float(np.abs(jump.r_x) @ np.abs(step))
    if across or not back > 0:
        raise NotApplicable(
            f"Behind {name!r} another field carries the state away at once: the map jumps there, "
            "and has no normal form of grazing."
        )
    return np.asarray(step * 2 * np.sqrt(2 * curvature) / back)


def _fields(problem: Cycles, name: str, side: float) -> tuple[list[sp.Expr], list[sp.Expr]]:
    """Return the fields on the side of the cycle, and on the other side."""
    system = problem.system
    if isinstance(system, StepSystem):
        switch = next(s for s in system.switches if s.name == name)
        own = 1 if side > 0 else 0
        if len(system.switches) > 1:
            raise NotApplicable("The coefficient is known for one switching function only.")
        both = [[f.subs(switch.alpha, a) for f in system.f] for a in (own, 1 - own)]
        return both[0], both[1]
    if isinstance(system, HybridSystem):
        guard = next(g for g in system.guards if g.name == name)
        return list(system.modes[guard.mode].flow), list(system.modes[guard.to].flow)
    raise NotApplicable(f"'{system.name}' has no fields on two sides of {name!r}.")


def _given(problem: Cycles, jump: Jump) -> dict[sp.Symbol, float]:
    names = [*problem.system._state_names(), *problem.system.parameters]
    values = [*jump.y[: problem.n].tolist(), *problem.rho.tolist()]
    found = {sp.Symbol(k): v for k, v in zip(names, values, strict=True)}
    return found | {problem.system.t: jump.t}


def _other_side(problem: Cycles, jump: Jump, name: str, side: float) -> np.ndarray:
    given = _given(problem, jump)
    return np.array([float(f.subs(given)) for f in _fields(problem, name, side)[1]])


def _difference(problem: Cycles, jump: Jump, name: str, side: float) -> np.ndarray:
    """Return d(f+ - f-)/dg behind a surface on which both agree: (f+ - f-)_x = E g_x."""
    own, other = _fields(problem, name, side)
    x = [sp.Symbol(s) for s in problem.system._state_names()]
    given = _given(problem, jump)
    D = slopes([b - a for a, b in zip(own, other, strict=True)], x).subs(given)
    g_x = jump.r_x
    return np.asarray(np.array(D, float) @ g_x / float(g_x @ g_x))
