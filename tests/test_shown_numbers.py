"""Numbers and names as a reader meets them: prefixes instead of zeros, symbols instead of code."""

from __future__ import annotations

import re

import pytest

from explorer.models import models
from explorer.panels import Session
from explorer.panels.explore import SessionAnswer
from explorer.quantities import quantity

RAW = re.compile(r"[A-Za-z]_[A-Za-z0-9]")
ZEROS = re.compile(r"(?<![\d.])0\.0000\d|(?<![\d.])\d{6,}(?!\d*e)|0\.0e\+00")
WORDS = ("label", "beside", "text", "title", "subtitle", "unit", "name", "ticktext", "note")


def words(value, key=""):
    """Return all texts that are seen: not keys, values of choices, or styles."""
    if isinstance(value, dict):
        return [t for k, v in value.items() for t in words(v, k)]
    if isinstance(value, list | tuple):
        return [t for v in value for t in words(v, key)]
    return [value] if isinstance(value, str) and key in (*WORDS, "rows", "columns") else []


@pytest.mark.parametrize("name", sorted(models))
def test_no_text_of_a_panel_has_raw_names_or_rows_of_zeros(name):
    answer = SessionAnswer(Session(name))
    frame = answer.frame()
    schema = answer.schema()
    schema = [schema[key] for key in ("title", "subtitle", "groups")] + [
        preset["text"] for preset in schema["presets"]
    ]
    parts = [{"text": schema}, frame["figure"]["data"], frame["figure"]["layout"], frame["table"],
             {"text": frame["status"]["text"]}]  # fmt: skip
    for text in words(parts):
        seen = re.sub("<sub>.*?</sub>", "", text)
        assert not RAW.search(seen), text
        assert not ZEROS.search(seen), text


@pytest.mark.parametrize("name", sorted(models))
def test_parameters_in_a_notebook_are_read_at_a_glance(name):
    text = models[name]()._repr_markdown_()
    for row in re.findall(r"^\| \$.*\|$", text, re.MULTILINE):
        cells = row.split("|")[2:4]
        assert not any(ZEROS.search(cell) or re.search(r"e[+-]\d", cell) for cell in cells), row
    assert not re.search(r"e = e\b", text)


@pytest.mark.parametrize(("value", "unit", "text"), [
    (4.7e-5, "F", "47 µF"), (4e6, "N m2", "4 MN m²"), (1e-3, "s", "0.001 s"), (1e5, "Pa", "100 kPa"),
    (-2e-10, "A", "-200 pA"), (1e-12, "", "1 × 10⁻¹²"), (2e-5, "kg", "2 × 10⁻⁵ kg"),
    (9.81, "m/s2", "9.81 m/s²"), (0.0, "F", "0 F"), (5e-4, "m2", "0.0005 m²"),
])  # fmt: skip
def test_a_quantity_far_from_one_has_a_prefix(value, unit, text):
    assert quantity(value, unit) == text


def test_every_event_is_on_some_page_of_the_table():
    answer = SessionAnswer(Session("stick_slip", t_end=200.0))
    count = len(answer.session.solution.events)
    first = answer.frame()["table"]
    assert count > len(first["rows"])
    rows = []
    for page in range(first["pages"]):
        (frame,) = answer.do("events_page", page)
        rows += frame["table"]["rows"]
        assert frame["table"]["page"] == page
    assert len(rows) == count
    assert answer.pull({"t_end": 150.0}, False)["table"]["page"] == 0
