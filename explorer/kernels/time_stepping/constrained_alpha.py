"""Generalised-alpha with constraints phi(t, q) = 0, as equations of index 3, and with contacts.

Arnold, Brüls, Multibody Syst. Dyn. 18 (2007) 185, the constraints; Brüls, Acary, Cardona, CMAME 281
(2014) 131, with the separate problems of Cosimo, Galvez, Cavalieri, Cardona, Brüls, Multibody Syst.
Dyn. 48 (2020) 127, both levels and the contacts. With d_f, v_f, t_f and a_m as in
`explorer.kernels.time_stepping.newmark`::

    smooth     M(d_f) a_m = F(t_f, d_f, v_f) + G(d_f)' lam,   phi(t_1, d_1) = 0
               d_1 = q_0 + h v_0 + h^2 [(1/2 - beta) a_0 + beta a_1]
    positions  if d_1 has a gap <= 0: q_1 = d_1 + U, A U = G' z, phi(t_1, q_1) = 0,
               0 <= gap(q_1)  perp  z >= 0 on all contacts
    velocities v_1 = v_0 + h [(1 - gamma) a_0 + gamma a_1] + W, B W = G' p,  G v_1 + phi_t = 0,
               0 <= G v_1 + gap_t + e gap'_0  perp  p >= 0 on those that are closed

The source takes forces of constraints at both ends and interpolates them; here they stand, as all
forces, at the state between. G in the last two problems is that of q_1; A = M + k_C C + k_K K is
the matrix of the smooth problem and B = M + k_C C, M alone where no contact is closed. W of a
smooth step is O(h^3): it keeps velocities on the constraints and leaves the order as it is.
"""

from typing import NamedTuple

import numpy as np

from explorer.codes import INDEFINITE, NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.complementarity.delassus import along, push
from explorer.kernels.complementarity.lcp import solve
from explorer.kernels.complementarity.structures import Lcp
from explorer.kernels.linear_algebra.saddle_point import (
    factor_step,
    has_mass,
    inertia,
    solve_step,
)
from explorer.kernels.model.inputs import TOUCH, evaluate, fill, force, scatter
from explorer.kernels.model.structures import GAP, MASS, STEP
from explorer.kernels.references import kernel, refer
from explorer.kernels.structures import Matrix, Vector
from explorer.kernels.templates import template
from explorer.kernels.time_stepping.constrained_alpha_structures import (
    Problem,
    Record,
    State,
    Step,
    Task,
    Workspace,
)
from explorer.kernels.time_stepping.march import march
from explorer.kernels.time_stepping.newton_convergence import at_round_off

__all__ = ["run"]

QUICK = 0.05  # of a change, left by the next one: then the factors serve on
CLOSE = 3e-14  # of the terms of phi, what round-off may leave of it


@kernel(inner=True)
def look(problem: Problem, record: Record, work: Workspace, row: int) -> bool:
    """Record gaps, their velocities and phi at a row; return whether they are finite."""
    sizes, outputs, out, G = problem.sizes, problem.outputs, problem.bundles.out, problem.G
    total = 0.0
    fill(problem.bundles.inp, record.t[row], record.q[row], record.v[row], sizes.n)
    evaluate(problem.bundles, GAP)
    for k in range(G.val.size):
        G.val[k] = out[outputs.G + k]
    for c in range(sizes.contacts):
        record.gap[row, c] = out[c]
        speed = out[outputs.rates + c] + along(G.ptr, G.col, G.val, c, record.v[row])
        record.gap_dot[row, c] = speed
        total += out[c] + speed
    for c in range(sizes.constraints):
        record.phi[row, c] = out[outputs.phi + c]
        total += out[outputs.phi + c]
    return np.isfinite(total)


@kernel(inner=True)
def evaluate_between(problem: Problem, record: Record, work: Workspace, step: Step) -> None:
    """Take F, M, C, K, and G of the forces, where forces are evaluated; K scaled."""
    inp, out, n, i = problem.bundles.inp, problem.bundles.out, problem.sizes.n, step.row
    matrices, (am, af) = problem.matrices, (problem.method.alpha_m, problem.method.alpha_f)
    at_K, at_C, G, q, v = matrices.places.K, matrices.places.C, problem.G, record.q, record.v
    inp[0] = step.t_f
    for j in range(n):
        inp[1 + j] = (1.0 - af) * work.d[j] + af * q[i, j]
        inp[1 + n + j] = (1.0 - af) * work.v[j] + af * v[i, j]
        work.a_m[j] = (1.0 - am) * work.a[j] + am * record.a[i, j]
    force(problem.bundles, STEP, problem.linear, work.F)
    weight = problem.method.beta * (1.0 - am) / ((1.0 - af) * problem.method.gamma**2)
    scatter(matrices.K_flat, -weight, out, n, at_K)
    scatter(matrices.C_flat, -1.0, out, n + at_K.size, at_C)
    evaluate(problem.bundles, MASS)
    scatter(matrices.M_flat, 1.0, out, 0, matrices.places.M)
    evaluate(problem.bundles, GAP)
    for k in range(G.val.size):
        G.val[k] = out[problem.outputs.G + k]


