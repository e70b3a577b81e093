"""Solutions of schemes that step over impacts: impulses of the steps, and the forces in them.

An impulse p (N s) is what a step gives, at velocity level; a force lam = p / h (N) is what of it
acts all through the step. An impact has no force: its steps have none here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.results.export import Quantity
from explorer.results.solution import Solution

__all__ = ["SteppedSolution"]


@dataclass(repr=False, eq=False)
class SteppedSolution(Solution):
    """Result of a time-stepping scheme for mechanical systems."""

    @property
    def lam(self) -> np.ndarray:
        """Mean contact force of the step that ends at the row, impacts left out, (n_t, n_c), N."""
        return self._by_time(self.p)

    @property
    def friction_work(self) -> np.ndarray:
        """Work of each contact's friction since the start in J, (n_t, n_c): without it none."""
        return np.zeros_like(self.p)

    def _means(self, impulse: np.ndarray) -> np.ndarray:
        force = np.zeros_like(impulse)
        force[1:] = (impulse[1:].T / np.diff(self.t)).T
        return force

    def _by_time(self, impulse: np.ndarray) -> np.ndarray:
        force = self._means(impulse)
        for row, kind, a in self.event_rows:
            if kind == "impact":
                force[self._began(row, a) : row + 1, a] = 0.0
        return force

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        found = super().quantities
        return [*found, self._of_contacts("lam", self.lam, "N")] if self.p.shape[1] else found
