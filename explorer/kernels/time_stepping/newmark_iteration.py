"""Newton's method of a step of the Newmark family: see `explorer.kernels.time_stepping.newmark`."""

import numpy as np

from explorer.codes import NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.model.inputs import evaluate, scatter
from explorer.kernels.model.structures import FORCE, INERTIA, MASS, STEP
from explorer.kernels.structures import Vector
from explorer.kernels.time_stepping.bilinear_springs import bilinear
from explorer.kernels.time_stepping.newmark_residual import beside, unbalanced
from explorer.kernels.time_stepping.newmark_structures import Part, Problem, Workspace
from explorer.kernels.time_stepping.newton_convergence import at_round_off

__all__ = ["correction", "evaluate_state", "forces", "linearise", "mass", "move", "newton"]

HALVINGS = 10  # of a step, and of a Newton correction
QUICK = 0.1  # a residual that falls by this factor falls quadratically from there on


@kernel(inline=True)
def forces(problem: Problem, F: Vector) -> None:
    """Write the force at the input vector, springs included, to F."""
    out = problem.bundles.out
    evaluate(problem.bundles, FORCE)
    for i in range(F.size):
        F[i] = out[i]
    if problem.springs.committed.size > 0:
        bilinear(problem.bundles, problem.springs, F, problem.matrices.K_flat, False)


@kernel(inline=True)
def mass(problem: Problem) -> None:
    """Take M at the input vector."""
    evaluate(problem.bundles, MASS)
    scatter(problem.matrices.M_flat, 1.0, problem.bundles.out, 0, problem.places.M)


@kernel(inline=True)
def evaluate_state(problem: Problem, part: Part, work: Workspace) -> None:
    """Set y_1 = y_p + c x and a_m; the input vector becomes (t_f, d_f, v_f)."""
    inp, x, a_m = problem.bundles.inp, work.x, work.a_m
    am, w, n = problem.method.alpha_m, problem.method.weight, work.x.size
    h, c_d, c_v, c_a = part.h, part.c_d, part.c_v, part.c_a
    d0, v0, a0, d1, v1, a1 = part.d0, part.v0, part.a0, part.d1, part.v1, part.a1
    inp[0] = w * part.t1 + (1.0 - w) * part.t0
    for i in range(n):
        ai, vi, qi = a0[i], v0[i], d0[i]
        da, dv = c_a * x[i], h * ai + c_v * x[i]
        dq = h * (vi + 0.5 * h * ai) + c_d * x[i]
        a1[i], v1[i], d1[i] = ai + da, vi + dv, qi + dq
        a_m[i] = ai + (1.0 - am) * da
        inp[1 + i] = qi + w * dq
        inp[1 + n + i] = vi + w * dv


@kernel(inline=True)
def linearise(problem: Problem, work: Workspace) -> None:
    """Set F, M, K and C at the input vector, with a_m."""
    inp, out, F, a_m, n = problem.bundles.inp, problem.bundles.out, work.F, work.a_m, work.x.size
    K, K_flat, places = problem.matrices.K, problem.matrices.K_flat, problem.places
    below, above, share = problem.bands.below, problem.bands.above, problem.method.share
    moves, springs = problem.options.moves, problem.springs.committed.size
    evaluate(problem.bundles, STEP)
    for i in range(n):
        F[i] = out[i]
    if n == 1:
        K[0, 0] = 0.0
    elif moves or springs > 0:  # they add to entries that no scatter overwrites
        for i in range(n):
            for j in range(max(0, i - below), min(n, i + above + 1)):
                K[i, j] = 0.0
    scatter(K_flat, -1.0, out, n, places.K)
    scatter(problem.matrices.C_flat, -1.0, out, n + places.K.size, places.C)
    if moves:
        mass(problem)
        for i in range(n):
            inp[inp.size - n + i] = a_m[i]
        evaluate(problem.bundles, INERTIA)
        for k in range(places.inertia.size):
            K_flat[places.inertia[k]] += out[k] / share
    if springs > 0:
        bilinear(problem.bundles, problem.springs, F, K_flat, True)


