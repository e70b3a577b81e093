"""Lanes over time: bars over the intervals in which a state holds."""

from __future__ import annotations

import numpy as np

from explorer.views.drawing.picture import OFF

__all__ = ["MOST_BARS", "bars"]

MOST_BARS = 72  # of one kind


def bars(
    t: np.ndarray, signs: np.ndarray, sides: tuple[int, ...], count: int, shift: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the intervals on these sides, one lane per column; of many the longest.

    Sides of 1 and -1 are drawn a little above and below the others.
    """
    lanes = []
    for k in range(count):
        sign = signs[:, k]
        first = np.flatnonzero(np.diff(sign, prepend=-9))
        last = np.append(first[1:], len(sign) - 1)  # up to the switch itself
        here = np.isin(sign[first], sides)
        level = count - 1 - k + 0.27 * np.where(np.abs(sign[first]) == 1, sign[first], 0) + shift
        lanes.append(np.column_stack([t[first], t[last], level])[here])
    all_bars = np.concatenate(lanes) if lanes else np.empty((0, 3))
    if not len(all_bars):
        return OFF
    if len(all_bars) > MOST_BARS:
        all_bars = all_bars[np.sort(np.argsort(all_bars[:, 0] - all_bars[:, 1])[:MOST_BARS])]
    begin, end, level = all_bars.T
    gap = np.full(len(begin), np.nan)
    x = np.column_stack([begin, end, gap]).ravel()
    y = np.column_stack([level, level, gap]).ravel()
    return x.astype(np.float32), y.astype(np.float32)
