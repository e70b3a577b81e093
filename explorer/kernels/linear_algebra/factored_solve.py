"""Solve A x = b with the factors of A = L D U made outside, once: a band, or sparse columns.

L and U have ones on the diagonal. `explorer.runs.time_stepping.factors` makes them.

Columns, not rows: what a solved unknown does to the others is many additions at once; a row would
be a sum, in which each addition waits for the one before. (Golub, van Loan, *Matrix Computations*,
3.1.3, 4.3.)
"""

from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.structures import Factors
from explorer.kernels.references import kernel as by_reference
from explorer.kernels.references import value_of
from explorer.kernels.structures import Vector

__all__ = ["solve_factored"]


@kernel(inner=True)
def solve_sparse(factors: Factors, n: int, b: Vector) -> None:
    """Overwrite `b` by the solution, sparse columns."""
    inverse, order, place, y = factors.inverse, factors.order, factors.place, factors.work
    ptr, row, val = factors.L.ptr, factors.L.row, factors.L.val
    for i in range(n):
        y[order[i]] = b[i]
    for k in range(n):
        value = y[k]
        if value != 0.0:
            for s in range(ptr[k], ptr[k + 1]):
                y[row[s]] -= val[s] * value
    for k in range(n):
        y[k] *= inverse[k]
    ptr, row, val = factors.U.ptr, factors.U.row, factors.U.val
    for k in range(n - 1, -1, -1):
        value = y[k]
        if value != 0.0:
            for s in range(ptr[k], ptr[k + 1]):
                y[row[s]] -= val[s] * value
    for i in range(n):
        b[i] = y[place[i]]


@by_reference(inline=True)
def solve_factored(factors: Factors, n: int, b: Vector) -> None:
    """Overwrite `b` by the solution of A x = b."""
    inverse, order, below, above = factors.inverse, factors.order, factors.below, factors.above
    kl, ku = below.shape[1], above.shape[1]
    if factors.L.ptr.size > 0:
        solve_sparse(value_of(factors), n, b)
    elif kl == 0 and ku == 0:
        for k in range(n):
            b[k] *= inverse[k]
    elif kl == 1 and ku == 1 and order.size == 0:  # a chain: no loop inside the loop
        value = b[0]
        for k in range(1, n):
            value = b[k] - below[k - 1, 0] * value
            b[k] = value
        for k in range(n):
            b[k] *= inverse[k]
        value = b[n - 1]
        for k in range(n - 1, 0, -1):
            value = b[k - 1] - above[k, 0] * value
            b[k - 1] = value
    else:
        swaps = order.size > 0
        for k in range(n):
            other = order[k] if swaps else k
            value = b[other]
            if other != k:
                b[other] = b[k]
                b[k] = value
            for d in range(min(kl, n - 1 - k)):
                b[k + 1 + d] -= below[k, d] * value
        for k in range(n):
            b[k] *= inverse[k]
        for k in range(n - 1, 0, -1):
            value = b[k]
            for d in range(max(0, ku - k), ku):
                b[k - ku + d] -= above[k, d] * value
