"""What a panel and the browser say to each other, as plain data.

The browser asks for values to be set or for an action; it is answered by a schema (the controls
that there are), a frame (the picture, its status and what stands beside it), a text or a file.
Arrays of a message travel as buffers beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypeAlias, TypedDict

import numpy as np

from explorer.types import Plain
from explorer.views.drawing.traces import Trace
from explorer.views.events import Table
from explorer.views.mechanism import LeanFilm

__all__ = [
    "Card", "Checks", "Choices", "Control", "FigureData", "Frame", "Group", "History", "Message",
    "PinShown", "Preset", "Reach", "Schema", "Seen", "Status", "Values",
]  # fmt: skip

Message: TypeAlias = Mapping[str, object]  # with its "type": "schema", "frame", "file", ...
Values: TypeAlias = dict[str, object]  # of controls, by their full keys
Choices: TypeAlias = Sequence[Sequence[str]]  # each with its label


class Control(TypedDict):
    """A slider, a number, a choice, a toggle or a text."""

    key: str
    kind: str
    label: str
    text: str
    unit: str
    value: object
    default: object
    beside: NotRequired[str]  # the label in words
    choices: NotRequired[Choices]
    low: NotRequired[float]
    high: NotRequired[float]
    log: NotRequired[bool]
    integer: NotRequired[bool]
    step: NotRequired[float]  # that of a range that was chosen
    meant: NotRequired[Mapping[str, object]]  # what was chosen, without what its value widens


class Reach(TypedDict, total=False):
    """What only some kinds of controls have."""

    unit: str
    beside: str
    choices: Choices
    low: float
    high: float
    log: bool
    integer: bool
    step: float
    meant: Mapping[str, object]


class Group(TypedDict):
    """Controls under a title."""

    name: str
    title: str
    open: bool
    controls: list[Control]


class Preset(TypedDict):
    """A preset of a model."""

    name: str
    label: str
    text: str


class PinShown(TypedDict):
    """A pinned run: how it is drawn, and what differs in it from the present one."""

    letter: str
    colour: str
    dash: str  # "dot", "dash", "dashdot", "longdash"
    text: str  # a few differences
    all: str  # every difference


class History(TypedDict):
    """What can be taken back, and what is pinned."""

    undo: bool
    redo: bool
    pinned: NotRequired[str | None]  # what Unpin would remove; missing: nothing can be pinned
    pins: list[PinShown]


class Schema(History):
    """The controls of a panel."""

    title: str
    subtitle: str
    time_unit: str
    groups: list[Group]
    actions: list[dict[str, str]]
    looks: bool
    presets: list[Preset]


class Checks(TypedDict):
    """What was checked of a run."""

    text: str
    lines: list[str]


class Status(TypedDict):
    """The sentence below a picture."""

    level: str  # "ok", "unchecked", "warn", "error"
    text: str
    detail: str
    stale: NotRequired[bool]  # whether the picture is not that of the controls
    checks: NotRequired[Checks]


class Card(TypedDict):
    """A small table beside the picture."""

    title: str
    note: str
    corner: NotRequired[str]
    columns: NotRequired[list[str]]
    rows: NotRequired[list[list[str]]]
    shades: NotRequired[list[list[float]]]
    split: NotRequired[int]


class FigureData(TypedDict):
    """A picture as plotly takes it."""

    data: list[Trace]
    layout: Plain
    config: NotRequired[Plain]  # of plotly, where it is not the usual one


class Frame(History):
    """A picture, and all that is shown with it."""

    values: Values
    errors: dict[str, str]
    status: Status
    figure: FigureData
    mechanism: LeanFilm | None
    table: Table | None
    instants: NotRequired[np.ndarray]  # times of events in s
    blows: NotRequired[np.ndarray]  # the largest impulse of an impact at each of them in N s, or 0
    double: NotRequired[bool]  # whether single precision is too coarse for its window
    cards: NotRequired[list[Card]]
    schema: NotRequired[Schema]  # if the controls have changed too


class Seen(TypedDict):
    """What the browser says of the plots that it shows."""

    of: object  # the uirevision of their layout
    size: list[float]  # width and height in px
    words: float  # how many times larger than usual their text is
    ranges: dict[str, list[float]]  # of the axes that are zoomed
