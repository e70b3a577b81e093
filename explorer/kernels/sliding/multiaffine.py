"""All roots in the unit box of m equations that are affine in each of m unknowns.

A function that is affine in each unknown is known by its values at the corners of a box, and lies
between the least and the largest of them (they are its Bernstein coefficients; Garloff and Smith,
*Nonlinear Analysis* 47 (2001) 167). So a box has no root where all corner values of a row, or of a
combination of rows, have one sign, and at most one where the Jacobian times an approximate inverse
is diagonally dominant at all corners (Neumaier, *Interval Methods for Systems of Equations*, 1990).
What is neither is halved. Two equations are solved by the quadratic equation that is left when one
unknown is eliminated.

`bench` begins at row FIRST: LIMIT roots, the corner values (m, 2^m; bit a of a column: unknown a),
those of a smaller box, the boxes that are left (their lower and upper ends, side by side).
"""

import numpy as np

from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve

__all__ = ["BENCH_ROWS", "CORNERS", "FIRST", "LIMIT", "MOST", "found", "room", "roots"]

MOST = 8  # unknowns
LIMIT = 12  # roots
FIRST = 19  # rows before them belong to others
CORNERS = FIRST + LIMIT
SMALLER = CORNERS + MOST
BOXES = SMALLER + MOST
DEPTH = 64
BENCH_ROWS = BOXES + DEPTH
TRIALS = 4000  # boxes that are looked at
SIDE = 1e-2  # the box is larger by this on every side: a root may lie on its face
SAME = 1e-9  # roots that are closer are one
SOLVED = 1e-14  # a row that is zero, beside its largest value at a corner
NONE, ONE, MANY = 0, 1, 2  # roots of a box, as far as its corners tell
LINEAR = 1e-12  # a product beside the other terms that is none


def room(unknowns: int) -> int:
    """Return how many columns `bench` needs at least."""
    few = min(unknowns, MOST)
    return max(1 << few, 2 * few + 1)


@kernel("float64(float64[:, ::1], int64, int64, int64, float64[::1])", inline=True)
def value(bench, row, m, skip, w):
    """Return a row at w, or, with `skip` >= 0, its derivative by that unknown."""
    total = 0.0
    for corner in range(1 << m):
        weight = 1.0
        for a in range(m):
            high = (corner >> a) & 1
            if a == skip:
                weight *= 1.0 if high else -1.0
            else:
                weight *= w[a] if high else 1.0 - w[a]
        total += weight * bench[row, corner]
    return total


@kernel(
    "int64(float64[:, ::1], int64, float64[::1], float64[:, ::1], int64[::1], float64[::1])",
    inner=True,
)
def newton(bench, m, w, M, pivots, step):
    """Improve w; return 0 if it has become a root."""
    before = np.inf
    for _ in range(30):
        worst = 0.0
        for j in range(m):
            step[j] = -value(bench, CORNERS + j, m, -1, w)
            worst = max(worst, abs(step[j]))
            for a in range(m):
                M[j, a] = value(bench, CORNERS + j, m, a, w)
        if not worst < 1e6:
            return 1
        if worst <= SOLVED:
            return 0
        if lu_factor(M, m, m - 1, m - 1, pivots) != 0:
            return 1
        lu_solve(M, m, m - 1, m - 1, pivots, step)
        size = 0.0
        for a in range(m):
            w[a] += step[a]
            size = max(size, abs(step[a]))
        if size <= SOLVED or (size <= SAME and size > 0.5 * before):
            return 0
        before = size
    return 1


@kernel("int64(float64[:, ::1], int64, int64, float64[::1])", inline=True)
def keep(bench, m, count, w):
    """Add a root that lies in the box and is no other's; return how many there are."""
    for a in range(m):
        if not (-SIDE <= w[a] <= 1.0 + SIDE):
            return count
    for k in range(count):
        off = 0.0
        for a in range(m):
            off = max(off, abs(bench[FIRST + k, a] - w[a]))
        if off <= SAME:
            return count
    if count == LIMIT:
        return count
    for a in range(m):
        bench[FIRST + count, a] = w[a]
    return count + 1


