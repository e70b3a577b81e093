"""The state of the control panel: a start, a goal, parameters, and how the plan is carried out.

``{"model", "sizes", "scheme", "knobs", "t_end"}`` as in a session; ``"x0"`` (n_x,), ``"end"`` by
formula, ``"rho"``; ``"play"``: "plan", "open", "feedback" or "mpc"; ``"push"``: {"state", "size",
"t"}. Full keys: "x0.v", "end.x", "rho.mu", "play", "push.size".
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import threading
import time
import warnings
from collections.abc import Mapping
from typing import cast

from explorer.control import (
    Course,
    Disturbance,
    OptimalControlProblem,
    Plan,
    PredictiveControl,
    Push,
)
from explorer.control.feedback import Feedback
from explorer.control.follow import Controller
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue, ExplorerError, suggest
from explorer.panels.control.brief import BriefControl
from explorer.panels.control.code import script, signature, table
from explorer.panels.session import Session
from explorer.panels.state import OWN, START, State, States, saved
from explorer.parameters import number
from explorer.progress import Progress, redirected
from explorer.results.solution import Solution
from explorer.study.asked import Chosen
from explorer.systems import System
from explorer.transcription.halt import watched
from explorer.transcription.outcome import SOLVED

__all__ = ["PLAYS", "ControlSession", "ControlStates"]

PLAYS = {
    "plan": "the plan itself",
    "open": "open loop",
    "feedback": "with feedback",
    "mpc": "predictive control",
}
_LIVE = 0.6  # s: a search that takes longer waits for the release of the slider
_FEW = 6  # sequences beside a plan that are solved while a slider moves
_KEPT = 60  # plans
_PATIENCE = 3.0  # s
_STEPS = 30  # solves of a search, about


class ControlStates(States):
    """States of the control panel.

    Parameters
    ----------
    plan : Plan
        With which it begins.
    """

    draws_inputs = False

    def __init__(self, plan: Plan, own: System | None = None) -> None:
        super().__init__(own)
        self.plan = plan

    @property
    def task(self) -> OptimalControlProblem:
        """The problem, with the goal that it was given."""
        return self.plan.task

    def fresh(
        self, model: str, sizes: Mapping[str, int] | None = None, scheme: Chosen | None = None
    ) -> State:
        """Return the default state: that of the plan it began with."""
        del sizes, scheme
        plan, system = self.plan, self.task.system
        fixed = {str(k): v for k, v in self._ends().items()}
        return {
            "model": model,
            "sizes": {},
            "scheme": type(choose(system, None)).__name__,
            "knobs": {},
            "rho": {k: v for k, v in plan.rho.items() if k not in plan.unknowns},
            "t_end": float(plan.t_end),
            **dict.fromkeys(START),
            "x0": plan.x[0].tolist(),
            "end": fixed,
            "play": "plan",
            "push": {
                "state": self.task.state_names[-1],
                "size": 0.0,
                "t": float(f"{0.3 * plan.t_end:.1g}"),
            },
        }

    def _ends(self) -> dict[str, float]:
        """Return the goals that are one number, by their formula."""
        given = self.task.end
        if not isinstance(given, Mapping):
            return {}
        pairs = zip(given, self.task.end_rules, strict=True)
        return {str(k): low for k, (_, low, high, _) in pairs if low == high}

    def keys(self, state: State) -> list[str]:
        """Return the full key of everything that can be changed."""
        return [
            *(f"x0.{name}" for name in self.task.state_names),
            *(f"end.{name}" for name in state["end"]),
            *(f"rho.{name}" for name in state["rho"]),
            "play",
            *(f"push.{name}" for name in state["push"]),
        ]

    def key(self, state: State, name: str) -> str:
        """Return the full key of a name."""
        if name in ("state", "size", "t") and f"rho.{name}" not in self.keys(state):
            return f"push.{name}"
        return super().key(state, name)

    def value(self, state: State, key: str) -> object:
        """Return the entry of a full key."""
        group, _, name = key.partition(".")
        if group == "x0":
            return state["x0"][self.task.state_names.index(name)]
        return state[group][name] if name else state[group]

    def change(self, state: State, key: str, value: object) -> State:
        """Return `state` with one entry changed, checked on its own."""
        new, system = copy.deepcopy(state), self.task.system
        group, _, name = key.partition(".")
        if key == "play":
            if value not in PLAYS:
                raise BadValue(f"play = {value!r} is unknown.{suggest(value, PLAYS)}")
            new["play"] = value
        elif key == "push.state":
            if value not in self.task.state_names:
                known = suggest(value, self.task.state_names)
                raise BadValue(f"'{system.name}' has no state {value!r} to push.{known}")
            new["push"]["state"] = value
        elif group == "x0":
            new["x0"][self.task.state_names.index(name)] = number(value, f"The start of {name}")
        elif group == "push":
            what = "The size of the push" if name == "size" else "The time of the push"
            new["push"][name] = number(value, what)
        else:
            what = f"The goal of {name}" if group == "end" else name
            new[group][name] = number(value, what)
        return new

    def to_json(self, state: State) -> str:
        """Return a state as JSON."""
        return json.dumps({"format": 1, **state, "model": OWN, "task": signature(self.task)})

    def from_json(self, text: str | Mapping[str, object]) -> tuple[States, State]:
        """Return what `to_json` wrote for the same problem.

        Raises
        ------
        ExplorerError
            If it is no such state, or one of another problem.
        """
        with saved(text) as given:
            if given.get("task") != signature(self.task):
                raise BadValue(
                    "This state belongs to another problem. Open it with explore_control(plan) of "
                    "the problem that it was saved with."
                )
            state = self.fresh(OWN)
            names = self.task.state_names
            values = {f"x0.{k}": x for k, x in zip(names, given["x0"], strict=True)}
            values |= {f"{g}.{k}": x for g in ("end", "rho", "push") for k, x in given[g].items()}
            for key, value in {**values, "play": given["play"]}.items():
                state = self.change(state, self.key(state, key), value)
        return self, state


class ControlSession(Session):
    """A plan that follows its start, its goal and its parameters, and what carries it out.

    Parameters
    ----------
    plan : Plan
    **settings
        As for `set`.

    Attributes
    ----------
    plan : Plan
        Of `state`; while a slider moves not compared with the sequences beside it.
    course : Course or None
        What the true system does under the plan, see `Plan.follow`.
    trouble : str
        Why there is no course, or "".
    seconds : float
        Processor time of the last plan.
    kinks : int
        Biactive places of the last plan that was compared with the sequences beside it.
    solution : Solution
        A run of the system without the plan, at its defaults.
    """

    most_pins = 1

    def __init__(self, plan: Plan, **settings: object) -> None:
        self.plan, self.trouble, self.seconds = plan, "", 0.0
        self.course: Course | None = None
        self._moving, self._rough, self._slow = False, False, 0.0
        self.kinks = len(plan.biactive)
        self._plans: dict[str, Plan] = {}
        self._gains: tuple[Plan, Feedback] | None = None
        self._asked = threading.Event()  # whether the search that runs has to stop
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # this run is not shown
            self._bare = simulate(plan.task.system, throw=False)
        self._states = functools.partial(ControlStates, plan)  # type: ignore[assignment]
        super().__init__(plan.task.system, None, **settings)

    @classmethod
    def of(cls, session: Session) -> ControlSession:
        """Return the same session; any other one has no plan.

        Raises
        ------
        BadValue
        """
        if isinstance(session, cls):
            return session
        raise BadValue("This session has no plan. Open a panel by explore_control(plan).")

    @property
    def ghost(self) -> Plan | None:
        """The pinned plan."""
        return cast("Plan | None", self.beside)

    def _beside(self) -> Plan:
        return self.plan

    def stop(self) -> None:
        """Stop the search that runs; the best plan so far is shown."""
        self._asked.set()

    def change(self, values: Mapping[str, object], *, drag: bool = False) -> dict[str, str]:
        """Change entries as far as possible; while a slider moves without a long search."""
        with self._lock:
            self._moving = drag
            try:
                errors = super().change(values, drag=drag)
            finally:
                self._moving = False
            if not drag and self._rough:  # a slider that is let go has no other value
                self._judge()
            return errors

    def _judge(self) -> None:
        """Search beside a plan that was made while a slider moved, and carry it out."""
        try:
            self._run(self.states, self.state)
        except ExplorerError as error:
            self.problem = str(error)
        self._tell()

    def _run(self, states: States, state: State) -> Solution:
        """Plan, and carry the plan out."""
        assert isinstance(states, ControlStates)
        before = self.plan
        self.plan = self._planned(states, state)
        if self._moving and state["play"] == "mpc":
            self.course, self.trouble = None, ""
        elif not self._moving or self.plan is before:
            self.course, self.trouble = self._carried(states, state)
        else:
            self.course, self.trouble = None, ""
        return self._bare

    def _carried(self, states: ControlStates, state: State) -> tuple[Course | None, str]:
        """Return what the true system does, or why it cannot be told."""
        play, push = state["play"], state["push"]
        if play == "plan":
            return None, ""
        plan = self.plan
        pushes = [Push(push["t"], {push["state"]: push["size"]})] if push["size"] else []
        try:
            controller: Controller | None = None
            if play == "feedback":
                controller = self._feedback(plan)
            elif play == "mpc":
                controller = BriefControl(PredictiveControl(max_neighbours=_FEW), _PATIENCE)
            return plan.follow(controller, disturbance=Disturbance(pushes)), ""
        except ExplorerError as error:
            return None, str(error)

    def _feedback(self, plan: Plan) -> Feedback:
        if self._gains is None or self._gains[0] is not plan:
            self._gains = plan, plan.feedback()
        return self._gains[1]

    # -- planning -----------------------------------------------------------------------------

    def _planned(self, states: ControlStates, state: State) -> Plan:
        """Return the plan of a state; those of the last states are kept, for undo.

        Raises
        ------
        ExplorerError
            If there is none, in a sentence.
        """
        key = self._key(state)
        known = states.plan if key == self._key(states.fresh(OWN)) else self._plans.get(key)
        if known is not None:
            self._rough, self.kinks = False, len(known.biactive)
            return known
        begin = time.thread_time()
        plan = self._nearby(state) if self._moving else self._searched(state)
        self.seconds = time.thread_time() - begin
        self._rough = self._moving
        if not self._moving:
            self.kinks = len(plan.biactive)
            self._plans[key] = plan
            while len(self._plans) > _KEPT:
                del self._plans[next(iter(self._plans))]
        return plan

    @staticmethod
    def _key(state: State) -> str:
        return json.dumps([state["x0"], state["end"], state["rho"]])

    def _again(self, plan: Plan, state: State, most: int, thorough: bool = False) -> Plan:
        given = plan.task.end
        ends = {k: v for k, v in state["end"].items() if given[k] != v}  # type: ignore[index]
        return plan.again(
            state["x0"],
            state["rho"],
            end=ends or None,
            max_neighbours=most,
            thorough=thorough,
            judged=thorough,
        )

    def _nearby(self, state: State) -> Plan:
        """Return a plan on the same sequence, or beside it if that is quick; or raise BadValue."""
        begin = time.thread_time()
        if self.plan.solved:
            plan = self._again(self.plan, state, 0)
            if plan.status in SOLVED:
                return plan
            # a sequence beside it takes about as long as its own
            tried = time.thread_time() - begin
            if max(_FEW * tried, self._slow) < _LIVE:
                plan = self._again(self.plan, state, _FEW)
                self._slow = time.thread_time() - begin
                if plan.status in SOLVED:
                    return plan
        raise BadValue("No plan near the last one. The whole search begins when you let go.")

    def _searched(self, state: State) -> Plan:
        """Return the best plan that is found: near the last one, else by a new search."""
        self._slow = 0.0
        bar = Progress(_STEPS, "plan", on=redirected())  # a script that sets a value sees none
        self.plan.pipeline.told = bar
        self._asked.clear()
        try:
            with watched(asked=self._asked.is_set) as watch:
                others = [plan := self._again(self.plan, state, 20, True)]
                if plan.status != "stationary" and not watch.due():
                    anew = dataclasses.replace(self.plan.outcome, plan=None)
                    lost = dataclasses.replace(self.plan, outcome=anew)
                    others.append(self._again(lost, state, 20, True))
        finally:
            bar.close()
            self.plan.pipeline.told = lambda done, name: None
        if found := [p for p in others if p.solved and p.status != "inexact"]:
            best = min(found, key=lambda p: p.objective)
            cut = f"; the search for a better one was {watch.why}" if watch.why else ""
            cut *= best.status != "stopped"  # which says so itself
            return dataclasses.replace(best, message=best.message + cut)
        if plan.status == "inexact":
            return plan
        if watch.why:
            raise BadValue(f"There is no plan yet: the search was {watch.why}.")
        missed = ", ".join(f"{k} is missed by {v:.3g}" for k, v in plan.unmet.items())
        raise BadValue(f"There is no plan: {missed or plan.message}.")

    # -- saving -------------------------------------------------------------------------------

    def to_csv(self) -> str:
        """Return the plan as CSV: times, states and controls of the control intervals."""
        return table(self.plan)

    def code(self) -> str:
        """Return Python that makes the present plan and its picture without any widget."""
        return script(self.plan, self.state)
