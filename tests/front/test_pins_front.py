"""Several pinned runs, as a browser shows them."""

import sys
from pathlib import Path

import pytest

from explorer.panels import Session
from explorer.panels.answer import SessionAnswer
from explorer.views.drawing.ghosts import TONES

sys.path.insert(0, str(Path(__file__).parent))
from shots import JUPYTER_DARK
from stage import encoded
from stages import shown

pytestmark = pytest.mark.browser


@pytest.fixture
def stage():
    with shown(SessionAnswer(Session("bouncing_ball"))) as stage:
        yield stage


def typed(stage, e):
    session = stage.answer.session
    field = stage.page.locator('input.nsx-field[data-key="rho.e"]')
    field.fill(str(e))
    field.press("Enter")
    stage.until(lambda: session.state["rho"]["e"] == e)


def pinned(stage, *values):
    session = stage.answer.session
    for e in values:
        typed(stage, e)
        count = len(session.pins)
        stage.page.locator('[data-action="pin"]').click()
        stage.until(lambda count=count: len(session.pins) == count + 1)
    return session


def test_each_has_an_entry_that_says_what_differs_and_goes_by_one_click(stage, tmp_path):
    session = pinned(stage, 0.9, 0.6, 0.3)
    stage.page.wait_for_function("() => document.querySelectorAll('.nsx-pins li').length === 3")
    said = stage.page.locator(".nsx-pins li span").all_inner_texts()
    assert said == ["e = 0.9 (now 0.3)", "e = 0.6 (now 0.3)", "the same as now"]
    assert stage.page.locator('[data-action="pin"]').inner_text() == "Unpin"
    dashes = stage.js(
        """() => [...document.querySelectorAll('.nsx-pins path[stroke-dasharray]')].map(
             (p) => p.getAttribute('stroke-dasharray'))"""
    )
    assert len(set(dashes)) == 3
    shown = stage.js("() => document.querySelector('.nsx-plot')._fullData.map((t) => t.name)")
    assert {"pinned A y", "pinned B y", "pinned C y"} <= set(shown)
    stage.page.locator("[data-unpin=B]").click()
    stage.until(lambda: [p.letter for p in session.pins] == ["A", "C"])
    focused = stage.js("() => document.activeElement.dataset.unpin")
    assert focused == "C", "the keyboard stays at the next one"
    stage.page.keyboard.press("Control+z")
    stage.until(lambda: [p.letter for p in session.pins] == ["A", "B", "C"])
    assert not stage.errors


def test_the_mechanism_draws_a_ghost_of_each_in_its_tone(stage):
    pinned(stage, 0.9, 0.3)
    found = stage.js(
        """() => {
          const canvas = document.querySelector('.nsx-mechanism');
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const seen = {};
          for (let k = 0; k < data.length; k += 4) {
            if (data[k + 3] < 60) continue;
            const [r, g, b] = [data[k], data[k + 1], data[k + 2]];
            if (r - b > 40 && r > g && g > b) seen.brown = (seen.brown ?? 0) + 1;
          }
          return seen;
        }"""
    )
    assert found.get("brown", 0) > 5, f"the tone {TONES[1]} of the second one"


def test_the_fifth_is_refused_in_a_sentence(stage):
    session = pinned(stage, 0.9, 0.6, 0.3, 0.2)
    typed(stage, 0.5)
    stage.page.locator('[data-action="pin"]').click()
    stage.page.wait_for_function(
        "() => document.querySelector('.nsx-status').innerText.includes('4 runs are pinned')"
    )
    assert len(session.pins) == 4


@pytest.mark.parametrize(("width", "height", "dark"), [(1280, 720, True), (390, 844, False)])
def test_the_entries_stay_on_the_page(width, height, dark):
    session = Session("double_pendulum_stop")
    for k in range(4):
        names = list(session.state["rho"])
        session.set(**{n: session.state["rho"][n] * (1 + 0.01 * (k + 1)) for n in names[:5]})
        session.pin()
    ground = "#111" if dark else "#fff"
    with shown(SessionAnswer(session), width=width, height=height, background=ground) as stage:
        page = stage.page
        if dark:
            page.add_style_tag(content=JUPYTER_DARK)
        wide = stage.js("() => document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        for li in page.locator(".nsx-pins li").all():
            box = li.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        assert page.locator(".nsx-pins li").count() == 4


STATE = """() => document.querySelector(".nsx-plot")._fullData.map((t) =>
  [t.name, ...["x", "y"].map((k) => [...t[k]].map((v) => Number.isFinite(v) ? v : null))])"""


def test_what_stays_is_sent_once_and_a_frame_that_was_missed_is_asked_for(stage):
    panel, sizes = stage.panel, []
    send = panel.send

    def count(content, buffers=()):
        sizes.append(sum(map(len, buffers)))
        send(content, buffers)

    pinned(stage, 0.9, 0.8, 0.7, 0.6)
    panel.send = count
    typed(stage, 0.55)  # the axes may have other ranges, for which all points are chosen anew
    sizes.clear()
    typed(stage, 0.54)
    now, moved = stage.js(STATE), max(sizes)
    panel.push()  # all of it
    assert moved <= 0.6 * max(sizes)
    stage.js("(messages) => deliver(messages)", encoded(stage.take()))
    stage.drawn()
    assert stage.js(STATE) == now, "the same as when it was sent as a whole"
    panel.refresh()
    stage.take()  # lost on its way
    asked = len(stage.js("() => sent"))
    typed(stage, 0.45)
    stage.page.wait_for_function(
        "(n) => sent.slice(n).some((one) => one.type === 'hello')", arg=asked
    )
    stage.page.wait_for_function(
        "() => document.querySelector('.nsx-field[data-key=\"rho.e\"]').value === '0.45'"
    )
    panel.push()
    seen = stage.js(STATE)
    stage.js("(messages) => deliver(messages)", encoded(stage.take()))
    stage.drawn()
    assert stage.js(STATE) == seen != now
