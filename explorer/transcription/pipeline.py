"""From a guess to a plan: homotopy, active sets, smooth polish, neighbouring sequences.

1. The homotopy of Scholtes (SIAM J. Optim. 11 (2001) 918, doi:10.1137/S1052623499361233) solves the
   program with all products below sigma, for a falling sigma.
2. Its point tells the sequence of active sets. With contacts, where none is solved, the homotopy
   begins again on another path (`explorer.transcription.paths`).
3. On that sequence the program is smooth, and is solved to 1e-10; where it has no solution, slacks
   tell what cannot hold (elastic mode: Anitescu, Tseng and Wright, *Math. Program.* 110 (2007) 337,
   doi:10.1007/s10107-006-0005-4).
4. Where the solution is biactive, the sequences beside it are solved too, until none is better.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from explorer.transcription.active_set import moved
from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.halt import why
from explorer.transcription.horizon import carried
from explorer.transcription.neighbours import (
    MOST,
    Biactive,
    biactive,
    elsewhere,
    neighbours,
    shifted,
)
from explorer.transcription.outcome import SOLVED, Outcome
from explorer.transcription.paths import Paths
from explorer.transcription.polish import (
    PENALTY,
    Polished,
    at_bounds,
    finest,
    polish,
    pressed,
    ties,
)
from explorer.transcription.program import Program
from explorer.transcription.sequence import Sequence
from explorer.transcription.solver import Halted

__all__ = ["Pipeline"]

BETTER = 1e-8  # relative: a lower objective
TRIES = 2  # budgets of a search beside a sequence that is not solved
ANYWAY = 300  # iterations of a search beside a plan, however few the homotopy took
SAME = 1e-6  # relative: what two discretisations of one solution may differ by


class Pipeline(Paths):
    """Solves one problem, for any start, parameters and guess."""

    def __call__(self, w: np.ndarray, p: np.ndarray) -> Outcome:
        """Search from a guess `w` of the program of the homotopy; `p` are the parameters."""
        self.best = None
        try:
            self.now = "search"
            return self.explained(self.searched(w, p), w, p)
        except Halted as halted:
            return self.stopped(halted, p)

    def explained(self, outcome: Outcome, w: np.ndarray, p: np.ndarray) -> Outcome:
        """Return an outcome; where nothing is solved, what cannot hold is named if it is found."""
        if outcome.status in SOLVED or self.reached or self.loosen is None:
            return outcome
        self.now = "what cannot hold"
        other = self.loosen()
        other.modes, other.told = self.modes, self.told
        try:
            found = other.searched(carried(self.first.program, w, other.first.program), p)
        except Halted:
            return replace(outcome, status="stopped", message=f"{why()}; nothing was solved")
        self.log += found.log
        if found.plan is not None and found.status in SOLVED:
            return self.refine(found.program, found.w, found.plan.sequence, p)
        return replace(found, log=self.log) if found.status == "infeasible" else outcome

    def searched(self, w: np.ndarray, p: np.ndarray) -> Outcome:
        """Return what a search from a guess finds."""
        self.log, self.begin, self.reached = [], time.perf_counter(), False
        self.budget = np.inf
        program = self.first.program
        if program.formulas.modes or self.modes:
            return self.known(w, p)
        before = self.iterations
        point = self.homotopy(w, p)
        self.budget = max(self.settings.effort * (self.iterations - before), ANYWAY)
        if program.formulas.n_c == 0 or not program.grid.switching:
            sequence = Sequence((0,) * program.formulas.n_c, ())
            if program.formulas.n_c:
                status = "stationary" if point.ok else "not converged"
                return self.relaxed(point, p, status, "switches are not located")
        else:
            sequence = self.sequence(point.w, p)
        plan, point, sequence = self.tightened(point, sequence, p)
        if plan is None and self.again(point, sequence, p):
            plan = self.restarted(w, p)
        if plan is not None:
            return self.improved(plan, plan.parameters, wide=True)
        outcome = self.refine(program, point.w, sequence, p)
        if outcome.status == "not converged" and self.reached:
            return self.relaxed(point, p, outcome.status, "no sequence of active sets is solved")
        return outcome

    def known(self, w: np.ndarray, p: np.ndarray) -> Outcome:
        """Search among sequences, beginning with that of the guess or the mode of the start."""
        program = self.first.program
        sequence = self.modes or Sequence((self.start_mode,), ())
        p = p.copy()
        p[-2], p[-1] = 0.0, PENALTY
        first = polish(self.smooth, program, w, sequence, p, kind="homotopy", uniform=True)
        self.note("first modes", first.point, first.cost, changes=len(sequence.changes))
        return self.refine(first.program, first.point.w, first.sequence, p)

    # -- 3 and 4 --------------------------------------------------------------------------------

    def refine(
        self, source: Program, w: np.ndarray, sequence: Sequence, p: np.ndarray, wide: bool = True
    ) -> Outcome:
        """Solve on a sequence and on those beside it, as long as they are better.

        If not `wide`, no more than ``settings.most`` sequences are tried.
        """
        p = p.copy()
        p[-2], p[-1] = 0.0, PENALTY
        best = self.polished(source, w, sequence, p)
        if not best.ok:
            limit = self.iterations + TRIES * self.budget
            for other in elsewhere(sequence, source.grid)[: None if wide else self.settings.most]:
                if self.iterations >= limit:
                    break
                tried = self.polished(source, w, other, p)
                best = tried if tried.ok or tried.missing < best.missing else best
                if best.ok:
                    break
        if not best.ok and best.program.formulas.modes:
            best = self.repaired(best, p)
        if not best.ok:
            return self.failed(best, p)
        return self.improved(best, p, wide)

    def improved(self, best: Polished, p: np.ndarray, wide: bool) -> Outcome:
        """Return the outcome of a solution: sequences beside it, as long as they are better."""
        first = best
        if self.elastic:
            w = best.point.w
            return Outcome(best.program, w, p, "stationary", best, best.point, [], "", self.log)
        self.until = self.iterations + (self.budget if wide else np.inf)
        best, places, open_ = self.descend(best, p, wide)
        several = len(places) > 1 and any(place.sequence is not None for place in places)
        if wide and (open_ or several or len(places) > MOST) and not self.over:
            best, places, open_ = self.loosened(best, places, open_, p)  # all moved together
        if best is not first and not isinstance(best.program.formulas, ContactFormulas):
            # a search beside a plan does not go to the last digits
            final = self.polished(best.program, best.point.w, best.sequence, p)
            if final.ok and final.cost <= best.cost + SAME * (1 + abs(best.cost)):
                best = final
                places = biactive(best)
        if wide and best.program.grid.free and not places:
            best = self.solved(finest(self.smooth, best))
        status = "at a kink" if places and open_ else "stationary"
        text = "no sequence beside it is better" if places else "solved"
        if places and open_:
            text = f"{open_} sequence{'s' * (open_ > 1)} beside it could not be judged"
        if self.over:
            text += f"; the search beside it ended at its limit of {self.budget:.0f} iterations"
        w = best.point.w
        return Outcome(best.program, w, p, status, best, best.point, places, text, self.log)

    def repaired(self, best: Polished, p: np.ndarray) -> Polished:
        """Return a solution on a sequence beside one on which the constraints cannot hold."""
        seen, left = {best.sequence.key}, self.settings.most
        while not best.ok:
            better = None
            for sequence in neighbours(best, biactive(best)):
                if sequence.key in seen or not left:
                    continue
                seen.add(sequence.key)
                left -= 1
                other = self.polished(best.program, best.point.w, sequence, p)
                if other.ok or other.missing < 0.999 * best.missing:
                    better = other
                    break
            if better is None:
                return best
            best = better
        return best

    def polished(
        self,
        source: Program,
        w: np.ndarray,
        sequence: Sequence,
        p: np.ndarray,
        near: bool = False,
    ) -> Polished:
        """Return the solution on a sequence; controls of free intervals are joined where equal.

        With `near` the point is near a solution, or the sequence is a wrong one: no slacks, and
        few iterations.
        """
        kind = "again" if near else "polish"
        self.now = f"{kind}, {len(sequence.changes)} switches"
        if isinstance(source.formulas, ContactFormulas) and not near:
            kind = "homotopy"  # contacts change much of the point
        plan = polish(self.smooth, source, w, sequence, p, kind=kind, elastic=not near)
        self.note("polish", plan.point, plan.cost, changes=len(plan.sequence.changes))
        self.solved(plan)
        program = plan.program
        for _ in range(4 * program.grid.free * plan.ok):
            tied = ties(program, plan.point.w)
            again = polish(self.smooth, program, plan.point.w, plan.sequence, p)
            self.note("polish", again.point, again.cost, changes=len(again.sequence.changes))
            if not again.ok or again.cost > plan.cost + BETTER * (1 + abs(plan.cost)):
                break
            done = np.array_equal(tied, ties(program, again.point.w)) and again.cost >= plan.cost
            plan = again
            if done:
                break
        held = at_bounds(program, plan.point.w)
        if program.grid.free and plan.ok and held.any():
            # an interior point stays away from bounds that hardly press, which displaces switches
            again = polish(self.smooth, program, plan.point.w, plan.sequence, p, held=held)
            self.note("polish", again.point, again.cost, changes=len(again.sequence.changes))
            if again.ok and pressed(again, held):
                plan = again
        return self.solved(plan)

    def descend(
        self, best: Polished, p: np.ndarray, wide: bool
    ) -> tuple[Polished, list[Biactive], int]:
        """Return the best plan, its biactive places, and how many sequences were not judged.

        With `wide`, changes near the ends of intervals are moved too, not only those at the ends.
        """
        seen, left = {best.sequence.key}, self.settings.most
        opened: set[object] = set()
        turn = 0
        while True:
            places, unknown, better = biactive(best), 0, None
            candidates = [(one, True) for one in neighbours(best, places)]
            if any(place.empty for place in places) and best.sequence.key not in opened:
                # a slide of no length looks stationary with any multiplier: try to open it
                opened.add(best.sequence.key)
                candidates.append((best.sequence, True))
                seen.discard(best.sequence.key)
            needed = len(candidates)
            others = [(one, False) for one in (shifted(best) if wide else ())]
            turn = turn % max(len(others), 1)  # go on where the last step down was
            candidates += others[turn:] + others[:turn]
            for i, (sequence, beside) in enumerate(candidates):
                if sequence.key in seen:
                    continue
                if left == 0 or self.over:
                    unknown += beside
                    continue
                seen.add(sequence.key)
                left -= 1
                other = self.beside(best, sequence, p, beside)
                unknown += beside and not other.ok
                if other.ok and other.cost < best.cost - BETTER * (1 + abs(best.cost)):
                    better = other
                    turn += max(i - needed, 0)
                    break
            if better is None:
                return best, places, unknown
            best = better

    def loosened(
        self, best: Polished, places: list[Biactive], open_: int, p: np.ndarray
    ) -> tuple[Polished, list[Biactive], int]:
        """Return what the end of the homotopy makes of a plan at a kink, if that is better.

        Its products are small there and none is zero, so all biactive changes move together.
        """
        first, w = self.first.program, best.point.w
        apart = best.program is not first
        if best.program.formulas.modes or (apart and not first.formulas.n_beta):
            return best, places, open_
        if apart:
            w, _ = moved(best.program, w, first, best.sequence, p)
        point = self.homotopy(w, p, self.settings.sigmas[1:])
        other = self.polished(first, point.w, self.sequence(point.w, p), p)
        if not other.ok or other.cost > best.cost - BETTER * (1 + abs(best.cost)):
            return best, places, open_
        return self.descend(other, p, wide=True)

    def beside(
        self, best: Polished, sequence: Sequence, p: np.ndarray, needed: bool = True
    ) -> Polished:
        """Return the solution on a sequence beside a plan, if it is near or `needed`."""
        program, w = best.program, best.point.w
        self.now = f"a sequence beside it, {len(sequence.changes)} switches"
        kind, rival = ("explore", np.inf) if needed else ("glance", best.cost)
        other = polish(self.smooth, program, w, sequence, p, kind=kind, elastic=False, rival=rival)
        self.note("neighbour", other.point, other.cost, changes=len(sequence.changes))
        cheaper = other.cost < best.cost
        if isinstance(program.formulas, ContactFormulas):
            if not (other.ok and cheaper):
                return other
            going = True  # to the last digits
        else:
            near = np.isfinite(other.cost) and other.point.violation < 1e-3
            going = not other.ok and near and (needed or cheaper)
        if going:
            w = other.point.w
            other = polish(self.smooth, program, w, other.sequence, p, elastic=False)
            self.note("neighbour", other.point, other.cost, changes=len(sequence.changes))
        return self.solved(other)
