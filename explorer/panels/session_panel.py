"""A panel on a `Session`, and the list of those that there are."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import ClassVar, TypeAlias, TypeVar

from explorer import cache
from explorer.panels.answer import SessionAnswer
from explorer.panels.live import LivePanel
from explorer.panels.session import Session
from explorer.panels.static_twin import Over, StaticTwin, static_twin
from explorer.panels.still import Unattended, static
from explorer.registry import Registry
from explorer.views.drawing.traces import Figure
from explorer.views.explore import explore as view

__all__ = ["SessionPanel", "Shown", "panel", "panels"]

Shown: TypeAlias = "SessionPanel | Figure | Unattended"  # the last two on static pages
Opens = TypeVar("Opens", bound=Callable[..., "Shown"])


class SessionPanel(LivePanel):
    """The widget; everything it shows and does is in ``session``.

    Parameters
    ----------
    session : Session
        Taken over if it is one of `sessions`; of any other one what fits, see its `of`.

    Attributes
    ----------
    sessions, answers : the classes of its session and of what answers the browser from it
    own_menu : bool
        Whether it offers other models or schemes than the gallery.
    opens : function that opens it, see `panel`
    """

    sessions: ClassVar[type[Session]] = Session
    answers: ClassVar[type[SessionAnswer]] = SessionAnswer
    own_menu: ClassVar[bool] = False
    opens: ClassVar[Callable[..., Shown]]

    def __init__(self, session: Session) -> None:
        own = self.sessions.of(session)
        self._shows = answer = self.answers(own)
        super().__init__(answer, cache_dir=cache.directory())
        self.session = own
        own.on_change(lambda: None if answer.answering else self.push())

    def __repr__(self) -> str:
        of = f" of {self.session.system.name!r}" if "session" in vars(self) else ""
        return f"{type(self).__name__}{of}"

    def twin(self, over: Over | None = None, points: int | None = None) -> StaticTwin:
        """Return the static twin of the panel: a page that moves without a kernel.

        Parameters
        ----------
        over, points : which sliders it has, and how many values; see `static_twin`

        Examples
        --------
        >>> import explorer as ex
        >>> panel = ex.explore("bouncing_ball")
        >>> panel.twin({"e": [0.5, 0.7, 0.9]})
        StaticTwin('Bouncing ball', 4 pictures over rho.e)
        """
        with self._lock:
            return static_twin(self._showing(), over, points)

    def _showing(self) -> SessionAnswer:
        """Return what answers from the session that is shown."""
        return self._shows

    @classmethod
    def figure(cls, session: Session) -> Figure:
        """Return the plain figure of a session, for static pages: by default that of its run."""
        return view(session.solution)

    @classmethod
    def shown(cls, session: Session) -> Shown:
        """Return the panel on a session.

        With the environment variable EXPLORER_STATIC set to "twin" its static twin ("twin 7": with
        seven values of its slider), to any other word its figure, which follows the session.
        """
        word, _, points = os.environ.get("EXPLORER_STATIC", "").partition(" ")
        if word == "twin":
            answer = cls.answers(cls.sessions.of(session))
            return Unattended(answer, int(points) if points.isdigit() else None)
        if os.environ.get("EXPLORER_STATIC"):
            return static(session, lambda: cls.figure(session))
        return cls(session)


panels: Registry[type[SessionPanel]] = Registry("panel", "explorer.panels")


def panel(kind: type[SessionPanel]) -> Callable[[Opens], Opens]:
    """Offer a panel by the function that opens it.

    The function is named ``explore_`` and then as its folder, and is offered by the package
    ``explorer`` itself.
    """

    def offer(opens: Opens) -> Opens:
        kind.opens = staticmethod(opens)
        panels.register(opens.__name__.removeprefix("explore_"))(kind)
        return opens

    return offer
