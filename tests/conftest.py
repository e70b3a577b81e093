"""For all tests: nothing of one is left behind for the next."""

from __future__ import annotations

import functools
import gc
import importlib
import itertools
import os
import signal
import sys
import zlib
from pathlib import Path

import pytest


def remember_expressions():
    """Let sympy keep what it has computed of all models: tests build each of them many times.

    It reads the number when it is imported. The programs that tests start are as users start them.
    """
    os.environ["SYMPY_CACHE_SIZE"] = "20000"
    importlib.import_module("sympy")
    del os.environ["SYMPY_CACHE_SIZE"]


remember_expressions()


def pytest_addoption(parser):
    """Add how much of the suite is run: what is broad in parts, and on another Python a sample."""
    parser.addoption(
        "--all", action="store_true",
        help="run all cases of the tests over the whole gallery, of which else every sixth is run",
    )  # fmt: skip
    parser.addoption(
        "--every", type=int, default=1, metavar="N", help="run every N-th test and case only"
    )
    parser.addoption(
        "--listed", metavar="FILE",
        help="run only those test files that this file names, one a line: pytest looks through the"
        " folder once, not once for each of them",
    )  # fmt: skip


def pytest_configure():
    """Hear Ctrl+C where a shell runs the tests in the background: it lets them ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path, config):
    """Leave out files that are not on the list, if there is one."""
    wanted = config.getoption("--listed")
    if wanted and collection_path.is_file():
        here = collection_path.relative_to(config.rootpath).as_posix()
        return True if here not in listed(wanted) else None
    return None


@functools.cache
def listed(path):
    """Return the names on a list."""
    return frozenset(Path(path).read_text("utf-8").split())


def pytest_collection_modifyitems(config, items):
    """Mark benchmarks as measuring times; what does comes first, while nothing else runs."""
    for item in items:
        if "benchmarks" in item.path.relative_to(config.rootpath).parts:
            item.add_marker("quiet")
    items.sort(key=lambda item: item.get_closest_marker("quiet") is None)
    broad = 1 if config.getoption("--all") else 6
    every = config.getoption("--every")
    kept = []
    for name, cases in itertools.groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        cases = [*cases]
        if broad > 1 and cases[0].get_closest_marker("broad"):
            cases = cases[begin(name, min(broad, len(cases))) :: broad]
        kept += cases[begin(name, every) :: every]
    if len(kept) < len(items):
        left = {*items} - {*kept}
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = kept


def begin(name, each):
    """Return with which case a test begins: another one in each test, and on each Python."""
    return (zlib.crc32(name.encode()) + sys.version_info.minor) % each


def pytest_collection_finish():
    """Let the garbage collector pass over what all tests share: it takes a tenth of their time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(autouse=True)
def panels_are_closed():
    """Close every widget after a test: an open one keeps its session and all of its runs."""
    yield
    if (ipywidgets := sys.modules.get("ipywidgets")) is not None:
        ipywidgets.Widget.close_all()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Close the browser that the tests of a folder share behind the last of them.

    The loop of Playwright would make later tests with asyncio fail.
    """
    try:
        return (yield)
    finally:
        stages = sys.modules.get("stages")
        if stages and (nextitem is None or nextitem.path.parent != item.path.parent):
            stages.shared.close()
