"""The explore panel: trajectories, impulses, energy and events of one run, live."""

from __future__ import annotations

from explorer.panels.session import Model, Session
from explorer.panels.session_panel import SessionPanel, Shown, panel
from explorer.study.asked import Chosen

__all__ = ["ExplorePanel", "explore"]


class ExplorePanel(SessionPanel):
    """The panel on any session."""


@panel(ExplorePanel)
def explore(
    model: Model = "bouncing_ball", scheme: Chosen | None = None, **settings: object
) -> Shown:
    """Open the live panel on a model.

    Parameters
    ----------
    model : str, System or builder
        A model of the gallery by name, a system, or a function that returns one.
    scheme : Scheme, its class or name, optional
    **settings
        Parameters, options of the scheme and "t_end" by name, as for `Session.set`.

    Returns
    -------
    panel
        A widget; ``panel.session`` is the interface for scripts. With the environment variable
        ``EXPLORER_STATIC`` set, a plain plotly figure with the same ``session`` (for static pages).

    Raises
    ------
    ExplorerError
        If the model cannot run at all.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.explore("bouncing_ball", "MoreauJean", e=0.5)
    >>> panel.session.set(e=0.6)
    >>> panel.session.solution.status.name
    'success'
    """
    return ExplorePanel.shown(Session(model, scheme, **settings))
