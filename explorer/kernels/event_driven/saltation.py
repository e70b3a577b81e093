"""What happens at an event: resets, impacts, contacts that close or open, and their derivatives.

With reset h and guard r, D = r_t + r_x f-, the event-time sensitivity is
dt/drho = -(r_x S- + r_rho) / D (Corner et al. 2019, eq. (33), generalised) and
S+ = h_x S- + h_rho + (h_x f- + h_t - f+) dt/drho, whose rows are (35), (38) and, for the running
cost, (48). (The resets of impacts: `explorer.kernels.event_driven.contact_impact`.)
"""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import (
    BY_TIME,
    PARAMETERLESS,
    accelerate,
    evaluate,
    flow,
    is_change,
    tangent,
)
from explorer.kernels.event_driven.records import CHANGES_BY_ALL, CONTACTS, GAPS_BY_RHO, STEP
from explorer.kernels.event_driven.structures import Automaton, Event, Problem, Sizes
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector


@kernel(inner=True)
def formula_gradient(problem: Problem, automaton: Automaton, j: int, event: Event) -> None:
    """Write the derivatives of a guard of an automaton."""
    nx, out, row, at = problem.sizes.n_x, problem.out, event.row, event.at
    guard = problem.functions.guard_tlm + automaton.first[problem.state[0].mode] + j
    evaluate(problem.functions.table, guard, problem.inp, out)
    event.head[0].r_t = out[0]
    for i in range(nx):
        row[at.r_x + i] = out[1 + i]
    for k in range(problem.sizes.n_rho):
        row[at.r_rho + k] = out[1 + nx + k]


@kernel(inner=True)
def gap_gradient(problem: Problem, j: int, event: Event) -> None:
    """Write the derivatives of the gap of open contact `j`."""
    n, nr, count = problem.sizes.n, problem.sizes.n_rho, problem.sizes.rows
    table, inp, out = problem.functions.table, problem.inp, problem.out
    row, r_x, r_rho = event.row, event.at.r_x, event.at.r_rho
    evaluate(table, GAPS_BY_RHO, inp, out)
    for k in range(nr):
        row[r_rho + k] = out[j * nr + k]
    evaluate(table, CONTACTS, inp, out)
    event.head[0].r_t = out[count + j]
    for i in range(n):
        row[r_x + i] = out[2 * count + j * n + i]
        row[r_x + n + i] = 0.0


@kernel(inner=True)
def speed_gradient(problem: Problem, j: int, event: Event) -> None:
    """Write the derivatives of the sliding velocity of tangent `j`, in its own direction."""
    n, nr, nc, nt = problem.sizes.n, problem.sizes.n_rho, problem.sizes.n_c, problem.sizes.n_t
    table, inp, out = problem.functions.table, problem.inp, problem.out
    count, row, r_x, r_rho = problem.sizes.rows, event.row, event.at.r_x, event.at.r_rho
    k = j - nc
    sigma = float(problem.rows[j].sigma)
    evaluate(table, GAPS_BY_RHO, inp, out)
    at = nc * nr
    for i in range(n):
        row[r_x + i] = sigma * out[at + k * n + i]
    at += nt * n
    for i in range(nr):
        row[r_rho + i] = sigma * out[at + k * nr + i]
    event.head[0].r_t = sigma * out[at + nt * nr + k]
    evaluate(table, CONTACTS, inp, out)
    for i in range(n):
        row[r_x + n + i] = sigma * out[2 * count + j * n + i]


