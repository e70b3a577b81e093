"""A later start of a program: control intervals that are over take no part.

The variables "t_0" and "part" say when a plan begins, and which part of the time up to T each
control interval has; both are fixed. An interval of part 0 is over. Its variables are fixed and its
rows free, so the same program, and its compiled functions, plan for the time that is left.
"""

from __future__ import annotations

import numpy as np

from explorer.transcription.grid import INF
from explorer.transcription.program import Program
from explorer.transcription.solver import Bounds

_ROOM = 0.02  # of the range of a state: where it is outside, and before it comes back

__all__ = ["begun_at", "carried", "over", "restrict", "shifted_by_one"]


def over(program: Program, w: np.ndarray) -> int:
    """Return how many control intervals are over."""
    return int(np.flatnonzero(w[program.of["part"]])[0])


def begun_at(program: Program, w: np.ndarray, k: int, t_0: float, x0: np.ndarray) -> np.ndarray:
    """Return a point whose plan begins with interval `k` at `t_0` in s and at `x0`.

    The intervals behind it share the time up to T in equal parts.
    """
    out, of = w.copy(), program.of
    N = program.grid.intervals
    out[of["t_0"]] = t_0
    out[of["part"]] = np.where(np.arange(N) < k, 0.0, 1 / (N - k))
    for name in ("h", "lengths"):
        out[of[name][:k]] = 0.0
    out[of["x"][:k]] = x0
    return out


def carried(source: Program, w: np.ndarray, program: Program) -> np.ndarray:
    """Return a point of an elastic program, given one of the program that it loosens."""
    out = np.zeros(program.low.size)
    for name, places in source.of.items():
        if places.shape == program.of[name].shape:
            out[program.of[name]] = w[places]
    return out


def shifted_by_one(program: Program, w: np.ndarray, t_0: float) -> np.ndarray:
    """Return a point whose intervals are the next ones; the last one is there twice.

    `t_0` is the new start in s; T moves with it.
    """
    out, of = w.copy(), program.of
    for name, places in of.items():
        if places.ndim and places.size and name not in ("end", "part", "unknown"):
            out[places[:-1]] = w[places[1:]]
    out[of["T"]] += t_0 - w[of["t_0"]]
    out[of["t_0"]] = t_0
    return out


def restrict(program: Program, bounds: Bounds, w: np.ndarray, p: np.ndarray) -> Bounds:
    """Put the horizon of a point into bounds: its start, its parts, and what is over.

    A start outside of the bounds of its states has the first interval to come back. Unknown
    parameters that intervals have used which are over keep their values.
    """
    of = program.of
    for name in ("t_0", "part"):
        bounds.low[of[name]] = bounds.high[of[name]] = w[of[name]]
    if program.grid.t_end[0] == program.grid.t_end[1]:
        bounds.low[of["T"]] = bounds.high[of["T"]] = w[of["T"]]
    k = over(program, w)
    x = of["x"][k]
    low, high = program.low[x], program.high[x]
    start = p[: x.shape[-1]]
    room = np.where(np.isfinite(high - low), high - low, np.abs(start)) * _ROOM
    bounds.low[x] = np.where(start < low, 2 * start - low - room, bounds.low[x])
    bounds.high[x] = np.where(start > high, 2 * start - high + room, bounds.high[x])
    if k:
        bounds.low[of["unknown"]] = bounds.high[of["unknown"]] = w[of["unknown"]]
        variables, rows = program.spans[:, :k]
        done = slice(variables[0, 0], variables[-1, 1])
        bounds.low[done] = bounds.high[done] = w[done]
        done = slice(rows[0, 0], rows[-1, 1])
        bounds.row_low[done], bounds.row_high[done] = -INF, INF
        tied = program.rows["tied"][k - 1 : k]
        bounds.row_low[tied], bounds.row_high[tied] = -INF, INF
    return bounds
