"""Inputs u(t): a function that stands before a model's own and writes their present values.

It has the signature of every native function of a model, ``void f(double* out, const double* in,
void* data)``: it writes the values of an interval to the places of the inputs among the parameters
of the input vector and goes on to the model. So no kernel knows of inputs, but for one thing: one
that steps from break to break says which interval it is in. Elsewhere the time decides.
"""

import functools
from typing import Annotated, NamedTuple, get_args

import numpy as np

from explorer.kernels.memory import FUNCTION, integers, matrix, pointer, records, vector, words_of
from explorer.kernels.model.sampled_forcing import forward
from explorer.kernels.references import kernel, refer
from explorer.kernels.structures import Integers, Matrix, Memory, Numbers, Vector, rows_of

__all__ = ["AFTER", "BEFORE", "NEVER", "Drive", "hold", "hold_at", "memory_of", "standing_before"]

AFTER, BEFORE = -1, -2  # in place of an interval: the time decides, at a break what is behind it
SCHEDULE = np.dtype(  # behind it the places of the values, the ends of the intervals, all values
    [
        ("now", np.int64),  # the present interval
        ("count", np.int64),  # intervals
        ("width", np.int64),  # values of each
        ("close", np.float64),  # s that are round-off
    ]
)
DRIVEN = np.dtype(  # the data of one function
    [
        ("model", FUNCTION),
        ("schedule", np.int64),  # its address
        ("rho", np.int64),  # where rho begins in the input vector
    ]
)
SCHEDULE_WORDS = SCHEDULE.itemsize // 8
schedules, driven = records(SCHEDULE), records(DRIVEN)


class Schedule(NamedTuple):
    """The values of inputs, interval by interval."""

    head: Annotated[np.ndarray, get_args(rows_of(SCHEDULE))[1]]  # (1,)
    places: Integers  # (width,) in rho
    ends: Vector  # (count + 1,) s
    values: Matrix  # (count, width)


class Drive(NamedTuple):
    """The breaks of the inputs and their values; a kernel says in which interval it is."""

    t: Vector  # (intervals - 1,) s, increasing
    now: Integers  # now[0]: the interval
    places: Integers  # (m,) in the input vector
    values: Matrix  # (intervals, m)
    stride: int  # length of one of several input vectors, one behind the other


# no inputs, or constant ones
NEVER = Drive(np.zeros(0), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros((1, 0)), 1)


@kernel(inline=True)
def schedule_at(words: Numbers) -> Schedule:
    """Return the schedule whose words begin at a pointer."""
    head = schedules(words, 0, 1)
    count, width = head[0].count, head[0].width
    ends = SCHEDULE_WORDS + width
    return Schedule(
        head,
        integers(words, SCHEDULE_WORDS, width),
        vector(words, ends, count + 1),
        matrix(words, ends + count + 1, count, width),
    )


@kernel(inline=True)
def interval(schedule: Schedule, t: float, side: int) -> int:
    """Return the interval of a time; at a break the one behind it, or before it."""
    head, ends = schedule.head, schedule.ends
    close = head[0].close
    if side == BEFORE:
        close = -close
    low, high = 0, head[0].count - 1
    while low < high:  # the last one that begins by t
        middle = (low + high + 1) // 2
        if ends[middle] <= t + close:
            low = middle
        else:
            high = middle - 1
    return low


@kernel()
def write(out: Memory, inp: Memory, data: Numbers) -> None:
    """Write the present values, then call the model."""
    task = driven(data, 0, 1)
    schedule = refer(schedule_at(pointer(task[0].schedule)))
    head, places, values = schedule.head, schedule.places, schedule.values
    k = head[0].now
    if k < 0:
        k = interval(schedule, inp[0], k)
    for j in range(head[0].width):
        inp[task[0].rho + places[j]] = values[k, j]
    forward(task[0].model.address, task[0].model.data, out, inp)


@kernel(inline=True)
def hold(drive: Drive, inp: Vector, k: int) -> None:
    """Let the present interval be `k`, and write its values to all input vectors."""
    if drive.t.size > 0:
        drive.now[0] = k
        for first in range(0, inp.size, drive.stride):
            for j in range(drive.places.size):
                inp[first + drive.places[j]] = drive.values[k, j]


@kernel(inline=True)
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
    head = np.array([(AFTER, count, width, close)], SCHEDULE)
    return words_of(head, np.asarray(places, np.int64), t.astype(float), values.astype(float))


def head_of(memory: np.ndarray) -> np.ndarray:
    """Return the head (1,) of a schedule, whose present interval may be set."""
    return memory[:SCHEDULE_WORDS].view(SCHEDULE)


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
    task = np.array([((address, data), schedule, first)], DRIVEN)
    return address_of_write(), words_of(task)
