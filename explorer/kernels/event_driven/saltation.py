"""What happens at an event: resets, impacts, contacts that close or open, and their derivatives.

With reset h and guard r, D = r_t + r_x f-, the event-time sensitivity is
dt/drho = -(r_x S- + r_rho) / D (Corner et al. 2019, eq. (33), generalised) and
S+ = h_x S- + h_rho + (h_x f- + h_t - f+) dt/drho, whose rows are (35), (38) and, for the running
cost, (48). (The resets of impacts: `explorer.kernels.event_driven.contact_impact`.)
"""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import (
    CLOSED,
    CON,
    EACH,
    GAP_RHO,
    GUARD_TLM,
    GUARDS,
    KIND,
    MODE,
    MODES,
    NC,
    NR,
    NX,
    OWNERS,
    PROBLEM,
    RESET,
    ROWS,
    STEP,
    TO,
    WRT,
    N,
    accelerate,
    flow,
    tangent,
)  # fmt: skip
from explorer.kernels.jit import call, kernel

# places in a row of the event record; what follows them is laid out by `Layout` of the scheme
T, D, REST, R_T, BEND = 0, 1, 2, 3, 4
X_MINUS, X_PLUS, F_MINUS, F_PLUS, R_X, R_RHO = 0, 1, 2, 3, 4, 5
H_T, H_X, H_RHO, DTAU, P, S_MINUS, S_PLUS = 6, 7, 8, 9, 10, 11, 12


@kernel(f"int64({PROBLEM}, int64, float64[::1], int64[::1])", inner=True)
def guard_gradient(table, shape, inp, out, W, pivots, vec, state, j, row, lay):
    """Write r_t, r_x, r_rho of guard `j` of the present mode at the state in `inp`, and D.

    F_MINUS of the record must hold x'.
    """
    nx, n, nc, nr, rows = shape[NX], shape[N], shape[NC], shape[NR], shape[ROWS]
    r_x, r_rho = lay[R_X], lay[R_RHO]
    held = j if j < rows else j - (rows - nc)  # the row it is about: a tangent has two guards
    if shape[KIND] == 0:
        at = shape[GUARD_TLM] + shape[shape[GUARDS] + state[MODE]] + j
        call(table[at, 0], table[at, 1], out, inp)
        row[R_T] = out[0]
        for i in range(nx):
            row[r_x + i] = out[1 + i]
        for k in range(nr):
            row[r_rho + k] = out[1 + nx + k]
    elif state[CLOSED + held] == 0 and j < nc:
        call(table[GAP_RHO, 0], table[GAP_RHO, 1], out, inp)
        for k in range(nr):
            row[r_rho + k] = out[j * nr + k]
        call(table[CON, 0], table[CON, 1], out, inp)
        row[R_T] = out[rows + j]
        for i in range(n):
            row[r_x + i] = out[2 * rows + j * n + i]
            row[r_x + n + i] = 0.0
    elif state[CLOSED + held] == 0:
        k = j - nc  # a sliding velocity, in its own direction
        sigma = float(state[CLOSED + rows + k])
        call(table[GAP_RHO, 0], table[GAP_RHO, 1], out, inp)
        at = nc * nr
        for i in range(n):
            row[r_x + i] = sigma * out[at + k * n + i]
        at += (rows - nc) * n
        for i in range(nr):
            row[r_rho + i] = sigma * out[at + k * nr + i]
        row[R_T] = sigma * out[at + (rows - nc) * nr + k]
        call(table[CON, 0], table[CON, 1], out, inp)
        for i in range(n):
            row[r_x + n + i] = sigma * out[2 * rows + j * n + i]
    else:
        # a force lam, or what is left of friction, mu lam -+ lam_t: linear in held rows
        status = accelerate(table, shape, inp, out, W, pivots, vec, state)
        if status != SUCCESS:
            return status
        contact, normal, along = j, 1.0, 0.0
        if j >= nc:
            along = -1.0 if j < rows else 1.0
            contact = shape[shape[OWNERS] + held]
            normal = out[2 * rows + rows * (n + 1) + rows - nc + held - nc]
        at_n, at_t = n, n
        for c in range(held):
            at_n += state[CLOSED + c] if c < contact else 0
            at_t += state[CLOSED + c]
        call(table[STEP, 0], table[STEP, 1], out, inp)
        for m in range(nx + nr + 1):
            for i in range(nx):
                vec[2, i] = 1.0 if i == m else 0.0
            w = -1
            if m == nx + nr:
                w = -2
            elif m >= nx:
                w = m - nx
            tangent(table, shape, inp, out, W, pivots, vec, state, w)
            slope = -normal * vec[1, at_n] - along * vec[1, at_t]
            if m < nx:
                row[r_x + m] = slope
            elif m < nx + nr:
                row[r_rho + m - nx] = slope
            else:
                row[R_T] = slope
        if j >= nc:
            call(table[GAP_RHO, 0], table[GAP_RHO, 1], out, inp)
            lam, k, tangents = inp[1 + 2 * nx + nr + contact], held - nc, rows - nc
            at = nc * nr + tangents * (n + nr + 1)
            for i in range(nx):
                row[r_x + i] += out[at + k * nx + i] * lam
            at += tangents * nx
            for i in range(nr):
                row[r_rho + i] += out[at + k * nr + i] * lam
            row[R_T] += out[at + tangents * nr + k] * lam
    total = row[R_T]
    for i in range(nx):
        total += row[r_x + i] * row[lay[F_MINUS] + i]
    row[D] = total
    return SUCCESS


