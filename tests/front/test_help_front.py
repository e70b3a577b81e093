"""Help on words, hints and the sound of impacts, in a real Chromium."""

import json
import re
import sys
from pathlib import Path

import pytest

from explorer.panels import Session
from explorer.panels.answer import SessionAnswer
from explorer.panels.controls import groups
from explorer.parameters import knobs_of
from explorer.schemes import schemes
from explorer.views.events import blows, event_table

sys.path.insert(0, str(Path(__file__).parent))
from shots import JUPYTER_DARK
from stages import shown

FRONT = Path(__file__).parents[2] / "explorer" / "panels" / "front"
WORDS = json.loads((FRONT / "words.json").read_text("utf-8"))
NAMES = {name.lower() for entry in WORDS for name in entry["names"]}
MODELS = ("bouncing_ball", "rough_block", "relay_feedback", "compass_gait")


def bare(title):
    """Return the title of a column or an axis without its unit."""
    return re.sub(r" \([^()]*\)$", "", title)


def test_every_knob_column_and_group_of_controls_has_an_entry():
    knobs = {f"knob.{name}" for scheme in schemes.values() for name in knobs_of(scheme)}
    columns, keys = set(), set()
    for name in (*MODELS, "thermostat"):
        session = Session(name)
        columns |= {f"column.{bare(c)}" for c in event_table(session.solution)["columns"]}
        keys |= {c["key"] for g in groups(session) for c in g["controls"]}
    own = ("rho.", "q0.", "v0.", "x0.", "u.", "size.")
    shown = {k.split(".")[0] if k.startswith(own) else k for k in keys}
    assert sorted(n for n in {*knobs, *columns, *shown} if n.lower() not in NAMES) == []


def test_an_entry_is_a_sentence_and_a_name_has_one_entry():
    every = [name.lower() for entry in WORDS for name in entry["names"]]
    assert sorted(every) == sorted(set(every))
    for entry in WORDS:
        assert entry["means"].endswith("."), entry
        assert entry["means"][0].isupper() or entry["means"][0] in "φ", entry
        assert set(entry) <= {"names", "word", "means", "equation", "within"}


def test_the_loudness_is_that_of_the_largest_impulse_at_each_time():
    events = list(Session("bouncing_ball").solution.events)
    times, impulses = blows(events + events[:1], 5)
    assert times.tolist() == sorted({e.t for e in events})[:5]
    expected = [max(e.impulse for e in events if e.t == t and e.kind == "impact") for t in times]
    assert impulses.tolist() == expected
    assert min(expected) > 0


@pytest.fixture(scope="module")
def shared():
    with shown(SessionAnswer(Session("bouncing_ball"))) as stage:
        yield stage


@pytest.fixture
def stage(shared):
    shared.page.set_viewport_size({"width": 1280, "height": 720})
    shared.show(SessionAnswer(Session("bouncing_ball")))
    shared.page.wait_for_selector(".nsx-plot .ytitle")
    shared.page.wait_for_selector(".nsx-table td")
    shared.js("() => { sent.length = 0; }")  # this panel counts its questions anew
    yield shared
    assert shared.errors == []


def enter(stage):
    stage.page.click("[data-action=lecture]")
    stage.page.wait_for_selector(".nsx-lecture")


CONTRAST = """() => { const parts = (text) => text.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255);
  const light = (text) => parts(text).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((sum, x, k) => sum + x * [0.2126, 0.7152, 0.0722][k], 0);
  const paper = light(getComputedStyle(document.querySelector(".nsx-panel")).backgroundColor);
  const ratio = (text) => { const [a, b] = [light(text), paper]; return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
  return { text: [...document.querySelectorAll(".nsx-label, .nsx-unit, .nsx-time, .nsx-table td, .nsx-title")]
      .map((one) => ratio(getComputedStyle(one).color)),
    lines: [...document.querySelectorAll(".scatterlayer .js-line")].map((one) => one.style.stroke)
      .filter((one) => one && one !== "none").map(ratio) }; }"""


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_contrast_is_high_on_both_grounds(stage, dark):
    if dark:
        stage.js(JUPYTER_DARK)
        stage.page.wait_for_selector(".nsx-panel[data-theme=dark]")
    stage.show(SessionAnswer(Session("rough_block")))
    stage.page.wait_for_selector(".nsx-plot .ytitle")
    enter(stage)
    ratios = stage.js(CONTRAST)
    assert min(ratios["text"]) >= 7  # WCAG AAA
    assert min(ratios["lines"]) >= 4
    stage.js("() => { document.body.removeAttribute('data-jp-theme-light');"
             " document.body.removeAttribute('style'); }")  # fmt: skip


