"""Which active sets a state may go on in: signs of the switching functions, and multipliers.

Of all functions that are zero each may become positive or negative, or stay zero: a slide, in which
the multipliers are those with dc/dt = 0 (Filippov). A pattern is consistent if its multipliers lie
in [0, 1] and every other function leaves zero to its own side; where one of these quantities is
zero itself (a tangency), how it changes along the flow decides. There may be several patterns: then
the solution is not unique, and a rule chooses.

The multipliers are alpha (one for each function), or theta (one for each region), in which a slide
on k surfaces mixes k + 1 of the regions that meet there. A slide on k surfaces may have several
alpha, up to k! of them where f is affine in each: all are found
(`explorer.kernels.sliding.multiaffine`).
"""

import numpy as np

from explorer.kernels.fesd.arrangement import arrange
from explorer.kernels.fesd.element import FLOW, NC, NSEL, SUBSYSTEMS, SWITCH, N
from explorer.kernels.fesd.structures import Workspace
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.sliding.multiaffine import CORNERS, FIRST, roots
from explorer.kernels.structures import Vector, takes

AFFINE = 6  # place in `shape`: whether f is affine in each multiplier
NOISE = 1e-13  # beside its scale the sign of a quantity this small is round-off
BAND = 1e-8  # beside its scale a quantity this small is taken for zero
LENIENT = 0.05  # beside its scale: how fast a surface may be approached that was just left
ALL, OTHERS = -2, -3  # what `forced` may be besides a function
FIRST_WAY, LAST_WAY = 11, 0  # rows of `vec`: x' of consistent patterns
SAME = 1e-9  # of its largest component: x' that are closer are the same
WANTED = 1 << 40  # no score is as high
PICK = 10  # and above it in `rule`: the number of the consistent pattern that is taken


@kernel(takes(Workspace, float, Vector, int, int, int, returns=int), inner=True)
def margins(ws, t, x, z, left, row):
    """Set row `row` of `vec` to what has to be >= 0 in this pattern; return how much, or -1.

    The stages' multipliers say when a slide is left, and are nearly those with dc/dt = 0: the
    function `left` (or ALL) may turn back a little. Rows 5, 6, 7 of `vec`: w (guess and result),
    x', the multipliers.
    """
    table, shape, inp, out = ws.model.table, ws.model.shape, ws.model.inp, ws.model.out
    switch = ws.model.switch
    sign, zeros, base, B = ws.mode.sign, ws.mode.zeros, ws.mode.base, ws.mode.B
    M, pivots, r = ws.solver.M, ws.solver.pivots, ws.solver.r
    vec, near = ws.vec, ws.near
    n = shape[N]
    nc = shape[NC]
    nsel = shape[NSEL]
    m = zeros[nc]
    inp[0] = t
    for k in range(n):
        inp[1 + k] = x[k]
    call(table[SWITCH, 0], table[SWITCH, 1], switch, inp)
    worst = 0.0
    for _ in range(20):
        for k in range(nsel):
            total = base[k]
            for a in range(m):
                total += B[k, a] * vec[5, a]
            vec[7, k] = total
            inp[1 + n + k] = total
        call(table[FLOW, 0], table[FLOW, 1], out, inp)
        for k in range(n):
            vec[6, k] = out[k]
        if m == 0:
            break
        worst = 0.0
        for a in range(m):
            j = zeros[a]
            total = switch[nc + nc * n + j]
            scale = abs(total)
            for k in range(n):
                total += switch[nc + j * n + k] * out[k]
                scale += abs(switch[nc + j * n + k] * out[k])
            r[0, a] = -total
            for b in range(m):
                slope = 0.0
                for k in range(n):
                    for o in range(nsel):
                        slope += switch[nc + j * n + k] * out[n + n * n + k * nsel + o] * B[o, b]
                M[a, b] = slope
                scale += abs(slope)
            worst = max(worst, abs(total) / (scale + 1e-300))
        if not worst < np.inf:
            return -1
        if lu_factor(M, m, m - 1, m - 1, pivots) != 0:  # a multiplier without any effect
            return -1
        if worst <= 1e-14:
            break
        lu_solve(M, m, m - 1, m - 1, pivots, r[0])
        for a in range(m):
            vec[5, a] += r[0, a]
    if worst > 1e-10:
        return -1
    count = 0
    for k in range(nsel):
        for a in range(m):
            if B[k, a] != 0.0:
                vec[row, count] = vec[7, k]
                vec[row, count + 1] = 1.0 - vec[7, k]
                count += 2
                break
    for a in range(z):
        j = near[a]
        if sign[j] == 0:
            continue
        total = switch[nc + nc * n + j]
        scale = abs(total)
        for k in range(n):
            total += switch[nc + j * n + k] * vec[6, k]
            terms = abs(vec[6, k])  # and those it may be a difference of
            for o in range(n):
                terms += abs(out[n + k * n + o] * x[o])
            for o in range(nsel):
                terms += abs(out[n + n * n + k * nsel + o])
            scale += abs(switch[nc + j * n + k]) * terms
        vec[row, count] = sign[j] * total / (scale + 1e-300)
        if left in (j, ALL):
            vec[row, count] += LENIENT
        count += 1
    return count


