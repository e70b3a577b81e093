"""Numbers and names as a reader meets them: prefixes instead of zeros, symbols instead of code."""

from __future__ import annotations

import re

import pytest

from explorer.models import models
from explorer.panels import Session
from explorer.panels.answer import SessionAnswer
from explorer.quantities import column, number, quantity
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import COLOURS, Plot, curve

RAW = re.compile(r"[A-Za-z]_[A-Za-z0-9]")
ZEROS = re.compile(r"(?<![\d.])0\.0000\d|(?<![\d.])\d{6,}(?!\d*e)|0\.0e\+00")
POWERS = re.compile(r"\d[eE][+-]?\d")
WORDS = ("label", "beside", "text", "title", "subtitle", "unit", "name", "ticktext", "note")


def words(value, key=""):
    """Return all texts that are seen: not keys, values of choices, or styles."""
    if isinstance(value, dict):
        return [t for k, v in value.items() for t in words(v, k)]
    if isinstance(value, list | tuple):
        return [t for v in value for t in words(v, key)]
    return [value] if isinstance(value, str) and key in (*WORDS, "rows", "columns") else []


@pytest.mark.broad
@pytest.mark.parametrize("name", sorted(models))
def test_no_text_of_a_panel_has_raw_names_or_rows_of_zeros(name):
    answer = SessionAnswer(Session(name))
    frame = answer.frame()
    schema = answer.schema()
    schema = [schema[key] for key in ("title", "subtitle", "groups")] + [
        preset["text"] for preset in schema["presets"]
    ]
    status = frame["status"]
    said = [status["text"], *status.get("checks", {}).get("lines", [])]
    parts = [{"text": schema}, frame["figure"]["data"], frame["figure"]["layout"], frame["table"],
             {"text": said}]  # fmt: skip
    for text in words(parts):
        seen = re.sub("<sub>.*?</sub>", "", text)
        assert not RAW.search(seen), text
        assert not ZEROS.search(seen), text
        assert not POWERS.search(seen), text


@pytest.mark.broad
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
    answer = SessionAnswer(Session("stick_slip", t_end=80.0))
    count = len(answer.session.solution.events)
    first = answer.frame()["table"]
    assert count > len(first["rows"])
    rows = []
    for page in range(first["pages"]):
        (frame,) = answer.do("events_page", page)
        rows += frame["table"]["rows"]
        assert frame["table"]["page"] == page
    assert len(rows) == count
    assert answer.pull({"t_end": 60.0}, False)["table"]["page"] == 0


@pytest.mark.parametrize(("value", "digits", "text"), [
    (2.4e-15, 3, "2.4 × 10⁻¹⁵"), (0.00123456, 3, "0.00123"), (123456.7, 3, "123000"),
    (-3.2e7, 6, "-3.2 × 10⁷"), (-0.0, 6, "0"), (float("inf"), 6, "∞"), (5e-4, 6, "0.0005"),
])  # fmt: skip
def test_a_number_far_from_one_has_a_power_of_ten(value, digits, text):
    assert number(value, digits) == text


@pytest.mark.parametrize(("values", "unit", "found"), [
    ([0.0, 2e-5, -0.0013], "N s", (1e3, "mN s")), ([3e-6], "s", (1e6, "µs")), ([], "s", (1.0, "s")),
    ([0.1, 40.0], "m/s", (1.0, "m/s")), ([1e-5], "1/s2", (1.0, "1/s²")), ([2e7], "J", (1e-6, "MJ")),
])  # fmt: skip
def test_a_column_has_the_unit_that_its_largest_number_needs(values, unit, found):
    factor, shown = column(values, unit)
    assert (pytest.approx(factor), shown) == found


def test_times_far_below_a_second_are_read_in_milliseconds():
    table = SessionAnswer(Session("buck_converter")).frame()["table"]
    assert table["columns"][0] == "t (ms)"
    assert table["time"] == {"factor": pytest.approx(1e3), "digits": 3}
    assert table["rows"][0][0] == pytest.approx(1.26e-4, rel=1e-2), "in s, as the cursor wants it"
    impulses = SessionAnswer(Session("woodpecker")).frame()["table"]
    assert impulses["columns"][3] == "p (mN s)"


@pytest.mark.parametrize(("model", "count"), [("column", 4), ("relay_feedback", 4)])
def test_the_events_of_all_pages_are_ordered_by_the_column_that_is_asked_for(model, count):
    answer = SessionAnswer(Session(model))

    def ordered(k):
        (frame,) = answer.do("events_sort", k)
        rows, table = [], frame["table"]
        for page in range(table["pages"]):
            rows += answer.do("events_page", page)[0]["table"]["rows"]
        return table["by"], rows

    def figures(cell):
        found = re.search(r"−?[\d.]+(?: × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", str(cell))
        power = (found[1] or "0").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
        return float(found[0].split(" ×")[0].replace("−", "-")) * 10.0 ** int(power)

    first = answer.frame()["table"]
    assert len(first["columns"]) == count
    by, rows = ordered(count - 1)
    values = [figures(row[-1]) for row in rows]
    assert by == [count - 1, False]
    assert values == sorted(values)
    by, rows = ordered(count - 1)
    values = [figures(row[-1]) for row in rows]
    assert by == [count - 1, True]
    assert values == sorted(values, reverse=True)
    assert [row[1] for row in ordered(1)[1]] == sorted(row[1] for row in rows)
    by, rows = ordered(0)
    assert by == [0, False]
    assert rows[: len(first["rows"])] == first["rows"]


@pytest.mark.parametrize(("unit", "seen"), [("N", "%{y:.4~s}N"), ("1/s", "%{y} 1/s")])
def test_what_is_shown_on_hovering_has_no_raw_powers(unit, seen):
    trace = curve([0.0, 1.0], [0.0, 2e-6], COLOURS[0], name="r",
                  hovertemplate=f"t = %{{x:.4g}} s<br>r = %{{y:.5g}} {unit}")  # fmt: skip
    picture = compose([[Plot([trace], "time t (s)", f"r ({unit})", (0, 1), (0.0, 2e-6))]], [1])
    assert picture.data[0]["hovertemplate"] == f"t = %{{x:.4g}} s<br>r = {seen}"
    power = picture.layout["yaxis"].get("exponentformat")
    assert power == ("power" if unit == "1/s" else None)


def test_a_run_is_called_good_when_it_was_checked_and_not_in_a_drag():
    answer = SessionAnswer(Session("bouncing_ball"))
    status = answer.pull({"rho.e": 0.7}, True)["status"]
    assert status["level"] == "unchecked"
    assert "checks" not in status
    status = answer.pull({"rho.e": 0.7}, False)["status"]
    assert (status["level"], status["checks"]["text"]) == ("ok", "6 checks hold")
