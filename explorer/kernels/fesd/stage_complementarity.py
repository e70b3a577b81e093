"""The stages of a Runge-Kutta step with complementarity conditions, linearised.

With the slopes K_i and the multipliers of each stage unknown (Nurkanovic et al. 2023, eq. (15)),

    K_i = f(t_i, X_i, multipliers_i),    X_i = x + h sum_j a_ij K_j,

and in each stage the multipliers theta of a group add up to 1 and solve
0 <= theta perp g(X_i) - min g >= 0: in the step form a group is (alpha_j, 1 - alpha_j) with
g = (-c_j, c_j) / 2, in Stewart's form the regions of a subsystem with g_r = -S_r c. One of a group,
its leader, is 1 minus the others, the *variables* v; with lambda the multiplier of their sum it is
a linear complementarity problem in each Newton iteration,

    0 <= v perp g_v - g_leader + lambda >= 0,    0 <= lambda perp 1 - sum v >= 0.
"""

import numpy as np

from explorer.kernels.fesd.arrangement import AT
from explorer.kernels.fesd.element import FLOW, MODEL, NC, NSEL, SUBSYSTEMS, SWITCH, N, S, place
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve

# multipliers of the variables, their groups, leaders of the groups (-1: 1 - alpha, no multiplier)
LAYOUT = "int64[::1], int64[::1], int64[::1]"
# K (s, n), variables (s, nv), multipliers (s, nsel), x at the end
STAGE = "float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1]"
# c (s, nc), c_x (s, nc n), size of c (s + 1, ng; last: of all steps), g by c (s, nv, nc),
# f by variables (s, n nv)
LINEAR = "float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64[:, ::1]"
# J (s n, s n), pivots, right-hand sides (1 + s nv, s n), M (m, m), q, z, T, basis, scale, all,
# principal block
SOLVER = (
    "float64[:, ::1], int64[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[:, ::1], int64[::1], float64[::1], int64[::1], float64[:, ::1]"
)
FLOOR = 1e-3  # of the largest c of a run: what all of them are compared with at least
SNAP = 1e-13  # a multiplier this close to 0 or 1 is that


@kernel("void(int64[::1], int64[::1], float64[::1], float64[:, ::1])", inner=True)
def weigh(shape, leader, c, R):
    """Set R such that g_v - g_leader = R c, by the nearest cell of each region."""
    nc = shape[NC]
    R[:, :] = 0.0
    if shape[SUBSYSTEMS] == 0:
        for j in range(nc):
            R[j, j] = -1.0
        return
    row = 0
    for u in range(shape[SUBSYSTEMS]):
        first = shape[AT + 4 * u]
        count = shape[AT + 4 * u + 1]
        cells = shape[AT + 4 * u + 2]
        others = leader[u] - shape[AT + 4 * u + 3]
        chosen = 0
        for region in range(others, -1, -1):
            lowest = np.inf
            nearest = 0
            for cell in range(1 << count):
                if shape[cells + cell] != region:
                    continue
                g = 0.0
                for j in range(count):
                    g += -c[first + j] if (cell >> j) & 1 else c[first + j]
                if g < lowest:
                    lowest = g
                    nearest = cell
            if region == others:
                chosen = nearest
                continue
            for j in range(count):
                R[row + region, first + j] = 2.0 * ((chosen >> j) & 1) - 2.0 * ((nearest >> j) & 1)
        row += others


@kernel(
    f"float64({MODEL}, {LAYOUT}, {STAGE}, {LINEAR}, {SOLVER}, float64, float64[::1], float64)",
    inner=True,
)
def linearise(
    table, shape, inp, out, switch, tableau, member, group, leader, K, V, sel, end, C, Cx, size, R,
    F, J, pivots, b, M, q, z, T, basis, scale, act, A, t, x, h,
):  # fmt: skip
    """Evaluate all stages, with the slopes' matrix J; return the residual beside its terms.

    ``b[0]`` is the negative residual of the slopes' equations; inf: something is not finite. `end`
    serves for the sizes of x'.
    """
    n = shape[N]
    nc = shape[NC]
    nsel = shape[NSEL]
    s = shape[S]
    nv = len(member)
    at_sel = n + n * n
    worst = 0.0
    J[:, :] = 0.0
    for i in range(s):
        place(table, shape, inp, out, switch, tableau, t + h * tableau[3 * s, i], x, h, i, K)
        for g in range(len(leader)):
            if leader[g] >= 0:
                sel[i, leader[g]] = 1.0
        for v in range(nv):
            sel[i, member[v]] = V[i, v]
            if leader[group[v]] >= 0:
                sel[i, leader[group[v]]] -= V[i, v]
        for k in range(nsel):
            if abs(sel[i, k]) <= SNAP:
                sel[i, k] = 0.0
            inp[1 + n + k] = sel[i, k]
        call(table[SWITCH, 0], table[SWITCH, 1], switch, inp)
        call(table[FLOW, 0], table[FLOW, 1], out, inp)
        for k in range(n):
            row = i * n + k
            rest = out[k] - K[i, k]
            terms = abs(K[i, k])
            for o in range(n):
                slope = out[n + k * n + o]
                terms += abs(slope) * (abs(inp[1 + o]) + abs(x[o]))
                for j in range(s):
                    J[row, j * n + o] = -h * tableau[i, j] * slope
            J[row, row] += 1.0
            for o in range(nsel):
                terms += abs(out[at_sel + k * nsel + o])
            for v in range(nv):
                F[i, k * nv + v] = out[at_sel + k * nsel + member[v]]
                if leader[group[v]] >= 0:
                    F[i, k * nv + v] -= out[at_sel + k * nsel + leader[group[v]]]
            b[0, row] = rest
            if not abs(rest) < np.inf:
                return np.inf
            worst = max(worst, abs(rest) / (terms + 1e-300))
            end[k] = terms
        for j in range(nc):
            C[i, j] = switch[j]
            if not abs(switch[j]) < np.inf:
                return np.inf
            for k in range(n):
                Cx[i, j * n + k] = switch[nc + j * n + k]
        weigh(shape, leader, C[i], R[i])
        size[i, :] = 1e-300
        for v in range(nv):
            for j in range(nc):
                if R[i, v, j] != 0.0:
                    terms = abs(C[i, j])
                    for k in range(n):
                        terms += abs(Cx[i, j * n + k]) * (abs(inp[1 + k]) + h * end[k])
                    size[i, group[v]] = max(size[i, group[v]], terms)
        for g in range(len(leader)):
            size[s, g] = max(size[s, g], size[i, g])
            size[i, g] = max(size[i, g], FLOOR * size[s, g])
    return worst


