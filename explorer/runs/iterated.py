"""Many orbits of a map, several side by side, of which only what is asked for stays."""

from __future__ import annotations

import numpy as np

from explorer.compiled.map_loop import WIDTH
from explorer.compiled.maps import CompiledMap
from explorer.runs.capture import catch
from explorer.runs.members import FREE, Asked, Known, Members, Observed
from explorer.status import ESCAPED

__all__ = ["iterate_members"]

_REFUSED = -1  # a start beyond the bound
_AT_ONCE = 4096  # members, whose points are held twice
_MOST = 2**21  # numbers of a group whose points are looked at


def iterate_members(
    compiled: CompiledMap, bound: float, members: Members, asked: Asked
) -> Observed:
    """Iterate all members on this thread, without the lock of Python.

    Each is the orbit that `simulate` records, to the last bit. Points of a section are the
    iterates from `since` on. An orbit beyond `bound` has the code `explorer.status.ESCAPED`, and
    `t` says how many iterates stayed within it. Of known attractors the first that a member comes
    to is told, and the point where it does.
    """
    seen = Observed.empty(members.size, compiled.n_x, asked)
    missing = np.isnan(members.start)
    if missing.any():
        members.start[missing] = compiled.starts(members.rho)[missing]
    each = 1 if members.chained else _AT_ONCE
    if asked.known is not None:  # all points of a group are held
        each = min(each, max(int(_MOST / (members.t_end.max() + 1) / compiled.n_x), 1))
    for first in range(0, members.size, each):
        if members.chained and first > 0 and seen.code[first - 1] == 0:
            members.start[first] = seen.end[first - 1]
        _some(compiled, bound, members, asked, seen, slice(first, first + each))
    return seen.without_failed()


