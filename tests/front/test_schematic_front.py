"""Schematics in a real Chromium: a diode is filled while it conducts, currents can be switched off."""

import sys
from pathlib import Path

import numpy as np
import pytest

from explorer.panels import Session
from explorer.panels.answer import SessionAnswer

sys.path.insert(0, str(Path(__file__).parent))
from stages import shown

pytestmark = pytest.mark.browser

CANVAS = "() => document.querySelector('.nsx-mechanism').toDataURL()"
# pixels of the colour of what is lit
LIT = """() => { const c = document.querySelector(".nsx-mechanism");
  const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  let n = 0;
  for (let k = 0; k < d.length; k += 4) n += d[k] === 230 && d[k + 1] === 159 && d[k + 2] === 0;
  return n; }"""


@pytest.fixture(scope="module")
def stage():
    with shown(SessionAnswer(Session("rlcd_circuit"))) as stage:
        yield stage


def lit_at(stage, t):
    """Return how many pixels are lit at a time of the run, in s."""
    share = t / stage.answer.session.solution.t[-1]
    stage.js(
        """(share) => { const n = document.querySelector(".nsx-scrub");
        n.value = Number(n.min) + share * (n.max - n.min);
        n.dispatchEvent(new Event("input", {bubbles: true})); }""",
        share,
    )
    return stage.js(LIT)


def test_a_diode_is_filled_while_it_conducts_and_currents_can_be_switched_off(stage):
    run = stage.answer.session.solution
    conducts, blocks = (int(np.argmax(sign * run.x[:, 0])) for sign in (1, -1))
    assert run.lam[conducts + 1, 0] > 0 == run.lam[blocks, 0]
    button = stage.page.locator(".nsx-layer", has_text="Currents")
    assert button.get_attribute("aria-pressed") == "true"
    before = stage.js(CANVAS)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert stage.js(CANVAS) != before
    assert lit_at(stage, run.t[conducts]) > 50
    assert lit_at(stage, run.t[blocks]) == 0
    assert stage.errors == []


def test_a_run_of_milliseconds_plays_so_that_it_is_seen(stage):
    speeds = stage.page.locator(".nsx-speed option").all_inner_texts()
    assert speeds[3] == "0.001×"  # 5 ms take 5 s of the screen
    assert speeds[-1] == "0.001×, slow at events"
    lit_at(stage, 0.0)
    stage.page.click(".nsx-play")
    seen = stage.js("""() => new Promise((resolve) => { const seen = [], r = document.querySelector(".nsx-scrub");
      const look = () => { seen.push(Number(r.value)); if (seen.at(-1) > 0 && seen.length > 8) resolve(seen);
        else requestAnimationFrame(look); }; look(); })""")
    stage.page.click(".nsx-play")
    assert seen == sorted(seen)
    assert 0 < seen[-1] < 4e-3  # it went on from picture to picture, and did not begin again
