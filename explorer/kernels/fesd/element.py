"""One element of FESD: a Runge-Kutta step in a fixed active set, its length given or found.

Unknown are the slopes K_i of the stages, in a slide the multipliers w_i too, and h where the
element has to end at a switch:

    K_i = f(t_i, X_i, base + B w_i),    X_i = x + h sum_j a_ij K_j,
    0 = c_j(X'_i) / h  for each surface j that is slid on,
    0 = c_j(x_end),  or  0 = (base + B w_end)_k - bound            (where h is unknown)

Nurkanovic et al. 2023, eq. (14), (16), (18), with the complementarities of an active set solved by
hand. Constraints are divided by h so that they keep their size, and so is c_j(x_end) of a surface
that the element starts on, to lose the root h = 0. Newton with exact Jacobians.
"""

import numpy as np

from explorer.codes import NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.fesd.structures import Element
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.structures import Integers, Matrix, Vector, takes

# the fields of `Model`, `Mode` and `Stages`, for kernels that take them one by one
MODEL = "int64[:, ::1], int64[::1], float64[::1], float64[::1], float64[::1], float64[:, ::1]"
MODE = "int64[::1], int64[::1], float64[::1], float64[:, ::1]"
STAGES = "float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1]"

N, NC, NSEL, NRHO, S, SUBSYSTEMS = 0, 1, 2, 3, 4, 5  # places in `shape`
FLOW, SWITCH = 0, 1  # bundles: f, f_x, f_multipliers, f_t; c, c_x, c_t
SURFACE, MULTIPLIER = 1, 2  # what an element of unknown length ends at
COARSE = 3  # a multiplier leaves [0, 1] at the very start: the element is too long for its set
# places in `work`: length, residual, evaluations of f, cap, length that M is factored for (or 0)
H, RESIDUAL, CALLS, CAP, FACTORED = 0, 1, 2, 3, 4
UNSEEN = 1e3  # what a multiplier that is 0 or 1 may leave of round-off, beside the rest
ENOUGH = 1e-14  # residual of a solved equation beside its terms
BOUND = 1e-11  # how far a multiplier may be beyond 0 or 1
SLOW = 0.05  # a residual that falls by less wants a new factorisation


@kernel(f"void({MODEL}, float64, float64[::1], float64, int64, float64[:, ::1])", inline=True)
def place(table, shape, inp, out, switch, tableau, time, x, h, row, K):
    """Set t and x of `inp` to the point whose weights are a row of the tableau."""
    inp[0] = time
    for k in range(shape[N]):
        total = 0.0
        for j in range(shape[S]):
            total += tableau[row, j] * K[j, k]
        inp[1 + k] = x[k] + h * total


@kernel(takes(Element, float, Vector, int, int, float, returns=float), inner=True)
def defect(el, t, x, kind, which, bound):
    """Set the right-hand side of Newton's equations; return its size beside the scales."""
    table, shape, inp, out = el.model.table, el.model.shape, el.model.inp, el.model.out
    switch, tableau = el.model.switch, el.model.tableau
    zeros, base, B = el.mode.zeros, el.mode.base, el.mode.B
    K, W, C, sel = el.stages.K, el.stages.W, el.stages.C, el.stages.sel
    r, work = el.solver.r, el.solver.work
    n = shape[N]
    nc = shape[NC]
    nsel = shape[NSEL]
    s = shape[S]
    m = zeros[nc]
    d = n + m
    h = work[H]
    for i in range(s):
        place(table, shape, inp, out, switch, tableau, t + h * tableau[3 * s, i], x, h, i, K)
        for k in range(nsel):
            total = base[k]
            for a in range(m):
                total += B[k, a] * W[i, a]
            sel[i, k] = total
            inp[1 + n + k] = total
        call(table[FLOW, 0], table[FLOW, 1], out, inp)
        for k in range(n):
            r[0, i * d + k] = out[k] - K[i, k]
    work[CALLS] += s
    if m > 0 or kind == SURFACE:
        for i in range(0 if m > 0 else s - 1, s):
            time = t + h * tableau[3 * s + 1, i]
            place(table, shape, inp, out, switch, tableau, time, x, h, s + i, K)
            call(table[SWITCH, 0], table[SWITCH, 1], switch, inp)
            for j in range(nc):
                C[i, j] = switch[j]
            for a in range(m):
                r[0, i * d + n + a] = -switch[zeros[a]] / h
        if kind == SURFACE:
            r[0, s * d] = -switch[which] / (h if bound > 0.0 else 1.0)
    if kind == MULTIPLIER:
        total = base[which] - bound
        for a in range(m):
            for i in range(s):
                total += tableau[3 * s + 3, i] * B[which, a] * W[i, a]
        r[0, s * d] = -total
    worst = 0.0
    for p in range(s * d + (1 if kind > 0 else 0)):
        if not abs(r[0, p]) < np.inf:
            return np.inf
        worst = max(worst, abs(r[0, p]) * r[1, p])
    return worst


