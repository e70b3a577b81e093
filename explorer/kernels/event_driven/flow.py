"""x' = f(t, x, rho) of a mode, its tangent linear model and its guards, behind native bundles.

Two kinds of problem share everything that marches (`explorer.kernels.event_driven.march`):

automaton    modes with an explicit f each, guards and resets as formulas
mechanical   x = (q, v); a mode is the set of closed contacts, held at acceleration level by
             [[M, G'], [G, 0]] [a; -lam] = [F; -gamma],  gap'' = G a + gamma
             where a sticking contact holds its tangent row too, and the column of a sliding one
             is that of G - sigma mu H (H its tangent, sigma the sign of its sliding velocity)

Tangent linear model: Corner et al. 2019, eq. (14), (17), (18) with (15) for the saddle system: with
R = M a - F - G' lam and A = G a + gamma, the same factors solve
[[M, G'], [G, 0]] [a'; -lam'] = -[R_q Q + R_v V + R_rho; A_q Q + A_v V + A_rho].

The vector marched is y = [x, z, then per parameter (S, Z)], z the running cost. Every bundle reads
[t, x, rho, x', lam, e, sigma, sides].
"""

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve

# places in `shape`; at WRT the parameter of each column follows (-1: a start value)
KIND, NX, N, NC, NR, NP, COST, MODES = 0, 1, 2, 3, 4, 5, 6, 7
# rows of `table` at which the bundles of an automaton begin; place of its guards in `shape`
TLM, GUARD, GUARD_TLM, RESET, COST_ROW, GUARDS = 8, 9, 10, 11, 12, 13
# normals and tangents together; from there on the tangent row of each contact (-1: frictionless),
# then the contact of each tangent
ROWS, OWNERS = 14, 15
# how many surfaces formulas turn at, and the place in `shape` of the places of their sides in `inp`
SIDES, SIDES_AT = 16, 17
WRT = 18
# of each guard: direction, mode that follows, flags, mode behind an accumulation, how many modes
# may follow, row of `table` with their conditions, place in `shape` of their numbers: of each the
# mode, its guard that is left, its first condition and one past its last; which guard of the mode
# that follows has the same zero (-1: none)
EACH, TO, FLAGS, BEYOND, BRANCHES, BRANCH_ROW, BRANCH_AT, SAME = 8, 1, 2, 3, 4, 5, 6, 7
# rows of `table` for a mechanical system
DYN, CON, GAP, STEP, IMPACT, GAP_RHO = 0, 1, 2, 3, 4, 5
# `state`: the mode, how many rows are held, the guard whose event has just happened (-1: of another
# mode, -2: none, + the number of guards: one that is left, or a contact that let go), then from
# CLOSED on which rows are held, then each tangent's sigma, then the sides of the surfaces
MODE, HELD, FIRED, CLOSED = 0, 1, 2, 8

PROBLEM = (
    "int64[:, ::1], int64[::1], float64[::1], float64[::1], float64[:, ::1], int64[::1],"
    " float64[:, ::1], int64[::1]"
)


@kernel(f"int64({PROBLEM})", inline=True)
def assemble(table, shape, inp, out, W, pivots, vec, state):
    """Write the saddle matrix of the rows held at the state in `inp`, and vec[0] = (F, -gamma).

    Returns its size: the held rows stand in their order behind the coordinates. Leaves the CON
    bundle in `out` if any is held.
    """
    n, nc, rows = shape[N], shape[NC], shape[ROWS]
    call(table[DYN, 0], table[DYN, 1], out, inp)
    for i in range(n):
        for j in range(n):
            W[i, j] = out[i * n + j]
        vec[0, i] = out[n * n + i]
    size = n
    if state[HELD] == 0:
        return size
    call(table[CON, 0], table[CON, 1], out, inp)
    G, mu = 2 * rows, 2 * rows + rows * (n + 1)
    for c in range(rows):
        if state[CLOSED + c] == 1:
            for j in range(n):
                W[size, j] = out[G + c * n + j]
                W[j, size] = W[size, j]
            for j in range(n, size + 1):
                W[size, j] = 0.0
                W[j, size] = 0.0
            if c < nc and shape[shape[OWNERS] + c] >= 0:
                k = shape[shape[OWNERS] + c]
                pull = state[CLOSED + rows + k - nc] * out[mu + k - nc]
                for j in range(n):
                    W[j, size] -= pull * out[G + k * n + j]
            vec[0, size] = -out[G + rows * n + c]
            size += 1
    return size


