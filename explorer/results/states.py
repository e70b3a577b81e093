"""The states of a run and their rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from explorer.results.part import Part
from explorer.results.quantity import Quantity, per_second
from explorer.results.run import Run

__all__ = ["States"]


class States(Part):
    """Coordinates, velocities and rates; axis 1 counts coordinates or states."""

    name: ClassVar[str] = "states"
    flat: ClassVar[tuple[str, ...]] = ("x", "rates", "a")

    @classmethod
    def told(cls, run: Run) -> tuple[str, ...]:
        """Return q and what else the states of the model are."""
        if run.has_velocities:
            return ("q", "v", "a", "x", "rates")
        return ("q", "x", "branch") if run.system.discrete else ("q", "x", "rates")

    @property
    def q(self) -> np.ndarray:
        """Coordinates, (n_t, n); of a system x' = ... its states."""
        return self._row("q")

    @property
    def v(self) -> np.ndarray:
        """Velocities, (n_t, n)."""
        return self._row("v")

    @property
    def x(self) -> np.ndarray:
        """The whole state, (n_t, n_x): (q, v) of a mechanical system."""
        if self._run.has("march"):
            return self._row("x")
        return np.hstack([self.q, self.v]) if self._run.has_velocities else self.q

    @property
    def rates(self) -> np.ndarray:
        """x', (n_t, n_x); of time stepping the mean of the step that ends at the row."""
        run = self._run
        if run.has("march") or run.system.discrete:  # a map has none: what is missing says so
            return self._row("rates")
        if run.has_velocities:
            return np.hstack([self.v, self.a])
        return _means(run.t, run.q)

    @property
    def a(self) -> np.ndarray:
        """Accelerations, (n_t, n); located runs have right limits at events.

        Schemes for impacts of the Newmark family carry those of the smooth part of the motion. Of
        a scheme that carries none they are means of the step that ends at the row, NaN where the
        velocity jumps.
        """
        run = self._run
        if run.has("march") and run.has_velocities:
            return self._row("rates")[:, self.q.shape[1] :]
        if not run.has_velocities or self._carried("a") or run.recorded is not None:
            return self._row("a")
        found = _means(run.t, self.v)
        found[run.jump_rows] = np.nan
        return found

    def _carried(self, name: str) -> bool:
        return name in vars(self._run)

    @property
    def quantities(self) -> Sequence[Quantity]:
        """What every row has of rates or accelerations, and how a step of Newmark's fared."""
        run = self._run
        names, units = run.system.coordinates, run.system.units
        if run.system.discrete:
            branches = dict(enumerate(run.system.branch_names))
            return [Quantity("branch", self._row("branch"), names=branches)]
        if not run.has_velocities:
            rates = [f"d_{x}" for x in names]
            each = per_second(units, time=run.system.time_unit)
            return [Quantity("rates", self.rates, "state", names, each, rates)]
        if run.has("march"):
            return [Quantity("a", self.a, "state", names, per_second(units, "2"))]
        found = []
        dim, names, units = kept_of(run.recorded, "a", names, units)
        if self._carried("a") and names:
            found.append(Quantity("a", self.a, dim, names, per_second(units, "2")))
        for name, unit in (("error", "m"), ("imbalance", ""), ("parts", "")):
            if self._carried(name) and self._row(name).size:
                found.append(Quantity(name, self._row(name), units=unit))
        return found


def _means(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the mean rates of the steps that end at the rows; of the first row the next one's."""
    found = np.zeros_like(x)
    if len(t) > 1:
        found[1:] = np.diff(x, axis=0) / np.diff(t)[:, None]
        found[0] = found[1]
    return found


def kept_of(
    recorded: object, what: str, names: Sequence[str], units: Sequence[str]
) -> tuple[str, Sequence[str], Sequence[str]]:
    """Return what is counted of "q", "v" or "a": its dimension, the names and units."""
    if recorded is None:
        return "state", names, units
    of, kept = dict(zip(names, units, strict=True)), getattr(recorded, what)
    dim = "state" if kept == tuple(names) else f"state_{what}"
    return dim, kept, [of[name] for name in kept]
