"""All roots in the unit box of m equations that are affine in each of m unknowns.

A function that is affine in each unknown is known by its values at the corners of a box, and lies
between the least and the largest of them (they are its Bernstein coefficients; Garloff and Smith,
*Nonlinear Analysis* 47 (2001) 167). So a box has no root where all corner values of a row, or of a
combination of rows, have one sign, and at most one where the Jacobian times an approximate inverse
is diagonally dominant at all corners (Neumaier, *Interval Methods for Systems of Equations*, 1990).
What is neither is halved. Two equations are solved by the quadratic equation that is left when one
unknown is eliminated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["DEPTH", "LIMIT", "MOST", "Bench", "bench", "discriminant", "found", "pair", "roots"]

MOST = 8  # unknowns
LIMIT = 12  # roots
DEPTH = 64  # boxes that wait
TRIALS = 4000  # boxes that are looked at
SIDE = 1e-2  # the box is larger by this on every side: a root may lie on its face
SAME = 1e-9  # roots that are closer are one
SOLVED = 1e-14  # a row that is zero, beside its largest value at a corner
NONE, ONE, MANY = 0, 1, 2  # roots of a box, as far as its corners tell
LINEAR = 1e-12  # a product beside the other terms that is none


class Bench(NamedTuple):
    """The equations, their roots, and memory to find them; m unknowns at most."""

    corners: Matrix  # (m, 2^m) values at the corners; bit a of a column: unknown a is 1
    roots: Matrix  # (LIMIT, m)
    smaller: Matrix  # (m, 2^m) values at the corners of a smaller box
    boxes: Matrix  # (DEPTH, 2 m) what is left: lower and upper ends, side by side
    M: Matrix  # (m, m)
    pivots: Integers  # (m,)
    w: Vector  # (m,)
    step: Vector  # (m,)


def bench(unknowns: int) -> Bench:
    """Return the memory for so many unknowns, or for MOST."""
    m = max(min(unknowns, MOST), 2)
    return Bench(
        np.zeros((m, 1 << m)),
        np.zeros((LIMIT, m)),
        np.zeros((m, 1 << m)),
        np.zeros((DEPTH, 2 * m)),
        np.zeros((m, m)),
        np.zeros(m, np.int64),
        np.zeros(m),
        np.zeros(m),
    )


@kernel(inline=True)
def value(corners: Vector, m: int, skip: int, w: Vector) -> float:
    """Return a function at w, or, with `skip` >= 0, its derivative by that unknown."""
    total = 0.0
    for corner in range(1 << m):
        weight = 1.0
        for a in range(m):
            high = (corner >> a) & 1
            if a == skip:
                weight *= 1.0 if high else -1.0
            else:
                weight *= w[a] if high else 1.0 - w[a]
        total += weight * corners[corner]
    return total


@kernel(inner=True)
def newton(bench: Bench, m: int) -> int:
    """Improve w by Newton's method; return 0 if it has become a root."""
    corners, M, pivots, w, step = bench.corners, bench.M, bench.pivots, bench.w, bench.step
    before = np.inf
    for _ in range(30):
        worst = 0.0
        for j in range(m):
            step[j] = -value(corners[j], m, -1, w)
            worst = max(worst, abs(step[j]))
            for a in range(m):
                M[j, a] = value(corners[j], m, a, w)
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


@kernel(inline=True)
def keep(bench: Bench, m: int, count: int) -> int:
    """Add the root w if it lies in the box and is no other's; return how many there are."""
    roots, w = bench.roots, bench.w
    for a in range(m):
        if not (-SIDE <= w[a] <= 1.0 + SIDE):
            return count
    for k in range(count):
        off = 0.0
        for a in range(m):
            off = max(off, abs(roots[k, a] - w[a]))
        if off <= SAME:
            return count
    if count == LIMIT:
        return count
    for a in range(m):
        roots[count, a] = w[a]
    return count + 1


@kernel(inline=True)
def bilinear(corners: Matrix, row: int) -> tuple[float, float, float, float]:
    """Return c, c_x, c_y, c_xy of a row c + c_x x + c_y y + c_xy x y from its corner values."""
    values = corners[row]
    c, c_xy = values[0], values[3] - values[0]
    for k in range(1, 3):
        c_xy -= values[k] - c
    return c, values[1] - c, values[2] - c, c_xy


@kernel(inner=True)
def discriminant(corners: Matrix) -> float:
    """Return that of two equations: the square of their Jacobian at both roots."""
    a0, a1, a2, a3 = bilinear(corners, 0)
    b0, b1, b2, b3 = bilinear(corners, 1)
    middle = b0 * a3 + b1 * a2 - b2 * a1 - b3 * a0
    return middle * middle - 4.0 * (b1 * a3 - b3 * a1) * (b0 * a2 - b2 * a0)


