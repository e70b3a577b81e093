"""A progress bar on the terminal (or under a notebook's cell) for the rare long wait."""

from __future__ import annotations

import sys

__all__ = ["bar"]

_WIDTH = 30


def bar(done: int, total: int, name: str) -> None:
    """Show that kernels are being compiled; ends its line when ``done == total``."""
    filled = _WIDTH * done // max(total, 1)
    text = (
        f"Compiling once for this machine [{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total}"
    )
    sys.stderr.write(f"\r{text} {name:<20.20}" + ("\n" if done == total else ""))
    sys.stderr.flush()
