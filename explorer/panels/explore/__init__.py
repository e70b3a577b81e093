"""The explore panel: one run from every side, live."""

from __future__ import annotations

from typing import Any

from explorer.panels.session import Session
from explorer.panels.session_panel import SessionPanel, panel
from explorer.views.explore import explore as view

__all__ = ["ExplorePanel", "explore"]


class ExplorePanel(SessionPanel):
    """The panel on any session."""

    @classmethod
    def figure(cls, session: Session) -> Any:
        return view(session.solution)


@panel(ExplorePanel)
def explore(model: Any = "bouncing_ball", scheme: Any = None, **settings: Any) -> Any:
    """Open the live panel on a model.

    Parameters
    ----------
    model : str, System or builder
        A name of the gallery, your own system, or a function that returns one.
    scheme : Scheme, its class or name, optional
    **settings
        Parameters, knobs, "t_end" by name, as for `Session.set`.

    Returns
    -------
    panel
        A widget; ``panel.session`` does by script what the mouse does. With the environment
        variable ``EXPLORER_STATIC`` set, a plain plotly figure with the same ``session`` (for
        static pages).

    Raises
    ------
    ExplorerError
        If the model cannot run at all.
    """
    return ExplorePanel.shown(Session(model, scheme, **settings))
