"""The entry of a kernel: a call from Python without numba's look at the types of its arguments.

numba looks at a named tuple item by item, in Python: 8 us for the structures of a run. But its
kernels have one signature each, that of their annotations, and the structures are made for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

__all__ = ["entry"]


@functools.cache
def entry(kernel: Callable[..., int]) -> Callable[..., int]:
    """Return a kernel as a function whose arguments, by position, must have the annotated types.

    Others may end the process. Hand over structures made for it, nothing that users give; a test
    calls the kernel itself, which looks at all, wherever runs call its entry.
    """
    compiled = list(getattr(kernel, "overloads", {}).values())
    return compiled[0].entry_point if compiled else kernel
