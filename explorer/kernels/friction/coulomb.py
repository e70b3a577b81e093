"""Coulomb friction at contacts: normal and tangential impulses together; in space and on lines.

In space it is `explorer.kernels.friction.cone` that solves. Where every contact slides along
one line, with the velocities w = D P + q of the normals and, behind them, of the tangents::

    0 <= w_n  perp  P_n >= 0,      |P_t| <= mu P_n,   P_t = -mu P_n sign(w_t) where w_t != 0

One contact is solved in closed form. Several are solved from the set of open, sticking and sliding
contacts that held last, exchanging those that contradict it; then as a linear complementarity
problem (`explorer.kernels.friction.glocker_lcp`); then as those in space. If asked for, contact by
contact (nonsmooth Gauss-Seidel: Jourdan, Alart, Jean, CMAME 155 (1998) 31).

Status: SUCCESS, the residual is within the tolerance; LCP_RAY, q is no number or a contact has no
solution; LCP_ITERATIONS, none was found; IMPROPER, a coefficient that counts is none.
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.lcp import LEMKE, PGS, solve
from explorer.kernels.complementarity.structures import Lcp, LcpOptions
from explorer.kernels.friction.coefficients import IMPROPER, improper, revised
from explorer.kernels.friction.cone import GAUSS_SEIDEL, in_space
from explorer.kernels.friction.contact_modes import impulses, unknowns, verdict
from explorer.kernels.friction.glocker_lcp import FREE, standard_form
from explorer.kernels.friction.single_contact import NONE, OPEN, STICK, on_line
from explorer.kernels.friction.structures import (
    ActiveSet,
    Contacts,
    Friction,
    FrictionOptions,
    FrictionWorkspace,
    Glocker,
)
from explorer.kernels.linear_algebra.dense_lu import bandwidth, lu_factor, lu_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["STICK", "coulomb", "count_coefficients"]

STEADY = 1e-7  # of the mean of the diagonal: the proximal term where contacts are redundant


@kernel(inline=True)
def velocity(D: Matrix, act: Integers, j: int, rows: int, q: Vector, z: Vector) -> float:
    """Return (D z + q)_j."""
    total = q[j]
    for i in range(rows):
        if z[i] != 0.0:
            total += D[act[j], act[i]] * z[i]
    return total


@kernel(inner=True)
def residual(contacts: Contacts) -> float:
    """Return the largest natural residual of a normal or a tangent, in the unit of q."""
    D, act, m, rows, place = contacts.D, contacts.act, contacts.m, contacts.rows, contacts.place
    mu, q, z = contacts.mu, contacts.q, contacts.P
    worst = 0.0
    for k in range(m):
        w, unit = velocity(D, act, k, rows, q, z), D[act[k], act[k]]
        off = abs(min(unit * z[k] if unit > 0.0 else z[k], w))
        t = place[k]
        if t >= 0:
            unit = D[act[t], act[t]]
            bound = mu[k] * unit * z[k]
            free = unit * z[t] - velocity(D, act, t, rows, q, z)
            off = max(off, abs(unit * z[t] - min(max(free, -bound), bound)))
            off += 0.0 * free
        if not np.isfinite(off + w):  # min() and max() would swallow a NaN
            return np.nan
        worst = max(worst, off)
    return worst


@kernel(inner=True)
def solve_set(contacts: Contacts, work: ActiveSet) -> int:
    """Solve w = 0 for the normals that hold and the tangents that stick; return their number.

    What slides adds -sigma mu times the column of its tangent to that of its normal. Redundant
    contacts make the matrix singular; then the smallest of all solutions is found by proximal
    steps. -1: it is singular for all that.
    """
    D, act, m, place, mu = contacts.D, contacts.act, contacts.m, contacts.place, contacts.mu
    q, mode = contacts.q, contacts.mode
    A, b, x, chosen, pivots = work.A, work.b, work.x, work.chosen, work.pivots
    n = unknowns(mode, act, place, m, chosen)
    steps, shift = 1, 0.0
    while True:
        trace = 0.0
        for c in range(n):
            j = chosen[c]
            sign = 0.0
            if j < m and place[j] >= 0 and mode[act[j]] != STICK:
                sign = mode[act[j]] * mu[j]
            for r in range(n):
                A[r, c] = D[act[chosen[r]], act[j]]
                if sign != 0.0:
                    A[r, c] -= sign * D[act[chosen[r]], act[place[j]]]
            trace += abs(A[c, c])
            A[c, c] += shift
        below, above = bandwidth(A, n) if n > 8 else (n - 1, n - 1)
        if lu_factor(A, n, below, above, pivots) == 0:
            break
        if steps > 1:
            return -1
        steps, shift = 4, STEADY * trace / n
    for c in range(n):
        x[c] = 0.0
    for _ in range(steps):
        for c in range(n):
            b[c] = shift * x[c] - q[chosen[c]]
        lu_solve(A, n, below, above, pivots, b)
        for c in range(n):
            x[c] = b[c]
    return n


@kernel(inner=True)
def exchange(contacts: Contacts, size: float, work: ActiveSet) -> int:
    """Solve for the impulses of the set in `mode`, exchange what contradicts it, and again.

    `size` is the largest |q|. Gives up, returning LCP_ITERATIONS, after 12 exchanges or where the
    matrix of a set is singular.
    """
    D, act, m, rows, place = contacts.D, contacts.act, contacts.m, contacts.rows, contacts.place
    mu, q, z, mode = contacts.mu, contacts.q, contacts.P, contacts.mode
    for _ in range(12):
        n = solve_set(contacts, work)
        if n < 0:
            return LCP_ITERATIONS
        impulses(mode, act, place, mu, m, rows, work.chosen, n, work.x, z)
        wrong = 0
        for k in range(m):
            a, t, w, P_t = act[k], place[k], 0.0, 0.0
            what = mode[a]
            if what == OPEN or abs(what) == 1:
                w = velocity(D, act, k if what == OPEN else t, rows, q, z)
            if t >= 0:
                P_t = z[t]
            mode[a] = verdict(what, z[k], P_t, mu[k], w, 1e-14 * size)
            wrong += mode[a] != what
        if wrong == 0:
            return SUCCESS
    return LCP_ITERATIONS


@kernel(inner=True)
def sweep(contacts: Contacts, tol: float, max_iter: int) -> int:
    """Nonsmooth Gauss-Seidel from the P given: each contact in closed form, the others fixed."""
    D, act, m, rows, place = contacts.D, contacts.act, contacts.m, contacts.rows, contacts.place
    mu, q, z, mode = contacts.mu, contacts.q, contacts.P, contacts.mode
    for count in range(max_iter):
        for k in range(m):
            a, t = act[k], place[k]
            nn = D[a, a]
            q_n = velocity(D, act, k, rows, q, z) - nn * z[k]
            if t < 0:
                z[k] = max(0.0, -q_n / nn) if nn > 0.0 else 0.0
                mode[a] = STICK if z[k] > 0.0 else OPEN
                continue
            c = act[t]
            q_n -= D[a, c] * z[t]
            q_t = velocity(D, act, t, rows, q, z) - D[c, a] * z[k] - D[c, c] * z[t]
            P_n, P_t, what = on_line(nn, D[a, c], D[c, a], D[c, c], mu[k], q_n, q_t)
            if what == NONE:
                return LCP_RAY
            z[k], z[t], mode[a] = P_n, P_t, int(what)
        if count % 8 == 7 and residual(contacts) <= tol:
            return SUCCESS
    return LCP_ITERATIONS


@kernel(inner=True)
def complementarity(contacts: Contacts, options: LcpOptions, work: Glocker) -> int:
    """Solve the linear complementarity problem of the module's docstring."""
    act, m, place, mu = contacts.act, contacts.m, contacts.place, contacts.mu
    z, mode, x, sigma, order = contacts.P, contacts.mode, work.x, work.sigma, work.order
    for j in range(contacts.rows):
        sigma[j] = FREE
    size = standard_form(contacts.D, act, m, place, mu, sigma, contacts.q, work.B, work.g)
    for i in range(size):
        order[i] = i
    work.work.kept[0].count = -1
    problem = Lcp(work.B, order, work.g, x)
    status, _ = solve(problem, size, size, options, work.work)
    at = m
    for k in range(m):
        t = place[k]
        z[k] = x[k]
        what = STICK
        if t >= 0:
            z[t] = x[at] - mu[k] * x[k]
            if x[at + 1] > 0.0:
                what = -1
            elif not x[at] > 0.0:
                what = 1
            at += 2
        mode[act[k]] = what if x[k] > 0.0 else OPEN
    return status


