"""The stability panel in a real Chromium: live curves on a logarithmic axis lie where plotly's do."""

import sys
from pathlib import Path

import numpy as np
import pytest

from explorer.panels.stability import _Answer
from explorer.panels.stability_state import StabilitySession

sys.path.insert(0, str(Path(__file__).parent))
from stage import Stage, chromium

pytestmark = pytest.mark.browser

INK = """() => {  // columns of the spectral radius plot where the mark of the step has ink
  const graph = document.querySelector(".nsx-plot");
  const { xaxis: x, yaxis: y } = graph._fullLayout;
  const canvas = document.querySelector(".nsx-ink");
  const ratio = canvas.width / graph._fullLayout.width;
  const top = y._offset + y.l2p(1) + 3; // below the line at radius 1, within the mark
  const data = canvas.getContext("2d").getImageData(
    x._offset * ratio, top * ratio, x._length * ratio, 1).data;
  const found = [];
  for (let i = 0; i < data.length / 4; i++) if (data[4 * i + 3] > 100) found.push(i / ratio);
  return {found, length: x._length, range: x.range, live: graph.classList.contains("nsx-live"),
          type: x.type};
}"""


@pytest.fixture(scope="module")
def stage():
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        session = StabilitySession("average acceleration", compare="", omega_h=0.3)
        found = Stage(page, _Answer(session)).open()
        yield found
        assert found.errors == []


@pytest.mark.parametrize("presses", [1, 5])
def test_the_mark_of_the_step_moves_on_the_logarithmic_axis_without_plotly(stage, presses):
    slider = stage.page.locator('input[type=range][data-key="omega_h"]')
    for _ in range(presses):
        slider.press("ArrowRight")
        stage.drawn()
    omega_h = stage.answer.session.state["omega_h"]
    seen = stage.js(INK)
    assert seen["live"]
    assert seen["type"] == "log"
    low, high = seen["range"]
    expected = (np.log10(omega_h) - low) / (high - low) * seen["length"]
    assert seen["found"], "there is ink"
    assert np.mean(seen["found"]) == pytest.approx(expected, abs=1.5)


@pytest.mark.parametrize("scheme", ["central difference", "HHT-α", "generalised-α, free"])
def test_another_scheme_brings_its_sliders(stage, scheme):
    stage.page.select_option('select[data-key="scheme"]', label=scheme)
    stage.drawn()
    keys = stage.js(
        """() => [...document.querySelectorAll("input[type=range][data-key]")].map((one) => one.dataset.key)"""
    )
    assert set(keys) == {
        *(f"knob.{k}" for k in stage.answer.session.state["knobs"]),
        "xi",
        "omega_h",
    }
