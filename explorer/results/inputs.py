"""The inputs of a run along its rows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from explorer.results.part import Part
from explorer.results.quantity import Quantity
from explorer.results.run import Run
from explorer.systems.driving import undriven

__all__ = ["Inputs"]


class Inputs(Part):
    """Inputs u(t); axis 1 counts them."""

    name: ClassVar[str] = "inputs"
    flat: ClassVar[tuple[str, ...]] = ("u", "u_names")

    @classmethod
    def absence(cls, run: Run) -> str:
        """Return why a run has no inputs."""
        return "" if run.system.input_names else f"'{run.system.name}' declares no inputs"

    @property
    def u_names(self) -> tuple[str, ...]:
        """The names of the inputs, in declared order."""
        names: tuple[str, ...] = undriven(self._run.system).input_names
        return names

    @property
    def u(self) -> np.ndarray:
        """Values, (n_t, n_u): where they jump those behind it, and before it in the first of two
        rows at one time.
        """
        run, names = self._run, self.u_names
        t, values = run.t, np.empty((len(run.t), len(names)))
        drive = run.system.drive
        for j, name in enumerate(names):
            if drive is None or name not in drive.inputs:
                values[:, j] = run.rho[name]
                continue
            at = np.append(t[1:] == t[:-1], False)
            values[:, j] = drive.inputs[name](t + np.where(at, -1, 1) * drive.close)
        return values

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has of the inputs."""
        declared = undriven(self._run.system).declared_inputs
        units = [p.unit for p in declared.values()]
        return [Quantity("u", self.u, "input", self.u_names, units, columns=self.u_names)]
