"""Constraints that begin to hold and are released, at the zeros of formulas and of forces.

A constraint that begins to hold must be satisfied there. The velocities jump plastically (Corner et
al. 2019, eq. (82), in the sign M v' + phi_q' lam = F)::

    M (v+ - v-) + phi_q' P = G' p,    phi_q v+ + phi_t = 0

over all constraints that hold behind the event, with the contacts that touch in the LCP of an
impact. (Of the penalty formulation too: its spring would take the velocity away in a time of its
own.) What is released leaves the velocities as they are.

Status: SUCCESS; NOT_MET, a constraint that begins to hold is not satisfied, has no gradient, or
contradicts others; and what `explorer.kernels.event_driven.contact_impact` returns.
"""

from explorer.codes import NOT_MET, SUCCESS
from explorer.kernels.event_driven.contact_impact import impact
from explorer.kernels.event_driven.flow import accelerate, change_guards, evaluate
from explorer.kernels.event_driven.manifold import constrained, hold, holds, project
from explorer.kernels.event_driven.records import (
    CHANGES,
    CHANGES_BY_ALL,
    CLOSING,
    CONTACTS,
    PENALTY,
    RELEASE,
)
from explorer.kernels.event_driven.saltation import identity, largest
from explorer.kernels.event_driven.settle import settle
from explorer.kernels.event_driven.structures import Contacts, Event, Options, Problem
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["change_constraints", "first_sides", "leave_unloaded"]

YIELDS = 10.0
OFF = 1e-6  # a constraint this far from zero, beside the coordinates, is not satisfied
FARTHER = 10.0  # times as far is looked ahead for a guard that begins on its zero, still
STILL = 1e-12  # a guard that moves no faster does not move


@kernel(inner=True)
def rate_of(problem: Problem, k: int) -> float:
    """Return dr/dt of the formula of change `k` at the state and its rates in `inp`."""
    n, n_w, inp, out = problem.sizes.n, problem.sizes.n_w, problem.inp, problem.out
    evaluate(problem.functions.table, CHANGES_BY_ALL, inp, out)
    total = out[2 * n_w * n + n_w * problem.sizes.n_rho + k]
    for i in range(n):
        total += out[k * n + i] * inp[1 + n + i]
        total += out[(n_w + k) * n + i] * inp[problem.sizes.rates + n + i]
    return total


@kernel(inner=True)
def glance(problem: Problem, k: int, y: Vector) -> float:
    """Return the formula of change `k` a moment after the start y, its rates in `inp`."""
    n, inp, ahead = problem.sizes.n, problem.inp, FARTHER * problem.state[0].ahead
    inp[0] = ahead
    for i in range(n):
        a = inp[problem.sizes.rates + n + i]
        inp[1 + i] = y[i] + ahead * (y[n + i] + 0.5 * ahead * a)
        inp[1 + n + i] = y[n + i] + ahead * a
    evaluate(problem.functions.table, CHANGES, inp, problem.out)
    inp[0] = 0.0
    for i in range(2 * n):
        inp[1 + i] = y[i]
    return problem.out[k]


@kernel(inner=True)
def first_sides(problem: Problem, y: Vector, band: float) -> None:
    """Set the sides of all changes at the start, by signs; on a zero by where it goes.

    What depends on a force holds. For a formula on its zero that no velocity moves the forces
    decide, those of the constraints that are known to hold.
    """
    n_w, changes, out = problem.sizes.n_w, problem.changes, problem.out
    evaluate(problem.functions.table, CHANGES, problem.inp, out)
    open_ = False
    for k in range(n_w):
        changes[k].side = 1
        if changes[k].last >= 0:
            changes[k].side = 0 if abs(out[k]) <= band else (1 if out[k] > 0.0 else -1)
        open_ = open_ or changes[k].side == 0
    if not open_:
        return
    hold(problem, 0.0, y)
    accelerate(problem)
    for k in range(n_w):
        if changes[k].side == 0:
            rate = rate_of(problem, k)
            if abs(rate) <= STILL and changes[k].last == 0:
                rate = glance(problem, k, y)
            changes[k].side = -1 if rate < 0.0 else 1
    for c in range(problem.sizes.rows):
        problem.rows[c].closed = 0
    problem.state[0].held = 0


