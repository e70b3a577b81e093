"""Run some tests first: ``pytest -p mutant_order``, with MUTANT_FIRST the file that names them.

Then come short runs of the gallery by the schemes of the modules in MUTANT_SCHEMES.

A test that takes MUTANT_LONG seconds of the processor, in which nothing is compiled, ends the
process. MUTANT_NOW is the file that says which test is run.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from numba.core import event

from explorer.schemes import schemes

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
    modules = os.environ["MUTANT_SCHEMES"].split()
    ends = tuple(f"-{name}]" for name, one in schemes.items() if one.__module__ in modules)

    def order(item):
        short = "test_regression.py::test_a_short_run[" in item.nodeid and item.nodeid.endswith(
            ends
        )
        return place.get(item.nodeid, len(names) + (not short))

    items.sort(key=order)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Say which test is run, and end the process if that takes too long."""
    Path(os.environ["MUTANT_NOW"]).write_text(item.nodeid, "utf-8")
    signal.setitimer(signal.ITIMER_PROF, LONG)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
