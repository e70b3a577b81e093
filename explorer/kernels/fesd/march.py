"""FESD by marching through active sets (Nurkanovic et al. 2023, eq. (20), (21), corrected).

An interval of length h has a number of elements. They are marched in one active set up to its first
switch (`explorer.kernels.fesd.equilibrate`), and the next active set is chosen. In a fixed active
set complementarity and cross complementarity (16), (18) hold identically, and c_j = 0 at the end of
a phase is (17) at the switch: what is found solves the whole of (21).
"""

import numpy as np

from explorer.codes import (
    ACCUMULATION,
    MORE_SWITCHES,
    NEWTON_CAP,
    NO_ACTIVE_SET,
    NOT_FINITE,
    SUCCESS,
    SWITCH_CAP,
)
from explorer.kernels.fesd.active_set import AFFINE, ALL, OTHERS, PICK, choose
from explorer.kernels.fesd.arrangement import arrange
from explorer.kernels.fesd.element import (
    FACTORED,
    FLOW,
    MULTIPLIER,
    NC,
    NSEL,
    SUBSYSTEMS,
    SURFACE,
    SWITCH,
    H,
    N,
    S,
)
from explorer.kernels.fesd.equilibrate import FINER, HALVED, MADE, phase
from explorer.kernels.fesd.fold import FOLD, furthest
from explorer.kernels.fesd.march_active_set import AT_ONCE, OTHER
from explorer.kernels.fesd.structures import Record, Workspace
from explorer.kernels.jit import call, kernel
from explorer.kernels.sliding.multiaffine import MOST
from explorer.kernels.structures import Integers, Matrix, Table, Vector, takes

__all__ = ["march"]

# places in `caps`: elements of an interval, whether it is split, rule, and what is picked instead
# (-1: nothing) at each moment that has several continuations
ELEMENTS, SPLIT, RULE, PICKS = 0, 1, 2, 3
# columns of `switches`: first element, kind, which, consistent patterns, functions at zero, choice,
# then the signs behind it; of `moments`: t, slope, then x, x' before, x' behind, multipliers behind
SIGNS = 6
ACCUMULATED = 1e-10  # of an interval: phases shorter than that may accumulate
LOST = 1e-6  # the same, where no active set is found any more
AHEAD = 1e-5  # of an interval: over it a tangency is watched
SHORT = 40  # phases of no length in a row
SLACK = 0.05  # what multipliers may be beyond their bounds where a slide has ended


@kernel(
    takes(Workspace, float, Vector, float, int, int, int, int, Integers, Vector, returns=int),
    inner=True,
)
def enter(ws, t, x, h, kind, which, rule, other, row, moment):
    """Choose the active set at (t, x), where `kind` has ended the last one; return its status.

    Before the start signs are 0 and `kind` is 0. Row 14 of `vec`: the multipliers at the end.
    `other`: the set that was chosen at first cannot go on; ``best[0]`` is the choice of the last.
    """
    table, shape, inp, out = ws.model.table, ws.model.shape, ws.model.inp, ws.model.out
    switch = ws.model.switch
    sign, zeros, B = ws.mode.sign, ws.mode.zeros, ws.mode.B
    work = ws.solver.work
    vec, near, best = ws.vec, ws.near, ws.best
    n = shape[N]
    nc = shape[NC]
    nsel = shape[NSEL]
    inp[0] = t
    for k in range(n):
        inp[1 + k] = x[k]
    for k in range(nsel):
        inp[1 + n + k] = vec[14, k]
    call(table[SWITCH, 0], table[SWITCH, 1], switch, inp)
    call(table[FLOW, 0], table[FLOW, 1], out, inp)
    moment[0] = t
    for k in range(n):
        moment[2 + k] = x[k]
        moment[2 + n + k] = out[k]
    z = 0
    for j in range(nc):
        slope = switch[nc + nc * n + j]
        scale = (h + 1e-3 * t) * abs(slope)  # what c may come to, and what t rounds to
        for k in range(n):
            rate = abs(out[k])
            for o in range(nsel):
                rate += abs(out[n + n * n + k * nsel + o])
            scale += abs(switch[nc + j * n + k]) * (abs(x[k]) + h * rate)
            slope += switch[nc + j * n + k] * out[k]
        if not np.isfinite(switch[j]):
            return NOT_FINITE
        vec[4, j] = 1e-12 * scale
        vec[2, j] = switch[j]
        if kind == SURFACE and which == j:
            moment[1] = slope
        held = kind > 0 and (sign[j] == 0 or (kind == SURFACE and which == j))
        if held or abs(switch[j]) <= 1e-11 * scale:
            if z == MOST:
                return NO_ACTIVE_SET
            near[z] = j
            z += 1
            vec[2, j] = 0.0
        elif kind == 0:
            sign[j] = 1 if switch[j] > 0.0 else -1
    forced = -1
    banned = -1
    if kind == MULTIPLIER and shape[SUBSYSTEMS] == 0:
        forced = which
        sign[which] = 1 if vec[14, which] > 0.5 else -1
    elif kind == MULTIPLIER:
        banned = which
        forced = ALL
        if vec[14, which] > 0.5:  # all others of its subsystem have gone: two regions, the other
            for k in range(nsel):
                for a in range(zeros[nc]):
                    if k != which and B[k, a] * B[which, a] < 0.0:
                        banned = k
    work[FACTORED] = 0.0  # its matrix serves another purpose now, and another set
    many = 0
    if other or kind == FOLD:
        side = sign[which] if forced == which else 0
        if forced == which:
            sign[which] = 0
        many = choose(ws, t, x, AHEAD * h, z, -1, OTHERS, rule, 0.0)
        if many == 0 and forced == which:
            sign[which] = side
    if many == 0 and kind != FOLD:
        many = choose(ws, t, x, AHEAD * h, z, banned, forced, rule, SLACK if other else 0.0)
    if many == 0 and forced != -1:
        many = choose(ws, t, x, AHEAD * h, z, -1, -1, rule, 0.0)
    row[1] = kind
    row[2] = which
    row[3] = many
    row[4] = z
    row[5] = best[0]
    for j in range(nc):
        row[SIGNS + j] = sign[j]
    if many == 0:
        return NO_ACTIVE_SET
    for k in range(n):
        moment[2 + 2 * n + k] = vec[6, k]
        if not np.isfinite(vec[6, k]):
            return NOT_FINITE
    for k in range(nsel):
        vec[3, k] = vec[7, k]
        moment[2 + 3 * n + k] = vec[7, k]
    return SUCCESS


