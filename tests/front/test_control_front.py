"""The control panel in a real Chromium: the start and the goal are dragged, and a new plan appears."""

import sys
from pathlib import Path

import numpy as np
import pytest

import explorer as ex
from explorer.panels import panels
from explorer.panels.control.state import ControlSession

sys.path.insert(0, str(Path(__file__).parent))
from stages import shown

pytestmark = pytest.mark.browser
PLAN = """() => [...document.querySelector(".nsx-plot")._fullData.find((t) => t.name === "x").y]"""
LIVE = "() => document.querySelector('.nsx-plot').classList.contains('nsx-live')"


@pytest.fixture(scope="module")
def stage():
    task = ex.OptimalControlProblem(
        ex.models.pushed_block(), t_end=(0.1, 10), intervals=6, terminal="t", end={"x": 1, "v": 0},
        bounds={"v": (-5, 5)},
    )  # fmt: skip
    answer = panels["control"].answers(ControlSession(ex.optimize(task, progress=False)))
    with shown(answer) as stage:
        yield stage


def test_the_start_and_the_goal_are_dragged_in_the_plot_and_by_slider(stage):
    page, session = stage.page, stage.answer.session
    first, plan = stage.js(PLAN), session.plan
    page.locator('input[type=range][data-key="x0.v"]').press("ArrowLeft")
    stage.drawn()
    assert session.plan is not plan
    assert stage.js(PLAN) != first
    goal = page.locator('.nsx-handle[data-key="end.x"]')
    box = goal.bounding_box()
    page.mouse.move(box["x"] + 12, box["y"] + 12)
    page.mouse.down()
    page.mouse.move(box["x"] + 12, box["y"] + 40, steps=4)
    page.wait_for_function(LIVE)  # drawn without building the figure anew
    page.mouse.up()
    page.wait_for_selector(".nsx-status[data-level=ok]")
    end = session.state["end"]["x"]
    assert end < 0.95
    assert session.plan.x[-1, 0] == pytest.approx(end, abs=1e-8)
    assert stage.js(PLAN)[-1] == pytest.approx(end, abs=1e-5)
    page.keyboard.press("Control+z")
    stage.drawn()
    assert session.state["end"]["x"] == 1
    assert stage.errors == []


def test_how_it_is_carried_out_is_chosen_and_the_sketch_moves(stage):
    page, session = stage.page, stage.answer.session
    page.select_option('select[data-key="play"]', label="with feedback")
    stage.drawn()
    push = page.locator('input[type=range][data-key="push.size"]')
    push.press("PageUp")
    stage.drawn()
    assert session.course.events[0][1] == "push"
    ghost = stage.js("""() => [...document.querySelector(".nsx-plot")._fullData
        .find((t) => t.name === "simulation").x]""")  # fmt: skip
    assert np.nanmax(ghost) == pytest.approx(session.plan.t_end, rel=1e-3)
    still = stage.js("() => document.querySelector('.nsx-mechanism').toDataURL()")
    page.locator(".nsx-scrub").evaluate(
        "(s) => { s.value = s.max / 2; s.dispatchEvent(new Event('input')); }"
    )
    assert stage.js("() => document.querySelector('.nsx-mechanism').toDataURL()") != still
    assert stage.errors == []
