"""Fewer points, the same picture: rows to draw, with both sides of every jump.

Segment-wise minimum and maximum keep what the eye would see; event rows are always kept. What jumps
has its left and right limit at the same time with a gap between them, so no line runs through.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.solution import Solution
from explorer.switched import SwitchedTrajectory
from explorer.trajectory import Trajectory

__all__ = ["MOST_CURVES", "Rows", "fine", "rows"]

MOST_CURVES = 12
_FINE = 400


@dataclass(frozen=True)
class Rows:
    """Points to draw.

    Attributes
    ----------
    t : (k,) times, float32
    position : (k,) rows for what is continuous
    velocity : (k,) rows for what jumps
    broken : (k, n) bool, where the curve of a velocity is interrupted
    torn : (k, n) bool, where the curve of a state is: at the resets of a hybrid system
    side : (k,) int8: -1 a left limit, 1 a right limit, 0 neither
    hidden : bool
        Whether there are more jumps than can be drawn one by one: points between them then stand
        alone and want markers
    q, v : n arrays (k,) float32 of what is drawn, NaN where it is interrupted; every plot takes
        these very arrays, so each travels to the browser once. Of a hybrid system: x and x'
    """

    t: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    broken: np.ndarray
    torn: np.ndarray
    side: np.ndarray
    hidden: bool
    q: list[np.ndarray]
    v: list[np.ndarray]


def fine(solution: Solution) -> Solution:
    """Return what is drawn: of a run that knows its events, one with even rows and many."""
    if not isinstance(solution, Trajectory):
        return solution
    kept: Trajectory | None = solution.__dict__.get("_fine")
    if kept is None:  # from the steps at once: the rows of `solution` itself need not be made
        points = _FINE if solution.system.contacts else 3 * _FINE // 2
        if isinstance(solution, SwitchedTrajectory):  # its phase plane shows every loop
            points = 4 * _FINE
        kept = solution.march.rows(solution, points)
        kept.observe = solution.observe
        solution.__dict__["_fine"] = kept.__dict__["_fine"] = kept
    return kept


def usual(n: int, hybrid: bool = False) -> int:
    """Return the number of points that keeps a picture of n coordinates (states) near 30 kB."""
    if hybrid:  # neither velocities nor energies
        return int(np.clip(3000 / (min(n, MOST_CURVES) + 3), 120, 600))
    return int(np.clip(2100 / (2 * min(n, MOST_CURVES) + 5), 60, 400))


def rows(solution: Solution, budget: int | None = None) -> Rows:
    """Choose about `budget` points (by default `usual`)."""
    n = solution.q.shape[1]
    rate, resets = solution.v, not solution.v.shape[1]
    budget = budget or usual(n, resets)
    last = len(solution.t) - 1
    if resets:
        rate = solution.rates  # type: ignore[attr-defined]
    wild = rate if n == 1 or not resets else solution.q  # the rate of one state is drawn over it
    jumps = solution.jump_rows
    if isinstance(solution, Trajectory) and resets:
        jumps = np.array(
            [i for i, *_ in solution.event_rows if (wild[i] != wild[i - 1]).any()], int
        )
    shown = jumps
    if len(jumps) > budget // 8:
        size = np.abs(wild[jumps] - wild[jumps - 1]).max(axis=1)
        shown = np.sort(jumps[np.argsort(-size)[: budget // 8]])
    if isinstance(solution, Trajectory):
        kept = _located_rows(solution, wild, jumps, shown, budget)
    else:
        kept = np.append(_curve_rows(solution.q, wild, budget - 3 * len(shown)), [0, last])
        kept = np.unique(np.concatenate([kept, shown, np.maximum(shown - 1, 0)]))
        most = budget // 4
        if len(shown) < len(jumps):  # a jump that is not drawn costs a point too
            most = min(most, budget + budget // 10 - len(kept))
        kept = _refined(solution.q[:, :6], kept, most)

    # each drawn jump row becomes three points: left limit, gap, right limit; where a jump that is
    # not drawn lies between two kept rows, one gap stands before the second of them
    is_jump = np.isin(kept, shown)
    hidden = np.setdiff1d(jumps, shown)
    skipped = np.zeros(len(kept), bool)
    if len(hidden):
        skipped[np.clip(np.searchsorted(kept, hidden), 0, len(kept) - 1)] = True
    copies = 1 + 2 * is_jump + (skipped & ~is_jump)
    place = np.cumsum(copies) - copies
    position = np.repeat(kept, copies)
    velocity = position.copy()
    at = place[is_jump]
    velocity[at] -= 1
    velocity[at + 1] -= 1
    side = np.zeros(len(position), np.int8)
    side[at] = side[at + 1] = -1
    side[at + 2] = 1

    def gaps(values: np.ndarray) -> np.ndarray:
        found = np.zeros((len(position), n), bool)
        found[at + 1] = values[shown] != values[shown - 1]
        if len(hidden):
            next_kept = np.clip(np.searchsorted(kept, hidden), 0, len(kept) - 1)
            lost = np.zeros((len(kept), n), bool)
            np.logical_or.at(lost, next_kept, values[hidden] != values[hidden - 1])
            found[place[skipped & ~is_jump]] = lost[skipped & ~is_jump]
        return found

    broken = gaps(rate)
    torn = gaps(solution.q) if resets else np.zeros_like(broken)
    q = solution.q[velocity if resets else position].astype(np.float32)
    v = rate[velocity].astype(np.float32)
    q[torn] = v[broken] = np.nan
    t = solution.t[position].astype(np.float32)
    columns = [[np.ascontiguousarray(c) for c in a.T] for a in (q, v)]
    return Rows(t, position, velocity, broken, torn, side, bool(len(hidden)), *columns)


def _located_rows(
    solution: Trajectory, wild: np.ndarray, jumps: np.ndarray, shown: np.ndarray, budget: int
) -> np.ndarray:
    """Choose rows, evenly in time at first and then where a curve bends; kinks are events."""
    q, t, last = solution.q, solution.t, len(solution.t) - 1
    rare = sorted(solution.event_rows, key=lambda e: e[1] in ("impact", "event"))
    kinks = np.array([i for i, *_ in rare], int)[: budget // 8]
    kept = np.concatenate([
        np.searchsorted(t, np.linspace(0, t[-1], budget // 4)), shown, shown - 1, kinks, [0, last],
        *(f(axis=0) for x in (q[:, :3], wild[:, :3]) for f in (x.argmin, x.argmax)),
    ])  # fmt: skip
    kept = np.unique(kept)
    most = max(budget - len(kept) - len(shown), budget // 2)
    along = t + 1e-9 * t[-1] * np.arange(last + 1)  # both sides of an event have their place
    hidden = np.setdiff1d(jumps, shown)
    smooth = q[:, :6] if len(hidden) else np.column_stack([q[:, :6], wild[:, :6]])
    kept = _refined(smooth, kept, most, along, 0.002)
    # a drawn jump brings its left limit itself; but the gap of one that is not drawn needs a place
    kept = np.setdiff1d(kept, shown - 1)
    behind = kept[np.searchsorted(kept, hidden)]
    return np.union1d(kept, behind[np.isin(behind, shown) & (behind > hidden)] - 1)


def _curve_rows(q: np.ndarray, wild: np.ndarray, budget: int) -> np.ndarray:
    last = len(q) - 1
    if last < budget:
        return np.arange(last + 1)
    curves = min(wild.shape[1], 3)
    buckets = max(budget // (4 * curves), 4)
    width = last // buckets
    used = buckets * width
    start = np.arange(buckets) * width
    found = [np.linspace(0, last, budget // 2).astype(int)]
    for values in (q, wild):
        found += [values.argmin(axis=0), values.argmax(axis=0)]
    for j in range(curves):
        block = wild[:used, j].reshape(buckets, width)
        found += [start + block.argmin(axis=1), start + block.argmax(axis=1)]
    return np.concatenate(found)


def _refined(
    q: np.ndarray, kept: np.ndarray, most: int, along: np.ndarray | None = None, seen: float = 0.01
) -> np.ndarray:
    """Add rows where the straight line between two kept ones would be seen to miss the curve."""
    last = len(q) - 1
    along = np.arange(last + 1.0) if along is None else along
    looked = np.unique(np.append(np.arange(0, last, max(last // 1500, 1)), last))
    wide = np.ptp(q, axis=0)
    q = q[:, wide > 0] / wide[wide > 0]
    for _ in range(3):
        if not q.shape[1] or most <= 0 or len(kept) < 2:
            break
        interval = np.searchsorted(kept, looked, side="right").clip(1, len(kept) - 1)
        left, right = kept[interval - 1], kept[interval]
        part = (along[looked] - along[left]) / (along[right] - along[left])
        line = q[left] + part[:, None] * (q[right] - q[left])
        error = np.abs(line - q[looked]).max(axis=1)
        first = np.flatnonzero(np.diff(interval, prepend=0))
        largest = np.maximum.reduceat(error, first)
        counts = np.diff(first, append=len(looked))
        worst = np.flatnonzero((error == np.repeat(largest, counts)) & (error > seen))
        worst = worst[np.diff(interval[worst], prepend=0) > 0]  # one of each interval
        worst = worst[np.argsort(-error[worst])[:most]]
        most -= len(worst)
        kept = np.union1d(kept, looked[worst])
    return kept
