"""The Python that the menu copies, run by itself, ends where the panel stands."""

import sys
from pathlib import Path

import numpy as np
import pytest

from explorer.panels import Session
from explorer.panels.answer import SessionAnswer

sys.path.insert(0, str(Path(__file__).parent))
from stages import shown

pytestmark = pytest.mark.browser
FRAMES = "() => document.querySelector('.nsx-panel').dataset.frames"
# what is moved by hand: keys on sliders, fields that are typed into, choices, a preset
MOVED = {
    "bouncing_ball": {"rho.e": "ArrowLeft", "q0.y": "PageDown", "t_end": 1.7},
    "rough_block": {"preset": 1, "rho.mu": "ArrowRight", "knob.h": 1e-3},
    "thermostat": {"x0.T": "ArrowRight", "mode0": 1, "t_end": 0.9},
    "two_genes": {"rho.k": "ArrowRight", "scheme": "EulerMoreau"},
    "newtons_cradle": {"size.n": 3, "rho.e": "PageDown", "v0.x1": "ArrowLeft"},
}


@pytest.fixture(scope="module")
def shared():
    with shown(SessionAnswer(Session("bouncing_ball"))) as stage:
        stage.js("""() => { window.copied = [];
          document.execCommand = () => { copied.push(document.activeElement.value); return true; }; }""")
        yield stage
        assert stage.errors == []


def move(stage, key, how):
    """Move one control as a user does, and wait for the state and its picture."""
    page, session = stage.page, stage.answer.session
    before, frames = session.to_json(), int(stage.js(FRAMES))
    if key == "preset":
        page.locator(".nsx-presets").select_option(index=how)
    elif key in ("scheme", "mode0"):
        chosen = {"index": how} if isinstance(how, int) else {"label": how}
        page.locator(f'select[data-key="{key}"]').select_option(**chosen)
    elif isinstance(how, str):
        page.locator(f'input[type=range][data-key="{key}"]').press(how)
    else:
        field = page.locator(f'input[type=text][data-key="{key}"]')
        field.fill(str(how))
        field.press("Enter")
    page.wait_for_function(f"(n) => Number(({FRAMES})()) > n", arg=frames)
    assert session.to_json() != before, key
    assert session.errors == {}


@pytest.mark.parametrize("model", MOVED)
def test_the_copied_code_ends_in_the_state_that_is_shown(shared, model):
    stage = shared
    stage.show(SessionAnswer(Session(model)))
    session = stage.answer.session
    for key, how in MOVED[model].items():
        move(stage, key, how)
    stage.page.click(".nsx-menu:has([data-action=copy_code]) summary")
    count = stage.js("() => copied.length")
    stage.page.click("[data-action=copy_code]")
    stage.page.wait_for_function("(n) => copied.length > n", arg=count)
    fresh: dict = {}
    exec(stage.js("() => copied.at(-1)"), fresh)
    mine, again = session.solution, fresh["solution"]
    np.testing.assert_array_equal(again.t[-1], mine.t[-1])
    np.testing.assert_array_equal(again.q[-1], mine.q[-1])
    if mine.has_velocities:
        np.testing.assert_array_equal(again.v[-1], mine.v[-1])
    assert again.status == mine.status
    ends = """() => { const { x, y } = document.querySelector(".nsx-plot")._fullData
        .find(({ meta, x }) => meta?.t && x.length > 5); return [x.at(-1), y.at(-1)]; }"""
    t, y = stage.js(ends)  # the browser draws that end
    wide = np.ptp(mine.q[:, 0])
    assert [t, y] == pytest.approx([mine.t[-1], mine.q[-1, 0]], rel=1e-4, abs=1e-4 * wide)
