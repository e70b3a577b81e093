"""A system of discs as the time-stepping kernels take it: contacts found by a native function."""

from __future__ import annotations

import copy

import numpy as np

from explorer.compiled.bundle import Neighbours, Values
from explorer.compiled.mechanical import Compiled
from explorer.errors import BadModel
from explorer.systems import DiscSystem
from explorer.types import Matrix

__all__ = ["CompiledDiscs"]

_REACH = 0.5  # of the largest radius: a pair that is nearer has a contact


class CompiledDiscs(Compiled):
    """The native functions of a system of discs; which pairs have a contact belongs to one run."""

    by_formula = False

    def __init__(self, system: DiscSystem) -> None:
        super().__init__(system)
        self.gap_ptr = np.append(4 * np.arange(self.nc), 4 * self.nc + 6 * np.arange(self.nc + 1))
        self.gap_col = np.zeros(10 * self.nc, np.int64)
        self.constant = False
        self.most = max(self.most, 15 * self.nc)
        walls = [x for wall in system.walls for x in wall]
        self._shape = Values(self.args, [system.contacts[0].mu, *system.radii, *walls])

    def check(
        self, inp: np.ndarray, *, singular: bool = False
    ) -> tuple[Matrix, Matrix, Matrix, np.ndarray]:
        """Return the matrices at a state; two discs at one place touch in no direction.

        Raises
        ------
        BadModel
        """
        places: dict[tuple[float, ...], int] = {}
        for k, (x, y) in enumerate(inp[1 : 1 + self.n].reshape(-1, 3)[:, :2].tolist()):
            first = places.setdefault((x, y), k)
            if first != k:
                raise BadModel(
                    f"Discs {first + 1} and {k + 1} of '{self.system.name}' start at the same "
                    f"place. Give starts, such as q = [0, 1, 0, 0, 3, 0] of two discs."
                )
        return super().check(inp, singular=singular)

    def begun(self, inp: np.ndarray) -> CompiledDiscs:
        """Return the functions for one run with these parameters; no pair has a contact yet."""
        values, count = self._shape(inp), len(self.system.radii)  # type: ignore[attr-defined]
        radii, walls = values[1 : 1 + count], values[1 + count :].reshape(-1, 3)
        pairs = Neighbours(radii, walls, values[0], _REACH * radii.max())
        new = copy.copy(self)
        new._undriven = None
        new.bundles, new._native = self.bundles | {"gap": pairs}, self._native | {"gap": pairs}
        new.table = np.array([[b.address, b.data] for b in new._native.values()])
        new.gap_col, new.partners = pairs.columns, pairs.partners
        return new

    def _gap(self, inp: np.ndarray) -> np.ndarray:
        gap = self.bundles["gap"]
        return (gap if isinstance(gap, Neighbours) else self.begun(inp).bundles["gap"])(inp)
