"""When the points of a run on a section recur: a period, or a set that is visited again and again.

Nothing here runs a system. Distances are in parts of a scale of each state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from explorer.arguments import Checked
from explorer.parameters import number
from explorer.study.box import Box

__all__ = ["Found", "Recurrence", "apart", "cloud", "nearest", "period"]

_LONGEST = 64  # periods that are looked for
_TIMES = 3  # a period must be seen so often
_SPREAD = (0.8, 1.25)  # what the second half of a set may have of the spread of the first one
_COVERED = 0.95  # part of the points that lie next to others
_AWAY = 0.1  # how far, in parts of the scale


@dataclass(frozen=True)
class Recurrence(metaclass=Checked):
    """When points of a run count as recurring, and when a run has escaped.

    Parameters
    ----------
    near : float, optional
        Radius in which a neighbour of an attractor belongs to it, in parts of the scale of each
        state: how far starts and points spread. It is tried with neighbours, and smaller where
        attractors lie close. By default 0.01, or 25 `tol` if that is more.
    tol : float, optional
        How exactly a period recurs, in the same parts. 1e-5 where the scheme locates events, else
        2e-3: steps that do not end at impacts make of one cycle several, which lie close.
    box : dict, optional
        Least and largest value of states by name: a run with ten points in a row outside has
        escaped. By default ten times the span of the starts beyond them, and unbounded in states
        that do not vary.
    seed : int
        Of all that is random.
    """

    near: float | None = None
    tol: float | None = None
    box: Box | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no number.

        Raises
        ------
        BadValue
        """
        for name in ("near", "tol"):
            value = getattr(self, name)
            if value is not None:
                value = number(value, f"{name} of a Recurrence")
                object.__setattr__(self, name, value)


class Found(NamedTuple):
    """Points that recur.

    Attributes
    ----------
    period : int
        How many points, 0: no period.
    points : (m, n_x)
    drift : (n_x,)
        How far they are from where they were one period before; without a period, how far 95 % of
        them at most are from an earlier one.
    residual : float
        The largest of these, in parts of the scale.
    """

    period: int
    points: np.ndarray
    drift: np.ndarray
    residual: float


def period(points: np.ndarray, scale: np.ndarray, tol: float, sure: float) -> Found | None:
    """Return the shortest period of the last points (k, n_x), or None.

    A run that still creeps has none: what is left of its way, the sum of a geometric series of its
    returns, must be within ten times `tol`, unless the returns are below `sure`. Nor has one whose
    points differ by no more than that from those of a shorter period.
    """
    k = len(points)
    for p in range(1, min(_LONGEST, k // _TIMES) + 1):
        gaps = np.abs(points[p:] - points[:-p]) / scale
        ends = gaps[-p:].max()
        if not ends <= tol:
            continue
        back = (k - p) // 2 // p  # returns ago
        before = gaps[len(gaps) - p - back * p : len(gaps) - back * p].max()
        left = ends / (1 - (ends / before) ** (1 / back)) if ends < before else np.inf
        if ends > sure and left > 10 * tol:
            continue
        # returns of fixed steps, where sure = tol, do not shrink as a series
        if sure < tol and np.isfinite(left) and _within(points[-p:] / scale, left):
            continue
        drift = np.abs(points[-p:] - points[-2 * p : -p]).max(axis=0)
        return Found(p, points[-p:].copy(), drift, float(ends))
    return None


def _within(points: np.ndarray, left: float) -> bool:
    """Whether points (p, n_x) that come to a cycle of fewer, as by turns, are what is seen.

    Each has the way `left` to go: what is farther apart than two such ways stays apart.
    """
    p = len(points)
    fewer = (q for q in range(1, p) if p % q == 0)
    return any(float(np.abs(points[q:] - points[:-q]).max()) <= 4 * left for q in fewer)


def cloud(points: np.ndarray, scale: np.ndarray) -> Found | None:
    """Return all points (k, n_x) if both halves lie next to each other, as wide; or None."""
    k = len(points) // 2
    if k < 20:
        return None
    one, two = points[-2 * k : -k] / scale, points[-k:] / scale
    wide = [part.std(axis=0).max() for part in (one, two)]
    if not _SPREAD[0] * wide[0] <= wide[1] <= _SPREAD[1] * wide[0]:
        return None
    forth, back = nearest(two, one), nearest(one, two)
    away = max(float(np.quantile(d, _COVERED)) for d in (forth, back))
    if not away <= _AWAY:
        return None
    return Found(0, points[-2 * k :].copy(), away * scale, away)


def nearest(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the distance of each point (k, n) from the nearest of others (m, n), (k,)."""
    gaps = points[:, None, :] - others[None, :, :]
    return np.asarray(np.sqrt((gaps**2).sum(axis=2)).min(axis=1))


def apart(one: np.ndarray, other: np.ndarray, scale: np.ndarray) -> float:
    """Return the least distance of two sets of points, in parts of the scale."""
    return float(nearest(one / scale, other / scale).min())
