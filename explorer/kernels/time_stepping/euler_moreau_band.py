"""The problem of one Euler-Moreau step, with its multipliers kept beside the states, as a band.

Of multipliers at a bound lam is known, of the others y = 0; with x and lam as unknowns::

    V dx - h a G1 dlam = d
    s H0 dx + H1 dlam = -y   (or dlam = bound - lam)

is sparse where the matrix of the multipliers alone, H1 + s H0 h a V^-1 G1, is full. Sides change by
the principal pivoting of `explorer.kernels.complementarity.box_lcp`; in the order of Cuthill and
McKee it is a band.
"""

from typing import NamedTuple

import numpy as np

from explorer.codes import LCP_ITERATIONS, SUCCESS
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.banded_lu import band_factor, band_solve
from explorer.kernels.model.held_inputs import hold
from explorer.kernels.structures import Flags, Vector
from explorer.kernels.templates import template
from explorer.kernels.time_stepping.euler_moreau import (
    FORCE,
    FORCE_X,
    RELATION,
    RELATION_X,
    evaluate,
)
from explorer.kernels.time_stepping.euler_moreau_structures import (
    LINEAR,
    Band,
    Method,
    Model,
    Problem,
    Record,
    State,
)
from explorer.kernels.time_stepping.march import march

__all__ = ["run"]

ROUNDS = 10  # of sides that change all at once


@kernel(inner=True)
def factor(band: Band, side: Flags) -> int:
    """Fill the band for these sides and factor it; not 0 if it is singular."""
    ptr, col, place, val, W = band.ptr, band.col, band.place, band.val, band.W
    N, m, w = place.size, side.size, (W.shape[1] - 1) // 3
    n = N - m
    W[:, :] = 0.0
    for i in range(N):
        at = place[i]
        if i >= n and side[i - n] != 0:
            W[at, w] = 1.0
        else:
            for k in range(ptr[i], ptr[i + 1]):
                W[at, place[col[k]] - at + w] = val[k]
    return band_factor(W, N, w, band.pivots)


@kernel(inner=True)
def solve_sides(band: Band, lower: Vector, upper: Vector, side: Flags, lam: Vector) -> float:
    """Return the residual of y beside its terms, or NaN if no sides were found.

    `side`, `lam` (m,): where lam is, to begin with where it was; its values.
    """
    ptr, col, place, val, W = band.ptr, band.col, band.place, band.val, band.W
    b, y, before, rhs, kept = band.b, band.y, band.before, band.rhs, band.kept
    N, m, w = place.size, side.size, (W.shape[1] - 1) // 3
    n = N - m
    for _ in range(ROUNDS):
        if kept[0].count != N:
            if factor(band, side) != 0:
                return np.nan
            kept[0].count = N
        for i in range(N):
            value = rhs[i] if i < n else -rhs[i]
            if i >= n and side[i - n] != 0:
                value = (lower[i - n] if side[i - n] < 0 else upper[i - n]) - before[i]
            b[place[i]] = value
        band_solve(W, N, w, band.pivots, b)
        worst, size, wrong = 0.0, 0.0, False
        for i in range(n, N):
            total, terms, j = rhs[i], abs(rhs[i]), i - n
            for k in range(ptr[i], ptr[i + 1]):
                step = b[place[col[k]]]
                total += val[k] * step
                terms += abs(val[k]) * (abs(step) + abs(before[col[k]]))
            y[i], size = total, max(size, terms)
            if side[j] != 0:
                lam[j] = lower[j] if side[j] < 0 else upper[j]
                if side[j] * total > 1e-14 * terms:
                    side[j], wrong = 0, True
            else:
                lam[j] = before[i] + b[place[i]]
                worst = max(worst, abs(total))
                if lam[j] < lower[j] or lam[j] > upper[j]:
                    side[j], wrong = -1 if lam[j] < lower[j] else 1, True
            if not np.isfinite(total + lam[j]):
                return np.nan
        if not wrong:
            for i in range(N):
                rhs[i] = b[place[i]] if i < n else y[i]
            return worst / size if size > 1e-290 else worst
        kept[0].count = -1
    return np.nan


