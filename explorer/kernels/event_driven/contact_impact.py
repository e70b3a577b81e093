"""The contact problems of an event: which contacts hold, and what an impact does.

Both are one linear complementarity problem with Coulomb friction
(`explorer.kernels.friction.glocker_lcp`) over the touching contacts, at the level of accelerations
and of impulses: for contact forces lam and friction lam_t of rows G and H, its velocities are G u
and H u of u = M^-1 (G' lam + H' lam_t) + w.

An impact is the reset v+ = v- + dv with M dv = G' p + H' p_t,
0 <= G v+ + gap_t + e (G v- + gap_t) perp p >= 0 and Coulomb's law for p_t against the sliding
velocity afterwards; its derivative follows from the saddle system over the rows held by impulses.

Statuses: SUCCESS; SINGULAR, the mass matrix or the saddle matrix is singular; IMPROPER, not
0 <= mu <= mu_s; LCP_RAY, LCP_ITERATIONS, no forces or impulses solve the problem.
"""

import numpy as np

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.complementarity.lcp import VERTEX, solve
from explorer.kernels.complementarity.structures import Lcp, LcpOptions
from explorer.kernels.event_driven.flow import assemble, evaluate
from explorer.kernels.event_driven.impact_derivative import impact_derivative
from explorer.kernels.event_driven.manifold import held_constraints
from explorer.kernels.event_driven.records import CONTACTS
from explorer.kernels.event_driven.saltation import identity
from explorer.kernels.event_driven.structures import Contacts, Event, Problem
from explorer.kernels.friction.coefficients import IMPROPER, improper
from explorer.kernels.friction.glocker_lcp import FREE, standard_form
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["coulomb", "delassus", "frictions", "impact", "open_all", "speeds"]

UNCOUPLED = 1e-12  # an entry of G M^-1 G' this small beside the diagonal is round-off
TOL, MOST = 1e-9, 1000  # of the complementarity problem: relative residual, sweeps


@kernel(inner=True)
def speeds(problem: Problem, contacts: Contacts) -> None:
    """Note gap' and sliding velocities at the state in `inp`; leaves CONTACTS in `out`."""
    n, count, inp, out = problem.sizes.n, problem.sizes.rows, problem.inp, problem.out
    evaluate(problem.functions.table, CONTACTS, inp, out)
    for c in range(count):
        total = out[count + c]
        for i in range(n):
            total += out[2 * count + c * n + i] * inp[1 + n + i]
        contacts.rows[c].speed = total


@kernel(inner=True)
def delassus(problem: Problem, contacts: Contacts, m: int) -> int:
    """D = G M^-1 G' over the `m` touching contacts and, behind them, their tangents.

    With constraints M^-1 is what the saddle matrix of M and their rows makes of forces. Returns how
    many rows that are, or -1 for a singular matrix. The saddle's `solution` is M^-1 F.
    """
    n, count, table = problem.sizes.n, problem.sizes.rows, problem.functions.table
    inp, out, partner = problem.inp, problem.out, problem.partner
    W, pivots = problem.saddle.W, problem.saddle.pivots
    free, column = problem.saddle.solution, problem.saddle.tangent
    act, place, D = contacts.act, contacts.place, contacts.D
    total = m
    for k in range(m):
        place[k] = -1
        if partner[act[k]] >= 0:
            act[total] = partner[act[k]]
            place[k] = total
            total += 1
    size = assemble(problem, problem.sizes.n_c + problem.sizes.n_t)
    if lu_factor(W, size, size - 1, size - 1, pivots) != 0:
        return -1
    lu_solve(W, size, size - 1, size - 1, pivots, free)
    evaluate(table, CONTACTS, inp, out)
    for k in range(total):
        for i in range(n, size):
            column[i] = 0.0
        for i in range(n):
            column[i] = out[2 * count + act[k] * n + i]
        lu_solve(W, size, size - 1, size - 1, pivots, column)
        for j in range(total):
            sum_ = 0.0
            for i in range(n):
                sum_ += out[2 * count + act[j] * n + i] * column[i]
            D[j, k] = sum_
    return total


@kernel(inner=True)
def reach(contacts: Contacts, m: int, total: int, now: int) -> int:
    """Mark which of the `m` touching contacts are coupled with contact `now`; return how many.

    There is a path from one to the other through entries of G M^-1 G', normals or tangents.
    """
    reached, contact, D = contacts.reached, contacts.order, contacts.D
    for k in range(m):
        reached[k] = 1 if contacts.act[k] == now else 0
        contact[k] = k
        if contacts.place[k] >= 0:
            contact[contacts.place[k]] = k
    count, grown = 1, True
    while grown:
        grown = False
        for i in range(total):
            a = contact[i]
            for j in range(total):
                b = contact[j]
                if reached[a] == 1 and reached[b] == 0:
                    size = np.sqrt(D[i, i] * D[j, j])
                    if abs(D[i, j]) > UNCOUPLED * size:
                        reached[b] = 1
                        count += 1
                        grown = True
    return count