@kernel(f"float64(int64[::1], {LAYOUT}, {STAGE}, {LINEAR})", inner=True)
def mismatch(shape, member, group, leader, K, V, sel, end, C, Cx, size, R, F):
    """Return how far the multipliers are from complementary: min(theta, its slack), the largest."""
    worst = 0.0
    for i in range(shape[S]):
        for g in range(len(leader)):
            lowest = 0.0  # of g_v - g_leader: -lambda
            rest = 1.0
            for v in range(len(member)):
                if group[v] == g:
                    rest -= V[i, v]
                    value = 0.0
                    for j in range(shape[NC]):
                        value += R[i, v, j] * C[i, j]
                    lowest = min(lowest, value)
            worst = max(worst, min(abs(rest), -lowest / size[i, g]))
            for v in range(len(member)):
                if group[v] == g:
                    value = -lowest
                    for j in range(shape[NC]):
                        value += R[i, v, j] * C[i, j]
                    worst = max(worst, min(V[i, v], value / size[i, g]))
    return worst


@kernel(
    f"int64({MODEL}, {LAYOUT}, {STAGE}, {LINEAR}, {SOLVER}, float64)",
    inner=True,
)
def stays(
    table, shape, inp, out, switch, tableau, member, group, leader, K, V, sel, end, C, Cx, size, R,
    F, J, pivots, b, M, q, z, T, basis, scale, act, A, h,
):  # fmt: skip
    """Whether no multiplier is between 0 and 1 and none changes with the step ``b[0]`` in K."""
    n = shape[N]
    nc = shape[NC]
    s = shape[S]
    nv = len(member)
    for i in range(s):
        for v in range(nv):
            if V[i, v] != 0.0 and V[i, v] != 1.0:
                return 0
            q[v] = 0.0
            for j in range(nc):
                if R[i, v, j] == 0.0:
                    continue
                c = C[i, j]
                for k in range(n):
                    for o in range(s):
                        c += h * Cx[i, j * n + k] * tableau[i, o] * b[0, o * n + k]
                q[v] += R[i, v, j] * c
        for g in range(len(leader)):
            level = 0.0
            for v in range(nv):
                if group[v] == g and V[i, v] == 1.0:
                    level = -q[v]
            low = -SNAP * size[i, g]
            if level < low:
                return 0
            for v in range(nv):
                if group[v] == g and q[v] + level < low:
                    return 0
    return 1


@kernel(f"int64(float64[:, ::1], float64[::1], float64[::1], {LAYOUT}, float64[:, ::1],"
        " int64, float64[:, ::1], int64[::1], int64[::1], float64[::1])", inner=True)  # fmt: skip
def keeps(M, q, z, member, group, leader, V, s, A, pivots, basis, rhs):
    """Solve the linear complementarity problem with the active set of V; 1 if that is its own."""
    nv = len(member)
    ng = len(leader)
    m = s * (nv + ng)
    count = 0
    for i in range(s):
        for v in range(nv):
            if V[i, v] > 0.0:
                basis[count] = i * nv + v
                count += 1
    for i in range(s):
        for g in range(ng):
            total = 0.0
            for v in range(nv):
                total += V[i, v] if group[v] == g else 0.0
            if total > 1.0 - SNAP:
                basis[count] = s * nv + i * ng + g
                count += 1
    for a in range(count):
        rhs[a] = -q[basis[a]]
        for o in range(count):
            A[a, o] = M[basis[a], basis[o]]
    if lu_factor(A, count, count - 1, count - 1, pivots) != 0:
        return 0
    lu_solve(A, count, count - 1, count - 1, pivots, rhs)
    for a in range(m):
        z[a] = 0.0
    for a in range(count):
        z[basis[a]] = rhs[a]
    for a in range(m):
        terms = abs(q[a]) + abs(z[a])
        w = q[a]
        for o in range(count):
            w += M[a, basis[o]] * rhs[o]
            terms += abs(M[a, basis[o]] * rhs[o])
        if z[a] < -SNAP * terms or w < -SNAP * terms or not np.isfinite(w):
            return 0
    return 1
