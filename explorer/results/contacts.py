"""The contacts of a run: impulses and forces, gaps, friction, and what each contact does.

An impulse p (N s) is what a step gives, at velocity level; a force lam = p / h (N) is what of it
acts all through the step. An impact has no force: its steps have none here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from explorer.quantities import quantity
from explorer.results import located
from explorer.results.part import Part
from explorer.results.quantity import Quantity
from explorer.results.run import Run
from explorer.results.stepped import STICK, without_impacts

__all__ = ["Contacts"]

_MISSED = 1e-2  # of the largest speed at a contact: solvers stay far below it
_AT_REST = 1e-9  # m/s


class Contacts(Part):
    """Contacts of a mechanical system, with their friction; axis 1 counts contacts.

    A contact without friction has zeros in what tells of friction. Where friction acts in space
    p_t, lam_t and slip are (n_t, n_c, 2), along both directions.
    """

    name: ClassVar[str] = "contacts"
    flat: ClassVar[tuple[str, ...]] = (
        "p", "gap", "gap_dot", "active", "lam", "p_t", "p_max", "lam_t", "lam_max", "slip",
        "sticks",         "doing", "contact_work", "friction_work",
    )  # fmt: skip

    @classmethod
    def absence(cls, run: Run) -> str:
        """Return why a run has no contacts."""
        if not run.has_velocities:
            return f"'{run.system.name}' is a {run.system.kind}, and only mechanical ones have them"
        return "" if run.system.contacts else f"'{run.system.name}' declares none"

    @classmethod
    def answers(cls, run: Run) -> bool:
        """Whether the system is mechanical: without contacts all have no columns."""
        return run.has_velocities

    @property
    def p(self) -> np.ndarray:
        """Impulse of the step that ends at the row, or of the impact there, (n_t, n_c), N s."""
        return self._row("p")

    @property
    def gap(self) -> np.ndarray:
        """Distance, (n_t, n_c), m."""
        return self._row("gap")

    @property
    def gap_dot(self) -> np.ndarray:
        """Normal velocity, (n_t, n_c), m/s."""
        return self._row("gap_dot")

    @property
    def active(self) -> np.ndarray:
        """0 open, 1 closed (of time stepping: predicted to close), 2 carried an impulse."""
        return self._row("active")

    @property
    def lam(self) -> np.ndarray:
        """Contact force, (n_t, n_c), N; of time stepping the mean of the step without impacts."""
        return self._force("lam", self.p)

    @property
    def p_t(self) -> np.ndarray:
        """Friction impulse of the step that ends at the row, or of the impact there, N s."""
        return self._friction("p_t")

    @property
    def p_max(self) -> np.ndarray:
        """The most that `p_t` could have been: mu p, or mu_s p, (n_t, n_c), N s."""
        return self._friction("p_max")

    @property
    def lam_t(self) -> np.ndarray:
        """Friction force, like `p_t`, N; of time stepping the mean of the step without impacts."""
        return self._force("lam_t", self.p_t)

    @property
    def lam_max(self) -> np.ndarray:
        """The most that it could be: mu lam, or mu_s lam while it sticks, (n_t, n_c), N."""
        return self._force("lam_max", self.p_max)

    @property
    def slip(self) -> np.ndarray:
        """Sliding velocity, like `p_t`, m/s."""
        return self._friction("slip")

    @property
    def sticks(self) -> np.ndarray:
        """Whether each contact sticks, (n_t, n_c) bool."""
        if self._located:
            return self._row("sticks")
        return np.asarray(self.doing == STICK)

    @property
    def doing(self) -> np.ndarray:
        """0 open (or frictionless), 2 sticks, +1 or -1 slides this way, (n_t, n_c) int8.

        In space what slides is +1 whichever way it goes.
        """
        if not self._located:
            return self._friction("doing", np.int8)
        way = np.where(self.active > 0, np.sign(self.slip), 0)
        smooth = np.setdiff1d(np.arange(way.shape[1]), self._run.system.rough)
        way[:, smooth] = 0
        return np.where(self.sticks, STICK, way).astype(np.int8)

    @property
    def work(self) -> np.ndarray:
        """Work of each contact's impulses since the start in J, (n_t, n_c).

        p (gap'(-) + gap'(+)) / 2 per step; their sum takes energy away if e <= 1 (up to O(h^2)),
        while in a multiple impact one contact may give what another one takes.
        """
        p, speed = self.p, self.gap_dot
        step = np.zeros_like(p)
        step[1:] = 0.5 * p[1:] * (speed[1:] + speed[:-1])
        return np.cumsum(step, axis=0)

    contact_work = work

    @property
    def friction_work(self) -> np.ndarray:
        """Work of each contact's friction on the sliding since the start in J, (n_t, n_c).

        Located: the power lam_t slip, integrated between events, and p_t (slip- + slip+) / 2 at
        each. Time stepping: p_t (slip- + slip+) / 2 of each step.
        """
        run = self._run
        if not run.system.rough:
            return np.zeros_like(self.p)
        if self._located:
            return located.rubbed(run)
        p_t, slip = self.p_t, self.slip
        step = np.zeros_like(p_t)
        step[1:] = 0.5 * p_t[1:] * (slip[1:] + slip[:-1])
        work = np.cumsum(step, axis=0)
        return work if work.ndim == 2 else work.sum(axis=2)

    @property
    def wedged(self) -> str:
        """Say in which steps no impulses obey the laws of the contacts; empty: in none."""
        if self._located or not self._run.system.rough:
            return ""
        t, missed = self._run.t, self._run.residuals[:, 0]
        speed = max(np.abs(x).max(initial=0.0) for x in (self.gap_dot, self.slip))
        rows = np.flatnonzero(missed > max(_MISSED * speed, _AT_REST))
        if not len(rows):
            return ""
        return (
            f"no impulses satisfy Newton's impact law in {len(rows)} of {len(missed) - 1} steps "
            "(friction wedges a body), so restitution was ignored there. The first of these steps "
            f"ends at t = {quantity(t[rows[0]], 's')}; the residual is up to "
            f"{quantity(missed.max(), 'm/s', 2)}"
        )

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has of the contacts."""
        return [
            self._of("p", self.p, "N s"),
            self._of("gap", self.gap, "m"),
            self._of("gap_dot", self.gap_dot, "m/s"),
            self._of("active", self.active),
        ]

    @property
    def forces(self) -> list[Quantity]:
        """What every row has of the normal forces."""
        return [self._of("lam", self.lam, "N")]

    @property
    def friction(self) -> list[Quantity]:
        """What every row has of friction; empty without any."""
        rough = self._run.system.rough
        if not rough:
            return []
        most = [] if self._located else [self._of("p_max", self.p_max, "N s", rough)]
        sliding = {-1: "slides back", 0: "open", 1: "slides", 2: "sticks"}
        return [
            self._of("p_t", self.p_t, "N s", rough),
            *most,
            self._of("lam_t", self.lam_t, "N", rough),
            self._of("lam_max", self.lam_max, "N", rough),
            self._of("slip", self.slip, "m/s", rough),
            self._of("sticks", self.sticks, "", rough),
            self._of("doing", self.doing, "", rough, sliding),
        ]

    @property
    def _located(self) -> bool:
        return self._run.has("march")

    def _friction(self, name: str, kind: type = float) -> np.ndarray:
        """Return what was recorded of friction; zeros where no contact has any."""
        if self._run.system.rough:
            return self._row(name)
        return np.zeros(self.p.shape, kind)

    def _force(self, name: str, impulse: np.ndarray) -> np.ndarray:
        """Return the force that was recorded, or the mean of the impulses without impacts."""
        return self._row(name) if self._located else without_impacts(self._run, impulse)

    def _of(
        self,
        name: str,
        values: np.ndarray,
        unit: str = "",
        only: Sequence[int] | None = None,
        names: Mapping[int, str] | tuple[()] = (),
    ) -> Quantity:
        labels = [c.name for c in self._run.system.contacts]
        return Quantity(name, values, "contact", labels, unit, only=only, names=names)
