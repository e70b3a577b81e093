"""A Moreau-Jean step whose constraints hold at both levels, phi(t, q) = 0 and G v + phi_t = 0.

With W as in `moreau_jean`, forces along the mean of the gradients at both ends, and two multipliers
of each constraint, P of velocities and gamma of positions::

    M (v1 - v0) = h [theta F1 + (1 - theta) F0] + G_m' P - X,   G_m = (1 - c) G0 + c G1
    q1 = q0 + h [theta v1 + (1 - theta) v0] + d,                 M d = G_m' gamma
    phi(t1, q1) = 0,   G1 v1 + phi_t = 0,                        X = (G1 - G0)' gamma / h

M is taken at (1 - c) q0 + c q1, c = gamma of the scheme, or 1 for the mass matrix at the iterate.
Contacts keep Moreau's law of velocities, 0 <= G1 v1 + gap_t + e gap'_0 perp p >= 0, and push along
G_m too. d and gamma are of order h^3. For theta = c = 1/2 the step is its own adjoint, so it is of
order 2. Of quadratic constraints G_m (q1 - q0) = phi(q1) - phi(q0) = 0: they do no work. X takes
back what d does, up to gamma^2, if M is constant and F linear: then energy is kept to O(h^4).

Two multipliers: Gear, Leimkuhler, Gupta, J. Comput. Appl. Math. 12 (1985) 77. X: Kinon, Betsch,
Schneider, Multibody Syst. Dyn. 57 (2023) 211.

Newton's method is simplified: one factorisation serves a step as long as changes fall quickly.
"""

import numpy as np

from explorer.codes import INDEFINITE, NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.complementarity.delassus import push
from explorer.kernels.linear_algebra.saddle_point import (
    factor_step,
    has_mass,
    inertia,
    solve_step,
    solve_two,
)
from explorer.kernels.model.inputs import ROUND, evaluate, fill, force
from explorer.kernels.model.structures import GAP, MASS, STEP
from explorer.kernels.references import kernel
from explorer.kernels.time_stepping.compliant_contact import broken
from explorer.kernels.time_stepping.moreau_jean_iteration import (
    OBEYED,
    contact_step,
    take_tangents,
)
from explorer.kernels.time_stepping.moreau_jean_structures import (
    Problem,
    Record,
    Step,
    Task,
    Workspace,
)
from explorer.kernels.time_stepping.newton_convergence import BESIDE, CLOSE, QUICK, at_round_off

__all__ = ["constrained_step"]

FALLS = 0.1  # of a residual, at most, left by the next one: then it falls


@kernel(inline=True)
def smooth_steps(problem: Problem, record: Record, row: int, h: float) -> int:
    """Return how many of the last three steps were as long as this one and without impulse."""
    for back in range(3):
        i = row - back
        if i < 1 or abs(record.t[i] - record.t[i - 1] - h) > 1e-6 * h:
            return back
        for a in range(problem.sizes.contacts):
            if record.active[i, a] == 2:
                return back
    return 3


@kernel(inner=True)
def predict(problem: Problem, record: Record, work: Workspace, step: Step) -> None:
    """Set the iterate by extrapolation from the steps before, as far as they were smooth."""
    n, i, levels = problem.sizes.n, step.row, work.levels
    q, v, v1, q1, G0 = record.q, record.v, work.iterate.v, work.iterate.q, levels.G0
    out, at_G, p, gamma = problem.bundles.out, problem.outputs.G, record.p_phi, record.gamma
    back = smooth_steps(problem, record, i, step.h)
    for j in range(n):
        v1[j] = v[i, j]
        if back == 1:
            v1[j] += v[i, j] - v[i - 1, j]
        elif back == 2:
            v1[j] += 2.0 * v[i, j] - 3.0 * v[i - 1, j] + v[i - 2, j]
        elif back == 3:
            v1[j] += 3.0 * v[i, j] - 6.0 * v[i - 1, j] + 4.0 * v[i - 2, j] - v[i - 3, j]
        q1[j] = q[i, j] + step.ht * v1[j] + (step.h - step.ht) * v[i, j]
        levels.shift[j] = 0.0
    for c in range(levels.P.size):
        levels.P[c] = levels.gamma[c] = 0.0
        if back > 0:
            levels.P[c], levels.gamma[c] = p[i, c], gamma[i, c]
        if back == 2:
            levels.P[c] += p[i, c] - p[i - 1, c]
        elif back == 3:
            levels.P[c] += 2.0 * p[i, c] - 3.0 * p[i - 1, c] + p[i - 2, c]
            levels.gamma[c] += gamma[i, c] - gamma[i - 1, c]
    for k in range(G0.size):
        G0[k] = out[at_G + k]  # looked at last: the end of the step before
    fill(problem.bundles.inp, step.t1, q1, v1, n)


