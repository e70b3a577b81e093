"""The explore panel in a real Chromium: what is refused and taken back, and what has room."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from explorer.panels import Session
from explorer.panels.answer import SessionAnswer

sys.path.insert(0, str(Path(__file__).parent))
from shots import JUPYTER_DARK
from stages import shown

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shared():
    with shown(SessionAnswer(Session("bouncing_ball"))) as stage:
        yield stage


@pytest.fixture
def stage(shared):
    if shared.answer.session.state["model"] != "bouncing_ball":
        shared.page.select_option("select[data-key=model]", label="bouncing ball")
        shared.drawn()
    shared.page.click("[data-action=reset]")
    shared.drawn()
    yield shared
    assert shared.errors == []


def field(stage, key):
    return stage.page.locator(f'input[type=text][data-key="{key}"]')


def typed(stage, key, text):
    field(stage, key).fill(text)
    field(stage, key).press("Enter")
    stage.drawn()


def level(stage):
    return stage.page.locator(".nsx-status").get_attribute("data-level")


def said(stage):
    return stage.page.locator(".nsx-said").inner_text()


@pytest.mark.parametrize("key", ["rho.e", "knob.h", "knob.theta", "t_end"])
@pytest.mark.parametrize("back", ["typed", "Escape"])
def test_what_was_refused_is_taken_back(stage, key, back):
    good = field(stage, key).input_value()
    typed(stage, key, "abc")
    assert level(stage) == "error"
    assert stage.page.locator(".nsx-panel.nsx-stale").count() == 1
    if back == "typed":
        typed(stage, key, good)
    else:
        field(stage, key).press("Escape")
        stage.drawn()
    field(stage, key).blur()  # while it is edited it has no prefix
    assert field(stage, key).input_value() == good
    assert field(stage, key).get_attribute("aria-invalid") is None
    assert stage.page.locator(".nsx-note:visible").count() == 0
    assert level(stage) == "ok"
    assert stage.page.locator(".nsx-panel.nsx-stale").count() == 0
    assert stage.answer.session.pending == {}


def test_escape_asks_nothing_where_nothing_was_asked(stage):
    count = stage.js("() => sent.length")
    field(stage, "rho.e").fill("0.5")
    field(stage, "rho.e").press("Escape")
    assert stage.js("() => sent.length") == count


def test_the_status_says_what_the_picture_shows(stage):
    typed(stage, "rho.e", "abc")
    typed(stage, "q0.y", "0.4")
    assert said(stage).startswith("Showing e = 0.8; all other settings applied.")
    assert stage.js("() => document.querySelector('.nsx-plot')._fullData[0].y[0]") == pytest.approx(
        0.4
    )


def test_a_long_refusal_is_read_to_its_end():
    with shown(SessionAnswer(Session("falling_rod"))) as stage:
        stage.page.select_option(".nsx-presets", label="paradox")
        stage.drawn()
        for scheme in ("EventDriven", "MoreauJean"):
            stage.page.select_option("select[data-key=scheme]", label=scheme)
            stage.drawn()
            refused = level(stage) == "error"
            assert refused == (scheme == "EventDriven")
            assert said(stage).startswith("Showing MoreauJean") == refused
            assert stage.page.locator(".nsx-stale").count() == refused
            room = stage.js("""() => { const s = document.querySelector(".nsx-status");
              return [s.scrollHeight - s.clientHeight, s.scrollWidth - s.clientWidth]; }""")
            assert room == [0, 0]
        assert stage.errors == []


MODELS = ["diode_bridge", "slider_crank", "buck_converter", "woodpecker", "slip", "rough_block",
          "thermostat", "irma"]  # fmt: skip
CUT = """() => [...document.querySelectorAll(".nsx-table tr")].flatMap((row) => [...row.cells])
  .filter((cell) => cell.scrollWidth > cell.clientWidth)
  .map((cell) => [cell.textContent, cell.title])"""

FITS = """(width) => { const table = document.querySelector(".nsx-table");
  return document.querySelector(".nsx-panel").clientWidth > width
    && table.scrollWidth <= table.clientWidth; }"""


@pytest.mark.parametrize("model", MODELS)
def test_figures_of_the_table_are_whole_and_names_have_their_title(stage, model):
    stage.page.select_option("select[data-key=model]", label=model.replace("_", " "))
    stage.drawn()
    stage.page.wait_for_selector(".nsx-table tbody tr:nth-child(3)")
    for width in (1740, 1136):
        stage.page.set_viewport_size({"width": width, "height": 720})
        stage.page.wait_for_function(FITS, arg=width - 40)
        for text, title in stage.js(CUT):
            assert title == text
            assert any(c.isalpha() for c in text.replace("e", "")), text


@pytest.mark.parametrize(
    ("width", "height", "low", "high"), [(1280, 720, 555, 570), (1920, 1080, 700, 800)]
)
def test_the_panel_and_its_text_follow_the_window(stage, width, height, low, high):
    """Below the title and the cell of a notebook all of the panel is seen."""
    before = stage.js("() => document.querySelector('.nsx-plot')._fullLayout.font.size")
    stage.page.set_viewport_size({"width": width, "height": height})
    stage.page.wait_for_function(
        """([low, high]) => { const { height } = document.querySelector(".nsx-panel").getBoundingClientRect();
          return low <= height && height <= high; }""",
        arg=[low, high],
    )
    sizes = stage.js("() => ['.nsx-body', '.nsx-table table'].map((one) =>"
                     " parseFloat(getComputedStyle(document.querySelector(one)).fontSize))")  # fmt: skip
    assert (sizes[0] >= 14.5) == (width == 1920)
    assert (sizes[1] >= 12) == (width == 1920)
    wanted = 12 * sizes[0] / 13
    stage.page.wait_for_function(
        "(size) => Math.abs(document.querySelector('.nsx-plot')._fullLayout.font.size - size) < 0.4",
        arg=wanted,
    )
    assert before > 0
    stage.page.set_viewport_size({"width": 1280, "height": 720})


@pytest.mark.parametrize("model", ["disc_pile", "woodpecker", "irma", "stack", "column"])
def test_the_names_of_events_are_read_in_full_at_1280(stage, model):
    stage.page.select_option("select[data-key=model]", label=model.replace("_", " "))
    stage.drawn()
    stage.page.set_viewport_size({"width": 1140, "height": 720})
    stage.page.wait_for_function(
        """(count) => document.querySelectorAll(".nsx-table tbody tr").length === count
           && document.querySelector(".nsx-panel").clientWidth < 1140""",
        arg=len(stage.answer.frame()["table"]["rows"]),
    )
    assert stage.js(CUT) == []
    stage.page.set_viewport_size({"width": 1280, "height": 720})


LABELS = """() => [...document.querySelectorAll(".nsx-label")].filter((n) => n.clientHeight > 0)
  .map((n) => [n.textContent, n.scrollWidth > n.clientWidth + 1
    || (n.scrollHeight > n.clientHeight + 2 && getComputedStyle(n).overflowY === "hidden")])"""


@pytest.mark.parametrize("model", ["disc pile", "woodpecker", "thermostat", "portal frame"])
def test_what_a_parameter_is_stands_beside_it_in_full(stage, model):
    stage.page.set_viewport_size({"width": 1900, "height": 1080})
    stage.page.select_option("select[data-key=model]", label=model)
    stage.drawn()
    stage.page.wait_for_function("() => document.querySelector('.nsx-panel').clientWidth > 1800")
    found = stage.js(LABELS)
    assert [text for text, cut in found if cut] == []
    shown = " ".join(text for text, _ in found)
    for param in stage.answer.session.system.parameters.values():
        assert param.text in shown
    stage.page.set_viewport_size({"width": 1136, "height": 720})
    stage.page.wait_for_function("() => document.querySelector('.nsx-panel').clientWidth < 1136")
    lines = stage.js(
        "() => Math.max(...[...document.querySelectorAll('.nsx-label')].map((n) => n.clientHeight))"
    )
    assert lines <= 36  # two
    stage.page.set_viewport_size({"width": 1280, "height": 720})


@pytest.mark.parametrize(
    ("typed_", "shown"),
    [("1e12", "1e12"), ("123456.7", "123456.7"), ("-1.5e-9", "-1.5e-9"), ("20000", "20000")],
)
def test_a_number_is_seen_whole(stage, typed_, shown):
    typed(stage, "q0.y", typed_) if not typed_.startswith("-") else typed(stage, "v0.y", typed_)
    one = field(stage, "v0.y" if typed_.startswith("-") else "q0.y")
    assert one.input_value() == shown
    assert one.evaluate("(n) => n.scrollWidth <= n.clientWidth")


def test_a_small_number_has_the_prefix_of_its_unit(stage):
    for text in ("500e-6", "0.5e-3", "500 µ", "500u", "0.0005"):
        typed(stage, "knob.h", text)
        one = field(stage, "knob.h")
        assert one.input_value() == "0.0005", text  # plain while it is edited
        one.blur()
        assert one.input_value() == "500 µs", text
        assert float(stage.page.locator('input[type=range][data-key="knob.h"]').evaluate(
            "(n) => n.getAttribute('aria-valuetext') === '500 µs' ? 1 : 0")) == 1  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
def test_what_was_checked_stands_beside_the_status(stage, dark):
    checks = stage.page.locator(".nsx-checks")
    assert checks.inner_text() == "6 checks hold"
    typed(stage, "knob.h", "0.1")
    assert level(stage) == "warn"
    assert said(stage).startswith("'floor' is penetrated by")
    assert checks.inner_text() == "1 of 6 checks fails"
    title = checks.get_attribute("title")
    assert len(title.split("\n")) == 6
    assert "penetration" in title
    assert title in checks.get_attribute("aria-label")
    if dark:
        stage.js(JUPYTER_DARK)
    inside = stage.js("""() => { const bar = document.querySelector(".nsx-status");
      const r = document.querySelector(".nsx-checks").getBoundingClientRect();
      const b = bar.getBoundingClientRect();
      return r.width > 0 && r.bottom <= b.bottom && r.right <= b.right
        && bar.scrollHeight <= bar.clientHeight; }""")
    assert inside
    typed(stage, "knob.h", "0.002")
    assert level(stage) == "ok"
    assert checks.inner_text() == "6 checks hold"


@pytest.mark.parametrize("between", ["clicks", "press and release"])
def test_a_double_click_shows_all_of_a_busy_page(stage, between):
    """Which of two clicks are a double click is known to the browser, however late they are seen."""
    window = "() => document.querySelector('.nsx-plot')._fullLayout.xaxis.range"
    whole = stage.js(window)
    box = stage.page.locator(".nsx-plot .nsewdrag").first.bounding_box()
    x, y = box["x"] + box["width"] / 3, box["y"] + box["height"] / 2
    mouse = stage.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + box["width"] / 4, y, steps=4)
    mouse.up()
    stage.drawn()
    assert np.ptp(stage.js(window)) == pytest.approx(np.ptp(whole) / 4, rel=0.1)
    mouse.move(x, y)
    busy = "() => { const end = performance.now() + 700; while (performance.now() < end); }"
    for count in (1, 2):
        mouse.down(click_count=count)
        if count == 2 and between == "press and release":
            stage.js(busy)
        mouse.up(click_count=count)
        if count == 1 and between == "clicks":
            stage.js(busy)
    stage.page.wait_for_function(f"(all) => String(({window})()) === String(all)", arg=whole)
    assert stage.js(window) == whole


def times(stage):
    return [
        float(x)
        for x in stage.js("""() => [...document.querySelectorAll(
        ".nsx-table tbody tr")].map((row) => row.cells[0].textContent)""")
    ]


def test_every_event_is_reached_and_a_head_orders_them_all(stage):
    stage.page.select_option("select[data-key=model]", label="column")
    stage.drawn()
    count = len(stage.answer.session.solution.events)
    leaf = stage.page.locator(".nsx-table-foot select")
    stage.page.wait_for_function(  # the table follows the picture a little later
        "() => document.querySelectorAll('.nsx-table-foot option').length > 1"
    )
    pages = leaf.locator("option").count()
    assert count > 400
    first = times(stage)
    leaf.select_option(index=pages - 1)
    stage.page.wait_for_function(
        "(n) => document.querySelectorAll('.nsx-table tbody tr').length === n",
        arg=count - (pages - 1) * len(first),
    )
    last = times(stage)
    assert last == sorted(last)
    assert last[0] >= first[-1]
    assert last[-1] == pytest.approx(stage.answer.session.solution.events[-1].t, abs=1e-3)
    impulse = stage.page.locator(".nsx-table th").nth(3)
    for way in ("ascending", "descending"):
        impulse.click()
        stage.page.wait_for_function(
            "(way) => document.querySelectorAll('.nsx-table th')[3].ariaSort === way", arg=way
        )
    largest = max(e.impulse for e in stage.answer.session.solution.events)
    cell = stage.page.locator(".nsx-table tbody tr").first.locator("td").nth(3)
    assert float(cell.inner_text()) == pytest.approx(largest, rel=5e-3)


@pytest.mark.parametrize("model", ["buck converter", "woodpecker"])
def test_on_a_phone_nothing_lies_over_another_thing(model):
    answer = SessionAnswer(Session(model.replace(" ", "_")))
    with shown(answer, width=390, height=844) as stage:
        stage.page.wait_for_function("() => document.querySelector('.nsewdrag')")
        boxes = stage.js("""() => [".nsx-plots", ".nsx-clock", ".nsx-controls", ".nsx-table",
            ".nsx-table-foot", ".nsx-status"].map((one) => document.querySelector(one))
            .map((n) => { const b = n.getBoundingClientRect(); return [b.top, b.bottom, b.right]; })""")
        assert all(bottom - top > 20 for top, bottom, _ in boxes)
        assert all(right <= 391 for *_, right in boxes)
        ends = sorted((top, bottom) for top, bottom, _ in boxes)
        assert all(bottom <= top + 1 for (_, bottom), (top, _) in itertools.pairwise(ends))
        plots = stage.js("""() => [...document.querySelectorAll(".nsewdrag")].map((n) => {
            const b = n.getBoundingClientRect(); return [b.top, b.bottom, b.width]; })""")
        assert all(wide > 220 for *_, wide in plots)
        assert stage.errors == []


CANVAS = "() => document.querySelector('.nsx-mechanism').toDataURL()"


def layer(stage, name):
    return stage.page.locator(".nsx-layer", has_text=name)


def seek(stage, time):
    stage.js("""(t) => { const r = document.querySelector(".nsx-scrub"); r.value = t;
        r.dispatchEvent(new Event("input")); }""", time)  # fmt: skip


def test_forces_impulses_velocities_and_trails_are_switched_on_and_off():
    with shown(SessionAnswer(Session("thrown_ball"))) as stage:
        run = stage.answer.session.solution
        hit = next(e.t for e in run.events if e.kind == "impact")
        after = 0.999 * run.t[-1]  # it lies
        layers = {"Forces": True, "Impacts": True, "Velocity": False, "Trail": False}
        for name, on in layers.items():
            button = layer(stage, name)
            assert button.get_attribute("aria-pressed") == str(on).lower()
            seek(stage, after if name == "Forces" else hit + 1e-3)
            before = stage.js(CANVAS)
            button.focus()
            stage.page.keyboard.press("Enter")
            assert button.get_attribute("aria-pressed") == str(not on).lower()
            assert stage.js(CANVAS) != before, name
            button.click()
            assert stage.js(CANVAS) == before, name
        assert stage.errors == []


def test_what_has_no_contact_offers_no_forces():
    with shown(SessionAnswer(Session("duffing"))) as stage:
        assert [layer(stage, k).is_visible() for k in ("Forces", "Impacts", "Trail")] == [
            False,
            False,
            True,
        ]
        assert stage.errors == []


def test_the_mechanism_is_resized_by_drag_and_by_key(stage):
    page, divider = stage.page, stage.page.locator(".nsx-divider")
    wide = "() => document.querySelector('.nsx-stage').clientWidth"
    usual = stage.js(wide)
    box = divider.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 100
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 40, y, steps=3)
    page.mouse.up()
    assert stage.js(wide) == pytest.approx(usual + 40, abs=2)
    for key, sign in (("ArrowRight", -1), ("ArrowLeft", 1)):
        before = stage.js(wide)
        divider.press(key)
        assert sign * (stage.js(wide) - before) > 10
    divider.press("ArrowRight")
    for _ in range(30):  # the plots keep room for their words
        divider.press("ArrowLeft")
    assert stage.js("() => document.querySelector('.nsx-plots').clientWidth") >= 490
    divider.dblclick()
    assert stage.js(wide) == usual
    assert divider.get_attribute("aria-valuenow") == "34"


def now(stage):
    return stage.js("() => Number(document.querySelector('.nsx-scrub').value)")


def test_the_cursor_goes_from_event_to_event(stage):
    seek(stage, 0)
    times = np.unique([e.t for e in stage.answer.session.solution.events])
    stage.page.locator(".nsx-play").focus()
    for t in times[:3]:
        stage.page.keyboard.press("n")
        assert now(stage) == pytest.approx(t, abs=2e-3)
    stage.page.keyboard.press("p")
    assert now(stage) == pytest.approx(times[1], abs=2e-3)
    stage.page.get_by_role("button", name="Previous event").click()
    assert now(stage) == pytest.approx(times[0], abs=2e-3)
    stage.page.keyboard.press("p")  # there is none before
    assert now(stage) == pytest.approx(times[0], abs=2e-3)
    field(stage, "rho.e").press("n")  # a letter of a text
    assert now(stage) == pytest.approx(times[0], abs=2e-3)
    field(stage, "rho.e").press("Escape")


def test_it_plays_slowly_around_events(stage):
    """Of one second of the screen a tenth passes near an impact."""
    speed = stage.page.locator(".nsx-speed")
    speed.select_option("slow")
    first = stage.answer.session.solution.events[0].t
    spans = {}
    for name, begin in (("near", first - 1e-3), ("far", first / 2)):
        seek(stage, begin)
        stage.page.keyboard.press("Escape")
        spans[name] = stage.js("""() => new Promise((resolve) => {
            const r = document.querySelector(".nsx-scrub"), from = Number(r.value), since = performance.now();
            document.querySelector(".nsx-play").click();
            setTimeout(() => { document.querySelector(".nsx-play").click();
              resolve((Number(r.value) - from) / (performance.now() - since)); }, 150); })""")  # fmt: skip
    assert 0 < spans["near"] < 0.5 * spans["far"]
    speed.select_option("1")
