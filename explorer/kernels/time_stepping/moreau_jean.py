"""The Moreau-Jean time-stepping scheme for M(q) dv = F(t, q, v) dt + G' dp, 0 <= gap.

Rows of G: normals of contacts, tangents of those with friction, gradients of constraints phi = 0.

Event-capturing schemes, "Lagrangian systems" and its summary, with the corrections listed in the
docstring of `explorer.schemes.moreau_jean`. One step from (q_i, v_i), all at velocity level::

    active set   A = {a : gap_a + forecast h gap'_a <= 0 (to round-off)}, of the step's start
    Newton       W = M + h theta C + (h theta)^2 K,  C = -F_v,  K = -F_q
                 v_free = v - W^-1 [M (v - v_i) - h theta F_{i+1} - h (1 - theta) F_i]
    LCP on A     0 <= G v_free + gap_t + e gap'_i + G W^-1 G' p  perp  p >= 0
                 v = v_free + W^-1 G' p,   q = q_i + h (theta v + (1 - theta) v_i)

With friction it is the problem of `friction.coulomb`, e_t slip_i besides the tangents; mu is that
of the step's start. Constraints hold at velocity level, G_c v + phi_t = 0: with impulses as further
unknowns W is [[W, -G_c'], [G_c, 0]] wherever it stands above. Positions drift away from phi = 0
unless `position_projection` takes them back, or `constrained_step` holds both levels. A compliant
contact is always in A, with the condition of `compliant_contact` (the source's relation corrected).
`p` is the impulse of the step. If M, C, K, G are constant, one iteration is exact; the factors of W
come from outside, once for each step size, and the Delassus matrix is made once with them. Of many
contacts with a diagonal W it is not formed, and G may turn: see `friction.graph`. A W that changes
and has a narrow band is kept as one: see `linear_algebra.saddle_point`.
"""

from typing import NamedTuple

from explorer.codes import SUCCESS
from explorer.kernels.friction.coulomb import STICK
from explorer.kernels.model.held_inputs import hold
from explorer.kernels.model.inputs import ROUND, fill, force
from explorer.kernels.model.structures import FORCE
from explorer.kernels.references import kernel, refer, value_of
from explorer.kernels.stored import Bytes, store, stored
from explorer.kernels.templates import template
from explorer.kernels.time_stepping.compliant_contact import bend, bends
from explorer.kernels.time_stepping.constrained_step import constrained_step
from explorer.kernels.time_stepping.march import UNFACTORED, march
from explorer.kernels.time_stepping.moreau_jean_contact import forget
from explorer.kernels.time_stepping.moreau_jean_iteration import iterate, predict
from explorer.kernels.time_stepping.moreau_jean_rows import choose, look, take
from explorer.kernels.time_stepping.moreau_jean_structures import (
    Problem,
    Record,
    State,
    Step,
    Task,
    Workspace,
)
from explorer.kernels.time_stepping.position_projection import NOTHING, project
from explorer.kernels.time_stepping.shared_march import PlaceRow, tell

__all__ = ["bind", "go", "run"]

AT_REST = 1e-9  # sliding beside the velocities that make it, with which a contact starts sticking


@kernel(inline=True)
def slides(problem: Problem, record: Record, a: int) -> bool:
    """Whether row `a` of G, a tangent, moves in row 0 of the record, not only by round-off."""
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    most = abs(problem.bundles.out[problem.outputs.rates + a])
    for k in range(ptr[a], ptr[a + 1]):
        most = max(most, abs(val[k] * record.v[0, col[k]]))
    return abs(record.gap_dot[0, a]) > AT_REST * most


@kernel(inner=True)
def begin(problem: Problem, record: Record, work: Workspace, row: int) -> None:
    """Take F, gaps and G where the march begins; a contact that does not slide at first sticks."""
    state, compliance, tangents = work.state, problem.contacts.compliance, problem.contacts.tangents
    forget(work)
    state[0].width, state[0].formed = max(problem.sizes.rows - 1, 0), 0.0
    state[0].far = state[0].reach = 0.0
    work.iterate.bias[:] = 0.0
    for a in range(problem.sizes.contacts):
        compliance.given[a], compliance.point[a] = 0.0, record.p[row, a] / problem.method.h
    if bends(problem.bundles):
        bend(problem.bundles, compliance, compliance.point)
    fill(problem.bundles.inp, record.t[row], record.q[row], record.v[row], problem.sizes.n)
    force(problem.bundles, FORCE, problem.linear, work.iterate.F0)
    look(problem, record, work, row, 0.0)
    for a in range(problem.sizes.contacts if row == 0 else 0):
        s, end = tangents[a], tangents[a + 1] - 1
        if s <= end and abs(record.gap[0, a]) <= ROUND * state[0].far:
            moves = slides(problem, record, s) or slides(problem, record, end)
            record.active[0, s] = 0 if moves else STICK


