"""The Newmark family and generalised-alpha for M(q) a = F(t, q, v), in any of the three unknowns.

*Newmark methods*, "Generalized unknowns" and "Nonlinear generalized-alpha", with the residual and
tangent of Chung and Hulbert (J. Appl. Mech. 60 (1993) 371), where alpha weighs the old value. With
x one of (d, v, a) at the end of the step, y = (d, v, a)::

    y_1 = B y_0 + c x = y_p + c dx            B and c of `explorer.schemes.newmark.unknowns`
    d_f = (1 - alpha_f) d_1 + alpha_f d_0,    v_f, t_f likewise, a_m with alpha_m
    r(x) = M(d_f) a_m - F(t_f, d_f, v_f) = 0
    A = (1 - alpha_m) c_a M + (1 - alpha_f) [c_v C + c_d K],  C = -F_v,  K = (M a)_q - F_q

where y_p is the state with a_1 = a_0, so that no unknown loses digits to 1/h^2; or, with the forces
interpolated, r = M a_m - (1 - alpha_f) F_1 - alpha_f F_0. Newton's method starts from accelerations
extrapolated over the step before; its steps are halved until |r| or |r' dx| falls. A state is
accepted where every row of r is small beside the terms that cancel in it at that state. A step in
which Newton's method fails is taken in halves, quarters, ... Where M, C and K are constant,
`explorer.kernels.time_stepping.newmark_linear`.

Carried accelerations are those of the time t + (alpha_m - alpha_f) h, so a change of h moves them:
a_0 += (alpha_m - alpha_f) (h - h_before) (a_0 - a_before) / h_before, else order 2 would be lost.
"""

from explorer.codes import SUCCESS
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.model.held_inputs import hold
from explorer.kernels.model.inputs import evaluate, fill
from explorer.kernels.model.structures import FORCE
from explorer.kernels.references import kernel as by_reference
from explorer.kernels.references import value_of
from explorer.kernels.stored import Bytes, store, stored
from explorer.kernels.structures import Vector
from explorer.kernels.templates import template
from explorer.kernels.time_stepping.bilinear_springs import bilinear
from explorer.kernels.time_stepping.march import AGAIN, changes_at, march
from explorer.kernels.time_stepping.newmark_error import following, local_error, middle
from explorer.kernels.time_stepping.newmark_iteration import HALVINGS, forces, mass, newton
from explorer.kernels.time_stepping.newmark_structures import Part, Problem, Record, Task, Workspace
from explorer.kernels.time_stepping.shared_march import PlaceRow, tell

__all__ = ["bind", "go", "run"]


@kernel(inline=True)
def begin(problem: Problem, record: Record, work: Workspace, row: int) -> None:
    """Take from the record what the first step looks back at."""
    n, t, state = work.x.size, record.t, work.state
    for i in range(n):
        work.a_before[i] = record.a[max(row - 1, 0), i]
    state[0].before = t[row] - t[row - 1] if row > 0 else 0.0
    if changes_at(problem.grid, t[row]):
        state[0].before = 0.0
    if problem.method.interpolated:
        fill(problem.bundles.inp, t[row], record.q[row], record.v[row], n)
        forces(problem, work.F0)


@kernel(inline=True)
def cross(problem: Problem, record: Record, work: Workspace, row: int, k: int) -> bool:
    """Go on to interval `k` of the inputs: accelerations jump by M^-1 (F+ - F-).

    Return whether it could: M is regular.
    """
    bundles, bands, M, W, n = (
        problem.bundles,
        problem.bands,
        problem.matrices.M,
        work.W,
        work.x.size,
    )
    below, above, jump = bands.mass_below, bands.mass_above, work.r
    fill(bundles.inp, record.t[row], record.q[row], record.v[row], n)
    if problem.options.moves:
        mass(problem)
    for i in range(n):
        for j in range(max(0, i - below), min(n, i + above + below + 1)):
            W[i, j] = M[i, j] if j <= i + above else 0.0
    if lu_factor(W, n, below, above, work.pivots) != 0:
        return False
    evaluate(bundles, FORCE)  # springs do not jump
    for i in range(n):
        jump[i] = -bundles.out[i]
    hold(problem.grid.drive, bundles.inp, k)
    evaluate(bundles, FORCE)
    for i in range(n):
        jump[i] += bundles.out[i]
    lu_solve(W, n, below, above, work.pivots, jump)
    for i in range(n):
        record.a[row, i] += jump[i]
        work.true0[i] += jump[i]
    begin(problem, record, work, row)
    return True


