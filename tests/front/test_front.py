"""The panel in a blank Chromium page, with a real `LivePanel` behind a stub model (tier D).

Everything waits on values shown, never on time.
"""

import base64
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from explorer.panels.live import LivePanel, plotly_bundle
from explorer.panels.packing import pack

sys.path.insert(0, str(Path(__file__).parent))
from fake import Ball, bounce
from stages import shown


@pytest.fixture(scope="module")
def shared():
    """One page for all tests that put it back as they found it."""
    with shown(Ball()) as stage:
        yield stage


@pytest.fixture
def stage(shared):
    shared.js("() => { delay = 0; mute = false; held = null; peak = slow = flying = 0; }")
    shared.page.click("[data-action=reset]")
    shared.drawn()
    shared.answer.pulls.clear()
    shared.js("() => { sent.length = 0; outside.length = 0; }")
    yield shared
    assert shared.errors == []


def slider(stage, key):
    return stage.page.locator(f"input[type=range][data-key={key}]")


def field(stage, key):
    return stage.page.locator(f"input[type=text][data-key={key}]")


def shown_q(stage):
    return np.array(stage.js("() => [...document.querySelector('.nsx-plot')._fullData[0].y]"))


def seen(stage):
    """The plots as the screen shows them, in grey: one number a pixel."""
    png = base64.b64encode(stage.page.locator(".nsx-plots").screenshot()).decode()
    pixels = stage.js(
        """async (png) => {
          const blob = await (await fetch("data:image/png;base64," + png)).blob();
          const image = await createImageBitmap(blob);
          const canvas = new OffscreenCanvas(image.width, image.height);
          const pen = canvas.getContext("2d");
          pen.drawImage(image, 0, 0);
          const { data } = pen.getImageData(0, 0, image.width, image.height);
          return Array.from({ length: data.length / 4 },
            (_, i) => Math.round((data[4 * i] + data[4 * i + 1] + data[4 * i + 2]) / 3)); }""",
        png,
    )
    return np.array(pixels)


def said(stage, text):
    stage.page.wait_for_function(
        "(text) => document.querySelector('.nsx-status').textContent.includes(text)", arg=text
    )
    return True


@pytest.mark.browser
def test_arrow_key_changes_the_curve(stage):
    slider(stage, "h").press("ArrowRight")
    stage.drawn()
    assert stage.answer.values["h"] == pytest.approx(1.02)
    np.testing.assert_allclose(shown_q(stage), bounce(stage.answer.values)[1], rtol=1e-6)
    assert field(stage, "h").input_value() == "1.02"
    assert slider(stage, "h").get_attribute("aria-valuetext") == "1.02 m"


@pytest.mark.browser
def test_log_slider_steps_by_factors(stage):
    slider(stage, "dt").press("PageUp")
    stage.drawn()
    assert stage.answer.values["dt"] == pytest.approx(1e-3 * 10**0.4, rel=0.01)
    slider(stage, "dt").press("Home")
    stage.drawn()
    assert stage.answer.values["dt"] == 1e-5


@pytest.mark.browser
def test_strokes_draw_what_plotly_draws(stage):
    live = "() => document.querySelector('.nsx-plot').classList.contains('nsx-live')"
    stage.js("""() => {
      document.querySelector(".nsx-cursor").style.visibility = "hidden";
      window.later = setTimeout;   // the slider comes to rest when the test says so
      window.setTimeout = (f, ms) => ms === 700 ? (window.rest = f, 0) : later(f, ms); }""")
    for _ in range(5):
        slider(stage, "e").press("ArrowRight")
        stage.drawn()
    assert stage.js(live)
    fast = seen(stage)
    assert stage.js(live)
    stage.js("() => { window.setTimeout = later; rest(); }")
    stage.page.wait_for_function(f"() => !({live})()")
    slow = seen(stage)
    stage.js("() => { document.querySelector('.nsx-cursor').style.visibility = ''; }")
    ink = (slow < 128).sum()
    assert ink > 1000
    differ = np.abs(fast - slow) > 64  # the edges of a stroke may be smoothed otherwise
    assert differ.sum() < 0.05 * ink