@kernel(inner=True)
def pair(corners: Matrix, side: int, w: Vector, beyond: int) -> float:
    """Set w to that root of two equations whose Jacobian has the sign -`side`; return `side`, or 0.

    Both quadratic equations have the discriminant det J^2 (Dieci and Lopez, *Numer. Math.* 117
    (2011) 779); the root may lie outside the box. With `beyond` a negative discriminant counts as
    zero: so w goes on to where both roots have met.
    """
    a0, a1, a2, a3 = bilinear(corners, 0)
    b0, b1, b2, b3 = bilinear(corners, 1)
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


@kernel(inner=True)
def excludes(bench: Bench, m: int, box: Vector) -> int:
    """Set the corner values of a box; return 1 if all of a row have one sign: it has no root."""
    smaller, w = bench.smaller, bench.w
    for j in range(m):
        low = np.inf
        high = -np.inf
        for corner in range(1 << m):
            for a in range(m):
                w[a] = box[m + a] if (corner >> a) & 1 else box[a]
            smaller[j, corner] = value(bench.corners[j], m, -1, w)
            low = min(low, smaller[j, corner])
            high = max(high, smaller[j, corner])
        if low > SOLVED or high < -SOLVED:
            return 1
    return 0


@kernel(inner=True)
def at_most_one(bench: Bench, m: int) -> int:
    """Tell from its corner values how many roots a box has: NONE, at most ONE, or any MANY.

    The rows are multiplied by the inverse of their mean Jacobian first.
    """
    smaller, M, pivots, w = bench.smaller, bench.M, bench.pivots, bench.w
    for j in range(m):
        for a in range(m):
            total = 0.0
            for corner in range(1 << m):
                total += smaller[j, corner] * (1.0 if (corner >> a) & 1 else -1.0)
            M[j, a] = total / (1 << (m - 1))
    if lu_factor(M, m, m - 1, m - 1, pivots) != 0:
        return MANY
    for corner in range(1 << m):
        for j in range(m):
            w[j] = smaller[j, corner]
        lu_solve(M, m, m - 1, m - 1, pivots, w)
        for j in range(m):
            smaller[j, corner] = w[j]
    single = True
    for j in range(m):
        low = np.inf
        high = -np.inf
        own = np.inf
        others = 0.0
        for a in range(m):
            most = 0.0
            for corner in range(1 << m):
                low = min(low, smaller[j, corner])
                high = max(high, smaller[j, corner])
                if (corner >> a) & 1:
                    slope = smaller[j, corner] - smaller[j, corner ^ (1 << a)]
                    most = max(most, abs(slope))
                    if a == j:
                        own = min(own, slope)
            if a != j:
                others += most
        if low > 1e-9 or high < -1e-9:
            return NONE
        single = single and own > others
    return ONE if single else MANY


@kernel(inline=True)
def inside(box: Vector, m: int, w: Vector) -> bool:
    """Tell whether a root lies in a box, to round-off."""
    for a in range(m):
        slack = 1e-9 + 1e-3 * (box[m + a] - box[a])
        if not box[a] - slack <= w[a] <= box[m + a] + slack:
            return False
    return True


@kernel(inline=True)
def widest(box: Vector, m: int) -> int:
    """Return the direction in which a box is longest."""
    wide = 0
    for a in range(m):
        if box[m + a] - box[a] > box[m + wide] - box[wide]:
            wide = a
    return wide


@kernel(inner=True)
def roots(bench: Bench, m: int) -> int:
    """Find all roots of the functions at the corners, which are scaled here; return how many.

    None are found where a function is zero everywhere.
    """
    corners, boxes, w = bench.corners, bench.boxes, bench.w
    for j in range(m):
        size = 0.0
        for corner in range(1 << m):
            size = max(size, abs(corners[j, corner]))
        if not 0.0 < size < np.inf:
            return 0
        for corner in range(1 << m):
            corners[j, corner] /= size
    count = 0
    if m == 2:
        for side in (1, -1):
            if pair(corners, side, w, 0) != 0.0:
                newton(bench, m)
                count = keep(bench, m, count)
        return count
    left = 1
    for a in range(m):
        boxes[0, a] = -SIDE
        boxes[0, m + a] = 1.0 + SIDE
    for _ in range(TRIALS):
        if left == 0:
            break
        left -= 1
        box = boxes[left]
        if excludes(bench, m, box):
            continue
        verdict = at_most_one(bench, m)
        if verdict == NONE:
            continue
        if verdict == ONE:
            for a in range(m):
                w[a] = 0.5 * (box[a] + box[m + a])
            if newton(bench, m) == 0 and inside(box, m, w):
                count = keep(bench, m, count)
                continue
        wide = widest(box, m)
        if box[m + wide] - box[wide] < 1e-7 or left + 2 > DEPTH:
            continue  # a root that is no single one
        middle = 0.5 * (box[wide] + box[m + wide])
        for a in range(2 * m):
            boxes[left + 1, a] = box[a]
        box[m + wide] = middle
        boxes[left + 1, wide] = middle
        left += 2
    return count


@kernel()
def found(bench: Bench, m: int) -> int:
    """`roots`, for Python."""
    return roots(bench, m)