@kernel(inner=True)
def close(problem: Problem, work: Workspace, step: Step, q: Vector) -> bool:
    """Take G and phi to the end of the step, at q; return whether phi is round-off."""
    outputs, out, n, G = problem.outputs, problem.bundles.out, problem.sizes.n, problem.G
    closed, size = True, 0.0
    fill(problem.bundles.inp, step.t1, q, work.v, n)
    evaluate(problem.bundles, GAP)
    for k in range(work.rows.size):
        work.rows[k] = out[outputs.G + k]
    for c in range(problem.sizes.constraints):
        size = 0.0
        for k in range(G.ptr[problem.sizes.rows + c], G.ptr[problem.sizes.rows + c + 1]):
            j = G.col[k]
            size += abs(work.rows[k]) * (abs(q[j]) + step.h * abs(work.v[j]))
        closed = closed and abs(out[outputs.phi + c]) <= CLOSE * size
    return closed


@kernel(inner=True)
def unbalanced(problem: Problem, work: Workspace) -> tuple[float, float]:
    """Set dx = -(M a_m - F - G' lam); return its norm and the largest term in N."""
    G, dx, n, first = problem.G, work.dx, problem.sizes.n, problem.sizes.rows
    inertia(problem.saddle, problem.matrices.M, work.a_m, work.zero, work.R, work.size)
    for j in range(dx.size):
        dx[j] = 0.0
    for c in range(problem.sizes.constraints):
        push(G.ptr, G.col, G.val, first + c, work.lam[c], dx)
    norm, scale = 0.0, 0.0
    for j in range(n):
        scale = max(scale, abs(work.R[j]), abs(work.F[j]), abs(dx[j]))
        dx[j] += work.F[j] - work.R[j]
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
    for c in range(work.lam.size):
        work.lam[c] += (1.0 - method.alpha_m) * dx[n + c]
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


@kernel(inner=True)
def answer(problem: Problem, work: Workspace, m: int, free: Vector) -> tuple[int, float]:
    """Solve 0 <= w + D z perp z >= 0 of m contacts, and add what z does to `free` (N,)."""
    G, D, act, rhs = problem.G, work.D, work.act, work.rhs
    for k in range(m):
        for j in range(rhs.size):
            rhs[j] = 0.0
        push(G.ptr, G.col, G.val, act[k], 1.0, rhs)
        solve_step(problem.saddle, rhs)
        for i in range(m):
            D[act[i], act[k]] = along(G.ptr, G.col, G.val, act[i], rhs)
    work.lcp.kept[0].count = -1
    status, off = solve(Lcp(D, act, work.w, work.z), m, m, problem.lcp, work.lcp)
    if status != SUCCESS:
        return status, off
    for j in range(rhs.size):
        rhs[j] = 0.0
    for k in range(m):
        push(G.ptr, G.col, G.val, act[k], work.z[k], rhs)
    solve_step(problem.saddle, rhs)
    for j in range(rhs.size):
        free[j] += rhs[j]
    return status, off


@kernel(inner=True)
def turn(problem: Problem, work: Workspace) -> None:
    """Let impulses act along G at the end of the step."""
    for k in range(work.rows.size):
        problem.G.val[k] = work.rows[k]


@kernel(inner=True)
def positions(problem: Problem, record: Record, work: Workspace, step: Step) -> int:
    """Add U to d, so that no gap is negative and constraints hold; return a status."""
    sizes, G, out, dx, q = problem.sizes, problem.G, problem.bundles.out, work.dx, work.zero
    n, nc, first, new = sizes.n, sizes.contacts, sizes.rows, step.row + 1
    shift, before, still, status = work.shift, np.inf, 0, NEWTON_CAP
    for j in range(n):
        shift[j] = 0.0
    for _ in range(problem.newton_max):
        for j in range(n):
            q[j] = work.d[j] + shift[j]
        closed = close(problem, work, step, q)
        turn(problem, work)
        if not factor(problem, work, step.ht, problem.matrices.K):
            status = SINGULAR
            break
        for j in range(n):
            dx[j] = 0.0
        for c in range(sizes.constraints):
            dx[n + c] = along(G.ptr, G.col, G.val, first + c, shift)
            dx[n + c] -= out[problem.outputs.phi + c]
        solve_step(problem.saddle, dx)
        for c in range(nc):
            work.act[c] = c
            work.w[c] = out[c] - along(G.ptr, G.col, G.val, c, shift)
            work.w[c] += along(G.ptr, G.col, G.val, c, dx)
        solved, off = answer(problem, work, nc, dx)
        record.residuals[new, 0] = max(record.residuals[new, 0], off / step.h)
        if solved != SUCCESS:
            status = solved
            break
        change, size = 0.0, 0.0
        for j in range(n):
            change = max(change, abs(dx[j] - shift[j]))
            size = max(size, abs(work.d[j]), step.h * abs(work.v[j]))
            shift[j] = dx[j]
        still = still + 1 if change > 0.5 * before else 0
        before = change
        if not np.isfinite(change):
            status = NOT_FINITE
            break
        if (change <= 1e-13 * size and closed) or at_round_off(change, size, still):
            status = SUCCESS
            break
    for j in range(n):
        work.d[j] += shift[j]
        q[j] = 0.0
    return status


