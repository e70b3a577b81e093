"""The adjoint of the steps that were marched: exact transposition of the Runge-Kutta method.

For y1 = y0 + h sum b_i K_i, K_i = f(Y_i), Y_i = y0 + h sum a_ij K_j, going backwards
Kbar_i = h b_i mu1 + h sum_j a_ji Ybar_j,  Ybar_i = f_x(Y_i)' Kbar_i,  mu0 = mu1 + sum Ybar_i, and
the gradient gains f_rho(Y_i)' Kbar_i; at an event mu- = Xi' mu+ and it gains Pi' mu+. It is the
adjoint ODE mu' = -f_x' mu - g_x' solved by the adjoint method of the pair (Sanz-Serna, SIAM Review
58 (2016) 3), so it agrees with the tangent linear model on the same steps to round-off.

Of f only products with row vectors are formed: of a mechanical system one transposed solution of
the saddle system for each, however many parameters there are. Beside the step goes the transpose of
its embedded error, which the state alone does not tell: of mu, and of what the gradient gains.
"""

from typing import Annotated, NamedTuple, get_args

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import evaluate, flow, restore
from explorer.kernels.event_driven.manifold import constrained, project, projected
from explorer.kernels.event_driven.records import CHAINED, DRIVEN, STEP
from explorer.kernels.event_driven.structures import Event, Events, Method, Problem, Saddle, Steps
from explorer.kernels.event_driven.transposed import pull_back_projection, transposed_solve
from explorer.kernels.references import kernel, refer, value_of
from explorer.kernels.structures import Matrix, Stack, Table, Vector, rows_of

__all__ = [
    "JUMP_ROW",
    "STEP_ROW",
    "TIME_ROW",
    "WALK",
    "Jumps",
    "Sweep",
    "backward",
]

STEP_ROW, JUMP_ROW, TIME_ROW = 0, 1, 2
WALK = np.dtype(
    [
        ("kind", np.int64),  # a step, an event, or one whose time alone counts: the cost ends there
        ("number", np.int64),  # of it
    ]
)
WalkRows = Annotated[np.ndarray, get_args(rows_of(WALK))[1]]
EVERY = 8  # of so many steps the error of one is looked at


class Sweep(NamedTuple):
    """What goes back through the steps; s stages, p columns."""

    mu: Vector  # (n_x + 1,) the adjoint, last that of the running cost
    gradient: Vector  # (p,)
    errors: Vector  # (p + 1,) of the gradient, then of mu, relative
    scale: Vector  # (n_x + 1,) in which the error of mu is measured
    K: Matrix  # (s + 1, n_x + 1) slopes
    stages: Matrix  # (s + 1, n_x + 1) states
    bars: Matrix  # (3 (s + 1), n_x + 1) of each stage: of the step and of both embedded errors
    weights: Matrix  # (3, n_x + 1)
    gains: Matrix  # (3, p)


class Jumps(NamedTuple):
    """What a sweep reads and writes at the events."""

    moved: Vector  # (events,) the weight of the time of each event in the cost
    mu: Stack  # (events, 2, n_x + 1) the adjoint before and after
    gains: Matrix  # (events, p) what the gradient gains


@kernel(inner=True)
def pull_back_cost(problem: Problem, weights: Matrix, bars: Matrix, gains: Matrix) -> None:
    """Add the part of the running cost g: bars gain g_x', weights of x' gain g_x''.

    Its derivatives by the forces are left in the workspace of the forces.
    """
    nx, rows, wrt, out = problem.sizes.n_x, problem.sizes.rows, problem.wrt, problem.out
    evaluate(problem.functions.table, problem.functions.cost, problem.inp, out)
    for c in range(rows):
        problem.saddle.forces[0, c] = out[1 + 2 * nx + c]
    for r in range(weights.shape[0]):
        z = weights[r, nx]
        for j in range(nx):
            bars[r, j] = z * out[1 + j]
            weights[r, j] += z * out[1 + nx + j]
        for k in range(wrt.size):
            w = wrt[k]
            gains[r, k] += z * out[1 + 2 * nx + rows + w] if w >= 0 else 0.0


