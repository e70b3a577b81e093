"""Coulomb friction at contacts: normal and tangential impulses together; in space and on lines.

In space it is `explorer.kernels.friction.cone` that solves. Where every contact slides along
one line, with the velocities w = D P + q of the normals and, behind them, of the tangents::

    0 <= w_n  perp  P_n >= 0,      |P_t| <= mu P_n,   P_t = -mu P_n sign(w_t) where w_t != 0

One contact is solved in closed form. Several are solved from the set of open, sticking and sliding
contacts that held last, exchanging those that contradict it; then as a linear complementarity
problem (`explorer.kernels.friction.glocker_lcp`); then as those in space. If asked for, contact by
contact (nonsmooth Gauss-Seidel: Jourdan, Alart, Jean, CMAME 155 (1998) 31).
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.lcp import LEMKE, PGS, solve
from explorer.kernels.friction.coefficients import IMPROPER, improper, revised
from explorer.kernels.friction.cone import GAUSS_SEIDEL, MADE, in_space
from explorer.kernels.friction.contact_modes import impulses, unknowns, verdict
from explorer.kernels.friction.glocker_lcp import FREE, standard_form
from explorer.kernels.friction.single_contact import NONE, OPEN, STICK, on_line
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import bandwidth, lu_factor, lu_solve

__all__ = ["MADE", "STICK", "coulomb"]

# D, the rows of D that take part (normals of the first m, then tangents), m, rows, where the
# tangent of a contact stands among them or -1, mu, q, P, what each contact does by its number
PROBLEM = (
    "float64[:, ::1], int64[::1], int64, int64, int64[::1], float64[::1], float64[::1],"
    " float64[::1], int64[::1]"
)


@kernel("float64(float64[:, ::1], int64[::1], int64, int64, float64[::1], float64[::1])",
        inline=True)  # fmt: skip
def velocity(D, act, j, rows, q, z):
    """Return (D z + q)_j."""
    total = q[j]
    for i in range(rows):
        if z[i] != 0.0:
            total += D[act[j], act[i]] * z[i]
    return total


@kernel(f"float64({PROBLEM})", inner=True)
def residual(D, act, m, rows, place, mu, q, z, mode):
    """Return the largest natural residual of a normal or a tangent, in the unit of q."""
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


@kernel(f"int64({PROBLEM}, float64, float64[:, ::1], float64[:, ::1], int64[:, ::1])", inner=True)
def exchange(D, act, m, rows, place, mu, q, z, mode, size, A, vec, ints):
    """Solve for the impulses of the set in `mode`, exchange what contradicts it, and again.

    Redundant contacts make the set's matrix singular; then the smallest of all solutions is found
    by proximal steps. Gives up, returning LCP_ITERATIONS, after 12 exchanges.
    """
    b, x = vec[0], vec[1]
    chosen, pivots, band = ints[0], ints[1], ints[2]
    for _ in range(12):
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
            band[0] = band[1] = n - 1
            if n > 8:
                bandwidth(A, n, band)
            if lu_factor(A, n, band[0], band[1], pivots) == 0:
                break
            if steps > 1:
                return LCP_ITERATIONS
            steps, shift = 4, 1e-7 * trace / n
        for c in range(n):
            x[c] = 0.0
        for _ in range(steps):
            for c in range(n):
                b[c] = shift * x[c] - q[chosen[c]]
            lu_solve(A, n, band[0], band[1], pivots, b)
            for c in range(n):
                x[c] = b[c]
        impulses(mode, act, place, mu, m, rows, chosen, n, x, z)
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


@kernel(f"int64({PROBLEM}, float64, int64)", inner=True)
def sweep(D, act, m, rows, place, mu, q, z, mode, tol, max_iter):
    """Nonsmooth Gauss-Seidel from the z given: each contact in closed form, the others held."""
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
        if count % 8 == 7 and residual(D, act, m, rows, place, mu, q, z, mode) <= tol:
            return SUCCESS
    return LCP_ITERATIONS


@kernel(
    f"int64({PROBLEM}, int64, float64, int64, float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], int64[:, ::1], int8[::1])",
    inner=True,
)
def complementarity(
    D, act, m, rows, place, mu, q, z, mode, method, tol, max_iter, A, B, T, vec, ints, member
):
    """Solve the linear complementarity problem of the module's docstring."""
    g, x, free, order = vec[2], vec[3], ints[0], ints[3]
    for j in range(rows):
        free[j] = FREE
    size = standard_form(D, act, m, place, mu, free, q, B, g)
    for i in range(size):
        order[i] = i
    ints[6, 0] = -1
    status = solve(
        method, B, order, size, size, g, tol, max_iter, x, member, T, A, ints[4], ints[5], ints[6],
        vec[0], vec[1],
    )  # fmt: skip
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


