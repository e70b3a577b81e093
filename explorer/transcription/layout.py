"""Times and states of a point of a program, and how its elements share phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.transcription.program import Program
from explorer.transcription.sequence import Phase, counts

__all__ = [
    "Layout",
    "ends",
    "inputs_at",
    "layout_of",
    "lengths",
    "products_at",
    "stage_times",
    "states_at",
]


def lengths(program: Program, w: np.ndarray) -> np.ndarray:
    """Return the lengths (N, E) of the elements in s."""
    grid, of = program.grid, program.of
    if grid.switching:
        return np.asarray(w[of["h"]])
    whole = w[of["lengths"]] if grid.free else (w[of["T"]] - w[of["t_0"]]) * w[of["part"]]
    return np.repeat(whole[:, None] / grid.elements, grid.elements, axis=1)


def ends(program: Program, w: np.ndarray) -> np.ndarray:
    """Return the times (N + 1,) of the boundaries of the control intervals in s."""
    begin = w[program.of["t_0"]]
    return np.concatenate([[begin], begin + np.cumsum(lengths(program, w).sum(axis=1))])


def stage_times(program: Program, w: np.ndarray) -> np.ndarray:
    """Return the times (N, E, s) of the stages in s."""
    h = lengths(program, w)
    begin = np.concatenate([[0.0], np.cumsum(h.ravel())[:-1]]).reshape(h.shape)
    begin += w[program.of["t_0"]]
    return np.asarray(begin[:, :, None] + h[:, :, None] * program.grid.method.c)


def inputs_at(program: Program, w: np.ndarray) -> np.ndarray:
    """Return controls and algebraic variables (N, E, s, n_u + n_z) at the stages."""
    z, u = w[program.of["z"]], w[program.of["u"]][:, None, None, :]
    return np.concatenate([np.broadcast_to(u, (*z.shape[:3], u.shape[-1])), z], axis=3)


def products_at(program: Program, w: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the lifted products (N, E, s, n_beta) of the multipliers of a point."""
    f, t = program.formulas, stage_times(program, w)
    beta = np.zeros((t.size, f.n_beta))
    if f.products is None or not f.n_beta:
        return beta.reshape(*t.shape, -1)
    several = w[program.of["x"]], w[program.of["m"]], inputs_at(program, w)
    x, m, u = (one.reshape(t.size, -1) for one in several)
    rho = np.repeat(program.rho(w, p)[:, None], t.size, axis=1)
    for _ in range(f.n_c):  # each is of those before
        given = np.hstack([m, beta]).T
        beta = np.asarray(f.products(t.reshape(1, -1), x.T, given, u.T, rho), float).T
    return beta.reshape(*t.shape, f.n_beta)


@dataclass(frozen=True)
class Layout:
    """Which phase each element belongs to.

    Attributes
    ----------
    signs : (N, E, n_c) int
    phase : (N, E) int, the number of the phase in its interval
    """

    signs: np.ndarray
    phase: np.ndarray


def layout_of(program: Program, phases: list[list[Phase]]) -> Layout:
    """Return how the elements of a program share the phases of a sequence."""
    grid = program.grid
    N, E, width = grid.intervals, grid.elements, program.formulas.n_signs
    signs, number = np.zeros((N, E, width), int), np.zeros((N, E), int)
    for k, here in enumerate(phases):
        n = 0
        for i, count in enumerate(counts(here, E)):
            signs[k, n : n + count] = here[i].signs
            number[k, n : n + count] = i
            n += count
    return Layout(signs, number)


def states_at(
    program: Program, w: np.ndarray, begun: np.ndarray, k: int, t: np.ndarray
) -> np.ndarray:
    """Return the states (n_t, n_x) at times `t` in s after the begin of interval `k`.

    `begun` (N E, n_x) are the states with which elements begin.
    """
    grid, x, h = program.grid, w[program.of["x"]], lengths(program, w)[k]
    start = begun[k * grid.elements : (k + 1) * grid.elements]
    begin = np.concatenate([[0.0], np.cumsum(h)[:-1]])
    e = np.clip(np.searchsorted(begin, t, side="right") - 1, 0, grid.elements - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(h[e] > 0, np.clip((t - begin[e]) / h[e], 0.0, 1.0), 1.0)
    nodes = np.concatenate([[0.0], grid.method.c])
    values = np.concatenate([start[:, None], x[k]], axis=1)[e]  # (n_t, s + 1, n_x)
    apart = nodes[:, None] - nodes
    np.fill_diagonal(apart, 1.0)
    factors = (at[:, None, None] - nodes) / apart  # those of one node in a row
    each = np.arange(len(nodes))
    factors[:, each, each] = 1.0
    return np.einsum("ti,tix->tx", factors.prod(axis=2), values)
