"""States of panels that compare: one entry more, ``"see"``, says what is shown.

Full keys: "see.<name>". Toggles among them are the curves, of which one at least is shown.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping

from explorer.errors import BadValue
from explorer.panels.messages import Control
from explorer.panels.state import State, States, saved

__all__ = ["SeeStates", "toggle"]


class SeeStates(States):
    """States with what is shown."""

    draws_inputs = False

    @abstractmethod
    def takes(self, key: str) -> bool:
        """Whether a full key of a session is one of this panel too."""

    @abstractmethod
    def seen(self, state: State, name: str, value: object) -> object:
        """Return the checked value of an entry of "see" that is no toggle."""

    def keys(self, state: State) -> list[str]:
        """Return the full key of everything that can be changed."""
        return [*filter(self.takes, super().keys(state)), *(f"see.{name}" for name in state["see"])]

    def key(self, state: State, name: str) -> str:
        """Return the full key of a name."""
        own = f"see.{name}" in self.keys(state) and f"rho.{name}" not in self.keys(state)
        return f"see.{name}" if own else super().key(state, name)

    def change(self, state: State, key: str, value: object) -> State:
        """Return `state` with one entry changed, checked on its own."""
        group, _, name = key.partition(".")
        if group != "see":
            return super().change(state, key, value)
        new = copy.deepcopy(state)
        if not isinstance(new["see"][name], bool):
            new["see"][name] = self.seen(state, name, value)
            return new
        new["see"][name] = bool(value)
        if not any(shown for shown in new["see"].values() if shown is True):
            raise BadValue("At least one curve must be shown. Select another curve first.")
        return new

    def from_json(self, text: str | Mapping[str, object]) -> tuple[States, State]:
        """Return what `to_json` wrote, or what another panel did: of that only what fits here."""
        with saved(text) as given:
            see = dict(given.pop("see", None) or {})
            given = self.fitting(given)
        states, state = super().from_json(given)
        for name, value in see.items():
            if f"see.{name}" in states.keys(state):
                state = states.change(state, f"see.{name}", value)
        return states, state

    def fitting(self, given: State) -> State:
        """Return what of a saved state this panel takes."""
        return given


def toggle(name: str, shown: bool, said: str, *, default: bool = True) -> Control:
    """Return the control that shows or hides a curve."""
    return {
        "key": f"see.{name}",
        "kind": "toggle",
        "label": name,
        "text": said,
        "unit": "",
        "value": shown,
        "default": default,
    }