@kernel("float64(float64[:, ::1], int64, float64, float64)", inner=True)
def accumulates(moments, phases, t, short):
    """Return how long after t the switches go on, if their times form a geometric series; or 0.

    So they do if the last cycle of 1, 2 or 4 phases is shorter than `short`, and each of the last
    four is shorter than the one before, about by one factor.
    """
    for shift in range(3):
        cycle = 1 << shift
        if phases < 4 * cycle:
            break
        one = t - moments[phases - cycle, 0]
        two = moments[phases - cycle, 0] - moments[phases - 2 * cycle, 0]
        three = moments[phases - 2 * cycle, 0] - moments[phases - 3 * cycle, 0]
        four = moments[phases - 3 * cycle, 0] - moments[phases - 4 * cycle, 0]
        if one > max(short, 1e-12 * t) or not (
            one < 0.999 * two and two < 0.999 * three and three < 0.999 * four
        ):
            continue
        if 0.1 < one * three / (two * two) < 10.0 and 0.1 < two * four / (three * three) < 10.0:
            return one * one / (two - one) + 1e-300
    return 0.0


@kernel("void(float64[:, ::1], int64)", inline=True)
def keep(vec, back):
    """Copy what a phase begins with (see `stretch`) to the last rows of `vec`, or it back."""
    for row in range(4):
        at = 2 + row + row // 2  # 2, 3, 5, 6
        for k in range(vec.shape[1]):
            if back:
                vec[at, k] = vec[15 + row, k]
            else:
                vec[15 + row, k] = vec[at, k]


