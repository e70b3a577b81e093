"""The Newmark family and generalised-alpha for M a = F with constant M, F_q, F_v.

The equations of `explorer.kernels.time_stepping.newmark`, where one iteration is exact and A is the
same in every step of the same size: a step is one evaluation of the force at the state with a_1 =
a_0 and one solution with factors that were made outside::

    A x = share F(t_f, d_f, v_f) + old F_0 - M a_0        all at x = 0
    (d, v, a)_1 = (d + h v + h^2 a / 2, v + h a, a)_0 + c x

Products run over entries, never over zeros.
"""

import numpy as np

from explorer.codes import NOT_FINITE, SUCCESS
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.factored_solve import solve_factored
from explorer.kernels.model.held_inputs import hold
from explorer.kernels.model.inputs import fill, force
from explorer.kernels.model.structures import FORCE
from explorer.kernels.references import kernel as by_reference
from explorer.kernels.references import value_of
from explorer.kernels.stored import Bytes, store, stored
from explorer.kernels.structures import Vector
from explorer.kernels.templates import template
from explorer.kernels.time_stepping.march import AGAIN, UNFACTORED, changes_at, march
from explorer.kernels.time_stepping.newmark_error import following, local_error, middle
from explorer.kernels.time_stepping.newmark_structures import (
    LinearProblem,
    LinearTask,
    LinearWorkspace,
    Record,
)
from explorer.kernels.time_stepping.shared_march import PlaceRow, tell

__all__ = ["bind", "go", "run"]


@kernel(inline=True)
def begin_linear(problem: LinearProblem, record: Record, work: LinearWorkspace, row: int) -> None:
    """Set c for the step that is factored, and F at the start."""
    method, state, n = problem.method, work.state, work.x.size
    h = state[0].factored
    state[0].c_d = method.c_d * h**method.power
    state[0].c_v = method.c_v * h ** (method.power - 1)
    state[0].c_a = method.c_a * h ** (method.power - 2)
    if method.interpolated:
        fill(problem.bundles.inp, record.t[row], record.q[row], record.v[row], n)
        force(problem.bundles, FORCE, problem.linear, work.F0)


@kernel(inline=True)
def divide(problem: LinearProblem, F: Vector) -> bool:
    """Overwrite F by M^-1 F; return whether M is regular."""
    ptr, col, val, n = problem.mass.ptr, problem.mass.col, problem.mass.val, F.size
    if problem.inertia.inverse.size > 0:
        solve_factored(problem.inertia, n, F)
        return True
    for i in range(n):  # of a diagonal M no factors are made
        if ptr[i + 1] - ptr[i] != 1 or col[ptr[i]] != i or val[ptr[i]] == 0.0:
            return False
    for i in range(n):
        F[i] /= val[ptr[i]]
    return True


@kernel(inline=True)
def cross_linear(
    problem: LinearProblem, record: Record, work: LinearWorkspace, row: int, k: int
) -> bool:
    """Go on to interval `k` of the inputs: accelerations jump by M^-1 (F+ - F-).

    Return whether it could: M is regular.
    """
    bundles, linear, jump, n = problem.bundles, problem.linear, work.F, work.x.size
    fill(bundles.inp, record.t[row], record.q[row], record.v[row], n)
    force(bundles, FORCE, linear, work.centre)
    hold(problem.grid.drive, bundles.inp, k)
    force(bundles, FORCE, linear, work.F0)
    for i in range(n):
        jump[i] = work.F0[i] - work.centre[i]
    if not divide(problem, jump):
        return False
    for i in range(n):
        record.a[row, i] += jump[i]
        work.true0[i] += jump[i]
    return True


@kernel(inline=True)
def to_equilibrium(problem: LinearProblem, weight: float, F: Vector, a: Vector) -> None:
    """Correct accelerations by M^-1 (F - M a), A in the place of weight M: see the other kernel."""
    ptr, col, val, n = problem.mass.ptr, problem.mass.col, problem.mass.val, a.size
    for i in range(n):
        total = F[i]
        for k in range(ptr[i], ptr[i + 1]):
            total -= val[k] * a[col[k]]
        F[i] = weight * total
    solve_factored(problem.factors, n, F)
    for i in range(n):
        a[i] += F[i]


@kernel(inline=True, wide=True)
def predict(
    problem: LinearProblem, record: Record, row: int, h: float, t1: float, a0: Vector
) -> None:
    """Set the state with a_1 = a_0; the input vector becomes (t_f, d_f, v_f)."""
    inp, q, v, n, w = problem.bundles.inp, record.q, record.v, a0.size, problem.method.weight
    new = row + 1
    inp[0] = w * t1 + (1.0 - w) * record.t[row]
    for i in range(n):
        ai, vi, qi = a0[i], v[row, i], q[row, i]
        dv = h * ai
        dq = h * (vi + 0.5 * dv)
        q[new, i] = qi + dq
        v[new, i] = vi + dv
        inp[1 + i] = qi + w * dq
        inp[1 + n + i] = vi + w * dv


