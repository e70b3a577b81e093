"""One element of FESD: a Runge-Kutta step in a fixed active set, its length given or found.

Unknown are the slopes K_i of the stages, in a slide the multipliers w_i too, and h where the
element has to end at a switch:

    K_i = f(t_i, X_i, base + B w_i),    X_i = x + h sum_j a_ij K_j,
    0 = c_j(X'_i) / h  for each surface j that is slid on,
    0 = c_j(x_end),  or  0 = (base + B w_end)_k - bound            (where h is unknown)

Nurkanovic et al. 2023 (doi:10.48550/arXiv.2303.18066), eq. (14), (16), (18), with the
complementarities of an active set solved by hand. Constraints are divided by h so that they keep
their size, and so is c_j(x_end) of a surface that the element starts on, to lose the root h = 0.
Newton with exact Jacobians.
"""

import numpy as np

from explorer.codes import NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.fesd.structures import MULTIPLIER, SURFACE, Element, Mode, Problem
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.structures import Matrix, Vector

__all__ = ["ENOUGH", "element", "factor", "flow", "multipliers", "place", "solve", "switching"]

UNSEEN = 1e3  # what a multiplier that is 0 or 1 may leave of round-off, beside the rest
ENOUGH = 1e-14  # residual of a solved equation beside its terms
SLOW = 0.05  # a residual that falls by less wants a new factorisation


@kernel(inline=True)
def flow(problem: Problem) -> None:
    """Evaluate f and its derivatives at the input."""
    call(problem.flow.address, problem.flow.data, problem.out, problem.inp)


@kernel(inline=True)
def switching(problem: Problem) -> None:
    """Evaluate c and its derivatives at the input."""
    call(problem.switching.address, problem.switching.data, problem.c, problem.inp)


@kernel(inline=True)
def place(problem: Problem, weights: Vector, time: float, x: Vector, h: float, K: Matrix) -> None:
    """Set t and x of the input to ``time`` and x + h sum_j weights_j K_j."""
    inp = problem.inp
    inp[0] = time
    for k in range(problem.n_x):
        total = 0.0
        for j in range(K.shape[0]):
            total += weights[j] * K[j, k]
        inp[1 + k] = x[k] + h * total


@kernel(inline=True)
def multipliers(mode: Mode, w: Vector, chosen: Vector) -> None:
    """Set the multipliers to base + B w."""
    for k in range(len(chosen)):
        total = mode.base[k]
        for a in range(mode.active[0].sliding):
            total += mode.B[k, a] * w[a]
        chosen[k] = total


@kernel(inline=True)
def defect(el: Element, t: float, x: Vector, kind: int, which: int, bound: float) -> float:
    """Set the right-hand side of Newton's equations; return its size beside the scales."""
    problem, tableau, mode, stages, solver = el
    inp, out, c = problem.inp, problem.out, problem.c
    K, W, C, sel = stages.K, stages.W, stages.C, stages.sel
    rhs, scale, newton = solver.rhs, solver.scale, solver.newton
    n, nc, s, m = problem.n_x, problem.n_c, K.shape[0], mode.active[0].sliding
    d = n + m
    h = newton[0].h
    for i in range(s):
        place(problem, tableau.A[i], t + h * tableau.c[i], x, h, K)
        multipliers(mode, W[i], sel[i])
        for k in range(problem.n_sel):
            inp[1 + n + k] = sel[i, k]
        flow(problem)
        for k in range(n):
            rhs[i * d + k] = out[k] - K[i, k]
    newton[0].evaluations += s
    if m > 0 or kind == SURFACE:
        for i in range(0 if m > 0 else s - 1, s):
            place(problem, tableau.at[i], t + h * tableau.where[i], x, h, K)
            switching(problem)
            for j in range(nc):
                C[i, j] = c[j]
            for a in range(m):
                rhs[i * d + n + a] = -c[mode.zeros[a]] / h
        if kind == SURFACE:
            rhs[s * d] = -c[which] / (h if bound > 0.0 else 1.0)
    if kind == MULTIPLIER:
        total = mode.base[which] - bound
        for a in range(m):
            for i in range(s):
                total += tableau.end[i] * mode.B[which, a] * W[i, a]
        rhs[s * d] = -total
    worst = 0.0
    for p in range(s * d + (1 if kind > 0 else 0)):
        if not abs(rhs[p]) < np.inf:
            return np.inf
        worst = max(worst, abs(rhs[p]) * scale[p])
    return worst