@pytest.mark.browser
def test_controls_chosen_for_a_lecture_go_with_a_state(stage):
    visible = """() => [...document.querySelectorAll('.nsx-range[data-key]')]
      .filter((one) => one.offsetWidth).map((one) => one.dataset.key)"""
    enter(stage)
    stage.page.click(".nsx-menu:has(.nsx-choices) summary")
    stage.page.click(".nsx-choices label:has-text('mass')")
    chosen = stage.js(visible)
    assert "rho.m" not in chosen
    assert "rho.e" in chosen
    stage.js("""() => { window.copied = [];
      document.execCommand = () => { window.copied.push(document.activeElement.value); return true; };
      Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true }); }""")
    stage.js("() => widget && document.querySelector('[data-action=copy_state]').click()")
    stage.page.wait_for_function("() => window.copied.length")
    state = json.loads(stage.js("() => window.copied[0]"))
    assert sorted(state["lecture"]) == sorted(chosen)
    stage.js("() => document.querySelector('[data-action=load_state]').click()")
    stage.page.fill(".nsx-dialog textarea", json.dumps({**state, "lecture": ["rho.g"]}))
    stage.page.click(".nsx-dialog button[value=accept]")
    stage.page.wait_for_function(f"() => String(({visible})()) === 'rho.g'")
    assert stage.answer.session.problem in (None, "")  # the kernel lets the choice alone
    stage.page.click("[data-action=lecture]")


@pytest.mark.browser
def test_a_word_is_explained_on_hover_on_focus_and_aloud(stage):
    tip = stage.page.locator(".nsx-tip")
    stage.page.hover(".nsx-control:has([data-key='knob.theta']) .nsx-label")
    tip.wait_for()
    assert "q₁ = q₀ + h ((1 − θ) v₀ + θ v₁)" in tip.inner_text()
    box = stage.js("() => { const [a, b] = ['.nsx-tip', '.nsx-panel'].map((one) =>"
                   " document.querySelector(one).getBoundingClientRect());"
                   " return a.left >= b.left && a.top >= b.top && a.right <= b.right && a.bottom <= b.bottom; }")  # fmt: skip
    assert box
    stage.page.keyboard.press("Escape")
    tip.wait_for(state="hidden")
    field = stage.page.locator("input[type=text][data-key='rho.e']")
    field.focus()
    stage.page.keyboard.press("Tab")
    stage.page.keyboard.press("Shift+Tab")
    tip.wait_for()
    assert "gap′(+) = −e gap′(−)" in tip.inner_text()
    said = stage.js("(key) => { const one = document.querySelector(`[type=range][data-key='${key}']`);"
                    " return document.getElementById(one.getAttribute('aria-describedby')).textContent; }",
                    "rho.e")  # fmt: skip
    assert "gap′(+) = −e gap′(−)" in said
    heads = stage.js("() => [...document.querySelectorAll('.nsx-table th')].map((one) =>"
                     " document.getElementById(one.getAttribute('aria-describedby'))?.textContent)")  # fmt: skip
    assert all(heads)
    assert len(set(heads)) == len(heads)
    # what is refused is said first, and the help stays
    field.fill("abc")
    field.press("Enter")
    stage.drawn()
    assert len(field.get_attribute("aria-describedby").split()) == 2


@pytest.mark.browser
def test_a_name_in_a_legend_is_explained_on_hover(stage):
    stage.show(SessionAnswer(Session("rough_block")))
    tip = stage.page.locator(".nsx-tip")
    for name, word, means in (
        ("T + V", "energy", "Kinetic energy T"),
        ("x", "x", "A coordinate of the model, in m."),
        ("sticks", "sticking", "friction is smaller than its bound"),
    ):
        entry = stage.page.locator(".nsx-plot g.traces").filter(
            has_text=re.compile(f"^{re.escape(name)}$")
        )
        entry.first.hover()
        tip.wait_for()
        assert tip.locator("strong").inner_text() == word
        assert means in tip.inner_text()
        assert "A click hides" in tip.inner_text()
        stage.page.keyboard.press("Escape")
        tip.wait_for(state="hidden")
        stage.page.mouse.move(2, 2)


