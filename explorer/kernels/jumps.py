"""What happens at an event: resets, impacts, contacts that close or open, and their derivatives.

With reset h and guard r, D = r_t + r_x f-, the event-time sensitivity is
dt/drho = -(r_x S- + r_rho) / D (Corner et al. 2019, eq. (33), generalised) and
S+ = h_x S- + h_rho + (h_x f- + h_t - f+) dt/drho, whose rows are (35), (38) and, for the running
cost, (48). An impact is the reset v+ = v- + dv with M dv = G' p and
0 <= G v+ + gap_t + e (G v- + gap_t) perp p >= 0 over the touching contacts; its derivative follows
from the same saddle system over the contacts that received an impulse.
"""

import numpy as np

from explorer.kernels.flows import (
    CLOSED,
    CON,
    DYN,
    GAP_RHO,
    GUARD_TLM,
    GUARDS,
    HELD,
    IMPACT,
    KIND,
    MODE,
    MODES,
    NC,
    NR,
    NX,
    PROBLEM,
    RESET,
    STEP,
    WRT,
    N,
    accelerate,
    tangent,
)  # fmt: skip
from explorer.kernels.jit import call, kernel
from explorer.kernels.lcp import solve
from explorer.kernels.linalg import lu_factor, lu_solve
from explorer.status import SINGULAR, SUCCESS

# places in a row of the event record; what follows them is laid out by `Layout` of the scheme
T, D, REST, R_T = 0, 1, 2, 3
X_MINUS, X_PLUS, F_MINUS, F_PLUS, R_X, R_RHO = 0, 1, 2, 3, 4, 5
H_T, H_X, H_RHO, DTAU, P, S_MINUS, S_PLUS = 6, 7, 8, 9, 10, 11, 12

LCP_WORK = (
    "float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[:, ::1], int8[::1]"
)


@kernel(f"int64({PROBLEM}, int64, float64[::1], int64[::1])", inner=True)
def guard_gradient(table, shape, inp, out, W, pivots, vec, state, j, row, lay):
    """Write r_t, r_x, r_rho of guard `j` of the present mode at the state in `inp`, and D.

    F_MINUS of the record must hold x'.
    """
    nx, n, nc, nr = shape[NX], shape[N], shape[NC], shape[NR]
    r_x, r_rho = lay[R_X], lay[R_RHO]
    if shape[KIND] == 0:
        at = shape[GUARD_TLM] + shape[shape[GUARDS] + state[MODE]] + j
        call(table[at, 0], table[at, 1], out, inp)
        row[R_T] = out[0]
        for i in range(nx):
            row[r_x + i] = out[1 + i]
        for k in range(nr):
            row[r_rho + k] = out[1 + nx + k]
    elif state[CLOSED + j] == 0:
        call(table[GAP_RHO, 0], table[GAP_RHO, 1], out, inp)
        for k in range(nr):
            row[r_rho + k] = out[j * nr + k]
        call(table[CON, 0], table[CON, 1], out, inp)
        row[R_T] = out[nc + j]
        for i in range(n):
            row[r_x + i] = out[2 * nc + j * n + i]
            row[r_x + n + i] = 0.0
    else:
        status = accelerate(table, shape, inp, out, W, pivots, vec, state)
        if status != SUCCESS:
            return status
        call(table[STEP, 0], table[STEP, 1], out, inp)
        place = n
        for c in range(j):
            place += state[CLOSED + c]
        for m in range(nx + nr + 1):
            for i in range(nx):
                vec[2, i] = 1.0 if i == m else 0.0
            w = -1
            if m == nx + nr:
                w = -2
            elif m >= nx:
                w = m - nx
            tangent(table, shape, inp, out, W, pivots, vec, state, w)
            slope = -vec[1, place]
            if m < nx:
                row[r_x + m] = slope
            elif m < nx + nr:
                row[r_rho + m - nx] = slope
            else:
                row[R_T] = slope
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
    state[MODE] = shape[shape[GUARDS] + shape[MODES] + 1 + 4 * guard + 1]
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


