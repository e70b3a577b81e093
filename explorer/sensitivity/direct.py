"""`sensitivity()`: derivatives of a run by its parameters, with their jumps at the events.

The tangent linear model is marched with the state (Corner et al. 2019, eq. (14), (17), (18)); at an
event S+ = Xi S- + Pi, whose rows are eq. (35), (38) and (48), with the event-time sensitivity (33)
for a general guard. Of `FESD` the discrete equations are differentiated
(`explorer.kernels.fesd_sensitivity`). A final time that is an event adds (g + w_t + w_x x') dT/drho
to (20).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from explorer.errors import BadValue, NotApplicable, StepFailed, suggest
from explorer.event import within
from explorer.parameters import knobs_of, number
from explorer.schemes import Scheme, schemes
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.fesd import FESD
from explorer.sensitivity.cost import CompiledCost, Cost, compile_cost
from explorer.sensitivity.held_start import check_held_start
from explorer.sensitivity.saltation import Saltation, final, saltation
from explorer.sensitivity.trust import Trust, trust
from explorer.sensitivity.unlocated import check_jumps
from explorer.simulation import begin, choose, named_like_a_start
from explorer.systems import System, check_system
from explorer.trajectory import LocatedEvent, Trajectory

__all__ = ["Question", "Sensitivity", "columns", "gradient_of", "solve"]


@dataclass(frozen=True)
class Question:
    """What is asked: checked names and numbers, ready for any method."""

    system: System
    scheme: Any
    wrt: tuple[str, ...]
    places: tuple[int, ...]
    cost: CompiledCost
    rho: np.ndarray
    t_end: float
    until: tuple[str, int] | None
    t_eval: Any
    given: np.ndarray | None  # (n_x,) start, NaN where the model's own formulas hold; None: all

    def start(self, rho: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the start (n_x,) and its derivative by all parameters (n_x, n_rho)."""
        x, by_rho = self.cost.flow.start(self.rho if rho is None else rho)
        if self.given is None:
            return x, by_rho
        own = np.isnan(self.given)
        return np.where(own, x, self.given), np.where(own[:, None], by_rho, 0.0)

    def seeds(self) -> np.ndarray:
        """Derivative of the start, (n_x, p)."""
        flow = self.cost.flow
        _, by_rho = self.start()
        states = [s.name for s in flow.states]
        seeds = np.zeros((flow.n_x, len(self.wrt)))
        for k, (name, place) in enumerate(zip(self.wrt, self.places, strict=True)):
            if place >= 0:
                seeds[:, k] = by_rho[:, place]
            else:
                seeds[states.index(name), k] = 1.0
        return seeds

    def run(
        self, rho: np.ndarray | None = None, wrt: bool = True, x0: np.ndarray | None = None,
        jumps: bool = False,
    ) -> Trajectory:  # fmt: skip
        """Integrate, with the columns of this question or none; let it pass `jumps` or not."""
        rho, places = self.rho if rho is None else rho, self.places if wrt else ()
        own = self.given is None  # the scheme knows the model's own start and seeds
        if x0 is None and not own:
            x0 = self.start(rho)[0]
        solution = self.scheme.run(
            self.cost.flow, rho, self.t_end, t_eval=self.t_eval, x0=x0, wrt=places,
            seeds=None if not wrt or (own and -1 not in places) else self.seeds(),
        )  # fmt: skip
        if not solution.status.ok:
            raise StepFailed(f"'{self.system.name}': {solution.status.message}", solution)
        if wrt and isinstance(self.scheme, EventDriven):
            check_held_start(self, solution)
            if not jumps:
                check_jumps(self, solution)
        return solution

    def marches(self, what: str) -> None:
        """Refuse a scheme whose steps are not those of `EventDriven`."""
        if not isinstance(self.scheme, EventDriven):
            raise NotApplicable(
                f"{what} the steps of EventDriven: {type(self.scheme).__name__} has the methods "
                "'direct' and 'finite_difference'."
            )

    def last(self, solution: Trajectory) -> LocatedEvent | None:
        """Return the event that ends the cost, or None for the fixed final time."""
        place = self.last_place(solution)
        return None if place is None else solution.located[place]

    def last_place(self, solution: Trajectory) -> int | None:
        """Return which of the located events ends the cost, or None for the fixed final time."""
        if self.until is None:
            return None
        name, count = self.until
        hits = [k for k, e in enumerate(solution.located) if e.contact == name]
        if len(hits) < count:
            raise BadValue(
                f"The final time is event {count} of {name!r}, but only {len(hits)} happen up to "
                f"t = {solution.t[-1]:g} s; a longer t_end may reach it."
            )
        return hits[count - 1]


