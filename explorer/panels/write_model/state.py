"""The state of the panel in which equations are written: the text, and the model that ran.

The last good model is the state of a `Session`; the typed text stands beside it, also while it
cannot be read, and goes into the saved state and the link.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import TypeAlias

from explorer.errors import BadValue, ExplorerError
from explorer.models import models
from explorer.panels.session import Model, Session
from explorer.panels.state import OWN, START, State, States, saved
from explorer.panels.write_model.building import Draft, build
from explorer.panels.write_model.fields import KINDS, Texts
from explorer.panels.write_model.writing import written
from explorer.study.asked import Chosen
from explorer.systems import System, check_system, from_spec

__all__ = ["FIRST", "WriteSession", "WrittenStates", "checked_page", "example", "is_written"]

FIRST = "mechanical"
Page: TypeAlias = tuple[str, Texts]  # a kind, and what is typed into its fields


class WrittenStates(States):
    """States of a typed model.

    Attributes
    ----------
    page : (str, dict of str to str)
        The kind of the model, and the text of its fields.
    """

    def __init__(self, own: System | None = None, page: Page | None = None) -> None:
        super().__init__(own)
        self.page: Page = page or (written(own) if own else (FIRST, KINDS[FIRST].example))

    def from_json(self, text: str | Mapping[str, object]) -> tuple[States, State]:
        """Return what `to_json` wrote, or another panel did; a model of the gallery is copied."""
        with saved(text) as given:
            if isinstance(given["model"], str):
                model = States().system({"model": given["model"], "sizes": given["sizes"]})
                given = {**given, "model": model.to_spec(), "sizes": {}}
            elif not isinstance(given["model"], dict):
                raise BadValue("This saved state has no model.")
            own = type(self)(from_spec(given["model"]))
            return States.from_json(own, {**given, "model": OWN})


class WriteSession(Session):
    """A session whose model is typed.

    Attributes
    ----------
    kind : str
        The kind that is being written, a key of `KINDS`.
    draft : Draft
        What is typed now, and what came of it.
    mark : int
        Counts how often the text was replaced from here, not by typing.
    """

    _states: type[States] = WrittenStates

    def __init__(
        self, model: Model | None = None, scheme: Chosen | None = None, **settings: object
    ) -> None:
        self.mark = 0
        self._drafts: dict[str, Texts] = {}
        page: Page = (FIRST, KINDS[FIRST].example)
        own = example()
        if model is not None:
            own, page = _copied(model)
        super().__init__(own, scheme, **settings)
        self._written.page = page
        self._show(page)

    @classmethod
    def of(cls, session: Session) -> Session:
        """Return the same session, or a new one on the model of another."""
        return session if isinstance(session, cls) else cls(session.system)

    @property
    def page(self) -> Page:
        """The kind and the text of the last good model."""
        return self._written.page

    @property
    def _written(self) -> WrittenStates:
        assert isinstance(self.states, WrittenStates)
        return self.states

    @property
    def texts(self) -> Texts:
        """What is typed now."""
        return self._drafts[self.kind]

    def _show(self, page: Page) -> None:
        """Put a text into the fields."""
        self.kind, texts = page
        self._drafts[self.kind] = dict(texts)
        self.draft: Draft = build(self.kind, texts)
        self.mark += 1

    def type(self, kind: str, texts: Mapping[str, object]) -> Draft:
        """Take what is typed and read it; the picture stays.

        Raises
        ------
        BadValue
            If there is no such kind, or a text is no text.
        """
        with self._lock:
            self.kind, self._drafts[kind] = checked_page(kind, texts)
            self.draft = build(kind, self._drafts[kind])
            return self.draft

    def run(self) -> None:
        """Run what is typed: the model that the picture shows from now on; can be undone.

        Parameters, start and time span that were moved since stay where their text is unchanged,
        and so does the scheme.

        Raises
        ------
        ExplorerError
            If a field holds an error, or the model cannot run; the last good one stays.
        """
        with self._lock:
            if self.draft.errors or self.draft.system is None:
                raise BadValue(next(iter(self.draft.errors.values()), "There is nothing to run."))
            page: Page = (self.kind, dict(self.texts))
            if self.draft.system.to_spec() == self.system.to_spec():  # the same, written otherwise
                self._written.page = page
                return
            states = WrittenStates(self.draft.system, page)
            self._leap(states, self._kept(states))

    def _kept(self, states: WrittenStates) -> State:
        """Return the state of another model, with what has been set and still fits."""
        before, old, new = self.state, self.system, states.own
        assert new is not None
        state, usual = states.fresh(OWN), self.states.fresh(OWN)
        if before["scheme"] != usual["scheme"]:
            with contextlib.suppress(ExplorerError):  # it may not take the new equations
                state = states.change(state, "scheme", before["scheme"])
        if before["scheme"] == state["scheme"] and new.h == old.h:
            state["knobs"] = dict(before["knobs"])
        for name, param in new.parameters.items():
            if old.parameters.get(name) == param:
                state["rho"][name] = before["rho"][name]
        if new.t_end == old.t_end and new.time_unit == old.time_unit:
            state["t_end"] = before["t_end"]
        begin = [s.to_spec()["start"] | {"t_end": 0, "h": 0} for s in (old, new)]
        if type(old) is type(new) and old.coordinates == new.coordinates and begin[0] == begin[1]:
            state |= {k: before[k] for k in START}
        return state

    def choose(self, kind: str) -> None:
        """Write a system of another kind: what was typed of it before, or its example.

        Raises
        ------
        ExplorerError
            If there is no such kind.
        """
        with self._lock:
            if kind not in KINDS:
                raise BadValue(f"There is no kind {kind!r}; there are {', '.join(KINDS)}.")
            self._show((kind, self._drafts.get(kind) or KINDS[kind].example))
            self._tell()

    def begin(self, model: Model) -> None:
        """Begin from a model of the gallery: its equations as text, and its picture.

        Raises
        ------
        ExplorerError
            If there is no such model, or its equations cannot be written in these fields.
        """
        own, page = _copied(model)
        with self._lock:
            states = WrittenStates(own, page)
            self._leap(states, states.fresh(OWN))

    def _replace(self, states: States, state: State) -> None:
        changes = states is not self.states
        super()._replace(states, state)
        if changes and self.page != (self.kind, self.texts):
            self._show(self.page)

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to take back, or text that has not run."""
        return self.page != (self.kind, self.texts) or super().can_undo

    def undo(self) -> None:
        """Take back text that has not run; without such text, the last change."""
        if self.page != (self.kind, self.texts):
            self._show(self.page)
            self._tell()
        else:
            super().undo()

    def to_json(self) -> str:
        """Return the state as JSON: the last good model, and what is typed."""
        written_ = {"kind": self.kind, "texts": self.texts}
        return json.dumps({**json.loads(super().to_json()), "written": written_})

    def load_state(self, text: str | Mapping[str, object]) -> None:
        """Load a state of this panel, or one of another on a model that can be written."""
        with saved(text) as given:
            page = given.get("written")
            typed = None if page is None else checked_page(page["kind"], page["texts"])
        super().load_state(text)
        if typed is not None:
            self._show(typed)
            if self.draft.system and self.draft.system.to_spec() == self.system.to_spec():
                self._written.page = (typed[0], dict(typed[1]))
            self._tell()


def example() -> System:
    """Return the system that the panel begins with."""
    made = build(FIRST, KINDS[FIRST].example).system
    assert made is not None
    return made


def is_written(text: str) -> bool:
    """Whether a saved state is one of this panel."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(given, dict) and "written" in given


def checked_page(kind: object, texts: object) -> Page:
    """Return a kind and its texts, which anybody may have sent.

    Raises
    ------
    BadValue
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadValue(f"There is no kind {kind!r}; there are {', '.join(KINDS)}.")
    if not isinstance(texts, Mapping) or not all(isinstance(x, str) for x in texts.values()):
        raise BadValue("The fields of a written model hold text.")
    known = {f.key for f in KINDS[kind].fields}
    return kind, {k: str(x) for k, x in texts.items() if k in known and x}


def _copied(model: Model) -> tuple[System, Page]:
    """Return a system that is built from its own text, and the text."""
    if isinstance(model, str):
        model = models[model]
    system = model() if callable(model) else model
    check_system(system)
    page = written(system)
    made = build(*page).system
    assert made is not None
    return made, page
