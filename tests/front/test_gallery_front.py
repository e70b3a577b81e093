"""The gallery in a real Chromium: looking, searching, opening, keeping; by mouse, keys and touch."""

import json
import re
import sys
from pathlib import Path

import pytest

from explorer.models import models
from explorer.panels.gallery import GalleryPanel

sys.path.insert(0, str(Path(__file__).parent))
from shots import JUPYTER_DARK
from stage import Stage
from stages import context, shown

pytestmark = pytest.mark.browser
CARD = '.nsx-g-card[data-model="{}"]'
OPEN = '.nsx-panel:not([data-frames="0"])'
FOCUS = """() => document.activeElement.closest(".nsx-g-card")?.dataset.model
           ?? document.activeElement.textContent"""


class GalleryStage(Stage):
    """A page that shows the gallery."""

    def take_over(self, answer):
        self.panel, self.outbox = GalleryPanel(answer), []
        self.panel.send = lambda content, buffers=(): self.outbox.append((content, list(buffers)))

    def first_picture(self):
        self.page.wait_for_selector(".nsx-g-picture[data-drawn]", timeout=20_000)
        return self

    def card(self, name):
        return self.page.locator(CARD.format(name))

    def visible(self):
        return self.js("""() => [...document.querySelectorAll(".nsx-g-card:not([hidden])")]
            .filter((n) => !n.closest("[hidden]")).map((n) => n.dataset.model)""")

    def opened(self):
        self.page.wait_for_selector(OPEN, timeout=20_000)
        return self.page.locator(".nsx-panel .nsx-title strong").inner_text()

    def kept(self):
        """What the browser keeps: at an address that is none it may not, and the page itself does."""
        return self.js("() => globalThis.__nonsmoothExplorerKept ?? null")


@pytest.fixture(scope="module")
def wide():
    with shown(None, GalleryStage) as wide:
        yield wide


@pytest.fixture(name="shown")
def usual(wide):
    """One page for all that does not depend on its size, as it was when it opened."""
    yield wide
    wide.js("""() => { delete globalThis.__nonsmoothExplorerKept;
        const back = document.querySelector(".nsx-g-bar:not([hidden]) .nsx-g-back");
        back?.click();
        document.querySelector(".nsx-g-groups button").click();
        const search = document.querySelector(".nsx-g-search");
        search.value = "";
        search.dispatchEvent(new Event("input"));
        window.outside.length = 0; }""")
    wide.page.mouse.move(2, 2)
    assert wide.errors == []


def test_only_what_is_seen_is_asked_for_and_drawn(shown):
    drawn = "() => document.querySelectorAll('[data-drawn]').length"
    shown.page.wait_for_function("() => document.querySelectorAll('[data-drawn]').length >= 10")
    assert shown.js(drawn) <= 25
    shown.card("woodpecker").scroll_into_view_if_needed()
    shown.page.wait_for_selector(f"{CARD.format('woodpecker')} [data-drawn]")
    assert shown.js(drawn) < len(models) - 20
    asked = shown.js("() => sent.filter((m) => m.action === 'films').flatMap((m) => m.value)")
    assert len(asked) == len({*asked}) < len(models)
    assert not [m for m in shown.js("() => sent") if m["type"] == "hello"], "no plotly is sent"
    assert shown.js("""() => [...document.querySelectorAll("[data-drawn] canvas")].every((c) =>
        [...c.getContext("2d").getImageData(0, 0, c.width, c.height).data].some((v) => v > 0))""")


def test_a_picture_moves_as_long_as_it_is_looked_at(shown):
    shown.card("bouncing_ball").hover()
    shown.page.wait_for_selector(f"{CARD.format('bouncing_ball')} [data-plays]")
    pixels = (
        f"""() => document.querySelector('{CARD.format("bouncing_ball")} canvas').toDataURL()"""
    )
    before = shown.js(pixels)
    shown.page.wait_for_function(f"(before) => ({pixels})() !== before", arg=before)
    shown.card("tether").hover()
    shown.page.wait_for_selector(f"{CARD.format('tether')} [data-plays]")
    shown.page.wait_for_function("() => document.querySelectorAll('[data-plays]').length === 1")
    shown.page.mouse.move(2, 2)
    shown.page.wait_for_function("() => !document.querySelector('[data-plays]')")
    shown.card("bouncing_ball").locator(".nsx-g-open").focus()
    shown.page.wait_for_selector(f"{CARD.format('bouncing_ball')} [data-plays]")
    assert shown.js("() => document.querySelectorAll('[data-plays]').length") == 1