@dataclass(eq=False)
class Sensitivity:
    """Derivatives of a trajectory, (n_t, ...) along the rows of `solution`.

    Attributes
    ----------
    method : str
    solution : Trajectory
    wrt : names of the parameters (or of the states whose start is meant)
    cost, cost_gradient : float, (p,) psi and its gradient
    residuals : dict of what the method can say of its own exactness
    doubts : tuple of Doubt
        Events that graze, or that meet in an order that decides: behind them the columns that they
        concern are NaN.
    left, right : OneSided or None
        With ``directional="both"``, where there is such a meeting: the derivatives to either side.
    """

    method: str
    solution: Trajectory
    wrt: tuple[str, ...]
    cost: float
    cost_gradient: np.ndarray
    question: Question = field(repr=False)
    own: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    residuals: dict[str, float] = field(default_factory=dict)
    mu: np.ndarray | None = field(default=None, repr=False)
    doubts: tuple[Any, ...] = field(default=(), repr=False)
    left: Any = field(default=None, repr=False)
    right: Any = field(default=None, repr=False)

    @property
    def directional(self) -> bool:
        """Whether some derivative is another one to either side of its parameter."""
        return any(doubt.kind == "directional" for doubt in self.doubts)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences on what is not known of the derivative, and why."""
        return tuple(doubt.sentence for doubt in self.doubts)

    def along(self, direction: Any) -> float:
        """Return the derivative of the cost along a direction (p,) of the parameters.

        Where events meet it is the limit from that side (Bouligand derivative), which is not linear
        in the direction.

        Raises
        ------
        BadValue
            If the direction is not one number for each parameter, not all 0.
        """
        d = np.asarray(direction, float)
        if d.shape != (len(self.wrt),) or not np.isfinite(d).all() or not d.any():
            raise BadValue(
                f"A direction needs {len(self.wrt)} numbers ({', '.join(self.wrt)}), not all 0."
            )
        if not self.directional:
            return float(self.cost_gradient @ d)
        from explorer.sensitivity.one_sided import limit

        return limit(self.question, d).slope

    def __repr__(self) -> str:
        count = len(self.events)
        many = f"{count} event{'s' * (count != 1)}"
        return f"Sensitivity({self.method}, wrt={self.wrt}, {many}; {self.trust.summary})"

    @cached_property
    def trust(self) -> Trust:
        """What speaks for the derivative and against it: ``.ok``, ``.sentences``, its figures."""
        return trust(
            self.question, self.solution, self.cost_gradient, mu=self._adjoints,
            residuals=self.residuals,
        )  # fmt: skip

    @property
    def _adjoints(self) -> np.ndarray | None:
        return None

    def verify(self, scheme: Any = None) -> Trust:
        """Ask another method at another tolerance, and difference quotients of its runs.

        Nothing of this run is replayed; see `explorer.sensitivity.verify`.

        Parameters
        ----------
        scheme : EventDriven or FESD, optional
            By default another Runge-Kutta pair at a tenth of the tolerances.
        """
        from explorer.sensitivity.verify import verify

        return verify(self, scheme)

    @property
    def t(self) -> np.ndarray:
        """Times of the rows in s, each event twice."""
        return self.solution.t

    @property
    def events(self) -> list[LocatedEvent]:
        """Events with their `dt_drho`."""
        return self.solution.located

    @property
    def S(self) -> np.ndarray:
        """dx/drho, (n_t, n_x, p)."""
        return self.solution.S[:, :-1] if self.own is None else self.own[0]

    @property
    def Z(self) -> np.ndarray:
        """Derivative of the integral of the running cost, (n_t, p)."""
        return self.solution.S[:, -1] if self.own is None else self.own[1]

    @property
    def Q(self) -> np.ndarray:
        """dq/drho, (n_t, n, p)."""
        return self.S[:, : self.solution.q.shape[1]]

    @property
    def V(self) -> np.ndarray:
        """dv/drho, (n_t, n, p)."""
        return self.S[:, self.solution.q.shape[1] :]

    def at(self, t: Any, side: str = "right") -> np.ndarray:
        """Return S (n_x, p) at one time, or (k, n_x, p) at k; at an event its left or right limit.

        Raises
        ------
        BadValue
            If a time lies outside the run or is no number, or the side is neither.
        """
        times = within(t, side, 0.0, self.solution.march.t_last)
        shape = self.question.cost.flow.n_x, len(self.wrt)
        if times.ndim == 0:
            return self._at(float(times), side)
        return np.array([self._at(x, side) for x in times.tolist()]).reshape(len(times), *shape)

    def _at(self, t: float, side: str) -> np.ndarray:
        march, n_x = self.solution.march, self.question.cost.flow.n_x
        for k in range(len(self.events))[:: 1 if side == "left" else -1]:
            if self.events[k].t == t:
                salt = self.saltation(k)
                return (salt.S_minus if side == "left" else salt.S_plus)[:n_x]
        return march.slopes_at(np.array([t]))[0, :n_x]

    def saltation(self, k: int) -> Saltation:
        """Return Xi and Pi at event `k`, with the limits on both sides.

        Raises
        ------
        BadValue
            If there is no such event.
        """
        events = self.events
        if not -len(events) <= k < len(events):
            raise BadValue(f"There is no event {k}: the run has {len(events)}.")
        return saltation(self.solution, k, self.wrt, self.question.places)


def columns(system: System, wrt: Any, scheme: Scheme) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the checked names, and each one's place in rho (-1: the start of a state)."""
    names = list(system.parameters)
    if wrt is None:
        return tuple(names), tuple(range(len(names)))
    chosen = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    places = []
    states = system._state_names()
    for name in chosen:
        if name in names:
            places.append(names.index(name))
        elif name in states:
            places.append(-1)
        elif name in system.sizes:
            raise BadValue(
                f"{name!r} is a whole number that '{system.name}' was built with; there is no "
                "derivative by it. Compare two systems instead."
            )
        elif name in knobs_of(scheme) or name in ("h", "theta"):
            raise BadValue(
                f"{name!r} is a knob of a scheme, not of the system; ask for parameters of "
                f"'{system.name}': {', '.join(names)}."
            )
        else:
            raise BadValue(
                f"'{system.name}' has no parameter or state {name!r}."
                f"{suggest(name, [*names, *states])}"
            )
    if len(set(chosen)) != len(chosen):
        raise BadValue(f"wrt = {chosen} names a parameter twice.")
    return chosen, tuple(places)


