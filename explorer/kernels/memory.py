"""Memory behind a pointer, as kernels see it whose callers are native functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

__all__ = ["FUNCTION", "integers", "matrix", "pointer", "records", "table", "vector", "words_of"]

# a native function: its C address and its data pointer
FUNCTION = np.dtype([("address", np.int64), ("data", np.int64)])


def _pointer(typingctx, address):
    """The memory of int64 at an address."""

    def codegen(context, builder, sig, args):
        return builder.inttoptr(args[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(types.int64), codegen


def _memory(kind, floats, by, sizes):
    """An intrinsic's signature and code: an array of the memory `by` words behind a pointer."""

    def codegen(context, builder, sig, args):
        array = context.make_array(kind)(context, builder)
        data = builder.gep(args[0], [args[1]])
        bytes_of_one = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        item = context.get_constant(types.intp, bytes_of_one)
        strides = [item] if len(args) == 3 else [builder.mul(args[3], item), item]
        populate_array(
            array,
            data=builder.bitcast(data, context.get_data_type(kind.dtype).as_pointer()),
            shape=list(args[2:]),
            strides=strides,
            itemsize=item,
            meminfo=None,
        )
        return array._getvalue()

    return kind(floats, by, *sizes), codegen


def _vector(typingctx, floats, by, n):
    """Memory behind a pointer as float64 (n,)."""
    return _memory(types.Array(types.float64, 1, "C"), floats, by, (n,))


def _matrix(typingctx, floats, by, n, m):
    """Memory behind a pointer as float64 (n, m)."""
    return _memory(types.Array(types.float64, 2, "C"), floats, by, (n, m))


def _integers(typingctx, floats, by, n):
    """Memory behind a pointer as int64 (n,)."""
    return _memory(types.Array(types.int64, 1, "C"), floats, by, (n,))


def _table(typingctx, floats, by, n, m):
    """Memory behind a pointer as int64 (n, m)."""
    return _memory(types.Array(types.int64, 2, "C"), floats, by, (n, m))


def records(dtype: np.dtype) -> Callable:
    """Return what takes memory behind a pointer as entries (n,) of a structured dtype.

    Its arguments are the pointer, the 64-bit words before the first entry, and n.
    """

    def entries(typingctx, floats, by, n):
        return _memory(types.Array(from_dtype(dtype), 1, "C"), floats, by, (n,))

    return intrinsic(entries)


def words_of(*parts: np.ndarray) -> np.ndarray:
    """Return arrays, one behind the other, as 64-bit words."""
    return np.concatenate([np.ascontiguousarray(part).ravel().view(np.int64) for part in parts])


pointer: Any = intrinsic(_pointer)
vector: Any = intrinsic(_vector)
matrix: Any = intrinsic(_matrix)
integers: Any = intrinsic(_integers)
table: Callable = intrinsic(_table)