@kernel(inline=True)
def correction(problem: Problem, part: Part, work: Workspace) -> int:
    """Solve A dx = -r; return SUCCESS or SINGULAR."""
    M, K, C, W = problem.matrices.M, problem.matrices.K, problem.matrices.C, work.W
    below, above, pivots = problem.bands.below, problem.bands.above, work.pivots
    r, dx, n = work.r, work.dx, work.x.size
    am, w, share = problem.method.alpha_m, problem.method.weight, problem.method.share
    c_a = part.c_a
    new_C, new_K = share * w * part.c_v, share * w * part.c_d
    if n == 1:
        pivot = (1.0 - am) * c_a * M[0, 0] + new_C * C[0, 0] + new_K * K[0, 0]
        if pivot == 0.0:
            return SINGULAR
        W[0, 0] = pivot
        dx[0] = -r[0] / pivot
        return SUCCESS
    for i in range(n):
        dx[i] = -r[i]
        for j in range(max(0, i - below), min(n, i + above + 1)):
            W[i, j] = (1.0 - am) * c_a * M[i, j] + new_C * C[i, j] + new_K * K[i, j]
        for j in range(i + above + 1, min(n, i + above + below + 1)):
            W[i, j] = 0.0  # what pivoting fills
    if lu_factor(W, n, below, above, pivots) != 0:
        return SINGULAR
    lu_solve(W, n, below, above, pivots, dx)
    return SUCCESS


@kernel(inline=True)
def move(part: Part, work: Workspace) -> tuple[float, float, float]:
    """x += dx; return how far it moves, how large it is, and |r' dx|."""
    x, dx, best, r, a1, c_a = work.x, work.dx, work.best, work.r, part.a1, part.c_a
    change, size, slope = 0.0, 0.0, 0.0
    for i in range(x.size):
        best[i] = x[i]
        x[i] += dx[i]
        change = max(change, abs(dx[i]))
        size = max(size, abs(x[i]), abs(a1[i] / c_a))
        slope += dx[i] * r[i]
    return change, size, abs(slope)


@kernel(inline=True)
def newton(problem: Problem, part: Part, work: Workspace) -> tuple[int, int, float, float]:
    """Solve r(x) = 0; return a status, the iterations, |r| in N, and r beside its terms."""
    method, options, bands = problem.method, problem.options, problem.bands
    share, old, tol, explicit = method.share, method.old, options.newton_tol, options.explicit
    M = problem.matrices.M
    F0, F, r, x, dx, best, a_m = work.F0, work.F, work.r, work.x, work.dx, work.best, work.a_m
    d1, v1, a1, n = part.d1, part.v1, part.a1, work.x.size
    norm_before, slope, ratio, size, change = np.inf, 0.0, 0.0, 0.0, np.inf
    iterations, halved, still, whole = 0, 0, 0, 1.0
    while True:
        evaluate_state(problem, part, work)
        linearise(problem, work)
        norm = unbalanced(M, F, F0, a_m, bands, share, old, r)
        if iterations == 0 and not norm < np.inf:
            return NOT_FINITE, iterations, norm, ratio
        if iterations > 0 and norm < np.inf:
            ratio = beside(problem, work)
            if ratio <= tol:
                return SUCCESS, iterations, norm, ratio
            still = still + 1 if norm > 0.5 * norm_before else 0
            if at_round_off(change, size, still):
                return SUCCESS, iterations, norm, ratio
        # line search: half the way back, until |r| or |r' dx| falls
        if not norm <= norm_before and change > 1e-10 * size:
            left = 0.0
            for i in range(n):
                left += dx[i] * r[i]
            if not abs(left) <= 0.5 * whole * slope:
                if halved == HALVINGS:
                    return NEWTON_CAP if norm < np.inf else NOT_FINITE, iterations, norm, ratio
                halved += 1
                whole *= 0.5
                change *= 0.5
                for i in range(n):
                    dx[i] *= 0.5
                    x[i] = best[i] + dx[i]
                continue
        if iterations == options.newton_max:
            return NEWTON_CAP, iterations, norm, ratio
        if correction(problem, part, work) != SUCCESS:
            return SINGULAR, iterations, norm, ratio
        # what quadratic convergence leaves: r_2 = r_1 (r_1 / r_0)^2
        falls = norm / norm_before if iterations > 0 else 1.0
        norm_before, halved, whole = norm, 0, 1.0
        change, size, slope = move(part, work)
        if not change < np.inf:
            return NOT_FINITE, iterations, norm, ratio
        iterations += 1
        if explicit or (options.analytic and falls <= QUICK and ratio * falls * falls <= tol):
            for i in range(n):
                a1[i] += part.c_a * dx[i]
                v1[i] += part.c_v * dx[i]
                d1[i] += part.c_d * dx[i]
            left = 0.0 if explicit else falls * falls
            return SUCCESS, iterations, norm * left, ratio * left
