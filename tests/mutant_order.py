"""Run some tests first: ``pytest -p mutant_order``, with MUTANT_FIRST the file that names them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put the tests that are named first, in their order."""
    names = Path(os.environ["MUTANT_FIRST"]).read_text("utf-8").splitlines()
    place = {name: n for n, name in enumerate(names)}
    items.sort(key=lambda item: place.get(item.nodeid, len(names)))
