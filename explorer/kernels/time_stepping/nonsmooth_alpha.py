"""Generalised-alpha for M(q) dv = F(t, q, v) dt + G' dp, 0 <= gap: impacts are captured by steps.

Chen, Acary, Virlez, Bruls, IJNME 96 (2013) 487 (VELOCITY); Bruls, Acary, Cardona, CMAME 281 (2014)
131, with the separate problems of Cosimo, Galvez, Cavalieri, Cardona, Bruls, Multibody Syst. Dyn.
48 (2020) 127 (BOTH); Paoli, Schatzman, SIAM J. Numer. Anal. 40 (2002) 702 (MEAN). With d_f, v_f,
t_f and a_m as in `explorer.kernels.time_stepping.newmark`::

    M(d_f) a_m = F(t_f, d_f, v_f)
    q_1 = q_0 + h v_0 + h^2 [(1/2 - beta) a_0 + beta a_1] + s_d w,    M w = G' z
    v_1 = v_0 + h [(1 - gamma) a_0 + gamma a_1] + s_v w

    VELOCITY  s_d = h/2, s_v = 1:  0 <= G v_1 + gap_t + e gap'_0  perp  z >= 0,  z the impulse p, on
              the contacts with gap_0 + forecast h gap'_0 <= 0
    BOTH      the smooth problem, z = 0; then, if it ends with a gap <= 0, the position problem
              s_d = 1, s_v = 0:  0 <= gap(q_1)  perp  z >= 0  on all contacts; then the velocity
              problem v_1 + W on those that are closed, (M + k gamma h C) W = G' p with
              k = (1 - alpha_f) / (1 - alpha_m) and p as above
    INSIDE    s_d = s_v = 0, and z, a force, on the right of M a_1 = F_1 + G' z: no law of impact
    MEAN      s_d = h, s_v = 1:  0 <= gap((q_1 + e q_-) / (1 + e))  perp  z >= 0 on all contacts, z
              the impulse p; q_- lies one step of the same length before q_0, and a gap that moves
              is taken at the same mean of the times

In BOTH the corrections feel the forces that they make themselves, the first through x, the second
through C: linear systems without damping then move as by the coupled equations of 2014. With M
alone an elastic bar would gain energy wherever h exceeds the time that a wave takes per element.

Newton's method in x = a_1 - a_0, linear complementarity in each iteration: with A, C, K of
`explorer.kernels.time_stepping.newmark`, x = x_free + Y z, Y = -A^-1 (1 - alpha_f) (s_d K + s_v C)
M^-1 G', or A^-1 G' for INSIDE. If M, C, K, G are constant all is factored once and one iteration is
exact.
"""

import numpy as np

from explorer.codes import NOT_FINITE, SUCCESS
from explorer.kernels.complementarity.delassus import (
    JUMP,
    MASS,
    SMOOTH,
    Weights,
    along,
    complement,
    factor,
    jump,
    respond,
    solve_with,
)
from explorer.kernels.complementarity.delassus import Matrices as System
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import bandwidth
from explorer.kernels.model.held_inputs import hold
from explorer.kernels.model.inputs import TOUCH, evaluate, fill, force, scatter
from explorer.kernels.model.structures import FORCE, GAP
from explorer.kernels.model.structures import MASS as MASS_ENTRIES
from explorer.kernels.references import kernel as by_reference
from explorer.kernels.references import value_of
from explorer.kernels.stored import Bytes, store, stored
from explorer.kernels.templates import template
from explorer.kernels.time_stepping.march import march
from explorer.kernels.time_stepping.nonsmooth_alpha_iteration import newton
from explorer.kernels.time_stepping.nonsmooth_alpha_structures import (
    BOTH,
    INSIDE,
    MEAN,
    VELOCITY,
    Problem,
    Record,
    Step,
    Task,
    Workspace,
)
from explorer.kernels.time_stepping.shared_march import PlaceRow, tell

