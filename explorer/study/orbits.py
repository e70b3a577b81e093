"""An orbit diagram as far as it is computed: points of a section, a column for each value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from explorer.errors import BadValue, suggest
from explorer.study import study

__all__ = ["LONGEST", "REPEATS", "UNKNOWN", "Begin", "Orbits", "repeats"]

Begin: TypeAlias = tuple[np.ndarray, int]  # a state (n_x,), and a mode; -1: that of the model
UNKNOWN = -100  # beside a code: not computed yet
LONGEST = 12  # points of an orbit that is called periodic
_SAME, _CLOUD = 1e-3, 0.02  # of the size of the diagram: within which attractors are one
REPEATS = 1e-4  # of the size of the diagram: how near an orbit comes back


@study
@dataclass(frozen=True, repr=False)
class Orbits:
    """An orbit diagram, as far as it is computed.

    Attributes
    ----------
    by, unit : str
        The parameter.
    values : (k,) float
        Its values, a column each.
    states, units : tuple of str
    points : (k, most, n_x)
        States on the section behind the transient; NaN behind the last one.
    found : (k,) int
        How many there are.
    code : (k,) int
        How the run of a column has ended, see `explorer.codes`; below zero: it is refused, or not
        computed yet.
    period : (k,) int
        After how many points the orbit repeats, up to 12, within 1e-4 of the size of the diagram;
        0: it does not.
    ends : list of (state (n_x,), mode), or None
        Where each column has ended.
    done : float
        Part of the work that is done, from 0 to 1.
    others : tuple of Orbits
        The same columns from further starts.
    """

    by: str
    unit: str
    values: np.ndarray
    states: tuple[str, ...]
    units: tuple[str, ...]
    points: np.ndarray
    found: np.ndarray
    code: np.ndarray
    period: np.ndarray
    ends: list[Begin | None] = field(repr=False)
    done: float = 0.0
    others: tuple[Orbits, ...] = field(default=(), repr=False)

    @property
    def known(self) -> np.ndarray:
        """Whether a column has been computed, (k,) bool."""
        return np.asarray(self.code != UNKNOWN)

    @property
    def failed(self) -> np.ndarray:
        """Whether the run of a column has failed, or ended without a point, (k,) bool."""
        return np.asarray(self.known & ((self.code != 0) | (self.found == 0)))

    def place(self, state: str) -> int:
        """Return the place of a state.

        Raises
        ------
        BadValue
            There is none of this name.
        """
        if state not in self.states:
            raise BadValue(f"There is no state {state!r}.{suggest(state, self.states)}")
        return self.states.index(state)

    def dots(self, state: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameter and a state of all points, (k,) both."""
        x = self.points[..., self.place(state)]
        there = ~np.isnan(x)
        return np.broadcast_to(self.values[:, None], x.shape)[there], x[there]

    def attractors(self) -> np.ndarray:
        """Return which attractor each start comes to in each column, (1 + others, k) int.

        Of those of one column, 0 is that of the first start, and others are numbered in the order
        of the starts; -1: the start has no result there. Two starts have come to one attractor if
        half of their points lie near the other's, within 0.02 of the size of the diagram; if both
        repeat, after as many points, all of them within 0.001.
        """
        each = (self, *self.others)
        shown = np.concatenate([one.points.reshape(-1, len(self.states)) for one in each])
        shown = shown[np.isfinite(shown).all(axis=1)]
        size = np.ptp(shown, axis=0) if len(shown) else np.ones(len(self.states))
        size = np.where(size > 1e-12, size, 1.0)
        number = np.full((len(each), len(self.values)), -1, np.int64)
        for k in range(len(self.values)):
            met: list[tuple[int, np.ndarray]] = []
            for i, one in enumerate(each):
                if one.code[k] != 0 or not one.found[k]:
                    continue
                cycle = int(one.period[k])
                x = one.points[k, : one.found[k]] / size
                x = x[-cycle:] if cycle else x
                own = next((j for j, other in enumerate(met) if _alike((cycle, x), other)), None)
                if own is None:
                    own = len(met)
                    met.append((cycle, x))
                number[i, k] = own
        return number

    def nearest(self, value: float) -> int | None:
        """Return the column that is nearest to a value of those that have not failed."""
        good = np.flatnonzero(self.code == 0)
        return int(good[np.abs(self.values[good] - value).argmin()]) if good.size else None

    def __repr__(self) -> str:
        many, bad = int(self.known.sum()), int(self.failed.sum())
        said = f", {bad} of them without a result" if bad else ""
        return (
            f"Orbits over {self.by}: {int(np.sum(self.found))} points in {many} of "
            f"{len(self.values)} columns{said}"
        )


def _alike(one: tuple[int, np.ndarray], other: tuple[int, np.ndarray]) -> bool:
    """Whether two sets of points, each with its period, belong to one attractor."""
    (p, x), (q, y) = one, other
    if p != q:
        return False
    far = np.abs(x[:, None] - y[None]).max(axis=2)
    if p:
        return bool(max(far.min(axis=0).max(), far.min(axis=1).max()) < _SAME)
    return bool(max(np.median(far.min(axis=0)), np.median(far.min(axis=1))) < _CLOUD)


def repeats(x: np.ndarray) -> tuple[int, float]:
    """Return after how many points (k, n_x) repeat, or 0, and how near they come back."""
    for p in range(1, min(LONGEST, len(x) // 2) + 1):
        off = float(np.abs(x[p:] - x[:-p]).max())
        if off <= REPEATS:
            return p, off
    return 0, np.inf
