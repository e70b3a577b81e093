"""Linear complementarity problems: find z >= 0 with w = M z + q >= 0 and z'w = 0.

All solvers work on the sub-problem of the index list ``act[:m]`` of a larger matrix, write
``z[:m]`` and return a status; `residual` judges each of them by the same number. Sources: Cottle,
Pang, Stone, *The Linear Complementarity Problem*, 4.4 (Lemke) and 4.9 (lexicographic rule), 5.2
(projected Gauss-Seidel); Judice, Pires, Computers & OR 21 (1994) 587 (block pivoting).
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import bandwidth, lu_factor, lu_solve

__all__ = ["block_pivot", "enumerate_", "lemke", "pgs", "residual", "solve", "solve_one"]

LEMKE, ENUMERATION, PGS, VERTEX = 0, 1, 2, 3


@kernel("float64(float64[:, ::1], int64[::1], int64, int64, float64[::1], float64[::1])")
def residual(M, act, m, band, q, z):
    """Return max_i |min(M_ii z_i, (M z + q)_i)|, the natural residual in the unit of q.

    `band` bounds the bandwidth of M (m - 1 if nothing is known). A zero diagonal counts as 1.
    """
    worst = 0.0
    for i in range(m):
        w = q[i]
        for j in range(max(0, i - band), min(m, i + band + 1)):
            w += M[act[i], act[j]] * z[j]
        diagonal = M[act[i], act[i]]
        scaled = z[i] * diagonal if diagonal > 0.0 else z[i]
        if not np.isfinite(scaled + w):  # min() would swallow a NaN
            return np.nan
        worst = max(worst, abs(min(scaled, w)))
    return worst


@kernel(
    "int64(float64[:, ::1], int64[::1], int64, int64, float64[::1], int64, float64, float64[::1],"
    " float64[:, ::1], int64[::1], float64[::1])"
)
def lemke(M, act, m, covered, q, max_iter, least, z, T, basis, scale):
    """Lemke's method with the lexicographic rule, which cannot cycle.

    The first `covered` rows get the artificial variable; of the others q has to be >= 0.
    Rows and columns are scaled symmetrically by 1/sqrt|M_ii| and q by its size, so that one
    tolerance serves impulses of 1e-9 and of 1e9; a pivot is larger than `least`. `T` has at least
    m rows and 2 m + 2 columns, columns w, z, z0, right side. Returns SUCCESS, LCP_RAY or
    LCP_ITERATIONS.
    """
    z0, rhs = 2 * m, 2 * m + 1
    size = 0.0
    for i in range(m):
        diagonal = abs(M[act[i], act[i]])
        if diagonal == 0.0:
            for j in range(m):
                diagonal = max(diagonal, abs(M[act[i], act[j]]), abs(M[act[j], act[i]]))
        scale[i] = 1.0 / np.sqrt(diagonal) if diagonal > 0.0 else 1.0
        size = max(size, abs(q[i] * scale[i]))
        z[i] = 0.0
    enter_row = -1
    lowest = 0.0
    for i in range(m):
        for j in range(m):
            T[i, j] = 1.0 if i == j else 0.0
            T[i, m + j] = -M[act[i], act[j]] * scale[i] * scale[j]
        T[i, z0] = -1.0 if i < covered else 0.0
        T[i, rhs] = q[i] * scale[i] / size if size > 0.0 else 0.0
        basis[i] = i
        if T[i, rhs] < lowest:
            lowest = T[i, rhs]
            enter_row = i
    if enter_row < 0:
        return SUCCESS
    entering, row = z0, enter_row
    for _ in range(max_iter):
        leaving = basis[row]
        basis[row] = entering
        pivot = T[row, entering]
        for j in range(rhs + 1):
            T[row, j] /= pivot
        for i in range(m):
            factor = T[i, entering]
            if i != row and factor != 0.0:
                for j in range(rhs + 1):
                    T[i, j] -= factor * T[row, j]
        if leaving == z0:
            for i in range(m):
                if m <= basis[i] < z0:
                    k = basis[i] - m
                    z[k] = max(0.0, T[i, rhs]) * scale[k] * size
            return SUCCESS
        entering = leaving + m if leaving < m else leaving - m
        row = -1
        for i in range(m):
            if T[i, entering] > least:
                if row < 0:
                    row = i
                    continue
                difference = T[i, rhs] / T[i, entering] - T[row, rhs] / T[row, entering]
                if abs(difference) <= 1e-14:
                    difference = 0.0
                    if basis[row] == z0:
                        continue
                    if basis[i] == z0:
                        row = i
                        continue
                    for j in range(m):
                        difference = T[i, j] / T[i, entering] - T[row, j] / T[row, entering]
                        if difference != 0.0:
                            break
                if difference < 0.0:
                    row = i
        if row < 0:
            return LCP_RAY
    return LCP_ITERATIONS


@kernel(
    "int64(float64[:, ::1], int64[::1], int64, float64[::1], float64, float64[::1],"
    " float64[:, ::1], int64[::1], float64[::1])"
)
def enumerate_(M, act, m, q, tol, z, A, pivots, b):
    """Try every complementary basis in turn (2^m of them) and keep the first that is feasible."""
    size = 0.0
    for i in range(m):
        size = max(size, abs(q[i]))
    for pattern in range(1 << m):
        n = 0
        for i in range(m):
            z[i] = 0.0
            if pattern >> i & 1:
                b[n] = -q[i]
                k = 0
                for j in range(m):
                    if pattern >> j & 1:
                        A[n, k] = M[act[i], act[j]]
                        k += 1
                n += 1
        if lu_factor(A, n, n, n, pivots) != 0:
            continue
        lu_solve(A, n, n, n, pivots, b)
        k = 0
        for i in range(m):
            if pattern >> i & 1:
                z[i] = b[k]
                k += 1
        if residual(M, act, m, m, q, z) <= tol * size:
            return SUCCESS
    return LCP_RAY


@kernel(
    "int64(float64[:, ::1], int64[::1], int64, int64, float64[::1], float64, int64, float64[::1])"
)
def pgs(M, act, m, band, q, tol, max_iter, z):
    """Projected Gauss-Seidel from the `z` given; the residual decides, not the iteration count."""
    size = 0.0
    for i in range(m):
        size = max(size, abs(q[i]))
    for sweep in range(max_iter):
        for i in range(m):
            w = q[i]
            for j in range(max(0, i - band), min(m, i + band + 1)):
                w += M[act[i], act[j]] * z[j]
            diagonal = M[act[i], act[i]]
            if diagonal > 0.0:
                z[i] = max(0.0, z[i] - w / diagonal)
        if sweep % 8 == 7 and residual(M, act, m, band, q, z) <= tol * size:
            return SUCCESS
    return SUCCESS if residual(M, act, m, band, q, z) <= tol * size else LCP_ITERATIONS


@kernel(
    "int64(float64[:, ::1], int64[::1], int64, int64, float64[::1], float64[::1],"
    " int8[::1], float64[:, ::1], int64[::1], int64[::1], int64[::1], float64[::1])"
)
def block_pivot(M, act, m, band, q, z, member, A, pivots, factored, state, b):
    """Block principal pivoting from the working set `member` (indexed by contact, in and out).

    ``factored[:state[0]]`` lists the contacts whose block of M is factored in `A`
    (state[1], state[2]: its bandwidths); if the working set is still the same, a solution costs
    one back substitution. Set state[0] = -1 whenever M changed. Gives up, returning
    LCP_ITERATIONS, after 12 exchanges or on a singular block.
    """
    size = 0.0
    for i in range(m):
        size = max(size, abs(q[i]))
    for _ in range(12):
        n = 0
        same = True
        for i in range(m):
            a = act[i]
            if member[a] == 1:
                if n >= state[0] or factored[n] != a:
                    same = False
                    factored[n] = a
                n += 1
        if not same or n != state[0]:
            for i in range(n):
                for j in range(n):
                    A[i, j] = M[factored[i], factored[j]]
            bandwidth(A, n, pivots)
            state[1], state[2] = pivots[0], pivots[1]
            state[0] = -1
            if lu_factor(A, n, state[1], state[2], pivots) != 0:
                return LCP_ITERATIONS
            state[0] = n
        n = 0
        for i in range(m):
            if member[act[i]] == 1:
                b[n] = -q[i]
                n += 1
        lu_solve(A, n, state[1], state[2], pivots, b)
        n = 0
        for i in range(m):
            z[i] = 0.0
            if member[act[i]] == 1:
                z[i] = b[n]
                n += 1
        wrong = 0
        for i in range(m):
            a = act[i]
            if member[a] == 1:
                if z[i] < 0.0:
                    wrong += 1
                    member[a] = 0
            else:
                w = q[i]
                for j in range(max(0, i - band), min(m, i + band + 1)):
                    w += M[a, act[j]] * z[j]
                if w < -1e-14 * size:
                    wrong += 1
                    member[a] = 1
        if wrong == 0:
            return SUCCESS
    return LCP_ITERATIONS


@kernel("int64(int64, float64, float64, float64[::1], float64[::1])", inline=True)
def solve_one(method, diagonal, q, z, out):
    """Solve a problem of one contact in closed form; 0, and nothing done, where that is no choice.

    Most steps with contact are of this kind, and handing them to `solve` costs more than they do.
    """
    if method != LEMKE or not diagonal > 0.0:
        return 0
    z[0] = -q / diagonal if q < 0.0 else 0.0
    out[0] = abs(min(z[0] * diagonal, diagonal * z[0] + q))
    return 1


@kernel(
    "int64(int64, float64[:, ::1], int64[::1], int64, int64, float64[::1], float64, int64,"
    " float64[::1], int8[::1], float64[:, ::1], float64[:, ::1], int64[::1], int64[::1],"
    " int64[::1], float64[::1], float64[::1])"
)
def solve(
    method, M, act, m, band, q, tol, max_iter, z, member, T, A, pivots, factored, state, b, out
):
    """Solve by the method asked for, with the cascade below; ``out[0]`` is the residual.

    Lemke: the warm working set for more than three contacts; Lemke; if that fails enumeration
    (m <= 8) or projected Gauss-Seidel. VERTEX starts with Lemke, whose solutions are vertices: of
    contacts that are redundant, but for a drift of 1e-8, not all hold. The residual decides,
    whatever the path.
    """
    status = SUCCESS
    size = 0.0
    lowest = 0.0
    total = 0.0
    for i in range(m):
        z[i] = 0.0
        for j in range(max(0, i - band), min(m, i + band + 1)):
            total += abs(M[act[i], act[j]])
        total += abs(q[i])
        size = max(size, abs(q[i]))
        if not q[i] >= lowest:
            lowest = q[i]
    if not np.isfinite(total):
        out[0] = np.nan
        return LCP_RAY
    if lowest >= 0.0:
        out[0] = 0.0
        return status
    if method == PGS:
        status = pgs(M, act, m, band, q, tol, max_iter, z)
    elif method == ENUMERATION:
        status = enumerate_(M, act, m, q, tol, z, A, pivots, b)
        state[0] = -1
    else:
        status = LCP_RAY
        if m > 3 and method == LEMKE:
            status = block_pivot(M, act, m, band, q, z, member, A, pivots, factored, state, b)
        if status != SUCCESS:
            least = 1e-8 if method == VERTEX else 1e-11
            status = lemke(M, act, m, m, q, max(100, 20 * m), least, z, T, pivots, b)
            for i in range(m):
                member[act[i]] = 1 if z[i] > 0.0 else 0
        if status == SUCCESS and not residual(M, act, m, band, q, z) <= tol * size:
            status = LCP_RAY
        if status != SUCCESS and m <= 8:
            state[0] = -1
            status = enumerate_(M, act, m, q, tol, z, A, pivots, b)
        elif status != SUCCESS:
            for i in range(m):
                z[i] = 0.0
            if pgs(M, act, m, band, q, tol, max_iter, z) == SUCCESS:
                status = SUCCESS
    out[0] = residual(M, act, m, band, q, z)
    if status == SUCCESS and not out[0] <= tol * size:
        status = LCP_ITERATIONS
    return status
