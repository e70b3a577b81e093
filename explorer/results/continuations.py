"""Moments from which a solution is not unique."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.quantities import quantity

__all__ = ["Continuations"]


@dataclass(frozen=True)
class Continuations:
    """A moment from which a solution can go on in several ways, each of them consistent.

    Attributes
    ----------
    t : float
        In `time_unit`.
    x : (n_x,) state
    patterns : tuple of str
        The active sets that may follow.
    multipliers, rates : (k, n_sel), (k, n_x)
        Multipliers and x' of each.
    taken : int
        Which of them the run has taken.
    """

    t: float
    x: np.ndarray
    patterns: tuple[str, ...]
    multipliers: np.ndarray
    rates: np.ndarray
    taken: int
    time_unit: str = "s"

    def __repr__(self) -> str:
        said = [f"{'*' if k == self.taken else ' '} {k}: {p}" for k, p in enumerate(self.patterns)]
        return "\n".join([f"Continuations at t = {quantity(self.t, self.time_unit)}", *said])

    @property
    def sentence(self) -> str:
        """What a reader is told."""
        known = ", ".join(f"{p!r}" for p in self.patterns)
        at, taken = quantity(self.t, self.time_unit), self.patterns[self.taken]
        return f"at t = {at} to {known}; {taken!r} was chosen"
