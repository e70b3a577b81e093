"""One run of the event-driven kernel: its workspaces, its record, and what is read from it."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import numpy as np

from explorer.compiled import Bundle, Flow, short
from explorer.compiled.checks import check_friction
from explorer.compiled.observe import observe
from explorer.errors import BadModel, BadValue
from explorer.results.event import KINDS, Jump, LocatedEvent
from explorer.results.solution import Solution
from explorer.runs.event_driven.ended import ended
from explorer.runs.event_driven.meetings import BAND, meetings, screened
from explorer.runs.event_driven.workspace import Workspace, workspace

__all__ = ["March"]

CHAINED = 2  # in the record of an event: it happened beyond its zero, because of the one before
REST_MAX = 1e-8  # impacts that would be over in this time (s) are over,
LOWEST = 1e-13  # and so are bounces lower than this (m)


class March:
    """One run of the kernel: its record, and exact evaluation from it.

    Attributes
    ----------
    steps, step_state : (n_steps, 2 + size), (n_steps, 1 + n_c)
        t, h, y at the start of each step; mode and closed contacts.
    record, kinds : (n_events, ...), (n_events, 6)
        Events; `lay` names the parts of a row of `record`.
    y : (size,) the end: (x, z), then the same of every column
    """

    def __init__(
        self, flow: Flow, scheme: Any, rho: np.ndarray, t_end: float,
        wrt: tuple[int, ...] = (), *, slopes: bool = False,
    ) -> None:  # fmt: skip
        self.flow, self.scheme, self.rho, self.t_end, self.wrt = flow, scheme, rho, t_end, wrt
        self.slopes = slopes or len(wrt) > 0
        self.tableau, newmark = scheme.tableau, scheme.newmark
        self.first = 0.0 if newmark is None else newmark.h
        self.grid = 0.0 if newmark is None or newmark.error_tol > 0 else newmark.h
        self.room = scheme.max_steps
        if newmark is not None and self.grid > 0:
            more = newmark.steps(t_end, 2 + (1 + len(wrt)) * (flow.n_x + flow.n + 1), flow.n)
            self.room = 1 << (self.room + more).bit_length()  # few sizes, so that few are kept

    def workspace(self) -> Workspace:
        """Lend the arguments of the kernels, set for this run."""
        return workspace(self.flow, self.tableau, self.wrt, self.rho, self.scheme, self.room)

    def go(self, start: Any, seeds: np.ndarray | None) -> None:
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
        from explorer.kernels.event_driven.initial_state import UNMADE

        while self._run(start, seeds) == UNMADE:
            self.flow.make(self.wanted)

    def _run(self, start: Any, seeds: np.ndarray | None) -> int:
        from explorer.kernels.event_driven.initial_state import UNMADE

        n_x = self.flow.n_x
        with self.workspace() as work:
            if start is not None:
                work.y[:n_x] = start
            if seeds is not None:
                work.y.reshape(-1, n_x + 1)[1:, :n_x] = seeds.T
            work.state[0] = self.start_mode(start)
            work.caps[2:4] = (start is not None) + 2 * (seeds is not None), self.slopes
            work.knobs[:] = (
                0.0, self.t_end, self.scheme.rtol, self.scheme.atol, self.first, BAND,
                self.grid or self.t_end / 4, self.tableau.stiff, self.tableau.exponent, REST_MAX,
                LOWEST, self.grid,
            )  # fmt: skip
            begin = time.perf_counter()
            self.code = work.march(*work.arguments)
            self.seconds = time.perf_counter() - begin
            self.wanted = int(work.counts[0])
            if self.code == UNMADE:
                return self.code
            if self.code < 0:
                self._refuse(work)
            steps, events = work.counts[:2].tolist()
            self.steps, self.step_state = work.steps[:steps].copy(), work.step_state[:steps].copy()
            self.record, self.kinds = work.record[:events].copy(), work.kinds[:events].copy()
            self.counts, self.y, self.watch = work.counts.copy(), work.y.copy(), work.watch.copy()
            self.e, self.lay, self.offsets = work.e.copy(), work.lay, work.offsets
        return self.code

    def _refuse(self, work: Workspace) -> None:
        """Say why the start makes no sense; `work` holds it."""
        from explorer.kernels.event_driven.initial_state import INSIDE, NOT_FINITE, RESTITUTION

        flow, name, k = self.flow, self.flow.system.name, int(work.counts[0])
        x = work.y[: flow.n_x]
        if self.code == NOT_FINITE:
            raise BadModel(f"The start of '{name}' is not finite: {short(x)}.")
        values = flow.bundles[1](work.inp)
        if self.code == RESTITUTION:
            raise BadValue(
                f"The restitution of {flow.guard_name(k)!r} is e = {work.e[k]:g}, but Newton's "
                "impact law needs 0 <= e <= 1 (0: no rebound, 1: no loss)."
            )
        if self.code == INSIDE:
            raise BadModel(
                f"'{name}' starts inside an obstacle: the gap of {flow.guard_name(k)!r} is "
                f"{values[k]:.6g} m at x = {short(x)}. Start with every gap >= 0. If the body is "
                "on the free side, reverse the sign of the gap."
            )
        mu, mu_s = values[flow.rows * (flow.n + 3) :].reshape(2, -1)[:, k]
        check_friction(flow.guard_name(flow.rough[k]), mu, mu_s)

    def start_mode(self, start: Any) -> int:
        """Return the number of the mode in which it begins."""
        return self.flow.start_mode(self.rho, start)

    @property
    def t_last(self) -> float:
        """Time that was reached, in s."""
        last = float(self.steps[-1, 0] + self.steps[-1, 1]) if len(self.steps) else 0.0
        return self.t_end if abs(last - self.t_end) < 1e-12 * self.t_end else last

    @property
    def hits(self) -> np.ndarray:
        """Times of the events in s; of an accumulation, its end."""
        return self.record[:, 0] + self.record[:, 2]

    @property
    def knots(self) -> np.ndarray:
        """Times at which steps begin."""
        return self.steps[:, 0]

    @property
    def n_x(self) -> int:
        """How many of what `sample` returns are states."""
        return self.flow.n_x

    @property
    def sequence(self) -> list[tuple[str, str]]:
        """Kind of each event, and name of its guard or contact."""
        return [(KINDS[k], self.flow.guard_name(who)) for who, k in self.kinds[:, :2].tolist()]

    def jump(self, k: int) -> Jump:
        """Return what differentiates event `k`, from 0."""
        row, n_x, p = self.record[k], self.flow.n_x, len(self.wrt)
        part = {name: row[place] for name, place in self.lay.items()}
        s_minus, s_plus = (part[s].reshape(p, n_x + 1).T for s in ("s_minus", "s_plus"))
        return Jump(
            float(row[0]), part["x_minus"], part["f_minus"], part["f_plus"], s_minus, s_plus,
            part["dtau"].copy(), float(row[1]), part["r_x"], part["r_rho"],
            part["h_x"].reshape(n_x, n_x), part["h_t"], part["h_rho"].reshape(n_x, -1),
            int(self.kinds[k, 6]) == CHAINED,
        )  # fmt: skip

    @cached_property
    def screened(self) -> tuple[int, np.ndarray]:
        """What is doubtful in its derivatives, as bits, and the grazing margins of the events."""
        return screened(self)

    @cached_property
    def meetings(self) -> dict[int, np.ndarray]:
        """Events at which the order may decide, and the columns that change it."""
        return meetings(self)

    def end(self) -> tuple[float, np.ndarray, float, np.ndarray]:
        """Return t, x, z at the end, and the derivatives (n_x + 1, p) of (x, z)."""
        y, n_x = self.y.reshape(-1, self.flow.n_x + 1), self.flow.n_x
        return self.t_last, y[0, :n_x], float(y[0, n_x]), y[1:].T

    def slopes_at(self, t: np.ndarray) -> np.ndarray:
        """Return the derivatives of (x, z) at fixed times, (k, n_x + 1, p)."""
        y = self.sample(t)[0].reshape(len(t), -1, self.flow.n_x + 1)
        return y[:, 1:].transpose(0, 2, 1)

    def sample(
        self, times: np.ndarray, *, exact: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return y (k, size), (x', z') and the number of the step of each time (increasing).

        Exact: each by a step of its own; else from the polynomial of the step, as good to the eye.
        """
        from explorer.kernels.event_driven.dense_output import evaluate

        exact = exact or self.grid > 0
        which = np.searchsorted(self.steps[:, 0], times, side="right") - 1
        which = np.clip(which, 0, max(len(self.steps) - 1, 0))
        size, block, tableau = len(self.y), self.flow.n_x + 1, self.tableau
        result, rates = (np.full((len(times), wide), np.nan) for wide in (size, block))
        if len(self.steps):
            with self.workspace() as work:
                evaluate(
                    *work.problem, *work.method, tableau.stages if exact else tableau.last,
                    tableau.code, tableau.D, len(self.wrt), self.steps, self.step_state,
                    np.ascontiguousarray(times, float), which, work.K, work.bench, work.dense,
                    result, rates,
                )  # fmt: skip
        else:
            result[:], rates[:] = self.y, 0.0
        return result, rates, which

    def along(self, native: Bundle, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the outputs of a bundle (k, outputs) at states x (k, n_x)."""
        from explorer.kernels.model.along_rows import evaluate

        n, out = self.flow.n, np.empty((len(t), native.size))
        q, v = (np.ascontiguousarray(part, float) for part in (x[:, :n], x[:, n:]))
        evaluate(native.address, native.data, np.ascontiguousarray(t, float), q, v,
                 self.flow.input(self.rho), np.empty(native.size), out)  # fmt: skip
        return out

    def gaps(self, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return gap, gap' and sliding velocity (k, n_c) at states x (k, n_x)."""
        flow, nc, n, rows = self.flow, self.flow.n_c, self.flow.n, self.flow.rows
        slip = np.zeros((len(t), nc))
        if nc == 0:
            return slip, slip, slip
        out = self.along(flow.bundles[1], t, x)
        G = out[:, 2 * rows : 2 * rows + rows * n].reshape(len(t), rows, n)
        speed = out[:, rows : 2 * rows] + np.einsum("tcn,tn->tc", G, x[:, n:])
        slip[:, flow.rough] = speed[:, nc:]
        return out[:, :nc], speed[:, :nc], slip

    def trajectory(self, t_eval: Any = None) -> Solution:
        """Return rows at `t_eval` (or evenly spaced) and on both sides of every event."""
        if t_eval is None and self.grid > 0 and len(self.steps):
            return self._lazy(np.append(self.steps[:, 0], self.t_last))
        if t_eval is None:  # as the motion wants them: no fewer than steps
            return self._lazy(max(self.scheme.points, len(self.steps)))
        times = np.array(t_eval, float)
        if times.ndim != 1 or (np.diff(times) < 0).any() or not np.isfinite(times).all():
            raise BadValue("t_eval needs increasing times.")
        if len(times) and not (times[0] >= 0 and times[-1] <= self.t_end):
            raise BadValue(f"t_eval lies outside [0, {self.t_end:g}] s.")
        return self._lazy(times[times <= self.t_last])

    def rows(self, solution: Solution, points: int | np.ndarray) -> Solution:
        """Return `solution` with so many even rows, or with rows at these times."""
        return self._lazy(points, exact=False)

    @property
    def route(self) -> tuple[str, ...]:
        """Exact rewritings on the way."""
        return ("contacts as modes",) if self.flow.n_c else ()

    def _known(self) -> dict[str, Any]:
        """Return what the result has besides its rows."""
        return {}

    def _lazy(self, times: np.ndarray | int, exact: bool = True) -> Solution:
        system = self.flow.system
        return Solution(
            lambda: self._rows(times, exact), system=system, scheme=self.scheme,
            status=ended(self), observe=observe,
            rho=dict(zip(system.parameters, self.rho.tolist(), strict=True)),
            route=self.route, seconds=self.seconds, known={"march": self, **self._known()},
        )  # fmt: skip

    def _rows(self, times: np.ndarray | int, exact: bool) -> dict[str, Any]:
        flow, lay, record = self.flow, self.lay, self.record
        exact = exact and not isinstance(times, int)
        if isinstance(times, int):
            times = np.linspace(0.0, self.t_last, times + 1)
        n_x, n, nc, p = flow.n_x, flow.n, flow.n_c, len(self.wrt)
        block, events = n_x + 1, len(record)
        hits = self.hits
        times = times[~np.isin(times, hits)]
        y, dy, which = self.sample(times, exact=exact)
        lam = np.zeros((len(times) + 2 * events, flow.rows))
        sides = np.concatenate([times, hits, hits])
        turn = 2.0 * np.arange(events)
        order = np.lexsort((np.concatenate([np.zeros(len(times)), turn, turn + 1]), sides))
        place = np.empty(len(order), int)
        place[order] = np.arange(len(order))
        right = place[len(times) + events :]

        def woven(grid: np.ndarray, minus: np.ndarray, plus: np.ndarray) -> np.ndarray:
            return np.concatenate([grid, minus, plus])[order]

        x_minus, x_plus = record[:, lay["x_minus"]], record[:, lay["x_plus"]]
        late = np.flatnonzero((record[:, 2] > 0) & (hits <= self.t_last))
        if len(late):  # the contact was closed a moment before its impacts have accumulated
            x_plus = x_plus.copy()
            x_plus[late] = self.sample(hits[late])[0][:, :block]
            jump = (x_minus - record[:, lay["x_plus"]])[late]
            x_minus = x_minus.copy()
            x_minus[late] = x_plus[late] + jump
        xz = woven(y[:, :block], x_minus, x_plus)
        rates = woven(dy[:, :block], record[:, lay["f_minus"]], record[:, lay["f_plus"]])
        S = woven(y[:, block:], record[:, lay["s_minus"]], record[:, lay["s_plus"]])
        S = S.reshape(len(S), p, block).transpose(0, 2, 1)
        t, x = sides[order], xz[:, :n_x]
        between = self.step_state[which, 0] if len(self.step_state) else np.zeros(len(times), int)
        modes = woven(between, self.kinds[:, 2], self.kinds[:, 3])
        held = np.zeros((len(t), 2 * flow.rows - nc), np.int8)
        impulses = np.zeros((len(t), flow.rows))
        if nc and len(self.step_state):  # a run may fail at an event, or before its first step
            of = np.concatenate([which, self.kinds[:, 4] - 1, self.kinds[:, 4]])[order]
            of = np.clip(of, 0, len(self.step_state) - 1)
            held = self.step_state[of, 1 : 1 + held.shape[1]].astype(np.int8)
            impulses[right] = record[:, lay["p"]]
        gap, gap_dot, slip = self.gaps(t, x)
        if nc:
            # of events that share a time the steps know the first and the last side only
            shared = np.concatenate([place[len(times) : len(times) + events], right])
            held[shared, :nc] &= np.abs(gap_dot[shared]) <= 1e-8
            for k, c in enumerate(flow.rough):
                held[shared, nc + k] &= np.abs(slip[shared, c]) <= 1e-8
                held[:, nc + k] &= held[:, c]
            lam = self._forces(t, x, held)
        q, v = (x[:, :n], x[:, n:]) if flow.mechanical else (x, np.empty((len(t), 0)))
        p_t, p_max, lam_t, lam_max = np.zeros((4, len(t), nc))
        sticks = np.zeros((len(t), nc), bool)
        if flow.rough:
            rough, stuck = list(flow.rough), held[:, nc : flow.rows] == 1
            p_t[:, rough], lam_t[:, rough] = impulses[:, nc:], lam[:, nc:]
            mu = self.along(flow.bundles[1], t, x)[:, flow.rows * (n + 3) :].reshape(len(t), 2, -1)
            mu = np.where(stuck, mu[:, 1], mu[:, 0])
            lam_max[:, rough], p_max[:, rough] = mu * lam[:, rough], mu * impulses[:, rough]
            sticks[:, rough] = stuck
        return {
            "t": t, "q": q, "v": v, "p": impulses[:, :nc], "gap": gap, "gap_dot": gap_dot,
            "active": held[:, :nc], "lam_t": lam_t, "lam_max": lam_max, "p_t": p_t,
            "p_max": p_max,             "slip": slip, "sticks": sticks,
            "iterations": np.ones(len(t), np.int32),
            "residuals": np.zeros((len(t), 2)), "x": x, "rates": rates[:, :n_x], "lam": lam[:, :nc],
            "z": xz[:, n_x], "S": S, "mode": modes, "located": self._events(right, gap_dot),
        }  # fmt: skip

    def _forces(self, t: np.ndarray, x: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Contact forces at the rows (k, rows), from the saddle system of what is held there."""
        from explorer.kernels.event_driven.dense_output import forces

        lam = np.empty((len(t), self.flow.rows))
        free = np.zeros((len(t), len(self.flow.sides.symbols)), np.int64)
        states = np.column_stack([np.zeros(len(t), np.int64), held, free])
        with self.workspace() as work:
            forces(*work.problem, t, np.ascontiguousarray(x), states, lam)
        return lam

    def _events(self, right: np.ndarray, gap_dot: np.ndarray) -> list[LocatedEvent]:
        flow, lay, n = self.flow, self.lay, self.flow.n
        names = [""] if flow.automaton is None else [m.name for m in flow.automaton.modes]
        found, met = [], self.sequence
        for k, (row, kind) in enumerate(zip(self.record, self.kinds, strict=True)):
            who, i = int(kind[0]), int(right[k])
            x_minus, x_plus = row[lay["x_minus"]][:-1], row[lay["x_plus"]][:-1]
            speeds = (gap_dot[i - 1, who], gap_dot[i, who]) if flow.mechanical else (0.0, 0.0)
            impulse = float(row[lay["p"]][who]) if flow.mechanical else 0.0
            found.append(LocatedEvent(
                float(row[0] + row[2]), *met[k], who, i,
                x_minus[n:], x_plus[n:], float(speeds[0]), float(speeds[1]), impulse,
                x_minus, x_plus, float(row[1]), int(kind[5]), names[kind[2]], names[kind[3]],
                self.motion(k) if self.wrt else None,
                int(kind[6]) == CHAINED, k in self.meetings, float(self.screened[1][k]),
            ))  # fmt: skip
        return found

    def motion(self, k: int) -> np.ndarray:
        """Event-time sensitivity; of an accumulation, the limit of those of its impacts."""
        part = self.record[:, self.lay["dtau"]]
        return np.array([weight * part[i] for i, weight in self.accumulation(k)]).sum(axis=0)

    def accumulation(self, k: int) -> list[tuple[int, float]]:
        """Return whose event-time sensitivities, with which weights, make that of event `k`.

        Near an accumulation the derivatives of the intervals are (A + j B) r^j, r the ratio of the
        intervals (e of a contact): two of them tell A and B, and the rest of the series is
        A r / (1 - r) + B r / (1 - r)^2.
        """
        who, kinds = self.kinds[k, 0], (1, 2, 4) if self.flow.mechanical else (0, 4)
        mine = [i for i in range(k) if self.kinds[i, 0] == who and self.kinds[i, 1] in kinds][-2:]
        if not self.record[k, 2] > 0 or len(mine) < 2:
            return [(k, 1.0)]
        before, last = mine
        if self.flow.mechanical:
            r = float(self.e[who])
        else:
            t = self.record[:, 0]
            r = float((t[k] - t[last]) / (t[last] - t[before]))
        a, b = r / (1 - r), r / (1 - r) ** 2
        return [(k, 1 + a + b), (last, -a - b - r * b), (before, r * b)]
