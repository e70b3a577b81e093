"""Warnings of runs, which a thread can leave out for its own runs alone.

`warnings.catch_warnings` changes the filters of the whole process: of two threads, the one that
ends last would put back those that the other has set.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from contextvars import ContextVar

__all__ = ["unsaid", "warn"]

_UNSAID = ContextVar("unsaid", default=False)


def warn(words: str, kind: type[Warning], stacklevel: int) -> None:
    """Warn as `warnings.warn` does, but not within `unsaid`."""
    if not _UNSAID.get():
        warnings.warn(words, kind, stacklevel=stacklevel + 1)


@contextlib.contextmanager
def unsaid() -> Iterator[None]:
    """Leave out the warnings of runs: of one run among many nobody reads them."""
    before = _UNSAID.set(True)
    try:
        yield
    finally:
        _UNSAID.reset(before)
