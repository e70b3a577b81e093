"""Return map P of a hybrid flow, and its Jacobian from the saltation matrices.

On a section (a guard or a contact) P(x) is the state just after the `count`-th event of the flow
that starts in x. Its derivative is that of the state *at* the event, which moves with x::

    DP = S+ + f+ dT/dx,    S+ = Xi S- + Pi

(Leine and Nijmeijer, *Dynamics and Bifurcations of Non-Smooth Mechanical Systems*, 2004, ch. 7;
Corner et al. 2019, eq. (33)-(38)). x need not lie on the section. Of a forced system P(x) is the
state one period after x and DP = S(T), the monodromy matrix.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import sympy as sp

from explorer.compiled.assembly import assembly
from explorer.derivatives.held_start import directions
from explorer.derivatives.question import ask, event_names
from explorer.derivatives.trust import Trust, trust
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import begun_in, simulate
from explorer.errors import BadModel, BadValue, NotApplicable, StepFailed, suggest
from explorer.parameters import number, whole
from explorer.quantities import quantity
from explorer.results.event import LocatedEvent
from explorer.results.solution import Solution
from explorer.runs.fesd.tangents import on_surface
from explorer.schemes.event_driven import EventDriven
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.forcing import check_period, depends_on_time
from explorer.study.near_misses import Guard, NearMisses
from explorer.systems import (
    HybridSystem,
    System,
)
from explorer.systems.expressions import expression
from explorer.types import Numbers, Value

__all__ = ["Guess", "Return", "ReturnMap"]

Guess: TypeAlias = float | Sequence[float] | np.ndarray | Numbers  # a state, or its entries by name


_SAME, _OFTEN = 1e-4, 6  # of the largest state; how many times the asked count is looked for
_BEHIND = 1e-6  # of the largest state: a guard this far behind has been passed


@study
@dataclass(frozen=True)
class Return:
    """One value of a return map.

    Attributes
    ----------
    x : (n_x,) the state that returns
    T : float, time of the return in s
    jacobian : (n_x, n_x) DP; zero across the directions `free`
    run : Solution from x, with its derivatives by x
    free : (n_x, k), optional
        Orthonormal directions along the contacts that are held where the map begins; what opens
        one, or makes it slide, has no derivative. None: nothing is held, and x may move in all
    """

    x: np.ndarray
    T: float
    jacobian: np.ndarray
    run: Solution
    free: np.ndarray | None = None


@study
class ReturnMap:
    """Return map of a system, on a section or over a period.

    Parameters
    ----------
    system : MechanicalSystem, HybridSystem or StepSystem
    scheme : EventDriven, optional
        By default with rtol = 1e-11, atol = 1e-12, because Newton's method needs many digits.
    section : str, optional
        A guard, a contact, or a constraint with a `when`, by name. Impacts of a contact count, and
        where a constraint begins to hold; releases do not.
    period : float or formula of the parameters, optional
        In s; for a system that depends on t.
    count : int
        The event that ends the map, counted from 1; periods, with `period`.
    t_max : float, optional
        Maximum time in s to wait for the event; by default t_end of the system.
    rho : parameters by name

    Attributes
    ----------
    mode : str or None
        For a hybrid system, the mode of x: the mode after the section.

    Raises
    ------
    BadValue, NotApplicable
        If the section is unknown, both or none of section and period are given, the flow depends
        on t, or is another one after a period.
    """

    def __init__(
        self,
        system: System,
        scheme: Chosen | None = None,
        section: str | None = None,
        *,
        period: Value | None = None,
        count: int = 1,
        t_max: float | None = None,
        rho: Numbers | None = None,
    ) -> None:
        chosen = choose(system, EventDriven(rtol=1e-11, atol=1e-12) if scheme is None else scheme)
        if not isinstance(chosen, EventDriven):
            raise NotApplicable(
                f"{type(chosen).__name__} does not locate events: the Jacobian of a return map "
                "needs EventDriven."
            )
        self.system, self.scheme, self.count = system, chosen, whole(count, "count")
        self.rho = np.array(system.rho(rho))
        self.values = dict(zip(system.parameters, self.rho.tolist(), strict=True))
        self.section = _section(system, section, period)
        self.period = None if period is None else self.count * self._number(period)
        if self.period is not None:
            check_period(system, self.period, self.values)
        self.t_max = (
            system.t_end if t_max is None else number(t_max, "t_max", self._unit, positive=True)
        )
        self.compiled = chosen.compile(system)
        self.mode = self._mode()
        self.states = tuple(s.name for s in self.compiled.states)
        self._span, self._last = self.t_max, 0.0

    @property
    def _unit(self) -> str:
        """The unit of time."""
        return self.system.time_unit

    def _number(self, period: Value) -> float:
        formula = expression(period, self.system.symbols(state=False), "period")
        value = formula.xreplace({sp.Symbol(k): sp.Float(v) for k, v in self.values.items()})
        return number(sp.N(value), "period", self._unit, positive=True)

    def _mode(self) -> str | None:
        system = self.system
        if not isinstance(system, HybridSystem):
            return None
        start = system.modes[system.start_mode].name
        guards = [g for g in system.guards if g.name == self.section]
        to = [system.modes[k].name for g in guards for k in g.targets]
        return start if start in to or not to else to[0]

    def start(self, guess: Guess | None = None) -> np.ndarray:
        """Return the first state: `guess`, or the start of the model.

        A model whose start is in another mode than the section's is run to its first event there,
        and one that starts on a switching surface, as at rest, for a period.

        Raises
        ------
        BadValue
            If the guess has a wrong length or an unknown state, or the run does not reach the
            section.
        """
        begin, _ = self.compiled.start(self.rho.tolist())
        if guess is None:
            if self.period is not None and on_surface(self.system, self.rho, begin):
                return np.asarray(self._run(begin, self.period, None).x[-1])
            if self.mode is None or self._hybrid.modes[self._hybrid.start_mode].name == self.mode:
                return begin
            run = self._run(begin, self.t_max, None)
            hits = [e for e in run.located if self._ends(e)]
            if not hits:
                raise BadValue(self._unmet(run))
            state: np.ndarray = hits[0].x_plus
            return state
        if isinstance(guess, Mapping):
            for name, value in guess.items():
                if name not in self.states:
                    raise BadValue(
                        f"guess: '{self.system.name}' has no state {name!r}."
                        f"{suggest(name, self.states)}"
                    )
                begin[self.states.index(name)] = number(value, f"guess of {name}")
            return begin
        items = list(guess) if isinstance(guess, Iterable) and np.ndim(guess) else [guess]
        if len(items) != len(self.states):
            raise BadValue(
                f"The guess needs {len(self.states)} numbers ({', '.join(self.states)}), but "
                f"{len(items)} are given."
            )
        return np.array([number(x, f"guess[{i}]") for i, x in enumerate(items)])

    def __call__(self, x: np.ndarray) -> Return:
        """Return P(x) with its Jacobian.

        Raises
        ------
        BadValue
            The section is not met.
        BadModel
            x lies inside an obstacle.
        StepFailed
            The run stopped before the event.
        """
        n_x = len(x)
        if self.period is not None:
            run = self._run(x, self.period, n_x)
            if not run.status.ok or run.t[-1] < self.period:
                raise StepFailed(
                    f"'{self.system.name}' does not reach the end of the period: "
                    f"{run.status.message}",
                    run,
                )
            if self.mode is not None and self._name_of(run.mode[-1]) != self.mode:
                raise BadValue(
                    f"After one period '{self.system.name}' is in the mode "
                    f"{self._name_of(run.mode[-1])!r} and not in {self.mode!r}: no return."
                )
            return self._returned(run.x[-1], self.period, run.S[-1][:n_x], run)
        for span in dict.fromkeys((min(self._span, self.t_max), self.t_max)):
            run = self._run(x, span, n_x)
            hits = [e for e in run.located if self._ends(e)]
            if len(hits) >= self.count:
                break
        else:
            if not run.status.ok:
                raise StepFailed(f"'{self.system.name}': {run.status.message}", run)
            raise BadValue(self._unmet(run))
        event = hits[self.count - 1]
        self._span, self._last = 2 * event.t, event.t
        march, k = run.march, run.located.index(event)
        S = march.part("s_plus")[k].reshape(n_x, n_x + 1).T[:n_x]
        DP = S + np.outer(march.part("f_plus")[k, :n_x], march.part("dtau")[k])
        return self._returned(event.x_plus.copy(), event.t, DP, run)

    def _returned(self, x: np.ndarray, T: float, DP: np.ndarray, run: Solution) -> Return:
        """Return a value of the map with its derivative along the contacts held at the start."""
        free = directions(run)
        if free is None:
            return Return(x, T, DP, run)
        return Return(x, T, DP @ free @ free.T, run, free)

    def recurrence(self, x: np.ndarray) -> str:
        """Return that the motion from x meets the section more often in a cycle, if it does so."""
        if self.period is not None:
            return ""
        met = [x, *(e.x_plus for e in self._run(x, self.t_max, None).located if self._ends(e))]
        for many in range(self.count, min(_OFTEN * self.count, len(met) - 1) + 1):
            if np.abs(met[-1] - met[-1 - many]).max() <= _SAME * np.abs(met).max():
                often = f"meets {self.section!r} {many} times a cycle: use count={many}."
                return f" The motion from the guess {often}" if many > self.count else ""
        return ""

    def same_side(self, x: np.ndarray, new: np.ndarray) -> bool:
        """Whether no guard that lies ahead of a state lies behind another one.

        Guards of the mode that fire in one direction only: a state that has passed one would never
        meet it. The section itself is left out.
        """
        for guard in self._guards:
            ahead, behind = (guard.side * guard.value(0.0, s, self.rho) for s in (x, new))
            least = _BEHIND * (1 + float(np.abs(x).max()))
            if ahead > least and behind < -least:
                return False
        return True

    @cached_property
    def _guards(self) -> list[Guard]:
        """The guards of the mode in which the map begins, other than the section."""
        if self.mode is None:
            return []
        mode = [m.name for m in self._hybrid.modes].index(self.mode)
        found = [g for g in NearMisses(self.system).guards if g.mode == mode and g.side]
        return [g for g in found if g.when is None and g.name != self.section]

    def trust(self, back: Return) -> Trust:
        """Return the trust in the Jacobian of a return, whose run is looked at up to its end."""
        until = None if self.period is not None else (str(self.section), self.count)
        names, run, solution = list(self.states), back.run.march, back.run
        slopes = back.jacobian
        if back.free is not None:  # columns in the free directions, by their main states
            names = [names[int(np.abs(column).argmax())] for column in back.free.T]
            solution = self.scheme.run(
                self.compiled,
                self.rho,
                float(run.t_last),
                x0=run.steps.y[0, : run.flow.n_x].copy(),
                wrt=(-1,) * len(names),
                seeds=back.free,
                t_eval=[float(run.t_last)],
            )
            run, slopes = solution.march, slopes @ back.free
        question = ask(self.system, self.scheme, self.states, None, None, None, None, self.values)
        begun = run.steps.y[0, : run.flow.n_x]
        asked = dataclasses.replace(
            question,
            until=until,
            t_end=run.t_end,
            given=begun.copy(),
            cost=question.cost.of(run.flow),
            wrt=tuple(names),
            places=(-1,) * len(names),
        )
        if until is not None:  # the count of the map leaves out what does not end it
            hits = [e for e in back.run.located if e.contact == self.section]
            mine = [i for i, e in enumerate(hits, 1) if self._ends(e) and e.t <= back.T]
            asked = dataclasses.replace(asked, until=(str(self.section), mine[-1]))
        return trust(asked, solution, slopes)

    def cycle(self, x: np.ndarray, T: float) -> Solution:
        """Return the run from x over one return, its last event included."""
        # the last event must not be lost to round-off of T
        span = T if self.period is not None else T * (1 + 1e-9)
        return simulate(
            self.system,
            self.scheme,
            x0=self._held(x),
            t_end=span,
            mode0=self.mode,
            rho=self.values,
            throw=False,
        )

    def _ends(self, event: LocatedEvent) -> bool:
        # a start on the guard itself is no return, nor is one a hair before it
        crossed = np.array_equal(event.x_minus, event.x_plus)
        late = event.t > max(1e-9 * self.t_max, 1e-4 * self._last * crossed)
        return event.contact == self.section and event.kind != "released" and late

    def _run(self, x: np.ndarray, span: float, n_x: int | None) -> Solution:
        compiled, x = self.compiled, self._held(x)
        if n_x is None:
            return self.scheme.run(compiled, self.rho, span, x0=x)
        if self.mode is not None:
            compiled = begun_in(compiled, self._hybrid, self.mode)
        return self.scheme.run(
            compiled, self.rho, span, x0=x, wrt=(-1,) * n_x, seeds=np.eye(n_x), t_eval=[span]
        )

    def _held(self, x: np.ndarray) -> np.ndarray:
        """Return the state on the constraints next to x: Newton's steps leave them."""
        return assembly(self.system)(self.rho, x) if self.system.constraints else x

    @property
    def _hybrid(self) -> HybridSystem:
        """The system of a map whose states have modes."""
        assert isinstance(self.system, HybridSystem)
        return self.system

    def _name_of(self, mode: float) -> str:
        return self._hybrid.modes[int(mode)].name

    def _unmet(self, run: Solution) -> str:
        seen = ", ".join(dict.fromkeys(e.contact for e in run.located)) or "none"
        return (
            f"Event {self.count} of the section {self.section!r} does not happen up to "
            f"t = {quantity(run.t[-1], self._unit)} (events that do: {seen}). Another guess or a "
            "longer t_max may reach it."
        )


def _section(system: System, section: str | None, period: Value | None) -> str | None:
    """Return the checked section; None for a period."""
    known = event_names(system)
    if period is not None:
        if section is not None:
            raise BadValue("Give a section or a period, not both.")
        return None
    if section is None:
        raise BadValue(
            f"A return map needs a section, such as section={known[0]!r}, or a period."
            if known
            else "A return map needs a section or, for a forced system, a period."
        )
    if section not in known:
        raise BadValue(f"'{system.name}' has no event {section!r}.{suggest(section, known)}")
    if depends_on_time(system):
        raise BadModel(
            f"'{system.name}' depends on t, so a return to {section!r} has another phase. Give its "
            "period instead, such as period='2*pi/omega'."
        )
    return section
