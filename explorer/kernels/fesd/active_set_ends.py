"""Where an active set ends within an element that was solved in it.

It ends where a switching function leaves its side, or a multiplier leaves [0, 1]: the first such
point, by linear interpolation between the points at which they are known.
"""

from explorer.kernels.fesd.structures import COARSE, MULTIPLIER, SURFACE, Element, Ending, Start
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Vector

__all__ = ["BOUND", "dips", "drift", "first_end", "free", "violated"]

BOUND = 1e-11  # how far a multiplier may be beyond 0 or 1
SAMPLES = 4  # parts of an interval between constraints


@kernel(inline=True)
def free(el: Element, k: int) -> bool:
    """Whether a multiplier is unknown in this active set."""
    found = False
    for a in range(el.mode.active[0].sliding):
        found = found or el.mode.B[k, a] != 0.0
    return found


@kernel(inline=True)
def leaves_side(el: Element, start: Start, ending: Ending) -> int:
    """Return SURFACE if a switching function leaves its side; the first one to ``ending``."""
    sign, C, where = el.mode.sign, el.stages.C, el.tableau.where
    kind = 0
    for j in range(el.problem.n_c):
        if sign[j] == 0:
            continue
        early = sign[j] * start.c[j]
        was = 0.0
        for i in range(C.shape[0]):
            now = sign[j] * C[i, j]
            time = where[i]
            if time > 0.0 and now < -start.tolerance[j]:
                at = 0.5 * time
                if early > start.tolerance[j]:
                    at = was + (time - was) * early / (early - now)
                if at < ending[0].fraction:
                    kind = SURFACE
                    ending[0].which = j
                    ending[0].fraction = at
                break
            early = now
            was = time
    return kind


@kernel(inline=True)
def leaves_bounds(el: Element, k: int, early: float, ending: Ending) -> int:
    """Return MULTIPLIER if a multiplier leaves [0, 1] before all else; `early`: its first value."""
    sel, tableau = el.stages.sel, el.tableau
    kind = 0
    was = 0.0
    for i in range(sel.shape[0]):
        now = sel[i, k]
        time = tableau.c[i]
        if time > 0.0 and (now < -BOUND or now > 1.0 + BOUND):
            goal = 0.0 if now < 0.0 else 1.0
            at = 0.5 * time
            if (early - goal) * (now - goal) < 0.0:
                at = was + (time - was) * (early - goal) / (early - now)
            if at < ending[0].fraction:
                kind = MULTIPLIER
                ending[0].which = k
                ending[0].bound = goal
                ending[0].fraction = at
            return kind
        early = now
        was = time
    if was < 1.0:  # the end is no stage
        now = 0.0
        for i in range(sel.shape[0]):
            now += tableau.end[i] * sel[i, k]
        if now < -BOUND or now > 1.0 + BOUND:
            goal = 0.0 if now < 0.0 else 1.0
            at = was + (1.0 - was) * (early - goal) / (early - now)
            if at < ending[0].fraction:
                kind = MULTIPLIER
                ending[0].which = k
                ending[0].bound = goal
                ending[0].fraction = at
    return kind


@kernel(inline=True)
def first_end(el: Element, start: Start, ending: Ending, coarse: int) -> int:
    """Return what ends the active set within an element first: 0, SURFACE, MULTIPLIER or COARSE.

    Sets which, bound and fraction of the ending. `coarse`: an element may be coarse (else the first
    stage of Lobatto IIIC, which is no limit of the stages before it, is held to the bounds too).
    """
    too_long = 0
    ending[0].fraction = 2.0
    kind = leaves_side(el, start, ending)
    if el.mode.active[0].sliding == 0:
        return kind
    for k in range(el.problem.n_sel):
        if not free(el, k):
            continue
        kind = max(kind, leaves_bounds(el, k, start.multipliers[k], ending))
        if el.tableau.c[0] == 0.0 and coarse == 0 and abs(el.stages.sel[0, k] - 0.5) > 0.5 + BOUND:
            too_long = COARSE
    return kind if kind != 0 else too_long


@kernel(inner=True)
def violated(el: Element, start: Start, ending: Ending, coarse: int) -> int:
    """Do as `first_end` does, in one place."""
    return first_end(el, start, ending, coarse)


@kernel(inline=True)
def drift(el: Element, j: int) -> float:
    """Return dc_j/dt at the end of an element that was just solved."""
    problem, K = el.problem, el.stages.K
    n, nc, c = problem.n_x, problem.n_c, problem.c
    slope = c[nc * (1 + n) + j]
    for k in range(n):
        for i in range(K.shape[0]):
            slope += c[nc + j * n + k] * el.tableau.end[i] * K[i, k]
    return slope


@kernel(inline=True)
def dips(
    el: Element, start: Start, ending: Ending, nodes: Vector, differences: Vector, h: float
) -> int:
    """Whether the polynomial of a c with all its values on one side crosses zero between them.

    Through the start, the constraints and the slope at the end (Newton's form with divided
    differences); only where c comes back from the surface there can be two zeros. Sets which, and
    the fraction at the first zero. `nodes` and `differences` (s + 2,) are for work.
    """
    sign, C, s = el.mode.sign, el.stages.C, el.stages.C.shape[0]
    for j in range(el.problem.n_c):
        if sign[j] == 0:
            continue
        slope = sign[j] * h * drift(el, j)
        low = sign[j] * start.c[j]
        high = low
        for i in range(s):
            now = sign[j] * C[i, j]
            low = min(low, now)
            high = max(high, now)
        if low > 2.0 * (high - low) + abs(slope):  # too far from zero for its changes
            continue
        for i in range(s + 2):  # nodes: 0, ..., 1, and 1 again
            nodes[i] = 0.0 if i == 0 else 1.0 if i > s else el.tableau.where[i - 1]
            differences[i] = sign[j] * (start.c[j] if i == 0 else C[min(i, s) - 1, j])
        for order in range(1, s + 2):
            for i in range(s + 1, order - 1, -1):
                gap = nodes[i] - nodes[i - order]
                rise = differences[i] - differences[i - 1]
                differences[i] = rise / gap if gap > 0.0 else slope
        before = sign[j] * start.c[j]
        was = 0.0
        for i in range(s):
            for part in range(1, SAMPLES):
                at = nodes[i] + (nodes[i + 1] - nodes[i]) * part / SAMPLES
                value = differences[s + 1]
                for o in range(s, -1, -1):
                    value = differences[o] + (at - nodes[o]) * value
                if value < -max(1e-9 * high, start.tolerance[j]):
                    ending[0].which = j
                    ending[0].fraction = was + (at - was) * max(before, 0.0) / (before - value)
                    if ending[0].fraction <= 0.0:
                        ending[0].fraction = 0.5 * at
                    return 1
                before = value
                was = at
            before = sign[j] * C[i, j]
            was = nodes[i + 1]
    return 0
