"""What the parts of a solution, and what finds its events, read of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np

from explorer.certificate import Certified, Check
from explorer.recorder import Recorded
from explorer.results.continuations import Continuations
from explorer.results.event import Event, Events, LocatedEvent, Sample
from explorer.status import Status
from explorer.systems.laws import Law
from explorer.types import Plain, Reals

__all__ = ["Found", "Rows", "Run"]

Found = TypeVar("Found")
Rows: TypeAlias = Mapping[str, object]  # arrays of the quantities of each row, events


class Run(Certified, ABC):
    """A run of a scheme: `explorer.results.solution.Solution` is one."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    x: np.ndarray
    rates: np.ndarray
    z: np.ndarray
    S: np.ndarray
    p: np.ndarray
    gap: np.ndarray
    gap_dot: np.ndarray
    active: np.ndarray
    lam: np.ndarray
    p_t: np.ndarray
    p_max: np.ndarray
    lam_t: np.ndarray
    lam_max: np.ndarray
    slip: np.ndarray
    sticks: np.ndarray
    doing: np.ndarray
    contact_work: np.ndarray
    friction_work: np.ndarray
    phi: np.ndarray
    p_phi: np.ndarray
    lam_phi: np.ndarray
    holds: np.ndarray
    y: np.ndarray
    side: np.ndarray
    alpha: np.ndarray
    theta: np.ndarray
    c: np.ndarray
    lam_n: np.ndarray
    lam_p: np.ndarray
    outputs: dict[str, np.ndarray]
    u: np.ndarray
    u_names: tuple[str, ...]
    mode: np.ndarray
    signs: np.ndarray
    switch_times: np.ndarray
    partner: np.ndarray
    error: np.ndarray
    imbalance: np.ndarray
    parts: np.ndarray
    iterations: np.ndarray
    residuals: np.ndarray
    boundaries: np.ndarray
    interval: np.ndarray
    uniqueness: Check
    choices: tuple[Continuations, ...]
    laws: tuple[Law, ...]
    located: list[LocatedEvent]
    march: Any  # the record of a kernel: each kind of march has attributes of its own
    system: Any  # what is read of it depends on its kind, which a scheme has checked
    scheme: Any  # the same of a scheme and its knobs
    status: Status
    recorded: Recorded | None
    observe: Callable[[Run, str], np.ndarray] | None
    asked: Plain | None
    route: tuple[str, ...]
    rho: dict[str, float]

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether the run has a part or a quantity of this name."""

    @abstractmethod
    def at(self, t: float | Reals, side: str = "right") -> Sample:
        """Return the state at one time, or at several."""

    @abstractmethod
    def recorded_row(self, name: str) -> np.ndarray:
        """Return what the run recorded under this name."""

    @abstractmethod
    def kept(self, name: str, make: Callable[[], Found]) -> Found:
        """Return what `make` returns, made once and never saved."""

    @abstractmethod
    def beside(self) -> list[str]:
        """Return the names of what the scheme recorded besides what all schemes record."""

    @property
    def by_laws(self) -> bool:
        """Whether the steps have solved laws, so that lam, y and side were recorded."""
        return "laws" in vars(self)

    @property
    @abstractmethod
    def has_velocities(self) -> bool:
        """Whether the system has coordinates and velocities, and not one state x' = ...."""

    @property
    @abstractmethod
    def event_rows(self) -> list[tuple[int, str, int]]:
        """(row, kind, contact) of every event, in order of time."""

    @property
    @abstractmethod
    def events(self) -> Events[Event]:
        """What happened, in order of time."""

    @property
    @abstractmethod
    def jump_rows(self) -> np.ndarray:
        """Rows at which a velocity jumps."""
