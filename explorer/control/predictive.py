"""`PredictiveControl`: at each control instant a new plan from the measured state.

The first interval of the new plan is carried out, then the next plan is made (J. B. Rawlings, D. Q.
Mayne and M. M. Diehl, *Model Predictive Control: Theory, Computation, and Design*, 2nd ed., 2017,
ch. 1). A shrinking horizon ends when the plan does; a receding one always has the same length.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from explorer.arguments import Checked
from explorer.control.course import Decision
from explorer.control.feedback import Feedback, feedback
from explorer.control.solved import Solved
from explorer.errors import BadValue, ExplorerError, NotApplicable, suggest
from explorer.parameters import whole
from explorer.transcription.outcome import SOLVED

__all__ = ["PredictiveControl"]

HORIZONS = ("shrinking", "receding")


@dataclass(frozen=True, kw_only=True)
class PredictiveControl(metaclass=Checked):
    """Model predictive control, as `Plan.follow` takes it.

    If no new plan is found at an instant, the controller keeps the last good one, with `feedback`
    along it, and the status of the decision is "kept".

    Parameters
    ----------
    horizon : str
        "shrinking": what is left of the plan, with its end constraints. "receding": the length of
        the plan from each instant on, while t in formulas is the time of the run.
    max_neighbours : int
        The most sequences beside a plan that are solved at an instant. The time that an instant
        takes is about proportional to it.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.PredictiveControl(max_neighbours=5)
    PredictiveControl(horizon='shrinking', max_neighbours=5)
    """

    horizon: str = "shrinking"
    max_neighbours: int = 10

    def __post_init__(self) -> None:
        if self.horizon not in HORIZONS:
            raise BadValue(
                f"horizon = {self.horizon!r} is unknown.{suggest(self.horizon, HORIZONS)}"
            )
        many = whole(self.max_neighbours, "max_neighbours", 0)
        object.__setattr__(self, "max_neighbours", many)

    @property
    def recedes(self) -> bool:
        """Whether the horizon moves with the time, so that a run may be longer than the plan."""
        return self.horizon == "receding"

    def begin(self, plan: Solved) -> _Predicting:
        """Return the controller at work on a plan."""
        if not plan.solved:
            raise BadValue(
                f"The plan is {plan.status!r}, so there is none to go on from. Solve it first: "
                "optimize with another guess, or more intervals."
            )
        low, high = plan.task.times
        if self.recedes and low != high:
            raise NotApplicable(
                "A receding horizon has a fixed length, but the final time of the plan is free. "
                "Use horizon='shrinking'."
            )
        given = [k for k, each in plan.task.stages_of.items() if not (each == each[0]).all()]
        if self.recedes and given:
            raise NotApplicable(
                f"A receding horizon moves on, but {given[0]!r} has ranges of its own in the "
                "intervals of this plan. Use horizon='shrinking'."
            )
        plan = plan.holding()
        return _Predicting(self, plan, plan)


@dataclass
class _Predicting:
    """The last good plan, and how many intervals ago it was made."""

    options: PredictiveControl
    first: Solved
    good: Solved
    age: int = 0
    along: Feedback | None = None

    def __call__(self, k: int, t: float, x: np.ndarray, mode: int | None) -> Decision:
        begin = time.thread_time()
        recedes = self.options.recedes
        if k == self.first.first and self._as_planned(x, mode):
            return self._decided(k, self.good.status, "the plan as it is", begin, self.good)
        new = self._replanned(k, x, mode)
        if new.status in SOLVED:
            self.good, self.age = new, 0
            return self._decided(0 if recedes else k, new.status, new.message, begin, new)
        self.age += 1
        at = min(self.age, len(self.good.u) - 1) if recedes else k
        u, why = self._kept(at, t, x, mode)
        message = f"{new.status}: {new.message}; {why}"
        length = float(self.good.t[at + 1] - self.good.t[at])
        return Decision(u, length, "kept", message, time.thread_time() - begin)

    def _kept(self, at: int, t: float, x: np.ndarray, mode: int | None) -> tuple[np.ndarray, str]:
        """Return the controls of the last good plan with feedback, or as they are."""
        try:
            if self.along is None or self.along.plan is not self.good:
                self.along = feedback(self.good)
            return self.along(at, t, x, mode).u, "the last good plan with feedback"
        except ExplorerError:
            return self.good.u[at], "the last good plan as it is"

    def _as_planned(self, x: np.ndarray, mode: int | None) -> bool:
        first = self.first
        same = np.allclose(x, first.begun[first.first], rtol=1e-12, atol=1e-12)
        return same and (mode is None or mode == first.modes[first.first])

    def _replanned(self, k: int, x: np.ndarray, mode: int | None) -> Solved:
        """Return a new plan from a measured state."""
        most = self.options.max_neighbours
        if self.options.recedes:
            return self.good.resumed(x, mode, 0, self.age + 1 if k else 0, most)
        return self.good.resumed(x, mode, k, 0, most)

    def _decided(self, at: int, status: str, message: str, begin: float, plan: Solved) -> Decision:
        good = self.good
        length = float(good.t[at + 1] - good.t[at])
        seconds = time.thread_time() - begin
        return Decision(good.u[at], length, status, message, seconds, plan)
