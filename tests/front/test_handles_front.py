"""Inputs drawn over time in a real Chromium: by the mouse, a finger and the arrow keys."""

import sys
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest

from explorer.panels import Session, panels
from explorer.panels.answer import SessionAnswer

sys.path.insert(0, str(Path(__file__).parent))
from stage import Stage, encoded
from stages import context, shown

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shared():
    with context(has_touch=True) as one:
        session = Session("pushed_block", **{"u.u": [-2.0] * 5})
        stage = Stage(one.new_page(), SessionAnswer(session)).open()
        yield stage
        assert stage.errors == []


@pytest.fixture
def stage(shared):
    shared.answer.session.set(**{"u.u": [-2.0] * 5})
    shared.answer.session._past.clear()
    shared.panel.push()
    shared.js("(messages) => deliver(messages)", encoded(shared.take()))
    shared.page.wait_for_function(
        """() => [...document.querySelectorAll(".nsx-handle:not(.nsx-start)")].map((n) => n.getAttribute("aria-valuenow"))
           .join() === "-2,-2,-2,-2,-2" """
    )
    return shared


def drawn(stage):
    return stage.answer.session.state["u"]["u"]["values"]


def centre(stage, key):
    box = stage.page.locator(f'.nsx-handle[data-key="{key}"]').bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_level_follows_the_mouse_and_a_stroke_sets_those_that_it_passes(stage):
    x, y = centre(stage, "u.u.1")
    last, _ = centre(stage, "u.u.4")
    run = stage.answer.session.solution
    stage.page.mouse.move(x, y)
    stage.page.mouse.down()
    stage.page.mouse.move(x, y - 12, steps=3)
    stage.page.mouse.move(last, y - 12, steps=2)
    stage.page.mouse.up()
    stage.page.wait_for_selector("[data-action=undo]:not([disabled])")  # the whole stroke is taken
    values = np.array(drawn(stage))
    assert values[0] == -2
    assert (values[1:] > -1.8).all()
    assert np.ptp(values[1:]) < 0.2, "a level stroke is level"
    session = stage.answer.session
    assert session.solution is not run
    assert session.solution.u[-1, 0] == values[-1]
    line = stage.js("""() => [...document.querySelector(".nsx-plot")._fullData
        .find((t) => t.name === "values of u").y]""")  # fmt: skip
    np.testing.assert_allclose(line, values, rtol=1e-6)
    stage.page.keyboard.press("Control+z")
    stage.drawn()
    assert drawn(stage) == [-2] * 5, "a stroke is one step of undo"


def test_arrow_keys_change_a_level_and_go_to_the_next(stage):
    first = stage.page.locator('.nsx-handle[data-key="u.u.0"]')
    first.focus()
    first.press("ArrowUp")
    stage.drawn()
    assert first.get_attribute("aria-valuenow") == f"{drawn(stage)[0]:g}"
    assert drawn(stage)[0] > -2
    stage.page.keyboard.press("ArrowRight")
    stage.page.keyboard.press("End")
    stage.drawn()
    assert drawn(stage)[1] == 5
    assert stage.js("() => document.activeElement.dataset.key") == "u.u.1"
    assert stage.js("() => document.activeElement.getAttribute('aria-label')") == "u 2 of 5"
    stage.page.keyboard.press("PageUp")
    stage.drawn()
    assert drawn(stage)[1] == 5, "no key leads out of the bounds"


def test_a_kind_is_chosen_and_its_points_come_and_go(stage):
    count = "() => document.querySelectorAll('.nsx-handle:not(.nsx-start)').length"
    assert stage.js(count) == 5
    stage.page.select_option('select[data-key="u.u"]', label="linear")
    stage.drawn()
    assert stage.js(count) == 6, "linear: one at each end"
    stage.page.select_option('select[data-key="u.u"]', label="constant")
    stage.drawn()
    assert stage.js(count) == 1
    x, y = centre(stage, "rho.u")
    stage.page.mouse.move(x, y)
    stage.page.mouse.down()
    stage.page.mouse.move(x, y + 10, steps=2)
    stage.page.mouse.up()
    stage.drawn()
    assert stage.answer.session.state["rho"]["u"] < -2


@pytest.fixture
def oscillator(shared):
    shared.show(SessionAnswer(Session("impact_oscillator")))
    shared.page.wait_for_selector(".nsx-start")
    shared.js("() => { sent.length = 0; }")  # this panel counts its questions anew
    yield shared
    shared.show(SessionAnswer(Session("pushed_block", **{"u.u": [-2.0] * 5})))


def dot(stage, kind):
    box = stage.page.locator(f".nsx-start{kind}").first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_start_is_dragged_over_time_and_in_the_phase_portrait(oscillator):
    stage, session = oscillator, oscillator.answer.session
    (x0,), (v0,) = session.start()["q0"], session.start()["v0"]
    x, y = dot(stage, ".nsx-upright")
    stage.page.mouse.move(x, y)
    stage.page.mouse.down()
    stage.page.mouse.move(x + 30, y - 20, steps=4)  # sideways it does not go
    stage.page.mouse.up()
    stage.drawn()
    (x1,) = session.start()["q0"]
    assert x1 > x0
    assert dot(stage, ".nsx-upright") == pytest.approx((x, y - 20), abs=2)
    x, y = dot(stage, ":not(.nsx-upright)")
    stage.page.mouse.move(x, y)
    stage.page.mouse.down()
    stage.page.mouse.move(x + 25, y - 15, steps=4)
    stage.page.mouse.up()
    stage.drawn()
    (x2,), (v2,) = session.start()["q0"], session.start()["v0"]
    assert x2 > x1
    assert v2 > v0
    assert (
        stage.js("() => document.querySelector('.nsx-field[data-key=\"q0.x\"]').value")
        == f"{x2:.7g}"
    )
    session.undo()  # each gesture is one step
    assert session.start()["q0"] == [x1]
    session.undo()
    assert session.start()["q0"] == [x0]


def test_a_start_moves_by_arrow_keys(oscillator):
    stage, session = oscillator, oscillator.answer.session
    (x0,), (v0,) = session.start()["q0"], session.start()["v0"]
    plane = stage.page.locator(".nsx-start:not(.nsx-upright)")
    plane.focus()
    assert normalize("NFC", plane.get_attribute("aria-label")) == "x(0), ẋ(0)"
    stage.page.keyboard.press("ArrowRight")
    stage.page.keyboard.press("ArrowUp")
    stage.drawn()
    assert session.start()["q0"][0] > x0
    assert session.start()["v0"][0] > v0
    assert plane.get_attribute("aria-valuetext").count(",") == 1


def test_a_start_is_the_number_of_its_slider_and_not_what_16_bits_leave_of_it():
    """A long picture is sent in 65534 parts of its range: a start at rest was read as 2e-5 m/s."""
    with shown(panels["two_starts"].opens("impact_oscillator")._answer) as stage:
        said = "() => document.querySelector('.nsx-handle[data-key=\"v0.x\"]').getAttribute('aria-valuenow')"
        assert stage.js(said) == "0"
        slider = stage.page.locator('input[type=text][data-key="v0.x"]')
        slider.fill("2e-5")
        slider.press("Enter")
        stage.until(lambda: stage.answer.session.start()["v0"] == [2e-5])
        assert stage.js(said) == "0.00002"  # as ARIA takes numbers
        assert stage.errors == []