@kernel(takes(Workspace, float, Vector, returns=int), inner=True)
def slides(ws, t, x):
    """Set the rows of `vec` from FIRST on to the w to start from; return how many there are.

    They are all the roots of dc/dt = 0, where f is affine in each multiplier; where it is not, or
    is affine in all of them, there is one guess.
    """
    table, shape, inp, out = ws.model.table, ws.model.shape, ws.model.inp, ws.model.out
    switch = ws.model.switch
    zeros, base, B = ws.mode.zeros, ws.mode.base, ws.mode.B
    M, pivots, r = ws.solver.M, ws.solver.pivots, ws.solver.r
    vec = ws.vec
    n = shape[N]
    nc = shape[NC]
    m = zeros[nc]
    alike = shape[SUBSYSTEMS] > 0
    if m < 2 or alike or shape[AFFINE] == 0:
        for a in range(m):
            vec[FIRST, a] = 1.0 / (m + 1) if alike else 0.5
        return 1
    inp[0] = t
    for k in range(n):
        inp[1 + k] = x[k]
    call(table[SWITCH, 0], table[SWITCH, 1], switch, inp)
    for corner in range(1 << m):
        for k in range(shape[NSEL]):
            total = base[k]
            for a in range(m):
                total += B[k, a] * ((corner >> a) & 1)
            inp[1 + n + k] = total
        call(table[FLOW, 0], table[FLOW, 1], out, inp)
        for a in range(m):
            j = zeros[a]
            total = switch[nc + nc * n + j]
            for k in range(n):
                total += switch[nc + j * n + k] * out[k]
            vec[CORNERS + a, corner] = total
    return roots(vec, m, M, pivots, r)


@kernel(takes(Workspace, float, Vector, float, int, int, float, int, returns=int), inner=True)
def consistent(ws, t, x, ahead, z, left, band, guess):
    """Return 3 if the pattern holds from (t, x) on, 1 if nothing speaks against it, 0 if not.

    A quantity within `band` of zero is watched over the time `ahead`. 2: nothing, and the signs of
    what is that small speak for it. `guess`: number of the w to start from (see `slides`).
    """
    shape, switch = ws.model.shape, ws.model.switch
    sign, zeros = ws.mode.sign, ws.mode.zeros
    vec, near = ws.vec, ws.near
    n = shape[N]
    m = zeros[shape[NC]]
    for a in range(m):
        vec[5, a] = vec[FIRST + guess, a]
    count = margins(ws, t, x, z, left, 8)
    if count < 0:
        return 0
    sharp = True
    seen = True
    first = count  # of the rates of functions, one after the other as in `near`
    for a in range(z):
        if sign[near[a]] != 0:
            first -= 1
    a = 0
    for q in range(count):
        if vec[8, q] < -band:
            return 0
        sharp = sharp and vec[8, q] > band
        aside = 0.0  # where the rate says nothing the value may
        if q >= first:
            while sign[near[a]] == 0:
                a += 1
            if vec[8, q] >= -NOISE:
                aside = sign[near[a]] * switch[near[a]]
            a += 1
        seen = seen and (vec[8, q] > NOISE or aside > 0.0)
    if sharp:
        return 3
    verdict = 3
    for k in range(n):
        vec[9, k] = x[k] + ahead * vec[6, k]
    margins(ws, t + ahead, vec[9], z, left, 10)
    for q in range(count):
        if vec[8, q] > band:
            continue
        grows = vec[10, q] - vec[8, q]
        if grows < -1e-3 * BAND or not np.isfinite(grows):
            return 0
        if grows <= 1e-3 * BAND:
            verdict = 1
    margins(ws, t, x, z, left, 8)
    return 2 if verdict == 1 and seen else verdict


