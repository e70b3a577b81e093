"""The panel on basins in a real Chromium: a box is the next window, a click runs a start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from explorer.panels.basins import _Answer
from explorer.panels.basins.state import BasinsSession

sys.path.insert(0, str(Path(__file__).parent))
from stages import shown

pytestmark = pytest.mark.browser


class Few(BasinsSession):
    """With few starts."""

    shape = 20, 15


@pytest.fixture(scope="module")
def stage():
    answer = _Answer(Few("impact_oscillator", omega=2.6, s=0, right=-0.5))
    answer.live = True
    with shown(answer) as stage:
        yield stage
        assert stage.errors == []
        answer.session.leave()


def see(stage):
    return stage.answer.session.state["see"]


def test_it_sharpens_a_box_is_computed_and_a_click_runs_a_start(stage):
    stage.sharpened()
    image = "() => document.querySelector('.nsx-plot image').href.baseVal"
    whole = stage.js(image)
    assert whole.startswith("data:image/png;base64,")
    assert "All 300 starts computed" in stage.page.locator(".nsx-said").inner_text()

    at = stage.first_plot()
    stage.page.mouse.move(*at(0.4, 0.25))
    stage.page.mouse.down()
    stage.page.mouse.move(*at(0.6, 0.75), steps=5)
    stage.page.mouse.up()
    stage.until(lambda: see(stage)["left"] > -3)
    assert see(stage)["left"] == pytest.approx(-2.3, abs=0.02)
    assert see(stage)["right"] == pytest.approx(-1.7, abs=0.02)
    assert see(stage)["bottom"] == pytest.approx(-1, abs=0.03)
    assert see(stage)["top"] == pytest.approx(1, abs=0.03)
    stage.sharpened()
    assert stage.js(image) != whole
    ranges = stage.js("() => document.querySelector('.nsx-plot').layout.xaxis.range")
    assert ranges == pytest.approx([see(stage)["left"], see(stage)["right"]])

    stage.page.wait_for_timeout(400)  # plotly takes a press soon after another one for its second
    stage.page.mouse.click(*stage.first_plot()(0.25, 0.25))
    stage.until(lambda: see(stage)["at_x"] is not None)
    place = (see(stage)["at_x"], see(stage)["at_y"])
    assert place == pytest.approx((-2.15, 0.5), abs=0.01)  # to a pixel or two
    run = stage.answer.session.solution
    assert (run.q[0, 0], run.v[0, 0]) == (see(stage)["at_x"], see(stage)["at_y"])
    said = stage.page.locator(".nsx-said").inner_text()
    assert f"comes to attractor {stage.answer.session.number()}" in said

    stage.page.click("[data-action=undo]")
    stage.until(lambda: see(stage)["at_x"] is None)
    assert see(stage)["at_y"] is None  # a click is one step
    stage.page.click("[data-action=undo]")
    stage.until(lambda: see(stage)["left"] == -3.5)
    stage.sharpened()
    before = see(stage)["right"] - see(stage)["left"]
    stage.page.mouse.move(*stage.first_plot()(0.5, 0.5))
    stage.page.mouse.wheel(0, 240)
    stage.until(lambda: see(stage)["right"] - see(stage)["left"] > 1.05 * before)
