"""Lecture mode: the screen is filled, text is 1.6 times as large, chosen controls alone stand there."""

import sys
from pathlib import Path

import pytest

from explorer.panels import Session, panels

sys.path.insert(0, str(Path(__file__).parent))
from stage import Stage
from stages import context
from test_layout_front import OVERLAPS

pytestmark = pytest.mark.browser
TICK = """() => parseFloat(getComputedStyle(
  document.querySelector(".nsx-plot .ytick text")).fontSize)"""
LABEL = """() => parseFloat(getComputedStyle(
  [...document.querySelectorAll(".nsx-label")].find((one) => one.offsetWidth)).fontSize)"""
KEYS = """() => [...document.querySelectorAll(".nsx-control input[type=text]")]
  .filter((one) => one.offsetWidth).map((one) => one.dataset.key)"""
FILLS = """() => { const box = document.querySelector(".nsx-panel").getBoundingClientRect();
  return box.left === 0 && box.top === 0 && box.width === innerWidth && box.height === innerHeight; }"""
CONTRAST = """() => { const panel = getComputedStyle(document.querySelector(".nsx-panel"));
  return [panel.color, panel.backgroundColor]; }"""


@pytest.fixture(scope="module")
def shared():
    with context() as one:
        page = one.new_page()
        blank = {"body": "<!doctype html>", "content_type": "text/html"}
        page.route("http://localhost/", lambda route: route.fulfill(**blank))
        page.goto("http://localhost/")  # that is a page with a storage
        yield Stage(page, panels["explore"](Session("bouncing_ball"))._answer).open()


@pytest.fixture
def stage(shared):
    opened(shared, "bouncing_ball")
    yield shared
    assert shared.errors == []


def opened(stage, model: str, size: tuple[int, int] = (1280, 720)) -> None:
    """Show a panel of its own that knows nothing of what was chosen in another one."""
    stage.page.set_viewport_size({"width": size[0], "height": size[1]})
    stage.js("() => localStorage.clear()")
    stage.show(panels["explore"](Session(model))._answer)
    stage.page.wait_for_function("() => document.querySelector('.nsx-plot .ytick text')")


def test_names_of_controls_and_of_layers_are_whole(stage):
    opened(stage, "two_blocks_on_belt", (1920, 1080))
    switch(stage, True)
    cut = stage.js("""() => [...document.querySelectorAll(".nsx-label, .nsx-layer")]
      .filter((one) => one.offsetWidth && (one.scrollWidth > one.clientWidth + 1
        || one.scrollHeight > one.clientHeight + 3)).map((one) => one.textContent)""")
    switch(stage, False)
    assert cut == []


def switch(stage, on: bool) -> None:
    """Press the button and wait until the plots have been drawn in the new room."""
    before = int(stage.page.locator(".nsx-panel").get_attribute("data-frames"))
    stage.page.click("[data-action=lecture]")
    pressed = f'[data-action=lecture][aria-pressed="{str(on).lower()}"]'
    stage.page.wait_for_selector(pressed)
    stage.page.wait_for_function(
        "(n) => Number(document.querySelector('.nsx-panel').dataset.frames) > n", arg=before
    )


def test_the_text_is_one_and_six_tenths_as_large_and_comes_back(stage):
    usual = [stage.js(what) for what in (TICK, LABEL)]
    keys = stage.js(KEYS)
    switch(stage, on=True)
    assert stage.js("() => document.fullscreenElement?.className.includes('nsx-lecture')")
    assert stage.js(FILLS)
    large = [stage.js(what) for what in (TICK, LABEL)]
    assert [b / a for a, b in zip(usual, large, strict=True)] == pytest.approx([1.6, 1.6], rel=0.06)
    assert stage.js(CONTRAST) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    switch(stage, on=False)
    assert not stage.js("() => document.fullscreenElement")
    assert [stage.js(what) for what in (TICK, LABEL)] == usual
    assert stage.js(KEYS) == keys


def test_only_chosen_controls_are_shown_and_the_choice_is_remembered(stage):
    switch(stage, on=True)
    assert stage.js(KEYS) == ["rho.m", "rho.g", "rho.e", "rho.y0"]
    menu = stage.page.locator(".nsx-menu", has=stage.page.get_by_text("Controls", exact=True))
    menu.locator("summary").click()
    menu.get_by_label("m mass").uncheck()
    menu.get_by_label("g gravity").uncheck()
    assert stage.js(KEYS) == ["rho.e", "rho.y0"]
    menu.locator("summary").click()
    slider = stage.page.locator('input[type=range][data-key="rho.e"]')
    slider.press("ArrowRight")
    stage.drawn()
    assert stage.answer.session.state["rho"]["e"] > 0.8
    switch(stage, on=False)
    stage.show(panels["explore"](Session("bouncing_ball"))._answer)
    switch(stage, on=True)
    assert stage.js(KEYS) == ["rho.e", "rho.y0"]


@pytest.mark.parametrize(
    ("name", "size"),
    [("woodpecker", (1280, 720)), ("relay_feedback", (1280, 720)), ("stribeck_belt", (1280, 720)),
     ("newtons_cradle", (1920, 1080)), ("irma", (1920, 1080)), ("two_tanks", (1280, 720))],
)  # fmt: skip
def test_no_text_lies_over_another_before_two_hundred_students(stage, name, size):
    opened(stage, name, size)
    switch(stage, on=True)
    assert stage.js(OVERLAPS) == []
    assert stage.js("""() => [...document.querySelectorAll(".nsx-panel .nsx-control")].every((one) =>
      one.getBoundingClientRect().bottom <= innerHeight)""")
    switch(stage, on=False)


def test_where_a_page_may_not_fill_the_screen_it_fills_the_window(stage):
    stage.js("""() => { Element.prototype.requestFullscreen = () => Promise.reject(new Error("no"));
      document.querySelector("#host").style.cssText = "contain: strict; transform: translateX(9px)"; }""")
    stage.page.locator(".nsx-panel").focus()
    stage.page.keyboard.press("l")
    stage.page.wait_for_function(FILLS)
    stage.page.keyboard.press("Escape")
    stage.page.wait_for_selector(".nsx-panel:not(.nsx-lecture)")
    assert stage.page.locator(".nsx-panel").get_attribute("popover") is None
