"""What happens in a run, and its state at one time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.errors import BadValue
from explorer.quantities import quantity

__all__ = ["Event", "Sample", "within"]


@dataclass(frozen=True)
class Event:
    """Something that happened to one contact.

    Attributes
    ----------
    t : float
        Time in s; a time-stepping scheme knows it to one step.
    kind : str
        "impact", "closed" (contact lasts from here) or "released".
    contact, index : str, int
        Name and number of the contact.
    row : int
        Row of the solution that holds the right limit.
    v_minus, v_plus : (n,) float
        Velocities before and after.
    gap_dot_minus, gap_dot_plus : float
        Normal velocity before and after, m/s; plus = -e minus at an impact on its own.
    impulse : float
        Normal impulse in N s; for "closed" the impulse of its first step.
    """

    t: float
    kind: str
    contact: str
    index: int
    row: int
    v_minus: np.ndarray
    v_plus: np.ndarray
    gap_dot_minus: float
    gap_dot_plus: float
    impulse: float


@dataclass(frozen=True)
class Sample:
    """State at one time: t (s), q (n,), v (n,), gap (n_c,); at k times each has k rows."""

    t: float | np.ndarray
    q: np.ndarray
    v: np.ndarray
    gap: np.ndarray


def within(t: Any, side: str, low: float, high: float) -> np.ndarray:
    """Return one time in s, or a row of them, found to lie in a span, where `side` is known.

    Raises
    ------
    BadValue
        If one of them does not, or is no number; if the side is neither "left" nor "right".
    """
    if side not in ("left", "right"):
        raise BadValue(f"side = {side!r} must be 'left' or 'right'.")
    try:
        times = np.asarray(t, float)
    except (TypeError, ValueError):
        times = np.empty((0, 0))
    if times.ndim > 1:
        raise BadValue(f"t = {t!r} must be a time in s or a sequence of times.")
    outside = times[~((times >= low) & (times <= high))]
    if outside.size:
        raise BadValue(f"t = {quantity(outside.flat[0], 's')} lies outside [{low:g}, {high:g}] s.")
    return times