@kernel(inline=True)
def rescale(problem: Problem, work: Workspace, h: float) -> None:
    """Set c for a step h."""
    method, state = problem.method, work.state
    if h != state[0].scaled:
        state[0].scaled = h
        state[0].c_d = method.c_d * h**method.power
        state[0].c_v = method.c_v * h ** (method.power - 1)
        state[0].c_a = method.c_a * h ** (method.power - 2)


@kernel(inline=True)
def moves_to(problem: Problem, work: Workspace, a: Vector, h: float) -> bool:
    """Whether carried accelerations move as the step becomes h; set them, and begin Newton's x."""
    am, af, before = problem.method.alpha_m, problem.method.alpha_f, work.state[0].before
    x, a_before, a_moved, moved = work.x, work.a_before, work.a_moved, False
    ahead = h / (before * work.state[0].c_a) if before > 0.0 else 0.0
    if am != af and before > 0.0 and abs(h - before) > 1e-9 * before:
        moved = True
        shift = (am - af) * (h - before) / before
        for i in range(x.size):
            a_moved[i] = a[i] + shift * (a[i] - a_before[i])
    for i in range(x.size):
        x[i] = ahead * ((a_moved[i] if moved else a[i]) - a_before[i])
    return moved


@kernel(inline=True)
def to_equilibrium(problem: Problem, work: Workspace, weight: float, a: Vector) -> None:
    """Correct accelerations by M^-1 (F - M a), with the factors W of A in the place of weight M.

    So what the step cannot resolve is filtered out, and M may be singular (Hairer, Wanner, Solving
    ODEs II, IV.8, where an estimate of the error is filtered in this way).
    """
    bands, M, W, F, n = problem.bands, problem.matrices.M, work.W, work.F, a.size
    for i in range(n):
        total = F[i]
        for j in range(max(0, i - bands.mass_below), min(n, i + bands.mass_above + 1)):
            total -= M[i, j] * a[j]
        F[i] = weight * total
    lu_solve(W, n, bands.below, bands.above, work.pivots, F)
    for i in range(n):
        a[i] += F[i]


@kernel(inline=True)
def estimate(problem: Problem, part: Part, work: Workspace) -> float:
    """Return the local error of a step in m, see `newmark_error`; set M^-1 F at its end."""
    am, af = problem.method.alpha_m, problem.method.alpha_f
    inp, n = problem.bundles.inp, work.x.size
    moves, weight = problem.options.moves, (1.0 - am) * part.c_a
    d0, v0, d1, v1 = part.d0, part.v0, part.d1, part.v1
    true0, true1, centre = work.true0, work.true1, work.a_m
    for i in range(n):
        true1[i] = part.a1[i]
    if am != 0.0 or af != 0.0:
        fill(inp, part.t1, d1, v1, n)
        forces(problem, work.F)
        if moves:
            mass(problem)
        to_equilibrium(problem, work, weight, true1)
    inp[0] = part.t0 + 0.5 * part.h
    middle(n, part.h, d0, v0, true0, d1, v1, true1, inp[1:])
    forces(problem, work.F)
    if moves:
        mass(problem)
    for i in range(n):
        centre[i] = 0.5 * (true0[i] + true1[i])
    to_equilibrium(problem, work, weight, centre)
    return local_error(n, part.h, problem.grid.t_end, d0, v0, true0, centre, true1, d1, v1)


@template
def adapt(problem: Problem, part: Part, work: Workspace, base: Vector) -> tuple[float, bool]:
    """Set the h that follows; return the local error in m, and whether the step is taken again."""
    error = estimate(problem, part, work)
    state, most, tol = work.state, problem.options.h_max, problem.options.error_tol
    h, t1, t_end, order = part.h, part.t1, problem.grid.t_end, problem.method.order
    proposed = following(error, tol, order, h, state[0].h, most, t1, t_end)
    state[0].h = abs(proposed)
    if proposed < 0.0:
        return error, True
    for i in range(base.size):
        work.true0[i] = work.true1[i]
        base[i] = part.a0[i]
    return error, False


