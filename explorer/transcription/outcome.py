"""What a search for a plan is given, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from explorer.transcription.neighbours import Biactive
from explorer.transcription.polish import Polished
from explorer.transcription.program import Program
from explorer.transcription.solver import Point
from explorer.types import Plain

__all__ = ["SOLVED", "Outcome", "Settings"]

SOLVED = ("stationary", "at a kink")


@dataclass(frozen=True)
class Settings:
    """Limits of a search.

    Attributes
    ----------
    sigmas : tuple of float
        The bounds of the products, in order.
    more : tuple of float
        The bounds that follow while no sequence that was read from a point has a solution.
    other : tuple of float
        The bounds of another path, where the first one ends without a solution; empty: none.
    even : float
        Weight of unequal elements during the homotopy.
    most : int
        Neighbouring sequences that are solved at most.
    effort : float
        Iterations of the search beside a plan, in units of those of the homotopy before it: the
        last solve begins within them. There are some hundred in any case.
    """

    sigmas: tuple[float, ...] = (1.0, 1e-2, 1e-4, 1e-6)
    more: tuple[float, ...] = ()
    other: tuple[float, ...] = ()
    even: float = 1e-2
    most: int = 60
    effort: float = np.inf


@dataclass
class Outcome:
    """What a search found.

    Attributes
    ----------
    program, w, p : the program, its variables and parameters
    status : str
        "stationary": solved, and no neighbouring sequence is better. "at a kink": solved on its
        sequence, but it is biactive, and not every sequence beside it could be shown not to be
        better. "infeasible": constraints cannot hold together. "not converged": the last point of
        the solver. "stopped": the best point before an interruption.
    plan : Polished or None
    point : Point
    places : list of Biactive
    message : str
    log : list of dict
    """

    program: Program
    w: np.ndarray
    p: np.ndarray
    status: str
    plan: Polished | None
    point: Point
    places: list[Biactive]
    message: str
    log: list[Plain] = field(default_factory=list)
