"""Find the first event inside a step, and put it exactly on the flow.

Each guard is watched on its own. A guard is armed once it was seen on its side; one that sits at
zero (just after its event) is armed if it leaves, with its own residue as the zero; one that does
not leave yet (a release: a triple root) is armed when it is out of a small band.
"""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import (
    EACH,
    FLAGS,
    GUARDS,
    KIND,
    MODE,
    MODES,
    NX,
    PROBLEM,
    flow,
    guard_count,
    guards,
)
from explorer.kernels.event_driven.runge_kutta import TABLEAU, advance, dense_value
from explorer.kernels.jit import kernel

SAMPLES = 8
END = 1 / 512
NOISE = 1e-13  # a guard is no surer than this
# a guard that has passed its zero fires no more until it was seen on its side again
PASSED, UNARMED, ARMED, LEAVING = -1, 0, 1, 2
# columns of the watch list, one row a guard; of the nearest miss the value and the time
SIGN, SHIFT, ARM, NEAREST, MISS_AT = 0, 1, 2, 3, 4
# what is found in a step: fraction at which a guard fires, how badly the samples show the guards
# (> 1: not), least value of a near miss, slope of the guard there, length of the step to the event
FRACTION, BLUR, LEAST, SLOPE, LENGTH = 0, 1, 2, 3, 4
# a correction this small beside its step is a step of Heun's method: its error, move^3 / 12, is
# below round-off
SMALL = 1e-5
FAR = 1e-8  # a correction beyond this fraction of the step may pass other events
SPARE = 16  # a row of K that no method uses
# bits of a guard's flags in `shape`
BOUNDS, TERMINAL, HAS_WHEN, IDENTITY = 1, 2, 4, 8


@kernel("int64(int64[::1], int64[::1], int64)", inline=True)
def flags_of(shape, state, j):
    """Return the flags of guard `j` of the present mode; a contact bounds the motion."""
    if shape[KIND] == 1:
        return BOUNDS
    at = shape[GUARDS]
    g = shape[at + state[MODE]] + j
    return shape[at + shape[MODES] + 1 + EACH * g + FLAGS]


@kernel(
    f"float64({PROBLEM}, int64, float64[:, ::1], float64[::1], float64, float64, float64, int64,"
    " float64[::1], float64[::1])",
    inner=True,
)
def on_polynomial(
    table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h, s, j, x, values
):
    """Return guard `j` at the fraction `s` of the step."""
    dense_value(method, dense, y, s, shape[NX], x)
    guards(table, shape, inp, out, W, pivots, vec, state, t + s * h, x, values)
    return values[j]


@kernel(
    f"float64({PROBLEM}, int64, float64[:, ::1], float64[::1], float64, float64, float64,"
    " float64, float64, float64, int64, float64, float64, float64[::1], float64[::1],"
    " float64[::1])",
    inner=True,
)
def root(
    table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h, low, high, g_low, g_high,
    j, sign, shift, x, values, found,
):  # fmt: skip
    """Return where sign * guard - shift falls through zero in (low, high], on the polynomial.

    `g_low`, `g_high` are its values there. The zero of the quadratic through both ends of the
    bracket and a point between them, which takes the place of one end (after Muller); if that goes
    on for long, every other time the middle. found[SLOPE] is the slope at the zero.
    """
    found[SLOPE] = 0.0
    if low == 0.0 and not g_low > NOISE:  # it leaves zero at once: begin where it is positive
        low = high
        for _ in range(60):
            low *= 0.5
            g_low = sign * on_polynomial(table, shape, inp, out, W, pivots, vec, state, method,
                                         dense, y, t, h, low, j, x, values) - shift  # fmt: skip
            if g_low > 0.0:
                break
            high, g_high = low, g_low
    if not g_low > 0.0:
        return low
    if not g_high <= 0.0:
        return high
    s = low + (high - low) * g_low / (g_low - g_high)
    for trial in range(80):
        if not low < s < high or (trial % 2 > 0 and trial > 8):
            s = 0.5 * (low + high)
        if high - low <= 1e-13 * high:
            break
        g = sign * on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                                 t, h, s, j, x, values) - shift  # fmt: skip
        left, right = (g - g_low) / (s - low), (g_high - g) / (high - s)
        bend = (right - left) / (high - low)
        slope = left + bend * (s - low)
        fall = np.sqrt(max(slope * slope - 4.0 * bend * g, 0.0))
        found[SLOPE] = -fall
        if g == 0.0:
            return s
        move = 2.0 * g / (fall - slope) if slope < 0.0 else -(fall + slope) / (2.0 * bend)
        if g > 0.0:
            low, g_low = s, g
        else:
            high, g_high = s, g
        s += move
        if abs(move) <= 1e-13 * high and low <= s <= high:
            return s
    return high


