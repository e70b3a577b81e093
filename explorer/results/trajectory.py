"""A solution located to its events: both sides of each, and exact evaluation anywhere between.

Rows come in time order; an event has two, its left and its right limit at the same time. What lies
between rows is not interpolated: `at` and `refined` march from the nearest step of the run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.interpolate import make_interp_spline

from explorer.results.event import Event, Sample
from explorer.results.export import Quantity, per_second
from explorer.results.solution import Solution

__all__ = ["KINDS", "ROWS", "Jump", "LocatedEvent", "Trajectory"]

ROWS = (
    "t", "q", "v", "p", "gap", "gap_dot", "active", "iterations", "residuals", "x", "rates", "lam",
    "z", "S", "mode", "located", "lam_t", "lam_max", "p_t", "slip", "sticks",
)  # fmt: skip
_PANELS = 6  # of a piece between rows, over which the power of friction is integrated
KINDS = ("event", "impact", "closed", "released", "zeno", "slips", "sticks", "turns")


@dataclass(frozen=True)
class LocatedEvent(Event):
    """An event at its exact time.

    Attributes
    ----------
    kind : str
        "impact", "closed" (impact after which the contact stays closed), "released", "zeno"
        (infinitely many impacts end here), of friction "slips" (sticking has ended), "sticks"
        (sliding has ended) or "turns" (from sliding one way to the other), "event" (a guard of a
        `HybridSystem`), or of a system with step functions "crosses", "slides" (a slide on the
        surface begins), "leaves" or "touches" (it grazes the surface).
    x_minus, x_plus : (n_x,) state on both sides
    slope : float
        dr/dt of the guard at the event: small means grazing.
    together : int
        How many contacts met at once.
    mode, to : str
        Modes before and after ("" for a mechanical system).
    dt_drho : (p,) float or None
        Sensitivity of the event time, if sensitivities were asked for; NaN where there is none.
    chained : bool
        Whether the event before it caused it, beyond the zero of its guard: both share one time and
        one `dt_drho`.
    directional : bool
        Whether its derivatives differ from one side of the parameters to the other, because
        several events meet.
    margin : float
        Grazing margin: how far the guard would go beyond its zero, slope**2 / (2 |d2r/dt2|), over
        the error that the tolerances leave in it. Below about 100 an error within the tolerance may
        turn the event into a miss; the relative error of `dt_drho` is some 1 / (2 margin).
    """

    x_minus: np.ndarray
    x_plus: np.ndarray
    slope: float
    together: int
    mode: str
    to: str
    dt_drho: np.ndarray | None
    chained: bool = False
    directional: bool = False
    margin: float = np.inf


@dataclass(frozen=True)
class Jump:
    """What differentiates an event: x+ = h(t, x-, rho) where r(t, x, rho) = 0.

    Attributes
    ----------
    t : float
    y : (n_x + 1,) (x, z) before it
    f_minus, f_plus : (n_x + 1,) (x', z') on both sides
    s_minus, s_plus : (n_x + 1, p) derivatives of (x, z) at a fixed time, on both sides
    dt_drho : (p,)
    slope, r_x, r_rho : float, (n_x,), (n_rho,)
        dr/dt before it, and the derivatives of r.
    h_x, h_t, h_rho : (n_x, n_x), (n_x,), (n_x, n_rho)
    chained : bool
        Whether it happened beyond the zero of r, caused by the event before: `dt_drho` is its.
    """

    t: float
    y: np.ndarray
    f_minus: np.ndarray
    f_plus: np.ndarray
    s_minus: np.ndarray
    s_plus: np.ndarray
    dt_drho: np.ndarray
    slope: float
    r_x: np.ndarray
    r_rho: np.ndarray
    h_x: np.ndarray
    h_t: np.ndarray
    h_rho: np.ndarray
    chained: bool = False


@dataclass(repr=False, eq=False)
class Trajectory(Solution):
    """Result of `EventDriven`.

    Attributes
    ----------
    x : (n_t, n_x) the whole state; of a mechanical system (q, v)
    rates : (n_t, n_x) x'
    lam, lam_t : (n_t, n_c) contact forces and friction forces, N
    lam_max : (n_t, n_c) the most that friction can be: mu lam, or mu_s lam while it sticks, N
    sticks : (n_t, n_c) bool, whether the contact sticks
    p_t : (n_t, n_c) friction impulse of an impact, N s
    slip : (n_t, n_c) sliding velocity, m/s (0 of a contact without friction)
    z : (n_t,) running cost
    S : (n_t, n_x + 1, p) sensitivities of (x, z), or p = 0
    mode : (n_t,) number of the mode (0 for a mechanical system)
    located : list of LocatedEvent, also as `events`
    march : what the kernel recorded
    """

    ROWS: ClassVar[tuple[str, ...]] = ROWS
    KEPT: ClassVar[tuple[str, ...]] = ("x", "rates", "lam", "z", "S", "mode", "slip")
    ABSENT: ClassVar[tuple[str, ...]] = (
        *Solution.ABSENT, "lam", "lam_t", "lam_max", "p_t", "slip", "sticks",
    )  # fmt: skip

    x: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    rates: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    lam: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    z: np.ndarray = field(default_factory=lambda: np.empty(0))
    S: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 0)))
    mode: np.ndarray = field(default_factory=lambda: np.empty(0, int))
    located: list[LocatedEvent] = field(default_factory=list)
    lam_t: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    lam_max: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    p_t: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    slip: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    sticks: np.ndarray = field(default_factory=lambda: np.empty((0, 0), bool))
    march: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, march: Any, fill: Callable[[], dict[str, Any]], **known: Any) -> Self:
        """Return a trajectory whose rows are made by `fill` when first looked at."""
        new = cls.__new__(cls)
        new.__dict__.update(known, march=march, _fill=fill, _made_by=fill)
        new.__post_init__()
        return new

    def forget_rows(self) -> None:
        """Make the rows anew when they are looked at: what they come from has changed."""
        for name in self.ROWS:
            self.__dict__.pop(name, None)
        for name in ("events", "event_rows", "jump_rows"):
            self.__dict__.pop(name, None)
        self.__dict__["_fill"] = self.__dict__["_made_by"]

    def __getattr__(self, name: str) -> Any:
        fill = self.__dict__.get("_fill")
        if fill is None or name not in self.ROWS:
            return super().__getattr__(name)  # type: ignore[misc]
        del self.__dict__["_fill"]
        self.__dict__.update(fill())
        self._drop()
        return getattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        self.t  # noqa: B018 (makes the rows)
        return super().__getstate__()

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        names, units = self.system.coordinates, self.system.units
        found = super().quantities
        if self.has_velocities:
            found.append(Quantity("a", self.a, "state", names, per_second(units, "2")))
        else:
            rates = [f"d_{x}" for x in names]
            found.append(Quantity("rates", self.rates, "state", names, per_second(units), rates))
        of, rough = self._of_contacts, self.system.rough
        if self.system.contacts:
            found.append(of("lam", self.lam, "N"))
        if rough:
            found += [
                of("p_t", self.p_t, "N s", rough), of("lam_t", self.lam_t, "N", rough),
                of("lam_max", self.lam_max, "N", rough), of("slip", self.slip, "m/s", rough),
                of("sticks", self.sticks, "", rough),
            ]  # fmt: skip
        return found

    if not TYPE_CHECKING:  # else they would be attributes of a system x' = ..., too

        @property
        def a(self) -> np.ndarray:
            """Accelerations, (n_t, n) in m/s2; right limits at events."""
            return self._mechanical("a").rates[:, self.q.shape[1] :]

        @cached_property
        def friction_work(self) -> np.ndarray:
            """Work of each contact's friction on the sliding since the start in J, (n_t, n_c).

            The power lam_t slip, integrated between events, and p_t (slip- + slip+) / 2 at each.
            """
            found = self._mechanical("friction_work")
            if not found.system.rough:
                return np.zeros_like(found.p)
            return rubbed(found)

    def _mechanical(self, name: str) -> Trajectory:
        """Return this run; of a system x' = ... there is no such thing."""
        if not self.has_velocities:
            return super().__getattr__(name)  # type: ignore[misc]
        return self

    @cached_property
    def events(self) -> list[LocatedEvent]:  # type: ignore[override]
        """Events in order of time; each of several contacts that meet at once has its own."""
        found = [one for event in self.located for one in (event, *self._beside(event))]
        return sorted(found, key=lambda e: e.t)  # an accumulation ends behind what it outlasts

    def _beside(self, event: LocatedEvent) -> list[LocatedEvent]:
        """Return the events of other contacts that strike where `event` is located."""
        if event.together < 2 or not self.system.contacts:
            return []
        row = event.row
        others = np.flatnonzero((self.p[row] > 0) & (self.gap_dot[row - 1] < 0))
        return [
            dataclasses.replace(
                event, contact=self.system.contacts[a].name, index=int(a),
                impulse=float(self.p[row, a]),
                kind="closed" if self.active[row, a] else "impact",
                gap_dot_minus=float(self.gap_dot[row - 1, a]),
                gap_dot_plus=float(self.gap_dot[row, a]),
            )
            for a in others if a != event.index
        ]  # fmt: skip

    @cached_property
    def event_rows(self) -> list[tuple[int, str, int]]:
        """(row of the right limit, kind, contact or guard) in order of time."""
        found = []
        for event in self.events:
            if event.kind in ("closed", "zeno") and event.impulse > 0:
                found.append((event.row, "impact", event.index))
            found.append((event.row, event.kind, event.index))
        return found

    def _runs(self, a: int) -> list[tuple[int, int]]:
        closed = self.active[:, a] == 1
        edges = np.flatnonzero(np.diff(np.concatenate([[False], closed, [False]]).astype(np.int8)))
        return [(i, j) for i, j in edges.reshape(-1, 2).tolist()]

    @cached_property
    def jump_rows(self) -> np.ndarray:
        """Rows behind an event at which the state or its derivative jumps."""
        rows = [
            e.row for e in self.located
            if not np.array_equal(e.x_minus, e.x_plus) or self.S.shape[2] > 0
        ]  # fmt: skip
        return np.unique(rows).astype(int)

    def _at(self, t: float, side: str) -> Sample:  # marched to exactly there
        x = self.state(t, side)
        n = self.q.shape[1]
        gap = self.march.gaps(np.array([t]), x[None])[0][0]
        return Sample(t, x[:n], x[n:], gap)

    def state(self, t: float, side: str = "right") -> np.ndarray:
        """Return x at one time; at an event its left or right limit."""
        here = [e for e in self.located if e.t == t]
        if here:
            return here[0].x_minus if side == "left" else here[-1].x_plus
        return self.march.sample(np.array([float(t)]))[0][0, : self.x.shape[1]]

    @property
    def nearest(self) -> float:
        """Smallest value of a guard at a near miss (in its unit), inf if there was none.

        With the `slope` of the events it is the margin to grazing, where derivatives end.
        """
        return float(self.march.watch[:, 3].min(initial=np.inf))

    def refined(self, points: int = 400) -> Trajectory:
        """Return the same run with at least `points` rows, for drawing."""
        return self if len(self.t) >= points else self.march.rows(self, points)