@kernel(f"int64({PROBLEM}, int64, float64[::1], int64[::1])", inner=True)
def reset(table, shape, inp, out, W, pivots, vec, state, guard, row, lay):
    """Apply the reset of an automaton's guard (its number among all) and change the mode."""
    nx, nr = shape[NX], shape[NR]
    at = shape[RESET] + guard
    call(table[at, 0], table[at, 1], out, inp)
    for i in range(nx):
        row[lay[X_PLUS] + i] = out[i]
        row[lay[H_T] + i] = out[nx + i]
    for k in range(nx * nx):
        row[lay[H_X] + k] = out[2 * nx + k]
    for k in range(nx * nr):
        row[lay[H_RHO] + k] = out[2 * nx + nx * nx + k]
    state[MODE] = shape[shape[GUARDS] + shape[MODES] + 1 + EACH * guard + TO]
    return SUCCESS


@kernel("void(int64[::1], float64[::1], int64[::1])", inner=True)
def identity(shape, row, lay):
    """Write the reset that changes nothing."""
    nx, nr = shape[NX], shape[NR]
    for i in range(nx):
        row[lay[X_PLUS] + i] = row[lay[X_MINUS] + i]
        row[lay[H_T] + i] = 0.0
        for j in range(nx):
            row[lay[H_X] + i * nx + j] = 1.0 if i == j else 0.0
        for k in range(nr):
            row[lay[H_RHO] + i * nr + k] = 0.0


@kernel(f"void({PROBLEM}, int64, float64, float64[::1], int64[::1])", inner=True)
def bend(table, shape, inp, out, W, pivots, vec, state, j, back, row, lay):
    """Write d2r/dt2 of guard `j` along the flow: D here less D a time `back` before, over `back`.

    Time and state are those in `inp`, for which the record holds X_MINUS, F_MINUS and D; they are
    left as they are. X_PLUS and F_PLUS, not yet known, serve as workspaces. NaN where the flow has
    nothing before.
    """
    nx, t = shape[NX], inp[0]
    x, dx = row[lay[X_PLUS] :], row[lay[F_PLUS] :]
    for i in range(nx + 1):
        x[i] = row[lay[X_MINUS] + i] - back * row[lay[F_MINUS] + i]
    before = np.nan
    if flow(table, shape, inp, out, W, pivots, vec, state, t - back, x, dx, 0) == SUCCESS:
        for i in range(nx + 1):
            row[lay[F_MINUS] + i] = dx[i]
        guard_gradient(table, shape, inp, out, W, pivots, vec, state, j, row, lay)
        before = row[D]
    x = row[lay[X_MINUS] :]
    flow(table, shape, inp, out, W, pivots, vec, state, t, x, dx, 0)
    for i in range(nx + 1):
        row[lay[F_MINUS] + i] = dx[i]
    guard_gradient(table, shape, inp, out, W, pivots, vec, state, j, row, lay)
    row[BEND] = (row[D] - before) / back


@kernel("void(int64[::1], float64[::1], int64[::1], int64, float64[::1], boolean)", inner=True)
def saltate(shape, row, lay, width, cause, chained):
    """Event-time sensitivity and the jump of every column, from what the record holds.

    Of what is `chained` to the event `cause` the time is that one's: it happens beyond its zero.
    """
    nx, nr = shape[NX], shape[NR]
    block = nx + 1
    minus, plus = lay[F_MINUS], lay[F_PLUS]
    for k in range(width):
        at_minus, at_plus = lay[S_MINUS] + k * block, lay[S_PLUS] + k * block
        w = shape[WRT + k]
        total = row[lay[R_RHO] + w] if w >= 0 else 0.0
        for i in range(nx):
            total += row[lay[R_X] + i] * row[at_minus + i]
        tau = cause[lay[DTAU] + k] if chained else -total / row[D]
        row[lay[DTAU] + k] = tau
        for i in range(nx):
            value = row[lay[H_RHO] + i * nr + w] if w >= 0 else 0.0
            jump = row[lay[H_T] + i] - row[plus + i]
            for j in range(nx):
                h = row[lay[H_X] + i * nx + j]
                value += h * row[at_minus + j]
                jump += h * row[minus + j]
            row[at_plus + i] = value + jump * tau
        row[at_plus + nx] = row[at_minus + nx] + (row[minus + nx] - row[plus + nx]) * tau


@kernel("float64(float64[::1], int64, int64)", inner=True)
def largest(x, first, last):
    """Return max |x[first:last]|, infinity if any entry is not finite."""
    worst = 0.0
    for i in range(first, last):
        if not np.isfinite(x[i]):  # max() would swallow a NaN
            return np.inf
        worst = max(worst, abs(x[i]))
    return worst
