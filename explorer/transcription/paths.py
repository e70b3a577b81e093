"""Paths of the homotopy from a point to a sequence of active sets, and to a solution on it."""

from __future__ import annotations

import numpy as np

from explorer.transcription.active_set import open_ends, signs_of
from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.contact_sets import inside
from explorer.transcription.grid import ASKED
from explorer.transcription.horizon import restrict
from explorer.transcription.layout import ends, lengths
from explorer.transcription.neighbours import without_idle
from explorer.transcription.outcome import Outcome
from explorer.transcription.polish import CLOSED, PENALTY, Polished, polish
from explorer.transcription.program import Program
from explorer.transcription.search import Search
from explorer.transcription.sequence import Sequence, read
from explorer.transcription.shaken import shaken
from explorer.transcription.solver import Bounds, Point

__all__ = ["Paths"]

ASTRAY = 30  # a factor by which the objective does not rise from one sigma to the next
CLOSER = 1.5  # a factor between two sigmas that is no longer made smaller
SHORTEST = 0.1  # of a mean element with contacts, during the homotopy
MET = 1e-4  # rows of a point at a limit of iterations hold as well as those of a solved one
RESTARTS = 4  # other paths, where the first one ends without a solution


class Paths(Search):
    """Goes along the homotopy, and along another one where the first ends without a solution."""

    def homotopy(
        self, w: np.ndarray, p: np.ndarray, sigmas: tuple[float, ...] | None = None
    ) -> Point:
        """Return the point of the smallest sigma."""
        program, solver = self.first.program, self.first
        p = p.copy()
        p[-2], p[-1] = self.settings.even, PENALTY
        sigmas = sigmas or self.settings.sigmas
        sigmas = sigmas if program.formulas.n_c else sigmas[:1]
        contacts = isinstance(program.formulas, ContactFormulas)
        elastic, point, last, dear = self.elastic, None, 0.0, np.inf
        todo = list(sigmas)
        while todo:
            sigma = todo.pop(0)
            bounds = Bounds.of(program)
            bounds.row_high[program.rows["product"]] = sigma
            if contacts:
                # in an element of no length a force would be an impulse that nothing limits
                least = SHORTEST * program.grid.usual / program.of["h"].size
                bounds.low[program.of["h"]] = least
            bounds.row_low[program.rows["tied"]] = bounds.row_high[program.rows["tied"]] = 0.0
            if elastic:
                bounds = open_ends(program, bounds)
            restrict(program, bounds, w, p)
            self.now = f"homotopy, sigma = {sigma:g}"
            kind = "homotopy" if contacts or not todo else "coarse"
            point = solver(kind, w, p, bounds, dear=dear)
            capped = point.status == "Maximum_Iterations_Exceeded"
            if not point.ok and (contacts or capped) and last > CLOSER * sigma:
                # the solver has gone astray: from the last solution to a sigma that is nearer
                self.note("homotopy", point, float(program.costs(point.w, p)), sigma=sigma)
                todo = [float(np.sqrt(last * sigma)), sigma, *todo]
                continue
            if not point.ok and not elastic:
                elastic = True
                point = solver(kind, w, p, restrict(program, open_ends(program, bounds), w, p))
            last, dear = sigma, ASTRAY * (1 + abs(point.f)) if contacts else np.inf
            w = point.w
            slack = max((w[program.of[k]].max(initial=0.0) for k in ASKED), default=0.0)
            elastic = elastic and slack > CLOSED
            met = point.ok or point.violation <= MET
            self.reached = met and not slack > CLOSED
            self.note("homotopy", point, float(program.costs(w, p)), sigma=sigma, slack=slack)
        assert point is not None
        return point

    def relaxed(self, point: Point, p: np.ndarray, status: str, why: str) -> Outcome:
        """Return the end of the homotopy as it is: nothing was polished."""
        text = f"complementarity to {self.settings.sigmas[-1]:.0e}; {why}"
        return Outcome(self.first.program, point.w, p, status, None, point, [], text, self.log)

    def sequence(self, w: np.ndarray, p: np.ndarray) -> Sequence:
        """Return the sequence of a point of the homotopy."""
        program, most = self.first.program, self.first.program.grid.elements
        h = lengths(program, w)
        short = 1e-3 * float(h.sum()) / len(h)
        t_0 = float(w[program.of["t_0"]])
        sequence = read(signs_of(program, w, p), h, short, t_0)
        if isinstance(program.formulas, ContactFormulas):
            return inside(sequence, most, ends(program, w))
        if program.formulas.cells is None:
            sequence = without_idle(program, w, p, sequence)
        single = sequence.single().inside(most)
        return single if single.crowd() <= most else sequence

    def quick(self, source: Program, w: np.ndarray, sequence: Sequence, p: np.ndarray) -> Polished:
        """Return the solution on a sequence without slacks."""
        p = p.copy()
        p[-2], p[-1] = 0.0, PENALTY
        plan = polish(self.smooth, source, w, sequence, p, kind="homotopy", elastic=False)
        self.note("polish", plan.point, plan.cost, changes=len(plan.sequence.changes))
        return self.solved(plan)

    def tightened(
        self, point: Point, sequence: Sequence, p: np.ndarray
    ) -> tuple[Polished | None, Point, Sequence]:
        """Return the solution on the sequence of a smaller sigma, if any, and where it ended."""
        for sigma in self.settings.more:
            plan = self.quick(self.first.program, point.w, sequence, p)
            if plan.ok:
                return plan, point, sequence
            point = self.homotopy(point.w, p, (sigma,))
            sequence = self.sequence(point.w, p)
        return None, point, sequence

    def again(self, point: Point, sequence: Sequence, p: np.ndarray) -> bool:
        """Whether the homotopy met all constraints, but its last sequence is not solved either."""
        if self.elastic or not self.reached or not self.settings.other:
            return False
        return not self.quick(self.first.program, point.w, sequence, p).ok

    def restarted(self, w: np.ndarray, p: np.ndarray) -> Polished | None:
        """Return a solution at the end of another path, if any: other sigmas, then random points.

        A path that ends at a sequence without a solution costs many iterations beside it, and most
        other paths end at another sequence.
        """
        sigmas, rng = self.settings.sigmas, np.random.default_rng(0)
        for k in range(RESTARTS):
            begin = shaken(self.first.program, w, rng) if k else w
            point = self.homotopy(begin, p, sigmas if k else self.settings.other)
            if self.reached:
                plan, *_ = self.tightened(point, self.sequence(point.w, p), p)
                if plan is not None:
                    return plan
        self.reached = True  # by the first path
        return None
