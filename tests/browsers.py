"""The browser of the tests: Debian's Chromium, or Chrome; and what windows of others have in common."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import NoReturn

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


AXE = Path(__file__).parents[1] / "node_modules/axe-core/axe.min.js"


def missing(sentence: str) -> NoReturn:
    """Skip a test for want of a tool; CI installs all tools, so there it fails."""
    pytest.fail(sentence) if os.environ.get("CI") else pytest.skip(sentence)


def axe() -> str:
    """Return the checker of accessibility; without it a test is skipped, but in CI it fails."""
    if not AXE.is_file():
        missing("axe-core is not installed: run npm install.")
    return AXE.read_text("utf-8")


def found() -> str:
    """Return its path; without one a test is skipped, but in CI it fails."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing(f"No browser on this machine: none of {', '.join(NAMES)} is installed.")
    return path


class Window:
    """A page of a browser that has `js`, `act` and `errors`."""

    def wait(self, expression: str, seconds: float = 20):
        """Return the value of an expression as soon as it is true of the page."""
        end = time.monotonic() + seconds
        while not (value := self.js(expression)):
            assert time.monotonic() < end, (expression, self.errors)
            time.sleep(0.05)
        return value

    def press(self, selector: str, key: str) -> None:
        """Press a key on an element, as a user does."""
        self.js(f"(document.querySelector({selector!r}).focus(), true)")
        actions = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self.act([{"type": "key", "id": "keys", "actions": actions}])
