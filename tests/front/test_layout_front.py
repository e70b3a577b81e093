"""Texts of the pictures in the smallest window: none over another one, none over a plot, none cut."""

import sys
from pathlib import Path

import pytest

from explorer.panels import Session, panels

sys.path.insert(0, str(Path(__file__).parent))
from stage import Stage, chromium

OVERLAPS = """() => {
  const plot = document.querySelector(".nsx-plot"), found = [];
  const box = (node) => node.getBoundingClientRect();
  const texts = [...plot.querySelectorAll("text")].filter((t) => t.textContent.trim() && box(t).width);
  const common = (a, b) => [Math.min(a.right, b.right) - Math.max(a.left, b.left),
                            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
  const say = (...what) => found.push(what.join(" / "));
  const areas = [...plot.querySelectorAll(".draglayer .nsewdrag")].map(box);
  texts.forEach((one, i) => {
    const a = box(one), whole = box(plot);
    for (const two of texts.slice(i + 1)) {
      const [wide, tall] = common(a, box(two));
      if (wide > 2 && tall > 3) say(one.textContent, two.textContent);
    }
    if (a.left < whole.left - 1 || a.right > whole.right + 1 || a.top < whole.top - 1 ||
        a.bottom > whole.bottom + 1) say("cut", one.textContent);
    if (one.closest(".infolayer")) for (const area of areas) { // titles and legends
      const [wide, tall] = common(a, area);
      if (wide > 3 && tall > 4) { say("on a plot", one.textContent); break; }
    }
  });
  return found; }"""

MODELS = ("compass_gait", "coulomb_oscillator", "diode_bridge", "falling_rod", "newtons_cradle",
          "portal_frame", "preloaded_stop", "rlcd_circuit", "slider_crank", "slip", "two_tanks",
          "two_blocks_on_belt", "woodpecker")  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with chromium() as one:
        yield one


def seen(browser, answer, width=1140):
    """A window of 1280 has 1140 px for the panel, beside JupyterLab's own bars."""
    page = browser.new_page(viewport={"width": width, "height": 720})
    try:
        stage = Stage(page, answer).open()
        page.wait_for_function("() => document.querySelector('.nsewdrag')")
        assert stage.errors == []
        return stage.js(OVERLAPS)
    finally:
        page.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", MODELS)
def test_no_text_lies_over_another_or_over_a_plot(browser, name):
    assert seen(browser, panels["explore"](Session(name))._answer) == []


@pytest.mark.browser
@pytest.mark.parametrize("name", ["woodpecker", "relay_feedback", "bouncing_ball"])
def test_nor_in_the_sensitivity_panel(browser, name):
    assert seen(browser, panels["sensitivity"](Session(name))._answer) == []


@pytest.mark.browser
@pytest.mark.parametrize("name", ["chua", "irma"])
def test_nor_above_the_orders(browser, name):
    assert seen(browser, panels["order"](Session(name))._answer) == []
