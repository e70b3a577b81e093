"""`Course`: what the true system did while a plan was followed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from explorer.control.disturbance import Disturbance
from explorer.control.solved import Solved
from explorer.control.states import states_of
from explorer.quantities import quantity
from explorer.results.display import html

__all__ = ["Course", "Decision"]

_KEPT = 1e-6  # a bound or constraint that is missed by less holds


@dataclass(frozen=True)
class Decision:
    """What a controller decided at one instant.

    Attributes
    ----------
    u : (n_u,) float
    length : float
        How long the controls are held, s.
    status : str
        "open loop"; for a feedback "feedback" or "mode matched"; for predictive control the status
        of the new plan, or "kept" if none was found and the last good one stays.
    message : str
    seconds : float
        Processor time of the decision.
    plan : Solved or None
        The plan that was made.
    """

    u: np.ndarray
    length: float
    status: str
    message: str = ""
    seconds: float = 0.0
    plan: Solved | None = None


@dataclass(frozen=True, repr=False)
class Course:
    """Result of `Plan.follow`.

    Attributes
    ----------
    plan : Plan
        The plan that was followed.
    controller : str
    t, x : (n_t,) and (n_t, n_x) float
        The motion of the true system; both limits where it jumps.
    instants : (K + 1,) float
        When controls were decided, in s, and the end.
    states : (K + 1, n_x) float
        Measured states there.
    u : (K, n_u) float
    modes : tuple of str
        Of a hybrid system, the mode at each instant.
    decisions : tuple of Decision
    events : tuple of (float, str)
        Times in s and names: guards and pushes.
    failed : str
        Why the simulation stopped early; empty: it did not.
    disturbance : Disturbance
    """

    plan: Solved
    controller: str
    t: np.ndarray
    x: np.ndarray
    instants: np.ndarray
    states: np.ndarray
    u: np.ndarray
    modes: tuple[str, ...]
    decisions: tuple[Decision, ...]
    events: tuple[tuple[float, str], ...]
    failed: str
    disturbance: Disturbance

    @property
    def ok(self) -> bool:
        """Whether the run reached its end, and all bounds and constraints hold."""
        return not self.failed and not self.missed

    @property
    def statuses(self) -> tuple[str, ...]:
        """The status of each decision."""
        return tuple(decision.status for decision in self.decisions)

    @property
    def seconds(self) -> np.ndarray:
        """Processor time of each decision in s, (K,)."""
        return np.array([decision.seconds for decision in self.decisions])

    @cached_property
    def deviation(self) -> np.ndarray:
        """States minus those of the plan at the same times, (K + 1, n_x).

        Behind the end of the plan, and at times that are none of its instants, they are
        interpolated or held.
        """
        t, x = self.plan.t, self.plan.x
        there = [np.interp(self.instants, t, x[:, i]) for i in range(x.shape[1])]
        return self.states - np.column_stack(there)

    @cached_property
    def missed(self) -> dict[str, float]:
        """The bounds of states, path and end constraints that are missed, and by how much.

        On all rows and at the end of the run. End constraints count where the run ends when the
        plan does.
        """
        task = self.plan.task
        found: dict[str, float] = {}
        states = states_of(task.system)
        for state, column, (low, high) in zip(states, self.x.T, task.limits[0], strict=True):
            found[f"bounds: {state}"] = float(max((low - column).max(), (column - high).max()))
        k = np.clip(np.searchsorted(self.instants, self.t, side="right") - 1, 0, len(self.u) - 1)
        for formula, low, high, text in task.path_rules:
            value = self._values(formula, self.t, self.x, self.u[k])
            found[f"path: {text}"] = float(max((low - value).max(), (value - high).max()))
        last = self.decisions[-1].plan or self.plan
        if abs(self.instants[-1] - last.t[-1]) <= 1e-6 * max(1.0, last.t[-1]):
            for formula, low, high, text in task.end_rules:
                value = self._values(formula, self.t[-1:], self.x[-1:], self.u[-1:])
                found[f"end: {text}"] = float(max(low - value[0], value[0] - high))
        return {name: miss for name, miss in found.items() if miss > _KEPT}

    @cached_property
    def cost(self) -> float:
        """Running cost along the run, by the trapezoidal rule on its rows, and terminal cost."""
        running, terminal = self.plan.task.costs
        k = np.searchsorted(self.instants, self.t[:-1], side="right") - 1
        u = self.u[np.clip(k, 0, len(self.u) - 1)]
        left = self._values(running, self.t[:-1], self.x[:-1], u)
        right = self._values(running, self.t[1:], self.x[1:], u)
        end = self._values(terminal, self.t[-1:], self.x[-1:], self.u[-1:])
        return float(((left + right) / 2 * np.diff(self.t)).sum() + end[0])

    def _values(self, formula: sp.Expr, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return a formula (n_t,) on rows; its parameters are the true ones."""
        task = self.plan.task
        rho = self.plan.rho | dict(self.disturbance.parameters)
        z = self._algebraic(t, x, u, rho)
        controls = map(sp.Symbol, task.control_names)
        known = [task.system.t, *states_of(task.system), *controls, *task.relation.z]
        fixed = sp.sympify(formula).xreplace({sp.Symbol(k): v for k, v in rho.items()})
        value = sp.lambdify(known, fixed)(t, *x.T, *u.T, *z.T)
        return np.broadcast_to(np.asarray(value, float), t.shape)

    def _algebraic(
        self, t: np.ndarray, x: np.ndarray, u: np.ndarray, rho: dict[str, float]
    ) -> np.ndarray:
        """Return the algebraic variables (n_t, n_z) on rows, from those of the plan."""
        relation = self.plan.relation
        if not relation:
            return np.zeros((t.size, 0))
        given = rho | dict(zip(self.plan.task.control_names, u.T, strict=True))
        return relation.solve(t, x, given, relation.near(t))

    def __repr__(self) -> str:
        span = f"up to {quantity(self.instants[-1], self.plan.task.system.time_unit)}"
        if self.failed:
            how = f"stopped: {self.failed}"
        elif self.missed:
            name, miss = max(self.missed.items(), key=lambda item: item[1])
            how = f"{name} missed by {quantity(miss)}"
        else:
            how = "all constraints hold"
        kept = sum(decision.status == "kept" for decision in self.decisions)
        more = f", {kept} times without a new plan" if kept else ""
        away = quantity(float(np.abs(self.deviation[-1]).max()))
        return f"Course({self.controller}, {span}{more}; {how}; {away} off the plan at the end)"

    def _repr_html_(self) -> str:
        """Show the decisions in a notebook: when, which controls, and what they are."""
        task = self.plan.task
        timed = any(decision.seconds for decision in self.decisions)
        heads = ["t", *task.control_names, "off the plan", "status", *["ms"] * timed]
        rows = []
        for k, decision in enumerate(self.decisions):
            row = [quantity(self.instants[k], task.system.time_unit)]
            row += [quantity(u) for u in decision.u]
            row += [quantity(float(np.abs(self.deviation[k]).max())), decision.status]
            rows.append(row + [f"{1e3 * decision.seconds:.1f}"] * timed)
        return html(heads, rows, repr(self))
