"""Active sets of a program: read from a point, set as bounds, and points moved to other ones.

With known active sets the complementarity conditions (16)-(18) of Nurkanovic, Frey, Pozharskiy and
Diehl 2023 (doi:10.48550/arXiv.2303.18066) are equations: lam = 0 at the end of an element that a
switch ends, alpha = 0 or 1 beside a surface, lam = 0 on it. What remains is a smooth program in
which the lengths of the phases are free.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.contact_sets import bounds_of_contacts, forces_at, is_closed, labels_of
from explorer.transcription.grid import ASKED, INF
from explorer.transcription.layout import (
    Layout,
    ends,
    inputs_at,
    layout_of,
    lengths,
    products_at,
    stage_times,
    states_at,
)
from explorer.transcription.modes import bounds_of_modes
from explorer.transcription.program import Program
from explorer.transcription.sequence import Sequence, counts
from explorer.transcription.solver import Bounds

__all__ = [
    "Layout",
    "bounds_of",
    "ends",
    "layout_of",
    "lengths",
    "moved",
    "open_ends",
    "open_slacks",
    "retimed",
    "signs_of",
    "stage_times",
    "states_at",
]


def signs_of(program: Program, w: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the signs (N, E, n_c) of the switching functions at a point of the homotopy."""
    f, of = program.formulas, program.of
    if isinstance(f, ContactFormulas):
        return labels_of(program, w, p)
    m, lam = w[of["m"]], w[of["lam"]]
    largest = lam.max(axis=2)  # over the stages, and the end of the element before
    flat = largest.reshape(-1, largest.shape[-1]).copy()
    last = lam[:, :, -1].reshape(flat.shape)
    flat[1:] = np.maximum(flat[1:], last[:-1])
    largest, mean = flat.reshape(largest.shape), m.mean(axis=2)
    if f.cells is None:
        n = f.n_c
        scale = np.maximum(lam.reshape(-1, 2, n).max(axis=(0, 1), initial=0.0), 1e-12)
        minus, plus = largest[..., :n] / scale, largest[..., n:] / scale
        slide = np.minimum(mean, 1 - mean)
        best = np.argmax(np.stack([slide, plus, minus]), axis=0)
        return np.asarray(np.array([0, 1, -1])[best])
    signs = np.zeros((*mean.shape[:2], f.n_c), int)
    first = 0
    for functions, patterns in f.cells:
        part = slice(first, first + len(patterns))
        first = part.stop
        scale = max(float(lam[..., part].max(initial=0.0)), 1e-12)
        here = mean[..., part] > np.minimum(largest[..., part] / scale, 0.5)
        here |= mean[..., part] == mean[..., part].max(axis=-1, keepdims=True)
        for j, function in enumerate(functions):
            above = (here & (patterns[:, j] > 0)).any(axis=-1)
            below = (here & (patterns[:, j] < 0)).any(axis=-1)
            signs[..., function] = above.astype(int) - below.astype(int)
    return signs


def bounds_of(program: Program, layout: Layout) -> Bounds:
    """Return the bounds of the smooth program on known active sets."""
    if isinstance(program.formulas, ContactFormulas):
        return bounds_of_contacts(program, layout.signs, layout.phase)
    if program.formulas.modes:
        return bounds_of_modes(program, layout.signs, layout.phase)
    grid, of, rows = program.grid, program.of, program.rows
    N, E, n_c = grid.intervals, grid.elements, program.formulas.n_c
    bounds = Bounds.of(program)
    m, lam = of["m"], of["lam"]
    minus, plus = lam[..., :n_c], lam[..., n_c:]
    on = np.broadcast_to(layout.signs[:, :, None, :], m.shape)
    bounds.low[m[on > 0]] = 1.0
    bounds.high[m[on < 0]] = 0.0
    bounds.high[minus[on >= 0]] = 0.0
    bounds.high[plus[on <= 0]] = 0.0
    flat = layout.signs.reshape(N * E, n_c)
    for e, j in zip(*np.nonzero(flat[1:] != flat[:-1]), strict=True):
        k, n = divmod(int(e), E)
        if flat[e, j]:
            bounds.high[(plus if flat[e, j] > 0 else minus)[k, n, -1, j]] = 0.0
        elif n + 1 < E and (flat[e + 1] != flat[e]).sum() == 1:
            # a slide ends where its multiplier reaches its bound, or with another change
            side = float(flat[e + 1, j] > 0)
            bounds.low[m[k, n, -1, j]] = bounds.high[m[k, n, -1, j]] = side
    if grid.switching and E > 1:
        same = layout.phase[:, 1:] == layout.phase[:, :-1]
        bounds.row_low[rows["equal"][same]] = bounds.row_high[rows["equal"][same]] = 0.0
    return bounds


