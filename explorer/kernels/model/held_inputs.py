"""Inputs u(t): a function that stands before a model's own and writes their present values.

It has the signature of every native function of a model, ``void f(double* out, const double* in,
void* data)``: it writes the values of an interval to the places of the inputs among the parameters
of the input vector and goes on to the model. So no kernel knows of inputs, but for one thing: one
that steps from break to break says which interval it is in. Elsewhere the time decides.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from explorer.kernels.jit import kernel
from explorer.kernels.model.sampled_forcing import forward, number
from explorer.kernels.references import kernel as by_reference
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["AFTER", "BEFORE", "NEVER", "Drive", "hold", "hold_at", "memory_of", "standing_before"]

# of the words of a schedule: the present interval, how many there are, how many values, a time that
# is round-off; then the places of the values in rho, the ends of the intervals, all values
NOW, COUNT, WIDTH, CLOSE, HEAD = range(5)
AFTER, BEFORE = -1, -2  # in place of an interval: the time decides, at a break what is behind it
FUNCTION, DATA, SCHEDULE, FIRST = range(4)  # of the words of one function


class Drive(NamedTuple):
    """The breaks of the inputs and their values; a kernel says in which interval it is."""

    t: Vector  # (intervals - 1,) s, increasing
    now: Integers  # now[0]: the interval
    places: Integers  # (m,) in the input vector
    values: Matrix  # (intervals, m)
    stride: int  # length of one of several input vectors, one behind the other


# no inputs, or constant ones
NEVER = Drive(np.zeros(0), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros((1, 0)), 1)


def _words(typingctx, address):
    """The words at an address."""

    def codegen(context, builder, sig, args):
        return builder.inttoptr(args[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(types.int64), codegen


words: Callable = intrinsic(_words)


@kernel("int64(CPointer(int64), float64, int64)", inline=True)
def interval(schedule, t, side):
    """Return the interval of a time; at a break the one behind it, or before it."""
    ends, last = HEAD + schedule[WIDTH], schedule[COUNT] - 1
    close = number(schedule[CLOSE])
    if side == BEFORE:
        close = -close
    low, high = 0, last
    while low < high:  # the last one that begins by t
        middle = (low + high + 1) // 2
        if number(schedule[ends + middle]) <= t + close:
            low = middle
        else:
            high = middle - 1
    return low


@kernel("void(CPointer(float64), CPointer(float64), CPointer(int64))")
def write(out, inp, data):
    """Write the present values, then call the model."""
    schedule = words(data[SCHEDULE])
    width, k = schedule[WIDTH], schedule[NOW]
    if k < 0:
        k = interval(schedule, inp[0], k)
    values = HEAD + width + schedule[COUNT] + 1 + k * width
    for j in range(width):
        inp[data[FIRST] + schedule[HEAD + j]] = number(schedule[values + j])
    forward(data[FUNCTION], data[DATA], out, inp)


@by_reference(inline=True)
def hold(drive: Drive, inp: Vector, k: int) -> None:
    """Let the present interval be `k`, and write its values to all input vectors."""
    if drive.t.size > 0:
        drive.now[0] = k
        for first in range(0, inp.size, drive.stride):
            for j in range(drive.places.size):
                inp[first + drive.places[j]] = drive.values[k, j]


@by_reference(inline=True)
def hold_at(drive: Drive, inp: Vector, t: float, close: float) -> bool:
    """Let the present interval be that of time t, at a break the one behind it.

    Return whether it is another one than before.
    """
    if drive.t.size == 0:
        return False
    k = drive.now[0]
    while k < drive.t.size and drive.t[k] <= t + close:
        k += 1
    while k > 0 and drive.t[k - 1] > t + close:
        k -= 1
    if k == drive.now[0]:
        return False
    hold(drive, inp, k)
    return True


def memory_of(t: np.ndarray, places: np.ndarray, values: np.ndarray, close: float) -> np.ndarray:
    """Return the words of a schedule: ends t (k + 1,), places in rho (m,), values (k, m)."""
    count, width = values.shape
    head = np.array([AFTER, count, width, 0], np.int64)
    head[CLOSE:].view(float)[0] = close
    numbers = np.concatenate([t, values.ravel()]).astype(float).view(np.int64)
    return np.concatenate([head, np.asarray(places, np.int64), numbers])


@functools.cache
def address_of_write() -> int:
    """Return the address of `write`."""
    (compiled,) = write.overloads.values()
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    return int(compiled.library.get_pointer_to_function(name))


def standing_before(
    address: int, data: int, memory: np.ndarray, first: int
) -> tuple[int, np.ndarray]:
    """Return the address of a function that writes the inputs first, and the words that it reads.

    Parameters
    ----------
    address, data : int
        The model's own function.
    memory : the words of the schedule
    first : place of rho in the input vector
    """
    schedule = memory.__array_interface__["data"][0]
    return address_of_write(), np.array([address, data, schedule, first], np.int64)
