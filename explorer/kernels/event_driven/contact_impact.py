"""The contact problems of an event: which contacts hold, and what an impact does.

Both are one linear complementarity problem with Coulomb friction
(`explorer.kernels.friction.glocker_lcp`) over the touching contacts, at the level of accelerations
and of impulses: for contact forces lam and friction lam_t of rows G and H, its velocities are G u
and H u of u = M^-1 (G' lam + H' lam_t) + w.

An impact is the reset v+ = v- + dv with M dv = G' p + H' p_t,
0 <= G v+ + gap_t + e (G v- + gap_t) perp p >= 0 and Coulomb's law for p_t against the sliding
velocity afterwards; its derivative follows from the saddle system over the rows held by impulses.
"""

import numpy as np

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.complementarity.lcp import VERTEX, solve
from explorer.kernels.complementarity.structures import FACTORED, Lcp, LcpOptions, LcpWorkspace
from explorer.kernels.event_driven.flow import (
    CLOSED,
    CON,
    DYN,
    HELD,
    IMPACT,
    NC,
    NR,
    NX,
    OWNERS,
    PROBLEM,
    ROWS,
    N,
    assemble,
)  # fmt: skip
from explorer.kernels.event_driven.saltation import H_RHO, H_T, H_X, X_PLUS, P, identity
from explorer.kernels.friction.coefficients import IMPROPER, improper
from explorer.kernels.friction.glocker_lcp import FREE, standard_form
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve

__all__ = ["LCP_WORK", "frictions", "impact", "settle"]

LCP_WORK = (
    "float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " int64[:, ::1], int8[::1]"
)
# rows of `ints`: touching rows, what `solve` needs (3), 0 1 2 ..., sigma of each of them (FREE: it
# may stick), where the tangent of a contact stands among them, contacts held before the event,
# how many open contacts met, then which of the touching ones an impulse can reach
ACT, ORDER, SIGMA, PLACE, PRIOR, MET = 0, 4, 5, 6, 7, 8
UNCOUPLED = 1e-12  # an entry of G M^-1 G' this small beside the diagonal is round-off
# rows of `vectors`: right side, solution, what `solve` needs (2), speeds of all rows, forces of
# the touching rows
SPEED, FORCE = 4, 5


@kernel(f"void({PROBLEM}, float64[:, ::1])", inner=True)
def speeds(table, shape, inp, out, W, pivots, vec, state, vectors):
    """Write gap' and sliding velocities at the state in `inp`; leaves the CON bundle in `out`."""
    n, rows = shape[N], shape[ROWS]
    call(table[CON, 0], table[CON, 1], out, inp)
    for c in range(rows):
        total = out[rows + c]
        for i in range(n):
            total += out[2 * rows + c * n + i] * inp[1 + n + i]
        vectors[SPEED, c] = total


@kernel(f"int64({PROBLEM}, {LCP_WORK}, int64)", inner=True)
def delassus(
    table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors, ints, member, m
):
    """matrix = G M^-1 G' over the touching contacts ints[ACT, :m] and, behind them, their tangents.

    Returns how many rows that are, or -1 for a singular M. vec[0] = M^-1 F.
    """
    n, rows = shape[N], shape[ROWS]
    act, place = ints[ACT], ints[PLACE]
    total = m
    for k in range(m):
        place[k] = -1
        if shape[shape[OWNERS] + act[k]] >= 0:
            act[total] = shape[shape[OWNERS] + act[k]]
            place[k] = total
            total += 1
    call(table[DYN, 0], table[DYN, 1], out, inp)
    for i in range(n):
        for j in range(n):
            W[i, j] = out[i * n + j]
        vec[0, i] = out[n * n + i]
    if lu_factor(W, n, n - 1, n - 1, pivots) != 0:
        return -1
    lu_solve(W, n, n - 1, n - 1, pivots, vec[0])
    call(table[CON, 0], table[CON, 1], out, inp)
    for k in range(total):
        for i in range(n):
            vec[1, i] = out[2 * rows + act[k] * n + i]
        lu_solve(W, n, n - 1, n - 1, pivots, vec[1])
        for j in range(total):
            sum_ = 0.0
            for i in range(n):
                sum_ += out[2 * rows + act[j] * n + i] * vec[1, i]
            matrix[j, k] = sum_
    return total


