"""x' = f(t, x, rho) of a mode, its tangent linear model and its guards, behind native functions.

Two kinds of problem share everything that marches (`explorer.kernels.event_driven.march`):

automaton    modes with an explicit f each, guards and resets as formulas
mechanical   x = (q, v); a mode is the set of closed contacts, held at acceleration level by
             [[M, G'], [G, 0]] [a; -lam] = [F; -gamma],  gap'' = G a + gamma
             where a sticking contact holds its tangent row too, and the column of a sliding one
             is that of G - sigma mu H (H its tangent, sigma the sign of its sliding velocity);
             constraints are rows that are always held, or by the penalty formulation
             phi'' + 2 xi omega phi' + omega^2 phi = lam / alpha, whose saddle matrix has
             -1 / alpha on its diagonal (Corner et al. 2019, eq. (64): M + alpha phi_q' phi_q is
             never formed, because its round-off stalls the control of the steps)

Tangent linear model: Corner et al. 2019, eq. (14), (17), (18) with (15) for the saddle system: with
R = M a - F - G' lam and A = G a + gamma, the same factors solve
[[M, G'], [G, 0]] [a'; -lam'] = -[R_q Q + R_v V + R_rho; A_q Q + A_v V + A_rho].

The vector marched is y = [x, z, then per parameter (S, Z)], z the running cost. Every function
reads [t, x, rho, x', lam, e, sigma, sides].

Statuses: SUCCESS; SINGULAR, the saddle matrix is singular: no mass, or redundant contacts.
"""

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.elimination import eliminate
from explorer.kernels.event_driven.records import (
    CHANGES,
    CONTACTS,
    DYNAMICS,
    GAPS,
    STEP,
    FunctionRows,
)
from explorer.kernels.event_driven.structures import Automaton, Problem
from explorer.kernels.jit import call
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.model.held_inputs import hold
from explorer.kernels.references import kernel
from explorer.kernels.structures import Table, Vector

PARAMETERLESS, BY_TIME = -1, -2  # in place of a parameter: a start value; the time


@kernel(inline=True)
def evaluate(table: FunctionRows, row: int, inp: Vector, out: Vector) -> None:
    """Write the outputs of the function of a row to `out`."""
    call(table[row].address, table[row].data, out, inp)


@kernel(inline=True)
def assemble(problem: Problem, first: int) -> int:
    """Write the saddle matrix of the rows held at the state in `inp`, and its right side.

    Of the rows those from `first` on. Returns its size: the held rows stand in their order behind
    the coordinates. Leaves the outputs of CONTACTS in `out` if any is held.
    """
    n, nc, count = problem.sizes.n, problem.sizes.n_c, problem.sizes.rows
    table, inp, out, rows = problem.functions.table, problem.inp, problem.out, problem.rows
    W, right = problem.saddle.W, problem.saddle.solution
    evaluate(table, DYNAMICS, inp, out)
    for i in range(n):
        for j in range(n):
            W[i, j] = out[i * n + j]
        right[i] = out[n * n + i]
    size = n
    if problem.state[0].held == 0 or first == count:
        return size
    evaluate(table, CONTACTS, inp, out)
    partner = problem.partner
    G, mu = 2 * count, 2 * count + count * (n + 1)
    for c in range(first, count):
        if rows[c].closed == 1:
            for j in range(n):
                W[size, j] = out[G + c * n + j]
                W[j, size] = W[size, j]
            for j in range(n, size + 1):
                W[size, j] = 0.0
                W[j, size] = 0.0
            if c < nc and partner[c] >= 0:
                k = partner[c]
                pull = rows[k].sigma * out[mu + k - nc]
                for j in range(n):
                    W[j, size] -= pull * out[G + k * n + j]
            if c >= nc + problem.sizes.n_t:  # 0 but of the penalty formulation
                W[size, size] = -inp[problem.sizes.penalty + 2]
            right[size] = -out[G + count * n + c]
            size += 1
    return size


