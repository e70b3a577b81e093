"""The search for attractors: runs, what recurs in them, and whether neighbours come back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from explorer.errors import BadModel, BadValue
from explorer.parameters import whole
from explorer.runs.capture import catch
from explorer.runs.members import FREE, Known, Observed
from explorer.schemes import Scheme
from explorer.schemes.event_driven import EventDriven
from explorer.study.box import box_of
from explorer.study.forcing import check_section, depends_on_time
from explorer.study.over import states_of
from explorer.study.parts import Stop, run_parts
from explorer.study.question import Question
from explorer.study.recurrence import Found, Recurrence, apart, cloud, nearest, period
from explorer.study.section import Section
from explorer.study.starts import Starts
from explorer.systems import System
from explorer.types import Value

__all__ = ["REFUSALS", "Attractor", "Search", "Settings", "seed_of"]

LOST = 10  # points in a row outside the box
_LONGER = 5  # times as long is run what has no answer
_MOST_EVENTS = 10_000  # points of one run that are looked at
_NEIGHBOURS, _FEW = 32, 8  # tried around an attractor; the latter where runs are made one by one
_INSIDE = 0.5  # of the radius at which all neighbours return is the radius that catches
_BRIEF = 10  # part of the time after which a neighbour may be seen to return, and of the radius
_APART = 0.4  # of the distance of two attractors is at most the radius of each
_IN_A_ROW = 10  # points next to a set without a period
_POINTS = 500  # of a set without a period
REFUSALS = 8  # sets that recur and do not attract, after which no more are looked for
_SMALLER = (1.0, 0.3, 0.1, 0.03, 0.01)  # parts of the radius that are tried in turn
_SPAN = 10.0  # of the starts, by which the box goes beyond them


@dataclass(frozen=True, repr=False)
class Attractor:
    """What recurs on a section, and attracts.

    Attributes
    ----------
    period : int
        How many points it has; 0: no period was found, the points are some of many.
    points : (m, n_x)
        States on the section.
    drift : (n_x,)
        Check of the recurrence, in the units of the states: how far points are from where they were
        a period before. Without a period, how far 95 % of them at most are from an earlier point.
    residual : float
        The largest of these, in parts of the scale.
    radius : float
        A run belongs to it as soon as it has a point this close, in parts of the scale: neighbours
        at twice this distance were tried.
    neighbours : tuple of int
        How many neighbours have come back, of how many.
    at : dict
        Parameters by name.
    """

    period: int
    points: np.ndarray = field(repr=False)
    drift: np.ndarray
    residual: float
    radius: float
    neighbours: tuple[int, int]
    at: dict[str, float] = field(repr=False)

    def __repr__(self) -> str:
        many = f"period {self.period}" if self.period else f"no period, {len(self.points)} points"
        one = ", ".join(f"{x:.6g}" for x in self.points[0])
        back, of = self.neighbours
        return (
            f"{many}, ({one}){', ...' * (self.period != 1)}; recurs to {self.residual:.1e}, "
            f"{back} of {of} neighbours return"
        )


@dataclass(frozen=True)
class Settings:
    """What a search goes by; see `explorer.study.attractors` and `Recurrence`."""

    system: System
    scheme: Scheme
    section: Section
    t_end: Value
    near: float
    tol: float
    sure: float
    box: dict[str, tuple[float, float]]
    seed: int
    periods: int

    def part(self, of: int) -> str:
        """Return one part of the time that a start is run, of so many."""
        if self.section.period is None:
            return f"({self.t_end}) / {of}"
        return f"{max(self.periods // of, 1)} * ({self.section.period})"

    @classmethod
    def of(
        cls,
        system: System,
        scheme: Scheme,
        section: object,
        periods: int,
        t_end: Value | None,
        recurrence: object,
    ) -> Settings:
        """Check them and fill in what is usual.

        Raises
        ------
        BadValue
        BadModel
            The section is one by an event, and the system depends on t.
        """
        if section is None and system.discrete:  # each iterate of a map is a point
            section = Section(period=1)
        if not isinstance(section, Section):
            raise BadValue(
                f"section = {section!r} must be a Section: write Section(period='2*pi/omega') or "
                "Section(event='stop')."
            )
        periods = whole(periods, "periods", 12)
        if section.period is not None:
            if t_end is not None:
                raise BadValue("t_end follows from periods; give no t_end.")
            t_end = f"{periods} * ({section.period})"
        elif depends_on_time(system):
            raise BadModel(
                f"'{system.name}' depends on t, so two points at {section.event!r} have other "
                "phases. Give a section by its period, such as Section(period='2*pi/omega')."
            )
        told = Recurrence() if recurrence is None else recurrence
        if not isinstance(told, Recurrence):
            raise BadValue(
                f"recurrence = {recurrence!r} must be a Recurrence, such as Recurrence(near=0.02)."
            )
        tol, near = told.tol, told.near
        located = isinstance(scheme, EventDriven)
        tol = (1e-5 if located else 2e-3) if tol is None else tol
        near = max(1e-2, 25 * tol) if near is None else near
        if not 0 < tol < near <= 0.5:
            raise BadValue(f"tol = {tol:g} and near = {near:g} must have 0 < tol < near <= 0.5.")
        checked = box_of(system, told.box)
        section = dataclasses.replace(section, most=None if section.period else _MOST_EVENTS)
        sure = tol / 100 if located else tol
        span = t_end or system.t_end
        return cls(system, scheme, section, span, near, tol, sure, checked, told.seed, periods)


def seed_of(recurrence: object) -> int:
    """Return the seed of all that is random.

    Raises
    ------
    BadValue
    """
    seed = recurrence.seed if isinstance(recurrence, Recurrence) else 0
    return whole(seed, "seed of a Recurrence", 0)


class Search:
    """Attractors at one set of parameters, from run to run more of them.

    Attributes
    ----------
    attractors : list of Attractor
    refused : list of Attractor
        What recurs and does not attract.
    """

    def __init__(self, settings: Settings, rho: tuple[float, ...], starts: Starts) -> None:
        check_section(settings.system, settings.section, rho)
        self.settings, self.rho, self.starts = settings, rho, starts
        self.attractors: list[Attractor] = []
        self.refused: list[Attractor] = []
        names = states_of(settings.system)[0]
        n = len(names)
        self.scale = np.zeros(n)
        self.low, self.high = np.full(n, -np.inf), np.full(n, np.inf)
        grid = starts.grid
        self.spans = np.zeros(n)  # of the starts in each state
        for axis, column, what, place in grid.places:
            if what != "start":
                continue
            values = grid.axes[axis].values[:, column]
            span = self.spans[place] = float(np.ptp(values))
            if span > 0:
                self.low[place] = values.min() - _SPAN * span
                self.high[place] = values.max() + _SPAN * span
        for name, (low, high) in settings.box.items():
            self.low[names.index(name)], self.high[names.index(name)] = low, high
        self.at = dict(zip(settings.system.parameters, rho, strict=True))
        self._random = np.random.default_rng(settings.seed)
        self.answer: Callable[..., Observed] = run_parts  # where members are run

    def question(self, rows: np.ndarray | None, known: Known | None = None) -> Question:
        """Return the question that runs some starts (k, names); of None all."""
        s = self.settings
        axes = self.starts.grid if rows is None else self.starts.axes_of(rows)
        return Question(s.system, s.scheme, self.rho, axes, s.t_end, 0.0, s.section, known=known)

    def known(self) -> Known:
        """Return the attractors as what a run looks for."""
        attractors = tuple(self.attractors)  # another thread may add to them
        radii = self._radii(attractors)
        points = [one.points for one in attractors]
        counts = [len(p) for p in points]
        return Known(
            np.ascontiguousarray(np.vstack([*points, np.zeros((0, len(self.scale)))])),
            np.repeat(np.arange(len(counts)), counts),
            np.repeat(radii, counts),
            np.repeat([1 if one.period else _IN_A_ROW for one in attractors], counts).astype(
                np.int64
            ),
            self.scale,
            self.low,
            self.high,
            LOST,
        )

    def _radii(self, attractors: tuple[Attractor, ...]) -> np.ndarray:
        """Return the radius of each attractor, smaller where another one is close."""
        found = np.array([one.radius for one in attractors])
        for i, one in enumerate(attractors):
            for other in attractors[:i] + attractors[i + 1 :]:
                gap = apart(one.points, other.points, self.scale)
                found[i] = min(found[i], _APART * gap)
        return found

    def learn(
        self, rows: np.ndarray, *, progress: bool = False, stop: Stop | None = None
    ) -> Observed:
        """Run some starts (k, names) to their ends, and take in what attracts them.

        What is returned says what each of them has come to.
        """
        question = self.question(rows)
        seen = self.answer(question, progress=progress, stop=stop)
        if not self.scale.any():
            self.scale = self._spread(seen)
        for k in np.flatnonzero(seen.code == 0).tolist():
            if stop is not None and stop():
                break
            points = seen.points[k, : min(seen.found[k], seen.points.shape[1])]
            if self._ended(question, k, seen) or catch(self.known(), points)[0] != FREE:
                continue
            if len(self.refused) < REFUSALS:
                self._take(question, seen, k, points)
        known = self.known()
        for k in np.flatnonzero(seen.code == 0).tolist():
            points = seen.points[k, : min(seen.found[k], seen.points.shape[1])]
            seen.caught[k] = catch(known, points)[0]
            if seen.caught[k] == FREE and self._ended(question, k, seen):
                seen.caught[k] = -2
        return seen

    def _ended(self, question: Question, k: int, seen: Observed) -> bool:
        """Whether a run has ended before its time: at a terminal event."""
        return bool(seen.t[k] < question.members(k, k + 1).t_end[0] * (1 - 1e-9))

    def _spread(self, seen: Observed) -> np.ndarray:
        """Return the scale of each state: how far starts and points inside the box spread."""
        points = seen.points[seen.code == 0].reshape(-1, len(self.low))
        points = points[((points >= self.low) & (points <= self.high)).all(axis=1)]
        if not len(points):
            return np.ones(len(self.low))
        low, high = np.quantile(points, [0.02, 0.98], axis=0)
        found = high - low
        found = np.maximum(found, self.spans)
        widest = float(found.max())
        return np.where(found > 1e-9 * widest, found, widest or 1.0)

    def _take(self, question: Question, seen: Observed, k: int, points: np.ndarray) -> None:
        """Look for what recurs in a run, and take it in if it attracts."""
        s = self.settings
        found = period(points[len(points) // 2 :], self.scale, s.tol, s.sure)
        end, mode = seen.end[k], int(seen.mode[k])
        if found is None:
            longer = dataclasses.replace(question, t_end=f"{_LONGER} * ({s.t_end})")
            more = longer.run(k, k + 1, (end, mode))
            if more.code[0] != 0 or self._ended(longer, 0, more):
                return
            points = more.points[0, : min(more.found[0], more.points.shape[1])]
            if catch(self.known(), points)[0] != FREE:
                return
            half = points[len(points) // 2 :]
            found = period(half, self.scale, s.tol, s.sure) or cloud(half[-_POINTS:], self.scale)
            end, mode = more.end[0], int(more.mode[0])
        if found is None:
            return
        radius = s.near if found.period else max(s.near, 2 * found.residual)
        for other in self.attractors:
            radius = min(radius, _APART * apart(found.points, other.points, self.scale))
        known = [*self.attractors, *self.refused]
        if any(apart(found.points, one.points, self.scale) <= s.tol for one in known):
            return
        widest, radius = radius, 0.0
        for part in _SMALLER:
            reach = part * widest
            radius = reach if found.period else max(reach, min(widest, 2 * found.residual))
            back = self._neighbours(question, found, reach, radius, end, mode)
            if back[0] == back[1] > 0 or (found.period and reach < 20 * found.residual):
                break
        radius *= _INSIDE if found.period else 1.0
        one = Attractor(
            found.period, found.points, found.drift, found.residual, radius, back, self.at
        )
        (self.attractors if back[0] == back[1] > 0 else self.refused).append(one)

    def _neighbours(
        self, asked: Question, found: Found, reach: float, radius: float, end: np.ndarray, mode: int
    ) -> tuple[int, int]:
        """Return how many neighbours of the last state come back, and of how many.

        They start at the radius, and must end within half of it, or be within a tenth after a tenth
        of the time; around a set without a period they start at three times the reach, and end in
        the radius. What is not there in time is run five times as long.
        """
        away, within = (1.0, 0.5) if found.period else (3.0, 1.0)
        last = found.period or _IN_A_ROW
        known = found.points / self.scale
        longer = dataclasses.replace(asked, t_end=f"{_LONGER} * ({self.settings.t_end})")
        back = of = 0
        fast = asked.scheme.ensemble(asked.system) is not None
        many = _NEIGHBOURS if fast else _FEW
        brief = dataclasses.replace(asked, t_end=self.settings.part(_BRIEF))
        for _ in range(2 * many):
            way = self._random.standard_normal(len(end))
            way *= away * reach * self.scale / np.linalg.norm(way)
            begin = end + way, mode
            if found.period and self._soon(brief, begin, known, radius / _BRIEF):
                of, back = of + 1, back + 1
                if of == many:
                    break
                continue
            seen, near = asked.run(0, 1, begin), False
            if seen.code[0] < 0:
                continue  # inside an obstacle
            for again in (longer, None):
                points = seen.points[0, : min(seen.found[0], seen.points.shape[1])][-last:]
                if seen.code[0] != 0 or not len(points):
                    break
                near = nearest(points / self.scale, known).max() <= within * radius
                if near or again is None:
                    break
                seen = again.run(0, 1, (seen.end[0], int(seen.mode[0])))
            of += 1
            back += bool(near)
            if of == many or back < of:
                break
        return back, of

    def _soon(
        self, brief: Question, begin: tuple[np.ndarray, int], known: np.ndarray, radius: float
    ) -> bool:
        """Whether a short run comes to points (m, n_x), in parts of the scale, within a radius."""
        seen = brief.run(0, 1, begin)
        points = seen.points[0, : min(seen.found[0], seen.points.shape[1])][-len(known) :]
        if seen.code[0] != 0 or len(points) < len(known):
            return False
        return bool(nearest(points / self.scale, known).max() <= radius)
