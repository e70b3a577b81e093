"""The legs of a run in pseudo-time, marched until the clock has reached the end."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from explorer.codes import ACCUMULATION, CHATTERING, ELEMENT_CAP, NEWTON_CAP, NO_ACTIVE_SET, SUCCESS
from explorer.compiled.frozen import Frozen
from explorer.runs.fesd.elements import Elements
from explorer.runs.fesd.joined import Joined, join
from explorer.runs.fesd.options import Options
from explorer.runs.fesd.run import taken
from explorer.runs.steps import steps
from explorer.runs.time_freezing.driven import along_pseudo_time, cut
from explorer.types import Reals

__all__ = ["STILL", "Legs"]

_LEGS = 200
_FINER, _FINEST = 1e-2, 4  # steps where Newton's method has failed
STILL = 1e-9  # the clock of an element that is frozen runs slower


class Legs(ABC):
    """One run in pseudo-time.

    Attributes
    ----------
    elements : Joined
        All legs.
    ends : list of float
        Pseudo-times at which the intervals of the inputs end.
    counts : elements, switches, Newton iterations
    """

    of_steps, of_elements = False, False  # in physical time

    elements: Joined

    def __init__(
        self, compiled: Frozen, options: Options, rho: Reals, t_end: float, *, scheme: object = None
    ) -> None:
        self.compiled, self.options, self.scheme, self.t_end = compiled, options, scheme, t_end
        self.rho = np.asarray(rho, float)
        self.nearest = np.inf  # no guard nearly fires: none is watched
        steps(options.h, t_end, 1, 1)  # refuses a span that is shorter than h

    @abstractmethod
    def begin(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the start in pseudo-time, and all parameters."""

    def go(self, start: np.ndarray) -> None:
        """March until the clock has reached the end."""
        compiled, drive = self.compiled.switched, self.compiled.system.drive
        legs: list[Elements] = []
        x, rho = self.begin(start)
        self.status_code = SUCCESS
        stops = [self.t_end] if drive is None else [*drive.breaks.tolist(), self.t_end]
        self.ends: list[float] = []  # in pseudo-time
        clock = 0.0
        for k, stop in enumerate(stops):
            if drive is not None:
                rho = rho.copy()
                rho[drive.places_in(self.compiled.system)] = drive.values[k]
            x, clock = self._march(legs, x, rho, clock, stop)
            self.ends.append(sum(leg._end for leg in legs))
            if clock < stop * (1 - 1e-14):
                break
            self.status_code = SUCCESS
        self.elements = join(legs)
        if drive is not None:
            ends = np.array(self.ends)
            self.elements.compiled = along_pseudo_time(compiled, drive, ends)
        self.elements.states[0, : len(start)] = start
        self._cut()

    def _march(
        self, legs: list[Elements], x: np.ndarray, rho: np.ndarray, clock: float, stop: float
    ) -> tuple[np.ndarray, float]:
        """Add legs until the clock has come to `stop`; return the state and the clock there."""
        compiled, span, small = self.compiled.switched, stop - clock, 0
        most, last = len(legs) + _LEGS, stop == self.t_end
        row = (self.options.stages + 1) * (compiled.n_x + compiled.n_sel) * self.options.elements

        def made(options: Options, begin: np.ndarray, length: float) -> Elements:
            count = steps(min(options.h, length), length, row, compiled.n_x)
            leg = Elements(compiled, options, rho, length, count, scheme=self.scheme)
            leg.go(begin)
            return leg

        while clock < stop * (1 - 1e-14):
            if sum(len(leg.times) for leg in legs) > self.options.max_elements:
                self.status_code = ELEMENT_CAP
                break
            if len(legs) >= most:
                self.status_code = self.status_code or CHATTERING
                break
            options = replace(self.options, h=self.options.h * _FINER**small)
            span = 4 * options.h if small else max(span, options.h)
            intervals = steps(options.h, span, row, compiled.n_x)
            leg = Elements(
                compiled, options, rho, intervals * options.h, intervals, scheme=self.scheme
            )
            leg.go(x)
            if not last and leg.states[-1, -1] >= stop:
                leg = cut(leg, stop, functools.partial(made, options, x)) or leg
            amended = self.amend(leg, clock)
            if amended is not None:
                x, more = amended
                legs += more
                clock, small, self.status_code = float(x[-1]), 0, SUCCESS
                span = max(span - leg._end, 10 * self.options.h)
                continue
            legs.append(leg)
            x, self.status_code = leg.states[-1], leg.code
            if leg.code in (NEWTON_CAP, NO_ACTIVE_SET) and small < _FINEST:
                small += 1  # a contact that opens without speed may take small steps
            elif leg.code in (SUCCESS, ACCUMULATION):
                rate = max((x[-1] - clock) / max(leg._end, 1e-300), 0.02)
                small, span = 0, 1.02 * (stop - x[-1]) / rate
            else:
                break
            clock = float(x[-1])
            if not last and abs(clock - stop) <= 1e-9 * stop:
                x = x.copy()
                x[-1] = clock = stop
        return x, clock

    def amend(self, leg: Elements, clock: float) -> tuple[np.ndarray, list[Elements]] | None:
        """Return where a run goes on instead of by `leg`, and its elements up to there, if so."""
        return None

    def lawful(self, count: int) -> int:
        """Return how many of the first `count` elements keep to what the laws need."""
        return count

    def _cut(self) -> None:
        """Leave out what lies behind the end."""
        e = self.elements
        beyond = np.flatnonzero(e.states[1:, -1] >= self.t_end * (1 - 1e-14))
        count = beyond[0] + 1 if len(beyond) else len(e.times)
        lawful = self.lawful(count)
        if lawful < count:
            count, beyond = lawful, beyond[:0]
        for name in ("slopes", "mult", "times", "places"):
            setattr(e, name, getattr(e, name)[:count])
        e.states = e.states[: count + 1]
        phases = e.places[-1, 1] + 1 if count else len(e.phases.t)
        e.phases = taken(e.phases, slice(phases))
        e.counts[:2] = count, phases - 1
        self.counts = e.counts
        self.clock = e.states[:, -1]
        self.t_last = min(float(self.clock[-1]), self.t_end)
        if len(beyond):
            self.t_last = self.t_end
        self.still = (np.abs(e.slopes[:, :, -1]) < STILL).all(axis=1)
        self.running = np.flatnonzero(~self.still)
