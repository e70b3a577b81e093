"""Places of a plan where the objective may have a kink."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.layout import ends
from explorer.transcription.polish import Polished
from explorer.transcription.sequence import Sequence

__all__ = ["SHORT", "TOUCH", "Biactive", "empty", "function_of", "runs", "sides"]

SHORT = 1e-6  # of a control interval: a phase of no length
TOUCH = 1e-7  # what is left of a switching function that is touched


@dataclass(frozen=True)
class Biactive:
    """A place where the objective may have a kink.

    Attributes
    ----------
    t : float, in s
    function : int, the switching function
    what : str, in words
    change : int or None, the number of the change that can move
    place : int, where it moves to
    sequence : Sequence or None, the sequence beside it where no change moves
    empty : bool, whether it is a phase of no length
    """

    t: float
    function: int
    what: str
    change: int | None = None
    place: int = 0
    sequence: Sequence | None = None
    empty: bool = False


def function_of(plan: Polished, before: tuple[int, ...], after: tuple[int, ...]) -> int:
    """Return the switching function, or the guard, of a change."""
    edges = plan.program.formulas.edges
    if edges:
        return edges.index((before[0], after[0]))
    return next(j for j, (a, b) in enumerate(zip(before, after, strict=True)) if a != b)


def _jumps(plan: Polished, i: int) -> bool:
    """Whether the state jumps at change `i`."""
    f, sequence = plan.program.formulas, plan.sequence
    if isinstance(f, ContactFormulas):
        signs = plan.layout.signs.reshape(-1, f.n_c)
        begins = 1 + np.flatnonzero((signs[1:] != signs[:-1]).any(axis=1))
        impulse = np.abs(plan.point.w[plan.program.of["impulse"]]).reshape(len(signs), f.n_f)
        strong = impulse[begins].max(axis=1) > 1e-6 * max(float(impulse.max()), 1e-12)
        return 0 <= i < len(begins) and bool(strong[i])
    if not f.modes or not 0 <= i < len(sequence.changes):
        return False
    return f.jumping[function_of(plan, sequence.before(i), sequence.changes[i].after)]


def empty(plan: Polished) -> Iterator[Biactive]:
    """Phases of no length between two changes, at the start or at the end."""
    sequence, boundaries = plan.sequence, ends(plan.program, plan.point.w)
    times = [boundaries[0], *(c.t for c in sequence.changes), boundaries[-1]]
    near = SHORT * boundaries[-1] / plan.program.grid.intervals
    for i, (begin, end) in enumerate(itertools.pairwise(times)):
        if end - begin > near or not sequence.changes:
            continue
        if i == 0:
            beside = Sequence(sequence.changes[0].after, sequence.changes[1:])
            j = function_of(plan, sequence.first, sequence.changes[0].after)
        else:
            beside = sequence.without(i - 1)
            j = function_of(plan, sequence.before(i - 1), sequence.changes[i - 1].after)
        if any(_jumps(plan, c) for c in (i - 1, i)):
            continue  # a jump has no length, and leaving it out is no small change
        yield Biactive(begin, j, "a phase of no length", sequence=beside.simplified(), empty=True)


def runs(touched: np.ndarray, signs: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the first and the last index of each run of True with the same sign."""
    i = 0
    while i < len(touched):
        if touched[i]:
            last = i
            while last + 1 < len(touched) and touched[last + 1] and signs[last + 1] == signs[i]:
                last += 1
            yield i, last
            i = last
        i += 1


def sides(
    plan: Polished, t: np.ndarray, places: np.ndarray, i: int, step: int
) -> list[tuple[float, int]]:
    """Return time and place where a stretch may begin (step -1) or end (step 1).

    Beside stage `i`; if a change lies between it and the next stage, there; if a boundary of
    intervals is near, on both sides of it.
    """
    beyond = i + step
    if not 0 <= beyond < len(t):
        return [(float(t[i]), int(places[i]))]
    low, high = sorted((float(t[i]), float(t[beyond])))
    tol = SHORT * float(t[-1]) / plan.program.grid.intervals
    for change in plan.sequence.changes:
        if low - tol <= change.t <= high + tol:
            return [(change.t, change.place)]
    sides = [(float(t[i]), int(places[i]))]
    inner = i - step
    for other in (beyond, inner):
        if 0 <= other < len(t) and places[other] != places[i]:
            sides.append((float(t[i]), int(places[other])))
            if any(plan.program.formulas.driven):
                sides.append((float(t[i]), int(places[other] + places[i]) // 2))
    return sides
