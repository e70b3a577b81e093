"""Planning again from a plan: the same sequence first, then those beside it, then on a detour.

The compiled functions of the program stay; a start, parameters and a later begin are numbers in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from explorer.errors import BadValue
from explorer.transcription.horizon import begun_at, over, shifted_by_one
from explorer.transcription.layout import ends
from explorer.transcription.outcome import SOLVED, Outcome
from explorer.transcription.pipeline import Pipeline
from explorer.transcription.polish import Polished
from explorer.transcription.resume import resume
from explorer.transcription.sequence import Change, Sequence

__all__ = ["Begin", "checked_begin", "later", "replanned", "shifted"]

Edges: TypeAlias = "tuple[tuple[int, int], ...]"
_HALVES = 3  # a detour has at most 2**3 steps


@dataclass(frozen=True)
class Begin:
    """Where a plan begins again.

    Attributes
    ----------
    w : float array
        The point of the plan before, with the later start in it.
    sequences : list of Sequence
        What may be left of its sequence, the likeliest first.
    """

    w: np.ndarray
    sequences: list[Sequence]


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


def resumed(
    sequence: Sequence, t: float, place: int, mode: int | None, edges: Edges, most: int
) -> list[Sequence]:
    """Return what may be left of a sequence at a time in s and a place.

    Where the system is in another mode than planned: the event to the planned mode is still to
    come, or an event has come early and the plan goes on behind it, or the rest is new.

    Parameters
    ----------
    sequence : Sequence
    t, place :
        Time and place of the new begin.
    mode : int or None
        The mode there; None: as planned.
    edges : tuple of (int, int)
        The modes before and after each guard.
    most : int
        Phases that a control interval has at most.
    """
    changes = sequence.changes
    i = sum(change.place < place for change in changes)
    planned = sequence.signs(i)

    def rest(i: int) -> tuple[Change, ...]:
        return tuple(replace(c, place=max(c.place, place), t=max(c.t, t)) for c in changes[i:])

    if mode is None or planned == (mode,):
        return [Sequence(planned, rest(i))]
    found = []
    times = [-np.inf, *(c.t for c in changes), np.inf]
    away = {
        n: max(times[n] - t, t - times[n + 1], 0.0)
        for n in range(len(changes) + 1)
        if sequence.signs(n) == (mode,)
    }
    nearest = min(away, key=lambda n: away[n], default=None)
    if nearest is not None:
        found.append(Sequence((mode,), rest(nearest)))
    if (mode, planned[0]) in edges:
        inside = place + place % 2
        found.append(Sequence((mode,), (Change(planned, inside, t), *rest(i))))
        if i < len(changes) and nearest is None:
            found.reverse()
    for j in range(i + 1, len(changes) + 1):  # a later phase, if a guard leads to it
        if (mode, sequence.signs(j)[0]) in edges:
            found.append(Sequence((mode,), rest(j - 1)))
            break
    found.append(Sequence((mode,), ()))
    return [spread(one, most) for one in found]


def spread(sequence: Sequence, most: int) -> Sequence:
    """Return a sequence with at most `most` phases in an interval: other changes are later."""
    count: dict[int, int] = {}
    changes, last = [], 0
    for change in sequence.changes:
        place = max(change.place, last)
        while place % 2 == 0 and count.get(place, 0) >= most - 1:
            place += 2
        count[place] = count.get(place, 0) + 1
        changes.append(replace(change, place=place))
        last = place
    return Sequence(sequence.first, tuple(changes))


def later(plan: Polished, k: int, x0: np.ndarray, t_0: float, mode: int | None) -> Begin:
    """Return the begin with control interval `k` of the same grid, at `t_0` in s."""
    program, w = plan.program, plan.point.w
    edges, most = program.formulas.edges, program.grid.elements
    # a guard that the jump of a control passes is on the boundary in front of the interval
    place = max(2 * k - 1, 0)
    sequences = resumed(plan.sequence, t_0, place, mode, edges, most)
    if k == over(program, w) and t_0 == w[program.of["t_0"]]:
        return Begin(w, sequences)
    return Begin(begun_at(program, w, k, t_0, x0), sequences)


def shifted(plan: Polished, count: int, mode: int | None) -> Begin:
    """Return the begin `count` intervals later, with a horizon of the same length."""
    program, w = plan.program, plan.point.w
    edges, most = program.formulas.edges, program.grid.elements
    times = ends(program, w)
    left = resumed(plan.sequence, float(times[count]), 2 * count, mode, edges, most)
    for t_0 in times[1 : count + 1]:
        w = shifted_by_one(program, w, float(t_0))
    moved = [
        Sequence(one.first, tuple(replace(c, place=c.place - 2 * count) for c in one.changes))
        for one in left
    ]
    return Begin(w, moved)


def replanned(
    pipeline: Pipeline, plan: Polished, begin: Begin, p: np.ndarray, most: int, detours: bool
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
    detours : bool
        Whether to go from the old to the new parameters by steps, where no sequence is solved.
    """
    grid = plan.program.grid
    last = 2 * (grid.intervals - 1)
    fitting = [
        Sequence(s.first, tuple(c for c in s.changes if c.place <= last)) for s in begin.sequences
    ]
    outcome = resume(pipeline, plan, p, begin.w, fitting, most)
    if outcome.status in SOLVED:
        assert outcome.plan is not None
        same = [c.after for c in outcome.plan.sequence.changes]
        kept = outcome.plan.sequence.first == fitting[0].first
        kept = kept and same == [c.after for c in fitting[0].changes]
        return outcome, "on the sequence of the plan before" if kept else "on another sequence"
    if detours:
        way = _detour(pipeline, plan, begin.w, fitting, p, most)
        if way is not None:
            return way, "on a detour"
    return outcome, "not found" if outcome.status != "stopped" else ""


def _detour(
    pipeline: Pipeline,
    plan: Polished,
    begin: np.ndarray,
    sequences: list[Sequence],
    p: np.ndarray,
    most: int,
) -> Outcome | None:
    """Return the outcome of a path of plans from the old parameters to the new ones."""
    old = plan.parameters.copy()
    n_x = plan.program.formulas.n_x
    k = over(plan.program, begin)
    if k:
        old[:n_x] = np.asarray(plan.program.begun(plan.point.w, plan.parameters), float).T[
            k * plan.program.grid.elements
        ]
    for halves in range(1, _HALVES + 1):
        here, w, left = plan, begin, sequences
        found: Outcome | None = None
        for part in np.linspace(0, 1, 2**halves + 1)[1:]:
            at = old + part * (p - old)
            at[-2:] = p[-2:]
            found = resume(pipeline, here, at, w, left, most)
            if found.status not in SOLVED or found.plan is None:
                break
            here, w, left = found.plan, found.plan.point.w, [found.plan.sequence]
        if found is not None and found.status in SOLVED:
            return found
    return None
