"""The active set that a state goes on in, where the last one has ended."""

import numpy as np

from explorer.codes import NO_ACTIVE_SET, NOT_FINITE, SUCCESS
from explorer.kernels.fesd.active_set import ALL, OTHERS, choose
from explorer.kernels.fesd.element import flow, switching
from explorer.kernels.fesd.structures import FOLD, MULTIPLIER, SURFACE, Phases, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.sliding.multiaffine import MOST
from explorer.kernels.structures import Vector

__all__ = ["enter"]

AHEAD = 1e-5  # of an interval: over it a tangency is watched
SLACK = 0.05  # what multipliers may be beyond their bounds where a slide has ended
ZERO = 1e-11  # beside what c may come to, c is zero
TOLERANCE = 1e-12  # and may be beyond zero


@kernel(inline=True)
def look(
    ws: Workspace, t: float, x: Vector, h: float, kind: int, which: int, phases: Phases, p: int
) -> int:
    """List the functions that are zero at (t, x) in ``pattern.near``; return how many.

    Sets ``start.c``, ``start.tolerance`` and the phase's t, x, x' before, and the slope of the
    function that is zero; at the start of a run the signs of all others. -NOT_FINITE: some c is
    not finite; -NO_ACTIVE_SET: there are too many.
    """
    problem, mode, near = ws.element.problem, ws.element.mode, ws.pattern.near
    inp, out, c = problem.inp, problem.out, problem.c
    n, nc, nsel = problem.n_x, problem.n_c, problem.n_sel
    inp[0] = t
    for k in range(n):
        inp[1 + k] = x[k]
    for k in range(nsel):
        inp[1 + n + k] = ws.end[k]
    switching(problem)
    flow(problem)
    phases.t[p] = t
    for k in range(n):
        phases.x[p, k] = x[k]
        phases.before[p, k] = out[k]
    z = 0
    for j in range(nc):
        slope = c[nc + nc * n + j]
        scale = (h + 1e-3 * t) * abs(slope)  # what c may come to, and what t rounds to
        for k in range(n):
            rate = abs(out[k])
            for o in range(nsel):
                rate += abs(out[n + n * n + k * nsel + o])
            scale += abs(c[nc + j * n + k]) * (abs(x[k]) + h * rate)
            slope += c[nc + j * n + k] * out[k]
        if not np.isfinite(c[j]):
            return -NOT_FINITE
        ws.start.tolerance[j] = TOLERANCE * scale
        ws.start.c[j] = c[j]
        met = kind == SURFACE and which == j
        if met:
            phases.slope[p] = slope
        if (kind > 0 and (mode.sign[j] == 0 or met)) or abs(c[j]) <= ZERO * scale:
            if z == MOST:
                return -NO_ACTIVE_SET
            near[z] = j
            z += 1
            ws.start.c[j] = 0.0
        elif kind == 0:
            mode.sign[j] = 1 if c[j] > 0.0 else -1
    return z


@kernel(inline=True)
def left(ws: Workspace, which: int) -> tuple[int, int]:
    """Return `forced` and `banned` of `choose` where multiplier `which` has come to its bound.

    alpha_j at 0 or 1 sets the sign of c_j. theta_r = 0 leaves the region; theta_r = 1 leaves all
    others of its subsystem: of two regions, the other.
    """
    problem, mode = ws.element.problem, ws.element.mode
    if len(problem.subsystems) == 0:
        mode.sign[which] = 1 if ws.end[which] > 0.5 else -1
        return which, -1
    banned = which
    if ws.end[which] > 0.5:
        for k in range(problem.n_sel):
            for a in range(mode.active[0].sliding):
                if k != which and mode.B[k, a] * mode.B[which, a] < 0.0:
                    banned = k
    return ALL, banned


@kernel(inner=True)
def enter(
    ws: Workspace,
    t: float,
    x: Vector,
    h: float,
    kind: int,
    which: int,
    rule: int,
    other: int,
    phases: Phases,
    p: int,
) -> int:
    """Choose the active set of phase `p` at (t, x), where `kind` has ended the last one.

    Before the start signs are 0 and `kind` is 0; ``end`` holds the multipliers at the end of the
    last phase. `other`: the set that was chosen at first, whose choice is that of the active set,
    cannot go on. Returns SUCCESS, NO_ACTIVE_SET (none is consistent) or NOT_FINITE.
    """
    mode, switches = ws.element.mode, phases.switches
    switches[p].consistent = 0
    z = look(ws, t, x, h, kind, which, phases, p)
    if z < 0:
        return -z
    forced = -1
    banned = -1
    if kind == MULTIPLIER:
        forced, banned = left(ws, which)
    ws.element.solver.newton[0].factored = 0.0  # its matrix serves another purpose now
    many = 0
    if other or kind == FOLD:
        side = 0
        if forced == which:
            side = mode.sign[which]
            mode.sign[which] = 0
        many = choose(ws, t, x, AHEAD * h, z, -1, OTHERS, rule, 0.0)
        if many == 0 and forced == which:
            mode.sign[which] = side
    if many == 0 and kind != FOLD:
        many = choose(ws, t, x, AHEAD * h, z, banned, forced, rule, SLACK if other else 0.0)
    if many == 0 and forced != -1:
        many = choose(ws, t, x, AHEAD * h, z, -1, -1, rule, 0.0)
    switches[p].kind = kind
    switches[p].which = which
    switches[p].consistent = many
    switches[p].zeros = z
    switches[p].choice = mode.active[0].choice
    for j in range(ws.element.problem.n_c):
        phases.signs[p, j] = mode.sign[j]
    if many == 0:
        return NO_ACTIVE_SET
    for k in range(ws.element.problem.n_x):
        phases.behind[p, k] = ws.start.rate[k]
        if not np.isfinite(ws.start.rate[k]):
            return NOT_FINITE
    for k in range(ws.element.problem.n_sel):
        ws.start.multipliers[k] = ws.pattern.multipliers[k]
        phases.multipliers[p, k] = ws.pattern.multipliers[k]
    return SUCCESS