@kernel(inline=True)
def right_side(
    model: Model, method: Method, record: Record, band: Band, i: int, h: float, t1: float, at: float
) -> None:
    """Set d and y of step i, at its start."""
    inp, out, theta, a = model.inp, model.out, method.theta, method.a
    before, rhs, f0, r0 = band.before, band.rhs, band.f0, band.r0
    x, lam, side, y = record.x, record.lam, record.side, record.y
    n, m = x.shape[1], lam.shape[1]
    for j in range(n):
        before[j] = inp[1 + j] = x[i, j]
    for j in range(m):
        before[n + j] = inp[1 + n + j] = lam[i, j]
        side[i + 1, j] = side[i, j]
    inp[0] = record.t[i]
    evaluate(model, FORCE)
    for j in range(n):
        f0[j] = out[j]
    evaluate(model, RELATION)
    for j in range(n):
        r0[j] = out[m + j]
    if i == 0:
        for j in range(m):
            y[0, j] = out[j]
    inp[0] = t1
    evaluate(model, FORCE)
    for j in range(n):
        rhs[j] = h * (theta * out[j] + (1.0 - theta) * f0[j])
    inp[0] = at
    evaluate(model, RELATION)
    for j in range(n):
        rhs[j] += h * (a * out[m + j] + (1.0 - a) * r0[j])
    for j in range(m):
        rhs[n + j] = out[j]


@kernel(inline=True)
def assemble(model: Model, method: Method, band: Band, h: float, t1: float, at: float) -> None:
    """Set the entries of [[V, -h a G1], [s H0, H1]]."""
    out, places = model.out, model.places
    val, slots, mass = band.val, band.slots, band.mass
    sizes = (places.H0.size, places.H1.size, places.G0.size, places.G1.size)
    val[:] = 0.0
    for k in range(mass.size):
        val[slots[k]] += mass[k]
    first = mass.size
    model.inp[0] = t1
    evaluate(model, FORCE_X)
    for k in range(places.F.size):
        val[slots[first + k]] -= h * method.theta * out[k]
    first += places.F.size
    model.inp[0] = at
    evaluate(model, RELATION_X)
    start = 0
    for part in range(4):  # H0, H1, G0, G1
        weight = (method.s if part % 2 == 0 else 1.0) * (1.0 if part < 2 else -h * method.a)
        for k in range(start, start + sizes[part]):
            val[slots[first + k]] += weight * out[k]
        start += sizes[part]


class Workspace(NamedTuple):
    """What a step through the band works on."""

    state: State  # (1,)
    band: Band


@kernel(inline=True)
def begin(problem: Problem, record: Record, work: Workspace, row: int) -> None:
    """Forget what was assembled and factored."""
    work.state[0].factored = 0.0
    work.band.kept[0].count = -1


@kernel(inline=True)
def cross(problem: Problem, record: Record, work: Workspace, row: int, k: int) -> bool:
    """Go on to interval `k` of the inputs; return whether it could."""
    hold(problem.grid.drive, problem.bundles.inp, k)
    return True


@template
def step(problem: Problem, record: Record, work: Workspace, row: int, h: float, t1: float) -> int:
    """Take a step and write row + 1; LCP_ITERATIONS if its sides are not found."""
    model, method, band, state = problem.bundles, problem.method, work.band, work.state
    x, lam, t, rhs, new = record.x, record.lam, record.t[row], band.rhs, band.lam
    at = t + method.s * (t1 - t) if method.s < 1.0 else t1
    right_side(model, method, record, band, row, h, t1, at)
    if problem.options.kind == LINEAR or h != state[0].factored:
        assemble(model, method, band, h, t1, at)
        state[0].factored, band.kept[0].count = h, -1
    off = solve_sides(band, model.lower, model.upper, record.side[row + 1], new)
    total = 0.0
    for j in range(x.shape[1]):
        x[row + 1, j] = x[row, j] + rhs[j]
        total += x[row + 1, j]
    if not off <= problem.options.lcp_tol or not np.isfinite(total):
        return LCP_ITERATIONS
    for j in range(lam.shape[1]):
        lam[row + 1, j], record.y[row + 1, j] = new[j], rhs[x.shape[1] + j]
    record.residuals[row + 1, 0], record.iterations[row + 1] = off, 1
    return SUCCESS


@kernel()
def run(problem: Problem, record: Record, state: State, band: Band) -> int:
    """March from row state.row while sides are found; return the status of the last step."""
    return march(begin, cross, step, problem, record, Workspace(state, band))
