"""Structures that outlive a call: stored once, so that later calls from Python hand over one array.

numba takes a structure from Python field by field, which costs some microseconds for each named
tuple. Of one that many runs use the fields are stored in an array of bytes; they stay valid as long
as the arrays that they tell of.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from llvmlite import ir
from numba import types, uint8
from numba.extending import intrinsic

from explorer.kernels.references import Reference
from explorer.kernels.structures import numba_type

__all__ = ["Bytes", "store", "stored"]

Bytes = Annotated[np.ndarray, uint8[::1]]


def _pointer(context: Any, builder: Any, kind: Any, memory: Any, of: Any) -> Any:
    """Return the address of an array as one of a structure."""
    data = context.make_array(kind)(context, builder, memory).data
    return builder.bitcast(data, context.get_value_type(of).as_pointer())


def _store(typingctx: Any, memory: Any, value: Any) -> Any:
    """Store a structure if the array has room for it; return how many bytes it needs."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        size = context.get_abi_sizeof(context.get_value_type(kinds[1]))
        needed = ir.Constant(ir.IntType(64), size)
        room = context.make_array(kinds[0])(context, builder, arguments[0]).nitems
        with builder.if_then(builder.icmp_signed(">=", room, needed)):
            place = _pointer(context, builder, kinds[0], arguments[0], kinds[1])
            builder.store(arguments[1], place)
        return needed

    return types.int64(memory, value), codegen


def _stored(typingctx: Any, memory: Any, kind: Any) -> Any:
    """Return the address of the structure of this class that an array holds."""
    of = numba_type(kind.instance_class)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _pointer(context, builder, signature.args[0], arguments[0], of)

    return Reference(of)(memory, kind), codegen


store: Any = intrinsic(_store)
stored: Any = intrinsic(_stored)
