"""Solve with a band stored by rows: entry (i, j) of A stands at ``A[i, j - i + w]``, |i - j| <= w.

LU with partial pivoting (Golub, van Loan, *Matrix Computations*, 4.3.2): exchanged rows make U
2 w wide, so a row has 3 w + 1 places. Multipliers are not permuted (LINPACK order), and those of
step k stand side by side in row k.
"""

from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["band_factor", "band_solve", "band_solve_two"]

LARGER = 10.0


@kernel(inner=True)
def band_factor(A: Matrix, n: int, w: int, pivots: Integers) -> int:
    """Factor in place; return 0, or k + 1 if pivot k vanishes to rounding beside U above it.

    Rows are exchanged only where another entry is `LARGER` times the diagonal: U stays narrow.
    """
    end = 0  # of U: no wider than rows have been exchanged
    for k in range(n):
        last = min(n, k + w + 1)
        best, size = k, abs(A[k, w])
        for i in range(k + 1, last):
            if abs(A[i, k - i + w]) > size:
                best, size = i, abs(A[i, k - i + w])
        if size <= LARGER * abs(A[k, w]):
            best = k
        pivots[k] = best
        above = 0.0
        for i in range(max(0, k - 2 * w), k):
            above = max(above, abs(A[i, k - i + w]))
        if not size > 1e-15 * above:
            return k + 1
        end = max(end, min(n, best + w + 1))
        if best != k:
            for j in range(k, end):
                A[k, j - k + w], A[best, j - best + w] = A[best, j - best + w], A[k, j - k + w]
        inverse = 1.0 / A[k, w]
        count = end - k - 1
        top = A[k, w + 1 : w + 1 + count]
        for i in range(k + 1, last):
            factor = A[i, k - i + w] * inverse
            A[k, i - k - 1] = factor  # below the diagonal row k has nothing left
            if factor != 0.0:
                row = A[i, k - i + w + 1 : k - i + w + 1 + count]
                for j in range(count):  # of a slice: what may wrap around is not made wide
                    row[j] -= factor * top[j]
        A[k, w] = inverse
    return 0


@kernel(inner=True)
def band_solve(A: Matrix, n: int, w: int, pivots: Integers, b: Vector) -> None:
    """Overwrite `b` by the solution, `A` factored by `band_factor`."""
    reach = w
    for k in range(n):
        best = pivots[k]
        value = b[best]
        if best != k:
            b[best] = b[k]
            b[k] = value
            reach = 2 * w
        if value != 0.0:
            count = min(n - k - 1, w)
            column, rest = A[k, :count], b[k + 1 : k + 1 + count]
            for i in range(count):
                rest[i] -= column[i] * value
    for k in range(n - 1, -1, -1):
        count = min(n - k - 1, reach)
        row, rest = A[k, w + 1 : w + 1 + count], b[k + 1 : k + 1 + count]
        # four sums: one alone waits for each addition
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for j in range(count // 4):
            one += row[4 * j] * rest[4 * j]
            two += row[4 * j + 1] * rest[4 * j + 1]
            three += row[4 * j + 2] * rest[4 * j + 2]
            four += row[4 * j + 3] * rest[4 * j + 3]
        for j in range(count - count % 4, count):
            one += row[j] * rest[j]
        b[k] = (b[k] - ((one + two) + (three + four))) * A[k, w]


@kernel(inner=True)
def band_solve_two(A: Matrix, n: int, w: int, pivots: Integers, B: Matrix) -> None:
    """Overwrite both columns of `B` (n, 2) by their solutions, for little more than one costs."""
    reach = w
    for k in range(n):
        best = pivots[k]
        x, y = B[best, 0], B[best, 1]
        if best != k:
            B[best, 0], B[best, 1] = B[k, 0], B[k, 1]
            B[k, 0], B[k, 1] = x, y
            reach = 2 * w
        count = min(n - k - 1, w)
        column, rest = A[k, :count], B[k + 1 : k + 1 + count]
        for i in range(count):
            rest[i, 0] -= column[i] * x
            rest[i, 1] -= column[i] * y
    for k in range(n - 1, -1, -1):
        count = min(n - k - 1, reach)
        row, rest = A[k, w + 1 : w + 1 + count], B[k + 1 : k + 1 + count]
        # four sums: one alone waits for each addition
        x, y, u, v = 0.0, 0.0, 0.0, 0.0
        for j in range(count // 2):
            x += row[2 * j] * rest[2 * j, 0]
            y += row[2 * j] * rest[2 * j, 1]
            u += row[2 * j + 1] * rest[2 * j + 1, 0]
            v += row[2 * j + 1] * rest[2 * j + 1, 1]
        for j in range(count - count % 2, count):
            x += row[j] * rest[j, 0]
            y += row[j] * rest[j, 1]
        B[k, 0] = (B[k, 0] - (x + u)) * A[k, w]
        B[k, 1] = (B[k, 1] - (y + v)) * A[k, w]
