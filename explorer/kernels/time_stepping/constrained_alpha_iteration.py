"""The smooth problem of a step with constraints: see `constrained_alpha`.

Newton's method is simplified: one factorisation serves a step as long as changes fall quickly, and
derivatives of M a and of the forces of constraints by q are left out.
"""

import numpy as np

from explorer.codes import INDEFINITE, NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.complementarity.delassus import push
from explorer.kernels.linear_algebra.saddle_point import (
    factor_step,
    has_mass,
    inertia,
    solve_step,
)
from explorer.kernels.model.inputs import evaluate, fill, force, scatter
from explorer.kernels.model.structures import GAP, MASS, STEP
from explorer.kernels.references import kernel
from explorer.kernels.structures import Matrix, Vector
from explorer.kernels.time_stepping.constrained_alpha_structures import (
    Problem,
    Record,
    Step,
    Workspace,
)
from explorer.kernels.time_stepping.newton_convergence import BESIDE, CLOSE, QUICK, at_round_off

__all__ = ["close", "factor", "smooth"]


@kernel(inner=True)
def evaluate_between(problem: Problem, record: Record, work: Workspace, step: Step) -> None:
    """Take F, M, C, K, and G of the forces, where forces are evaluated; K scaled."""
    inp, out, n, i = problem.bundles.inp, problem.bundles.out, problem.sizes.n, step.row
    matrices, am, method = problem.matrices, problem.method.alpha_m, problem.method
    af = 0.0 if method.interpolated else method.alpha_f
    at_K, at_C, G, q, v = matrices.places.K, matrices.places.C, problem.G, record.q, record.v
    inp[0] = step.t_f
    for j in range(n):
        inp[1 + j] = (1.0 - af) * work.d[j] + af * q[i, j]
        inp[1 + n + j] = (1.0 - af) * work.v[j] + af * v[i, j]
        work.a_m[j] = (1.0 - am) * work.a[j] + am * record.a[i, j]
    force(problem.bundles, STEP, problem.linear, work.F)
    weight = method.beta * (1.0 - am) / ((1.0 - method.alpha_f) * method.gamma**2)
    scatter(matrices.K_flat, -weight, out, n, at_K)
    scatter(matrices.C_flat, -1.0, out, n + at_K.size, at_C)
    evaluate(problem.bundles, MASS)
    scatter(matrices.M_flat, 1.0, out, 0, matrices.places.M)
    evaluate(problem.bundles, GAP)
    for k in range(G.val.size):
        G.val[k] = out[problem.outputs.G + k]
    for c in range(problem.sizes.contacts):
        if work.pull[c] > 0.0:
            push(G.ptr, G.col, G.val, c, work.pull[c], work.F)


@kernel(inner=True)
def close(problem: Problem, work: Workspace, step: Step, q: Vector) -> bool:
    """Take G and phi to the end of the step, at q; return whether phi is round-off."""
    outputs, out, n, G = problem.outputs, problem.bundles.out, problem.sizes.n, problem.G
    closed, least = True, 0.0
    for j in range(n):
        least = max(least, BESIDE * abs(q[j]))
    fill(problem.bundles.inp, step.t1, q, work.v, n)
    evaluate(problem.bundles, GAP)
    for k in range(work.rows.size):
        work.rows[k] = out[outputs.G + k]
    for c in range(problem.sizes.constraints):
        size = 0.0
        for k in range(G.ptr[problem.sizes.rows + c], G.ptr[problem.sizes.rows + c + 1]):
            j = G.col[k]
            size += abs(work.rows[k]) * max(abs(q[j]) + step.h * abs(work.v[j]), least)
        closed = closed and abs(out[outputs.phi + c]) <= CLOSE * size
    return closed


