"""Guesses: points of a program, and sequences of modes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from collections.abc import Sequence as Several

import numpy as np

from explorer.arguments import items, mapping
from explorer.control.problem import OptimalControlProblem
from explorer.errors import BadValue, suggest
from explorer.parameters import number
from explorer.systems import HybridSystem, MechanicalSystem
from explorer.transcription.contact_sets import leaves, names_of
from explorer.transcription.layout import ends, inputs_at, products_at, stage_times
from explorer.transcription.program import Program
from explorer.transcription.sequence import Change, Sequence

__all__ = ["guessed_modes", "point"]


def guessed_modes(task: OptimalControlProblem, guess: object) -> Sequence | None:
    """Return the sequence of the modes that a guess names, one for each control interval.

    Raises
    ------
    BadValue
        A wrong number, an unknown mode, or two that no guard connects.
    """
    system = task.system
    if not isinstance(guess, Mapping) or guess.get("modes") is None:
        return None
    given = items(guess["modes"], "modes of guess")
    if isinstance(system, HybridSystem):
        known = [[mode.name for mode in system.modes]]
    elif isinstance(system, MechanicalSystem):
        rough = [contact.slip is not None for contact in system.contacts]
        known = [list(names_of(one)) for one in rough]
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
    several = items(names, f"modes of guess: the modes of {len(known)} contacts", str)
    if len(several) != len(known):
        raise BadValue(f"modes of guess: {names!r} should name {len(known)} contacts.")
    for name, among in zip(several, known, strict=True):
        if not name or name not in among:
            named = [one for one in among if one]
            raise BadValue(f"modes of guess: there is no mode {name!r}.{suggest(str(name), named)}")
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


def point(
    task: OptimalControlProblem, program: Program, p: np.ndarray, guess: object
) -> np.ndarray:
    """Return the point of a program that a guess means.

    Parameters
    ----------
    task : OptimalControlProblem
    program : Program
    p : float array
        Its parameters, with the start.
    guess : None, (intervals + 1, n_x) float, or dict
        States at the ends of the control intervals; or a dict of "x", "u" (intervals, n_u),
        "t_end", "unknowns", a value by name, "algebraic", a value or (intervals + 1,) values by
        name, and "modes", a name for each interval. By default the states go straight to the
        target, where it is known.

    Raises
    ------
    BadValue
        A wrong shape, an unknown entry, a value that is not finite.
    """
    given = guess if isinstance(guess, Mapping) else {} if guess is None else {"x": guess}
    known = ("x", "u", "t_end", "unknowns", "algebraic", "modes")
    for name in given:
        if name not in known:
            raise BadValue(f"guess has no entry {name!r}.{suggest(name, known)}")
    N, n_u = task.intervals, len(task.control_names)
    limits = task.control_limits
    grid, of = program.grid, program.of
    w = np.zeros(program.low.size)
    T = number(given["t_end"], "t_end of guess", positive=True) if "t_end" in given else grid.usual
    w[of["T"]] = np.clip(T, *grid.t_end)
    w[of["part"]] = 1 / N
    w[of["h"]] = w[of["T"]] / N / grid.elements
    w[of["lengths"]] = w[of["T"]] / N
    low, high = (_finite(limits[..., k], s) for k, s in ((0, -1.0), (1, 1.0)))
    middle = np.where(np.isfinite(limits).all(axis=2), 0.5 * (low + high), 0.0)
    middle = np.clip(middle, limits[..., 0], limits[..., 1])
    w[of["u"]] = _shaped(given.get("u"), middle, "u", f"({N}, {n_u})")
    w[of["unknown"]] = _chosen(task, given.get("unknowns"))
    x0 = p[: program.formulas.n_x]
    straight = np.linspace(x0, _target(task, x0), N + 1)
    n_x = len(task.states)
    states = _shaped(given.get("x"), straight, "x", f"({N + 1}, {n_x})")
    t, at = stage_times(program, w), ends(program, w)
    for i in range(n_x):
        w[of["x"][..., i]] = np.interp(t, at, states[:, i])
    _determine(task, program, w, p, given.get("algebraic"))
    w[of["m"]] = 0.5
    w[of["beta"]] = products_at(program, w, p)
    if "force" in of:
        w[of["force"][..., : program.formulas.n_c]] = 0.1
        w[of["bound"]] = 1.0
    w[of["lam"]] = 1.0
    return np.clip(w, program.low, program.high)


def _determine(
    task: OptimalControlProblem, program: Program, w: np.ndarray, p: np.ndarray, guess: object
) -> None:
    """Set the algebraic variables: roots of their equations next to the guess, where there are.

    Raises
    ------
    BadValue
        An unknown name, a wrong shape, a guess at which the equations do not determine them.
    """
    relation, of, N = task.relation, program.of, task.intervals
    values = mapping(guess, "algebraic of guess", '{"z": 1}')
    for name in values:
        if name not in relation.names:
            raise BadValue(
                f"algebraic of guess: {name!r} is no algebraic variable of this problem."
                f"{suggest(name, relation.names)}"
            )
    if not relation:
        return
    t, at, z = stage_times(program, w), ends(program, w), w[of["z"]]
    for i, name in enumerate(relation.names):
        each = values.get(name, task.system.parameters[name].value)
        if np.ndim(each) == 0:
            each = np.full(N + 1, number(each, f"{name} of guess"))
        z[..., i] = np.interp(t, at, _shaped(each, np.zeros(N + 1), name, f"({N + 1},)"))
    x = w[of["x"]].reshape(t.size, -1)
    u = inputs_at(program, w).reshape(t.size, -1)
    given: dict[str, np.ndarray | float] = dict(zip(task.control_names, u.T, strict=False))
    given |= zip(task.parameter_names, program.rho(w, p).tolist(), strict=True)
    flat = z.reshape(t.size, -1)
    bad = np.flatnonzero(relation.singular(t.ravel(), x, given, flat))
    if bad.size:
        k = bad[0]
        here = ", ".join(f"{n} = {v:g}" for n, v in zip(relation.names, flat[k], strict=True))
        raise BadValue(
            f"The matrix dg/dz of the equations of {', '.join(relation.names)} is singular at the "
            f"guess, {here} at t = {t.ravel()[k]:g}, so they do not determine these variables "
            "there. Give a guess at which they do, guess={'algebraic': {name: value}}, or other "
            "equations (index 1)."
        )
    roots = relation.solve(t.ravel(), x, given, flat)
    w[of["z"]] = np.where(np.isnan(roots), flat, roots).reshape(z.shape)
    if of["z0"].size:
        w[of["z0"]] = w[of["z"][:, :, 0]]


def _chosen(task: OptimalControlProblem, given: object) -> list[float]:
    """Return where the unknown parameters begin: as given, by default as the system has them."""
    values = mapping(given, "unknowns of guess", '{"k": 3}')
    for name in values:
        if name not in task.ranges:
            raise BadValue(
                f"unknowns of guess: {name!r} is no unknown of this problem."
                f"{suggest(name, task.unknown_names)}"
            )
    usual = task.system.parameters
    return [number(values.get(k, usual[k].value), f"{k} of guess") for k in task.ranges]


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
