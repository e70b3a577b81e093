"""Every page of a book in Chromium: no error, no text over text, nothing wider than the window.

``uv run python tests/book_pages.py build/book`` opens all pages of a book, from files and without
a network, at three widths and in both themes, and lists what is wrong. With names of pages, or
parts of them, it opens these: ``tests/book_pages.py build/book chapters models/chua``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Error, Page

sys.path.append(str(Path(__file__).parent / "front"))
from stage import chromium

WIDTHS = (390, 1280, 1920)
PATIENCE = 20_000  # ms for what moves

# Boxes of the lines of all texts that one can see, cut by what cuts them; then pairs that overlap.
# A plot writes its text as SVG. What floats above the page on purpose (menus, the header) is left out.
OVER = """() => {
  const boxes = [];
  const seen = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const floats = (node) => ["fixed", "sticky"].includes(getComputedStyle(node).position);
  const cut = (box, node) => {
    let { left, right, top, bottom } = box;
    for (let up = node; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (floats(up) || style.clipPath !== "none" || up.matches("mjx-assistive-mml, .nsx-hover, .hoverlayer")) return null;
      if (style.overflowX !== "visible" || style.overflowY !== "visible") {
        const frame = up.getBoundingClientRect();
        left = Math.max(left, frame.left); right = Math.min(right, frame.right);
        top = Math.max(top, frame.top); bottom = Math.min(bottom, frame.bottom);
      }
    }
    left = Math.max(left, 0); right = Math.min(right, innerWidth);
    return right - left > 1 && bottom - top > 1 ? { left, right, top, bottom } : null;
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const own = node.parentElement;
    if (!node.data.trim() || !seen(own) || own.closest("script, style, title, noscript, option")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const line of range.getClientRects()) {
      const box = cut(line, own);
      if (box) boxes.push({ ...box, node, text: node.data.trim().slice(0, 40) });
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  const found = [];
  for (let i = 0; i < boxes.length; i++) {
    const a = boxes[i];
    for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom; j++) {
      const b = boxes[j];
      if (a.node === b.node) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const line = Math.min(a.bottom - a.top, b.bottom - b.top);
      if (wide > 2 && high > 0.4 * line) found.push(`"${a.text}" lies over "${b.text}"`);
    }
  }
  return found;
}"""

# the ground of the page and of its twins: both dark, or both light
GROUNDS = """() => {
  const light = (node) => {
    const [r, g, b] = getComputedStyle(node).backgroundColor.match(/[\\d.]+/g).map(Number);
    return 0.299 * r + 0.587 * g + 0.114 * b > 128;
  };
  const page = light(document.body);
  return [...document.querySelectorAll(".nsx-panel")]
    .filter((panel) => light(panel) !== page || (panel.dataset.theme === "light") !== page)
    .map((panel) => `a panel is ${panel.dataset.theme} on a page that is ${page ? "light" : "dark"}`);
}"""


def theme(page: Page, name: str) -> None:
    """Choose light or dark by the page's own button, as a reader does."""
    for _ in range(4):
        if page.evaluate("document.body.dataset.theme") == name:
            break
        page.evaluate("[...document.querySelectorAll('.theme-toggle')].at(-1).click()")
    page.wait_for_function("(name) => document.body.dataset.theme === name", arg=name, timeout=5000)
    page.evaluate(
        "() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"
    )


@contextmanager
def opened(context, path: Path, query: str = "") -> Iterator[Page]:
    """Open a page; its `errors` are what the console, scripts and requests complain of."""
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda m: page.errors.append(m.text) if m.type == "error" else None)
    page.on("requestfailed", lambda request: page.errors.append(f"{request.url} failed"))
    page.on("request", lambda r: page.errors.append(r.url) if r.url.startswith("http") else None)
    page.goto(path.as_uri() + query)
    yield page
    page.close()


def settle(page: Page) -> None:
    """Wait until the formulas are set, and the twins that are in sight are drawn."""
    page.wait_for_load_state("networkidle")
    page.evaluate("() => window.MathJax?.startup?.promise")
    for twin in page.locator(
        ".nsx-twin"
    ).all():  # one that is far below draws when it is scrolled to
        twin.scroll_into_view_if_needed()
        twin.locator('.nsx-panel:not([data-frames="0"])').wait_for(timeout=PATIENCE)
    page.evaluate("scrollTo(0, 0)")


def complaints(page: Page, width: int) -> list[str]:
    """Return what is wrong with a page at a width, in one sentence each."""
    page.set_viewport_size({"width": width, "height": 900})
    found = []
    try:
        settle(page)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found += [f"it is {wide} px wider than the window"] if wide > 0 else []
        found += page.evaluate(OVER)
    except Error as error:
        found.append(f"it does not come to rest: {str(error).splitlines()[0]}")
    return found


def faults(page: Page, widths: tuple[int, ...] = WIDTHS) -> list[str]:
    """Return all that is wrong with an open page, with the width where it is."""
    found = [f"at {w} px {said}" for w in widths for said in complaints(page, w)]
    for name in ("dark", "light") if page.locator(".nsx-panel").count() else ():
        theme(page, name)
        found += page.evaluate(GROUNDS)
    return found + page.errors


def look(context, path: Path, widths: tuple[int, ...] = WIDTHS) -> list[str]:
    """Open a page, and return all that is wrong with it."""
    with opened(context, path) as page:
        return faults(page, widths)


def main(folder: Path, parts: list[str]) -> int:
    """Look at the pages of a book; print what is wrong, and how large it is."""
    pages = sorted(folder.rglob("*.html"))
    chosen = [p for p in pages if not parts or any(x in str(p.relative_to(folder)) for x in parts)]
    wrong = 0
    with chromium() as browser:
        context = browser.new_context(offline=True)
        for path in chosen:
            found = look(context, path)
            wrong += bool(found)
            for said in dict.fromkeys(found):
                print(f"{path.relative_to(folder)}: {said}", flush=True)
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6
    largest = max(pages, key=lambda p: p.stat().st_size)
    print(
        f"{len(chosen)} pages at {', '.join(map(str, WIDTHS))} px, {wrong} of them with complaints; "
        f"the book has {size:.1f} MB, its largest page {largest.relative_to(folder)} "
        f"{largest.stat().st_size / 1e6:.2f} MB"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute(), sys.argv[2:]))
