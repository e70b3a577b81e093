"""The guide to a model of one's own: all code runs, and all that the program says is as printed."""

from __future__ import annotations

import io
import re
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import explorer as ex

GUIDE = (Path(__file__).parents[1] / "docs/own_model.md").read_text("utf-8")
HEAD, *SECTIONS = re.split(r"^## ", GUIDE, flags=re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
KINDS = [s.partition("\n")[0] for s in SECTIONS if BLOCK.search(s)]


def said(code: str, scope: dict[str, object]) -> str:
    """Return what running code prints, warns of, and fails with."""
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            exec(code, scope)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    told = [f"{type(w.message).__name__}: {w.message}" for w in warned]
    return "\n".join([*told, *printed.getvalue().splitlines()])


@pytest.mark.parametrize("kind", KINDS)
def test_code_and_messages_are_as_they_are_printed(kind):
    scope: dict[str, object] = {"__name__": "own_model"}
    for code, _ in BLOCK.findall(HEAD):
        assert said(code, scope) == ""
    (text,) = (s for s in SECTIONS if s.startswith(f"{kind}\n"))
    for code, expected in BLOCK.findall(text):
        assert said(code, scope) == expected.rstrip("\n"), code


def test_each_kind_has_a_model_a_checked_number_and_five_mistakes():
    assert KINDS == ["Impact", "Friction", "Circuit", "Switch", "Linkage"]
    for text in SECTIONS[:5]:
        model, mistakes = text.split("**What goes wrong.**")
        assert "on paper" in model or "On paper" in model
        told = [expected for _, expected in BLOCK.findall(mistakes) if expected]
        assert len(told) >= 5
        assert all(re.match(r"[A-Z]\w+: ", t) for t in told)
        assert "What no program can know" in mistakes


def test_what_the_guide_names_is_there():
    for named in re.findall(r"`ex\.([\w.]+)", GUIDE):
        thing = ex
        for part in named.split("."):
            thing = getattr(thing, part)
    for anchor in re.findall(r"\]\(#(\w+)\)", GUIDE):
        assert anchor in {kind.lower() for kind in KINDS}