@kernel(inner=True)
def frictions(problem: Problem, t: float, y: Vector) -> int:
    """Return IMPROPER if a coefficient of friction of a closed contact is none at (t, y)."""
    nc, rows, count = problem.sizes.n_c, problem.sizes.rows, problem.sizes.n_t
    inp, out = problem.inp, problem.out
    if count == 0 or problem.state[0].held == 0:
        return SUCCESS
    inp[0] = t
    for i in range(problem.sizes.n_x):
        inp[1 + i] = y[i]
    evaluate(problem.functions.table, CONTACTS, inp, out)
    at_mu = rows * (problem.sizes.n + 3)
    for k in range(count):
        closed = problem.rows[problem.partner[nc + k]].closed == 1
        if closed and improper(out[at_mu + k], out[at_mu + count + k]):
            return IMPROPER
    return SUCCESS


@kernel(inner=True)
def open_all(problem: Problem) -> None:
    """Hold no contact, and let none slide."""
    rows, contacts = problem.rows, problem.sizes.n_c + problem.sizes.n_t
    problem.state[0].held = held_constraints(problem)
    for c in range(contacts):
        rows[c].closed, rows[c].sigma = 0, 0


@kernel(inner=True)
def distribute(problem: Problem, contacts: Contacts, m: int, free_mu: int) -> None:
    """Read the forces of all touching rows from the solution, and which rows they hold.

    mu of what may stick stands in `out` from `free_mu` on.
    """
    n, nc, count = problem.sizes.n, problem.sizes.n_c, problem.sizes.rows
    out, rows, state = problem.out, problem.rows, problem.state
    act, place, sigma = contacts.act, contacts.place, contacts.sigma
    force, z = contacts.force, contacts.z
    at_mu = 2 * count + count * (n + 1)
    open_all(problem)
    at = m
    for k in range(m):
        t = place[k]
        force[k] = z[k]
        if t >= 0 and sigma[t] == FREE:
            limit = out[free_mu + act[t] - nc] * force[k]
            force[t] = z[at] - limit
            sigma[t] = 0  # at a limit it slides: of redundant contacts not all may hold
            if z[at + 1] > 0.0 or not force[t] < (1.0 - 1e-12) * limit:
                sigma[t] = -1
            elif not z[at] > 0.0:
                sigma[t] = 1
            at += 2
        elif t >= 0:
            force[t] = -sigma[t] * out[at_mu + act[t] - nc] * force[k]
        if force[k] > 0.0:
            rows[act[k]].closed = 1
            state[0].held += 1
            if t >= 0 and sigma[t] == 0:
                rows[act[t]].closed = 1
                state[0].held += 1
            elif t >= 0:
                rows[act[t]].sigma = sigma[t]


@kernel(inner=True)
def coulomb(problem: Problem, contacts: Contacts, m: int, total: int, sticky: bool) -> int:
    """Solve for the forces of the touching rows and mark which hold and which slide.

    `contacts` has the right side and which way a tangent slides; CONTACTS must be in `out`.
    `sticky`: what may stick does so up to mu_s, not mu.
    """
    n, nc, nt, out = problem.sizes.n, problem.sizes.n_c, problem.sizes.n_t, problem.out
    count, act, place, sigma, order = (
        problem.sizes.rows,
        contacts.act,
        contacts.place,
        contacts.sigma,
        contacts.order,
    )
    ratio, force, B = contacts.ratio, contacts.force, contacts.B
    at_mu = 2 * count + count * (n + 1)
    free_mu = at_mu + (nt if sticky else 0)
    for j in range(total):
        order[j] = j
        if j >= m and improper(out[at_mu + act[j] - nc], out[at_mu + nt + act[j] - nc]):
            return IMPROPER
    for k in range(m):
        t = place[k]
        if t >= 0:
            free = sigma[t] == FREE
            ratio[k] = out[free_mu + act[t] - nc] if free else sigma[t] * out[at_mu + act[t] - nc]
    # force is the right side up to its solution
    size = standard_form(contacts.D, order, m, place, ratio, sigma, contacts.w, B, force)
    for j in range(size):
        order[j] = j
    lcp = Lcp(B, order, force, contacts.z)
    options = LcpOptions(VERTEX, TOL, MOST)
    status, _ = solve(lcp, size, size, options, contacts.lcp)
    contacts.lcp.kept[0].count = -1
    if status == SUCCESS:
        distribute(problem, contacts, m, free_mu)
    return status


