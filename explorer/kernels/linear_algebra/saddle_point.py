"""The matrix of a step with constraints, [[W, -G_c'], [G_c, 0]], factored and solved with.

Full, or as a band in the order of Cuthill and McKee (Proc. 24th ACM Conf. 1969, 157), where a chain
has its constraints between the coordinates that they join
(`explorer.kernels.linear_algebra.banded_lu` factors it). Then
`explorer.kernels.linear_algebra.factored_solve.FACTORS`, which hold no factors of a matrix that
changes, tell

    L (ptr, row)    the pattern of M, K and C together, by rows: of each its entries alone are kept
    place (N,)      the place of each unknown in the band; empty: the matrix is full
    work (N,)
"""

from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.banded_lu import band_factor, band_solve
from explorer.kernels.linear_algebra.dense_lu import lu_solve
from explorer.kernels.linear_algebra.factored_solve import FACTORS, solve_factored

__all__ = ["banded_factor", "banded_inertia", "banded_mass", "solve_step"]

SQUARE = "float64[:, ::1]"


@kernel(f"void(boolean, {FACTORS}, {SQUARE}, int64, int64[::1], float64[::1])", inline=True)
def solve_step(constant, factors, W, N, pivots, b):
    """Overwrite `b` by W^-1 b: factors from outside if W is constant, else W factored in place."""
    place, work = factors[10], factors[11]
    if constant:
        solve_factored(factors, N, b)
    elif place.size > 0:
        for j in range(N):
            work[place[j]] = b[j]
        band_solve(W, N, (W.shape[1] - 1) // 3, pivots, work)
        for j in range(N):
            b[j] = work[place[j]]
    else:
        lu_solve(W, N, N - 1, N - 1, pivots, b)


@kernel(
    f"int64({SQUARE}, {FACTORS}, {SQUARE}, {SQUARE}, {SQUARE}, float64, int64[::1], int64[::1],"
    " float64[::1], int64, int64[::1])",
    inner=True,
)
def banded_factor(W, factors, M, C, K, ht, gap_ptr, gap_col, gap_val, rows, pivots):
    """Fill the band with M + ht C + ht^2 K and the constraints, G from `rows` on; factor it.

    Return 0, or what `explorer.kernels.linear_algebra.banded_lu.band_factor` returns of a singular
    one.
    """
    ptr, col, place = factors[4], factors[5], factors[10]
    n, N, w = ptr.size - 1, W.shape[0], (W.shape[1] - 1) // 3
    W[:, :] = 0.0
    for j in range(n):
        at = place[j]
        for s in range(ptr[j], ptr[j + 1]):
            k = col[s]
            W[at, place[k] - at + w] = M[s, 0] + ht * C[s, 0] + ht * ht * K[s, 0]
    for c in range(n, N):
        at = place[c]
        for s in range(gap_ptr[rows + c - n], gap_ptr[rows + c - n + 1]):
            other = place[gap_col[s]]
            W[at, other - at + w] = gap_val[s]
            W[other, at - other + w] = -gap_val[s]
    return band_factor(W, N, w, pivots)


@kernel(f"int64({SQUARE}, {FACTORS}, {SQUARE})", inner=True)
def banded_mass(M, factors, W):
    """Whether M has a Cholesky factor, made in the band W, where constraints have mass 1."""
    ptr, col, place = factors[4], factors[5], factors[10]
    n, N, w = ptr.size - 1, W.shape[0], (W.shape[1] - 1) // 3
    W[:, : w + 1] = 0.0
    for j in range(N):
        W[place[j], w] = 1.0
    for j in range(n):
        at = place[j]
        for s in range(ptr[j], ptr[j + 1]):
            if place[col[s]] <= at:
                W[at, place[col[s]] - at + w] = M[s, 0]
    for i in range(N):
        for j in range(max(0, i - w), i + 1):
            total = W[i, j - i + w]
            for k in range(max(0, i - w), j):
                total -= W[i, k - i + w] * W[j, k - j + w]
            if j < i:
                W[i, j - i + w] = total / W[j, w]
            elif total > 0.0:
                W[i, w] = total**0.5
            else:
                return 0
    return 1


@kernel(
    f"void({SQUARE}, {FACTORS}, float64[::1], float64[::1], float64[::1], float64[::1])",
    inner=True,
)
def banded_inertia(M, factors, v, before, found, size):
    """Set M (v - before), and the sums of the moduli of M before, by the pattern."""
    ptr, col = factors[4], factors[5]
    for j in range(ptr.size - 1):
        total, terms = 0.0, 0.0
        for s in range(ptr[j], ptr[j + 1]):
            total += M[s, 0] * (v[col[s]] - before[col[s]])
            terms += abs(M[s, 0] * before[col[s]])
        found[j], size[j] = total, terms
