"""The constraints of a run: how far they have drifted, what forces and impulses they take."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from explorer.results.part import Part
from explorer.results.quantity import Quantity
from explorer.results.run import Run
from explorer.results.stepped import means
from explorer.systems.units import constraint_units, product

__all__ = ["Constraints"]


class Constraints(Part):
    """Constraints phi(q) = 0, axis 1 counts them.

    Constraints act by -phi_q' lam_phi: the tension of a rod whose phi grows outwards is positive.
    """

    name: ClassVar[str] = "constraints"
    flat: ClassVar[tuple[str, ...]] = ("phi", "p_phi", "lam_phi", "holds")

    @classmethod
    def absence(cls, run: Run) -> str:
        """Return why a run has no constraints."""
        system = run.system
        if not system.constraints:
            return f"'{system.name}' declares none"
        if run.has("march") or (len(run.t) and "phi" in vars(run)):  # t has the rows made
            return ""
        return f"{type(run.scheme).__name__} keeps no record of them"

    @property
    def phi(self) -> np.ndarray:
        """Constraints, (n_t, m), each in its unit: how far positions have drifted, where they hold.

        `quantities` has the units: as the constraint declares them, or those of its formula.
        """
        return self._row("phi")

    @property
    def holds(self) -> np.ndarray:
        """Which constraints hold, (n_t, m) bool: those without a `when` always do."""
        if self._run.has("march"):
            return self._row("holds")
        return np.ones(self.phi.shape, bool)

    @property
    def p_phi(self) -> np.ndarray:
        """Impulse of each constraint, (n_t, m), N s where phi is in m: J s over the unit of phi.

        Of time stepping that of the step which ends at the row, else that of the impact at the row.
        """
        return self._row("p_phi")

    @property
    def lam_phi(self) -> np.ndarray:
        """Force of each constraint, (n_t, m), N where phi is in m (J over its unit), no impacts.

        Of time stepping the mean over the step that ends at the row.
        """
        if self._run.has("march"):
            return self._row("lam_phi")
        force = means(self._run.t, self.p_phi)
        force[self._run.jump_rows] = 0.0
        return force

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has of the constraints; units that are not known are empty."""
        names = [c.name for c in self._run.system.constraints]
        known = constraint_units(self._run.system)
        phi, forces = [u or "" for u, _ in known], [u or "" for _, u in known]
        impulses = [product(u, "s") if u else "" for u in forces]
        return [
            Quantity("phi", self.phi, "constraint", names, phi),
            Quantity("p_phi", self.p_phi, "constraint", names, impulses),
            Quantity("lam_phi", self.lam_phi, "constraint", names, forces),
        ]