@kernel(
    f"float64({PROBLEM}, int64, float64[:, ::1], float64[::1], float64, float64, float64,"
    " float64, int64, float64, float64, float64[::1], float64[::1], float64[::1])",
    inner=True,
)
def dip(
    table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h, a, b, j, sign, shift, x,
    values, found,
):  # fmt: skip
    """Return a place in (a, b) where the guard is below zero, -1 if its least value is not.

    found[LEAST] is the least value seen. (Golden section.)
    """
    p, q = a + 0.381966 * (b - a), a + 0.618034 * (b - a)
    gp = sign * on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                              t, h, p, j, x, values) - shift  # fmt: skip
    gq = sign * on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                              t, h, q, j, x, values) - shift  # fmt: skip
    for _ in range(24):
        found[LEAST] = min(gp, gq)
        if found[LEAST] < -NOISE:
            return p if gp < gq else q
        left = gp < gq
        if left:
            b, q, gq = q, p, gp
            p = a + 0.381966 * (b - a)
        else:
            a, p, gp = p, q, gq
            q = a + 0.618034 * (b - a)
        g = sign * on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                                 t, h, p if left else q, j, x, values) - shift  # fmt: skip
        if left:
            gp = g
        else:
            gq = g
    return -1.0


@kernel("int64(float64[:, ::1], int64, float64, float64)", inner=True)
def leaves(samples, j, sign, one):
    """Whether guard `j` surely rises from its value `one` at the start to the first sample.

    Its mean slopes up to END and up to the first three samples are put on a parabola: if that is
    positive by more than it misses a fourth one, nothing happens before the first sample.
    """
    at1, at2, at4 = 1.0 / SAMPLES, 2.0 / SAMPLES, 4.0 / SAMPLES
    s0 = (sign * samples[SAMPLES + 1, j] - one) / END
    s1 = (sign * samples[1, j] - one) / at1
    s2 = (sign * samples[2, j] - one) / at2
    s4 = (sign * samples[4, j] - one) / at4
    first = (s1 - s0) / (at1 - END)
    bend = ((s2 - s1) / (at2 - at1) - first) / (at2 - END)
    miss = abs(s0 + (at4 - END) * (first + bend * (at4 - at1)) - s4)
    begin = s0 - END * (first - bend * at1)
    return min(begin, s0, s1) - 0.25 * abs(bend) * at1**2 > miss


