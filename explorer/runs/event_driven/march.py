"""One run of the event-driven kernel: it goes, it can be sampled anywhere, it becomes a result."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from functools import cache, cached_property
from typing import Self

import numpy as np

from explorer.codes import CONTRADICTORY, RANK_LOST, SUCCESS
from explorer.compiled import Flow, short
from explorer.compiled.checks import check_friction, check_start
from explorer.compiled.observe import observe
from explorer.compiled.start_mode import start_mode
from explorer.errors import BadModel, BadValue
from explorer.kernels.entry import entry
from explorer.kernels.event_driven.records import EVENT, PROGRESS, REST_SHARE, WATCH
from explorer.kernels.event_driven.structures import Events, Options, Steps
from explorer.results.event import LocatedEvent
from explorer.results.solution import Solution
from explorer.runs.event_driven.constraints_failed import contradictory
from explorer.runs.event_driven.ended import ended
from explorer.runs.event_driven.meetings import meetings, screened
from explorer.runs.event_driven.rows import events_of, rows_of
from explorer.runs.event_driven.run import BAND, Run
from explorer.runs.event_driven.settings import Settings
from explorer.runs.event_driven.workspace import Arguments
from explorer.runs.row_times import row_times
from explorer.systems import LagrangianSystem
from explorer.types import Reals

__all__ = ["March"]

REST_MAX = 1e-8  # impacts that would be over in this time (s), and REST_SHARE of the run, are over,
LOWEST = 1e-13  # and so are bounces lower than this (m)
_PICKS = 64  # of continuations, at most
_FIRST = np.full(_PICKS, -1)
_TOLD = "at", "steps", "events", "evaluations", "rejected"
_told = operator.itemgetter(*map((PROGRESS.names or ()).index, _TOLD))  # of a PROGRESS as a tuple


@cache
def _kernel() -> tuple[Callable[[np.ndarray, Options], int], int]:
    """Load compiled code: the kernel, and its status where a function is still to be made."""
    from explorer.kernels.event_driven.initial_state import UNMADE
    from explorer.kernels.event_driven.march import march

    return march, UNMADE


class March(Run):
    """One run of the kernel: its record, and exact evaluation from it.

    Parameters
    ----------
    flow : Flow
    settings : Settings
    rho : (n_rho,)
    t_end : float
    wrt : the parameters of the columns, -1: a start value
    slopes : bool
        Whether events are differentiated without columns too.
    scheme : object
        What the result names as its scheme; nothing of it is read.
    """

    def __init__(
        self,
        flow: Flow,
        settings: Settings,
        rho: np.ndarray,
        t_end: float,
        wrt: tuple[int, ...] = (),
        *,
        slopes: bool = False,
        scheme: object = None,
    ) -> None:
        super().__init__(flow, settings, rho, t_end, wrt, slopes)
        self.scheme = scheme

    @property
    def picks(self) -> tuple[int, ...]:
        """What is taken at the moments with several continuations behind the start."""
        return ()

    def go(self, start: Reals | None, seeds: np.ndarray | None) -> None:
        """Run the kernel.

        Parameters
        ----------
        start : (n_x,), by default the model's own
        seeds : (n_x, p) its derivative, by default the model's own

        Raises
        ------
        BadModel, BadValue
            If the start is inconsistent.
        """
        while not self._run(start, seeds):
            self.flow.make(self.wanted)

    def _options(self, given_state: bool, given_seeds: bool) -> Options:
        settings = self.settings
        picks = _FIRST
        if self.picks:
            picks = _FIRST.copy()
            picks[: len(self.picks)] = self.picks[:_PICKS]
        return Options(
            float(self.t_end),
            settings.h,
            settings.grid or self.t_end / 4,
            settings.grid,
            BAND,
            min(REST_MAX, REST_SHARE * float(self.t_end)),
            LOWEST,
            settings.max_steps,
            settings.max_events,
            len(self.wrt),
            self.slopes,
            given_state,
            given_seeds,
            picks,
        )

    def _run(self, start: Reals | None, seeds: np.ndarray | None) -> bool:
        """March; return whether no function was missing."""
        march, unmade = _kernel()
        n_x = self.flow.n_x
        with self.lent() as lent:
            work = lent.work
            if start is not None:
                work.y[:n_x] = start
            if seeds is not None:
                work.y.reshape(-1, n_x + 1)[1:, :n_x] = seeds.T
            lent.problem.state[0]["mode"] = self.start_mode(start)
            options = self._options(start is not None, seeds is not None)
            memory = lent.bound()
            begin = time.perf_counter()
            self.code = entry(march)(memory, options)
            self.seconds = time.perf_counter() - begin
            self.wanted, taken, met, *calls = _told(work.run.item(0))
            if self.code == unmade:
                return False
            if self.code < 0:
                self._refuse(lent)
            self.counts = taken, met, *calls
            steps, events = lent.record
            self.steps = Steps(*[part[:taken].copy() for part in steps])
            last = float(steps.t[taken - 1] + steps.h[taken - 1]) if taken else 0.0
            near = abs(last - self.t_end) < 1e-12 * self.t_end
            self.t_last = self.t_end if near else last
            heads = np.ndarray(met, EVENT, lent.heads[: met * EVENT.itemsize].copy())
            self.events = Events(heads, events.parts[:met].copy(), events.at)
            self.y = work.y.copy()
            self.watch = np.ndarray(work.search.watch.size, WATCH, lent.watched.copy())
            self.e = lent.contacts.e.copy()
            if self.code != SUCCESS:
                self.fault = int(lent.problem.state[0]["fault"])
            if self.code == CONTRADICTORY and not taken and not met:
                raise BadModel(f"At the start of '{self.flow.system.name}' {contradictory(self)}.")
            if self.code == RANK_LOST:
                self.lost = float(work.rank.now[0]["lost"]), work.rank.state.copy()
        return True

    def _refuse(self, lent: Arguments) -> None:
        """Say why the start makes no sense."""
        from explorer.kernels.event_driven.initial_state import (
            INSIDE,
            NOT_FINITE,
            RESTITUTION,
            VIOLATED,
            WITHOUT_GRADIENT,
        )

        flow, name, k = self.flow, self.flow.system.name, self.wanted
        x = lent.work.y[: flow.n_x]
        if self.code == NOT_FINITE:
            raise BadModel(f"The start of '{name}' is not finite: {short(x)}.")
        values = flow.bundles[1](lent.problem.inp)
        if self.code == RESTITUTION:
            raise BadValue(
                f"The restitution of {flow.guard_name(k)!r} is e = {lent.contacts.e[k]:g}, but "
                "Newton's impact law needs 0 <= e <= 1 (0: no rebound, 1: no loss)."
            )
        if self.code == INSIDE:
            raise BadModel(
                f"'{name}' starts inside an obstacle: the gap of {flow.guard_name(k)!r} is "
                f"{values[k]:.6g} m at x = {short(x)}. Start with every gap >= 0. If the body is "
                "on the free side, reverse the sign of the gap."
            )
        if self.code == WITHOUT_GRADIENT:
            raise BadModel(
                f"The constraint {flow.system.constraints[k].name!r} of '{name}' has no gradient "
                "at the start, so no force can keep it. Write it as a difference of lengths or "
                "coordinates, or start elsewhere."
            )
        if self.code == VIOLATED and isinstance(flow.system, LagrangianSystem):
            rows, own = flow.rows, slice(flow.rows - flow.n_phi, flow.rows)
            G = values[2 * rows : (2 + flow.n) * rows].reshape(rows, flow.n)
            held = np.array(
                [
                    link["change"] < 0
                    or link["sign"] * lent.problem.changes[link["change"]]["side"] > 0
                    for link in lent.problem.links
                ]
            )
            check_start(flow.system, held, values[own], G[own], values[rows:][own], x[flow.n :])
        mu, mu_s = values[flow.rows * (flow.n + 3) :].reshape(2, -1)[:, k]
        check_friction(flow.guard_name(flow.rough[k]), mu, mu_s)

    def start_mode(self, start: Reals | None) -> int:
        """Return the number of the mode in which it begins."""
        return start_mode(self.flow, self.rho, start)

    @cached_property
    def screened(self) -> tuple[int, np.ndarray]:
        """What is doubtful in its derivatives, as bits, and the grazing margins of the events."""
        return screened(self)

    @cached_property
    def meetings(self) -> dict[int, np.ndarray]:
        """Events at which the order may decide, and the columns that change it."""
        return meetings(self)

    def undifferentiated(self) -> Self:
        """Return the run without its derivatives: its states are sampled faster."""
        self.screened, self.meetings  # noqa: B018 (they are of the derivatives, and kept)
        return super().undifferentiated()

    def trajectory(self, t_eval: Reals | None = None) -> Solution:
        """Return rows at `t_eval` (or evenly spaced) and on both sides of every event."""
        if t_eval is None and self.settings.grid > 0 and len(self.steps.t):
            return self._lazy(np.append(self.steps.t, self.t_last))
        if t_eval is None:  # as the motion wants them: no fewer than steps
            return self._lazy(max(self.settings.points, len(self.steps.t)))
        unit = self.flow.system.time_unit
        return self._lazy(row_times(t_eval, self.t_end, self.t_last, unit))

    def rows(self, solution: Solution, points: int | np.ndarray) -> Solution:
        """Return `solution` with so many even rows, or with rows at these times."""
        return self._lazy(points, exact=False)

    @property
    def route(self) -> tuple[str, ...]:
        """Exact rewritings on the way."""
        return ("contacts as modes",) if self.flow.n_c else ()

    def _known(self) -> dict[str, object]:
        """Return what the result has besides its rows."""
        return {}

    def _lazy(self, times: np.ndarray | int, exact: bool = True) -> Solution:
        system = self.flow.system
        return Solution(
            lambda: self._rows(times, exact),
            system=system,
            scheme=self.scheme,
            status=ended(self),
            observe=observe,
            rho=dict(zip(system.parameters, self.rho.tolist(), strict=True)),
            route=self.route,
            seconds=self.seconds,
            known={"march": self, **self._known()},
        )

    def _rows(self, times: np.ndarray | int, exact: bool) -> dict[str, object]:
        if isinstance(times, int):
            times, exact = np.linspace(0.0, self.t_last, times + 1), False
        arrays, right = self._arrays(times, exact)
        return {**arrays, "located": self._events(right, arrays["gap_dot"])}

    def _arrays(self, times: np.ndarray, exact: bool) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return the quantities of all rows, and the row behind each event."""
        return rows_of(self, times, exact)

    def _events(self, right: np.ndarray, gap_dot: np.ndarray) -> list[LocatedEvent]:
        """Return the events; `right` is the row behind each, gap' belongs to all rows."""
        return events_of(self, right, gap_dot, self.meetings, self.screened[1])
