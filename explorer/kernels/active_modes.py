"""Modes of a system with step functions as native functions whose multipliers are solved for.

A mode is an active set and, where dc/dt = 0 has several solutions alpha on its surfaces, one of
them: of two equations that in which det d(dc/dt)/d alpha is positive or negative, of more that with
the k-th smallest first multiplier. `evaluate` has the signature of every native function of a
model; what it is to write is told by TASK. Field, guards and their derivatives follow by the
implicit function theorem: with R = dc/dt of what is slid on,

    R(t, x, alpha, rho) = 0,   alpha_y = -R_alpha^-1 R_y,   F_y = f_y + f_alpha alpha_y.

A guard is a switching function, a multiplier's distance from its bounds, or, of two surfaces, the
discriminant D = (det R_alpha)^2 of their quadratic equation: where it vanishes both roots do.

`data` are 64-bit words: TASK, the address of the words of the model, the mode, then what the task
is about. The model's words: see the constants; behind MODES the root and the signs of each mode.
The scratch memory lies behind the model's own input vector.
"""

import numpy as np

from explorer.kernels.jit import call, kernel
from explorer.kernels.linalg import lu_factor, lu_solve
from explorer.kernels.memory import integers, matrix, pointer, vector
from explorer.kernels.multiaffine import (
    BENCH_ROWS,
    CORNERS,
    FIRST,
    discriminant,
    pair,
    roots,
)

__all__ = ["address", "scratch"]

TASK, MODEL, MODE, REST = 0, 1, 2, 3
FIELD, FIELD_TLM, GUARDS, GUARD_TLM, RESET, BRANCH, START, ACTIVE = range(8)
# words of the model: counts, where scratch and rho begin in the input vector, columns of the bench,
# (address, data) of f, of f with its derivatives, of dc/dt, of that with its derivatives, of c
N, NC, NRHO, SCRATCH, RHO, WIDE, FLOW, FLOW_ALL, RATE, RATE_ALL, SWITCH = (
    0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14,
)  # fmt: skip
MODES = 16
# kinds of guards: c_j, alpha_j, 1 - alpha_j, D
SIDE, LOW, HIGH, FOLD = 0, 1, 2, 3
# kinds of conditions of a mode that may follow: it holds, the slide that is left attracts
HOLDS, ATTRACTS = 0, 1
ON = 1e-20  # the square of what is zero at the start


def scratch(n: int, nc: int, nrho: int, wide: int) -> int:
    """Return how many numbers of scratch memory there have to be."""
    return int(sum(_parts(n, nc, nrho, wide)))


@kernel("UniTuple(int64, 6)(int64, int64, int64, int64)")
def _parts(n, nc, nrho, wide):
    """Return the sizes of the parts of the scratch memory."""
    size = max(nc, 2)
    y = 1 + n + nrho
    most = max(n * (1 + y + nc), nc * (1 + y + nc))
    return 1 + n + nc + nrho, most, BENCH_ROWS * wide, 5 * size * size + 8 * size, nc * y, nc * y


@kernel(
    "int64(CPointer(int64), int64, float64[::1], float64[::1], float64[:, ::1], float64[:, ::1],"
    " int64[::1], float64[:, ::1])",
    inner=True,
)
def solve(model, mode, base, out, bench, M, pivots, r):
    """Write the multipliers of a mode to `base`; return 0 if there are none."""
    n, nc = model[N], model[NC]
    at = MODES + mode * (1 + nc)
    m = 0
    for j in range(nc):
        side = model[at + 1 + j]
        base[1 + n + j] = 1.0 if side > 0 else 0.0
        m += 1 if side == 0 else 0
    if m == 0:
        return 1
    for corner in range(1 << m):
        a = 0
        for j in range(nc):
            if model[at + 1 + j] == 0:
                base[1 + n + j] = (corner >> a) & 1
                a += 1
        call(model[RATE], model[RATE + 1], out, base)
        a = 0
        for j in range(nc):
            if model[at + 1 + j] == 0:
                bench[CORNERS + a, corner] = out[j]
                a += 1
    which = model[at]
    good = 1
    if m == 1:
        r[0, 0] = -bench[CORNERS, 0] / (bench[CORNERS, 1] - bench[CORNERS, 0])
        good = 1 if abs(r[0, 0]) < 1e6 else 0
    elif m == 2:
        for a in range(2):
            size = 0.0
            for corner in range(4):
                size = max(size, abs(bench[CORNERS + a, corner]))
            for corner in range(4):
                bench[CORNERS + a, corner] /= size
        good = 1 if pair(bench, 1 if which == 0 else -1, r[0], 1) != 0.0 else 0
    else:
        count = roots(bench, m, M, pivots, r)
        good = 1 if which < count else 0
        if good == 1:
            best = -1
            for _ in range(which + 1):  # the next larger first multiplier
                last = best
                best = -1
                for k in range(count):
                    behind = last < 0 or bench[FIRST + k, 0] > bench[FIRST + last, 0]
                    if behind and (best < 0 or bench[FIRST + k, 0] < bench[FIRST + best, 0]):
                        best = k
            good = 1 if best >= 0 else 0
            for a in range(m):
                r[0, a] = bench[FIRST + best, a] if good == 1 else 0.0
    a = 0
    for j in range(nc):
        if model[at + 1 + j] == 0:
            base[1 + n + j] = r[0, a] if good == 1 else np.nan
            a += 1
    return good


