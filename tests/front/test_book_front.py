"""Pages of the book in Chromium: from files, without a network, without an error."""

import functools
from contextlib import ExitStack

import pytest
import stages
from book_pages import GROUNDS, faults, look, opened, settle, theme
from small_book import small_book

pytestmark = pytest.mark.browser

# what tests do more with than look at it
OPENED = {"models/bouncing_ball", "models/compass_gait", "chapters/own", "tasks/rough_block"}

# the boxes outside of panels whose content is wider than they are, and whether they have shades
SHADED = """() => Object.fromEntries([...document.querySelectorAll("article *")]
  .filter((n) => !n.closest(".nsx-panel") && n.clientWidth && n.scrollWidth > n.clientWidth + 2)
  .filter((n) => ["auto", "scroll"].includes(getComputedStyle(n).overflowX))
  .map((n, k) => [`${k} ${n.tagName}`, getComputedStyle(n).backgroundImage.includes("gradient")]))"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    return small_book(tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="module")
def context():
    with stages.context(height=800, offline=True) as one:
        yield one


@pytest.fixture(scope="module")
def open_pages(context, book):
    """Return what gives a page by its name, opened once: its scripts take four seconds."""
    with ExitStack() as stack:
        yield functools.cache(
            lambda name: stack.enter_context(opened(context, book.folder / f"{name}.html"))
        )


@pytest.fixture
def page(open_pages, name):
    """A page by its name, as wide as a desk's, that makes no error in a test."""
    one = open_pages(name)
    one.set_viewport_size({"width": 1280, "height": 800})
    settle(one)
    yield one
    assert one.errors == []


def test_every_page_opens_without_an_error_and_with_its_words_apart(context, book, open_pages):
    pages = sorted(book.folder.rglob("*.html"))
    assert len(pages) > 12
    names = [path.relative_to(book.folder).with_suffix("").as_posix() for path in pages]
    assert set(OPENED) < set(names)
    found = {
        name: faults(open_pages(name)) if name in OPENED else look(context, path)
        for name, path in zip(names, pages, strict=True)
    }
    assert {name: said for name, said in found.items() if said} == {}


def test_what_is_looked_for_is_found(context, tmp_path):
    """Text over text, a wide page, a foreign script, an error; not what is hidden or cut off."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<p>one line of text</p><p style="margin-top:-2.2em">another line</p>'
        '<p style="position:absolute;top:300px;visibility:hidden">hidden</p>'
        '<p style="position:absolute;top:300px">shown</p>'
        '<div style="height:20px;overflow:hidden;position:absolute;top:400px">a<br><br>cut off</div>'
        '<p style="position:absolute;top:430px">below</p><div style="width:2000px">wide</div>'
        '<script>throw Error("wrong")</script><img src="http://localhost:9/x.png">'
    )
    found = look(context, bad, (1280,))
    over = [said for said in found if "lies over" in said]
    assert len(over) == 1
    assert all(part in over[0] for part in ("at 1280 px", "one line of text", "another line"))
    for part in ("wider than the window", "wrong", "localhost:9/x.png"):
        assert any(part in said for said in found), (part, found)


@pytest.mark.parametrize("name", ["models/bouncing_ball", "chapters/own"])
def test_the_theme_button_changes_the_panels_too(page):
    """Also the words of the plots, which are drawn anew."""
    words = "getComputedStyle(document.querySelector('.nsx-panel .main-svg text')).fill"
    drawn = {}
    for chosen in ("dark", "light"):
        theme(page, chosen)
        assert page.evaluate(GROUNDS) == []
        panel = page.locator(".nsx-panel").first
        assert panel.get_attribute("data-theme") == chosen
        drawn[chosen] = page.evaluate(words)
    page.wait_for_function(f"(old) => {words} !== old", arg=drawn["dark"], timeout=5000)


@pytest.mark.parametrize("name", ["models/bouncing_ball", "chapters/own", "tasks/rough_block"])
def test_a_panel_moves_and_equations_are_drawn(page):
    assert page.get_attribute(".nsx-status", "data-level") == "ok"
    before = page.evaluate("document.querySelector('.nsx-range').value")
    page.focus(".nsx-range")
    page.keyboard.press("Home")
    page.wait_for_function(
        "(at) => document.querySelector('.nsx-range').value !== at", arg=before, timeout=5000
    )
    page.wait_for_selector("mjx-container")
    assert page.locator("mjx-merror").count() == 0


@pytest.mark.parametrize("name", ["models/compass_gait"])
def test_what_is_wider_than_a_phone_shows_that_it_scrolls(page):
    """By shades at the sides of its box: a phone shows a scrollbar only while one scrolls."""
    page.set_viewport_size({"width": 390, "height": 844})
    settle(page)
    shaded = page.evaluate(SHADED)
    assert len(shaded) > 2
    assert all(shaded.values()), shaded


def test_the_search_finds_a_model(context, book):
    with opened(context, book.folder / "search.html", "?q=superball") as page:
        page.wait_for_selector("#search-results li a[href*='bouncing_ball']")
        assert page.errors == []
