"""For all tests: nothing of one is left behind for the next."""

from __future__ import annotations

import sys

import pytest

QUIET = {"benchmarks", "browser"}  # folders whose tests measure times


def pytest_collection_modifyitems(items):
    """Mark what measures times, so that it can be run alone."""
    for item in items:
        if QUIET & set(item.path.relative_to(item.config.rootpath).parts):
            item.add_marker("quiet")


@pytest.fixture(autouse=True)
def panels_are_closed():
    """Close every widget after a test: an open one keeps its session and all of its runs."""
    yield
    if (ipywidgets := sys.modules.get("ipywidgets")) is not None:
        ipywidgets.Widget.close_all()