@kernel(inner=True)
def sharing(problem: Problem, contacts: Contacts, band: float, now: int) -> tuple[int, int]:
    """Choose the touching contacts that the impact of `now` can reach.

    Returns how many they are, and with their tangents; -1 for a singular M.
    """
    act, rows = contacts.act, problem.rows
    m = 0
    for c in range(problem.sizes.n_c):
        if problem.out[c] <= band or rows[c].closed == 1:
            act[m] = c
            m += 1
    total = delassus(problem, contacts, m)
    if total >= 0 and m > 1 and now >= 0 and reach(contacts, m, total, now) < m:
        kept = 0
        for k in range(m):
            if contacts.reached[k] == 1:
                act[kept] = act[k]
                kept += 1
        m = kept
        total = delassus(problem, contacts, m)
    return m, total


@kernel(inner=True)
def closing_speeds(problem: Problem, contacts: Contacts, right: Vector) -> int:
    """Write what an impact asks of the constraints, no force and minus their speeds, to `right`.

    Returns its length. The speeds are round-off, but of a constraint that begins to hold. By the
    penalty formulation an impact has (M + alpha phi_q' phi_q) dv = G' p: no speed is asked for.
    """
    size = problem.sizes.n
    for i in range(size):
        right[i] = 0.0
    for c in range(problem.sizes.n_c + problem.sizes.n_t, problem.sizes.rows):
        if problem.rows[c].closed == 1:
            right[size] = -problem.inp[problem.sizes.penalty + 3] * contacts.rows[c].speed
            size += 1
    return size


@kernel(inner=True)
def impact(
    problem: Problem, contacts: Contacts, band: float, event: Event, slopes: bool, now: int
) -> int:
    """Let the touching contacts that the impact of `now` can reach share its impulses.

    Fills the reset of the event. The restitutions are those that count now (0 for a contact that
    closes). Contacts that no impulse of `now` can reach keep their velocities, so their impacts are
    events of their own. The rows held by impulses stay marked; `settle` says what follows. Where
    constraints begin to hold (`now` < 0) all touching contacts share.
    """
    n, nc, count = problem.sizes.n, problem.sizes.n_c, problem.sizes.rows
    inp, out, saddle, rows = problem.inp, problem.out, problem.saddle, problem.rows
    row, at, e, dv = event.row, event.at, contacts.e_now, problem.saddle.tangent
    act, w, force = contacts.act, contacts.w, contacts.force
    for c in range(nc):
        inp[problem.sizes.e + c] = e[c]
    for c in range(count):
        row[at.p + c] = 0.0
        contacts.rows[c].prior = rows[c].closed
    identity(problem.sizes, event)
    speeds(problem, contacts)
    m, total = sharing(problem, contacts, band, now)
    if total < 0:
        return SINGULAR
    met = 0
    for k in range(m):
        met += 1 - rows[act[k]].closed
    event.head[0].together = max(met, 1)
    size = closing_speeds(problem, contacts, saddle.solution)
    if size > n:
        lu_solve(saddle.W, size, size - 1, size - 1, saddle.pivots, saddle.solution)
    for k in range(total):
        w[k] = contacts.rows[act[k]].speed
        if k < m:
            w[k] *= 1.0 + e[act[k]]
        if size > n:
            for i in range(n):
                w[k] += out[2 * count + act[k] * n + i] * saddle.solution[i]
        contacts.sigma[k] = FREE
    status = coulomb(problem, contacts, m, total, False) if total > 0 else SUCCESS
    if status != SUCCESS:
        return status
    closing_speeds(problem, contacts, dv)
    for k in range(total):
        row[at.p + act[k]] = force[k]
        for i in range(n):
            dv[i] += out[2 * count + act[k] * n + i] * force[k]
    lu_solve(saddle.W, size, size - 1, size - 1, saddle.pivots, dv)
    for i in range(n):
        row[at.x_plus + n + i] += dv[i]
        inp[problem.sizes.rates + n + i] = dv[i]
    size = n
    for c in range(nc + problem.sizes.n_t, count):
        if rows[c].closed == 1:
            row[at.p + c] = -dv[size]
            size += 1
    return impact_derivative(problem, contacts, event) if slopes else SUCCESS