def rubbed(run: Trajectory) -> np.ndarray:
    """Return the work of friction at each contact since the start in J, (n_t, n_c)."""
    breaks = np.flatnonzero(np.diff(run.t) == 0) + 1
    parts = [
        np.linspace(run.t[i], run.t[i + 1], _PANELS + 1)[1:-1]
        for i in np.flatnonzero(np.diff(run.t) > 0)
    ]
    fine = run.march.rows(run, np.unique(np.concatenate([run.t, *parts])))
    power = fine.lam_t * fine.slip
    work, t = np.zeros_like(power), fine.t
    ends = np.flatnonzero(np.diff(t) == 0) + 1
    for part in np.split(np.arange(len(t)), ends):
        begin = work[part[0] - 1] if part[0] else np.zeros(power.shape[1])
        if part[0]:
            jump = 0.5 * fine.p_t[part[0]] * (fine.slip[part[0]] + fine.slip[part[0] - 1])
            begin = begin + jump
        work[part] = begin
        if len(part) > 1:
            order = min(len(part) - 1, 3)
            spline = make_interp_spline(t[part], power[part], k=order)
            work[part] += spline.antiderivative()(t[part]) - spline.antiderivative()(t[part[0]])
    place = np.searchsorted(t, run.t, side="left")
    place[breaks] += 1
    for i in breaks:  # of several events at one time
        place[i] = max(place[i], place[i - 1] + 1)
    return np.asarray(work[place])