def locating(system: Any) -> type[Scheme]:
    """Return the scheme that differentiates a system if no other one is asked for."""
    return FESD if FESD.differentiates(system) and not EventDriven.fits(system) else EventDriven


def event_names(system: Any) -> list[str]:
    """Return the names of what can happen along a run: contacts or guards."""
    return [c.name for c in system.contacts] or list(getattr(system, "guard_names", ()))


def ask(
    system: System, scheme: Any, wrt: Any, cost: Any, t_end: float | None, until: Any, t_eval: Any,
    rho: Mapping[str, Any] | None, start: Mapping[str, Any] | None = None,
) -> Question:  # fmt: skip
    """Check everything that is asked; `start` has q0, v0, x0, mode0 as `simulate` takes them."""
    check_system(system)
    more = f" with {', '.join(sorted(system.features))}" if system.features else ""
    if not any(kind.differentiates(system) for kind in schemes.values()):
        raise NotApplicable(
            f"No scheme finds sensitivities of '{system.name}', a {system.kind}{more}. "
            f"{'; '.join(f'{k.__name__} takes {k.takes}' for k in schemes.values() if k.located)}."
        )
    chosen = choose(system, locating(system) if scheme is None else scheme)
    if not chosen.differentiates(system):
        why = (
            f"takes '{system.name}' through a rewriting that is not differentiated"
            if chosen.located else "does not locate events, so its sensitivities have no jumps"
        )  # fmt: skip
        raise NotApplicable(
            f"{type(chosen).__name__} {why}: use {locating(system).__name__}. (method='discrete' "
            "differentiates the time stepping of MoreauJean, as a lesson.)"
        )
    names, places = columns(system, wrt, chosen)
    span = system.t_end if t_end is None else number(t_end, "t_end", "s")
    if isinstance(until, str):
        until = (until, 1)
    if until is not None:
        known = event_names(system)
        if until[0] not in known:
            raise BadValue(f"'{system.name}' has no event {until[0]!r}.{suggest(until[0], known)}")
    begun = dict(start or {})
    values = system.rho({**(rho or {}), **named_like_a_start(system, begun)})
    compiled = compile_cost(system, Cost.of(cost), chosen)
    flow, found = begin(chosen, system, compiled.flow, begun)
    given = np.full(flow.n_x, np.nan) if found else None
    for what, part in (("x0", slice(None)), ("q0", slice(flow.n)), ("v0", slice(flow.n, None))):
        if what in found:
            given[part] = found[what]  # type: ignore[index]
    return Question(
        system, chosen, names, places, compiled.of(flow), np.array(values), span, until, t_eval,
        given,
    )  # fmt: skip


def solve(question: Question, jumps: bool = False) -> Sensitivity:
    """Direct method; with `jumps` also where it misses those that no event locates."""
    solution = question.run(jumps=jumps)
    value, gradient = gradient_of(question, solution)
    return Sensitivity("direct", solution, question.wrt, value, gradient, question)


def gradient_of(question: Question, solution: Trajectory) -> tuple[float, np.ndarray]:
    """Return psi and its gradient from the state and its sensitivities at the final time."""
    last, n_x = question.last_place(solution), question.cost.flow.n_x
    march = solution.march
    if last is None:
        t, x, z, S = march.end()
    else:
        t, x, z, S, rates, dt_drho = final(solution, last)
    if last is None and question.cost.cost.w is None:
        return float(z), S[n_x].copy()
    w, w_t, w_x, w_rho = question.cost.terminal(t, x, question.rho)
    by_rho = np.array([w_rho[k] if k >= 0 else 0.0 for k in question.places])
    gradient = S[n_x] + w_x @ S[:n_x] + by_rho
    if last is not None:
        gradient = gradient + (rates[n_x] + w_t + w_x @ rates[:n_x]) * dt_drho
    return float(z + w), gradient
