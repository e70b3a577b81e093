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

__all__ = ["before"]

# `data` are 64-bit words: HEAD of them, EACH for every record, then all samples by their bits
FUNCTION, DATA, PLACE, COUNT, HEAD = range(5)
START, SIZE, DT, EACH = range(4)


def _number(typingctx, word):
    """The float64 with the bits of an int64."""

    def codegen(context, builder, sig, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


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


number: Any = intrinsic(_number)
forward: Any = intrinsic(_forward)


@kernel("void(CPointer(float64), CPointer(float64), CPointer(int64))")
def interpolate(out, inp, data):
    """Fill in the records at t = inp[0], then call the model."""
    for k in range(data[COUNT]):
        at = HEAD + EACH * k
        place = inp[0] / number(data[at + DT])
        i = min(max(int(place), 0), data[at + SIZE] - 2)
        low = number(data[data[at + START] + i])
        high = number(data[data[at + START] + i + 1])
        inp[data[PLACE] + k] = low + (place - i) * (high - low)
    forward(data[FUNCTION], data[DATA], out, inp)


def before(address: int, data: int, place: int, records: list) -> tuple[int, np.ndarray]:
    """Return the address of `interpolate`, and the data with which it stands before a model.

    Parameters
    ----------
    address, data : int
        The model's own function.
    place : int
        Place of the first record in the input vector.
    records : list of (dt, samples)
    """
    sizes = [len(values) for _, values in records]
    starts = HEAD + EACH * len(records) + np.cumsum([0, *sizes])
    words = np.zeros(starts[-1], np.int64)
    numbers = words.view(np.float64)
    words[:HEAD] = address, data, place, len(records)
    for k, (dt, values) in enumerate(records):
        at = HEAD + EACH * k
        words[at + START], words[at + SIZE], numbers[at + DT] = starts[k], sizes[k], dt
        numbers[starts[k] : starts[k + 1]] = values
    (compiled,) = interpolate.overloads.values()
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    return compiled.library.get_pointer_to_function(name), words
