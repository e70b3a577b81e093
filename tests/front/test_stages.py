"""A page that serves one test after another shows nothing of the test before."""

import pytest
from fake import Ball
from stages import shared, shown

pytestmark = pytest.mark.browser

# what tests of this folder change, each in its way
CHANGES = {
    "a global": "window.nsxMine = 1",
    "a function of the page": "window.setTimeout = () => 0",
    "a function of an interface": "OscillatorNode.prototype.start = () => 0",
    "a property of another kind": 'Object.defineProperty(navigator, "clipboard", {value: 1, configurable: true})',
    "a command": "document.execCommand = () => true",
    "what the stub knows": "window.mute = true; sent.push({}); outside.push('a')",
    "the theme of JupyterLab": 'document.body.setAttribute("data-jp-theme-light", "false")',
    "a style": 'document.body.style.setProperty("--jp-layout-color0", "#111")',
    "a style sheet": "document.head.append(document.createElement('style'))",
    "an attribute of a style sheet": "document.head.firstChild.media = 'print'",
    "an element": "document.body.prepend(document.createElement('p'))",
    "the host": 'document.getElementById("host").style.contain = "strict"',
    "a place": 'document.body.style.height = "9000px"; scrollTo(0, 500)',
}
# what cannot be put back, by what is said of it
KEPT = {
    "'document', 'keydown'": 'document.addEventListener("keydown", () => 0)',
    "a listener of the model": "listeners.add(() => 0)",
    "wrong": 'console.error("wrong")',
    "nsxStays": 'Object.defineProperty(window, "nsxStays", {value: 1})',
    "children of BODY": 'document.body.append(document.getElementById("host"))',
    "a rule of a style sheet": 'document.styleSheets[0].insertRule("p {}")',
}
SEEN = """() => [typeof nsxMine, String(setTimeout), String(OscillatorNode.prototype.start),
  String(document.execCommand), Object.hasOwn(navigator, "clipboard"), mute, sent.length < 9, outside.length,
  document.documentElement.outerHTML.replace(document.getElementById("host").innerHTML, "")
    .replaceAll(/nsx-still="[^"]*"/g, ""), scrollY,
  [...document.styleSheets].map((one) => one.cssRules.length),
  getComputedStyle(document.querySelector(".main-svg")).position,
  getComputedStyle(document.body).backgroundColor, innerWidth, matchMedia("(prefers-color-scheme: dark)").matches]"""


@pytest.fixture(scope="module")
def new():
    """Let these tests begin with a page that no other test has used."""
    aside, shared.free = shared.free, {}
    yield
    for stages in shared.free.values():
        for stage in stages:
            stage.page.close()
    shared.free = aside


def test_what_a_test_changes_is_put_back_on_the_same_page(new):
    with shown(Ball()) as stage:
        page, usual = stage.page, stage.js(SEEN)
    with shown(Ball(), width=800, background="#111", dark=True) as stage:
        for name, code in CHANGES.items():
            before = stage.js(SEEN)
            stage.js(f"() => {{ {code}; }}")
            assert stage.js(SEEN) != before, name
    with shown(Ball()) as stage:
        assert stage.page is page
        assert stage.js(SEEN) == usual


def test_a_page_that_does_not_come_back_as_it_was_is_closed(new):
    with shown(Ball()) as stage:
        page = stage.page
        for code in KEPT.values():
            stage.js(f"() => {{ {code}; }}")
        left = str(shared.left(stage))
        assert [said for said in KEPT if said not in left] == []
    assert page.is_closed()
    with shown(Ball()) as stage:
        assert stage.page is not page


def test_two_panels_have_two_pages(new):
    with shown(Ball()) as one, shown(Ball()) as two:
        assert one.page is not two.page
