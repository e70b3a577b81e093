"""The contacts that hold, as a band over the coordinates that they move.

Closed contacts with w + (P - P_0) / firm = 0, 1 / firm a small proximal term and the compliance,
have impulses that follow from the velocities u = W^-1 G' P, for which remains::

    (W + sum of G_n' firm_n G_n + G_t' firm_t G_t) u = ...

over what sticks; what slides adds (G_n' - s mu G_t') firm_n G_n. Its band is narrower than that of
D = G W^-1 G', and redundant contacts do not make it singular. A contact adds a matrix of rank two
at most, so the factors of one set serve others in which up to `SPARE` contacts do something else
(Woodbury; Golub, van Loan, *Matrix Computations*, 2.1.4).
"""

from explorer.kernels.friction.graph_structures import Graph, Path
from explorer.kernels.friction.single_contact import OPEN, STICK
from explorer.kernels.linear_algebra.banded_lu import band_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["add_column", "assemble_band", "correct", "number_coordinates"]


@kernel(inner=True)
def list_contacts(graph: Graph, head: Integers, near: Integers) -> None:
    """List the contacts that move each coordinate j: near[head[j] : head[j + 1]]."""
    ptr, col, act, place, m = graph.ptr, graph.col, graph.act, graph.place, graph.m
    n = head.size - 2
    for j in range(n + 2):
        head[j] = 0
    for fill in range(2):
        for k in range(m):
            for part in range(1 if place[k] < 0 else 2):
                a = act[k] if part == 0 else act[place[k]]
                for j in col[ptr[a] : ptr[a + 1]]:
                    if fill == 1:
                        near[head[j + 1]] = k
                    head[j + 2 - fill] += 1
        for j in range(n if fill == 0 else 0):
            head[j + 2] += head[j + 1]


@kernel(inner=True)
def number_coordinates(graph: Graph, path: Path) -> tuple[int, int]:
    """Number the coordinates that contacts move; return their number and bandwidth.

    Cuthill and McKee, Proc. 24th ACM Nat. Conf. (1969) 157, each part from an end of it.
    """
    ptr, col, act, place, m = graph.ptr, graph.col, graph.act, graph.place, graph.m
    n, near = graph.inverse.size, path.near
    head, where, order = path.head[: n + 2], path.where, path.order
    seen, reached = path.seen, path.reached
    list_contacts(graph, head, near)
    for j in range(n):
        where[j], reached[j] = -1, 0
    for k in range(m):
        seen[k] = 0
    done, mark, width = 0, 0, 0
    for first in range(n):
        if where[first] >= 0 or head[first] == head[first + 1]:
            continue
        start, after = first, done
        for _ in range(3):  # from the end of a search to the other end
            mark += 1
            order[done], reached[start], at, after = start, mark, done, done + 1
            while at < after:
                j = order[at]
                at += 1
                for k in near[head[j] : head[j + 1]]:
                    if seen[k] == mark:
                        continue
                    seen[k] = mark
                    for part in range(1 if place[k] < 0 else 2):
                        a = act[k] if part == 0 else act[place[k]]
                        for other in col[ptr[a] : ptr[a + 1]]:
                            if reached[other] != mark:
                                reached[other] = mark
                                order[after] = other
                                after += 1
            start = order[after - 1]
        for i in range(done, after):
            where[order[i]] = i
        done = after
    for k in range(m):
        low, high = n, -1
        for part in range(1 if place[k] < 0 else 2):
            a = act[k] if part == 0 else act[place[k]]
            for j in col[ptr[a] : ptr[a + 1]]:
                low, high = min(low, where[j]), max(high, where[j])
        width = max(width, high - low)
    return done, width


@kernel(inline=True)
def share(what: int, mu: float, firm_n: float, firm_t: float) -> tuple[float, float, float]:
    """Return what a contact adds to the matrix: of G_n' G_n, of G_t' G_n and of G_t' G_t."""
    if what == OPEN:
        return 0.0, 0.0, 0.0
    if what == STICK:
        return firm_n, 0.0, firm_t
    return firm_n, -what * mu * firm_n, 0.0


