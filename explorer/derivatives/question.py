"""What is asked of a derivative: checked names and numbers, ready for any method.

A final time that is an event adds (g + w_t + w_x x') dT/drho to Corner et al. 2019, eq. (20).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.arguments import items
from explorer.compiled.assembly import assembly
from explorer.compiled.held import schedule_of
from explorer.derivatives.captures import check_captures, unexplained
from explorer.derivatives.cost import CompiledCost, Cost, CostLike, compile_cost
from explorer.derivatives.held_start import check_held_start
from explorer.derivatives.saltation import final
from explorer.derivatives.unlocated import check_jumps
from explorer.derivatives.until import final_event
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import as_row, begin, named_like_a_start, with_inputs
from explorer.errors import BadValue, NotApplicable, StepFailed, suggest
from explorer.parameters import knobs_of, number
from explorer.quantities import quantity
from explorer.results.event import LocatedEvent
from explorer.results.solution import Solution
from explorer.runs.event_driven.columns import active_of, column_of
from explorer.schemes import Scheme, schemes
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.fesd import FESD
from explorer.systems import System, check_system
from explorer.systems.drive import Input, Inputs
from explorer.systems.driving import redriven
from explorer.types import Names, Numbers, Plain, Reals, Settings

__all__ = ["Question", "ask", "columns", "cost_of", "event_names", "gradient_of", "locating"]


@dataclass(frozen=True)
class Question:
    """What is asked: checked names and numbers, ready for any method."""

    system: System
    scheme: Scheme
    wrt: tuple[str, ...]
    places: tuple[int, ...]
    cost: CompiledCost
    rho: np.ndarray
    t_end: float
    until: tuple[str, int] | None
    t_eval: Reals | None
    given: np.ndarray | None  # (n_x,) start, NaN where the model's own formulas hold; None: all
    values: tuple[int, ...] = ()  # of which value of an input each column is, -1: of none

    @property
    def columns(self) -> tuple[int, ...]:
        """What runs are asked for: see `explorer.runs.event_driven.columns`."""
        if not self.values:
            return self.places
        many = len(self.rho)
        pairs = zip(self.places, self.values, strict=True)
        return tuple(w if k < 0 else column_of(w, k, many) for w, k in pairs)

    def active(self, t: float) -> list[int]:
        """Return the parameter of each column at a time, -1 where it does not count."""
        schedule = schedule_of(self.system)
        if schedule is None:
            return list(self.places)
        k = int(schedule.intervals(np.array([t]))[0])
        found: list[int] = active_of(self.system, self.columns)[k].tolist()
        return found

    def at_the_end(self, w_rho: np.ndarray, t: float) -> np.ndarray:
        """Return the derivatives of a terminal cost at time t by the columns, (p,)."""
        return np.array([w_rho[k] if k >= 0 else 0.0 for k in self.active(t)])

    def value(self, j: int) -> float:
        """Return the value of the parameter, input or start of column `j`."""
        place, k, drive = self.places[j], self.values[j] if self.values else -1, self.system.drive
        if place < 0:
            names = [s.name for s in self.cost.flow.states]
            return float(self.start()[0][names.index(self.wrt[j])])
        if k < 0 or drive is None:
            return float(self.rho[place])
        return float(np.asarray(drive.inputs[list(self.system.parameters)[place]].values)[k])

    def at(self, changes: Mapping[int, float]) -> Question:
        """Return the question at other values of the parameters and inputs of some columns."""
        rho, system, names = self.rho.copy(), self.system, list(self.system.parameters)
        inputs: dict[str, np.ndarray] = {}
        for j, value in changes.items():
            place, k = self.places[j], self.values[j] if self.values else -1
            if k < 0 or system.drive is None:
                rho[place] = value
                continue
            name = names[place]
            inputs.setdefault(name, np.array(system.drive.inputs[name].values))[k] = value
        if not inputs or system.drive is None:
            return dataclasses.replace(self, rho=rho)
        kept = system.drive.inputs
        signals = {k: Input(kept[k].grid, x, kept[k].kind) for k, x in inputs.items()}
        other = redriven(system, signals)
        cost = compile_cost(other, self.cost.cost, self.scheme)
        return dataclasses.replace(self, system=other, cost=cost, rho=_rho_of(other, rho))

    def moved(self, j: int, size: float) -> Question:
        """Return the question at another value of the parameter or input of column `j`."""
        return self.at({j: self.value(j) + size})

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
        x, by_rho = self.start()
        states = [s.name for s in flow.states]
        seeds = np.zeros((flow.n_x, len(self.wrt)))
        for k, (name, place) in enumerate(zip(self.wrt, self.places, strict=True)):
            if place >= 0:
                seeds[:, k] = by_rho[:, place]
            else:
                seeds[states.index(name), k] = 1.0
        if getattr(flow, "assembles", False):
            along = np.arange(len(self.rho))[:, None] == np.array(self.places)
            return assembly(self.system).start(self.rho, x, seeds, along.astype(float))[1]
        return seeds

    def run(
        self,
        rho: np.ndarray | None = None,
        wrt: bool = True,
        x0: np.ndarray | None = None,
        jumps: bool = False,
        events: bool = False,
    ) -> Solution:
        """Integrate, with the columns of this question or none; let it pass `jumps` or not.

        With `events`, and without columns, what happens at the events is differentiated.
        """
        rho, places = self.rho if rho is None else rho, self.columns if wrt else ()
        own = self.given is None  # the scheme knows the model's own start and seeds
        if x0 is None and not own:
            x0 = self.start(rho)[0]
        known: Plain = {"t_eval": self.t_eval, "x0": x0, "wrt": places}
        if wrt and not (own and -1 not in places):
            known["seeds"] = self.seeds()
        if events:
            known["events_wrt"] = self.columns

        solution = self.scheme.run(self.cost.flow, rho, self.t_end, **known)
        if not solution.status.ok:
            raise StepFailed(f"'{self.system.name}': {solution.status.message}", solution)
        if (wrt or events) and isinstance(self.scheme, EventDriven):
            check_held_start(self, solution)
            if found := unexplained(solution.march):
                check_captures(self, solution if wrt else self.run(), found)
            if not jumps:
                check_jumps(self, solution)
        return solution

    def marches(self, what: str) -> EventDriven:
        """Return the scheme; refuse a scheme whose steps are not those of `EventDriven`."""
        if not isinstance(self.scheme, EventDriven):
            raise NotApplicable(
                f"{what} the steps of EventDriven: {type(self.scheme).__name__} has the methods "
                "'direct' and 'finite_difference'."
            )
        return self.scheme

    def last(self, solution: Solution) -> LocatedEvent | None:
        """Return the event that ends the cost, or None for the fixed final time."""
        place = self.last_place(solution)
        return None if place is None else solution.located[place]

    def last_place(self, solution: Solution) -> int | None:
        """Return which of the located events ends the cost, or None for the fixed final time."""
        if self.until is None:
            # a fall ends the run, and its time moves with the parameters
            march, near = getattr(solution, "march", None), 1e-12 * self.t_end
            end = self.t_end if march is None else march.t_last
            early = end < self.t_end - near and bool(solution.located)
            fell = early and solution.located[-1].t > end - near
            return len(solution.located) - 1 if fell else None
        name, count = self.until
        hits = [k for k, e in enumerate(solution.located) if e.contact == name]
        if len(hits) < count:
            raise BadValue(
                f"The final time is event {count} of {name!r}, but only {len(hits)} happen up to "
                f"t = {quantity(solution.t[-1], 's')}; a longer t_end may reach it."
            )
        return hits[count - 1]


def columns(
    system: System, wrt: Names | None, scheme: Scheme
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the checked names, and each one's place in rho (-1: the start of a state)."""
    names = list(system.parameters)
    changing = set() if system.drive is None else {*system.drive.names}
    if wrt is None:
        fixed = [k for k, name in enumerate(names) if name not in changing]
        return tuple(names[k] for k in fixed), tuple(fixed)
    chosen = expanded(system, tuple(items(wrt, "wrt", str)))
    places = []
    states = system._state_names()
    for name in chosen:
        if _value_of(system, name) >= 0:
            places.append(names.index(name.partition("[")[0]))
        elif name in changing:
            raise BadValue(
                f"The input {name.partition('_')[0]!r} changes along the run: differentiate by its "
                f"values, '{name.partition('_')[0]}[0]', ..., or by all of them, "
                f"'{name.partition('_')[0]}[:]'."
            )
        elif name in names:
            places.append(names.index(name))
        elif name in states:
            places.append(-1)
        elif name in system.sizes:
            raise BadValue(
                f"{name!r} is an integer that '{system.name}' was built with, so no derivative by "
                "it exists. Compare two systems instead."
            )
        elif name in knobs_of(scheme) or name in ("h", "theta"):
            raise BadValue(
                f"{name!r} is an option of a scheme, not a parameter of the system. Parameters of "
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


def expanded(system: System, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names with each ``u[:]`` replaced by those of all values of the input u."""
    found: list[str] = []
    for name in names:
        signal = None
        if system.drive is not None and str(name).endswith("[:]"):
            signal = system.drive.inputs.get(name[:-3])
        found += (
            [name] if signal is None else [f"{name[:-3]}[{k}]" for k in range(len(signal.values))]
        )
    return tuple(found)


def _value_of(system: System, name: str) -> int:
    """Return the number of the value that ``u[3]`` names, -1: it names none.

    Raises
    ------
    BadValue
        The input has no such value.
    """
    if system.drive is None:
        return -1
    match = re.fullmatch(r"(\w+)\[(\d+)\]", str(name))
    if match is None or match[1] not in system.drive.inputs:
        return -1
    k, many = int(match[2]), len(system.drive.inputs[match[1]].values)
    if k >= many:
        raise BadValue(
            f"The input {match[1]!r} has {many} values, '{match[1]}[0]' to "
            f"'{match[1]}[{many - 1}]', and no {name!r}."
        )
    return k


def _rho_of(system: System, rho: np.ndarray) -> np.ndarray:
    """Return parameters with the first values of the inputs of a driven system."""
    other, drive = rho.copy(), system.drive
    if drive is not None:
        other[drive.places_in(system)] = drive.values[0]
    return other


def locating(system: System) -> type[Scheme]:
    """Return the scheme that differentiates a system if no other one is asked for."""
    return FESD if FESD.differentiates(system) and not EventDriven.fits(system) else EventDriven


def event_names(system: System) -> list[str]:
    """Return the names of what can happen along a run: contacts and changes, or guards."""
    names = [c.name for c in system.contacts] or list(getattr(system, "guard_names", ()))
    return names + [c.name for c in system.constraints if c.when is not None]


def ask(
    system: System,
    scheme: Scheme | type[Scheme] | str | None,
    wrt: Names | None,
    cost: CostLike | None,
    t_end: float | None,
    until: str | tuple[str, int] | None,
    t_eval: Reals | None,
    rho: Numbers | None,
    start: Settings | None = None,
    u: Inputs | None = None,
) -> Question:
    """Check everything that is asked; `start` has q0, v0, x0, mode0 as `simulate` takes them."""
    check_system(system)
    able = isinstance(scheme, Scheme) and scheme.differentiates(system)
    if not able and not any(kind.differentiates(system) for kind in schemes.values()):
        more = f" with {', '.join(sorted(system.features))}" if system.features else ""
        located = [f"{k.__name__} accepts {k.takes}" for k in schemes.values() if k.located]
        raise NotApplicable(
            f"No scheme computes sensitivities of '{system.name}', a {system.kind}{more}. "
            f"{'; '.join(located)}.{' For maps use study.orbit_derivatives.' * system.discrete}"
        )
    chosen = choose(system, locating(system) if scheme is None else scheme)
    if not (able or chosen.differentiates(system)):
        why = (
            f"accepts '{system.name}' only after a reformulation that is not differentiated"
            if chosen.located
            else "does not locate events, so its sensitivities have no jumps"
        )
        raise NotApplicable(
            f"{type(chosen).__name__} {why}: use {locating(system).__name__}. (As a lesson, "
            "method='discrete' differentiates the time stepping of MoreauJean.)"
        )
    span = system.t_end if t_end is None else number(t_end, "t_end", system.time_unit)
    system, given_rho = with_inputs(system, u, span, {}, dict(rho or {}))
    names, places = columns(system, wrt, chosen)
    last = final_event(system, until, event_names(system))
    begun = dict(start or {})
    values = system.rho({**given_rho, **named_like_a_start(system, begun)})
    compiled = compile_cost(system, Cost.of(cost), chosen)
    flow, found = begin(chosen, system, compiled.flow, begun)
    given = np.full(flow.n_x, np.nan) if found else None
    for what, part in (("x0", slice(None)), ("q0", slice(flow.n)), ("v0", slice(flow.n, None))):
        if what in found:
            given[part] = found[what]  # type: ignore[index]
    return Question(
        system,
        chosen,
        names,
        places,
        compiled.of(flow),
        np.array(values),
        span,
        last,
        None if t_eval is None else as_row(t_eval, "t_eval"),
        given,
        _values(system, names),
    )


def _values(system: System, names: Sequence[str]) -> tuple[int, ...]:
    """Return of which value of an input each column is."""
    if system.drive is None:
        return ()
    return tuple(_value_of(system, name) for name in names)


def cost_of(question: Question, solution: Solution) -> float:
    """Return psi."""
    t, x, z, *_ = _final(question, solution)
    return float(z + question.cost.terminal(t, x, question.rho)[0])


def gradient_of(question: Question, solution: Solution) -> tuple[float, np.ndarray]:
    """Return psi and its gradient from the state and its sensitivities at the final time."""
    n_x = question.cost.flow.n_x
    t, x, z, S, rates, dt_drho = _final(question, solution)
    if rates is None and question.cost.cost.w is None:
        return float(z), S[n_x].copy()
    w, w_t, w_x, w_rho = question.cost.terminal(t, x, question.rho)
    by_rho = question.at_the_end(w_rho, t)
    gradient = S[n_x] + w_x @ S[:n_x] + by_rho
    if rates is not None:
        gradient = gradient + (rates[n_x] + w_t + w_x @ rates[:n_x]) * dt_drho
    return float(z + w), gradient


def _final(
    question: Question, solution: Solution
) -> tuple[float, np.ndarray, float, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return t, x, z, S at the final time; of an event rates and dt_drho too, else None."""
    last = question.last_place(solution)
    return (*solution.march.end(), None, None) if last is None else final(solution, last)