@kernel(inner=True)
def unbalanced(problem: Problem, work: Workspace) -> tuple[float, float]:
    """Set dx to the forces less M a_m; return its norm and the largest term in N."""
    G, dx, n, first = problem.G, work.dx, problem.sizes.n, problem.sizes.rows
    af = problem.method.alpha_f if problem.method.interpolated else 0.0
    inertia(problem.saddle, problem.matrices.M, work.a_m, work.zero, work.R, work.size)
    for j in range(dx.size):
        dx[j] = 0.0
    for c in range(problem.sizes.constraints):
        push(G.ptr, G.col, G.val, first + c, work.lam[c], dx)
    norm, scale = 0.0, 0.0
    for j in range(n):
        scale = max(scale, abs(work.R[j]), abs(work.F[j]), abs(dx[j]))
        dx[j] = (1.0 - af) * (dx[j] + work.F[j]) - work.R[j]
        if af != 0.0:
            dx[j] += af * work.F0[j]
        norm += dx[j] ** 2
    return np.sqrt(norm), scale


@kernel(inner=True)
def factor(problem: Problem, work: Workspace, ht: float, K: Matrix) -> bool:
    """Factor M + ht C + ht^2 K with the constraints; return whether it is regular."""
    matrices, first = problem.matrices, problem.sizes.rows
    status = factor_step(problem.saddle, matrices.M, matrices.C, K, ht, problem.G, first, work.rows)
    return status == 0


@kernel(inner=True)
def move(problem: Problem, record: Record, work: Workspace, step: Step) -> tuple[float, float]:
    """Take the iterate to a_1 + dx; return the largest change, and how large accelerations are."""
    method, h, dx, n = problem.method, step.h, work.dx, problem.sizes.n
    change, size = 0.0, 0.0
    for j in range(n):
        change = max(change, abs(dx[j]))
        work.a[j] += dx[j]
        size = max(size, abs(work.a[j]), abs(record.v[step.row, j]) / h)
        work.d[j] += method.beta * h * h * dx[j]
        work.v[j] += method.gamma * h * dx[j]
    share = 1.0 - method.alpha_f if method.interpolated else 1.0
    for c in range(work.lam.size):
        work.lam[c] += (1.0 - method.alpha_m) / share * dx[n + c]
    return change, size


@kernel(inner=True)
def smooth(problem: Problem, record: Record, work: Workspace, step: Step) -> int:
    """Solve for a_1 and lam without contacts; return a status."""
    method, new, n, i, h = problem.method, step.row + 1, problem.sizes.n, step.row, step.h
    change, before, size, still = np.inf, 0.0, 1.0, 0
    for j in range(n):
        work.a[j] = record.a[i, j]
        work.d[j] = record.q[i, j] + h * (record.v[i, j] + 0.5 * h * record.a[i, j])
        work.v[j] = record.v[i, j] + h * record.a[i, j]
    for c in range(work.lam.size):
        work.lam[c] = record.lam[i, c]
    for iteration in range(problem.newton_max + 1):
        evaluate_between(problem, record, work, step)
        closed = close(problem, work, step, work.d)
        norm, scale = unbalanced(problem, work)
        record.residuals[new, 1] = norm
        if not np.isfinite(norm):
            return NOT_FINITE
        if iteration > 0:
            if norm <= problem.newton_tol * scale and closed:
                return SUCCESS
            if at_round_off(change, size, still):
                return SUCCESS
        if iteration == problem.newton_max:
            return NEWTON_CAP
        record.iterations[new] = iteration + 1
        if iteration == 0 and not has_mass(problem.saddle, problem.matrices.M):
            return INDEFINITE
        stale = not change <= QUICK * before
        if stale and not factor(problem, work, step.ht, problem.matrices.K):
            return SINGULAR
        for j in range(n):
            work.dx[j] /= 1.0 - method.alpha_m
        for c in range(work.lam.size):
            work.dx[n + c] = -problem.bundles.out[problem.outputs.phi + c] / (method.beta * h * h)
        solve_step(problem.saddle, work.dx)
        before = change
        change, size = move(problem, record, work, step)
        still = still + 1 if change > 0.5 * before else 0
    return NEWTON_CAP
