"""`Plan`: what `optimize` returns: controls, states, the sequence, and what is known of them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from explorer.control.again import SOLVED, checked_begin, later, replanned
from explorer.control.compiled_task import point
from explorer.control.problem import OptimalControlProblem
from explorer.control.replay import Replay, replay
from explorer.errors import BadValue, suggest
from explorer.quantities import quantity
from explorer.systems import HybridSystem
from explorer.transcription.active_set import ends, lengths, stage_times
from explorer.transcription.horizon import over
from explorer.transcription.pipeline import Outcome, Pipeline
from explorer.transcription.sequence import Sequence
from explorer.types import Plain, Reals

__all__ = ["Part", "Plan"]

INEXACT = 1e-3  # of the states: a defect that a plan must not have


@dataclass(frozen=True)
class Part:
    """An active set of a plan: from `begin` to `end` in s, the signs, and its name."""

    begin: float
    end: float
    signs: tuple[int, ...]
    name: str


@dataclass(frozen=True, repr=False)
class Plan:
    """Result of `optimize`.

    Attributes
    ----------
    task : OptimalControlProblem
    status : str
        "stationary": a first-order optimum, on its own sequence of active sets and on all sequences
        beside it. "at a kink": a first-order optimum on its own sequence, but some sequence beside
        it could not be judged. "infeasible": the constraints cannot hold together; `unmet` names
        them. "inexact": a first-order optimum of the discretised problem, but the exact replay
        misses by more than a thousandth: use more intervals, elements or stages. "not converged":
        the solver stopped early. "stopped": interrupted.
    message : str
    objective : float
    t : (N + 1,) float
        Ends of the control intervals in s.
    x : (N + 1, n_x) float
    u : (N, n_u) float
    rho : dict of str to float
        The parameters that are no controls.
    log : list of dict
        One entry for each solve: stage, objective, iterations, status, seconds.
    """

    task: OptimalControlProblem
    status: str
    message: str
    objective: float
    t: np.ndarray
    x: np.ndarray
    u: np.ndarray
    rho: dict[str, float]
    log: list[Plain]
    outcome: Outcome
    pipeline: Pipeline

    @property
    def ok(self) -> bool:
        """Whether the plan is a first-order optimum of its problem."""
        return self.status == "stationary"

    @property
    def t_end(self) -> float:
        """The final time in s."""
        return float(self.t[-1])

    @cached_property
    def trajectory(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (n_t,) and states (n_t, n_x) at the start and at all stages."""
        program, w = self.outcome.program, self.outcome.w
        t = stage_times(program, w).ravel()
        x = w[program.of["x"]].reshape(t.size, -1)
        return np.append(self.t[0], t), np.vstack([self.x[:1], x])

    @cached_property
    def multipliers(self) -> dict[str, float]:
        """Multipliers of the end constraints, by their text, and of the bounds of T ("t_end").

        The derivative of the objective by the value that the constraint asks for.
        """
        program, solved = self.outcome.program, self.outcome.point
        ends_ = zip(self.task.end_rules, program.rows["end"], strict=True)
        found = {rule[3]: -float(solved.row_multipliers[row]) for rule, row in ends_}
        if self.task.times[0] == self.task.times[1]:
            found["t_end"] = -float(solved.w_multipliers[program.of["T"]])
        return found

    @property
    def residuals(self) -> dict[str, float]:
        """Largest violation of a row or bound, of the gradient of the Lagrangian, of products."""
        solved = self.outcome.point
        return {
            "violation": solved.violation,
            "stationarity": solved.stationarity,
            "complementarity": self.complementarity,
        }

    @property
    def complementarity(self) -> float:
        """Largest product of a multiplier lambda and its alpha or 1 - alpha (or theta)."""
        program, w = self.outcome.program, self.outcome.w
        m, lam, n = w[program.of["m"]], w[program.of["lam"]], program.formulas.n_c
        if not lam.size or program.formulas.modes:
            return 0.0
        if program.formulas.cells is not None:
            return float(np.abs(lam * m).max())
        return float(max(np.abs(lam[..., :n] * m).max(), np.abs(lam[..., n:] * (1 - m)).max()))

    @property
    def sequence(self) -> list[Part]:
        """The active sets in order."""
        if self.outcome.plan is None or not self.outcome.program.formulas.n_c:
            return []
        sequence = self.outcome.plan.sequence
        times = [float(self.t[0]), *(c.t for c in sequence.changes), self.t_end]
        return [
            Part(begin, end, sequence.signs(i), self._named(sequence.signs(i)))
            for i, (begin, end) in enumerate(itertools.pairwise(times))
        ]

    def _named(self, signs: tuple[int, ...]) -> str:
        system = self.task.system
        if isinstance(system, HybridSystem):
            return system.modes[signs[0]].name
        return system.mode_name(signs)

    @property
    def switches(self) -> np.ndarray:
        """The times of the changes of the active set in s."""
        return np.array([part.begin for part in self.sequence[1:]])

    @property
    def biactive(self) -> list[tuple[float, str, str]]:
        """Time, switching function and what is biactive: places where the cost has a kink."""
        system = self.task.system
        names: Several[str] = system.guard_names
        if isinstance(system, HybridSystem):
            names = [guard.name for guard in system.guards]
        found = {(p.t, names[p.function], p.what): None for p in self.outcome.places}
        return list(found)

    @property
    def unmet(self) -> dict[str, float]:
        """The end and path constraints that cannot hold, and by how much they are missed."""
        program, w = self.outcome.program, self.outcome.w
        found = {}
        for rule, pair in zip(self.task.end_rules, w[program.of["end"]], strict=True):
            found[f"end: {rule[3]}"] = float(np.max(pair))
        path = w[program.of["path"]]
        for i, rule in enumerate(self.task.path_rules):
            found[f"path: {rule[3]}"] = float(path[..., i, :].max())
        return {k: v for k, v in found.items() if v > 1e-8}

    @cached_property
    def _replay(self) -> Replay:
        task = self.task
        begin, goals = self._ends(1e-9 * self.t_end)
        names = task.control_names
        return replay(task.system, self.t, begin, goals, self.u, names, self.rho, self.modes)

    def _ends(self, near: float) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the state with which each interval begins, and those in which it may end.

        At a jump on a boundary of intervals there are several: before and after it.
        """
        program, w = self.outcome.program, self.outcome.w
        E, h = program.grid.elements, lengths(program, w)
        states = np.asarray(program.begun(w, self.outcome.p), float).T
        last = w[program.of["x"]][:, :, -1]
        real = [np.flatnonzero(one > near) for one in h]
        spans = [(e[0], e[-1]) if e.size else (0, E - 1) for e in real]
        firsts = [k * E + first for k, (first, _) in enumerate(spans)]
        begin, goals = states[firsts], []
        for k, (_, final) in enumerate(spans):
            until = firsts[k + 1] if k + 1 < len(h) else len(states) - 1
            goals.append(np.vstack([last[k, final], states[k * E + final + 1 : until + 1]]))
        return begin, goals

    def replay(self) -> Replay:
        """Simulate each control interval exactly, from the plan's own state."""
        return self._replay

    @property
    def defect(self) -> float:
        """The largest defect of the exact replay."""
        return self.replay().defect

    def again(
        self,
        x0: Reals | None = None,
        rho: Mapping[str, float] | None = None,
        *,
        mode0: str | None = None,
        begin: int | None = None,
        max_neighbours: int = 20,
        judged: bool = True,
        **parameters: float,
    ) -> Plan:
        """Plan again with another start or other parameters, from this plan and its sequence.

        Nothing is compiled. Where the sequence has to change, those beside it are searched, then a
        path of plans from the old numbers to the new ones, then all from the beginning; the message
        of the new plan says which of them found it.

        Parameters
        ----------
        x0 : (n_x,) float, optional
            The new start; by default that of this plan.
        rho, **parameters
            Parameters by name; the others keep their values.
        mode0 : str, optional
            Of a hybrid system the mode of the start; by default that of this plan.
        begin : int, optional
            The control interval with which the new plan begins, at its time: what is before it is
            over. By default the first one that is left.
        max_neighbours : int
            Sequences beside a plan that are solved at most; 0 tries the own sequence alone.
        judged : bool
            Whether the exact replay judges the new plan, which takes a simulation.

        Raises
        ------
        BadValue
            As for `optimize`; an interval that this plan does not have.
        """
        own = self.outcome.plan
        first = over(self.outcome.program, self.outcome.w)
        k = first if begin is None else checked_begin(begin, self.task.intervals, first)
        start, values = self.task.start(
            self.x[k] if x0 is None else x0, {**self.rho, **(rho or {}), **parameters}
        )
        p = self.outcome.program.parameters(start, np.array(list(values.values())))
        mode = self._mode(mode0, k)
        if own is not None and self.status in SOLVED:
            left = later(own, k, start, float(self.t[k]), mode)
            outcome, how = replanned(self.pipeline, own, left, p, max_neighbours)
            if outcome.status in SOLVED or not max_neighbours or k:
                return finished(self.task, outcome, self.pipeline, start, values, judged, how)
        guess = {"x": self.x, "u": self.u, "t_end": self.t_end}
        self.pipeline.modes = None if mode is None else Sequence((mode,), ())
        found = self.pipeline(point(self.task, self.pipeline.first.program, start, guess), p)
        return finished(self.task, found, self.pipeline, start, values, judged, "searched anew")

    def _mode(self, name: str | None, k: int) -> int | None:
        """Return the number of a mode; by default of that with which interval `k` begins."""
        system = self.task.system
        if not isinstance(system, HybridSystem):
            if name is not None:
                raise BadValue(f"'{system.name}' is a {system.kind}: it has no modes to start in.")
            return None
        names = [mode.name for mode in system.modes]
        if name is None:
            return self.modes[k]
        if name not in names:
            raise BadValue(f"'{system.name}' has no mode {name!r}.{suggest(name, names)}")
        return names.index(name)

    @cached_property
    def modes(self) -> tuple[int, ...]:
        """Of a hybrid system, the mode with which each control interval begins."""
        near = 1e-9 * self.t_end
        if not isinstance(self.task.system, HybridSystem):
            return ()
        return tuple(
            next(p.signs[0] for p in reversed(self.sequence) if p.begin <= t + near)
            for t in self.t[:-1]
        )

    def __repr__(self) -> str:
        cost = quantity(self.objective, "", 7)
        count = len(self.biactive)
        kinks = f", {count} biactive place{'s' * (count != 1)}" if count else ""
        unmet = f"; unmet: {', '.join(self.unmet)}" if self.unmet else ""
        return f"Plan({self.status}: {self.message}; objective {cost}{kinks}{unmet})"


