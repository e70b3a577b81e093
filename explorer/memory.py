"""Large arrays that reuse the memory of earlier ones.

The operating system hands out fresh memory page by page, in the middle of whatever writes to it
first, and takes it back as soon as an array dies: a run of a large system spent more time on that
than on its steps. So the blocks of results that have died are kept for the next ones.
"""

from __future__ import annotations

import numpy as np

__all__ = ["zeros"]

_LEAST = 2**20  # bytes of an array for which it is worth it
_MOST = 2**28  # bytes that are kept
_ROOMY = 4  # how much larger a block may be than what it is taken for

_idle: dict[int, np.ndarray] = {}  # by their identity


class _Loan:
    """Owner of the memory of an array; returns it to the pool when the last view is deleted."""

    def __init__(self, block: np.ndarray, count: int) -> None:
        self.block = block
        self.__array_interface__ = block[:count].__array_interface__

    def __del__(self) -> None:
        if sum(b.nbytes for b in list(_idle.values())) + self.block.nbytes <= _MOST:
            _idle[id(self.block)] = self.block


def zeros(count: int) -> np.ndarray:
    """Return `count` float64 zeros, as `numpy.zeros` does.

    >>> zeros(3)
    array([0., 0., 0.])
    """
    if 8 * count < _LEAST:
        return np.zeros(count)
    fits = [b for b in list(_idle.values()) if count <= b.size <= _ROOMY * count]
    for block in sorted(fits, key=len):
        if _idle.pop(id(block), None) is not None:  # else another thread was faster
            block[:count] = 0.0
            return np.asarray(_Loan(block, count))
    return np.asarray(_Loan(np.zeros(count), count))
