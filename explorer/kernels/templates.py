"""`@template`: a function that is compiled with each kernel that calls it, and inlined there.

Its arguments may be kernels or templates. So a loop stands once, whatever it calls in each turn,
and a call in it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from numba import njit

__all__ = ["template"]


def template(function: Callable) -> Callable:
    """Take a function as source of the kernels that call it; it has no code of its own."""
    return njit(inline="always")(function)
