"""The browser's code: what is kept in the repository is what its modules give."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from explorer.panels.live import LivePanel, source

ROOT = Path(__file__).parents[1]
FRONT = ROOT / "explorer" / "panels" / "front"


def test_the_bundle_is_made_of_these_modules():
    """Its first line names the digest of all sources: `npm run build` writes both."""
    digest = hashlib.sha256()
    for path in sorted(FRONT.glob("*.js")):
        digest.update(path.read_bytes())
    named = re.match(r'// Made by "npm run build" from sources of sha256 (\w+)\n', source())
    assert named is not None
    assert named[1] == digest.hexdigest(), 'the bundle is old: run "npm run build"'


def test_the_bundle_is_one_module_that_asks_for_nothing():
    assert not re.search(r"\bimport\b", source())
    assert re.search(r"export\{\w+ as default\};?\s*$", source())
    assert str(LivePanel._esm) == source()
