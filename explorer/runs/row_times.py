"""The times of the rows of a run that is evaluated anywhere."""

from __future__ import annotations

import numpy as np

from explorer.errors import BadValue
from explorer.types import Reals

__all__ = ["row_times"]


def row_times(t_eval: Reals, t_end: float, last: float, unit: str = "s") -> np.ndarray:
    """Return which of the times that were asked for a run has reached, (k,).

    A run that ended before all of them, at `last`, has its end as its only row: every run has one.

    Raises
    ------
    BadValue
        There are no times, they decrease, are no numbers, or lie outside [0, t_end].
    """
    times = np.array(t_eval, float)
    if times.ndim != 1 or (np.diff(times) < 0).any() or not np.isfinite(times).all():
        raise BadValue("t_eval needs increasing times.")
    if not len(times):
        raise BadValue(
            "t_eval is empty, and a run without rows tells nothing. Give times, such as "
            f"t_eval=[0, {t_end:g}], or leave t_eval out."
        )
    if not (times[0] >= 0 and times[-1] <= t_end):
        raise BadValue(f"t_eval lies outside [0, {t_end:g}] {unit}.")
    reached = times[times <= last]
    return reached if len(reached) else np.array([last])
