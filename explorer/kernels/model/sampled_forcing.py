"""Sampled forcing: a function that stands before a model's own and interpolates records for it.

It has the signature of every native function of a model, ``void f(double* out, const double* in,
void* data)``: it writes r_k(t), linear between samples at even times, to the places of the records
in the input vector and goes on to the model. So no kernel knows of records.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from explorer.kernels.jit import kernel
from explorer.kernels.memory import FUNCTION, records, vector, words_of
from explorer.kernels.structures import Memory, Numbers

__all__ = ["before", "forward"]

# `data` are one FORCING, its RECORDS, and all samples
FORCING = np.dtype(
    [
        ("model", FUNCTION),
        ("place", np.int64),  # of the first record in the input vector
        ("count", np.int64),  # records
    ]
)
RECORD = np.dtype(
    [
        ("first", np.int64),  # word of `data` where its samples begin
        ("many", np.int64),  # samples
        ("dt", np.float64),  # s between them
    ]
)
FORCING_WORDS, RECORD_WORDS = FORCING.itemsize // 8, RECORD.itemsize // 8
forcings, sampled = records(FORCING), records(RECORD)


def _forward(typingctx, address, data, out, inp):
    """Call the C function at `address` with two pointers and its data."""

    def codegen(context, builder, sig, args):
        anything = ir.IntType(8).as_pointer()
        kinds = [args[2].type, args[3].type, anything]
        function = ir.FunctionType(ir.VoidType(), kinds).as_pointer()
        builder.call(
            builder.inttoptr(args[0], function),
            [args[2], args[3], builder.inttoptr(args[1], anything)],
        )
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, out, inp), codegen


forward: Any = intrinsic(_forward)


@kernel()
def interpolate(out: Memory, inp: Memory, data: Numbers) -> None:
    """Fill in the records at t = inp[0], then call the model."""
    head = forcings(data, 0, 1)
    rows = sampled(data, FORCING_WORDS, head[0].count)
    for k in range(head[0].count):
        values = vector(data, rows[k].first, rows[k].many)
        place = inp[0] / rows[k].dt
        i = min(max(int(place), 0), rows[k].many - 2)
        low, high = values[i], values[i + 1]
        inp[head[0].place + k] = low + (place - i) * (high - low)
    forward(head[0].model.address, head[0].model.data, out, inp)


def before(address: int, data: int, place: int, given: list) -> tuple[int, np.ndarray]:
    """Return the address of `interpolate`, and the data with which it stands before a model.

    Parameters
    ----------
    address, data : int
        The model's own function.
    place : int
        Place of the first record in the input vector.
    given : list of (dt, samples)
    """
    head = np.array([((address, data), place, len(given))], FORCING)
    rows, samples = np.zeros(len(given), RECORD), [np.asarray(v, float) for _, v in given]
    rows["many"], rows["dt"] = [len(v) for v in samples], [dt for dt, _ in given]
    first = FORCING_WORDS + RECORD_WORDS * len(given)
    rows["first"] = first + np.cumsum(rows["many"]) - rows["many"]
    (compiled,) = interpolate.overloads.values()
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    return compiled.library.get_pointer_to_function(name), words_of(head, rows, *samples)