@kernel(takes(Element, float, Vector, int, int, float, returns=int), inner=True)
def factor(el, t, x, kind, which, bound):
    """Set up and factor Newton's matrix, and the inverse scales of its rows; 0 if it has worked."""
    table, shape, inp, out = el.model.table, el.model.shape, el.model.inp, el.model.out
    switch, tableau = el.model.switch, el.model.tableau
    zeros, base, B = el.mode.zeros, el.mode.base, el.mode.B
    K, W = el.stages.K, el.stages.W
    M, pivots, r, work = el.solver.M, el.solver.pivots, el.solver.r, el.solver.work
    n = shape[N]
    nc = shape[NC]
    nsel = shape[NSEL]
    s = shape[S]
    m = zeros[nc]
    d = n + m
    size = s * d + (1 if kind > 0 else 0)
    late = size - 1
    h = work[H]
    at_sel = n + n * n
    at_t = at_sel + n * nsel
    steep = 0.0  # the largest sum of terms of a slope: h times it is what states round to
    for p in range(size):
        for q in range(size):
            M[p, q] = 0.0
    for i in range(s):
        place(table, shape, inp, out, switch, tableau, t + h * tableau[3 * s, i], x, h, i, K)
        for k in range(nsel):
            total = base[k]
            for a in range(m):
                total += B[k, a] * W[i, a]
            inp[1 + n + k] = total
        call(table[FLOW, 0], table[FLOW, 1], out, inp)
        for k in range(n):
            row = i * d + k
            terms = abs(K[i, k])
            size_of_slopes = 0.0
            speed = out[at_t + k] * tableau[3 * s, i]
            for o in range(n):
                slope = out[n + k * n + o]
                terms += abs(slope * inp[1 + o])
                size_of_slopes += abs(slope)
                if slope != 0.0:
                    for j in range(s):
                        weight = slope * tableau[i, j]
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
            r[1, row] = terms
            r[2, row] = size_of_slopes
    for i in range(s):
        for k in range(n):
            row = i * d + k
            r[1, row] = 1.0 / (r[1, row] + h * steep * r[2, row] + 1e-300)
    if m > 0 or kind == SURFACE:
        for i in range(0 if m > 0 else s - 1, s):
            time = t + h * tableau[3 * s + 1, i]
            place(table, shape, inp, out, switch, tableau, time, x, h, s + i, K)
            call(table[SWITCH, 0], table[SWITCH, 1], switch, inp)
            extra = 1 if kind == SURFACE and i == s - 1 else 0
            for a in range(m + extra):
                j = zeros[a] if a < m else which
                row = i * d + n + a if a < m else late
                divided = 1.0 if a < m or bound > 0.0 else h
                by_t = switch[nc + nc * n + j]
                terms = abs(switch[j]) + abs(by_t) * (abs(time) + h)
                speed = by_t * tableau[3 * s + 1, i]
                for o in range(n):
                    slope = switch[nc + j * n + o]
                    terms += abs(slope) * (abs(inp[1 + o]) + h * steep)
                    for q in range(s):
                        M[row, q * d + o] = divided * tableau[s + i, q] * slope
                        speed += slope * tableau[s + i, q] * K[q, o]
                if kind > 0 and divided == 1.0:
                    M[row, late] = speed / h - switch[j] / (h * h)
                elif kind > 0:
                    M[row, late] = speed
                r[1, row] = 0.1 * h / (divided * (terms + 1e-300))
    if kind == MULTIPLIER:
        for a in range(m):
            for i in range(s):
                M[late, i * d + n + a] = tableau[3 * s + 3, i] * B[which, a]
        r[1, late] = 0.1
    return lu_factor(M, size, size - 1, size - 1, pivots)


