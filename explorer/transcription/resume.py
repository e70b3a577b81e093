"""From a plan to the next one: the same program with other numbers, or a later start.

Its sequence comes first, and begins with the multipliers of the plan before; then the sequences
beside it, as `explorer.transcription.pipeline` searches them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence as Several
from dataclasses import replace

import numpy as np

from explorer.transcription.outcome import Outcome
from explorer.transcription.pipeline import Pipeline
from explorer.transcription.polish import PENALTY, Polished, polish
from explorer.transcription.sequence import Sequence
from explorer.transcription.solver import Halted

__all__ = ["resume"]


def resume(
    search: Pipeline,
    before: Polished,
    p: np.ndarray,
    w: np.ndarray,
    sequences: Several[Sequence],
    most: int,
) -> Outcome:
    """Search from a solution with other parameters.

    Parameters
    ----------
    search : Pipeline
    before : Polished
    p : float array
        The new parameters.
    w : float array
        Its point, or that of a later start.
    sequences : sequence of Sequence
        Those that are tried first, in this order; the first of them that is solved counts.
    most : int
        Sequences beside it that are solved at most, and other ones where it is not solved.
    """
    settings, search.settings = search.settings, replace(search.settings, most=most)
    search.log, search.begin, search.reached = [], time.perf_counter(), False
    search.best = None
    p = p.copy()
    p[-2], p[-1] = 0.0, PENALTY
    program = before.program
    last = before
    try:
        for sequence in sequences:
            warm = _warm(search, before, w, sequence, p)
            last = warm or search.polished(program, w, sequence, p, near=True)
            if last.ok:
                return search.improved(last, p, wide=False)
        if not most:
            return search.failed(last, p)
        return search.refine(program, w, sequences[0], p, wide=False)
    except Halted as halted:
        return search.stopped(halted, p)
    finally:
        search.settings = settings


def _warm(
    search: Pipeline, before: Polished, w: np.ndarray, sequence: Sequence, p: np.ndarray
) -> Polished | None:
    """Return the solution on the sequence of the one before, from its multipliers, or None."""
    if sequence.key != before.sequence.key:
        return None
    program = before.program
    # where lengths are free multipliers are not unique, and no good start
    kind = "again" if program.grid.free else "warm"
    plan = polish(search.smooth, program, w, sequence, p, kind=kind, elastic=False, warm=before)
    search.note("polish", plan.point, plan.cost, changes=len(plan.sequence.changes))
    return search.solved(plan) if plan.ok else None