@kernel(inner=True)
def pull_back_field(problem: Problem, weights: Matrix, bars: Matrix, gains: Matrix) -> None:
    """Add f_x' weight and f_rho' weight of an automaton."""
    nx, nr, wrt, out = problem.sizes.n_x, problem.sizes.n_rho, problem.wrt, problem.out
    row = problem.functions.tlm + problem.state[0].mode
    evaluate(problem.functions.table, row, problem.inp, out)
    for r in range(weights.shape[0]):
        for i in range(nx):
            for j in range(nx):
                bars[r, j] += out[nx + i * nx + j] * weights[r, i]
            for k in range(wrt.size):
                w = wrt[k]
                if w >= 0:
                    gains[r, k] += out[nx + nx * nx + i * nr + w] * weights[r, i]


@kernel(inner=True)
def pull_back(problem: Problem, weights: Matrix, bars: Matrix, gains: Matrix) -> None:
    """Write bar = f_x' weight, and add f_rho' weight to the gains, for each of `weights`.

    weights (k, n_x + 1), the last entry for the running cost, is changed. Wants `flow` done at the
    state, without columns.
    """
    nx, n, nr, count = problem.sizes.n_x, problem.sizes.n, problem.sizes.n_rho, problem.sizes.rows
    wrt, out, rows, saddle = problem.wrt, problem.out, problem.rows, problem.saddle
    many = weights.shape[0]
    for r in range(many):
        for j in range(nx + 1):
            bars[r, j] = 0.0
    if problem.functions.cost >= 0:
        pull_back_cost(problem, weights, bars, gains)
    if not problem.sizes.mechanical:
        pull_back_field(problem, weights, bars, gains)
        return
    size = n + problem.state[0].held
    s = saddle.tangent
    evaluate(problem.functions.table, STEP, problem.inp, out)
    for r in range(many):
        for i in range(n):
            s[i] = weights[r, n + i]
        held = n
        for c in range(count):
            if rows[c].closed == 1:
                s[held] = 0.0
                if problem.functions.cost >= 0:
                    s[held] = -weights[r, nx] * saddle.forces[0, c]
                held += 1
        transposed_solve(saddle.W, size, saddle.pivots, s)
        for j in range(n):
            bars[r, n + j] += weights[r, j]
        held = n
        for i in range(n + count):  # the rows of R, then those of A that are held
            if i >= n and rows[i - n].closed == 0:
                continue
            if i < n:
                row, at, size_of, force = i, 0, n, s[i]
            else:
                row, at, size_of, force = i - n, 2 * n * n + n * nr + n, count, s[held]
                held += 1
            by_v, by_rho = at + size_of * n, at + 2 * size_of * n
            for j in range(n):
                bars[r, j] -= force * out[at + row * n + j]
                bars[r, n + j] -= force * out[by_v + row * n + j]
            for k in range(wrt.size):
                w = wrt[k]
                gains[r, k] -= force * out[by_rho + row * nr + w] if w >= 0 else 0.0


