"""Texts of the pictures in the smallest window: none over another one, none over a plot, none cut."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

import explorer as ex
from explorer.panels import Session, panels

sys.path.insert(0, str(Path(__file__).parent))
from stages import shown

pytestmark = pytest.mark.browser

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

MODELS = ("column", "compass_gait", "coulomb_oscillator", "diode_bridge", "disc_pile",
          "elastic_bar", "falling_rod", "newtons_cradle", "portal_frame", "preloaded_stop",
          "rlcd_circuit", "slider_crank", "slip", "stack", "two_tanks", "two_blocks_on_belt",
          "woodpecker")  # fmt: skip


@pytest.fixture(scope="module")
def seen():
    """Overlaps in a panel. A window of 1280 has 1140 px for it, beside JupyterLab's own bars."""
    with shown(panels["explore"](Session("bouncing_ball"))._answer, width=1140) as stage:

        def found(answer):
            stage.show(answer)
            stage.page.wait_for_function("() => document.querySelector('.nsewdrag')")
            assert stage.errors == []
            return stage.js(OVERLAPS)

        found.stage = stage
        yield found


@pytest.mark.parametrize("name", MODELS)
def test_no_text_lies_over_another_or_over_a_plot(seen, name):
    assert seen(panels["explore"](Session(name))._answer) == []


@pytest.mark.parametrize("name", ["woodpecker", "relay_feedback", "bouncing_ball"])
def test_nor_in_the_sensitivity_panel(seen, name):
    assert seen(panels["sensitivity"](Session(name))._answer) == []


@pytest.mark.parametrize(("name", "wrt"), [("bouncing_ball", "g"), ("irma", "k1")])
def test_nor_where_units_are_long(seen, name, wrt):
    panel = panels["sensitivity"](Session(name))
    panel.session.set(wrt=wrt)
    assert seen(panel._answer) == []


@pytest.mark.parametrize("name", ["chua", "irma"])
def test_nor_above_the_orders(seen, name):
    assert seen(panels["order"](Session(name))._answer) == []


def test_nor_where_all_schemes_of_a_model_are_compared(seen):
    panel = panels["schemes"](Session("bouncing_ball"))
    assert len(panel.session.comparison().runs) == 6
    assert seen(panel._answer) == []
    panel.session.set(**{"see.ContactInNewmark": True})  # of two names each in its own colour
    assert seen(panel._answer) == []


@pytest.mark.parametrize("count", [8, 10])
def test_nor_where_more_are_compared_than_a_model_has(seen, count, monkeypatch):
    panel = panels["schemes"](Session("bouncing_ball"))
    steps = {
        f"NonsmoothGeneralizedAlpha {k}": ex.MoreauJean(h=1e-2 / k) for k in range(1, count + 1)
    }
    found = ex.study.compare_schemes(panel.session.system, steps)
    monkeypatch.setattr(panel.session, "comparison", lambda: found)
    assert seen(panel._answer) == []


def test_beside_names_of_modes_the_time_is_read_from_its_beginning_on(seen):
    panel = panels["explore"](Session("two_tanks"))
    assert seen(panel._answer) == []
    shown = seen.stage.js("""() => [...document.querySelectorAll(".nsx-plot .x2tick text")]
      .filter((one) => one.checkVisibility()).map((one) => one.textContent)""")
    assert shown[:3] == ["0", "2", "4"]


def test_speeds_are_whole_and_figures_stand_away_from_the_edge(seen):
    seen(panels["explore"](Session("buck_converter"))._answer)
    wide, written = seen.stage.js("""() => { const node = document.querySelector(".nsx-speed");
      const pen = new OffscreenCanvas(1, 1).getContext("2d"), style = getComputedStyle(node);
      pen.font = `${style.fontSize} ${style.fontFamily}`;
      return [node.clientWidth, pen.measureText(node.selectedOptions[0].text).width]; }""")
    assert wide >= written + 18  # of the arrow
    seen(panels["explore"](Session("slider_crank"))._answer)
    free = seen.stage.js("""() => document.querySelector(".nsx-side").getBoundingClientRect().right -
      Math.max(...[...document.querySelectorAll(".nsx-table td")].map((one) =>
        one.getBoundingClientRect().right))""")
    assert free >= 5


