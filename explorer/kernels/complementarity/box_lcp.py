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
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve

__all__ = ["ENUMERATION", "LEMKE", "PIVOTING", "solve_box"]

PIVOTING, LEMKE, ENUMERATION = 0, 1, 2
MOST = 1e13  # times what is given: terms of M lam that leave it three digits
_PATTERNS = 5000  # as many are tried where everything else has failed
PROBLEM = "float64[:, ::1], int64, float64[::1], float64[::1], float64[::1]"  # M, n, q, bounds
ANSWER = "int8[::1], float64[::1], float64[::1]"  # side, lam, y


@kernel(f"float64({PROBLEM}, float64[::1], float64[::1])", inline=True)
def judge(M, n, q, lower, upper, lam, y):
    """Set y = M lam + q; return the natural residual relative to the size of its terms.

    It is max_i |mid(d (lam - upper), y, d (lam - lower))|, d = M_ii or 1. Where lam is so large
    that nothing is left of q it is 1: a pivot that is zero but for round-off makes such a lam.
    """
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


@kernel(
    f"int64({PROBLEM}, {ANSWER}, float64[:, ::1], int64[::1], int64[::1], int64[::1],"
    " float64[::1])",
    inner=True,
)
def between(M, n, q, lower, upper, side, lam, y, A, pivots, factored, state, b):
    """Solve for given sides: lam at its bounds there, y = 0 in between.

    ``factored[:state[0]]`` lists the rows whose block of M is factored in `A`; state[0] = -1: none.
    """
    m = 0
    same = True
    for i in range(n):
        if side[i] == 0:
            if m >= state[0] or factored[m] != i:
                same = False
                factored[m] = i
            m += 1
        else:
            lam[i] = lower[i] if side[i] < 0 else upper[i]
    if not same or m != state[0]:
        for i in range(m):
            for j in range(m):
                A[i, j] = M[factored[i], factored[j]]
        state[0] = -1
        if lu_factor(A, m, m - 1, m - 1, pivots) != 0:
            return SINGULAR
        state[0] = m
    for k in range(m):
        i = factored[k]
        total = -q[i]
        for j in range(n):
            if side[j] != 0:
                total -= M[i, j] * lam[j]
        b[k] = total
    lu_solve(A, m, m - 1, m - 1, pivots, b)
    for k in range(m):
        lam[factored[k]] = b[k]
    return SUCCESS


@kernel(f"int64({PROBLEM}, {ANSWER}, int64)", inline=True)
def misplaced(M, n, q, lower, upper, side, lam, y, i):
    """Set y_i; return -1 or 1 for lam_i beyond that bound, 2 for a wrong sign of y_i, else 0."""
    total = q[i]
    terms = abs(q[i])
    for j in range(n):
        total += M[i, j] * lam[j]
        terms += abs(M[i, j] * lam[j])
    y[i] = total
    if side[i] != 0:
        return 2 if side[i] * total > 1e-14 * terms else 0
    return -1 if lam[i] < lower[i] else 1 if lam[i] > upper[i] else 0


@kernel(
    f"int64({PROBLEM}, {ANSWER}, float64[:, ::1], int64[::1], int64[::1], int64[::1],"
    " float64[::1])",
    inner=True,
)
def pivot(M, n, q, lower, upper, side, lam, y, A, pivots, factored, state, b):
    """Principal pivoting from the sides given, those of the step before.

    All wrong sides change at once; after ten rounds only the last one does, which is finite for
    P-matrices (Murty).
    """
    for turn in range(10 + 10 * n):
        if between(M, n, q, lower, upper, side, lam, y, A, pivots, factored, state, b) != SUCCESS:
            return LCP_ITERATIONS
        wrong = -1
        for i in range(n):
            b[i] = misplaced(M, n, q, lower, upper, side, lam, y, i)
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