@kernel(inline=True)
def one_on_line(contacts: Contacts, method: int) -> bool:
    """Solve for a single contact with one tangent in closed form; False if that is no choice."""
    if contacts.m != 1 or contacts.rows != 2 or method != LEMKE:
        return False
    D, act, q, z = contacts.D, contacts.act, contacts.q, contacts.P
    k, t = contacts.m - 1, contacts.rows - 1  # the normal, the tangent
    a, c = act[k], act[t]
    P_n, P_t, what = on_line(D[a, a], D[a, c], D[c, a], D[c, c], contacts.mu[k], q[k], q[t])
    if what == NONE:
        return False
    z[k], z[t], contacts.mode[a] = P_n, P_t, int(what)
    return True


@kernel(inner=True)
def along_lines(
    contacts: Contacts, options: LcpOptions, work: FrictionWorkspace
) -> tuple[int, float]:
    """Solve for one friction coefficient per contact; return a status and the residual."""
    method, tol, q, z = options.method, options.tol, contacts.q, contacts.P
    size, off = 0.0, 0.0
    for j in range(contacts.rows):
        size = max(size, abs(q[j]))
        if not np.isfinite(q[j]):
            return LCP_RAY, np.nan
    status = LCP_RAY
    if method == LEMKE:
        status = exchange(contacts, size, work.active)
        off = residual(contacts)
    if method != PGS and not (status == SUCCESS and off <= tol * size):
        status = complementarity(contacts, options, work.glocker)
        off = residual(contacts)
    if method == PGS or (method == LEMKE and not off <= tol * size):
        for j in range(contacts.rows):
            z[j] = 0.0
        if method == PGS:
            status = sweep(contacts, tol * size, options.max_iter)
        else:  # a line is a plane in which one direction moves nothing
            work.cones.kept[0].contacts = -1
            status, off = in_space(contacts, GAUSS_SEIDEL, tol, options.max_iter, work.cones)
        off = residual(contacts)
    if off <= tol * size:
        return SUCCESS, off
    return status if status != SUCCESS else LCP_ITERATIONS, off