@pytest.mark.browser
@pytest.mark.parametrize("line", ["quick", "slow"])
def test_credits_and_newest_wins(stage, line):
    """Two questions are under way, three where each trip takes over 60 ms; of the rest one waits."""
    knob, delay = slider(stage, "e"), 100 if line == "slow" else 0
    stage.js("(ms) => { delay = ms; }", delay)
    for _ in range(5):  # the trips of this line are known
        knob.press("ArrowLeft")
        stage.drawn()
    late = stage.js("() => { held = []; const late = slow; peak = slow = 0; return late; }")
    stage.answer.pulls.clear()
    for _ in range(25):
        knob.press("ArrowRight")
    peak = stage.js("() => peak")
    assert peak == 3 if delay else peak == 2 or late >= 3  # a loaded machine is a slow line
    assert len(stage.answer.pulls) == peak
    stage.js("() => { const all = held; held = null; for (const go of all) go(); }")
    stage.drawn()
    assert stage.answer.values["e"] == pytest.approx(0.9)
    assert stage.answer.pulls[-1] == ({"e": pytest.approx(0.9)}, False)
    assert len(stage.answer.pulls) == peak + 2  # each gesture is a step of undo: where one ended
    stage.js("() => { delay = 0; }")
    for _ in range(5):  # the measured trips are short again for the next test
        knob.press("ArrowLeft")
        stage.drawn()


@pytest.mark.browser
def test_an_old_answer_is_not_drawn(stage):
    slider(stage, "e").press("ArrowRight")
    stage.drawn()
    seq, frames = stage.js("() => { const p = document.querySelector('.nsx-panel');"
                           " return [sent.at(-1).seq, p.dataset.frames]; }")  # fmt: skip
    stage.js("([seq]) => deliver([[{type: 'frame', view: sent.at(-1).view, seq: seq - 1,"
             " values: {e: 0.1}, errors: {}, figure: {data: []}}, []]])", [seq])  # fmt: skip
    assert stage.js("() => document.querySelector('.nsx-panel').dataset.frames") == frames
    assert field(stage, "e").input_value() == "0.71"


@pytest.mark.browser
def test_typed_garbage_stays_with_its_sentence(stage):
    field(stage, "h").fill("1,,5")
    field(stage, "h").press("Enter")
    stage.drawn()
    assert field(stage, "h").input_value() == "1,,5"
    assert field(stage, "h").get_attribute("aria-invalid") == "true"
    note = stage.page.locator(".nsx-note:visible")
    assert note.text_content() == "“1,,5” is not a number."
    assert stage.answer.pulls == [({"h": "1,,5"}, False)]
    field(stage, "h").fill("1.25")
    field(stage, "h").press("Enter")
    stage.drawn()
    assert stage.answer.values["h"] == 1.25
    assert note.count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("typed", ["-0.4", "1.50", "1e400"])
def test_a_refused_number_stays_and_the_knob_does_not_move(stage, typed):
    """The knob is at the last value that was taken; Escape and the default bring values back."""
    place = "() => document.querySelector('input[type=range][data-key=e]').value"
    field(stage, "e").fill("0.5")
    field(stage, "e").press("Enter")
    stage.drawn()
    before = stage.js(place)
    field(stage, "e").fill(typed)
    field(stage, "e").press("Enter")
    stage.drawn()
    assert field(stage, "e").input_value() == typed
    assert stage.page.locator(".nsx-note:visible").count() == 1
    assert stage.js(place) == before
    field(stage, "e").press("Escape")
    stage.drawn()
    assert field(stage, "e").input_value() == "0.5"
    assert stage.page.locator(".nsx-note:visible").count() == 0
    assert stage.answer.pulls[-1] == ({"e": 0.5}, False)


