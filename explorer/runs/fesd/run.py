"""The elements of a run as arrays, and what the kernels make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from explorer.compiled import Switched
from explorer.compiled.formulas import Formulas
from explorer.kernels.fesd.collocation import Collocation, collocation
from explorer.runs.fesd.options import Options
from explorer.systems import System
from explorer.types import Reals

if TYPE_CHECKING:
    from explorer.kernels.fesd.structures import Phases, Record, Workspace

__all__ = ["Run", "taken"]

_NEAR = 1e-6  # of h: a break so close to a multiple of it stands for it


def taken(phases: Phases, which: slice | np.ndarray) -> Phases:
    """Return some of the phases."""
    return type(phases)(*(part[which] for part in phases))


def _ends(system: System, h: float, t_end: float, intervals: int) -> np.ndarray:
    """Return the ends of the intervals, multiples of h and where inputs change, (intervals,)."""
    ends = h * np.arange(1, intervals + 1)
    ends[-1] = t_end
    if system.drive is None or not len(breaks := system.drive.breaks):
        return ends
    kept = system.drive.layout.grids
    if h not in kept:
        after = np.clip(np.searchsorted(breaks, ends[:-1]), 1, max(len(breaks) - 1, 1))
        apart = [np.abs(ends[:-1] - breaks[k % len(breaks)]) for k in (after - 1, after)]
        inside = ends[:-1][np.minimum(*apart) > _NEAR * h]
        kept[h] = np.sort(np.concatenate([inside, breaks, ends[-1:]]))
    return kept[h]


class Run(Formulas):
    """The elements of one run.

    Parameters
    ----------
    compiled : Switched
    options : Options
    rho : (n_rho,)
    t_end : float
        In s.
    intervals : int
        How many of length h, the last one maybe shorter. Those in which inputs change are cut.
    scheme : optional
        What a result names as its scheme; a run does not read it.

    Attributes
    ----------
    states : (n_e + 1, n_x)
        x at the ends of the elements.
    slopes, mult : (n_e, s, n_x), (n_e, s, n_sel)
        x' and multipliers at the stages.
    times : (n_e, 2)
        Start and length of each element in s.
    places : (n_e, 2)
        Interval and phase of each element.
    phases : Phases
        What begins each phase, the first at t = 0: see `explorer.kernels.fesd.structures`.
    polished : (n_p,) bool
        Whether the time of the switch is that of the end of a slide, found anew.
    ends : (intervals,)
        Of the intervals, s.
    taus : (n_p,)
        By how much it lies behind the end of the last element of the slide, s.
    """

    of_steps = False
    of_elements = True  # whose multipliers move where no state bends

    method: Collocation
    states: np.ndarray
    slopes: np.ndarray
    mult: np.ndarray
    times: np.ndarray
    places: np.ndarray
    phases: Phases
    polished: np.ndarray = np.zeros(0, bool)
    taus: np.ndarray
    ends: np.ndarray

    def __init__(
        self,
        compiled: Switched,
        options: Options,
        rho: Reals,
        t_end: float,
        intervals: int,
        *,
        scheme: object = None,
    ) -> None:
        super().__init__(compiled, rho)
        self.options, self.scheme, self.t_end = options, scheme, t_end
        self.method = collocation(options.tableau, options.stages)
        self.intervals = intervals
        self.ends = _ends(compiled.system, options.h, t_end, intervals)

    def workspace(self) -> Workspace:
        """Return the leading argument of the kernels."""
        from explorer.kernels.fesd.structures import workspace
        from explorer.runs.fesd.workspace import problem, tableau

        return workspace(
            problem(self.compiled, self.rho), tableau(self.method), self.options.newton_max
        )

    @property
    def record(self) -> Record:
        """The elements as the kernels take them."""
        from explorer.kernels.fesd.structures import Record

        slopes, mult = (a.reshape(len(self.times), -1) for a in (self.slopes, self.mult))
        begin, length, interval, phase = map(np.ascontiguousarray, (*self.times.T, *self.places.T))
        return Record(self.states, slopes, mult, begin, length, interval, phase)

    @property
    def knots(self) -> np.ndarray:
        """Times at which elements begin, in s."""
        return self.times[:, 0]

    @property
    def hits(self) -> np.ndarray:
        """Times of the switches in s."""
        return self.phases.t[1:]

    @property
    def graded(self) -> np.ndarray:
        """Which elements are to have other lengths than their neighbours, (n_e,) bool."""
        return np.zeros(len(self.times), bool)

    def spent(self, k: int) -> float:
        """Return the running cost's rate at the beginning of phase `k`."""
        compiled, phases = self.compiled, self.phases
        if compiled.cost is None:
            return 0.0
        n, inp = compiled.n_x, compiled.input(self.rho)
        inp[0], inp[1 : 1 + n] = phases.t[k], phases.x[k]
        inp[1 + n : 1 + n + compiled.n_sel] = phases.multipliers[k]
        return float(compiled.cost(inp)[0])