def test_a_picture_moves_on_touch_and_not_for_who_wants_no_motion():
    card = CARD.format("bouncing_ball")
    for motion, moves in (("no-preference", True), ("reduce", False)):
        with context(width=390, height=844, has_touch=True, reduced_motion=motion) as room:
            one = GalleryStage(room.new_page(), None).open()
            one.page.wait_for_selector(f"{card} [data-drawn]")
            one.js(
                "(card) => document.querySelector(card).addEventListener('pointerenter', () => { window.felt = true; })",
                card,
            )
            one.page.locator(card).scroll_into_view_if_needed()
            box = one.page.locator(card).bounding_box()
            finger = {"x": box["x"] + 60, "y": box["y"] + 60}
            room.new_cdp_session(one.page).send(
                "Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [finger]}
            )
            one.page.wait_for_function("() => window.felt")
            assert one.js(f"() => Boolean(document.querySelector('{card} [data-plays]'))") == moves


def test_a_search_and_a_group_leave_what_fits(shown):
    shown.page.fill(".nsx-g-search", "chaos")
    found = shown.visible()
    assert {"chua", "impact_oscillator", "duffing"} <= {*found}
    assert shown.page.locator(".nsx-g-head .nsx-g-said").inner_text() == f"{len(found)} models"
    shown.page.get_by_role("button", name="Circuits", exact=True).click()
    circuits = {name for name in models if models[name].group == "circuits"}
    assert shown.visible() == [name for name in found if name in circuits]
    assert {"buck_converter", "chua"} <= {*shown.visible()}
    shown.page.fill(".nsx-g-search", "chaos penguin")
    assert shown.visible() == []
    assert "Try another word" in shown.page.locator(".nsx-g-head .nsx-g-said").inner_text()
    shown.page.keyboard.press("Escape")
    assert {*shown.visible()} == circuits
    shown.page.get_by_role("button", name="All", exact=True).click()
    assert len(shown.visible()) == len(models) + 1  # and the card of one's own


def test_a_model_is_found_opened_and_left_by_keys_alone(shown):
    page = shown.page
    page.locator(".nsx-g-search").focus()
    page.keyboard.type("walker")
    page.keyboard.press("ArrowDown")
    assert shown.js(FOCUS) == "kneed_walker"
    page.keyboard.press("ArrowRight")
    assert shown.js(FOCUS) == "simplest_walker"
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    assert shown.js("() => document.activeElement.textContent") == "steeper"
    page.keyboard.press("Enter")
    assert shown.opened() == "Walker with knees"
    assert (
        shown.panel.session.state["rho"] != shown.panel.session.states.fresh("kneed_walker")["rho"]
    )
    assert shown.js(FOCUS) == "← All models"
    page.keyboard.press("Enter")
    page.wait_for_selector(".nsx-g-screen:not([hidden])")
    assert shown.js(FOCUS) == "kneed_walker"
    assert page.locator(".nsx-panel").count() == 0
    assert shown.js("() => outside") == [], "no key comes to JupyterLab"


def test_arrow_keys_go_from_row_to_row(shown):
    first = shown.visible()[0]
    shown.card(first).locator(".nsx-g-open").focus()
    place = """() => { const { left, top } = document.activeElement.closest("li").getBoundingClientRect();
        return [left, top + document.querySelector(".nsx-g-list").scrollTop]; }"""
    before = shown.js(place)
    shown.page.keyboard.press("ArrowDown")
    after = shown.js(place)
    assert after[0] == before[0]
    assert after[1] > before[1]
    shown.page.keyboard.press("ArrowUp")
    assert shown.js(FOCUS) == first
    shown.page.keyboard.press("End")
    assert shown.js(FOCUS) == shown.visible()[-1]
    order = (
        "() => [...document.querySelectorAll('.nsx-g-open')].filter((b) => b.tabIndex === 0).length"
    )
    assert shown.js(order) == 1, "Tab passes by the other cards"


