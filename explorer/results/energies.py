"""The energies of a run, row by row."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from explorer.errors import BadValue
from explorer.results.run import Run

__all__ = ["Energies"]


class Energies(Run):
    """Kinetic and potential energy of the rows of a run."""

    @cached_property
    def _energies(self) -> np.ndarray:
        if self.recorded is not None:
            return np.asarray(self.recorded.energies)
        if self.observe is None:
            raise BadValue("This solution was built from arrays and has no equations to evaluate.")
        return np.asarray(self.observe(self, "energy"))

    @property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy in J, (n_t,)."""
        return self._energies[:, 0]

    @property
    def potential(self) -> np.ndarray | None:
        """Potential energy in J, (n_t,), or None if the forces have none that is known."""
        return self._energies[:, 1] if self._energies.shape[1] > 1 else None

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy in J, (n_t,); kinetic alone if there is no potential."""
        return self.kinetic if self.potential is None else self.kinetic + self.potential
