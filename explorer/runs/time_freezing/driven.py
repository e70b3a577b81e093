"""Inputs of a run in pseudo-time: legs that end where the clock meets a break, and the whole.

The clock is a state, so a break is a pseudo-time that the run itself finds. Each leg has the inputs
of one interval as constants. The record of the whole has them along its pseudo-time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from explorer.compiled import Switched
from explorer.runs.fesd.elements import Elements
from explorer.systems.drive import Drive, Layout
from explorer.systems.driving import copied

__all__ = ["along_pseudo_time", "cut"]

_TURNS = 4  # attempts at a leg that ends on a break
_EXACT = 1e-14  # of the span: how near the clock comes to it


def cut(leg: Elements, stop: float, again: Callable[[float], Elements]) -> Elements | None:
    """Return a leg that ends where its clock is `stop`, made `again` of that length.

    None: its clock stands still there, or no such leg is found.
    """
    clock, ends = leg.states[:, -1], np.append(leg.times[:, 0], leg._end)
    e = int(np.clip(np.searchsorted(clock, stop, side="right") - 1, 0, len(leg.times) - 1))
    low, high = clock[e], clock[e + 1]
    length = float(ends[e] + leg.times[e, 1] * (stop - low) / max(high - low, 1e-300))
    best: Elements | None = None
    off = np.inf
    for _ in range(_TURNS):
        made = again(length)
        if not len(made.times) or made._end < length * (1 - 1e-9):
            break
        left = stop - float(made.states[-1, -1])
        if abs(left) < off:
            best, off = made, abs(left)
        pace = float(made.slopes[-1, -1, -1])
        if abs(left) <= _EXACT * stop or not pace > 0:
            break
        length += left / pace
    return best if off <= 1e-9 * stop else None


def along_pseudo_time(compiled: Switched, drive: Drive, ends: np.ndarray) -> Switched:
    """Return the functions behind inputs whose intervals end at pseudo-times `ends` (k,)."""
    layout = Layout(
        np.concatenate([[0.0], ends]),
        drive.names,
        drive.values[: len(ends)],
        slice(0),
        np.zeros((len(ends), 0), np.int64),
        drive.which,
        {},
        {},
        {},
    )
    values = drive.values[: len(ends)]
    driven = Drive(drive.inputs, layout, values)
    system = copied(compiled.system, made={}, drive=driven, base=compiled.system)
    return compiled.behind_inputs(system)
