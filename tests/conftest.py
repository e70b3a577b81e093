"""For all tests: nothing of one is left behind for the next."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def panels_are_closed():
    """Close every widget after a test: an open one keeps its session and all of its runs."""
    yield
    if (ipywidgets := sys.modules.get("ipywidgets")) is not None:
        ipywidgets.Widget.close_all()
