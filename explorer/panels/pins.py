"""Pinned runs of a session: up to four, which stay in the picture while the settings move.

A saved state holds them as the entry ``"pins"``: of each its place, and its own state without the
format; the run is made anew when it is loaded.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from explorer.errors import BadValue
from explorer.panels.messages import PinShown
from explorer.panels.spans import Spanning, Spans
from explorer.panels.state import START, State, States
from explorer.panels.wording import plain
from explorer.parameters import number
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.types import Plain
from explorer.views.drawing.ghosts import DASHES, LETTERS, TONES
from explorer.views.drawing.picture import label

__all__ = ["Moment", "Pin", "Pinning", "differences", "shown"]

_SAID = 3  # differences of a pinned run


@dataclass(frozen=True, eq=False)
class Pin:
    """A pinned run.

    Attributes
    ----------
    place : int
        From 0; decides its letter, tone and dash, which it keeps when others go.
    state : dict
        Of its run.
    solution : Solution
    beside : object
        What the panel has computed of it, for panels that draw more than a run.
    """

    place: int
    state: State
    solution: Solution
    beside: object = None

    @property
    def letter(self) -> str:
        """How it is called."""
        return LETTERS[self.place]


Moment: TypeAlias = tuple[States, State, tuple[Pin, ...], Spans]  # what undo goes back to


class Pinning(Spanning[Moment]):
    """What a session pins, beside what it knows of its sliders.

    Attributes
    ----------
    most_pins : int
        How many runs can be pinned; where it is one, the next one takes its place.
    pins : tuple of Pin
        In the order of their places.
    """

    most_pins: ClassVar[int] = len(TONES)
    pins: tuple[Pin, ...] = ()
    solution: Solution

    @abstractmethod
    def _run(self, states: States, state: State) -> Solution:
        """Run a state."""

    @property
    def pinned(self) -> Solution | None:
        """The run that was pinned at the last place, or None."""
        return self.pins[-1].solution if self.pins else None

    @property
    def beside(self) -> object:
        """What the panel has computed of the run at the last place, or None."""
        return self.pins[-1].beside if self.pins else None

    @property
    def pinned_runs(self) -> list[Solution | None]:
        """The pinned runs by their places; None where there is none."""
        runs: list[Solution | None] = [None] * self.most_pins
        for one in self.pins:
            runs[one.place] = one.solution
        return runs

    def _beside(self) -> object:
        """Return what is pinned together with the run."""
        return None

    def pin(self) -> None:
        """Keep the current run in the picture, to compare the next ones with it.

        Raises
        ------
        BadValue
            If as many runs are pinned as can be.
        """
        if not self.most_pins:
            raise BadValue("This panel compares two runs already, so none is pinned here.")
        with self._lock:
            kept = self.pins if self.most_pins > 1 else ()
            if any(one.state == self.state for one in kept):
                return
            free = [k for k in range(self.most_pins) if k not in {one.place for one in kept}]
            if not free:
                raise BadValue(
                    f"{self.most_pins} runs are pinned; more would hide each other. Remove one of "
                    f"them first."
                )
            new = Pin(free[0], self.state, self.solution, self._beside())
            self._pin(tuple(sorted((*kept, new), key=lambda one: one.place)))

    def unpin(self, letter: str | None = None) -> None:
        """Forget a pinned run, by its letter; by default all of them.

        Raises
        ------
        BadValue
            If no such run is pinned.
        """
        with self._lock:
            kept = tuple(one for one in self.pins if letter not in (None, one.letter))
            if letter is not None and len(kept) == len(self.pins):
                letters = ", ".join(one.letter for one in self.pins) or "none"
                raise BadValue(f"No run {letter!r} is pinned here. Pinned: {letters}.")
            self._pin(kept)

    def _pin(self, pins: tuple[Pin, ...]) -> None:
        before = self._here
        self.pins = pins
        self._remember(before)
        self._tell()

    def _saved_pins(self) -> Plain:
        """Return what a saved state holds of the pinned runs."""
        if not self.pins or self.most_pins == 1:
            return {}
        return {"pins": [{"place": p.place, **p.state, "model": None} for p in self.pins]}

    def _loaded_pins(
        self, text: str | Mapping[str, object], states: States, state: State
    ) -> tuple[Pin, ...]:
        """Return the pinned runs of a saved state whose own state is known.

        Raises
        ------
        ExplorerError
            If one of them cannot be, or cannot run.
        """
        given = (json.loads(text) if isinstance(text, str) else text).get("pins") or []
        if not isinstance(given, list) or len(given) > len(TONES):
            raise BadValue(f"A saved state pins at most {len(TONES)} runs, in a list.")
        pins: dict[int, Pin] = {}
        for one in given if self.most_pins > 1 else ():
            if not isinstance(one, Mapping):
                raise BadValue(f"A pinned run is a state, not {one!r}.")
            place = number(one.get("place"), "The place of a pinned run")
            if place not in range(self.most_pins):
                raise BadValue(f"There is no pinned run {place:g}; counting begins at 0.")
            own = {"format": 1, **one, "model": state["model"]}
            kept = States.from_json(states, own)[1]
            pins[int(place)] = Pin(int(place), kept, self._run(states, kept))
        return tuple(pins[k] for k in sorted(pins))


def differences(states: States, now: State, then: State) -> dict[str, tuple[object, object]]:
    """Return what differs between two states of a model by full key: the value then, and now.

    A value that only one of them has stands beside None.
    """
    found: dict[str, tuple[object, object]] = {}
    keys = dict.fromkeys([*states.keys(then), *states.keys(now)])
    has = {name: set(states.keys(state)) for name, state in (("then", then), ("now", now))}
    starts = states.start(then), states.start(now)
    for key in keys:
        group, _, name = key.partition(".")
        if group == "u" and "." in name:  # a value of an input: the input itself tells of it
            continue
        if group in START and name:
            at = states.system(now).coordinates.index(name)
            pair: tuple[object, ...] = tuple(s[group][at] for s in starts)
        else:
            pair = tuple(
                states.value(state, key) if key in has[when] else None
                for when, state in (("then", then), ("now", now))
            )
        if group == "u":
            pair = tuple(state.get("u", {}).get(name) for state in (then, now))
        if pair[0] != pair[1]:
            found[key] = (pair[0], pair[1])
    return found


def shown(session: Pinning) -> list[PinShown]:
    """Return what a panel says of the pinned runs: how they are drawn, and what they differ in."""
    found: list[PinShown] = []
    for one in session.pins:
        text, whole = _said(session, one)
        tone = TONES[one.place], DASHES[one.place]
        found.append(
            {"letter": one.letter, "colour": tone[0], "dash": tone[1], "text": text, "all": whole}
        )
    return found


def _said(session: Pinning, pin: Pin) -> tuple[str, str]:
    """Return the differences of a pinned run from now: a few, and all of them."""
    system, words = session.states.system(session.state), []
    for key, (then, now) in differences(session.states, session.state, pin.state).items():
        group, _, name = key.partition(".")
        unit = ""
        if group == "rho":
            unit = system.parameters[name].unit
        elif key == "t_end" or key == "knob.h":
            unit = system.time_unit
        said = plain(label(name or key))
        if group in ("q0", "v0", "x0"):
            said = f"{plain(label(name, dot=True)) if group == 'v0' else said}(0)"
        if group == "u":
            words.append(f"{said} along time is another one")
        elif key == "scheme":
            words.append(f"{then} (now {now})")
        elif then is not None:
            beside = f" (now {_written(now, unit)})" if now is not None else ""
            words.append(f"{said} = {_written(then, unit)}{beside}")
    text = ", ".join(words[:_SAID])
    if len(words) > _SAID:
        text += f" and {len(words) - _SAID} more"
    return text or "the same as now", ", ".join(words)


def _written(value: object, unit: str) -> str:
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        return quantity(value, unit, 4)
    return str(value)
