"""The Euler-Moreau time-stepping scheme for M x' = f(t, x) + r, y = h(x, t, lam), r = g(x, t, lam).

Event-capturing schemes, "First order systems" and its summary, with the corrections listed in the
docstring of `explorer.schemes.euler_moreau`. One iteration from (x, lam), at first those of the
step's start, with u = s x + (1 - s) x_i the point where the relation holds and a the weight of r::

    R_free = M (x - x_i) - h theta f(t_{i+1}, x) - h (1 - theta) f_i
    V = M - h theta f_x - h a s G0                   (= W - h G0 for gamma = 1)
    d = V^-1 [-R_free + h a g(u, lam) + h (1 - a) r_i],   P = h a V^-1 G1
    M_lcp = H1 + s H0 P,   q_lcp = h(u, lam) + s H0 d - M_lcp lam
    y = M_lcp lam+ + q_lcp and the laws;   x+ = x + d + P (lam+ - lam)

gamma on r: a = gamma, s = 1; gamma on the relation: a = 1, s = gamma. V is never split into W and
I - h W^-1 G0. A linear system needs one iteration; its V is factored once for each step size if it
does not depend on t.
"""

import numpy as np

from explorer.codes import NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.complementarity.box_lcp import LEMKE, PIVOTING, solve_box, solve_from_sides
from explorer.kernels.complementarity.structures import Sides
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.model.held_inputs import hold
from explorer.kernels.references import kernel as by_reference
from explorer.kernels.references import value_of
from explorer.kernels.stored import Bytes, store, stored
from explorer.kernels.structures import Integers, Vector
from explorer.kernels.templates import template
from explorer.kernels.time_stepping.euler_moreau_structures import (
    CONSTANT,
    NONLINEAR,
    Iterate,
    Linear,
    Method,
    Model,
    Options,
    Problem,
    Record,
    Task,
    Workspace,
)
from explorer.kernels.time_stepping.march import march
from explorer.kernels.time_stepping.newton_convergence import at_round_off
from explorer.kernels.time_stepping.shared_march import PlaceRow, tell

__all__ = ["bind", "go", "run"]

FORCE, FORCE_X, RELATION, RELATION_X = 0, 1, 2, 3  # rows of `Model.table`


@kernel(inline=True)
def evaluate(model: Model, bundle: int) -> None:
    """Evaluate a bundle at the input vector."""
    call(model.table[bundle, 0], model.table[bundle, 1], model.out, model.inp)


@kernel(inline=True)
def place(flat: Vector, values: Vector, start: int, places: Integers) -> None:
    """Put ``values[start:]`` to `places` of a matrix; its other entries stay zero."""
    for k in range(places.size):
        flat[places[k]] = values[start + k]


@kernel(inline=True)
def evaluate_at(model: Model, record: Record, state: Iterate, first: int, again: bool) -> None:
    """Set y of the first row, and f and r there; `again`: the row is written, inputs change."""
    inp, out = model.inp, model.out
    n, m = record.x.shape[1], record.lam.shape[1]
    inp[0] = record.t[first]
    for j in range(n):
        inp[1 + j] = record.x[first, j]
    for j in range(m):
        inp[1 + n + j] = record.lam[first, j]
    evaluate(model, FORCE)
    for j in range(n):
        state.f0[j] = out[j]
    evaluate(model, RELATION)
    for j in range(0 if again else m):
        record.y[first, j] = out[j]
    for j in range(n):
        state.r0[j] = out[m + j]


@kernel(inline=True)
def predict(model: Model, record: Record, state: Iterate, i: int, t1: float, at: float) -> None:
    """Begin a step at its start, with f at t1, the relation at time `at`, the sides of before."""
    inp, out = model.inp, model.out
    x, lam, side = record.x, record.lam, record.side
    n, m = x.shape[1], lam.shape[1]
    for j in range(n):
        state.x[j] = x[i, j]
        inp[1 + j] = x[i, j]
    for j in range(m):
        state.lam[j] = lam[i, j]
        inp[1 + n + j] = lam[i, j]
        side[i + 1, j] = side[i, j]
    inp[0] = t1
    evaluate(model, FORCE)
    for j in range(n):
        state.f1[j] = out[j]
    inp[0] = at
    evaluate(model, RELATION)


