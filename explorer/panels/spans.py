"""Ranges and steps that a user gives the sliders of a session.

A saved state holds them as the entry ``"spans"``: by full key ``{"low", "high"}``, and ``"step"``
where one is chosen. They decide how far a slider reaches, never what a run computes.
"""

from __future__ import annotations

import json
import threading
from abc import abstractmethod
from collections.abc import Mapping
from typing import Generic, NotRequired, TypeAlias, TypedDict, TypeVar

from explorer.errors import BadValue
from explorer.panels.messages import Control, Group
from explorer.panels.state import State, States
from explorer.parameters import number

__all__ = ["Span", "Spanning", "Spans", "loaded", "spanned", "take"]

_TYPED = ("t_end", "size")  # numbers that have a field and no slider


Moment = TypeVar("Moment")  # what undo comes back to


class Span(TypedDict):
    """A range, and the step within it if one is chosen; in the unit of the slider."""

    low: float
    high: float
    step: NotRequired[float]


Spans: TypeAlias = dict[str, Span]  # by full key; replaced as a whole, never changed


class Spanning(Generic[Moment]):
    """What a session knows of its sliders.

    Attributes
    ----------
    spans : dict of key to {"low", "high", "step"}
        Of the sliders whose range was chosen; the model decides on all others.
    """

    spans: Spans
    states: States
    state: State
    _lock: threading.RLock

    @property
    @abstractmethod
    def _here(self) -> Moment:
        """What undo comes back to."""

    @abstractmethod
    def _remember(self, before: Moment) -> None:
        """Make a step of undo."""

    @abstractmethod
    def _tell(self) -> None:
        """Tell all listeners."""

    def span(
        self,
        name: str,
        low: object = None,
        high: object = None,
        step: object = None,
    ) -> None:
        """Choose the range of a slider, and its step; of none of the three the usual range.

        Parameters
        ----------
        name : str
            Full key ("q0.y") or short name of a number that has a slider.
        low, high, step : float, optional
            In the unit of the slider. A logarithmic slider goes by factors and takes no step.

        Raises
        ------
        BadValue
            If there is no such slider, or the range is none: that of a logarithmic one begins above
            0, and that of one for whole numbers has whole ends and a whole step.
        """
        with self._lock:
            key = _slider(self.states, self.state, name)
            before = self._here
            others = {k: span for k, span in self.spans.items() if k != key}
            usual = low is None and high is None and step is None
            scale = self.states.scale(self.state, key)
            self.spans = others if usual else {**others, key: _checked(low, high, step, scale)}
            self._remember(before)
            self._tell()

    def take_spans(self, other: Spanning[Moment]) -> None:
        """Take the ranges that another session gave to sliders that this one has too."""
        known = set(self.states.keys(self.state))
        self.spans = {key: span for key, span in other.spans.items() if key in known}

    def _saved_spans(self) -> dict[str, Spans]:
        """Return what a saved state holds of the ranges: of the sliders that there are now."""
        known = self.states.keys(self.state) if self.spans else ()
        now = {key: span for key, span in self.spans.items() if key in known}
        return {"spans": now} if now else {}


def _slider(states: States, state: State, name: str) -> str:
    """Return the full key of a slider."""
    key = states.key(state, name)
    value = states.value(state, key)
    number_ = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number_ or key.split(".")[0] in _TYPED:
        raise BadValue(f"{name} has no slider, so it has no range.")
    return key


def _checked(low: object, high: object, step: object, scale: str) -> Span:
    """Return a range; `scale` is that of the slider, see `States.scale`."""
    ends = number(low, "The begin of a range"), number(high, "The end of a range")
    if not ends[0] < ends[1]:
        raise BadValue(
            f"A range goes from a smaller number to a larger one, not from {ends[0]:g} to "
            f"{ends[1]:g}."
        )
    span: Span = {"low": ends[0], "high": ends[1]}
    if scale == "log" and ends[0] <= 0:
        raise BadValue(f"This slider is logarithmic: its range begins above 0, not at {ends[0]:g}.")
    if scale == "log" and step is not None:
        raise BadValue("This slider is logarithmic: it goes by factors and takes no step.")
    if step is not None:
        span["step"] = number(step, "The step of a slider", positive=True)
        if span["step"] > ends[1] - ends[0]:
            raise BadValue(
                f"The step of a slider is not larger than its range: {span['step']:g} is more than "
                f"{ends[1] - ends[0]:g}."
            )
    broken = [x for x in (*ends, span.get("step", 1.0)) if x != int(x)] if scale == "whole" else []
    if broken:
        raise BadValue(f"This slider takes whole numbers, so {broken[0]:g} cannot be in its range.")
    return span


def loaded(text: str | Mapping[str, object], states: States, state: State) -> Spans:
    """Return the ranges of a saved state whose own state is known.

    Raises
    ------
    BadValue
        If one of them is no range, or of nothing that the state has.
    """
    given = (json.loads(text) if isinstance(text, str) else text).get("spans") or {}
    if not isinstance(given, Mapping) or not all(isinstance(x, Mapping) for x in given.values()):
        raise BadValue('The ranges of a saved state are a dict: {"rho.e": {"low": 0, "high": 1}}.')
    spans = {}
    for name, x in given.items():
        key = _slider(states, state, str(name))
        scale = states.scale(state, key)
        spans[key] = _checked(x.get("low"), x.get("high"), x.get("step"), scale)
    return spans


def take(session: Spanning[Moment], asked: object) -> None:
    """Take the range of a slider as the browser sends it: ``{"key", "low", "high", "step"}``.

    Raises
    ------
    BadValue
        If it is no range of a slider.
    """
    if not isinstance(asked, Mapping):
        raise BadValue(f"The range of a slider is a mapping with its key, not {asked!r}.")
    given = {k: asked.get(k) for k in ("low", "high", "step")}
    session.span(str(asked.get("key")), **given)


def spanned(groups: list[Group], spans: Spans) -> list[Group]:
    """Return groups of controls whose sliders have the ranges that were chosen.

    A range is wider where the value of its slider lies beyond; ``"meant"`` is what was chosen.
    """
    if not spans:
        return groups
    return [
        {**group, "controls": [_spanned(c, spans) for c in group["controls"]]} for group in groups
    ]


def _spanned(control: Control, spans: Spans) -> Control:
    if control["kind"] != "slider" or control["key"] not in spans:
        return control
    span, value = spans[control["key"]], control["value"]
    reached = value if isinstance(value, (int, float)) else span["low"]
    low, high = min(span["low"], reached), max(span["high"], reached)
    log = bool(control.get("log")) and low > 0
    return {**control, **span, "low": low, "high": high, "log": log, "meant": {**span}}
