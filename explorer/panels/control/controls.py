"""The controls of the control panel: start, goal, parameters, how the plan is carried out."""

from __future__ import annotations

import re

import numpy as np

from explorer.control import Plan
from explorer.panels.control.state import PLAYS, ControlSession, ControlStates
from explorer.panels.controls import choice, slider
from explorer.panels.messages import Control, Group, Values
from explorer.parameters import Param, roomy
from explorer.views.drawing.picture import label

__all__ = ["groups", "values"]


def values(session: ControlSession) -> Values:
    """Return the value of every control by its full key."""
    states, state = session.states, session.state
    return {key: states.value(state, key) for key in states.keys(state)}


def groups(session: ControlSession) -> list[Group]:
    """Return the groups of controls."""
    states, state, now = session.states, session.state, values(session)
    assert isinstance(states, ControlStates)
    plan, system = states.plan, session.system
    names = plan.task.state_names
    start = [
        _state(f"x0.{name}", f"{label(name)}(0)", "start", plan, i, now)
        for i, name in enumerate(names)
    ]
    goal = []
    for name in state["end"]:
        if name in names:
            place = names.index(name)
            goal.append(_state(f"end.{name}", f"{label(name)}(T)", "goal", plan, place, now))
        else:
            far = max(1.0, abs(state["end"][name]))
            param = Param(0.0, -far, far, "", "goal")
            goal.append({**slider(f"end.{name}", name, param, now), "label": name, "beside": ""})
    used = _used(plan)
    parameters = [
        slider(f"rho.{k}", k, system.parameters[k], now) for k in state["rho"] if k in used
    ]
    ordered: list[tuple[str, str, list[Control]]] = [
        ("start", "Start", start),
        ("goal", "Goal", goal),
        ("play", "Carry out", _play(session, now)),
        ("parameters", "Parameters", parameters),
    ]
    return [{"name": n, "title": t, "open": True, "controls": c} for n, t, c in ordered if c]


def _used(plan: Plan) -> set[str]:
    """Return the names in the formulas: some parameters decide the usual start alone."""
    task = plan.task
    spec = task.system.to_spec()
    for key in ("params", "start", "presets"):
        spec.pop(key, None)
    rules = (*task.path_rules, *task.end_rules, *task.knot_rules)
    said = [spec, task.costs, [rule[0] for rule in rules], task.relation.equations]
    return set(re.findall(r"[A-Za-z_]\w*", repr(said)))


def _play(session: ControlSession, now: Values) -> list[Control]:
    system, plan, push = session.system, session.plan, session.state["push"]
    how = choice("play", "shown", now, list(PLAYS.items()), "What moves in the picture")
    if now["play"] == "plan":
        return [{**how, "default": "plan"}]
    names = plan.task.state_names
    kinds = [(name, label(name)) for name in names]
    pushed = choice("push.state", "pushed state", now, kinds, "The state that jumps at the push")
    place = names.index(push["state"])
    reach = _far(plan.x[:, place])
    size = Param(0.0, -reach, reach, plan.task.state_units[place], "jump of the state at the push")
    when = Param(0.3 * plan.t_end, 0.0, roomy(plan.t_end), system.time_unit, "time of the push")
    return [
        {**how, "default": "plan"},
        {**pushed, "default": names[-1]},
        {**slider("push.size", "push", size, now), "label": "push", "beside": ""},
        {**slider("push.t", "t", when, now), "label": "at time", "beside": ""},
    ]


def _state(key: str, text: str, tip: str, plan: Plan, i: int, now: Values) -> Control:
    """Return a slider of a state, as far as the plan goes to either side, within its bounds."""
    x, (low, high) = plan.x[:, i], plan.task.limits[0][i]
    reach = _far(x)
    least, most = max(low, x.min() - reach), min(high, x.max() + reach)
    usual = float(x[0] if key.startswith("x0") else x[-1])
    unit = plan.task.state_units[i]
    name = plan.task.state_names[i]
    param = Param(usual, float(f"{least:.3g}"), float(f"{most:.3g}"), unit, tip)
    return {**slider(key, name, param, now), "label": text, "beside": ""}


def _far(x: np.ndarray) -> float:
    """Return how far a state moves, or its size, or 1."""
    span = float(np.ptp(x))
    return float(f"{span or float(np.abs(x).max()) or 1.0:.1g}")
