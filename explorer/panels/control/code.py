"""A plan as Python: the script that makes it and its picture; and what names its problem."""

from __future__ import annotations

import hashlib
import json
import pprint

import numpy as np

from explorer.control import OptimalControlProblem, Plan
from explorer.control.saved import task_spec
from explorer.models import models
from explorer.panels.code import called
from explorer.panels.state import State

__all__ = ["script", "signature", "table"]


def signature(task: OptimalControlProblem) -> str:
    """Return a short text that is the same for the same problem."""
    named = json.dumps([task_spec(task), task.system.to_spec()], sort_keys=True, default=str)
    return hashlib.sha256(named.encode()).hexdigest()[:16]


def script(plan: Plan, state: State) -> str:
    """Return runnable Python; it names only what differs from the defaults."""
    task = plan.task
    lines = ["import explorer as ex", "", *_system(task)]
    fields = [f"{name}={value!r}" for name, value in task_spec(task).items()]
    lines += called("task = ex.OptimalControlProblem", ["system", *fields])
    usual = {k: p.value for k, p in task.system.parameters.items()}
    rho = {k: v for k, v in state["rho"].items() if v != usual[k]}
    arguments = ["task", f"x0={state['x0']!r}", *([f"rho={rho!r}"] if rho else [])]
    lines += called("plan = ex.optimize", arguments)
    if state["play"] == "plan":
        return "\n".join([*lines, "ex.views.plan(plan)"]) + "\n"
    controller = {"feedback": ["plan.feedback()"], "mpc": ["ex.PredictiveControl()"]}
    arguments, push = controller.get(state["play"], []), state["push"]
    if push["size"]:
        one = f"ex.Push({push['t']!r}, {{{push['state']!r}: {push['size']!r}}})"
        arguments = [*arguments, f"disturbance=ex.Disturbance([{one}])"]
    lines += called("course = plan.follow", arguments)
    return "\n".join([*lines, "ex.views.plan(plan, course)"]) + "\n"


def _system(task: OptimalControlProblem) -> list[str]:
    """Return the lines that make the system: by its name in the gallery, or from its equations."""
    spec, name = task.system.to_spec(), task.system.name.replace(" ", "_")
    if name in models and models[name]().to_spec() == spec:
        return [f"system = ex.models.{name}()"]
    written = pprint.pformat(spec, width=92, sort_dicts=False).replace("\n", "\n    ")
    lines = ["from explorer import systems", "", "system = systems.from_spec("]
    return [*lines, f"    {written}", ")"]


def table(plan: Plan) -> str:
    """Return a plan as CSV: times, states and controls of the control intervals."""
    names = ["t", *plan.task.state_names, *plan.task.control_names]
    u = np.vstack([plan.u, np.full((1, plan.u.shape[1]), np.nan)])
    rows = np.column_stack([plan.t, plan.x, u])
    lines = [",".join("" if np.isnan(x) else repr(float(x)) for x in row) for row in rows]
    return "\n".join([",".join(names), *lines]) + "\n"
