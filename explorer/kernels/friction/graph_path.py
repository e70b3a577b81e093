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
from explorer.kernels.friction.graph_structures import SPARE, Graph, Path
from explorer.kernels.friction.graph_velocities import (
    add_column,
    assemble_band,
    correct,
    number_coordinates,
)
from explorer.kernels.friction.single_contact import OPEN, STICK
from explorer.kernels.linear_algebra.banded_lu import band_factor, band_solve
from explorer.kernels.references import kernel

__all__ = ["along_path", "answer", "include", "prepare", "renew", "stiffen"]

NEAREST = 2.0  # b beside what it cancels: no contact stands between two things that it may do


@kernel(inner=True)
def prepare(graph: Graph, path: Path) -> bool:
    """Number the coordinates; False if A is too narrow for their band."""
    n, w = number_coordinates(graph, path)
    state = path.state
    state[0].width, state[0].order, state[0].span = -1, n, w  # the band of a set is no more
    return 3 * w < path.A.shape[1] and n <= path.A.shape[0]


@kernel(inline=True)
def stiffen(graph: Graph, path: Path, give: float) -> None:
    """Set how firm contacts are that give way by `give` beside D, beyond their compliance."""
    unit, soft, firm = graph.unit, graph.soft, path.firm
    for j in range(graph.rows):
        gives = soft[j] + give * unit[j]
        firm[j] = 1.0 / gives if gives > 0.0 else 0.0


@kernel(inline=True)
def renew(graph: Graph) -> None:
    """u = W^-1 G' P."""
    ptr, col, val, act = graph.ptr, graph.col, graph.val, graph.act
    inverse, P, u = graph.inverse, graph.P, graph.u
    for j in range(u.size):
        u[j] = 0.0
    for k in range(graph.rows):
        if P[k] != 0.0:
            push(ptr, col, val, act[k], P[k], u)
    for j in range(u.size):
        u[j] *= inverse[j]


@kernel(inner=True)
def begin(graph: Graph, path: Path) -> None:
    """Find b and what each contact does: P solves the problem with q + b, and no case is close."""
    ptr, col, val, act, m, place = graph.ptr, graph.col, graph.val, graph.act, graph.m, graph.place
    mu, q, P, mode, soft, u = graph.mu, graph.q, graph.P, graph.mode, graph.soft, graph.u
    off, start = path.off, path.start
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


@kernel(inline=True)
def reply(
    what: int, mu: float, firm_n: float, firm_t: float, off_n: float, off_t: float
) -> tuple[float, float]:
    """Return the impulses with which a contact alone answers what is to be taken off."""
    if what == OPEN:
        return 0.0, 0.0
    P_n = -firm_n * off_n
    return P_n, -firm_t * off_t if what == STICK else -what * mu * P_n


@kernel(inner=True)
def answer_factored(graph: Graph, path: Path) -> None:
    """Solve with the factors for what takes `off` off the velocities: `first`."""
    ptr, col, val, act, place = graph.ptr, graph.col, graph.val, graph.act, graph.place
    mu, mode, firm, off, where = graph.mu, graph.mode, path.firm, path.off, path.where
    n, w, first = path.state[0].order, path.state[0].span, path.first
    for i in range(n):
        first[i] = 0.0
    for k in range(graph.m):
        t = place[k]
        firm_t, off_t = (firm[t], off[t]) if t >= 0 else (0.0, 0.0)
        P_n, P_t = reply(mode[act[k]], mu[k], firm[k], firm_t, off[k], off_t)
        if P_n != 0.0:
            for s in range(ptr[act[k]], ptr[act[k] + 1]):
                first[where[col[s]]] += val[s] * P_n
        if P_t != 0.0:
            for s in range(ptr[act[t]], ptr[act[t] + 1]):
                first[where[col[s]]] += val[s] * P_t
    band_solve(path.A, n, w, path.pivots, first)


@kernel(inner=True)
def answer(graph: Graph, path: Path, changed: int) -> bool:
    """Find the change of P and of u that takes `off` off the velocities of the closed contacts.

    False if nothing does. `off` is that of the last call unless `changed`, how many contacts do
    something else than the factors know, is 0.
    """
    ptr, col, val, act, place = graph.ptr, graph.col, graph.val, graph.act, graph.place
    mu, mode, where, b, first = graph.mu, graph.mode, path.where, path.b, path.first
    firm, off, change, du, Z = path.firm, path.off, path.change, path.du, path.columns
    n = path.state[0].order
    if changed == 0:
        answer_factored(graph, path)
    for i in range(n):
        b[i] = first[i]
    for c in range(changed):
        k = path.changed[c]
        t = place[k]
        firm_t, off_t = (firm[t], off[t]) if t >= 0 else (0.0, 0.0)
        P_n, P_t = reply(mode[act[k]], mu[k], firm[k], firm_t, off[k], off_t)
        was_n, was_t = reply(path.was[k], mu[k], firm[k], firm_t, off[k], off_t)
        for i in range(n):
            b[i] += (P_n - was_n) * Z[2 * c, i] + (P_t - was_t) * Z[2 * c + 1, i]
    if not correct(graph, path, changed):
        return False
    for j in range(graph.inverse.size):
        du[j] = b[where[j]] if where[j] >= 0 else 0.0
    for k in range(graph.m):
        what, t = mode[act[k]], place[k]
        change[k] = 0.0
        if what != OPEN:
            change[k] = -firm[k] * (off[k] + along(ptr, col, val, act[k], du))
        if t >= 0:
            change[t] = 0.0
            if what == STICK:
                change[t] = -firm[t] * (off[t] + along(ptr, col, val, act[t], du))
            elif what != OPEN:
                change[t] = -what * mu[k] * change[k]
    return True


