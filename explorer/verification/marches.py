"""What the checks read of the record of a kernel that locates events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from explorer.compiled import Bundle, Flow, Switched
    from explorer.kernels.event_driven.butcher import Tableau
    from explorer.kernels.event_driven.structures import Events, Steps
    from explorer.kernels.fesd.collocation import Collocation
    from explorer.kernels.fesd.structures import Phases

__all__ = ["Elements", "March", "Tolerances"]


class Tolerances(Protocol):
    """Tolerances of a step."""

    @property
    def rtol(self) -> float:
        """Relative."""

    @property
    def atol(self) -> float:
        """Absolute."""


class March(Protocol):
    """Steps and events of a run of `EventDriven`."""

    flow: Flow
    steps: Steps
    events: Events
    y: np.ndarray

    @property
    def settings(self) -> Tolerances:
        """What the user sets."""

    @property
    def tableau(self) -> Tableau:
        """Coefficients of the method."""

    def part(self, name: str) -> np.ndarray:
        """Return a part of all events, (events, ...)."""

    def sample(
        self, times: np.ndarray, *, slopes: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return y (k, size), (x', z') and the number of the step of each time (increasing).

        Without `slopes` y has no sensitivities.
        """

    def along(self, native: Bundle, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the outputs of a bundle (k, outputs) at states x (k, n_x)."""


class Elements(Protocol):
    """Elements of a run of `FESD`: see `explorer.runs.fesd.run`."""

    compiled: Switched
    method: Collocation
    states: np.ndarray
    slopes: np.ndarray
    mult: np.ndarray
    times: np.ndarray
    places: np.ndarray
    phases: Phases

    def rates(self, t: np.ndarray, x: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return x' (k, n_x) at states and multipliers."""

    def functions(self, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return c (k, n_c) and its gradient (k, n_c, n_x) at states."""
