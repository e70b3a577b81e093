"""What answers the browser from a session: controls, the picture of its run, actions."""

from __future__ import annotations

import functools
import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, TypeAlias, TypeGuard

import numpy as np

from explorer import parameters
from explorer.errors import ExplorerError
from explorer.panels.actions import ACTIONS, taken
from explorer.panels.controls import groups, values
from explorer.panels.film import film
from explorer.panels.grab import grabbed
from explorer.panels.messages import (
    Frame,
    Group,
    History,
    Message,
    Schema,
    Seen,
    Status,
    Values,
)
from explorer.panels.pins import shown
from explorer.panels.session import Session
from explorer.panels.spans import spanned, take
from explorer.panels.told import told, with_undrawn
from explorer.panels.wording import prose_rows
from explorer.quantities import number
from explorer.results.solution import Solution
from explorer.types import Plain
from explorer.views.drawing.decimate import seen
from explorer.views.drawing.picture import Picture, steady
from explorer.views.drawing.polyline import PANEL, Look
from explorer.views.drawing.traces import Trace
from explorer.views.events import blows, event_table
from explorer.views.explore import explore

__all__ = ["SessionAnswer"]

_BYTES = 12_000  # of the curves of a picture, as wide as that of the smallest panel
_COARSE = (1.0, 3.5, 6.0)
_TOO_MANY = 1.65  # times so many bytes are not made few
_LARGEST = 5000  # px of a picture
_INSTANTS = 500  # times of events that the cursor jumps to
_ROWS = 30  # of a page of the table of events
Signature: TypeAlias = tuple[str, list[tuple[str, float | None, float | None, int]]]
_NAMELESS = ("model", "scheme", "mode0")  # choices whose value says what it is of