@kernel(inner=True)
def include(graph: Graph, path: Path, last: int, changed: int) -> int:
    """Make the factors serve the set in `mode`, `last` having changed; how many have, -1: never.

    changed : how many had; -1: there are no factors
    """
    act, place, columns = graph.act, graph.place, path.columns
    n, w = path.state[0].order, path.state[0].span
    for i in range(changed):
        if path.changed[i] == last:
            return changed
    if 0 <= changed < min(SPARE, columns.shape[1] // 2):
        path.changed[changed] = last
        for part in range(2):
            column = columns[2 * changed + part]
            if part == 0 or place[last] >= 0:
                add_column(graph, path, act[last] if part == 0 else act[place[last]], column)
            else:
                for i in range(n):
                    column[i] = 0.0
        return changed + 1
    assemble_band(graph, path)
    for k in range(graph.m):
        path.was[k] = graph.mode[act[k]]
    return 0 if band_factor(path.A, n, w, path.pivots) == 0 else -1


@kernel(inline=True)
def when(value: float, slope: float) -> float:
    """Return after what a value that is not negative vanishes; infinity: never."""
    return max(value, 0.0) / -slope if slope < 0.0 else np.inf


@kernel(inner=True)
def next_change(
    graph: Graph, path: Path, step: float, way: float, last: int, was: int
) -> tuple[float, int, int]:
    """Return the length to the next place, at most `step`, the contact, and what it does then."""
    act, place, mu, P, mode = graph.act, graph.place, graph.mu, graph.P, graph.mode
    change, w, dw = path.change, path.w, path.dw
    hit, now = -1, 0
    for k in range(graph.m):
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


@kernel(inline=True)
def inward(graph: Graph, path: Path, last: int, was: int) -> float:
    """Return how fast a contact leaves, as t grows, the place where it changed."""
    what, r = graph.mode[graph.act[last]], graph.place[last]
    if what == OPEN:
        return path.dw[last]
    if was == OPEN:
        return path.change[last]
    if what == STICK:
        return graph.mu[last] * path.change[last] + was * path.change[r]
    return what * path.dw[r]


@kernel(inline=True)
def velocities(graph: Graph, path: Path, t: float, give: float) -> None:
    """Set w at t, and how fast it changes with P."""
    ptr, col, val, act, rows = graph.ptr, graph.col, graph.val, graph.act, graph.rows
    q, P, unit, soft, u = graph.q, graph.P, graph.unit, graph.soft, graph.u
    off, start, change, w, dw, du = path.off, path.start, path.change, path.w, path.dw, path.du
    for j in range(rows):
        gives = give * unit[j]
        w[j] = q[j] + t * off[j] + along(ptr, col, val, act[j], u)
        w[j] += soft[j] * P[j] + gives * (P[j] - start[j])
        dw[j] = off[j] + along(ptr, col, val, act[j], du) + (soft[j] + gives) * change[j]


@kernel(inner=True)
def along_path(graph: Graph, path: Path, give: float, most: int, patience: int) -> tuple[bool, int]:
    """Go from P, which obeys Coulomb's law, to a solution; whether it is reached.

    Returns with it the number of changes. Gives up after `most`, or where t has not been less for
    `patience` of them. give : the proximal term beside D
    """
    act, mode, P, u, change, du = graph.act, graph.mode, graph.P, graph.u, path.change, path.du
    renew(graph)
    stiffen(graph, path, give)
    begin(graph, path)
    t, way, last, was, changed, least, left = 1.0, -1.0, -1, 0, -1, 1.0, patience
    for count in range(most):
        changed = include(graph, path, last, changed)
        if changed < 0 or not answer(graph, path, changed):
            return False, count
        velocities(graph, path, t, give)
        if last >= 0:
            way = 1.0 if inward(graph, path, last, was) > 0.0 else -1.0
        step, hit, now = next_change(graph, path, t if way < 0.0 else np.inf, way, last, was)
        left = patience if t < least else left - 1
        least = min(least, t)
        if left < 0 or not step < np.inf:
            return False, count
        t += way * step
        for j in range(graph.rows):
            P[j] += way * step * change[j]
        for j in range(u.size):
            u[j] += way * step * du[j]
        if hit < 0:
            return True, count
        last, was = hit, mode[act[hit]]
        mode[act[hit]] = now
    return False, most
