"""Solve A x = b with the factors of A = L D U made outside, once: a band, or sparse columns.

L and U have ones on the diagonal. The factors are a tuple, made by
`explorer.runs.time_stepping.factors`::

    inverse (n,)      1 / D
    order (n,)        band: the row exchanged with row k at column k (LINPACK order); empty if none
                      sparse: the row of L in which b_i belongs
    below (n, kl)     band: L[k + 1 + d, k];    kl = ku = n - 1 is a full matrix
    above (n, ku)     band: U[k - ku + d, k]
    L, U              sparse: (ptr, row, val) of the columns without the diagonal, else empty
    place (n,)        sparse: the column of U that is x_i
    work (n,)

Columns, not rows: what a solved unknown does to the others is one addition of vectors, which the
compiler makes wide; a row would be a sum, whose order it must keep. (Golub, van Loan, *Matrix
Computations*, 3.1.3, 4.3.)
"""

from explorer.kernels.jit import kernel

__all__ = ["FACTORS", "solve_factored"]

FACTORS = (
    "Tuple((float64[::1], int64[::1], float64[:, ::1], float64[:, ::1],"
    " int32[::1], int32[::1], float64[::1], int32[::1], int32[::1], float64[::1],"
    " int64[::1], float64[::1]))"
)


@kernel(f"void({FACTORS}, int64, float64[::1])", inner=True)
def solve_sparse(factors, n, b):
    """Overwrite `b` by the solution, sparse columns."""
    inverse, order, place, y = factors[0], factors[1], factors[10], factors[11]
    ptr, row, val = factors[4], factors[5], factors[6]
    for i in range(n):
        y[order[i]] = b[i]
    for k in range(n):
        value = y[k]
        if value != 0.0:
            for s in range(ptr[k], ptr[k + 1]):
                y[row[s]] -= val[s] * value
    for k in range(n):
        y[k] *= inverse[k]
    ptr, row, val = factors[7], factors[8], factors[9]
    for k in range(n - 1, -1, -1):
        value = y[k]
        if value != 0.0:
            for s in range(ptr[k], ptr[k + 1]):
                y[row[s]] -= val[s] * value
    for i in range(n):
        b[i] = y[place[i]]


@kernel(f"void({FACTORS}, int64, float64[::1])", inline=True)
def solve_factored(factors, n, b):
    """Overwrite `b` by the solution of A x = b."""
    inverse, order, below, above = factors[0], factors[1], factors[2], factors[3]
    kl, ku = below.shape[1], above.shape[1]
    if factors[4].size > 0:
        solve_sparse(factors, n, b)
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
