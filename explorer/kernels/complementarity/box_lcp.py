"""Linear complementarity problems in a box, the one-step problem of first-order systems.

Find lam in [lower, upper] such that y = M lam + q has, for each i,

    y_i > 0 -> lam_i = lower_i,    y_i < 0 -> lam_i = upper_i,    y_i = 0 in between

([0, inf): complementarity; (-inf, inf): an equality, the rows of a mixed problem; [lb, ub]: a
relay, of which one bound may be infinite). `side` says where lam_i is: -1 lower, 0 between, 1
upper. Sources: Murty, *Linear Complementarity*, 3 (principal pivoting); Acary, Brogliato,
*Numerical Methods for Nonsmooth Dynamical Systems*, 12.4 (a relay as a problem of twice the
size).
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SINGULAR, SUCCESS
from explorer.kernels.complementarity.lcp import lemke
from explorer.kernels.complementarity.structures import Block, Box, Lemke, Sides
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve

__all__ = ["ENUMERATION", "LEMKE", "PIVOTING", "solve_box", "solve_from_sides"]

PIVOTING, LEMKE, ENUMERATION = 0, 1, 2
MOST = 1e13  # times what is given: terms of M lam that leave it three digits
_PATTERNS = 5000  # as many are tried where everything else has failed


@kernel(inline=True)
def natural_residual(box: Box, solution: Sides) -> float:
    """Set y = M lam + q; return the natural residual relative to the size of its terms.

    It is max_i |mid(d (lam - upper), y, d (lam - lower))|, d = M_ii or 1. Where lam is so large
    that nothing is left of q it is 1: a pivot that is zero but for round-off makes such a lam.
    """
    M, q, lower, upper = box
    lam, y = solution.lam, solution.y
    n = q.size
    worst = 0.0
    size = 0.0
    given = 0.0  # what the terms answer to: q, and lam at bounds
    for i in range(n):
        total = q[i]
        terms = abs(q[i])
        given = max(given, terms)
        for j in range(n):
            total += M[i, j] * lam[j]
            terms += abs(M[i, j] * lam[j])
            for bound in (lower[j], upper[j]):
                if np.isfinite(bound):
                    given = max(given, abs(M[i, j] * bound))
        y[i] = total
        size = max(size, terms)
        d = M[i, i] if M[i, i] > 0.0 else 1.0
        if not np.isfinite(total + lam[i]):
            return np.nan
        worst = max(worst, abs(max(d * (lam[i] - upper[i]), min(total, d * (lam[i] - lower[i])))))
    if size > MOST * given:
        return 1.0
    return worst / size if size > 1e-290 else worst  # numbers that vanish have no digits left


@kernel(inner=True)
def between_bounds(box: Box, solution: Sides, block: Block) -> int:
    """Solve for given sides: lam at its bounds there, y = 0 in between. SINGULAR: the block is."""
    M, q, lower, upper = box
    side, lam = solution.side, solution.lam
    A, pivots, rows, kept, b = block
    n = q.size
    m = 0
    same = True
    for i in range(n):
        if side[i] == 0:
            if m >= kept[0].count or rows[m] != i:
                same = False
                rows[m] = i
            m += 1
        else:
            lam[i] = lower[i] if side[i] < 0 else upper[i]
    if not same or m != kept[0].count:
        for i in range(m):
            for j in range(m):
                A[i, j] = M[rows[i], rows[j]]
        kept[0].count = -1
        if lu_factor(A, m, m - 1, m - 1, pivots) != 0:
            return SINGULAR
        kept[0].count = m
    for k in range(m):
        i = rows[k]
        total = -q[i]
        for j in range(n):
            if side[j] != 0:
                total -= M[i, j] * lam[j]
        b[k] = total
    lu_solve(A, m, m - 1, m - 1, pivots, b)
    for k in range(m):
        lam[rows[k]] = b[k]
    return SUCCESS


@kernel(inline=True)
def misplaced(box: Box, solution: Sides, i: int) -> int:
    """Set y_i; return -1 or 1 for lam_i beyond that bound, 2 for a wrong sign of y_i, else 0."""
    M, q, lower, upper = box
    side, lam, y = solution
    total = q[i]
    terms = abs(q[i])
    for j in range(q.size):
        total += M[i, j] * lam[j]
        terms += abs(M[i, j] * lam[j])
    y[i] = total
    if side[i] != 0:
        return 2 if side[i] * total > 1e-14 * terms else 0
    return -1 if lam[i] < lower[i] else 1 if lam[i] > upper[i] else 0


@kernel(inner=True)
def principal_pivoting(box: Box, solution: Sides, block: Block) -> int:
    """Pivot from the sides given, those of the step before.

    All wrong sides change at once; after ten rounds only the last one does, which is finite for
    P-matrices (Murty).
    """
    side, lam, b, n = solution.side, solution.lam, block.b, box.q.size
    for turn in range(10 + 10 * n):
        if between_bounds(box, solution, block) != SUCCESS:
            return LCP_ITERATIONS
        wrong = -1
        for i in range(n):
            b[i] = misplaced(box, solution, i)
            if not np.isfinite(lam[i]):
                return LCP_ITERATIONS
            if b[i] != 0.0:
                wrong = i
        if wrong < 0:
            return SUCCESS
        for i in range(wrong if turn > 9 else 0, wrong + 1):
            if b[i] == 2.0:
                side[i] = 0
            elif b[i] != 0.0:
                side[i] = np.int8(b[i])
    return LCP_ITERATIONS


@kernel(inner=True)
def eliminate(box: Box, block: Block, work: Lemke) -> tuple[int, int]:
    """Sort the rows and set X = M_EE^-1 [M_EN, q_E] of the equalities E and the others N.

    Returns how many rows N has, and of which size the small problem is; -1 if M_EE is singular.
    """
    M, q, lower, upper = box
    A, pivots, b = block.A, block.pivots, block.b
    X, equal, rest = work.X, work.equal, work.rest
    ne, m, size = 0, 0, 0
    for i in range(q.size):
        if lower[i] == -np.inf and upper[i] == np.inf:
            equal[ne] = i
            ne += 1
        else:
            rest[m] = i
            m += 1
            size += 2 if -np.inf < lower[i] and upper[i] < np.inf else 1
    for k in range(ne):
        for j in range(ne):
            A[k, j] = M[equal[k], equal[j]]
    if lu_factor(A, ne, ne - 1, ne - 1, pivots) != 0:
        return m, -1
    for c in range(m + 1):
        for k in range(ne):
            b[k] = q[equal[k]] if c == m else M[equal[k], rest[c]]
        lu_solve(A, ne, ne - 1, ne - 1, pivots, b)
        for k in range(ne):
            X[k, c] = b[k]
    return m, size


@kernel(inner=True)
def reduce(box: Box, work: Lemke, m: int, size: int) -> None:
    """Write the small problem: the m rows that are no equalities, then those of upper bounds."""
    M, q, lower, upper = box
    small, X, g, act = work.small, work.X, work.q, work.act
    equal, rest, ne = work.equal, work.rest, q.size - m
    for i in range(m):
        a = rest[i]
        turned = -1.0 if lower[a] == -np.inf else 1.0
        g[i] = turned * q[a]
        for k in range(ne):
            g[i] -= turned * M[a, equal[k]] * X[k, m]
        for j in range(m):
            c = rest[j]
            value = M[a, c]
            for k in range(ne):
                value -= M[a, equal[k]] * X[k, j]
            value *= turned
            g[i] += value * (upper[c] if lower[c] == -np.inf else lower[c])
            small[i, j] = -value if lower[c] == -np.inf else value
        for j in range(m, size):
            small[i, j] = 0.0
    at = m
    for i in range(m):
        if -np.inf < lower[rest[i]] and upper[rest[i]] < np.inf:
            for j in range(size):
                small[at, j] = 0.0
            small[i, at] = 1.0
            small[at, i] = -1.0
            g[at] = upper[rest[i]] - lower[rest[i]]
            at += 1
    for i in range(size):
        act[i] = i


@kernel(inner=True)
def by_lemke(box: Box, solution: Sides, block: Block, work: Lemke) -> int:
    """Solve as a plain problem of complementarity by Lemke's method.

    Equalities are eliminated; a relay is two pairs: y + b perp lam - lower, upper - lam perp b.
    Where lower = -inf alone, -lam and -y take the place of lam and y.
    """
    lower, upper = box.lower, box.upper
    side, lam = solution.side, solution.lam
    X, z, equal, rest = work.X, work.z, work.equal, work.rest
    m, size = eliminate(box, block, work)
    if size < 0:
        return SINGULAR
    reduce(box, work, m, size)
    T, basis, scale, most = work.T, work.basis, work.scale, max(100, 20 * size)
    status = lemke(work.small, work.act, size, size, work.q, most, 1e-11, z, T, basis, scale)
    if status != SUCCESS:
        return status
    at = m
    for i in range(m):
        a = rest[i]
        if lower[a] == -np.inf:
            lam[a] = upper[a] - z[i]
            side[a] = 1 if z[i] <= 0.0 else 0
            continue
        lam[a] = lower[a] + z[i]
        side[a] = -1 if z[i] <= 0.0 else 0
        if upper[a] < np.inf:
            if z[at] > 0.0 or lam[a] >= upper[a]:
                lam[a] = upper[a]
                side[a] = 1
            at += 1
    for k in range(lam.size - m):
        total = -X[k, m]
        for j in range(m):
            total -= X[k, j] * lam[rest[j]]
        lam[equal[k]] = total
        side[equal[k]] = 0
    return SUCCESS


@kernel(inner=True)
def enumerate_box(box: Box, solution: Sides, tol: float, block: Block) -> int:
    """Try all sides in turn and keep the first that fit; LCP_ITERATIONS: too many to try."""
    lower, upper, side = box.lower, box.upper, solution.side
    n = side.size
    count = 1
    for i in range(n):
        count *= 1 + (lower[i] > -np.inf) + (upper[i] < np.inf)
        if count > _PATTERNS:
            return LCP_ITERATIONS
    for pattern in range(count):
        left = pattern
        for i in range(n):
            options = 1 + (lower[i] > -np.inf) + (upper[i] < np.inf)
            side[i] = np.int8(left % options - (lower[i] > -np.inf))
            left //= options
        fits = between_bounds(box, solution, block) == SUCCESS
        fits = fits and natural_residual(box, solution) <= tol
        for i in range(n if fits else 0):  # a small M hides a wrong bound from the residual
            fits = fits and misplaced(box, solution, i) != 2
        if fits:
            return SUCCESS
    return LCP_RAY


@kernel(inline=True)
def solve_from_sides(box: Box, solution: Sides, tol: float, block: Block) -> tuple[int, float]:
    """Pivot from the sides given; return a status and the residual, at most `tol` on SUCCESS.

    Hardly a step needs more, and where this does, `solve_box` goes on from Lemke's method.
    """
    if principal_pivoting(box, solution, block) != SUCCESS:
        return LCP_ITERATIONS, np.inf
    off = natural_residual(box, solution)
    return SUCCESS if off <= tol else LCP_ITERATIONS, off


@kernel()
def solve_box(
    method: int, box: Box, solution: Sides, tol: float, block: Block, work: Lemke
) -> tuple[int, float]:
    """Solve by the method asked for, then by the others; return a status and the residual.

    Pivoting starts from the sides; set ``block.kept[0].count = -1`` whenever M changed. Where the
    problem has several solutions it so keeps to the sides of the step before if it can.
    """
    status, ray, kept = LCP_RAY, LCP_RAY, block.kept
    for turn in range(4):  # enumeration comes first or last
        if turn == 1 and method != LEMKE:
            status = principal_pivoting(box, solution, block)
        elif turn == 2:
            kept[0].count = -1
            status = by_lemke(box, solution, block, work)
            ray = LCP_RAY if status == SUCCESS else status
        elif turn == (0 if method == ENUMERATION else 3):
            kept[0].count = -1
            status = enumerate_box(box, solution, tol, block)
            kept[0].count = -1
        else:
            continue
        if status == SUCCESS:
            off = natural_residual(box, solution)
            if off <= tol:
                return SUCCESS, off
    return ray, natural_residual(box, solution)
