"""What answers the browser from the gallery: its cards and films, and the model that is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypedDict, cast

from explorer.errors import BadValue, ExplorerError, suggest
from explorer.models import GROUPS, models
from explorer.panels.answer import SessionAnswer
from explorer.panels.gallery.films import Card, as_film, card, label, shipped
from explorer.panels.gallery.overview import overview
from explorer.panels.messages import Frame, Message, Schema, Values
from explorer.panels.session import Session
from explorer.panels.write_model import WriteAnswer, WriteSession, example, is_written
from explorer.systems import System
from explorer.types import Plain

__all__ = ["GalleryAnswer"]

_TITLES = {"": "Other models", "own": "Your models"}
_WRITE = "write_model"  # the card behind which equations are written


_ABOUT = "Type coordinates, forces and gaps, or rates and regions; what you type is simulated."


class Asked(TypedDict, total=False):
    """What the browser asks to be opened."""

    model: str  # by the name of its card
    preset: str
    state: str  # as `Session.to_json` writes it


class GalleryAnswer:
    """Answers as the panel of the model that is open; and for the gallery itself.

    Parameters
    ----------
    own : dict of name to System
        Models that stand before those of the gallery.
    """

    def __init__(self, own: Mapping[str, System]) -> None:
        self.own = dict(own)
        self.inside: SessionAnswer | None = None
        self.open = ""  # name of the card whose model is shown
        self.still = ""  # what the browser hides as long as the gallery is shown
        self.on_open: Callable[[Session], None] = lambda session: None
        self.later: Callable[[list[str]], None] = lambda names: None  # makes films aside
        self._made: dict[str, Card] = {}

    # -- the gallery --------------------------------------------------------------------------

    def groups(self) -> dict[str, list[str]]:
        """Return the names of the cards of each group, in the order of the gallery."""
        found: dict[str, list[str]] = {
            "own": [_WRITE, *self.own],
            **{g: [] for g in GROUPS},
            "": [],
        }
        for name, build in models.items():
            found[getattr(build, "group", "")].append(name)
        return {group: names for group, names in found.items() if names}

    def card(self, name: str) -> Card:
        """Return a card; the film of one that is not shipped is None until it is made.

        Raises
        ------
        BadValue
            If there is no such model.
        """
        if name not in self.own and name in shipped():
            return shipped()[name]
        if name not in self._made:
            made = label(self._system(name))
            if name == _WRITE:
                made |= {"title": "Write your own", "text": _ABOUT, "presets": []}
            self._made[name] = made
        return self._made[name]

    def _system(self, name: str) -> System:
        if name in self.own:
            return self.own[name]
        if name == _WRITE:
            return example()
        if name not in models:
            raise BadValue(f"The gallery has no model {name!r}.{suggest(name, models)}")
        return models[name]()

    def film(self, name: str) -> Message:
        """Return the message with a film that is not shipped: one run is made for it."""
        made: Card = {**self.card(name), "film": card(self._system(name))["film"]}
        self._made[name] = made
        return {"type": "films", "films": {name: made["film"] and as_film(made["film"])}}

    def _all(self) -> Message:
        said: list[Plain] = []
        for group, names in self.groups().items():
            cards = []
            for name in names:
                known = {k: x for k, x in self.card(name).items() if k != "film"}
                cards.append({"name": name, **known})
            title = _TITLES.get(group, group[:1].upper() + group[1:])
            said.append({"name": group, "title": title, "models": cards})
        return {"type": "gallery", "groups": said, "open": self.open, "still": self.still}

    def _films(self, names: list[str]) -> list[Message]:
        known = [n for n in names if n in self.own or n in models or n == _WRITE]
        cards = {n: self.card(n)["film"] for n in known}
        self.later([n for n, film in cards.items() if film is None])
        return [{"type": "films", "films": {n: as_film(f) for n, f in cards.items() if f}}]

    def opened(self, asked: Asked) -> Session:
        """Open a model: by its name, with a preset; or a saved state.

        Raises
        ------
        ExplorerError
            If there is no such model or preset, or if it cannot run.
        """
        name, state = asked.get("model", ""), asked.get("state", "")
        if name not in self.own and name not in models and not (state and not name):
            self._system(name)  # which refuses it
        if name == _WRITE or (not name and is_written(state)):
            name, inside = _WRITE, cast(SessionAnswer, WriteAnswer(WriteSession()))
        else:
            inside = SessionAnswer(Session(self.own.get(name, name or "bouncing_ball")))
        session = inside.session
        if state:
            session.load_state(state)
            name = name or str(session.state["model"])
        elif asked.get("preset"):
            session.preset(asked["preset"])
        self.inside, self.open = inside, name
        self.on_open(session)
        return session

    # -- the browser --------------------------------------------------------------------------

    def do(self, action: str, value: object) -> list[Message]:
        try:
            match action:
                case "gallery":
                    return [self._all()]
                case "films":
                    return self._films([str(n) for n in value] if isinstance(value, list) else [])
                case "open":
                    self.opened(cast(Asked, value) if isinstance(value, dict) else {})
                    return [{"type": "open", "open": self.open}]
                case "leave":
                    self.open = ""
                    return []
                case "state":
                    text = self._shown().session.to_json()
                    return [{"type": "state", "open": self.open, "text": text}]
                case "load_state" if self.inside is None:  # of a link
                    self.opened({"state": str(value)})
                    return []
        except ExplorerError as error:
            return [{"type": "refused", "text": str(error)}]
        return self._shown().do(action, value)

    def _shown(self) -> SessionAnswer:
        if self.inside is None:
            raise BadValue("No model is open. Choose one in the gallery.")
        return self.inside

    def look(self, look: Plain) -> None:
        """Hand on how large the plots are."""
        if self.inside is not None:
            self.inside.look(look)

    def schema(self) -> Schema:
        return self._shown().schema()

    def pull(self, set: Values, drag: bool) -> Frame:
        return self._shown().pull(set, drag)

    def frame(self) -> Frame:
        """Return the picture of the model that is open; of the gallery itself, its stills."""
        if self.inside is not None and self.open:
            return self.inside.frame()
        names = [n for group in self.groups().values() for n in group if n != _WRITE]
        cards = [self.card(n) for n in names]
        picture = overview(cards)
        return cast(Frame, {"figure": {"data": picture.data, "layout": picture.layout}})
