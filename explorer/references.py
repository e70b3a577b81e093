"""The bibliography: the BibTeX entries of `references.bib`, as text, Markdown and BibTeX.

Each source stands in that file once. Schemes and models name the keys of their entries, `markdown`
prints the list in docs/references.md, and `explorer.cite` collects the entries of a run.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from explorer.errors import BadValue, suggest

__all__ = ["Citation", "Entry", "entry", "library", "markdown", "parse"]

_FILE = Path(__file__).with_suffix(".bib")
_START = re.compile(r"^@(\w+)\{([^\s,{}]+),", re.MULTILINE)
_FIELD = re.compile(r"(\w+)\s*=\s*\{")


@dataclass(frozen=True)
class Entry:
    """One source.

    Attributes
    ----------
    kind, key : str
        "article", "book", ..., and the name under which it is cited.
    fields : dict of str to str
        As in BibTeX.
    bibtex : str
        The entry as it stands in the file.
    """

    kind: str
    key: str
    fields: dict[str, str]
    bibtex: str

    def __getitem__(self, field: str) -> str:
        """Return a field as plain text; "" if it has none."""
        plain = self.fields.get(field, "").replace(r"\&", "&").replace("--", "–")
        return plain.replace("{", "").replace("}", "")

    @property
    def authors(self) -> str:
        """Names with initials: "M. Jean", "L. Paoli and M. Schatzman", "I. Cantone et al."."""
        written = self.fields.get("author", "")
        names = [_initials(name) for name in written.split(" and ") if name]
        if names[-1:] == ["others"]:
            return f"{', '.join(names[:-1])} et al."
        return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))

    @property
    def where(self) -> str:
        """Journal, book or institution, with volume, year and pages."""
        year, pages, number = self["year"], self["pages"], self["number"]
        if self.kind == "article":
            return f"{self['journal']} {self['volume']} ({year}) {pages}"
        edition = f"{self['edition']} edition" if self["edition"] else ""
        report = " ".join(filter(None, ["Technical report", number])) * (self.kind == "techreport")
        book = f"In: {self['booktitle']}" if self["booktitle"] else ""
        own = number if book else ""
        parts = [
            book,
            report,
            self["institution"],
            self["howpublished"],
            self["note"],
            self["publisher"],
            edition,
            own,
            year,
            pages,
        ]
        return ", ".join(filter(None, parts))

    @property
    def link(self) -> tuple[str, str]:
        """Text and target of the link: the DOI, else arXiv, else a web page, else nothing."""
        if doi := self["doi"]:
            return f"doi:{doi}", f"https://doi.org/{quote(doi, safe='/')}"
        if number := self["eprint"]:
            return f"arXiv:{number}", f"https://arxiv.org/abs/{number}"
        return self["url"], self["url"]

    @property
    def text(self) -> str:
        """The reference in one line of plain text."""
        return self._joined(self["title"], self.link[0])

    @property
    def markdown(self) -> str:
        """The reference in one line of Markdown, with a link."""
        shown, target = self.link
        return self._joined(f"*{self['title']}*", f"[{shown}]({target})" if target else "")

    def _joined(self, title: str, link: str) -> str:
        head = f"{self.authors}: {title}" if self.authors else title
        return ". ".join(filter(None, [head, self.where, link]))


def _initials(name: str) -> str:
    """Return "J. J. Moreau" for "Moreau, Jean Jacques"; a name in braces stays as it is."""
    last, comma, given = name.strip().partition(",")
    if not comma:
        return last.strip("{}")
    short = ["-".join(f"{part[0]}." for part in word.split("-")) for word in given.split() if word]
    return " ".join([*short, last])


def parse(source: str) -> list[Entry]:
    """Return the entries of a BibTeX text.

    Values stand in braces; what lies between the entries is a comment.

    Raises
    ------
    BadValue
        A brace that is not closed, a text between the fields, a key or a field given twice.
    """
    entries: dict[str, Entry] = {}
    for start in _START.finditer(source):
        kind, key = start[1].lower(), start[2]
        end = _closing(source, start.end() - len(start[2]) - 2, key)
        fields = dict(_fields(source[start.end() : end], key))
        if key in entries:
            raise BadValue(f"BibTeX: there are two entries {key!r}.")
        entries[key] = Entry(kind, key, fields, source[start.start() : end + 1])
    return list(entries.values())


def _closing(source: str, start: int, key: str) -> int:
    """Return where the brace closes that opens at `start`."""
    depth = 0
    for i in range(start, len(source)):
        depth += {"{": 1, "}": -1}.get(source[i], 0)
        if depth == 0:
            return i
    raise BadValue(f"BibTeX: a brace of the entry {key!r} is not closed.")


def _fields(body: str, key: str) -> Iterator[tuple[str, str]]:
    seen, i = set(), 0
    while rest := body[i:].lstrip(" \t\n,"):
        i = len(body) - len(rest)
        head = _FIELD.match(rest)
        if head is None or head[1] in seen:
            raise BadValue(f"BibTeX: the entry {key!r} cannot be read at {rest[:30]!r}.")
        end = _closing(body, i + head.end() - 1, key)
        yield head[1].lower(), " ".join(body[i + head.end() : end].split())
        seen.add(head[1])
        i = end + 1


@functools.cache
def library() -> dict[str, Entry]:
    """Return all entries by their keys, in the order of the file."""
    return {e.key: e for e in parse(_FILE.read_text("utf-8"))}


def entry(key: str) -> Entry:
    """Return the entry of a key, or the entry that a BibTeX text holds.

    Raises
    ------
    BadValue
        There is no such key.
    """
    if key.lstrip().startswith("@"):
        entries = parse(key.strip())
        if len(entries) != 1:
            raise BadValue(f"One BibTeX entry was expected, not {len(entries)}: {key[:40]!r}.")
        return entries[0]
    if key not in library():
        raise BadValue(f"There is no reference {key!r}.{suggest(key, library())}")
    return library()[key]


class Citation:
    """The sources to cite, grouped by part. Prints as text; a notebook shows links.

    Attributes
    ----------
    subject : str
        The run, scheme or model that is cited.
    parts : dict of str to tuple of Entry
        The sources of each part, such as "scheme MoreauJean". No source appears twice.
    """

    def __init__(self, subject: str, parts: Iterable[tuple[str, Iterable[str]]]) -> None:
        self.subject = subject
        self.parts: dict[str, tuple[Entry, ...]] = {}
        for name, keys in parts:
            new = [entry(k) for k in dict.fromkeys(keys)]
            kept = tuple(e for e in new if e not in self.entries)
            if kept:
                self.parts[name] = (*self.parts.get(name, ()), *kept)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All sources, in order."""
        return tuple(e for part in self.parts.values() for e in part)

    @property
    def keys(self) -> tuple[str, ...]:
        """Their keys in the bibliography."""
        return tuple(e.key for e in self.entries)

    @property
    def bibtex(self) -> str:
        """All sources as BibTeX."""
        return "\n\n".join(e.bibtex for e in self.entries) + "\n"

    def __str__(self) -> str:
        lines = [f"To cite {self.subject}:" if self.parts else f"{self.subject} names no sources."]
        for name, part in self.parts.items():
            lines += ["", f"{name}:", *(f"  {e.text}" for e in part)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        """Return what a notebook shows."""
        lines = [f"To cite {self.subject}:" if self.parts else f"{self.subject} names no sources."]
        for name, part in self.parts.items():
            lines += ["", f"**{name}**", "", *(f"- {e.markdown}" for e in part)]
        return "\n".join(lines)


def markdown() -> str:
    """Return the bibliography as a Markdown list: authors in alphabetical order, then years."""
    own, *others = library().values()
    ordered = sorted(
        others, key=lambda e: (e.fields.get("author", e["title"]).strip("{").casefold(), e.key)
    )
    return "\n".join(f"- `{e.key}` {e.markdown}" for e in (own, *ordered)) + "\n"
