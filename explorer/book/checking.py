"""What must hold of the pages: every link resolves, and no page loads anything from a network."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Complaints", "check"]

_LOADS = {  # what a browser fetches by itself
    "img": ("src", "srcset"),
    "script": ("src",),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "image": ("href",),
}
_LINKED = ("stylesheet", "icon", "preload", "prefetch", "modulepreload")


@dataclass(frozen=True)
class Complaints:
    """What is wrong in a folder of pages.

    Attributes
    ----------
    dead : list of str
        Links to a file or an anchor of the book that is not there.
    remote : list of str
        What would be loaded from a network.
    pages : int
        How many pages were read.
    """

    dead: list[str]
    remote: list[str]
    pages: int

    @property
    def all(self) -> list[str]:
        """Return one sentence each."""
        return [*self.dead, *self.remote]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what the tag loads, links, or is a target as."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[k] for k in ("id", "name") if given.get(k)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and set(given.get("rel", "").split()) & set(_LINKED):
            self.loads.append(given.get("href", ""))
        self.loads += [given[k] for k in _LOADS.get(tag, ()) if given.get(k)]


def check(folder: Path) -> Complaints:
    """Read all pages of a folder, and follow their links inside of it."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        pages[path.resolve()] = page = _Page()
        page.feed(path.read_text("utf-8"))
    dead, remote = [], []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for address in page.loads:
            if urlsplit(address).scheme in ("http", "https", "ftp") or address.startswith("//"):
                remote.append(f"{name} loads {address}")
        for address in [*page.links, *page.loads]:
            parts = urlsplit(address)
            if parts.scheme or address.startswith("//"):
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.is_file():
                dead.append(f"{name} links to {address}, which is not there")
            elif parts.fragment and to in pages:
                anchor = unquote(parts.fragment)
                if anchor not in pages[to].anchors:
                    dead.append(f"{name} links to {address}, where nothing has this name")
    return Complaints(dead, remote, len(pages))
