"""Fewer points, the same picture: rows to draw, with both sides of every jump.

Rows are added where the straight line between two drawn ones misses a curve the most, until none
is seen to be missed or the points are spent: arcs come before their details, and none is left out.
What jumps has its left and right limit at the same time with a gap between them, so no line runs
through. Of more jumps than can be drawn the largest stay open; the curve runs through the others,
as through every point that is not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.solution import Solution
from explorer.switched import SwitchedTrajectory
from explorer.trajectory import Trajectory

__all__ = ["MOST_CURVES", "Rows", "drawn", "fine", "rows"]

MOST_CURVES = 6  # as many as there are colours that all eyes tell apart
_FINE = 400
_LOOKED = 1500  # rows among which those to add are sought
_ROUNDS = 16
_SEEN = 0.003  # of the height of a plot: a line off by less is not seen to be
_APART = 120  # jumps side by side
_LEAST = 0.1  # of its axis: a curve that is less high is followed as if it were so high


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
    q, v : n arrays (k,) float32 of what is drawn, NaN where it is interrupted; every plot takes
        these very arrays, so each travels to the browser once. Of a hybrid system: x and x'
    """

    t: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    broken: np.ndarray
    torn: np.ndarray
    side: np.ndarray
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
    return int(np.clip(3100 / (2 * min(n, MOST_CURVES) + 5) - 25, 60, 400))


