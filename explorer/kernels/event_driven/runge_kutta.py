"""One step of a Runge-Kutta method, its error, and a polynomial over the step.

Dormand-Prince 5(4) and 8(5,3) (Hairer, Norsett, Wanner, Solving ODEs I, II.5 and II.10), Radau IIA
of order 5 (`explorer.kernels.event_driven.radau`); the coefficients of the pairs come from SciPy.
The Newmark family (`explorer.kernels.event_driven.newmark_step`) steps in the same way, at its own
step size. The polynomial serves to look for events and for pictures; what `at` and a grid of the
user's return comes from a step of its own length, so it has the accuracy of the step.
"""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import NX, PROBLEM, flow, slopes
from explorer.kernels.event_driven.newmark_step import OFF, newmark_step
from explorer.kernels.event_driven.radau import radau_step
from explorer.kernels.jit import kernel

NEWMARK = 3  # code of the Newmark family among the methods
TABLEAU = "float64[:, ::1], float64[::1], int64, float64[:, ::1], int64[::1]"


@kernel(
    f"int64({PROBLEM}, {TABLEAU}, int64, int64, float64, float64[::1], float64, float64[:, ::1],"
    " float64[::1], float64[::1], int64)",
    inner=True,
)
def advance(
    table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, first, last,
    t, y, h, K, stage, new, width,
):  # fmt: skip
    """Compute the slopes K[first..last] of a step h from y.

    Row i of A gives stage i; row s the end of the step, whose state goes to `new`, other states to
    `stage`. Rows behind s serve the polynomial. K[0] is y'(t). A method with workspaces `L` is
    implicit: of one stage it is one of Newmark's, else Radau's.
    """
    if L.size > 0 and s == 1:
        return newmark_step(
            table, shape, inp, out, W, pivots, vec, state, A, L, lp, t, y, h, K, stage, new, width
        )
    if L.size > 0:
        return radau_step(
            table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, t, y, h, K, stage,
            new, width,
        )  # fmt: skip
    size = (width + 1) * (shape[NX] + 1)
    for i in range(first, last + 1):
        target = new if i == s else stage
        for m in range(size):
            target[m] = 0.0
        for j in range(i):
            a = A[i, j]
            if a != 0.0:
                for m in range(size):
                    target[m] += a * K[j, m]
        for m in range(size):
            target[m] = y[m] + h * target[m]
        status = slopes(
            table, shape, inp, out, W, pivots, vec, state, t + c[i] * h, target, K[i], width
        )
        if status != SUCCESS:
            return status
    return SUCCESS


@kernel(
    f"float64({PROBLEM}, float64, float64[::1], float64[::1], float64[::1], float64[::1], float64,"
    " float64, float64, float64)",
    inner=True,
)
def first_step(
    table, shape, inp, out, W, pivots, vec, state, t, y, slope, x, other, longest, rtol, atol,
    exponent,
):  # fmt: skip
    """Return a first guess of the step (Hairer, Norsett, Wanner, II.4); `slope` is y'(t)."""
    block = shape[NX] + 1
    size, first, second = 0.0, 0.0, 0.0
    for i in range(block):
        scale = atol + rtol * abs(y[i])
        size += (y[i] / scale) ** 2
        first += (slope[i] / scale) ** 2
    h = 0.01 * np.sqrt(size / first) if size > 1e-10 and first > 1e-10 else 1e-6
    h = min(max(h, 1e-8 * longest), longest)
    for i in range(block):
        x[i] = y[i] + h * slope[i]
    if flow(table, shape, inp, out, W, pivots, vec, state, t + h, x, other, 0) != SUCCESS:
        return h
    for i in range(block):
        second += ((other[i] - slope[i]) / (atol + rtol * abs(y[i]))) ** 2
    bend = np.sqrt(max(first, second / (h * h)) / block)
    if not bend < np.inf:
        return h
    return min(100.0 * h, (0.01 / bend) ** -exponent, longest)


@kernel(
    "float64(int64, float64[:, ::1], int64, float64[:, ::1], float64[::1], float64[::1], float64,"
    " int64, int64, float64, float64)",
    inner=True,
)
def step_error(method, E, s, K, y, new, h, block, width, rtol, atol):
    """Return the error of a step in units of the tolerance: the worst of all columns."""
    if not np.isfinite(new[0]):  # so a step says that it has failed; max() would swallow it
        return np.nan
    if method == NEWMARK:  # it knows its own
        return K[OFF, 0]
    worst = 0.0
    for k in range(width + 1):
        first, second = 0.0, 0.0
        for m in range(k * block, (k + 1) * block):
            scale = atol + rtol * max(abs(y[m]), abs(new[m]))
            e1, e2 = 0.0, 0.0
            for j in range(s + 1 if method < 2 else s + 2):
                e1 += E[0, j] * K[j, m]
                e2 += E[1, j] * K[j, m]
            first += (e1 / scale) ** 2
            second += (e2 / scale) ** 2
        if method == 1:
            bottom = first + 0.01 * second
            error = 0.0 if bottom == 0.0 else abs(h) * first / np.sqrt(bottom * block)
        else:
            error = abs(h) * np.sqrt(first / block)
        if not error <= worst:  # also NaN
            worst = error
    return worst


@kernel("float64(float64[:, ::1], int64, float64[::1], float64[::1], float64, int64)", inner=True)
def stiffness(K, s, y, new, h, nx):
    """Return an estimate of h times the largest eigenvalue (Hairer, Wanner, Solving ODEs II, IV.2).

    The last stage and the end of the step lie at the same time: how much the slope differs, over
    how much the state does. `y` holds the last stage's state.
    """
    top, bottom = 0.0, 0.0
    for m in range(nx):
        top += (K[s, m] - K[s - 1, m]) ** 2
        bottom += (new[m] - y[m]) ** 2
    return abs(h) * np.sqrt(top / bottom) if bottom > 0.0 else 0.0


@kernel(
    "void(int64, float64[:, ::1], int64, float64[:, ::1], float64[::1], float64[::1], float64,"
    " int64, float64[:, ::1])",
    inner=True,
)
def interpolate(method, D, s, K, y, new, h, nx, dense):
    """Write the polynomial of the step: for 8(5,3) and Newmark in the nested form, else in powers.

    Of Newmark it is the cubic through both ends and their slopes.
    """
    if method == 1 or method == NEWMARK:
        for m in range(nx):
            delta = new[m] - y[m]
            dense[0, m] = delta
            dense[1, m] = h * K[0, m] - delta
            dense[2, m] = 2.0 * delta - h * (K[s, m] + K[0, m])
            for r in range(4):
                total = 0.0
                for j in range(s + 4 if method == 1 else 0):
                    total += D[r, j] * K[j, m]
                dense[3 + r, m] = h * total
    else:
        for m in range(nx):
            for r in range(4):
                total = 0.0
                for j in range(s + 1):
                    total += D[r, j] * K[j, m]
                dense[r, m] = h * total


@kernel("void(int64, float64[:, ::1], float64[::1], float64, int64, float64[::1])", inline=True)
def dense_value(method, dense, y, s, nx, x):
    """Evaluate the polynomial at the fraction `s` of the step."""
    for m in range(nx):
        total = 0.0
        if method == 1 or method == NEWMARK:
            for r in range(6, -1, -1):
                total += dense[r, m]
                total *= s if r % 2 == 0 else 1.0 - s
        else:
            for r in range(3, -1, -1):
                total = (total + dense[r, m]) * s
        x[m] = y[m] + total
