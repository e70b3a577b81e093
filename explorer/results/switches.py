"""The modes of a run and its switches: patterns of laws, active sets, modes of an automaton."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from explorer.certificate import Check
from explorer.errors import NotApplicable
from explorer.results import law_steps
from explorer.results.continuations import Continuations
from explorer.results.part import Part
from explorer.results.quantity import Quantity
from explorer.results.run import Run
from explorer.systems.step import StepSystem

__all__ = ["Continuations", "Switches"]


class Switches(Part):
    """Modes of a system x' = ..., and when they changed."""

    name: ClassVar[str] = "switches"
    flat: ClassVar[tuple[str, ...]] = ("mode", "signs", "switch_times", "choices", "uniqueness")

    @classmethod
    def absence(cls, run: Run) -> str:
        """Return why a run has no modes."""
        if run.has_velocities:
            return f"'{run.system.name}' is a {run.system.kind}: solution.events has what happened"
        if cls(run).mode_names:
            return ""
        return f"'{run.system.name}' is a {run.system.kind} without modes"

    @classmethod
    def answers(cls, run: Run) -> bool:
        """Whether the system has one state x' = ..., of one mode or of many."""
        return not run.has_velocities

    @classmethod
    def told(cls, run: Run) -> tuple[str, ...]:
        """Return which of the flat names the model has: step functions alone have signs."""
        without = [] if isinstance(run.system, StepSystem) else ["signs"]
        without += ["mode"] if run.system.discrete else []
        return tuple(name for name in super().told(run) if name not in without)

    @property
    def mode(self) -> np.ndarray:
        """Number of the mode, or active set, in `mode_names`, (n_t,)."""
        return law_steps.numbered(self._run)[0] if self._by_laws else self._row("mode")

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the modes: of an automaton all, else of the patterns that occur."""
        if self._by_laws:
            return law_steps.numbered(self._run)[1]
        if self._run.has("names"):
            return tuple(self._run.recorded_row("names"))
        return tuple(mode.name for mode in getattr(self._run.system, "modes", ()))

    @property
    def signs(self) -> np.ndarray:
        """Side of each switching function: -1, 1, or 0 on the surface, (n_t, n_c).

        Raises
        ------
        NotApplicable
            A system without step functions.
        """
        system = self._run.system
        if not isinstance(system, StepSystem):
            raise NotApplicable(f"'{system.name}' is a {system.kind}: it has no step functions.")
        if not self._by_laws:
            return np.asarray(self._row("patterns")[self._row("mode")])
        found = [law_steps.signs(self._run, row) for row in self._row("side")]
        return np.array(found, int).reshape(len(self._run.t), -1)

    @property
    def switch_times(self) -> np.ndarray:
        """Times of the switches in s."""
        return np.array([e.t for e in self._run.events])

    times = switch_times

    @property
    def choices(self) -> tuple[Continuations, ...]:
        """The moments at which the solution is not unique, with all that may follow.

        ``FESD(picks="1")`` takes number 1 at the first of them, in the list of a run of `FESD`, and
        ``EventDriven(picks="1")`` in that of `EventDriven`: each has its own order. Empty of a run
        that looks for none.
        """
        if not self._run.has("boundaries"):
            return ()
        found: tuple[Continuations, ...] = self._run.kept("choices", self._run.march.choices)
        return found

    @property
    def uniqueness(self) -> Check:
        """How often the run could have gone on otherwise: a check of its certificate."""
        found, scheme = self.choices, self._run.scheme
        more = f" and at {len(found) - 1} later moments" if len(found) > 1 else ""
        words = ""
        if found:
            what = "FESD(picks=...) chooses from its own list"
            if hasattr(scheme, "picks"):
                what = f"{type(scheme).__name__}(picks='1') chooses number 1"
            words = (
                f"The solution is not unique: it may continue {found[0].sentence}{more}. "
                f"solution.choices lists all continuations; {what}."
            )
        return Check("moments with several continuations", len(found), 0, "", words)

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has of the modes."""
        return [Quantity("mode", self.mode, names=self.mode_names)]

    @property
    def _by_laws(self) -> bool:
        return self._run.by_laws
