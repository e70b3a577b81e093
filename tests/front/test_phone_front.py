"""On a phone: one column, plots that stay in view, targets for a thumb, a finger that scrolls."""

import sys
from pathlib import Path

import pytest

from explorer.panels import Session
from explorer.panels.answer import SessionAnswer

sys.path.insert(0, str(Path(__file__).parent))
from stage import Stage
from stages import context
from test_layout_front import OVERLAPS

pytestmark = pytest.mark.browser

VIEWPORT = """document.head.insertAdjacentHTML("beforeend",
  '<meta name="viewport" content="width=device-width, initial-scale=1">')"""
SMALL = """[...document.querySelectorAll(".nsx-range, .nsx-button, .nsx-play, .nsx-jump, summary")]
  .filter((one) => one.offsetParent && one.offsetHeight < 44).map((one) => one.className || one.tagName)"""

# what is written or pressed beside the plots: over each other, or out of the window
CROWDED = """() => { const box = (n) => n.getBoundingClientRect(), found = [];
  const all = [...document.querySelectorAll(`.nsx-panel :is(button, select, summary, input, output, th,
      .nsx-label, .nsx-unit, .nsx-said, .nsx-detail, .nsx-checks, .nsx-title > *, .nsx-table-note)`)]
    .filter((n) => n.checkVisibility({ visibilityProperty: true }) && box(n).width && !n.closest(".nsx-plots")
      && !n.matches(".nsx-grip, .nsx-divider, .nsx-back") && !n.closest(".nsx-menu-list"));
  const say = (n) => n.getAttribute("aria-label") ?? n.textContent;
  for (const [i, a] of all.entries()) {
    if (box(a).right > innerWidth + 1 || box(a).left < 0) found.push(`out: ${say(a)}`);
    for (const b of all.slice(i + 1)) {
      if (a.contains(b) || b.contains(a)) continue;
      const wide = Math.min(box(a).right, box(b).right) - Math.max(box(a).left, box(b).left);
      const high = Math.min(box(a).bottom, box(b).bottom) - Math.max(box(a).top, box(b).top);
      if (wide > 1 && high > 2) found.push(`${say(a)} / ${say(b)}`);
    }
  }
  return found; }"""


@pytest.fixture(scope="module")
def stage():
    with context(width=390, height=844, has_touch=True, is_mobile=True) as one:
        stage = Stage(one.new_page(), SessionAnswer(Session("bouncing_ball"))).open()
        stage.page.evaluate(VIEWPORT)
        stage.finger = one.new_cdp_session(stage.page)
        yield stage
        assert stage.errors == []


def drag(stage, begin, end):
    """Drag one finger from a point to another."""
    points = [[b + (e - b) * k / 10 for b, e in zip(begin, end, strict=True)] for k in range(11)]
    for kind, point in zip(["touchStart", *["touchMove"] * 10], points, strict=True):
        at = [{"x": point[0], "y": point[1]}]
        stage.finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})
        stage.page.wait_for_timeout(20)
    stage.finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    stage.page.wait_for_timeout(300)


@pytest.mark.parametrize("size", [(390, 844), (360, 640)], ids=str)
@pytest.mark.parametrize("model", ["bouncing_ball", "rough_block", "two_genes"])
def test_the_plots_stay_in_view_above_the_slider(stage, size, model):
    page = stage.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    stage.show(SessionAnswer(Session(model)))
    page.wait_for_timeout(700)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.evaluate(SMALL) == []
    last = page.locator(".nsx-range[data-key^='rho.']").last
    last.evaluate("node => node.scrollIntoView({ block: 'end' })")
    page.wait_for_timeout(200)
    plots, slider = page.locator(".nsx-plots").bounding_box(), last.bounding_box()
    assert plots["y"] == pytest.approx(0, abs=1)
    assert 200 < plots["height"] <= 0.56 * size[1]
    assert plots["height"] <= slider["y"] <= size[1] - 40


def test_a_finger_on_the_plots_scrolls_them(stage):
    page = stage.page
    page.set_viewport_size({"width": 390, "height": 844})
    stage.show(SessionAnswer(Session("bouncing_ball")))
    page.wait_for_timeout(700)
    page.evaluate("document.querySelector('.nsx-range').scrollIntoView({ block: 'end' })")
    scrolled = "document.querySelector('.nsx-plots').scrollTop"
    assert page.evaluate(scrolled) == 0
    drag(stage, (200, 350), (200, 150))
    assert page.evaluate(scrolled) > 100
    assert page.evaluate("document.querySelector('.nsx-plot').offsetHeight") > 600  # all of them


def test_a_finger_moves_a_slider_and_the_picture_follows(stage):
    page = stage.page
    slider = page.locator(".nsx-range[data-key='rho.e']")
    slider.evaluate("node => node.scrollIntoView({ block: 'end' })")
    page.wait_for_timeout(200)
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    drag(stage, (box["x"] + 0.8 * box["width"], y), (box["x"] + 0.4 * box["width"], y))
    page.wait_for_timeout(300)
    assert stage.answer.session.state["rho"]["e"] == pytest.approx(0.4, abs=0.08)


