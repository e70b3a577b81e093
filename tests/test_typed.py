"""Type checkers and editors see what users type: the stubs are what the packages give."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
USER = ROOT / "tests" / "data" / "typed_user.py"
SETTINGS = f"""[mypy]
mypy_path = {ROOT}
ignore_missing_imports = true
[mypy-explorer.*]
ignore_errors = true
"""


def test_stubs_are_what_their_packages_give():
    """A name that was added may be missing, one that went or has another type may not."""
    made = runpy.run_path(str(ROOT / ".ci" / "stubs.py"))
    for path, text in made["stubs"]().items():
        stub = path.read_text("utf-8")
        assert made["wrong"](stub, text) == [], "run python .ci/stubs.py"
        gone = re.sub(r"(?m)^from explorer\.\S+ import (\w+) as \1\n", "", text, count=1)
        assert made["wrong"](gone, text) == []
        assert made["wrong"](text, gone) != []
        assert made["wrong"](text.replace("import", "imports", 1), text) != []


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says of the user's file, by line."""
    settings = tmp_path_factory.mktemp("typed") / "mypy.ini"
    settings.write_text(SETTINGS, "utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", os.devnull, USER],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    found: dict[int, str] = {}
    for line in ran.stdout.splitlines():
        if place := re.match(r".*typed_user\.py:(\d+): (.*)", line):
            found[int(place[1])] = f"{found.get(int(place[1]), '')}{place[2]}\n"
    assert found, ran.stdout + ran.stderr
    return found


def test_a_user_sees_types_and_errors(said):
    """Each line is told what stands behind it; no other line is told anything."""
    wanted = {}
    for k, line in enumerate(USER.read_text("utf-8").splitlines(), 1):
        if wrong := re.search(r"# wrong: (\S+)$", line):
            wanted[k] = f"[{wrong[1]}]"
        elif line.startswith("reveal_type"):
            wanted[k] = line.partition("#")[2].strip()
    assert {*said} == {*wanted}, said
    assert {k: said[k] for k in wanted if wanted[k] not in said[k]} == {}
