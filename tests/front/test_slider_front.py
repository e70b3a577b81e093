"""What a user decides of a slider: when it is followed, how far it goes, and by which steps."""

import sys
from pathlib import Path

import pytest

from explorer.panels import Session
from explorer.panels.answer import SessionAnswer

sys.path.insert(0, str(Path(__file__).parent))
from stage import encoded
from stages import shown

pytestmark = pytest.mark.browser
KEY = "rho.e"


@pytest.fixture(scope="module")
def shared():
    with shown(SessionAnswer(Session("bouncing_ball"))) as stage:
        yield stage


@pytest.fixture
def stage(shared):
    shared.show(SessionAnswer(Session("bouncing_ball")))
    shared.js("() => { sent.length = 0; }")
    yield shared
    assert shared.errors == []


def slider(stage):
    return stage.page.locator(f'input[type=range][data-key="{KEY}"]')


def reaches(page, low, high):
    page.wait_for_function(
        """([key, low, high]) => { const s = document.querySelector(`input[type=range][data-key="${key}"]`);
            return Number(s.min) === low && Number(s.max) === high; }""",
        arg=[KEY, low, high],
    )


def value(stage):
    return stage.answer.session.state["rho"]["e"]


def test_a_slider_is_followed_while_it_moves_or_when_it_is_let_go(stage):
    """Whoever has a slow link, or a slow model, chooses; one gesture is one step of undo."""
    keyboard, asked = stage.page.keyboard, "() => sent.filter((m) => m.type === 'pull').length"
    begin = value(stage)
    slider(stage).focus()
    keyboard.down("ArrowLeft")
    keyboard.down("ArrowLeft")
    stage.until(lambda: value(stage) < begin)  # the key is still down
    keyboard.up("ArrowLeft")
    stage.drawn()
    stage.page.get_by_label("Draw while a slider moves").uncheck()
    followed, before = value(stage), stage.js(asked)
    slider(stage).focus()
    for _ in range(5):
        keyboard.down("ArrowLeft")
    field = stage.page.locator(f'input[type=text][data-key="{KEY}"]')
    assert float(field.input_value()) == pytest.approx(followed - 0.05)  # the slider itself moves
    assert stage.js(asked) == before
    assert value(stage) == followed
    keyboard.up("ArrowLeft")
    stage.until(lambda: value(stage) == pytest.approx(followed - 0.05))
    assert stage.js(asked) == before + 1
    keyboard.press("Control+z")
    stage.until(lambda: value(stage) == followed)
    stage.page.get_by_label("Draw while a slider moves").check()


def test_its_range_and_step_are_set_refused_and_given_back(stage):
    page, one = stage.page, slider(stage)
    one.focus()
    page.keyboard.press("r")
    low, high, step = page.locator(".nsx-span input").all()
    assert [x.input_value() for x in (low, high, step)] == ["0", "1", "0.01"]
    low.fill("0.9")
    high.fill("0.5")
    page.keyboard.press("Enter")
    assert (
        "from a smaller number to a larger one" in page.locator(".nsx-span .nsx-note").inner_text()
    )
    low.fill("0.5")
    high.fill("0.9")
    step.fill("0.05")
    page.keyboard.press("Enter")
    page.wait_for_selector(".nsx-span", state="detached")
    assert page.evaluate("() => document.activeElement.dataset.key") == KEY
    reaches(page, 0.5, 0.9)
    one.press("ArrowLeft")
    stage.until(lambda: value(stage) == pytest.approx(0.75))
    box = one.bounding_box()
    page.mouse.click(box["x"] + 0.34 * box["width"], box["y"] + box["height"] / 2)
    stage.until(lambda: value(stage) == pytest.approx(0.65))  # on the steps, not between
    one.press("Home")
    stage.until(lambda: value(stage) == 0.5)
    one.click(button="right")
    page.get_by_role("button", name="Usual").click()
    reaches(page, 0, 1)


def test_its_range_is_part_of_the_saved_state_and_outlives_the_page(stage):
    """A teacher sends a link whose sliders go as far as the question does."""
    page, session = stage.page, stage.answer.session
    slider(stage).press("r")
    for field, typed in zip(
        page.locator(".nsx-span input").all(), ("0.6", "0.8", "0.1"), strict=True
    ):
        field.fill(typed)
    page.keyboard.press("Enter")
    reaches(page, 0.6, 0.8)
    stage.show(stage.answer)  # the page is loaded again
    reaches(page, 0.6, 0.8)
    slider(stage).press("ArrowLeft")
    stage.until(lambda: value(stage) == pytest.approx(0.7))
    stage.show(SessionAnswer(Session("bouncing_ball")))
    reaches(page, 0, 1)
    stage.panel._receive(
        None, {"type": "do", "action": "load_state", "value": session.to_json()}, []
    )
    stage.js("(messages) => deliver(messages)", encoded(stage.take()))
    reaches(page, 0.6, 0.8)
    assert value(stage) == pytest.approx(0.7)
    slider(stage).press("Control+z")  # one step: the whole state that was loaded
    reaches(page, 0, 1)


def test_code_reads_what_a_slider_has_set_and_sets_what_it_shows(stage):
    field = stage.page.locator(f'input[type=text][data-key="{KEY}"]')
    slider(stage).press("ArrowRight")
    stage.drawn()
    assert value(stage) == float(field.input_value()) == 0.81
    stage.answer.session.set(e=0.35)
    stage.panel.refresh()  # as a panel does itself when its session has changed
    stage.js("(messages) => deliver(messages)", encoded(stage.take()))
    stage.page.wait_for_function(
        "(key) => document.querySelector(`input[type=text][data-key='${key}']`).value === '0.35'",
        arg=KEY,
    )
    assert float(slider(stage).input_value()) == 0.35
