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
from explorer.kernels.fesd.element import flow, multipliers, switching
from explorer.kernels.fesd.structures import Pattern, Problem, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.sliding.multiaffine import roots
from explorer.kernels.structures import Vector

__all__ = ["ALL", "OTHERS", "PICK", "choose", "margins"]

NOISE = 1e-13  # beside its scale the sign of a quantity this small is round-off
BAND = 1e-8  # beside its scale a quantity this small is taken for zero
LENIENT = 0.05  # beside its scale: how fast a surface may be approached that was just left
ALL, OTHERS = -2, -3  # what `forced` may be besides a function
SAME = 1e-9  # of its largest component: x' that are closer are the same
WANTED = 1 << 40  # no score is as high
PICK = 10  # and above it in `rule`: the number of the consistent pattern that is taken
TURNS = 20


@kernel(inline=True)
def put(problem: Problem, t: float, x: Vector) -> None:
    """Set t and x of the input, and evaluate c there."""
    problem.inp[0] = t
    for k in range(problem.n_x):
        problem.inp[1 + k] = x[k]
    switching(problem)


@kernel(inline=True)
def keep_on(ws: Workspace) -> float:
    """Set the matrix and the right-hand side of Newton's method for dc_j/dt = 0 on all surfaces.

    d(dc/dt)/dw = c_x f_multipliers B. Returns the largest dc_j/dt beside its terms.
    """
    problem, mode, solver = ws.element.problem, ws.element.mode, ws.element.solver
    out, c, B, M = problem.out, problem.c, mode.B, solver.M
    n, nc, nsel, m = problem.n_x, problem.n_c, problem.n_sel, mode.active[0].sliding
    worst = 0.0
    for a in range(m):
        j = mode.zeros[a]
        total = c[nc + nc * n + j]
        scale = abs(total)
        for k in range(n):
            total += c[nc + j * n + k] * out[k]
            scale += abs(c[nc + j * n + k] * out[k])
        solver.rhs[a] = -total
        for b in range(m):
            slope = 0.0
            for k in range(n):
                for o in range(nsel):
                    slope += c[nc + j * n + k] * out[n + n * n + k * nsel + o] * B[o, b]
            M[a, b] = slope
            scale += abs(slope)
        worst = max(worst, abs(total) / (scale + 1e-300))
    return worst


@kernel(inline=True)
def slide(ws: Workspace) -> int:
    """Solve dc/dt = 0 for w from the guess; set w, x' and the multipliers. Return 0, or -1."""
    problem, mode, solver = ws.element.problem, ws.element.mode, ws.element.solver
    chosen, w = ws.pattern.multipliers, ws.start.w
    n, m = problem.n_x, mode.active[0].sliding
    worst = 0.0
    for _ in range(TURNS):
        multipliers(mode, w, chosen)
        for k in range(problem.n_sel):
            problem.inp[1 + n + k] = chosen[k]
        flow(problem)
        for k in range(n):
            ws.start.rate[k] = problem.out[k]
        if m == 0:
            break
        worst = keep_on(ws)
        if not worst < np.inf:
            return -1
        if lu_factor(solver.M, m, m - 1, m - 1, solver.pivots) != 0:  # one without any effect
            return -1
        if worst <= 1e-14:
            break
        lu_solve(solver.M, m, m - 1, m - 1, solver.pivots, solver.rhs)
        for a in range(m):
            w[a] += solver.rhs[a]
    return -1 if worst > 1e-10 else 0


@kernel(inner=True)
def margins(ws: Workspace, t: float, x: Vector, z: int, left: int, found: Vector) -> int:
    """Set `found` to what has to be >= 0 in this pattern; return how many numbers, or -1.

    The stages' multipliers say when a slide is left, and are nearly those with dc/dt = 0: the
    function `left` (or ALL) may turn back a little. ``start.w`` (guess and result), ``start.rate``
    and ``pattern.multipliers`` are set too.
    """
    problem, mode, near = ws.element.problem, ws.element.mode, ws.pattern.near
    out, c, rate, chosen = problem.out, problem.c, ws.start.rate, ws.pattern.multipliers
    n, nc, nsel = problem.n_x, problem.n_c, problem.n_sel
    put(problem, t, x)
    if slide(ws) < 0:
        return -1
    count = 0
    for k in range(nsel):
        for a in range(mode.active[0].sliding):
            if mode.B[k, a] != 0.0:
                found[count] = chosen[k]
                found[count + 1] = 1.0 - chosen[k]
                count += 2
                break
    for a in range(z):
        j = near[a]
        if mode.sign[j] == 0:
            continue
        total = c[nc + nc * n + j]
        scale = abs(total)
        for k in range(n):
            total += c[nc + j * n + k] * rate[k]
            terms = abs(rate[k])  # and those it may be a difference of
            for o in range(n):
                terms += abs(out[n + k * n + o] * x[o])
            for o in range(nsel):
                terms += abs(out[n + n * n + k * nsel + o])
            scale += abs(c[nc + j * n + k]) * terms
        found[count] = mode.sign[j] * total / (scale + 1e-300)
        if left in (j, ALL):
            found[count] += LENIENT
        count += 1
    return count


