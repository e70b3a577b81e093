"""Run tests with every kernel as Python runs it: ``pytest -p uncompiled``, with tests/ on the path.

Nothing is compiled, so what a change of a kernel does is seen at once; but steps are some hundred
times slower, so a test that takes more than UNCOMPILED_SECONDS of the processor is skipped.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import signal

import numpy as np
import plain
import pytest
from plain import Structures

from explorer.kernels import jit, references, stored, templates
from explorer.kernels.structures import Memory, Numbers

SECONDS = float(os.environ.get("UNCOMPILED_SECONDS", "5"))
BYTES = 8  # that a stored structure is said to need
_tasks: dict[int, object] = {}


def opened(structure):
    """Return a structure whose records, at any depth, have their fields as attributes."""
    if hasattr(structure, "_fields"):
        return type(structure)(*map(opened, structure))
    if getattr(getattr(structure, "dtype", None), "names", None):
        return structure.view(Structures)
    return structure


class Address:
    """What numba says of a function that compiled code calls by its address."""

    llvm_cfunc_wrapper_name = ""

    def __init__(self, function):
        self.fndesc = self.library = self
        numbers, words = (ctypes.POINTER(kind) for kind in (ctypes.c_double, ctypes.c_int64))
        self.called = ctypes.CFUNCTYPE(None, numbers, numbers, words)(function)
        self.overloads = {None: self}

    def get_pointer_to_function(self, _):
        """Return the address."""
        return ctypes.cast(self.called, ctypes.c_void_p).value


def kernel(function=None, /, *, inner=False, inline=False, wide=False):
    """Leave a function as it is written; one that Python calls opens its structures."""
    if isinstance(function, str) and function.startswith("void(CPointer"):
        return Address
    if not callable(function):
        return functools.partial(kernel, inner=inner, inline=inline)
    if {Memory, Numbers} <= {*function.__annotations__.values()} and not (inner or inline):
        return Address(function)
    if inner or inline:
        return function

    @functools.wraps(function)
    def called(*arguments):
        with np.errstate(all="ignore"):
            return function(*map(opened, arguments))

    return called


def store(memory, task):
    """Keep a structure for an array of bytes."""
    if memory.size >= BYTES:
        _tasks[memory.ctypes.data] = task
    return BYTES


def keep(memory, _):
    """Return what is kept for an array of bytes."""
    return _tasks[memory.ctypes.data]


for module in (jit, references, templates, stored):
    for name, stand_in in (plain.STAND_INS | {"store": store, "stored": keep}).items():
        if hasattr(module, name):
            setattr(module, name, kernel if name == "kernel" else stand_in)


def forward(address, data, out, inp):
    """Call the C function at an address with two pointers and its data."""
    pointers = (ctypes.cast(one, ctypes.c_void_p) for one in (out, inp))
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(int(address))(*pointers, int(data))


def words(address):
    """Return the words at an address."""
    return ctypes.cast(int(address), ctypes.POINTER(ctypes.c_int64))


def stretch(kind):
    """Return what takes memory, by a number of words behind a pointer, as an array."""

    def array(pointer, by, *shape):
        size = int(np.prod(shape))
        begin = ctypes.cast(pointer, ctypes.c_void_p).value + 8 * int(by)
        return np.ctypeslib.as_array((kind * size).from_address(begin)).reshape(shape)

    return array


memory = importlib.import_module("explorer.kernels.memory")
memory.pointer, memory.integers = words, stretch(ctypes.c_int64)
memory.table, memory.records = memory.integers, plain.entries
memory.vector = memory.matrix = stretch(ctypes.c_double)
sampled_forcing = importlib.import_module("explorer.kernels.model.sampled_forcing")
sampled_forcing.forward = forward


def too_long(*_):
    """End a test that takes too long."""
    pytest.skip("too slow where nothing is compiled")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Skip what takes too long."""
    signal.signal(signal.SIGVTALRM, too_long)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip what takes too long."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
