"""A problem as nonlinear programs, built once; guesses as points of them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

import numpy as np

from explorer.control.problem import OptimalControlProblem
from explorer.control.ranges import Ranged
from explorer.errors import BadValue, suggest
from explorer.parameters import number
from explorer.systems import HybridSystem
from explorer.transcription.active_set import ends, stage_times
from explorer.transcription.formulas import Costs, formulas
from explorer.transcription.modes import hybrid_formulas
from explorer.transcription.pipeline import Pipeline, Settings
from explorer.transcription.program import Grid, Limits, Program, build
from explorer.transcription.sequence import Change, Sequence
from explorer.transcription.solver import Solver

__all__ = ["guessed_modes", "pipeline", "point"]


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
        if isinstance(system, HybridSystem):
            switching = True
        else:
            switching = task.method == "fesd" and bool(system.switches)
        grid = Grid(
            task.intervals, task.elements, task.stages, task.times, task.grid == "free", switching
        )
        if isinstance(system, HybridSystem):
            step = hybrid_formulas(system, task.control_names, costs)
        else:
            step = formulas(system, task.control_names, costs)
        smooth = Solver(build(step, grid, limits), max_iter)
        first = None
        if task.representation == "stewart" and not isinstance(system, HybridSystem):
            regions = formulas(system, task.control_names, costs, stewart=True)
            first = Solver(build(regions, grid, limits), max_iter)
        kept[key] = smooth, first
    search = Pipeline(*kept[key], settings)
    search.start_mode = getattr(task.system, "start_mode", 0)
    return search


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
    if not isinstance(system, HybridSystem):
        raise BadValue(f"'{system.name}' is a {system.kind}: its guess has no modes.")
    names = [mode.name for mode in system.modes]
    given = list(guess["modes"])
    if len(given) != task.intervals:
        raise BadValue(f"modes of guess has {len(given)} names, not {task.intervals}.")
    for name in given:
        if name not in names:
            raise BadValue(f"modes of guess: there is no mode {name!r}.{suggest(name, names)}")
    numbers = [names.index(name) for name in given]
    length = number(guess.get("t_end", task.times[0]), "t_end of guess") / task.intervals
    guards = {(guard.mode, guard.to): guard for guard in system.guards}
    changes = []
    for k, (before, after) in enumerate(itertools.pairwise(numbers), 1):
        if before == after:
            continue
        if (before, after) not in guards:
            raise BadValue(
                f"modes of guess: no guard leads from {names[before]!r} to {names[after]!r}."
            )
        symbols = {s.name for s in guards[before, after].r.free_symbols}
        # a control that jumps may pass the guard; another one is reached inside of an interval
        passes = bool(symbols & set(task.control_names))
        changes.append(Change((after,), 2 * (k - 1) + passes, k * length))
    return Sequence((numbers[0],), tuple(changes))


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
    n_x = task.system.n
    states = _shaped(given.get("x"), straight, "x", f"({N + 1}, {n_x})")
    t, at = stage_times(program, w), ends(program, w)
    for i in range(n_x):
        w[of["x"][..., i]] = np.interp(t, at, states[:, i])
    w[of["m"]] = 0.5
    w[of["lam"]] = 1.0
    return np.clip(w, program.low, program.high)


def _finite(values: np.ndarray, instead: float) -> np.ndarray:
    return np.where(np.isfinite(values), values, instead)


def _target(task: OptimalControlProblem, x0: np.ndarray) -> np.ndarray:
    """Return the final state where constraints fix it, and the initial one elsewhere."""
    out = x0.copy()
    for formula, low, high, _ in task.end_rules:
        for i, x in enumerate(task.system.x):
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
