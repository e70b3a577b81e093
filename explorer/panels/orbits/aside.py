"""What an orbit diagram has beside it: branches, exponents, and further starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import numpy as np

from explorer.errors import ExplorerError
from explorer.panels.sharpening import Worker
from explorer.panels.state import State, States
from explorer.study.orbits import Orbits
from explorer.study.parts import Stop
from explorer.study.sharpening import Sharpening

__all__ = ["MOST_STARTS", "Aside", "Through", "further"]

MOST_STARTS = 5

_SEED = 1
_LOOKS = 0.1  # s between two looks at whether the diagram is whole
Found = TypeVar("Found")
Through = Callable[[Sharpening, Orbits, Stop], Iterator[Found]]


def further(states: States, state: State, count: int) -> list[list[float]]:
    """Return so many further starts: at random in the ranges of the sliders, always the same."""
    ranges = np.array([r for part in states.start_ranges(state).values() for r in part], float)
    low, high = ranges[:, 0], ranges[:, 1]
    random = np.random.default_rng(_SEED)
    found: list[list[float]] = random.uniform(low, high, (MOST_STARTS, len(low))).tolist()
    return found[:count]


class Aside(Generic[Found]):
    """A question about a diagram that another thread computes.

    Parameters
    ----------
    asked : Sharpening
    worker : Worker of the diagram
    through : function that yields finer and finer answers
    nothing, refused : the answer at first, and the one to a question that is refused
    """

    def __init__(
        self,
        asked: Sharpening,
        worker: Worker[Orbits],
        through: Through[Found],
        nothing: Found,
        refused: Callable[[str], Found],
    ) -> None:
        self.asked, self.worker, self.through = asked, worker, through
        self.nothing, self.refused = nothing, refused

    def steps(self, stop: Stop | None = None) -> Iterator[Found]:
        """Yield answers when the diagram is whole."""
        stop = stop or (lambda: False)
        yield self.nothing
        while not self.worker.finished(_LOOKS):
            if stop():
                return
        found = self.worker.latest
        if found is None or stop():
            return
        try:
            yield from self.through(self.asked, found, stop)
        except ExplorerError as error:
            yield self.refused(str(error))