@pytest.mark.browser
def test_a_click_in_a_legend_hides_all_of_that_name_and_a_double_click_all_others(stage):
    stage.show(SessionAnswer(Session("rocking_block")))
    stage.page.wait_for_selector(".nsx-plot g.traces")
    seen = """() => { const gd = document.querySelector(".nsx-plot");
      const one = gd._fullData.find((t) => t.showlegend && t.name === "left corner");
      return gd._fullData.filter((t) => t.yaxis === one.yaxis).map((t) => [t.name, t.visible === true]); }"""
    before = stage.js(seen)
    assert sum(name == "left corner" for name, _ in before) > 1, "dots, stems and bars"
    assert all(there for _, there in before)
    entry = stage.page.locator(".nsx-plot g.traces", has_text="left corner")
    entry.click()
    stage.page.wait_for_function(
        f"() => ({seen})().every(([n, there]) => there === (n !== 'left corner'))"
    )
    slider = stage.page.locator("input[type=range][data-key^='rho.']").first
    slider.press("ArrowRight")
    stage.drawn()
    assert all(there == (name != "left corner") for name, there in stage.js(seen)), (
        "in the next picture too"
    )
    entry.dblclick()
    stage.page.wait_for_function(
        f"() => ({seen})().every(([n, there]) => there === (n === 'left corner'))"
    )
    entry.dblclick()
    stage.page.wait_for_function(f"() => ({seen})().every(([, there]) => there)")


@pytest.mark.browser
def test_the_list_of_words_names_what_is_shown(stage):
    stage.page.click("[data-action=words]")
    words = stage.page.locator(".nsx-words-list dt").all_inner_texts()
    for one in (
        "step size h",
        "theta (implicitness)",
        "v− → v+",
        "impulse p",
        "energy",
        "LCP residual",
    ):
        assert one in words
    assert any(one.startswith("e: ") for one in words)
    stage.page.keyboard.press("Escape")
    stage.page.wait_for_selector(".nsx-words-list", state="detached")


@pytest.mark.browser
def test_hints_are_shown_once_and_never_over_the_plot(stage):
    stage.js("() => { window.__nonsmoothExplorerHinted = false; }")
    stage.show(SessionAnswer(Session("bouncing_ball")))
    stage.page.wait_for_selector(".nsx-hints")
    apart = stage.js("""() => { const box = (one) => document.querySelector(one).getBoundingClientRect();
      const [hint, plots, column] = [".nsx-hints", ".nsx-plots", ".nsx-controls"].map(box);
      return [hint.right <= plots.left, hint.top >= column.bottom]; }""")
    assert apart == [True, True]
    stage.page.click(".nsx-hints button")
    assert stage.page.locator(".nsx-hints").count() == 0
    assert stage.js("() => document.querySelector('.nsx-controls').style.marginBottom") == ""
    stage.show(SessionAnswer(Session("bouncing_ball")))
    assert stage.page.locator(".nsx-hints").count() == 0


@pytest.mark.browser
def test_impacts_are_heard_and_said_while_the_run_plays(stage):
    button = stage.page.locator(".nsx-sound")
    assert button.get_attribute("aria-pressed") == "false"
    stage.js("""() => { window.clicks = [];
      const start = OscillatorNode.prototype.start;
      OscillatorNode.prototype.start = function (at) { window.clicks.push(at); start.call(this, at); }; }""")
    stage.page.locator(".nsx-speed").select_option("4")
    stage.page.click(".nsx-play")
    stage.page.wait_for_function(
        "() => parseFloat(document.querySelector('.nsx-time').textContent) > 0.6"
    )
    assert stage.js("() => window.clicks") == []  # off at first
    button.click()
    stage.page.wait_for_function("() => window.clicks.length > 1", timeout=8000)
    line = stage.page.locator(".nsx-said-aloud")
    assert line.get_attribute("aria-live") == "polite"
    assert re.fullmatch(r"impact at t = [\d.]+ s", line.inner_text())
    stage.page.click(".nsx-play")


@pytest.mark.browser
def test_numbers_have_the_prefix_of_their_unit_but_are_sent_plain(stage):
    field = stage.page.locator("input[type=text][data-key='knob.h']")
    unit = stage.page.locator(".nsx-control:has([data-key='knob.h']) .nsx-unit")
    for typed, sent, text in (("0.0032", 0.0032, "3.2 ms"), ("4 ms", 0.004, "4 ms"), ("500 µ", 0.0005, "500 µs"),
                               ("0.02 s", 0.02, "0.02")):  # fmt: skip
        field.fill(typed)
        field.press("Enter")
        stage.drawn()
        assert stage.answer.session.state["knobs"]["h"] == sent
        assert float(field.input_value()) == sent  # plain while it is edited
        assert unit.evaluate("(one) => getComputedStyle(one).visibility") == "visible"
        field.blur()
        assert field.input_value() == text
    field.fill("3 m")  # neither milli nor metres
    field.press("Enter")
    stage.drawn()
    assert stage.answer.session.errors
    field.press("Escape")
    stage.drawn()
    field.blur()
    assert field.input_value() == "0.02"
