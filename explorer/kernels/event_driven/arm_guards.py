"""Which guards are armed when a stretch of flow begins, and which fires at once."""

from explorer.kernels.event_driven.flow import (
    CLOSED,
    CON,
    EACH,
    FIRED,
    GUARDS,
    KIND,
    MODE,
    MODES,
    NC,
    NX,
    PROBLEM,
    ROWS,
    N,
    guard_count,
    guards,
)  # fmt: skip
from explorer.kernels.event_driven.locate_event import (
    ARM,
    ARMED,
    BOUNDS,
    HAS_WHEN,
    LEAVING,
    NOISE,
    PASSED,
    SHIFT,
    SIGN,
    UNARMED,
    flags_of,
)  # fmt: skip
from explorer.kernels.event_driven.saltation import F_MINUS, D, guard_gradient, largest
from explorer.kernels.jit import call, kernel

__all__ = ["rewatch"]

WATCHED = 3  # in `state`: the mode whose guards the watches are of


@kernel(f"int64({PROBLEM}, float64, float64[::1], float64[:, ::1], float64, float64[::1],"
        " float64[::1], float64[::1], int64[::1])", inner=True)  # fmt: skip
def rewatch(
    table, shape, inp, out, W, pivots, vec, state, t, y, watch, band, rates, values, row, lay,
):  # fmt: skip
    """Set every guard's watch at the start of a stretch; return one that fires at once, or -1."""
    nx, n, nc, rows = shape[NX], shape[N], shape[NC], shape[ROWS]
    fired = state[FIRED]
    guards(table, shape, inp, out, W, pivots, vec, state, t, y, values)
    count = guard_count(shape, state)
    for j in range(count):
        rates[count + j] = out[count + j] if shape[KIND] == 0 else 1.0
    if shape[KIND] == 1:
        call(table[CON, 0], table[CON, 1], out, inp)
    at_once = -1
    for j in range(count):
        watch[j, SIGN], watch[j, SHIFT] = 1.0, 0.0
        if shape[KIND] == 1:
            slow = 1e-12 * (1.0 + largest(y, n, 2 * n))
            if j >= rows or state[CLOSED + j] == 1:
                watch[j, ARM] = ARMED
            elif j >= nc:  # a sliding velocity; it leaves zero after a reversal, not a breakaway
                rate = out[2 * rows + rows * n + j]
                for i in range(n):
                    rate += out[2 * rows + j * n + i] * rates[2 * count + n + i]
                rate *= state[CLOSED + rows + j - nc]
                watch[j, ARM] = UNARMED
                if values[j] > slow:
                    watch[j, ARM] = ARMED
                elif rate > 1e-12 and fired != j + count:
                    watch[j, ARM], watch[j, SHIFT] = LEAVING, min(values[j], 0.0)
            else:
                speed = out[rows + j]
                for i in range(n):
                    speed += out[2 * rows + j * n + i] * y[n + i]
                watch[j, ARM] = UNARMED
                if values[j] > band:
                    watch[j, ARM] = ARMED
                elif fired == j + count:
                    pass
                elif speed > slow:
                    watch[j, ARM], watch[j, SHIFT] = LEAVING, min(values[j], 0.0)
                elif speed < -slow and values[j] > NOISE:
                    watch[j, ARM] = ARMED  # it has its own time
                elif speed < -slow and at_once < 0:
                    at_once = j  # touching and approaching: an impact
            continue
        g = shape[shape[GUARDS] + state[MODE]] + j
        direction = shape[shape[GUARDS] + shape[MODES] + 1 + EACH * g]
        flags = flags_of(shape, state, j)
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
        passed = watch[j, ARM] == PASSED and fired > -2 and state[WATCHED] == state[MODE]
        if r > band:
            watch[j, ARM] = ARMED
        elif fired == j + count:  # the event was on its zero, which is left, maybe tangentially
            watch[j, ARM], watch[j, SHIFT] = LEAVING, min(r, 0.0)
        elif passed or (j == fired and slope < -1e-12):
            watch[j, ARM] = PASSED  # the state goes through, maybe with a reset
        elif r >= -band:
            if slope > 1e-12:
                watch[j, ARM], watch[j, SHIFT] = LEAVING, min(r, 0.0)
            else:
                watch[j, ARM] = UNARMED
                # a guard that only watches does not fire for being started on
                counts_now = (flags & BOUNDS) != 0 or fired > -2
                if slope < -1e-12 and open_ and counts_now:
                    if r > NOISE:
                        watch[j, ARM] = ARMED  # it has its own time
                    elif at_once < 0:
                        at_once = j
        else:
            # landed beyond it: an event at once, unless it is on its way back, or started there
            watch[j, ARM] = PASSED
            if (flags & (BOUNDS | HAS_WHEN)) == BOUNDS and slope <= 0.0 and fired > -2:
                watch[j, ARM] = UNARMED
                if at_once < 0:
                    at_once = j
    state[WATCHED] = state[MODE]
    return at_once
