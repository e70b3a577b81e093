"""Contacts that steps cannot tell from misses: touched, or missed, by less than impacts have erred.

A step captures an impact anywhere in it, so that positions behind it are wrong by up to h times the
jump of the velocity. An impact whose gap would have turned back within the sum of these errors may
be none in truth, and a gap that turns back within them may have been closed. Where that is so, a
run with finer steps tells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from explorer.certificate import Check
from explorer.quantities import quantity
from explorer.results.solution import Solution

__all__ = ["touches"]

_APART = 2.0  # times the error: a gap that opens so far before and behind is no bounce that dies


class _Turn(NamedTuple):
    contact: int
    row: int
    depth: float  # m, between contact and where the gap turns back
    error: float  # m, of the impacts before
    hit: bool
    since: float  # s, half way back to the touch before
    until: float  # s, half way to the next one


def touches(solution: Solution, finer: Callable[[], Solution | None]) -> list[Check]:
    """Return the check that contacts are touched, or missed, by more than the error of impacts.

    Its value is that error beside the depth of the turn, where finer steps decide otherwise: at
    most 1 is sure.

    Parameters
    ----------
    solution : of a scheme that captures impacts by steps
    finer : callable
        Returns the run with finer steps, None if there is none. It is asked where there is doubt.
    """
    nc = solution.gap.shape[1]
    if not nc or solution.has("discs") or len(solution.t) < 5:
        return []
    found = [turn for c in range(nc) for turn in _turns(solution, c)]
    if found and (other := finer()) is not None and other.status.ok:
        found = [turn for turn in found if turn.hit != _touched(other, turn)]
    if not found:
        return [Check("touches", 0.0, 1.0)]
    worst = max(found, key=lambda turn: turn.error / turn.depth)
    name, t = solution.system.contacts[worst.contact].name, solution.t[worst.row]
    turns, side = ("would turn", "beyond") if worst.hit else ("turns", "before")
    words = (
        f"Whether {name!r} is touched at t = {quantity(t, solution.system.time_unit, 4)} is not "
        f"known: its gap {turns} back {quantity(worst.depth, 'm', 2)} {side} contact, the impacts "
        f"before have moved it by up to {quantity(worst.error, 'm', 2)}, and finer steps decide "
        "otherwise. Use EventDriven or a smaller h."
    )
    return [Check("touches", worst.error / worst.depth, 1.0, "", words)]


def _touched(other: Solution, turn: _Turn) -> bool:
    on = other.p[:, turn.contact] > 0
    return bool(on[(other.t > turn.since) & (other.t <= turn.until)].any())


def _turns(solution: Solution, c: int) -> list[_Turn]:
    """Return where contact `c` turns back within the error of the impacts before."""
    if solution.system.contacts[c].compliance != 0:
        return []
    t, gap, speed = solution.t, solution.gap[:, c], solution.gap_dot[:, c]
    on: np.ndarray = solution.p[:, c] > 0
    free: np.ndarray = ~np.any(solution.p > 0, axis=1)
    jumps = np.append(0.0, np.abs(np.diff(speed)) * np.diff(t)) * ~free
    error = np.append(0.0, np.cumsum(jumps)[:-1])  # of the impacts before a row
    rows = np.arange(3, len(t) - 1)
    back, start = rows - 1, rows - 3
    quiet = free[back] & free[rows - 2] & free[start]
    with np.errstate(all="ignore"):
        bend = (speed[back] - speed[start]) / (t[back] - t[start])
        depth = np.where(bend > 0, 0.5 * speed[back] ** 2 / bend, np.inf)
    hits = on[rows] & quiet & (speed[back] < 0) & (depth < error[rows]) & (depth > 0)
    misses = quiet & free[rows] & free[rows + 1] & (gap[rows] > 0) & (gap[rows] < error[rows])
    misses &= (gap[rows] <= gap[back]) & (gap[rows] <= gap[rows + 1])
    found, touched, last = [], np.flatnonzero(on), len(t) - 1
    for k in np.flatnonzero(hits | misses).tolist():
        row = int(rows[k])
        before = max(touched[touched < row].tolist(), default=0)
        after = min(touched[touched > row].tolist(), default=last)
        if min(gap[before:row].max(), gap[row : after + 1].max()) > _APART * error[row]:
            off, far = float(error[row]), float(depth[k] if hits[k] else gap[row])
            ends = (0.5 * float(t[i] + t[row]) for i in (before, after))
            found.append(_Turn(c, row, far, off, bool(hits[k]), *ends))
    return found