@kernel(inner=True)
def slides(ws: Workspace, t: float, x: Vector) -> int:
    """Set ``bench.roots`` to the w to start from; return how many there are.

    They are all the roots of dc/dt = 0, where f is affine in each multiplier; where it is not, or
    is affine in all of them, there is one guess.
    """
    problem, mode, bench = ws.element.problem, ws.element.mode, ws.pattern.bench
    inp, c = problem.inp, problem.c
    n, nc, m = problem.n_x, problem.n_c, mode.active[0].sliding
    alike = len(problem.subsystems) > 0
    if m < 2 or alike or problem.affine == 0:
        for a in range(m):
            bench.roots[0, a] = 1.0 / (m + 1) if alike else 0.5
        return 1
    put(problem, t, x)
    for corner in range(1 << m):
        for k in range(problem.n_sel):
            total = mode.base[k]
            for a in range(m):
                total += mode.B[k, a] * ((corner >> a) & 1)
            inp[1 + n + k] = total
        flow(problem)
        for a in range(m):
            j = mode.zeros[a]
            total = c[nc + nc * n + j]
            for k in range(n):
                total += c[nc + j * n + k] * problem.out[k]
            bench.corners[a, corner] = total
    return roots(bench, m)


@kernel(inner=True)
def consistent(
    ws: Workspace, t: float, x: Vector, ahead: float, z: int, left: int, band: float, guess: int
) -> int:
    """Return 3 if the pattern holds from (t, x) on, 1 if nothing speaks against it, 0 if not.

    A quantity within `band` of zero is watched over the time `ahead`. 2: nothing, and the signs of
    what is that small speak for it. `guess`: number of the w to start from (see `slides`).
    """
    sign, near, c = ws.element.mode.sign, ws.pattern.near, ws.element.problem.c
    found, later = ws.pattern.margins, ws.pattern.later
    for a in range(ws.element.mode.active[0].sliding):
        ws.start.w[a] = ws.pattern.bench.roots[guess, a]
    count = margins(ws, t, x, z, left, found)
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
        if found[q] < -band:
            return 0
        sharp = sharp and found[q] > band
        aside = 0.0  # where the rate says nothing the value may
        if q >= first:
            while sign[near[a]] == 0:
                a += 1
            if found[q] >= -NOISE:
                aside = sign[near[a]] * c[near[a]]
            a += 1
        seen = seen and (found[q] > NOISE or aside > 0.0)
    if sharp:
        return 3
    verdict = 3
    for k in range(ws.element.problem.n_x):
        ws.pattern.x[k] = x[k] + ahead * ws.start.rate[k]
    margins(ws, t + ahead, ws.pattern.x, z, left, later)
    for q in range(count):
        if found[q] > band:
            continue
        grows = later[q] - found[q]
        if grows < -1e-3 * BAND or not np.isfinite(grows):
            return 0
        if grows <= 1e-3 * BAND:
            verdict = 1
    margins(ws, t, x, z, left, found)
    return 2 if verdict == 1 and seen else verdict


@kernel(inline=True)
def alike(one: Vector, other: Vector) -> bool:
    """Whether two x' are the same."""
    size = 0.0
    off = 0.0
    for k in range(len(one)):
        size = max(size, abs(one[k]) + abs(other[k]))
        off = max(off, abs(one[k] - other[k]))
    return off <= SAME * size


