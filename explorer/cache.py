"""The cache folder, which keeps compiled code on disk between sessions.

Everything in the cache can be deleted at any time; it is only ever a copy of what the sources
and the equations determine. ``NONSMOOTH_EXPLORER_CACHE`` names another folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
import time
import warnings
from pathlib import Path

import platformdirs

from explorer.errors import CacheWarning

__all__ = ["directory", "load", "prune", "store"]


@functools.cache
def _root(wanted: str | None) -> tuple[Path, str]:
    """Return a writable folder, and a message if it is not the wanted one."""
    root = Path(wanted) if wanted else platformdirs.user_cache_path("nonsmooth-explorer")
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            return root, ""
    except OSError as error:
        reason = (
            f"The cache folder {root} cannot be written ({error.strerror or error}), so this "
            "session compiles into a temporary folder. Set NONSMOOTH_EXPLORER_CACHE to a writable "
            "folder to avoid the wait."
        )
        return Path(tempfile.mkdtemp(prefix="nonsmooth-explorer-")), reason


@functools.cache
def _say_once(reason: str) -> None:
    warnings.warn(reason, CacheWarning, stacklevel=4)


def directory(*parts: str) -> Path:
    """Return the cache folder ``root/parts...``; create it if it does not exist.

    Warns
    -----
    CacheWarning
        Once, if the wanted folder cannot be written and a temporary one is used.
    """
    root, reason = _root(os.environ.get("NONSMOOTH_EXPLORER_CACHE"))
    if reason:
        _say_once(reason)
    folder = root.joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def notice() -> str:
    """Return the sentence about an unusable cache folder, or an empty string."""
    return _root(os.environ.get("NONSMOOTH_EXPLORER_CACHE"))[1]


def store(name: str, content: bytes, *parts: str) -> None:
    """Store `content` under `name` with its checksum; ignore errors of the disk."""
    path = directory(*parts) / name
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(file.name, path)
    except OSError:
        return


def load(name: str, *parts: str) -> bytes | None:
    """Return the stored content; None if there is none or its checksum is wrong.

    The checksum matters: a damaged block of machine code would not raise, it would crash.
    """
    try:
        whole = (directory(*parts) / name).read_bytes()
    except OSError:
        return None
    digest, content = whole[:32], whole[32:]
    return content if hashlib.sha256(content).digest() == digest else None


def prune(days: float = 90.0) -> None:
    """Delete files that were not read for `days`: old versions, edited models."""
    old = time.time() - 86400 * days
    for folder, _, names in os.walk(directory(), topdown=False):
        for name in names:
            path = Path(folder, name)
            with contextlib.suppress(OSError):  # another process may do the same
                if max(path.stat().st_atime, path.stat().st_mtime) < old:
                    path.unlink()
        with contextlib.suppress(OSError):  # not empty
            os.rmdir(folder)
