"""Where discs touch each other and walls: a contact changes its partner along a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp

from explorer.compiled.contact_points import OUTPUTS
from explorer.results.solution import Solution
from explorer.systems.discs import SLOTS, DiscSystem

__all__ = ["OfDiscs"]


class OfDiscs:
    """The contacts of a run of discs.

    With the normal n from the partner to the disc i, they touch at c_i - R_i n; friction acts along
    n turned by a right angle.
    """

    def __init__(self, system: DiscSystem, solution: Solution) -> None:
        self.solution = solution
        self.contacts: Sequence[int] = range(len(system.contacts))
        rho = {sp.Symbol(k): x for k, x in solution.rho.items()}
        self.radii = np.array([float(sp.sympify(r).subs(rho)) for r in system.radii])
        walls = [[float(sp.sympify(x).subs(rho)) for x in wall] for wall in system.walls]
        self.walls = np.array(walls, float).reshape(-1, 3)

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Return the outputs of each contact in some rows, (rows, contacts, outputs)."""
        q = self.solution.q[rows].reshape(len(rows), -1, 3)[..., :2]
        partner = np.asarray(self.solution.partner)[rows]
        disc = np.asarray(self.contacts) // SLOTS
        own = q[:, disc]
        other = np.take_along_axis(q, np.maximum(partner, 0)[..., None], axis=1)
        apart = own - other
        n = apart / np.maximum(np.hypot(*np.moveaxis(apart, -1, 0)), 1e-300)[..., None]
        if len(self.walls):
            wall = self.walls[np.clip(-1 - partner, 0, len(self.walls) - 1), :2]
            n = np.where((partner < 0)[..., None], wall, n)
        found = np.zeros((*partner.shape, OUTPUTS))
        found[..., :2] = own - self.radii[disc][:, None] * n
        found[..., 2:4] = n
        found[..., 4], found[..., 5] = -n[..., 1], n[..., 0]
        found[..., 6:8] = found[..., :2]
        return found

    def paired(self, rows: np.ndarray) -> np.ndarray:
        """Return whether each contact is one with another disc, (rows, contacts)."""
        return np.asarray(np.asarray(self.solution.partner)[rows] >= 0)
