"""No fault of accessibility that axe-core finds, in any panel, light and dark, and by keyboard."""

import sys
from pathlib import Path

import browsers
import pytest

from explorer.panels import Session
from explorer.panels.answer import SessionAnswer
from explorer.panels.session_panel import panels

sys.path.insert(0, str(Path(__file__).parent))
from shots import JUPYTER_DARK
from stages import shown
from test_gallery_front import GalleryStage

pytestmark = pytest.mark.browser

FAULTS = """async () => {
  const past = [".nsx-stale .nsx-table", ".nsx-stale .nsx-plots"]; // pale, for it is of other values
  const shown = [".nsx-panel", ".nsx-gallery"].filter((one) => document.querySelector(one));
  const context = { include: shown, exclude: past.filter((one) => document.querySelector(one)) };
  const { violations } = await axe.run(context, { resultTypes: ["violations"] });
  return violations.filter(({ impact }) => ["critical", "serious", "moderate"].includes(impact))
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0].html.slice(0, 200)}`);
}"""
MODELS = ["rough_block", "thermostat", "column"]


@pytest.fixture(scope="module")
def stage():
    with shown(SessionAnswer(Session("bouncing_ball"))) as stage:
        stage.js(browsers.axe())
        yield stage
        assert stage.errors == []


@pytest.fixture
def gallery():
    with shown(None, GalleryStage) as gallery:
        gallery.js(browsers.axe())
        yield gallery


def showing(stage, answer):
    stage.show(answer)
    stage.page.wait_for_selector(".nsx-plot .ytitle")
    stage.page.wait_for_timeout(300)  # tables follow the picture


@pytest.mark.parametrize("model", MODELS)
def test_a_model_has_no_fault(stage, model):
    showing(stage, SessionAnswer(Session(model)))
    assert stage.js(FAULTS) == []


@pytest.mark.parametrize("kind", sorted({*panels} - {"explore", "gallery"}))
def test_a_panel_has_no_fault(stage, kind):
    showing(stage, panels[kind].opens()._showing())
    assert stage.js(FAULTS) == []


def test_menus_lectures_refusals_and_the_dark_theme_have_no_fault(stage):
    page = stage.page
    showing(stage, SessionAnswer(Session("bouncing_ball")))
    page.click(".nsx-menu:has([data-action=copy_code]) summary")
    assert stage.js(FAULTS) == []
    page.keyboard.press("Escape")
    page.fill(".nsx-field[data-key='rho.e']", "two")
    page.keyboard.press("Enter")
    page.wait_for_selector(".nsx-status[data-level=error]")
    assert stage.js(FAULTS) == []
    page.keyboard.press("Escape")
    page.click("[data-action=lecture]")
    page.wait_for_timeout(300)
    assert stage.js(FAULTS) == []
    page.click("[data-action=lecture]")
    stage.js(JUPYTER_DARK)
    page.wait_for_selector(".nsx-panel[data-theme=dark]")
    assert stage.js(FAULTS) == []


def test_dialogs_have_no_fault(stage):
    page = stage.page
    showing(stage, SessionAnswer(Session("bouncing_ball")))
    page.click("[data-action=words]")
    assert stage.js(FAULTS) == []
    page.keyboard.press("Escape")
    page.locator("[type=range][data-key='rho.e']").press("r")
    page.fill(".nsx-span input >> nth=0", "2")
    page.keyboard.press("Enter")  # from 2 to 1
    page.wait_for_selector(".nsx-span .nsx-note:not([hidden])")
    assert stage.js(FAULTS) == []
    page.keyboard.press("Escape")
    page.click(".nsx-menu:has([data-action=load_state]) summary")
    page.click("[data-action=load_state]")
    page.wait_for_selector(".nsx-dialog textarea")
    assert stage.js(FAULTS) == []
    page.keyboard.press("Escape")


