"""Generalised-alpha with constraints phi(t, q) = 0, as equations of index 3, and with contacts.

Arnold, Brüls, Multibody Syst. Dyn. 18 (2007) 185, the constraints; Brüls, Acary, Cardona, CMAME 281
(2014) 131, with the separate problems of Cosimo, Galvez, Cavalieri, Cardona, Brüls, Multibody Syst.
Dyn. 48 (2020) 127, both levels and the contacts. With d_f, v_f, t_f and a_m as in
`explorer.kernels.time_stepping.newmark`::

    smooth     M(d_f) a_m = F(t_f, d_f, v_f) + G(d_f)' (lam, P_0 / h),   phi(t_1, d_1) = 0
               d_1 = q_0 + h v_0 + h^2 [(1/2 - beta) a_0 + beta a_1]
    positions  if d_1 has a gap <= 0: q_1 = d_1 + U, A U = G' (z - h P_0 / 2), phi(t_1, q_1) = 0,
               0 <= gap(q_1)  perp  z >= 0 on all contacts
    velocities v_1 = v_0 + h [(1 - gamma) a_0 + gamma a_1] + W, B W = G' (P - P_0),
               G v_1 + phi_t = 0,  0 <= G v_1 + gap_t + e gap'_0  perp  P >= 0 on closed contacts

The first source interpolates forces of constraints between both ends, as `interpolated` does; else
they stand, as all forces, at the state between. v_f is without W. G in the last two problems is
that of q_1; A = M + k_C C + k_K K is the matrix of the smooth problem and B = M + k_C C, M alone
where no contact is closed. W of a smooth step is O(h^3): it keeps velocities on the constraints and
leaves the order as it is. With `velocity`, contacts with gap_0 + forecast h gap'_0 <= 0 hold at
velocity level alone, and h W / 2 takes the place of their part of U.

P_0 is the impulse of the last step at a contact that was closed throughout it, else zero. (The
sources have no P_0: forces then do without the velocities that a closed contact gives, and its
impulse acts along G at the end of the step, which is of order 1.)
"""

from typing import NamedTuple

import numpy as np

from explorer.codes import NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.complementarity.delassus import along, push
from explorer.kernels.complementarity.lcp import solve
from explorer.kernels.complementarity.structures import Lcp
from explorer.kernels.linear_algebra.saddle_point import solve_step
from explorer.kernels.model.held_inputs import hold
from explorer.kernels.model.inputs import TOUCH, evaluate, fill, force, scatter
from explorer.kernels.model.structures import FORCE, GAP, MASS
from explorer.kernels.references import kernel, refer
from explorer.kernels.structures import Vector
from explorer.kernels.templates import template
from explorer.kernels.time_stepping.constrained_alpha_iteration import close, factor, smooth
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

STAYS = 1e-3  # of what an impulse changes: the speed before it of a contact that was closed


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
def positions(problem: Problem, record: Record, work: Workspace, step: Step, nc: int) -> int:
    """Add U to d, so that constraints hold and nc gaps are not negative; return a status."""
    sizes, G, out, dx, q = problem.sizes, problem.G, problem.bundles.out, work.dx, work.zero
    n, first, new = sizes.n, sizes.rows, step.row + 1
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
        for c in range(nc):
            push(G.ptr, G.col, G.val, c, -0.5 * step.h**2 * work.pull[c], dx)
        for c in range(sizes.constraints):
            dx[n + c] = along(G.ptr, G.col, G.val, first + c, shift)
            dx[n + c] -= out[problem.outputs.phi + c]
        solve_step(problem.saddle, dx)
        for c in range(nc):
            work.act[c] = c
            work.w[c] = out[c] - along(G.ptr, G.col, G.val, c, shift)
            work.w[c] += along(G.ptr, G.col, G.val, c, dx)
        if nc > 0:
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
    for c in range(nc if hit else 0):
        push(G.ptr, G.col, G.val, c, -step.h * work.pull[c], dx)
    for c in range(sizes.constraints):
        dx[n + c] = -out[rates + first + c] - along(G.ptr, G.col, G.val, first + c, work.v)
    solve_step(problem.saddle, dx)
    for j in range(n):
        work.v[j] += dx[j]
        dx[j] = work.v[j]
    by_speed, ahead = problem.method.velocity, problem.method.forecast * step.h
    for c in range(nc if hit else 0):
        near = work.z[c] > 0.0 or out[c] <= TOUCH
        if by_speed:
            gap, speed = record.gap[step.row, c], record.gap_dot[step.row, c]
            near = gap + ahead * speed <= TOUCH
        if near:
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
def half_way(problem: Problem, record: Record, work: Workspace, step: Step) -> int:
    """Add h W / 2 to d, with the W of impacts in this step, and close constraints there."""
    n = problem.sizes.n
    for j in range(n):
        work.before[j] = work.v[j]
    status = velocities(problem, record, work, step, True)
    for j in range(n):
        work.d[j] += 0.5 * step.h * (work.v[j] - work.before[j])
        work.v[j] = work.before[j]
    for c in range(problem.sizes.contacts):
        work.z[c] = record.p[step.row + 1, c] = 0.0
    return positions(problem, record, work, step, 0) if status == SUCCESS else status


