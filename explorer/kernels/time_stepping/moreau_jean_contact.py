"""The contact problem of one Moreau-Jean step, handed to the solver that suits its size::

    0 <= w = G v_free + gap_t + e gap'_i + D p  perp  p >= 0,   D = G W^-1 G'

Few contacts: D is formed, for `explorer.kernels.complementarity.lcp` or
`explorer.kernels.friction.coulomb`. Many, with a diagonal W: `explorer.kernels.friction.graph`; it
also takes what those could not solve.
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, NOT_FINITE, SUCCESS
from explorer.kernels.complementarity.delassus import along, push
from explorer.kernels.complementarity.lcp import solve, solve_one
from explorer.kernels.complementarity.structures import Lcp
from explorer.kernels.friction.coulomb import coulomb
from explorer.kernels.friction.graph import on_graph
from explorer.kernels.friction.graph_gauss_seidel import coupling
from explorer.kernels.friction.structures import Contacts as Frictional
from explorer.kernels.friction.structures import Friction, FrictionOptions
from explorer.kernels.linear_algebra.dense_lu import bandwidth
from explorer.kernels.linear_algebra.factored_solve import solve_factored
from explorer.kernels.linear_algebra.saddle_point import solve_step
from explorer.kernels.references import kernel, value_of
from explorer.kernels.time_stepping.compliant_contact import give
from explorer.kernels.time_stepping.moreau_jean_structures import (
    Problem,
    Step,
    Task,
    Workspace,
)

__all__ = ["forget", "form_all", "impulses"]

ROUND_OFF = 2e-15  # of sums whose terms cancel, beside the largest of them


@kernel(inline=True)
def forget(work: Workspace) -> None:
    """Keep no factors and no blocks of a D that has changed."""
    work.lcp.kept[0].count = work.friction.cones.kept[0].contacts = -1


@kernel(inner=True)
def form_all(problem: Problem, work: Workspace, h: float) -> None:
    """Fill in D of all rows from the factors of a constant W."""
    G, D, rhs, N = problem.contacts.G, work.active.D, work.iterate.rhs, work.iterate.rhs.size
    ptr, col, val, rows = G.ptr, G.col, G.val, problem.sizes.rows
    hht = h * (h * problem.method.theta)
    for a in range(rows):
        for j in range(N):
            rhs[j] = 0.0
        push(ptr, col, val, a, 1.0, rhs)
        solve_factored(problem.factors, N, rhs)
        for c in range(rows):
            D[c, a] = along(ptr, col, val, c, rhs)
        give(problem.contacts.compliance, a, hht, D)
    work.state[0].width, work.state[0].formed = max(bandwidth(D, rows)), h
    forget(work)


@kernel(inner=True)
def form_active(problem: Problem, work: Workspace, step: Step) -> None:
    """Fill in D of the active rows from the W that the step has factored."""
    G, D, rhs, act = problem.contacts.G, work.active.D, work.iterate.rhs, work.active.act
    ptr, col, val, held = G.ptr, G.col, G.val, step.held
    for i1 in range(held):
        a = act[i1]
        for j in range(rhs.size):
            rhs[j] = 0.0
        push(ptr, col, val, a, 1.0, rhs)
        solve_step(problem.saddle, rhs)
        for i2 in range(held):
            D[act[i2], a] = along(ptr, col, val, act[i2], rhs)
        give(problem.contacts.compliance, a, step.h * step.ht, D)
    forget(work)


@kernel(inner=True)
def form_coupled(problem: Problem, work: Workspace, step: Step) -> None:
    """Fill in D of the active rows where W is diagonal."""
    G, D, act, inverse = problem.contacts.G, work.active.D, work.active.act, problem.factors.inverse
    ptr, col, val = G.ptr, G.col, G.val
    for i1 in range(step.held):
        for i2 in range(step.held):
            D[act[i1], act[i2]] = coupling(ptr, col, val, inverse, act[i1], act[i2])
        give(problem.contacts.compliance, act[i1], step.h * step.ht, D)
    work.friction.cones.kept[0].contacts = -1


@kernel(inline=True)
def approach(problem: Problem, work: Workspace, held: int) -> bool:
    """Set w at p = 0; return whether it is finite."""
    active, v_free = work.active, work.iterate.v_free
    act, rate, law, w = active.act, active.rate, active.law, active.w
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    for i1 in range(held):
        total = rate[i1] + law[i1]
        for k in range(ptr[act[i1]], ptr[act[i1] + 1]):
            total += val[k] * v_free[col[k]]
        w[i1] = total
        if not np.isfinite(total):
            return False
    return True


@kernel(inner=True)
def cancels(problem: Problem, work: Workspace, held: int) -> tuple[bool, float]:
    """Tell whether w is but round-off of its terms, and its size; then impulses are zero."""
    active, v_free = work.active, work.iterate.v_free
    act, rate, law, w, P = active.act, active.rate, active.law, active.w, active.P
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    terms, size = 0.0, 0.0
    for i in range(held):
        terms = max(terms, abs(rate[i] + law[i]))
        for k in range(ptr[act[i]], ptr[act[i] + 1]):
            terms = max(terms, abs(val[k] * v_free[col[k]]))
        size = max(size, abs(w[i]))
    if size > ROUND_OFF * terms:
        return False, size
    for i in range(held):
        P[i] = 0.0
    return True, size


@kernel(inner=True)
def with_friction(task: Task, step: Step) -> tuple[int, float]:
    """Solve with friction, or for many contacts; return a status and the residual in m/s."""
    problem, record, work = task.problem, task.record, task.work
    active, options, nc = work.active, problem.options, problem.sizes.contacts
    m, held, i = step.m, step.held, step.row
    contacts = Frictional(
        active.D,
        active.act,
        m,
        held,
        active.place,
        problem.contacts.tangents,
        active.mu,
        active.w,
        active.P,
        active.mode,
    )
    friction = Friction(active.kinetic, active.static, record.gap_dot[i], record.active[i])
    if held > m and active.D.size > 0:
        if options.many:
            form_coupled(problem, work, step)
        how = FrictionOptions(value_of(options.lcp), options.cones)
        status, off = coulomb(contacts, friction, nc, how, work.friction)
        if status != SUCCESS:
            nothing, size = cancels(problem, work, held)
            if nothing:
                status, off = SUCCESS, size
        if status != LCP_ITERATIONS or not options.many:
            return status, off
    steady = step.h == work.state[0].formed and not options.turns
    return on_graph(
        contacts,
        friction,
        nc,
        options.lcp,
        problem.contacts.G,
        problem.factors.inverse,
        problem.contacts.compliance.diagonal,
        step.h * step.ht,
        i,
        steady,
        work.graph,
    )


@kernel(inner=True)
def without_friction(task: Task, m: int) -> tuple[int, float]:
    """Solve for several contacts; return a status and the residual in m/s."""
    active, work = task.work.active, task.work
    lcp, options = Lcp(active.D, active.act, active.w, active.P), task.problem.options.lcp
    return solve(lcp, m, min(work.state[0].width, m), options, work.lcp)


@kernel(inline=True)
def impulses(problem: Problem, work: Workspace, step: Step, task: Task) -> tuple[int, float]:
    """Solve for the impulses of the active rows; return a status and the residual in m/s."""
    active, options, m = work.active, problem.options, step.m
    if not options.constant:
        form_active(task.problem, task.work, value_of(step))
    if not approach(problem, work, step.held):
        return NOT_FINITE, 0.0
    if step.held > m or options.many:
        return with_friction(task, value_of(step))
    k = m - 1
    if k == 0:
        D = active.D[active.act[k], active.act[k]]
        done, active.P[k], off = solve_one(options.lcp.method, D, active.w[k])
        if done:
            return SUCCESS, off
    return without_friction(task, m)