def test_the_gallery_has_no_fault(gallery):
    page = gallery.page
    assert gallery.js(FAULTS) == []
    page.get_by_text("My presets").click()
    assert gallery.js(FAULTS) == []
    gallery.js(JUPYTER_DARK)
    page.wait_for_selector(".nsx-gallery[data-theme=dark]")
    assert gallery.js(FAULTS) == []
    gallery.card("bouncing_ball").locator(".nsx-g-open").click()
    gallery.opened()
    page.get_by_text("Save as preset").click()
    page.wait_for_selector(".nsx-gallery dialog")
    assert gallery.js(FAULTS) == []
    assert gallery.errors == []


def test_numbers_on_shades_are_readable_in_the_dark(stage):
    showing(stage, panels["sensitivity"](Session("bouncing_ball"))._answer)
    stage.js(JUPYTER_DARK)
    stage.page.wait_for_selector(".nsx-panel[data-theme=dark]")
    assert stage.page.locator(".nsx-heat td[data-shade*='85%']").count()
    assert stage.js(FAULTS) == []


def test_everything_is_reached_by_tab_and_its_focus_is_seen(stage):
    page = stage.page
    showing(stage, SessionAnswer(Session("rough_block")))
    page.evaluate("document.activeElement.blur()")
    reached, hidden = set(), []
    for _ in range(90):
        page.keyboard.press("Tab")
        name, seen = page.evaluate("""() => { const one = document.activeElement;
          const style = getComputedStyle(one);
          const said = one.dataset.key ?? one.dataset.action ?? one.className;
          const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
          const own = getComputedStyle(one, "::after").content !== "none" || style.borderColor !== "rgba(0, 0, 0, 0)";
          return [said, ring || own]; }""")
        reached.add(name)
        if not seen:
            hidden.append(name)
    controls = {c["key"] for g in stage.answer.groups() if g["open"] for c in g["controls"]}
    assert controls <= reached
    assert {"reset", "pin", "lecture", "words", "nsx-play", "nsx-range nsx-scrub"} <= reached
    assert {"nsx-grip", "nsx-divider", "nsx-checks", "nsx-layer"} <= reached
    assert hidden == []


def test_what_a_screen_reader_says_has_names_and_values(stage):
    showing(stage, SessionAnswer(Session("bouncing_ball")))
    session = stage.page.context.new_cdp_session(stage.page)
    tree = session.send("Accessibility.getFullAXTree")["nodes"]
    said = [
        (
            n["role"]["value"],
            n.get("name", {}).get("value", ""),
            n.get("value", {}).get("value", ""),
        )
        for n in tree
        if not n["ignored"]
    ]
    nameless = [
        one for one in said if one[0] in ("button", "slider", "combobox", "textbox") and not one[1]
    ]
    assert nameless == []
    sliders = {name: value for role, name, value in said if role == "slider"}
    assert any("restitution" in name for name in sliders), sliders
    roles = [role for role, _, _ in said]
    assert {"status", "table", "columnheader", "toolbar"} <= set(roles)
    assert "Mechanism: Bouncing ball" in [name for role, name, _ in said if role == "image"]
    assert "Plots: Bouncing ball" in [name for role, name, _ in said if role == "group"]
    assert "graphics-symbol" not in roles  # plotly's own, which have no names
    assert not [name for role, name, _ in said if role == "StaticText" and name == "time t (s)"]
    heard = {
        n["name"]["value"]: n.get("description", {}).get("value", "")
        for n in tree
        if not n["ignored"] and n["role"]["value"] in ("group", "slider")
    }
    assert heard["Plots: Bouncing ball"].startswith("5 plots: y (m) over time t (s); ")
    assert "energy (J) over time t (s)" in heard["Plots: Bouncing ball"]
    # what a parameter is at all is not said for each of them
    assert heard["m (mass), kg"].startswith("Its slider goes from 0.1 to ")
    assert heard["e (restitution)"].startswith("How much of the normal velocity")