@kernel("float64(float64[:, ::1])", inner=True)
def discriminant(bench):
    """Return that of two equations: the square of their Jacobian at both roots."""
    a0, b0 = bench[CORNERS, 0], bench[CORNERS + 1, 0]
    a1, b1 = bench[CORNERS, 1] - a0, bench[CORNERS + 1, 1] - b0
    a2, b2 = bench[CORNERS, 2] - a0, bench[CORNERS + 1, 2] - b0
    a3, b3 = bench[CORNERS, 3] - a0 - a1 - a2, bench[CORNERS + 1, 3] - b0 - b1 - b2
    middle = b0 * a3 + b1 * a2 - b2 * a1 - b3 * a0
    return middle * middle - 4.0 * (b1 * a3 - b3 * a1) * (b0 * a2 - b2 * a0)


@kernel("float64(float64[:, ::1], int64, float64[::1], int64)", inner=True)
def pair(bench, side, w, beyond):
    """Set w to that root of two equations whose Jacobian has the sign `side`; return it, or 0.

    Both quadratic equations have the discriminant det J^2 (Dieci and Lopez, *Numer. Math.* 117
    (2011) 779); the root may lie outside the box. With `beyond` a negative discriminant counts as
    zero: so w goes on to where both roots have met.
    """
    a0, b0 = bench[CORNERS, 0], bench[CORNERS + 1, 0]
    a1, b1 = bench[CORNERS, 1] - a0, bench[CORNERS + 1, 1] - b0
    a2, b2 = bench[CORNERS, 2] - a0, bench[CORNERS + 1, 2] - b0
    a3, b3 = bench[CORNERS, 3] - a0 - a1 - a2, bench[CORNERS + 1, 3] - b0 - b1 - b2
    for a in range(2):
        if a == 1:
            a1, a2, b1, b2 = a2, a1, b2, b1
        square, rest = b1 * a3 - b3 * a1, b0 * a2 - b2 * a0
        middle = b0 * a3 + b1 * a2 - b2 * a1 - b3 * a0
        size = abs(b0 * a3) + abs(b1 * a2) + abs(b2 * a1) + abs(b3 * a0)
        under = middle * middle - 4.0 * square * rest
        if not under > 0.0:
            if beyond == 0 or not under <= 0.0:
                return 0.0
            under = 0.0
        root = side * np.sqrt(under) * (1.0 if a == 0 else -1.0)
        # (root - middle) / (2 square) = -2 rest / (middle + root): what loses no digits
        if abs(root - middle) >= abs(root + middle):
            if abs(square) <= LINEAR * LINEAR * size:
                return 0.0
            w[a] = (root - middle) / (2.0 * square)
        else:
            w[a] = -2.0 * rest / (middle + root)
    return side if abs(w[0]) + abs(w[1]) < 1e6 else 0.0


@kernel("int64(float64[:, ::1], int64, int64, float64[::1])", inner=True)
def excludes(bench, m, box, w):
    """Set the corner values of a box; return 1 if all of a row have one sign: it has no root."""
    for j in range(m):
        low = np.inf
        high = -np.inf
        for corner in range(1 << m):
            for a in range(m):
                w[a] = bench[box, m + a] if (corner >> a) & 1 else bench[box, a]
            bench[SMALLER + j, corner] = value(bench, CORNERS + j, m, -1, w)
            low = min(low, bench[SMALLER + j, corner])
            high = max(high, bench[SMALLER + j, corner])
        if low > SOLVED or high < -SOLVED:
            return 1
    return 0