@kernel(inline=True)
def commit(problem: Problem, part: Part, work: Workspace) -> None:
    """Accept a part of a step: springs have slipped, and the next part looks back at this one."""
    method, springs, inp, n = problem.method, problem.springs, problem.bundles.inp, work.x.size
    if springs.committed.size > 0:
        if method.weight < 1.0 or not problem.grid.even:  # at the end of the step, not at alpha_f
            fill(inp, part.t1, part.d1, part.v1, n)
            bilinear(problem.bundles, springs, work.F, problem.matrices.K_flat, False)
        for k in range(springs.committed.size):
            springs.committed[k] = springs.trial[k]
    for i in range(n):
        work.a_before[i] = part.a0[i]
    work.state[0].before = part.h
    if method.interpolated:
        fill(inp, part.t1, part.d1, part.v1, n)
        forces(problem, work.F0)


@template
def step(problem: Problem, record: Record, work: Workspace, row: int, h: float, t1: float) -> int:
    """Take a step, in 2^level parts of which `done` are behind; write row + 1."""
    q, v, a, state, even = record.q, record.v, record.a, work.state, problem.grid.even
    new, n = row + 1, work.x.size
    d0, v0, base, t0 = q[row], v[row], a[row], record.t[row]
    d1, v1, a1 = q[new], v[new], a[new]
    level, done, parts, size = 0, 0, 0, h
    spent, worst, largest, error = 0, 0.0, 0.0, 0.0
    while True:
        end = t1 if level == 0 or done == (1 << level) - 1 else t0 + size
        rescale(problem, work, size)
        c_d, c_v, c_a = state[0].c_d, state[0].c_v, state[0].c_a
        a0 = work.a_moved if moves_to(problem, work, base, size) else base
        part = Part(t0, end, size, c_d, c_v, c_a, d0, v0, a0, d1, v1, a1)
        status, iterations, norm, ratio = newton(problem, part, work)
        spent += iterations
        if status != SUCCESS:
            if even and level < HALVINGS:
                level, done, size = level + 1, 2 * done, 0.5 * size
                continue
            if not even and h > 1e-12 * problem.grid.t_end:
                state[0].h = 0.5 * h
                return AGAIN
            record.residual[new] = norm
            return status
        worst, largest = max(worst, norm), max(largest, ratio)
        if not even:
            error, again = adapt(problem, part, work, base)
            if again:
                return AGAIN
        commit(problem, part, work)
        done += 1
        parts += 1
        if done == 1 << level:
            break
        for i in range(n):
            work.part_d[i], work.part_v[i], work.part_a[i] = d1[i], v1[i], a1[i]
        d0, v0, base, t0 = work.part_d, work.part_v, work.part_a, end
        while done % 2 == 0:  # halves that fill a whole
            level, done, size = level - 1, done // 2, 2.0 * size
    record.error[new], record.residual[new], record.imbalance[new] = error, worst, largest
    record.parts[new], record.iterations[new] = parts, spent
    for k in range(problem.springs.committed.size):
        record.slip[new, k] = problem.springs.committed[k]
    return SUCCESS


@by_reference(inner=True)
def go(problem: Problem, record: Record, work: Workspace) -> int:
    """Do what `run` does, with structures that are stored."""
    return march(begin, cross, step, value_of(problem), value_of(record), value_of(work))


@kernel()
def run(problem: Problem, record: Record, work: Workspace) -> int:
    """March from row state.row to t_end; return a status of `explorer.codes`, FULL or BREAK.

    NEWTON_CAP, SINGULAR, NOT_FINITE: a step failed, also in 2^HALVINGS parts; record.residual tells
    |r| in the row behind the last.
    """
    return go(problem, record, work)


@by_reference()
def bind(task: Task, memory: Bytes, places: PlaceRow) -> int:
    """Store a task where the memory has room for it, and tell its places; return its bytes."""
    needed = store(memory, task)
    if memory.size >= needed:
        tell(stored(memory, Task), places)
    return needed
