"""What only a run has that locates its events, or that has elements: exact states anywhere."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from explorer.parameters import whole
from explorer.results import located
from explorer.results.event import within
from explorer.results.missing import missing
from explorer.results.run import Run
from explorer.types import Reals

__all__ = ["Marched"]


class Marched(Run):
    """What a run has that marched to its events; a property says so of any other run."""

    def state(self, t: float | Reals, side: str = "right") -> np.ndarray:
        """Return the state x (n_x,) at a time in s, or (k, n_x) at k times.

        At an event it is the limit on `side`: "left", before the event, or "right", after it. A run
        that stepped over its events has it as `at`, interpolated between rows.

        Raises
        ------
        BadValue
            If a time lies outside or is no number, or the side is neither.
        """
        if "march" not in vars(self):
            found = self.at(t, side)
            return np.concatenate([found.q, found.v], axis=-1)
        end = max(float(self.march.t_last), *self.t[-1:].tolist())  # rows may end before it
        times = within(t, side, 0.0, end)
        states = [located.state(self, one, side) for one in times.ravel().tolist()]
        return np.array(states).reshape(*times.shape, self.x.shape[1])

    @property
    def nearest(self) -> float:
        """Smallest value of a guard at a near miss (in its unit), inf if there was none.

        With the `slope` of the events it is the margin to grazing, where derivatives end.
        """
        return float(self._march("nearest").nearest)

    def refined(self, points: int = 400) -> Self:
        """Return the same run with at least `points` rows, for drawing.

        A run that stepped over its events has the rows of its steps, and is returned as it is.

        Raises
        ------
        BadValue
            If `points` is no whole number.
        """
        points = whole(points, "points")
        if "march" not in vars(self) or len(self.t) >= points:
            return self
        finer: Self = self.march.rows(self, points)
        return finer

    @cached_property
    def fesd_residual(self) -> dict[str, float]:
        """Largest violation of each block of the FESD equations (21).

        "collocation" (14), "complementarity" (16), "cross" (18), "equilibration" (19), "time". Of
        `ThetaRK` "cross" does not vanish where a step holds a switch. Through time freezing those
        of the run in pseudo-time.
        """
        march = self._march("fesd_residual")
        if self.has("pseudo"):
            inner: dict[str, float] = self.pseudo.fesd_residual
            return inner
        if not hasattr(march, "residual"):
            raise missing(self, "fesd_residual")
        found: dict[str, float] = march.residual()
        return found

    @cached_property
    def pseudo(self) -> Self:
        """Through time freezing: the same run in pseudo-time; its last state is the clock."""
        march = self._march("pseudo")
        if not hasattr(march, "stretches"):
            raise missing(self, "pseudo")
        run: Self = march.elements.trajectory()
        return run

    @property
    def frozen(self) -> np.ndarray:
        """Through time freezing: pseudo-time in which the clock stands still, (k, 2), s."""
        march = self._march("frozen")
        if not hasattr(march, "stretches"):
            raise missing(self, "frozen")
        found: np.ndarray = march.stretches
        return found

    def _march(self, name: str) -> Any:
        """Return what the kernel recorded.

        Raises
        ------
        NoSuchName
            A run that stepped over its events.
        """
        if "march" not in vars(self):
            raise missing(self, name)
        return self.march