@kernel(
    "int64(float64[:, ::1], int64, float64[:, ::1], int64[::1], float64[::1])",
    inner=True,
)
def at_most_one(bench, m, M, pivots, w):
    """Tell from its corner values how many roots a box has: NONE, at most ONE, or any MANY.

    The rows are multiplied by the inverse of their mean Jacobian first.
    """
    for j in range(m):
        for a in range(m):
            total = 0.0
            for corner in range(1 << m):
                total += bench[SMALLER + j, corner] * (1.0 if (corner >> a) & 1 else -1.0)
            M[j, a] = total / (1 << (m - 1))
    if lu_factor(M, m, m - 1, m - 1, pivots) != 0:
        return MANY
    for corner in range(1 << m):
        for j in range(m):
            w[j] = bench[SMALLER + j, corner]
        lu_solve(M, m, m - 1, m - 1, pivots, w)
        for j in range(m):
            bench[SMALLER + j, corner] = w[j]
    single = True
    for j in range(m):
        low = np.inf
        high = -np.inf
        own = np.inf
        others = 0.0
        for a in range(m):
            most = 0.0
            for corner in range(1 << m):
                low = min(low, bench[SMALLER + j, corner])
                high = max(high, bench[SMALLER + j, corner])
                if (corner >> a) & 1:
                    slope = bench[SMALLER + j, corner] - bench[SMALLER + j, corner ^ (1 << a)]
                    most = max(most, abs(slope))
                    if a == j:
                        own = min(own, slope)
            if a != j:
                others += most
        if low > 1e-9 or high < -1e-9:
            return NONE
        single = single and own > others
    return ONE if single else MANY


@kernel("boolean(float64[:, ::1], int64, int64, float64[::1])", inline=True)
def inside(bench, m, box, w):
    """Tell whether a root lies in a box, to round-off."""
    for a in range(m):
        slack = 1e-9 + 1e-3 * (bench[box, m + a] - bench[box, a])
        if not bench[box, a] - slack <= w[a] <= bench[box, m + a] + slack:
            return False
    return True


@kernel(
    "int64(float64[:, ::1], int64, float64[:, ::1], int64[::1], float64[:, ::1])",
    inner=True,
)
def roots(bench, m, M, pivots, r):
    """Find all roots of the rows at CORNERS, which are scaled here; return how many there are.

    M (m, m), pivots (m,), r (3, m) are for work. None are found where a row is zero everywhere.
    """
    for j in range(m):
        size = 0.0
        for corner in range(1 << m):
            size = max(size, abs(bench[CORNERS + j, corner]))
        if not 0.0 < size < np.inf:
            return 0
        for corner in range(1 << m):
            bench[CORNERS + j, corner] /= size
    count = 0
    if m == 2:
        for side in (1, -1):
            if pair(bench, side, r[0], 0) != 0.0:
                newton(bench, m, r[0], M, pivots, r[1])
                count = keep(bench, m, count, r[0])
        return count
    left = 1
    for a in range(m):
        bench[BOXES, a] = -SIDE
        bench[BOXES, m + a] = 1.0 + SIDE
    for _ in range(TRIALS):
        if left == 0:
            break
        left -= 1
        box = BOXES + left
        if excludes(bench, m, box, r[0]):
            continue
        verdict = at_most_one(bench, m, M, pivots, r[0])
        if verdict == NONE:
            continue
        if verdict == ONE:
            for a in range(m):
                r[0, a] = 0.5 * (bench[box, a] + bench[box, m + a])
            if newton(bench, m, r[0], M, pivots, r[1]) == 0 and inside(bench, m, box, r[0]):
                count = keep(bench, m, count, r[0])
                continue
        wide = 0
        for a in range(m):
            if bench[box, m + a] - bench[box, a] > bench[box, m + wide] - bench[box, wide]:
                wide = a
        if bench[box, m + wide] - bench[box, wide] < 1e-7 or left + 2 > DEPTH:
            continue  # a root that is no single one
        middle = 0.5 * (bench[box, wide] + bench[box, m + wide])
        for a in range(2 * m):
            bench[box + 1, a] = bench[box, a]
        bench[box, m + wide] = middle
        bench[box + 1, wide] = middle
        left += 2
    return count


@kernel("int64(float64[:, ::1], int64, float64[:, ::1], int64[::1], float64[:, ::1])")
def found(bench, m, M, pivots, r):
    """`roots`, for Python."""
    return roots(bench, m, M, pivots, r)