@kernel(inner=True)
def leave_unloaded(
    problem: Problem, contacts: Contacts, band: float, slow: float, values: Vector
) -> int:
    """Release at the start what a force of the wrong sign would have released before."""
    first, changes, left = problem.sizes.n_c + problem.sizes.n_t, problem.changes, False
    forced = False
    for k in range(problem.sizes.n_w):
        forced = forced or changes[k].last < 0
    if not forced:
        return SUCCESS
    status = accelerate(problem)
    if status != SUCCESS:
        return status
    change_guards(problem, values)
    for k in range(problem.sizes.n_w):
        if changes[k].last < 0 and values[first + problem.sizes.n_t + k] < -band:
            changes[k].side, left = -1, True
    if not left:
        return SUCCESS
    for c in range(first, problem.sizes.rows):
        if problem.rows[c].closed == 1 and not holds(problem, c - first):
            problem.rows[c].closed = 0
            problem.state[0].held -= 1
    return settle(problem, contacts, band, slow, -1, 0) if problem.sizes.n_c > 0 else SUCCESS


@kernel(inner=True)
def unsatisfied(problem: Problem, k: int) -> int:
    """Return a constraint that begins to hold by change `k` and is not satisfied, or -1.

    The penalty formulation lets those that are held yield: one that begins to hold may be as far.
    """
    first, out = problem.sizes.n_c + problem.sizes.n_t, problem.out
    evaluate(problem.functions.table, CONTACTS, problem.inp, out)
    most = OFF * (1.0 + largest(problem.inp, 1, 1 + problem.sizes.n))
    if problem.state[0].form == PENALTY:
        for c in range(first, problem.sizes.rows):
            if problem.rows[c].closed == 1:
                most = max(most, YIELDS * abs(out[c]))
    for c in range(problem.links.size):
        begins = problem.links[c].change == k and holds(problem, c)
        if begins and not abs(out[first + c]) <= most:
            return c
    return -1


@kernel(inner=True)
def contradicted(problem: Problem) -> int:
    """Return a constraint whose rate the velocities in `inp` do not satisfy, or -1.

    It has the gradient of others that hold, and another phi_t.
    """
    n, count, first = problem.sizes.n, problem.sizes.rows, problem.sizes.n_c + problem.sizes.n_t
    inp, out = problem.inp, problem.out
    most = OFF * (1.0 + largest(inp, 1 + n, 1 + 2 * n))
    evaluate(problem.functions.table, CONTACTS, inp, out)
    for c in range(first, count):
        if holds(problem, c - first) and problem.rows[c].closed == 0:
            rate = out[count + c]
            for i in range(n):
                rate += out[2 * count + c * n + i] * inp[1 + n + i]
            if not abs(rate) <= most:
                return c - first
    return -1


@kernel(inner=True)
def change_constraints(
    problem: Problem, contacts: Contacts, event: Event, options: Options, now: int, y: Vector
) -> int:
    """Fire guard `now`, which changes constraints, at the state y; fill the reset of the event."""
    n, nx, first = problem.sizes.n, problem.sizes.n_x, problem.sizes.n_c + problem.sizes.n_t
    state, inp, head, row, at = problem.state, problem.inp, event.head, event.row, event.at
    k, t, slow = now - first - problem.sizes.n_t, event.head[0].t, 1e-12
    problem.changes[k].side = -problem.changes[k].side
    identity(problem.sizes, event)
    for c in range(problem.sizes.rows):
        contacts.rows[c].prior = problem.rows[c].closed
    begins, which = False, -1
    for c in range(problem.links.size):
        if problem.links[c].change == k:
            if holds(problem, c) and not begins:
                begins, which = True, c
            elif which < 0:
                which = c
    head[0].guard, head[0].kind = problem.sizes.n_c + which, CLOSING if begins else RELEASE
    state[0].fired = now
    fault = unsatisfied(problem, k)
    if fault < 0:
        fault = hold(problem, t, y)
    if fault >= 0:
        state[0].fault = fault
        return NOT_MET
    if begins:
        for c in range(problem.sizes.n_c):
            contacts.e_now[c] = contacts.e[c]
        share = inp[problem.sizes.penalty + 3]
        inp[problem.sizes.penalty + 3] = 1.0
        status = impact(problem, contacts, options.band, event, options.slopes, -1)
        inp[problem.sizes.penalty + 3] = share
        head[0].together = 1
        if status == SUCCESS and constrained(problem):
            plus = row[at.x_plus :]
            status = project(problem, t, plus, 0)
        if status != SUCCESS:
            return status
        for i in range(nx):
            inp[1 + i] = row[at.x_plus + i]
        state[0].fault = contradicted(problem)
        if state[0].fault >= 0:
            return NOT_MET
    slow *= 1.0 + largest(row, at.x_plus + n, at.x_plus + nx)
    if problem.sizes.n_c == 0:
        return SUCCESS
    return settle(problem, contacts, options.band, slow, -1, 0)
