"""Native functions of modes whose multipliers `explorer.kernels.sliding.active_modes` finds.

`evaluate` has the signature of every native function of a model; what it is to write is told by
TASK. A field is F = f(t, x, alpha), its derivatives F_y = f_y + f_alpha alpha_y. A guard is a
switching function, a multiplier's distance from its bounds, or, of two surfaces, the discriminant
D = (det R_alpha)^2 of their quadratic equation: where it vanishes both roots do.

`data` are 64-bit words: TASK, the address of the words of the model, the mode, then what the task
is about.
"""

import numpy as np

from explorer.kernels.jit import call, kernel
from explorer.kernels.memory import pointer
from explorer.kernels.sliding.active_modes import (
    FLOW,
    FLOW_ALL,
    MODES,
    NC,
    NRHO,
    RATE,
    SWITCH,
    N,
    Scratch,
    attracts,
    derive,
    memory,
    solve,
)
from explorer.kernels.sliding.multiaffine import discriminant
from explorer.kernels.structures import Memory, Numbers

__all__ = ["address"]

TASK, MODEL, MODE, REST = 0, 1, 2, 3
FIELD, FIELD_TLM, GUARDS, GUARD_TLM, RESET, BRANCH, START, ACTIVE = range(8)
# kinds of guards: c_j, alpha_j, 1 - alpha_j, D
SIDE, LOW, HIGH, FOLD = 0, 1, 2, 3
# kinds of conditions of a mode that may follow: it holds, the slide that is left attracts
HOLDS, ATTRACTS = 0, 1
ON = 1e-20  # the square of what is zero at the start
ONE = 1e-6  # multipliers of two modes that are closer are the same


@kernel(inner=True)
def write_field(result: Memory, model: Numbers, mode: int, tangents: int, scratch: Scratch) -> None:
    """Write x', and with `tangents` its derivatives by x and rho; NaN without multipliers."""
    n, nc, nrho = model[N], model[NC], model[NRHO]
    out, moved = scratch.out, scratch.moved
    if solve(model, mode, scratch) == 0:
        for k in range(n * (1 + n + nrho if tangents else 1)):
            result[k] = np.nan
        return
    if not tangents:
        call(model[FLOW], model[FLOW + 1], out, scratch.base)
        for k in range(n):
            result[k] = out[k]
        return
    derive(model, mode, scratch)
    call(model[FLOW_ALL], model[FLOW_ALL + 1], out, scratch.base)
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
    result: Memory, model: Numbers, mode: int, data: Numbers, scratch: Scratch
) -> None:
    """Write all guards of a mode, each with 1 behind them; words: how many, function and kind."""
    base, out = scratch.base, scratch.out
    n = model[N]
    solve(model, mode, scratch)
    call(model[SWITCH], model[SWITCH + 1], out, base)
    count = data[REST]
    for g in range(count):
        j, kind = data[REST + 1 + 2 * g], data[REST + 2 + 2 * g]
        if kind == SIDE:
            result[g] = out[j]
        elif kind == FOLD:
            result[g] = discriminant(scratch.bench.corners)
        else:
            result[g] = base[1 + n + j] if kind == LOW else 1.0 - base[1 + n + j]
        result[count + g] = 1.0


@kernel(inner=True)
def write_slope(result: Memory, model: Numbers, mode: int, data: Numbers, scratch: Scratch) -> None:
    """Write the derivatives of a guard by t, x and rho; words: function and kind."""
    base, out, moved = scratch.base, scratch.out, scratch.moved
    n, nc, nrho = model[N], model[NC], model[NRHO]
    y = 1 + n + nrho
    solve(model, mode, scratch)
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
    model: Numbers, mode: int, other: int, data: Numbers, place: int, scratch: Scratch
) -> float:
    """Return `attracts` of a mode, if another one begins with the multipliers it has; or -1.

    A multiplier has come to its bound: on two surfaces or more the slide that is left goes on with
    others on the rest of them, and of several only that with the same multipliers.
    """
    base, now = scratch.base, scratch.slopes
    n, nc = model[N], model[NC]
    solve(model, mode, scratch)
    leaves = attracts(model, data, place, scratch)
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
    result: Memory, model: Numbers, mode: int, start: int, data: Numbers, scratch: Scratch
) -> None:
    """Write the conditions of the modes that may follow: those of one after the other.

    Words: how many modes, then of each its number, how many conditions, and kind and function of
    each. With `start` a function that is not zero counts by its value.
    """
    base, out, slopes = scratch.base, scratch.out, scratch.slopes
    n, nc = model[N], model[NC]
    place = REST + 1
    at = 0
    for _ in range(data[REST]):
        other, many = data[place], data[place + 1]
        place += 2
        if many > 0 and data[place] == ATTRACTS:
            result[at] = goes_on(model, mode, other, data, place + 1, scratch)
            place += 3 + data[place + 2]
            at += 1
            continue
        good = solve(model, other, scratch)
        signs = MODES + other * (1 + nc) + 1
        on = 0
        for j in range(nc):
            on += 1 if model[signs + j] == 0 else 0
        if on == 2 and not discriminant(scratch.bench.corners) > 0.0:
            good = 0
        call(model[SWITCH], model[SWITCH + 1], out, base)
        for j in range(nc):
            slopes[j, 0] = out[j]
        call(model[RATE], model[RATE + 1], out, base)
        for _ in range(many):
            j = data[place + 1]
            place += 2
            side = model[signs + j]
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
    """Write what TASK says."""
    model = pointer(data[MODEL])
    task, mode = data[TASK], data[MODE]
    n, nc = model[N], model[NC]
    scratch = memory(inp, model)
    if task in (FIELD, FIELD_TLM):
        write_field(result, model, mode, 1 if task == FIELD_TLM else 0, scratch)
    elif task == GUARDS:
        write_guards(result, model, mode, data, scratch)
    elif task == GUARD_TLM:
        write_slope(result, model, mode, data, scratch)
    elif task == RESET:
        for k in range(n * (2 + n + model[NRHO])):
            result[k] = 0.0
        for k in range(n):
            result[k] = inp[1 + k]
            result[2 * n + k * n + k] = 1.0
    elif task == ACTIVE:
        solve(model, mode, scratch)
        call(model[SWITCH], model[SWITCH + 1], scratch.out, scratch.base)
        for j in range(nc):
            result[j] = scratch.base[1 + n + j]
            result[nc + j] = scratch.out[j]
    else:
        write_conditions(result, model, mode, 1 if task == START else 0, data, scratch)


def address() -> int:
    """Return the address of `evaluate`."""
    (compiled,) = evaluate.overloads.values()
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    return compiled.library.get_pointer_to_function(name)