@kernel("int64(float64[:, ::1], int64[:, ::1], int64, int64, int64)", inner=True)
def reached(matrix, ints, m, total, now):
    """Mark in ints[MET, 1:] which of the `m` touching contacts are coupled with contact `now`.

    There is a path from one to the other through entries of G M^-1 G', normals or tangents. Returns
    how many they are.
    """
    met, of = ints[MET], ints[ORDER]  # the contact, among the touching ones, of each row
    for k in range(m):
        met[1 + k] = 1 if ints[ACT, k] == now else 0
        of[k] = k
        if ints[PLACE, k] >= 0:
            of[ints[PLACE, k]] = k
    count, grown = 1, True
    while grown:
        grown = False
        for i in range(total):
            a = of[i]
            for j in range(total):
                b = of[j]
                if met[1 + a] == 1 and met[1 + b] == 0:
                    size = np.sqrt(matrix[i, i] * matrix[j, j])
                    if abs(matrix[i, j]) > UNCOUPLED * size:
                        met[1 + b] = 1
                        count += 1
                        grown = True
    return count


@kernel(f"int64({PROBLEM}, float64, float64[::1])", inner=True)
def frictions(table, shape, inp, out, W, pivots, vec, state, t, y):
    """Return IMPROPER if a coefficient of friction of a closed contact is none at (t, y)."""
    nx, n, nc, rows = shape[NX], shape[N], shape[NC], shape[ROWS]
    if rows == nc or state[HELD] == 0:
        return SUCCESS
    inp[0] = t
    for i in range(nx):
        inp[1 + i] = y[i]
    call(table[CON, 0], table[CON, 1], out, inp)
    at_mu, count = rows * (n + 3), rows - nc
    for k in range(count):
        closed = state[CLOSED + shape[shape[OWNERS] + nc + k]] == 1
        if closed and improper(out[at_mu + k], out[at_mu + count + k]):
            return IMPROPER
    return SUCCESS


@kernel(f"int64({PROBLEM}, {LCP_WORK}, int64, int64, boolean)", inner=True)
def coulomb(
    table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors, ints, member, m,
    total, sticky,
):  # fmt: skip
    """Solve for the forces of the touching rows and mark in `state` which hold and which slide.

    vectors[0, :total] is w, ints[SIGMA] says which way a tangent slides; CON must be in `out`.
    `sticky`: what may stick does so up to mu_s, not mu.
    """
    n, nc, rows = shape[N], shape[NC], shape[ROWS]
    act, place, sigma, q = ints[ACT], ints[PLACE], ints[SIGMA], vectors[0]
    ratio, force = vectors[2], vectors[FORCE]  # force holds the right side up to its solution
    at_mu = 2 * rows + rows * (n + 1)
    free_mu = at_mu + (rows - nc if sticky else 0)
    for j in range(total):
        ints[ORDER, j] = j
        if j >= m and improper(out[at_mu + act[j] - nc], out[at_mu + rows + act[j] - 2 * nc]):
            return IMPROPER
    for k in range(m):
        t = place[k]
        if t >= 0:
            free = sigma[t] == FREE
            ratio[k] = out[free_mu + act[t] - nc] if free else sigma[t] * out[at_mu + act[t] - nc]
    size = standard_form(matrix, ints[ORDER], m, place, ratio, sigma, q, B, force)
    for j in range(size):
        ints[ORDER, j] = j
    kept = ints[3][:3].view(FACTORED)
    lcp = LcpWorkspace(member, kept, ints[2], A, ints[1], tab, vectors[2])
    problem = Lcp(B, ints[ORDER], force, vectors[1])
    status, _ = solve(problem, size, size, LcpOptions(VERTEX, 1e-9, 1000), lcp)
    kept[0].count = -1
    if status != SUCCESS:
        return status
    for c in range(2 * rows - nc):
        state[CLOSED + c] = 0
    state[HELD] = 0
    at = m
    for k in range(m):
        t = place[k]
        force[k] = vectors[1, k]
        if t >= 0 and sigma[t] == FREE:
            limit = out[free_mu + act[t] - nc] * force[k]
            force[t] = vectors[1, at] - limit
            sigma[t] = 0  # at a limit it slides: of redundant contacts not all may hold
            if vectors[1, at + 1] > 0.0 or not force[t] < (1.0 - 1e-12) * limit:
                sigma[t] = -1
            elif not vectors[1, at] > 0.0:
                sigma[t] = 1
            at += 2
        elif t >= 0:
            force[t] = -sigma[t] * out[at_mu + act[t] - nc] * force[k]
        if force[k] > 0.0:
            state[CLOSED + act[k]] = 1
            state[HELD] += 1
            if t >= 0 and sigma[t] == 0:
                state[CLOSED + act[t]] = 1
                state[HELD] += 1
            elif t >= 0:
                state[CLOSED + rows + act[t] - nc] = sigma[t]
    return SUCCESS


