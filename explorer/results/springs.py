"""The hysteretic springs of a run, and the neighbours of its discs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from explorer.results.part import Part
from explorer.results.quantity import Quantity
from explorer.results.run import Run

__all__ = ["Discs", "Springs"]


class Springs(Part):
    """Springs that slip: axis 1 counts them."""

    name: ClassVar[str] = "springs"

    @classmethod
    def absence(cls, run: Run) -> str:
        """Return why a run has no such springs."""
        return "" if run.system.springs else f"'{run.system.name}' declares none that slip"

    @property
    def slip(self) -> np.ndarray:
        """How far each spring has slipped, (n_t, k), m."""
        return self._row("slip")

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has of the springs."""
        names = [spring.name for spring in self._run.system.springs]
        return [Quantity("slip", self.slip, "spring", names, "m")]


class Discs(Part):
    """Discs whose contacts are found among neighbours."""

    name: ClassVar[str] = "discs"

    @classmethod
    def absence(cls, run: Run) -> str:
        """Return why a run has no discs."""
        return "" if run.has("partner") else f"'{run.system.name}' is a {run.system.kind}"

    @property
    def partner(self) -> np.ndarray:
        """What the disc of each contact is near, (n_t, n_c) int32.

        Another disc by its number from 0, wall k as -1 - k, nothing as -1000.
        """
        return self._row("partner")

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has of the neighbours."""
        near = {-1000: "nothing", -1: "wall 0, from there down the others", 0: "disc 0"}
        labels = [c.name for c in self._run.system.contacts]
        return [Quantity("partner", self.partner, "contact", labels, names=near)]