@kernel(inline=True)
def right_side(
    model: Model, method: Method, state: Iterate, start: Vector, h: float, moved: bool
) -> None:
    """Set V d and the relation from what RELATION has written; `moved`: x is not the start."""
    theta, a, out, M = method.theta, method.a, model.out, model.M
    f0, f1, r0, d, x = state.f0, state.f1, state.r0, state.d, state.x
    n, m = x.size, state.relation.size
    for j in range(m):
        state.relation[j] = out[j]
    for j in range(n):
        total = h * (theta * f1[j] + (1.0 - theta) * f0[j])
        total += h * (a * out[m + j] + (1.0 - a) * r0[j])
        if moved:
            for k in range(n):
                total -= M[j, k] * (x[k] - start[k])
        d[j] = total


@kernel(inline=True)
def derivatives(
    model: Model, method: Method, linear: Linear, x: Vector, start: Vector, t1: float, at: float
) -> None:
    """Set F at (t1, x) and H0, H1, G0, G1 where the relation holds."""
    inp, out, places, s = model.inp, model.out, model.places, method.s
    n, m = x.size, linear.H1.shape[0]
    inp[0] = t1
    for j in range(n):
        inp[1 + j] = x[j]
    evaluate(model, FORCE_X)
    place(linear.F.reshape(n * n), out, 0, places.F)
    inp[0] = at
    for j in range(n):
        inp[1 + j] = s * x[j] + (1.0 - s) * start[j]
    evaluate(model, RELATION_X)
    first = places.H0.size
    place(linear.H0.reshape(m * n), out, 0, places.H0)
    place(linear.H1.reshape(m * m), out, first, places.H1)
    first += places.H1.size
    place(linear.G0.reshape(n * n), out, first, places.G0)
    place(linear.G1.reshape(n * m), out, first + places.G0.size, places.G1)


@kernel(inline=True)
def linearise(model: Model, method: Method, work: Workspace, h: float) -> int:
    """Factor V and set P and M_lcp."""
    theta, a, s = method.theta, method.a, method.s
    F, H0, H1, G0, G1, V, pivots, P = work.linear
    M, D, column, n, m = model.M, work.box.M, work.iterate.column, F.shape[0], H1.shape[0]
    total = 0.0
    for j in range(n):
        for k in range(n):
            V[j, k] = M[j, k] - h * theta * F[j, k] - h * a * s * G0[j, k]
            total += V[j, k]
    if not np.isfinite(total):
        return NOT_FINITE
    if lu_factor(V, n, n - 1, n - 1, pivots) != 0:
        return SINGULAR
    for c in range(m):
        for j in range(n):
            column[j] = h * a * G1[j, c]
        lu_solve(V, n, n - 1, n - 1, pivots, column)
        for j in range(n):
            P[j, c] = column[j]
        for j in range(m):
            total = H1[j, c]
            for k in range(n):
                total += s * H0[j, k] * column[k]
            D[j, c] = total
    return SUCCESS


@kernel(inline=True)
def one_step_problem(method: Method, work: Workspace) -> bool:
    """Set d and q_lcp; return whether they are finite."""
    s, D, q, H0 = method.s, work.box.M, work.box.q, work.linear.H0
    d, lam, relation = work.iterate.d, work.iterate.lam, work.iterate.relation
    n, m = d.size, lam.size
    lu_solve(work.linear.V, n, n - 1, n - 1, work.linear.pivots, d)
    size = 0.0
    for j in range(m):
        total = relation[j]
        for k in range(n):
            total += s * H0[j, k] * d[k]
        for k in range(m):
            total -= D[j, k] * lam[k]
        q[j] = total
        size += total
    return np.isfinite(size)


