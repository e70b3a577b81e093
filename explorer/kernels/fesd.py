"""FESD by marching through active sets (Nurkanovic et al. 2023, eq. (20), (21), corrected).

An interval of length h has a number of elements. They are marched in one active set up to the
first switch, which cuts the last of them; the lengths of this phase are then made equal (step
equilibration, eq. (19)) by a secant on their common length, and the next active set is chosen. In
a fixed active set complementarity and cross complementarity (16), (18) hold identically, and
c_j = 0 at the end of a phase is (17) at the switch: what is found solves the whole of (21).
"""

import numpy as np

from explorer.kernels.active_set import ALL, MOST, choose
from explorer.kernels.element import (
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
from explorer.kernels.jit import call, kernel
from explorer.kernels.stretch import OTHER, RECORD, WORK, stretch
from explorer.status import (
    ACCUMULATION,
    ELEMENT_CAP,
    MORE_SWITCHES,
    NEWTON_CAP,
    NO_ACTIVE_SET,
    NOT_FINITE,
    SUCCESS,
    SWITCH_CAP,
)

__all__ = ["march"]

# places in `caps`: elements of an interval, whether it is split, rule
ELEMENTS, SPLIT, RULE = 0, 1, 2
# columns of `switches`: first element, kind, which, consistent patterns, functions at zero, choice,
# then the signs behind it; of `moments`: t, slope, then x, x' before, x' behind, multipliers behind
SIGNS = 6
ACCUMULATED = 1e-10  # of an interval: a phase this short, and shorter than the last, accumulates
AHEAD = 1e-5  # of an interval: over it a tangency is watched
SHORT = 40  # phases of no length in a row


@kernel(
    f"int64({WORK}, int64[::1], int64[::1], float64, float64[::1], float64, int64, int64, int64,"
    " int64[::1], float64[::1])",
    inner=True,
)
def enter(
    table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots, r, work,
    vec, saved, found, near, best, t, x, h, kind, which, rule, row, moment,
):  # fmt: skip
    """Choose the active set at (t, x), where `kind` has ended the last one; return its status.

    Before the start signs are 0 and `kind` is 0. Row 14 of `vec`: the multipliers at the end.
    """
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
        scale = h * abs(slope)  # what c may come to within an interval
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
    many = choose(
        table, shape, inp, out, switch, tableau, sign, zeros, base, B, M, pivots, r, vec, t, x,
        AHEAD * h, near, z, banned, forced, rule, best,
    )  # fmt: skip
    if many == 0 and forced != -1:
        many = choose(
            table, shape, inp, out, switch, tableau, sign, zeros, base, B, M, pivots, r, vec, t, x,
            AHEAD * h, near, z, -1, -1, rule, best,
        )  # fmt: skip
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


@kernel(
    f"int64({WORK}, {RECORD}, int64[::1], int64[::1], int64[::1], int64[::1], float64[::1],"
    " int64[:, ::1], float64[:, ::1], int64[:, ::1])"
)
def march(
    table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots, r, work,
    vec, saved, found, states, slopes, mult, times, counts, near, best, caps, knobs, switches,
    moments, places,
):  # fmt: skip
    """March from ``states[0]`` over [0, knobs[0]] in intervals of knobs[1]; return a status.

    counts: of the last stretch, elements, switches and the start, intervals, switches that found no
    element left, intervals of unequal lengths, the most consistent patterns. places: interval and
    phase of each element. ``knobs[2]`` is the time that was reached, or of an accumulation.
    """
    n = shape[N]
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
    for k in range(len(sign)):
        sign[k] = 0
    moments[0, 1] = 0.0
    kind = 0
    which = -1
    status = SUCCESS
    phase = 0
    due = True  # whether an active set has to be chosen
    long = 0.0
    longer = 0.0
    short = 0
    for q in range(intervals):
        t_next = t_end if q == intervals - 1 else (q + 1) * h
        used = 0
        wanted = 1
        counts[3] = q
        while t < t_next:
            if due:
                if phase == len(switches):
                    return SWITCH_CAP
                switches[phase, 0] = count
                moments[phase, 1] = 0.0
                status = enter(
                    table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M,
                    pivots, r, work, vec, saved, found, near, best, t, states[count], h,
                    kind, which, caps[RULE], switches[phase], moments[phase],
                )  # fmt: skip
                if kind == MULTIPLIER:
                    moments[phase, 1] = found[2]
                phase += 1
                counts[2] = phase
                counts[6] = max(counts[6], switches[phase - 1, 3])
                if status != SUCCESS:
                    return status
                due = False
            elif phase > 0:  # a new interval in the old active set
                for k in range(n):
                    vec[6, k] = slopes[count - 1, (s - 1) * n + k]
                for k in range(zeros[shape[NC]]):
                    vec[5, k] = W[s - 1, k]
                for k in range(nsel):
                    vec[3, k] = vec[14, k]
                for k in range(shape[NC]):
                    vec[2, k] = C[s - 1, k]
            rest = t_next - t
            budget = max(caps[ELEMENTS] - used, 1)
            if count + max(budget, caps[ELEMENTS]) + 1 >= len(times):
                return ELEMENT_CAP
            length = rest / budget
            status = stretch(
                table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M,
                pivots, r, work, vec, saved, found, states, slopes, mult, times, counts, count, t,
                length, budget, 0,
            )  # fmt: skip
            if status != SUCCESS:
                knobs[2] = t
                return NEWTON_CAP if status == OTHER else status
            made = counts[0]
            kind = int(found[3])
            which = int(found[0])
            bound = found[1]
            if kind != 0:
                span = (made - 1) * length + work[H]
                last = t_next - t - span <= 1e-12 * max(t_next, h)
                even = budget if last else min(max(int(span / length + 0.5), 1), budget - 1)
                even = max(even, 1)
                good = made == 1 and even == 1
                for other in range(0 if good else 2):
                    # a coarser phase may end beyond the interval: then with the lengths it had
                    even = max(made, 1) if other else even
                    one = span / even
                    before = 0.0
                    off = 0.0
                    for attempt in range(30):
                        found[0] = which
                        found[1] = bound
                        status = stretch(
                            table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C,
                            sel, M, pivots, r, work, vec, saved, found, states, slopes, mult, times,
                            counts, count, t, one, even, kind,
                        )  # fmt: skip
                        if status != SUCCESS:
                            break
                        now = work[H] - one
                        if even == 1 or abs(now) <= 1e-14 * one + 2e-16 * t:
                            good = (even - 1) * one + work[H] <= t_next - t + 1e-12 * t_next
                            break
                        step = now / even
                        if attempt > 0 and now != off:
                            step = now * (before - one) / (now - off)
                        before = one
                        off = now
                        one += step
                        if not (one > 0.0 and one < 2.0 * span):
                            break
                    if good:
                        made = even
                        break
                if not good:  # as it was found first, of unequal lengths
                    counts[5] += 1
                    status = stretch(
                        table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel,
                        M, pivots, r, work, vec, saved, found, states, slopes, mult, times, counts,
                        count, t, length, budget, 0,
                    )  # fmt: skip
                    made = counts[0]
                due = True
                wanted += 0 if last else 1
                span = times[count + made - 1, 0] + times[count + made - 1, 1] - t
                short = short + 1 if span <= 1e-13 * max(t, h) else 0
                if span < ACCUMULATED * h and span < 0.999 * long and long < 0.999 * longer:
                    ratio = span / long
                    knobs[2] = t + span + span * ratio / (1.0 - ratio)
                    counts[1] = count + made
                    return ACCUMULATION
                if short > SHORT:
                    return NO_ACTIVE_SET
                longer = long
                long = span
                if kind == MULTIPLIER and s > 1:
                    a = 1.0 / ((tableau[3 * s, s - 1] - tableau[3 * s, s - 2]) * work[H])
                    found[2] = a * (sel[s - 1, which] - sel[s - 2, which])
                else:
                    found[2] = 0.0
            for e in range(count, count + made):
                places[e, 0] = q
                places[e, 1] = phase - 1
            count += made
            used += made
            counts[1] = count
            if kind == 0 or t_next - times[count - 1, 0] - times[count - 1, 1] <= 1e-12 * max(
                t_next, h
            ):
                t = t_next
                times[count - 1, 1] = t - times[count - 1, 0]
            else:
                t = times[count - 1, 0] + times[count - 1, 1]
            knobs[2] = t
        if wanted > caps[ELEMENTS]:
            counts[4] = max(counts[4], wanted)
            if caps[SPLIT] == 0:
                return MORE_SWITCHES
    counts[3] = intervals
    return SUCCESS
