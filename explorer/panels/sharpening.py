"""What panels have in common whose picture sharpens while one looks at it.

A thread computes finer and finer results and tells the panel of each; when the question changes,
its work is dropped. A box or the wheel makes a part of the picture the next question.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from explorer.errors import BadValue, ExplorerError
from explorer.panels.answer import SessionAnswer
from explorer.panels.film import film
from explorer.panels.messages import Frame, Schema, Status, Values
from explorer.panels.session import Session
from explorer.panels.session_panel import SessionPanel
from explorer.panels.state import State, States
from explorer.study.parts import Stop
from explorer.types import Plain
from explorer.views.drawing.picture import Picture, steady
from explorer.views.drawing.traces import Figure

__all__ = ["Asked", "SharpAnswer", "SharpPanel", "SharpSession", "Worker"]

_FIRST = 0.35  # s to wait for the first result
Found = TypeVar("Found")
Yielded = TypeVar("Yielded", covariant=True)


class Asked(Protocol[Yielded]):
    """A question whose answer becomes finer."""

    def steps(self, stop: Stop | None = None) -> Iterator[Yielded]:
        """Yield finer and finer results, the whole one last."""


class Worker(Generic[Found]):
    """A result that a thread makes sharper, until it is whole or no longer wanted."""

    def __init__(self, asked: Asked[Found], news: Callable[[], None]) -> None:
        self.latest: Found | None = None
        self.problem = ""
        self._news, self._asked = news, asked
        self._first, self._whole, self._stopped = (threading.Event() for _ in range(3))
        # a kernel knows by the context which cell its messages belong to
        context = copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for found in self._asked.steps(self._stopped.is_set):
                if self._stopped.is_set():
                    return
                self.latest = found
                if self._first.is_set():
                    self._news()
                self._first.set()
        except ExplorerError as error:
            self.problem = str(error)
        finally:
            self._first.set()
            self._whole.set()

    def finished(self, seconds: float) -> bool:
        """Whether nothing more comes; it is waited for that so long at most."""
        return self._whole.wait(seconds)

    def stop(self) -> None:
        """Do nothing more, as soon as a run ends."""
        self._stopped.set()

    def wait(self, seconds: float | None) -> Found | None:
        """Return the result after so many seconds at most; with None the whole one."""
        (self._whole if seconds is None else self._first).wait(seconds)
        return self.latest


class SharpSession(Session, Generic[Found]):
    """A session with a result that becomes sharper.

    Attributes
    ----------
    news : function without arguments
        Is called by another thread when the result has become sharper.
    """

    # of the class: the first run of a session comes before its own entries
    news: Callable[[], None] = staticmethod(lambda: None)
    _worker: tuple[str, Worker[Found]] | None = None

    @abstractmethod
    def _key(self, states: States, state: State) -> str:
        """Return what decides the result: with another key another one is computed."""

    @abstractmethod
    def _asking(self, states: States, state: State) -> Asked[Found]:
        """Return the question of a state."""

    @classmethod
    def of(cls, session: Session) -> Self:
        """Return a session of this kind, with the model and parameters of another one."""
        if isinstance(session, cls):
            return session
        new = cls(session.system if session.states.own is not None else session.state["model"])
        rho = {f"rho.{k}": x for k, x in session.state["rho"].items()}
        new.change(rho)
        new._past.clear()
        return new

    def copy(self) -> Session:
        """Return a session in the same state, which computes its own result."""
        other = super().copy()
        assert isinstance(other, SharpSession)
        other._worker, other.news = None, lambda: None
        return other

    def diagram(self, wait: float | None = None) -> Found | None:
        """Return the result for the present state.

        Parameters
        ----------
        wait : float, optional
            Seconds after which it is returned as it is, None if nothing is known yet; by default
            it is returned when it is whole.
        """
        with self._lock:
            key = self._key(self.states, self.state)
            if self._worker is None or self._worker[0] != key:
                self.leave()
                asked = self._asking(self.states, self.state)
                self._worker = (key, Worker(asked, lambda: self.news()))
            worker = self._worker[1]
        found = worker.wait(wait)
        if worker.problem:
            raise BadValue(worker.problem)
        return found

    def resolve(self, *, fine: bool) -> None:
        """Choose how fine the whole result is; that of a page without a kernel may be coarser."""

    def leave(self) -> None:
        """Stop what is being computed."""
        if self._worker is not None:
            self._worker[1].stop()
        self._worker = None


class SharpAnswer(SessionAnswer, Generic[Found]):
    """Answers the browser from a session with a result that becomes sharper.

    Attributes
    ----------
    named : str
        What its title begins with.
    windows : dict of axis to two names
        The entries of "see" that the ends of an axis are.
    """

    session: SharpSession[Found]
    named: ClassVar[str]
    windows: ClassVar[dict[str, tuple[str, str]]]
    live = False  # whether pictures may come that are not finished

    def __init__(self, session: SharpSession[Found]) -> None:
        super().__init__(session)
        session.resolve(fine=False)  # nobody waits at a page without a kernel

    @abstractmethod
    def _accepted(self) -> Values:
        """Return the value of every control with which the session has run."""

    @abstractmethod
    def _picture(self, found: Found | None) -> Picture:
        """Return the picture of what is known."""

    @abstractmethod
    def _told(self, found: Found | None, seconds: float, drag: bool) -> Status:
        """Return the status."""

    @abstractmethod
    def _window(self) -> list[object]:
        """Return what the axes of the picture depend on."""

    def schema(self) -> Schema:
        title = f"{self.named} of the {self.session.system.name}"
        return {**super().schema(), "title": title, "presets": []}

    def look(self, look: Plain) -> None:
        """Take note of the size; a window of the picture is a change of the session."""
        super().look(look)
        ranges = self._look["ranges"]
        if self._look["of"] != self._of():
            return
        wanted: Values = {}
        for axis, names in self.windows.items():
            window = ranges.pop(axis, None)
            if window is not None and window[0] != window[1]:
                wanted |= dict(zip((f"see.{n}" for n in names), sorted(window), strict=True))
        if wanted:
            self.answering = True
            try:
                self.session.change(wanted)
            finally:
                self.answering = False

    def _of(self) -> str:
        return super()._of() + str(self._window())

    @np.errstate(all="ignore")  # an absurd number typed is no picture, but no warning either
    def _frame(self, begin: float, drag: bool) -> Frame:
        session = self.session
        found = session.diagram(_FIRST if self.live else None)
        picture = self._picture(found)
        picture.layout["uirevision"] = self._of()
        drawn = (session.system, self._of())
        before = self._layout if self._drawn == drawn else None
        self._layout, self._drawn = steady(picture.layout, before), drawn
        # the axes of the window are those that were asked for
        self._layout |= {k: picture.layout[k] for k in self.windows if k in picture.layout}
        status = self._told(found, time.perf_counter() - begin, drag)
        frame = self._framed(self._accepted() | session.pending, status, picture.data)
        frame["figure"]["config"] = {"scrollZoom": True}
        frame["mechanism"] = film(session.solution, None)
        return frame

    def drawing(self) -> Picture:
        return self._picture(self.session.diagram())


class SharpPanel(SessionPanel):
    """The panel on a result that becomes sharper."""

    own_menu = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        assert isinstance(self.session, SharpSession)
        assert isinstance(self._shows, SharpAnswer)
        self._shows.live = True
        self.session.resolve(fine=True)
        self.session.news = self.refresh

    def close(self) -> None:
        """Stop what is being computed, and take the panel off the page."""
        if isinstance(self.session, SharpSession):
            self.session.leave()
        super().close()

    @classmethod
    def figure(cls, session: Session) -> Figure:
        return cls.answers(session).drawing().figure()
