"""The true system of a run: exact simulation, jumps by pushes and controls, and its contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from explorer.control.algebraic import Relation
from explorer.control.guards import Guards
from explorer.control.replay import NEARLY, Exact, Replayed
from explorer.errors import BadValue
from explorer.systems import HybridSystem

__all__ = ["Plant", "Stretch"]

_LEAST = 1e-12  # of the time: a stretch of no length


@dataclass
class Stretch:
    """What a system did from one control instant to the next.

    Attributes
    ----------
    t, x : (n_t,) and (n_t, n_x) float
    events : list of (float, str)
    mode : int or None
        The mode at the end.
    failed : str
        Why the simulation stopped early; empty: it did not.
    """

    t: np.ndarray
    x: np.ndarray
    events: list[tuple[float, str]] = field(default_factory=list)
    mode: int | None = None
    failed: str = ""


class Plant:
    """A system that is simulated exactly, one control interval behind the other.

    Parameters
    ----------
    system : StepSystem, HybridSystem or MechanicalSystem
    controls : sequence of str
    rho : mapping of str to float
        The true parameters.
    span : float
        A usual length of a control interval in s.
    relation : Relation
        The algebraic variables of the problem.
    """

    def __init__(
        self,
        system: Replayed,
        controls: Sequence[str],
        rho: Mapping[str, float],
        span: float,
        relation: Relation,
    ) -> None:
        self.system, self.controls, self.rho = system, tuple(controls), dict(rho)
        self.exact = Exact(system, span, relation)
        self.guards: Guards | None = None
        if isinstance(system, HybridSystem):
            if "guards as numbers" not in system.made:
                system.made["guards as numbers"] = Guards(system)
            self.guards = system.made["guards as numbers"]
        self.u: np.ndarray | None = None

    def values(self, u: np.ndarray) -> dict[str, float]:
        """Return all parameters, the controls among them."""
        return self.rho | dict(zip(self.controls, map(float, u), strict=True))

    def settled(
        self, t: float, x: np.ndarray, mode: int | None, u: np.ndarray
    ) -> tuple[np.ndarray, int | None, list[str]]:
        """Return state, mode and events behind a jump of velocities, or at the start."""
        if self.guards is None:
            return x, None, []
        return self.guards.settled(t, x, self.values(u), mode)

    def pushed(
        self, t: float, x: np.ndarray, jump: np.ndarray, mode: int | None, u: np.ndarray
    ) -> tuple[np.ndarray, int | None, list[str]]:
        """Return state, mode and events behind a push."""
        if self.guards is None or mode is None:
            return x + jump, mode, []
        values = self.values(u)
        after, now, events = self.guards.crossed(t, (x, values), (x + jump, values), mode)
        after, settled, more = self.guards.settled(t, after, values, now)
        return after, settled, events + more

    def step(
        self, t: float, length: float, x: np.ndarray, mode: int | None, u: np.ndarray
    ) -> Stretch:
        """Return what happens from `t` on, for `length` in s, with the controls `u`."""
        events: list[tuple[float, str]] = []
        values = self.values(u)
        if self.guards is not None and mode is not None:
            before = None if self.u is None else (x, self.values(self.u))
            x, mode, names = self.guards.crossed(t, before, (x, values), mode)
            events += [(t, name) for name in names]
        self.u = u
        if length <= _LEAST * max(1.0, abs(t)):
            return Stretch(np.array([t]), x[None], events, mode)
        try:
            run, why = self.exact(t, length, x, mode, values)
        except BadValue as error:
            return Stretch(np.array([t]), x[None], events, mode, str(error))
        events += [(t + float(e.t), e.contact) for e in run.events]
        last = run.mode[-1] if isinstance(self.system, HybridSystem) else None
        failed = why if run.t[-1] < (1 - NEARLY) * length else ""
        return Stretch(
            t + run.t, self.exact.rows(run), events, None if last is None else int(last), failed
        )
