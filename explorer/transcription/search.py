"""What a search for a plan keeps: its programs, its log, its best plan, and how it may end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

import numpy as np

from explorer.transcription.grid import ASKED
from explorer.transcription.halt import why
from explorer.transcription.neighbours import biactive
from explorer.transcription.outcome import Outcome, Settings
from explorer.transcription.polish import CLOSED, Polished
from explorer.transcription.sequence import Sequence
from explorer.transcription.solver import Halted, Point, Solver, said
from explorer.types import Plain

__all__ = ["Search"]


class Search:
    """Programs of one problem, and what was found so far.

    Parameters
    ----------
    smooth : Solver
        Of the program in step form.
    homotopy : Solver or None
        Of the program for the homotopy, if it is another one (Stewart's form).
    settings : Settings
    """

    def __init__(self, smooth: Solver, homotopy: Solver | None, settings: Settings) -> None:
        self.smooth, self.settings = smooth, settings
        self.first = homotopy or smooth
        self.log: list[Plain] = []
        self.told: Callable[[int, str], None] = lambda done, name: None
        self.begin = time.perf_counter()
        self.start_mode = 0
        self.modes: Sequence | None = None
        self.reached = False  # whether the homotopy met all constraints
        self.elastic = False  # whether its programs only find what cannot hold
        self.loosen: Callable[[], Self] | None = None  # makes an elastic one
        self.best: Polished | None = None
        self.now = "search"  # what is solved
        self.budget = np.inf  # iterations of the search beside a plan
        self.until = np.inf  # iterations at which the search beside a plan ends

    @property
    def iterations(self) -> int:
        """How many iterations all solves have taken, those of other searches among them."""
        return sum(one.total[0] for one in {id(s): s for s in (self.first, self.smooth)}.values())

    @property
    def over(self) -> bool:
        """Whether the search beside a plan has used its iterations."""
        return self.iterations >= self.until

    def heard(self, iteration: int) -> None:
        """Tell which iteration of what the solver is at."""
        self.told(len(self.log), f"{self.now}, iteration {iteration}")

    def note(self, stage: str, point: Point, cost: float, **more: object) -> None:
        """Append a line to the log."""
        line = {"stage": stage, "objective": cost, "iterations": point.iterations}
        line |= {"status": point.status, "seconds": time.perf_counter() - self.begin, **more}
        self.log.append(line)
        self.told(len(self.log), f"{stage}, {cost:.6g}")

    def solved(self, plan: Polished) -> Polished:
        """Return a solution on a sequence; the best one is kept for an end that comes too early."""
        if plan.ok and (self.best is None or plan.cost < self.best.cost):
            self.best = plan
        return plan

    def stopped(self, halted: Halted, p: np.ndarray) -> Outcome:
        """Return the best plan before a search was stopped, or the point that it had come to."""
        best, log = self.best, self.log
        if best is None:
            text, w = f"{why()}; this is no solution yet", halted.point.w
            return Outcome(halted.program, w, p, "stopped", None, halted.point, [], text, log)
        text = f"{why()}; the best plan so far, on its own sequence"
        places, w = biactive(best), best.point.w
        return Outcome(best.program, w, p, "stopped", best, best.point, places, text, log)

    def failed(self, best: Polished, p: np.ndarray) -> Outcome:
        """Return the outcome where no sequence was solved."""
        held = {k: v for k, v in best.slacks.items() if v > CLOSED and k in ASKED}
        status, text = "not converged", said(best.point.status)
        if best.point.ok and best.slacks["loose"] > CLOSED:
            text = "no sequence that was tried can hold"
        if held and not self.reached:
            status = "infeasible" if best.point.ok else "not converged"
            text = "the constraints cannot hold together"
            text += " in the modes that were tried" * bool(best.program.formulas.modes)
        return Outcome(best.program, best.point.w, p, status, best, best.point, [], text, self.log)
