"""The residual r = M a - F of a step of the Newmark family, and how well it can be known."""

import numpy as np

from explorer.kernels.jit import kernel

__all__ = ["beside", "unbalanced"]


@kernel(
    "float64(float64[:, ::1], float64[::1], float64[::1], float64[::1], int64, int64, float64,"
    " float64, float64[::1])",
    inline=True,
)
def unbalanced(M, F, F0, a, below, above, share, old, r):
    """Write r = M a - share F - old F0; return its norm."""
    n = r.size
    if n == 1:  # loops over a band would cost as much again as the step
        r[0] = M[0, 0] * a[0] - share * F[0] - old * F0[0]
        return abs(r[0])
    norm = 0.0
    for i in range(n):
        total = -share * F[i] - old * F0[i]
        for j in range(max(0, i - below), min(n, i + above + 1)):
            total += M[i, j] * a[j]
        r[i] = total
        norm += total * total
    return np.sqrt(norm)


@kernel(
    "float64(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[::1], float64[::1], int64, int64, float64, float64, float64[::1])",
    inline=True,
)
def beside(M, K, C, F, F0, a, inp, below, above, share, old, r):
    """Return how well r is known: beside the terms that cancel in it, and inside F."""
    n, ratio = r.size, 0.0
    if n == 1:
        terms = share * abs(F[0]) + old * abs(F0[0]) + abs(M[0, 0] * a[0])
        terms += abs(K[0, 0] * inp[1]) + abs(C[0, 0] * inp[2])
        if r[0] != 0.0:
            ratio = abs(r[0]) / terms if terms > 0.0 else np.inf
        return ratio
    for i in range(n):
        terms = share * abs(F[i]) + old * abs(F0[i])
        for j in range(max(0, i - below), min(n, i + above + 1)):
            terms += abs(M[i, j] * a[j]) + abs(K[i, j] * inp[1 + j]) + abs(C[i, j] * inp[1 + n + j])
        if abs(r[i]) > ratio * terms:
            ratio = abs(r[i]) / terms if terms > 0.0 else np.inf
    return ratio