@kernel(f"int64({PROBLEM})", inline=True)
def accelerate(table, shape, inp, out, W, pivots, vec, state):
    """Solve for accelerations and contact forces at the state in `inp`, and write them there.

    W keeps the factors of the saddle matrix, contacts in their order behind the coordinates.
    """
    nx, n, nc, rows = shape[NX], shape[N], shape[NC], shape[ROWS]
    at_a = 1 + nx + shape[NR] + n
    lam = at_a + n
    size = assemble(table, shape, inp, out, W, pivots, vec, state)
    if size == 1 and W[0, 0] != 0.0:
        pivots[0] = 0
        vec[0, 0] /= W[0, 0]
    else:
        if lu_factor(W, size, size - 1, size - 1, pivots) != 0:
            return SINGULAR
        lu_solve(W, size, size - 1, size - 1, pivots, vec[0])
    for i in range(n):
        inp[at_a - n + i] = inp[1 + n + i]
        inp[at_a + i] = vec[0, i]
    size = n
    for c in range(rows):
        inp[lam + c] = 0.0
        if state[CLOSED + c] == 1:
            inp[lam + c] = -vec[0, size]
            size += 1
    for k in range(rows - nc):
        inp[lam + rows + nc + k] = state[CLOSED + rows + k]
    return SUCCESS


@kernel(f"void({PROBLEM}, int64)", inline=True)
def tangent(table, shape, inp, out, W, pivots, vec, state, w):
    """vec[1] = (a', -lam') along the direction vec[2] of (q, v) and parameter w (-1: none, -2: t).

    Wants `accelerate` done and the STEP bundle in `out`.
    """
    n, rows, nr = shape[N], shape[ROWS], shape[NR]
    for i in range(n):
        total = 0.0
        for j in range(n):
            total -= out[i * n + j] * vec[2, j] + out[n * n + i * n + j] * vec[2, n + j]
        if w >= 0:
            total -= out[2 * n * n + i * nr + w]
        elif w == -2:
            total -= out[2 * n * n + n * nr + i]
        vec[1, i] = total
    size = n
    at = 2 * n * n + n * nr + n
    for c in range(rows):
        if state[CLOSED + c] == 1:
            total = 0.0
            for j in range(n):
                total -= out[at + c * n + j] * vec[2, j]
                total -= out[at + rows * n + c * n + j] * vec[2, n + j]
            if w >= 0:
                total -= out[at + 2 * rows * n + c * nr + w]
            elif w == -2:
                total -= out[at + 2 * rows * n + rows * nr + c]
            vec[1, size] = total
            size += 1
    lu_solve(W, size, size - 1, size - 1, pivots, vec[1])


@kernel(f"int64({PROBLEM}, float64, float64[::1], float64[::1], int64)", inline=True)
def slopes(table, shape, inp, out, W, pivots, vec, state, t, y, dy, width):
    """Write y' for the state, the running cost and the first `width` sensitivity columns."""
    nx, n, nr = shape[NX], shape[N], shape[NR]
    rates = 1 + nx + nr
    block = nx + 1
    inp[0] = t
    for i in range(nx):
        inp[1 + i] = y[i]
    for k in range(shape[SIDES]):
        inp[shape[shape[SIDES_AT] + k]] = state[CLOSED + 2 * shape[ROWS] - shape[NC] + k]
    if shape[KIND] == 0:
        row = state[MODE] if width == 0 else shape[TLM] + state[MODE]
        call(table[row, 0], table[row, 1], out, inp)
        for i in range(nx):
            dy[i] = out[i]
            inp[rates + i] = out[i]
        for k in range(width):
            at = (k + 1) * block
            w = shape[WRT + k]
            for i in range(nx):
                total = out[nx + nx * nx + i * nr + w] if w >= 0 else 0.0
                for j in range(nx):
                    total += out[nx + i * nx + j] * y[at + j]
                dy[at + i] = total
    else:
        status = accelerate(table, shape, inp, out, W, pivots, vec, state)
        if status != SUCCESS:
            return status
        for i in range(n):
            dy[i] = y[n + i]
            dy[n + i] = inp[rates + n + i]
        if width > 0:
            call(table[STEP, 0], table[STEP, 1], out, inp)
        for k in range(width):
            at = (k + 1) * block
            for j in range(nx):
                vec[2, j] = y[at + j]
            tangent(table, shape, inp, out, W, pivots, vec, state, shape[WRT + k])
            for i in range(n):
                dy[at + i] = y[at + n + i]
                dy[at + n + i] = vec[1, i]
    for k in range(width + 1):
        dy[k * block + nx] = 0.0
    if shape[COST] == 1:
        row = shape[COST_ROW]
        call(table[row, 0], table[row, 1], out, inp)
        dy[nx] = out[0]
        for k in range(width):
            at = (k + 1) * block
            w = shape[WRT + k]
            total = out[1 + 2 * nx + w] if w >= 0 else 0.0
            for j in range(nx):
                total += out[1 + j] * y[at + j] + out[1 + nx + j] * dy[at + j]
            dy[at + nx] = total
    return SUCCESS