__all__ = ["bind", "go", "run"]


@kernel(inline=True)
def write_gaps(problem: Problem, record: Record, row: int) -> None:
    """Write gaps and their velocities at a row, where they were evaluated last."""
    out, (ptr, col, val), nc = problem.bundles.out, problem.contacts.G, problem.contacts.e.size
    for c in range(nc):
        record.gap[row, c] = out[c]
        for k in range(ptr[c], ptr[c + 1]):
            if not problem.options.constant:
                val[k] = out[2 * nc + k]
        record.gap_dot[row, c] = out[nc + c] + along(ptr, col, val, c, record.v[row])


@kernel(inline=True)
def begin(problem: Problem, record: Record, work: Workspace, row: int) -> None:
    """Set gaps and F at the start; forget what was factored."""
    bundles, state, n, nc = problem.bundles, work.state, work.x.size, work.every.size
    state[0].span = state[0].span_jump = nc
    state[0].factored = 0.0
    state[0].before = record.t[row] - record.t[row - 1] if row > 0 else 0.0
    work.lcp.kept[0].count = work.lcp_jump.kept[0].count = -1
    state[0].below = state[0].above = n - 1
    if not problem.options.moves:
        below, above = bandwidth(problem.matrices.M, n)
        band = work.responses.band
        band[MASS].below, band[MASS].above = below, above
        state[0].below, state[0].above = below, above
    for c in range(nc):
        work.force_before[c] = 0.0
    fill(bundles.inp, record.t[row], record.q[row], record.v[row], n)
    force(bundles, FORCE, problem.linear, work.F0)
    evaluate(bundles, GAP)
    write_gaps(problem, record, row)


@kernel(inline=True)
def cross(problem: Problem, record: Record, work: Workspace, row: int, k: int) -> bool:
    """Go on to interval `k` of the inputs: accelerations jump by M^-1 (F+ - F-).

    Return whether it could: M is regular.
    """
    bundles, M, n, nc = problem.bundles, problem.matrices, work.x.size, work.every.size
    system, change = System(M.M, M.C, M.K), work.r
    fill(bundles.inp, record.t[row], record.q[row], record.v[row], n)
    if problem.options.moves:
        evaluate(bundles, MASS_ENTRIES)
        scatter(M.M_flat, 1.0, bundles.out, 0, problem.places.M)
    there = problem.options.constant and nc > 0  # the factors of M
    if not there and factor(system, 1.0, 0.0, 0.0, work.responses, MASS) != SUCCESS:
        return False
    force(bundles, FORCE, problem.linear, change)
    hold(problem.grid.drive, bundles.inp, k)
    force(bundles, FORCE, problem.linear, work.F0)
    for j in range(n):
        change[j] = work.F0[j] - change[j]
    solve_with(work.responses, MASS, change)
    for j in range(n):
        record.a[row, j] += change[j]
    evaluate(bundles, GAP)  # what moves by itself has another speed
    write_gaps(problem, record, row)
    return True


@kernel(inline=True)
def coefficients(problem: Problem, t0: float, row: int, h: float, t1: float) -> Step:
    """Return the coefficients of a step."""
    method, level = problem.method, problem.method.level
    t_f = t1 if method.interpolated else (1.0 - method.alpha_f) * t1 + method.alpha_f * t0
    s_d, s_v = 0.5 * h, 1.0
    if level == MEAN:
        s_d = h
    elif level != VELOCITY:
        s_d, s_v = 1.0 if level == BOTH else 0.0, 0.0
    c_w = 1.0 / (h * h) if s_v == 0.0 else 1.0 / h
    return Step(row, h, t1, t_f, method.beta * h * h, method.gamma * h, s_d, s_v, c_w)