def test_the_preset_used_last_is_remembered_and_own_ones_are_kept(shown):
    page, card = shown.page, shown.card("bouncing_ball")
    card.get_by_role("button", name="superball").click()
    shown.opened()
    assert shown.panel.session.state["rho"]["e"] == 1.0
    shown.panel.session.set(e=0.33)
    page.get_by_role("button", name="Save as preset …").click()
    page.keyboard.type("mine")
    page.keyboard.press("Enter")
    page.wait_for_selector(".nsx-g-own .nsx-g-chip")
    assert json.loads(shown.kept()["own"]["bouncing_ball"][0]["state"])["rho"]["e"] == 0.33
    shown.panel.session.set(e=0.5)
    page.get_by_role("button", name="← All models").click()
    assert card.locator(".nsx-g-chip[aria-current]").inner_text() == "mine"
    card.locator(".nsx-g-open").click()  # opens what was used last
    shown.opened()
    assert shown.panel.session.state["rho"]["e"] == 0.33
    page.get_by_role("button", name="Delete the preset mine").click()
    assert shown.kept()["own"] == {}
    page.get_by_role("button", name="← All models").click()
    assert card.locator(".nsx-g-mine").count() == 0


def test_own_presets_go_to_a_file_and_come_from_one(shown, tmp_path):
    page = shown.page
    state = shown.panel.choose("pendulum").to_json()
    shown.js("(kept) => { globalThis.__nonsmoothExplorerKept = kept; }",
             {"last": {}, "own": {"pendulum": [{"name": "<b>mine</b>", "state": state}]}})  # fmt: skip
    page.get_by_text("My presets").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save to a file").click()
    saved.value.save_as(tmp_path / "presets.json")
    shown.js("() => { delete globalThis.__nonsmoothExplorerKept; }")
    (tmp_path / "other.json").write_text("[1, 2]")
    for name, said in (("other", "no file of presets"), ("presets", "1 preset loaded")):
        page.get_by_text("My presets").click()
        with page.expect_file_chooser() as asked:
            page.get_by_role("button", name="Load from a file …").click()
        asked.value.set_files(tmp_path / f"{name}.json")
        page.wait_for_function(
            "(said) => document.querySelector('.nsx-g-head .nsx-g-said').textContent.includes(said)",
            arg=said,
        )
    assert shown.card("pendulum").locator(".nsx-g-mine").text_content() == "<b>mine</b>"


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_nothing_overlaps_in_light_and_dark(width, height):
    with shown(None, GalleryStage, width=width, height=height) as one:
        nothing_overlaps(one, width)


def nothing_overlaps(one, width):
    crowded = """() => { const found = [];
        const box = (node) => node.getBoundingClientRect();
        const texts = [...document.querySelectorAll(".nsx-g-head > *, .nsx-g-groups > *, " +
            ".nsx-g-open strong, .nsx-g-text, .nsx-g-picture, .nsx-g-chip")]
          .filter((n) => n.checkVisibility({ contentVisibilityAuto: true }) && box(n).width);
        for (const [i, a] of texts.entries()) for (const b of texts.slice(i + 1)) {
          const [p, q] = [box(a), box(b)];
          const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
          const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
          const list = box(document.querySelector(".nsx-g-list"));
          const inside = (n) => !n.closest(".nsx-g-list") || box(n).top >= list.top;
          if (wide > 0.5 && high > 0.5 && inside(a) && inside(b)) found.push([a.outerHTML, b.outerHTML]);
        }
        for (const n of texts) if (box(n).right > innerWidth) found.push(n.outerHTML);
        return [found, document.documentElement.scrollWidth, texts.length]; }"""
    found, wide, count = one.js(crowded)
    assert (found, wide) == ([], width)
    assert count > 20
    light = one.js("() => getComputedStyle(document.querySelector('.nsx-gallery')).backgroundColor")
    one.js(JUPYTER_DARK)
    one.page.wait_for_selector(".nsx-gallery[data-theme=dark]")
    dark = one.js("() => getComputedStyle(document.querySelector('.nsx-gallery')).backgroundColor")
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(17, 17, 17)")
    assert one.errors == []


def test_who_cannot_see_is_told_the_same(shown):
    tree = shown.page.locator(".nsx-gallery")
    assert tree.get_attribute("aria-label") == "Gallery of models"
    impacts = [name for name in models if models[name].group == "impacts"]
    listed = tree.get_by_role("list", name="Impacts").get_by_role("listitem")
    assert listed.count() == len(impacts)
    one = tree.get_by_role("button", name=re.compile("^Bouncing ball Infinitely many impacts"))
    assert tree.get_by_role("group", name="Presets: Bouncing ball").count() == 1
    assert tree.get_by_role("searchbox", name="Search the models").count() == 1
    one.focus()
    ring = "() => getComputedStyle(document.activeElement).outlineStyle"
    shown.page.keyboard.press("ArrowRight")
    assert shown.js(ring) == "solid"