@kernel(f"int64({PROBLEM}, {LCP_WORK}, float64, float64, int64)", inner=True)
def settle(
    table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors, ints, member, band,
    slow, still,
):  # fmt: skip
    """Decide which touching contacts stay closed, and stick: 0 <= gap'' perp lam >= 0 and Coulomb.

    Contacts count that lie within `band` and neither part nor close faster than `slow`; ten
    thousand times that for those of ints[PRIOR], which have been held up to now. Tangent `still`
    is known not to slide (-1: none is).
    """
    n, nc, rows = shape[N], shape[NC], shape[ROWS]
    act, sigma, w = ints[ACT], ints[SIGMA], vectors[0]
    speeds(table, shape, inp, out, W, pivots, vec, state, vectors)
    m = 0
    for c in range(nc):
        least = 1e4 * slow if ints[PRIOR, c] == 1 else slow
        if out[c] <= band and abs(vectors[SPEED, c]) <= least:
            act[m] = c
            m += 1
    state[HELD] = 0
    for c in range(2 * rows - nc):
        state[CLOSED + c] = 0
    if m == 0:
        return SUCCESS
    total = delassus(table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors,
                     ints, member, m)  # fmt: skip
    if total < 0:
        return SINGULAR
    for k in range(total):
        c = act[k]
        w[k] = out[2 * rows + rows * n + c]
        for i in range(n):
            w[k] += out[2 * rows + c * n + i] * vec[0, i]
        speed = vectors[SPEED, c]
        least = 1e4 * slow if ints[PRIOR, c] == 1 else slow
        sigma[k] = 1 if speed > 0.0 else -1
        if c >= nc and (c == still or abs(speed) <= least):
            sigma[k] = FREE
    return coulomb(table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors, ints,
                   member, m, total, True)  # fmt: skip


