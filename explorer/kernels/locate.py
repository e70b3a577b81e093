"""Find the first event inside a step, and put it exactly on the flow.

Each guard is watched on its own. A guard is armed once it was seen on its side; one that sits at
zero (just after its event) is armed if it leaves, with its own residue as the zero; one that does
not leave yet (a release: a triple root) is armed when it is out of a small band.
"""

import numpy as np

from explorer.kernels.flows import GUARDS, KIND, MODE, NX, PROBLEM, guard_count, guards
from explorer.kernels.jit import kernel
from explorer.kernels.runge_kutta import TABLEAU, advance, dense_value
from explorer.status import SUCCESS

SAMPLES = 8
END = 1 / 512
NOISE = 1e-13  # a guard is no surer than this
UNARMED, ARMED, LEAVING = 0, 1, 2
# columns of the watch list, one row a guard
SIGN, SHIFT, ARM, NEAREST = 0, 1, 2, 3
# bits of a guard's flags in `shape`
BOUNDS, TERMINAL, HAS_WHEN, IDENTITY = 1, 2, 4, 8


@kernel(f"int64({PROBLEM}, int64)", inner=True)
def flags_of(table, shape, inp, out, W, pivots, vec, state, j):
    """Return the flags of guard `j` of the present mode; a contact bounds the motion."""
    if shape[KIND] == 1:
        return BOUNDS
    at = shape[GUARDS]
    g = shape[at + state[MODE]] + j
    return shape[at + shape[7] + 1 + 4 * g + 2]


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
    " float64, int64, float64, float64, float64[::1], float64[::1])",
    inner=True,
)
def root(
    table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h, low, high, j, sign,
    shift, x, values,
):  # fmt: skip
    """Return where sign * guard - shift falls through zero in (low, high], on the polynomial."""
    if low == 0.0:  # it leaves zero at once: begin where it is positive
        low = high
        for _ in range(60):
            low *= 0.5
            g = on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y, t,
                              h, low, j, x, values)  # fmt: skip
            if sign * g - shift > 0.0:
                break
    g_low = sign * on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                                 t, h, low, j, x, values) - shift  # fmt: skip
    g_high = sign * on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                                  t, h, high, j, x, values) - shift  # fmt: skip
    if not g_low > 0.0:
        return low
    side = 0
    for _ in range(60):
        if high - low <= 1e-13 * high:
            break
        s = low + (high - low) * g_low / (g_low - g_high)
        if not low < s < high:
            s = 0.5 * (low + high)
        g = sign * on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                                 t, h, s, j, x, values) - shift  # fmt: skip
        if g > 0.0:
            low, g_low = s, g
            if side == 1:
                g_high *= 0.5
            side = 1
        else:
            high, g_high = s, g
            if g == 0.0:
                break
            if side == -1:
                g_low *= 0.5
            side = -1
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

    found[2] is the least value seen. (Golden section.)
    """
    for _ in range(24):
        p, q = a + 0.382 * (b - a), a + 0.618 * (b - a)
        gp = sign * on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                                  t, h, p, j, x, values) - shift  # fmt: skip
        gq = sign * on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                                  t, h, q, j, x, values) - shift  # fmt: skip
        found[2] = min(gp, gq)
        if found[2] < -NOISE:
            return p if gp < gq else q
        if gp < gq:
            b = q
        else:
            a = p
    return -1.0


@kernel(
    f"int64({PROBLEM}, int64, float64[:, ::1], float64[::1], float64, float64, int64, float64,"
    " float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[::1], int64)",
    inner=True,
)
def first_event(
    table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h, final, band, watch,
    samples, x, values, found, patient,
):  # fmt: skip
    """Return which guard fires first in the step (-1: none) and put the fraction in found[0].

    A guard may vary faster than the flow whose error sets the step: found[1] > 1 says that the
    samples do not show it, and with `patient` the answer is then -2.

    ``watch`` is brought up to date for the part of the step before the event; ``samples[0]`` holds
    the guards at the start of the step, its last row those at the end on exit.
    """
    count = guard_count(table, shape, inp, out, W, pivots, vec, state)
    for k in range(1, SAMPLES + 1):
        dense_value(method, dense, y, k / SAMPLES, shape[NX], x)
        guards(table, shape, inp, out, W, pivots, vec, state, t + h * k / SAMPLES, x, values)
        for j in range(count):
            samples[k, j] = values[j]
    for k in range(2):  # which way they go at both ends
        side = END if k == 0 else 1.0 - END
        dense_value(method, dense, y, side, shape[NX], x)
        guards(table, shape, inp, out, W, pivots, vec, state, t + h * side, x, values)
        for j in range(count):
            samples[SAMPLES + 1 + k, j] = values[j]
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
    found[1] = worst
    if worst > 1.0 and patient:
        return -2
    best, winner = 2.0, -1
    for j in range(count):
        sign, shift, arm = watch[j, SIGN], watch[j, SHIFT], watch[j, ARM]
        flags = flags_of(table, shape, inp, out, W, pivots, vec, state, j)
        two, one = 0.0, sign * samples[0, j] - shift
        for k in range(1, SAMPLES + 1):
            if (k - 1) / SAMPLES >= best:
                break
            g = sign * samples[k, j] - shift
            low, high = -1.0, k / SAMPLES
            if arm == UNARMED:
                if g > band:
                    arm, shift = ARMED, 0.0
                    g = sign * samples[k, j]
                elif g < -band and (flags & (BOUNDS | HAS_WHEN)) == BOUNDS and one < -band:
                    low = (k - 1) / SAMPLES  # on the wrong side for good: never fall through
            elif g <= 0.0 or (final and k == SAMPLES and g <= band and g < one):
                low = (k - 1) / SAMPLES
            elif (
                (k >= 2 and two > one and one < g)
                or (k == 1 and sign * samples[SAMPLES + 1, j] - shift < one and one < g)
                or (k == SAMPLES and sign * samples[SAMPLES + 2, j] - shift < g and g < one)
            ):
                wide = 2 if k >= 2 and two > one and one < g else 1
                begin = (k - wide) / SAMPLES
                touch = dip(table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h,
                            begin, k / SAMPLES, j, sign, shift, x, values, found)  # fmt: skip
                if touch >= 0.0:
                    low, high = begin, touch
                else:
                    watch[j, NEAREST] = min(watch[j, NEAREST], found[2])
            if low < 0.0 and k == 1 and watch[j, ARM] != UNARMED and one < 0.01 * abs(g):
                # it may leave and come back, or dip, long before the first sample
                before, two_back, at = one, 0.0, 0.0
                point = 1.0 / SAMPLES / 2**14
                while point < 1.0 / SAMPLES:
                    value = sign * on_polynomial(
                        table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h,
                        point, j, x, values,
                    ) - shift  # fmt: skip
                    if value < -NOISE:
                        low, high = at, point
                        break
                    if two_back > before and before < value:
                        touch = dip(table, shape, inp, out, W, pivots, vec, state, method, dense,
                                    y, t, h, 0.25 * point, point, j, sign, shift, x, values,
                                    found)  # fmt: skip
                        if touch >= 0.0:
                            low, high = 0.25 * point, touch
                            break
                    two_back, before, at = before, value, point
                    point *= 2.0
            if low >= 0.0:
                if arm == UNARMED:
                    s = low
                else:
                    s = root(table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h,
                             low, high, j, sign, shift, x, values)  # fmt: skip
                if flags & HAS_WHEN:
                    on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y,
                                  t, h, s, j, x, values)  # fmt: skip
                    if not out[count + j] > 0.0:
                        arm, shift, low = UNARMED, 0.0, -1.0
                if low >= 0.0:
                    if s < best:
                        best, winner = s, j
                    break
            two, one = one, g
        watch[j, SHIFT], watch[j, ARM] = shift, arm
    found[0] = best
    return winner


@kernel(
    f"float64({PROBLEM}, {TABLEAU}, int64, float64[:, ::1], float64[::1], float64, float64,"
    " float64[:, ::1], float64[::1], float64[::1], float64, int64, float64, float64,"
    " float64[::1], float64[::1])",
    inner=True,
)
def polish(
    table, shape, inp, out, W, pivots, vec, state, A, c, last, L, lp, method, dense, y, t,
    h, K, stage, new, s, j, sign, shift, x, values,
):  # fmt: skip
    """Return the length of the step that ends on the guard, by secants on the flow itself."""
    d = 1e-4
    up = on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h,
                       s * (1 + d), j, x, values)  # fmt: skip
    down = on_polynomial(table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, h,
                         s * (1 - d), j, x, values)  # fmt: skip
    slope = sign * (up - down) / (2 * d * s * h)
    tau = s * h
    before, g_before = 0.0, np.inf
    for _ in range(8):
        if (
            advance(table, shape, inp, out, W, pivots, vec, state, A, c, last, L, lp, 1, last, t, y,
                          tau, K, stage, new, 0) != SUCCESS
        ):  # fmt: skip
            return s * h
        guards(table, shape, inp, out, W, pivots, vec, state, t + tau, new, values)
        g = sign * values[j] - shift
        if abs(g) > 0.5 * abs(g_before):  # round-off, or a root without slope
            return tau if abs(g) <= abs(g_before) else before
        if np.isfinite(g_before):
            secant = (g - g_before) / (tau - before)
            if secant != 0.0:
                slope = secant
        if g == 0.0 or slope == 0.0:
            return tau
        step = g / slope
        before, g_before = tau, g
        tau -= step
        if not 0.0 < tau <= 1.5 * h:
            return before
        if abs(step) <= 2e-16 * (abs(t) + tau):
            return tau
    return tau
