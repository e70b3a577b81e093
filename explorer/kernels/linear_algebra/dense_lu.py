"""Dense factorisations that respect a band: LU with partial pivoting, in place.

Golub, van Loan, Matrix Computations, 4.3.1 and 4.3.2: with lower and upper bandwidth (kl, ku)
the factor U has bandwidth kl + ku. Multipliers are not permuted (LINPACK order), so the same
loops serve a full matrix (kl = ku = n - 1) and a tridiagonal one, the latter in O(n).
"""

from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["bandwidth", "lu_factor", "lu_solve", "positive_definite", "small_lu_factor"]


@kernel(inner=True)
def bandwidth(A: Matrix, n: int) -> tuple[int, int]:
    """Return the lower and the upper bandwidth of the leading n x n block."""
    below, above = 0, 0
    for i in range(n):
        for j in range(i - below):
            if A[i, j] != 0.0:
                below = i - j
                break
        for j in range(n - 1, i + above, -1):
            if A[i, j] != 0.0:
                above = j - i
                break
    return below, above


@kernel(inline=True)
def small_lu_factor(A: Matrix, n: int, kl: int, ku: int, pivots: Integers) -> int:
    """Do what `lu_factor` does, without a call, which costs as much as the work on 2 x 2."""
    for k in range(n):
        last = min(n, k + kl + 1)
        best = k
        size = abs(A[k, k])
        for i in range(k + 1, last):
            if abs(A[i, k]) > size:
                best = i
                size = abs(A[i, k])
        pivots[k] = best
        above = 0.0
        for i in range(max(0, k - kl - ku), k):
            above = max(above, abs(A[i, k]))
        if not size > 1e-15 * above:
            return k + 1
        end = min(n, k + kl + ku + 1)
        if best != k:
            for j in range(k, end):
                A[k, j], A[best, j] = A[best, j], A[k, j]
        pivot = A[k, k]
        for i in range(k + 1, last):
            factor = A[i, k] / pivot
            A[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, end):
                    A[i, j] -= factor * A[k, j]
    return 0


@kernel(inner=True)
def lu_factor(A: Matrix, n: int, kl: int, ku: int, pivots: Integers) -> int:
    """Factor the leading n x n block of `A` in place.

    Returns 0, or k + 1 if pivot k vanishes to rounding beside the column of U above it.
    """
    return small_lu_factor(A, n, kl, ku, pivots)


@kernel(inline=True)
def lu_solve(A: Matrix, n: int, kl: int, ku: int, pivots: Integers, b: Vector) -> None:
    """Overwrite `b` by the solution of A x = b, `A` factored by `lu_factor`."""
    for k in range(n):
        best = pivots[k]
        if best != k:
            b[k], b[best] = b[best], b[k]
        value = b[k]
        if value != 0.0:
            for i in range(k + 1, min(n, k + kl + 1)):
                b[i] -= A[i, k] * value
    for k in range(n - 1, -1, -1):
        total = b[k]
        for j in range(k + 1, min(n, k + kl + ku + 1)):
            total -= A[k, j] * b[j]
        b[k] = total / A[k, k]


@kernel(inline=True)
def positive_definite(A: Matrix, n: int, L: Matrix) -> bool:
    """Whether the leading n x n block of the symmetric `A` has a Cholesky factor (kept in `L`)."""
    for j in range(n):
        for i in range(j, n):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = total / L[j, j]
            elif total > 0.0:
                L[j, j] = total**0.5
            else:
                return False
    return True