@kernel(inline=True)
def write(problem: Problem, record: Record, work: Workspace, step: Step) -> None:
    """Write the state at the end of a step, its impulses, and what contacts do."""
    new, m, held, state, nc = step.row + 1, step.m, step.held, work.state, problem.sizes.contacts
    q, v, p, p_max, doing = record.q, record.v, record.p, record.p_max, record.active
    q1, v1, F0, F1, active = (
        work.iterate.q,
        work.iterate.v,
        work.iterate.F0,
        work.iterate.F1,
        work.active,
    )
    act, place, mode, w, P, mu = (
        active.act,
        active.place,
        active.mode,
        active.w,
        active.P,
        active.mu,
    )
    reach, tangents = state[0].reach, problem.contacts.tangents
    for j in range(problem.sizes.n):
        q[new, j] = q1[j]
        v[new, j] = v1[j]
        F0[j] = F1[j]
    for j in range(held):
        p[new, act[j]] = P[j]
    for j in range(m):
        reach = max(reach, step.h * abs(w[j]))
        if P[j] > 0.0:
            doing[new, act[j]] = 2
            if held > m and place[j] >= 0:
                a = act[place[j]]
                doing[new, a], p_max[new, a - nc] = mode[act[j]], mu[j] * P[j]
        else:  # what round-off leaves of friction
            for a in range(tangents[act[j]], tangents[act[j] + 1]):
                p[new, a] = 0.0
    state[0].reach = reach


class Shared(NamedTuple):
    """The workspace of inlined kernels, and what others take."""

    state: State
    work: Workspace
    task: Task


@template
def start(problem: Problem, record: Record, shared: Shared, row: int) -> None:
    """Do `begin`."""
    begin(shared.task.problem, shared.task.record, shared.task.work, row)


@template
def cross(problem: Problem, record: Record, shared: Shared, row: int, k: int) -> bool:
    """Go on to interval `k` of the inputs; return whether it could."""
    hold(problem.grid.drive, problem.bundles.inp, k)
    begin(shared.task.problem, shared.task.record, shared.task.work, row)
    return True


@template
def advance(problem: Problem, record: Record, shared: Shared, row: int, h: float, t1: float) -> int:
    """Take a step and write row + 1; return a status."""
    work, task = shared.work, shared.task
    if problem.options.constant and h != work.state[0].factored:
        work.state[0].factored = h
        return UNFACTORED
    m, held = choose(problem, record, work, row, h)
    step = refer(Step(row, h, h * problem.method.theta, t1, m, held))
    if problem.options.levels:
        status = constrained_step(task, value_of(step))
        if status != SUCCESS:
            return status
        write(problem, record, work, step)
        return look(problem, record, work, row + 1, h)
    status = predict(problem, record, work, step, task)
    if status != SUCCESS:
        return status
    take(problem, work, step)
    status = iterate(problem, record, work, step, task)
    if status != SUCCESS:
        return status
    for c in range(problem.sizes.constraints):
        record.p_phi[row + 1, c] = work.iterate.v_free[problem.sizes.n + c]
    if problem.options.projected != NOTHING:
        status = project(task.problem, task.work)
        if status != SUCCESS:
            return status
        if problem.options.state_force:
            force(problem.bundles, FORCE, problem.linear, work.iterate.F1)
    write(problem, record, work, step)
    return look(problem, record, work, row + 1, h)


@kernel(inner=True)
def go(problem: Problem, record: Record, work: Workspace) -> int:
    """Do what `run` does, with structures that are stored."""
    task = refer(Task(value_of(problem), value_of(record), value_of(work)))
    # the march itself reads them where they stand: with copies a smooth step is a tenth slower
    return march(start, cross, advance, problem, record, Shared(work.state, work, task))


@kernel()
def run(problem: Problem, record: Record, work: Workspace) -> int:
    """March from row state.row to t_end.

    Return a status, or `march.UNFACTORED`: factors for the step state.factored are wanted.
    """
    return go(problem, record, work)


@kernel()
def bind(task: Task, memory: Bytes, places: PlaceRow) -> int:
    """Store a task where the memory has room for it, and tell its places; return its bytes."""
    needed = store(memory, task)
    if memory.size >= needed:
        tell(stored(memory, Task), places)
    return needed
