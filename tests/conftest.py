"""For all tests: nothing of one is left behind for the next."""

from __future__ import annotations

import gc
import sys

import pytest


def pytest_addoption(parser):
    """Add what a second run of the suite, on another Python, leaves out."""
    parser.addoption(
        "--gallery", type=int, default=1, metavar="N",
        help="of tests marked gallery, which have many cases, run every N-th case",
    )  # fmt: skip


def pytest_collection_modifyitems(config, items):
    """Mark benchmarks as measuring times; what does comes first, while nothing else runs."""
    for item in items:
        if "benchmarks" in item.path.relative_to(config.rootpath).parts:
            item.add_marker("quiet")
    items.sort(key=lambda item: item.get_closest_marker("quiet") is None)
    cases = [item for item in items if item.get_closest_marker("gallery")]
    kept = cases[:: config.getoption("gallery")]
    if len(kept) < len(cases):
        left = {*cases} - {*kept}
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]


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
