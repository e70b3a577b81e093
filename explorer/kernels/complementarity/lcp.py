"""Linear complementarity problems: find z >= 0 with w = M z + q >= 0 and z'w = 0.

All solvers work on the sub-problem of the index list ``act[:m]`` of a larger matrix, write
``z[:m]`` and return a status; `residual` judges each of them by the same number. Sources: Cottle,
Pang, Stone, *The Linear Complementarity Problem*, 4.4 (Lemke) and 4.9 (lexicographic rule), 5.2
(projected Gauss-Seidel); Judice, Pires, Computers & OR 21 (1994) 587 (block pivoting),
doi:10.1016/0305-0548(94)90106-6.

Status: SUCCESS, the residual is within the tolerance; LCP_RAY, there is no solution on the way that
was taken (Lemke's method ends on a ray, or q is no number); LCP_ITERATIONS, no solution was found.
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.structures import Lcp, LcpOptions, LcpWorkspace
from explorer.kernels.linear_algebra.dense_lu import bandwidth, lu_factor, lu_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["block_pivot", "enumerate_", "lemke", "pgs", "residual", "solve", "solve_one"]

LEMKE, ENUMERATION, PGS, VERTEX = 0, 1, 2, 3


@kernel(inner=True)
def residual(problem: Lcp, m: int, band: int) -> float:
    """Return max_i |min(M_ii z_i, (M z + q)_i)|, the natural residual in the unit of q.

    `band` bounds the bandwidth of M (m - 1 if nothing is known). A zero diagonal counts as 1.
    """
    M, act, q, z = problem.M, problem.act, problem.q, problem.z
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


@kernel()
def lemke(
    M: Matrix,
    act: Integers,
    m: int,
    covered: int,
    q: Vector,
    max_iter: int,
    least: float,
    z: Vector,
    T: Matrix,
    basis: Integers,
    scale: Vector,
) -> int:
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


@kernel(inner=True)
def enumerate_(problem: Lcp, m: int, tol: float, work: LcpWorkspace) -> int:
    """Try every complementary basis in turn (2^m of them) and keep the first that is feasible."""
    M, act, q, z = problem.M, problem.act, problem.q, problem.z
    A, pivots, b = work.A, work.pivots, work.b
    work.kept[0].count = -1
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
        if residual(problem, m, m) <= tol * size:
            return SUCCESS
    return LCP_RAY


@kernel(inner=True)
def pgs(problem: Lcp, m: int, band: int, tol: float, max_iter: int) -> int:
    """Projected Gauss-Seidel from the `z` given; the residual decides, not the iteration count."""
    M, act, q, z = problem.M, problem.act, problem.q, problem.z
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
        if sweep % 8 == 7 and residual(problem, m, band) <= tol * size:
            return SUCCESS
    return SUCCESS if residual(problem, m, band) <= tol * size else LCP_ITERATIONS


@kernel(inner=True)
def solve_block(problem: Lcp, m: int, work: LcpWorkspace) -> bool:
    """Solve M_FF z_F = -q_F over the working set F, z = 0 elsewhere; False if M_FF is singular.

    The factors of M_FF are kept: if F is still the same, this costs one back substitution.
    """
    M, act, q, z = problem.M, problem.act, problem.q, problem.z
    member, kept, rows = work.member, work.kept, work.rows
    A, pivots, b = work.A, work.pivots, work.b
    n = 0
    same = True
    for i in range(m):
        a = act[i]
        if member[a] == 1:
            if n >= kept[0].count or rows[n] != a:
                same = False
                rows[n] = a
            n += 1
    if not same or n != kept[0].count:
        for i in range(n):
            for j in range(n):
                A[i, j] = M[rows[i], rows[j]]
        kept[0].below, kept[0].above = bandwidth(A, n)
        kept[0].count = -1
        if lu_factor(A, n, kept[0].below, kept[0].above, pivots) != 0:
            return False
        kept[0].count = n
    n = 0
    for i in range(m):
        if member[act[i]] == 1:
            b[n] = -q[i]
            n += 1
    lu_solve(A, n, kept[0].below, kept[0].above, pivots, b)
    n = 0
    for i in range(m):
        z[i] = 0.0
        if member[act[i]] == 1:
            z[i] = b[n]
            n += 1
    return True


@kernel(inner=True)
def block_pivot(problem: Lcp, m: int, band: int, work: LcpWorkspace) -> int:
    """Block principal pivoting from the last working set.

    All rows with the wrong sign of z or w change sides at once. Gives up, returning LCP_ITERATIONS,
    after 12 exchanges or on a singular block.
    """
    M, act, q, z = problem.M, problem.act, problem.q, problem.z
    member = work.member
    size = 0.0
    for i in range(m):
        size = max(size, abs(q[i]))
    for _ in range(12):
        if not solve_block(problem, m, work):
            return LCP_ITERATIONS
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


@kernel(inline=True)
def solve_one(method: int, diagonal: float, q: float) -> tuple[bool, float, float]:
    """Solve a problem of one row in closed form; whether that is done, z and the residual.

    Most steps with contact are of this kind, and handing them to `solve` costs more than they do.
    """
    if method != LEMKE or not (
        diagonal > 0.0 and abs(q) < np.inf
    ):  # `solve` tells what is no number
        return False, 0.0, 0.0
    z = -q / diagonal if q < 0.0 else 0.0
    return True, z, abs(min(z * diagonal, diagonal * z + q))


@kernel(inner=True)
def cascade(
    problem: Lcp, m: int, band: int, options: LcpOptions, size: float, work: LcpWorkspace
) -> tuple[int, float]:
    """Solve by pivoting: the warm working set, then Lemke, then what needs no pivots.

    Returns a status and the residual.
    """
    M, act, q, z = problem.M, problem.act, problem.q, problem.z
    member, tol, vertex, status = work.member, options.tol, options.method == VERTEX, LCP_RAY
    if m > 3 and not vertex:
        status = block_pivot(problem, m, band, work)
    if status != SUCCESS:
        least, most = 1e-8 if vertex else 1e-11, max(100, 20 * m)
        work.kept[0].count = -1  # the basis takes the place of the exchanged rows
        status = lemke(M, act, m, m, q, most, least, z, work.T, work.pivots, work.b)
        for i in range(m):
            member[act[i]] = 1 if z[i] > 0.0 else 0
    off = residual(problem, m, band)
    if status == SUCCESS and off <= tol * size:
        return SUCCESS, off
    if status == SUCCESS:
        status = LCP_RAY
    if m <= 8:
        status = enumerate_(problem, m, tol, work)
    else:
        for i in range(m):
            z[i] = 0.0
        if pgs(problem, m, band, tol, options.max_iter) == SUCCESS:
            status = SUCCESS
    return status, residual(problem, m, band)


@kernel(inner=True)
def solve(
    problem: Lcp, m: int, band: int, options: LcpOptions, work: LcpWorkspace
) -> tuple[int, float]:
    """Solve by the method asked for; return a status and the residual, which decides.

    LEMKE: the warm working set for more than three contacts; Lemke's method; if that fails
    enumeration (m <= 8) or projected Gauss-Seidel. VERTEX starts with Lemke's method, whose
    solutions are vertices: of contacts that are redundant, but for a drift of 1e-8, not all hold.
    """
    M, act, q, z = problem.M, problem.act, problem.q, problem.z
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
        return LCP_RAY, np.nan
    if lowest >= 0.0:
        return SUCCESS, 0.0
    if options.method == LEMKE or options.method == VERTEX:
        status, off = cascade(problem, m, band, options, size, work)
    else:
        if options.method == PGS:
            status = pgs(problem, m, band, options.tol, options.max_iter)
        else:
            status = enumerate_(problem, m, options.tol, work)
        off = residual(problem, m, band)
    if status == SUCCESS and not off <= options.tol * size:
        status = LCP_ITERATIONS
    return status, off