@kernel(takes(Workspace, Record, Integers, Integers, Vector, Table, Matrix, Table, returns=int))
def march(ws, record, counts, caps, knobs, switches, moments, places):
    """March from ``states[0]`` over [0, knobs[0]] in intervals of knobs[1]; return a status.

    counts: of the last phase, elements, switches and the start, intervals, switches that found no
    element left, phases of unequal lengths, the most consistent patterns, halvings of the last
    phase. places: interval and phase of each element. ``knobs[2]`` is the time that was reached, or
    of an accumulation.
    """
    shape, tableau = ws.model.shape, ws.model.tableau
    sign, zeros, base, B = ws.mode.sign, ws.mode.zeros, ws.mode.base, ws.mode.B
    W, C, sel = ws.stages.W, ws.stages.C, ws.stages.sel
    work = ws.solver.work
    vec, found, best = ws.vec, ws.found, ws.best
    states, slopes, mult, times = record.states, record.slopes, record.mult, record.times
    n = shape[N]
    nc = shape[NC]
    nsel = shape[NSEL]
    s = shape[S]
    t_end = knobs[0]
    h = knobs[1]
    intervals = int(np.ceil(t_end / h - 1e-9))
    t = 0.0
    knobs[2] = t
    count = 0
    for k in range(nsel):
        vec[14, k] = 0.5
    for j in range(nc):
        sign[j] = 0
    moments[0, 1] = 0.0
    kind = 0
    which = -1
    phases = 0
    due = True  # whether an active set has to be chosen
    other = 0  # and whether the one that was chosen at first cannot go on
    several = 0  # moments with several continuations
    short = 0
    for q in range(intervals):
        t_next = t_end if q == intervals - 1 else (q + 1) * h
        near_end = 1e-12 * max(t_next, h)
        begin = count
        wanted = 1
        counts[3] = q
        # The end of a slide is as good as its multipliers are, and where it is too early the
        # surface is met again at once. What lacks a solution so leads back to the phase before.
        back = -1  # the first element of that, if it is of this interval
        halvings = 0
        again = False
        while t < t_next:
            status = SUCCESS
            if again:
                for j in range(nc):
                    sign[j] = switches[phases - 1, SIGNS + j]
                arrange(shape, sign, zeros, base, B, switches[phases - 1, SIGNS - 1])
                keep(vec, 1)
                work[FACTORED] = 0.0
            elif due:
                if phases == len(switches):
                    return SWITCH_CAP
                switches[phases, 0] = count
                moments[phases, 1] = 0.0
                rule = caps[RULE]
                if several < len(caps) - PICKS and caps[PICKS + several] >= 0:
                    rule = PICK + caps[PICKS + several]
                best[0] = switches[phases - 1, SIGNS - 1] if phases > 0 else 0
                status = enter(
                    ws,
                    t,
                    states[count],
                    h,
                    kind,
                    which,
                    rule,
                    other,
                    switches[phases],
                    moments[phases],
                )
                if kind == MULTIPLIER:
                    moments[phases, 1] = found[2]
                several += switches[phases, 3] > 1
                phases += 1
                counts[2] = phases
                counts[6] = max(counts[6], switches[phases - 1, 3])
            elif phases > 0:  # a new interval in the old active set
                for k in range(n):
                    vec[6, k] = slopes[count - 1, (s - 1) * n + k]
                for k in range(zeros[nc]):
                    vec[5, k] = W[s - 1, k]
                for k in range(nsel):
                    vec[3, k] = vec[14, k]
                for j in range(nc):
                    vec[2, j] = C[s - 1, j]
            less = halvings + 1 if again else 0
            if status == SUCCESS:
                status = phase(
                    ws,
                    record,
                    counts,
                    count,
                    t,
                    t_next,
                    near_end,
                    max(caps[ELEMENTS] - (count - begin), 1),
                    caps[ELEMENTS],
                    caps[SPLIT],
                    less,
                )
            if status == AT_ONCE and not due and not again:
                due = True  # the slide was over where the interval before has ended
                kind = MULTIPLIER
                which = int(found[0])
                vec[14, which] = found[1]
                found[2] = 0.0
                continue
            if status == AT_ONCE:
                status = OTHER
            if status != SUCCESS:
                lost = status in (NEWTON_CAP, NO_ACTIVE_SET, OTHER)
                if lost and due and kind == MULTIPLIER and other == 0 and not again:
                    # where it ends is as good as its multipliers: another set may go on there
                    other = 1
                    phases -= 1
                    several -= switches[phases, 3] > 1
                    for j in range(nc):
                        sign[j] = switches[phases - 1, SIGNS + j]
                    arrange(shape, sign, zeros, base, B, switches[phases - 1, SIGNS - 1])
                    for k in range(nsel):
                        vec[14, k] = 0.0
                        for i in range(s):
                            vec[14, k] += tableau[3 * s + 3, i] * mult[count - 1, i * nsel + k]
                    found[2] = moments[phases, 1]
                    continue
                if lost and back >= 0 and not again and caps[SPLIT] and halvings + 1 < FINER:
                    count = back
                    t = times[back, 0]
                    phases -= 1
                    several -= switches[phases, 3] > 1
                    wanted -= 1
                    again = True
                    other = 0
                    continue
                folds = status == NEWTON_CAP and zeros[nc] > 1 and shape[AFFINE] == 1
                if not folds or not furthest(ws, record, counts, count, t, t_next - t):
                    rest = accumulates(moments, phases - 1, t, LOST * h) if lost else 0.0
                    knobs[2] = t + rest
                    if rest > 0.0:
                        return ACCUMULATION
                    return NO_ACTIVE_SET if status == OTHER else status
            made = counts[MADE]
            kind = int(found[3])
            which = int(found[0])
            reached = times[count + made - 1, 0] + times[count + made - 1, 1]
            last = kind == 0 or t_next - reached <= near_end
            due = kind != 0
            again = False
            other = 0
            for e in range(count, count + made):
                places[e, 0] = q
                places[e, 1] = phases - 1
            if due:
                wanted += 0 if last else 1
                span = reached - t
                short = short + 1 if span <= 1e-13 * max(t, h) else 0
                if short > SHORT:
                    return NO_ACTIVE_SET
                rest = accumulates(moments, phases, reached, ACCUMULATED * h)
                if rest > 0.0:
                    knobs[2] = reached + rest
                    counts[1] = count + made
                    return ACCUMULATION
                if kind == MULTIPLIER and s > 1:
                    a = 1.0 / ((tableau[3 * s, s - 1] - tableau[3 * s, s - 2]) * work[H])
                    found[2] = a * (sel[s - 1, which] - sel[s - 2, which])
                else:
                    found[2] = 0.0
            if not last:
                back = count
                halvings = counts[HALVED]
                keep(vec, 0)
            count += made
            counts[1] = count
            if last:
                t = t_next
                times[count - 1, 1] = t - times[count - 1, 0]
            else:
                t = reached
            knobs[2] = t
        if wanted > caps[ELEMENTS]:
            counts[4] = max(counts[4], wanted)
            if caps[SPLIT] == 0:
                return MORE_SWITCHES
    counts[3] = intervals
    return SUCCESS
