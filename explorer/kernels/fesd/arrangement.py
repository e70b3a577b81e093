"""The multipliers that a pattern of signs leaves free: alpha, or theta of the regions that meet.

In the step form alpha_j is 0 or 1 off the surface c_j = 0 and free on it (Nurkanovic et al. 2023,
eq. (2)); in Stewart's form k + 1 of the regions that meet on k surfaces share the weight 1.
"""

from explorer.kernels.fesd.structures import Mode, Problem
from explorer.kernels.jit import kernel

__all__ = ["arrange"]


@kernel(inner=True)
def step_form(problem: Problem, mode: Mode) -> None:
    """Set alpha of each function: its sign, or a w of its own."""
    a = 0
    for j in range(problem.n_c):
        if mode.sign[j] > 0:
            mode.base[j] = 1.0
        elif mode.sign[j] == 0:
            mode.B[j, a] = 1.0
            a += 1


@kernel(inline=True)
def closures(problem: Problem, mode: Mode, u: int) -> tuple[int, int]:
    """Return the regions of subsystem `u` whose closure holds the point, as bits, and their number.

    A cell holds it if its signs are those of all functions that are not zero.
    """
    sign, cells, subsystem = mode.sign, problem.cells, problem.subsystems[u]
    touching = 0
    count = 0
    for cell in range(1 << subsystem.count):
        fits = True
        for j in range(subsystem.count):
            side = 1 if (cell >> j) & 1 else -1
            own = sign[subsystem.first + j]
            fits = fits and (own == 0 or own == side)
        region = cells[subsystem.cells + cell]
        if fits and region >= 0 and not (touching >> region) & 1:
            touching |= 1 << region
            count += 1
    return touching, count


@kernel(inline=True)
def mix(mode: Mode, regions: int, touching: int, count: int, size: int, number: int, a: int) -> int:
    """Set theta of the number-th set of `size` regions, in lexicographic order; return the next w.

    The first of the set has 1 - sum w, the others have w from `a` on.
    """
    base, B = mode.base, mode.B
    left = size
    behind = count
    leader = -1
    for region in range(64):
        if left == 0 or not (touching >> region) & 1:
            continue
        behind -= 1
        with_it = 1  # sets that hold this region: choose left - 1 of those behind it
        for q in range(left - 1):
            with_it = with_it * (behind - q) // (q + 1)
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
    return a


@kernel(inner=True)
def arrange(problem: Problem, mode: Mode, choice: int) -> int:
    """Set up the multipliers base + B w of a pattern of signs; return how many choices there are.

    0: these functions have no multiplier to slide with. Without regions there is one choice.
    """
    sign, zeros, base, B = mode.sign, mode.zeros, mode.base, mode.B
    nc = problem.n_c
    m = 0
    for k in range(problem.n_sel):
        base[k] = 0.0
        for a in range(nc):
            B[k, a] = 0.0
    for j in range(nc):
        if sign[j] == 0:
            zeros[m] = j
            m += 1
    mode.active[0].sliding = m
    if len(problem.subsystems) == 0:
        step_form(problem, mode)
        return 1
    total = 1
    a = 0
    for u in range(len(problem.subsystems)):
        subsystem = problem.subsystems[u]
        k = 0
        for j in range(subsystem.first, subsystem.first + subsystem.count):
            k += 1 if sign[j] == 0 else 0
        touching, count = closures(problem, mode, u)
        if count < k + 1:
            return 0
        combinations = 1
        for q in range(k + 1):
            combinations = combinations * (count - q) // (q + 1)
        number = choice % combinations
        choice //= combinations
        total *= combinations
        a = mix(mode, subsystem.regions, touching, count, k + 1, number, a)
    return total
