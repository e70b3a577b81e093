"""A solution of a system with step functions: multipliers, active sets, elements, switches.

That of a system whose time was frozen has it beside its own, which is in physical time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from explorer.certificate import Check
from explorer.errors import NotApplicable
from explorer.quantities import quantity
from explorer.results.export import Quantity
from explorer.results.trajectory import ROWS, LocatedEvent, Trajectory

__all__ = ["Continuations", "FrozenTrajectory", "SwitchedTrajectory"]


@dataclass(frozen=True)
class Continuations:
    """A moment from which a solution can go on in several ways, each of them consistent.

    Attributes
    ----------
    t : float
        In s.
    x : (n_x,) state
    patterns : tuple of str
        The active sets that may follow.
    multipliers, rates : (k, n_sel), (k, n_x)
        Multipliers and x' of each.
    taken : int
        Which of them the run has taken.
    """

    t: float
    x: np.ndarray
    patterns: tuple[str, ...]
    multipliers: np.ndarray
    rates: np.ndarray
    taken: int

    def __repr__(self) -> str:
        said = [f"{'*' if k == self.taken else ' '} {k}: {p}" for k, p in enumerate(self.patterns)]
        return "\n".join([f"Continuations at t = {quantity(self.t, 's')}", *said])

    @property
    def sentence(self) -> str:
        """What a reader is told."""
        known = ", ".join(f"{p!r}" for p in self.patterns)
        return (
            f"at t = {quantity(self.t, 's')} to {known}; {self.patterns[self.taken]!r} was chosen"
        )


@dataclass(repr=False, eq=False)
class SwitchedTrajectory(Trajectory):
    """Result of `FESD`, with rows at the ends of elements, or of `EventDriven`; a switch has two.

    And of `ThetaRK`, whose elements are its steps, and which locates no switch.

    Attributes
    ----------
    multipliers : (n_t, n_c) alpha, or, in Stewart's form, (n_t, n_f) theta; at a switch its limits
    c, lam_n, lam_p : (n_t, n_c) switching functions, their negative and their positive parts
    mode : (n_t,) number of the active set in `mode_names`
    signs : (n_t, n_c) side of each switching function, -1 or 1; 0 where it slides on c = 0
    boundaries : (n_e + 1,) times between the elements, or steps, s
    interval : (n_e,) number of the interval of each element
    """

    ROWS: ClassVar[tuple[str, ...]] = (*ROWS, "multipliers", "c")

    multipliers: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    c: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    boundaries: np.ndarray = field(default_factory=lambda: np.empty(0))
    interval: np.ndarray = field(default_factory=lambda: np.empty(0, int))
    names: tuple[str, ...] = ()
    patterns: np.ndarray = field(default_factory=lambda: np.empty((0, 0), int))

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        functions, stewart = self.system.guard_names, self.march.compiled.stewart
        regions = [r.name for s in getattr(self.system, "subsystems", ()) for r in s.regions]
        theta = Quantity("theta", self.multipliers, "region", regions)
        alpha = Quantity("alpha", self.multipliers, "function", functions)
        return [*super().quantities, theta if stewart else alpha,
                Quantity("c", self.c, "function", functions)]  # fmt: skip

    @property
    def signs(self) -> np.ndarray:
        """Side of each switching function: -1, 1, or 0 on the surface."""
        return self.patterns[self.mode]

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the active sets of this run: regions, or signs of the switching functions."""
        return self.names

    @property
    def lam_n(self) -> np.ndarray:
        """Multipliers of alpha >= 0: the negative parts of c."""
        return np.maximum(-self.c, 0.0)

    @property
    def lam_p(self) -> np.ndarray:
        """Multipliers of alpha <= 1: the positive parts of c."""
        return np.maximum(self.c, 0.0)

    @property
    def alpha(self) -> np.ndarray:
        """Step multipliers, (n_t, n_c).

        Raises
        ------
        NotApplicable
            In Stewart's form, which has theta.
        """
        if self.march.compiled.stewart:
            raise NotApplicable(
                "Stewart's form has no alpha; solution.theta holds its multipliers."
            )
        return self.multipliers

    @cached_property
    def theta(self) -> np.ndarray:
        """Multipliers of the regions of a `FilippovSystem`, (n_t, n_f).

        Raises
        ------
        NotApplicable
            A system without regions.
        """
        if self.march.compiled.stewart:
            return self.multipliers
        if not hasattr(self.system, "subsystems"):
            raise NotApplicable(
                f"'{self.system.name}' is a {self.system.kind} without regions: solution.alpha "
                "holds its multipliers."
            )
        return self.march.compiled.theta(self.multipliers)

    @property
    def switch_times(self) -> np.ndarray:
        """Times of the switches in s."""
        return np.array([e.t for e in self.events])

    @cached_property
    def choices(self) -> tuple[Continuations, ...]:
        """The moments at which the solution is not unique, with all that may follow.

        ``FESD(picks="1")`` takes number 1 at the first of them, in the list of a run of `FESD`, and
        ``EventDriven(picks="1")`` in that of `EventDriven`: each has its own order.
        """
        found: tuple[Continuations, ...] = self.march.choices()
        return found

    @property
    def uniqueness(self) -> Check:
        """How often the run could have gone on otherwise: a check of its certificate."""
        found = self.choices
        more = f" and at {len(found) - 1} later moments" if len(found) > 1 else ""
        words = ""
        if found:
            what = "FESD(picks=...) chooses from its own list"
            if hasattr(self.scheme, "picks"):
                what = f"{type(self.scheme).__name__}(picks='1') chooses number 1"
            words = (
                f"The solution is not unique: it may continue {found[0].sentence}{more}. "
                f"solution.choices lists all continuations; {what}."
            )
        return Check("moments with several continuations", len(found), 0, "", words)

    @cached_property
    def fesd_residual(self) -> dict[str, float]:
        """Largest violation of each block of the FESD equations (21).

        "collocation" (14), "complementarity" (16), "cross" (18), "equilibration" (19), "time". Of
        `ThetaRK` "cross" does not vanish where a step holds a switch.
        """
        return self.march.residual()


@dataclass(repr=False, eq=False)
class FrozenTrajectory(Trajectory):
    """Result of `FESD` through time freezing: rows in physical time, what is frozen cut out."""

    def _beside(self, event: LocatedEvent) -> list[LocatedEvent]:
        """Return nothing: every contact that strikes has an event of its own already."""
        return []

    @cached_property
    def pseudo(self) -> SwitchedTrajectory:
        """The same run in pseudo-time; the last state of its system is the clock."""
        found: SwitchedTrajectory = self.march.elements.trajectory()
        return found

    @cached_property
    def frozen(self) -> np.ndarray:
        """Stretches of pseudo-time in which the clock stands still, (k, 2), s."""
        return self.march.stretches

    @property
    def fesd_residual(self) -> dict[str, float]:
        """Largest violation of each block of the FESD equations in pseudo-time."""
        return self.pseudo.fesd_residual
