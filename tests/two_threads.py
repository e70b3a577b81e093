"""Whether two threads work on two shares of a task at the same time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

PART = 0.8  # of what hashing keeps busy: a thread takes a while to start and to end


def check_two_threads(run: Callable[[int], object]) -> None:
    """Check that two threads keep as many processors busy as hashing, which needs no lock of Python.

    `run` does share 0 or share 1, of the same size. A thread that waits for a lock takes no processor
    each time; what else a machine does may take one for some seconds. How much sooner both are done
    is not asked: two processors of a machine may be one core, or be lent to others.
    """
    block, tries = bytes(2**28), []
    while len(tries) < 3 and (not tries or tries[-1][0] <= PART * tries[-1][1]):
        free = processors_busy(lambda _: hashlib.sha256(block).digest(), 3)
        tries.append((processors_busy(run, 5), free))
    assert tries[-1][0] > PART * tries[-1][1], tries


def processors_busy(run: Callable[[int], object], rounds: int) -> float:
    """Return how many processors two threads keep busy that run two shares: the best of some rounds."""
    busy = []
    for _ in range(rounds):
        with ThreadPoolExecutor(2) as pool:
            begin, worked = time.perf_counter(), time.process_time()
            list(pool.map(run, (0, 1)))
            busy.append((time.process_time() - worked) / (time.perf_counter() - begin))
    return max(busy)