@kernel(f"int64({PROBLEM}, float64, float64[::1], float64[::1], int64)", inner=True)
def flow(table, shape, inp, out, W, pivots, vec, state, t, y, dy, width):
    """`slopes`, for the many places where a call costs little."""
    return slopes(table, shape, inp, out, W, pivots, vec, state, t, y, dy, width)


@kernel("int64(int64[::1], int64[::1])", inline=True)
def guard_count(shape, state):
    """Return how many guards watch the present mode."""
    if shape[KIND] == 1:
        return 2 * shape[ROWS] - shape[NC]
    at = shape[GUARDS] + state[MODE]
    return shape[at + 1] - shape[at]


@kernel(f"int64({PROBLEM}, float64[::1])", inner=True)
def held_guards(table, shape, inp, out, W, pivots, vec, state, values):
    """Write the guards of the closed contacts at the state in `inp` to their places."""
    nx, n, nc, rows = shape[NX], shape[N], shape[NC], shape[ROWS]
    lam = 1 + 2 * nx + shape[NR]
    status = accelerate(table, shape, inp, out, W, pivots, vec, state)
    if status != SUCCESS:
        return status
    for c in range(nc):
        if state[CLOSED + c] == 1:
            values[c] = inp[lam + c]
            k = shape[shape[OWNERS] + c]
            if k < 0:
                continue
            if state[CLOSED + k] == 1:
                most = out[2 * rows + rows * (n + 1) + rows - nc + k - nc] * inp[lam + c]
                values[k] = most - inp[lam + k]
                values[k + rows - nc] = most + inp[lam + k]
            else:
                speed = out[rows + k]
                for i in range(n):
                    speed += out[2 * rows + k * n + i] * inp[1 + n + i]
                values[k] = state[CLOSED + rows + k - nc] * speed
    return SUCCESS


@kernel(f"int64({PROBLEM}, float64, float64[::1], float64[::1])", inline=True)
def guards(table, shape, inp, out, W, pivots, vec, state, t, x, values):
    """Write the guards of the present mode.

    For a contact its gap, or its force while closed; behind them for each tangent two: the sliding
    velocity in its own direction and 1, or mu lam -+ lam_t while it sticks, or 1 and 1 while open.
    """
    inp[0] = t
    for i in range(shape[NX]):
        inp[1 + i] = x[i]
    count = guard_count(shape, state)
    if count == 0:
        return SUCCESS
    row, from_model = shape[GUARD] + state[MODE], count
    if shape[KIND] == 1:
        row, from_model = GAP, shape[NC]
    call(table[row, 0], table[row, 1], out, inp)
    for j in range(from_model):
        values[j] = out[j]
    for j in range(from_model, count):
        values[j] = 1.0
    if state[HELD] > 0:
        return held_guards(table, shape, inp, out, W, pivots, vec, state, values)
    return SUCCESS


@kernel("void(int64[::1], int64[::1], int64[:, ::1], int64)", inline=True)
def restore(shape, state, step_state, i):
    """Set the mode, the held rows and the sides to those of the step `i` of a record."""
    state[MODE] = step_state[i, 0]
    state[HELD] = 0
    for c in range(2 * shape[ROWS] - shape[NC] + shape[SIDES]):
        state[CLOSED + c] = step_state[i, 1 + c]
        if c < shape[ROWS]:
            state[HELD] += state[CLOSED + c]
