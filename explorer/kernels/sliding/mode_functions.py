"""Native functions of modes whose multipliers `explorer.kernels.sliding.active_modes` finds.

`evaluate` has the signature of every native function of a model; what it is to write is told by a
task: see `explorer.kernels.sliding.structures`. A field is F = f(t, x, alpha), its derivatives
F_y = f_y + f_alpha alpha_y. A guard is a switching function, a multiplier's distance from its
bounds, or, of two surfaces, the discriminant D = (det R_alpha)^2 of their quadratic equation:
where it vanishes both roots do.
"""

import numpy as np

from explorer.kernels.jit import call
from explorer.kernels.memory import integers, pointer
from explorer.kernels.references import kernel, refer
from explorer.kernels.sliding.active_modes import Scratch, attracts, derive, memory, solve
from explorer.kernels.sliding.multiaffine import discriminant
from explorer.kernels.sliding.structures import (
    FOLLOWER_WORDS,
    TASK_WORDS,
    FollowerRows,
    GuardRows,
    Model,
    followers,
    guards,
    model_at,
    tasks,
)
from explorer.kernels.structures import Integers, Memory, Numbers

__all__ = ["address"]

# kinds of tasks
FIELD, FIELD_TLM, GUARDS, GUARD_TLM, RESET, BRANCH, START, ACTIVE = range(8)
# kinds of guards: c_j, alpha_j, 1 - alpha_j, D
SIDE, LOW, HIGH, FOLD = 0, 1, 2, 3
ON = 1e-20  # the square of what is zero at the start
ONE = 1e-6  # multipliers of two modes that are closer are the same


@kernel(inner=True)
def write_field(result: Memory, model: Model, mode: int, tangents: int, scratch: Scratch) -> None:
    """Write x', and with `tangents` its derivatives by x and rho; NaN without multipliers."""
    head = model.head
    n, nc, nrho = head[0].n, head[0].n_c, head[0].n_rho
    out, moved = scratch.out, scratch.moved
    if solve(model, mode, scratch) == 0:
        for k in range(n * (1 + n + nrho if tangents else 1)):
            result[k] = np.nan
        return
    if not tangents:
        call(head[0].f.address, head[0].f.data, out, scratch.base)
        for k in range(n):
            result[k] = out[k]
        return
    derive(model, mode, scratch)
    call(head[0].f_all.address, head[0].f_all.data, out, scratch.base)
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


@kernel(inner=True)
def write_guards(
    result: Memory, model: Model, mode: int, rows: GuardRows, scratch: Scratch
) -> None:
    """Write all guards of a mode, each with 1 behind them."""
    base, out = scratch.base, scratch.out
    head, count = model.head, rows.size
    n = head[0].n
    solve(model, mode, scratch)
    call(head[0].c_all.address, head[0].c_all.data, out, base)
    for g in range(count):
        j, kind = rows[g].function, rows[g].kind
        if kind == SIDE:
            result[g] = out[j]
        elif kind == FOLD:
            result[g] = discriminant(scratch.bench.corners)
        else:
            result[g] = base[1 + n + j] if kind == LOW else 1.0 - base[1 + n + j]
        result[count + g] = 1.0


@kernel(inner=True)
def write_slope(
    result: Memory, model: Model, mode: int, guard: GuardRows, scratch: Scratch
) -> None:
    """Write the derivatives of a guard by t, x and rho."""
    base, out, moved = scratch.base, scratch.out, scratch.moved
    head = model.head
    n, nc, nrho = head[0].n, head[0].n_c, head[0].n_rho
    y = 1 + n + nrho
    solve(model, mode, scratch)
    j, kind = guard[0].function, guard[0].kind
    if kind == SIDE:
        call(head[0].c_all.address, head[0].c_all.data, out, base)
        result[0] = out[nc + nc * n + j]
        for k in range(n):
            result[1 + k] = out[nc + j * n + k]
        for k in range(nrho):
            result[1 + n + k] = out[nc * (n + 2) + j * nrho + k]
    elif kind == FOLD:  # a measured slope: D is smooth where the roots are not
        for k in range(y):
            place = k if k <= n else nc + k
            was = base[place]
            step = 1e-6 * (1.0 + abs(was))
            total = 0.0
            for side in (1.0, -1.0):
                base[place] = was + side * step
                solve(model, mode, scratch)
                total += side * discriminant(scratch.bench.corners)
            base[place] = was
            result[k] = total / (2.0 * step)
    else:
        derive(model, mode, scratch)
        for k in range(y):
            result[k] = moved[j, k] if kind == LOW else -moved[j, k]


