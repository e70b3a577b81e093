"""Pages without a kernel in Chromium: from a file, without a network."""

import numpy as np
import pytest
from stages import context

import explorer as ex
from explorer.panels.answer import SessionAnswer
from explorer.panels.session import Session
from explorer.panels.static_twin import static_twin

pytestmark = pytest.mark.browser

CURVE = """(axis) => { const one = document.querySelector(".nsx-plot").data.findLast((t) => t.yaxis === axis);
  return [[...one.x], [...one.y]]; }"""
MOVES = """() => { const c = document.querySelector(".nsx-mechanism");
  return c.toDataURL(); }"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("twin") / "ball.html"
    session = Session("bouncing_ball", "EventDriven")
    static_twin(SessionAnswer(session), {"e": [0.4, 0.6, 0.9, 1.5], "g": [5.0]}).save(path)
    with context(offline=True) as one:
        page = one.new_page()
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda m: page.errors.append(m.text) if m.type == "error" else None)
        page.goto(path.as_uri())
        page.wait_for_selector('.nsx-panel:not([data-frames="0"])', timeout=20000)
        yield page


@pytest.fixture(autouse=True)
def usual(page):
    yield
    if page.is_enabled("[data-action=reset]"):
        page.click("[data-action=reset]")
    assert page.errors == []


def slide(page, key, press):
    page.focus(f".nsx-range[data-key='{key}']")
    page.keyboard.press(press)
    page.wait_for_function(
        "([key, at]) => document.querySelector(`.nsx-range[data-key='${key}']`).value !== at",
        arg=[key, None],
    )
    page.wait_for_timeout(600)  # plotly catches up


def test_it_opens_from_a_file_with_its_picture(page):
    assert page.inner_text(".nsx-title strong") == "Bouncing ball"
    assert page.get_attribute(".nsx-status", "data-level") == "ok"
    assert page.locator(".nsx-twin img").count() == 0
    assert page.is_hidden("[data-action=pin]")
    assert page.is_hidden(".nsx-presets")


def test_a_slider_stops_at_what_was_computed_and_shows_it(page):
    slide(page, "rho.e", "ArrowRight")
    assert page.input_value(".nsx-field[data-key='rho.e']") == "0.9"
    run = ex.simulate(ex.models.bouncing_ball(), ex.EventDriven(), rho={"e": 0.9})
    t, y = page.evaluate(CURVE, "y2")
    t, y = np.array(t, float), np.array(y, float)
    known = np.isfinite(y)
    for s, v in zip(t[known][::7], y[known][::7], strict=True):
        near = np.abs(run.t - s) < 1e-3  # both sides of a jump
        if near.any():
            assert np.abs(run.v[near, 0] - v).min() < 0.02


def test_where_nothing_runs_it_says_why_and_keeps_the_picture(page):
    before = page.evaluate(CURVE, "y")
    slide(page, "rho.e", "End")
    assert page.get_attribute(".nsx-status", "data-level") == "error"
    assert "The picture is of the last values that ran." in page.inner_text(".nsx-said")
    assert page.evaluate(CURVE, "y") == before
    slide(page, "rho.e", "Home")
    assert page.get_attribute(".nsx-status", "data-level") == "ok"


def test_a_typed_value_that_was_not_computed_is_said(page):
    page.fill(".nsx-field[data-key='rho.e']", "0.55")
    page.keyboard.press("Enter")
    page.wait_for_selector(".nsx-status[data-level=warn]")
    assert "0.55 was not computed" in page.inner_text(".nsx-said")
    assert page.input_value(".nsx-field[data-key='rho.e']") == "0.6"


def test_changes_can_be_taken_back(page):
    slide(page, "rho.g", "Home")
    assert page.input_value(".nsx-field[data-key='rho.g']") == "5"
    shown = "(text) => document.querySelector(\".nsx-field[data-key='rho.g']\").value === text"
    page.click("[data-action=undo]")
    page.wait_for_function(shown, arg="9.81")
    page.click("[data-action=redo]")
    page.wait_for_function(shown, arg="5")
    assert page.is_disabled("[data-action=redo]")


def test_the_mechanism_plays(page):
    before = page.evaluate(MOVES)
    page.click(".nsx-play")
    page.wait_for_function(f"(before) => ({MOVES})() !== before", arg=before, timeout=3000)
    page.click(".nsx-play")
    assert float(page.input_value(".nsx-scrub")) > 0
    assert page.evaluate(MOVES) != before


def test_what_does_not_move_cannot_be_changed(page):
    page.click("details[data-name=fixed] summary")
    assert page.is_disabled(".nsx-field[data-key='rho.m']")
    page.click("details[data-name=fixed] summary")


def test_on_a_phone_nothing_lies_beside_the_page(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    body = page.evaluate("(({ scrollHeight, clientHeight }) => [scrollHeight, clientHeight])"
                         "(document.querySelector('.nsx-body'))")  # fmt: skip
    assert body[0] <= body[1] + 1  # nor below it
    page.set_viewport_size({"width": 1280, "height": 720})


def test_on_a_phone_plots_keep_their_width_and_scroll_under_a_finger(page):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    context = page.context.browser.new_context(offline=True, **phone)
    hand = context.new_page()
    hand.goto(page.url)
    hand.wait_for_selector('.nsx-panel:not([data-frames="0"])', timeout=20000)
    plots = hand.locator(".nsx-plots")
    plots.scroll_into_view_if_needed()
    assert plots.locator(".main-svg").first.bounding_box()["width"] >= 620
    box, finger = plots.bounding_box(), context.new_cdp_session(hand)
    for kind, left in [("touchStart", 300), *(("touchMove", x) for x in range(280, 80, -20))]:
        at = [{"x": box["x"] + left, "y": box["y"] + 90}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})
        hand.wait_for_timeout(20)
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    hand.wait_for_timeout(200)
    assert plots.evaluate("(node) => node.scrollLeft") > 100
    assert hand.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_a_page_made_of_a_notebook_shows_it_without_a_kernel(page, tmp_path):
    twin = static_twin(SessionAnswer(Session("bouncing_ball")), "e", 3)
    both = tmp_path / "two.html"  # two outputs of one page share the plotting library
    both.write_text(f"<body>{twin._repr_html_()}{twin._repr_html_()}</body>", "utf-8")
    other = page.context.new_page()
    other.goto(both.as_uri())
    other.wait_for_function(
        "document.querySelectorAll('.nsx-panel:not([data-frames=\"0\"])').length === 2",
        timeout=20000,
    )
    other.close()