class _Orbits:
    """Orbits in groups: one alone, or `WIDTH` side by side.

    Attributes
    ----------
    x : (groups, n, width) float
    rho : (groups, p, width) float
    done : (groups, width) int, iterates so far
    alive : (groups, width) bool
    """

    def __init__(self, compiled: CompiledMap, bound: float, x: np.ndarray, rho: np.ndarray) -> None:
        self.loop, self.bound, self.n = compiled.loop, bound, compiled.n_x
        self.size = len(x)
        self.width = 1 if self.size == 1 else WIDTH
        self.x, self.rho = self.grouped(x), self.grouped(rho)
        self.alive = (np.abs(self.x) <= bound).all(axis=1)
        self.done = np.zeros(self.alive.shape, np.int64)

    def grouped(self, values: np.ndarray) -> np.ndarray:
        """Return rows (k, m) as (groups, m, width); some stand twice, to fill the last group."""
        rows = np.resize(np.arange(self.size), -(-self.size // self.width) * self.width)
        shape = (len(rows) // self.width, self.width, values.shape[1])
        return np.ascontiguousarray(values[rows].reshape(shape).transpose(0, 2, 1))

    def counts(self, values: np.ndarray) -> np.ndarray:
        """Return numbers (k,) as (groups, width) int64."""
        return self.grouped(values[:, None])[:, 0].astype(np.int64)

    def rows(self, values: np.ndarray) -> np.ndarray:
        """Return (groups, m, width) as rows (k, m)."""
        flat = values.transpose(0, 2, 1).reshape(-1, values.shape[1])
        return flat[: self.size]

    def flat(self, values: np.ndarray) -> np.ndarray:
        """Return (groups, width) as (k,)."""
        return values.ravel()[: self.size]

    def run(self, count: np.ndarray, rows: bool = False) -> np.ndarray:
        """Iterate so many times each; return (groups, k, n, width) states, of which k may be 0.

        Behind the end of an orbit its last state stands.
        """
        wanted = np.where(self.alive, count, 0)
        most = int(wanted.max(initial=0))
        found = np.empty((len(self.x), most if rows else 0, self.n, self.width))
        if most == 0:
            return found
        passed = wanted.copy()
        if self.width > 1:
            self.loop.many(self.x, self.rho, passed, self.bound, found if rows else None)
        else:
            x, rho, states = self.x[0, :, 0].copy(), self.rho[0, :, 0].copy(), found[0, :, :, 0]
            if rows:
                done = self.loop.rows(x, rho, self.bound, states, np.empty(most, np.int8))
                states[done:] = states[done - 1] if done else self.x[0, :, 0]
                x = states[-1]
            else:
                done = self.loop.one(x, rho, most, self.bound)
            self.x[0, :, 0], passed[0, 0] = x, done
        self._count(wanted, passed)
        return found

    def spread(self, count: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Iterate so many times each, and extend the least and the largest values."""
        wanted = np.where(self.alive, count, 0)
        if self.width == 1:
            found = self.run(count, rows=True)
            if found.shape[1]:
                np.minimum(low, found.min(axis=1), out=low)
                np.maximum(high, found.max(axis=1), out=high)
        elif wanted.any():
            passed = wanted.copy()
            self.loop.many(self.x, self.rho, passed, self.bound, bounds=(low, high))
            self._count(wanted, passed)

    def _count(self, wanted: np.ndarray, passed: np.ndarray) -> None:
        self.done += passed
        self.alive &= passed == wanted


def _some(
    compiled: CompiledMap,
    bound: float,
    members: Members,
    asked: Asked,
    seen: Observed,
    which: slice,
) -> None:
    """Iterate some members, and write what is seen of them."""
    orbits = _Orbits(compiled, bound, members.start[which], members.rho[which])
    refused = ~orbits.flat(orbits.alive)
    since = orbits.counts(members.since[which])
    left = orbits.counts(members.t_end[which]) - since
    orbits.run(since)
    low, high = orbits.x.copy(), orbits.x.copy()
    if asked.known is not None:
        _caught(orbits, asked.known, members, left, seen, which)
        return
    if asked.most:
        kept = np.minimum(left, asked.most - 1)
        rows = np.concatenate([orbits.x[:, None].copy(), orbits.run(kept, rows=True)], axis=1)
        low, high = rows.min(axis=1), rows.max(axis=1)
        left = left - kept
        points = rows.transpose(0, 3, 1, 2).reshape(-1, *rows.shape[1:3])[: orbits.size]
        number = np.arange(points.shape[1])
        here = number <= orbits.flat(kept)[:, None]
        count = points.shape[1]
        seen.points[which, :count] = np.where(here[:, :, None], points, np.nan)
        seen.times[which, :count] = np.where(here, members.since[which][:, None] + number, np.nan)
        seen.found[which] = members.t_end[which] - members.since[which] + 1
    if asked.extrema:
        orbits.spread(left, low, high)
        seen.low[which], seen.high[which] = orbits.rows(low), orbits.rows(high)
    else:
        orbits.run(left)
    code = np.where(orbits.flat(orbits.alive), 0, ESCAPED)
    seen.code[which] = np.where(refused, _REFUSED, code)
    seen.t[which], seen.end[which] = orbits.flat(orbits.done), orbits.rows(orbits.x)


def _caught(
    orbits: _Orbits,
    known: Known,
    members: Members,
    left: np.ndarray,
    seen: Observed,
    which: slice,
) -> None:
    """Iterate members to their ends, and write where each has come to a known attractor."""
    begun = orbits.flat(orbits.alive).copy()
    rows = np.concatenate([orbits.x[:, None].copy(), orbits.run(left, rows=True)], axis=1)
    points = rows.transpose(0, 3, 1, 2).reshape(-1, *rows.shape[1:3])[: orbits.size]
    alive, done = orbits.flat(orbits.alive), orbits.flat(orbits.done)
    for i, k in enumerate(range(len(seen.code))[which]):
        since = members.since[k]
        own = points[i, : int(done[i] - since) + 1 if begun[i] else 0]
        caught, place = catch(known, own)
        seen.found[k] = len(own)
        seen.code[k] = 0 if alive[i] or caught != FREE else ESCAPED if begun[i] else _REFUSED
        seen.end[k], seen.t[k], seen.caught[k] = orbits.rows(orbits.x)[i], done[i], caught
        if len(own):
            last = min(place, len(own) - 1)
            seen.points[k, 0], seen.times[k, 0] = own[last], since + last
        if caught != FREE:
            seen.found[k], seen.end[k], seen.t[k] = place + 1, own[place], since + place