@kernel(inner=True)
def leap(
    problem: Problem, event: Event, k: int, jumps: Jumps, sweep: Sweep, waiting: float, resets: bool
) -> float:
    """Carry mu and the gradient over event `k`; return the weight of its time.

    mu- = h_x' mu+ and the gradient gains h_rho' mu+. What the time of the event weighs, with
    `waiting` from those that are chained to it, joins mu by dt/drho = -(r_x S- + r_rho) / D; of a
    chained one it waits for its cause. Unless it `resets` the cost ends there, before the reset.
    """
    nx, nr, wrt = problem.sizes.n_x, problem.sizes.n_rho, problem.wrt
    row, at, head, mu = event.row, event.at, event.head, sweep.mu
    gains, after, before, p = jumps.gains[k], jumps.mu[k, 1], jumps.mu[k, 0], problem.wrt.size
    for i in range(nx + 1):
        after[i] = mu[i]
    for i in range(p):
        gains[i] = 0.0
    waiting += jumps.moved[k]
    if resets:
        waiting += (row[at.f_minus + nx] - row[at.f_plus + nx]) * after[nx]
        for j in range(nx):
            mu[j] = 0.0
        for i in range(nx):
            kick = row[at.f_plus + i] - row[at.h_t + i]
            for j in range(nx):
                h = row[at.h_x + i * nx + j]
                kick -= h * row[at.f_minus + j]
                mu[j] += h * after[i]
            waiting -= kick * after[i]
            for j in range(p):
                w = wrt[j]
                gains[j] += row[at.h_rho + i * nr + w] * after[i] if w >= 0 else 0.0
    if head[0].how == DRIVEN:  # its time is that of the inputs
        waiting = 0.0
    elif head[0].how != CHAINED:
        rate, waiting = -waiting / head[0].D, 0.0
        for i in range(nx):
            mu[i] += rate * row[at.r_x + i]
        for j in range(p):
            w = wrt[j]
            gains[j] += rate * row[at.r_rho + w] if w >= 0 else 0.0
    for j in range(p):
        sweep.gradient[j] += gains[j]
    for i in range(nx + 1):
        before[i] = mu[i]
    return waiting


@kernel(inner=True)
def counted(walk: WalkRows, r: int) -> int:
    """Return for how many steps the error of the one in row `r` stands, 0: it is not looked at.

    One of `EVERY`; and those beside an event, where a formula may have a kink.
    """
    last = walk.size - 1
    if (r < last and walk[r + 1].kind != STEP_ROW) or (r > 0 and walk[r - 1].kind != STEP_ROW):
        return 1
    return EVERY if r % EVERY == 0 else 0


@kernel(inner=True)
def account(sweep: Sweep, nx: int, p: int, times: int) -> None:
    """Add what a step does to mu and the gradient, from the bars and gains of its stages.

    The errors gain so many `times` those of the step; with 0 they are not known. The bars have
    three rows for each stage and the gains three in all: of the step itself and of its two embedded
    errors, which are put together as the pair does.
    """
    mu, errors, scale, bars, gains = sweep.mu, sweep.errors, sweep.scale, sweep.bars, sweep.gains
    gradient, top, bottom = sweep.gradient, 0.0, 0.0
    for m in range(nx + 1):
        change, e1, e2 = 0.0, 0.0, 0.0
        for i in range(0, bars.shape[0] - 3, 3):  # the end of a step is a stage of its errors only
            change += bars[i, m]
        mu[m] += change
        if times == 0:
            continue
        for i in range(0, bars.shape[0], 3):
            e1 += bars[i + 1, m]
            e2 += bars[i + 2, m]
        bottom += scale[m] * abs(mu[m])
        if e1 != 0.0:
            top += scale[m] * e1 * e1 / np.sqrt(e1 * e1 + 0.01 * e2 * e2)
    errors[p] += times * top / bottom if bottom > 0.0 else 0.0
    for k in range(p):
        gradient[k] += gains[0, k]
        e1, e2 = gains[1, k], gains[2, k]
        if e1 != 0.0:  # of a step whose errors are not looked at it is 0
            errors[k] += times * e1 * e1 / np.sqrt(e1 * e1 + 0.01 * e2 * e2)


@kernel(inline=True)
def at_stage(problem: Problem, stage: int, many: int) -> Problem:
    """Return the problem with the input and the saddle matrix of one of `many` stages."""
    long, order, saddle = problem.inp.size // many, problem.saddle.W.shape[1], problem.saddle
    first = stage * order
    return Problem(
        value_of(problem.functions),
        value_of(problem.sizes),
        problem.wrt,
        problem.partner,
        problem.resets,
        problem.inp[stage * long : (stage + 1) * long],
        problem.out,
        Saddle(
            saddle.W[first : first + order],
            saddle.pivots[first : first + order],
            saddle.solution,
            saddle.tangent,
            saddle.direction,
            saddle.forces,
        ),
        problem.state,
        problem.rows,
        problem.sides,
        problem.changes,
        problem.links,
        value_of(problem.drive),
        problem.active,
    )


