"""Newton's method of a step: see `explorer.kernels.time_stepping.nonsmooth_alpha`."""

import numpy as np

from explorer.codes import INDEFINITE, NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.complementarity.delassus import (
    MASS,
    SMOOTH,
    Weights,
    along,
    complement,
    factor,
    push,
    respond,
)
from explorer.kernels.complementarity.delassus import Matrices as System
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_solve, positive_definite
from explorer.kernels.model.inputs import TOUCH, evaluate, fill, force, scatter
from explorer.kernels.model.structures import FORCE, GAP, INERTIA, STEP
from explorer.kernels.model.structures import MASS as MASS_ENTRIES
from explorer.kernels.time_stepping.nonsmooth_alpha_structures import (
    BOTH,
    INSIDE,
    MEAN,
    VELOCITY,
    Problem,
    Record,
    Step,
    Workspace,
)

__all__ = ["correct", "evaluate_state", "linearise", "look", "newton", "penetrates", "residual"]


@kernel(inline=True)
def evaluate_state(problem: Problem, record: Record, work: Workspace, step: Step) -> None:
    """Set the state at x and w, and (d_f, v_f, a_m)."""
    q, v, a, i, h = record.q, record.v, record.a, step.row, step.h
    x, w, d1, v1, a1 = work.x, work.w, work.d1, work.v1, work.a1
    d_f, v_f, a_m = work.d_f, work.v_f, work.a_m
    c_d, c_v, s_d, s_v = step.c_d, step.c_v, step.s_d, step.s_v
    am, new = problem.method.alpha_m, problem.method.weight
    for j in range(x.size):
        d1[j] = q[i, j] + h * (v[i, j] + 0.5 * h * a[i, j]) + c_d * x[j] + s_d * w[j]
        v1[j] = v[i, j] + h * a[i, j] + c_v * x[j] + s_v * w[j]
        a1[j] = a[i, j] + x[j]
        d_f[j] = new * d1[j] + (1.0 - new) * q[i, j]
        v_f[j] = new * v1[j] + (1.0 - new) * v[i, j]
        a_m[j] = (1.0 - am) * a1[j] + am * a[i, j]


@kernel(inline=True)
def look(
    problem: Problem, work: Workspace, step: Step, t0: float, m: int, first: bool
) -> tuple[bool, float, float]:
    """Set g, what the contacts demand of the state; return whether it is finite.

    And by how much the law is broken, and the largest term of a gap.
    """
    bundles, out, (ptr, col, val) = problem.bundles, problem.bundles.out, problem.contacts.G
    act, g, z, D = work.problem.act, work.problem.q, work.problem.z, work.problem.M
    e = problem.contacts.e
    d1, v1, before, point, n, nc = work.d1, work.v1, work.before, work.point, work.x.size, e.size
    by_gap, mean_level = problem.method.level != VELOCITY, problem.method.level == MEAN
    constant, back, miss, size = problem.options.constant, -1.0, 0.0, 1.0
    for k in range(m):
        c = act[k]
        mean = e[c] if mean_level else 0.0
        if mean != back:  # contacts with the same e look at one point
            back = mean
            for j in range(n):
                point[j] = (d1[j] + back * before[j]) / (1.0 + back)
            fill(bundles.inp, (step.t1 + back * (t0 - step.h)) / (1.0 + back), point, v1, n)
            evaluate(bundles, GAP)
        for s in range(ptr[c], ptr[c + 1]):
            if not constant:
                val[s] = out[2 * nc + s]
            size = max(size, abs(val[s] * (point[col[s]] if by_gap else v1[col[s]])))
        g[k] = (1.0 + back) * out[c]
        if not by_gap:
            g[k] = out[nc + c] + work.e_dot[c] + along(ptr, col, val, c, v1)
        if not np.isfinite(g[k]):
            return False, miss, size
        if not first:
            miss = max(miss, abs(min(g[k], D[c, c] * z[k])))
    return True, miss, size


