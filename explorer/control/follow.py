"""`Plan.follow`: a plan on the true system: open loop, with feedback, or planned again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from explorer.control.course import Course, Decision
from explorer.control.disturbance import Disturbance
from explorer.control.plant import Plant
from explorer.control.solved import Solved
from explorer.errors import BadArgument, BadValue
from explorer.parameters import number
from explorer.types import Reals

__all__ = ["Controller", "Loop", "follow"]


class Loop(Protocol):
    """A controller at work on one plan."""

    def __call__(self, k: int, t: float, x: np.ndarray, mode: int | None) -> Decision:
        """Return the controls from instant `k` on, given the measured state."""


class Controller(Protocol):
    """What `Plan.follow` takes: `Feedback`, `PredictiveControl`."""

    def begin(self, plan: Solved) -> Loop:
        """Return the controller at work on a plan."""


@dataclass(frozen=True)
class _OpenLoop:
    """The controls of the plan, whatever happens."""

    plan: Solved

    def __call__(self, k: int, t: float, x: np.ndarray, mode: int | None) -> Decision:
        length = float(self.plan.t[k + 1] - self.plan.t[k])
        return Decision(self.plan.u[k], length, "open loop")


def follow(
    plan: Solved,
    controller: Controller | None,
    x0: Reals | None,
    mode0: str | None,
    disturbance: Disturbance | None,
    t_end: float | None,
) -> Course:
    """Return what the true system does; see `Plan.follow`."""
    task, system = plan.task, plan.task.system
    if controller is not None and not hasattr(controller, "begin"):
        raise BadArgument(
            f"{controller!r} is no controller: follow(plan.feedback()), or "
            "follow(ex.PredictiveControl())."
        )
    disturbance = Disturbance() if disturbance is None else disturbance
    if not isinstance(disturbance, Disturbance):
        raise BadArgument(f"{disturbance!r} is no disturbance: ex.Disturbance([ex.Push(1, ...)]).")
    first, begin = plan.first, float(plan.t[0])
    recedes = bool(getattr(controller, "recedes", False))
    end = _end(plan, t_end, recedes)
    least = float(np.diff(plan.t[first:]).max())
    disturbance.check(system, task.control_names, end)
    given = plan.begun[first] if x0 is None else task.start(x0, plan.rho)[0]
    rho = plan.rho | dict(disturbance.parameters)
    plant = Plant(system, task.control_names, rho, least, plan.relation)
    loop = _OpenLoop(plan) if controller is None else controller.begin(plan)
    steps = None if recedes else len(plan.u)
    run = _Run(plan, plant, disturbance, loop, end if recedes or t_end else np.inf, steps)
    mode: int | None = plan.modes[first] if plan.modes else None
    if mode0 is not None:
        mode = _number_of(plan, mode0)
    elif x0 is not None:
        given, mode, _ = plant.settled(begin, given, mode, plan.u[first])
    return run(given, mode, "open loop" if controller is None else type(controller).__name__)


def _end(plan: Solved, t_end: float | None, recedes: bool) -> float:
    """Return the end of a run in s.

    Raises
    ------
    BadValue
        If it is before the end of the first control interval, or behind that of the plan.
    """
    if t_end is None:
        return float(plan.t[-1])
    end = number(t_end, "t_end", "s")
    least = float(plan.t[plan.first + 1])
    if end < least * (1 - 1e-9):
        raise BadValue(
            f"t_end = {end:g} s ends the run before the first control interval does, at "
            f"{least:g} s."
        )
    if end > plan.t[-1] * (1 + 1e-9) and not recedes:
        raise BadValue(
            f"t_end = {end:g} s is behind the end of the plan, {plan.t[-1]:g} s. A receding "
            "horizon goes on: follow(ex.PredictiveControl(horizon='receding'), t_end=...)."
        )
    return end


def _number_of(plan: Solved, name: str) -> int:
    names = [mode.name for mode in getattr(plan.task.system, "modes", ())]
    if name not in names:
        raise BadValue(f"mode0 = {name!r}: '{plan.task.system.name}' has the modes {names}.")
    return names.index(name)


@dataclass
class _Run:
    """One run of the true system."""

    plan: Solved
    plant: Plant
    disturbance: Disturbance
    loop: Loop
    end: float
    steps: int | None

    def __call__(self, x: np.ndarray, mode: int | None, name: str) -> Course:
        t = float(self.plan.t[0])
        rows_t, rows_x = [np.array([t])], [x[None]]
        instants, states, modes = [t], [x], [mode]
        decisions: list[Decision] = []
        events: list[tuple[float, str]] = []
        pushes, failed = list(self.disturbance.pushes), ""
        near = 1e-9 * max(1.0, float(self.plan.t[-1]))
        k = self.plan.first
        while t < self.end - near and not failed and k != self.steps:
            decision = self.loop(k, t, x, mode)
            k += 1
            decisions.append(decision)
            until = min(t + decision.length, self.end)
            while not failed:
                hit = pushes[0].t if pushes and pushes[0].t < until - near else until
                part = self.plant.step(t, max(hit - t, 0.0), x, mode, decision.u)
                t, x, mode, failed = hit, part.x[-1], part.mode, part.failed
                rows_t.append(part.t)
                rows_x.append(part.x)
                events += part.events
                if failed or hit == until:
                    break
                jump = self.disturbance.jump(pushes.pop(0), self.plant.system)
                x, mode, more = self.plant.pushed(t, x, jump, mode, decision.u)
                events += [(t, "push"), *((t, one) for one in more)]
                rows_t.append(np.array([t]))
                rows_x.append(x[None])
            instants.append(t)
            states.append(x)
            modes.append(mode)
        return Course(
            self.plan,
            name,
            np.concatenate(rows_t),
            np.vstack(rows_x),
            np.array(instants),
            np.array(states),
            np.array([d.u for d in decisions]),
            _names(self.plan, modes),
            tuple(decisions),
            tuple(events),
            failed,
            self.disturbance,
        )


def _names(plan: Solved, modes: Sequence[int | None]) -> tuple[str, ...]:
    known = [mode.name for mode in getattr(plan.task.system, "modes", ())]
    return tuple(known[m] for m in modes if m is not None)