def drawn(names: Sequence[str], most: int = MOST_CURVES) -> np.ndarray:
    """Return which coordinates are drawn: all, or `most` spread evenly over many.

    Of bodies with the same coordinates each some bodies are drawn with all of theirs. Fewer than
    `MOST_CURVES` are some of those.

    >>> drawn(["x1", "y1", "phi1", "x2", "y2", "phi2", "x3", "y3", "phi3"])
    array([0, 1, 2, 6, 7, 8])
    """
    n, heads = len(names), [name.rstrip("0123456789") for name in names]
    each = next((k for k in range(1, MOST_CURVES + 1) if heads == (heads[:k] * n)[:n]), 1)
    each = each if n % each == 0 else 1
    bodies = _spread(n // each, MOST_CURVES // each)
    shown = (each * bodies[:, None] + np.arange(each)).ravel()
    return shown[_spread(len(shown), most)]


def _spread(count: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def rows(solution: Solution, budget: int | None = None, also: np.ndarray | None = None) -> Rows:
    """Choose about `budget` points (by default `usual`); `also`: (rows, m) more curves on t."""
    n = solution.q.shape[1]
    rate, resets = solution.v, not solution.v.shape[1]
    budget = budget or usual(n, resets)
    if resets:
        rate = solution.rates  # type: ignore[attr-defined]
    wild = rate if n == 1 or not resets else solution.q  # the rate of one state is drawn over it
    jumps = _jumps(solution, wild)
    shown = _apart(solution.t, wild, jumps, budget // 6)
    groups = _curves(solution, wild)
    groups += [] if also is None else [_parts(also, _LEAST)]
    kept = _chosen(solution, groups, jumps, shown, budget)

    # each drawn jump row becomes three points: left limit, gap, right limit
    is_jump = np.isin(kept, shown)
    copies = 1 + 2 * is_jump
    at = (np.cumsum(copies) - copies)[is_jump]
    position = np.repeat(kept, copies)
    velocity = position.copy()
    velocity[at] -= 1
    velocity[at + 1] -= 1
    side = np.zeros(len(position), np.int8)
    side[at] = side[at + 1] = -1
    side[at + 2] = 1

    def gaps(values: np.ndarray) -> np.ndarray:
        found = np.zeros((len(position), n), bool)
        found[at + 1] = values[shown] != values[shown - 1]
        return found

    broken = gaps(rate)
    torn = gaps(solution.q) if resets else np.zeros_like(broken)
    q = solution.q[velocity if resets else position].astype(np.float32)
    v = rate[velocity].astype(np.float32)
    q[torn] = v[broken] = np.nan
    t = solution.t[position].astype(np.float32)
    columns = [[np.ascontiguousarray(c) for c in a.T] for a in (q, v)]
    return Rows(t, position, velocity, broken, torn, side, *columns)


def _jumps(solution: Solution, wild: np.ndarray) -> np.ndarray:
    """Return the rows behind a jump of what is drawn."""
    if isinstance(solution, Trajectory) and not solution.v.shape[1]:
        found = [i for i, *_ in solution.event_rows if (wild[i] != wild[i - 1]).any()]
        return np.unique(found).astype(int)
    return solution.jump_rows


def _apart(t: np.ndarray, wild: np.ndarray, jumps: np.ndarray, most: int) -> np.ndarray:
    """Return the jumps to draw: of very many the largest that an eye tells apart.

    Where each row is a jump nothing would be left of a curve that is open at all of them.
    """
    if len(jumps) <= most:
        return jumps
    size = np.abs(wild[jumps] - wild[jumps - 1]).max(axis=1)
    largest = np.argsort(-size)
    place = np.floor(_APART * t[jumps] / t[-1])
    alone = largest[np.unique(place[largest], return_index=True)[1]]
    return np.sort(jumps[alone[np.argsort(-size[alone])[:most]]])


def _chosen(
    solution: Solution, groups: list[np.ndarray], jumps: np.ndarray, shown: np.ndarray, budget: int
) -> np.ndarray:
    """Return the rows to draw; of a jump the one behind it, as that is given both limits."""
    t, last = solution.t, len(solution.t) - 1
    if last < budget:
        return np.arange(last + 1)
    curves = np.column_stack(groups)
    kinks = np.empty(0, int)
    if isinstance(solution, Trajectory):
        rare = sorted(solution.event_rows, key=lambda e: e[1] in ("impact", "event"))
        kinks = np.array([i for i, *_ in rare], int)[: budget // 8]
    kept = np.unique(np.concatenate([
        [0, last], np.searchsorted(t, np.linspace(0, t[-1], budget // 12)), shown, shown - 1,
        kinks, curves.argmin(axis=0), curves.argmax(axis=0),
    ]))  # fmt: skip
    # both sides of an event have their place
    along = t + 1e-9 * (t[-1] or 1.0) * np.arange(last + 1)
    most = max(budget - len(kept) - len(shown), budget // 2)
    before = len(kept)
    if len(shown) < len(jumps):  # or what jumps without end would leave nothing for the arcs
        kept = _refined(groups[0], along, kept, most // 2, jumps)
    kept = _refined(curves, along, kept, most + before - len(kept), jumps)
    return np.setdiff1d(kept, np.setdiff1d(shown - 1, [0, *shown]))


def _curves(solution: Solution, wild: np.ndarray) -> list[np.ndarray]:
    """Return what is drawn over time, each in parts of the height of its plot; positions first."""
    if not solution.v.shape[1]:  # states have axes of their own
        own = [solution.q] if wild is solution.q else [solution.q, wild]
        return [_parts(values, 0.0) for values in own]
    which = drawn(solution.system.coordinates)
    groups = [solution.q[:, which], wild[:, which]]
    if solution.observe is not None:
        potential = [] if solution.potential is None else [solution.potential]
        groups.append(np.column_stack([solution.kinetic, *potential]))
    return [_parts(group, _LEAST) for group in groups]


def _refined(
    curves: np.ndarray, along: np.ndarray, kept: np.ndarray, most: int, jumps: np.ndarray
) -> np.ndarray:
    """Add rows where the straight line between two kept ones would be seen to miss a curve."""
    last = len(along) - 1
    looked = np.arange(0, last, max(last // _LOOKED, 1))
    near = jumps[:, None] + np.arange(-2, 3)  # a jump may take a scheme some steps
    looked = np.union1d(looked, near.clip(0, last))
    for _ in range(_ROUNDS):
        looked = looked[~np.isin(looked, kept, assume_unique=True)]
        if most <= 0 or not looked.size or not curves.size:
            break
        interval = np.searchsorted(kept, looked)
        left, right = kept[interval - 1], kept[interval]
        part = (along[looked] - along[left]) / (along[right] - along[left])
        line = curves[left] + part[:, None] * (curves[right] - curves[left])
        error = np.abs(line - curves[looked]).max(axis=1)
        first = np.flatnonzero(np.diff(interval, prepend=0))
        largest = np.maximum.reduceat(error, first)
        of_interval = np.repeat(np.arange(len(first)), np.diff(first, append=len(looked)))
        worst = np.flatnonzero(error == largest[of_interval])
        worst = worst[np.diff(of_interval[worst], prepend=-1) > 0]  # one of each interval
        count = min(int((largest > _SEEN).sum()), -(-most // 3))  # what is left may be worse
        worst = worst[np.argsort(-largest)[:count]]
        most -= len(worst)
        kept = np.union1d(kept, looked[worst])
        looked = looked[largest[of_interval] > _SEEN]
    return kept


def _parts(values: np.ndarray, least: float) -> np.ndarray:
    """Return curves that share an axis in parts of its height; a low one as if it had `least`."""
    own = np.ptp(values, axis=0)
    high = np.maximum(own, least * np.ptp(values))
    return values[:, own > 0] / high[own > 0]
