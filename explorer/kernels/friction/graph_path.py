"""A path of exact solutions over the contacts of a graph, to the one that is wanted.

The impulses at hand solve the problem with q + b for some b. What solves it with q + t b is
linear in t as long as no contact changes what it does, so one goes from t = 1 to t = 0 by way of
the places where one does: it opens or closes, sticks or slides. That contact decides whether t
falls or grows beyond; without solution the path has no end. (Complementary pivoting, as of Lemke;
for any start: Eaves, *Math. Programming* 1 (1971) 68; Klarbring, *Int. J. Solids Struct.* 1986.)

Redundant contacts: w + give D_kk (P - P_0) stands for w, P_0 the impulses at hand, so that what
nothing determines moves only if something else forces it to.
"""

import numpy as np

from explorer.kernels.complementarity.delassus import along, push
from explorer.kernels.friction.graph_velocities import (
    CONTACTS,
    SPARE,
    add_column,
    assemble_band,
    correct,
    number_coordinates,
)
from explorer.kernels.friction.single_contact import OPEN, STICK
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.banded_lu import band_factor, band_solve

__all__ = [
    "CHANGE", "INTS", "OFF", "VECTORS", "WORK", "along_path", "answer", "include", "prepare",
    "renew", "stiffen",
]  # fmt: skip

# rows of the workspaces: b, P_0, change of P, w, its change, change of u, firmness, the solution
# for the set that is factored, columns
OFF, FROM, CHANGE, W, DW, DU, FIRM, FIRST, COLUMNS = 10, 11, 12, 13, 14, 15, 16, 17, 18
DENSE = COLUMNS + 2 * SPARE
VECTORS, INTS = DENSE + 2 * SPARE + 1, 13
NEAREST = 2.0  # b beside what it cancels: no contact stands between two things that it may do
ORDER, WIDTH = 3, 4  # places in `state`

WORK = "float64[:, ::1], float64[:, ::1], int64[:, ::1]"  # band, vectors, integers


@kernel(f"boolean({CONTACTS}, int64, {WORK}, int64[::1])", inner=True)
def prepare(contacts, m, A, vec, ints, near):
    """Number the coordinates; False if A is too narrow for their band."""
    ptr, col, _, inverse, act, place = contacts[:6]
    n, w = number_coordinates(ptr, col, act, place, m, inverse.size, ints, near)
    ints[4, 1], ints[4, ORDER], ints[4, WIDTH] = -1, n, w  # the band of a set is no more
    return 3 * w < A.shape[1] and n <= A.shape[0]


@kernel(f"void({CONTACTS}, int64, float64, float64[:, ::1])", inline=True)
def stiffen(contacts, rows, give, vec):
    """Set how firm contacts are that give way by `give` beside D, beyond their compliance."""
    unit, soft, firm = contacts[8], contacts[9], vec[FIRM]
    for j in range(rows):
        gives = soft[j] + give * unit[j]
        firm[j] = 1.0 / gives if gives > 0.0 else 0.0


@kernel(f"void({CONTACTS}, int64)", inline=True)
def renew(contacts, rows):
    """u = W^-1 G' P."""
    ptr, col, val, inverse, act, _, _, _, _, _, P, _, u = contacts
    for j in range(u.size):
        u[j] = 0.0
    for k in range(rows):
        if P[k] != 0.0:
            push(ptr, col, val, act[k], P[k], u)
    for j in range(u.size):
        u[j] *= inverse[j]


@kernel(f"void({CONTACTS}, int64, float64[:, ::1])", inner=True)
def begin(contacts, m, vec):
    """Find b and what each contact does: P solves the problem with q + b, and no case is close."""
    ptr, col, val, _, act, place, mu, q, _, soft, P, mode, u = contacts
    off, start = vec[OFF], vec[FROM]
    for k in range(m):
        a, t = act[k], place[k]
        start[k] = P[k]
        w = q[k] + along(ptr, col, val, a, u) + soft[k] * P[k]
        mode[a] = STICK if P[k] > 0.0 else OPEN
        off[k] = -w if P[k] > 0.0 else -NEAREST * min(w, 0.0)
        if t >= 0:
            start[t], off[t] = P[t], 0.0
            w = q[t] + along(ptr, col, val, act[t], u)
            if P[k] > 0.0 and abs(P[t]) < mu[k] * P[k] * (1.0 - 1e-12):
                off[t] = -w
            elif P[k] > 0.0:
                mode[a] = -1 if P[t] > 0.0 else 1
                off[t] = 0.0 if mode[a] * w >= 0.0 else -NEAREST * w