@kernel(inner=True)
def predict(problem: Problem, record: Record, work: Workspace, step: Step) -> None:
    """Note the mean force of contacts that were closed from the start of the step to its end.

    Their impulse is not that of an impact: what it changes is not what the contact closed by.
    """
    for c in range(problem.sizes.contacts):
        impulse, speed = record.p[step.row + 1, c], abs(record.gap_dot[step.row, c])
        stays = (1.0 + problem.e[c]) * speed <= STAYS * work.D[c, c] * impulse
        work.pull[c] = impulse / step.h if impulse > 0.0 and stays else 0.0


@kernel(inner=True)
def all_forces(problem: Problem, record: Record, work: Workspace, row: int) -> None:
    """Set F0 = F + G' lam at a row that has been looked at last."""
    G = problem.G
    force(problem.bundles, FORCE, problem.linear, work.F0)
    for c in range(problem.sizes.constraints):
        push(G.ptr, G.col, G.val, problem.sizes.rows + c, record.lam[row, c], work.F0)
    for c in range(problem.sizes.contacts):
        push(G.ptr, G.col, G.val, c, work.pull[c], work.F0)


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
        if problem.method.velocity:
            ahead = problem.method.forecast * step.h * record.gap_dot[step.row, c]
            hit = hit or record.gap[step.row, c] + ahead <= TOUCH
        else:
            hit = hit or not out[c] > TOUCH
        hit = hit or work.pull[c] > 0.0
    if hit and problem.method.velocity:
        status = half_way(problem, record, work, step)
    elif hit:
        status = positions(problem, record, work, step, nc)
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
    if not look(problem, record, work, new):
        return NOT_FINITE
    predict(problem, record, work, step)
    if problem.method.interpolated:
        all_forces(problem, record, work, new)
    return SUCCESS


class Shared(NamedTuple):
    """What `march` reads, and all of the march."""

    state: State
    task: Task


@template
def start(problem: Problem, record: Record, shared: Shared, row: int) -> None:
    """Take gaps and phi where the march begins."""
    look(shared.task.problem, shared.task.record, shared.task.work, row)
    all_forces(shared.task.problem, shared.task.record, shared.task.work, row)


@kernel(inner=True)
def next_interval(problem: Problem, record: Record, work: Workspace, row: int, k: int) -> bool:
    """Go on to interval `k` of the inputs; return whether it could: the equations are regular.

    Accelerations and multipliers jump: M a - G' lam = F+ - F-, G a = 0.
    """
    bundles, matrices, n, jump = problem.bundles, problem.matrices, problem.sizes.n, work.dx
    look(problem, record, work, row)
    for i in range(work.rows.size):
        work.rows[i] = problem.G.val[i]
    evaluate(bundles, MASS)
    scatter(matrices.M_flat, 1.0, bundles.out, 0, matrices.places.M)
    force(bundles, FORCE, problem.linear, jump)
    hold(problem.grid.drive, bundles.inp, k)
    force(bundles, FORCE, problem.linear, work.F)
    if not factor(problem, work, 0.0, work.none):
        return False
    for j in range(n):
        jump[j] = work.F[j] - jump[j]
    for c in range(problem.sizes.constraints):
        jump[n + c] = 0.0
    solve_step(problem.saddle, jump)
    for j in range(n):
        record.a[row, j] += jump[j]
    for c in range(problem.sizes.constraints):
        record.lam[row, c] += jump[n + c]
    look(problem, record, work, row)
    all_forces(problem, record, work, row)
    return True


@template
def cross(problem: Problem, record: Record, shared: Shared, row: int, k: int) -> bool:
    """Do `next_interval`."""
    return next_interval(shared.task.problem, shared.task.record, shared.task.work, row, k)


@template
def advance(problem: Problem, record: Record, shared: Shared, row: int, h: float, t1: float) -> int:
    """Take a step and write row + 1; return a status."""
    method = problem.method
    am, af = method.alpha_m, method.alpha_f
    t_f = t1 if method.interpolated else (1.0 - af) * t1 + af * record.t[row]
    step = Step(row, h, t1, t_f, (1.0 - af) * method.gamma * h / (1.0 - am))
    return one_step(shared.task, step)


@kernel()
def run(problem: Problem, record: Record, work: Workspace) -> int:
    """March from row state.row to the last one; return a status of `explorer.codes`."""
    shared = Shared(work.state, refer(Task(problem, record, work)))
    return march(start, cross, advance, refer(problem), refer(record), shared)
