"""The shapes that animate a system: its sketch, or a picture made of its formulas."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import numpy as np

from explorer.dispatch.simulate import simulate
from explorer.errors import ExplorerError
from explorer.results.solution import Solution
from explorer.systems.base import System
from explorer.systems.picture import automatic
from explorer.systems.sketch import Shape

__all__ = ["shapes_of"]


def shapes_of(solution: Solution) -> tuple[Shape, ...]:
    """Return the shapes of a sketch; of a system without one an automatic picture, made once."""
    system = solution.system
    if not system.shapes and "picture" not in system.lasting and solution.observe is not None:
        base = system if system.base is None else system.base
        system.lasting["picture"] = automatic(base, _ranges(base, solution))
    shapes: tuple[Shape, ...] = system.pictured
    return shapes


def _ranges(system: System, solution: Solution) -> list[tuple[float, float]]:
    """Return how far each coordinate goes in the usual run, which does not depend on a slider."""
    usual: Mapping[str, float] = {k: p.value for k, p in system.parameters.items()}
    if dict(solution.rho) != usual:
        with contextlib.suppress(ExplorerError):  # else its own run must do
            solution = simulate(system, throw=False)
    rows = np.where(np.isfinite(solution.q), solution.q, np.nan)
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
