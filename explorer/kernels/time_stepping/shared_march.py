"""A march that many members share, as addresses: one kernel for members then calls any of them.

A scheme stores its structures with `bind`. Its `go` takes their addresses, like every kernel that
others call, so who calls it needs no types of the scheme.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple, get_args

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from explorer.kernels.structures import rows_of
from explorer.kernels.templates import template

__all__ = ["PLACES", "Addresses", "PlaceRow", "address", "clear", "copy", "go_on", "tell"]

# addresses of a stored task and of the grid of its steps
PLACES = np.dtype([(name, np.int64) for name in ("problem", "record", "work", "grid")])
PlaceRow = Annotated[np.ndarray, get_args(rows_of(PLACES))[1]]  # (1,)


class Addresses(NamedTuple):
    """Where the march of a scheme and its structures are."""

    march: int
    problem: int
    record: int
    work: int


def address(kernel: Callable) -> int:
    """Return the address of a kernel that only others call."""
    (compiled,) = kernel.overloads.values()  # type: ignore[attr-defined]
    name = compiled.fndesc.llvm_func_name
    # numba knows the symbols of code that it has compiled; the engine those of the cache too
    engine = compiled.library.codegen._engine
    found = int(compiled.library.get_pointer_to_function(name) or engine.get_function_address(name))
    if not found:
        raise RuntimeError(f"The code of {name} is not found.")
    return found


def _address_of(typingctx, reference):
    """Return the address of a structure as a number."""

    def codegen(context, builder, signature, arguments):
        return builder.ptrtoint(arguments[0], ir.IntType(64))

    return types.int64(reference), codegen


def _go_on(typingctx, march, problem, record, work):
    """Call a kernel by its address with those of three structures; return its status."""

    def codegen(context, builder, signature, arguments):
        number, anything = ir.IntType(64), ir.IntType(8).as_pointer()
        status, excuse = (cgutils.alloca_once(builder, kind) for kind in (number, anything))
        kinds = [number.as_pointer(), anything.as_pointer(), anything, anything, anything]
        function = ir.FunctionType(ir.IntType(32), kinds).as_pointer()
        parts = [builder.inttoptr(x, anything) for x in arguments[1:]]
        builder.call(builder.inttoptr(arguments[0], function), [status, excuse, *parts])
        return builder.load(status)

    return types.int64(march, problem, record, work), codegen


def _copy(typingctx, target, source, size):
    """Copy so many bytes from one address to another."""

    def codegen(context, builder, signature, arguments):
        anything = ir.IntType(8).as_pointer()
        to, since = (builder.inttoptr(x, anything) for x in arguments[:2])
        cgutils.raw_memcpy(builder, to, since, arguments[2], ir.Constant(ir.IntType(64), 1))
        return context.get_dummy_value()

    return types.void(target, source, size), codegen


def _clear(typingctx, target, size):
    """Set so many bytes at an address to zero."""

    def codegen(context, builder, signature, arguments):
        to = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        cgutils.memset(builder, to, arguments[1], 0)
        return context.get_dummy_value()

    return types.void(target, size), codegen


address_of: Callable = intrinsic(_address_of)
go_on: Callable = intrinsic(_go_on)
copy: Callable = intrinsic(_copy)
clear: Callable = intrinsic(_clear)


@template
def tell(task, places):
    """Write where problem, record, work and the grid of steps of a stored task are."""
    places[0].problem = address_of(task.problem)
    places[0].record = address_of(task.record)
    places[0].work = address_of(task.work)
    places[0].grid = address_of(task.problem.grid)