def test_a_tap_beside_a_slider_asks_for_its_range(stage):
    """A phone has neither a right button nor a key r."""
    page = stage.page
    page.set_viewport_size({"width": 390, "height": 844})
    stage.show(SessionAnswer(Session("bouncing_ball")))
    button = page.get_by_label("Range and step of e", exact=True)
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert min(box["width"], box["height"]) >= 32
    assert box["x"] + box["width"] <= 390
    button.tap()
    fields = page.locator(".nsx-span input").all()
    for field, typed in zip(fields, ("0.5", "0.9", "0.1"), strict=True):
        field.fill(typed)
    page.get_by_role("button", name="Set", exact=True).tap()
    page.wait_for_function(
        "() => document.querySelector(`.nsx-range[data-key='rho.e']`).max === '0.9'"
    )
    assert stage.answer.session.spans == {"rho.e": {"low": 0.5, "high": 0.9, "step": 0.1}}


def test_a_tap_on_a_name_says_what_it_is_and_only_the_next_one_hides_its_curve(stage):
    page = stage.page
    page.set_viewport_size({"width": 390, "height": 844})
    stage.show(SessionAnswer(Session("rough_block")))
    tip, name = page.locator(".nsx-tip"), page.locator(".nsx-plot g.traces", has_text="T + V")
    page.locator(".nsx-range").first.focus()  # the first tap takes it from there
    name.evaluate("node => node.scrollIntoView({ block: 'center' })")
    seen = """() => document.querySelector(".nsx-plot")._fullData.find((t) => t.name === "T + V").visible"""
    for hidden in (True, False):
        before = page.evaluate(seen)
        name.tap()
        tip.wait_for()
        assert "Kinetic energy T" in tip.inner_text()
        inside = tip.bounding_box()
        assert inside["x"] >= 0
        assert inside["x"] + inside["width"] <= 390
        assert 0 <= inside["y"] <= 844 - inside["height"]
        page.wait_for_timeout(
            400
        )  # else plotly takes the next tap for the second of a double click
        assert page.evaluate(seen) == before
        name.tap()
        page.wait_for_function(f"(now) => ({seen})() === now", arg="legendonly" if hidden else True)
        assert tip.is_hidden()
        page.wait_for_timeout(400)


LANDSCAPE = ["bouncing_ball", "woodpecker", "disc_pile", "chua", "diode_bridge"]
COVERED = """() => { const box = (n) => n.getBoundingClientRect();
  const bar = document.querySelector(".nsx-plot .modebar-container .modebar");
  return [...document.querySelectorAll(".nsx-plot :is(.legendtext, .infolayer [class$=title])")].filter((t) => {
    const [a, b] = [box(t), box(bar)];
    return a.width && Math.min(a.right, b.right) > Math.max(a.left, b.left) + 1
      && Math.min(a.bottom, b.bottom) > Math.max(a.top, b.top) + 2; }).map((t) => t.textContent); }"""


@pytest.mark.parametrize("size", [(390, 844), (844, 390)], ids=str)
def test_no_word_lies_over_another_upright_or_on_its_side(stage, size):
    page = stage.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for model in LANDSCAPE:
        stage.show(SessionAnswer(Session(model)))
        page.wait_for_function("() => document.querySelector('.nsewdrag')")
        page.wait_for_timeout(300)  # the table follows
        page.evaluate("scrollTo(0, 0)")
        assert page.evaluate(CROWDED) == [], model
        assert page.evaluate(OVERLAPS) == [], model
        assert page.evaluate(COVERED) == [], model
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        bar = page.locator(".nsx-toolbar").bounding_box()
        assert bar["height"] < (92 if size[0] < 500 else 52)  # a title, and one row of buttons
        stage_, buttons = (
            page.locator(one).bounding_box() for one in (".nsx-stage", ".nsx-layers")
        )
        assert stage_["height"] > (280 if size[0] < 500 else 180)
        assert buttons is None or buttons["y"] + buttons["height"] <= stage_["y"] + stage_["height"]


def test_on_its_side_the_plots_stay_beside_the_slider(stage):
    page = stage.page
    page.set_viewport_size({"width": 844, "height": 390})
    stage.show(SessionAnswer(Session("rough_block")))
    page.wait_for_timeout(700)
    whole = page.locator(".nsx-stage").bounding_box()
    assert (
        page.locator(".nsx-plots").bounding_box()["width"] <= whole["x"] + 1
    )  # beside the mechanism
    last = page.locator(".nsx-range[data-key^='rho.']").last
    last.evaluate("node => node.scrollIntoView({ block: 'end' })")
    page.wait_for_timeout(200)
    plots, slider = page.locator(".nsx-plots").bounding_box(), last.bounding_box()
    assert plots["y"] == pytest.approx(0, abs=1)
    assert plots["height"] > 350
    assert slider["x"] >= plots["x"] + plots["width"]
    assert slider["y"] + slider["height"] <= 391
    page.evaluate("scrollTo(0, 0)")
    scrolled = "document.querySelector('.nsx-plots').scrollTop"
    drag(stage, (200, 300), (200, 200))
    assert page.evaluate(scrolled) > 30  # a finger scrolls them, as upright
    page.set_viewport_size({"width": 390, "height": 844})
