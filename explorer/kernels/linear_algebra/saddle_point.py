"""The matrix of a step with constraints, [[W, -G_c'], [G_c, 0]], W = M + h theta C + (h theta)^2 K.

Below, G_c may stand at another place of the step than in G_c'.
Factored in place: full, or as a band in the order of Cuthill and McKee (Proc. 24th ACM Conf. 1969,
157), where a chain has its constraints between the coordinates that they join
(`explorer.kernels.linear_algebra.banded_lu` factors it). Of a band M, C and K are stored as the
entries (k, 1) of their common pattern.
"""

from explorer.kernels.linear_algebra.banded_lu import band_factor, band_solve, band_solve_two
from explorer.kernels.linear_algebra.dense_lu import lu_solve, positive_definite, small_lu_factor
from explorer.kernels.linear_algebra.structures import SaddlePoint
from explorer.kernels.model.structures import Rows
from explorer.kernels.references import kernel
from explorer.kernels.structures import Matrix, Vector

__all__ = ["factor_step", "has_mass", "inertia", "solve_step", "solve_two"]


@kernel(inline=True)
def solve_step(saddle: SaddlePoint, b: Vector) -> None:
    """Overwrite `b` by the solution, W factored by `factor_step`."""
    W, pivots, place, work = saddle.W, saddle.pivots, saddle.place, saddle.work
    N = W.shape[0]
    if place.size > 0:
        for j in range(N):
            work[place[j]] = b[j]
        band_solve(W, N, (W.shape[1] - 1) // 3, pivots, work)
        for j in range(N):
            b[j] = work[place[j]]
    else:
        lu_solve(W, N, N - 1, N - 1, pivots, b)


@kernel(inner=True)
def solve_two(saddle: SaddlePoint, b: Vector, c: Vector, pair: Matrix) -> None:
    """Overwrite `b` and `c` by their solutions; `pair` (N, 2) is workspace."""
    W, pivots, place = saddle.W, saddle.pivots, saddle.place
    N = W.shape[0]
    if place.size > 0:
        for j in range(N):
            pair[place[j], 0], pair[place[j], 1] = b[j], c[j]
        band_solve_two(W, N, (W.shape[1] - 1) // 3, pivots, pair)
        for j in range(N):
            b[j], c[j] = pair[place[j], 0], pair[place[j], 1]
    else:
        lu_solve(W, N, N - 1, N - 1, pivots, b)
        lu_solve(W, N, N - 1, N - 1, pivots, c)


@kernel(inner=True)
def banded_factor(
    saddle: SaddlePoint,
    M: Matrix,
    C: Matrix,
    K: Matrix,
    ht: float,
    G: Rows,
    first: int,
    rows: Vector,
) -> int:
    """Fill the band and factor it, as `factor_step` does."""
    W, ptr, col, place = saddle.W, saddle.ptr, saddle.col, saddle.place
    g_ptr, g_col, g_val = G.ptr, G.col, G.val
    n, N, w = ptr.size - 1, W.shape[0], (W.shape[1] - 1) // 3
    W[:, :] = 0.0
    for j in range(n):
        at = place[j]
        for s in range(ptr[j], ptr[j + 1]):
            k = col[s]
            W[at, place[k] - at + w] = M[s, 0] + ht * C[s, 0] + ht * ht * K[s, 0]
    for c in range(n, N):
        at = place[c]
        for s in range(g_ptr[first + c - n], g_ptr[first + c - n + 1]):
            other = place[g_col[s]]
            W[at, other - at + w] = rows[s]
            W[other, at - other + w] = -g_val[s]
    return band_factor(W, N, w, saddle.pivots)


@kernel(inline=True)
def factor_step(
    saddle: SaddlePoint,
    M: Matrix,
    C: Matrix,
    K: Matrix,
    ht: float,
    G: Rows,
    first: int,
    rows: Vector,
) -> int:
    """Factor the matrix of a step, ht = h theta; not 0 if it is singular.

    The gradients of the constraints are the rows of G from `first` on. Forces act along those of
    `G.val`, velocities are held along those of `rows`.
    """
    if saddle.place.size > 0:
        return banded_factor(saddle, M, C, K, ht, G, first, rows)
    W, ptr, col, val = saddle.W, G.ptr, G.col, G.val
    n, N = M.shape[0], W.shape[0]
    for j in range(n):
        for k in range(n):
            W[j, k] = M[j, k] + ht * C[j, k] + ht * ht * K[j, k]
    for c in range(n, N):
        for j in range(N):
            W[c, j] = W[j, c] = 0.0
        for k in range(ptr[first + c - n], ptr[first + c - n + 1]):
            W[c, col[k]], W[col[k], c] = rows[k], -val[k]
    return small_lu_factor(W, N, N - 1, N - 1, saddle.pivots)


@kernel(inner=True)
def banded_mass(saddle: SaddlePoint, M: Matrix) -> bool:
    """Whether M has a Cholesky factor, made in the band W, where constraints have mass 1."""
    W, ptr, col, place = saddle.W, saddle.ptr, saddle.col, saddle.place
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
                return False
    return True


@kernel(inline=True)
def has_mass(saddle: SaddlePoint, M: Matrix) -> bool:
    """Whether M is positive definite; W is overwritten."""
    if saddle.place.size > 0:
        return banded_mass(saddle, M)
    return positive_definite(M, M.shape[0], saddle.W)


@kernel(inner=True)
def banded_inertia(
    saddle: SaddlePoint, M: Matrix, v: Vector, before: Vector, change: Vector, size: Vector
) -> None:
    """Do what `inertia` does, by the pattern."""
    ptr, col = saddle.ptr, saddle.col
    for j in range(ptr.size - 1):
        total, terms = 0.0, 0.0
        for s in range(ptr[j], ptr[j + 1]):
            total += M[s, 0] * (v[col[s]] - before[col[s]])
            terms += abs(M[s, 0] * before[col[s]])
        change[j], size[j] = total, terms


@kernel(inline=True)
def inertia(
    saddle: SaddlePoint, M: Matrix, v: Vector, before: Vector, change: Vector, size: Vector
) -> None:
    """Set M (v - before), and the sums of the moduli of M before."""
    if saddle.place.size > 0:
        banded_inertia(saddle, M, v, before, change, size)
        return
    n = M.shape[0]
    for j in range(n):
        total, terms = 0.0, 0.0
        for k in range(n):
            total += M[j, k] * (v[k] - before[k])
            terms += abs(M[j, k] * before[k])
        change[j], size[j] = total, terms
