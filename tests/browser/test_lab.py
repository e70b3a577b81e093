"""The panel in JupyterLab as the command opens it. Everything waits on values, never on time."""

from __future__ import annotations

import time

import numpy as np
import pytest
from kinds import alike, one_of_each
from lab import SIZE

from explorer.models import models

pytestmark = pytest.mark.browser


def test_the_panel_fits_into_1280_x_720(lab):
    box = lab.panel.bounding_box()
    assert box["height"] <= 620  # of a window of 720
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= SIZE["width"]
    wide = lab.js(
        """() => { const root = document.querySelector(".nsx-panel"), out = [];
          for (let n = root; n; n = n.parentElement)
            if (n.scrollWidth > n.clientWidth + 1 && getComputedStyle(n).overflowX !== "visible"
                && n.clientWidth) out.push([n.className, n.scrollWidth, n.clientWidth]);
          return out; }"""
    )
    assert wide == []


def slide(lab, name, shots):
    """Move the sliders of a model by key: of the ball all, of others two or three."""
    lab.model(name.replace("_", " "))
    shots(lab.panel.screenshot, f"{name}.png")
    lab.js("() => document.querySelectorAll('.nsx-panel details.nsx-group')"
           ".forEach((d) => { d.open = true; })")  # fmt: skip
    keys = lab.js("""() => [...document.querySelector(".nsx-panel")
        .querySelectorAll(".nsx-controls input[type=range]")].map((s) => s.dataset.key)""")
    numbers = ({"knob.h", "knob.theta"}, {"knob.rtol", "knob.atol"}, {"knob.h", "knob.beta"},
               {"knob.h", "knob.stages"}, {"knob.bound"})  # fmt: skip
    assert any(some < set(keys) for some in numbers)
    if name != "bouncing_ball":  # tests/test_panels.py moves all of them, without a browser
        starts = [k for k in keys if k[:3] in ("q0.", "v0.", "x0.")]
        own = [k for k in keys if k.startswith("rho.")]
        keys = ["knob.h"] * ("knob.h" in keys) + own[:1] + starts[-1:]
    numerics = {"knob.newton_tol", "knob.newton_max", "knob.lcp_tol", "knob.lcp_max", "knob.gamma",
                "knob.theta", "knob.forecast", "rho.m"}  # fmt: skip
    for key in keys:
        written = lab.field(key).input_value()
        before = lab.state()
        at_low = lab.slider(key).evaluate("(s) => s.value === s.min")  # no way further down
        # a start may lie on an obstacle: one way is refused with a sentence, the other is not
        down = ("ArrowLeft", "PageDown", *(["End"] if key[:3] in ("q0.", "v0.", "x0.") else []))
        for press in ("ArrowRight", "PageUp") if at_low else down:
            with lab.answered():
                lab.slider(key).press(press)
            if lab.state() != before:
                break
        else:
            if key in numerics:
                continue  # it need not show
            lab.changes(before)  # a drag is answered twice, so this answer may be on its way
        assert lab.field(key).input_value() != written


def test_each_slider_moved_by_key_changes_the_picture(lab, shots):
    slide(lab, "bouncing_ball", shots)


@pytest.mark.broad
@pytest.mark.parametrize("name", sorted({*one_of_each(sorted(models), alike)} - {"bouncing_ball"}))
def test_sliders_of_all_kinds_of_models_change_the_picture(lab, name, shots):
    slide(lab, name, shots)


def test_a_slider_shows_its_value_with_its_unit(lab):
    slider = lab.slider("rho.y0")
    with lab.answered():
        slider.press("ArrowRight")
    assert lab.field("rho.y0").input_value() == "1.02"
    assert slider.get_attribute("aria-valuetext") == "1.02 m"
    assert lab.curve("y")[0] == pytest.approx(1.02, rel=1e-6)


def test_a_typed_number_counts(lab):
    with lab.answered():
        lab.field("rho.y0").fill("1/4")
        lab.field("rho.y0").press("Enter")
    assert lab.curve("y")[0] == 0.25
    assert lab.field("rho.y0").input_value() == "0.25"


def test_typed_garbage_stays_with_its_sentence(lab):
    before = lab.state()
    with lab.answered():
        lab.field("rho.e").fill("0,8o")
        lab.field("rho.e").press("Enter")
    assert lab.field("rho.e").input_value() == "0,8o"
    assert lab.field("rho.e").get_attribute("aria-invalid") == "true"
    note = lab.panel.locator(".nsx-note:visible")
    assert "0,8o" in note.inner_text()
    assert lab.panel.locator(".nsx-status").get_attribute("data-level") == "error"
    assert lab.state() == before
    with lab.answered():
        lab.slider("rho.y0").press("ArrowRight")  # another slider goes on working
    assert lab.curve("y")[0] == pytest.approx(1.02, rel=1e-6)
    assert lab.field("rho.e").input_value() == "0,8o"
    with lab.answered():
        lab.field("rho.e").fill("0.5")
        lab.field("rho.e").press("Enter")
    assert note.count() == 0


