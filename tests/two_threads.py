"""Whether two threads do two shares of a work as fast as the machine lets them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

PART = 0.8  # of the gain of hashing: two cores share their caches with others


def check_two_threads(run: Callable[[int], object]) -> None:
    """Check the gain of two threads over one beside that of hashing, which needs no lock of Python.

    `run` does share 0 or share 1, of the same size. What else a machine does for some seconds takes
    a thread's share; a lock takes it each time.
    """
    block, tries = bytes(2**28), []
    while len(tries) < 3 and (not tries or tries[-1][0] <= PART * tries[-1][1]):
        free = gain(lambda _: hashlib.sha256(block).digest(), 3)
        tries.append((gain(run, 5), free))
    assert tries[-1][0] > PART * tries[-1][1], tries


def gain(run: Callable[[int], object], pairs: int) -> float:
    """Return how many times as fast two threads run two shares as one thread does."""
    wall = {1: np.inf, 2: np.inf}
    for _ in range(pairs):
        for workers in (1, 2):
            with ThreadPoolExecutor(workers) as pool:
                begin = time.perf_counter()
                list(pool.map(run, (0, 1)))
            wall[workers] = min(wall[workers], time.perf_counter() - begin)
    return wall[1] / wall[2]