LIGHTNESS = """(colours) => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  return colours.map((colour) => {
    pen.fillStyle = "#111"; pen.fillRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((c) =>
      c > 10 ? ((c / 255 + 0.055) / 1.055) ** 2.4 : c / 255 / 12.92);
    return [r, g, b]; }); }"""


def test_on_a_dark_ground_names_are_legible_and_curves_are_told_apart():
    dark = {"width": 1140, "background": "#111", "dark": True}
    answer = panels["explore"](Session("relay_feedback", "EulerMoreau"))._answer
    with shown(answer, **dark) as stage:
        names = stage.js("""() => [...document.querySelectorAll(".nsx-plot text")]
          .filter((t) => /^relay [<=>]/.test(t.textContent)).map((t) => getComputedStyle(t).fill)""")
        assert len(names) == 3
        weights = np.array([0.2126, 0.7152, 0.0722])
        ground = (np.array(stage.js(LIGHTNESS, ["#111"])) @ weights).item()
        for light in np.array(stage.js(LIGHTNESS, names)) @ weights:
            assert (light + 0.05) / (ground + 0.05) >= 4.5
    with shown(panels["explore"](Session("newtons_cradle"))._answer, **dark) as stage:
        drawn = stage.js("""() => [...new Set(document.querySelector(".nsx-plot")._fullData
          .map((t) => t.line?.color).filter((c) => /^#/.test(c)))]""")
        rings = stage.js("""() => [...document.querySelectorAll(".nsx-start")].map((one) =>
          one.style.getPropertyValue("--nsx-own"))""")
        assert rings
        assert {one.lower() for one in rings} <= {one.lower() for one in drawn}
        found = np.array(stage.js(LIGHTNESS, drawn))
    assert len(found) >= 5
    for seen in (np.eye(3), PROTANOPE, DEUTERANOPE):
        colours = [lab(seen @ colour) for colour in found]
        for one, two in itertools.combinations(colours, 2):
            assert np.linalg.norm(one - two) > 15


# Machado, Oliveira and Fernandes (2009), severity 1.0; for linear RGB
PROTANOPE = np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                      [-0.003882, -0.048116, 1.051998]])  # fmt: skip
DEUTERANOPE = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                        [-0.011820, 0.042940, 0.968881]])  # fmt: skip
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(linear):
    """CIE L*a*b* of linear sRGB under D65."""
    x, y, z = np.cbrt(np.maximum(XYZ @ np.clip(linear, 0, 1) / XYZ.sum(axis=1), 1e-4))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


WRITTEN = """() => { const write = CanvasRenderingContext2D.prototype.fillText;
  window.canvasTexts = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, most) {
    canvasTexts.push([text, parseFloat(this.font), most ?? null]);
    return most === undefined ? write.call(this, text, x, y) : write.call(this, text, x, y, most);
  }; }"""


@pytest.mark.parametrize(("model", "word"), [("juggling", "wanted"), ("diode_bridge", "R")])
def test_a_text_beside_a_mechanism_is_small_where_little_is_free_but_never_squashed(model, word):
    answer = panels["explore"](Session(model))._answer
    with shown(answer, width=390, height=844) as stage:
        stage.js(WRITTEN)
        texts = stage.show(answer).js("() => canvasTexts")
    sizes = [size for text, size, most in texts if text == word]
    assert sizes
    assert 9 <= min(sizes) < 12
    assert {most for _, _, most in texts} == {None}


def test_a_long_quantity_leaves_room_for_the_name_and_pairs_of_numbers_stay_on_a_line():
    with shown(panels["explore"](Session("drill_string"))._answer) as stage:
        page = stage.page
        row = page.locator('.nsx-control:has(input[data-key="rho.b_l"])')
        assert row.locator("input[type=text]").input_value() == "9 mN m s/rad"
        whole = "(n) => n.scrollHeight <= n.clientHeight + 1 && n.scrollWidth <= n.clientWidth + 1"
        assert row.locator(".nsx-label").evaluate(whole)
        assert row.locator("input[type=text]").evaluate("(n) => n.scrollWidth <= n.clientWidth")
        stage.show(panels["explore"](Session("disc_pile"))._answer)
        cells = page.locator(".nsx-table td.nsx-words", has_text="disc").all_text_contents()
        assert cells
        assert all("\u00a0" in cell[cell.index(",") :] for cell in cells)
