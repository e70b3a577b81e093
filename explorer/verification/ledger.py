"""The certificate of a run that is seen in pieces: figures of all steps, of which few are kept.

Energies and works are added up over the pieces, row by row, and judged as those of a whole run are
(`explorer.verification.energy`); of other checks the worst piece counts, of growth the sum.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from explorer.certificate import Check
from explorer.errors import NotApplicable
from explorer.results.solution import Solution
from explorer.verification.energy import judged, remedy
from explorer.verification.energy_balance import EnergyBalance, balance

__all__ = ["WORKS", "Ledger", "Stepper"]

WORKS = ("external", "damping", "contact", "friction", "yielding")


class Stepper(Protocol):
    """What a ledger reads of the scheme of a run."""

    @property
    def keeps_energy(self) -> bool:
        """Whether it damps no motion by itself."""

    def conserved(self, solution: Solution) -> np.ndarray | float:
        """Return what it conserves besides T + V, J."""

    def certify_steps(self, solution: Solution) -> list[Check]:
        """Return the checks of its steps."""


class Ledger:
    """Figures of all steps of a run.

    Attributes
    ----------
    energies : (n_steps + 1, 2 or 1) kinetic and, if known, potential energy, J
    works : (n_steps + 1, 5) `WORKS` since the start, J
    known : bool
        Whether they can be told.
    """

    def __init__(self, scheme: Stepper) -> None:
        self.scheme, self.unsure = scheme, 0.0
        self.checks: dict[str, Check] = {}
        self._energies: list[np.ndarray] = []
        self._works: list[np.ndarray] = []
        self._kept: list[np.ndarray] = []
        self._potential: list[np.ndarray] = []
        self._last: Solution | None = None
        self.known = True

    @property
    def energies(self) -> np.ndarray:
        """Kinetic and potential energy of every row."""
        return np.concatenate(self._energies)

    @property
    def works(self) -> np.ndarray:
        """Works up to every row."""
        return np.concatenate(self._works)

    def add(self, run: Solution, new: int) -> None:
        """Add a piece: rows of a run from `new` on are new; those before overlap with the last."""
        self._last = run
        self._energies.append(run._energies[new:])
        for check in self.scheme.certify_steps(run):
            self._note(check)
        if not self.known:
            return
        try:
            found = balance(run)
        except NotApplicable:
            self.known = False
            return
        works = np.column_stack([getattr(found, name) for name in WORKS])
        before = self._works[-1][-1] if self._works else np.zeros(len(WORKS))
        self._works.append(before + works[new:] - works[max(new - 1, 0)])
        self._potential.append(found.potential[new:])
        kept = np.broadcast_to(self.scheme.conserved(run), run.t.shape)
        self._kept.append(np.array(kept[new:], float))
        self.unsure += found.uncertain

    def _note(self, check: Check) -> None:
        old = self.checks.get(check.name)
        if old is None:
            self.checks[check.name] = check
        elif check.name == "growth":
            self.checks[check.name] = replace(check, value=old.value + check.value)
        elif not check.value * old.allowed <= old.value * check.allowed:  # NaN counts as worse
            self.checks[check.name] = check

    def certificate(self) -> tuple[Check, ...]:
        """Return the checks of the whole run."""
        checks = list(self.checks.values())
        if self._last is None or not self.known or sum(map(len, self._works)) < 3:
            return tuple(checks)
        works = dict(zip(WORKS, self.works.T, strict=True))
        found = EnergyBalance(
            self._last,
            self.energies[:, 0],
            np.concatenate(self._potential),
            **works,
            uncertain=self.unsure,
        )
        damped = np.zeros(len(found.kinetic)) if self.scheme.keeps_energy else None
        with np.errstate(all="ignore"):
            more = judged(
                found, np.concatenate(self._kept), damped, slice(None), remedy(self.scheme)
            )
            return (*checks, *more)
