"""A solution of a first-order system: multipliers, their counterparts y, and the place of each law.

It knows its switches to one step, as every time-stepping scheme does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from explorer.errors import NotApplicable
from explorer.results.event import Event
from explorer.results.export import Quantity, per_second
from explorer.results.solution import Solution
from explorer.systems.laws import Law

__all__ = ["ComplementaritySolution", "Switch"]

_NONE = np.zeros(0)


@dataclass(frozen=True)
class Switch(Event):
    """A law that changed its place.

    Attributes
    ----------
    kind : str
        "closes" (y = 0 from here), "opens" (lam = 0), of a relay "slides" (y = 0 from here),
        "leaves", or "crosses".
    contact : str
        Name of the multiplier.
    mode, to : str
        Names of the modes before and after.
    """

    mode: str = ""
    to: str = ""


@dataclass(repr=False, eq=False)
class ComplementaritySolution(Solution):
    """Result of `EulerMoreau`.

    Attributes
    ----------
    lam, y : (n_t, m) multipliers (a rate: r, not h r) and what they are complementary to
    side : (n_t, m) int8: -1 lam at its lower bound, 0 in between (y = 0), 1 at its upper bound
    laws : the law of each pair; of a system that was rewritten (see `route`), those of the other

    `residuals` holds those of the one-step problem and of Newton's method, both relative to the
    size of their terms. In the first row lam is 0, or the bound nearest to it.
    """

    KEPT: ClassVar[tuple[str, ...]] = ("lam", "y", "side")

    lam: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    y: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    side: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.int8))
    laws: tuple[Law, ...] = ()

    @property
    def x(self) -> np.ndarray:
        """The states, (n_t, n_x)."""
        return self.q

    @cached_property
    def rates(self) -> np.ndarray:
        """Mean x' of the step that ends at each row, (n_t, n_x)."""
        found = np.zeros_like(self.q)
        if len(self.t) > 1:
            found[1:] = np.diff(self.q, axis=0) / np.diff(self.t)[:, None]
            found[0] = found[1]
        return found

    @property
    def alpha(self) -> np.ndarray:
        """Step multipliers of a system with step functions, (n_t, n_c).

        Raises
        ------
        NotApplicable
            A system without step functions; Stewart's form, which has theta.
        """
        if not self.route:
            raise NotApplicable(
                f"'{self.system.name}' is a {self.system.kind} without step functions: "
                "solution.lam holds its multipliers."
            )
        if self._stewart:
            raise NotApplicable(
                "Stewart's form has no alpha; solution.theta holds its multipliers."
            )
        return self._stepped

    @cached_property
    def theta(self) -> np.ndarray:
        """Multipliers of the regions of a `FilippovSystem`, (n_t, n_f).

        Raises
        ------
        NotApplicable
            A system without regions.
        """
        if not hasattr(self.system, "subsystems"):
            other = "alpha" if self.route else "lam"
            raise NotApplicable(
                f"'{self.system.name}' is a {self.system.kind} without regions: solution.{other} "
                "holds its multipliers."
            )
        found, at = [], 0
        for part in self.system.subsystems:
            cells = [(bits, region) for bits, region in enumerate(part.cells) if region >= 0]
            theta = np.zeros((len(self.t), len(part.regions)))
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
    def _stewart(self) -> bool:
        return self.laws[0].kind != "relay"

    @property
    def _stepped(self) -> np.ndarray:
        """Return lam; in the first row, where no step has ended, that of the first step."""
        return self.lam[np.maximum(np.arange(len(self.t)), min(1, len(self.t) - 1))]

    @cached_property
    def outputs(self) -> dict[str, np.ndarray]:
        """Named outputs along the run, each (n_t,)."""
        outputs = getattr(self.system, "outputs", ())
        if not outputs or self.observe is None:
            return {}
        values = self.observe(self, "outputs")
        return {o.name: values[:, k] for k, o in enumerate(outputs)}

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        names, laws = self.system.coordinates, [law.name for law in self.laws]
        rates = per_second(self.system.units, time=self.system.time_unit)
        found = [
            *super().quantities,
            Quantity("rates", self.rates, "state", names, rates, [f"d_{x}" for x in names]),
        ]
        if laws:
            units, of_y = [law.unit for law in self.laws], [law.y_unit for law in self.laws]
            place = {-1: "lam at lb", 0: "y = 0", 1: "lam at ub"}
            found += [
                Quantity("lam", self.lam, "law", laws, units, laws),
                Quantity("y", self.y, "law", laws, of_y, [law.y_name for law in self.laws]),
                Quantity("side", self.side, "law", laws, names=place),
            ]
        if self.outputs:
            units = [output.unit for output in self.system.outputs]
            values, names = np.column_stack(list(self.outputs.values())), list(self.outputs)
            found.append(Quantity("outputs", values, "output", names, units, names))
        return found

    # -- modes --------------------------------------------------------------------------------

    @cached_property
    def _numbered(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """Number of the mode of each row, and the names."""
        if not self.side.shape[1]:
            return np.zeros(len(self.t), int), ()
        patterns, number = np.unique(self.side, axis=0, return_inverse=True)
        return number.ravel(), tuple(map(self._mode, patterns))

    def _mode(self, pattern: np.ndarray) -> str:
        if hasattr(self.system, "mode_name"):
            return str(self.system.mode_name(self._signs(pattern)))
        laws = list(zip(self.laws, pattern, strict=True))
        one_sided = [(law.name, s == 0) for law, s in laws if law.kind == "complementarity"]
        acting = [name for name, acts in one_sided if acts]
        parts = [f"{', '.join(acting)} > 0"] if acting else []
        if one_sided and not acting:
            parts = [f"{one_sided[0][0]} = 0" if len(one_sided) == 1 else "none > 0"]
        parts += [law.places[s + 1] for law, s in laws if law.kind == "relay"]
        return "; ".join(parts)

    def _signs(self, pattern: np.ndarray) -> list[int]:
        """Return the signs of the switching functions: relays have them, cells share theirs."""
        if not self._stewart:
            return list(pattern)
        signs, at = [], 0
        for part in self.system.subsystems:
            cells = [bits for bits, region in enumerate(part.cells) if region >= 0]
            acting = [bits for k, bits in enumerate(cells) if pattern[at + k] == 0]
            for j in range(part.count):
                sides = {1 if (bits >> j) & 1 else -1 for bits in acting}
                signs.append(sides.pop() if len(sides) == 1 else 0)
            at += len(cells) + 1
        return signs

    @property
    def mode(self) -> np.ndarray:
        """Number of the mode (the places of all laws) in `mode_names`, (n_t,)."""
        return self._numbered[0]

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the modes that occur."""
        return self._numbered[1]

    def _switches(self) -> Iterator[tuple[int, str, int]]:
        relay = [law.kind == "relay" for law in self.laws]
        for i, k in np.argwhere(np.diff(self.side, axis=0) != 0).tolist():
            was, now = self.side[i : i + 2, k]
            names = ("slides", "leaves") if relay[k] else ("closes", "opens")
            yield i + 1, "crosses" if was * now else names[0] if now == 0 else names[1], k

    @cached_property
    def event_rows(self) -> list[tuple[int, str, int]]:
        """(row, kind, law) of every switch, in order of time."""
        return list(self._switches())

    @cached_property
    def events(self) -> list[Event]:
        """Changes of the places of the laws, in order of time."""
        mode, modes = self.mode, self.mode_names
        names = self.system.guard_names
        if len(names) != len(self.laws):
            names = tuple(law.name for law in self.laws)
        return [
            Switch(
                float(self.t[i]), kind, names[k], k, i, _NONE, _NONE, 0.0, 0.0, 0.0,
                modes[mode[i - 1]], modes[mode[i]],
            )
            for i, kind, k in self.event_rows
        ]  # fmt: skip
