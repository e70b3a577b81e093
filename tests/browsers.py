"""The browser of the tests: Debian's Chromium, or Chrome."""

from __future__ import annotations

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def found() -> str:
    """Return its path; without one a test is skipped, but in CI it fails."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        sentence = f"No browser on this machine: none of {', '.join(NAMES)} is installed."
        pytest.fail(sentence) if os.environ.get("CI") else pytest.skip(sentence)
    return path