@kernel("UniTuple(float64, 2)(int64, float64, float64, float64, float64, float64)", inline=True)
def reply(what, mu, firm_n, firm_t, off_n, off_t):
    """Return the impulses with which a contact alone answers what is to be taken off."""
    if what == OPEN:
        return 0.0, 0.0
    P_n = -firm_n * off_n
    return P_n, -firm_t * off_t if what == STICK else -what * mu * P_n


@kernel(f"boolean({CONTACTS}, int64, float64[::1], int64, {WORK})", inner=True)
def answer(contacts, m, given, changed, A, vec, ints):
    """Find the change of P and of u that takes `given` off the velocities of the closed contacts.

    vec[CHANGE], vec[DU]; False if nothing does. `given` is that of the last call unless changed
    is 0.
    """
    ptr, col, val, inverse, act, place, mu, _, _, _, _, mode, _ = contacts
    firm, change, du, where = vec[FIRM], vec[CHANGE], vec[DU], ints[7]
    n, w, b, first, Z = ints[4, ORDER], ints[4, WIDTH], vec[0], vec[FIRST], vec[COLUMNS:]
    if changed == 0:
        for i in range(n):
            first[i] = 0.0
        for k in range(m):
            t = place[k]
            firm_t, off_t = (firm[t], given[t]) if t >= 0 else (0.0, 0.0)
            P_n, P_t = reply(mode[act[k]], mu[k], firm[k], firm_t, given[k], off_t)
            if P_n != 0.0:
                for s in range(ptr[act[k]], ptr[act[k] + 1]):
                    first[where[col[s]]] += val[s] * P_n
            if P_t != 0.0:
                for s in range(ptr[act[t]], ptr[act[t] + 1]):
                    first[where[col[s]]] += val[s] * P_t
        band_solve(A, n, w, ints[2], first)
    for i in range(n):
        b[i] = first[i]
    for c in range(changed):
        k = ints[12, c]
        t = place[k]
        firm_t, off_t = (firm[t], given[t]) if t >= 0 else (0.0, 0.0)
        P_n, P_t = reply(mode[act[k]], mu[k], firm[k], firm_t, given[k], off_t)
        was_n, was_t = reply(ints[11, k], mu[k], firm[k], firm_t, given[k], off_t)
        for i in range(n):
            b[i] += (P_n - was_n) * Z[2 * c, i] + (P_t - was_t) * Z[2 * c + 1, i]
    if not correct(contacts, firm, ints, changed, n, Z, vec[DENSE:], b):
        return False
    for j in range(inverse.size):
        du[j] = b[where[j]] if where[j] >= 0 else 0.0
    for k in range(m):
        what, t = mode[act[k]], place[k]
        change[k] = 0.0
        if what != OPEN:
            change[k] = -firm[k] * (given[k] + along(ptr, col, val, act[k], du))
        if t >= 0:
            change[t] = 0.0
            if what == STICK:
                change[t] = -firm[t] * (given[t] + along(ptr, col, val, act[t], du))
            elif what != OPEN:
                change[t] = -what * mu[k] * change[k]
    return True