@kernel(
    f"int64({PROBLEM}, int64, float64, int64, float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], int64[:, ::1], int8[::1], float64[::1], int64[::1], int64[::1])",
    inner=True,
)
def with_ratios(
    D, act, m, rows, place, mu, q, z, mode, method, tol, max_iter, A, B, T, vec, ints, member,
    found, tangents, state,
):  # fmt: skip
    """Solve for one friction coefficient per contact; ``found[0]`` is the residual."""
    if m == 1 and rows == 2 and method == LEMKE:
        a, c = act[0], act[1]
        P_n, P_t, what = on_line(D[a, a], D[a, c], D[c, a], D[c, c], mu[0], q[0], q[1])
        if what != NONE:
            z[0], z[1], mode[a] = P_n, P_t, int(what)
            found[0] = residual(D, act, m, rows, place, mu, q, z, mode)
            return SUCCESS if np.isfinite(found[0]) else LCP_RAY
    size = 0.0
    for j in range(rows):
        size = max(size, abs(q[j]))
        if not np.isfinite(q[j]):
            found[0] = np.nan
            return LCP_RAY
    status = LCP_RAY
    if method == LEMKE:
        status = exchange(D, act, m, rows, place, mu, q, z, mode, size, A, vec, ints)
        found[0] = residual(D, act, m, rows, place, mu, q, z, mode)
    if method != PGS and not (status == SUCCESS and found[0] <= tol * size):
        status = complementarity(
            D, act, m, rows, place, mu, q, z, mode, method, tol, max_iter, A, B, T, vec, ints,
            member,
        )  # fmt: skip
        found[0] = residual(D, act, m, rows, place, mu, q, z, mode)
    if method == PGS or (method == LEMKE and not found[0] <= tol * size):
        for j in range(rows):
            z[j] = 0.0
        if method == PGS:
            status = sweep(D, act, m, rows, place, mu, q, z, mode, tol * size, max_iter)
        else:  # a line is a plane in which one direction moves nothing
            state[MADE] = -1
            status = in_space(
                D, act, m, rows, place, tangents, mu, q, z, mode, GAUSS_SEIDEL, tol, max_iter, A,
                B, vec[9:], ints, state, found,
            )  # fmt: skip
        found[0] = residual(D, act, m, rows, place, mu, q, z, mode)
    if found[0] <= tol * size:
        return SUCCESS
    return status if status != SUCCESS else LCP_ITERATIONS


@kernel(
    f"int64({PROBLEM}, int64, float64, int64, float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], int64[:, ::1], int8[::1], float64[::1], int64, float64[:, ::1],"
    " float64[::1], int8[::1], int64[::1], int64, int64[::1])",
    inner=True,
)
def coulomb(
    D, act, m, rows, place, mu, q, z, mode, method, tol, max_iter, A, B, T, vec, ints, member,
    found, nc, coefficients, slip, before, tangents, solver, state,
):  # fmt: skip
    """Solve for the impulses of the active contacts, with static friction above the kinetic one.

    A contact holds up to mu_s if it stuck, or if its sliding would turn within the step. IMPROPER:
    a coefficient that counts is none.

    Parameters
    ----------
    mu : (m,) float, filled here with the coefficients that count
    coefficients : (2, n_t) mu and mu_s of the tangents
    slip, before : (n_rows,) sliding velocities and what the tangents did at the start of the step
    A, B, T, vec (18, .), ints (7, .), member : workspaces
    tangents, state : as `in_space` wants them
    solver : of friction in space, 0 if all friction is along lines
    """
    kinetic, static = coefficients[0], coefficients[1]
    for k in range(m):
        mu[k] = 0.0
        if place[k] >= 0:
            r = act[place[k]] - nc
            mu[k] = static[r] if before[nc + r] == STICK else kinetic[r]
            if improper(kinetic[r], static[r]):
                return IMPROPER
    for attempt in range(2 + m):
        if solver > 0:
            status = in_space(
                D, act, m, rows, place, tangents, mu, q, z, mode, solver, tol, max_iter, A,
                B, vec[9:], ints, state, found,
            )  # fmt: skip
        else:
            status = with_ratios(
                D, act, m, rows, place, mu, q, z, mode, method, tol, max_iter, A, B, T, vec, ints,
                member, found, tangents, state,
            )  # fmt: skip
        if status != SUCCESS:
            return status
        again = False
        for k in range(m):
            what = mode[act[k]]
            if place[k] < 0 or abs(what) != 1:
                continue
            r = act[place[k]] - nc
            onward = what * slip[nc + r]
            if static[r] > kinetic[r] and tangents[act[k] + 1] - tangents[act[k]] > 1:
                onward = velocity(D, act, place[k], rows, q, z) * slip[nc + r]
                onward += velocity(D, act, place[k] + 1, rows, q, z) * slip[nc + r + 1]
            old = mu[k]
            mu[k] = revised(old, kinetic[r], static[r], attempt == 0 and onward < 0.0)
            again = again or mu[k] != old
        if not again:
            return SUCCESS
    return SUCCESS