@kernel(
    f"int64({PROBLEM}, int64, float64[:, ::1], float64[::1], float64, float64, int64, float64,"
    " float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[::1], int64)",
    inner=True,
)
def first_event(
    table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h, final, band, watch,
    samples, x, values, found, patient,
):  # fmt: skip
    """Return which guard fires first in the step (-1: none); `found` tells where.

    A guard may vary faster than the flow whose error sets the step: found[BLUR] > 1 says that the
    samples do not show it, and with `patient` the answer is then -2.

    ``watch`` is brought up to date for the part of the step before the event; ``samples[0]`` holds
    the guards at the start of the step, its last row those at the end on exit.
    """
    count = guard_count(shape, state)
    for k in range(1, SAMPLES + 3):  # the last two: which way they go at both ends
        s = k / SAMPLES if k <= SAMPLES else (END if k == SAMPLES + 1 else 1.0 - END)
        dense_value(method, dense, y, s, shape[NX], x)
        guards(table, shape, inp, out, W, pivots, vec, state, t + h * s, x, values)
        for j in range(count):
            samples[k, j] = values[j]
    # do the samples show the guards? The odd ones against the polynomial through the even ones
    worst = 0.0
    for j in range(count):
        low, high = samples[0, j], samples[0, j]
        for k in range(1, SAMPLES + 1):
            low, high = min(low, samples[k, j]), max(high, samples[k, j])
        a, b, d, e, f = (
            samples[0, j], samples[2, j], samples[4, j], samples[6, j], samples[8, j],
        )  # fmt: skip
        off = max(
            abs(samples[1, j] - (35 * a + 140 * b - 70 * d + 28 * e - 5 * f) / 128),
            abs(samples[3, j] - (-5 * a + 60 * b + 90 * d - 20 * e + 3 * f) / 128),
            abs(samples[5, j] - (3 * a - 20 * b + 90 * d + 60 * e - 5 * f) / 128),
            abs(samples[7, j] - (-5 * a + 28 * b - 70 * d + 140 * e + 35 * f) / 128),
        )
        worst = max(worst, off / (0.03 * (high - low) + 10.0 * band))
    found[BLUR] = worst
    if worst > 1.0 and patient:
        return -2
    best, winner, slope = 2.0, -1, 0.0
    for j in range(count):
        sign, shift, arm = watch[j, SIGN], watch[j, SHIFT], watch[j, ARM]
        flags = flags_of(shape, state, j)
        two, one = 0.0, sign * samples[0, j] - shift
        for k in range(1, SAMPLES + 1):
            g = sign * samples[k, j] - shift
            if (k - 1) / SAMPLES >= best and not (two > one and one < g and k >= 2):
                break  # but what turns at the last sample may have dipped before it
            low, high, g_low, g_high = -1.0, k / SAMPLES, one, g
            if arm <= UNARMED:
                if g > band:
                    arm, shift = ARMED, 0.0
                    g = sign * samples[k, j]
                elif arm == UNARMED and g < -band and (flags & (BOUNDS | HAS_WHEN)) == BOUNDS:
                    low = (k - 1) / SAMPLES  # it has never left, and never falls through
            elif g <= 0.0 or (final and k == SAMPLES and g <= band and g < one):
                low = (k - 1) / SAMPLES
            elif (
                (k >= 2 and two > one and one < g)
                or (k == 1 and sign * samples[SAMPLES + 1, j] - shift < one and one < g)
                or (k == SAMPLES and sign * samples[SAMPLES + 2, j] - shift < g and g < one)
            ):
                wide = 2 if k >= 2 and two > one and one < g else 1
                begin, above = (k - wide) / SAMPLES, two if wide == 2 else one
                touch = dip(table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h,
                            begin, k / SAMPLES, j, sign, shift, x, values, found)  # fmt: skip
                if touch >= 0.0:
                    low, high, g_low, g_high = begin, touch, above, found[LEAST]
                elif found[LEAST] < watch[j, NEAREST] and above > found[LEAST] + band:
                    watch[j, NEAREST], watch[j, MISS_AT] = found[LEAST], t + k / SAMPLES * h
            if (
                low < 0.0 and k == 1 and watch[j, ARM] > UNARMED and one < 0.01 * abs(g)
                and not leaves(samples, j, sign, sign * samples[0, j])
            ):  # fmt: skip
                # it may leave and come back, or dip, long before the first sample or around it
                before, two_back, at = one, 0.0, 0.0
                point = 1.0 / SAMPLES / 2**14
                while point <= 2.0 / SAMPLES:
                    value = sign * on_polynomial(
                        table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h,
                        point, j, x, values,
                    ) - shift  # fmt: skip
                    if value < -NOISE:
                        low, high, g_low, g_high = at, point, before, value
                        break
                    if two_back > before and before < value:
                        touch = dip(table, shape, inp, out, W, pivots, vec, state, method, dense,
                                    y, t, h, 0.25 * point, point, j, sign, shift, x, values,
                                    found)  # fmt: skip
                        if touch >= 0.0:
                            low, high, g_low, g_high = 0.25 * point, touch, two_back, found[LEAST]
                            break
                    two_back, before, at = before, value, point
                    point *= 2.0
            if low >= 0.0:
                if arm == UNARMED and one <= -band:
                    s = low
                else:
                    zero = shift
                    if arm == UNARMED:
                        zero, g_low, g_high = -band, one + band, g + band
                    s = root(table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h,
                             low, high, g_low, g_high, j, sign, zero, x, values,
                             found)  # fmt: skip
                if flags & HAS_WHEN:
                    on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                                  t, h, s, j, x, values)  # fmt: skip
                    if not out[count + j] > 0.0:
                        arm, shift, low = UNARMED, 0.0, -1.0
                if low >= 0.0:
                    if s < best:
                        best, winner, slope = s, j, found[SLOPE]
                    break
            two, one = one, g
        watch[j, SHIFT], watch[j, ARM] = shift, arm
    found[FRACTION], found[SLOPE] = best, slope
    return winner


