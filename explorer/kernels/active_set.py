"""Which active sets a state may go on in: signs of the switching functions, and multipliers.

Of all functions that are zero each may become positive or negative, or stay zero: a slide, in which
the multipliers are those with dc/dt = 0 (Filippov). A pattern is consistent if its multipliers lie
in [0, 1] and every other function leaves zero to its own side; where one of these quantities is
zero itself (a tangency), how it changes along the flow decides. There may be several patterns: then
the solution is not unique, and a rule chooses.

The multipliers are alpha (one for each function), or theta (one for each region), in which a slide
on k surfaces mixes k + 1 of the regions that meet there.
"""

import numpy as np

from explorer.kernels.element import FLOW, MODE, MODEL, NC, NSEL, SUBSYSTEMS, SWITCH, N
from explorer.kernels.jit import call, kernel
from explorer.kernels.linalg import lu_factor, lu_solve

AT = 8  # where the subsystems begin in `shape`: first function, functions, first region, regions
NOISE = 1e-13  # beside its scale the sign of a quantity this small is round-off
BAND = 1e-8  # beside its scale a quantity this small is taken for zero
LENIENT = 0.05  # beside its scale: how fast a surface may be approached that was just left
ALL = -2
MOST = 8  # functions that are zero at once
LAMBDA = "float64[:, ::1], int64[::1], float64[:, ::1]"  # matrix, pivots, right-hand side


@kernel(f"int64(int64[::1], {MODE}, int64)", inner=True)
def arrange(shape, sign, zeros, base, B, choice):
    """Set up the multipliers base + B w of a pattern of signs; return how many choices there are.

    0: these functions have no multiplier to slide with. Without regions there is one choice.
    """
    nc = shape[NC]
    nsel = shape[NSEL]
    m = 0
    for k in range(nsel):
        base[k] = 0.0
        for a in range(nc):
            B[k, a] = 0.0
    for j in range(nc):
        if sign[j] == 0:
            zeros[m] = j
            m += 1
    zeros[nc] = m
    if shape[SUBSYSTEMS] == 0:
        a = 0
        for j in range(nc):
            if sign[j] > 0:
                base[j] = 1.0
            elif sign[j] == 0:
                B[j, a] = 1.0
                a += 1
        return 1
    total = 1
    a = 0
    for u in range(shape[SUBSYSTEMS]):
        at = AT + 4 * u
        first = shape[at]
        count = shape[at + 1]
        cells = shape[at + 2]
        regions = shape[at + 3]
        k = 0
        for j in range(first, first + count):
            k += 1 if sign[j] == 0 else 0
        # regions whose closure holds the point: bit r of `near`
        near = 0
        touching = 0
        for cell in range(1 << count):
            fits = True
            for j in range(count):
                side = 1 if (cell >> j) & 1 else -1
                fits = fits and (sign[first + j] == 0 or sign[first + j] == side)
            region = shape[cells + cell]
            if fits and region >= 0 and not (near >> region) & 1:
                near |= 1 << region
                touching += 1
        if touching < k + 1:
            return 0
        # the number-th set of k + 1 of them, in lexicographic order
        combinations = 1
        for q in range(k + 1):
            combinations = combinations * (touching - q) // (q + 1)
        number = choice % combinations
        choice //= combinations
        total *= combinations
        left = k + 1
        of = touching
        leader = -1
        for region in range(64):
            if left == 0 or not (near >> region) & 1:
                continue
            of -= 1
            with_it = 1  # sets that hold this region: choose left - 1 of those after it
            for q in range(left - 1):
                with_it = with_it * (of - q) // (q + 1)
            if number >= with_it:
                number -= with_it
                continue
            left -= 1
            if leader < 0:
                leader = regions + region
                base[leader] = 1.0
            else:
                B[regions + region, a] = 1.0
                B[leader, a] = -1.0
                a += 1
    return total


@kernel(
    f"int64({MODEL}, {MODE}, {LAMBDA}, float64[:, ::1], float64, float64[::1], int64[::1], int64,"
    " int64, int64)",
    inner=True,
)
def margins(
    table, shape, inp, out, switch, tableau, sign, zeros, base, B, M, pivots, r, vec, t, x, near, z,
    left, row,
):  # fmt: skip
    """Set row `row` of `vec` to what has to be >= 0 in this pattern; return how much, or -1.

    The stages' multipliers say when a slide is left, and are nearly those with dc/dt = 0: the
    function `left` (or ALL) may turn back a little. Rows 5, 6, 7 of `vec`: w (guess and result),
    x', the multipliers.
    """
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


