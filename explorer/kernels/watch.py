"""Which guards are armed when a stretch of flow begins, and which fires at once."""

from explorer.kernels.flows import (
    CLOSED,
    CON,
    GUARDS,
    KIND,
    MODE,
    MODES,
    NC,
    NX,
    PROBLEM,
    N,
    guard_count,
    guards,
)  # fmt: skip
from explorer.kernels.jit import call, kernel
from explorer.kernels.jumps import F_MINUS, D, guard_gradient, largest
from explorer.kernels.locate import (
    ARM,
    ARMED,
    BOUNDS,
    HAS_WHEN,
    LEAVING,
    SHIFT,
    SIGN,
    UNARMED,
    flags_of,
)  # fmt: skip

__all__ = ["rewatch"]


@kernel(f"int64({PROBLEM}, float64, float64[::1], float64[:, ::1], float64, int64, float64[::1],"
        " float64[::1], float64[::1], int64[::1])", inner=True)  # fmt: skip
def rewatch(
    table, shape, inp, out, W, pivots, vec, state, t, y, watch, band, fired, rates, values, row,
    lay,
):  # fmt: skip
    """Set every guard's watch at the start of a stretch; return one that fires at once, or -1.

    `fired` is the guard (of this mode) whose event has just happened, -1 if the event was of
    another mode, -2 at the start.
    """
    nx, n, nc = shape[NX], shape[N], shape[NC]
    guards(table, shape, inp, out, W, pivots, vec, state, t, y, values)
    count = guard_count(table, shape, inp, out, W, pivots, vec, state)
    for j in range(count):
        rates[count + j] = out[count + j] if shape[KIND] == 0 else 1.0
    if shape[KIND] == 1:
        call(table[CON, 0], table[CON, 1], out, inp)
    at_once = -1
    for j in range(count):
        watch[j, SIGN], watch[j, SHIFT] = 1.0, 0.0
        if shape[KIND] == 1:
            if state[CLOSED + j] == 1:
                watch[j, ARM] = ARMED
                continue
            speed = out[nc + j]
            for i in range(n):
                speed += out[2 * nc + j * n + i] * y[n + i]
            if values[j] > band:
                watch[j, ARM] = ARMED
            elif speed > 0.0 and fired != j + nc:
                watch[j, ARM], watch[j, SHIFT] = LEAVING, min(values[j], 0.0)
                if speed < 1e-12 * (1.0 + largest(y, n, 2 * n)):
                    watch[j, ARM], watch[j, SHIFT] = UNARMED, 0.0
            else:
                watch[j, ARM] = UNARMED
            continue
        g = shape[shape[GUARDS] + state[MODE]] + j
        direction = shape[shape[GUARDS] + shape[MODES] + 1 + 4 * g]
        flags = flags_of(table, shape, inp, out, W, pivots, vec, state, j)
        for i in range(nx + 1):
            row[lay[F_MINUS] + i] = rates[2 * count + i]
        r = values[j]
        guard_gradient(table, shape, inp, out, W, pivots, vec, state, j, row, lay)
        slope = row[D]
        sign = -1.0 if direction > 0 else 1.0
        if direction == 0:
            sign = 1.0 if r > band or (r >= -band and slope > 0.0) else -1.0
        watch[j, SIGN] = sign
        r, slope = sign * r, sign * slope
        open_ = rates[count + j] > 0.0
        if r > band:
            watch[j, ARM] = ARMED
        elif r >= -band:
            if slope > 1e-12:
                watch[j, ARM], watch[j, SHIFT] = LEAVING, min(r, 0.0)
            else:
                watch[j, ARM] = UNARMED
                # a guard that only watches does not fire for being started on
                counts_now = (flags & BOUNDS) != 0 or fired > -2
                if slope < -1e-12 and j != fired and open_ and counts_now and at_once < 0:
                    at_once = j
        else:
            # landed beyond it: an event at once, unless it is on its way back
            watch[j, ARM] = UNARMED
            if (flags & BOUNDS) and not flags & HAS_WHEN and slope <= 0.0 and at_once < 0:
                at_once = j
    return at_once
