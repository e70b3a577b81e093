"""The sequence of active sets of a plan: what follows what, and in which control interval.

An active set is the sign of each switching function, 0 where the state slides on it. A change of it
has a place: inside a control interval, where its time is free, or on the boundary between two,
where a control that jumps ends a slide. A change that is inside of an interval and has come to the
end of it is biactive: it may as well be inside of the next one, and the objective has a kink there.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Change", "Phase", "Sequence", "Signs", "counts", "read"]

Signs = tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """A change of the active set.

    Attributes
    ----------
    after : tuple of int
        The signs that follow.
    place : int
        2 k: inside control interval k. 2 k + 1: between the intervals k and k + 1.
    t : float
        Its time in s, as far as known.
    """

    after: Signs
    place: int
    t: float


@dataclass(frozen=True)
class Phase:
    """An active set in a control interval and its length in s."""

    signs: Signs
    length: float


@dataclass(frozen=True)
class Sequence:
    """The first active set and all changes, in order."""

    first: Signs
    changes: tuple[Change, ...]

    @property
    def key(self) -> tuple[Signs, tuple[tuple[Signs, int], ...]]:
        """What tells two sequences apart."""
        return self.first, tuple((c.after, c.place) for c in self.changes)

    def before(self, i: int) -> Signs:
        """Return the signs before change `i`."""
        return self.changes[i - 1].after if i else self.first

    def signs(self, i: int) -> Signs:
        """Return the signs of phase `i`, 0 for the first one."""
        return self.before(i)

    def crowd(self) -> int:
        """Return the largest number of phases in a control interval."""
        inside = [c.place for c in self.changes if c.place % 2 == 0]
        return 1 + max((len(list(g)) for _, g in itertools.groupby(inside)), default=0)

    @property
    def ordered(self) -> bool:
        """Whether the places follow each other."""
        places = [c.place for c in self.changes]
        return places == sorted(places)

    def fits(self, intervals: int, most: int) -> bool:
        """Whether the places follow each other, with at most `most` phases in an interval."""
        inside = all(0 <= c.place <= 2 * (intervals - 1) for c in self.changes)
        return inside and self.ordered and self.crowd() <= most

    def phases(self, ends: np.ndarray) -> list[list[Phase]]:
        """Return the phases of each interval, given the times (N + 1,) of its ends."""
        signs, at, out = self.first, 0, []
        for k in range(len(ends) - 1):
            begin, here = float(ends[k]), []
            while at < len(self.changes) and self.changes[at].place <= 2 * k + 1:
                change = self.changes[at]
                if change.place == 2 * k + 1:
                    break
                t = min(max(change.t, begin), float(ends[k + 1]))
                here.append(Phase(signs, t - begin))
                begin, signs = t, change.after
                at += 1
            here.append(Phase(signs, float(ends[k + 1]) - begin))
            while at < len(self.changes) and self.changes[at].place == 2 * k + 1:
                signs = self.changes[at].after
                at += 1
            out.append(here)
        return out

    def with_place(self, i: int, place: int) -> Sequence:
        """Return the sequence with change `i` at another place."""
        moved = replace(self.changes[i], place=place)
        return Sequence(self.first, (*self.changes[:i], moved, *self.changes[i + 1 :]))

    def displaced(self, i: int, place: int) -> Sequence:
        """Return the sequence with change `i` at another place, past changes of other functions."""
        out, step = self, 1 if place > self.changes[i].place else -1
        while 0 <= i + step < len(self.changes):
            beyond = out.changes[i + step]
            low, high = sorted((i, i + step))
            first, both = out.before(low), out.changes[high].after
            passed = step * (place - beyond.place) > 0
            other = out.changes[low].after
            mine = [j for j, (a, b) in enumerate(zip(first, other, strict=True)) if a != b]
            theirs = [j for j, (a, b) in enumerate(zip(other, both, strict=True)) if a != b]
            if not passed or set(mine) & set(theirs):
                break
            between = tuple(both[j] if j in theirs else s for j, s in enumerate(first))
            early = replace(out.changes[high], after=between)
            late = replace(out.changes[low], after=both)
            out = Sequence(out.first, (*out.changes[:low], early, late, *out.changes[high + 1 :]))
            i += step
        return out.with_place(i, place)

    def with_signs(self, i: int, signs: Signs) -> Sequence:
        """Return the sequence with another active set in phase `i`, 0 for the first one."""
        if i == 0:
            return Sequence(signs, self.changes).simplified()
        changed = replace(self.changes[i - 1], after=signs)
        return Sequence(
            self.first, (*self.changes[: i - 1], changed, *self.changes[i:])
        ).simplified()

    def inserted(self, i: int, signs: Signs) -> Sequence:
        """Return the sequence with a phase of no length before change `i`."""
        new = replace(self.changes[i], after=signs)
        return Sequence(self.first, (*self.changes[:i], new, *self.changes[i:]))

    def without(self, i: int) -> Sequence:
        """Return the sequence without the phase that change `i` begins."""
        rest = (*self.changes[:i], *self.changes[i + 1 :])
        return Sequence(self.first, rest).simplified()

    def replaced(
        self, begin: tuple[float, int], end: tuple[float, int], j: int, sign: int, near: float
    ) -> Sequence:
        """Return the sequence with another sign of function `j` between two times and places.

        Changes of this function within `near` of that stretch are left out.
        """
        out: list[Change] = []
        own = [c.after for c in self.changes]
        states = [self.first, *own]
        marks = [(c.t, c.place, states[i], c.after) for i, c in enumerate(self.changes)]
        inside = done = False

        def at(signs: Signs) -> Signs:
            return (*signs[:j], sign, *signs[j + 1 :])

        now = self.first
        for t, place, _before, after in [*marks, (float("inf"), 2**60, now, now)]:
            if not done and t >= begin[0] - near:
                out.append(Change(at(now), begin[1], begin[0]))
                inside = done = True
            if inside and t > end[0] + near:
                out.append(Change(now, end[1], end[0]))
                inside = False
            if place == 2**60:
                break
            out.append(Change(at(after) if inside else after, place, t))
            now = after
        return Sequence(self.first, tuple(out)).simplified()

    def simplified(self) -> Sequence:
        """Return the sequence without changes that change nothing."""
        signs, kept = self.first, []
        for change in self.changes:
            if change.after != signs:
                kept.append(change)
                signs = change.after
        return Sequence(self.first, tuple(kept))

    def single(self) -> Sequence:
        """Return the sequence in which each change concerns one switching function."""
        signs, out = self.first, []
        for change in self.changes:
            for j, (old, new) in enumerate(zip(signs, change.after, strict=True)):
                if old != new:
                    signs = (*signs[:j], new, *signs[j + 1 :])
                    out.append(replace(change, after=signs))
        return Sequence(self.first, tuple(out))

    def inside(self, most: int) -> Sequence:
        """Return the sequence with only ends of slides on boundaries of intervals.

        Any other change on a boundary goes to the interval before it, or to the one behind it if
        that has `most` phases already.
        """
        out = self
        for i, change in enumerate(self.changes):
            pairs = zip(self.before(i), change.after, strict=True)
            if change.place % 2 and any(old and old != new for old, new in pairs):
                early = out.with_place(i, change.place - 1)
                late = out.with_place(i, change.place + 1)
                fits = [one for one in (early, late) if one.fits(2**40, most)]
                out = fits[0] if fits else out
        return out


def read(signs: np.ndarray, h: np.ndarray, short: float, begin: float = 0.0) -> Sequence:
    """Return the sequence of elements.

    Parameters
    ----------
    signs : (N, E, n_c) int
    h : (N, E) float
        Lengths of the elements in s.
    short : float
        Phases that are shorter are left out where that concerns one switching function.
    begin : float
        Time of the start in s.
    """
    N, E = h.shape
    ends = begin + np.concatenate([[0.0], np.cumsum(h.sum(axis=1))])
    changes: list[Change] = []
    first = now = tuple(int(s) for s in signs[0, 0])
    for k in range(N):
        t = float(ends[k])
        for n in range(E):
            here = tuple(int(s) for s in signs[k, n])
            if here != now:
                changes.append(Change(here, 2 * k if n else 2 * k - 1, t))
                now = here
            t += float(h[k, n])
    sequence = Sequence(first, tuple(changes))
    return _longer(sequence, short, begin, float(ends[-1]))


def _longer(sequence: Sequence, short: float, begin: float, end: float) -> Sequence:
    """Return a sequence without its short phases."""
    while True:
        times = [begin, *(c.t for c in sequence.changes), end]
        lengths = np.diff(times)
        for i in np.argsort(lengths):
            if lengths[i] >= short or not sequence.changes:
                return sequence
            i = int(i)
            if i == 0:
                signs, rest = sequence.changes[0].after, sequence.changes[1:]
                sequence = Sequence(signs, rest).simplified()
                break
            after = sequence.changes[i].after if i < len(sequence.changes) else None
            old = sequence.before(i - 1)
            if after is None or sum(a != b for a, b in zip(old, after, strict=True)) <= 1:
                # what follows begins where the short phase did, in the place of the later change
                sequence = sequence.without(i - 1)
                break
        else:
            return sequence


def counts(phases: list[Phase], elements: int) -> list[int]:
    """Return the number of elements of each phase: at least one, the longest have more."""
    shares = [1] * len(phases)
    for _ in range(elements - len(phases)):
        shares[max(range(len(phases)), key=lambda i: phases[i].length / shares[i])] += 1
    return shares