@kernel(inner=True)
def renew(problem: Problem, record: Record, work: Workspace, step: Step) -> bool:
    """Take F, K, C to the iterate, M to its place in the step; return whether M has changed.

    The input vector stays at the iterate.
    """
    inp, n, q0, q1 = problem.bundles.inp, problem.sizes.n, record.q, work.iterate.q
    flat, out, places = problem.matrices.M_flat, problem.bundles.out, problem.matrices.places.M
    changed = False
    force(problem.bundles, STEP, problem.linear, work.iterate.F1)
    take_tangents(problem)
    c = problem.method.gamma if problem.method.q_star else 1.0
    for j in range(n):
        inp[1 + j] = q0[step.row, j] + c * (q1[j] - q0[step.row, j])
    evaluate(problem.bundles, MASS)
    for k in range(places.size):
        changed = changed or flat[places[k]] != out[k]
        flat[places[k]] = out[k]
    for j in range(n):
        inp[1 + j] = q1[j]
    return changed


@kernel(inner=True)
def renew_rows(problem: Problem, record: Record, work: Workspace, step: Step) -> tuple[float, bool]:
    """Take G, rates and phi to the iterate.

    Return by how much that breaks the laws of the contacts, and the constraints, relative to the
    speeds in them, and whether phi is round-off.
    """
    sizes, outputs, levels, v1 = problem.sizes, problem.outputs, work.levels, work.iterate.v
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    inp, out, act = problem.bundles.inp, problem.bundles.out, work.active.act
    n, rows, rate, closed = sizes.n, sizes.rows, work.active.rate, True
    off, size, broken_by, speeds = 0.0, 0.0, 0.0, 0.0
    c = problem.method.gamma if problem.method.q_star else 1.0
    least = 0.0
    for j in range(n):
        least = max(least, BESIDE * abs(inp[1 + j]))
    evaluate(problem.bundles, GAP)
    for j in range(step.held):
        a = act[j]
        left, speed = -rate[j], out[outputs.rates + a]
        size, rate[j] = max(size, abs(speed)), speed
        for k in range(ptr[a], ptr[a + 1]):
            G1, u = out[outputs.G + k], v1[col[k]]
            left -= val[k] * u
            levels.G1[k] = G1
            val[k] = (1.0 - c) * levels.G0[k] + c * G1
            speed += G1 * u
            rate[j] += (G1 - val[k]) * u
            size = max(size, abs(G1 * u))
        off = max(off, abs(left + speed))
    for i in range(sizes.constraints):
        a = rows + i
        speed, terms = out[outputs.rates + a], 0.0
        speeds = max(speeds, abs(speed))
        for k in range(ptr[a], ptr[a + 1]):
            G1, u = out[outputs.G + k], v1[col[k]]
            levels.G1[k] = G1
            val[k] = (1.0 - c) * levels.G0[k] + c * G1
            speed += G1 * u
            speeds = max(speeds, abs(G1 * u))
            way = abs(inp[1 + col[k]]) + step.h * abs(inp[1 + n + col[k]])
            terms += abs(G1) * max(way, least)
        levels.speed[i] = speed
        broken_by = max(broken_by, abs(speed))
        closed = closed and abs(out[outputs.phi + i]) <= CLOSE * terms
    turned = off / size if size > 0.0 else 0.0
    return max(turned, broken_by / speeds if speeds > 0.0 else 0.0), closed


@kernel(inner=True)
def unbalanced(
    problem: Problem, record: Record, work: Workspace, step: Step
) -> tuple[float, float]:
    """Set R = -M (v1 - v0) + h theta F1 + h (1 - theta) F0 + G_c' P - X.

    Return the norm of R + G' p with the impulses of the contacts, and the largest term, in N s.
    """
    iterate, levels, sizes = work.iterate, work.levels, problem.sizes
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    F0, F1, R, rhs, size = iterate.F0, iterate.F1, iterate.R, iterate.rhs, iterate.size
    act, P, n, h, ht = work.active.act, work.active.P, sizes.n, step.h, step.ht
    inertia(problem.saddle, problem.matrices.M, iterate.v, record.v[step.row], R, size)
    for j in range(n):
        rhs[j] = 0.0
    for i in range(sizes.constraints):
        a = sizes.rows + i
        push(ptr, col, val, a, levels.P[i], rhs)
        turn = levels.gamma[i] / h
        for k in range(ptr[a], ptr[a + 1]):
            rhs[col[k]] -= (levels.G1[k] - levels.G0[k]) * turn
    scale, norm = 0.0, 0.0
    for j in range(n):
        scale = max(scale, size[j] + h * abs(F1[j]), abs(rhs[j]))
        R[j] = -R[j] + ht * F1[j] + (h - ht) * F0[j] + rhs[j]
        rhs[j] = 0.0
    for i in range(step.held):
        push(ptr, col, val, act[i], P[i], rhs)
    for j in range(n):
        norm += (R[j] + rhs[j]) ** 2
        scale = max(scale, abs(rhs[j]))
    return np.sqrt(norm), scale


