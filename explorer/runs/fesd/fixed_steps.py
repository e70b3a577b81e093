"""One run of Runge-Kutta time stepping: elements of one length, in which anything may switch."""

from __future__ import annotations

import time

import numpy as np

from explorer.kernels.fesd.collocation import at_stages
from explorer.results.continuations import Continuations
from explorer.runs.fesd.elements import Elements
from explorer.types import Reals

__all__ = ["FixedSteps"]

_ZERO = 1e-9  # beside its largest value: a switching function that is slid on


class FixedSteps(Elements):
    """The steps of one run; an interval each, and no switch is located.

    Attributes
    ----------
    phases : Phases
        Of the start; but signs, (n_p, n_c), are those at the ends of the steps, for each run of
        steps in which they are the same.
    """

    def go(self, start: Reals | None) -> None:
        """Run the kernel from `start`, by default the model's own.

        Raises
        ------
        BadModel
            A start that is not finite.
        """
        from explorer.kernels.fesd.fixed_step_rk import TALLY, march
        from explorer.kernels.fesd.stage_complementarity import Groups, step_of
        from explorer.kernels.fesd.structures import Record
        from explorer.runs.fesd.workspace import problem, tableau

        self.method = at_stages(self.method)
        compiled, options, steps = self.compiled, self.options, self.intervals
        s, n, nsel = options.stages, compiled.n_x, compiled.n_sel
        record = Record(
            np.empty((steps + 1, n)),
            np.empty((steps, s * n)),
            np.empty((steps, s * nsel)),
            *np.empty((2, steps)),
            *np.zeros((2, steps), np.int64),
        )
        record.states[0] = self.begin(start)
        step = step_of(problem(compiled, self.rho), tableau(self.method), Groups(*compiled.groups))
        tally = np.zeros(1, TALLY)
        begin = time.perf_counter()
        self.code = march(step, record, self.t_end, options.h, options.newton_max, tally)
        self.seconds = time.perf_counter() - begin
        self.tally = tally[0]
        count = int(self.tally["steps"])
        self.states = record.states[: count + 1]
        self.times = np.column_stack([record.begin[:count], record.length[:count]])
        self.slopes = record.slopes[:count].reshape(count, s, n)
        self.mult = record.mult[:count].reshape(count, s, nsel)
        self.t_last = self._end
        self.counts = np.array([count, int(self.tally["iterations"]), int(self.tally["pivoted"])])
        self.nearest = np.inf  # no guard nearly fires: none is watched
        self.residual_of_newton = float(self.tally["residual"])
        self._phases()

    def _phases(self) -> None:
        """Set the signs of each step, and the multipliers of the start."""
        from explorer.kernels.fesd.structures import phases

        compiled, count = self.compiled, len(self.times)
        c = self.functions(np.append(0.0, self.times.sum(axis=1)), self.states)[0]
        signs = np.where(np.abs(c) <= _ZERO * np.abs(c).max(axis=0), 0, np.sign(c)).astype(int)
        new = np.append(True, (np.diff(signs[1:], axis=0) != 0).any(axis=1))[:count]
        self.places = np.column_stack([np.arange(count), np.cumsum(new) - 1])
        first = signs[1:][new] if count else signs
        self.phases = phases(1, compiled.n_x, compiled.n_c, compiled.n_sel)._replace(signs=first)
        at_once = np.where(signs[:1] == 0, 0.5, signs[:1] > 0)
        if compiled.stewart:
            at_once = compiled.theta(at_once)
        if count and not signs[0].all():
            at_once = self.mult[0, :1]
        self.phases.multipliers[0] = at_once[0]

    def choices(self) -> tuple[Continuations, ...]:
        """Return nothing: fixed steps choose no active set."""
        return ()

    def sample(
        self, t: np.ndarray, *, exact: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x, multipliers and step of each time, from the polynomials of the steps."""
        return super().sample(t, exact=False)
