"""Run some tests first: ``pytest -p mutant_order``, with MUTANT_FIRST the file that names them.

A test that takes MUTANT_LONG seconds of the processor, in which nothing is compiled, ends the
process. MUTANT_NOW is the file that says which test is run.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from numba.core import event

LONG = float(os.environ["MUTANT_LONG"])


class Compiling(event.Listener):
    """Lets the time begin anew whenever a part of a kernel has been compiled."""

    def on_start(self, _):
        """Take no part."""

    def on_end(self, _):
        """Start the time again, in a test."""
        if signal.getitimer(signal.ITIMER_PROF)[0]:
            signal.setitimer(signal.ITIMER_PROF, LONG)


event.register("numba:run_pass", Compiling())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put the tests that are named first, in their order."""
    names = Path(os.environ["MUTANT_FIRST"]).read_text("utf-8").splitlines()
    place = {name: n for n, name in enumerate(names)}
    items.sort(key=lambda item: place.get(item.nodeid, len(names)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Say which test is run, and end the process if that takes too long."""
    Path(os.environ["MUTANT_NOW"]).write_text(item.nodeid, "utf-8")
    signal.setitimer(signal.ITIMER_PROF, LONG)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