@kernel(inner=True)
def assemble_band(graph: Graph, path: Path) -> None:
    """Fill A with the matrix of the set."""
    ptr, col, val, inverse = graph.ptr, graph.col, graph.val, graph.inverse
    act, m, place, mu, mode = graph.act, graph.m, graph.place, graph.mu, graph.mode
    firm, where, A = path.firm, path.where, path.A
    n, w = path.state[0].order, path.state[0].span
    for i in range(n):
        for d in range(3 * w + 1):
            A[i, d] = 0.0
    for j in range(inverse.size):
        if where[j] >= 0:
            A[where[j], w] = 1.0 / inverse[j]
    for k in range(m):
        t = place[k]
        firm_t = firm[t] if t >= 0 else 0.0
        normal, mixed, tangent = share(mode[act[k]], mu[k], firm[k], firm_t)
        for part in range(1 if t < 0 else 3):
            y = normal if part == 0 else mixed if part == 1 else tangent
            if y == 0.0:
                continue
            a, c = act[k] if part == 0 else act[t], act[k] if part < 2 else act[t]
            for s in range(ptr[a], ptr[a + 1]):
                i = where[col[s]]
                for r in range(ptr[c], ptr[c + 1]):
                    A[i, where[col[r]] - i + w] += y * val[s] * val[r]


@kernel(inner=True)
def add_column(graph: Graph, path: Path, a: int, z: Vector) -> None:
    """z = solution for the column G_a'."""
    ptr, col, val, where = graph.ptr, graph.col, graph.val, path.where
    n, w = path.state[0].order, path.state[0].span
    for i in range(n):
        z[i] = 0.0
    for s in range(ptr[a], ptr[a + 1]):
        z[where[col[s]]] += val[s]
    band_solve(path.A, n, w, path.pivots, z)


@kernel(inline=True)
def along_band(graph: Graph, a: int, where: Integers, z: Vector) -> float:
    """Return G_a z, z in the order of the band."""
    ptr, col, val = graph.ptr, graph.col, graph.val
    total = 0.0
    for s in range(ptr[a], ptr[a + 1]):
        total += val[s] * z[where[col[s]]]
    return total


@kernel(inner=True)
def eliminate(B: Matrix, y: Vector, n: int) -> bool:
    """Overwrite y by the solution of B x = y; False if B is singular."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(B[i, k]) > abs(B[best, k]):
                best = i
        if not abs(B[best, k]) > 0.0:
            return False
        if best != k:
            for j in range(k, n):
                B[k, j], B[best, j] = B[best, j], B[k, j]
            y[k], y[best] = y[best], y[k]
        for i in range(k + 1, n):
            factor = B[i, k] / B[k, k]
            if factor != 0.0:
                for j in range(k + 1, n):
                    B[i, j] -= factor * B[k, j]
                y[i] -= factor * y[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            y[k] -= B[k, j] * y[j]
        y[k] /= B[k, k]
    return True


@kernel(inner=True)
def correct(graph: Graph, path: Path, changed: int) -> bool:
    """Make b, which solves for the set that is factored, solve for that in `mode`.

    The first `changed` of the contacts in `path.changed` do something else. False if nothing does.
    """
    act, place, mu, mode = graph.act, graph.place, graph.mu, graph.mode
    firm, where, Z, B, b = path.firm, path.where, path.columns, path.dense, path.b
    y, size, n = path.right, 2 * changed, path.state[0].order
    for i in range(changed):
        k = path.changed[i]
        t = place[k]
        firm_t = firm[t] if t >= 0 else 0.0
        normal, mixed, tangent = share(mode[act[k]], mu[k], firm[k], firm_t)
        normal_was, mixed_was, tangent_was = share(path.was[k], mu[k], firm[k], firm_t)
        normal, mixed, tangent = normal - normal_was, mixed - mixed_was, tangent - tangent_was
        for j in range(size + 1):
            z = Z[j] if j < size else b
            z_n = along_band(graph, act[k], where, z)
            z_t = along_band(graph, act[t], where, z) if t >= 0 else 0.0
            if j < size:
                B[2 * i, j], B[2 * i + 1, j] = normal * z_n, mixed * z_n + tangent * z_t
            else:
                y[2 * i], y[2 * i + 1] = normal * z_n, mixed * z_n + tangent * z_t
        B[2 * i, 2 * i] += 1.0
        B[2 * i + 1, 2 * i + 1] += 1.0
    if not eliminate(B, y, size):
        return False
    for j in range(size):
        for i in range(n):
            b[i] -= y[j] * Z[j, i]
    return True
