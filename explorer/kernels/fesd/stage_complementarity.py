"""The stages of a Runge-Kutta step with complementarity conditions, linearised.

With the slopes K_i and the multipliers of each stage unknown (Nurkanovic et al. 2023,
doi:10.48550/arXiv.2303.18066, eq. (15)),

    K_i = f(t_i, X_i, multipliers_i),    X_i = x + h sum_j a_ij K_j,

and in each stage the multipliers theta of a group add up to 1 and solve
0 <= theta perp g(X_i) - min g >= 0: in the step form a group is (alpha_j, 1 - alpha_j) with
g = (-c_j, c_j) / 2, in Stewart's form the regions of a subsystem with g_r = -S_r c. One of a group,
its leader, is 1 minus the others, the *variables* v; with lambda the multiplier of their sum it is
a linear complementarity problem in each Newton iteration,

    0 <= v perp g_v - g_leader + lambda >= 0,    0 <= lambda perp 1 - sum v >= 0.
"""

from typing import NamedTuple

import numpy as np

from explorer.kernels.fesd.element import flow, place, switching
from explorer.kernels.fesd.structures import Problem, Tableau
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.structures import Integers, Matrix, Stack, Vector

__all__ = [
    "SNAP",
    "Complementarity",
    "Groups",
    "Linear",
    "Slopes",
    "Step",
    "Unknowns",
    "keeps",
    "linearise",
    "mismatch",
    "stays",
    "step_of",
]

FLOOR = 1e-3  # of the largest c of a run: what all of them are compared with at least
SNAP = 1e-13  # a multiplier this close to 0 or 1 is that


class Groups(NamedTuple):
    """Which multipliers add up to 1; n_v variables in n_g groups."""

    member: Integers  # (n_v,) multiplier of each variable
    group: Integers  # (n_v,) its group
    leader: Integers  # (n_g,) multiplier that is 1 minus the others; -1: 1 - alpha, none of its own


class Unknowns(NamedTuple):
    """The unknowns of a step."""

    K: Matrix  # (s, n_x) slopes
    V: Matrix  # (s, n_v) variables
    sel: Matrix  # (s, n_sel) multipliers
    end: Vector  # (n_x,) x at the end


class Linear(NamedTuple):
    """The switching functions at the stages, and the rows of g = R c."""

    C: Matrix  # (s, n_c) c
    Cx: Matrix  # (s, n_c n_x) c_x
    size: Matrix  # (s + 1, n_g) terms of c of a group in each stage; last: in all steps
    R: Stack  # (s, n_v, n_c) g_v - g_leader = R c
    F: Matrix  # (s, n_x n_v) f by the variables


class Slopes(NamedTuple):
    """The equations of the slopes, linear in K: J dK + F dV = residual."""

    J: Matrix  # (s n_x, s n_x)
    pivots: Integers  # (max(s n_x, m),)
    change: Vector  # (s n_x,) residual, then dK with V as it is
    columns: Matrix  # (s n_v, s n_x) dK by each variable


class Complementarity(NamedTuple):
    """The linear complementarity problem w = M z + q, 0 <= w perp z >= 0 of m = s (n_v + n_g)."""

    M: Matrix  # (m, m)
    q: Vector  # (m,)
    z: Vector  # (m,) variables, then lambda
    T: Matrix  # (m + 1, 2 m + 2) tableau of Lemke's method
    basis: Integers  # (m,)
    scale: Vector  # (m,)
    act: Integers  # (m,) all rows
    A: Matrix  # (m, m) principal block
    row: Vector  # (s n_x,) g by K in a stage


class Step(NamedTuple):
    """What one step needs."""

    problem: Problem
    tableau: Tableau
    groups: Groups
    unknowns: Unknowns
    linear: Linear
    slopes: Slopes
    lcp: Complementarity


