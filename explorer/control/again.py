"""Planning again from a plan: the same sequence first, then those beside it, then on a detour.

The compiled functions of the program stay; a start, parameters and a later begin are numbers in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from explorer.errors import BadValue
from explorer.transcription.active_set import ends
from explorer.transcription.horizon import begun_at, over, shifted_by_one
from explorer.transcription.pipeline import Outcome, Pipeline
from explorer.transcription.polish import Polished
from explorer.transcription.sequence import Sequence

__all__ = ["SOLVED", "Begin", "checked_begin", "later", "replanned", "shifted"]

SOLVED = ("stationary", "at a kink")
_HALVES = 3  # a detour has at most 2**3 steps


@dataclass(frozen=True)
class Begin:
    """Where a plan begins again.

    Attributes
    ----------
    w : float array
        The point of the plan before, with the later start in it.
    sequence : Sequence
        What is left of its sequence.
    """

    w: np.ndarray
    sequence: Sequence


def checked_begin(begin: object, intervals: int, first: int) -> int:
    """Return the number of the control interval with which a plan begins again.

    Raises
    ------
    BadValue
        If it is no interval that is left.
    """
    if isinstance(begin, bool) or not isinstance(begin, (int, np.integer)):
        raise BadValue(f"begin = {begin!r} must be the number of a control interval.")
    if not first <= begin < intervals:
        raise BadValue(
            f"begin = {begin}: this plan has the control intervals {first} to {intervals - 1}."
        )
    return int(begin)


def resumed(sequence: Sequence, t: float, place: int, mode: int | None) -> Sequence:
    """Return what is left of a sequence at a time in s and a place.

    Where the mode there is another one than planned, the nearest phase of that mode in time is the
    one in which the plan goes on; without one, the whole rest is new.
    """
    changes = sequence.changes
    i = sum(change.place < place for change in changes)
    if mode is not None and sequence.signs(i) != (mode,):
        times = [-np.inf, *(c.t for c in changes), np.inf]
        # distance in time from now to each phase of this mode
        away = {
            n: max(times[n] - t, t - times[n + 1], 0.0)
            for n in range(len(changes) + 1)
            if sequence.signs(n) == (mode,)
        }
        if not away:
            return Sequence((mode,), ())
        i = min(away, key=lambda n: away[n])
    rest = tuple(replace(c, place=max(c.place, place), t=max(c.t, t)) for c in changes[i:])
    return Sequence(sequence.signs(i), rest)


def later(plan: Polished, k: int, x0: np.ndarray, t_0: float, mode: int | None) -> Begin:
    """Return the begin with control interval `k` of the same grid, at `t_0` in s."""
    program, w = plan.program, plan.point.w
    sequence = resumed(plan.sequence, t_0, 2 * k, mode)
    if k == over(program, w) and t_0 == w[program.of["t_0"]]:
        return Begin(w, sequence)
    return Begin(begun_at(program, w, k, t_0, x0), sequence)


def shifted(plan: Polished, count: int, mode: int | None) -> Begin:
    """Return the begin `count` intervals later, with a horizon of the same length."""
    program, w = plan.program, plan.point.w
    times = ends(program, w)
    left = resumed(plan.sequence, float(times[count]), 2 * count, mode)
    changes = tuple(replace(c, place=c.place - 2 * count) for c in left.changes)
    for t_0 in times[1 : count + 1]:
        w = shifted_by_one(program, w, float(t_0))
    return Begin(w, Sequence(left.first, changes))


def replanned(
    pipeline: Pipeline, plan: Polished, begin: Begin, p: np.ndarray, most: int
) -> tuple[Outcome, str]:
    """Return a new outcome, and how it was found.

    Parameters
    ----------
    pipeline : Pipeline
    plan : Polished
        The plan before.
    begin : Begin
    p : float array
        The new parameters of the program.
    most : int
        Sequences beside each other that are solved at most.
    """
    outcome = pipeline.again(plan, p, begin.w, begin.sequence, most)
    if outcome.status in SOLVED:
        assert outcome.plan is not None
        same = [c.after for c in outcome.plan.sequence.changes]
        kept = outcome.plan.sequence.first == begin.sequence.first
        kept = kept and same == [c.after for c in begin.sequence.changes]
        return outcome, "on the sequence of the plan before" if kept else "on another sequence"
    if most:
        way = _detour(pipeline, plan, begin, p, most)
        if way is not None:
            return way, "on a detour"
    return outcome, "not found"


def _detour(
    pipeline: Pipeline, plan: Polished, begin: Begin, p: np.ndarray, most: int
) -> Outcome | None:
    """Return the outcome of a path of plans from the old parameters to the new ones."""
    old = plan.parameters.copy()
    n_x = plan.program.formulas.n_x
    k = over(plan.program, begin.w)
    if k:
        old[:n_x] = np.asarray(plan.program.begun(plan.point.w, plan.parameters), float).T[
            k * plan.program.grid.elements
        ]
    for halves in range(1, _HALVES + 1):
        here, w, sequence = plan, begin.w, begin.sequence
        found: Outcome | None = None
        for part in np.linspace(0, 1, 2**halves + 1)[1:]:
            at = old + part * (p - old)
            at[-2:] = p[-2:]
            found = pipeline.again(here, at, w, sequence, most)
            if found.status not in SOLVED or found.plan is None:
                break
            here, w, sequence = found.plan, found.plan.point.w, found.plan.sequence
        if found is not None and found.status in SOLVED:
            return found
    return None
