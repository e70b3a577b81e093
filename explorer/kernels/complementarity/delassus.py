"""How contacts answer to impulses: the Delassus matrix, and the complementarity problem with it.

With z >= 0 per contact, the directions G' z and one Newton step of M a_m = F (see
`explorer.kernels.time_stepping.nonsmooth_alpha`)::

    x = Y_s z,  w = Y_m z,   Y_m = M^-1 G',   Y_s = -A^-1 (k K + c C) Y_m
    D = G (f Y_s + s Y_m)

or, where z is a force, Y_s = A^-1 G' and Y_m = 0.
"""

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.complementarity.lcp import solve, solve_one
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import bandwidth, lu_factor, lu_solve

__all__ = ["JUMP", "LCP", "LCP_MAX", "LCP_TOL", "MASS", "SMOOTH", "along", "complement", "factor",
           "jump", "push", "respond"]  # fmt: skip

# factored matrices A, M, M + c C, and what x, w, W are per unit of each z
SMOOTH, MASS, JUMP = 0, 1, 2
LCP_TOL = 8  # place in `knobs`
LCP, LCP_MAX = 5, 6  # and in `options`
LISTED = "int64, int64[::1], int64[::1], int64[::1], float64[::1]"  # m, act, ptr, col, val
MATRICES = "float64[:, ::1], float64[:, ::1], float64[:, ::1]"
SOLVED = "float64[:, :, ::1], int64[:, ::1], int64[:, ::1], float64[:, :, ::1], float64[:, ::1]"


@kernel("float64(int64[::1], int64[::1], float64[::1], int64, float64[::1])", inline=True)
def along(ptr, col, val, c, u):
    """Return G_c u, with row c of the sparse G."""
    total = 0.0
    for k in range(ptr[c], ptr[c + 1]):
        total += val[k] * u[col[k]]
    return total


@kernel("void(int64[::1], int64[::1], float64[::1], int64, float64, float64[::1])", inline=True)
def push(ptr, col, val, c, z, u):
    """u += G_c' z."""
    for k in range(ptr[c], ptr[c + 1]):
        u[col[k]] += val[k] * z


@kernel(
    f"int64({MATRICES}, float64, float64, float64, float64[:, ::1], int64, int64[::1], int64[::1])",
    inline=True,
)
def factor(M, C, K, m, c, k, LU, n, band, pivots):
    """LU = m M + c C + k K, factored; band[0], band[1] its bandwidths."""
    for i in range(n):
        for j in range(n):
            LU[i, j] = m * M[i, j] + (c * C[i, j] + k * K[i, j])
    band[0] = band[1] = n - 1
    if n > 8:
        bandwidth(LU, n, band)
    return SUCCESS if lu_factor(LU, n, band[0], band[1], pivots) == 0 else SINGULAR


@kernel(f"int64({LISTED}, {MATRICES}, {SOLVED}, int64, float64[::1])", inner=True)
def respond(m, act, ptr, col, val, M, C, K, LU, pivots, band, Y, D, n, weights):
    """Y[SMOOTH], Y[MASS] = what x and w are per unit of each z; D = G Y. A is factored already.

    `weights`: of C, K in A; of C, K in the response (both zero: z is a force); of x, w in D.
    """
    if factor(M, C, K, 1.0, 0.0, 0.0, LU[MASS], n, band[MASS], pivots[MASS]) != SUCCESS:
        return SINGULAR
    is_force = weights[2] == 0.0 and weights[3] == 0.0
    for i in range(m):
        y, w = Y[SMOOTH, act[i]], Y[MASS, act[i]]
        for j in range(n):
            y[j] = 0.0
            w[j] = 0.0
        push(ptr, col, val, act[i], 1.0, y if is_force else w)
        if not is_force:
            lu_solve(LU[MASS], n, band[MASS, 0], band[MASS, 1], pivots[MASS], w)
            for j in range(n):
                for k in range(n):
                    y[j] -= (weights[2] * C[j, k] + weights[3] * K[j, k]) * w[k]
        lu_solve(LU[SMOOTH], n, band[SMOOTH, 0], band[SMOOTH, 1], pivots[SMOOTH], y)
        for j in range(m):
            by_x, by_w = along(ptr, col, val, act[j], y), along(ptr, col, val, act[j], w)
            D[act[j], act[i]] = weights[4] * by_x + weights[5] * by_w
    return SUCCESS


@kernel(f"int64({LISTED}, {MATRICES}, {SOLVED}, int64, float64)", inner=True)
def jump(m, act, ptr, col, val, M, C, K, LU, pivots, band, Y, D, n, c):
    """Y[JUMP] = (M + c C)^-1 G', D = G Y[JUMP]."""
    if factor(M, C, K, 1.0, c, 0.0, LU[JUMP], n, band[JUMP], pivots[JUMP]) != SUCCESS:
        return SINGULAR
    for i in range(m):
        w = Y[JUMP, act[i]]
        for j in range(n):
            w[j] = 0.0
        push(ptr, col, val, act[i], 1.0, w)
        lu_solve(LU[JUMP], n, band[JUMP, 0], band[JUMP, 1], pivots[JUMP], w)
        for j in range(m):
            D[act[j], act[i]] = along(ptr, col, val, act[j], w)
    return SUCCESS


@kernel(
    "int64(float64[::1], int64[::1], float64[:, ::1], int64, int64, float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], int64[::1], int64[:, ::1], int8[::1])",
    inner=True,
)
def complement(knobs, options, D, m, span, T, L, vec, act, warm, member):
    """Solve 0 <= D z + g perp z >= 0 on the contacts of the list, by the method asked for.

    L, warm (3, .), member : the last working set and its factors, see
    `explorer.kernels.complementarity.lcp`; a D that has changed is told by warm[1, 0] = -1
    """
    g, z, b, found = vec[0], vec[1], vec[2], vec[3]
    if m == 1 and solve_one(options[LCP], D[act[0], act[0]], g[0], z, found) != 0:
        return SUCCESS
    return solve(
        options[LCP], D, act, m, min(span, m), g, knobs[LCP_TOL], options[LCP_MAX], z, member, T,
        L, warm[2], warm[0], warm[1], b, found,
    )  # fmt: skip
