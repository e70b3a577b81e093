"""Solutions of time stepping with constraints and friction: what holds, slides, and drifts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from explorer.quantities import quantity
from explorer.results.export import Quantity
from explorer.results.stepped import SteppedSolution

__all__ = ["ConstrainedSolution", "DiscSolution", "FrictionalSolution"]

_STICK = 2  # of `doing`; +1 and -1 slide
_MISSED = 1e-2  # of the largest speed at a contact: solvers stay far below it
_AT_REST = 1e-9  # m/s
_SHORT = 3  # rows of rest between sliding one way and the other that are part of the turn


@dataclass(repr=False, eq=False)
class ConstrainedSolution(SteppedSolution):
    """Result of a time-stepping scheme for a system with constraints.

    Attributes
    ----------
    phi : (n_t, m) constraints, m: how far the positions have drifted
    p_phi : (n_t, m) impulse of each constraint in the step that ends at the row, N s

    Constraints act by -phi_q' lam_phi: the tension of a rod whose phi grows outwards is positive.
    """

    KEPT: ClassVar[tuple[str, ...]] = ("phi", "p_phi")

    phi: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    p_phi: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def lam_phi(self) -> np.ndarray:
        """Mean constraint force of the step that ends at the row, impacts left out, (n_t, m), N."""
        force = self._means(self.p_phi)
        force[self.jump_rows] = 0.0
        return force

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        found, names = super().quantities, [c.name for c in self.system.constraints]
        if names:
            found += [
                Quantity("phi", self.phi, "constraint", names, "m"),
                Quantity("p_phi", self.p_phi, "constraint", names, "N s"),
                Quantity("lam_phi", self.lam_phi, "constraint", names, "N"),
            ]
        return found


@dataclass(repr=False, eq=False)
class FrictionalSolution(ConstrainedSolution):
    """Result of a time-stepping scheme for contacts of which some have friction.

    Attributes
    ----------
    p_t, p_max : (n_t, n_c) friction impulse of the step that ends at the row, and the most it could
        have been (mu p, or mu_s p), N s
    slip : (n_t, n_c) sliding velocity, m/s (0 of a contact without friction)
    doing : (n_t, n_c) int8: 0 open (or frictionless), 2 sticks, +1 or -1 slides this way

    Where friction acts in space p_t and slip are (n_t, n_c, 2), along both directions, and what
    slides is +1 whichever way it goes.
    """

    KEPT: ClassVar[tuple[str, ...]] = ("phi", "p_phi", "p_t", "p_max", "slip", "doing")

    p_t: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    p_max: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    slip: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    doing: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.int8))

    @property
    def wedged(self) -> str:
        """Say in which steps no impulses obey the laws of the contacts; empty: in none."""
        missed = self.residuals[:, 0]
        speed = max(np.abs(x).max(initial=0.0) for x in (self.gap_dot, self.slip))
        rows = np.flatnonzero(missed > max(_MISSED * speed, _AT_REST))
        if not len(rows):
            return ""
        return (
            f"no impulses satisfy Newton's impact law in {len(rows)} of {len(missed) - 1} steps "
            "(friction wedges a body), so restitution was ignored there. The first of these steps "
            f"ends at t = {quantity(self.t[rows[0]], 's')}; the residual is up to "
            f"{quantity(missed.max(), 'm/s', 2)}"
        )

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        of, rough = self._of_contacts, self.system.rough
        sliding = {-1: "slides back", 0: "open", 1: "slides", 2: "sticks"}
        return [
            *super().quantities,
            of("p_t", self.p_t, "N s", rough),
            of("p_max", self.p_max, "N s", rough),
            of("lam_t", self.lam_t, "N", rough),
            of("lam_max", self.lam_max, "N", rough),
            of("slip", self.slip, "m/s", rough),
            of("sticks", self.sticks, "", rough),
            of("doing", self.doing, "", rough, sliding),
        ]

    @property
    def sticks(self) -> np.ndarray:
        """Whether each contact sticks, (n_t, n_c) bool."""
        return self.doing == _STICK

    @property
    def lam_t(self) -> np.ndarray:
        """Mean friction force of the step that ends at the row, impacts left out, like p_t, N."""
        return self._by_time(self.p_t)

    @property
    def lam_max(self) -> np.ndarray:
        """The most that it could be, (n_t, n_c), N."""
        return self._by_time(self.p_max)

    @property
    def pattern(self) -> np.ndarray:
        """What holds in each step, (n_t, 2 n_c): `active` and `doing`."""
        return np.hstack([self.active, self.doing])

    @cached_property
    def event_rows(self) -> list[tuple[int, str, int]]:
        """(row, kind, contact) of every event, those of friction included, in order of time.

        "slips", "sticks" and "turns" are known to one step, like impacts.
        """
        found = [
            event for a in self.system.rough for event in _friction_events(self.doing[:, a], a)
        ]
        return sorted([*super().event_rows, *found], key=lambda event: event[0])

    @cached_property
    def friction_work(self) -> np.ndarray:
        """Work of each contact's friction on the sliding since the start in J, (n_t, n_c)."""
        step = np.zeros_like(self.p_t)
        step[1:] = 0.5 * self.p_t[1:] * (self.slip[1:] + self.slip[:-1])
        work = np.cumsum(step, axis=0)
        return work if work.ndim == 2 else work.sum(axis=2)


def _friction_events(doing: np.ndarray, a: int) -> list[tuple[int, str, int]]:
    """Return (row, kind, contact) of the changes of one contact while it is closed."""
    edges = np.append(np.flatnonzero(np.diff(doing)) + 1, len(doing))
    found: list[tuple[int, str, int]] = []
    before = int(doing[0])  # what it did last, moments of rest in a turn left out
    for first, after in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        now = int(doing[first])
        if now == _STICK and after - first < _SHORT and after < len(doing) and doing[after]:
            continue
        if now and before and now != before:
            kind = "sticks" if now == _STICK else "slips" if before == _STICK else "turns"
            found.append((first, kind, a))
        before = now
    return found


@dataclass(repr=False, eq=False)
class DiscSolution(FrictionalSolution):
    """Result of a time-stepping scheme for discs whose contacts are found among neighbours.

    Attributes
    ----------
    partner : (n_t, n_c) int32: what the disc of this contact is near: another disc by its number
        from 0, wall k as -1 - k, nothing as -1000
    """

    KEPT: ClassVar[tuple[str, ...]] = (*FrictionalSolution.KEPT, "partner")

    partner: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.int32))

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        near = {-1000: "nothing", -1: "wall 0, from there down the others", 0: "disc 0"}
        return [*super().quantities, self._of_contacts("partner", self.partner, names=near)]
