"""The panel on orbit diagrams in a real Chromium: a box is the next window, a click the next motion."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from explorer.panels.orbits import _Answer
from explorer.panels.orbits.state import OrbitsSession

sys.path.insert(0, str(Path(__file__).parent))
from stages import shown

pytestmark = pytest.mark.browser


class Few(OrbitsSession):
    """With a quarter of the columns."""

    columns = 100


@pytest.fixture(scope="module")
def stage():
    answer = _Answer(Few("impact_oscillator", "omega", low=2.4, high=3.2, s=0))
    answer.live = True
    with shown(answer) as stage:
        yield stage
        assert stage.errors == []
        answer.session.leave()


def see(stage):
    return stage.answer.session.state["see"]


def test_it_sharpens_a_box_is_computed_and_a_click_shows_the_motion(stage):
    stage.sharpened()
    image = "() => document.querySelector('.nsx-plot image').href.baseVal"
    whole = stage.js(image)
    assert whole.startswith("data:image/png;base64,")
    assert "points in 100 columns" in stage.page.locator(".nsx-said").inner_text()

    at = stage.first_plot()
    stage.page.mouse.move(*at(0.4, 0.1))
    stage.page.mouse.down()
    stage.page.mouse.move(*at(0.6, 0.6), steps=5)
    stage.page.mouse.up()
    stage.until(lambda: see(stage)["low"] > 2.6)
    assert see(stage)["low"] == pytest.approx(2.72, abs=0.01)
    assert see(stage)["high"] == pytest.approx(2.88, abs=0.01)
    stage.sharpened()
    ranges = stage.js("() => document.querySelector('.nsx-plot').layout.xaxis.range")
    assert ranges == pytest.approx([see(stage)["low"], see(stage)["high"]])
    assert stage.js(image) != whole

    stage.page.mouse.click(*stage.first_plot()(0.5, 0.5))
    stage.until(lambda: see(stage)["begin"] is not None)
    middle = 0.5 * (see(stage)["low"] + see(stage)["high"])
    assert see(stage)["at"] == pytest.approx(middle, abs=2e-3)

    stage.page.click("[data-action=undo]")
    stage.until(lambda: see(stage)["begin"] is None)
    stage.page.click("[data-action=undo]")
    stage.until(lambda: see(stage)["low"] == 2.4)


def test_the_wheel_widens_the_window(stage):
    before = see(stage)["high"] - see(stage)["low"]
    stage.page.mouse.move(*stage.first_plot()(0.5, 0.5))
    stage.page.mouse.wheel(0, 240)
    stage.until(lambda: see(stage)["high"] - see(stage)["low"] > 1.05 * before)


PIXELS = """async () => {
  const image = new Image();
  image.src = document.querySelector('.nsx-plot image').href.baseVal;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let k = 0; k < data.length; k += 4) {
    if (data[k + 3] === 255) seen.add(data.slice(k, k + 3).join());
  }
  return [...seen];
}"""
NAMES = "() => [...document.querySelectorAll('.nsx-plot .legendtext')].map((e) => e.textContent)"


def test_a_slider_gives_a_coarse_diagram_at_once_and_the_whole_one_later(stage):
    said = stage.page.locator(".nsx-said")
    slider = stage.page.locator("input[type=range][data-key='rho.e']")
    slider.press("ArrowLeft")
    stage.drawn()
    assert said.inner_text().startswith("The diagram sharpens")
    coarse = stage.js("() => document.querySelector('.nsx-plot image').href.baseVal")
    stage.sharpened()
    assert "points in 100 columns" in said.inner_text()
    assert stage.js("() => document.querySelector('.nsx-plot image').href.baseVal") != coarse
    slider.press("ArrowRight")
    stage.drawn()


def test_dots_and_their_legend_have_one_colour_in_the_dark(stage):
    """The blue of period one is lifted on a dark ground, in the image as in the legend."""
    light, lifted = "0,114,178", "68,119,238"
    stage.sharpened()
    assert light in stage.js(PIXELS)
    stage.page.emulate_media(color_scheme="dark")
    stage.page.wait_for_selector(".nsx-panel[data-theme=dark]")
    stage.page.wait_for_function(
        "(light) => getComputedStyle(document.querySelector('.nsx-plot .legendpoints path')).fill"
        " !== `rgb(${light})`",
        arg=light.replace(",", ", "),
    )
    seen = stage.js(PIXELS)
    assert lifted in seen
    assert light not in seen
    stage.page.emulate_media(color_scheme="light")
    stage.page.wait_for_selector(".nsx-panel:not([data-theme=dark])")


def test_a_switch_draws_branches_over_the_dots(stage):
    session = stage.answer.session
    session.change({"see.low": 2.64, "see.high": 2.69})
    stage.sharpened()
    assert "stable branch" not in stage.js(NAMES)
    stage.page.click("[data-key='see.branches'] input, input[data-key='see.branches']")
    stage.until(lambda: see(stage)["branches"])
    session.branches()
    stage.sharpened()
    assert {"stable branch", "unstable", "flip"} <= {*stage.js(NAMES)}
    assert "flip at 2.653" in stage.page.locator(".nsx-said").inner_text()
    stage.page.mouse.click(*stage.first_plot()(0.5, 0.5))  # over lines a click is one of the dots
    stage.until(lambda: see(stage)["begin"] is not None)
    assert see(stage)["at"] == pytest.approx(2.665, abs=1e-3)
