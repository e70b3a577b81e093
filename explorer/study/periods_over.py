"""What the run of one start repeats like, over two parameters: a number for each period."""

from __future__ import annotations

import dataclasses

import numpy as np

from explorer.runs.members import Observed
from explorer.status import ESCAPED as BEYOND
from explorer.study.basin_map import ESCAPES, FAILED, REFUSED, UNDECIDED, UNTOLD
from explorer.study.over import states_of
from explorer.study.parts import UNRUN, Stop, run_parts
from explorer.study.question import Question
from explorer.study.recurrence import Found, cloud, period
from explorer.study.search_attractors import Attractor, Settings
from explorer.study.starts import Starts

__all__ = ["LONGEST_NAMED", "PeriodsOver"]

LONGEST_NAMED = 6  # points of an orbit that has a number of its own
_POINTS = 200  # of a section by events that are looked at
_LONGER = 5  # times as long is run what has no answer


class PeriodsOver:
    """Labels of parameters: the period of what recurs in the second half of the run.

    Its attractors are the first one of each period up to six, and one of all others. Whether
    neighbours return is not tried: the run itself has come to what recurs.

    Attributes
    ----------
    t : (points,) float
        When the run of each has ended, in s; NaN of what was not run.
    """

    def __init__(
        self, settings: Settings, rho: tuple[float, ...], starts: Starts, stop: Stop | None
    ) -> None:
        self.settings, self.rho, self.starts, self.stop = settings, rho, starts, stop
        self.t = np.full(len(starts.rows), np.nan)
        self._found: list[Attractor] = []
        n = len(states_of(settings.system)[0])
        self.scale = np.zeros(n)
        self.low, self.high = np.full(n, -np.inf), np.full(n, np.inf)
        self.refused: tuple[Attractor, ...] = ()
        self._question(starts.rows[:1])

    @property
    def families(self) -> tuple[tuple[Attractor, ...], ...]:
        """The first attractor of each number."""
        return tuple((one,) for one in tuple(self._found))

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """No box, and the scale of each state."""
        return self.low, self.high, self.scale

    def begin(self, seeds: int) -> None:
        """Find the scale of the states."""
        rows = self.starts.rows
        some = np.random.default_rng(self.settings.seed).permutation(len(rows))[: 4 * seeds]
        seen = run_parts(self._question(rows[some]), progress=False, stop=self.stop)
        points = seen.points[seen.code == 0].reshape(-1, len(self.scale))
        points = points[np.isfinite(points).all(axis=1)]
        wide = np.ptp(np.quantile(points, [0.02, 0.98], axis=0), axis=0) if len(points) else 0.0
        wide = wide * np.ones(len(self.scale))
        widest = float(wide.max())
        self.scale = np.where(wide > 1e-9 * widest, wide, widest or 1.0)

    def __call__(self, places: np.ndarray) -> np.ndarray:
        """Return the labels of the points at these places, (k,)."""
        label, self.t[places] = self.labels(self.starts.rows[places])
        return label

    run = __call__

    def labels(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels of points (k, names), (k,), and when their runs have ended, in s."""
        if not self.scale.all():
            return np.full(len(rows), UNTOLD), np.full(len(rows), np.nan)
        s, question = self.settings, self._question(rows)
        longer = self._question(rows, _LONGER)
        seen = run_parts(question, progress=False, stop=self.stop)
        end = question.members(0, len(rows)).t_end * (1 - 1e-9)
        label = np.full(len(rows), UNDECIDED)
        for k in np.flatnonzero(seen.code == 0).tolist():
            if seen.t[k] < end[k]:
                label[k] = ESCAPES
                continue
            points = _kept(seen, k)
            found = period(points, self.scale, s.tol, s.sure)
            if found is None and not (self.stop is not None and self.stop()):
                more = longer.run(k, k + 1, (seen.end[k], int(seen.mode[k])))
                if more.code[0] == 0:
                    points = _kept(more, 0)  # what creeps to a period would look like a set
                    found = period(points, self.scale, s.tol, s.sure) or cloud(points, self.scale)
            label[k] = UNDECIDED if found is None else self._number(found, rows[k])
        label[seen.code > 0] = FAILED
        label[seen.code == BEYOND] = ESCAPES  # a map has left all bounds
        label[seen.code < 0] = REFUSED
        label[seen.code == UNRUN] = UNTOLD
        return label, seen.t

    def _number(self, found: Found, row: np.ndarray) -> int:
        """Return the number of the period of points that recur; all long ones have the same."""
        for k, one in enumerate(self._found):
            if _kind(one.period) == _kind(found.period):
                return k
        at = dict(zip(self.settings.system.parameters, self.rho, strict=True))
        at |= {k: x for k, x in zip(self.starts.names, row.tolist(), strict=True) if k in at}
        self._found.append(Attractor(*found, radius=np.nan, neighbours=(0, 0), at=at))
        return len(self._found) - 1

    def _question(self, rows: np.ndarray, times: int = 1) -> Question:
        """Return the question that keeps points of the second half of the runs of some points."""
        s, axes = self.settings, self.starts.axes_of(rows)
        section = s.section
        if section.period is None:
            section = dataclasses.replace(section, most=_POINTS * times)
        span = f"{times} * ({s.t_end})"
        return Question(s.system, s.scheme, self.rho, axes, span, s.part(2), section)


def _kind(period: int) -> int:
    return period if period <= LONGEST_NAMED else 0


def _kept(seen: Observed, k: int) -> np.ndarray:
    return np.asarray(seen.points[k, : min(seen.found[k], seen.points.shape[1])])
