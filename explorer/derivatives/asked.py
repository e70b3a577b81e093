"""What the checks of a start and of jumps read of a question: `Question` has it all."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from explorer.derivatives.cost import CompiledCost
from explorer.systems import System

__all__ = ["Asked"]


class Asked(Protocol):
    """Names and numbers of what is differentiated, by what."""

    @property
    def system(self) -> System:
        """The system."""

    @property
    def cost(self) -> CompiledCost:
        """The compiled cost; its `flow` has the equations."""

    @property
    def wrt(self) -> tuple[str, ...]:
        """Names of parameters, or of states whose start is meant."""

    @property
    def places(self) -> tuple[int, ...]:
        """Their places in rho; -1: a start."""

    @property
    def rho(self) -> np.ndarray:
        """Parameters, (n_rho,)."""

    def seeds(self) -> np.ndarray:
        """Derivative of the start, (n_x, p)."""
