"""The contacts that hold, as a band over the coordinates that they move.

Closed contacts with w + (P - P_0) / firm = 0, 1 / firm a small proximal term and the compliance,
have impulses that follow from the velocities u = W^-1 G' P, for which remains::

    (W + sum of G_n' firm_n G_n + G_t' firm_t G_t) u = ...

over what sticks; what slides adds (G_n' - s mu G_t') firm_n G_n. Its band is narrower than that of
D = G W^-1 G', and redundant contacts do not make it singular. A contact adds a matrix of rank two
at most, so the factors of one set serve others in which up to `SPARE` contacts do something else
(Woodbury; Golub, van Loan, *Matrix Computations*, 2.1.4).
"""

from explorer.kernels.friction.single_contact import OPEN, STICK
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.banded_lu import band_solve

__all__ = ["CONTACTS", "SPARE", "add_column", "assemble_band", "correct", "number_coordinates"]

SPARE = 12
# G by rows (ptr, col, val), the diagonal of W^-1, the rows of G that take part (normals of the
# first m, then tangents), where the tangent of a contact stands among them or -1, mu, q, D_kk,
# softness, P, what each contact does by its number, u
CONTACTS = (
    "Tuple((int64[::1], int64[::1], float64[::1], float64[::1], int64[::1], int64[::1],"
    " float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], int64[::1],"
    " float64[::1]))"
)
BAND = "float64[:, ::1], int64[::1], int64, int64"  # factors, exchanged rows, order, bandwidth


@kernel(
    "void(int64[::1], int64[::1], int64[::1], int64[::1], int64, int64[::1], int64[::1])",
    inner=True,
)
def list_contacts(ptr, col, act, place, m, head, near):
    """List the contacts that move each coordinate j: near[head[j] : head[j + 1]]."""
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


@kernel(
    "UniTuple(int64, 2)(int64[::1], int64[::1], int64[::1], int64[::1], int64, int64,"
    " int64[:, ::1], int64[::1])",
    inner=True,
)
def number_coordinates(ptr, col, act, place, m, n, ints, near):
    """Number the coordinates that contacts move: ints[7], -1 of others; their number, bandwidth.

    Cuthill and McKee, Proc. 24th ACM Nat. Conf. (1969) 157, each part from an end of it.
    """
    head, where, order, seen, reached = ints[1, : n + 2], ints[7], ints[8], ints[9], ints[10]
    list_contacts(ptr, col, act, place, m, head, near)
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


@kernel("UniTuple(float64, 3)(int64, float64, float64, float64)", inline=True)
def share(what, mu, firm_n, firm_t):
    """Return what a contact adds to the matrix: of G_n' G_n, of G_t' G_n and of G_t' G_t."""
    if what == OPEN:
        return 0.0, 0.0, 0.0
    if what == STICK:
        return firm_n, 0.0, firm_t
    return firm_n, -what * mu * firm_n, 0.0


@kernel(
    f"void({CONTACTS}, int64, float64[::1], int64[::1], int64, int64, float64[:, ::1])", inner=True
)
def assemble_band(contacts, m, firm, where, n, w, A):
    """Fill A with the matrix of the set."""
    ptr, col, val, inverse, act, place, mu, _, _, _, _, mode, _ = contacts
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


@kernel(f"void({CONTACTS}, int64, int64[::1], {BAND}, float64[::1])", inner=True)
def add_column(contacts, a, where, A, pivots, n, w, z):
    """z = solution for the column G_a'."""
    ptr, col, val = contacts[0], contacts[1], contacts[2]
    for i in range(n):
        z[i] = 0.0
    for s in range(ptr[a], ptr[a + 1]):
        z[where[col[s]]] += val[s]
    band_solve(A, n, w, pivots, z)


@kernel(
    f"float64({CONTACTS}, int64, int64[::1], float64[::1])",
    inline=True,
)
def along_band(contacts, a, where, z):
    """Return G_a z, z in the order of the band."""
    ptr, col, val = contacts[0], contacts[1], contacts[2]
    total = 0.0
    for s in range(ptr[a], ptr[a + 1]):
        total += val[s] * z[where[col[s]]]
    return total


@kernel("boolean(float64[:, ::1], float64[::1], int64)", inner=True)
def eliminate(B, y, n):
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


@kernel(
    f"boolean({CONTACTS}, float64[::1], int64[:, ::1], int64, int64, float64[:, ::1],"
    " float64[:, ::1], float64[::1])",
    inner=True,
)
def correct(contacts, firm, ints, changed, n, Z, B, b):
    """Make b, which solves for the set ints[11], solve for that in `mode`; False if nothing does.

    The contacts ints[12, :changed] do something else, and Z has their columns.
    """
    act, place, mu, mode, where = contacts[4], contacts[5], contacts[6], contacts[11], ints[7]
    y, size = B[2 * SPARE], 2 * changed
    for i in range(changed):
        k = ints[12, i]
        t = place[k]
        firm_t = firm[t] if t >= 0 else 0.0
        normal, mixed, tangent = share(mode[act[k]], mu[k], firm[k], firm_t)
        was = share(ints[11, k], mu[k], firm[k], firm_t)
        normal, mixed, tangent = normal - was[0], mixed - was[1], tangent - was[2]
        for j in range(size + 1):
            z = Z[j] if j < size else b
            z_n = along_band(contacts, act[k], where, z)
            z_t = along_band(contacts, act[t], where, z) if t >= 0 else 0.0
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