@kernel(inline=True)
def count_coefficients(contacts: Contacts, friction: Friction, nc: int) -> int:
    """Set mu of each contact: mu_s of what sticks. IMPROPER: it is none."""
    act, place, mu = contacts.act, contacts.place, contacts.mu
    kinetic, static, before = friction.kinetic, friction.static, friction.before
    for k in range(contacts.m):
        mu[k] = 0.0
        if place[k] >= 0:
            r = act[place[k]] - nc
            mu[k] = static[r] if before[nc + r] == STICK else kinetic[r]
            if improper(kinetic[r], static[r]):
                return IMPROPER
    return SUCCESS


@kernel(inline=True)
def revise(contacts: Contacts, friction: Friction, nc: int, first: bool) -> bool:
    """Change mu where a contact has been found to slide, or to turn; whether any was changed."""
    D, act, rows, place = contacts.D, contacts.act, contacts.rows, contacts.place
    mu, q, z, mode, tangents = contacts.mu, contacts.q, contacts.P, contacts.mode, contacts.tangents
    kinetic, static, slip = friction.kinetic, friction.static, friction.slip
    again = False
    for k in range(contacts.m):
        what = mode[act[k]]
        if place[k] < 0 or abs(what) != 1:
            continue
        r = act[place[k]] - nc
        onward = what * slip[nc + r]
        if static[r] > kinetic[r] and tangents[act[k] + 1] - tangents[act[k]] > 1:
            onward = velocity(D, act, place[k], rows, q, z) * slip[nc + r]
            onward += velocity(D, act, place[k] + 1, rows, q, z) * slip[nc + r + 1]
        old = mu[k]
        mu[k] = revised(old, kinetic[r], static[r], first and onward < 0.0)
        again = again or mu[k] != old
    return again


@kernel(inline=True)
def coulomb(
    contacts: Contacts,
    friction: Friction,
    nc: int,
    options: FrictionOptions,
    work: FrictionWorkspace,
) -> tuple[int, float]:
    """Solve for the impulses of the active contacts, with static friction above the kinetic one.

    A contact sticks up to mu_s if it stuck, or if its sliding would turn within the step. Returns a
    status and the residual; `contacts.mu` is filled with the coefficients that count. `nc`: rows of
    D before the first tangent.
    """
    status, off = count_coefficients(contacts, friction, nc), 0.0
    if status != SUCCESS:
        return status, off
    lcp = options.lcp
    for attempt in range(2 + contacts.m):
        if options.cones > 0:
            status, off = in_space(contacts, options.cones, lcp.tol, lcp.max_iter, work.cones)
        elif one_on_line(contacts, lcp.method):
            off = residual(contacts)
            status = SUCCESS if np.isfinite(off) else LCP_RAY
        else:
            status, off = along_lines(contacts, lcp, work)
        if status != SUCCESS:
            return status, off
        if not revise(contacts, friction, nc, attempt == 0):
            return SUCCESS, off
    return SUCCESS, off