@kernel(inline=True)
def slope_rows(el: Element, t: float, x: Vector, kind: int) -> float:
    """Set the rows K_i - f(t_i, X_i, base + B w_i) = 0 of Newton's matrix, and their scales.

    Returns the largest sum of terms of a slope: h times it is what states round to.
    """
    problem, tableau, mode, stages, solver = el
    inp, out = problem.inp, problem.out
    K, M, B, scale = stages.K, solver.M, mode.B, solver.scale
    n, nsel, s, m = problem.n_x, problem.n_sel, K.shape[0], mode.active[0].sliding
    d = n + m
    late = s * d
    h = solver.newton[0].h
    at_sel = n + n * n
    at_t = at_sel + n * nsel
    steep = 0.0
    for i in range(s):
        place(problem, tableau.A[i], t + h * tableau.c[i], x, h, K)
        multipliers(mode, stages.W[i], stages.sel[i])
        for k in range(nsel):
            inp[1 + n + k] = stages.sel[i, k]
        flow(problem)
        for k in range(n):
            row = i * d + k
            terms = abs(K[i, k])
            size_of_slopes = 0.0
            speed = out[at_t + k] * tableau.c[i]
            for o in range(n):
                slope = out[n + k * n + o]
                terms += abs(slope * inp[1 + o])
                size_of_slopes += abs(slope)
                if slope != 0.0:
                    for j in range(s):
                        weight = slope * tableau.A[i, j]
                        M[row, j * d + o] -= h * weight
                        speed += weight * K[j, o]
            M[row, row] += 1.0
            fixed = 0.0
            for o in range(nsel):
                slope = out[at_sel + k * nsel + o]
                slides = False
                for a in range(m):
                    slides = slides or B[o, a] != 0.0
                    M[row, i * d + n + a] -= slope * B[o, a]
                if slides:
                    terms += abs(slope)  # by a multiplier of up to 1
                else:
                    fixed += abs(slope)
            terms += min(fixed, UNSEEN * terms) + abs(out[at_t + k]) * abs(inp[0])  # t rounds too
            if kind > 0:
                M[row, late] = -speed
            steep = max(steep, terms)
            scale[row] = terms
            solver.steep[row] = size_of_slopes
    for i in range(s):
        for k in range(n):
            row = i * d + k
            scale[row] = 1.0 / (scale[row] + h * steep * solver.steep[row] + 1e-300)
    return steep


@kernel(inline=True)
def surface_rows(
    el: Element, t: float, x: Vector, kind: int, which: int, bound: float, steep: float
) -> None:
    """Set the rows c_j(X'_i) / h = 0, and that of the end of an element, and their scales."""
    problem, tableau, mode, stages, solver = el
    inp, c = problem.inp, problem.c
    K, M = stages.K, solver.M
    n, nc, s, m = problem.n_x, problem.n_c, K.shape[0], mode.active[0].sliding
    d = n + m
    late = s * d
    h = solver.newton[0].h
    for i in range(0 if m > 0 else s - 1, s):
        time = t + h * tableau.where[i]
        place(problem, tableau.at[i], time, x, h, K)
        switching(problem)
        extra = 1 if kind == SURFACE and i == s - 1 else 0
        for a in range(m + extra):
            j = mode.zeros[a] if a < m else which
            row = i * d + n + a if a < m else late
            divided = 1.0 if a < m or bound > 0.0 else h
            by_t = c[nc + nc * n + j]
            terms = abs(c[j]) + abs(by_t) * (abs(time) + h)
            speed = by_t * tableau.where[i]
            for o in range(n):
                slope = c[nc + j * n + o]
                terms += abs(slope) * (abs(inp[1 + o]) + h * steep)
                for q in range(s):
                    M[row, q * d + o] = divided * tableau.at[i, q] * slope
                    speed += slope * tableau.at[i, q] * K[q, o]
            if kind > 0 and divided == 1.0:
                M[row, late] = speed / h - c[j] / (h * h)
            elif kind > 0:
                M[row, late] = speed
            solver.scale[row] = 0.1 * h / (divided * (terms + 1e-300))


