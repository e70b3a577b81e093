"""Iteration of a map: each state is the formula at the one before, nothing is approximated.

A chaotic orbit of doubles is not the orbit of the real numbers from the same start: errors of
round-off grow as fast as any others. Where a hyperbolic attractor is shadowed it is close to
another true orbit (Hammel, Yorke and Grebogi, J. Complexity 3 (1987) 136), and means over many
iterates agree.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from explorer.certificate import Check
from explorer.codes import SUCCESS
from explorer.compiled.maps import CompiledMap, compile_map
from explorer.compiled.observe import observe
from explorer.errors import BadValue
from explorer.parameters import knob
from explorer.recorder import MOST_BYTES
from explorer.results.solution import Solution
from explorer.runs.iterated import iterate_members
from explorer.runs.members import Asked, Members, Observed
from explorer.schemes import schemes
from explorer.schemes.bases.scheme import Scheme
from explorer.status import Status
from explorer.systems import System
from explorer.systems.maps import MapSystem, iterates
from explorer.types import Reals
from explorer.verification.iterated import iterated

__all__ = ["Iteration"]

_TWENTY = 20.0  # bytes of a row besides its states


@schemes.register
@dataclass(frozen=True, repr=False)
class Iteration(Scheme):
    """The iterates of a map, one after the other.

    One step::

        x_{n+1} = f(x_n, rho)

    Source: Hammel, Yorke, Grebogi, J. Complexity 3 (1987) 136,
    doi:10.1016/0885-064X(87)90024-0, on the reliability of orbits in floating point.

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.tent_map(), ex.Iteration(), t_end=8)
    >>> len(run.t), run.status.name
    (9, 'success')

    Parameters
    ----------
    bound : float
        A state of this size has escaped to infinity: the run ends there with the status "escaped".
    """

    accepts = (MapSystem,)
    takes = "maps"
    references = ("hammel-1987",)
    order = 0  # nothing is approximated
    order_across_events = 0

    bound: float = knob(
        1e10,
        1e2,
        1e100,
        text="size from which on a state has escaped",
        log=True,
        positive=True,
        minor=True,
    )

    @staticmethod
    def compile(system: MapSystem) -> CompiledMap:
        """Return the map with its loop."""
        return compile_map(system)

    def run(  # type: ignore[override]
        self, compiled: CompiledMap, rho: Reals, t_end: float, *, x0: Reals | None = None
    ) -> Solution:
        """Iterate `t_end` times.

        Raises
        ------
        BadValue
            A number of iterates that is not whole, or more than memory holds; a start beyond the
            bound.
        """
        count, n = int(iterates(t_end)), compiled.n_x
        most = int(MOST_BYTES / (8 * n + _TWENTY))
        if count > most:
            raise BadValue(
                f"A record of {count:.3g} iterates needs {count * (8 * n + _TWENTY) / 2**30:.3g} "
                f"GB; {MOST_BYTES / 2**30:g} GB are allowed. Use t_end = {most} or fewer; "
                "study.sweep and study.lyapunov keep no record."
            )
        begin = self.begin(compiled, rho, x0)
        values = np.ascontiguousarray(rho, float)
        rows, sides = np.empty((count + 2, n)), np.zeros(count + 1, np.int8)
        loop = compiled.loop  # made at first use
        rows[0], clock = begin, time.perf_counter()
        done = min(loop.rows(begin.copy(), values, self.bound, rows[1:], sides), count)
        seconds = time.perf_counter() - clock
        kept = done + 1
        none = np.zeros((1, 2))
        return Solution(
            {
                "t": np.arange(kept, dtype=float),
                "q": rows[:kept],
                "branch": sides[:kept],
                "iterations": np.broadcast_to(np.int32(0), kept),
                "residuals": np.broadcast_to(none, (kept, 2)),
            },
            system=compiled.system,
            scheme=self,
            observe=observe,
            status=_ended(compiled.system, done, count, rows, self.bound),
            rho=dict(zip(compiled.system.parameters, map(float, rho), strict=True)),
            seconds=seconds,
        )

    def begin(self, compiled: CompiledMap, rho: Reals, x0: Reals | None) -> np.ndarray:
        """Return the first state.

        Raises
        ------
        BadValue
            It is not finite, or lies beyond the bound.
        """
        begin = np.array(compiled.start(rho)[0] if x0 is None else x0, float)
        if not (np.abs(begin) <= self.bound).all():
            name, value = _far(compiled.system, begin, self.bound)
            raise BadValue(
                f"The start {name} = {value:g} of '{compiled.system.name}' lies beyond the bound "
                f"{self.bound:g}, where a map has escaped. Start nearer, or use "
                f"Iteration(bound={10 * abs(value):.0e})."
            )
        return begin

    def ensemble(self, system: System) -> Callable[[Members, Asked], Observed] | None:
        """Return what iterates many members side by side, without records."""
        if not isinstance(system, MapSystem):
            return None
        compiled = compile_map(system)
        return lambda members, asked: iterate_members(compiled, self.bound, members, asked)

    def certify(self, solution: Solution) -> list[Check]:
        """Return the check of the iterates by the formulas of their branches."""
        return iterated(solution)


def _far(system: System, x: np.ndarray, bound: float) -> tuple[str, float]:
    """Return the name and value of the first state that is beyond the bound."""
    k = int(np.argmax(~(np.abs(x) <= bound)))
    return system.coordinates[k], float(x[k])


def _ended(system: System, done: int, count: int, rows: np.ndarray, bound: float) -> Status:
    """Return how a run ended."""
    if done == count:
        return Status.of(SUCCESS, done, float(done))
    name, value = _far(system, rows[done + 1], bound)
    return Status.escaped(done, name, value, bound)