@kernel(
    "void(CPointer(int64), int64, float64[::1], float64[::1], float64[:, ::1], int64[::1],"
    " float64[:, ::1], float64[:, ::1])",
    inner=True,
)
def derive(model, mode, base, out, M, pivots, r, moved):
    """Set the derivatives (n_c, 1 + n + n_rho) of the multipliers by t, x and rho."""
    n, nc, nrho = model[N], model[NC], model[NRHO]
    at = MODES + mode * (1 + nc)
    y = 1 + n + nrho
    m = 0
    for j in range(nc):
        for k in range(y):
            moved[j, k] = 0.0
        m += 1 if model[at + 1 + j] == 0 else 0
    if m == 0:
        return
    call(model[RATE_ALL], model[RATE_ALL + 1], out, base)
    at_x, at_sel, at_rho = 2 * nc, 2 * nc + nc * n, 2 * nc + nc * n + nc * nc
    a = 0
    for i in range(nc):
        if model[at + 1 + i] == 0:
            b = 0
            for j in range(nc):
                if model[at + 1 + j] == 0:
                    M[a, b] = out[at_sel + i * nc + j]
                    b += 1
            a += 1
    singular = lu_factor(M, m, m - 1, m - 1, pivots) != 0
    for k in range(y):
        a = 0
        for i in range(nc):
            if model[at + 1 + i] == 0:
                if k == 0:
                    r[0, a] = -out[nc + i]
                elif k <= n:
                    r[0, a] = -out[at_x + i * n + k - 1]
                else:
                    r[0, a] = -out[at_rho + i * nrho + k - 1 - n]
                a += 1
        if not singular:
            lu_solve(M, m, m - 1, m - 1, pivots, r[0])
        a = 0
        for i in range(nc):
            if model[at + 1 + i] == 0:
                moved[i, k] = np.nan if singular else r[0, a]
                a += 1


@kernel(
    "float64(CPointer(int64), CPointer(int64), int64, float64[::1], float64[::1], float64[:, ::1],"
    " int64[::1])",
    inner=True,
)
def attracts(model, data, place, base, out, M, pivots):
    """Return -det J_Z det J_(Z without j), J = d(dc/dt)/d alpha; words: j, how many, Z."""
    nc = model[NC]
    j, count = data[place], data[place + 1]
    call(model[RATE_ALL], model[RATE_ALL + 1], out, base)
    at_sel = 2 * nc + nc * model[N]
    total = -1.0
    for without in range(2):
        a = 0
        for p in range(count):
            i = data[place + 2 + p]
            if without and i == j:
                continue
            b = 0
            for q in range(count):
                k = data[place + 2 + q]
                if without and k == j:
                    continue
                M[a, b] = out[at_sel + i * nc + k]
                b += 1
            a += 1
        if a > 0:
            if lu_factor(M, a, a - 1, a - 1, pivots) != 0:
                return 0.0
            for b in range(a):
                total *= M[b, b] * (-1.0 if pivots[b] != b else 1.0)
    return total


