"""A blank Chromium page with the panel's script, a stub model, and a real `LivePanel` behind it.

The stub passes custom messages both ways as anywidget does, so the pair (script, `LivePanel`)
is tested without a Jupyter server. ``delay`` ms are added to each answer, to see the credits work.
"""

from __future__ import annotations

import base64
import time
from contextlib import contextmanager

import browsers
from playwright.sync_api import sync_playwright

from explorer.panels.live import LivePanel, source, style

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

# what tests read and set; kept apart because a page may serve one test after another
STATE = """
window.__nonsmoothExplorerHinted = true; // the hints of a first visit have a test of their own
window.outside = [];            // keys that escaped from the panel
window.sent = [];               // messages of the browser
window.flying = 0; window.peak = 0; window.slow = 0; window.delay = 0; window.mute = false;
window.held = null;             // or what lets each answer go that is kept back
"""

STUB = (
    STATE
    + """
document.addEventListener("keydown", (event) => window.outside.push(event.key));
const listeners = new Set();
window.listeners = listeners;
const unpack = ([content, buffers]) => [content, buffers.map((text) =>
  new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer))];
window.deliver = (messages) => {
  for (const one of messages) for (const hear of [...listeners]) hear(...unpack(one));
};
window.model = {
  on(_, hear) { listeners.add(hear); },
  off(_, hear) { listeners.delete(hear); },
  async send(content) {
    window.sent.push(content);
    if (window.mute) return;
    const pull = content.type === "pull";
    if (pull) window.peak = Math.max(window.peak, ++window.flying);
    const began = performance.now();
    const messages = await window.kernel(content);
    if (window.delay) await new Promise((go) => setTimeout(go, window.delay));
    if (window.held) await new Promise((go) => window.held.push(go));
    if (pull) window.flying--;
    window.slow += performance.now() - began > 60;
    window.deliver(messages);
  },
};
"""
)


def encoded(messages):
    return [[c, [base64.b64encode(b).decode() for b in buffers]] for c, buffers in messages]


class Stage:
    """One page showing one panel; `kernel` messages run in this process."""

    kind = LivePanel

    def __init__(self, page, answer):
        self.page = page
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.take_over(answer)
        page.expose_function("kernel", self.kernel)

    def take_over(self, answer):
        """Give the page's questions to another panel."""
        self.answer, self.panel, self.outbox = answer, self.kind(answer), []
        self.panel.send = lambda content, buffers=(): self.outbox.append((content, list(buffers)))

    def kernel(self, content):
        self.panel._receive(None, content, [])
        return encoded(self.take())

    def take(self):
        messages, self.outbox[:] = list(self.outbox), []
        return messages

    def open(self, background="#fff"):
        self.page.set_content(
            "<!doctype html><html><body><style></style><div id=host></div></body></html>"
        )
        self.paper(background)
        self.page.evaluate(STUB)
        self.page.evaluate(
            """async (code) => {
              const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
              window.widget = (await import(url)).default;
              window.dispose = window.widget.render({model, el: document.getElementById("host")});
            }""",
            source(self.panel.front[0]),
        )
        return self.first_picture()

    def paper(self, background):
        """Set the style sheet of the page, with a colour of its ground."""
        css = f"body{{margin:12px;background:{background}}}{style(*self.panel.front[1:])}"
        self.js("(css) => { document.querySelector('body > style').textContent = css; }", css)

    def first_picture(self):
        self.page.wait_for_selector('.nsx-panel:not([data-frames="0"])', timeout=20000)
        return self

    def show(self, answer):
        """Another panel in the place of the one that is shown; script and plotly stay loaded."""
        self.take_over(answer)
        self.js("""() => {
          window.dispose();
          const host = document.getElementById("host");
          host.replaceChildren();
          window.dispose = window.widget.render({model, el: host});
        }""")
        return self.first_picture()

    def drawn(self):
        """Wait until the newest own question is on the screen."""
        self.page.wait_for_function(
            """() => document.querySelector(".nsx-plot").dataset.seq ==
               Math.max(...sent.filter((m) => m.seq).map((m) => m.seq))""",
            timeout=8000,
        )

    def sharpened(self):
        """Wait for the whole result of a panel that sharpens, and bring it to the page."""
        self.answer.session.diagram()
        frames = int(self.js("() => document.querySelector('.nsx-panel').dataset.frames"))
        self.panel.refresh()
        self.js("(messages) => deliver(messages)", encoded(self.take()))
        self.page.wait_for_function(
            "(n) => +document.querySelector('.nsx-panel').dataset.frames > n", arg=frames
        )

    def first_plot(self):
        """Return what gives the place on the page of parts of the first plot's width and height."""
        box = self.page.locator(".nsx-plot .nsewdrag").first.bounding_box()
        return lambda x, y: (box["x"] + x * box["width"], box["y"] + y * box["height"])

    def until(self, holds):
        """Wait until something holds in the kernel, which answers from this process."""
        end = time.monotonic() + 20
        while not holds() and time.monotonic() < end:
            self.page.wait_for_timeout(30)
        assert holds()
        self.drawn()

    def js(self, code, argument=None):
        return self.page.evaluate(code, argument)


@contextmanager
def chromium():
    path = browsers.found()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=ARGS)
        yield browser
        browser.close()