@kernel(inline=True)
def is_new(pattern: Pattern, rate: Vector, found: int) -> bool:
    """Whether a consistent pattern goes another way than those before; keep its x' if it does."""
    if found > 0 and (alike(rate, pattern.first) or alike(rate, pattern.last)):
        return False
    for k in range(len(rate)):
        pattern.last[k] = rate[k]
        if found == 0:
            pattern.first[k] = rate[k]
    return True


@kernel(inline=True)
def stays_zero(ws: Workspace, multiplier: int) -> bool:
    """Whether a multiplier is zero in this pattern; -1: none has to be."""
    mode = ws.element.mode
    if multiplier < 0:
        return True
    zero = mode.base[multiplier] == 0.0
    for a in range(mode.active[0].sliding):
        zero = zero and mode.B[multiplier, a] == 0.0
    return zero


@kernel(inline=True)
def side_of(code: int, a: int) -> int:
    """Return the sign of the a-th function in a pattern: its a-th digit to base 3."""
    for _ in range(a):
        code //= 3
    digit = code % 3
    return 1 if digit == 0 else (-1 if digit == 1 else 0)


@kernel(inline=True)
def signs_of(ws: Workspace, z: int, code: int, forced: int, lean: int) -> tuple[bool, bool, int]:
    """Set the signs of a pattern; return whether it may be, is the one before, and its score."""
    sign, near, before = ws.element.mode.sign, ws.pattern.near, ws.pattern.before
    may = True
    same = True
    score = 0
    for a in range(z):
        j = near[a]
        side = side_of(code, a)
        may = may and not (j == forced and side != before[a])
        same = same and side == before[a]
        sign[j] = side
        score += lean * side if lean != 0 else (1 if side == 0 else 0)
    return may, same, score


@kernel(inner=True)
def choose(
    ws: Workspace,
    t: float,
    x: Vector,
    ahead: float,
    z: int,
    banned: int,
    forced: int,
    rule: int,
    slack: float,
) -> int:
    """Choose the pattern of the `z` functions in ``pattern.near``; return how many are consistent.

    `banned`: a multiplier that has to stay zero (or -1); `forced`: a function that keeps the sign
    it has, for it has just been left (ALL: one of these; OTHERS: the pattern is another than it
    was, whose choice is that of the active set; -1: none). `rule`: 1 prefers positive signs, -1
    negative ones, 0 slides, PICK + k takes the k-th that is consistent. `slack`: what multipliers
    may be beyond their bounds if they come back. On return the active set is set up, and with it
    ``start.w``, ``start.rate`` and ``pattern.multipliers``. 0: no pattern is consistent, the signs
    are what they were.
    """
    problem, mode, pattern = ws.element.problem, ws.element.mode, ws.pattern
    found = 0
    top = -1
    code_best = 0
    patterns = 1
    before = mode.active[0].choice
    best = before
    regions = len(problem.subsystems) > 0
    lean = rule if rule < PICK else 1
    for a in range(z):
        pattern.before[a] = mode.sign[pattern.near[a]]
        patterns *= 3
    # where nothing is left but what round-off hides, what can be seen of the signs has to do
    for turn in range(2 * patterns):
        code = turn % patterns
        if turn == patterns and top >= 0:
            break
        band = max(BAND, slack) if turn < patterns else 0.0
        may, same, score = signs_of(ws, z, code, forced, lean)
        if not may:
            continue
        choice = 0
        choices = 1
        while choice < choices:
            number = arrange(problem, mode, choice)
            if regions or choice == 0:
                choices = number
                guesses = slides(ws, t, x)
                if not regions:
                    choices = guesses
            refused = same and forced == OTHERS and choice == before
            if choice < choices and not refused and stays_zero(ws, banned):
                verdict = consistent(ws, t, x, ahead, z, forced, band, 0 if regions else choice)
                if verdict > 0 and top < verdict * 1000 + score < WANTED:
                    top = verdict * 1000 + score
                    code_best = code
                    best = choice
                if verdict == 3 and is_new(pattern, ws.start.rate, found):
                    if found == rule - PICK:
                        top = WANTED
                        code_best = code
                        best = choice
                    found += 1
            choice += 1
    for a in range(z):
        side = side_of(code_best, a) if top >= 0 else pattern.before[a]
        mode.sign[pattern.near[a]] = side
    if top < 0:
        return 0
    mode.active[0].choice = best
    arrange(problem, mode, best)
    slides(ws, t, x)
    consistent(ws, t, x, ahead, z, forced, BAND, 0 if regions else best)
    return max(found, 1)
