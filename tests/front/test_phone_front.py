"""On a phone: one column, plots that stay in view, targets for a thumb, a finger that scrolls."""

import sys
from pathlib import Path

import pytest

from explorer.panels import Session
from explorer.panels.answer import SessionAnswer

sys.path.insert(0, str(Path(__file__).parent))
from stage import Stage, chromium

pytestmark = pytest.mark.browser

VIEWPORT = """document.head.insertAdjacentHTML("beforeend",
  '<meta name="viewport" content="width=device-width, initial-scale=1">')"""
SMALL = """[...document.querySelectorAll(".nsx-range, .nsx-button, .nsx-play, .nsx-jump, summary")]
  .filter((one) => one.offsetParent && one.offsetHeight < 44).map((one) => one.className || one.tagName)"""


@pytest.fixture(scope="module")
def stage():
    with chromium() as browser:
        context = browser.new_context(
            viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
        )
        stage = Stage(context.new_page(), SessionAnswer(Session("bouncing_ball"))).open()
        stage.page.evaluate(VIEWPORT)
        stage.finger = context.new_cdp_session(stage.page)
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
def test_the_plots_stay_in_view_above_the_slider(stage, size, model, tmp_path):
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
    page.screenshot(path=tmp_path / "phone.png")


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
