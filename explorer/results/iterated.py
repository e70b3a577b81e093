"""A run of a map: nothing happens between its iterates, and no event is told of them."""

from __future__ import annotations

import numpy as np

from explorer.errors import BadValue
from explorer.results.event import Event, Sample
from explorer.results.run import Run

__all__ = ["at", "closed_runs", "event_rows", "events", "jump_rows"]

_NONE = np.zeros(0)


def event_rows(run: Run) -> list[tuple[int, str, int]]:
    """Return nothing."""
    return []


def events(run: Run) -> list[Event]:
    """Return nothing."""
    return []


def jump_rows(run: Run) -> np.ndarray:
    """Return nothing: no curve is drawn through iterates."""
    return np.zeros(0, int)


def closed_runs(run: Run, a: int) -> list[tuple[int, int]]:
    """Return nothing."""
    return []


def at(run: Run, t: float, side: str) -> Sample:
    """Return an iterate.

    Raises
    ------
    BadValue
        A time between two iterates.
    """
    if t != int(t):
        raise BadValue(
            f"'{run.system.name}' is a map: it has no state at t = {t:g}, between the iterates "
            f"{int(t)} and {int(t) + 1}."
        )
    return Sample(t, run.q[int(t)], _NONE, _NONE)