@kernel(inline=True)
def accelerate(problem: Problem) -> int:
    """Solve for accelerations and contact forces at the state in `inp`, and write them there.

    W keeps the factors of the saddle matrix, contacts in their order behind the coordinates. The
    outputs of CONTACTS are in `out` if a contact is closed.
    """
    n, nc, nt, count = problem.sizes.n, problem.sizes.n_c, problem.sizes.n_t, problem.sizes.rows
    rates, lam, sigma = problem.sizes.rates, problem.sizes.lam, problem.sizes.sigma
    inp, rows = problem.inp, problem.rows
    W, pivots, solution = problem.saddle.W, problem.saddle.pivots, problem.saddle.solution
    if not eliminate(problem):
        size = assemble(problem, 0)
        last = size - 1
        if last == 0 and W[last, last] != 0.0:
            pivots[last] = 0
            solution[last] /= W[last, last]
        else:
            if lu_factor(W, size, size - 1, size - 1, pivots) != 0:
                return SINGULAR
            lu_solve(W, size, size - 1, size - 1, pivots, solution)
    for i in range(n):
        inp[rates + i] = inp[1 + n + i]
        inp[rates + n + i] = solution[i]
    size = n
    for c in range(count):
        inp[lam + c] = 0.0
        if rows[c].closed == 1:
            inp[lam + c] = -solution[size]
            size += 1
    for k in range(nt):
        inp[sigma + k] = rows[nc + k].sigma
    return SUCCESS


@kernel(inline=True)
def tangent(problem: Problem, w: int) -> None:
    """Solve for (a', -lam') along `direction` and parameter w, PARAMETERLESS or BY_TIME.

    Wants `accelerate` done and the outputs of STEP in `out`.
    """
    n, count, nr = problem.sizes.n, problem.sizes.rows, problem.sizes.n_rho
    out, rows, saddle = problem.out, problem.rows, problem.saddle
    right, along = saddle.tangent, saddle.direction
    for i in range(n):
        total = 0.0
        for j in range(n):
            total -= out[i * n + j] * along[j] + out[n * n + i * n + j] * along[n + j]
        if w >= 0:
            total -= out[2 * n * n + i * nr + w]
        elif w == BY_TIME:
            total -= out[2 * n * n + n * nr + i]
        right[i] = total
    size = n
    at = 2 * n * n + n * nr + n
    for c in range(count):
        if rows[c].closed == 1:
            total = 0.0
            for j in range(n):
                total -= out[at + c * n + j] * along[j]
                total -= out[at + count * n + c * n + j] * along[n + j]
            if w >= 0:
                total -= out[at + 2 * count * n + c * nr + w]
            elif w == BY_TIME:
                total -= out[at + 2 * count * n + count * nr + c]
            right[size] = total
            size += 1
    lu_solve(saddle.W, size, size - 1, size - 1, saddle.pivots, right)


@kernel(inline=True)
def keep_forces(problem: Problem, k: int) -> None:
    """Note the derivatives of the forces of column `k`, behind `tangent`."""
    size = problem.sizes.n
    for c in range(problem.sizes.rows):
        problem.saddle.forces[k, c] = 0.0
        if problem.rows[c].closed == 1:
            problem.saddle.forces[k, c] = -problem.saddle.tangent[size]
            size += 1


@kernel(inline=True)
def field(problem: Problem, y: Vector, dy: Vector, width: int) -> None:
    """Write x' of an automaton and the first `width` columns of its tangent linear model."""
    nx, nr, rates = problem.sizes.n_x, problem.sizes.n_rho, problem.sizes.rates
    inp, out, wrt, mode = problem.inp, problem.out, problem.wrt, problem.state[0].mode
    block = nx + 1
    row = mode if width == 0 else problem.functions.tlm + mode
    evaluate(problem.functions.table, row, inp, out)
    for i in range(nx):
        dy[i] = out[i]
        inp[rates + i] = out[i]
    for k in range(width):
        at = (k + 1) * block
        w = wrt[k]
        for i in range(nx):
            total = out[nx + nx * nx + i * nr + w] if w >= 0 else 0.0
            for j in range(nx):
                total += out[nx + i * nx + j] * y[at + j]
            dy[at + i] = total