class SessionAnswer:
    """Answers the browser from a session.

    Attributes
    ----------
    saved : str
        The name of the files that it saves.
    """

    saved: ClassVar[str] = "run"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.answering = False
        self._controls: Signature | None = None
        self._layout: Plain | None = None
        self._drawn: tuple[object, ...] | None = None  # what the layout is of
        self._page, self._by = 0, (0, False)  # of the table of events; its order
        self._coarse = 0  # which of the ways to draw the last picture took
        self._look: Seen = {"of": None, "size": [0, 0], "words": 1.0, "ranges": {}}

    def look(self, look: Plain) -> None:
        """Take note of the size of the plots, and of the windows of those that are zoomed."""
        size, ranges, words = look.get("size"), look.get("ranges"), look.get("words", 1.0)
        windows = ranges.items() if isinstance(ranges, dict) else ()
        self._look = {
            "of": look.get("of"),
            "size": size if _is_pair(size) else [0, 0],
            "words": float(np.clip(words, 0.5, 4.0)) if _finite(words) else 1.0,
            "ranges": {k: w for k, w in windows if _is_pair(w)},
        }

    def _size(self) -> Look:
        """Return how large the next picture will be."""
        wide, tall = (float(np.clip(s, 0, _LARGEST)) for s in self._look["size"])
        if min(wide, tall) < 100:  # not laid out yet
            return PANEL
        return Look(wide, tall, words=self._look["words"])

    def _looked(self) -> Look:
        """Return how the next picture will be seen; a window is that of its own model's plots."""
        size = self._size()
        ranges, zoom, layout = {}, 1.0, self._layout or {}
        windows = self._look["ranges"] if self._look["of"] == self._of() else {}
        timed = {a for pair in layout.get("meta", {}).get("time_axes", ()) for a in pair}
        for name, (low, high) in windows.items():
            if name in layout and low != high:
                ranges[name] = (float(low), float(high))
                if name.replace("axis", "") not in timed:
                    whole = layout[name]["range"]
                    zoom = max(zoom, abs((whole[1] - whole[0]) / (high - low)))
        zoom = float(2.0 ** np.ceil(np.log2(min(zoom, 64.0))))
        return replace(size, ranges=ranges, zoom=zoom)

    def _of(self) -> str:
        """Return what a zoom holds for: as long as it stays the same, the axes mean the same."""
        session = self.session
        state = session.state
        return json.dumps([state["model"], state["sizes"], type(session.solution).__name__])

    def schema(self) -> Schema:
        session = self.session
        system = session.system
        self._controls = self._signature()
        return {
            "title": system.name[:1].upper() + system.name[1:],
            "subtitle": system.text,
            "time_unit": system.time_unit,
            "groups": spanned(self.groups(), session.spans),
            "actions": ACTIONS,
            "looks": True,
            "presets": [
                {"name": k, "label": k, "text": p["text"]} for k, p in system.presets.items()
            ],
            **self._history(),
        }

    def groups(self) -> list[Group]:
        """Return the groups of controls."""
        return groups(self.session)

    def _signature(self) -> Signature:
        """Return what decides which controls there are and how far they reach."""
        controls = [
            (c["key"], c.get("low"), c.get("high"), len(c.get("choices", ())))
            for group in spanned(self.groups(), self.session.spans)
            for c in group["controls"]
        ]
        return self.session.system.name, controls

    def _history(self) -> History:
        session = self.session
        history: History = {"undo": session.can_undo, "redo": session.can_redo, "pins": []}
        if session.most_pins == 1:
            run = session.pinned
            history["pinned"] = None if run is None else str(run.scheme)
        elif session.most_pins:
            now = [one.letter for one in session.pins if one.state == session.state]
            history["pinned"] = f"this run, as {now[0]}" if now else None
            history["pins"] = shown(session)
        return history

    def pull(self, set: Values, drag: bool) -> Frame:
        begin, self._page, said = time.perf_counter(), 0, ""
        self.answering = True
        try:
            if "grab" in set:
                moved, said = grabbed(self.session, set["grab"])
                set = {k: x for k, x in set.items() if k != "grab"} | moved
            self.session.change(set, drag=drag)
        except ExplorerError as error:  # of a grip; the session keeps its own
            said = str(error)
        finally:
            self.answering = False
        frame = self._frame(begin, drag)
        if said and frame["status"]["level"] != "error":
            frame["status"] = {**frame["status"], "level": "warn", "text": said}
        if not drag and self._signature() != self._controls:
            frame["schema"] = self.schema()
        return frame

    def frame(self) -> Frame:
        return self._frame(time.perf_counter(), False)

    @np.errstate(all="ignore")  # an absurd number typed is no picture, but no warning either
    def _frame(self, begin: float, drag: bool) -> Frame:
        session = self.session
        look = self._looked()
        run, pinned = seen(session.solution, look), session.pinned_runs
        drawn_at = functools.partial(explore.picture, run, pinned)
        picture = self._drawn_small(drawn_at, look, drag)
        picture.layout["uirevision"] = self._of()
        drawn = (session.system, session.state["t_end"])
        same = self._drawn == drawn
        self._layout = steady(picture.layout, self._layout if same else None, moving=drag)
        self._drawn = drawn
        picture = picture.within(self._layout)
        status = with_undrawn(self._status(run, time.perf_counter() - begin, drag), picture)
        frame = self._framed(values(session), status, picture.data)
        frame["double"], frame["mechanism"] = bool(look.ranges), film(run, pinned)
        self._tabulate(frame, run, drag)
        return frame

    def _tabulate(self, frame: Frame, run: Solution, drag: bool) -> None:
        """Add the events of a run to a frame."""
        if self._has_events():
            rows = 20 if drag else _ROWS
            frame["table"] = prose_rows(event_table(run, most=rows, page=self._page, by=self._by))
            frame["instants"], frame["blows"] = blows(run.events, _INSTANTS)

    def _framed(self, values: Values, status: Status, data: list[Trace]) -> Frame:
        """Return a frame of what all panels show."""
        history = self._history()
        frame: Frame = {
            "undo": history["undo"],
            "redo": history["redo"],
            "pins": history["pins"],
            "values": values,
            "errors": dict(self.session.errors),
            "status": status,
            "figure": {"data": data, "layout": self._layout or {}},
            "mechanism": None,
            "table": None,
        }
        if "pinned" in history:
            frame["pinned"] = history["pinned"]
        return frame

    def _drawn_small(self, draw: Callable[..., Picture], look: Look, drag: bool) -> Picture:
        """Return the finest picture that is small; of what can never be made small no coarse one.

        In a drag it is as coarse as the picture before, or coarser: one drawing is enough.
        """
        enough = _BYTES * max(look.width / PANEL.width, 1.0)
        tries = []
        for coarse in _COARSE[self._coarse if drag else 0 :]:
            picture = draw(look=replace(look, coarse=coarse))
            tries.append(picture)
            if _much(picture) <= enough:
                break
        else:
            if len(tries) > 1 and _much(tries[-2]) > _TOO_MANY * enough:
                picture, coarse = tries[-2], _COARSE[-2]
        self._coarse = _COARSE.index(coarse)
        return picture

    def _has_events(self) -> bool:
        system = self.session.system
        return bool(system.contacts or getattr(system, "guard_names", ()))

    def _status(self, run: Solution, seconds: float, drag: bool = False) -> Status:
        session = self.session
        if session.errors:
            text = f"{self._drawn_with()} {session.problem or next(iter(session.errors.values()))}"
            return {"level": "error", "text": text, "detail": "", "stale": True}
        if session.problem:
            return {"level": "error", "text": session.problem, "detail": "Nothing has changed."}
        return told(run, seconds, drag)

    def _drawn_with(self) -> str:
        """Say where the picture differs from what the controls show: at what was refused."""
        session, said = self.session, []
        for key in session.errors:
            group, _, name = key.partition(".")
            value = session.states.value(session.state, key)
            text = number(value) if isinstance(value, float) else str(value).replace("_", " ")
            if group in ("q0", "v0", "x0"):
                name = f"{'v_' * (group == 'v0')}{name}(0)"
            said.append(text if key in _NAMELESS else f"{name or key} = {text}")
        return f"Showing {' and '.join(said)}; all other settings applied."

    def table(self) -> str:
        """Return the numbers that are saved, as CSV."""
        return self.session.solution.to_csv()

    def drawing(self) -> Picture:
        """Return the picture that is saved as a page."""
        return explore.picture(self.session.solution, self.session.pinned_runs)

    def do(self, action: str, value: object) -> list[Message]:
        session, self._page = self.session, 0
        self.answering = True
        try:
            match action:
                case "unpin":
                    now = [one.letter for one in session.pins if one.state == session.state]
                    session.unpin(str(value) if value else now[0] if now else None)
                case "undo" | "redo" | "reset" | "pin":
                    getattr(session, action)()
                case "events_page":
                    self._page = max(_whole(value), 0)
                    return [{"type": "frame", **self.frame()}]
                case "events_sort":
                    place = _whole(value)
                    self._by = (place, place == self._by[0] and not self._by[1])
                    return [{"type": "frame", **self.frame()}]
                case "preset":
                    session.preset(str(value))
                case "load_state":
                    session.load_state(str(value))
                case "span":
                    take(session, value)
                case _ if message := taken(self, action):
                    return [message]
                case _:
                    session.problem = f"This panel has no action {action!r}."
        except ExplorerError as error:
            session.problem = str(error)
        finally:
            self.answering = False
        return [{"type": "schema", **self.schema()}, {"type": "frame", **self.frame()}]


def _much(picture: Picture) -> int:
    """Return about how many bytes the curves of a picture take."""
    sizes = {id(a): len(a) for t in picture.data for a in (t["x"], t["y"])}
    return sum(2 * n if n > 40 else 4 * n for n in sizes.values())


def _whole(value: object) -> int:
    return int(parameters.number(value, "A page or a column"))


def _is_pair(x: object) -> TypeGuard[list[float]]:
    """Whether the browser has sent two finite numbers."""
    return isinstance(x, list) and len(x) == 2 and all(map(_finite, x))


def _finite(x: object) -> bool:
    return isinstance(x, (int, float)) and math.isfinite(x)