@kernel("void(CPointer(float64), CPointer(float64), CPointer(int64))")
def evaluate(result, inp, data):
    """Write what TASK says."""
    model = pointer(data[MODEL])
    task, mode = data[TASK], data[MODE]
    n, nc, nrho, wide = model[N], model[NC], model[NRHO], model[WIDE]
    y = 1 + n + nrho
    size = max(nc, 2)
    parts = _parts(n, nc, nrho, wide)
    at = model[SCRATCH]
    base = vector(inp, at, parts[0])
    at += parts[0]
    out = vector(inp, at, parts[1])
    at += parts[1]
    bench = matrix(inp, at, BENCH_ROWS, wide)
    at += parts[2]
    M = matrix(inp, at, size, size)
    r = matrix(inp, at + size * size, 3, size)
    pivots = integers(inp, at + size * size + 3 * size, size)
    at += parts[3]
    moved = matrix(inp, at, nc, y)
    at += parts[4]
    slopes = matrix(inp, at, nc, y)
    base[0] = inp[0]
    for k in range(n):
        base[1 + k] = inp[1 + k]
    for k in range(nrho):
        base[1 + n + nc + k] = inp[model[RHO] + k]
    if task == RESET:
        for k in range(n * (1 + y)):
            result[k] = 0.0
        for k in range(n):
            result[k] = inp[1 + k]
            result[2 * n + k * n + k] = 1.0
        return
    good = 1
    if task != START:
        good = solve(model, mode, base, out, bench, M, pivots, r)
    if task in (FIELD, FIELD_TLM):
        if good == 0:
            for k in range(n * (y if task == FIELD_TLM else 1)):
                result[k] = np.nan
            return
        if task == FIELD:
            call(model[FLOW], model[FLOW + 1], out, base)
            for k in range(n):
                result[k] = out[k]
            return
        derive(model, mode, base, out, M, pivots, r, moved)
        call(model[FLOW_ALL], model[FLOW_ALL + 1], out, base)
        at_sel = n + n * n
        at_rho = at_sel + n * nc + n
        for i in range(n):
            result[i] = out[i]
            for k in range(n):
                total = out[n + i * n + k]
                for j in range(nc):
                    total += out[at_sel + i * nc + j] * moved[j, 1 + k]
                result[n + i * n + k] = total
            for k in range(nrho):
                total = out[at_rho + i * nrho + k]
                for j in range(nc):
                    total += out[at_sel + i * nc + j] * moved[j, 1 + n + k]
                result[n + n * n + i * nrho + k] = total
        return
    if task in (ACTIVE, GUARDS):
        call(model[SWITCH], model[SWITCH + 1], out, base)
    if task == ACTIVE:
        for j in range(nc):
            result[j] = base[1 + n + j]
            result[nc + j] = out[j]
        return
    if task == GUARDS:
        count = data[REST]
        for g in range(count):
            j, kind = data[REST + 1 + 2 * g], data[REST + 2 + 2 * g]
            if kind == SIDE:
                result[g] = out[j]
            elif kind == FOLD:
                result[g] = discriminant(bench)
            else:
                result[g] = base[1 + n + j] if kind == LOW else 1.0 - base[1 + n + j]
            result[count + g] = 1.0
        return
    if task == GUARD_TLM:
        j, kind = data[REST], data[REST + 1]
        if kind == SIDE:
            call(model[SWITCH], model[SWITCH + 1], out, base)
            result[0] = out[nc + nc * n + j]
            for k in range(n):
                result[1 + k] = out[nc + j * n + k]
            for k in range(nrho):
                result[1 + n + k] = out[nc * (n + 2) + j * nrho + k]
        elif kind == FOLD:  # a measured slope: D is smooth where the roots are not
            for k in range(y):
                was = base[k] if k <= n else base[nc + k]
                step = 1e-6 * (1.0 + abs(was))
                total = 0.0
                for side in (1.0, -1.0):
                    place = k if k <= n else nc + k
                    base[place] = was + side * step
                    solve(model, mode, base, out, bench, M, pivots, r)
                    total += side * discriminant(bench)
                    base[place] = was
                result[k] = total / (2.0 * step)
        else:
            derive(model, mode, base, out, M, pivots, r, moved)
            for k in range(y):
                result[k] = moved[j, k] if kind == LOW else -moved[j, k]
        return
    # conditions of the modes that may follow: of each its number, how many, then kind and function
    count = data[REST]
    place = REST + 1
    at_result = 0
    now = mode
    for _ in range(count):
        other, many = data[place], data[place + 1]
        place += 2
        if many > 0 and data[place] == ATTRACTS:
            if now != mode:
                solve(model, mode, base, out, bench, M, pivots, r)
                now = mode
            result[at_result] = attracts(model, data, place + 1, base, out, M, pivots)
            place += 3 + data[place + 2]
            at_result += 1
            continue
        good = solve(model, other, base, out, bench, M, pivots, r)
        now = other
        signs = MODES + other * (1 + nc) + 1
        on = 0
        for j in range(nc):
            on += 1 if model[signs + j] == 0 else 0
        if on == 2 and not discriminant(bench) > 0.0:
            good = 0
        call(model[SWITCH], model[SWITCH + 1], out, base)
        for j in range(nc):
            slopes[j, 0] = out[j]
        call(model[RATE], model[RATE + 1], out, base)
        for _ in range(many):
            j = data[place + 1]
            place += 2
            side = model[signs + j]
            off = task == START and slopes[j, 0] * slopes[j, 0] > ON
            if side != 0:
                result[at_result] = side * (slopes[j, 0] if off else out[j])
                if good == 0:
                    result[at_result] = np.nan
                at_result += 1
            else:
                alpha = base[1 + n + j]
                away = -slopes[j, 0] * slopes[j, 0]
                if good == 0:
                    alpha = np.nan
                result[at_result] = away if off else alpha
                result[at_result + 1] = away if off else 1.0 - alpha
                at_result += 2


def address() -> int:
    """Return the address of `evaluate`."""
    (compiled,) = evaluate.overloads.values()
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    return compiled.library.get_pointer_to_function(name)