@kernel(
    f"int64({PROBLEM}, {LCP_WORK}, float64, float64[::1], float64[:, ::1], float64[::1],"
    " int64[::1], int64, int64)",
    inner=True,
)
def impact(
    table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors, ints, member,
    band, e, e_rho, row, lay, slopes, now,
):  # fmt: skip
    """Let the touching contacts that the impact of `now` can reach share its impulses.

    Fills the reset of the record. `e` are the restitutions that count here (0 for a contact that
    closes). Contacts that no impulse of `now` can reach keep their velocities, so their impacts are
    events of their own. `state` is left with the rows held by impulses; `settle` says what follows.
    """
    nx, n, nc, nr, rows = shape[NX], shape[N], shape[NC], shape[NR], shape[ROWS]
    act, w = ints[ACT], vectors[0]
    at_a, at_lam = 1 + nx + nr + n, 1 + 2 * nx + nr
    at_e = at_lam + rows
    for c in range(nc):
        inp[at_e + c] = e[c]
    for c in range(rows):
        row[lay[P] + c] = 0.0
        ints[PRIOR, c] = state[CLOSED + c]
    identity(shape, row, lay)
    speeds(table, shape, inp, out, W, pivots, vec, state, vectors)
    m = 0
    for c in range(nc):
        if out[c] <= band or state[CLOSED + c] == 1:
            act[m] = c
            m += 1
    total = delassus(table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors,
                     ints, member, m)  # fmt: skip
    if total >= 0 and m > 1 and reached(matrix, ints, m, total, now) < m:
        kept = 0
        for k in range(m):
            if ints[MET, 1 + k] == 1:
                act[kept] = act[k]
                kept += 1
        m = kept
        total = delassus(table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors,
                         ints, member, m)  # fmt: skip
    if total < 0:
        return SINGULAR
    ints[MET, 0] = 0
    for k in range(m):
        ints[MET, 0] += 1 - state[CLOSED + act[k]]
    for k in range(total):
        w[k] = vectors[SPEED, act[k]]
        if k < m:
            w[k] *= 1.0 + e[act[k]]
        ints[SIGMA, k] = FREE
    status = coulomb(table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors,
                     ints, member, m, total, False)  # fmt: skip
    if status != SUCCESS:
        return status
    for i in range(n):
        vec[1, i] = 0.0
    for k in range(total):
        row[lay[P] + act[k]] = vectors[FORCE, k]
        for i in range(n):
            vec[1, i] += out[2 * rows + act[k] * n + i] * vectors[FORCE, k]
    lu_solve(W, n, n - 1, n - 1, pivots, vec[1])
    for i in range(n):
        row[lay[X_PLUS] + n + i] += vec[1, i]
        inp[at_a + i] = vec[1, i]
    if slopes == 0:
        return SUCCESS

    # the derivative: impulses as inputs, those of a sliding tangent by its sigma
    for c in range(rows):
        inp[at_lam + c] = row[lay[P] + c] if state[CLOSED + c] == 1 else 0.0
    for k in range(rows - nc):
        inp[at_e + nc + k] = state[CLOSED + rows + k]
    size = assemble(table, shape, inp, out, W, pivots, vec, state)
    if lu_factor(W, size, size - 1, size - 1, pivots) != 0:
        return SINGULAR
    call(table[IMPACT, 0], table[IMPACT, 1], out, inp)
    at = n * (nx + nr + 1)
    for d in range(nx + nr + 1):
        for i in range(n):
            if d < n:
                vec[1, i] = -out[i * n + d]
            elif d < nx:
                vec[1, i] = -out[n * n + i * n + d - n]
            elif d < nx + nr:
                vec[1, i] = -out[2 * n * n + i * nr + d - nx]
            else:
                vec[1, i] = -out[2 * n * n + n * nr + i]
        place = n
        for c in range(rows):
            if state[CLOSED + c] == 1:
                if d < n:
                    vec[1, place] = -out[at + c * n + d]
                elif d < nx:
                    vec[1, place] = -out[at + rows * n + c * n + d - n]
                elif d < nx + nr:
                    vec[1, place] = -out[at + 2 * rows * n + c * nr + d - nx]
                    if c < nc and e[c] > 0.0:
                        vec[1, place] -= vectors[SPEED, c] * e_rho[c, d - nx]
                else:
                    vec[1, place] = -out[at + 2 * rows * n + rows * nr + c]
                place += 1
        lu_solve(W, size, size - 1, size - 1, pivots, vec[1])
        for i in range(n):
            if d < nx:
                row[lay[H_X] + (n + i) * nx + d] += vec[1, i]
            elif d < nx + nr:
                row[lay[H_RHO] + (n + i) * nr + d - nx] = vec[1, i]
            else:
                row[lay[H_T] + n + i] = vec[1, i]
    return SUCCESS
