"""A plan as Python: the script that makes it and its picture; and what names its problem."""

from __future__ import annotations

import dataclasses
import hashlib
import pprint
from collections.abc import Mapping

import sympy as sp

from explorer.control import OptimalControlProblem, Plan
from explorer.models import models
from explorer.panels.code import called
from explorer.panels.state import State
from explorer.systems.expressions import text

__all__ = ["script", "signature"]


def signature(task: OptimalControlProblem) -> str:
    """Return a short text that is the same for the same problem."""
    named = [*_fields(task), repr(task.system.to_spec())]
    return hashlib.sha256("\n".join(named).encode()).hexdigest()[:16]


def script(plan: Plan, state: State) -> str:
    """Return runnable Python; it names only what differs from the defaults."""
    task = plan.task
    lines = ["import explorer as ex", "", *_system(task)]
    lines += called("task = ex.OptimalControlProblem", ["system", *_fields(task)])
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


def _fields(task: OptimalControlProblem) -> list[str]:
    """Return the arguments of a problem that differ from their defaults."""
    found = []
    for field in dataclasses.fields(task):
        value = getattr(task, field.name)
        if field.name == "system" or (value is None and field.default is None):
            continue
        written = _plain(value)
        if written != _plain(field.default):
            found.append(f"{field.name}={written!r}")
    return found


def _plain(value: object) -> object:
    """Return what can be printed: formulas as text."""
    if isinstance(value, sp.Rel):
        return f"{text(value.lhs)} {value.rel_op} {text(value.rhs)}"
    if isinstance(value, sp.Basic):
        return text(value)
    if isinstance(value, Mapping):
        return {str(_plain(k)): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(v) for v in value)
    return value
