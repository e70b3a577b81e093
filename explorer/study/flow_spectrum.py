"""Lyapunov exponents of a flow with events: how fast nearby motions part, in each direction.

A frame of directions Q is carried along by the exact derivative of the flow, through the saltation
matrix of each event, and made orthonormal again after each interval; the means of ln |R_ii| of Q R
are the exponents (Benettin, Galgani, Giorgilli and Strelcyn, Meccanica 15 (1980) 9,
doi:10.1007/BF02128236; with saltation matrices: Mueller, Chaos, Solitons & Fractals 5 (1995) 1671,
doi:10.1016/0960-0779(94)00170-U). Their sum is the mean divergence of the flow, and what events do
to volumes: ln |det Xi| of each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import sympy as sp

from explorer.compiled import Flow
from explorer.derivatives.held_start import directions, directions_at_end, least_free
from explorer.dispatch.choose import choose, numbers_of
from explorer.dispatch.simulate import begun_in
from explorer.errors import BadValue, NotApplicable, StepFailed
from explorer.parameters import number, vector, whole
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.runs.fesd.tangents import on_surface
from explorer.schemes.event_driven import EventDriven
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.exponents import BATCHES, Exponents, batch_errors
from explorer.study.forcing import check_period, depends_on_time
from explorer.systems import HybridSystem, System, values_given
from explorer.systems.expressions import expression
from explorer.types import Numbers, Reals, Value

__all__ = ["FlowExponents", "flow_spectrum"]

_PARTS = 40  # of t_end is an interval, where none is given
_LARGEST = 1e10  # ratio of stretchings in an interval: beyond, digits are lost
_LOST, _ZERO = 1e-11, 1e-15  # what is no direction behind events, and without any
_SEED = 1


@study
@dataclass(frozen=True, repr=False)
class FlowExponents(Exponents):
    """Lyapunov exponents of a flow.

    Attributes
    ----------
    exponents : (n_x,) in 1/s, falling; -inf where an event or a contact that stays closed takes a
        direction away
    errors : (n_x,) their standard errors by batch means; that of -inf is 0
    x : (n_x,) the last state
    interval : float, s
    intervals, transient : int
        How many intervals were averaged, and how many were left out before.
    events : dict of int
        How often each event has happened in the time that was averaged.
    system : System
    batches : (64, n_x) means of the batches, in 1/s
    """

    interval: float
    intervals: int
    transient: int
    events: dict[str, int]
    system: System
    batches: np.ndarray = field(repr=False)

    @property
    def time(self) -> float:
        """Time that was averaged, in s."""
        return self.interval * self.intervals

    def __repr__(self) -> str:
        return (
            f"Lyapunov exponents of {self.system.name!r}: {self.told} 1/s "
            f"({self.intervals} intervals of {quantity(self.interval, self.system.time_unit)})"
        )


def flow_spectrum(
    system: System,
    scheme: Chosen | None = None,
    *,
    period: Value | None = None,
    intervals: int = 400,
    transient: int = 100,
    x0: Reals | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> FlowExponents:
    """Return the Lyapunov exponents of a flow with their standard errors.

    See `explorer.study.lyapunov`, which takes these arguments.

    Raises
    ------
    BadValue
        An argument is out of range; a period is missing; an interval is too long.
    NotApplicable
        The scheme does not locate events.
    StepFailed
        The run has failed.
    """
    chosen = choose(system, EventDriven if scheme is None else scheme)
    if not isinstance(chosen, EventDriven):
        raise NotApplicable(
            f"{type(chosen).__name__} does not locate events: exponents need the derivatives of "
            "EventDriven."
        )
    count = whole(intervals, "intervals", BATCHES)
    left_out = whole(transient, "transient", 0)
    values = numbers_of(system, chosen, values_given(system, rho, parameters))
    length = _interval(system, period, values)
    march = _March(system, chosen, values, length, x0, left_out // 2)
    for _ in range(left_out):
        march.go()
    march.events.clear()
    logs = np.array([march.go() for _ in range(count)])
    sizes = np.diff(np.linspace(0, count, BATCHES + 1).astype(int))
    ends = np.cumsum(sizes)
    means = np.array([logs[e - k : e].mean(axis=0) for e, k in zip(ends, sizes, strict=True)])
    means /= length
    exponents = logs.mean(axis=0) / length
    order = np.argsort(-exponents, kind="stable")
    return FlowExponents(
        exponents[order],
        batch_errors(means)[order],
        march.x,
        length,
        count,
        left_out,
        dict(march.events),
        system,
        means[:, order],
    )


class _March:
    """A motion with a frame of directions, from interval to interval."""

    def __init__(
        self,
        system: System,
        scheme: EventDriven,
        values: list[float],
        length: float,
        x0: Reals | None,
        again: int,
    ) -> None:
        self.system, self.scheme, self.rho, self.length = system, scheme, values, length
        self.compiled = scheme.compile(system)
        self.x = np.array(self.compiled.start(values)[0], float)
        if x0 is not None:
            given = np.array(vector(x0, "x0"))
            if given.shape != self.x.shape:
                raise BadValue(f"x0 needs {len(self.x)} numbers, but {given.size} are given.")
            self.x = given
        elif again and on_surface(self.system, values, self.x):  # where no derivative exists
            self.x = scheme.run(self.compiled, values, length, x0=self.x).x[-1].copy()
        self.frame, self.again = _frame(len(self.x)), again
        self.unit = np.ones(len(self.x))  # of each state, in which the frame is orthonormal
        self.mode: str | None = None
        self.events: Counter[str] = Counter()
        self.done = 0

    def go(self) -> np.ndarray:
        """March over an interval; return ln of what each direction was stretched by, (n_x,).

        A direction that an event or a held contact takes away is gone for good: -inf.
        """
        n, compiled, columns = len(self.x), self.compiled, self.frame.shape[1]
        if self.mode is not None and isinstance(self.system, HybridSystem):
            compiled = begun_in(compiled, self.system, self.mode)
        at = self.done * self.length
        run = self._run(compiled, at)
        if self.done == 0 and ((unit := _units(run)) != 1).any():
            self.unit = unit
            run = self._run(compiled, at)
        fresh = self.done == self.again and columns < n  # what a first part loses may come back
        free = self._scaled(directions(run)) if fresh or self.done == 0 else None
        if fresh:
            self.frame = _frame(n)
        if free is not None:  # what opens a contact, or makes it slide, is no direction
            self.frame = np.linalg.qr(free @ (free.T @ self.frame)[:, : free.shape[1]])[0]
        if fresh or free is not None:
            columns, run = self.frame.shape[1], self._run(compiled, at)
        if not run.status.ok or run.t[-1] < self.length * (1 - 1e-9):
            raise StepFailed(
                f"'{self.system.name}' does not go on at t = {self._told(at + run.t[-1])}: "
                f"{run.status.message} It has no exponents there.",
                run,
            )
        S = run.S[-1][:n] / self.unit[:, None] if columns else np.zeros((n, 0))
        if not np.isfinite(S).all():
            raise StepFailed(
                f"'{self.system.name}' has no derivative after t = {self._told(at)}: an event "
                "there is met without speed (grazing).",
                run,
            )
        free = self._scaled(directions_at_end(run))
        if free is not None:  # round-off across what is held does not decay
            S = free @ (free.T @ S)
        self.x, self.done = run.x[-1].copy(), self.done + 1
        if isinstance(self.system, HybridSystem):
            self.mode = self.system.modes[int(run.mode[-1])].name
        self.events.update(e.contact for e in run.located if e.kind != "released")
        return self._stretched(S, _LOST if run.located else _ZERO, least_free(run))

    def _told(self, t: float) -> str:
        """Return a time with its unit."""
        return quantity(t, self.system.time_unit)

    def _scaled(self, free: np.ndarray | None) -> np.ndarray | None:
        """Return orthonormal directions (n_x, k) in the units of the frame."""
        if free is None or (self.unit == 1).all():
            return free
        return np.linalg.qr(free / self.unit[:, None])[0]

    def _run(self, compiled: Flow, at: float) -> Solution:
        """Run over the interval that begins at a time, with the derivatives of the frame."""
        try:
            return self.scheme.run(
                compiled,
                self.rho,
                self.length,
                x0=self.x,
                wrt=(-1,) * self.frame.shape[1],
                seeds=self.frame * self.unit[:, None],
                t_eval=[self.length],
            )
        except BadValue as error:
            if self.done == 0:
                raise
            raise BadValue(
                f"At t = {self._told(at)} an interval begins where '{self.system.name}' has no "
                f"derivative: {error} Another period, or more transient intervals, may miss it."
            ) from None

    def _stretched(self, S: np.ndarray, least: float, free: int) -> np.ndarray:
        """Make the frame orthonormal; return ln of the stretching of each direction, (n_x,).

        Of no more than `free` directions: what contacts have taken away is round-off.
        """
        S = S[:, :free]
        if S.shape[1] == 0:
            self.frame = S.copy()
            return np.full(len(self.x), -np.inf)
        Q, R = np.linalg.qr(S)
        size = np.abs(np.diag(R))
        kept = size > least * np.abs(S).max(initial=0.0)
        ratio = size[kept].max() / size[kept].min() if kept.any() else 1.0
        if ratio > _LARGEST:
            raise BadValue(
                f"In an interval of {self._told(self.length)} directions part by a factor of "
                f"{ratio:.1e}, so that digits are lost: give a shorter period."
            )
        self.frame = Q[:, kept]
        logs = np.full(len(self.x), -np.inf)
        logs[: kept.sum()] = np.log(size[kept])
        return logs


def _units(run: Solution) -> np.ndarray:
    """Return powers of 1000 near the largest values of the states, (n_x,).

    Beside one in other units the smaller entries of a frame would be taken for round-off.
    """
    n = run.x.shape[1]
    largest = np.abs(run.march.steps.y[:, :n]).max(axis=0, initial=0.0)
    kinds = np.split(largest, 2) if run.has_velocities else [largest]
    least = np.concatenate([np.full(len(kind), 1e-3 * (kind.max() or 1.0)) for kind in kinds])
    return np.asarray(1000.0 ** np.round(np.log10(np.maximum(largest, least)) / 3))


def _frame(n: int) -> np.ndarray:
    """Return orthonormal directions (n, n) at random, always the same ones."""
    return np.linalg.qr(np.random.default_rng(_SEED).standard_normal((n, n)))[0]


def _interval(system: System, period: Value | None, values: list[float]) -> float:
    """Return the length of an interval, in the unit of time of the system."""
    if period is None:
        if depends_on_time(system):
            raise BadValue(
                f"'{system.name}' depends on t: give its period, such as period='2*pi/omega'."
            )
        return float(system.t_end) / _PARTS
    formula = expression(period, system.symbols(state=False), "period")
    at = dict(zip(system.parameters, values, strict=True))
    value = sp.N(formula.xreplace({sp.Symbol(k): sp.Float(v) for k, v in at.items()}))
    span = number(value, "period", system.time_unit, positive=True)
    check_period(system, span, at)
    return span
