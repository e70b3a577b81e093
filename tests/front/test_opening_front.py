"""A page that nobody has touched shows a panel whole, however late the text above it is set."""

import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fake import Ball
from stages import shown

pytestmark = pytest.mark.browser

# a page that a test drives counts as touched: Playwright's calls are the user's
UNTOUCHED = """Object.defineProperty(navigator, "userActivation", {value: {hasBeenActive: %s}, configurable: true})"""
ABOVE = """(height) => { const text = document.createElement("div");
  text.style.height = `${height}px`; document.body.prepend(text);
  document.body.style.paddingBottom = "2000px"; }"""
PLACE = """() => { const box = document.querySelector(".nsx-panel").getBoundingClientRect();
  return [box.top, window.innerHeight - box.bottom]; }"""
WHOLE = f"() => ({PLACE})().every((room) => room >= -0.5)"
TWO_PICTURES = (
    """() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"""
)


@contextmanager
def opened(touched=False):
    """Show a panel on a page that nobody has touched, or somebody."""
    with shown(Ball()) as stage:
        stage.js(f"() => {{ {UNTOUCHED % str(touched).lower()}; }}")
        yield stage.show(Ball())
        assert stage.errors == []


def settled(stage):
    for _ in range(3):  # what an observer saw is told with the next picture of the screen
        stage.js(TWO_PICTURES)
    return stage.js(PLACE)


def test_text_set_above_does_not_push_the_panel_out():
    with opened() as stage:
        stage.js(ABOVE, 180)
        stage.page.wait_for_function(WHOLE)
        stage.js(ABOVE, 60)
        stage.page.wait_for_function(WHOLE)


def test_who_scrolls_has_the_page_to_themselves():
    with opened() as stage:
        stage.js(ABOVE, 180)
        stage.page.wait_for_function(WHOLE)
        stage.page.mouse.wheel(0, -120)
        stage.page.wait_for_function("() => window.scrollY < 60")
        assert settled(stage)[1] < -30


@pytest.mark.parametrize(("touched", "height"), [(True, 200), (False, 600)])
def test_it_stays_where_it_is_on_a_page_in_use_or_out_of_sight(touched, height):
    with opened(touched) as stage:
        stage.js(ABOVE, height)
        top, below = settled(stage)
        assert top >= height
        assert below < 0