def test_undo_by_key_and_by_button(lab):
    before = lab.state()
    for _ in range(3):
        with lab.answered():
            lab.slider("rho.e").press("ArrowLeft")
    for _ in range(2):
        with lab.answered():
            lab.page.keyboard.press("Control+z")
    with lab.answered():
        lab.action("undo").click()
    assert lab.state() == before
    assert lab.field("rho.e").input_value() == "0.8"
    with lab.answered():
        lab.action("redo").click()
    assert lab.field("rho.e").input_value() == "0.79"


def test_a_preset(lab):
    with lab.answered():
        lab.panel.locator(".nsx-presets").select_option(label="clay")
    assert lab.field("rho.e").input_value() == "0"
    assert lab.curve("y")[-1] == pytest.approx(0, abs=0.01)


def test_a_pinned_run_is_dotted_and_goes_again(lab, shots):
    own = lab.curve("y")
    with lab.answered():
        lab.action("pin").click()
    with lab.answered():
        lab.field("rho.e").fill("0.5")
        lab.field("rho.e").press("Enter")
    dotted = {name for name, dash, _ in lab.drawn() if dash == "dot"}
    assert {"pinned A y", "pinned A y\u0307"} <= dotted
    assert np.nanmax(lab.curve("pinned A y")) == pytest.approx(np.nanmax(own), rel=0.01)
    shots(lab.panel.screenshot, "pinned.png")
    with lab.answered():
        lab.panel.locator("[data-unpin=A]").click()
    assert not [name for name, dash, _ in lab.drawn() if dash == "dot"]


def test_playing_moves_the_mechanism_and_the_cursor(lab):
    picture = "() => document.querySelector('.nsx-mechanism').toDataURL()"
    place = "() => document.querySelector('.nsx-cursor').toDataURL()"
    still, there = lab.js(picture), lab.js(place)
    lab.panel.locator(".nsx-play").click()
    lab.wait(f"(still) => ({picture})() !== still", still)
    lab.wait(f"(there) => ({place})() !== there", there)
    with lab.answered():
        lab.slider("rho.e").press("ArrowLeft")  # it goes on playing meanwhile
    assert lab.panel.locator(".nsx-play").get_attribute("aria-label") == "Pause"
    lab.page.keyboard.press("Space")
    assert lab.panel.locator(".nsx-play").get_attribute("aria-label") == "Play"


def test_a_table_row_moves_the_cursor(lab):
    lab.page.wait_for_timeout(400)  # the table follows the last picture within a quarter second
    row = lab.panel.locator(".nsx-table tbody tr").nth(2)
    wanted = float(row.locator("td").first.inner_text())
    row.click()
    time_ = lab.js("() => Number(document.querySelector('.nsx-scrub').value)")
    assert time_ == pytest.approx(wanted, abs=5e-3)
    assert row.get_attribute("aria-current") == "true"


def test_the_keys_of_jupyterlab_rest_while_a_slider_has_the_focus(lab):
    cells = "() => document.querySelectorAll('.jp-Notebook .jp-Cell').length"
    before = lab.js(cells)
    lab.slider("rho.e").focus()
    for key in ("b", "a", "d", "d", "x"):
        lab.page.keyboard.press(key)
    with lab.answered():
        lab.page.keyboard.press("ArrowLeft")
    assert lab.js(cells) == before
    assert lab.field("rho.e").input_value() == "0.79"


def test_dark_theme(lab, shots):
    lab.page.wait_for_function("() => Boolean(window.jupyterapp)")
    colours = """() => [...new Set([...document.querySelector(".nsx-panel").querySelectorAll(
        ".xtick text, .ytick text, [class*='title'] text")]
      .filter((n) => n.textContent).map((n) => getComputedStyle(n).fill))].sort()"""
    light = lab.js(colours)
    assert light
    change = "(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })"
    try:
        lab.js(change, "JupyterLab Dark")
        lab.page.wait_for_selector('.nsx-panel[data-theme="dark"]')
        lab.wait(f"(light) => ({colours})().every((c) => !light.includes(c))", light)
        shots(lab.panel.screenshot, "dark.png")
        for colour in lab.js(colours):  # legible: bright on dark
            red, green, blue = [float(v) for v in colour[colour.index("(") + 1 : -1].split(",")[:3]]
            assert 0.3 * red + 0.59 * green + 0.11 * blue > 140
    finally:
        lab.js(change, "JupyterLab Light")
    lab.page.wait_for_selector('.nsx-panel[data-theme="light"]')
    lab.wait(f"(light) => String(({colours})()) === String(light)", light)


