"""Newton's method of one Moreau-Jean step, for velocities and impulses together::

    W = M + h theta C + (h theta)^2 K,   C = -F_v,  K = -F_q
    v_free = v - W^-1 [M (v - v_i) - h theta F_{i+1} - h (1 - theta) F_i]
    v = v_free + W^-1 G' p,   0 <= G v + gap_t + e gap'_i  perp  p >= 0
    q = q_i + h (theta v + (1 - theta) v_i)

If M, C, K and G are constant, one iteration is exact.
"""

import numpy as np

from explorer.codes import INDEFINITE, LCP_RAY, NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.complementarity.delassus import along, push
from explorer.kernels.linear_algebra.factored_solve import solve_factored
from explorer.kernels.linear_algebra.saddle_point import (
    factor_step,
    has_mass,
    inertia,
    solve_step,
)
from explorer.kernels.model.inputs import ROUND, evaluate, fill, force, scatter
from explorer.kernels.model.structures import FORCE, GAP, MASS, STEP
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector
from explorer.kernels.time_stepping.compliant_contact import broken, predicted
from explorer.kernels.time_stepping.moreau_jean_contact import form_all, impulses
from explorer.kernels.time_stepping.moreau_jean_rows import retake, without_rebound
from explorer.kernels.time_stepping.moreau_jean_structures import (
    Problem,
    Record,
    Step,
    Task,
    Workspace,
)
from explorer.kernels.time_stepping.newton_convergence import at_round_off

__all__ = ["contact_step", "iterate", "predict", "respond", "take_tangents"]

OBEYED = 1e-9  # part of its terms by which the law of a compliant contact may be off at round-off


@kernel(inline=True)
def respond(problem: Problem, b: Vector) -> None:
    """Overwrite `b` by W^-1 b."""
    if problem.options.constant:
        solve_factored(problem.factors, b.size, b)
    else:
        solve_step(problem.saddle, b)


@kernel(inline=True)
def take_tangents(problem: Problem) -> None:
    """Take K = -F_q and C = -F_v from the outputs of the bundle STEP."""
    matrices, out, n = problem.matrices, problem.bundles.out, problem.sizes.n
    at_K, at_C = matrices.places.K, matrices.places.C
    scatter(matrices.K_flat, -1.0, out, n, at_K)
    scatter(matrices.C_flat, -1.0, out, n + at_K.size, at_C)


@kernel(inline=True)
def take_mass(problem: Problem) -> None:
    """Take M from where the input vector stands."""
    matrices = problem.matrices
    evaluate(problem.bundles, MASS)
    scatter(matrices.M_flat, 1.0, problem.bundles.out, 0, matrices.places.M)


@kernel(inline=True)
def predict(problem: Problem, record: Record, work: Workspace, step: Step, task: Task) -> int:
    """Set the iterate to (q_i + h v_i, v_i); take F and the matrices there, M at q_star."""
    bundles, method, options, i = problem.bundles, problem.method, problem.options, step.row
    inp, n, q, v, h = bundles.inp, problem.sizes.n, record.q, record.v, step.h
    q1, v1, compliance = work.iterate.q, work.iterate.v, problem.contacts.compliance
    for j in range(n):
        v1[j] = v[i, j]
        q1[j] = q[i, j] + h * v[i, j]
    fill(inp, step.t1, q1, v1, n)
    if options.gives:
        evaluate(bundles, GAP)
        for j in range(step.m):
            compliance.gap[j] = bundles.out[work.active.act[j]]
    force(bundles, FORCE if options.constant else STEP, problem.linear, work.iterate.F1)
    for j in range(n if options.turns and method.q_star else 0):
        inp[1 + j] = q[i, j] + h * method.gamma * v[i, j]
    if not options.constant:
        take_tangents(problem)
        take_mass(problem)
        if not has_mass(task.problem.saddle, problem.matrices.M):
            return INDEFINITE if np.isfinite(problem.matrices.M.sum()) else NOT_FINITE
    return SUCCESS