@pytest.mark.browser
def test_a_refused_number_of_a_session_stays_with_its_sentence():
    """Of a real session too, in whose schema the slider does not reach for it; in a second view."""
    from explorer.panels.answer import SessionAnswer
    from explorer.panels.session import Session

    answer = SessionAnswer(Session("block_on_slope"))
    for typed, word in (("-0.4", "mu = -0.4"), ("1e400", "not '1e400'")):
        with shown(answer) as stage:
            mu, knob = field(stage, "rho\\.mu"), slider(stage, "rho\\.mu")
            ends = "(one) => [one.min, one.max, one.value]"
            before = knob.evaluate(ends)
            mu.fill(typed)
            mu.press("Enter")
            stage.drawn()
            assert mu.input_value() == typed
            assert word in stage.page.locator(".nsx-note:visible").text_content()
            assert knob.evaluate(ends) == before
            assert stage.errors == []
        with shown(answer) as other:
            assert field(other, "rho\\.mu").input_value().replace("\u2212", "-") == typed
            assert slider(other, "rho\\.mu").evaluate(ends) == before


@pytest.mark.browser
def test_exception_becomes_a_sentence(stage):
    before = shown_q(stage)
    field(stage, "h").fill("boom")
    field(stage, "h").press("Enter")
    assert said(stage, "The solver met a singular matrix.")
    np.testing.assert_array_equal(shown_q(stage), before)


@pytest.mark.browser
def test_keys_stay_inside_and_undo(stage):
    slider(stage, "g").press("ArrowRight")
    stage.drawn()
    moved = stage.answer.values["g"]
    stage.page.keyboard.press("b")
    stage.page.keyboard.press("Control+z")
    stage.drawn()
    assert stage.answer.values["g"] == 9.81
    assert field(stage, "g").input_value() == "9.81"
    stage.page.keyboard.press("Control+Shift+Z")
    stage.drawn()
    assert stage.answer.values["g"] == moved
    field(stage, "h").focus()
    count = stage.js("() => sent.length")
    stage.page.keyboard.press("Control+z")  # the text field's own undo
    assert stage.js("() => sent.length") == count
    assert stage.js("() => outside") == []


@pytest.mark.browser
def test_table_row_moves_the_cursor(stage):
    wanted = bounce(stage.answer.values)[3][1][0]
    stage.page.wait_for_function(  # the table follows the picture within a fifth of a second
        "(t) => Math.abs(Number(document.querySelectorAll('.nsx-table tbody tr')[1]"
        "?.cells[1].textContent) - t) < 1e-3",
        arg=wanted,
    )
    row = stage.page.locator(".nsx-table tbody tr").nth(1)
    row.click()
    time = stage.js("() => Number(document.querySelector('.nsx-scrub').value)")
    assert time == pytest.approx(wanted, abs=2e-3)
    assert row.get_attribute("aria-current") == "true"
    row.press("ArrowDown")
    stage.page.keyboard.press("Enter")
    later = stage.js("() => Number(document.querySelector('.nsx-scrub').value)")
    assert later > time


@pytest.mark.browser
def test_playing_moves_the_mechanism_and_goes_on_while_a_slider_moves(stage):
    picture = "() => document.querySelector('.nsx-mechanism').toDataURL()"
    still = stage.js(picture)
    slider(stage, "e").focus()
    stage.page.keyboard.press("Space")
    stage.page.wait_for_function(f"(still) => ({picture})() !== still", arg=still)
    stage.page.keyboard.press("ArrowRight")
    stage.drawn()
    assert stage.page.locator(".nsx-play").get_attribute("aria-label") == "Pause"
    before = stage.js("() => document.querySelector('.nsx-cursor').toDataURL()")
    stage.page.wait_for_function(
        "(was) => document.querySelector('.nsx-cursor').toDataURL() !== was",
        arg=before,
    )
    stage.page.keyboard.press("Space")
    assert stage.page.locator(".nsx-play").get_attribute("aria-label") == "Play"


@pytest.mark.browser
def test_controls_of_every_kind(stage):
    stage.page.select_option("select[data-key=scheme]", label="Moreau–Jean")
    stage.drawn()
    assert stage.answer.values["scheme"] == "moreau"
    stage.page.uncheck("input[data-key=force]")
    stage.drawn()
    assert stage.answer.values["force"] is False
    field(stage, "T").press("ArrowUp")
    stage.drawn()
    assert stage.answer.values["T"] > 2.5
    stage.page.click("button[data-key='T:default']")
    stage.drawn()
    assert stage.answer.values["T"] == 2.5
    stage.page.select_option(".nsx-presets", label="Clay")
    stage.drawn()
    assert stage.answer.values["e"] == 0


