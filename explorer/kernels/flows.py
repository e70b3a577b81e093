"""x' = f(t, x, rho) of a mode, its tangent linear model and its guards, behind native bundles.

Two kinds of problem share everything that marches (`explorer.kernels.event_driven`):

automaton    modes with an explicit f each, guards and resets as formulas
mechanical   x = (q, v); a mode is the set of closed contacts, held at acceleration level by
             [[M, G'], [G, 0]] [a; -lam] = [F; -gamma],  gap'' = G a + gamma

Tangent linear model: Corner et al. 2019, eq. (14), (17), (18) with (15) for the saddle system: with
R = M a - F - G' lam and A = G a + gamma, the same factors solve
[[M, G'], [G, 0]] [a'; -lam'] = -[R_q Q + R_v V + R_rho; A_q Q + A_v V + A_rho].

The vector marched is y = [x, z, then per parameter (S, Z)], z the running cost. Every bundle reads
[t, x, rho, x', lam, e].
"""

from explorer.kernels.jit import call, kernel
from explorer.kernels.linalg import lu_factor, lu_solve
from explorer.status import SINGULAR, SUCCESS

# places in `shape`; at WRT the parameter of each column follows (-1: a start value)
KIND, NX, N, NC, NR, NP, COST, MODES = 0, 1, 2, 3, 4, 5, 6, 7
# rows of `table` at which the bundles of an automaton begin; place of its guards in `shape`
TLM, GUARD, GUARD_TLM, RESET, COST_ROW, GUARDS = 8, 9, 10, 11, 12, 13
WRT = 16
# rows of `table` for a mechanical system
DYN, CON, GAP, STEP, IMPACT, GAP_RHO = 0, 1, 2, 3, 4, 5
# `state`: the mode, how many contacts are closed, then from CLOSED on which
MODE, HELD, CLOSED = 0, 1, 8

PROBLEM = (
    "int64[:, ::1], int64[::1], float64[::1], float64[::1], float64[:, ::1], int64[::1],"
    " float64[:, ::1], int64[::1]"
)


@kernel(f"int64({PROBLEM})", inline=True)
def accelerate(table, shape, inp, out, W, pivots, vec, state):
    """Solve for accelerations and contact forces at the state in `inp`, and write them there.

    W keeps the factors of the saddle matrix, contacts in their order behind the coordinates.
    """
    nx, n, nc = shape[NX], shape[N], shape[NC]
    at_a = 1 + nx + shape[NR] + n
    lam = at_a + n
    call(table[DYN, 0], table[DYN, 1], out, inp)
    for i in range(n):
        for j in range(n):
            W[i, j] = out[i * n + j]
        vec[0, i] = out[n * n + i]
    size = n
    if state[HELD] > 0:
        call(table[CON, 0], table[CON, 1], out, inp)
        for c in range(nc):
            if state[CLOSED + c] == 1:
                for j in range(n):
                    W[size, j] = out[2 * nc + c * n + j]
                    W[j, size] = W[size, j]
                for j in range(n, size + 1):
                    W[size, j] = 0.0
                    W[j, size] = 0.0
                vec[0, size] = -out[2 * nc + nc * n + c]
                size += 1
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
    for c in range(nc):
        inp[lam + c] = 0.0
        if state[CLOSED + c] == 1:
            inp[lam + c] = -vec[0, size]
            size += 1
    return SUCCESS


@kernel(f"void({PROBLEM}, int64)", inline=True)
def tangent(table, shape, inp, out, W, pivots, vec, state, w):
    """vec[1] = (a', -lam') along the direction vec[2] of (q, v) and parameter w (-1: none, -2: t).

    Wants `accelerate` done and the STEP bundle in `out`.
    """
    n, nc, nr = shape[N], shape[NC], shape[NR]
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
    for c in range(nc):
        if state[CLOSED + c] == 1:
            total = 0.0
            for j in range(n):
                total -= out[at + c * n + j] * vec[2, j]
                total -= out[at + nc * n + c * n + j] * vec[2, n + j]
            if w >= 0:
                total -= out[at + 2 * nc * n + c * nr + w]
            elif w == -2:
                total -= out[at + 2 * nc * n + nc * nr + c]
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


@kernel(f"int64({PROBLEM}, float64, float64[::1], float64[::1])", inner=True)
def guards(table, shape, inp, out, W, pivots, vec, state, t, x, values):
    """Write the guards of the present mode; for a contact its gap, or its force while closed."""
    nx, nc = shape[NX], shape[NC]
    inp[0] = t
    for i in range(nx):
        inp[1 + i] = x[i]
    if shape[KIND] == 0:
        row = shape[GUARD] + state[MODE]
        call(table[row, 0], table[row, 1], out, inp)
        at = shape[GUARDS]
        for j in range(shape[at + state[MODE] + 1] - shape[at + state[MODE]]):
            values[j] = out[j]
        return SUCCESS
    if nc == 0:
        return SUCCESS
    call(table[GAP, 0], table[GAP, 1], out, inp)
    for c in range(nc):
        values[c] = out[c]
    if state[HELD] > 0:
        status = accelerate(table, shape, inp, out, W, pivots, vec, state)
        if status != SUCCESS:
            return status
        for c in range(nc):
            if state[CLOSED + c] == 1:
                values[c] = inp[1 + 2 * nx + shape[NR] + c]
    return SUCCESS


@kernel(f"int64({PROBLEM})", inline=True)
def guard_count(table, shape, inp, out, W, pivots, vec, state):
    """Return how many guards watch the present mode."""
    if shape[KIND] == 1:
        return shape[NC]
    at = shape[GUARDS] + state[MODE]
    return shape[at + 1] - shape[at]
