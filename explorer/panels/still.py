"""What stands for a panel on pages without a kernel: the figure of its session, or its twin."""

from __future__ import annotations

from collections.abc import Callable

from explorer.panels.session import Session
from explorer.panels.static_twin import Answers, Over, StaticTwin, static_twin
from explorer.progress import shown_by
from explorer.views.drawing.traces import Figure

__all__ = ["Unattended", "static"]


class Unattended:
    """A panel of a page that no kernel will attend to: it is displayed as its static twin.

    Parameters
    ----------
    answer
        Of the panel.
    points : int, optional
        How many values a slider has in the twin that is displayed.

    Attributes
    ----------
    session : Session
        Scripts change it as they would change that of the panel, before it is displayed.
    """

    def __init__(self, answer: Answers, points: int | None = None) -> None:
        self.session, self._answer, self._points = answer.session, answer, points

    def twin(self, over: Over | None = None, points: int | None = None) -> StaticTwin:
        """Return the static twin, see `static_twin`."""
        return static_twin(self._answer, over, points)

    def _repr_html_(self) -> str:
        with shown_by(_unseen):
            return self.twin(points=self._points)._repr_html_()


def _unseen(done: int, total: int, name: str, what: str) -> None:
    """Show no progress: nobody waits at the page that is made."""


def static(session: Session, draw: Callable[[], Figure]) -> Figure:
    """Return the figure that `draw` makes, with the session as its attribute ``session``.

    What a script sets there changes the figure in place, as it would change a panel.
    """
    figure = draw()

    def follow() -> None:
        now = draw()
        figure.data = ()
        figure.add_traces(now.data)
        figure.layout = now.layout

    object.__setattr__(figure, "session", session)  # plotly itself refuses names that it lacks
    session.on_change(follow)
    return figure