def step_of(problem: Problem, tableau: Tableau, groups: Groups) -> Step:
    """Return the memory of a step."""
    n, nc, s = problem.n_x, problem.n_c, len(tableau.b)
    nv, ng = len(groups.member), len(groups.leader)
    m, wide = s * (nv + ng), s * n
    unknowns = Unknowns(
        K=np.empty((s, n)), V=np.empty((s, nv)), sel=np.empty((s, problem.n_sel)), end=np.empty(n)
    )
    linear = Linear(
        C=np.empty((s, nc)),
        Cx=np.empty((s, nc * n)),
        size=np.zeros((s + 1, ng)),
        R=np.empty((s, nv, nc)),
        F=np.empty((s, n * nv)),
    )
    slopes = Slopes(
        J=np.empty((wide, wide)),
        pivots=np.empty(max(wide, m), np.int64),
        change=np.empty(wide),
        columns=np.empty((s * nv, wide)),
    )
    lcp = Complementarity(
        M=np.empty((m, m)),
        q=np.empty(m),
        z=np.empty(m),
        T=np.empty((m + 1, 2 * m + 2)),
        basis=np.empty(m, np.int64),
        scale=np.empty(m),
        act=np.arange(m),
        A=np.empty((m, m)),
        row=np.empty(wide),
    )
    return Step(problem, tableau, groups, unknowns, linear, slopes, lcp)


@kernel(inner=True)
def weigh(problem: Problem, leader: Integers, c: Vector, R: Matrix) -> None:
    """Set R such that g_v - g_leader = R c, by the nearest cell of each region."""
    R[:, :] = 0.0
    if len(problem.subsystems) == 0:
        for j in range(problem.n_c):
            R[j, j] = -1.0
        return
    row = 0
    for u in range(len(problem.subsystems)):
        subsystem = problem.subsystems[u]
        first = subsystem.first
        count = subsystem.count
        others = leader[u] - subsystem.regions
        chosen = 0
        for region in range(others, -1, -1):
            lowest = np.inf
            nearest = 0
            for cell in range(1 << count):
                if problem.cells[subsystem.cells + cell] != region:
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


@kernel(inline=True)
def mix(step: Step, i: int) -> None:
    """Set the multipliers of stage `i` by its variables: each leader is 1 minus the others."""
    groups, V, sel = step.groups, step.unknowns.V, step.unknowns.sel
    n = step.problem.n_x
    for g in range(len(groups.leader)):
        if groups.leader[g] >= 0:
            sel[i, groups.leader[g]] = 1.0
    for v in range(len(groups.member)):
        sel[i, groups.member[v]] = V[i, v]
        if groups.leader[groups.group[v]] >= 0:
            sel[i, groups.leader[groups.group[v]]] -= V[i, v]
    for k in range(step.problem.n_sel):
        if abs(sel[i, k]) <= SNAP:
            sel[i, k] = 0.0
        step.problem.inp[1 + n + k] = sel[i, k]


@kernel(inline=True)
def measure(step: Step, i: int, h: float) -> None:
    """Set the sizes that g of each group has in stage `i`; ``unknowns.end`` holds those of x'."""
    problem, groups, linear, end = step.problem, step.groups, step.linear, step.unknowns.end
    C, Cx, size, R, inp = linear.C, linear.Cx, linear.size, linear.R, problem.inp
    n, s = problem.n_x, C.shape[0]
    size[i, :] = 1e-300
    for v in range(len(groups.member)):
        for j in range(problem.n_c):
            if R[i, v, j] != 0.0:
                terms = abs(C[i, j])
                for k in range(n):
                    terms += abs(Cx[i, j * n + k]) * (abs(inp[1 + k]) + h * end[k])
                size[i, groups.group[v]] = max(size[i, groups.group[v]], terms)
    for g in range(len(groups.leader)):
        size[s, g] = max(size[s, g], size[i, g])
        size[i, g] = max(size[i, g], FLOOR * size[s, g])


