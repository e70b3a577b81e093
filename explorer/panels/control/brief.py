"""Predictive control that gives up before a reader does."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from explorer.control import PredictiveControl
from explorer.control.course import Decision
from explorer.control.follow import Loop
from explorer.control.solved import Solved
from explorer.errors import NotApplicable

__all__ = ["BriefControl"]


@dataclass(frozen=True)
class BriefControl:
    """Predictive control, as `Plan.follow` takes it, with a limit of its processor time in s."""

    options: PredictiveControl
    patience: float

    def begin(self, plan: Solved) -> Loop:
        """Return the controller at work on a plan.

        Raises
        ------
        NotApplicable
            At work, once it has taken too long.
        """
        loop, begin = self.options.begin(plan), time.thread_time()

        def decide(k: int, t: float, x: np.ndarray, mode: int | None) -> Decision:
            if time.thread_time() - begin > self.patience:
                raise NotApplicable(
                    f"predictive control takes more than {self.patience:g} s of computing here. "
                    "Run it by script: plan.follow(ex.PredictiveControl(), ...)."
                )
            return loop(k, t, x, mode)

        return decide