def test_the_menu_saves_and_copies(lab):
    for action, name in (("export_csv", "run.csv"), ("export_html", "run.html"),
                         ("export_png", "bouncing_ball.png")):  # fmt: skip
        lab.panel.locator(".nsx-menu:not([hidden]) > summary").click()
        with lab.page.expect_download() as download:
            lab.action(action).click()
        assert download.value.suggested_filename == name
        assert download.value.path().stat().st_size > 5000
    lab.panel.locator(".nsx-menu:not([hidden]) > summary").click()
    lab.action("load_state").click()
    dialog = lab.page.locator("dialog.nsx-dialog")
    dialog.locator("textarea").fill("{}")
    dialog.get_by_text("Load", exact=True).click()
    lab.wait("() => document.querySelector('.nsx-status').dataset.level === 'error'")
    assert dialog.count() == 0


def test_the_copied_code_ends_where_the_panel_does(lab):
    """Through the real clipboard; `tests/front/test_code_front.py` has a model of each kind."""
    lab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    with lab.answered():
        lab.slider("rho.e").press("PageDown")
    lab.panel.locator(".nsx-menu:not([hidden]) > summary").click()
    lab.action("copy_code").click()
    lab.wait("() => document.querySelector('.nsx-status').textContent.includes('Python copied')")
    fresh: dict = {}
    exec(lab.js("() => navigator.clipboard.readText()"), fresh)
    solution = fresh["solution"]
    assert solution.rho["e"] == float(lab.field("rho.e").input_value()) == 0.7
    assert lab.curve("y")[-1] == pytest.approx(solution.q[-1, 0], abs=1e-5)


def test_a_zoom_asks_for_its_window_and_ends_with_its_model(lab):
    """A box drawn by hand into a fiftieth of a long run; a double click; a change of model."""
    lab.settle("duffing")
    with lab.answered():
        lab.field("t_end").fill("400")
        lab.field("t_end").press("Enter")
    state = """() => { const gd = document.querySelector(".nsx-plot");
        const { range } = gd._fullLayout.xaxis, [x] = gd._fullData.map((t) => [...t.x]);
        return [...range, x.filter((v) => v >= range[0] && v <= range[1]).length, x.length]; }"""
    low, high, *_, before = lab.js(state)
    assert (low, high) == (0, 400)
    box = lab.panel.locator(".nsx-plot .nsewdrag").first.bounding_box()
    middle, width = box["y"] + box["height"] / 2, box["width"] / 7
    left = box["x"] + box["width"] / 2
    mouse = lab.page.mouse

    def seventh():
        with lab.answered():
            mouse.move(left, middle)
            mouse.down()
            mouse.move(left + width, middle, steps=4)  # level: only time is zoomed
            mouse.up()

    seventh()
    seventh()
    lab.rests()
    low, high, inside, _ = lab.js(state)
    assert high - low == pytest.approx(8, rel=0.3)
    assert inside >= 4 * before / 50, "the curve is read anew in the window"
    with lab.answered():
        mouse.dblclick(left, middle)
    lab.rests()
    low, high, _, after = lab.js(state)
    assert (low, high) == (0, 400)
    assert after == pytest.approx(before, rel=0.1)
    seventh()
    lab.model("bouncing ball")
    lab.rests()
    zoomed = """() => { const gd = document.querySelector(".nsx-plot");
        return Object.entries(gd._fullLayout).filter(([k]) => /^[xy]axis/.test(k))
          .filter(([k, a]) => String(a.range) !== String(gd.layout[k].range)).length; }"""
    low, high, *_ = lab.js(state)
    assert (low, high) == (0, pytest.approx(4.5, rel=0.2))
    assert lab.js(zoomed) == 0


def test_a_reload_brings_the_panel_back_alive(lab):
    with lab.answered():
        lab.field("rho.y0").fill("1.5")
        lab.field("rho.y0").press("Enter")
    with lab.answered():
        lab.field("rho.e").fill("0.4")
        lab.field("rho.e").press("Enter")
    begin = time.perf_counter()
    lab.page.reload()
    lab.first_picture()
    print(f"\npicture back after {time.perf_counter() - begin:.2f} s")
    assert lab.field("rho.y0").input_value() == "1.5"
    assert lab.field("rho.e").input_value() == "0.4"
    assert lab.curve("y")[0] == 1.5
    with lab.answered():
        lab.slider("rho.e").press("ArrowRight")
    assert lab.field("rho.e").input_value() == "0.41"
    assert lab.curve("y")[0] == 1.5


def test_a_live_panel_takes_the_place_of_its_still(lab):
    """Only a page without its kernel shows the still."""
    boxes = "() => [...document.querySelectorAll('[data-nsx-still]')].map((s) => s.getClientRects().length)"
    assert lab.page.evaluate(boxes)
    assert not any(lab.page.evaluate(boxes))
