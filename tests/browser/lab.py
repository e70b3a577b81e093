"""A page with live panels: what a test does with the first of them."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import pytest

SIZE = {"width": 1280, "height": 720}
FIRST = '(gd) => gd._fullData.find((t) => t.name === "y")?.y[0]'  # what a slider of y0 draws

WATCH = """([key, drawn]) => {  // remembers when the slider got which value, and when which was drawn
  drawn = eval(drawn);
  const root = document.querySelector(".nsx-panel");
  const gd = root.querySelector(".nsx-plot");
  const log = (window.nsxLog = { set: [], drawn: [], seen: root.dataset.frames });
  window.nsxWatch?.disconnect();
  window.nsxWatch = new MutationObserver(() => {
    if (root.dataset.frames === log.seen) return;
    log.seen = root.dataset.frames;
    log.drawn.push([performance.now(), drawn(gd)]);
  });
  window.nsxWatch.observe(root, { attributes: true, attributeFilter: ["data-frames"] });
  const slider = root.querySelector(`input[type=range][data-key="${key}"]`);
  const field = root.querySelector(`input[type=text][data-key="${key}"]`);
  window.nsxHear && slider.removeEventListener("keydown", window.nsxHear);
  window.nsxHear = () => log.set.push([performance.now(), Number(field.value)]);
  slider.addEventListener("keydown", window.nsxHear);  // after the panel's own listener
}"""


class Lab:
    """One page; `traffic` counts what came over its websockets."""

    def __init__(self, context, address: str, *, tolerated=()) -> None:
        self.page = context.new_page()
        self.problems: list[str] = []
        self.abroad: list[str] = []
        self.traffic = self.sent = 0
        self.page.on("pageerror", lambda error: self.heard(str(error), tolerated))
        self.page.on("console", lambda m: self.heard(m.text, tolerated) if m.type == "error" else 0)
        self.page.on("request", self.asked)
        self.page.on("websocket", self.listen)
        self.began = self.connected = time.perf_counter()
        self.page.goto(address)
        self.first_picture()
        self.seconds = time.perf_counter() - self.began
        self.seconds_with_kernel = time.perf_counter() - self.connected

    def heard(self, text: str, tolerated) -> None:
        if not any(part in text for part in tolerated):
            self.problems.append(text)

    def asked(self, request) -> None:
        if request.url.startswith("http") and "//127.0.0.1" not in request.url:
            self.abroad.append(request.url)

    def listen(self, socket) -> None:
        if "/channels" in socket.url:
            self.connected = time.perf_counter()

        def count(payload):
            self.traffic += len(payload) if isinstance(payload, bytes) else len(payload.encode())

        socket.on("framereceived", count)

    def js(self, code: str, argument=None):
        return self.page.evaluate(code, argument)

    def wait(self, code: str, argument=None, seconds: float = 10) -> None:
        self.page.wait_for_function(code, arg=argument, timeout=1000 * seconds)

    def first_picture(self) -> None:
        self.page.wait_for_selector('.nsx-panel:not([data-frames="0"])', timeout=60_000)

    @property
    def panel(self):
        return self.page.locator(".nsx-panel").first

    def slider(self, key: str):
        return self.panel.locator(f'input[type=range][data-key="{key}"]')

    def field(self, key: str):
        return self.panel.locator(f'input[type=text][data-key="{key}"]')

    def action(self, name: str):
        return self.panel.locator(f'[data-action="{name}"]')

    @contextlib.contextmanager
    def answered(self):
        """Wait until a question asked inside the block is on the screen."""
        before = int(self.js("() => document.querySelector('.nsx-panel').dataset.asked"))
        yield
        self.wait("(n) => Number(document.querySelector('.nsx-plot').dataset.seq ?? 0) > n", before)

    def rests(self) -> None:
        """Wait until the newest question is on the screen."""
        self.wait("""() => Number(document.querySelector(".nsx-plot").dataset.seq ?? 0) >=
                     Number(document.querySelector(".nsx-panel").dataset.asked)""")

    def drawn(self) -> list[list]:
        """All curves as plotly has them: [name, dash, y]."""
        return self.js(
            """() => document.querySelector(".nsx-plot")._fullData.map((t) =>
                 [t.name, t.line?.dash, [...t.y].map((v) => Number.isFinite(v) ? v : null)])"""
        )

    def curve(self, name: str) -> np.ndarray:
        return np.array(next(y for n, _, y in self.drawn() if n == name), float)

    def state(self) -> str:
        """Everything drawn, as one text: two of them differ if anything on the plots moved."""
        return self.js(
            """() => JSON.stringify(document.querySelector(".nsx-plot")._fullData.map((t) =>
                 [t.name, [...t.x], [...t.y]]))"""
        )

    def changes(self, before: str) -> None:
        self.wait(
            """(before) => JSON.stringify(document.querySelector(".nsx-plot")._fullData.map((t) =>
                 [t.name, [...t.x], [...t.y]])) !== before""",
            before,
        )

    def title(self) -> str:
        return self.panel.locator(".nsx-title strong").inner_text()

    def model(self, name: str) -> None:
        """Choose a model in the list."""
        choice = self.panel.locator('select[data-key="model"]')
        before = self.title()
        if choice.evaluate("(s) => s.options[s.selectedIndex]?.text") == name:
            return
        choice.select_option(label=name)
        self.wait(
            "(t) => document.querySelector('.nsx-panel .nsx-title strong').textContent !== t",
            before,
        )

    def settle(self, model: str = "bouncing ball") -> None:
        """Back to where a test may start."""
        self.model(model)
        while self.panel.locator("[data-unpin]").count():
            with self.answered():
                self.panel.locator("[data-unpin]").first.click()
        with self.answered():
            self.action("reset").click()
        self.wait("() => document.querySelector('.nsx-status').dataset.level === 'ok'")

    def usual(self) -> dict:
        """What a test may rely on when it starts, by names."""
        return self.js(
            """() => { const root = document.querySelector(".nsx-panel");
                 const gd = root.querySelector(".nsx-plot");
                 const all = (what) => [...root.querySelectorAll(what)];
                 const axes = Object.entries(gd._fullLayout).filter(([k]) => /^[xy]axis/.test(k));
                 return {
                   model: root.querySelector(".nsx-title strong").textContent,
                   theme: root.dataset.theme,
                   curves: gd._fullData.map((t) => [t.name, t.visible, t.line?.dash, [...t.x], [...t.y]]),
                   windows: axes.map(([k, a]) => [k, a.range]),
                   values: all(".nsx-controls :is(input, select)").map((n) => [n.dataset.key, n.value, n.checked]),
                   reach: all(".nsx-range[data-key]").map((n) => [n.dataset.key, n.min, n.max]),
                   pressed: all("[aria-pressed]").map((n) => [n.textContent, n.getAttribute("aria-pressed")]),
                   said: all(".nsx-note, .nsx-pins li").filter((n) => n.checkVisibility()).map((n) => n.textContent),
                   lecture: root.classList.contains("nsx-lecture"),
                   dialogs: document.querySelectorAll("dialog").length,
                 }; }"""
        )

    def steps(self, key: str, drawn: str = FIRST) -> list[float]:
        """Press an arrow key forty times; return how long each value took to the screen, in ms."""
        slider = self.slider(key)
        slider.focus()
        self.js(WATCH, [key, drawn])
        for k in range(40):
            with self.answered():
                slider.press("ArrowRight" if k < 20 else "ArrowLeft")
        log = self.js("() => nsxLog")
        found = []
        apart = np.diff(np.unique([value for _, value in log["set"]]))
        for when, value in log["set"]:
            near = max(1e-5 * abs(value), 0.1 * apart.min())  # large pictures are sent in 16 bits
            found += [t - when for t, v in log["drawn"] if t > when and abs(v - value) < near][:1]
        return found

    def hold(self, key: str, seconds: float, drawn: str = FIRST, *, per_second: float = 30) -> dict:
        """Hold arrow keys on a slider, there and back; return what was set and what was drawn."""
        slider = self.slider(key)
        slider.focus()
        self.js(WATCH, [key, drawn])
        traffic = self.traffic
        begin = time.perf_counter()
        count = 0
        ends = []
        for turn in range(round(seconds)):  # a second each way: no slider comes to its end
            direction = ("ArrowRight", "ArrowLeft")[turn % 2]
            while time.perf_counter() - begin < seconds * (turn + 1) / round(seconds):
                self.page.keyboard.down(direction)
                count += 1
                self.page.wait_for_timeout(
                    max(0.0, 1000 * (begin + count / per_second - time.perf_counter()))
                )
            self.page.keyboard.up(direction)
            ends.append(float(self.field(key).input_value()))
        self.rests()
        log = self.js("() => nsxLog")
        log["ends"] = ends  # of each gesture
        log["bytes"] = self.traffic - traffic
        return log


def lags(log: dict) -> np.ndarray:
    """(pictures, 2): when drawn, and how long before that its value was set, in ms."""
    found = []
    for now, value in log["drawn"]:
        before = [t for t, v in log["set"] if t <= now and abs(v - value) < 1e-5 * abs(value)]
        if before:
            found.append((now, now - before[-1]))
    return np.array(found)


def longest_lag(first: float, rate: float) -> float:
    """Return the lag in ms of later pictures that no queue explains, from that of the first ones.

    Without a queue a key waits for the picture that is made, and for its own: at most for three.
    """
    return max(2 * first, 3000 / rate) + 50


def steady(first: float, rate: float) -> bool:
    """Do pictures follow each other at the pace in which they are made?

    They are made in `first` ms from the key; one half of the time may pass without any. Where they
    are made sooner than keys come, ten a second are enough.
    """
    return rate * max(first, 50) >= 500


def keeps_up(lab: Lab, key: str, seconds: float, drawn: str = FIRST) -> dict:
    """Hold a key until the pictures keep up with it; a busy machine has three tries.

    A queue would make each picture later than the one before, on every try.
    """
    for _ in range(3):
        log = lab.hold(key, seconds, drawn)
        found = lags(log)
        late = found[:, 0] > found[:, 0].mean()
        first, second = np.median(found[~late, 1]), np.median(found[late, 1])
        times = np.array([when for when, _ in log["drawn"]])
        rate = len(times) / (times[-1] - log["set"][0][0]) * 1000
        print(f"\n{lab.title()}, held key: {rate:.1f} pictures/s, longest pause "
              f"{np.diff(times).max():.0f} ms, lag {first:.0f} then {second:.0f} ms, "
              f"{log['bytes'] / len(times) / 1000:.1f} kB a picture, {len(log['set'])} keys")  # fmt: skip
        assert log["drawn"][-1][1] == pytest.approx(log["set"][-1][1], rel=1e-6)
        most = longest_lag(first, rate)
        if second <= most and steady(first, rate):
            return log
    assert second <= most
    assert steady(first, rate)
    return log