@kernel(inline=True)
def move(linear: Linear, state: Iterate, new: Vector) -> tuple[float, float, float]:
    """Take x and lam to the solution; return by how much x moves, its size, how far lam jumps."""
    x, lam, d, P = state.x, state.lam, state.d, linear.P
    change, size, jump = 0.0, 0.0, 0.0
    for j in range(x.size):
        total = d[j]
        for k in range(lam.size):
            total += P[j, k] * (new[k] - lam[k])
        x[j] += total
        change += abs(total)
        size += abs(x[j])
    if np.isfinite(size):
        for k in range(lam.size):
            jump = max(jump, abs(new[k] - lam[k]) - 4e-16 * abs(new[k]))
            lam[k] = new[k]
    return change, size, jump


@kernel(inline=True)
def newton_residual(
    model: Model, method: Method, work: Workspace, start: Vector, y: Vector, h: float
) -> float:
    """Return the residual at the iterate beside its terms; RELATION has been evaluated there."""
    theta, a, out, M = method.theta, method.a, model.out, model.M
    F, H0, G1, D, q = work.linear.F, work.linear.H0, work.linear.G1, work.box.M, work.box.q
    state = work.iterate
    f0, f1, r0, x, lam = state.f0, state.f1, state.r0, state.x, state.lam
    n, m = x.size, lam.size
    worst = 0.0
    for j in range(n):
        total = -h * (theta * f1[j] + (1.0 - theta) * f0[j])
        total -= h * (a * out[m + j] + (1.0 - a) * r0[j])
        terms = h * (abs(f1[j]) + abs(f0[j]) + abs(out[m + j]))
        noise = 0.0  # what the terms of f and h round to, however they cancel
        for k in range(n):
            total += M[j, k] * (x[k] - start[k])
            terms += abs(M[j, k] * start[k])
            noise += h * abs(F[j, k] * x[k])
        for k in range(m):  # what r is a difference of, where it slides
            terms += h * abs(G1[j, k] * lam[k])
        off = max(0.0, abs(total) - 1e-15 * noise) + 0.0 * total
        worst = max(worst, off / terms if terms > 0.0 else off)
    for j in range(m):
        total, noise = abs(q[j]), 0.0
        for k in range(m):
            total += abs(D[j, k] * lam[k])
        for k in range(n):
            noise += abs(H0[j, k] * x[k])
        off = max(0.0, abs(out[j] - y[j]) - 1e-15 * noise) + 0.0 * out[j]
        worst = max(worst, off / total if total > 0.0 else off)
    return worst


@kernel(inline=True)
def solve_laws(options: Options, work: Workspace, sides: Sides) -> tuple[int, float]:
    """Solve the one-step problem from the sides of the step before; return status and residual."""
    method = options.lcp
    if method == PIVOTING:
        status, off = solve_from_sides(work.box, sides, options.lcp_tol, work.block)
        if status == SUCCESS:
            return status, off
        method = LEMKE
    return solve_box(method, work.box, sides, options.lcp_tol, work.block, work.lemke)


