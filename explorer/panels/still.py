"""What stands for a panel on static pages: the plain figure of its session, which it follows."""

from __future__ import annotations

from collections.abc import Callable

from explorer.panels.session import Session
from explorer.views.drawing.traces import Figure

__all__ = ["static"]


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
