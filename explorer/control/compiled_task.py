"""A problem as nonlinear programs, built once."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from explorer.control.problem import OptimalControlProblem
from explorer.control.ranges import Ranged
from explorer.systems import HybridSystem, MechanicalSystem, System
from explorer.transcription.builder import build
from explorer.transcription.contact_formulas import contact_formulas
from explorer.transcription.contact_program import build_contacts
from explorer.transcription.formulas import Costs, formulas
from explorer.transcription.grid import Grid, Limits
from explorer.transcription.modes import hybrid_formulas
from explorer.transcription.outcome import Settings
from explorer.transcription.pipeline import Pipeline
from explorer.transcription.solver import Solver

__all__ = ["pipeline"]


# with contacts: a coarse sigma tells the sequence, and the smooth program does the rest
SIGMAS, MORE = (1.0, 1e-1, 1e-2, 1e-3), (1e-4, 1e-5)
OTHER = (3.0, 0.3, 3e-2, 3e-3, 1e-3)  # between those, where they lead to no solution
FEW = 10  # sequences that are tried to find what cannot hold
ENOUGH, BESIDE = 150, 60  # iterations of a smooth program with contacts, and beside a plan
LONG = 400  # iterations of one sigma with contacts; without a limit a solve has gone astray
EFFORT = 0.75  # iterations of the search beside a plan, in units of those of the homotopy


def pipeline(
    task: OptimalControlProblem, settings: Settings, max_iter: int, elastic: bool = False
) -> Pipeline:
    """Return what solves a problem; its programs are built once for each system and task.

    An elastic one finds what cannot hold, where no plan is found.
    """
    kept: dict[str, tuple[Solver, Solver | None]] = task.system.made.setdefault("control", {})
    fields = {f.name: getattr(task, f.name) for f in dataclasses.fields(task) if f.name != "system"}
    key = repr((sorted(fields.items()), max_iter, elastic))
    if key not in kept:
        running, terminal = task.costs
        path, end, knots = task.path_rules, task.end_rules, task.knot_rules
        asked = [tuple(rule[0] for rule in one) for one in (path, end, knots)]
        costs = Costs(
            running,
            terminal,
            asked[0],
            asked[1],
            asked[2],
            task.relation.z,
            task.relation.equations,
        )
        limits = Limits(
            task.limits[0],
            task.control_limits,
            _ranges(path),
            _ranges(end),
            _ranges(knots),
            task.unknown_places,
            np.array([*task.ranges.values()], float).reshape(-1, 2),
            task.relation.limits,
        )
        system = task.system
        switching = task.method == "fesd" and _switches(system)
        grid = Grid(
            task.intervals, task.elements, task.stages, task.times, task.grid == "free", switching
        )
        kept[key] = _solvers(task, costs, grid, limits, max_iter, elastic)
    if isinstance(task.system, MechanicalSystem):
        settings = dataclasses.replace(
            settings, sigmas=SIGMAS, more=MORE, other=OTHER, effort=EFFORT
        )
    search = Pipeline(*kept[key], settings)
    search.start_mode = getattr(task.system, "start_mode", 0)
    search.elastic = elastic
    if not elastic:
        few = dataclasses.replace(settings, most=FEW)
        search.loosen = functools.partial(pipeline, task, few, max_iter, elastic=True)
    return search


def _switches(system: System) -> bool:
    """Whether a system has anything that elements detect."""
    if isinstance(system, MechanicalSystem):
        return bool(system.contacts)
    return isinstance(system, HybridSystem) or bool(getattr(system, "switches", ()))


def _solvers(
    task: OptimalControlProblem,
    costs: Costs,
    grid: Grid,
    limits: Limits,
    max_iter: int,
    elastic: bool,
) -> tuple[Solver, Solver | None]:
    """Return the solver of the smooth program, and that of the homotopy if it is another one."""
    system, names = task.system, task.control_names
    if isinstance(system, MechanicalSystem):
        contacts = contact_formulas(system, names, costs, task.no_slip)
        program = build_contacts(contacts, grid, limits, elastic=elastic)
        smooth = Solver(program, min(max_iter, ENOUGH), BESIDE)
        if not grid.switching:
            return smooth, None
        coarse = dataclasses.replace(grid, stages=min(grid.stages, 2))
        first = build_contacts(contacts, coarse, limits, False, elastic)
        return smooth, Solver(first, min(max_iter, LONG))
    if isinstance(system, HybridSystem):
        modes = hybrid_formulas(system, names, costs)
        return Solver(build(modes, grid, limits, elastic), max_iter), None
    smooth = Solver(build(formulas(system, names, costs), grid, limits, elastic), max_iter)
    stewart = task.representation == "stewart"
    if not stewart and not task.lifting:
        return smooth, None
    other = formulas(system, names, costs, stewart, task.lifting)
    return smooth, Solver(build(other, grid, limits, elastic), max_iter)


def _ranges(rules: list[Ranged]) -> np.ndarray:
    return np.array([[low, high] for _, low, high, _ in rules], float).reshape(-1, 2)