@kernel(inner=True)
def linearise(step: Step, t: float, x: Vector, h: float) -> float:
    """Evaluate all stages, with the slopes' matrix J; return the residual beside its terms.

    ``slopes.change`` is the negative residual of the slopes' equations; inf: something is not
    finite. ``unknowns.end`` serves for the sizes of x'.
    """
    problem, tableau, groups, unknowns, linear, slopes, _ = step
    inp, out, c = problem.inp, problem.out, problem.c
    member, group, leader = groups.member, groups.group, groups.leader
    K, end, F, J = unknowns.K, unknowns.end, linear.F, slopes.J
    n, nc, nsel, s, nv = problem.n_x, problem.n_c, problem.n_sel, K.shape[0], len(member)
    at_sel = n + n * n
    worst = 0.0
    J[:, :] = 0.0
    for i in range(s):
        place(problem, tableau.A[i], t + h * tableau.c[i], x, h, K)
        mix(step, i)
        switching(problem)
        flow(problem)
        for k in range(n):
            row = i * n + k
            rest = out[k] - K[i, k]
            terms = abs(K[i, k])
            for o in range(n):
                slope = out[n + k * n + o]
                terms += abs(slope) * (abs(inp[1 + o]) + abs(x[o]))
                for j in range(s):
                    J[row, j * n + o] = -h * tableau.A[i, j] * slope
            J[row, row] += 1.0
            for o in range(nsel):
                terms += abs(out[at_sel + k * nsel + o])
            for v in range(nv):
                F[i, k * nv + v] = out[at_sel + k * nsel + member[v]]
                if leader[group[v]] >= 0:
                    F[i, k * nv + v] -= out[at_sel + k * nsel + leader[group[v]]]
            slopes.change[row] = rest
            if not abs(rest) < np.inf:
                return np.inf
            worst = max(worst, abs(rest) / (terms + 1e-300))
            end[k] = terms
        for j in range(nc):
            linear.C[i, j] = c[j]
            if not abs(c[j]) < np.inf:
                return np.inf
            for k in range(n):
                linear.Cx[i, j * n + k] = c[nc + j * n + k]
        weigh(problem, leader, linear.C[i], linear.R[i])
        measure(step, i, h)
    return worst


@kernel(inner=True)
def mismatch(problem: Problem, groups: Groups, V: Matrix, linear: Linear) -> float:
    """Return how far the multipliers are from complementary: min(theta, its slack), the largest."""
    C, size, R, group = linear.C, linear.size, linear.R, groups.group
    nv, nc = len(groups.member), problem.n_c
    worst = 0.0
    for i in range(C.shape[0]):
        for g in range(len(groups.leader)):
            lowest = 0.0  # of g_v - g_leader: -lambda
            rest = 1.0
            for v in range(nv):
                if group[v] == g:
                    rest -= V[i, v]
                    value = 0.0
                    for j in range(nc):
                        value += R[i, v, j] * C[i, j]
                    lowest = min(lowest, value)
            worst = max(worst, min(abs(rest), -lowest / size[i, g]))
            for v in range(nv):
                if group[v] == g:
                    value = -lowest
                    for j in range(nc):
                        value += R[i, v, j] * C[i, j]
                    worst = max(worst, min(V[i, v], value / size[i, g]))
    return worst


@kernel(inner=True)
def stays(step: Step, h: float) -> bool:
    """Whether no multiplier is between 0 and 1 and none changes with the step ``slopes.change``."""
    problem, groups, linear, A = step.problem, step.groups, step.linear, step.tableau.A
    C, Cx, size, R = linear.C, linear.Cx, linear.size, linear.R
    V, q, change, group = step.unknowns.V, step.lcp.q, step.slopes.change, groups.group
    n, nc, s, nv = problem.n_x, problem.n_c, C.shape[0], len(groups.member)
    for i in range(s):
        for v in range(nv):
            if V[i, v] != 0.0 and V[i, v] != 1.0:
                return False
            q[v] = 0.0
            for j in range(nc):
                if R[i, v, j] == 0.0:
                    continue
                c = C[i, j]
                for k in range(n):
                    for o in range(s):
                        c += h * Cx[i, j * n + k] * A[i, o] * change[o * n + k]
                q[v] += R[i, v, j] * c
        for g in range(len(groups.leader)):
            level = 0.0
            for v in range(nv):
                if group[v] == g and V[i, v] == 1.0:
                    level = -q[v]
            low = -SNAP * size[i, g]
            if level < low:
                return False
            for v in range(nv):
                if group[v] == g and q[v] + level < low:
                    return False
    return True


@kernel(inner=True)
def keeps(lcp: Complementarity, groups: Groups, V: Matrix, pivots: Integers) -> bool:
    """Solve the linear complementarity problem with the active set of V; whether that is its own.

    The basis are the variables above 0, and lambda of each group whose variables add up to 1.
    """
    M, q, z, basis, rhs, A = lcp.M, lcp.q, lcp.z, lcp.basis, lcp.scale, lcp.A
    s, nv, ng = V.shape[0], len(groups.member), len(groups.leader)
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
                total += V[i, v] if groups.group[v] == g else 0.0
            if total > 1.0 - SNAP:
                basis[count] = s * nv + i * ng + g
                count += 1
    for a in range(count):
        rhs[a] = -q[basis[a]]
        for o in range(count):
            A[a, o] = M[basis[a], basis[o]]
    if lu_factor(A, count, count - 1, count - 1, pivots) != 0:
        return False
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
            return False
    return True
