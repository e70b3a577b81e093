"""A progress bar on the terminal (or under a notebook's cell) for the rare long wait."""

from __future__ import annotations

import sys
import time

__all__ = ["Progress", "bar"]

_WIDTH = 30


def bar(done: int, total: int, name: str, what: str = "Compiling once for this machine") -> None:
    """Show how far a long task is; ends its line when ``done == total``."""
    filled = _WIDTH * done // max(total, 1)
    text = f"{what} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total}"
    sys.stderr.write(f"\r{text} {name:<20.20}" + ("\n" if done == total else ""))
    sys.stderr.flush()


class Progress:
    """A bar that appears only where a wait is worth one.

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

    def __call__(self, done: int, name: str = "") -> None:
        """Show step `done`."""
        if self.on and (self.shown or time.perf_counter() - self.begin > self.after):
            bar(min(done, self.total - 1), self.total, name, self.what)
            self.shown = True

    def close(self, name: str = "") -> None:
        """End the line."""
        if self.shown:
            bar(self.total, self.total, name, self.what)
            self.shown = False