@kernel(inner=True)
def step_back(
    problem: Problem, method: Method, steps: Steps, i: int, sweep: Sweep, times: int
) -> int:
    """Carry mu and the gradient back over step `i`; return the status of the flow.

    Its errors are looked at if `times` > 0. The end of a step is its last stage then.
    """
    s, block, A, c, E = method.stages, problem.sizes.n_x + 1, method.A, method.c, method.E
    K, stages, bars, weights = sweep.K, sweep.stages, sweep.bars, sweep.weights
    mu, gains, t, h, many = sweep.mu, sweep.gains, steps.t[i], steps.h[i], method.stages + 1
    sets, used = (3, many) if times > 0 else (1, s)
    held = constrained(problem)
    for stage in range(many if held else used):
        y = stages[stage]
        for m in range(block):
            y[m] = 0.0
        for j in range(stage):
            a = A[stage, j]
            if a != 0.0:
                for m in range(block):
                    y[m] += a * K[j, m]
        for m in range(block):
            y[m] = steps.y[i, m] + h * y[m]
        here, status = at_stage(problem, stage, many), SUCCESS
        if stage == s and held:
            status = pull_back_projection(here, t + h, y, mu, sweep.gradient)
        elif stage > 0 and projected(problem):
            status = project(here, t + c[stage] * h, y, 0)
        if status == SUCCESS and stage < used:
            status = flow(here, t + c[stage] * h, y, K[stage], 0)
        if status != SUCCESS:
            return status
    gains[:, :] = 0.0
    for stage in range(used - 1, -1, -1):
        for e in range(sets):
            of_mu = E[e - 1, stage] if e > 0 else A[s, stage] if stage < s else 0.0
            for m in range(block):
                weights[e, m] = of_mu * mu[m]
            for j in range(stage + 1, many if e > 0 else s):
                a = A[j, stage]
                if a != 0.0:
                    for m in range(block):
                        weights[e, m] += a * bars[3 * j + e, m]
            for m in range(block):
                weights[e, m] *= h  # Kbar
        here = at_stage(problem, stage, many)
        pull_back(here, weights[:sets], bars[3 * stage :], gains)
        if 0 < stage < s and projected(problem):
            for e in range(sets):
                bar = bars[3 * stage + e]
                status = pull_back_projection(here, t + c[stage] * h, stages[stage], bar, gains[e])
                if status != SUCCESS:
                    return status
    account(sweep, problem.sizes.n_x, problem.wrt.size, times)
    return SUCCESS


@kernel()
def backward(
    problem: Problem,
    method: Method,
    steps: Steps,
    events: Events,
    jumps: Jumps,
    walk: WalkRows,
    states: Table,
    sweep: Sweep,
) -> int:
    """Carry mu from the end to t = 0; return the status of the flow.

    Parameters
    ----------
    problem : its `inp`, `W` and `pivots` one for each stage and the end, one behind the other
    method : an explicit one
    steps, events : as recorded
    jumps : what is read and written at the events
    walk : what is gone back through, in the order of time
    states : of each of them the mode and held rows, as `restore` takes them
    sweep : mu, gradient, errors and scale, and what it works on
    """
    problem, method, steps = refer(problem), refer(method), refer(steps)
    jumps, sweep = refer(jumps), refer(sweep)
    waiting = 0.0
    for r in range(walk.size - 1, -1, -1):
        kind, i = walk[r].kind, walk[r].number
        if kind == STEP_ROW:
            restore(problem, states, r)
            status = step_back(problem, method, steps, i, sweep, counted(walk, r))
            if status != SUCCESS:
                return status
        else:
            event = Event(events.head[i : i + 1], events.parts[i], events.at)
            waiting = leap(problem, event, i, jumps, sweep, waiting, kind == JUMP_ROW)
    if constrained(problem) and steps.t.size > 0:
        restore(problem, steps.state, 0)
        start, here = sweep.stages[0], at_stage(problem, 0, method.stages + 1)
        for m in range(start.size):
            start[m] = steps.y[0, m]
        return pull_back_projection(here, 0.0, start, sweep.mu, sweep.gradient)
    return SUCCESS