@kernel(
    f"int64({MODEL}, {MODE}, {LAMBDA}, float64[:, ::1], float64, float64[::1], float64,"
    " int64[::1], int64, int64, float64)",
    inner=True,
)
def consistent(
    table, shape, inp, out, switch, tableau, sign, zeros, base, B, M, pivots, r, vec, t, x, ahead,
    near, z, left, band,
):  # fmt: skip
    """Return 3 if the pattern holds from (t, x) on, 1 if nothing speaks against it, 0 if not.

    A quantity within `band` of zero is watched over the time `ahead`. 2: nothing, and the signs of
    what is that small speak for it.
    """
    n = shape[N]
    m = zeros[shape[NC]]
    for a in range(m):
        vec[5, a] = 0.5 if shape[SUBSYSTEMS] == 0 else 1.0 / (m + 1)
    count = margins(
        table, shape, inp, out, switch, tableau, sign, zeros, base, B, M, pivots, r, vec, t, x,
        near, z, left, 8,
    )  # fmt: skip
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
    margins(
        table, shape, inp, out, switch, tableau, sign, zeros, base, B, M, pivots, r, vec, t + ahead,
        vec[9], near, z, left, 10,
    )  # fmt: skip
    for q in range(count):
        if vec[8, q] > band:
            continue
        grows = vec[10, q] - vec[8, q]
        if grows < -1e-3 * BAND or not np.isfinite(grows):
            return 0
        if grows <= 1e-3 * BAND:
            verdict = 1
    margins(
        table, shape, inp, out, switch, tableau, sign, zeros, base, B, M, pivots, r, vec, t, x,
        near, z, left, 8,
    )  # fmt: skip
    return 2 if verdict == 1 and seen else verdict


@kernel(
    f"int64({MODEL}, {MODE}, {LAMBDA}, float64[:, ::1], float64, float64[::1], float64,"
    " int64[::1], int64, int64, int64, int64, int64[::1])",
    inner=True,
)
def choose(
    table, shape, inp, out, switch, tableau, sign, zeros, base, B, M, pivots, r, vec, t, x, ahead,
    near, z, banned, forced, rule, best,
):  # fmt: skip
    """Choose the pattern of the `z` functions listed in `near`; return how many are consistent.

    `banned`: a multiplier that has to stay zero (or -1); `forced`: a function that keeps the sign
    it has, for it has just been left (ALL: one of these; -1: none). `rule`: 1 prefers positive
    signs, -1 negative ones, 0 slides. On return the active set is set up and rows 5 to 7 of `vec`
    hold w, x', multipliers; ``best[0]`` is the choice of regions. 0: no pattern is consistent, the
    signs are what they were.
    """
    found = 0
    top = -1
    code_best = 0
    patterns = 1
    for a in range(z):
        best[1 + a] = sign[near[a]]
        patterns *= 3
    # where nothing is left but what round-off hides, what can be seen of the signs has to do
    for turn in range(2 * patterns):
        code = turn % patterns
        if turn == patterns and top >= 0:
            break
        band = BAND if turn < patterns else 0.0
        rest = code
        score = 0
        skip = False
        for a in range(z):
            j = near[a]
            digit = rest % 3
            rest //= 3
            side = 1 if digit == 0 else (-1 if digit == 1 else 0)
            skip = skip or (j == forced and side != best[1 + a])
            sign[j] = side
            score += rule * side if rule != 0 else (1 if side == 0 else 0)
        if skip:
            continue
        choice = 0
        choices = 1
        while choice < choices:
            choices = arrange(shape, sign, zeros, base, B, choice)
            allowed = choices > 0
            if allowed and banned >= 0:
                allowed = base[banned] == 0.0
                for a in range(zeros[shape[NC]]):
                    allowed = allowed and B[banned, a] == 0.0
            if allowed:
                verdict = consistent(
                    table, shape, inp, out, switch, tableau, sign, zeros, base, B, M, pivots, r,
                    vec, t, x, ahead, near, z, forced, band,
                )  # fmt: skip
                if verdict == 3:
                    found += 1
                if verdict > 0 and verdict * 1000 + score > top:
                    top = verdict * 1000 + score
                    code_best = code
                    best[0] = choice
            choice += 1
    if top < 0:
        for a in range(z):
            sign[near[a]] = best[1 + a]
        return 0
    for a in range(z):
        digit = code_best % 3
        code_best //= 3
        sign[near[a]] = 1 if digit == 0 else (-1 if digit == 1 else 0)
    arrange(shape, sign, zeros, base, B, best[0])
    consistent(
        table, shape, inp, out, switch, tableau, sign, zeros, base, B, M, pivots, r, vec, t, x,
        ahead, near, z, forced, band,
    )  # fmt: skip
    return max(found, 1)