@kernel(takes(Element, float, Vector, Vector, int, int, float, returns=int), inner=True)
def element(el, t, x, end, kind, which, bound):
    """Solve an element from (t, x); K, W and ``work[H]`` hold a guess, then the solution.

    `kind` 0: h is given. 1: it ends where c_which = 0 (`bound` 1: where it also starts). 2: where
    multiplier `which` is `bound`. `end` is x at its end, C all switching functions at the s points
    of the constraints; `switch` holds those of the last one, with their derivatives. With h given
    the factorisation of the last element serves as long as it converges fast.
    """
    table, shape, inp, out = el.model.table, el.model.shape, el.model.inp, el.model.out
    switch, tableau = el.model.switch, el.model.tableau
    zeros = el.mode.zeros
    K, W, C = el.stages.K, el.stages.W, el.stages.C
    M, pivots, r, work = el.solver.M, el.solver.pivots, el.solver.r, el.solver.work
    n = shape[N]
    nc = shape[NC]
    s = shape[S]
    m = zeros[nc]
    d = n + m
    size = s * d + (1 if kind > 0 else 0)
    fresh = kind > 0 or not abs(work[H] - work[FACTORED]) <= 1e-3 * work[H]
    before = np.inf
    for _ in range(int(work[CAP]) + 1):
        singular = False
        if fresh:
            singular = factor(el, t, x, kind, which, bound) != 0
            work[FACTORED] = work[H] if kind == 0 and not singular else 0.0
        worst = defect(el, t, x, kind, which, bound)
        work[RESIDUAL] = worst
        h = work[H]
        if worst <= ENOUGH or (fresh and worst > 0.3 * before and worst <= 1e-12):
            if m == 0:
                for i in range(s):
                    time = t + h * tableau[3 * s + 1, i]
                    place(table, shape, inp, out, switch, tableau, time, x, h, s + i, K)
                    call(table[SWITCH, 0], table[SWITCH, 1], switch, inp)
                    for j in range(nc):
                        C[i, j] = switch[j]
            place(table, shape, inp, out, switch, tableau, t + h, x, h, 3 * s + 2, K)
            for k in range(n):
                end[k] = inp[1 + k]
            return SUCCESS
        if not worst < np.inf:
            work[FACTORED] = 0.0
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
        lu_solve(M, size, size - 1, size - 1, pivots, r[0])
        for i in range(s):
            for k in range(n):
                K[i, k] += r[0, i * d + k]
            for a in range(m):
                W[i, a] += r[0, i * d + n + a]
        if kind > 0:
            work[H] += r[0, size - 1]
            if not work[H] > 0.0:
                break
    work[FACTORED] = 0.0
    return NEWTON_CAP


@kernel(
    takes(
        Integers, Matrix, Integers, Integers, Matrix, Matrix, Matrix, Matrix, Vector, returns=int
    ),
    inner=True,
)
def violated(shape, tableau, sign, zeros, B, C, sel, vec, found):
    """Return what ends the active set within an element first: 0, SURFACE, MULTIPLIER or COARSE.

    found: which, bound, the fraction of the element at which it is reached; ``found[4]``: whether
    an element may be coarse (else the first stage of Lobatto IIIC, which is no limit of the stages
    before it, is held to the bounds as well). `vec` holds c and the
    multipliers at its start (rows 2, 3) and the tolerance of each c (row 4).
    """
    nc = shape[NC]
    nsel = shape[NSEL]
    s = shape[S]
    m = zeros[nc]
    kind = 0
    coarse = 0
    found[2] = 2.0
    for j in range(nc):
        if sign[j] == 0:
            continue
        early = sign[j] * vec[2, j]
        was = 0.0
        for i in range(s):
            now = sign[j] * C[i, j]
            time = tableau[3 * s + 1, i]
            if time > 0.0 and now < -vec[4, j]:
                at = 0.5 * time
                if early > vec[4, j]:
                    at = was + (time - was) * early / (early - now)
                if at < found[2]:
                    kind = SURFACE
                    found[0] = j
                    found[2] = at
                break
            early = now
            was = time
    if m == 0:
        return kind
    for k in range(nsel):
        free = False
        for a in range(m):
            free = free or B[k, a] != 0.0
        if not free:
            continue
        early = vec[3, k]
        was = 0.0
        for i in range(s):
            now = sel[i, k]
            time = tableau[3 * s, i]
            if time > 0.0 and (now < -BOUND or now > 1.0 + BOUND):
                goal = 0.0 if now < 0.0 else 1.0
                at = 0.5 * time
                if (early - goal) * (now - goal) < 0.0:
                    at = was + (time - was) * (early - goal) / (early - now)
                if at < found[2]:
                    kind = MULTIPLIER
                    found[0] = k
                    found[1] = goal
                    found[2] = at
                break
            early = now
            was = time
        if was < 1.0 and early >= -BOUND and early <= 1.0 + BOUND:  # the end is no stage
            now = 0.0
            for i in range(s):
                now += tableau[3 * s + 3, i] * sel[i, k]
            if now < -BOUND or now > 1.0 + BOUND:
                goal = 0.0 if now < 0.0 else 1.0
                at = was + (1.0 - was) * (early - goal) / (early - now)
                if at < found[2]:
                    kind = MULTIPLIER
                    found[0] = k
                    found[1] = goal
                    found[2] = at
        if tableau[3 * s, 0] == 0.0 and found[4] == 0.0 and abs(sel[0, k] - 0.5) > 0.5 + BOUND:
            coarse = COARSE
    return kind if kind != 0 else coarse
