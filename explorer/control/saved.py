"""Problems and plans as plain data, as files, and as the code that makes them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np
import sympy as sp

from explorer.control.compiled_task import pipeline
from explorer.control.problem import OptimalControlProblem
from explorer.control.replay import Replayed
from explorer.control.solved import Solved
from explorer.errors import BadValue
from explorer.results.export import written
from explorer.systems import HybridSystem, from_spec
from explorer.systems.expressions import text
from explorer.transcription.neighbours import biactive
from explorer.transcription.outcome import Outcome, Settings
from explorer.transcription.pipeline import Pipeline
from explorer.transcription.polish import PENALTY, polish
from explorer.transcription.sequence import Change, Sequence
from explorer.types import Plain

__all__ = ["code", "read", "restored", "save", "spec_of", "task_spec"]

ITERATIONS = 1000  # of a solver that is made for a plan from a file
CLOSE = 1e-6  # relative: the objective of a plan that is solved again
HOLDS = 1e-9  # of a constraint at the point of the file
_FORMULAS = ("running", "terminal")


def task_spec(task: OptimalControlProblem) -> Plain:
    """Return the arguments of a problem as plain data; those that are defaults are left out."""
    found: Plain = {}
    for field in dataclasses.fields(task):
        value = getattr(task, field.name)
        if field.name == "system" or value == field.default:
            continue
        if field.name in _FORMULAS:
            value = text(sp.sympify(value)) if isinstance(value, sp.Basic) else value
        elif field.name == "path":
            value = [rule[3] for rule in task.path_rules]
        elif field.name == "equations":
            value = [text(g) for g in task.relation.equations]
        elif field.name == "end":
            value = _end(task)
        elif field.name == "stagewise":
            value = task.stages_of
        elif field.name == "bounds":
            value = {name: _plain(pair) for name, pair in task.bounds.items()}  # type: ignore[union-attr]
        found[field.name] = _plain(value)
    return found


def _end(task: OptimalControlProblem) -> object:
    if isinstance(task.end, Mapping):
        return {str(formula): _plain(value) for formula, value in task.end.items()}
    return [rule[3] for rule in task.end_rules]


def _plain(value: object) -> object:
    """Return a value as JSON has it; an infinite bound is None."""
    if isinstance(value, Mapping):
        return {str(k): _plain(x) for k, x in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(x) for x in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value


def spec_of(plan: Solved) -> Plain:
    """Return everything that makes a plan, as plain data (JSON)."""
    own = plan.outcome.plan
    if own is None:
        raise BadValue(
            f"The plan is {plan.status!r} and has no sequence of active sets, so it cannot be "
            "saved. Save its controls, plan.u, or plan with method='fesd'."
        )
    log = [
        {k: str(x) if k == "status" else _plain(x) for k, x in line.items()} for line in plan.log
    ]
    return {
        "type": "Plan",
        "system": plan.task.system.to_spec(),
        "task": task_spec(plan.task),
        "x0": plan.x[0].tolist(),
        "rho": dict(plan.rho),
        "status": plan.status,
        "message": plan.message,
        "objective": plan.objective,
        "t": plan.t.tolist(),
        "x": plan.x.tolist(),
        "u": plan.u.tolist(),
        "first": list(own.sequence.first),
        "changes": [[list(c.after), c.place, c.t] for c in own.sequence.changes],
        "point": plan.outcome.w.tolist(),
        "log": log,
    }


def save(plan: Solved, path: str | Path) -> Path:
    """Write a plan to a file; see `Plan.save`."""
    path = Path(path)
    path = path if path.suffix == ".json" else path.with_name(path.name + ".json")
    content = json.dumps(spec_of(plan), allow_nan=False)
    return written(path, lambda file: file.write_text(content))


def read(path: str | Path) -> Plain:
    """Return the plain data of a saved plan.

    Raises
    ------
    BadValue
        If the file is no saved plan.
    """
    try:
        spec: Plain = json.loads(Path(path).read_text())
        if spec["type"] != "Plan":
            raise ValueError(f"it is a {spec['type']}")
    except FileNotFoundError:
        raise BadValue(f"There is no file {str(path)!r}.") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadValue(f"{str(path)!r} is not a saved plan ({error}).") from None
    return spec


def restored(
    spec: Plain,
) -> tuple[OptimalControlProblem, Outcome, Pipeline, np.ndarray, dict[str, float]]:
    """Return problem, outcome, pipeline, start and parameters of a plan from plain data.

    The program is built and solved again, from the point that was saved; this point is kept where
    the constraints hold at it: lengths of free intervals with the same controls are not unique.

    Raises
    ------
    BadValue
        If the solution is not that of the file.
    """
    system = cast(Replayed, from_spec(spec["system"]))
    task = OptimalControlProblem(system, **spec["task"])
    start, rho = np.array(spec["x0"], float), dict(spec["rho"])
    search = pipeline(task, Settings(), ITERATIONS)
    solver, w = search.smooth, np.array(spec["point"], float)
    missed = spec["status"] == "infeasible"
    if missed and w.size != solver.program.low.size:
        solver = pipeline(task, Settings(), ITERATIONS, elastic=True).smooth
    program = solver.program
    changes = [Change(tuple(after), place, t) for after, place, t in spec["changes"]]
    sequence = Sequence(tuple(spec["first"]), tuple(changes))
    if w.size != program.low.size:
        raise BadValue(
            "The plan was saved by another version, whose program had "
            f"{w.size} variables, not {program.low.size}. Plan again from its controls."
        )
    p = program.parameters(start, np.array(list(rho.values())), penalty=PENALTY)
    solved = polish(solver, program, w, sequence, p, elastic=missed)
    search.note("polish", solved.point, solved.cost, changes=len(changes))
    cost = spec["objective"]
    same = solved.ok and abs(solved.cost - cost) <= CLOSE * (1 + abs(cost))
    if spec["status"] in ("stationary", "at a kink", "inexact") and not same:
        raise BadValue(
            f"The plan of the file has the objective {cost:g}, but solved again it is "
            f"{solved.cost:g} ({solved.point.status})."
        )
    kept = solver.at(w, p, solved.bounds)
    if solved.ok and kept.violation <= HOLDS:
        there = dataclasses.replace(
            solved.point, w=w, rows=kept.rows, f=kept.f, violation=kept.violation
        )
        solved = dataclasses.replace(solved, point=there, sequence=sequence)
    status = "stationary" if spec["status"] == "inexact" else spec["status"]
    places = biactive(solved) if solved.ok else []
    outcome = Outcome(
        solved.program, solved.point.w, p, status, solved, solved.point, places, spec["message"]
    )
    return task, outcome, search, start, rho


def code(plan: Solved) -> str:
    """Return Python code that makes a plan: its system, its problem, and its guess."""
    arguments = task_spec(plan.task)
    guess: Plain = {k: _plain(value) for k, value in plan.as_guess.items()}
    rho = {k: value for k, value in plan.rho.items() if k not in plan.unknowns}
    if isinstance(plan.task.system, HybridSystem):
        guess["modes"] = [plan.task.system.modes[m].name for m in plan.modes]
    lines = [
        "import explorer as ex",
        "from explorer.systems import from_spec",
        "",
        f"system = from_spec({plan.task.system.to_spec()!r})",
        "task = ex.OptimalControlProblem(",
        "    system,",
        *(f"    {name}={value!r}," for name, value in arguments.items()),
        ")",
        f"guess = {guess!r}",
        f"plan = ex.optimize(task, guess, x0={plan.x[0].tolist()!r}, rho={rho!r})",
    ]
    return "\n".join(lines) + "\n"
