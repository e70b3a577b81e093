"""How near a run comes to events that do not happen: extrema of guards between its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
import sympy as sp

from explorer.results.solution import Solution
from explorer.systems import HybridSystem, LagrangianSystem, StepSystem, System
from explorer.systems.kinks import slope

__all__ = ["Guard", "Miss", "NearMisses", "guards_of"]

_PER_SEGMENT = 200  # times at which the rate of a guard is looked at
_ZERO = 1e-9  # a guard this small, relative, is zero: held, or sliding


@dataclass(frozen=True)
class Miss:
    """A smooth extremum of a guard that does not reach zero.

    Attributes
    ----------
    name : str
    value : float
        Distance from zero, in the unit of the guard.
    t : float, in s
    x : (n_x,) the state there
    """

    name: str
    value: float
    t: float
    x: np.ndarray


@dataclass(frozen=True)
class Guard:
    """What may happen, as functions of t, x and rho."""

    name: str
    mode: int  # -1: any
    side: int  # of the guard while nothing happens: +1, -1; 0: whichever it is on
    value: Callable[..., float]
    rate: Callable[..., float]  # of t, x, rho, x'
    when: Callable[..., float] | None


class NearMisses:
    """Extrema of the guards of one system.

    Parameters
    ----------
    system : MechanicalSystem, HybridSystem or StepSystem
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.states = [sp.Symbol(name) for name in system._state_names()]
        self.rho = [sp.Symbol(name) for name in system.parameters]
        self.guards = [self._guard(*one) for one in guards_of(system)]

    def _guard(self, name: str, mode: int, side: int, g: sp.Expr, when: sp.Expr | None) -> Guard:
        t = self.system.t
        given = [t, self.states, self.rho]
        dx = [sp.Symbol(f"d_{k}") for k in range(len(self.states))]
        rate = slope(g, t) + sum(
            (slope(g, s) * d for s, d in zip(self.states, dx, strict=True)), sp.Integer(0)
        )
        return Guard(
            name,
            mode,
            side,
            sp.lambdify(given, g),
            sp.lambdify([*given, dx], rate),
            None if when is None else sp.lambdify(given, when),
        )

    def __call__(self, run: Solution, mode: int = -1) -> list[Miss]:
        """Return the extrema nearest to zero, at most one of each guard.

        Parameters
        ----------
        run : Solution
        mode : int
            Of a hybrid system, the mode in which the run begins.
        """
        best: dict[str, Miss] = {}
        for begin, end, current in self.segments(run, mode):
            for miss in self._between(run, begin, end, current):
                if miss.name not in best or miss.value < best[miss.name].value:
                    best[miss.name] = miss
        return list(best.values())

    def segments(self, run: Solution, mode: int = -1) -> list[tuple[float, float, int]]:
        """Return begin, end and mode of the pieces of a run between its events."""
        names = {}
        if isinstance(self.system, HybridSystem):
            names = {m.name: m.index for m in self.system.modes}
        found, t = [], 0.0
        for event in run.located:
            if event.t > t:
                found.append((t, event.t, mode))
            t, mode = event.t, names.get(event.to, mode)
        end = float(run.march.t_last)
        return [*found, (t, end, mode)] if end > t else found

    def clear(self, run: Solution, t: float, mode: int) -> bool:
        """Whether no guard is at zero at a time, as where a contact lasts or a mode slides."""
        x = run.march.sample(np.array([t]))[0][0, : len(self.states)]
        size = 1 + float(np.abs(x).max())
        values = [abs(g.value(t, x, run.march.rho)) for g in self.guards if g.mode in (-1, mode)]
        return min(values, default=np.inf) > 1e-8 * size

    def _between(self, run: Solution, begin: float, end: float, mode: int) -> list[Miss]:
        t = np.linspace(begin, end, _PER_SEGMENT + 2)[1:-1]
        n, rho = len(self.states), run.march.rho
        y, rates, _ = run.march.sample(t, exact=False, slopes=False)
        x, dx = y[:, :n].T, rates[:, :n].T
        size = 1 + float(np.abs(x).max())
        found = []
        for guard in self.guards:
            if guard.mode not in (-1, mode):
                continue
            value = guard.value(t, x, rho) + np.zeros(len(t))
            rate = guard.rate(t, x, rho, dx) + np.zeros(len(t))
            side = np.sign(value) if guard.side == 0 else np.full(len(t), guard.side)
            turns = (side[1:] * rate[1:] > 0) & (side[:-1] * rate[:-1] <= 0)
            turns &= (side * value)[1:] > _ZERO * size
            for k in np.flatnonzero(turns):
                miss = self._extremum(run, guard, t[k], t[k + 1], int(side[k]))
                if miss is not None:
                    found.append(miss)
        return found

    def _extremum(
        self, run: Solution, guard: Guard, low: float, high: float, side: int
    ) -> Miss | None:
        n, rho = len(self.states), run.march.rho

        def at(t: float) -> tuple[np.ndarray, np.ndarray]:
            y, rates, _ = run.march.sample(np.array([t]), slopes=False)
            return y[0, :n], rates[0, :n]

        def rate(t: float) -> float:
            x, dx = at(t)
            return float(guard.rate(t, x, rho, dx))

        if rate(low) * rate(high) > 0:
            return None
        t = float(scipy.optimize.brentq(rate, low, high, xtol=1e-14 * (1 + abs(high))))
        x, _ = at(t)
        if guard.when is not None and not guard.when(t, x, rho) > 0:
            return None
        return Miss(guard.name, side * float(guard.value(t, x, rho)), t, x)


def guards_of(system: System) -> list[tuple[str, int, int, sp.Expr, sp.Expr | None]]:
    """Return name, mode, side, formula and condition of everything that may happen."""
    if isinstance(system, HybridSystem):
        return [(g.name, g.mode, -g.direction, g.r, g.when) for g in system.guards]
    if isinstance(system, StepSystem):
        return [(s.name, -1, 0, s.c, None) for s in system.switches]
    assert isinstance(system, LagrangianSystem)
    return [(c.name, -1, 1, sp.sympify(c.gap), None) for c in system.contacts]
