"""Stopping a search from outside: a time limit, the keyboard, another thread; and what it tells.

A search looks at the `Watch` that is set around it in each iteration of a solver. It ends by
`explorer.transcription.solver.Halted`, which carries the point that it had come to, so the best
plan so far is never lost.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["Watch", "due", "heard", "watched", "why"]


@dataclass
class Watch:
    """When a search has to stop.

    Attributes
    ----------
    until : float
        A time of `time.perf_counter` in s.
    asked : callable
        Whether someone has asked for it.
    why : str
        Why it was stopped; empty: it was not.
    limit : str
        The time limit in words.
    outer : Watch, optional
        One that was set before, which counts too.
    told : callable, optional
        Is told the number of each iteration.
    """

    until: float
    asked: Callable[[], bool]
    limit: str = ""
    why: str = ""
    outer: Watch | None = None
    told: Callable[[int], None] | None = None

    def due(self) -> bool:
        """Whether the search has to stop now; once it has, it stays so."""
        if not self.why and self.asked():
            self.why = "interrupted"
        if not self.why and time.perf_counter() >= self.until:
            self.why = f"the time limit of {self.limit} is over"
        if not self.why and self.outer is not None and self.outer.due():
            self.why = self.outer.why
        return bool(self.why)


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


def due() -> bool:
    """Whether the search around this call has to stop."""
    watch = _watch.get()
    return watch is not None and watch.due()


def heard(iteration: int) -> None:
    """Tell the search around this call which iteration its solver is at."""
    watch = _watch.get()
    while watch is not None and watch.told is None:
        watch = watch.outer
    if watch is not None and watch.told is not None:
        watch.told(iteration)


@contextmanager
def watched(
    seconds: float | None = None,
    asked: Callable[[], bool] = lambda: False,
    told: Callable[[int], None] | None = None,
) -> Iterator[Watch]:
    """Stop the searches in this context after a time, or when they are asked to.

    In the main thread the first interrupt from the keyboard asks too; the second one is raised.

    Parameters
    ----------
    seconds : float, optional
        Wall-clock time.
    asked : callable, optional
        Is called in each iteration. It may answer from what another thread has set.
    told : callable, optional
        Is told the number of each iteration.
    """
    until = float("inf") if seconds is None else time.perf_counter() + seconds
    watch = Watch(until, asked, f"{seconds or 0:g} s", outer=_watch.get(), told=told)
    token = _watch.set(watch)
    before = signal.getsignal(signal.SIGINT)

    def interrupted(number: int, frame: object) -> None:
        if watch.why:
            raise KeyboardInterrupt
        at: Watch | None = watch
        while at is not None:
            at.why, at = "interrupted", at.outer

    # CasADi swallows an interrupt that is raised while it solves, so it is a mark instead
    ours = threading.current_thread() is threading.main_thread() and callable(before)
    if ours:
        signal.signal(signal.SIGINT, interrupted)
    try:
        yield watch
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
        _watch.reset(token)


def why() -> str:
    """Return why the search around this call has to stop; empty: it has not."""
    watch = _watch.get()
    return watch.why if watch is not None else ""
