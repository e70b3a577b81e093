"""The modes of a hybrid system without their guards: each goes on, forwards or back in time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import sympy as sp

from explorer.control.algebraic import Relation
from explorer.derivatives import sensitivity
from explorer.dispatch.simulate import simulate
from explorer.errors import ModelWarning
from explorer.schemes.event_driven import EventDriven
from explorer.systems import HybridSystem

__all__ = ["Flows"]


class Flows:
    """The flows x' = f_m(t, x) of a hybrid system.

    Parameters
    ----------
    system : HybridSystem
        Made once for each system: a copy whose time is begin + way t.
    relation : Relation
        Its algebraic variables, which are eliminated.
    """

    def __init__(self, system: HybridSystem, relation: Relation) -> None:
        self.begin, self.way = "t_begin", "t_way"
        while {self.begin, self.way} & {*system.symbols()}:
            self.begin, self.way = self.begin + "_", self.way + "_"
        key = f"flows of modes {relation.key}"
        if key not in system.made:
            system.made[key] = self._copy(system, relation)
        self.copy: HybridSystem = system.made[key]

    def _copy(self, system: HybridSystem, relation: Relation) -> HybridSystem:
        begin, way = sp.symbols((self.begin, self.way))
        names = dict.fromkeys((self.begin, self.way, *system.parameters), 0.0)
        copy = HybridSystem(system.name, list(system.coordinates), params=names)
        for mode in system.modes:
            flow = [relation.without(f) for f in mode.flow]
            late = {system.t: begin + way * system.t}
            copy.mode(mode.name, [way * f.xreplace(late) for f in flow])
        copy.start(x=[0] * system.n, t_end=system.t_end, h=system.h)
        return copy

    def __call__(
        self, t: float, span: float, x: np.ndarray, mode: int, values: Mapping[str, float]
    ) -> np.ndarray:
        """Return the state (n_x,) of a mode, from `t` on, after `span` in s of any sign."""
        if not span:
            return x
        rho = dict(values) | {self.begin: t, self.way: float(np.sign(span))}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            run = simulate(
                self.copy,
                EventDriven(),
                t_end=abs(span),
                x0=x,
                mode0=self.copy.modes[mode],
                rho=rho,
            )
        return np.asarray(run.x[-1])

    def slopes(
        self,
        t: float,
        span: float,
        x: np.ndarray,
        mode: int,
        values: Mapping[str, float],
        wrt: tuple[str, ...],
    ) -> np.ndarray:
        """Return the derivatives (n_x, p) of the state after `span` > 0 in s."""
        rho = dict(values) | {self.begin: t, self.way: 1.0}
        at = self.copy.modes[mode]
        found = sensitivity(self.copy, EventDriven(), wrt, t_end=span, x0=x, mode0=at, rho=rho)
        return np.asarray(found.S[-1])