@pytest.mark.browser
def test_pin_draws_a_ghost_and_files_arrive(stage):
    stage.page.click("[data-action=pin]")
    stage.drawn()
    pin = stage.page.locator("[data-action=pin]")
    assert pin.get_attribute("aria-pressed") == "true"
    count = "() => document.querySelector('.nsx-plot').data.length"
    assert stage.js(count) == 7
    pin.click()
    stage.drawn()
    assert stage.js(count) == 5
    for action, name in [("export_csv", "ball.csv"), ("export_png", "bouncing_ball.png")]:
        stage.page.click(".nsx-menu summary")
        with stage.page.expect_download() as download:
            stage.page.click(f"[data-action={action}]")
        assert download.value.suggested_filename == name


@pytest.mark.browser
def test_busy_shows_progress_and_silence_is_said(stage):
    stage.panel.busy("Compiling", 1, 4)
    stage.js("(messages) => deliver(messages)", [[c, []] for c, _ in stage.take()])
    assert said(stage, "Compiling")
    assert stage.page.locator(".nsx-status progress").get_attribute("value") == "0.25"
    stage.js("""() => { mute = true; window.realTimeout = setTimeout;  // ten seconds in a blink
      window.setTimeout = (go, ms) => realTimeout(go, ms === 10000 ? 20 : ms); }""")
    slider(stage, "e").press("ArrowRight")
    assert said(stage, "The kernel does not answer. Run the cell again.")
    stage.js("() => { setTimeout = realTimeout; mute = false; }")


@pytest.mark.browser
def test_a_search_has_a_button_that_stops_it(stage):
    """It stands while what runs can be stopped, is pressed once, and goes with the next sentence."""
    heard = []
    stage.panel._stop = lambda: heard.append("stop")
    stage.panel.busy("plan: homotopy, sigma = 0.01, iteration 7", 2, 30)
    stage.js("(messages) => deliver(messages)", [[c, []] for c, _ in stage.take()])
    button = stage.page.locator(".nsx-stop")
    assert button.inner_text() == "Stop"
    button.click()
    assert heard == ["stop"]
    assert button.inner_text() == "Stopping"
    assert button.is_disabled()
    slider(stage, "e").press("ArrowRight")
    stage.drawn()
    assert button.is_hidden()


@pytest.mark.browser
def test_two_views_share_plotly_and_disposal_is_clean(stage):
    stage.js("""() => { const host = document.body.appendChild(document.createElement("div"));
      window.second = widget.render({model, el: host}); }""")
    stage.page.wait_for_function(
        "() => document.querySelectorAll('.nsx-panel:not([data-frames=\"0\"])').length === 2"
    )
    assert stage.js("() => sent[0].plotly") == plotly_bundle()[0]  # not asked for again
    frames = "() => Number(document.querySelectorAll('.nsx-panel')[1].dataset.frames)"
    before = stage.js(frames)
    stage.page.locator("input[type=range][data-key=e]").first.press("ArrowRight")
    stage.page.wait_for_function(f"(n) => ({frames})() > n", arg=before)  # drawn by both
    stage.page.locator("input[type=range][data-key=e]").last.press("ArrowRight")
    stage.js("() => second()")  # in the middle of a question
    left = stage.js("() => [listeners.size, document.querySelectorAll('.nsx-panel').length]")
    assert left == [1, 1]
    stage.js("() => { document.body.className = 'changed'; }")
    stage.js("() => new Promise((go) => setTimeout(go, 250))")  # past every timer of a draw