@kernel(inline=True)
def linearise(problem: Problem, work: Workspace, step: Step, check: bool) -> int:
    """Set F, M, K and C where they are evaluated; `check`: that M is positive definite."""
    bundles, inp, out, n = problem.bundles, problem.bundles.inp, problem.bundles.out, work.x.size
    places, M, K_flat, F = problem.places, problem.matrices.M, problem.matrices.K_flat, work.F
    fill(inp, step.t_f, work.d_f, work.v_f, n)
    if problem.options.constant:
        force(bundles, FORCE, problem.linear, F)
        return SUCCESS
    force(bundles, STEP, problem.linear, F)
    moves = problem.options.moves
    if moves:  # inertia adds to entries that no scatter overwrites
        for k in range(n * n):
            K_flat[k] = 0.0
    scatter(K_flat, -1.0, out, n, places.K)
    scatter(problem.matrices.C_flat, -1.0, out, n + places.K.size, places.C)
    if moves:
        evaluate(bundles, MASS_ENTRIES)
        scatter(problem.matrices.M_flat, 1.0, out, 0, places.M)
        for j in range(n):
            inp[inp.size - n + j] = work.a_m[j]
        evaluate(bundles, INERTIA)
        for k in range(places.inertia.size):
            K_flat[places.inertia[k]] += out[k] / problem.method.share
        if check and not positive_definite(M, n, work.responses.LU[MASS]):
            return INDEFINITE if np.isfinite(M.sum()) else NOT_FINITE
    return SUCCESS


@kernel(inline=True)
def residual(problem: Problem, work: Workspace, m: int) -> tuple[float, float]:
    """Set r; return its norm and the largest sum of terms that cancel in a row of it, in N."""
    (ptr, col, val), act, z = problem.contacts.G, work.problem.act, work.problem.z
    M, K, C = problem.matrices.M, problem.matrices.K, problem.matrices.C
    F, F0, r, a_m, d_f, v_f, n = work.F, work.F0, work.r, work.a_m, work.d_f, work.v_f, work.x.size
    below, above, constant = work.state[0].below, work.state[0].above, problem.options.constant
    method = problem.method
    share, af, interpolated = method.share, method.alpha_f, method.interpolated
    for j in range(n):
        r[j] = 0.0
    if problem.method.level == INSIDE:
        for k in range(m):
            push(ptr, col, val, act[k], -z[k], r)
    norm, scale = 0.0, 0.0
    for j in range(n):
        total, part = r[j], abs(r[j]) + abs(F[j])
        for k in range(max(0, j - below), min(n, j + above + 1)):
            term = M[j, k] * a_m[k]
            total += term
            part += abs(term)
        total -= share * F[j]
        if interpolated:
            total -= af * F0[j]
        if not constant:  # what cancels inside F sets how well it can be known
            for k in range(n):
                part += abs(K[j, k] * d_f[k]) + abs(C[j, k] * v_f[k])
        r[j] = total
        scale = max(scale, part)
        norm += total * total
    return np.sqrt(norm), scale


