"""How many steps reach the end of a run, and whether their record fits into memory."""

from __future__ import annotations

import numpy as np

from explorer.errors import BadValue
from explorer.parameters import roomy
from explorer.recorder import MOST_BYTES, PER_STEP

__all__ = ["steps"]


def steps(h: float, t_end: float, row: float, n: int, coordinates: int = 0) -> int:
    """Return how many steps of size `h` reach `t_end`; `row` numbers are kept of each.

    `coordinates` of them are those of which a `Recorder` may keep fewer, if the scheme takes one.

    Raises
    ------
    BadValue
        A time span that is not positive, or shorter than h; a record beyond memory.
    """
    if not t_end > 0:
        raise BadValue(f"t_end = {t_end:g} s must be greater than zero.")
    if h > t_end:
        raise BadValue(
            f"The step h = {h:g} s is longer than the time span t_end = {t_end:g} s; "
            f"try h = {t_end / 1000:.1g} s."
        )
    count = int(np.ceil(t_end / h - 1e-9))
    if 8 * count * row > MOST_BYTES:
        raise BadValue(
            f"h = {h:g} s over {t_end:g} s makes {count:.3g} steps, which need "
            f"{8 * count * row / MOST_BYTES:.3g} GB and about {count * 1e-6 * n:.3g} s; "
            f"{MOST_BYTES / 2**30:g} GB are allowed. {_fewer(count, coordinates)}Use h = "
            f"{roomy(8 * t_end * row / MOST_BYTES):g} s or larger, or a shorter t_end."
        )
    return count


def _fewer(count: int, coordinates: int) -> str:
    """Return the advice to keep fewer rows, if so many `coordinates` of each are to be kept."""
    left = MOST_BYTES / (8 * count) - PER_STEP
    if not coordinates or left <= 0:
        return ""
    every = int(np.ceil(1.1 * coordinates / left))
    scale = 10 ** max(len(str(every)) - 1, 0)
    every = next(k * scale for k in (1, 2, 5, 10) if k * scale >= every)
    return (
        f"record=Recorder(every={max(every, 2)}) keeps every {max(every, 2)}th row and fits; "
        "Recorder(q=[...], v=(), a=()) keeps chosen coordinates. "
    )
