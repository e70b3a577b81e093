"""Multipliers of laws and of step functions: lam, alpha or theta, and what they are opposed to.

A law is -y in N_[lb, ub](lam). A step function alpha in step(c) is the law of a relay in [0, 1]
with lam = alpha and y = -c. Stewart's form has one theta for each cell of regions instead.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from explorer.errors import NotApplicable
from explorer.reformulations.multipliers import relays
from explorer.results.part import Part
from explorer.results.quantity import Quantity
from explorer.results.run import Run
from explorer.systems.laws import Law

__all__ = ["Multipliers"]


class Multipliers(Part):
    """Multipliers of a system x' = ...; as an array `values`, (n_t, k)."""

    name: ClassVar[str] = "multipliers"
    flat: ClassVar[tuple[str, ...]] = (
        *("alpha", "theta", "c", "lam_n", "lam_p"),
        *("lam", "y", "side", "laws", "outputs"),
    )

    @classmethod
    def absence(cls, run: Run) -> str:
        """Return why a run has no multipliers."""
        if run.by_laws or run.has("boundaries"):
            return ""
        return f"'{run.system.name}' is a {run.system.kind} without laws and step functions"

    @classmethod
    def told(cls, run: Run) -> tuple[str, ...]:
        """Return which of the flat names the model has: laws alone have neither alpha nor theta."""
        if cls.absence(run):
            return ()
        part = cls(run)
        stepped = not part._by_laws or part._rewritten
        without = [] if stepped else ["alpha", "c", "lam_n", "lam_p"]
        without += [] if hasattr(run.system, "subsystems") else ["theta"]
        return tuple(name for name in cls.flat if name not in without)

    def __array__(self, dtype: type | None = None, copy: bool | None = None) -> np.ndarray:
        """Return `values`."""
        return np.array(self.values, dtype, copy=copy)

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_t, k)."""
        return self.values.shape

    @property
    def values(self) -> np.ndarray:
        """Multipliers of the form that ran: alpha, theta or lam, (n_t, k); at a switch limits."""
        if self._by_laws:
            return self.lam
        return self._row("theta" if self._stewart else "alpha")

    @property
    def names(self) -> tuple[str, ...]:
        """What each of `values` belongs to."""
        system = self._run.system
        if self._by_laws:
            return tuple(law.name for law in self.laws)
        if self._stewart:
            return tuple(r.name for part in system.subsystems for r in part.regions)
        return tuple(system.guard_names)

    @property
    def laws(self) -> tuple[Law, ...]:
        """The law of each pair; of step functions those of relays, as rewritten for EulerMoreau.

        Raises
        ------
        NotApplicable
            Stewart's form without laws: theta are multipliers of regions.
        """
        if self._by_laws:
            return self._run.laws
        if self._stewart:
            raise self._other("laws")
        return tuple(relays(self._run.system).laws)

    @property
    def lam(self) -> np.ndarray:
        """Multipliers of the laws (a rate: r, not h r), (n_t, m).

        In the first row of time stepping lam is 0, or the bound nearest to it.
        """
        return self._row("lam") if self._by_laws else self.alpha

    @property
    def y(self) -> np.ndarray:
        """What the multipliers of the laws are opposed to, (n_t, m)."""
        return self._row("y") if self._by_laws else -self.c

    @property
    def side(self) -> np.ndarray:
        """-1 lam at its lower bound, 0 in between (y = 0), 1 at its upper bound, (n_t, m) int8."""
        if self._by_laws:
            return self._row("side")
        return np.asarray(self._row("patterns")[self._row("mode")], np.int8)

    @property
    def alpha(self) -> np.ndarray:
        """Step multipliers of a system with step functions, (n_t, n_c).

        Raises
        ------
        NotApplicable
            A system without step functions; Stewart's form, which has theta.
        """
        if self._by_laws and not self._rewritten:
            raise NotApplicable(
                f"'{self._run.system.name}' is a {self._run.system.kind} without step functions: "
                "solution.lam holds its multipliers."
            )
        if self._stewart:
            raise NotApplicable(
                "Stewart's form has no alpha; solution.theta holds its multipliers."
            )
        return self._stepped if self._by_laws else self._row("alpha")

    @property
    def theta(self) -> np.ndarray:
        """Multipliers of the regions of a `FilippovSystem`, (n_t, n_f).

        Raises
        ------
        NotApplicable
            A system without regions.
        """
        system = self._run.system
        if not self._by_laws and self._stewart:
            return self._row("theta")
        if not hasattr(system, "subsystems"):
            other = "lam" if self._by_laws and not self._rewritten else "alpha"
            raise NotApplicable(
                f"'{system.name}' is a {system.kind} without regions: solution.{other} "
                "holds its multipliers."
            )
        if not self._by_laws:
            found: np.ndarray = self._run.march.compiled.theta(self._row("alpha"))
            return found
        return self._of_regions()

    def _of_regions(self) -> np.ndarray:
        """Return theta of the regions from the multipliers of the laws."""
        found, at = [], 0
        for part in self._run.system.subsystems:
            cells = [(bits, region) for bits, region in enumerate(part.cells) if region >= 0]
            theta = np.zeros((len(self._run.t), len(part.regions)))
            for k, (bits, region) in enumerate(cells):
                if self._stewart:
                    theta[:, region] += self._stepped[:, at + k]
                else:
                    inside = np.array([(bits >> j) & 1 for j in range(part.count)], bool)
                    alpha = self._stepped[:, part.first : part.first + part.count]
                    theta[:, region] += np.where(inside, alpha, 1 - alpha).prod(axis=1)
            at += len(cells) + 1
            found.append(theta)
        return np.hstack(found)

    @property
    def c(self) -> np.ndarray:
        """Switching functions, (n_t, n_c).

        Raises
        ------
        NotApplicable
            A system without step functions; Stewart's form with laws, where y holds other sums.
        """
        if not self._by_laws:
            return self._row("c")
        if not self._rewritten or self._stewart:
            raise self._other("switching functions c")
        return -self.y

    @property
    def lam_n(self) -> np.ndarray:
        """Multipliers of alpha >= 0: the negative parts of c."""
        return np.asarray(np.maximum(-self.c, 0.0))

    @property
    def lam_p(self) -> np.ndarray:
        """Multipliers of alpha <= 1: the positive parts of c."""
        return np.asarray(np.maximum(self.c, 0.0))

    @property
    def outputs(self) -> dict[str, np.ndarray]:
        """Named outputs along the run, each (n_t,)."""
        outputs = getattr(self._run.system, "outputs", ())
        observe = self._run.observe
        if not outputs or observe is None:
            return {}
        values = observe(self._run, "outputs")
        return {o.name: values[:, k] for k, o in enumerate(outputs)}

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has of the multipliers."""
        if not self._by_laws:
            functions = self._run.system.guard_names
            dim, name = ("region", "theta") if self._stewart else ("function", "alpha")
            return [
                Quantity(name, self.values, dim, self.names),
                Quantity("c", self.c, "function", functions),
            ]
        found, laws, names = [], self.laws, self.names
        if laws:
            units, of_y = [law.unit for law in laws], [law.y_unit for law in laws]
            place = {-1: "lam at lb", 0: "y = 0", 1: "lam at ub"}
            found += [
                Quantity("lam", self.lam, "law", names, units, names),
                Quantity("y", self.y, "law", names, of_y, [law.y_name for law in laws]),
                Quantity("side", self.side, "law", names, names=place),
            ]
        if outputs := self.outputs:
            units = [output.unit for output in self._run.system.outputs]
            values, named = np.column_stack(list(outputs.values())), list(outputs)
            found.append(Quantity("outputs", values, "output", named, units, named))
        return found

    @property
    def _by_laws(self) -> bool:
        return self._run.by_laws

    @property
    def _rewritten(self) -> bool:
        return bool(self._run.route)

    @property
    def _stewart(self) -> bool:
        if self._by_laws:
            return self.laws[0].kind != "relay"
        return bool(self._run.march.compiled.stewart)

    @property
    def _stepped(self) -> np.ndarray:
        """Return lam; in the first row, where no step has ended, that of the first step."""
        rows = len(self._run.t)
        return self.lam[np.maximum(np.arange(rows), min(1, rows - 1))]

    def _other(self, what: str) -> NotApplicable:
        system, scheme = self._run.system, type(self._run.scheme).__name__
        return NotApplicable(
            f"{scheme} ran '{system.name}' without {what}: solution.multipliers.values holds its "
            "multipliers."
        )
