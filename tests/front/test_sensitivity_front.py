"""The sensitivity panel in a real Chromium: what moves, what is drawn, what is read aloud."""

import sys
from pathlib import Path

import pytest

from explorer.panels.sensitivity import _Answer
from explorer.panels.sensitivity.state import SensitivitySession

sys.path.insert(0, str(Path(__file__).parent))
from stages import shown

pytestmark = pytest.mark.browser
LIVE = "() => document.querySelector('.nsx-plot').classList.contains('nsx-live')"


@pytest.fixture(scope="module")
def shared():
    with shown(_Answer(SensitivitySession())) as stage:
        yield stage


@pytest.fixture
def stage(shared):
    shared.page.click("[data-action=reset]")
    shared.drawn()
    yield shared
    assert shared.errors == []


def curve(stage, name):
    return stage.js(
        """(name) => [...document.querySelector(".nsx-plot")._fullData
             .find((t) => t.name === name).y]""",
        name,
    )


def slider(stage, key):
    return stage.page.locator(f'input[type=range][data-key="{key}"]')


@pytest.mark.parametrize("key", ["rho.e", "rho.g", "rho.y0", "see.delta"])
def test_a_slider_moved_changes_the_picture_without_plotly(stage, key):
    name = "finite difference" if key == "see.delta" else "derivative"
    before = curve(stage, name)
    slider(stage, key).press("ArrowLeft")  # a new range may need plotly once
    stage.drawn()
    slider(stage, key).press("ArrowLeft")
    stage.drawn()
    assert curve(stage, name) != before
    assert stage.js(LIVE)


def ranges(stage):
    return stage.js(
        """() => Object.fromEntries(Object.entries(document.querySelector(".nsx-plot")._fullLayout)
             .filter(([k]) => /^[xy]axis\\d*$/.test(k)).map(([k, axis]) => [k, axis.range]))"""
    )


def test_axes_grow_in_a_drag_without_a_new_figure(stage):
    graph = "document.querySelector('.nsx-plot')"
    before = ranges(stage)
    stage.js(f"() => {{ {graph}.mark = {graph}.querySelector('.main-svg'); }}")
    stage.js(
        """async () => { const all = globalThis.__nonsmoothExplorerPlotly;
          const plotly = await Object.values(all)[0], { react } = plotly;
          window.reacts = 0;
          plotly.react = (...given) => { window.reacts++; return react(...given); }; }"""
    )
    slider(stage, "rho.e").focus()
    seen = set()
    for _ in range(15):
        stage.page.keyboard.down("ArrowRight")
        stage.drawn()
        seen.add(stage.js("() => window.reacts"))
    now = ranges(stage)
    assert now != before
    wanted = {k: axis["range"] for k, axis in stage.answer._layout.items() if k[1:5] == "axis"}
    assert now == {k: pytest.approx(wanted[k]) for k in now}
    assert max(seen) == 0
    assert stage.js(LIVE)
    legend = "() => [...document.querySelectorAll('.legendtext')].map((n) => n.textContent)"
    names = {t["name"] for t in stage.answer.frame()["figure"]["data"]}
    assert {t for t in stage.js(legend) if t.startswith("event shift")} < names
    stage.page.keyboard.up("ArrowRight")


def test_the_event_chosen_is_the_matrix_shown(stage):
    caption = stage.page.locator(".nsx-card caption").first
    assert caption.inner_text().startswith("Event 2: impact floor")
    cell = stage.page.locator(".nsx-heat tbody tr").nth(1).locator("td").nth(0)
    before = cell.inner_text()
    slider(stage, "see.event").press("ArrowRight")
    stage.drawn()
    assert caption.inner_text().startswith("Event 3")
    assert cell.inner_text() != before
    assert "color-mix" in cell.get_attribute("style")


def test_looking_closely_moves_the_time_axis(stage):
    stage.page.locator('[data-key="see.zoom"]').first.check()
    stage.drawn()
    low, high = stage.js("() => document.querySelector('.nsx-plot')._fullLayout.xaxis.range")
    assert low < 1.174 < high
    assert high - low < 1


def test_a_cost_typed_wrong_keeps_the_picture(stage):
    before = curve(stage, "derivative")
    field = stage.page.locator('input[type=text][data-key="cost.g"]')
    field.fill("v_y**2 + nope")
    field.press("Enter")
    stage.drawn()
    assert field.input_value() == "v_y**2 + nope"
    assert field.get_attribute("aria-invalid") == "true"
    assert "nope" in stage.page.locator(".nsx-note:visible").inner_text()
    assert curve(stage, "derivative") == before


def test_the_prediction_is_shaded_on_the_canvas_too(stage):
    slider(stage, "rho.e").press("ArrowLeft")
    stage.drawn()
    slider(stage, "rho.e").press("ArrowLeft")
    stage.drawn()
    assert stage.js(LIVE)
    shaded = stage.js(
        """() => { const c = document.querySelector(".nsx-ink");
          const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
          let n = 0;
          for (let i = 3; i < data.length; i += 4) n += data[i] > 60 && data[i] < 90;
          return n; }"""
    )
    assert shaded > 300


def test_nothing_overflows_at_1280_by_900(stage):
    stage.page.set_viewport_size({"width": 1280, "height": 900})
    stage.page.locator('[data-key="see.compare"]').first.check()
    stage.drawn()
    wide = stage.js(
        """() => [...document.querySelectorAll(".nsx-cards, .nsx-side, .nsx-plots")]
             .filter((n) => n.scrollWidth > n.clientWidth + 1 || n.scrollHeight > n.clientHeight + 1)
             .map((n) => [n.className, n.scrollWidth, n.clientWidth, n.scrollHeight, n.clientHeight])"""
    )
    assert wide == []
    stage.page.set_viewport_size({"width": 1280, "height": 720})


@pytest.mark.parametrize("model", ["newtons cradle", "elastic pendulum"])
def test_a_wide_matrix_scrolls_in_its_own_card(stage, model):
    stage.page.set_viewport_size({"width": 1136, "height": 720})
    stage.page.select_option('select[data-key="model"]', label=model)
    stage.drawn()
    last = stage.js(
        """() => { const card = document.querySelector(".nsx-card");
          card.scrollLeft = 1e4;
          const cell = card.querySelector("tbody tr").lastChild.getBoundingClientRect();
          return [cell.right - card.getBoundingClientRect().right, cell.width]; }"""
    )
    assert last[0] <= 1
    assert last[1] > 20
    wide = "() => [...document.querySelectorAll('.nsx-cards')].every((n) => n.scrollWidth <= n.clientWidth)"
    stage.page.wait_for_function(wide)
    stage.page.select_option('select[data-key="model"]', label="bouncing ball")
    stage.drawn()
    stage.page.set_viewport_size({"width": 1280, "height": 720})
