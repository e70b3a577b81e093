"""Which formula of a problem has no finite value at a guess, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from explorer.control.problem import OptimalControlProblem
from explorer.errors import BadValue
from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.layout import inputs_at, products_at, stage_times
from explorer.transcription.program import Program

if TYPE_CHECKING:
    from casadi import Function

__all__ = ["check_finite"]


def check_finite(
    task: OptimalControlProblem, program: Program, w: np.ndarray, p: np.ndarray
) -> None:
    """Refuse a point at which a formula is not finite.

    Raises
    ------
    BadValue
        Names the first formula, and where it is not finite.
    """
    t, x, u = stage_times(program, w).ravel(), w[program.of["x"]], inputs_at(program, w)
    x, u = x.reshape(t.size, -1), u.reshape(t.size, -1)
    rho = program.rho(w, p)
    names = (*task.state_names, *task.control_names, *task.relation.names)
    for name, values in _evaluated(task, program, w, p):
        bad = np.flatnonzero(~np.isfinite(values))
        if not bad.size:
            continue
        k = (int(bad[0]) + 1) * (t.size // values.size) - 1  # each stage, or ends of intervals
        here = zip(names, np.concatenate([x[k], u[k]]), strict=True)
        given = zip(task.parameter_names, rho, strict=True)
        where = ", ".join(f"{n} = {v:.6g}" for n, v in (("t", t[k]), *here, *given))
        raise BadValue(
            f"{name} is {values[bad[0]]:g}, so it is not finite at the guess, at {where}. Give a "
            "guess at which it is finite, optimize(task, guess={'x': ..., 'u': ...}), or other "
            "parameters."
        )
    if not np.isfinite(float(program.costs(w, p))):
        raise BadValue("The costs are not finite at the guess. Give a guess at which they are.")


def _evaluated(
    task: OptimalControlProblem, program: Program, w: np.ndarray, p: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the formulas in words, and their values at all stages or at the end."""
    f, of = program.formulas, program.of
    t, v = stage_times(program, w).reshape(1, -1), inputs_at(program, w)
    count = t.size
    x, u = w[of["x"]].reshape(count, -1).T, v.reshape(count, -1).T
    rho = np.repeat(program.rho(w, p)[:, None], count, axis=1)

    def rows(function: Function, *given: np.ndarray) -> np.ndarray:
        return np.asarray(function(*given), float).reshape(-1, given[0].size)

    if isinstance(f, ContactFormulas):
        accelerations = rows(f.acceleration, t, x, u, rho)
        for name, row in zip(task.system.coordinates, accelerations, strict=True):
            yield f"The acceleration of {name!r}", row
    else:
        m = np.concatenate([w[of["m"]], products_at(program, w, p)], axis=3).reshape(count, -1).T
        for name, row in zip(task.state_names, rows(f.flow, t, x, m, u, rho), strict=True):
            yield f"The derivative of {name!r}", row
    for row in rows(f.switching, t, x, u, rho):
        yield "A switching function", row
    yield "The running cost", rows(f.running, t, x, u, rho)[0]
    for rule, row in zip(task.path_rules, rows(f.path, t, x, u, rho), strict=True):
        yield f"The path constraint {rule[3]}", row
    last = t[:, -1:], x[:, -1:], u[f.n_u :, -1:], rho[:, -1:]
    yield "The terminal cost", rows(f.terminal, *last)[0]
    for rule, row in zip(task.end_rules, rows(f.end, *last), strict=True):
        yield f"The end constraint {rule[3]}", row
    each = count // len(task.control_limits)
    knots = t[:, each - 1 :: each], x[:, each - 1 :: each], u[f.n_u :, each - 1 :: each]
    if f.knot is not None:
        values = rows(f.knot, *knots, rho[:, each - 1 :: each])
        for rule, row in zip(task.knot_rules, values, strict=True):
            yield f"The knot constraint {rule[3]}", row
