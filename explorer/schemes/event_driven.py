"""Event-driven integration of hybrid systems, and of mechanical systems with contacts.

x' = f_m(t, x, rho) is marched by an embedded Runge-Kutta pair up to the zero of a guard, which is
found on the flow itself; there x+ = h(t, x-, rho) and the march begins anew. A mechanical system is
rewritten exactly (`explorer.compiled.flow`): impacts by Newton's law with an LCP over all touching
contacts, closed contacts by an LCP of forces and accelerations, released when the force falls to
zero. Impacts that accumulate end in one event that closes the contact.
(Corner et al. 2019, sections 2 and 3, generalised: guards r(t, x, rho), one at a time.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.compiled import Flow, compile_flow
from explorer.errors import BadValue
from explorer.parameters import knob
from explorer.schemes import schemes
from explorer.schemes.base import Scheme
from explorer.schemes.march import March
from explorer.systems import HybridSystem, MechanicalSystem
from explorer.trajectory import Trajectory

__all__ = ["EventDriven"]

_MOST = 1_000_000  # rows besides the events


@schemes.register
@dataclass(frozen=True, repr=False)
class EventDriven(Scheme):
    """Locate every event, jump, restart.

    Parameters
    ----------
    rtol, atol : float
        Tolerances of a step, for the state and for every sensitivity.
    method : str
        "dop853" (order 8), "dopri5" (order 5), "radau" (order 5, for stiff flows).
    points : int
        Rows of the result besides the events.
    max_steps, max_events : int
        Where a run gives up.
    """

    accepts = (MechanicalSystem, HybridSystem)
    takes = "mechanical systems with contacts and friction, and hybrid systems"
    handles = frozenset({"contacts", "friction"})
    order = 8
    order_across_events = 8

    rtol: float = knob(1e-9, 1e-13, 1e-3, text="relative tolerance", log=True, positive=True)
    atol: float = knob(1e-10, 1e-14, 1e-3, text="absolute tolerance", log=True, positive=True)
    method: str = knob("dop853", text="Runge-Kutta method", choices=("dop853", "dopri5", "radau"))
    points: int = knob(100, 2, 100_000, text="output points", positive=True, minor=True)
    max_steps: int = knob(20_000, 100, 1_000_000, text="step cap", positive=True, minor=True)
    max_events: int = knob(5_000, 10, 100_000, text="event cap", positive=True, minor=True)

    compile = staticmethod(compile_flow)

    def run(  # type: ignore[override]
        self, compiled: Flow, rho: Any, t_end: float, q0: Any = None, v0: Any = None, *,
        x0: Any = None, t_eval: Any = None, wrt: tuple[int, ...] = (), seeds: Any = None,
    ) -> Trajectory:  # fmt: skip
        """Integrate from t = 0 to `t_end`.

        Parameters
        ----------
        compiled : Flow
        rho : sequence of float
        t_end : float
            In s.
        q0, v0, x0 : start, by default the model's own
        t_eval : (k,) times of the rows, by default `points` even ones
        wrt : indices of the parameters to differentiate by; -1 for a start value
        seeds : (n_x, p) derivative of the start, by default the model's own

        Raises
        ------
        BadModel, BadValue
            The start makes no sense.
        """
        if not t_end > 0:
            raise BadValue(f"t_end = {t_end:g} s must be greater than zero.")
        if not self.points <= _MOST:  # they are made when they are first looked at: too late to say
            raise BadValue(f"points = {self.points:g} are too many to hold: at most {_MOST:g}.")
        march = March(compiled, self, np.asarray(rho, float), t_end, wrt)
        if q0 is not None or v0 is not None:
            n, x0 = compiled.n, compiled.start(rho)[0]
            x0[:n] = x0[:n] if q0 is None else q0
            x0[n:] = x0[n:] if v0 is None else v0
        march.go(x0, seeds)
        return march.trajectory(t_eval)