def retimed(program: Program, w: np.ndarray, sequence: Sequence, layout: Layout) -> Sequence:
    """Return a sequence with the times that its changes have at a point."""
    h, boundaries = lengths(program, w), ends(program, w)
    changes, before = [], dict.fromkeys(range(program.grid.intervals), 0)
    for change in sequence.changes:
        k, between = divmod(change.place, 2)
        t = float(boundaries[k + 1])
        if not between:
            here = layout.phase[k] <= before[k]
            t = float(boundaries[k] + h[k][here].sum())
            before[k] += 1
        changes.append(replace(change, t=t))
    return Sequence(sequence.first, tuple(changes))


def moved(
    source: Program,
    w: np.ndarray,
    program: Program,
    sequence: Sequence,
    p: np.ndarray,
    least: float = 0.0,
) -> tuple[np.ndarray, Layout]:
    """Return a point of a program on a sequence, with the states of a point of another one.

    Parameters
    ----------
    source, w :
        A program and its point: states, controls, times.
    program : Program
        On the same control grid, in step form.
    sequence : Sequence
        Its changes have times.
    p : float array
        The parameters of both programs.
    least : float
        Part of an interval that each of its phases lasts at least.
    """
    grid, of, f = program.grid, program.of, program.formulas
    N, E = grid.intervals, grid.elements
    out = np.zeros(program.low.size)
    for name in ("T", "t_0", "part", "unknown"):
        out[of[name]] = w[source.of[name]]
    out[of["u"]] = w[source.of["u"]]
    boundaries = ends(source, w)
    phases = sequence.phases(boundaries)
    layout = layout_of(program, phases)
    begun = np.asarray(source.begun(w, p), float).T
    if grid.free:
        out[of["lengths"]] = np.diff(boundaries)
    for k, here in enumerate(phases):
        shares = counts(here, E)
        parts = np.array([q.length for q in here])
        longer = np.maximum(parts, least * parts.sum())
        longer *= parts.sum() / max(longer.sum(), 1e-300)
        each = np.repeat(longer / shares, shares)
        if grid.switching:
            out[of["h"][k]] = each
        begin = np.concatenate([[0.0], np.cumsum(each)[:-1]])
        times = begin[:, None] + each[:, None] * grid.method.c
        out[of["x"][k]] = states_at(source, w, begun, k, times.ravel()).reshape(*times.shape, -1)
    _determined(source, w, program, out)
    if isinstance(f, ContactFormulas):
        _forces(source, w, program, out, layout)
        return out, layout
    if f.modes:
        out[of["m"]] = layout.signs[:, :, None, :] == np.arange(f.modes)
    else:
        out[of["m"]] = 0.5 * (1 + layout.signs[:, :, None, :])
    if f.n_c:
        t = stage_times(program, out)
        points, u = t.size, inputs_at(program, out)
        rho = np.repeat(program.rho(out, p)[:, None], points, axis=1)
        x = out[of["x"]].reshape(points, f.n_x).T
        c = f.switching(t.reshape(1, points), x, u.reshape(points, -1).T, rho)
        c = np.asarray(c, float).T.reshape(N, E, grid.stages, f.n_c)
        if f.modes:
            out[of["lam"]] = -c
            return out, layout
        out[of["lam"]] = np.concatenate([np.maximum(-c, 0), np.maximum(c, 0)], axis=3)
        _slide(program, out, layout, rho[:, 0], t)
        out[of["beta"]] = products_at(program, out, p)
    return out, layout


