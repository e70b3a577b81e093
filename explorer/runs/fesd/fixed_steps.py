"""One run of Runge-Kutta time stepping: elements of one length, in which anything may switch."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from explorer.kernels.fesd.collocation import at_stages
from explorer.results.switches import Continuations
from explorer.runs.fesd.elements import Elements
from explorer.runs.fesd.run import SIGNS

__all__ = ["FixedSteps"]

_ZERO = 1e-9  # beside its largest value: a switching function that is slid on


class FixedSteps(Elements):
    """The steps of one run; an interval each, and no switch is located.

    Attributes
    ----------
    switches : (n_p, 6 + n_c)
        Signs at the ends of the steps, for each run of steps in which they are the same.
    """

    def go(self, start: Any) -> None:
        """Run the kernel from `start`, by default the model's own.

        Raises
        ------
        BadModel
            A start that is not finite.
        """
        from explorer.kernels.fesd.fixed_step_rk import march

        self.method = at_stages(self.method)
        compiled, steps = self.compiled, self.intervals
        s, n, nc, nsel = self.options.stages, compiled.n_x, compiled.n_c, compiled.n_sel
        member, group, leader = compiled.groups
        nv, ng = len(member), len(leader)
        m, wide = s * (nv + ng), s * n
        states, times = np.empty((steps + 1, n)), np.empty((steps, 2))
        slopes, mult = np.empty((steps, wide)), np.empty((steps, s * nsel))
        states[0] = self.begin(start)
        counts, residual = np.zeros(3, np.int64), np.zeros(1)
        begin = time.perf_counter()
        self.code = march(
            compiled.table, compiled.shape(s), compiled.input(self.rho),
            np.empty(n * (n + nsel + 2)), np.empty(nc * (n + 2) + 1), self.method.table,
            member, group, leader,
            np.empty((s, n)), np.empty((s, nv)), np.empty((s, nsel)), np.empty(n),
            np.empty((s, nc)), np.empty((s, nc * n)), np.zeros((s + 1, ng)), np.empty((s, nv, nc)),
            np.empty((s, n * nv)),
            np.empty((wide, wide)), np.empty(max(wide, m), np.int64), np.empty((1 + s * nv, wide)),
            np.empty((m, m)), np.empty(m), np.empty(m), np.empty((m + 1, max(2 * m + 2, wide))),
            np.empty(m, np.int64), np.empty(m), np.arange(m), np.empty((m, m)),
            states, slopes, mult, times, self.t_end, self.options.h, self.options.newton_max,
            counts, residual,
        )  # fmt: skip
        self.seconds = time.perf_counter() - begin
        count = int(counts[0])
        self.states, self.times = states[: count + 1], times[:count]
        self.slopes = slopes[:count].reshape(count, s, n)
        self.mult = mult[:count].reshape(count, s, nsel)
        self.t_last, self.counts = self._end, counts
        self.watch = np.full((1, 5), np.inf)
        self.residual_of_newton = float(residual[0])
        self._phases()

    def _phases(self) -> None:
        """Set the signs of each step, and the multipliers of the start."""
        n, count = self.compiled.n_x, len(self.times)
        c = self.functions(np.append(0.0, self.times.sum(axis=1)), self.states)[0]
        signs = np.where(np.abs(c) <= _ZERO * np.abs(c).max(axis=0), 0, np.sign(c)).astype(int)
        new = np.append(True, (np.diff(signs[1:], axis=0) != 0).any(axis=1))[:count]
        self.places = np.column_stack([np.arange(count), np.cumsum(new) - 1])
        first = signs[1:][new] if count else signs
        self.switches = np.column_stack([np.zeros((len(first), SIGNS), int), first])
        self.moments = np.zeros((1, 2 + 3 * n + self.compiled.n_sel))
        at_once = np.where(signs[:1] == 0, 0.5, signs[:1] > 0)
        if self.compiled.stewart:
            at_once = self.compiled.theta(at_once)
        if count and not signs[0].all():
            at_once = self.mult[0, :1]
        self.moments[0, 2 + 3 * n :] = at_once[0]

    def choices(self) -> tuple[Continuations, ...]:
        """Return nothing: fixed steps choose no active set."""
        return ()

    def sample(
        self, t: np.ndarray, *, exact: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x, multipliers and step of each time, from the polynomials of the steps."""
        return super().sample(t, exact=False)
