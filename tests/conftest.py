"""For all tests: nothing of one is left behind for the next."""

from __future__ import annotations

import sys

import pytest


def pytest_collection_modifyitems(items):
    """Mark benchmarks as measuring times; what does comes first, while nothing else runs."""
    for item in items:
        if "benchmarks" in item.path.relative_to(item.config.rootpath).parts:
            item.add_marker("quiet")
    items.sort(key=lambda item: item.get_closest_marker("quiet") is None)


@pytest.fixture(autouse=True)
def panels_are_closed():
    """Close every widget after a test: an open one keeps its session and all of its runs."""
    yield
    if (ipywidgets := sys.modules.get("ipywidgets")) is not None:
        ipywidgets.Widget.close_all()
