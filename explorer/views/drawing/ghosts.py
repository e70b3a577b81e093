"""Ghosts: runs that are drawn beside another one, to compare it with them.

Each has a tone and a dash of its own. The tones are far enough from each other for all eyes, also
for those that see no red or no green, and legible on white and on black (a test computes both).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from explorer.errors import BadArgument
from explorer.results.solution import Solution
from explorer.views.drawing.decimate import Rows, rows, seen
from explorer.views.drawing.picture import GREY
from explorer.views.drawing.polyline import Look
from explorer.views.drawing.traces import Line

__all__ = ["DASHES", "LETTERS", "TONES", "Ghost", "Ghosts", "Pinned", "ending", "haunting"]

TONES = (GREY, "#8C663F", "#7056BF", "#8F8FBF")
DASHES = ("dot", "dash", "dashdot", "longdash")
LETTERS = "ABCD"
_WANTED = "must be a run of simulate to compare with, or a list of such runs."
Pinned: TypeAlias = Solution | Sequence[Solution | None] | None


@dataclass(frozen=True)
class Ghost:
    """A run beside another one.

    Attributes
    ----------
    solution : Solution
    name : str
        What its curves are called: "pinned", or "pinned A" of several.
    colour, dash : str
        Of its lines.
    """

    solution: Solution
    name: str = "pinned"
    colour: str = TONES[0]
    dash: str = DASHES[0]

    @cached_property
    def points(self) -> Rows:
        """The points of its curves."""
        return rows(self.solution)

    def line(self, width: float = 1.2) -> Line:
        """Return how its lines are drawn; of short dashes a long one would not be seen."""
        return {"dash": self.dash, "width": width}


Ghosts: TypeAlias = Sequence[Ghost] | None


def haunting(pinned: Pinned, fits: Callable[[Solution], bool], look: Look) -> list[Ghost]:
    """Return the ghosts of the pinned runs that fit beside a run.

    Parameters
    ----------
    pinned : Solution, or sequence of them
        Of a sequence the place of a run decides its letter, tone and dash; None leaves one free.
    fits : function
        Whether a run has the curves that are drawn.
    look : Look
        How the picture is seen.

    Raises
    ------
    BadArgument
        If one of them is no run.
    """
    if pinned is None:
        return []
    single = isinstance(pinned, Solution)
    found = []
    for place, run in enumerate(_runs(pinned)):
        if run is None or not fits(run):
            continue
        shown = run if run.system.discrete else seen(run, look)
        k = place % len(TONES)
        name = "pinned" if single else f"pinned {LETTERS[k]}"
        found.append(Ghost(shown, name, TONES[k], DASHES[k]))
    return found


def _runs(pinned: Pinned) -> Sequence[Solution | None]:
    """Return the pinned runs as a sequence, of which None leaves a place free."""
    runs = [pinned] if isinstance(pinned, Solution) else pinned
    if not isinstance(runs, Sequence) or isinstance(runs, str):
        raise BadArgument(f"pinned = {pinned!r} {_WANTED}")
    for run in runs:
        if not (run is None or isinstance(run, Solution)):
            raise BadArgument(f"pinned has {run!r}, but it {_WANTED}")
    return runs


def ending(solution: Solution, ghosts: Ghosts) -> float:
    """Return when the longest of the runs ends."""
    return max(float(run.t[-1]) for run in (solution, *(g.solution for g in ghosts or ())))
