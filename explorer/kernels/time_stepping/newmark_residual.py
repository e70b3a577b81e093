"""The residual r = M a - F of a step of the Newmark family, and how well it can be known."""

import numpy as np

from explorer.kernels.jit import kernel
from explorer.kernels.structures import Matrix, Vector
from explorer.kernels.time_stepping.newmark_structures import Bands, Problem, Workspace

__all__ = ["beside", "unbalanced"]


@kernel(inline=True)
def unbalanced(
    M: Matrix, F: Vector, F0: Vector, a: Vector, bands: Bands, share: float, old: float, r: Vector
) -> float:
    """Write r = M a - share F - old F0; return its norm."""
    n, below, above = r.size, bands.mass_below, bands.mass_above
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


@kernel(inline=True)
def beside(problem: Problem, work: Workspace) -> float:
    """Return how well r is known: beside the terms that cancel in it, and inside F."""
    M, K, C, inp = problem.matrices.M, problem.matrices.K, problem.matrices.C, problem.bundles.inp
    F, F0, a, r = work.F, work.F0, work.a_m, work.r
    below, above = problem.bands.below, problem.bands.above
    share, old = problem.method.share, problem.method.old
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