@kernel(f"int64({PROBLEM}, int64[::1], int64, float64[:, ::1])", inner=True)
def delassus(table, shape, inp, out, W, pivots, vec, state, act, m, matrix):
    """matrix[a, b] = G_a M^-1 G_b' over the contacts listed in `act`; vec[0] = M^-1 F."""
    n, nc = shape[N], shape[NC]
    call(table[DYN, 0], table[DYN, 1], out, inp)
    for i in range(n):
        for j in range(n):
            W[i, j] = out[i * n + j]
        vec[0, i] = out[n * n + i]
    if lu_factor(W, n, n - 1, n - 1, pivots) != 0:
        return SINGULAR
    lu_solve(W, n, n - 1, n - 1, pivots, vec[0])
    call(table[CON, 0], table[CON, 1], out, inp)
    for k in range(m):
        a = act[k]
        for i in range(n):
            vec[1, i] = out[2 * nc + a * n + i]
        lu_solve(W, n, n - 1, n - 1, pivots, vec[1])
        for k2 in range(m):
            total = 0.0
            for i in range(n):
                total += out[2 * nc + act[k2] * n + i] * vec[1, i]
            matrix[act[k2], a] = total
    return SUCCESS


@kernel(f"int64({PROBLEM}, {LCP_WORK}, float64, float64)", inner=True)
def settle(
    table, shape, inp, out, W, pivots, vec, state, matrix, A, tab, vectors, ints, member,
    band, slow,
):  # fmt: skip
    """Decide which touching contacts stay closed: 0 <= gap'' perp lam >= 0 at the state in `inp`.

    Contacts count that lie within `band` and neither part nor close faster than `slow`.
    """
    n, nc = shape[N], shape[NC]
    act = ints[0]
    call(table[CON, 0], table[CON, 1], out, inp)
    m = 0
    for c in range(nc):
        speed = out[nc + c]
        for i in range(n):
            speed += out[2 * nc + c * n + i] * inp[1 + n + i]
        state[CLOSED + c] = 0
        if out[c] <= band and abs(speed) <= slow:
            act[m] = c
            m += 1
    state[HELD] = 0
    if m == 0:
        return SUCCESS
    status = delassus(table, shape, inp, out, W, pivots, vec, state, act, m, matrix)
    if status != SUCCESS:
        return status
    for k in range(m):
        c = act[k]
        total = out[2 * nc + nc * n + c]
        for i in range(n):
            total += out[2 * nc + c * n + i] * vec[0, i]
        vectors[0, k] = total
    status = solve(
        0, matrix, act, m, m, vectors[0], 1e-9, 1000, vectors[1], member, tab, A, ints[1], ints[2],
        ints[3], vectors[2], vectors[3],
    )  # fmt: skip
    ints[3, 0] = -1
    if status != SUCCESS:
        return status
    for k in range(m):
        if vectors[1, k] > 0.0:
            state[CLOSED + act[k]] = 1
            state[HELD] += 1
    return SUCCESS


