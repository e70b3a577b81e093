"""A problem as nonlinear programs, built once; guesses as points of them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from collections.abc import Sequence as Several

import numpy as np

from explorer.control.problem import OptimalControlProblem
from explorer.control.ranges import Ranged
from explorer.errors import BadValue, suggest
from explorer.parameters import number
from explorer.systems import HybridSystem, MechanicalSystem, System
from explorer.transcription.contact_formulas import contact_formulas
from explorer.transcription.contact_program import build_contacts
from explorer.transcription.contact_sets import leaves, names_of
from explorer.transcription.formulas import Costs, formulas
from explorer.transcription.layout import ends, stage_times
from explorer.transcription.modes import hybrid_formulas
from explorer.transcription.outcome import Settings
from explorer.transcription.pipeline import Pipeline
from explorer.transcription.program import Grid, Limits, Program, build
from explorer.transcription.sequence import Change, Sequence
from explorer.transcription.solver import Solver

__all__ = ["guessed_modes", "pipeline", "point"]


# with contacts: a coarse sigma tells the sequence, and the smooth program does the rest
SIGMAS, MORE = (1.0, 1e-1, 1e-2, 1e-3), (1e-4, 1e-5)
ENOUGH, BESIDE = 150, 60  # iterations of a smooth program with contacts, and beside a plan


def pipeline(task: OptimalControlProblem, settings: Settings, max_iter: int) -> Pipeline:
    """Return what solves a problem; its programs are built once for each system and task."""
    kept: dict[str, tuple[Solver, Solver | None]] = task.system.made.setdefault("control", {})
    fields = {f.name: getattr(task, f.name) for f in dataclasses.fields(task) if f.name != "system"}
    key = repr((sorted(fields.items()), max_iter))
    if key not in kept:
        running, terminal = task.costs
        path, end, knots = task.path_rules, task.end_rules, task.knot_rules
        asked = (tuple(rule[0] for rule in one) for one in (path, end, knots))
        costs = Costs(running, terminal, *asked)
        x, u = task.limits
        limits = Limits(x, u, _ranges(path), _ranges(end), _ranges(knots))
        system = task.system
        switching = task.method == "fesd" and _switches(system)
        grid = Grid(
            task.intervals, task.elements, task.stages, task.times, task.grid == "free", switching
        )
        kept[key] = _solvers(task, costs, grid, limits, max_iter)
    if isinstance(task.system, MechanicalSystem):
        settings = dataclasses.replace(settings, sigmas=SIGMAS, more=MORE)
    search = Pipeline(*kept[key], settings)
    search.start_mode = getattr(task.system, "start_mode", 0)
    return search


def _switches(system: System) -> bool:
    """Whether a system has anything that elements detect."""
    if isinstance(system, MechanicalSystem):
        return bool(system.contacts)
    return isinstance(system, HybridSystem) or bool(getattr(system, "switches", ()))


def _solvers(
    task: OptimalControlProblem, costs: Costs, grid: Grid, limits: Limits, max_iter: int
) -> tuple[Solver, Solver | None]:
    """Return the solver of the smooth program, and that of the homotopy if it is another one."""
    system, names = task.system, task.control_names
    if isinstance(system, MechanicalSystem):
        contacts = contact_formulas(system, names, costs, task.no_slip)
        smooth = Solver(build_contacts(contacts, grid, limits), min(max_iter, ENOUGH), BESIDE)
        if not grid.switching:
            return smooth, None
        coarse = dataclasses.replace(grid, stages=min(grid.stages, 2))
        return smooth, Solver(build_contacts(contacts, coarse, limits, smooth=False), max_iter)
    if isinstance(system, HybridSystem):
        return Solver(build(hybrid_formulas(system, names, costs), grid, limits), max_iter), None
    smooth = Solver(build(formulas(system, names, costs), grid, limits), max_iter)
    if task.representation != "stewart":
        return smooth, None
    regions = formulas(system, names, costs, stewart=True)
    return smooth, Solver(build(regions, grid, limits), max_iter)


def guessed_modes(task: OptimalControlProblem, guess: object) -> Sequence | None:
    """Return the sequence of the modes that a guess names, one for each control interval.

    Raises
    ------
    BadValue
        A wrong number, an unknown mode, or two that no guard connects.
    """
    system = task.system
    if not isinstance(guess, Mapping) or "modes" not in guess:
        return None
    given = list(guess["modes"])
    if isinstance(system, HybridSystem):
        known = [[mode.name for mode in system.modes]]
    elif isinstance(system, MechanicalSystem):
        known = [list(names_of(contact.slip is not None)) for contact in system.contacts]
    else:
        raise BadValue(f"'{system.name}' is a {system.kind}: its guess has no modes.")
    if len(given) != task.intervals:
        raise BadValue(f"modes of guess has {len(given)} names, not {task.intervals}.")
    numbers = [_numbers_of(one, known) for one in given]
    length = number(guess.get("t_end", task.times[0]), "t_end of guess") / task.intervals
    changes = []
    for k, (before, after) in enumerate(itertools.pairwise(numbers), 1):
        if before != after:
            # what a control may do by its jump; anything else is reached inside of an interval
            if isinstance(system, MechanicalSystem):
                passes = leaves(before, after)
            else:
                passes = _passes(system, before[0], after[0], task.control_names)
            changes.append(Change(after, 2 * (k - 1) + passes, k * length))
    return Sequence(numbers[0], tuple(changes))


def _numbers_of(names: object, known: Several[list[str]]) -> tuple[int, ...]:
    """Return the numbers of names, one for each contact, or of one mode."""
    several = [names] if isinstance(names, str) else list(names)  # type: ignore[call-overload]
    if len(several) != len(known):
        raise BadValue(f"modes of guess: {names!r} should name {len(known)} contacts.")
    for name, among in zip(several, known, strict=True):
        if not name or name not in among:
            raise BadValue(f"modes of guess: there is no mode {name!r}.{suggest(name, among)}")
    return tuple(among.index(name) for name, among in zip(several, known, strict=True))


def _passes(system: HybridSystem, before: int, after: int, controls: Several[str]) -> bool:
    """Whether the guard between two modes depends on controls.

    Raises
    ------
    BadValue
        If there is no such guard.
    """
    guards = {(guard.mode, guard.to): guard for guard in system.guards}
    if (before, after) not in guards:
        names = [mode.name for mode in system.modes]
        raise BadValue(
            f"modes of guess: no guard leads from {names[before]!r} to {names[after]!r}."
        )
    return bool({s.name for s in guards[before, after].r.free_symbols} & set(controls))


def _ranges(rules: list[Ranged]) -> np.ndarray:
    return np.array([[low, high] for _, low, high, _ in rules], float).reshape(-1, 2)


def point(
    task: OptimalControlProblem, program: Program, x0: np.ndarray, guess: object
) -> np.ndarray:
    """Return the point of a program that a guess means.

    Parameters
    ----------
    guess : None, (intervals + 1, n_x) float, or dict
        States at the ends of the control intervals; or a dict of "x", "u" (intervals, n_u) and
        "t_end", and of a hybrid system "modes", a name for each interval. By default the states go
        straight to the target, where it is known.

    Raises
    ------
    BadValue
        A wrong shape, an unknown entry, a value that is not finite.
    """
    given = guess if isinstance(guess, Mapping) else {} if guess is None else {"x": guess}
    known = ("x", "u", "t_end", "modes")
    for name in given:
        if name not in known:
            raise BadValue(f"guess has no entry {name!r}.{suggest(name, known)}")
    N, n_u = task.intervals, len(task.control_names)
    grid, of = program.grid, program.of
    w = np.zeros(program.low.size)
    T = number(given["t_end"], "t_end of guess", positive=True) if "t_end" in given else grid.usual
    w[of["T"]] = np.clip(T, *grid.t_end)
    w[of["part"]] = 1 / N
    w[of["h"]] = w[of["T"]] / N / grid.elements
    w[of["lengths"]] = w[of["T"]] / N
    low, high = (_finite(task.limits[1][:, k], s) for k, s in ((0, -1.0), (1, 1.0)))
    middle = np.where(np.isfinite(task.limits[1]).all(axis=1), 0.5 * (low + high), 0.0)
    middle = np.clip(middle, task.limits[1][:, 0], task.limits[1][:, 1])
    w[of["u"]] = _shaped(given.get("u"), np.tile(middle, (N, 1)), "u", f"({N}, {n_u})")
    straight = np.linspace(x0, _target(task, x0), N + 1)
    n_x = len(task.states)
    states = _shaped(given.get("x"), straight, "x", f"({N + 1}, {n_x})")
    t, at = stage_times(program, w), ends(program, w)
    for i in range(n_x):
        w[of["x"][..., i]] = np.interp(t, at, states[:, i])
    w[of["m"]] = 0.5
    if "force" in of:
        w[of["force"][..., : program.formulas.n_c]] = 0.1
        w[of["bound"]] = 1.0
    w[of["lam"]] = 1.0
    return np.clip(w, program.low, program.high)


def _finite(values: np.ndarray, instead: float) -> np.ndarray:
    return np.where(np.isfinite(values), values, instead)


def _target(task: OptimalControlProblem, x0: np.ndarray) -> np.ndarray:
    """Return the final state where constraints fix it, and the initial one elsewhere."""
    out = x0.copy()
    for formula, low, high, _ in task.end_rules:
        for i, x in enumerate(task.states):
            if formula == x:
                out[i] = min(max(out[i], low), high)
    return out


def _shaped(value: object, default: np.ndarray, what: str, shape: str) -> np.ndarray:
    if value is None:
        return default
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise BadValue(f"{what} of guess must hold numbers, not {value!r}.") from None
    if array.shape != default.shape:
        raise BadValue(f"{what} of guess has the shape {array.shape}, but {shape} is needed.")
    if not np.isfinite(array).all():
        raise BadValue(f"{what} of guess is not finite.")
    return array
