"""Find models of the gallery by words: ``ex.models.search("friction")``, ``ex.models["chaos"]``."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from inspect import getdoc, getmodule

from explorer.errors import BadValue, suggest
from explorer.quantities import number
from explorer.references import entry
from explorer.results.display import html
from explorer.systems import System

__all__ = ["Found", "found"]

Build = Callable[..., System]
_HEADS = ("model", "group", "what it shows", "number", "presets", "source")
_LEAST = 3  # letters of a word that may begin a longer one


class Found(Mapping[str, Build]):
    """Models that were found, the best first: what builds each, by its name.

    A notebook shows them as a table with number, presets and source.

    Parameters
    ----------
    words : str
        That were searched for.
    builds : dict of name to callable

    Examples
    --------
    >>> import explorer as ex
    >>> "stick_slip" in ex.models.search("friction belt")
    True
    >>> ex.models["chua"]["chua"]().name
    "Chua's circuit"
    """

    def __init__(self, words: str, builds: Mapping[str, Build]) -> None:
        self.words, self._builds = words, dict(builds)

    def __getitem__(self, name: str) -> Build:
        if name not in self._builds:
            raise BadValue(
                f"{name!r} is not among the models that were found for {self.words!r}."
                f"{suggest(name, self._builds)}"
            )
        return self._builds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._builds)

    def __len__(self) -> int:
        return len(self._builds)

    def __contains__(self, name: object) -> bool:
        return name in self._builds

    def search(self, words: str) -> Found:
        """Return those that also have these words."""
        return found(words, self._builds, f"{self.words} {words}")

    def __repr__(self) -> str:
        wide = max(map(len, self._builds), default=0)
        lines = [f"{name:{wide}}  {_built(name, build).text}" for name, build in self.items()]
        return "\n".join([f"{self._note}:", *lines])

    @property
    def _note(self) -> str:
        models = "1 model" if len(self) == 1 else f"{len(self)} models"
        return f"{models} for {self.words!r}"

    def _repr_html_(self) -> str:
        """Show them in a notebook: what each shows, its number, presets and source."""
        return html(_HEADS, (_row(name, build) for name, build in self.items()), self._note)


def found(words: str, builds: Mapping[str, Build], said: str = "") -> Found:
    """Return the models that have all words, the best first.

    A word is looked for in name, group and kind of a model, in what it shows, in its presets,
    parameters, numbers and sources, and in the text of its module. It may be the beginning of a
    longer one, "oscillat", and its ending may differ: "chaos" finds "chaotic".

    Parameters
    ----------
    words : str
    builds : dict of name to callable
        Where to look.
    said : str
        What the result names as searched for; by default `words`.

    Raises
    ------
    BadValue
        If there are no words, as in a number, or no model has them.
    """
    asked = _words(words) if isinstance(words, str) else []
    if not asked:
        raise BadValue('A search needs a word, such as ex.models.search("friction").')
    scores = {}
    for name, build in builds.items():
        texts = _texts(name, build)
        points = [max((p for p, text in texts if _holds(text, word)), default=0) for word in asked]
        if min(points):
            scores[name] = sum(points)
    if not scores:
        known = sorted({w for n, b in builds.items() for _, t in _texts(n, b) for w in t.split()})
        missing = [w for w in asked if not any(_holds(k, w) for k in known)]
        reason = (
            f"No model has the word {missing[0]!r}.{_near(missing[0], known)}"
            if missing
            else f"No model has all of {words!r}. Ask for fewer words."
        )
        raise BadValue(
            f"{reason} The groups are {', '.join(_groups(builds))}. "
            'Try explorer.models["friction"].'
        )
    order = sorted(scores, key=lambda name: -scores[name])  # the same points: as in the gallery
    return Found(said or words, {name: builds[name] for name in order})


def _near(word: str, known: list[str]) -> str:
    """Return the nearest word; nothing is gained by the first of thousands."""
    said = suggest(word, known)
    return said if said.startswith(" Did") else ""


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _stem(word: str) -> str:
    """Return a word without its ending: chaos and chaotic, friction and frictional."""
    return re.sub(r"(?:os|otic|ing|ions?|ional|s|es)$", "", word) if len(word) > 4 else word


def _holds(text: str, word: str) -> bool:
    """Whether a text of words holds one: whole, as a beginning, or with another ending."""
    stem = _stem(word)
    return any(
        w == word or (len(word) >= _LEAST and (w.startswith(word) or _stem(w) == stem))
        for w in text.split()
    )


def _groups(builds: Mapping[str, Build]) -> list[str]:
    return list(dict.fromkeys(filter(None, (getattr(b, "group", "") for b in builds.values()))))


@functools.cache
def _built(name: str, build: Build) -> System:
    return build()


@functools.cache
def _texts(name: str, build: Build) -> tuple[tuple[int, str], ...]:
    """Return what is searched, with the points of a word there: words between spaces."""
    system = _built(name, build)
    presets = " ".join(f"{k} {p.get('text', '')}" for k, p in system.presets.items())
    sources = " ".join(entry(key).text for key in system.sources)
    parameters = " ".join(p.text for p in system.parameters.values())
    parts = (
        (8, f"{name} {system.name} {getattr(build, 'group', '')}"),
        (4, f"{system.text} {system.kind} {type(system).__name__} {build.__doc__ or ''}"),
        (2, f"{presets} {parameters} {' '.join(system.published)}"),
        (1, f"{getdoc(getmodule(build)) or ''} {sources}"),
    )
    return tuple((points, " ".join(_words(text))) for points, text in parts)


def _row(name: str, build: Build) -> tuple[str, ...]:
    system = _built(name, build)
    numbers = [f"{what} = {number(value, 7)}" for what, (value, _, _) in system.published.items()]
    if system.exact is not None:
        numbers.append("closed form")
    entries = map(entry, system.sources)
    sources = "; ".join(f"{e.authors} ({e['year']})" for e in entries)
    group = getattr(build, "group", "")
    return name, group, system.text, "; ".join(numbers), ", ".join(system.presets), sources