@kernel(inline=True)
def weights_of(problem: Problem, step: Step) -> Weights:
    """Return what a step makes of C, K, x and w."""
    af, by_gap = problem.method.alpha_f, problem.method.level != VELOCITY
    return Weights(
        (1.0 - af) * step.c_v,
        (1.0 - af) * step.c_d,
        (1.0 - af) * step.s_v,
        (1.0 - af) * step.s_d,
        step.c_d if by_gap else step.c_v,
        step.s_d if by_gap else step.s_v,
    )


@kernel(inline=True)
def factor_constant(problem: Problem, work: Workspace, weights: Weights, h: float) -> int:
    """Factor constant matrices for a step h, with all contacts."""
    M, K, C = problem.matrices.M, problem.matrices.K, problem.matrices.C
    system, am = System(M, C, K), problem.method.alpha_m
    nc, state = work.every.size, work.state
    G, responses = problem.contacts.G, work.responses
    D, D_jump = work.problem.M, work.jump.M
    state[0].factored = h
    if not problem.options.constant:
        return SUCCESS
    status = factor(system, 1.0 - am, weights.A_C, weights.A_K, responses, SMOOTH)
    if status == SUCCESS and nc > 0:
        status = respond(nc, work.every, G, system, weights, responses, D)
    if status == SUCCESS and nc > 0 and problem.method.level == BOTH:
        damping = weights.A_C / (1.0 - am)
        status = jump(nc, work.every, G, system, damping, responses, D_jump)
    if status != SUCCESS:
        return status
    state[0].span, state[0].span_jump = max(bandwidth(D, nc)), max(bandwidth(D_jump, nc))
    work.lcp.kept[0].count = work.lcp_jump.kept[0].count = -1
    return SUCCESS


@kernel(inline=True)
def active_set(problem: Problem, record: Record, work: Workspace, i: int, h: float) -> int:
    """List the contacts that take part from the start; return how many. Begin with x = w = 0."""
    act, z, e_dot, e = work.problem.act, work.problem.z, work.e_dot, problem.contacts.e
    q, v, gap, gap_dot, active = record.q, record.v, record.gap, record.gap_dot, record.active
    level, forecast, state, m = problem.method.level, problem.method.forecast, work.state, 0
    for c in range(e.size):
        record.p[i + 1, c], active[i + 1, c], z[c] = 0.0, 0, 0.0
        e_dot[c] = e[c] * gap_dot[i, c]
        near = level == VELOCITY and gap[i, c] + forecast * h * gap_dot[i, c] <= TOUCH
        if near or level >= INSIDE:
            active[i + 1, c] = 1 if near else 0
            act[m] = c
            m += 1
    for j in range(work.x.size):
        work.x[j], work.w[j], work.before[j] = 0.0, 0.0, q[i, j] - h * v[i, j]
        if i > 0:
            work.before[j] = q[i, j] - h / state[0].before * (q[i, j] - q[i - 1, j])
    state[0].before = h
    return m


@kernel(inline=True)
def velocity_problem(
    problem: Problem, record: Record, work: Workspace, weights: Weights, row: int
) -> tuple[int, int]:
    """Add W of BOTH to v_1, of the contacts that are closed; return a status and how many."""
    (ptr, col, val), out, nc = problem.contacts.G, problem.bundles.out, work.every.size
    act, g, z, v1, Y, m = work.jump.act, work.jump.q, work.jump.z, work.v1, work.responses.Y, 0
    for c in range(nc):
        if z[c] > 0.0 or out[c] <= TOUCH:
            record.active[row, c] = 1
            act[m] = c
            g[m] = out[nc + c] + work.e_dot[c] + along(ptr, col, val, c, v1)
            m += 1
    if not problem.options.constant:
        work.lcp_jump.kept[0].count = -1
        M, K, C = problem.matrices.M, problem.matrices.K, problem.matrices.C
        system, damping = System(M, C, K), weights.A_C / (1.0 - problem.method.alpha_m)
        status = jump(m, act, problem.contacts.G, system, damping, work.responses, work.jump.M)
        if status != SUCCESS:
            return status, m
    span = work.state[0].span_jump
    status, off = complement(work.jump, m, span, problem.options.lcp, work.lcp_jump)
    record.residuals[row, 0] = max(record.residuals[row, 0], off)
    if status != SUCCESS:
        return status, m
    for j in range(v1.size):
        for k in range(m):
            v1[j] += Y[JUMP, act[k], j] * z[k]
    return SUCCESS, m