@kernel(
    f"int64({PROBLEM}, {TABLEAU}, float64[::1], float64, float64, float64, float64[:, ::1],"
    " float64[::1], float64[::1], int64, int64, float64[:, ::1], float64[::1], float64[::1])",
    inner=True,
)
def land(
    table, shape, inp, out, W, pivots, vec, state, A, c, last, L, lp, y, t, h, most, K, stage, new,
    width, j, watch, values, found,
):  # fmt: skip
    """End the step on the guard: `new` is the state there, found[LENGTH] the step to it.

    The zero of the polynomial is as good as the step; Newton's method (then secants) on the flow
    itself makes it exact. Only a correction that is not small wants another step from `y`. A guard
    that is nothing but noise could be followed anywhere: not beyond the event of another one.
    """
    size = (width + 1) * (shape[NX] + 1)
    first, sign, shift = found[FRACTION] * h, watch[j, SIGN], watch[j, SHIFT]
    tau, slope = found[FRACTION] * h, found[SLOPE] / h
    before, g_before = 0.0, np.inf
    whole, back, misses = True, False, 0
    for trial in range(12):
        if whole:
            status = advance(table, shape, inp, out, W, pivots, vec, state, A, c, last, L, lp, 1,
                             last, t, y, tau, K, stage, new, width)  # fmt: skip
        else:
            for m in range(size):
                new[m] += (tau - before) * K[last, m]
            status = flow(table, shape, inp, out, W, pivots, vec, state, t + tau, new, K[SPARE],
                          width)  # fmt: skip
            for m in range(size):
                new[m] += 0.5 * (tau - before) * (K[SPARE, m] - K[last, m])
                K[last, m] = K[SPARE, m]
        found[LENGTH] = tau
        if status != SUCCESS or back:
            return status
        guards(table, shape, inp, out, W, pivots, vec, state, t + tau, new, values)
        g = sign * values[j] - shift
        # a kink of the flow spoils a slope; what does not come down is round-off or has no slope
        if abs(g) > 0.5 * abs(g_before):
            misses += 1
        far = False
        if abs(tau - first) > FAR * h:
            for i in range(guard_count(shape, state)):
                beyond = watch[i, SIGN] * values[i] - watch[i, SHIFT] < -NOISE
                far = far or (i != j and watch[i, ARM] > UNARMED and beyond)
        if far:
            target, back = first, True
        elif misses > 2 or (misses > 0 and abs(g) <= NOISE):
            if abs(g) <= abs(g_before):
                break
            target, back = before, True
        else:
            if trial > 0:
                slope = (g - g_before) / (tau - before)
            if g == 0.0 or slope == 0.0:
                break
            target = min(tau - g / slope, most)
            if not target > 0.0 or abs(target - tau) <= 2e-16 * (abs(t) + tau):
                break
        # the state at an event of Newmark's is one of his steps, not of Heun's
        whole = abs(target - tau) > SMALL * tau or (last == 1 and L.size > 0)
        before, g_before, tau = tau, g, target
    return SUCCESS