@kernel(f"int64({CONTACTS}, int64, int64, int64, {WORK})", inner=True)
def include(contacts, m, last, changed, A, vec, ints):
    """Make the factors serve the set in `mode`, `last` having changed; how many have, -1: never.

    changed : how many had; -1: there are no factors
    """
    act, place, mode = contacts[4], contacts[5], contacts[11]
    n, w = ints[4, ORDER], ints[4, WIDTH]
    for i in range(changed):
        if ints[12, i] == last:
            return changed
    if 0 <= changed < min(SPARE, vec.shape[1] // 2):
        ints[12, changed] = last
        for part in range(2):
            row = COLUMNS + 2 * changed + part
            if part == 0 or place[last] >= 0:
                a = act[last] if part == 0 else act[place[last]]
                add_column(contacts, a, ints[7], A, ints[2], n, w, vec[row])
            else:
                for i in range(n):
                    vec[row, i] = 0.0
        return changed + 1
    assemble_band(contacts, m, vec[FIRM], ints[7], n, w, A)
    for k in range(m):
        ints[11, k] = mode[act[k]]
    return 0 if band_factor(A, n, w, ints[2]) == 0 else -1


@kernel("float64(float64, float64)", inline=True)
def when(value, slope):
    """Return after what a value that is not negative vanishes; infinity: never."""
    return max(value, 0.0) / -slope if slope < 0.0 else np.inf


@kernel(
    f"Tuple((float64, int64, int64))({CONTACTS}, int64, float64, float64, int64, int64,"
    " float64[:, ::1])",
    inner=True,
)
def next_change(contacts, m, step, way, last, was, vec):
    """Return the length to the next place, at most `step`, the contact, and what it does then."""
    act, place, mu, P, mode = contacts[4], contacts[5], contacts[6], contacts[10], contacts[11]
    change, w, dw = vec[CHANGE], vec[W], vec[DW]
    hit, now = -1, 0
    for k in range(m):
        what, r, same = mode[act[k]], place[k], k == last
        if what == OPEN:
            after = np.inf if same else when(w[k], way * dw[k])
            if after < step:
                step, hit, now = after, k, STICK
                if r >= 0:
                    now = 1 if w[r] + after * way * dw[r] > 0.0 else -1
            continue
        if what != STICK or r < 0:
            after = np.inf if same and was == OPEN else when(P[k], way * change[k])
            if after < step:
                step, hit, now = after, k, OPEN
        if r < 0:
            continue
        if what != STICK:
            after = np.inf if same and was == STICK else when(what * w[r], way * what * dw[r])
            if after < step:
                step, hit, now = after, k, STICK
            continue
        for side in (-1, 1):
            if same and was == side:
                continue
            after = when(mu[k] * P[k] + side * P[r], way * (mu[k] * change[k] + side * change[r]))
            if after < step:
                step, hit, now = after, k, side
    return step, hit, now


@kernel(f"float64({CONTACTS}, int64, int64, float64[:, ::1])", inline=True)
def inward(contacts, last, was, vec):
    """Return how fast a contact leaves, as t grows, the place where it changed."""
    act, place, mu, mode = contacts[4], contacts[5], contacts[6], contacts[11]
    what, r = mode[act[last]], place[last]
    if what == OPEN:
        return vec[DW, last]
    if was == OPEN:
        return vec[CHANGE, last]
    if what == STICK:
        return mu[last] * vec[CHANGE, last] + was * vec[CHANGE, r]
    return what * vec[DW, r]


@kernel(f"UniTuple(int64, 2)({CONTACTS}, int64, int64, float64, int64, int64, {WORK})", inner=True)
def along_path(contacts, m, rows, give, most, patience, A, vec, ints):
    """Go from P, which obeys Coulomb's law, to a solution; whether it is reached, 0 or 1.

    Returns with it the number of changes. Gives up after `most`, or where t has not been less for
    `patience` of them. give : the proximal term beside D
    """
    ptr, col, val, _, act, _, _, q, unit, soft, P, mode, u = contacts
    off, start, change, w, dw, du = vec[OFF], vec[FROM], vec[CHANGE], vec[W], vec[DW], vec[DU]
    renew(contacts, rows)
    stiffen(contacts, rows, give, vec)
    begin(contacts, m, vec)
    t, way, last, was, changed, least, left = 1.0, -1.0, -1, 0, -1, 1.0, patience
    for count in range(most):
        changed = include(contacts, m, last, changed, A, vec, ints)
        if changed < 0 or not answer(contacts, m, off, changed, A, vec, ints):
            return 0, count
        for j in range(rows):
            gives = give * unit[j]
            w[j] = q[j] + t * off[j] + along(ptr, col, val, act[j], u)
            w[j] += soft[j] * P[j] + gives * (P[j] - start[j])
            dw[j] = off[j] + along(ptr, col, val, act[j], du) + (soft[j] + gives) * change[j]
        if last >= 0:
            way = 1.0 if inward(contacts, last, was, vec) > 0.0 else -1.0
        step, hit, now = next_change(contacts, m, t if way < 0.0 else np.inf, way, last, was, vec)
        left = patience if t < least else left - 1
        least = min(least, t)
        if left < 0 or not step < np.inf:
            return 0, count
        t += way * step
        for j in range(rows):
            P[j] += way * step * change[j]
        for j in range(u.size):
            u[j] += way * step * du[j]
        if hit < 0:
            return 1, count
        last, was = hit, mode[act[hit]]
        mode[act[hit]] = now
    return 0, most
