"""The plain panel: a session, and no more."""

from explorer.panels.session import Model, Session
from explorer.panels.session_panel import SessionPanel, Shown, panel
from explorer.schemes import Scheme
from explorer.views.drawing.traces import Figure
from explorer.views.trajectory import trajectory


class PlainPanel(SessionPanel):
    """The panel on any session."""

    @classmethod
    def figure(cls, session: Session) -> Figure:
        """Return what stands for it on static pages."""
        return trajectory(session.solution)


@panel(PlainPanel)
def explore_plain(
    model: Model = "bouncing_ball", scheme: Scheme | str | None = None, **settings: object
) -> Shown:
    """Open the plain panel on a model."""
    return PlainPanel.shown(Session(model, scheme, **settings))