@kernel(inner=True)
def velocities(problem: Problem, record: Record, work: Workspace, step: Step, hit: bool) -> int:
    """Add W to v, so that velocities obey constraints and impact laws; return a status."""
    sizes, G, out, dx = problem.sizes, problem.G, problem.bundles.out, work.dx
    n, nc, first, new, m = sizes.n, sizes.contacts, sizes.rows, step.row + 1, 0
    rates = problem.outputs.rates
    close(problem, work, step, work.d)
    turn(problem, work)
    if not factor(problem, work, step.ht if hit else 0.0, work.none):
        return SINGULAR
    for j in range(n):
        dx[j] = 0.0
    for c in range(sizes.constraints):
        dx[n + c] = -out[rates + first + c] - along(G.ptr, G.col, G.val, first + c, work.v)
    solve_step(problem.saddle, dx)
    for j in range(n):
        work.v[j] += dx[j]
        dx[j] = work.v[j]
    for c in range(nc if hit else 0):
        if work.z[c] > 0.0 or out[c] <= TOUCH:
            work.act[m] = c
            work.w[m] = out[rates + c] + problem.e[c] * record.gap_dot[step.row, c]
            work.w[m] += along(G.ptr, G.col, G.val, c, work.v)
            m += 1
    if m > 0:
        status, off = answer(problem, work, m, dx)
        record.residuals[new, 0] = max(record.residuals[new, 0], off)
        if status != SUCCESS:
            return status
        for j in range(n):
            work.v[j] = dx[j]
        for k in range(m):
            record.active[new, work.act[k]] = 2 if work.z[k] > 0.0 else 1
            record.p[new, work.act[k]] = work.z[k]
    for c in range(sizes.constraints):
        record.jump[new, c] = dx[n + c]
    return SUCCESS


@kernel(inner=True)
def one_step(task: Task, step: Step) -> int:
    """Take a step and write row + 1; return a status."""
    problem, record, work, new = task.problem, task.record, task.work, step.row + 1
    nc, out, hit = problem.sizes.contacts, problem.bundles.out, False
    status = smooth(problem, record, work, step)
    if status != SUCCESS:
        return status
    for c in range(nc):  # looked at last: the end of the step
        work.z[c] = 0.0
        hit = hit or not out[c] > TOUCH
    if hit:
        status = positions(problem, record, work, step)
    if status == SUCCESS:
        status = velocities(problem, record, work, step, hit)
    if status != SUCCESS:
        return status
    for j in range(problem.sizes.n):
        record.q[new, j], record.v[new, j] = work.d[j], work.v[j]
        record.a[new, j] = work.a[j]
    for c in range(problem.sizes.constraints):
        record.lam[new, c] = work.lam[c]
    record.t[new] = step.t1
    return SUCCESS if look(problem, record, work, new) else NOT_FINITE


class Shared(NamedTuple):
    """What `march` reads, and all of the march."""

    state: State
    task: Task


@template
def start(problem: Problem, record: Record, shared: Shared, row: int) -> None:
    """Take gaps and phi where the march begins."""
    look(shared.task.problem, shared.task.record, shared.task.work, row)


@template
def advance(problem: Problem, record: Record, shared: Shared, row: int, h: float, t1: float) -> int:
    """Take a step and write row + 1; return a status."""
    method = problem.method
    am, af = method.alpha_m, method.alpha_f
    t_f = (1.0 - af) * t1 + af * record.t[row]
    step = Step(row, h, t1, t_f, (1.0 - af) * method.gamma * h / (1.0 - am))
    return one_step(shared.task, step)


@kernel()
def run(problem: Problem, record: Record, work: Workspace) -> int:
    """March from row state.row to the last one; return a status of `explorer.codes`."""
    shared = Shared(work.state, refer(Task(problem, record, work)))
    return march(start, advance, refer(problem), refer(record), shared)
