"""One Chromium for all tests of this folder, and pages on which the panel of one follows another's.

A page costs three seconds of a processor, most of it for plotly; a panel in the place of another one
a tenth of that. What a test may leave behind is taken away when its page comes back: globals,
changed functions of the browser, attributes, styles, elements. A page on which anything is left
after that, such as a listener, or that had an error, is closed, and the next test has a new one.
`test_stages.py` shows it.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, contextmanager

from playwright.sync_api import Error
from stage import STATE, Stage, chromium

SIZE = {"width": 1280, "height": 720}

# window.nsxClean puts the page back as it is now, and names what it could not put back
REMEMBER = """() => {
  const owners = new Set([window, document, navigator, console, Math, JSON, performance]);
  window.nsxClean = {};
  for (const name of Object.getOwnPropertyNames(window)) {
    const { value } = Object.getOwnPropertyDescriptor(window, name);
    if (typeof value !== "function") continue;
    owners.add(value);
    if (value.prototype) owners.add(value.prototype);
  }
  const kept = new Map([...owners].map((one) => [one, Object.getOwnPropertyDescriptors(one)]));
  const parts = [document.documentElement, document.head, document.body,
    ...document.head.children, ...document.body.children];
  const nodes = parts.map((node) => [node, [...node.attributes].map((a) => [a.name, a.value])]);
  const inside = [document.documentElement, document.head, document.body]
    .map((node) => [node, [...node.childNodes]]);
  const rules = () => [...document.styleSheets].map((one) => one.cssRules.length);
  const ruled = rules();
  const differs = (a, b) => !a || !b || ["value", "get", "set"].some((k) => !Object.is(a[k], b[k]));
  const changes = () => [...kept].flatMap(([owner, before]) => {
    const now = Object.getOwnPropertyDescriptors(owner);
    return Reflect.ownKeys({ ...before, ...now }).filter((key) => differs(before[key], now[key]))
      .map((key) => [owner, key, before[key]]);
  });
  nsxClean.up = () => {
    for (const [owner, key, before] of changes()) {
      if (before) Reflect.defineProperty(owner, key, before); else Reflect.deleteProperty(owner, key);
    }
    for (const [node, attributes] of nodes) {
      const names = new Set(attributes.map(([name]) => name));
      for (const { name } of [...node.attributes]) if (!names.has(name)) node.removeAttribute(name);
      for (const [name, value] of attributes)
        if (node.getAttribute(name) !== value) node.setAttribute(name, value);
    }
    // what stays is not touched: a style sheet that is put in again has lost the rules of plotly
    for (const [node, children] of inside)
      for (const one of [...node.childNodes]) if (!children.includes(one)) one.remove();
    document.getElementById("host").replaceChildren();
    scrollTo(0, 0);
    const left = changes().map(([owner, key]) => `${owner.constructor?.name ?? owner}.${String(key)}`);
    for (const [node, children] of inside)
      if (children.some((one, k) => one !== node.childNodes[k])) left.push(`children of ${node.tagName}`);
    if (String(rules()) !== String(ruled)) left.push("a rule of a style sheet");
    if (listeners.size) left.push("a listener of the model");
    if (document.fullscreenElement) left.push("the whole screen");
    return left;
  };
}"""


class Stages:
    """The pages that nobody uses now, by the class of their stage."""

    def __init__(self):
        self.open = ExitStack()
        self.chromium = None
        self.free = {}
        self.known = {}  # of each stage the listeners of a page without a panel

    def browser(self):
        """Return the browser, which is started where there is none."""
        if self.chromium is None:
            self.chromium = self.open.enter_context(chromium())
        return self.chromium

    def close(self):
        """End the browser; the next page starts another one."""
        self.chromium = None
        self.free.clear()
        self.known.clear()
        self.open.close()

    def take(self, answer, kind, background):
        """Return a stage on which a panel is shown, on a page that is new or as good as new."""
        if free := self.free.get(kind):
            stage = free.pop()
            stage.errors.clear()
        else:
            stage = kind(self.browser().new_page(viewport=SIZE), answer).open()
            stage.js("() => dispose()")
            stage.js("() => document.getElementById('host').replaceChildren()")
            stage.js(REMEMBER)
            self.known[stage] = listeners(stage.page)
        stage.js(f"() => {{ {STATE} window.dispose = () => {{}}; }}")
        stage.paper(background)
        return stage

    def left(self, stage):
        """Clean a page up; return what is left of its tests."""
        stage.js("() => dispose()")
        stage.page.mouse.move(0, 0)
        stage.page.emulate_media(color_scheme="light")
        stage.page.set_viewport_size(SIZE)
        left = stage.js("() => nsxClean.up()") + stage.errors
        heard = Counter(listeners(stage.page))
        heard.subtract(self.known[stage])
        return left + [f"{n} of {one}" for one, n in heard.items() if n]

    def give_back(self, stage):
        """Keep a page on which nothing is left for the next test; close another one."""
        try:
            clean = not self.left(stage)
        except Error:
            clean = False
        if clean:
            self.free.setdefault(type(stage), []).append(stage)
        else:
            del self.known[stage]
            stage.page.close()


def listeners(page):
    """Return what hears events of the whole page: their kinds, as often as they are heard."""
    session, found = page.context.new_cdp_session(page), []
    for name in ("window", "document", "document.documentElement", "document.body"):
        one = session.send("Runtime.evaluate", {"expression": name})["result"]
        heard = session.send("DOMDebugger.getEventListeners", {"objectId": one["objectId"]})
        found += [(name, h["type"], h["useCapture"]) for h in heard["listeners"]]
    session.detach()
    return found


shared = Stages()


@contextmanager
def context(*, width=1280, height=720, **options):
    """Open a room of its own in the browser: another device, or pages that have an address."""
    one = shared.browser().new_context(viewport={"width": width, "height": height}, **options)
    yield one
    one.close()


@contextmanager
def shown(answer, kind=Stage, *, width=1280, height=720, background="#fff", dark=False):
    """Show a panel; `dark` is what the browser says that its user likes."""
    stage = shared.take(answer, kind, background)
    try:
        stage.page.set_viewport_size({"width": width, "height": height})
        stage.page.emulate_media(color_scheme="dark" if dark else "light")
        yield stage.show(answer)
    finally:
        shared.give_back(stage)