def finished(
    task: OptimalControlProblem,
    outcome: Outcome,
    pipeline: Pipeline,
    x0: np.ndarray,
    rho: dict[str, float],
    judged: bool = True,
    how: str = "",
) -> Plan:
    """Return the plan of an outcome; its replay judges it if `judged`. `how` it was found.

    Raises
    ------
    BadValue
        If the costs are not finite there.
    """
    program, w = outcome.program, outcome.w
    objective = float(program.costs(w, outcome.p))
    if not np.isfinite(objective):
        raise BadValue("The costs are not finite along the plan. Check running and terminal.")
    begun = np.asarray(program.begun(w, outcome.p), float).T
    x = np.vstack([x0, begun[program.grid.elements :: program.grid.elements]])
    plan = Plan(
        task,
        outcome.status,
        f"{outcome.message}; {how}" if how else outcome.message,
        objective,
        ends(program, w),
        x,
        w[program.of["u"]],
        rho,
        list(outcome.log),
        outcome,
        pipeline,
    )
    if not judged:
        return dataclasses.replace(plan, message=f"{plan.message}; not replayed")
    if plan.status not in SOLVED:
        return plan
    missed = plan.defect
    if missed <= INEXACT * max(1.0, float(np.abs(x).max())):
        return plan
    why = next(iter(plan.replay().failed.values()), f"the exact replay misses by {missed:.2g}")
    return dataclasses.replace(
        plan, status="inexact", message=f"{why}; use more intervals, elements or stages"
    )
