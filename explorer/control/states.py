"""The states of a system and of a run as one vector: x, or (q, v) of a mechanical system."""

from __future__ import annotations

import numpy as np
import sympy as sp

from explorer.derivatives import Sensitivity
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem, StateSpaceSystem, System
from explorer.types import Plain

__all__ = ["rows_of", "slopes_of", "start_of", "states_of"]


def states_of(system: System) -> tuple[sp.Symbol, ...]:
    """Return the symbols of the states (n_x,)."""
    if isinstance(system, MechanicalSystem):
        return (*system.q, *system.v)
    assert isinstance(system, StateSpaceSystem)
    return tuple(system.x)


def rows_of(run: Solution) -> np.ndarray:
    """Return the states (n_t, n_x) of a run."""
    return np.hstack([run.q, run.v]) if run.has_velocities else np.asarray(run.x)


def slopes_of(found: Sensitivity) -> np.ndarray:
    """Return the derivatives (n_t, n_x, p) of the states of a run."""
    if found.run.has_velocities:
        return np.concatenate([found.Q, found.V], axis=1)
    return np.asarray(found.S)


def start_of(system: System, x: np.ndarray) -> Plain:
    """Return the start of a run as `simulate` takes it."""
    if isinstance(system, MechanicalSystem):
        return {"q0": x[: system.n], "v0": x[system.n :]}
    return {"x0": x}