@kernel("int64(float64[:, ::1], int64, int64)", inline=True)
def alike(vec, n, row):
    """Whether x' is that of a row."""
    size = 0.0
    off = 0.0
    for k in range(n):
        size = max(size, abs(vec[6, k]) + abs(vec[row, k]))
        off = max(off, abs(vec[6, k] - vec[row, k]))
    return off <= SAME * size


@kernel(takes(Workspace, float, Vector, float, int, int, int, int, float, returns=int), inner=True)
def choose(ws, t, x, ahead, z, banned, forced, rule, slack):
    """Choose the pattern of the `z` functions listed in `near`; return how many are consistent.

    `banned`: a multiplier that has to stay zero (or -1); `forced`: a function that keeps the sign
    it has, for it has just been left (ALL: one of these; OTHERS: the pattern is another than it
    was, whose choice is ``best[0]``; -1: none). `rule`: 1 prefers positive signs, -1 negative ones,
    0 slides, PICK + k takes the k-th that is consistent. `slack`: what multipliers may be beyond
    their bounds if they come back. On return the active set is set up and rows 5 to 7 of `vec`
    hold w, x', multipliers; ``best[0]`` is the choice: of regions, or of a root. 0: no pattern is
    consistent, the signs are what they were.
    """
    shape = ws.model.shape
    sign, zeros, base, B = ws.mode.sign, ws.mode.zeros, ws.mode.base, ws.mode.B
    vec, near, best = ws.vec, ws.near, ws.best
    n = shape[N]
    found = 0
    top = -1
    code_best = 0
    patterns = 1
    before = best[0]
    regions = shape[SUBSYSTEMS] > 0
    lean = rule if rule < PICK else 1
    for a in range(z):
        best[1 + a] = sign[near[a]]
        patterns *= 3
    # where nothing is left but what round-off hides, what can be seen of the signs has to do
    for turn in range(2 * patterns):
        code = turn % patterns
        if turn == patterns and top >= 0:
            break
        band = max(BAND, slack) if turn < patterns else 0.0
        rest = code
        score = 0
        skip = False
        same = forced == OTHERS
        for a in range(z):
            j = near[a]
            digit = rest % 3
            rest //= 3
            side = 1 if digit == 0 else (-1 if digit == 1 else 0)
            skip = skip or (j == forced and side != best[1 + a])
            same = same and side == best[1 + a]
            sign[j] = side
            score += lean * side if lean != 0 else (1 if side == 0 else 0)
        if skip:
            continue
        choice = 0
        choices = 1
        while choice < choices:
            number = arrange(shape, sign, zeros, base, B, choice)
            if regions or choice == 0:
                choices = number
                guesses = slides(ws, t, x)
                if not regions:
                    choices = guesses
            allowed = choice < choices and not (same and choice == before)
            if allowed and banned >= 0:
                allowed = base[banned] == 0.0
                for a in range(zeros[shape[NC]]):
                    allowed = allowed and B[banned, a] == 0.0
            if allowed:
                verdict = consistent(ws, t, x, ahead, z, forced, band, 0 if regions else choice)
                if verdict > 0 and top < verdict * 1000 + score < WANTED:
                    top = verdict * 1000 + score
                    code_best = code
                    best[0] = choice
                new = verdict == 3  # two that go the same way are one
                if new and found > 0:
                    new = not (alike(vec, n, FIRST_WAY) or alike(vec, n, LAST_WAY))
                if new:
                    if found == rule - PICK:
                        top = WANTED
                        code_best = code
                        best[0] = choice
                    for k in range(n):
                        vec[LAST_WAY, k] = vec[6, k]
                        if found == 0:
                            vec[FIRST_WAY, k] = vec[6, k]
                    found += 1
            choice += 1
    if top < 0:
        for a in range(z):
            sign[near[a]] = best[1 + a]
        best[0] = before
        return 0
    for a in range(z):
        digit = code_best % 3
        code_best //= 3
        sign[near[a]] = 1 if digit == 0 else (-1 if digit == 1 else 0)
    arrange(shape, sign, zeros, base, B, best[0])
    slides(ws, t, x)
    consistent(ws, t, x, ahead, z, forced, BAND, 0 if regions else best[0])
    return max(found, 1)