@kernel(inner=True)
def goes_on(
    model: Model, mode: int, other: int, left: int, among: Integers, scratch: Scratch
) -> float:
    """Return `attracts` of a mode, if another one begins with the multipliers it has; or -1.

    A multiplier has come to its bound: on two surfaces or more the slide that is left goes on with
    others on the rest of them, and of several only that with the same multipliers.
    """
    base, now = scratch.base, scratch.slopes
    head = model.head
    n, nc = head[0].n, head[0].n_c
    solve(model, mode, scratch)
    leaves = attracts(model, left, among, scratch)
    for j in range(nc):
        now[j, 0] = base[1 + n + j]
    if solve(model, other, scratch) == 0:
        return -1.0
    off = 0.0
    for j in range(nc):
        off = max(off, abs(base[1 + n + j] - now[j, 0]))
    return leaves if off <= ONE else -1.0


@kernel(inner=True)
def write_conditions(
    result: Memory,
    model: Model,
    mode: int,
    start: int,
    rows: FollowerRows,
    data: Numbers,
    scratch: Scratch,
) -> None:
    """Write the conditions of the modes that may follow: those of one after the other.

    With `start` a function that is not zero counts by its value.
    """
    base, out, slopes = scratch.base, scratch.out, scratch.slopes
    head, signs, count = model.head, model.signs, rows.size
    n, nc = head[0].n, head[0].n_c
    at, place = 0, TASK_WORDS + count * FOLLOWER_WORDS
    for f in range(count):
        other, many = rows[f].mode, rows[f].count
        functions = integers(data, place, many)
        place += many
        if rows[f].left >= 0:
            result[at] = goes_on(model, mode, other, rows[f].left, functions, scratch)
            at += 1
            continue
        good = solve(model, other, scratch)
        on = 0
        for j in range(nc):
            on += 1 if signs[other, j] == 0 else 0
        if on == 2 and not discriminant(scratch.bench.corners) > 0.0:
            good = 0
        call(head[0].c_all.address, head[0].c_all.data, out, base)
        for j in range(nc):
            slopes[j, 0] = out[j]
        call(head[0].rate.address, head[0].rate.data, out, base)
        for k in range(many):
            j = functions[k]
            side = signs[other, j]
            off = start and slopes[j, 0] * slopes[j, 0] > ON
            if side != 0:
                result[at] = side * (slopes[j, 0] if off else out[j])
                if good == 0:
                    result[at] = np.nan
                at += 1
            else:
                alpha = base[1 + n + j]
                away = -slopes[j, 0] * slopes[j, 0]
                if good == 0:
                    alpha = np.nan
                result[at] = away if off else alpha
                result[at + 1] = away if off else 1.0 - alpha
                at += 2


@kernel()
def evaluate(result: Memory, inp: Memory, data: Numbers) -> None:
    """Write what the task says."""
    task = tasks(data, 0, 1)
    kind, mode, count = task[0].kind, task[0].mode, task[0].count
    model = refer(model_at(pointer(task[0].model)))
    scratch = refer(memory(inp, model))
    head = model.head
    n, nc = head[0].n, head[0].n_c
    if kind in (FIELD, FIELD_TLM):
        write_field(result, model, mode, 1 if kind == FIELD_TLM else 0, scratch)
    elif kind == GUARDS:
        write_guards(result, model, mode, guards(data, TASK_WORDS, count), scratch)
    elif kind == GUARD_TLM:
        write_slope(result, model, mode, guards(data, TASK_WORDS, count), scratch)
    elif kind == RESET:
        for k in range(n * (2 + n + head[0].n_rho)):
            result[k] = 0.0
        for k in range(n):
            result[k] = inp[1 + k]
            result[2 * n + k * n + k] = 1.0
    elif kind == ACTIVE:
        solve(model, mode, scratch)
        call(head[0].c_all.address, head[0].c_all.data, scratch.out, scratch.base)
        for j in range(nc):
            result[j] = scratch.base[1 + n + j]
            result[nc + j] = scratch.out[j]
    else:
        start = 1 if kind == START else 0
        rows = followers(data, TASK_WORDS, count)
        write_conditions(result, model, mode, start, rows, data, scratch)


def address() -> int:
    """Return the address of `evaluate`."""
    (compiled,) = evaluate.overloads.values()
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    return compiled.library.get_pointer_to_function(name)
