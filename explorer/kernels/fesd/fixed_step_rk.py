"""Runge-Kutta time stepping of the dynamic complementarity system: fixed steps, switches anywhere.

Nurkanovic et al. 2023 (doi:10.48550/arXiv.2303.18066), eq. (15), for each step of length h::

    x+ = x + h sum_i b_i K_i
    K_i = f(t + c_i h, X_i, theta_i),   X_i = x + h sum_j a_ij K_j
    0 <= theta_i perp g(X_i) - mu_i e >= 0,   e' theta_i = 1

Newton's method solves for the stages of a step; its linear complementarity problems
(`explorer.kernels.fesd.stage_complementarity`) are solved with the active set of the iterate
before, or else by Lemke's method: covering the first inequalities alone it always ends in a
solution, for the variables stay in a simplex.

The loop over steps is not that of `explorer.kernels.time_stepping.march`: it records the stages of
each step, as FESD does, and takes a step from several starts of Newton's method.
"""

from typing import Annotated

import numpy as np
from numba import from_dtype

from explorer.codes import NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.complementarity.lcp import lemke
from explorer.kernels.fesd.element import place
from explorer.kernels.fesd.stage_complementarity import (
    SNAP,
    Step,
    keeps,
    linearise,
    mismatch,
    stays,
)
from explorer.kernels.fesd.structures import Record
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.model.held_inputs import hold_at
from explorer.kernels.structures import Vector

__all__ = ["TALLY", "march"]

TALLY = np.dtype(
    [
        ("steps", np.int64),
        ("iterations", np.int64),  # of Newton's method
        ("pivoted", np.int64),  # of these with Lemke's method
        ("residual", float),  # of the last one, beside its terms
    ]
)
Tally = Annotated[np.ndarray, from_dtype(TALLY)[::1]]
ENOUGH = 1e-14  # residual of a solved equation beside its terms
STALLED = 1e-12  # one that no longer falls
WHOLE = 12  # Newton steps before they are halved, lest they alternate
LEAST = 1e-11  # pivot of Lemke's method
STARTS = 3  # a step is tried from: the polynomials before, the last stage, the middle


@kernel(inline=True)
def respond(step: Step) -> None:
    """Set how K moves with each variable: ``J dK = F`` for a unit change of it."""
    slopes, F = step.slopes, step.linear.F
    n, s, nv = step.problem.n_x, F.shape[0], len(step.groups.member)
    wide = s * n
    for i in range(s):
        for v in range(nv):
            column = slopes.columns[i * nv + v]
            for p in range(wide):
                column[p] = 0.0
            for k in range(n):
                column[i * n + k] = F[i, k * nv + v]
            lu_solve(slopes.J, wide, wide - 1, wide - 1, slopes.pivots, column)


