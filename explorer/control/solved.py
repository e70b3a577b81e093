"""`Solved`: controls, states and the sequence of a solved problem, and what is known of them."""

from __future__ import annotations

import dataclasses
import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from explorer.control.algebraic import Relation
from explorer.control.problem import OptimalControlProblem
from explorer.control.replay import Replay, replay
from explorer.errors import lacking
from explorer.quantities import quantity
from explorer.systems import HybridSystem, MechanicalSystem, StepSystem
from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.contact_sets import complementarity, mode_name
from explorer.transcription.determined import undetermined
from explorer.transcription.horizon import over
from explorer.transcription.layout import lengths, stage_times
from explorer.transcription.outcome import Outcome
from explorer.transcription.pipeline import Pipeline
from explorer.types import Plain

__all__ = ["Part", "Solved"]


@dataclass(frozen=True)
class Part:
    """An active set of a plan: from `begin` to `end` in s, the signs, and its name."""

    begin: float
    end: float
    signs: tuple[int, ...]
    name: str


@dataclass(frozen=True, repr=False)
class Solved(ABC):
    """A solved problem, and what is known of it.

    The attributes are those of `explorer.control.plan.Plan`.
    """

    if not TYPE_CHECKING:  # a type checker would take any attribute then
        __getattr__ = lacking

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
    def solved(self) -> bool:
        """Whether it is an optimum on its own sequence at least, so that others go on from it."""
        own = self.outcome.plan
        return own is not None and own.ok

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
        """Multipliers of end constraints, by their text, of T ("t_end") and of unknowns, by name.

        The derivative of the objective by the value that the constraint asks for, or by the bound
        at which an unknown is.
        """
        program, solved = self.outcome.program, self.outcome.point
        ends_ = zip(self.task.end_rules, program.rows["end"], strict=True)
        found = {rule[3]: -float(solved.row_multipliers[row]) for rule, row in ends_}
        if self.task.times[0] == self.task.times[1]:
            found["t_end"] = -float(solved.w_multipliers[program.of["T"]])
        by_bounds = -solved.w_multipliers[program.of["unknown"]]
        return found | dict(zip(self.task.ranges, by_bounds.tolist(), strict=True))

    @property
    def unknowns(self) -> dict[str, float]:
        """The values of the unknown parameters by name."""
        return {name: self.rho[name] for name in self.task.ranges}

    @cached_property
    def undetermined(self) -> tuple[str, ...]:
        """The unknown parameters that may as well have other values: the cost stays the same.

        To second order on the active set of the plan. Where several are named, only some of their
        combinations may be determined.
        """
        own = self.outcome.plan
        if own is None or not own.ok or not self.task.ranges:
            return ()
        names = self.task.unknown_names
        return tuple(names[k] for k in undetermined(self.pipeline.smooth, own))

    def chosen(self, digits: int = 7) -> list[str]:
        """Return the unknown parameters in words, with their units; a caution where one is open."""
        known, more = self.task.system.parameters, " (not determined)"
        return [
            f"{k} = {quantity(x, known[k].unit, digits)}{more * (k in self.undetermined)}"
            for k, x in self.unknowns.items()
        ]

    @property
    def stagewise(self) -> dict[str, np.ndarray]:
        """The values (N,) of the stage parameters by name."""
        names = self.task.control_names
        return {name: self.u[:, names.index(name)] for name in self.task.stages_of}

    @cached_property
    def relation(self) -> Relation:
        """The algebraic variables of the problem, with their values in this plan."""
        if not self.algebraic:
            return self.task.relation
        known = self.trajectory[0], np.column_stack([*self.algebraic.values()])
        return dataclasses.replace(self.task.relation, known=known)

    @cached_property
    def algebraic(self) -> dict[str, np.ndarray]:
        """The values (n_t,) of the algebraic variables at the times of `trajectory`, by name."""
        program, relation = self.outcome.program, self.task.relation
        if not relation:
            return {}
        z = self.outcome.w[program.of["z"]].reshape(-1, len(relation.names))
        given = self.rho | dict(zip(self.task.control_names, self.u[self.first], strict=True))
        first = relation.solve(self.t[:1], self.x[:1], given, z[:1])
        return dict(zip(relation.names, np.vstack([first, z]).T, strict=True))

    @property
    def as_guess(self) -> Plain:
        """The plan as a guess for `optimize`."""
        guess: Plain = {"x": self.x, "u": self.u, "t_end": self.t_end, "unknowns": self.unknowns}
        if self.algebraic:
            each = self.outcome.program.grid.elements * self.outcome.program.grid.stages
            guess["algebraic"] = {name: z[::each] for name, z in self.algebraic.items()}
        return guess

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
        if isinstance(program.formulas, ContactFormulas):
            return complementarity(program, w, self.outcome.p)
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
        if isinstance(system, MechanicalSystem):
            rough = [contact.slip is not None for contact in system.contacts]
            return ", ".join(mode_name(*one) for one in zip(signs, rough, strict=True))
        return system.mode_name(signs)

    @property
    def switches(self) -> np.ndarray:
        """The times of the changes of the active set in s."""
        return np.array([part.begin for part in self.sequence[1:]])

    @property
    def biactive(self) -> list[tuple[float, str, str]]:
        """Time, switching function and what is biactive: places where the cost has a kink."""
        system = self.task.system
        names: Sequence[str] = ()
        if isinstance(system, MechanicalSystem):
            names = [contact.name for contact in system.contacts]
        elif isinstance(system, StepSystem):
            names = system.guard_names
        else:
            names = [guard.name for guard in system.guards]
        found = {(p.t, names[p.function], p.what): None for p in self.outcome.places}
        return list(found)

    @property
    def unmet(self) -> dict[str, float]:
        """The constraints and bounds of states that cannot hold; by how much they are missed."""
        program, w = self.outcome.program, self.outcome.w
        found = {}
        for rule, pair in zip(self.task.end_rules, w[program.of["end"]], strict=True):
            found[f"end: {rule[3]}"] = float(np.max(pair))
        path = w[program.of["path"]]
        for i, rule in enumerate(self.task.path_rules):
            found[f"path: {rule[3]}"] = float(path[..., i, :].max())
        knots = w[program.of["knot"]]
        for i, rule in enumerate(self.task.knot_rules if knots.size else ()):
            found[f"knot: {rule[3]}"] = float(knots[:, i].max())
        for kind, names, limits in (
            ("bounds", self.task.state_names, self.task.limits[0]),
            ("z bounds", self.task.relation.names, self.task.relation.limits),
        ):
            missed = w[program.of[kind]]
            for i, name in enumerate(names if missed.size else ()):
                low, high = limits[i]
                ends_ = f"{low:g} <= " if np.isfinite(low) else "", f" <= {high:g}"
                text = ends_[0] + name + (ends_[1] if np.isfinite(high) else "")
                found[f"bounds: {text}"] = float(missed[..., i, :].max())
        return {k: v for k, v in found.items() if v > 1e-8}

    @cached_property
    def _replay(self) -> Replay:
        task = self.task
        begin, goals = self._ends
        names, rho, modes = task.control_names, self.rho, self.modes
        return replay(task.system, self.t, begin, goals, self.u, names, rho, modes, self.relation)

    @property
    def first(self) -> int:
        """The first control interval that is left; those before it are over."""
        return over(self.outcome.program, self.outcome.w)

    @property
    def begun(self) -> np.ndarray:
        """The states with which the intervals begin, behind what jumps there, (N, n_x)."""
        return self._ends[0]

    @cached_property
    def _ends(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """The state with which each interval begins, and those in which it may end.

        At a jump on a boundary of intervals there are several: before and after it.
        """
        near = 1e-9 * self.t_end
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

    @abstractmethod
    def holding(self) -> Self:
        """Return the plan of the problem whose unknown parameters have the values found here."""

    @abstractmethod
    def resumed(
        self, x: np.ndarray, mode: int | None, begin: int, shift: int, max_neighbours: int
    ) -> Solved:
        """Return the plan from a measured state on, which may be outside of its bounds.

        From interval `begin` on; or `shift` intervals later, with a horizon of the same length.
        """