@kernel(inline=True)
def keep(problem: Problem, record: Record, work: Workspace, step: Step, m: int) -> bool:
    """Write the end of a step; return whether it is finite."""
    (ptr, col, val), out, nc = problem.contacts.G, problem.bundles.out, work.every.size
    act, z = work.problem.act, work.problem.z
    force_before, gamma = work.force_before, problem.method.gamma
    q, v, a, p, gap, gap_dot = record.q, record.v, record.a, record.p, record.gap, record.gap_dot
    d1, v1, a1, row, n = work.d1, work.v1, work.a1, step.row + 1, work.x.size
    for k in range(m):
        c = act[k]
        p[row, c] = z[k]
        if problem.method.level == INSIDE:
            p[row, c] = step.h * ((1.0 - gamma) * force_before[c] + gamma * z[k])
            force_before[c] = z[k]
        if p[row, c] > 0.0:
            record.active[row, c] = 2
    check = 0.0
    for c in range(nc):
        gap[row, c] = out[c]
        gap_dot[row, c] = out[nc + c] + along(ptr, col, val, c, v1)
        check += gap[row, c] + gap_dot[row, c]
    for j in range(n):
        q[row, j], v[row, j], a[row, j] = d1[j], v1[j], a1[j]
        check += d1[j] + v1[j] + a1[j]
    return np.isfinite(check)


@template
def step_alpha(
    problem: Problem, record: Record, work: Workspace, row: int, h: float, t1: float
) -> int:
    """Take a step and write row + 1."""
    bundles, out, nc = problem.bundles, problem.bundles.out, work.every.size
    val, n, constant = problem.contacts.G.val, work.x.size, problem.options.constant
    step = coefficients(problem, record.t[row], row, h, t1)
    weights = weights_of(problem, step)
    if h != work.state[0].factored:
        status = factor_constant(problem, work, weights, h)
        if status != SUCCESS:
            return status
    m = active_set(problem, record, work, row, h)
    status, m, corrected, norm = newton(problem, record, work, step, weights, m)
    if status != SUCCESS:
        return status
    fill(bundles.inp, t1, work.d1, work.v1, n)
    evaluate(bundles, GAP)
    if not constant:
        for k in range(val.size):
            val[k] = out[2 * nc + k]
    if corrected:
        status, m = velocity_problem(problem, record, work, weights, row + 1)
        if status != SUCCESS:
            return status
    if not keep(problem, record, work, step, m):
        return NOT_FINITE
    record.residuals[row + 1, 1] = 0.0 if constant else norm
    if problem.method.interpolated:
        fill(bundles.inp, t1, work.d1, work.v1, n)
        force(bundles, FORCE, problem.linear, work.F0)
    return SUCCESS


@by_reference(inner=True)
def go(problem: Problem, record: Record, work: Workspace) -> int:
    """Do what `run` does, with structures that are stored."""
    return march(begin, cross, step_alpha, value_of(problem), value_of(record), value_of(work))


@kernel()
def run(problem: Problem, record: Record, work: Workspace) -> int:
    """March from row state.row to the last one; return a status of `explorer.codes`.

    NEWTON_CAP, NOT_FINITE, SINGULAR, INDEFINITE (of M), or what `complement` returns: of the step
    behind the last row, whose residuals the record holds.
    """
    return go(problem, record, work)


@by_reference()
def bind(task: Task, memory: Bytes, places: PlaceRow) -> int:
    """Store a task where the memory has room for it, and tell its places; return its bytes."""
    needed = store(memory, task)
    if memory.size >= needed:
        tell(stored(memory, Task), places)
    return needed
