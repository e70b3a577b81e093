"""The state between the rows of a run, from the record of its steps."""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import (
    CLOSED,
    HELD,
    NC,
    NR,
    NX,
    OWNERS,
    PROBLEM,
    ROWS,
    N,
    accelerate,
    flow,
    restore,
)
from explorer.kernels.event_driven.newmark_step import BEGUN, STEP_SIZE
from explorer.kernels.event_driven.runge_kutta import TABLEAU, advance, dense_value, interpolate
from explorer.kernels.jit import kernel

__all__ = ["evaluate", "forces"]


@kernel(
    f"int64({PROBLEM}, {TABLEAU}, int64, int64, float64[:, ::1], int64, float64[:, ::1],"
    " int64[:, ::1], float64[::1], int64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1])"
)
def evaluate(
    table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, extra, method, Dw, width,
    steps,
    step_state, times, which, K, bench, dense, result, rates,
):  # fmt: skip
    """Write y and x' at increasing times, out of the start of the step `which` each lies in.

    A time gets a Runge-Kutta step of its own, as exact as the run; with `extra` > s, where several
    times lie in one step, they share that step's polynomial (order 7).
    """
    nx = shape[NX]
    block = nx + 1
    size = (width + 1) * block
    stage, new = bench[0], bench[1]
    k = 0
    while k < times.size:
        i = which[k]
        many = 1
        while k + many < times.size and which[k + many] == i:
            many += 1
        restore(shape, state, step_state, i)
        y = steps[i, 2:]
        t = steps[i, 0]
        status = flow(table, shape, inp, out, W, pivots, vec, state, t, y, K[0], width)
        shared = extra > s and many > 1
        if status == SUCCESS and shared:
            status = advance(
                table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, 1, extra, t, y,
                steps[i, 1], K, stage, new, width,
            )  # fmt: skip
            interpolate(method, Dw, s, K, y, new, steps[i, 1], size, dense)
        if status != SUCCESS:
            return status
        for one in range(k, k + many):
            h = times[one] - t
            carried = steps.shape[1] - 2 - size
            for m in range(carried):  # accelerations that the method carries, for the whole step
                K[0, m // shape[N] * block + shape[N] + m % shape[N]] = steps[i, 2 + size + m]
            if carried > 0:
                A[0, BEGUN], A[0, STEP_SIZE] = t, steps[i, 1]
            if h == 0.0:
                for m in range(size):
                    new[m] = y[m]
            elif shared:
                dense_value(method, dense, y, h / steps[i, 1], size, new)
            else:
                status = advance(
                    table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, 1, s, t, y, h, K,
                    stage, new, width,
                )  # fmt: skip
            if status == SUCCESS:
                status = flow(table, shape, inp, out, W, pivots, vec, state, times[one], new,
                              stage, 0)  # fmt: skip
            if status != SUCCESS:
                return status
            for m in range(size):
                result[one, m] = new[m]
            for m in range(block):
                rates[one, m] = stage[m]
        k += many
    return SUCCESS


@kernel(f"void({PROBLEM}, float64[::1], float64[:, ::1], int64[:, ::1], float64[:, ::1])")
def forces(table, shape, inp, out, W, pivots, vec, state, times, x, step_state, lam):
    """Write the forces (n_t, rows) of what is held at each row, NaN where they are not unique."""
    nx, n, nc, rows = shape[NX], shape[N], shape[NC], shape[ROWS]
    first, mu = 1 + 2 * nx + shape[NR], rows * (n + 3)
    for k in range(times.size):
        restore(shape, state, step_state, k)
        for c in range(rows):
            lam[k, c] = 0.0
        if state[HELD] == 0:
            continue
        inp[0] = times[k]
        for i in range(nx):
            inp[1 + i] = x[k, i]
        status = accelerate(table, shape, inp, out, W, pivots, vec, state)
        for c in range(rows):
            if state[CLOSED + c] == 1:
                lam[k, c] = inp[first + c] if status == SUCCESS else np.nan
        for c in range(nc, rows):  # one that slides
            if state[CLOSED + c] == 0:
                pull = state[CLOSED + rows + c - nc] * out[mu + c - nc]
                lam[k, c] = -pull * lam[k, shape[shape[OWNERS] + c]]