@kernel(inline=True)
def free_velocity(
    problem: Problem, record: Record, work: Workspace, step: Step, task: Task
) -> float:
    """Set v_free, behind it the impulses of the constraints; return the largest of its terms."""
    iterate, rows, n = work.iterate, problem.sizes.rows, problem.sizes.n
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    F0, F1, R, v, v_free = iterate.F0, iterate.F1, iterate.R, iterate.v, iterate.v_free
    bias, sizes, constant = iterate.bias, iterate.size, problem.options.constant
    h, ht, scale = step.h, step.ht, 0.0
    if not constant:
        inertia(task.problem.saddle, problem.matrices.M, v, record.v[step.row], R, sizes)
    for j in range(n):
        total = 0.0
        if not constant:
            total = R[j]
            scale = max(scale, sizes[j] + h * abs(F1[j]))
        R[j] = -total + ht * F1[j] + (h - ht) * F0[j]
        v_free[j] = R[j]
    for c in range(bias.size):
        v_free[n + c] = -bias[c] - along(ptr, col, val, rows + c, v)
    respond(problem, v_free)
    for j in range(n):
        v_free[j] += v[j]
    return scale


@kernel(inline=True)
def contact_step(
    problem: Problem, record: Record, work: Workspace, step: Step, task: Task, lost_before: float
) -> tuple[int, float]:
    """Solve the contact problem and add W^-1 G' p to v_free.

    Return a status and the largest approach, in m/s, of which nothing is given back: where contacts
    wedge, the problem has a solution with e = 0.
    """
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    act, P, rhs, v_free = work.active.act, work.active.P, work.iterate.rhs, work.iterate.v_free
    compliance, m, held, residuals = (
        problem.contacts.compliance,
        step.m,
        step.held,
        record.residuals,
    )
    status, off, lost = SUCCESS, 0.0, lost_before
    if problem.options.gives:
        predicted(
            compliance,
            act,
            m,
            step.ht,
            task.problem.contacts.G,
            work.iterate.v,
            work.active.rate,
            work.active.law,
        )
    for _ in range(2):
        status, off = impulses(problem, work, step, task)
        if status != LCP_RAY or held == m:
            break
        lost = max(lost, without_rebound(task.problem, task.work, held))
        if lost == 0.0:
            break
    work.state[0].formed = step.h
    residuals[step.row + 1, 0] = max(off, lost) if status == SUCCESS else off
    if status != SUCCESS:
        return status, lost
    for j in range(rhs.size):
        rhs[j] = 0.0
    for i1 in range(held):
        if P[i1] != 0.0:
            push(ptr, col, val, act[i1], P[i1], rhs)
    respond(problem, rhs)
    for j in range(rhs.size):
        v_free[j] += rhs[j]
    return SUCCESS, lost


@kernel(inline=True)
def correct(problem: Problem, record: Record, work: Workspace, step: Step) -> tuple[float, float]:
    """Take the iterate to the new velocities; return their largest change, and their size."""
    i, h, ht, n = step.row, step.h, step.ht, problem.sizes.n
    q, v, q1, v1 = record.q, record.v, work.iterate.q, work.iterate.v
    v_free, change, size = work.iterate.v_free, 0.0, 0.0
    for j in range(n):
        change = max(change, abs(v_free[j] - v1[j]))
        v1[j] = v_free[j]
        q1[j] = q[i, j] + ht * v1[j] + (h - ht) * v[i, j]
        size += abs(v1[j]) + abs(q1[j]) / h  # what forces of q1 round to, so do v1
    fill(problem.bundles.inp, step.t1, q1, v1, n)
    return change, size