@kernel(inner=True)
def force_gradient(problem: Problem, j: int, held: int, event: Event) -> int:
    """Write the derivatives of a force lam, or of mu lam -+ lam_t: linear in the rows held."""
    nx, n, nc, nr = problem.sizes.n_x, problem.sizes.n, problem.sizes.n_c, problem.sizes.n_rho
    count, table, inp, out = problem.sizes.rows, problem.functions.table, problem.inp, problem.out
    nt, rows, saddle, row, head = (
        problem.sizes.n_t,
        problem.rows,
        problem.saddle,
        event.row,
        event.head,
    )
    r_x, r_rho = event.at.r_x, event.at.r_rho
    status = accelerate(problem)
    if status != SUCCESS:
        return status
    contact, normal, along = j, 1.0, 0.0
    if j >= nc:
        along = -1.0 if j < nc + nt else 1.0
        contact = problem.partner[held]
        normal = out[2 * count + count * (n + 1) + nt + held - nc]
    at_n, at_t = n, n
    for c in range(held):
        at_n += rows[c].closed if c < contact else 0
        at_t += rows[c].closed
    evaluate(table, STEP, inp, out)
    for m in range(nx + nr + 1):
        for i in range(nx):
            saddle.direction[i] = 1.0 if i == m else 0.0
        w = PARAMETERLESS
        if m == nx + nr:
            w = BY_TIME
        elif m >= nx:
            w = m - nx
        tangent(problem, w)
        slope = -normal * saddle.tangent[at_n] - along * saddle.tangent[at_t]
        if m < nx:
            row[r_x + m] = slope
        elif m < nx + nr:
            row[r_rho + m - nx] = slope
        else:
            head[0].r_t = slope
    if j >= nc:
        evaluate(table, GAPS_BY_RHO, inp, out)
        lam, k = inp[problem.sizes.lam + contact], held - nc
        at = nc * nr + nt * (n + nr + 1)
        for i in range(nx):
            row[r_x + i] += out[at + k * nx + i] * lam
        at += nt * nx
        for i in range(nr):
            row[r_rho + i] += out[at + k * nr + i] * lam
        head[0].r_t += out[at + nt * nr + k] * lam
    return SUCCESS


@kernel(inner=True)
def change_gradient(problem: Problem, j: int, event: Event) -> int:
    """Write the derivatives of what changes constraints: of a formula of the state and a force."""
    nx, n, nr, n_w = problem.sizes.n_x, problem.sizes.n, problem.sizes.n_rho, problem.sizes.n_w
    table, inp, out, count = problem.functions.table, problem.inp, problem.out, problem.sizes.rows
    first, saddle, row, head = (
        problem.sizes.n_c + problem.sizes.n_t,
        problem.saddle,
        event.row,
        event.head,
    )
    k, r_x, r_rho = j - problem.sizes.n_c - 2 * problem.sizes.n_t, event.at.r_x, event.at.r_rho
    once = problem.changes[k].last < 0
    if once:
        status = accelerate(problem)
        if status != SUCCESS:
            return status
    evaluate(table, CHANGES_BY_ALL, inp, out)
    for i in range(n):
        row[r_x + i] = out[k * n + i]
        row[r_x + n + i] = out[(n_w + k) * n + i]
    at = 2 * n_w * n
    for i in range(nr):
        row[r_rho + i] = out[at + k * nr + i]
    at += n_w * nr
    head[0].r_t = out[at + k]
    by_lam, place, size = 0.0, -1, n
    for c in range(count):
        if c >= first and problem.rows[c].closed == 1 and problem.links[c - first].change == k:
            by_lam, place = out[at + n_w + k * count + c], size
        size += problem.rows[c].closed
    if not once or place < 0:
        return SUCCESS
    evaluate(table, STEP, inp, out)
    for m in range(nx + nr + 1):
        for i in range(nx):
            saddle.direction[i] = 1.0 if i == m else 0.0
        if m < nx:
            tangent(problem, PARAMETERLESS)
            row[r_x + m] -= by_lam * saddle.tangent[place]
        elif m < nx + nr:
            tangent(problem, m - nx)
            row[r_rho + m - nx] -= by_lam * saddle.tangent[place]
        else:
            tangent(problem, BY_TIME)
            head[0].r_t -= by_lam * saddle.tangent[place]
    return SUCCESS


@kernel(inner=True)
def guard_gradient(problem: Problem, automaton: Automaton, j: int, event: Event) -> int:
    """Write r_t, r_x, r_rho of guard `j` of the present mode at the state in `inp`, and D.

    f- of the event must hold x'.
    """
    nc, nt = problem.sizes.n_c, problem.sizes.n_t
    row, at = event.row, event.at
    held = j if j < nc + nt else j - nt  # the row it is about: a tangent has two guards
    if not problem.sizes.mechanical:
        formula_gradient(problem, automaton, j, event)
    elif is_change(problem, j):
        status = change_gradient(problem, j, event)
        if status != SUCCESS:
            return status
    elif problem.rows[held].closed == 0 and j < nc:
        gap_gradient(problem, j, event)
    elif problem.rows[held].closed == 0:
        speed_gradient(problem, j, event)
    else:
        status = force_gradient(problem, j, held, event)
        if status != SUCCESS:
            return status
    total = event.head[0].r_t
    for i in range(problem.sizes.n_x):
        total += row[at.r_x + i] * row[at.f_minus + i]
    event.head[0].D = total
    return SUCCESS


