"""How contacts answer to impulses: the Delassus matrix, and the complementarity problem with it.

With z >= 0 per contact, the directions G' z and one Newton step of M a_m = F (see
`explorer.kernels.time_stepping.nonsmooth_alpha`)::

    x = Y_s z,  w = Y_m z,   Y_m = M^-1 G',   Y_s = -A^-1 (k K + c C) Y_m
    D = G (f Y_s + s Y_m)

or, where z is a force, Y_s = A^-1 G' and Y_m = 0.

Status: SINGULAR, a matrix that is factored has no inverse; else that of the complementarity
problem.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_args

import numpy as np

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.complementarity.lcp import solve, solve_one
from explorer.kernels.complementarity.structures import Lcp, LcpOptions, LcpWorkspace
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import bandwidth, lu_factor, lu_solve
from explorer.kernels.model.structures import Rows
from explorer.kernels.structures import Integers, Matrix, Stack, Table, Vector, rows_of

__all__ = [
    "BAND",
    "JUMP",
    "MASS",
    "SMOOTH",
    "Matrices",
    "Responses",
    "Weights",
    "along",
    "complement",
    "factor",
    "jump",
    "push",
    "respond",
    "solve_with",
]

# what is factored: A, M, M + c C; what x, w and the jump of v are per unit of each z
SMOOTH, MASS, JUMP = 0, 1, 2
BAND = np.dtype([("below", np.int64), ("above", np.int64)])  # half bandwidths of a matrix


class Matrices(NamedTuple):
    """Mass, damping and stiffness at the iterate."""

    M: Matrix  # (n, n)
    C: Matrix  # (n, n) -F_v
    K: Matrix  # (n, n) -F_q


class Weights(NamedTuple):
    """Coefficients of a step."""

    A_C: float  # s, of C in A
    A_K: float  # s2, of K in A
    R_C: float  # of C in the response to w; with R_K = 0: z is a force
    R_K: float  # s, of K there
    D_x: float  # of the response of x in D
    D_w: float  # of that of w


class Responses(NamedTuple):
    """Factored matrices and what they make of G', by SMOOTH, MASS and JUMP."""

    LU: Stack  # (3, n, n)
    pivots: Table  # (3, n)
    band: Annotated[np.ndarray, get_args(rows_of(BAND))[1]]  # (3,)
    Y: Stack  # (3, n_c, n)


@kernel(inline=True)
def along(ptr: Integers, col: Integers, val: Vector, c: int, u: Vector) -> float:
    """Return G_c u, with row c of the sparse G."""
    total = 0.0
    for k in range(ptr[c], ptr[c + 1]):
        total += val[k] * u[col[k]]
    return total


@kernel(inline=True)
def push(ptr: Integers, col: Integers, val: Vector, c: int, z: float, u: Vector) -> None:
    """u += G_c' z."""
    for k in range(ptr[c], ptr[c + 1]):
        u[col[k]] += val[k] * z


@kernel(inline=True)
def factor(system: Matrices, m: float, c: float, k: float, responses: Responses, which: int) -> int:
    """Factor m M + c C + k K, in the place of `which`."""
    M, C, K = system
    LU, band, pivots = responses.LU[which], responses.band, responses.pivots[which]
    n = M.shape[0]
    for i in range(n):
        for j in range(n):
            LU[i, j] = m * M[i, j] + (c * C[i, j] + k * K[i, j])
    below, above = bandwidth(LU, n) if n > 8 else (n - 1, n - 1)
    band[which].below, band[which].above = below, above
    return SUCCESS if lu_factor(LU, n, below, above, pivots) == 0 else SINGULAR


@kernel(inline=True)
def solve_with(responses: Responses, which: int, b: Vector) -> None:
    """Overwrite b by the solution with the matrix in the place of `which`."""
    band, n = responses.band, responses.LU.shape[1]
    below, above = band[which].below, band[which].above
    lu_solve(responses.LU[which], n, below, above, responses.pivots[which], b)


@kernel(inner=True)
def respond(
    m: int,
    act: Integers,
    G: Rows,
    system: Matrices,
    weights: Weights,
    responses: Responses,
    D: Matrix,
) -> int:
    """Y[SMOOTH], Y[MASS] = what x and w are per unit of each of m z; D = G Y. A is factored."""
    if factor(system, 1.0, 0.0, 0.0, responses, MASS) != SUCCESS:
        return SINGULAR
    ptr, col, val = G
    C, K, Y = system.C, system.K, responses.Y
    n = C.shape[0]
    is_force = weights.R_C == 0.0 and weights.R_K == 0.0
    for i in range(m):
        y, w = Y[SMOOTH, act[i]], Y[MASS, act[i]]
        for j in range(n):
            y[j] = 0.0
            w[j] = 0.0
        push(ptr, col, val, act[i], 1.0, y if is_force else w)
        if not is_force:
            solve_with(responses, MASS, w)
            for j in range(n):
                for k in range(n):
                    y[j] -= (weights.R_C * C[j, k] + weights.R_K * K[j, k]) * w[k]
        solve_with(responses, SMOOTH, y)
        for j in range(m):
            by_x, by_w = along(ptr, col, val, act[j], y), along(ptr, col, val, act[j], w)
            D[act[j], act[i]] = weights.D_x * by_x + weights.D_w * by_w
    return SUCCESS


@kernel(inner=True)
def jump(
    m: int, act: Integers, G: Rows, system: Matrices, c: float, responses: Responses, D: Matrix
) -> int:
    """Y[JUMP] = (M + c C)^-1 G', D = G Y[JUMP]."""
    if factor(system, 1.0, c, 0.0, responses, JUMP) != SUCCESS:
        return SINGULAR
    ptr, col, val = G
    for i in range(m):
        w = responses.Y[JUMP, act[i]]
        for j in range(w.size):
            w[j] = 0.0
        push(ptr, col, val, act[i], 1.0, w)
        solve_with(responses, JUMP, w)
        for j in range(m):
            D[act[j], act[i]] = along(ptr, col, val, act[j], w)
    return SUCCESS


@kernel(inner=True)
def complement(
    problem: Lcp, m: int, span: int, options: LcpOptions, work: LcpWorkspace
) -> tuple[int, float]:
    """Solve 0 <= D z + g perp z >= 0 on the contacts of the list; return status and residual.

    `span` bounds the bandwidth of D.
    """
    if m == 1:
        k = m - 1
        a = problem.act[k]
        done, problem.z[k], off = solve_one(options.method, problem.M[a, a], problem.q[k])
        if done:
            return SUCCESS, off
    return solve(problem, m, min(span, m), options, work)
