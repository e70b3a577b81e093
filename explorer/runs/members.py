"""What an ensemble of runs is asked for, and what was observed of its members."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from explorer.kernels.members import APART, ESCAPED, FREE

__all__ = ["APART", "ESCAPED", "FREE", "SECTIONS", "Asked", "Known", "Members", "Observed", "caps"]

Places: TypeAlias = slice | np.ndarray
SECTIONS = ("none", "event", "period")  # as `explorer.kernels.members` numbers them

_MOST_STEPS, _MOST_EVENTS = 1_000_000, 100_000  # of a run, and no more than fill
_ROOM = 2**25  # numbers


def caps(
    steps: int, events: int, t_end: np.ndarray, usual: float, n_x: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many steps and events each of some runs may have, (k,) each.

    A scheme says how many runs of the usual length have, `usual` in s; longer ones may have more
    in proportion, because a study runs a system for hundreds of periods.
    """
    room, share = _ROOM // (n_x + 8), np.maximum(np.asarray(t_end) / usual, 1.0)
    most_steps, most_events = min(_MOST_STEPS, room), min(_MOST_EVENTS, room // 8)
    return (
        np.maximum(np.minimum(steps * share, most_steps), steps).astype(np.int64),
        np.maximum(np.minimum(events * share, most_events), events).astype(np.int64),
    )


class Known(NamedTuple):
    """Attractors on a section: a member that comes to one of them needs no more steps.

    Attributes
    ----------
    points : (m, n_x) float
    owner : (m,) int
        Attractor of each point.
    radius : (m,) float
        Of the ball around each point, in parts of `scale`.
    hits : (m,) int
        How many points of a member in a row must lie in balls of this attractor.
    scale, low, high : (n_x,) float
        Scale of each state; a box around all.
    lost : int
        How many points in a row lie outside the box of a member that has escaped; from 1.
    """

    points: np.ndarray
    owner: np.ndarray
    radius: np.ndarray
    hits: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lost: int


class Asked(NamedTuple):
    """What is observed of every member.

    Attributes
    ----------
    names : tuple of str
        What can happen: contacts and constraints, or guards.
    section : str
        "none", "event" or "period": where the points lie.
    event : str
        Name of the guard, contact or constraint whose events are points.
    before : bool
        Whether a point is the state before its event, not behind it.
    most : int
        Room for points of one member.
    extrema : bool
        Whether the least and the largest value of each state are wanted.
    known : Known, optional
        A member is run until it comes to one of these attractors, and one point of it is kept: the
        last one.
    """

    names: tuple[str, ...] = ()
    section: str = "none"
    event: str = ""
    before: bool = False
    most: int = 0
    extrema: bool = False
    known: Known | None = None


class Members(NamedTuple):
    """Runs that differ in parameters, starts and times, k of them.

    Attributes
    ----------
    rho : (k, n_rho)
    start : (k, n_x) float
        Starts; NaN: the model's own value.
    t_end, since : (k,) float
        End of the run, and the time from which on it is observed, in s.
    period, offset : (k,) float
        Points of a section by time lie at offset + j period, in s.
    chained : bool
        Whether a member starts where the one before has ended.
    mode : int
        In which those start that do not follow another, -1: the system's own.
    behind : bool
        Whether the starts are ends of other runs, whose gaps at rest may have drifted below zero;
        of chained ones only the first start is.
    """

    rho: np.ndarray
    start: np.ndarray
    t_end: np.ndarray
    since: np.ndarray
    period: np.ndarray
    offset: np.ndarray
    chained: bool = False
    mode: int = -1
    behind: bool = False

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.t_end)

    def some(self, places: Places) -> Members:
        """Return the members at these places: of an array a copy, of a slice a view."""
        return self._replace(
            rho=self.rho[places],
            start=self.start[places],
            t_end=self.t_end[places],
            since=self.since[places],
            period=self.period[places],
            offset=self.offset[places],
        )


class Observed(NamedTuple):
    """What was observed, of k members; NaN of those that have failed.

    Attributes
    ----------
    code : (k,) int
        How each has ended, see `explorer.codes`; below zero: its start was refused.
    t : (k,) float
        Time that was reached, in s.
    end : (k, n_x)
    mode : (k,) int
        The mode at the end; 0 of systems without modes.
    events : (k, names) int
        How many events there were since `since`, by the names that were asked for.
    found : (k,) int
        How many points of the section there were, also those beyond the room for them.
    points, times : (k, most, n_x), (k, most)
        States on the section and their times in s; NaN behind the last one.
    low, high : (k, n_x), or (k, 0) if not asked for
    caught : (k,) int
        The known attractor that a member has come to, ESCAPED or FREE.
    """

    code: np.ndarray
    t: np.ndarray
    end: np.ndarray
    mode: np.ndarray
    events: np.ndarray
    found: np.ndarray
    points: np.ndarray
    times: np.ndarray
    low: np.ndarray
    high: np.ndarray
    caught: np.ndarray

    @classmethod
    def empty(cls, k: int, n_x: int, asked: Asked) -> Observed:
        """Return room for k members of which nothing is known."""
        bounds = np.full((2, k, n_x if asked.extrema else 0), np.nan)
        return cls(
            np.zeros(k, np.int64),
            np.zeros(k),
            np.full((k, n_x), np.nan),
            np.zeros(k, np.int64),
            np.zeros((k, len(asked.names)), np.int64),
            np.zeros(k, np.int64),
            np.full((k, asked.most, n_x), np.nan),
            np.full((k, asked.most), np.nan),
            bounds[0],
            bounds[1],
            np.full(k, FREE),
        )

    def some(self, places: Places) -> Observed:
        """Return what was observed of the members at these places."""
        return Observed(*(part[places] for part in self))

    def put(self, places: Places, found: Observed) -> None:
        """Write what was observed of the members at these places."""
        for target, values in zip(self, found, strict=True):
            target[places] = values

    def leads(self, k: int, asked: Asked) -> bool:
        """Whether the member behind `k` begins at its end: not if it failed, or met no section."""
        return bool(self.code[k] == 0 and (asked.section == "none" or self.found[k] > 0))

    def without_failed(self) -> Observed:
        """Return it with NaN and 0 in all that has failed, but for its code and its time."""
        bad = self.code != 0
        for part in (self.end, self.points, self.times, self.low, self.high):
            part[bad] = np.nan
        for part in (self.mode, self.events, self.found):
            part[bad] = 0
        self.caught[bad] = FREE
        return self
