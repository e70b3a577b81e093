"""Which touching contacts hold, stick or slide at the start of a stretch of flow.

0 <= gap'' perp lam >= 0 and Coulomb's law decide, over the contacts that touch at rest. Where a
contact has neither force nor acceleration, as where F = -sin(t) begins to press at t = 0, or where
another contact that holds the body from the other side lets go, the forces a moment later decide.

Statuses: those of `explorer.kernels.event_driven.contact_impact`.
"""

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.contact_impact import coulomb, delassus, open_all, speeds
from explorer.kernels.event_driven.structures import Contacts, Problem
from explorer.kernels.friction.glocker_lcp import FREE
from explorer.kernels.references import kernel

__all__ = ["HELD_BEFORE", "settle"]

BALANCED = 1e-12  # of its terms: so small an acceleration is round-off
HELD_BEFORE = 1e4  # times as fast may what has been held up to now part, close or slide


@kernel(inline=True)
def at_rest(contacts: Contacts, c: int, slow: float) -> bool:
    """Whether row `c` moves no faster than `slow`, or HELD_BEFORE times that if it was held."""
    least = HELD_BEFORE * slow if contacts.rows[c].prior == 1 else slow
    return abs(contacts.rows[c].speed) <= least


@kernel(inner=True)
def turn_unforced(
    problem: Problem, contacts: Contacts, m: int, total: int, slow: float, still: int
) -> None:
    """Let what begins to slide without friction slide the way that it is accelerated.

    Its bound is zero, so that its force is at both limits.
    """
    rows, act, place, force = problem.rows, contacts.act, contacts.place, contacts.force
    for k in range(m):
        t = place[k]
        if t < 0 or rows[act[t]].sigma == 0 or force[t] != 0.0:
            continue
        if act[t] == still or at_rest(contacts, act[t], slow):
            rate = contacts.w[t]
            for j in range(total):
                rate += contacts.D[t, j] * force[j]
            rows[act[t]].sigma = -1 if rate < 0.0 else 1


@kernel(inner=True)
def hold_or_part(
    problem: Problem, contacts: Contacts, m: int, slow: float, still: int, begins: int
) -> tuple[int, int]:
    """Solve 0 <= gap'' perp lam >= 0 of the `m` touching contacts; return a status and the rows."""
    n, nc, count, out = problem.sizes.n, problem.sizes.n_c, problem.sizes.rows, problem.out
    act, sigma, w, rows = contacts.act, contacts.sigma, contacts.w, contacts.rows
    free = problem.saddle.solution
    total = delassus(problem, contacts, m)
    if total < 0:
        return SINGULAR, 0
    for k in range(total):
        c = act[k]
        w[k] = out[2 * count + count * n + c]
        for i in range(n):
            w[k] += out[2 * count + c * n + i] * free[i]
        sigma[k] = 1 if rows[c].speed > 0.0 else -1
        if c >= nc and (c == still or at_rest(contacts, c, slow)):
            sigma[k] = begins if c == still and begins != 0 else FREE
    return coulomb(problem, contacts, m, total, True), total


@kernel(inline=True)
def look_ahead(problem: Problem, span: float) -> None:
    """Move time and positions in `inp` by `span`, in s."""
    problem.inp[0] += span
    for i in range(problem.sizes.n):
        problem.inp[1 + i] += span * problem.inp[1 + problem.sizes.n + i]


@kernel(inner=True)
def is_balanced(problem: Problem, contacts: Contacts, m: int, total: int) -> bool:
    """Whether a touching contact has neither a force nor an acceleration, but for round-off.

    Which of both it gets, the next moment decides.
    """
    n, count, out = problem.sizes.n, problem.sizes.rows, problem.out
    free, force, D = problem.saddle.solution, contacts.force, contacts.D
    for k in range(m):
        c = contacts.act[k]
        rate, size = contacts.w[k], abs(out[2 * count + count * n + c])
        for i in range(n):
            size += abs(out[2 * count + c * n + i] * free[i])
        for j in range(total):
            rate += D[k, j] * force[j]
            size += abs(D[k, j] * force[j])
        if abs(rate) <= BALANCED * size and D[k, k] * force[k] <= BALANCED * size:
            return True
    return False


@kernel(inner=True)
def settle(
    problem: Problem, contacts: Contacts, band: float, slow: float, still: int, begins: int
) -> int:
    """Decide which touching contacts stay closed, and stick: 0 <= gap'' perp lam >= 0 and Coulomb.

    Contacts count that lie within `band` and neither part nor close faster than `slow`;
    HELD_BEFORE times that for those that have been held up to now. Tangent `still` is known not to
    slide (-1: none is); where `begins` is 1 or -1 it begins to slide that way.
    """
    nc, out, act = problem.sizes.n_c, problem.out, contacts.act
    speeds(problem, contacts)
    m = 0
    for c in range(nc):
        if out[c] <= band and at_rest(contacts, c, slow):
            act[m] = c
            m += 1
    open_all(problem)
    if m == 0:
        return SUCCESS
    status, total = hold_or_part(problem, contacts, m, slow, still, begins)
    if status == SUCCESS and is_balanced(problem, contacts, m, total):
        look_ahead(problem, problem.state[0].ahead)
        open_all(problem)
        status, total = hold_or_part(problem, contacts, m, slow, still, begins)
        look_ahead(problem, -problem.state[0].ahead)
        if status != SUCCESS:
            open_all(problem)
            status, total = hold_or_part(problem, contacts, m, slow, still, begins)
    if status == SUCCESS:
        turn_unforced(problem, contacts, m, total, slow, still if begins == 0 else -1)
    return status