@kernel(
    f"int64({PROBLEM}, {LCP_WORK}, float64, float64[::1], float64[:, ::1], float64[::1],"
    " int64[::1], int64)",
    inner=True,
)
def impact(
    table, shape, inp, out, W, pivots, vec, state, matrix, A, tab, vectors, ints, member,
    band, e, e_rho, row, lay, width,
):  # fmt: skip
    """Let all touching contacts share the impulses of an impact; fill the reset of the record.

    `e` are the restitutions that count here (0 for a contact that closes).
    """
    nx, n, nc, nr = shape[NX], shape[N], shape[NC], shape[NR]
    act = ints[0]
    at_a, at_lam = 1 + nx + nr + n, 1 + 2 * nx + nr
    at_e = at_lam + nc
    for c in range(nc):
        inp[at_e + c] = e[c]
        row[lay[P] + c] = 0.0
    identity(shape, row, lay)
    call(table[CON, 0], table[CON, 1], out, inp)
    m = 0
    for c in range(nc):
        if out[c] <= band or state[CLOSED + c] == 1:
            act[m] = c
            m += 1
    status = delassus(table, shape, inp, out, W, pivots, vec, state, act, m, matrix)
    if status != SUCCESS:
        return status
    for k in range(m):
        c = act[k]
        speed = out[nc + c]
        for i in range(n):
            speed += out[2 * nc + c * n + i] * inp[1 + n + i]
        vectors[4, c] = speed
        vectors[0, k] = (1.0 + e[c]) * speed
    status = solve(
        0, matrix, act, m, m, vectors[0], 1e-9, 1000, vectors[1], member, tab, A, ints[1], ints[2],
        ints[3], vectors[2], vectors[3],
    )  # fmt: skip
    ints[3, 0] = -1
    if status != SUCCESS:
        return status
    for i in range(n):
        vec[1, i] = 0.0
    for k in range(m):
        row[lay[P] + act[k]] = vectors[1, k]
        for i in range(n):
            vec[1, i] += out[2 * nc + act[k] * n + i] * vectors[1, k]
    lu_solve(W, n, n - 1, n - 1, pivots, vec[1])
    for i in range(n):
        row[lay[X_PLUS] + n + i] += vec[1, i]
        inp[at_a + i] = vec[1, i]
    if width == 0:
        return SUCCESS

    # the derivative: the saddle matrix over the contacts with an impulse
    call(table[DYN, 0], table[DYN, 1], out, inp)
    for i in range(n):
        for j in range(n):
            W[i, j] = out[i * n + j]
    call(table[CON, 0], table[CON, 1], out, inp)
    size = n
    for c in range(nc):
        inp[at_lam + c] = row[lay[P] + c]
        if row[lay[P] + c] > 0.0:
            for j in range(n):
                W[size, j] = out[2 * nc + c * n + j]
                W[j, size] = W[size, j]
            for j in range(n, size + 1):
                W[size, j] = 0.0
                W[j, size] = 0.0
            size += 1
    if lu_factor(W, size, size - 1, size - 1, pivots) != 0:
        return SINGULAR
    call(table[IMPACT, 0], table[IMPACT, 1], out, inp)
    B = n * n + n * nr + n
    for d in range(nx + nr + 1):
        for i in range(n):
            if d < n:
                vec[1, i] = -out[i * n + d]
            elif d < nx:
                vec[1, i] = 0.0
            elif d < nx + nr:
                vec[1, i] = -out[n * n + i * nr + d - nx]
            else:
                vec[1, i] = -out[n * n + n * nr + i]
        place = n
        for c in range(nc):
            if row[lay[P] + c] > 0.0:
                if d < n:
                    vec[1, place] = -out[B + c * n + d]
                elif d < nx:
                    vec[1, place] = -out[B + nc * n + c * n + d - n]
                elif d < nx + nr:
                    vec[1, place] = -out[B + 2 * nc * n + c * nr + d - nx]
                    if e[c] > 0.0:
                        vec[1, place] -= vectors[4, c] * e_rho[c, d - nx]
                else:
                    vec[1, place] = -out[B + 2 * nc * n + nc * nr + c]
                place += 1
        lu_solve(W, size, size - 1, size - 1, pivots, vec[1])
        for i in range(n):
            if d < nx:
                row[lay[H_X] + (n + i) * nx + d] += vec[1, i]
            elif d < nx + nr:
                row[lay[H_RHO] + (n + i) * nr + d - nx] = vec[1, i]
            else:
                row[lay[H_T] + n + i] = vec[1, i]
    return SUCCESS


@kernel("void(int64[::1], float64[::1], int64[::1], int64)", inner=True)
def saltate(shape, row, lay, width):
    """Event-time sensitivity and the jump of every column, from what the record holds."""
    nx, nr = shape[NX], shape[NR]
    block = nx + 1
    minus, plus = lay[F_MINUS], lay[F_PLUS]
    for k in range(width):
        at_minus, at_plus = lay[S_MINUS] + k * block, lay[S_PLUS] + k * block
        w = shape[WRT + k]
        total = row[lay[R_RHO] + w] if w >= 0 else 0.0
        for i in range(nx):
            total += row[lay[R_X] + i] * row[at_minus + i]
        tau = -total / row[D]
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
    """Return max |x[first:last]|."""
    worst = 0.0
    for i in range(first, last):
        worst = max(worst, abs(x[i]))
    return worst if np.isfinite(worst) else np.inf