@kernel(inline=True)
def newton(problem: Problem, record: Record, work: Workspace, i: int, h: float, t1: float) -> int:
    """Solve the equations of step i; return a status.

    SINGULAR: V has no inverse. NOT_FINITE: f, h, g or a derivative is infinite or no number.
    LCP_RAY, LCP_ITERATIONS: the laws have no solution, or none was found. NEWTON_CAP: the residual
    stays above its tolerance after `newton_max` iterations.
    """
    model, method, options = problem.bundles, problem.method, problem.options
    inp, out, s, state = model.inp, model.out, method.s, work.iterate
    x, lam, f1, new, y = state.x, state.lam, state.f1, work.solution.lam, work.solution.y
    start, n, m = record.x[i], state.x.size, state.lam.size
    sides = Sides(record.side[i + 1], new, y)
    nonlinear, constant = options.kind == NONLINEAR, options.kind == CONSTANT
    at = record.t[i] + s * (t1 - record.t[i]) if s < 1.0 else t1
    predict(model, record, state, i, t1, at)
    before, still = np.inf, 0
    for iteration in range(options.newton_max if nonlinear else 1):
        record.iterations[i + 1] = iteration + 1
        right_side(model, method, state, start, h, iteration > 0)
        if not constant or h != work.state[0].factored:
            derivatives(model, method, work.linear, x, start, t1, at)
            status = linearise(model, method, work, h)
            if status != SUCCESS:
                return status
            work.state[0].factored = h
            work.block.kept[0].count = -1
        if not one_step_problem(method, work):
            return NOT_FINITE
        if m > 0:
            status, off = solve_laws(options, work, sides)
            record.residuals[i + 1, 0] = off
            if status != SUCCESS:
                return status
        change, size, jump = move(work.linear, state, new)
        if not np.isfinite(size):
            return NOT_FINITE
        # values at the new point, for the next iteration or the next step
        inp[0] = t1
        for j in range(n):
            inp[1 + j] = x[j]
        for k in range(m):
            inp[1 + n + k] = lam[k]
        evaluate(model, FORCE)
        for j in range(n):
            f1[j] = out[j]
        if not nonlinear:
            return SUCCESS
        inp[0] = at
        for j in range(n):
            inp[1 + j] = s * x[j] + (1.0 - s) * start[j]
        evaluate(model, RELATION)
        worst = newton_residual(model, method, work, start, y, h)
        if not np.isfinite(worst):
            return NOT_FINITE
        record.residuals[i + 1, 1] = worst
        still = still + 1 if change > 0.5 * before else 0
        before = change
        arrived = at_round_off(change, size, still) and (jump <= 0.0 or still >= 3)
        if worst <= options.newton_tol or arrived:
            return SUCCESS
    return NEWTON_CAP


@kernel(inline=True)
def keep(model: Model, method: Method, record: Record, work: Workspace, i: int, t1: float) -> None:
    """Write the end of step i, where f and r are those of the next one's start."""
    inp, out, state, y = model.inp, model.out, work.iterate, work.solution.y
    n, m = state.x.size, state.lam.size
    if method.a < 1.0:
        inp[0] = t1
        for j in range(n):
            inp[1 + j] = state.x[j]
        evaluate(model, RELATION)
        for j in range(n):
            state.r0[j] = out[m + j]
    for j in range(n):
        record.x[i + 1, j] = state.x[j]
        state.f0[j] = state.f1[j]
    for j in range(m):
        record.lam[i + 1, j] = state.lam[j]
        record.y[i + 1, j] = y[j]


@kernel(inline=True)
def begin(problem: Problem, record: Record, work: Workspace, row: int) -> None:
    """Set y of the row where the march begins, f and r there; forget what was factored."""
    work.state[0].factored = 0.0
    work.block.kept[0].count = -1
    evaluate_at(problem.bundles, record, work.iterate, row, False)


@kernel(inline=True)
def cross(problem: Problem, record: Record, work: Workspace, row: int, k: int) -> bool:
    """Go on to interval `k` of the inputs; return whether it could."""
    hold(problem.grid.drive, problem.bundles.inp, k)
    evaluate_at(problem.bundles, record, work.iterate, row, True)
    return True


@template
def step(problem: Problem, record: Record, work: Workspace, row: int, h: float, t1: float) -> int:
    """Take a step and write row + 1."""
    status = newton(problem, record, work, row, h, t1)
    if status == SUCCESS:
        keep(problem.bundles, problem.method, record, work, row, t1)
    return status


@by_reference(inner=True)
def go(problem: Problem, record: Record, work: Workspace) -> int:
    """Do what `run` does, with structures that are stored."""
    return march(begin, cross, step, value_of(problem), value_of(record), value_of(work))


@kernel()
def run(problem: Problem, record: Record, work: Workspace) -> int:
    """March from row state.row to the last one; return a status of `explorer.codes`.

    What `newton` returns is that of the step behind the last row, whose residuals the record holds.
    """
    return go(problem, record, work)


@by_reference()
def bind(task: Task, memory: Bytes, places: PlaceRow) -> int:
    """Store a task where the memory has room for it, and tell its places; return its bytes."""
    needed = store(memory, task)
    if memory.size >= needed:
        tell(stored(memory, Task), places)
    return needed
