"""A run in pseudo-time, read in physical time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from explorer.compiled.frozen import OBSERVED
from explorer.compiled.held import before_breaks
from explorer.compiled.observe import observe
from explorer.results.solution import Solution
from explorer.runs.row_times import row_times
from explorer.runs.time_freezing.legs import STILL, Legs
from explorer.status import Status
from explorer.types import Reals

__all__ = ["Freezing", "Happened", "Jump"]

_TURNS = 3  # Newton iterations for the pseudo-time of a physical one
_ROUND_OFF = 1e-15  # of the span: physical time that is none


@dataclass(frozen=True)
class Jump:
    """What happens at one physical time: elements of a frozen arc, or none between two phases.

    Attributes
    ----------
    first, after : int
        The first element of the arc, and the one behind it.
    before, phase : int
        The phases before (-1: none) and behind.
    """

    first: int
    after: int
    before: int
    phase: int


Happened: TypeAlias = list[tuple[Jump, list[tuple[str, int]]]]  # and the events of each


class Freezing(Legs):
    """One run, in both times.

    Attributes
    ----------
    elements : Joined
        The run in pseudo-time.
    counts : elements, switches, Newton iterations
    """

    @property
    def status(self) -> Status:
        """How the run ended, at its physical time."""
        e = self.elements
        return Status.of(self.status_code, len(e.times), self.t_last, e.residual_of_newton)

    def pseudo_time(self, t: np.ndarray) -> np.ndarray:
        """Return the pseudo-times of physical times (k,), behind what is frozen there."""
        e = self.elements
        if not len(self.running):
            return np.zeros(len(t))
        starts = self.clock[self.running]
        which = self.running[np.clip(np.searchsorted(starts, t, side="right") - 1, 0, None)]
        begin, h = e.times[which].T
        first, last = self.clock[which], self.clock[which + 1]
        s = np.clip((t - first) / np.maximum(last - first, 1e-300), 0.0, 1.0)
        k = np.arange(1, e.method.stages + 1)
        weights = np.einsum("jp,tj->tp", e.method.powers, e.slopes[which, :, -1]) * h[:, None]
        for _ in range(6):  # the clock is a polynomial of the element, mostly of degree 1
            off = first + (weights * s[:, None] ** k).sum(axis=1) - t
            if np.abs(off).max(initial=0.0) <= _ROUND_OFF * self.t_end:
                break
            slope = (weights * k * s[:, None] ** (k - 1)).sum(axis=1)
            s = np.clip(s - off / np.where(slope > 0, slope, np.inf), 0.0, 1.0)
        return np.asarray(begin + s * h)

    @property
    def stretches(self) -> np.ndarray:
        """Pseudo-times between which the clock stands still, (k, 2)."""
        edges = np.diff(np.concatenate([[False], self.still, [False]]).astype(int))
        first, after = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
        ends = np.append(self.elements.times[:, 0], self.elements._end)
        return np.column_stack([ends[first], ends[after]])

    # -- what a kind of system brings ---------------------------------------------------------

    @abstractmethod
    def happens(self, jump: Jump) -> list[tuple[str, int]]:
        """Return the events at a jump: kind, and number of the contact or mode."""

    @abstractmethod
    def kind_rows(
        self,
        x: np.ndarray,
        chosen: np.ndarray,
        phase: np.ndarray,
        happened: Happened,
        right: np.ndarray,
    ) -> dict[str, object]:
        """Return the other rows, and the events."""

    # -- physical time ------------------------------------------------------------------------

    def sample(
        self, t: np.ndarray, *, exact: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the source's state (k, n_x), multipliers and elements at physical times."""
        x, chosen, which = self._sampled(t, exact)
        return x[:, : self.compiled.n_x], chosen, which

    def _sampled(self, t: np.ndarray, exact: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return states in pseudo-time, multipliers and elements at physical times."""
        e, s = self.elements, self.pseudo_time(t)
        x, chosen, which = e.sample(s, exact=exact)
        for _ in range(_TURNS if exact else 0):  # the clock's polynomial is of a lower order
            off = t - x[:, -1]
            if not (np.abs(off) > 1e-14 * np.abs(t)).any():
                break
            pace = e.rates(s, x, chosen)[:, -1]
            s = s + np.where(pace > STILL, off / np.maximum(pace, STILL), 0.0)
            x, chosen, which = e.sample(s, exact=True)
        return x, chosen, which

    def begins(self, x: np.ndarray) -> np.ndarray:
        """Return a pseudo-time in the interval of the inputs of each state (k,), by its clock.

        Of two states that follow each other at one time the first one lies before a break.
        """
        drive = self.compiled.system.drive
        if drive is None:
            return np.zeros(len(x))
        clock = x[:, -1] + np.where(before_breaks(x[:, -1]), -1e-9, 1e-9) * self.t_end
        firsts = np.array([0.0, *self.ends])
        k = np.searchsorted(drive.breaks, clock)
        return np.asarray(firsts[np.minimum(k, len(firsts) - 1)])  # the run may end early

    def observed(self, x: np.ndarray, chosen: np.ndarray) -> dict[str, np.ndarray]:
        """Return what `OBSERVED` says, (k, n_c) each, at states in pseudo-time."""
        native = self.elements.compiled.behind(self.compiled.observed)
        k = len(self.compiled.frozen.held)
        out = self.elements.along(native, np.zeros(len(x)), x, chosen, self.begins(x))
        return {name: out[:, i * k : (i + 1) * k] for i, name in enumerate(OBSERVED)}

    def gaps(self, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return gap, gap' and sliding velocity (k, n_c) at states of the source."""
        e = self.elements
        whole = np.zeros((len(t), e.compiled.n_x))
        whole[:, : x.shape[1]], whole[:, -1] = x, t
        found = self.observed(whole, np.zeros((len(t), e.compiled.n_sel)))
        return found["gap"], found["gap_dot"], found["slip"]

    def trajectory(self, t_eval: Reals | None = None) -> Solution:
        """Return rows at `t_eval` (or at the ends of elements) and on both sides of events."""
        if t_eval is None:
            return self._lazy(None, exact=False)
        return self._lazy(row_times(t_eval, self.t_end, self.t_last), exact=True)

    @property
    def n_x(self) -> int:
        """Number of states of the source."""
        return self.compiled.n_x

    @property
    def knots(self) -> np.ndarray:
        """Physical times at which elements begin that are not frozen."""
        return self.clock[self.running]

    @property
    def hits(self) -> np.ndarray:
        """Physical times at which something happens."""
        return self.clock[[j.first for j in self.jumps()]]

    def rows(self, solution: Solution, points: int | np.ndarray) -> Solution:
        """Return `solution` with rows at these times, or so many even ones and ends of elements."""
        if isinstance(points, np.ndarray):
            return self._lazy(points, exact=False)
        even = np.linspace(0.0, self.t_last, points + 1)
        ends = np.append(self.clock[self.running], self.t_last)
        ends = ends[ends <= self.t_last]
        return self._lazy(even if len(ends) > points else np.union1d(even, ends), exact=False)

    def inside(
        self, nodes: np.ndarray, weights: np.ndarray
    ) -> tuple[Solution, np.ndarray, np.ndarray]:
        """Return rows inside the elements that run, and times and weights (k,) of a quadrature.

        The states are those of the elements' polynomials, whose error is orthogonal to smooth
        functions: an integral along them has the order of the states at the ends.

        Parameters
        ----------
        nodes, weights : (j,) of a rule on [0, 1]
        """
        e, last = self.elements, np.array([self.t_last])
        end, (begin, h) = self._sampled(last, True), e.times[self.running].T
        h = np.append(h[:-1], self.pseudo_time(last) - begin[-1])  # the run may end inside
        s = (begin[:, None] + nodes * h[:, None]).ravel()
        x, chosen, which = e.sample(np.append(begin[0], s), exact=False)
        paces = e.rates(s, x[1:], chosen[1:])[:, -1]
        x, chosen, which = (
            np.concatenate(pair) for pair in zip((x, chosen, which), end, strict=True)
        )
        times, order = x[:, -1], np.argsort(x[1:-1, -1], kind="stable")
        return (
            self._trajectory(lambda: self._rows(times, x, chosen, which)),
            times[1:-1][order],
            ((weights * h[:, None]).ravel() * paces)[order],
        )

    def _lazy(self, times: np.ndarray | None, exact: bool) -> Solution:
        return self._trajectory(lambda: self._rows(*self._places(times, exact)))

    def _trajectory(self, fill: Callable[[], dict[str, object]]) -> Solution:
        system = self.compiled.system
        return Solution(
            fill,
            system=system,
            scheme=self.scheme,
            observe=observe,
            status=self.status,
            rho=dict(zip(system.parameters, self.rho.tolist(), strict=True)),
            route=(self.compiled.route,),
            seconds=self.elements.seconds,
            known={"march": self},
        )

    def jumps(self) -> list[Jump]:
        """Return what happens before the end, in order of time."""
        e, found = self.elements, []
        first = np.append(e.phases.switches["element"], len(e.times))
        stands = np.append(0, np.cumsum(self.still))
        frozen = (np.diff(stands[first]) == np.diff(first)).tolist()
        k = 0
        while k < len(frozen):
            if frozen[k]:
                last = k
                while last + 1 < len(frozen) and frozen[last + 1]:
                    last += 1
                if last + 1 < len(frozen):
                    found.append(Jump(int(first[k]), int(first[last + 1]), k - 1, last + 1))
                k = last + 1
            elif k > 0 and not frozen[k - 1]:
                found.append(Jump(int(first[k]), int(first[k]), k - 1, k))
                k += 1
            else:
                k += 1
        return [j for j in found if self.clock[j.first] < self.t_last]

    def _places(
        self, times: np.ndarray | None, exact: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return times, by default the ends of elements, and states, multipliers and elements."""
        if times is None:
            times = np.append(self.clock[self.running], self.t_last)
        times = np.unique(times[times <= self.t_last])
        found = self._sampled(times, exact)
        if len(times) and not exact:  # the end of a run is a result, not a place in a picture
            for some, last in zip(found, self._sampled(times[-1:], True), strict=True):
                some[-1:] = last
        return times, *found

    def _rows(
        self, times: np.ndarray, x: np.ndarray, chosen: np.ndarray, which: np.ndarray
    ) -> dict[str, object]:
        """Return all rows of a run: at these times, and on both sides of what happens."""
        e, compiled = self.elements, self.compiled
        n_x, nsel = compiled.n_x, e.compiled.n_sel
        happened = [(j, what) for j in self.jumps() if (what := self.happens(j))]
        jumps = [j for j, _ in happened]
        hits = self.clock[[j.first for j in jumps]] if jumps else np.empty(0)
        own = ~np.isin(times, hits)
        times, x, chosen, which = times[own], x[own], chosen[own], which[own]
        if len(times) and times[0] == 0.0 and len(e.phases.t) and not self.still[:1].any():
            chosen[0] = e.phases.multipliers[0]
        phases = e.places[which, 1] if len(e.places) else np.zeros(len(times), int)
        first, after = (np.array([getattr(j, k) for j in jumps], int) for k in ("first", "after"))
        before, behind = (
            np.array([getattr(j, k) for j in jumps], int) for k in ("before", "phase")
        )
        left = np.einsum("j,ejc->ec", e.method.end, e.mult[np.maximum(first - 1, 0)])
        right = e.phases.multipliers[behind]
        turn = 2.0 * np.arange(len(jumps))
        order = np.lexsort(
            (
                np.concatenate([np.zeros(len(times)), turn, turn + 1]),
                np.concatenate([times, hits, hits]),
            )
        )
        place = np.empty(len(order), int)
        place[order] = np.arange(len(order))
        x = np.concatenate([x, e.states[first], e.states[after]])[order]
        chosen = np.concatenate([chosen, np.clip(left, 0, 1), right])[order].reshape(-1, nsel)
        phase = np.concatenate([phases, before, behind])[order]
        t = np.concatenate([times, hits, hits])[order]
        found = {
            "t": t,
            "x": x[:, :n_x],
            "z": np.zeros(len(t)),
            "S": np.zeros((len(t), n_x + 1, 0)),
            "iterations": np.ones(len(t), np.int32),
            "residuals": np.zeros((len(t), 2)),
        }
        right_rows = place[len(times) + len(jumps) :]
        return {**found, **self.kind_rows(x, chosen, phase, happened, right_rows)}
