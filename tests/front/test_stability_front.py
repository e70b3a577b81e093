"""The stability panel in a real Chromium: live curves on a logarithmic axis lie where plotly's do."""

import sys
from pathlib import Path

import numpy as np
import pytest

from explorer.panels.stability import _Answer
from explorer.panels.stability.state import StabilitySession

sys.path.insert(0, str(Path(__file__).parent))
from stages import shown

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
    session = StabilitySession("average acceleration", compare="", omega_h=0.3)
    with shown(_Answer(session)) as stage:
        yield stage
        assert stage.errors == []


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


AT = """([axis, x, y]) => {  // the place of a point of a plot on the page
  const graph = document.querySelector(".nsx-plot"), layout = graph._fullLayout;
  const { left, top } = graph.getBoundingClientRect();
  const [a, b] = [layout["xaxis" + axis], layout["yaxis" + axis]];
  return [left + a._offset + a.d2p(x), top + b._offset + b.d2p(y)];
}"""
DRAWN = """() => { const found = document.querySelector(".nsx-plot")._fullData
  .find((t) => t.name === "by the scheme"); return [[...found.x], [...found.y]]; }"""


@pytest.mark.parametrize("axis", ["", "2", "3", "locus"])
def test_a_click_on_a_curve_runs_that_oscillator(stage, axis):
    """Beside the exact solution, with the step that was clicked; the slider follows."""
    session = stage.answer.session
    stage.page.select_option('select[data-key="scheme"]', label="Chung-Hulbert")
    stage.drawn()
    found = session.found
    k = int(np.argmin(np.abs(found.omega_h - 1.2)))
    wanted, quantity = float(found.omega_h[k]), {"": "radius", "2": "damping", "3": "period_error"}
    point = (wanted, float(getattr(found, quantity[axis])[k])) if axis in quantity else (
        float(found.roots[k, 0].real), float(found.roots[k, 0].imag))  # fmt: skip
    x, y = stage.js(AT, ["5" if axis == "locus" else axis, *point])
    stage.page.mouse.move(x - 1, y)
    stage.page.mouse.move(x, y)
    stage.page.wait_for_function("() => document.querySelector('.hoverlayer .hovertext')")
    stage.page.mouse.click(x, y)
    stage.drawn()
    clicked = session.state["omega_h"]
    assert clicked == pytest.approx(wanted, rel=0.11), "points are two pixels apart"
    assert np.abs(found.omega_h / clicked - 1).min() < 1e-6
    t, d = np.array(stage.js(DRAWN))
    assert t == pytest.approx(session.oscillation.motion.t, rel=1e-6)
    assert d == pytest.approx(session.oscillation.motion.q[:, 0], abs=1e-6)
    shown = stage.page.locator('input[type=text][data-key="omega_h"]').input_value()
    assert float(shown) == pytest.approx(clicked, rel=1e-3)
    assert session.can_undo
    stage.page.click("[data-action=undo]")
    stage.drawn()
    assert session.state["omega_h"] != clicked


def test_legend_and_numbers_are_seen_in_full(stage):
    """Of the longest names, with a pinned scheme: nothing is cut off at 1280 by 720."""
    stage.page.select_option('select[data-key="scheme"]', label="generalised-α, free")
    stage.page.select_option('select[data-key="compare"]', label="average with damping")
    stage.drawn()
    stage.page.click("[data-action=pin]")
    stage.drawn()
    cut = stage.js(
        """() => { const plot = document.querySelector(".nsx-plot").getBoundingClientRect();
          return [...document.querySelectorAll(".legendtext")].map((n) => [n.textContent,
            n.getBoundingClientRect()]).filter(([, r]) => r.top < plot.top || r.right > plot.right)
            .map(([text]) => text); }"""
    )
    assert cut == []
    wide = stage.js(
        """() => [...document.querySelectorAll(".nsx-cards, .nsx-side")]
             .filter((n) => n.scrollWidth > n.clientWidth + 1).map((n) => n.className)"""
    )
    assert wide == []


def test_numbers_are_whole_in_a_notebook_1280_wide(stage):
    stage.page.set_viewport_size({"width": 1136, "height": 720})
    stage.page.select_option('select[data-key="scheme"]', label="average acceleration")
    stage.page.select_option('select[data-key="compare"]', label="central difference")
    stage.drawn()
    stage.page.wait_for_function(
        """() => [...document.querySelectorAll(".nsx-card")].every((n) => n.clientWidth < 300)"""
    )
    cards = stage.js(
        """() => [...document.querySelectorAll(".nsx-card")]
             .map((n) => [n.innerText, n.scrollWidth - n.clientWidth])"""
    )
    assert cards
    assert [text for text, beyond in cards if beyond > 0] == []
    stage.page.set_viewport_size({"width": 1280, "height": 720})