@kernel(inline=True)
def motion(problem: Problem, y: Vector, dy: Vector, width: int) -> int:
    """Write (v, a) of a mechanical system and the first `width` columns of its derivatives."""
    nx, n, rates = problem.sizes.n_x, problem.sizes.n, problem.sizes.rates
    inp, wrt, saddle = problem.inp, problem.wrt, problem.saddle
    block = nx + 1
    status = accelerate(problem)
    if status != SUCCESS:
        return status
    for i in range(n):
        dy[i] = y[n + i]
        dy[n + i] = inp[rates + n + i]
    if width > 0:
        evaluate(problem.functions.table, STEP, inp, problem.out)
    for k in range(width):
        at = (k + 1) * block
        for j in range(nx):
            saddle.direction[j] = y[at + j]
        tangent(problem, wrt[k])
        for i in range(n):
            dy[at + i] = y[at + n + i]
            dy[at + n + i] = saddle.tangent[i]
        if problem.functions.cost >= 0:  # which may depend on them
            keep_forces(problem, k)
    return SUCCESS


@kernel(inline=True)
def slopes(problem: Problem, t: float, y: Vector, dy: Vector, width: int) -> int:
    """Write y' for the state, the running cost and the first `width` sensitivity columns."""
    nx, inp, sides = problem.sizes.n_x, problem.inp, problem.sides
    block = nx + 1
    inp[0] = t
    for i in range(nx):
        inp[1 + i] = y[i]
    for k in range(sides.size):
        inp[sides[k].place] = sides[k].now
    if problem.sizes.mechanical:
        status = motion(problem, y, dy, width)
        if status != SUCCESS:
            return status
    else:
        field(problem, y, dy, width)
    for k in range(width + 1):
        dy[k * block + nx] = 0.0
    if problem.functions.cost >= 0:
        out, wrt = problem.out, problem.wrt
        evaluate(problem.functions.table, problem.functions.cost, inp, out)
        dy[nx], by_rho = out[0], 1 + 2 * nx + problem.sizes.rows
        for k in range(width):
            at = (k + 1) * block
            w = wrt[k]
            total = out[by_rho + w] if w >= 0 else 0.0
            for j in range(nx):
                total += out[1 + j] * y[at + j] + out[1 + nx + j] * dy[at + j]
            for c in range(problem.sizes.rows):
                total += out[1 + 2 * nx + c] * problem.saddle.forces[k, c]
            dy[at + nx] = total
    return SUCCESS


@kernel(inner=True)
def flow(problem: Problem, t: float, y: Vector, dy: Vector, width: int) -> int:
    """`slopes`, for the many places where a call costs little."""
    return slopes(problem, t, y, dy, width)


@kernel(inline=True)
def guard_count(problem: Problem, automaton: Automaton) -> int:
    """Return how many guards watch the present mode."""
    if problem.sizes.mechanical:
        return problem.sizes.n_c + 2 * problem.sizes.n_t + problem.sizes.n_w
    mode = problem.state[0].mode
    return automaton.first[mode + 1] - automaton.first[mode]