@kernel(inner=True)
def factor(problem: Problem, work: Workspace, step: Step) -> bool:
    """Factor the matrix of the step at the iterate; return whether it is regular.

    Velocities are held along G1; but G_m makes D symmetric where contacts act.
    """
    matrices, G, rows, G1 = problem.matrices, problem.contacts.G, work.levels.rows, work.levels.G1
    M, C, K, val, first = matrices.M, matrices.C, matrices.K, G.val, problem.sizes.rows
    for k in range(rows.size):
        rows[k] = val[k] if step.m > 0 else G1[k]
    apart = problem.options.state_force
    if apart and factor_step(problem.inertia, M, C, K, 0.0, G, first, rows) != 0:
        return False
    return factor_step(problem.saddle, M, C, K, step.ht, G, first, rows) == 0


@kernel(inner=True)
def respond(problem: Problem, work: Workspace, step: Step) -> None:
    """Solve for velocities without impulses of contacts, and for the shift to phi = 0.

    The shift allows for the way that the new velocities make along the constraints.
    """
    iterate, levels, sizes, dq = work.iterate, work.levels, problem.sizes, work.projection.dq
    ptr, col, at_phi = problem.contacts.G.ptr, problem.contacts.G.col, problem.outputs.phi
    v_free, v1, rows, out, n = iterate.v_free, iterate.v, levels.rows, problem.bundles.out, sizes.n
    for j in range(n):
        v_free[j], dq[j] = iterate.R[j], 0.0
    for c in range(sizes.constraints):
        total, a = step.ht * levels.speed[c] - out[at_phi + c], sizes.rows + c
        for k in range(ptr[a], ptr[a + 1]):
            total += rows[k] * levels.shift[col[k]]
        v_free[n + c], dq[n + c] = -levels.speed[c], total
    if problem.options.state_force:
        solve_step(problem.saddle, v_free)
        solve_step(problem.inertia, dq)
    else:  # W is M
        solve_two(problem.saddle, v_free, dq, levels.pair)
    for j in range(n):
        v_free[j] += v1[j]
    for c in range(sizes.constraints):
        v_free[n + c] += levels.P[c]


@kernel(inner=True)
def move(problem: Problem, record: Record, work: Workspace, step: Step) -> tuple[float, float]:
    """Take the iterate to what was found.

    Return the largest change of a velocity, and the size of velocities.
    """
    iterate, levels, n, dq = work.iterate, work.levels, problem.sizes.n, work.projection.dq
    q1, v1, shift, v_free = iterate.q, iterate.v, levels.shift, iterate.v_free
    q, v, i, h, ht = record.q, record.v, step.row, step.h, step.ht
    change, size = 0.0, 0.0
    for j in range(n):
        change = max(change, abs(v_free[j] - v1[j]), abs(dq[j] - shift[j]) / h)
        v1[j], shift[j] = v_free[j], dq[j]
        q1[j] = q[i, j] + ht * v1[j] + (h - ht) * v[i, j] + shift[j]
        size += abs(v1[j]) + abs(q1[j]) / h
    for c in range(levels.P.size):
        levels.P[c], levels.gamma[c] = v_free[n + c], dq[n + c]
    fill(problem.bundles.inp, step.t1, q1, v1, n)
    return change, size


@kernel(inner=True)
def constrained_step(task: Task, step: Step) -> int:
    """Solve for the state at the end of a step; return a status."""
    problem, record, work = task.problem, task.record, task.work
    options, residuals, new = problem.options, record.residuals, step.row + 1
    levels, moved = work.levels, step.row == 0
    change, before, size, off, lost, still, last = np.inf, 0.0, 1.0, 0.0, 0.0, 0, np.inf
    residuals[new, 0] = 0.0
    predict(problem, record, work, step)
    for j in range(step.held):
        work.active.rate[j] = 0.0
    for iteration in range(options.newton_max + 1):
        moved = renew(problem, record, work, step) or moved
        turned, closed = renew_rows(problem, record, work, step)
        if options.gives:
            off = broken(
                problem.bundles,
                problem.contacts.compliance,
                ROUND * work.state[0].far,
                work.active.act,
                step.m,
                step.h,
                step.ht,
                work.active.P,
                work.active.D,
            )
        norm, scale = unbalanced(problem, record, work, step)
        residuals[new, 1] = norm
        if not np.isfinite(norm + turned):
            return NOT_FINITE
        if iteration > 0:
            solved = norm <= options.newton_tol * scale and turned <= options.newton_tol
            if solved and closed and off <= options.newton_tol:
                break
            # velocities may be exact to round-off where their impulses are not yet
            stuck = norm > FALLS * last or iteration == options.newton_max
            if stuck and at_round_off(change, size, still) and off <= OBEYED:
                break
        last = norm
        if iteration == options.newton_max:
            return NEWTON_CAP
        record.iterations[new] = iteration + 1
        if iteration == 0 and moved and not has_mass(problem.saddle, problem.matrices.M):
            return INDEFINITE
        if not change <= QUICK * before and not factor(problem, work, step):
            return SINGULAR
        respond(problem, work, step)
        if step.m > 0:
            status, lost = contact_step(problem, record, work, step, task, lost)
            if status != SUCCESS:
                return status
        before = change
        change, size = move(problem, record, work, step)
        still = still + 1 if change > 0.5 * before else 0
    for c in range(problem.sizes.constraints):
        record.p_phi[new, c], record.gamma[new, c] = levels.P[c], levels.gamma[c]
    return SUCCESS
