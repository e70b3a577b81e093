"""What is watched while IPOPT iterates, so that a solve that cannot help ends early."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.transcription.casadi_functions import casadi
from explorer.transcription.halt import due, heard

__all__ = ["Course", "listener"]

Ranges = tuple[np.ndarray, np.ndarray]  # low and high

ASTRAY = 30  # iterations with an objective far too high, from which a solve hardly comes back
EVERY = 3  # a look at the multipliers takes a tenth of an iteration: at each third one
HOLDS = 1e-4  # by what rows may be violated where an objective is compared with another plan's


@dataclass
class Course:
    """The solve that runs.

    Attributes
    ----------
    most : float
        Iterations after which it ends.
    dear : float
        An objective above which it has gone astray, if it stays there.
    rival : float
        The objective of another plan; there is no use in a solve that cannot come below it.
    variables, rows : pair of float arrays
        Lower and upper bounds of the variables that move, and of the rows.
    iteration, astray : int
        How many there were, and how many of them had an objective above `dear`.
    """

    variables: Ranges = (np.zeros(0), np.zeros(0))
    rows: Ranges = (np.zeros(0), np.zeros(0))
    most: float = np.inf
    dear: float = np.inf
    rival: float = np.inf
    iteration: int = 0
    astray: int = 0

    @property
    def full(self) -> bool:
        """Whether its iterations are used up; IPOPT asks before it sees that it is done."""
        return self.iteration > self.most + 1

    def begin(
        self, variables: Ranges, rows: Ranges, most: float, dear: float, rival: float
    ) -> None:
        """Begin a solve."""
        self.variables, self.rows = variables, rows
        self.most, self.dear, self.rival = most, dear, rival
        self.iteration = self.astray = 0

    def ended(self, x: object, f: float, g: object, lam_x: object, lam_g: object) -> bool:
        """Whether the solve has to end at this iterate, whose multipliers are at upper bounds +."""
        heard(self.iteration)
        self.iteration += 1
        self.astray += f > self.dear
        return (
            due()
            or self.full
            or self.astray > ASTRAY
            or (f > self.rival and self.iteration % EVERY == 0 and self.lost(x, f, g, lam_x, lam_g))
        )

    def lost(self, x: object, f: float, g: object, lam_x: object, lam_g: object) -> bool:
        """Whether an iterate holds its rows, and its duality gap does not reach down to `rival`.

        An interior point is sum_i l_i s_i above the optimum, with the multipliers l_i of bounds in
        the distances s_i, if the problem is convex around it. Where a variable has two bounds IPOPT
        tells the difference of their multipliers only, so twice the sum is taken.
        """
        (low, high), at = self.rows, np.asarray(g, float).ravel()
        if max((low - at).max(initial=0.0), (at - high).max(initial=0.0)) > HOLDS:
            return False
        gap = _gap(g, *self.rows, lam_g) + _gap(x, *self.variables, lam_x)
        return f - 2 * gap > self.rival


def _gap(x: object, low: np.ndarray, high: np.ndarray, multipliers: object) -> float:
    """Return the sum of multipliers times distances from the bounds that they belong to."""
    values, pressed = (np.asarray(one, float).ravel() for one in (x, multipliers))
    distance = np.where(pressed > 0, high - values, values - low)
    there = (low != high) & np.isfinite(distance)
    return float(np.abs(pressed[there] * distance[there]).sum())


def listener(variables: int, rows: int, course: Course) -> object:
    """Return what IPOPT asks in each iteration whether it has to stop."""
    ca = casadi()
    sizes = {"x": variables, "lam_x": variables, "f": 1, "g": rows, "lam_g": rows, "lam_p": 0}
    names = [str(ca.nlpsol_out(i)) for i in range(int(ca.nlpsol_n_out()))]
    asked = [names.index(name) for name in ("x", "f", "g", "lam_x", "lam_g")]

    class Listener(ca.Callback):  # type: ignore[name-defined]
        def __init__(self) -> None:
            ca.Callback.__init__(self)
            self.construct("listener", {})

        def get_n_in(self) -> int:
            return len(names)

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> object:
            return ca.Sparsity.dense(sizes[names[i]], 1)

        def eval(self, arguments: object) -> list[int]:
            x, f, g, lam_x, lam_g = (arguments[i] for i in asked)  # type: ignore[index]
            return [int(course.ended(x, float(f), g, lam_x, lam_g))]

    return Listener()
