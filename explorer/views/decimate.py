"""Fewer points, the same picture: rows to draw, with both sides of every jump.

Segment-wise minimum and maximum keep what the eye would see; event rows are always kept. A velocity
has its left and right limit at the same time with a gap between them, so no line runs through.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.solution import Solution

__all__ = ["MOST_CURVES", "Rows", "rows"]

MOST_CURVES = 12


@dataclass(frozen=True)
class Rows:
    """Points to draw.

    Attributes
    ----------
    t : (k,) times, float32
    position : (k,) rows for what is continuous
    velocity : (k,) rows for what jumps
    broken : (k, n) bool, where the curve of a velocity is interrupted
    hidden : bool
        Whether there are more jumps than can be drawn one by one: points between them then stand
        alone and want markers
    q, v : n arrays (k,) float32 of what is drawn, v NaN where it is interrupted; every plot takes
        these very arrays, so each travels to the browser once
    """

    t: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    broken: np.ndarray
    hidden: bool
    q: list[np.ndarray]
    v: list[np.ndarray]


def usual(n: int) -> int:
    """Return the number of points that keeps a picture of n coordinates near 30 kB."""
    return int(np.clip(2100 / (2 * min(n, MOST_CURVES) + 5), 60, 400))


def rows(solution: Solution, budget: int | None = None) -> Rows:
    """Choose about `budget` points (by default `usual`)."""
    n = solution.q.shape[1]
    budget = budget or usual(n)
    last = len(solution.t) - 1
    jumps = solution.jump_rows
    shown = jumps
    if len(jumps) > budget // 8:
        size = np.abs(solution.v[jumps] - solution.v[jumps - 1]).max(axis=1)
        shown = np.sort(jumps[np.argsort(-size)[: budget // 8]])
    kept = _curve_rows(solution, budget - 3 * len(shown))
    kept = np.unique(np.concatenate([kept, shown, np.maximum(shown - 1, 0), [0, last]]))
    kept = _refined(solution.q, kept, budget // 4)

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
    broken = np.zeros((len(position), n), bool)
    at = place[is_jump]
    velocity[at] -= 1
    velocity[at + 1] -= 1
    jumped = solution.v[shown] != solution.v[shown - 1]
    broken[at + 1] = jumped
    if len(hidden):
        changed = solution.v[hidden] != solution.v[hidden - 1]
        next_kept = np.clip(np.searchsorted(kept, hidden), 0, len(kept) - 1)
        lost = np.zeros((len(kept), n), bool)
        np.logical_or.at(lost, next_kept, changed)
        broken[place[skipped & ~is_jump]] = lost[skipped & ~is_jump]
    q = solution.q[position].astype(np.float32)
    v = solution.v[velocity].astype(np.float32)
    v[broken] = np.nan
    t = solution.t[position].astype(np.float32)
    columns = [[np.ascontiguousarray(c) for c in a.T] for a in (q, v)]
    return Rows(t, position, velocity, broken, bool(len(hidden)), *columns)


def _curve_rows(solution: Solution, budget: int) -> np.ndarray:
    last = len(solution.t) - 1
    if last < budget:
        return np.arange(last + 1)
    curves = min(solution.v.shape[1], 3)
    buckets = max(budget // (4 * curves), 4)
    width = last // buckets
    used = buckets * width
    start = np.arange(buckets) * width
    found = [np.linspace(0, last, budget // 2).astype(int)]
    for values in (solution.q, solution.v):
        found += [values.argmin(axis=0), values.argmax(axis=0)]
    for j in range(curves):
        block = solution.v[:used, j].reshape(buckets, width)
        found += [start + block.argmin(axis=1), start + block.argmax(axis=1)]
    return np.concatenate(found)


def _refined(q: np.ndarray, kept: np.ndarray, most: int) -> np.ndarray:
    """Add rows where the straight line between two kept ones would be seen to miss the curve."""
    last = len(q) - 1
    looked = np.unique(np.append(np.arange(0, last, max(last // 1500, 1)), last))
    columns = [q[:, j] for j in range(min(q.shape[1], 6)) if np.ptp(q[:, j]) > 0]
    for _ in range(3):
        if not columns or most <= 0 or len(kept) < 2:
            break
        error = np.max(
            [np.abs(np.interp(looked, kept, c[kept]) - c[looked]) / np.ptp(c) for c in columns],
            axis=0,
        )
        interval = np.searchsorted(kept, looked)
        order = np.lexsort((error, interval))
        worst = order[np.append(np.diff(interval[order]) > 0, True)]  # of each interval
        worst = worst[error[worst] > 0.01]
        worst = worst[np.argsort(-error[worst])[:most]]
        most -= len(worst)
        kept = np.union1d(kept, looked[worst])
    return kept