@kernel(inner=True)
def held_guards(problem: Problem, values: Vector) -> int:
    """Write the guards of the closed contacts at the state in `inp` to their places."""
    n, nc, nt, count = problem.sizes.n, problem.sizes.n_c, problem.sizes.n_t, problem.sizes.rows
    lam, inp, out, rows = problem.sizes.lam, problem.inp, problem.out, problem.rows
    status = accelerate(problem)
    if status != SUCCESS:
        return status
    for c in range(nc):
        if rows[c].closed == 1:
            values[c] = inp[lam + c]
            k = problem.partner[c]
            if k < 0:
                continue
            if rows[k].closed == 1:
                most = out[2 * count + count * (n + 1) + nt + k - nc] * inp[lam + c]
                values[k] = most - inp[lam + k]
                values[k + nt] = most + inp[lam + k]
            else:
                speed = out[count + k]
                for i in range(n):
                    speed += out[2 * count + k * n + i] * inp[1 + n + i]
                values[k] = rows[k].sigma * speed
    return SUCCESS


@kernel(inline=True)
def is_change(problem: Problem, j: int) -> bool:
    """Whether guard `j` of the present mode changes constraints."""
    return problem.sizes.mechanical and j >= problem.sizes.n_c + 2 * problem.sizes.n_t


@kernel(inner=True)
def change_guards(problem: Problem, values: Vector) -> None:
    """Write the guards that change constraints to their places; forces stand in `inp`."""
    first = problem.sizes.n_c + 2 * problem.sizes.n_t
    evaluate(problem.functions.table, CHANGES, problem.inp, problem.out)
    for k in range(problem.sizes.n_w):
        gone = problem.changes[k].side * problem.changes[k].last > 0
        values[first + k] = 1.0 if gone else problem.out[k]


@kernel(inner=True)
def guards(problem: Problem, automaton: Automaton, t: float, x: Vector, values: Vector) -> int:
    """Write the guards of the present mode.

    For a contact its gap, or its force while closed; behind them for each tangent two: the sliding
    velocity in its own direction and 1, or mu lam -+ lam_t while it sticks, or 1 and 1 while open.
    Then the formulas that change constraints; 1 for one of a force that has let go.
    """
    inp, out = problem.inp, problem.out
    inp[0] = t
    for i in range(problem.sizes.n_x):
        inp[1 + i] = x[i]
    count = guard_count(problem, automaton)
    if count == 0:
        return SUCCESS
    row, from_model = problem.functions.guard + problem.state[0].mode, count
    if problem.sizes.mechanical:
        row, from_model = GAPS, problem.sizes.n_c
    evaluate(problem.functions.table, row, inp, out)
    for j in range(from_model):
        values[j] = out[j]
    for j in range(from_model, count):
        values[j] = 1.0
    status, forced = SUCCESS, False
    for c in range(problem.sizes.n_c):
        forced = forced or problem.rows[c].closed == 1
    for k in range(problem.sizes.n_w):
        forced = forced or problem.changes[k].last < 0
    if forced and problem.state[0].held > 0:
        status = held_guards(problem, values)
    if problem.sizes.n_w > 0 and status == SUCCESS:
        change_guards(problem, values)
    return status


@kernel(inline=True)
def enter_interval(problem: Problem, k: int) -> None:
    """Let inputs have their values of interval `k`, and columns the parameters that count there."""
    active, wrt = problem.active, problem.wrt
    hold(problem.drive, problem.inp, k)
    if active.shape[0] > 0:
        for j in range(wrt.size):
            wrt[j] = active[k, j]


@kernel(inline=True)
def restore(problem: Problem, states: Table, i: int) -> None:
    """Set the mode, the held rows and the sides to those of row `i` of the steps' states."""
    state, rows, sides = problem.state, problem.rows, problem.sides
    nc, nt, count = problem.sizes.n_c, problem.sizes.n_t, problem.sizes.rows
    state[0].mode, state[0].held = states[i, 0], 0
    for c in range(count):
        rows[c].closed = states[i, 1 + c]
        state[0].held += rows[c].closed
    for k in range(nt):
        rows[nc + k].sigma = states[i, 1 + count + k]
    for k in range(sides.size):
        sides[k].now = states[i, 1 + count + nt + k]
        problem.inp[sides[k].place] = sides[k].now
    if problem.drive.t.size > 0:
        enter_interval(problem, states[i, 1 + count + nt + sides.size])
