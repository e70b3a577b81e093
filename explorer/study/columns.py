"""The columns of an orbit diagram on their way: few at first, then all, then with more points."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Protocol

import numpy as np

from explorer.runs.members import Observed
from explorer.study.orbits import LONGEST, REPEATS, UNKNOWN, Begin, Orbits, repeats
from explorer.study.over import states_of
from explorer.study.parts import Stop
from explorer.study.question import Question
from explorer.systems import System

__all__ = ["EACH", "STRIDES", "Asked", "Columns"]

STRIDES = (8, 4, 2, 1)
EACH, _SOON = 0.25, 0.1  # s between two pictures, and to the first one
_PARTS = 4  # in which points are added


class Asked(Protocol):
    """What is asked of the columns."""

    system: System
    by: str
    follow: str
    first: int
    most: int
    begin: Begin | None
    question: Question
    settle: Question

    def asking(self, count: int, transient: int, most: int) -> Question:
        """Return the question for columns of `count` returns without the first `transient`."""


class Columns:
    """The columns on their way."""

    def __init__(self, asked: Asked, stop: Stop) -> None:
        self.asked, self.stop = asked, stop
        axis = asked.question.axes.axes[0]
        self.values = axis.values[:, 0]
        self.names, self.units = states_of(asked.system)
        many, room = len(self.values), asked.most + 2 * asked.first
        self.points = np.full((many, room, len(self.names)), np.nan)
        self.found = np.zeros(many, np.int64)
        self.code = np.full(many, UNKNOWN, np.int64)
        self.period = np.zeros(many, np.int64)
        self.repeats = np.zeros(many, bool)  # to many digits
        self.ends: list[Begin | None] = [None] * many

    def seen(self, done: float) -> Orbits:
        """Return what is known now."""
        asked = self.asked
        return Orbits(
            asked.by,
            asked.system.parameters[asked.by].unit,
            self.values,
            self.names,
            self.units,
            self.points[:, : asked.most].copy(),
            np.minimum(self.found, asked.most),
            self.code.copy(),
            self.period.copy(),
            self.ends.copy(),
            done,
        )

    def columns(self, pool: Executor) -> Iterator[float]:
        """Compute all columns, the coarse ones first; yield the part that is done."""
        many = len(self.values)
        if self.asked.follow == "none":
            order: list[list[int]] = []
            left = set(range(many))
            for stride in STRIDES:
                order.append(sorted(left & set(range(0, many, stride))))
                left -= set(order[-1])
        else:
            coarse = sorted({*range(0, many, STRIDES[0]), many - 1})
            since = time.perf_counter() - (EACH - _SOON)
            for k in coarse if self.asked.follow == "up" else coarse[::-1]:
                if self.stop():
                    return
                self._settled(k)
                if time.perf_counter() - since > EACH:
                    since = time.perf_counter()
                    yield self._known()
            order = [coarse]
            for stride in STRIDES[1:]:
                known = {k for level in order for k in level}
                order.append([k for k in range(0, many, stride) if k not in known])
            self._judge()
            yield self._known()
            order = order[1:]
        for level in order:
            for _ in self._spread(pool, level, self._settled):
                yield self._known()
            self._judge()
            if self.stop():
                return
            yield self._known()

    def _known(self) -> float:
        return float((self.code != UNKNOWN).mean())

    def extended(self, pool: Executor) -> Iterator[float]:
        """Add points to the columns that do not repeat; yield the part that is done."""
        chunk = self.asked.most // _PARTS or 1
        self.longer = self.asked.asking(chunk, 0, chunk)
        for part in range(_PARTS):
            short = (self.code == 0) & ~self.repeats & (self.found < self.asked.most)
            columns = np.flatnonzero(short & (self.found > 0)).tolist()
            if not columns or self.stop():
                return
            for _ in self._spread(pool, columns, self._more):
                yield part / _PARTS
            self._judge()
            yield (part + 1) / _PARTS

    def _spread(
        self, pool: Executor, columns: list[int], each: Callable[[int], None]
    ) -> Iterator[None]:
        """Run columns on all threads; yield from time to time."""
        since, at, many = time.perf_counter(), 0, 8
        while at < len(columns):
            begin, part = time.perf_counter(), columns[at : at + many]
            list(pool.map(lambda k: None if self.stop() else each(k), part))
            cost = max((time.perf_counter() - begin) / len(part), 1e-6)
            at, many = at + len(part), int(np.clip(0.4 * EACH / cost, 2, 256))
            if self.stop():
                return
            if time.perf_counter() - since > EACH and at < len(columns):
                since = time.perf_counter()
                self._judge()
                yield None

    def _neighbour(self, k: int) -> Begin | None:
        """Return where the nearest column on the side that is followed has ended."""
        if self.asked.follow == "none":
            return None
        way = -1 if self.asked.follow == "up" else 1
        for stride in range(1, STRIDES[0] + 1):
            j = k + way * stride
            if 0 <= j < len(self.ends) and (end := self.ends[j]) is not None:
                return end
        return None

    def _settled(self, k: int) -> None:
        """Compute a column from its neighbour, or from the start."""
        seen = self.asked.settle.run(k, k + 1, self._neighbour(k) or self.asked.begin)
        lost = seen.code[0] != 0 or seen.found[0] == 0
        if lost and self._neighbour(k) is not None:  # as if there were no neighbour
            seen = self.asked.settle.run(k, k + 1, self.asked.begin)
        self._take(k, seen)

    def _more(self, k: int) -> None:
        """Add points to a column."""
        self._take(k, self.longer.run(k, k + 1, self.ends[k]))

    def _take(self, k: int, seen: Observed) -> None:
        if seen.code[0] == 0:
            new = seen.points[0][: int(seen.found[0])]
            free = self.points[k, self.found[k] :]
            new = new[: len(free)]
            free[: len(new)] = new
            self.found[k] += len(new)
            # one without a point, as of a walker that lies on the ground, leads nowhere
            self.ends[k] = (seen.end[0].copy(), int(seen.mode[0])) if self.found[k] else None
        else:  # what went on for a while and then flew off was no attractor
            self.points[k], self.found[k], self.ends[k] = np.nan, 0, None
        self.code[k] = seen.code[0]

    def _judge(self) -> None:
        """Find out which columns repeat."""
        shown = self.points[self.code == 0]
        if not np.isfinite(shown).any():
            return
        size = np.nanmax(shown, axis=(0, 1)) - np.nanmin(shown, axis=(0, 1))
        size[size < 1e-12] = 1.0
        for k in np.flatnonzero(self.code == 0):
            x = self.points[k, : self.found[k]] / size
            self.period[k], off = repeats(x[len(x) // 2 :] if len(x) > 2 * LONGEST else x)
            self.repeats[k] = off < 1e-4 * REPEATS