@kernel(inline=True)
def correct(
    problem: LinearProblem, record: Record, work: LinearWorkspace, row: int, a0: Vector
) -> bool:
    """Solve for x, and add c x to the state; return whether it is finite."""
    q, v, a, new, n = record.q, record.v, record.a, row + 1, a0.size
    ptr, col, val = problem.mass.ptr, problem.mass.col, problem.mass.val
    F, F0, x, state = work.F, work.F0, work.x, work.state
    interpolated, share, old = problem.method.interpolated, problem.method.share, problem.method.old
    c_d, c_v, c_a = state[0].c_d, state[0].c_v, state[0].c_a
    force(problem.bundles, FORCE, problem.linear, F)
    for i in range(n):
        total = share * F[i]
        if interpolated:
            total += old * F0[i]
        for k in range(ptr[i], ptr[i + 1]):
            total -= val[k] * a0[col[k]]
        x[i] = total
    solve_factored(problem.factors, n, x)
    for i in range(n):
        da = c_a * x[i]
        q[new, i] += c_d * x[i]
        v[new, i] += c_v * x[i]
        a[new, i] = a0[i] + da
        if not abs(da) < np.inf:
            return False
    return True


@kernel(inline=True)
def estimate(
    problem: LinearProblem, record: Record, work: LinearWorkspace, row: int, h: float, t1: float
) -> float:
    """Return the local error of a step in m, see `newmark_error`; set M^-1 F at its end."""
    inp, method, linear, n = problem.bundles.inp, problem.method, problem.linear, work.x.size
    q0, v0, q1, v1 = record.q[row], record.v[row], record.q[row + 1], record.v[row + 1]
    true0, true1, centre = work.true0, work.true1, work.centre
    weight = (1.0 - method.alpha_m) * work.state[0].c_a
    for i in range(n):
        true1[i] = record.a[row + 1, i]
    if method.alpha_m != 0.0 or method.alpha_f != 0.0:
        fill(inp, t1, q1, v1, n)
        force(problem.bundles, FORCE, linear, work.F)
        to_equilibrium(problem, weight, work.F, true1)
    inp[0] = record.t[row] + 0.5 * h
    middle(n, h, q0, v0, true0, q1, v1, true1, inp[1:])
    force(problem.bundles, FORCE, linear, work.F)
    for i in range(n):
        centre[i] = 0.5 * (true0[i] + true1[i])
    to_equilibrium(problem, weight, work.F, centre)
    return local_error(n, h, problem.grid.t_end, q0, v0, true0, centre, true1, q1, v1)


@template
def step_linear(
    problem: LinearProblem, record: Record, work: LinearWorkspace, row: int, h: float, t1: float
) -> int:
    """Take a step and write row + 1."""
    method, options, state = problem.method, problem.options, work.state
    t, a, am, af, n = record.t, record.a, method.alpha_m, method.alpha_f, work.x.size
    if h != state[0].factored:
        state[0].factored = h
        return UNFACTORED
    a0 = a[row]
    if am != af and row > 0:
        before = t[row] - t[row - 1]
        if abs(h - before) > 1e-9 * before and not changes_at(problem.grid, t[row]):
            for i in range(n):
                work.a_moved[i] = a0[i] + (am - af) * (h - before) / before * (
                    a0[i] - a[row - 1, i]
                )
            a0 = work.a_moved
    predict(problem, record, row, h, t1, a0)
    if not correct(problem, record, work, row, a0):
        return NOT_FINITE
    if not problem.grid.even:
        error = estimate(problem, record, work, row, h, t1)
        most, tol, t_end = options.h_max, options.error_tol, problem.grid.t_end
        proposed = following(error, tol, method.order, h, state[0].h, most, t1, t_end)
        state[0].h = abs(proposed)
        if proposed < 0.0:
            return AGAIN
        record.error[row + 1] = error
        for i in range(n):
            work.true0[i] = work.true1[i]
            a[row, i] = a0[i]
    if method.interpolated:
        fill(problem.bundles.inp, t1, record.q[row + 1], record.v[row + 1], n)
        force(problem.bundles, FORCE, problem.linear, work.F0)
    return SUCCESS


@by_reference(inner=True)
def go(problem: LinearProblem, record: Record, work: LinearWorkspace) -> int:
    """Do what `run` does, with structures that are stored."""
    return march(
        begin_linear, cross_linear, step_linear, value_of(problem), value_of(record), value_of(work)
    )


@kernel()
def run(problem: LinearProblem, record: Record, work: LinearWorkspace) -> int:
    """March from row state.row to t_end; return a status of `explorer.codes`, or of `march`.

    NOT_FINITE: the row behind the last is not. UNFACTORED: the factors for the step state.factored
    are wanted. BREAK: M is singular.
    """
    return go(problem, record, work)


@by_reference()
def bind(task: LinearTask, memory: Bytes, places: PlaceRow) -> int:
    """Store a task where the memory has room for it, and tell its places; return its bytes."""
    needed = store(memory, task)
    if memory.size >= needed:
        tell(stored(memory, LinearTask), places)
    return needed