@kernel(inline=True)
def correct(
    problem: Problem, record: Record, work: Workspace, step: Step, weights: Weights, m: int
) -> tuple[int, float, float]:
    """Solve for x and z, linearised; return a status, how far x moves, and how large it is."""
    (ptr, col, val), Y, D = problem.contacts.G, work.responses.Y, work.problem.M
    act, g, z, old = work.problem.act, work.problem.q, work.problem.z, work.old
    x, w, dx, best, a1, n = work.x, work.w, work.dx, work.best, work.a1, work.x.size
    LU, band, pivots = work.responses.LU, work.responses.band, work.responses.pivots
    M, K, C = problem.matrices.M, problem.matrices.K, problem.matrices.C
    if not problem.options.constant:
        system, am = System(M, C, K), problem.method.alpha_m
        status = factor(system, 1.0 - am, weights.A_C, weights.A_K, work.responses, SMOOTH)
        if status == SUCCESS and m > 0:
            work.lcp.kept[0].count = -1
            status = respond(m, act, problem.contacts.G, system, weights, work.responses, D)
        if status != SUCCESS:
            return status, 0.0, 0.0
    for j in range(n):
        dx[j] = -work.r[j]
    below, above = band[SMOOTH].below, band[SMOOTH].above
    lu_solve(LU[SMOOTH], n, below, above, pivots[SMOOTH], dx)
    for k in range(m):
        g[k] += weights.D_x * along(ptr, col, val, act[k], dx)
        old[k] = z[k]
        for s in range(m):
            g[k] -= D[act[k], act[s]] * z[s]
    if m > 0:
        span = work.state[0].span
        status, off = complement(work.problem, m, span, problem.options.lcp, work.lcp)
        by_gap = problem.method.level != VELOCITY
        record.residuals[step.row + 1, 0] = off / step.h if by_gap else off
        if status != SUCCESS:
            return status, 0.0, 0.0
    change, size, c_w = 0.0, 0.0, step.c_w
    for j in range(n):
        total = 0.0
        for k in range(m):
            dx[j] += Y[SMOOTH, act[k], j] * (z[k] - old[k])
            total += Y[MASS, act[k], j] * z[k]
        best[j] = x[j]
        x[j] += dx[j]
        change = max(change, abs(dx[j]), abs(total - w[j]) * c_w)
        size = max(size, abs(x[j]), abs(a1[j]), abs(total) * c_w)
        w[j] = total
    return SUCCESS, change, size


@kernel(inline=True)
def penetrates(problem: Problem, work: Workspace, step: Step) -> bool:
    """List all contacts; return whether any is closed at the end of the step."""
    nc, out, closed = work.every.size, problem.bundles.out, False
    fill(problem.bundles.inp, step.t1, work.d1, work.v1, work.x.size)
    evaluate(problem.bundles, GAP)
    for c in range(nc):
        work.problem.act[c] = c
        if not out[c] > TOUCH:
            closed = True
    return closed


@kernel(inline=True)
def newton(
    problem: Problem, record: Record, work: Workspace, step: Step, weights: Weights, m: int
) -> tuple[int, int, bool, float]:
    """Solve for x and z; return a status, the contacts that take part, and |r| in N.

    And whether the position problem of BOTH was solved.
    """
    options, both, t0 = problem.options, problem.method.level == BOTH, record.t[step.row]
    constant, x, dx, best = options.constant, work.x, work.dx, work.best
    corrected, iterations, spent, halved = False, 0, 0, 0
    norm, scale, norm_before, change, size = 0.0, 0.0, np.inf, np.inf, 1.0
    while True:
        evaluate_state(problem, record, work, step)
        converged, finite, miss, near_size = constant and iterations > 0, True, 0.0, 1.0
        if not converged:
            if m > 0:
                finite, miss, near_size = look(problem, work, step, t0, m, iterations == 0)
                if not finite:
                    return NOT_FINITE, m, corrected, norm
            status = linearise(problem, work, step, spent == 0)
            if status != SUCCESS:
                return status, m, corrected, norm
            norm, scale = residual(problem, work, m)
            if not np.isfinite(norm):
                return NOT_FINITE, m, corrected, norm
            # Newton is quadratic: a correction this small leaves nothing but rounding
            small = norm <= options.newton_tol * scale or change <= 1e-11 * size
            if iterations > 0 and small:
                converged = miss <= TOUCH * near_size or change <= 1e-15 * size
        if converged:
            record.iterations[step.row + 1] = spent
            if not both or corrected:
                return SUCCESS, m, corrected, norm
            if penetrates(problem, work, step):
                m = work.every.size
            if m == 0:
                return SUCCESS, m, corrected, norm
            corrected, iterations, change = True, 0, np.inf
            continue
        if iterations >= options.newton_max:
            record.residuals[step.row + 1, 1] = norm
            return NEWTON_CAP, m, corrected, norm
        if m == 0 and iterations > 0 and norm > norm_before and halved < 8:  # half the way back
            halved += 1
            for j in range(x.size):
                dx[j] *= 0.5
                x[j] = best[j] + dx[j]
            continue
        status, change, size = correct(problem, record, work, step, weights, m)
        if status != SUCCESS:
            return status, m, corrected, norm
        norm_before, halved = norm, 0
        iterations += 1
        spent += 1