@kernel(inline=True)
def factor(el: Element, t: float, x: Vector, kind: int, which: int, bound: float) -> int:
    """Set up and factor Newton's matrix, and the inverse scales of its rows; 0 if it has worked."""
    mode, M = el.mode, el.solver.M
    n, s, m = el.problem.n_x, el.stages.K.shape[0], mode.active[0].sliding
    d = n + m
    size = s * d + (1 if kind > 0 else 0)
    late = s * d
    for p in range(size):
        for q in range(size):
            M[p, q] = 0.0
    steep = slope_rows(el, t, x, kind)
    if m > 0 or kind == SURFACE:
        surface_rows(el, t, x, kind, which, bound, steep)
    if kind == MULTIPLIER:
        for a in range(m):
            for i in range(s):
                M[late, i * d + n + a] = el.tableau.end[i] * mode.B[which, a]
        el.solver.scale[late] = 0.1
    return lu_factor(M, size, size - 1, size - 1, el.solver.pivots)


@kernel(inline=True)
def conclude(el: Element, t: float, x: Vector, end: Vector) -> None:
    """Set C at all constraints, and `end`, x at the end."""
    problem, tableau, stages = el.problem, el.tableau, el.stages
    K, h = stages.K, el.solver.newton[0].h
    if el.mode.active[0].sliding == 0:
        for i in range(K.shape[0]):
            place(problem, tableau.at[i], t + h * tableau.where[i], x, h, K)
            switching(problem)
            for j in range(problem.n_c):
                stages.C[i, j] = problem.c[j]
    place(problem, tableau.b, t + h, x, h, K)
    for k in range(problem.n_x):
        end[k] = problem.inp[1 + k]


@kernel(inline=True)
def solve(
    el: Element, t: float, x: Vector, end: Vector, kind: int, which: int, bound: float
) -> int:
    """Solve an element from (t, x); K, W and the length hold a guess, then the solution.

    `kind` 0: h is given. SURFACE: it ends where c_which = 0 (`bound` 1: where it also starts).
    MULTIPLIER: where multiplier `which` is `bound`. `end` is x at its end, C all switching
    functions at the s points of the constraints; ``problem.c`` holds those of the last one, with
    their derivatives. With h given the factorisation of the last element serves as long as it
    converges fast. Returns SUCCESS, NEWTON_CAP or NOT_FINITE.
    """
    K, W = el.stages.K, el.stages.W
    M, pivots, rhs, newton = el.solver.M, el.solver.pivots, el.solver.rhs, el.solver.newton
    n, s, m = el.problem.n_x, K.shape[0], el.mode.active[0].sliding
    d = n + m
    size = s * d + (1 if kind > 0 else 0)
    fresh = kind > 0 or not abs(newton[0].h - newton[0].factored) <= 1e-3 * newton[0].h
    before = np.inf
    for _ in range(newton[0].cap + 1):
        singular = False
        if fresh:
            singular = factor(el, t, x, kind, which, bound) != 0
            newton[0].factored = newton[0].h if kind == 0 and not singular else 0.0
        worst = defect(el, t, x, kind, which, bound)
        newton[0].residual = worst
        if worst <= ENOUGH or (fresh and worst > 0.3 * before and worst <= 1e-12):
            conclude(el, t, x, end)
            return SUCCESS
        if not worst < np.inf:
            newton[0].factored = 0.0
            return NOT_FINITE
        if singular:
            return NEWTON_CAP
        slow = worst > SLOW * before
        before = worst
        if slow and not fresh:  # from here on with a matrix of its own
            fresh = True
            before = np.inf
            continue
        fresh = kind > 0 or slow
        lu_solve(M, size, size - 1, size - 1, pivots, rhs)
        for i in range(s):
            for k in range(n):
                K[i, k] += rhs[i * d + k]
            for a in range(m):
                W[i, a] += rhs[i * d + n + a]
        if kind > 0:
            newton[0].h += rhs[size - 1]
            if not newton[0].h > 0.0:
                break
    newton[0].factored = 0.0
    return NEWTON_CAP


@kernel(inner=True)
def element(
    el: Element, t: float, x: Vector, end: Vector, kind: int, which: int, bound: float
) -> int:
    """Do as `solve` does, in one place: to hand an element over costs a third of solving it."""
    return solve(el, t, x, end, kind, which, bound)
