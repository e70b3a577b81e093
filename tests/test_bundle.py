"""The browser's code: what is kept in the repository is what its modules give."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from pathlib import Path

from loops import for_each

from explorer.panels.gallery import GalleryPanel
from explorer.panels.live import LivePanel, source

ROOT = Path(__file__).parents[1]
FRONT = ROOT / "explorer" / "panels" / "front"


@for_each("name", ["panel", "gallery"])
def test_the_bundle_is_made_of_these_modules(name):
    """Its first line names the digest of all sources: `npm run build` writes both."""
    digest = hashlib.sha256()
    for path in sorted([*FRONT.glob("*.js"), *FRONT.glob("*.json")]):
        digest.update(path.read_bytes())
    named = re.match(r'// Made by "npm run build" from sources of sha256 (\w+)\n', source(name))
    assert named is not None
    assert named[1] == digest.hexdigest(), 'the bundle is old: run "npm run build"'


@for_each(["name", "widget"], [("panel", LivePanel), ("gallery", GalleryPanel)])
def test_the_bundle_is_one_module_that_asks_for_nothing(name, widget):
    assert not re.search(r"\bimport\b", source(name))
    assert re.search(r"export\{(\w+ as \w+,)*\w+ as default\};?\s*$", source(name))
    packed = str(widget._esm).partition('"')[2].partition('"')[0]
    assert gzip.decompress(base64.b64decode(packed)).decode().startswith(source(name))