def _determined(source: Program, w: np.ndarray, program: Program, out: np.ndarray) -> None:
    """Set the algebraic variables, by interpolation inside of each control interval."""
    old, new = stage_times(source, w), stage_times(program, out)
    z, of = w[source.of["z"]], program.of
    for k in range(len(new)) if z.size else ():
        known = z[k].reshape(old[k].size, -1)
        for i in range(known.shape[1]):
            out[of["z"][k, ..., i]] = np.interp(new[k], old[k].ravel(), known[:, i])
    if of["z0"].size:
        out[of["z0"]] = out[of["z"][:, :, 0]]


def _forces(
    source: Program, w: np.ndarray, program: Program, out: np.ndarray, layout: Layout
) -> None:
    """Set the forces of closed contacts, and the impulses, from those next to them in time."""
    f, of = program.formulas, program.of
    assert isinstance(f, ContactFormulas)
    t = stage_times(program, out)
    force = forces_at(source, w, t.ravel()).reshape(*t.shape, f.n_f)
    force = force * lengths(program, out)[:, :, None, None]
    on = np.ones((*layout.signs.shape[:2], f.n_f), bool)
    on[..., : f.n_c] = is_closed(layout.signs)
    on[..., f.n_c : f.n_c + f.n_t] = on[..., f.rough]
    out[of["force"]] = np.where(on[:, :, None, :], force, 0.0)
    impulse = w[source.of["impulse"]]
    largest = np.abs(impulse).max(axis=1, keepdims=True)
    strongest = np.where(np.abs(impulse) == largest, impulse, 0.0).sum(axis=1, keepdims=True)
    out[of["impulse"]] = np.broadcast_to(strongest, of["impulse"].shape)


def _slide(program: Program, w: np.ndarray, layout: Layout, rho: np.ndarray, t: np.ndarray) -> None:
    """Set alpha of the slides to what keeps the state on its surfaces, dc/dt = 0.

    In a phase of no length any alpha satisfies the equations, but only this one lets it grow.
    """
    f, of, stages = program.formulas, program.of, program.grid.stages
    sliding = layout.signs == 0
    k, n = np.nonzero(sliding.any(axis=2))
    if not len(k):
        return
    on = np.repeat(sliding[k, n], stages, axis=0)  # (points, n_c)
    at, points = of["m"][k, n].reshape(len(on), -1), np.arange(len(on))
    given = [
        t[k, n].reshape(-1, 1),
        w[of["x"][k, n]].reshape(len(on), -1),
        inputs_at(program, w)[k, n].reshape(len(on), -1),
    ]
    for _ in range(8):
        if not len(points):
            return
        m = w[at[points]]
        t_, x, u = (one[points].T for one in given)
        rate, slope = f.slide(t_, x, m.T, u, np.repeat(rho[:, None], len(points), axis=1))
        rate = np.asarray(rate, float).T * on[points]
        slope = np.asarray(slope, float).reshape(rate.shape[1], len(points), -1).swapaxes(0, 1)
        both = on[points, :, None] & on[points, None, :]
        slope = np.where(both, slope, 0.0)
        known = np.isfinite(slope).all(axis=(1, 2)) & np.isfinite(rate).all(axis=1)
        points, m = points[known], m[known]
        inverse = np.linalg.pinv(slope[known], rcond=1e-9)
        step = -(inverse @ rate[known, :, None])[..., 0]
        w[at[points]] = np.where(on[points], np.clip(m + step, 0.0, 1.0), m)
        points = points[np.abs(step).max(axis=1) >= 1e-10]


def open_ends(program: Program, bounds: Bounds) -> Bounds:
    """Return bounds with slacks of what is asked; switching functions stay as they are."""
    wide = open_slacks(program, Bounds(*(one.copy() for one in vars(bounds).values())))
    wide.high[program.of["loose"]] = 0.0
    return wide


def open_slacks(program: Program, bounds: Bounds) -> Bounds:
    """Return bounds with all slacks allowed: switching functions, and what is asked."""
    for name in ("loose", *ASKED):
        bounds.high[program.of[name]] = INF
    return bounds