@pytest.mark.browser
def test_dark_theme_and_phone(stage):
    stage.page.set_viewport_size({"width": 390, "height": 844})
    stage.page.emulate_media(color_scheme="dark")
    stage.page.wait_for_selector('.nsx-panel[data-theme="dark"]')
    assert stage.js("() => document.documentElement.scrollWidth") <= 390
    stage.page.wait_for_function("() => document.querySelector('.main-svg').clientWidth < 390")
    stage.js("""() => { document.body.style.setProperty("--jp-layout-color0", "white");
      document.body.setAttribute("data-jp-theme-light", "true"); }""")  # Jupyter's word counts
    stage.page.wait_for_selector('.nsx-panel[data-theme="light"]')
    stage.js("() => document.body.removeAttribute('style')")
    stage.page.emulate_media(color_scheme="light")
    stage.page.set_viewport_size({"width": 1280, "height": 720})


def recorded(answer):
    panel, sent = LivePanel(answer), []
    panel.send = lambda content, buffers=(): sent.append((content, buffers))
    return panel, sent


def test_pack_shares_buffers():
    x = np.arange(3.0)
    content, buffers = pack({"a": x, "b": [x, {"c": x + 1}], "n": np.float64("nan")})
    assert content == {"a": {"buf": 0}, "b": [{"buf": 0}, {"c": {"buf": 1}}], "n": None}
    np.testing.assert_array_equal(np.frombuffer(buffers[1], "<f4"), [1, 2, 3])


def test_layout_travels_only_when_it_changed():
    panel, sent = recorded(Ball())
    panel._receive(None, {"type": "hello", "view": "a", "plotly": None}, [])
    assert [c["type"] for c, _ in sent] == ["plotly", "schema", "frame"]
    pull = {"type": "pull", "view": "a", "set": {"e": 0.6}, "drag": True}
    panel._receive(None, {**pull, "seq": 1}, [])
    assert "layout" not in sent[-1][0]["figure"]
    panel._receive(None, {**pull, "seq": 2, "set": {"h": 2.0}}, [])
    assert "layout" in sent[-1][0]["figure"]
    assert sent[-1][0]["seq"] == 2
    panel._receive(None, {"type": "hello", "view": "b", "plotly": plotly_bundle()[0]}, [])
    assert [c["type"] for c, _ in sent[-2:]] == ["schema", "frame"]
    assert "layout" in sent[-1][0]["figure"]
    panel.push()
    assert sent[-1][0]["view"] is None


def test_no_exception_escapes():
    panel, sent = recorded(Ball())
    panel._receive(None, {"type": "pull", "view": "a", "seq": 3, "set": {"h": "boom"}}, [])
    assert sent[-1][0]["status"]["text"] == "The solver met a singular matrix."
    assert (sent[-1][0]["view"], sent[-1][0]["seq"]) == ("a", 3)
    panel._receive(None, {"type": "do", "view": "a", "seq": 4}, [])
    assert sent[-1][0]["status"]["level"] == "error"
    panel._receive(None, {"type": "pull", "view": "a", "seq": 5, "set": {}}, [])
    assert sent[-1][0]["status"]["level"] == "ok"


def test_an_answer_may_push_and_bring_a_schema():
    ball = Ball()
    panel, sent = recorded(ball)

    def pull(set, drag):
        panel.push()
        return {**ball.frame(), "schema": ball.schema()}

    ball.pull = pull
    panel._receive(None, {"type": "pull", "view": "a", "seq": 1, "set": {}}, [])
    assert [c["type"] for c, _ in sent] == ["schema", "frame", "schema", "frame"]


def test_one_question_at_a_time():
    ball, inside, most = Ball(), [], []

    def pull(set, drag):
        inside.append(1)
        most.append(len(inside))
        threading.Event().wait(0.01)
        inside.pop()
        return {}

    ball.pull = pull
    panel, sent = recorded(ball)
    threads = [
        threading.Thread(target=panel._receive, args=(None, {"type": "pull", "seq": i}, []))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]
    assert len(sent) == 4


def test_bundle_is_cached_on_disk(tmp_path):
    release, packed = plotly_bundle(tmp_path)
    assert packed[:2] == b"\x1f\x8b"
    kept = tmp_path / f"plotly-{release}.min.js.gz"
    assert kept.read_bytes() == packed
    kept.write_bytes(packed[:1000])  # torn by a full disk
    plotly_bundle.cache_clear()
    assert plotly_bundle(tmp_path) == (release, packed)
