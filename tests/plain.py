"""Kernels as Python runs them: nothing is compiled, and an inner one can be called too."""

from __future__ import annotations

import ast
import ctypes
import functools
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np

ROOM = "explorer.kernels."


def kernel(function=None, /, **_):
    """Stand in for the decorators: leave a function as it is written."""
    return function if callable(function) else lambda written: written


def call(address, data, out, inp):
    """Call the C function at an address: ``f(out, inp, data)``."""
    given = [one.ctypes.data_as(ctypes.c_void_p) for one in (out, inp)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(int(address))(*given, int(data))


def same(structure):
    """Stand in for what takes a structure by reference."""
    return structure


STAND_INS = {"kernel": kernel, "template": kernel, "refer": same, "value_of": same, "call": call}


@functools.cache
def plain(name: str) -> SimpleNamespace:
    """Return what a module of kernels defines, such as ``"friction.coulomb"``, uncompiled.

    Kernels that it imports are uncompiled too; all else is imported as usual.
    """
    path = Path(importlib.util.find_spec(ROOM + name).origin)
    tree = ast.parse(path.read_text("utf-8"))
    space: dict = {"__name__": f"plain.{name}"}
    rest = []
    for node in tree.body:
        source = getattr(node, "module", None) or ""
        if isinstance(node, ast.ImportFrom) and source.startswith(ROOM):
            used = source.removeprefix(ROOM)
            if used in ("jit", "references", "templates"):
                space |= {one.asname or one.name: STAND_INS[one.name] for one in node.names}
                continue
            text = Path(importlib.util.find_spec(source).origin).read_text("utf-8")
            if "@kernel" in text or "@template" in text:
                given = vars(plain(used))
                space |= {one.asname or one.name: given[one.name] for one in node.names}
                continue
        rest.append(node)
    exec(compile(ast.Module(rest, []), str(path), "exec"), space)
    return SimpleNamespace(**space)


def opened(structure):
    """Return a structure whose records, at any depth, have their fields as attributes."""
    if hasattr(structure, "_fields"):
        return type(structure)(*map(opened, structure))
    if getattr(getattr(structure, "dtype", None), "names", None):
        return structure.view(np.recarray)
    return structure


class Row:
    """One entry of structures, whose fields are attributes, whatever they are called."""

    __slots__ = ("_all", "_place")

    def __init__(self, array, at):
        object.__setattr__(self, "_all", array)
        object.__setattr__(self, "_place", at)

    def __getattr__(self, name):
        value = self._all[name][self._place]
        if isinstance(value, np.void):
            return Row(self._all[name], self._place)
        return value.view(Structures) if getattr(value.dtype, "names", None) else value

    def __setattr__(self, name, value):
        self._all[name][self._place] = value


class Structures(np.ndarray):
    """An array of structures."""

    def __getitem__(self, key):
        if isinstance(key, int | np.integer):
            return Row(self.view(np.ndarray), key)
        value = super().__getitem__(key)
        return value if value.dtype.names else value.view(np.ndarray)

    def __setitem__(self, key, value):
        super().__setitem__(key, value._all[value._place] if isinstance(value, Row) else value)


def entries(dtype):
    """Return what takes memory, by a number of words behind a pointer, as entries of a dtype."""
    item = dtype.itemsize

    def array(words, by, n):
        if isinstance(words, np.ndarray):
            return words[by : by + n * item // 8].view(dtype).view(Structures)
        begin = ctypes.cast(words, ctypes.c_void_p).value + 8 * int(by)
        found = (ctypes.c_char * (item * n)).from_address(begin)
        return np.frombuffer(found, dtype, n).view(Structures)

    return array


def reads(monkeypatch, function, **rows) -> None:
    """Let a function take words in an array as numbers, integers, and rows of dtypes by name."""
    numbers = {
        "vector": lambda words, at, n: words[at : at + n].view(float),
        "matrix": lambda words, at, n, m: words[at : at + n * m].view(float).reshape(n, m),
        "integers": lambda words, at, n: words[at : at + n],
        "table": lambda words, at, n, m: words[at : at + n * m].reshape(n, m),
    }
    put(monkeypatch, function, **numbers, **{name: entries(one) for name, one in rows.items()})


def put(monkeypatch, function, **stand_ins) -> None:
    """Let a function call others in the place of some that it knows."""
    for name, stand_in in stand_ins.items():
        monkeypatch.setitem(function.__globals__, name, stand_in)


def space(**fields) -> SimpleNamespace:
    """Return what stands in for a structure."""
    return SimpleNamespace(**fields)