@kernel(
    f"int64({PROBLEM}, {ANSWER}, float64[:, ::1], float64[:, :, ::1], float64[:, ::1],"
    " float64[:, ::1], int64[:, ::1])",
    inner=True,
)
def by_lemke(M, n, q, lower, upper, side, lam, y, A, S, T, long, wide):
    """Solve as a plain problem of complementarity by Lemke's method.

    Equalities are eliminated; a relay is two pairs: y + b perp lam - lower, upper - lam perp b.
    Where lower = -inf alone, -lam and -y take the place of lam and y.
    S (2, 2 n + 1, 2 n + 1), T (2 n, 4 n + 2), long (4, 2 n), wide (5, 2 n) : workspaces; what
    stays in T and wide[3] after LCP_RAY tells the ray
    """
    small, X = S[0], S[1]
    g, z, scale, b = long[0], long[1], long[2], long[3]
    equal, rest, act, basis, pivots = wide[0], wide[1], wide[2], wide[3], wide[4]
    ne = 0
    m = 0
    for i in range(n):
        if lower[i] == -np.inf and upper[i] == np.inf:
            equal[ne] = i
            ne += 1
        else:
            rest[m] = i
            m += 1
    for k in range(ne):
        for j in range(ne):
            A[k, j] = M[equal[k], equal[j]]
    if lu_factor(A, ne, ne - 1, ne - 1, pivots) != 0:
        return SINGULAR
    for c in range(m + 1):  # X = M_EE^-1 [M_EN, q_E]
        for k in range(ne):
            b[k] = q[equal[k]] if c == m else M[equal[k], rest[c]]
        lu_solve(A, ne, ne - 1, ne - 1, pivots, b)
        for k in range(ne):
            X[k, c] = b[k]
    size = m
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
        if -np.inf < lower[a] and upper[a] < np.inf:
            size += 1
    at = m
    for i in range(m):
        for j in range(m, size):
            small[i, j] = 0.0
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
    status = lemke(small, act, size, size, g, max(100, 20 * size), 1e-11, z, T, basis, scale)
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
    for k in range(ne):
        total = -X[k, m]
        for j in range(m):
            total -= X[k, j] * lam[rest[j]]
        lam[equal[k]] = total
        side[equal[k]] = 0
    return SUCCESS


@kernel(
    f"int64({PROBLEM}, {ANSWER}, float64, float64[:, ::1], int64[::1], int64[::1], int64[::1],"
    " float64[::1])",
    inner=True,
)
def enumerate_box(M, n, q, lower, upper, side, lam, y, tol, A, pivots, factored, state, b):
    """Try all sides in turn and keep the first that fit; LCP_ITERATIONS: too many to try."""
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
        status = between(M, n, q, lower, upper, side, lam, y, A, pivots, factored, state, b)
        fits = status == SUCCESS and judge(M, n, q, lower, upper, lam, y) <= tol
        for i in range(n if fits else 0):  # a small M hides a wrong bound from the residual
            fits = fits and misplaced(M, n, q, lower, upper, side, lam, y, i) != 2
        if fits:
            return SUCCESS
    return LCP_RAY


@kernel(
    f"int64(int64, {PROBLEM}, {ANSWER}, float64, float64[:, ::1], float64[:, :, ::1],"
    " float64[:, ::1], float64[:, ::1], int64[:, ::1], int64[::1], float64[::1])"
)
def solve_box(
    method, M, n, q, lower, upper, side, lam, y, tol, A, S, T, long, wide, state, out
):  # fmt: skip
    """Solve by the method asked for, then by the others; ``out[0]`` is the relative residual.

    Pivoting starts from `side`; set state[0] = -1 whenever M changed. Where the problem has
    several solutions it so keeps to the sides of the step before if it can.
    """
    status, ray = LCP_RAY, LCP_RAY
    out[0] = 0.0
    b = long[3]
    pivots, factored = wide[4], wide[0]
    for turn in range(4):  # enumeration comes first or last
        if turn == 1 and method != LEMKE:
            status = pivot(
                M, n, q, lower, upper, side, lam, y, A, pivots, factored, state, b
            )  # fmt: skip
        elif turn == 2:
            state[0] = -1
            status = by_lemke(M, n, q, lower, upper, side, lam, y, A, S, T, long, wide)
            ray = LCP_RAY if status == SUCCESS else status
        elif turn == (0 if method == ENUMERATION else 3):
            state[0] = -1
            status = enumerate_box(
                M, n, q, lower, upper, side, lam, y, tol, A, pivots, factored, state, b
            )  # fmt: skip
            state[0] = -1
        else:
            continue
        if status == SUCCESS:
            out[0] = judge(M, n, q, lower, upper, lam, y)
            if out[0] <= tol:
                return SUCCESS
    out[0] = judge(M, n, q, lower, upper, lam, y)
    return ray