@kernel(inline=True)
def assemble(step: Step, h: float) -> None:
    """Set the linear complementarity problem 0 <= v perp g_v - g_leader + lambda >= 0, and so on.

    g at a stage is R (C + C_x dX), dX by the change of K, and K by the variables.
    """
    problem, _, groups, _, linear, slopes, lcp = step
    R, C, Cx, A, V = linear.R, linear.C, linear.Cx, step.tableau.A, step.unknowns.V
    M, q, row_of = lcp.M, lcp.q, lcp.row
    n, s, nv, ng = problem.n_x, C.shape[0], len(groups.member), len(groups.leader)
    wide = s * n
    m = s * (nv + ng)
    for p in range(m):
        for o in range(m):
            M[p, o] = 0.0
    for i in range(s):
        for v in range(nv):
            row = i * nv + v
            q[row] = 0.0
            for p in range(wide):
                row_of[p] = 0.0
            for j in range(problem.n_c):
                if R[i, v, j] == 0.0:
                    continue
                q[row] += R[i, v, j] * C[i, j]
                for k in range(n):
                    for o in range(s):
                        row_of[o * n + k] += h * R[i, v, j] * Cx[i, j * n + k] * A[i, o]
            for p in range(wide):
                q[row] += row_of[p] * slopes.change[p]
            for o in range(s * nv):
                total = 0.0
                for p in range(wide):
                    total += row_of[p] * slopes.columns[o, p]
                M[row, o] = total
                q[row] -= total * V[o // nv, o % nv]
            last = s * nv + i * ng + groups.group[v]
            M[row, last] = 1.0
            M[last, row] = -1.0
    for p in range(s * nv, m):
        q[p] = 1.0


@kernel(inline=True)
def update(step: Step, part: float) -> None:
    """Move V by a part of the way to the solution z, and K with it."""
    slopes, z, K, V = step.slopes, step.lcp.z, step.unknowns.K, step.unknowns.V
    s, n = K.shape
    nv = len(step.groups.member)
    change = slopes.change
    for i in range(s):
        for v in range(nv):
            now = z[i * nv + v]
            now = 0.0 if now < SNAP else 1.0 if now > 1.0 - SNAP else now
            moved = part * (now - V[i, v])
            for p in range(s * n):
                change[p] += moved / part * slopes.columns[i * nv + v, p]
            V[i, v] = now if part == 1.0 else V[i, v] + moved
    for i in range(s):
        for k in range(n):
            K[i, k] += part * change[i * n + k]


@kernel(inline=True)
def finish(step: Step, t: float, x: Vector, h: float) -> int:
    """Set x at the end of a step that is solved."""
    end, inp = step.unknowns.end, step.problem.inp
    place(step.problem, step.tableau.b, t + h, x, h, step.unknowns.K)
    for k in range(len(end)):
        end[k] = inp[1 + k]
        if not np.isfinite(end[k]):
            return NOT_FINITE
    return SUCCESS


@kernel(inner=True)
def solve(step: Step, t: float, x: Vector, h: float, cap: int, tally: Tally) -> int:
    """Solve one step from (t, x); K and V hold a guess, then the solution.

    Returns SUCCESS, NEWTON_CAP (no convergence, or a singular matrix) or NOT_FINITE.
    """
    groups, unknowns, slopes, lcp = step.groups, step.unknowns, step.slopes, step.lcp
    K, V = unknowns.K, unknowns.V
    s, n = K.shape
    wide, free = s * n, s * len(groups.member)
    m = free + s * len(groups.leader)
    before = np.inf
    for iteration in range(cap + 1):
        worst = linearise(step, t, x, h)
        tally[0].iterations += 1
        tally[0].residual = worst
        if not worst < np.inf:
            return NOT_FINITE
        worst = max(worst, mismatch(step.problem, groups, V, step.linear))
        tally[0].residual = worst
        if worst <= ENOUGH or (worst <= STALLED and worst > 0.3 * before):
            return finish(step, t, x, h)
        before = worst
        if iteration == cap:
            break
        if lu_factor(slopes.J, wide, wide - 1, wide - 1, slopes.pivots) != 0:
            return NEWTON_CAP
        lu_solve(slopes.J, wide, wide - 1, wide - 1, slopes.pivots, slopes.change)
        if stays(step, h):
            for i in range(s):
                for k in range(n):
                    K[i, k] += slopes.change[i * n + k]
            continue
        respond(step)
        assemble(step, h)
        if not keeps(lcp, groups, V, slopes.pivots):
            tally[0].pivoted += 1
            M, act, q, z = lcp.M, lcp.act, lcp.q, lcp.z
            most = 50 * m
            if lemke(M, act, m, free, q, most, LEAST, z, lcp.T, lcp.basis, lcp.scale) != SUCCESS:
                return NEWTON_CAP
        update(step, 1.0 if iteration < WHOLE else 0.5)
    return NEWTON_CAP


@kernel(inline=True)
def predict(step: Step, record: Record, e: int, attempt: int) -> None:
    """Set the guess of K and V: by the polynomials of the step before, or alike at all stages."""
    groups, K, V, ahead = step.groups, step.unknowns.K, step.unknowns.V, step.tableau.ahead
    s, n = K.shape
    nv, nsel = len(groups.member), step.problem.n_sel
    uneven = e == 0 or attempt > 0
    for i in range(1, 0 if uneven else s):
        for v in range(nv):
            uneven = uneven or V[i, v] != V[0, v]
    if e == 0 or attempt == 2:  # from the middle, where nothing is chosen
        for k in range(n):
            K[s - 1, k] = 0.0
        for v in range(nv):
            V[s - 1, v] = 0.5 if groups.leader[groups.group[v]] < 0 else 1.0 / (nv + 1.0)
    elif attempt == 1:
        for k in range(n):
            K[s - 1, k] = record.slopes[e - 1, (s - 1) * n + k]
        for v in range(nv):
            V[s - 1, v] = record.mult[e - 1, (s - 1) * nsel + groups.member[v]]
    for i in range(s):
        for k in range(n):
            total = 0.0
            if not uneven:
                for j in range(s):
                    total += ahead[i, j] * record.slopes[e - 1, j * n + k]
            K[i, k] = K[s - 1, k] if uneven else total
        for v in range(nv):
            V[i, v] = V[s - 1, v]


@kernel()
def march(step: Step, record: Record, t_end: float, h: float, cap: int, tally: Tally) -> int:
    """March from ``states[0]`` over [0, t_end] in steps of h; return the status of the last."""
    unknowns = step.unknowns
    n, nsel, s = step.problem.n_x, step.problem.n_sel, unknowns.K.shape[0]
    steps = len(record.begin)
    for e in range(steps):
        t = e * h
        length = (t_end if e == steps - 1 else (e + 1) * h) - t
        hold_at(step.problem.drive, step.problem.inp, t, 1e-9 * h)
        status = SUCCESS
        for attempt in range(STARTS):
            predict(step, record, e, attempt)
            status = solve(step, t, record.states[e], length, cap, tally)
            if status == SUCCESS:
                break
        if status != SUCCESS:
            return status
        record.begin[e] = t
        record.length[e] = length
        for k in range(n):
            record.states[e + 1, k] = unknowns.end[k]
        for i in range(s):
            for k in range(n):
                record.slopes[e, i * n + k] = unknowns.K[i, k]
            for k in range(nsel):
                record.mult[e, i * nsel + k] = unknowns.sel[i, k]
        tally[0].steps = e + 1
    return SUCCESS
