"""What a run of the event-driven kernel has left, and what can be evaluated from it anywhere."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np

from explorer.compiled import Bundle, Flow
from explorer.compiled.held import before_breaks, left_of_breaks
from explorer.kernels.event_driven.butcher import Tableau
from explorer.kernels.event_driven.records import CHAINED
from explorer.kernels.event_driven.structures import Events, Parts, Steps
from explorer.results.event import KINDS, Jump
from explorer.runs.event_driven.columns import active_of
from explorer.runs.event_driven.settings import Settings
from explorer.runs.event_driven.workspace import Arguments, lend

__all__ = ["BAND", "Run"]

BAND = 1e-10  # guards this close to zero have been reached


class Run:
    """What a run has left.

    Attributes
    ----------
    flow, settings, rho, t_end, wrt
        What was run; `wrt` are the parameters of the columns, -1: a start value.
    slopes : bool
        Whether its events are differentiated.
    code : int
        How it ended.
    seconds : float
        How long the kernel took.
    steps : Steps
        The steps; their `state` is mode, held rows, signs of sliding, sides.
    events : Events
        `head` tells of each event, `part` has its vectors.
    t_last : float
        Time that was reached, in s.
    counts : (4,) steps, events, right-hand sides, rejected steps
    y : (size,) the end: (x, z), then the same of every column
    e : (n_c,) restitutions
    watch : of each guard the nearest miss
    fault : int
        The constraint that could not begin to hold, where a run has ended for that.
    lost : (float, (2 n,)) or None
        Time and state at which the constraints lose rank, where a run has ended for that.
    """

    of_steps = True  # whose states are sampled anywhere between
    of_elements = False  # whose multipliers move where no state bends

    code: int
    seconds: float
    steps: Steps
    events: Events
    t_last: float
    counts: tuple[int, ...]
    y: np.ndarray
    e: np.ndarray
    watch: np.ndarray
    fault: int = -1
    lost: tuple[float, np.ndarray] | None = None

    def __init__(
        self,
        flow: Flow,
        settings: Settings,
        rho: np.ndarray,
        t_end: float,
        wrt: tuple[int, ...],
        slopes: bool,
    ) -> None:
        self.flow, self.settings, self.rho, self.t_end, self.wrt = flow, settings, rho, t_end, wrt
        self.slopes = slopes or len(wrt) > 0

    @property
    def tableau(self) -> Tableau:
        """The coefficients of the method."""
        return self.settings.tableau

    @property
    def n_x(self) -> int:
        """How many of what `sample` returns are states."""
        return self.flow.n_x

    def lent(self) -> Arguments:
        """Lend the arguments of the kernels, set for this run."""
        return lend(self.flow, self.settings, self.wrt, self.rho)

    def undifferentiated(self) -> Self:
        """Return the run without its derivatives: its states are sampled faster."""
        plain, block, n = copy.copy(self), self.flow.n_x + 1, self.flow.n
        y, carried = self.steps.y[:, :block], self.steps.carried[:, :n]
        steps = self.steps._replace(
            y=np.ascontiguousarray(y), carried=np.ascontiguousarray(carried)
        )
        vars(plain).update(wrt=(), slopes=False, steps=steps, y=self.y[:block].copy())
        return plain

    # -- steps --------------------------------------------------------------------------------

    @property
    def knots(self) -> np.ndarray:
        """Times at which steps begin."""
        return self.steps.t

    def end(self) -> tuple[float, np.ndarray, float, np.ndarray]:
        """Return t, x, z at the end, and the derivatives (n_x + 1, p) of (x, z)."""
        y, n_x = self.y.reshape(-1, self.flow.n_x + 1), self.flow.n_x
        return self.t_last, y[0, :n_x], float(y[0, n_x]), y[1:].T

    def slopes_at(self, t: np.ndarray) -> np.ndarray:
        """Return the derivatives of (x, z) at fixed times, (k, n_x + 1, p)."""
        y = self.sample(t)[0].reshape(len(t), -1, self.flow.n_x + 1)
        return y[:, 1:].transpose(0, 2, 1)

    def sample(
        self, times: np.ndarray, *, exact: bool = True, slopes: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return y (k, size), (x', z') and the number of the step of each time (increasing).

        Exact: each by a step of its own; else from the polynomial of the step, as good to the eye.
        Without `slopes` y has no derivatives, (k, n_x + 1).
        """
        from explorer.kernels.event_driven.dense_output import evaluate

        which = np.searchsorted(self.steps.t, times, side="right") - 1
        if self.flow.system.drive is not None:  # two rows where inputs change
            which -= before_breaks(times)
        which = np.clip(which, 0, max(len(self.steps.t) - 1, 0))
        block = self.flow.n_x + 1
        size = len(self.y) if slopes else block
        result, rates = (np.full((len(times), wide), np.nan) for wide in (size, block))
        if len(self.steps.t):
            with self.lent() as lent:
                evaluate(
                    lent.problem,
                    lent.method,
                    lent.work.step,
                    self.steps,
                    np.ascontiguousarray(times, float),
                    which,
                    exact or self.settings.grid > 0,
                    result,
                    rates,
                )
        else:
            result[:], rates[:] = self.y[:size], 0.0
        return result, rates, which

    def along(
        self, native: Bundle, t: np.ndarray, x: np.ndarray, left: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the outputs of a bundle (k, outputs) at states x (k, n_x).

        `left` (k,): which lie before a break, by default the first of two at one time.
        """
        from explorer.kernels.model.along_rows import evaluate

        n, out = self.flow.n, np.empty((len(t), native.size))
        driven = self.flow.system.drive is not None
        left = before_breaks(t) if left is None and driven else left
        if driven and left is not None and left.any():
            out[~left] = self.along(native, t[~left], x[~left])
            with left_of_breaks(self.flow.system):
                out[left] = self.along(native, t[left], x[left])
            return out
        q, v = (np.ascontiguousarray(part, float) for part in (x[:, :n], x[:, n:]))
        evaluate(
            native.address,
            native.data,
            np.ascontiguousarray(t, float),
            q,
            v,
            self.flow.input(self.rho),
            np.empty(native.size),
            out,
        )
        return out

    # -- events -------------------------------------------------------------------------------

    @property
    def hits(self) -> np.ndarray:
        """Times of the events in s; of an accumulation, its end."""
        return np.asarray(self.events.head["t"] + self.events.head["rest"])

    @property
    def sequence(self) -> list[tuple[str, str]]:
        """Kind of each event, and name of its guard or contact."""
        head = self.events.head
        pairs = zip(head["kind"].tolist(), head["guard"].tolist(), strict=True)
        return [(KINDS[kind], self.flow.guard_name(who)) for kind, who in pairs]

    def part(self, name: str) -> np.ndarray:
        """Return a part of all events, (events, ...), a view; see `Parts`."""
        at = self.events.at
        first = getattr(at, name)
        last = at[Parts._fields.index(name) + 1]
        return self.events.parts[:, first:last]

    def jump(self, k: int) -> Jump:
        """Return what differentiates event `k`, from 0."""
        head, n_x, p = self.events.head[k], self.flow.n_x, len(self.wrt)

        def part(name: str) -> np.ndarray:
            return np.asarray(self.part(name)[k])

        s_minus, s_plus = (part(s).reshape(p, n_x + 1).T for s in ("s_minus", "s_plus"))
        return Jump(
            float(head["t"]),
            part("x_minus"),
            part("f_minus"),
            part("f_plus"),
            s_minus,
            s_plus,
            part("dtau").copy(),
            float(head["D"]),
            part("r_x"),
            part("r_rho"),
            part("h_x").reshape(n_x, n_x),
            part("h_t"),
            part("h_rho").reshape(n_x, -1),
            int(head["how"]) >= CHAINED,
        )

    @property
    def at_start(self) -> tuple[int, ...]:
        """The parameter of each column at t = 0, -1: a start, or none there."""
        active = active_of(self.flow.system, self.wrt)
        return tuple(active[0].tolist()) if len(active) else self.wrt

    def active_at(self, k: int, places: tuple[int, ...]) -> list[int]:
        """Return the parameter of each column at event `k`, -1: a start, or none there."""
        if self.flow.system.drive is None or not len(self.flow.system.drive.breaks):
            return list(places)
        step = max(int(self.events.head["step"][k]) - 1, 0)
        column = -1 - len(self.flow.changes)
        interval = int(self.steps.state[step, column]) if len(self.steps.state) else 0
        found: list[int] = active_of(self.flow.system, self.wrt)[interval].tolist()
        return found

    def motion(self, k: int) -> np.ndarray:
        """Event-time sensitivity; of an accumulation, the limit of those of its impacts."""
        part = self.part("dtau")
        parts = [weight * part[i] for i, weight in self.accumulation(k)]
        return np.asarray(np.array(parts).sum(axis=0))

    def accumulation(self, k: int) -> list[tuple[int, float]]:
        """Return whose event-time sensitivities, with which weights, make that of event `k`.

        Near an accumulation the derivatives of the intervals are (A + j B) r^j, r the ratio of the
        intervals (e of a contact): two of them tell A and B, and the rest of the series is
        A r / (1 - r) + B r / (1 - r)^2.
        """
        head, kinds = self.events.head, (1, 2, 4) if self.flow.mechanical else (0, 4)
        who, t = head["guard"], head["t"]
        mine = [i for i in range(k) if who[i] == who[k] and head["kind"][i] in kinds][-2:]
        if not head["rest"][k] > 0 or len(mine) < 2:
            return [(k, 1.0)]
        before, last = mine
        if self.flow.mechanical:
            r = float(self.e[who[k]])
        else:
            r = float((t[k] - t[last]) / (t[last] - t[before]))
        a, b = r / (1 - r), r / (1 - r) ** 2
        return [(k, 1 + a + b), (last, -a - b - r * b), (before, r * b)]

    @property
    def nearest(self) -> float:
        """Smallest value of a guard at a near miss, in its unit; inf if there was none."""
        return float(self.watch["nearest"].min(initial=np.inf))

    # -- contacts -----------------------------------------------------------------------------

    def gaps(self, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return gap, gap' and sliding velocity (k, n_c) at states x (k, n_x)."""
        flow, nc, n, rows = self.flow, self.flow.n_c, self.flow.n, self.flow.rows
        slip = np.zeros((len(t), nc))
        if nc == 0:
            return slip, slip, slip
        out = self.along(flow.bundles[1], t, x)
        G = out[:, 2 * rows : 2 * rows + rows * n].reshape(len(t), rows, n)
        speed = out[:, rows : 2 * rows] + np.einsum("tcn,tn->tc", G, x[:, n:])
        slip[:, flow.rough] = speed[:, nc : nc + len(flow.rough)]
        return out[:, :nc], speed[:, :nc], slip

    @property
    def energies(self) -> np.ndarray:
        """Kinetic energy in J that each event of a mechanical system gives, (events,)."""
        n, n_x, head = self.flow.n, self.flow.n_x, self.events.head
        before, after = self.part("x_minus")[:, :n_x], self.part("x_plus")[:, :n_x]
        M = self.along(self.flow.bundles[0], head["t"], before)[:, : n * n].reshape(-1, n, n)
        change, mean = after[:, n:] - before[:, n:], (after[:, n:] + before[:, n:]) / 2
        return np.asarray(np.einsum("ki,kij,kj->k", change, M, mean))

    def forces(
        self, t: np.ndarray, x: np.ndarray, states: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Contact forces (k, rows) and accelerations (k, n), by the saddle system of what is held.

        `states` are as the steps record them: what is held, and sides of kinks.
        """
        from explorer.kernels.event_driven.dense_output import forces

        lam, a = np.empty((len(t), self.flow.rows)), np.empty((len(t), self.flow.n))
        with self.lent() as lent:
            forces(lent.problem, t, np.ascontiguousarray(x), states, lam, a)
        return lam, a

    def force_slopes(
        self, t: np.ndarray, x: np.ndarray, S: np.ndarray, states: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of forces (k, rows, p) and of accelerations (k, n, p) at the rows.

        S (k, size) are the columns one behind the other; `states` as for `forces`.
        """
        from explorer.kernels.event_driven.dense_output import force_slopes

        shape = len(t), len(self.wrt)
        lam, a = np.empty((*shape, self.flow.rows)), np.empty((*shape, self.flow.n))
        with self.lent() as lent:
            S, x = np.ascontiguousarray(S), np.ascontiguousarray(x)
            force_slopes(lent.problem, t, S, x, states, lam, a)
        return lam.transpose(0, 2, 1), a.transpose(0, 2, 1)
