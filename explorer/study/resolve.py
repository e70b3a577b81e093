"""The labels of starts: which attractor each comes to, as they are asked for."""

from __future__ import annotations

import numpy as np

from explorer.runs.members import ESCAPED, FREE
from explorer.status import ESCAPED as BEYOND
from explorer.study.basin_map import ESCAPES, FAILED, REFUSED, UNDECIDED, UNTOLD
from explorer.study.parts import UNRUN, Stop
from explorer.study.search_attractors import REFUSALS, Attractor, Search

__all__ = ["Resolve"]

_SEEDS = 64  # starts that are run to their ends
_AGAIN = 32  # and undecided ones
_ROUNDS = 3


class Resolve:
    """Labels of starts at one set of parameters.

    Attributes
    ----------
    t : (starts,) float
        When the run of each was decided, or has ended, in s; NaN of what was not run.
    """

    def __init__(self, search: Search, stop: Stop | None, progress: bool) -> None:
        self.search, self.stop, self.progress = search, stop, progress
        self.random = np.random.default_rng(search.settings.seed)
        self.t = np.full(len(search.starts.rows), np.nan)

    @property
    def families(self) -> tuple[tuple[Attractor, ...], ...]:
        """The attractors, each alone."""
        return tuple((one,) for one in tuple(self.search.attractors))

    @property
    def refused(self) -> tuple[Attractor, ...]:
        """What recurs and does not attract."""
        return tuple(self.search.refused)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The box that escapes leave, its low and high side, and the scale of each state."""
        return self.search.low, self.search.high, self.search.scale

    def begin(self, seeds: int = _SEEDS) -> None:
        """Look for attractors in some of the starts."""
        rows = self.search.starts.rows
        some = self.random.permutation(len(rows))[:seeds]
        self.search.learn(rows[np.sort(some)], progress=self.progress, stop=self.stop)

    def __call__(self, places: np.ndarray) -> np.ndarray:
        """Return the labels of the starts at these places, (k,)."""
        label = np.full(len(places), UNDECIDED)
        left = np.arange(len(places))
        for _ in range(_ROUNDS):
            label[left] = self.run(places[left])
            left = np.flatnonzero(label == UNDECIDED)
            many = len(self.search.attractors)
            if not len(left) or (self.stop is not None and self.stop()):
                break
            if len(self.search.refused) >= REFUSALS:  # nothing more would be learnt
                break
            some = np.sort(self.random.permutation(left)[:_AGAIN])
            self.search.learn(self.search.starts.rows[places[some]], stop=self.stop)
            if len(self.search.attractors) == many:
                break
        return label

    def run(self, places: np.ndarray) -> np.ndarray:
        """Return the labels of the starts at these places by what is known now, (k,)."""
        label, self.t[places] = self.labels(self.search.starts.rows[places])
        return label

    def labels(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels of starts (k, names), (k,), and when they were decided, in s."""
        question = self.search.question(rows, self.search.known())
        seen = self.search.answer(question, progress=self.progress, stop=self.stop)
        end = question.members(0, len(rows)).t_end * (1 - 1e-9)
        label = np.where(seen.caught >= 0, seen.caught, UNDECIDED)
        ended = (seen.caught == FREE) & (seen.t < end)
        label[(seen.caught == ESCAPED) | ended] = ESCAPES
        label[seen.code > 0] = FAILED
        label[seen.code == BEYOND] = ESCAPES  # a map has left all bounds
        label[seen.code < 0] = REFUSED
        label[seen.code == UNRUN] = UNTOLD
        return label, seen.t
