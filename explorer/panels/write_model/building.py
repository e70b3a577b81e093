"""From typed text to a system: each field is read by itself, so that each error has its place."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from explorer.errors import ExplorerError, ModelWarning
from explorer.panels.write_model.fields import KINDS, Texts
from explorer.panels.write_model.reading import check_size
from explorer.systems import System

__all__ = ["Draft", "build", "kind"]

_UNKNOWN = re.compile(r"'(\w+)'(?: in .*)? is neither a state nor a parameter\.", re.DOTALL)
_PLACE = re.compile(r"\A(force|f|rates|start [qvx])\[(\d+)\]")
_NAMED = 80  # characters of a name
_LONG = 320  # characters of a sentence


@dataclass
class Draft:
    """What was typed, and what came of it.

    Attributes
    ----------
    texts : dict of str to str
        By field.
    system : System or None
        None if a field holds an error.
    errors : dict of str to str
        A sentence for each field that cannot be read.
    shown : dict of str to list of str
        MathML of what was read, by field.
    names : list of str
        Names of the coordinates or states.
    """

    texts: Texts
    system: System | None = None
    errors: dict[str, str] = field(default_factory=dict)
    shown: dict[str, list[str]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The name of the model."""
        return " ".join(self.text("name").split())[:_NAMED] or "Own model"

    def text(self, key: str) -> str:
        """Return what was typed into a field."""
        return self.texts.get(key, "").strip()

    def show(self, key: str, *formulas: str) -> None:
        """Show formulas below a field."""
        self.shown.setdefault(key, []).extend(formulas)

    @contextmanager
    def at(self, key: str) -> Iterator[None]:
        """Whatever is refused here is an error of this field."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", ModelWarning)
                yield
        except (ExplorerError, ModelWarning) as error:
            self.refuse(key, str(error))
        except Exception as error:  # SymPy may throw anything at what is no formula
            said = f"This cannot be read ({type(error).__name__}: {error})."
            self.refuse(key, f"{said[:200]} Write it with + - * / ** and brackets.")

    def _place(self, found: re.Match[str]) -> str:
        """Return which formula of a field is meant, by its coordinate."""
        what = {"f": "rate"}.get(found[1], found[1])
        place = int(found[2])
        return f"The {what} of {self.names[place]}" if place < len(self.names) else found[0]

    def refuse(self, key: str, said: str) -> None:
        """Keep the first sentence on a field, without what its place says already."""
        said = _PLACE.sub(self._place, said.replace(f" of '{self.title}'", ""))
        if name := _UNKNOWN.search(said):
            said += f" Declare it under Parameters: {name[1]} = 1."
        if len(said) > _LONG:  # a long formula is quoted: its ends say which
            said = f"{said[: _LONG // 2]} … {said[-_LONG // 2 :]}"
        self.errors.setdefault(key, said)


Builder = Callable[[Draft], System]
_builders: dict[str, Builder] = {}


def kind(name: str) -> Callable[[Builder], Builder]:
    """Offer a function that builds systems of one kind."""

    def offer(builder: Builder) -> Builder:
        _builders[name] = builder
        return builder

    return offer


def build(name: str, texts: Texts) -> Draft:
    """Return the system of typed texts, or what is wrong with them; never raises."""
    draft = Draft(dict(texts))
    for key in (f.key for f in KINDS[name].fields):
        with draft.at(key):
            check_size(draft.text(key))
    if draft.errors:
        return draft
    first = KINDS[name].fields[1].key  # what names the state: without it nothing can be read
    with draft.at(first):
        system = _builders[name](draft)
        if not draft.errors:
            draft.system = system
    return draft
