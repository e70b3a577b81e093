"""The plain panel: a session, and no more."""

from typing import Any

from explorer.panels.session import Session
from explorer.panels.session_panel import SessionPanel, panel
from explorer.views.trajectory import trajectory


class PlainPanel(SessionPanel):
    """The panel on any session."""

    @classmethod
    def figure(cls, session: Session) -> Any:
        """Return what stands for it on static pages."""
        return trajectory(session.solution)


@panel(PlainPanel)
def explore_plain(model: Any = "bouncing_ball", scheme: Any = None, **settings: Any) -> Any:
    """Open the plain panel on a model."""
    return PlainPanel.shown(Session(model, scheme, **settings))