@kernel(inline=True)
def renew(problem: Problem, work: Workspace, step: Step, task: Task) -> tuple[float, float]:
    """Take forces, matrices and, unless at q_star, M and G to the iterate.

    Return by how much the laws of all contacts, and of compliant ones, are broken there, relative.
    """
    options, q_star, off, turned = problem.options, problem.method.q_star, 0.0, 0.0
    force(problem.bundles, STEP, problem.linear, work.iterate.F1)
    take_tangents(problem)
    if not q_star:
        take_mass(problem)
        if step.m > 0 or problem.sizes.constraints > 0:
            evaluate(problem.bundles, GAP)
            turned = retake(task.problem, task.work, step.held)
    if options.gives:
        off = broken(
            task.problem.bundles,
            task.problem.contacts.compliance,
            ROUND * work.state[0].far,
            work.active.act,
            step.m,
            step.h,
            step.ht,
            work.active.P,
            work.active.D,
        )
        turned = off if q_star else max(turned, off)
    return turned, off


@kernel(inline=True)
def residual(
    problem: Problem, record: Record, work: Workspace, step: Step, task: Task, largest: float
) -> tuple[float, float]:
    """Return |M (v - v_i) - h theta F - h (1 - theta) F_i - G' p| in N s, and its largest term."""
    iterate, saddle, M, n = work.iterate, problem.saddle, problem.matrices.M, problem.sizes.n
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    act, P, rhs, v0 = work.active.act, work.active.P, iterate.rhs, record.v[step.row]
    F0, F1, R, v, banded = iterate.F0, iterate.F1, iterate.R, iterate.v, saddle.place.size > 0
    h, ht, norm, scale = step.h, step.ht, 0.0, largest
    for j in range(n):
        rhs[j] = 0.0
    for i1 in range(step.held):
        push(ptr, col, val, act[i1], P[i1], rhs)
    for c in range(problem.sizes.constraints):
        push(ptr, col, val, problem.sizes.rows + c, iterate.v_free[n + c], rhs)
    if banded:
        inertia(task.problem.saddle, M, v, v0, R, iterate.size)
    for j in range(n):
        total = -ht * F1[j] - (h - ht) * F0[j] - rhs[j]
        if banded:
            total += R[j]
        for k in range(0 if banded else n):
            total += M[j, k] * (v[k] - v0[k])
        norm += total * total
        scale = max(scale, abs(rhs[j]))
    return np.sqrt(norm), scale


@kernel(inline=True)
def factor(problem: Problem, work: Workspace, step: Step, task: Task) -> bool:
    """Factor W, or form D with factors that are known; return whether W is regular."""
    options, matrices = problem.options, problem.matrices
    if not options.constant:
        status = factor_step(
            task.problem.saddle,
            matrices.M,
            matrices.C,
            matrices.K,
            step.ht,
            task.problem.contacts.G,
            problem.sizes.rows,
            problem.contacts.G.val,
        )
        return status == 0
    if not options.many and step.h != work.state[0].formed:
        form_all(task.problem, task.work, step.h)
    return True


@kernel(inline=True)
def iterate(problem: Problem, record: Record, work: Workspace, step: Step, task: Task) -> int:
    """Solve for the state at the end of a step; return a status."""
    options, residuals, new = problem.options, record.residuals, step.row + 1
    before, still, lost = np.inf, 0, 0.0
    for iteration in range(1 if options.constant else options.newton_max):
        record.iterations[new] = iteration + 1
        if not factor(problem, work, step, task):
            return SINGULAR
        scale = free_velocity(problem, record, work, step, task)
        residuals[new, 0] = 0.0
        if step.m > 0:
            status, lost = contact_step(problem, record, work, step, task, lost)
            if status != SUCCESS:
                return status
        change, size = correct(problem, record, work, step)
        if not np.isfinite(size):
            return NOT_FINITE
        if options.constant:
            if options.state_force:
                force(problem.bundles, FORCE, problem.linear, work.iterate.F1)
            residuals[new, 1] = 0.0
            return SUCCESS
        turned, off = renew(problem, work, step, task)
        norm, scale = residual(problem, record, work, step, task, scale)
        residuals[new, 1] = norm
        still = still + 1 if change > 0.5 * before else 0
        before = change
        solved = norm <= options.newton_tol * scale and turned <= options.newton_tol
        if solved or (at_round_off(change, size, still) and off <= OBEYED):
            return SUCCESS
    return NEWTON_CAP if np.isfinite(residuals[new, 1]) else NOT_FINITE
