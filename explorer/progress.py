"""Progress of long tasks: on the terminal, under a notebook cell, or in a panel."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Progress", "bar", "redirected", "show", "shown_by"]

_WIDTH = 24
_EVERY = 0.1  # s: a name that changes within a step is shown no more often


def bar(done: int, total: int, name: str, what: str) -> None:
    """Show the progress of a long task; the line ends when ``done == total``."""
    filled = _WIDTH * done // max(total, 1)
    text = f"{what} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total}"
    sys.stderr.write(f"\r{text} {name:<40.40}" + ("\n" if done == total else ""))
    sys.stderr.flush()


_shown_by: list[Callable[[int, int, str, str], None]] = [bar]


@contextmanager
def shown_by(place: Callable[[int, int, str, str], None]) -> Iterator[None]:
    """Redirect every `show` in this context to ``place(done, total, name, what)``."""
    _shown_by.append(place)
    try:
        yield
    finally:
        _shown_by.remove(place)


def redirected() -> bool:
    """Tell whether progress goes elsewhere than to the terminal or the notebook cell."""
    return len(_shown_by) > 1


def show(done: int, total: int, name: str, what: str) -> None:
    """Report the progress of a long task."""
    _shown_by[-1](done, total, name, what)


class Progress:
    """A progress bar that appears only if the task takes long.

    Parameters
    ----------
    total : int
        Steps at most.
    what : str
        Begins the line.
    on : bool
        Whether to show anything at all.
    after : float
        Seconds before it appears.
    """

    def __init__(self, total: int, what: str, on: bool = True, after: float = 1.0) -> None:
        self.total, self.what, self.on, self.after = total, what, on, after
        self.begin, self.shown = time.perf_counter(), False
        self.last = (-1, 0.0)  # the step that is shown, and since when

    def __call__(self, done: int, name: str = "") -> None:
        """Show step `done`; within one step the name may change often."""
        now = time.perf_counter()
        if done == self.last[0] and now - self.last[1] < _EVERY:
            return
        if self.on and (self.shown or now - self.begin > self.after):
            self.last = done, now
            show(min(done, self.total - 1), self.total, name, self.what)
            self.shown = True

    def close(self, name: str = "") -> None:
        """End the line."""
        if self.shown:
            show(self.total, self.total, name, self.what)
            self.shown = False
