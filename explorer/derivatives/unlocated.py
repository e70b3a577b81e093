"""Jumps and kinks of formulas that no event locates, and what derivatives need there.

Where a force by sign(u), floor(u) or cases jumps at u(t, x, rho) = 0, the sensitivity jumps by
(f- - f+) du/drho / (du/dt) (Corner et al. 2019, doi:10.1016/j.nahs.2018.07.003, eq. (35)).
`EventDriven` locates contacts, slips and guards, and ends a step where a formula jumps: its
values are right, and its derivatives would not be. So a run that meets such a jump has none. At a
kink, as of abs(u), the sensitivity is continuous, and the steps end there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.derivatives.asked import Asked
from explorer.errors import NotApplicable
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.runs.event_driven.march import March
from explorer.systems.kinks import SHARP, sharp_formulas

__all__ = ["check_jumps"]

_WITHIN = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # places of a step that are looked at
_BESIDE = 1e-7  # of a step: this far beside an event the field is that of its own side
_ASIDE = 1e-14  # of the time: this far beside a zero, too
_ZERO = 1e-9  # of the largest |u|
_JUMP = 1e-5  # of the field


def check_jumps(question: Asked, run: Solution) -> None:
    """Refuse a run that meets a jump of a formula which is no event.

    Raises
    ------
    NotApplicable
    """
    surfaces, march = _surfaces(question), run.march
    if not surfaces or not len(march.steps.t):
        return
    begin, h = march.steps.t, march.steps.h
    times = begin[:, None] + h[:, None] * np.clip(_WITHIN, _BESIDE, 1 - _BESIDE)
    u, rates = _along(question, march, surfaces, times.ravel())
    u, rates = u.reshape(len(surfaces), *times.shape), rates.reshape(*times.shape, -1)
    size = np.abs(u).max(axis=(1, 2), keepdims=True)
    stretch = np.searchsorted(march.hits, begin, side="right").repeat(len(_WITHIN))
    for k, values in enumerate(u.reshape(len(surfaces), -1)):
        clear = np.flatnonzero(np.abs(values) > _ZERO * size[k, 0, 0])  # a slide is round-off
        passed = np.diff(np.sign(values[clear])) != 0
        here = np.flatnonzero(passed & (np.diff(stretch[clear]) == 0))
        if not len(here):
            continue
        low, high = times.ravel()[clear[here]], times.ravel()[clear[here + 1]]
        t, before, after = _cornered(question, march, surfaces[k : k + 1], low, high)
        for one, *sides in zip(t.tolist(), before, after, strict=True):
            if _differ(*sides):
                raise NotApplicable(_words(question, surfaces[k], one))
    for k, t in enumerate(march.hits):
        jump = march.jump(k)
        after, before = np.searchsorted(begin, t), np.searchsorted(begin + h, t * (1 - 1e-15))
        for beside, f, place in ((after, jump.f_plus, 0), (before, jump.f_minus, -1)):
            alone = np.count_nonzero(march.hits == t) == 1 and 0 <= beside < len(begin)
            if alone and abs(times[beside, place] - t) <= 2 * _BESIDE * h[beside]:
                on = np.abs(u[:, beside, place]) <= 1e-6 * size[:, 0, 0]
                if on.any() and _differ(f, rates[beside, place]):
                    raise NotApplicable(_words(question, surfaces[int(on.argmax())], t))


def _surfaces(question: Asked) -> list[sp.Expr]:
    """Return the functions of the state, or of what is differentiated by, at whose zeros it jumps.

    The argument of floor(u) becomes sin(pi u), which changes sign where u passes a whole number.
    """
    system = question.system
    kept: dict[str, list[sp.Expr]] = system.made.setdefault("sharp", {})
    key = str(question.cost.cost.g)
    if key not in kept:
        found: dict[sp.Expr, None] = {}
        sharp = [e for f in sharp_formulas(system) for e in f.atoms(*SHARP)]
        if question.cost.running is not None:
            sharp += list(question.cost.running.atoms(*SHARP))
        for e in sharp:
            found |= dict.fromkeys(_zeros(e))
        kept[key] = list(found)
    if not kept[key]:
        return []
    moving = {s.name for s in question.cost.flow.states} | set(question.wrt)
    return [u for u in kept[key] if moving & {s.name for s in u.free_symbols}]


def _zeros(e: sp.Expr) -> list[sp.Expr]:
    if isinstance(e, (sp.Min, sp.Max)):
        return [a - b for i, a in enumerate(e.args) for b in e.args[:i]]
    if isinstance(e, sp.Piecewise):
        return [
            r.lhs - r.rhs for _, when in e.args for r in when.atoms(sp.core.relational.Relational)
        ]
    if isinstance(e, sp.Mod):
        return [sp.sin(sp.pi * e.args[0] / e.args[1])]
    if isinstance(e, (sp.floor, sp.ceiling)):
        return [sp.sin(sp.pi * e.args[0])]
    return [e.args[0]]


@functools.lru_cache(64)
def _native(
    args: tuple[sp.Symbol, ...], surfaces: tuple[sp.Expr, ...]
) -> Callable[..., list[np.ndarray]]:
    native: Callable[..., list[np.ndarray]] = sp.lambdify(args, surfaces, "numpy", cse=True)
    return native


def _along(
    question: Asked, march: March, surfaces: list[sp.Expr], t: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return u (n_u, k) and the field (k, n_x + 1) at increasing times."""
    y, rates, _ = march.sample(t)
    flow, system = question.cost.flow, question.system
    args = [system.t, *flow.states, *(sp.Symbol(k) for k in system.parameters)]
    u = _native(tuple(args), tuple(surfaces))(t, *y[:, : flow.n_x].T, *question.rho)
    return np.array([np.broadcast_to(x, t.shape) for x in u], float), rates


def _cornered(
    question: Asked, march: March, surface: list[sp.Expr], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where u changes its sign (k,), and the field before and after it (k, n_x + 1)."""
    side = np.sign(_along(question, march, surface, low)[0][0])
    begin, end = low, high
    while True:
        middle = (low + high) / 2
        inside = (low < middle) & (middle < high)
        if not inside.any():
            break
        same = np.sign(_along(question, march, surface, middle)[0][0]) == side
        low = np.where(inside & same, middle, low)
        high = np.where(inside & ~same, middle, high)
    beside = _ASIDE * high  # the step that ends there may end on either side of zero
    sides = np.maximum(low - beside, begin), np.minimum(high + beside, end)
    before, after = (_along(question, march, surface, t)[1] for t in sides)
    return high, before, after


def _differ(before: np.ndarray, after: np.ndarray) -> bool:
    largest = np.maximum(np.abs(before), np.abs(after)).max()
    return bool(np.abs(after - before).max() > _JUMP * largest)


def _words(question: Asked, u: sp.Expr, t: float) -> str:
    return (
        f"A formula of '{question.system.name}' jumps where {u} = 0. The run crosses this at t = "
        f"{quantity(t, question.system.time_unit)} without locating an event, so derivatives "
        "would be wrong from there "
        "on. Write the switch as a mode of a HybridSystem, a StepSystem or a FilippovSystem, or "
        "use method='finite_difference'."
    )