@kernel(inner=True)
def reset(problem: Problem, automaton: Automaton, guard: int, event: Event) -> None:
    """Apply the reset of an automaton's guard (its number among all) and change the mode."""
    nx, nr = problem.sizes.n_x, problem.sizes.n_rho
    out, row, at = problem.out, event.row, event.at
    evaluate(problem.functions.table, problem.functions.reset + guard, problem.inp, out)
    for i in range(nx):
        row[at.x_plus + i] = out[i]
        row[at.h_t + i] = out[nx + i]
    for k in range(nx * nx):
        row[at.h_x + k] = out[2 * nx + k]
    for k in range(nx * nr):
        row[at.h_rho + k] = out[2 * nx + nx * nx + k]
    problem.state[0].mode = automaton.guards[guard].to


@kernel(inner=True)
def identity(sizes: Sizes, event: Event) -> None:
    """Write the reset that changes nothing."""
    nx, nr = sizes.n_x, sizes.n_rho
    row, at = event.row, event.at
    for i in range(nx):
        row[at.x_plus + i] = row[at.x_minus + i]
        row[at.h_t + i] = 0.0
        for j in range(nx):
            row[at.h_x + i * nx + j] = 1.0 if i == j else 0.0
        for k in range(nr):
            row[at.h_rho + i * nr + k] = 0.0


@kernel(inner=True)
def bend(problem: Problem, automaton: Automaton, j: int, back: float, event: Event) -> None:
    """Write d2r/dt2 of guard `j` along the flow: D here less D a time `back` before, over `back`.

    Time and state are those in `inp`, for which the event holds x-, f- and D; they are left as they
    are. x+ and f+, not yet known, serve as workspaces. NaN where the flow has nothing before.
    """
    nx, t = problem.sizes.n_x, problem.inp[0]
    row, at, head = event.row, event.at, event.head
    x, dx = row[at.x_plus :], row[at.f_plus :]
    for i in range(nx + 1):
        x[i] = row[at.x_minus + i] - back * row[at.f_minus + i]
    before = np.nan
    if flow(problem, t - back, x, dx, 0) == SUCCESS:
        for i in range(nx + 1):
            row[at.f_minus + i] = dx[i]
        guard_gradient(problem, automaton, j, event)
        before = head[0].D
    x = row[at.x_minus :]
    flow(problem, t, x, dx, 0)
    for i in range(nx + 1):
        row[at.f_minus + i] = dx[i]
    guard_gradient(problem, automaton, j, event)
    head[0].bend = (head[0].D - before) / back


@kernel(inner=True)
def saltate(problem: Problem, event: Event, width: int, cause: Vector, chained: bool) -> None:
    """Event-time sensitivity and the jump of every column, from what the event holds.

    Of what is `chained` to the event with the numbers `cause` the time is that one's: it happens
    beyond its zero.
    """
    nx, nr, wrt = problem.sizes.n_x, problem.sizes.n_rho, problem.wrt
    row, at, D = event.row, event.at, event.head[0].D
    block = nx + 1
    for k in range(width):
        minus, plus = at.s_minus + k * block, at.s_plus + k * block
        w = wrt[k]
        total = row[at.r_rho + w] if w >= 0 else 0.0
        for i in range(nx):
            total += row[at.r_x + i] * row[minus + i]
        tau = cause[at.dtau + k] if chained else -total / D
        row[at.dtau + k] = tau
        for i in range(nx):
            value = row[at.h_rho + i * nr + w] if w >= 0 else 0.0
            jump = row[at.h_t + i] - row[at.f_plus + i]
            for j in range(nx):
                h = row[at.h_x + i * nx + j]
                value += h * row[minus + j]
                jump += h * row[at.f_minus + j]
            row[plus + i] = value + jump * tau
        row[plus + nx] = row[minus + nx] + (row[at.f_minus + nx] - row[at.f_plus + nx]) * tau


@kernel(inner=True)
def largest(x: Vector, first: int, last: int) -> float:
    """Return max |x[first:last]|, infinity if any entry is not finite."""
    worst = 0.0
    for i in range(first, last):
        if not np.isfinite(x[i]):  # max() would swallow a NaN
            return np.inf
        worst = max(worst, abs(x[i]))
    return worst
