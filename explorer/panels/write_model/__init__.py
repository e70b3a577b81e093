"""The panel in which equations are written: text, beside the live picture of its model."""

from __future__ import annotations

from explorer.panels.session import Model
from explorer.panels.session_panel import SessionPanel, Shown, panel
from explorer.panels.write_model import mechanics, rates  # noqa: F401  (they offer their kinds)
from explorer.panels.write_model.answer import WriteAnswer
from explorer.panels.write_model.state import WriteSession, example, is_written
from explorer.study.asked import Chosen

__all__ = [
    "WriteAnswer",
    "WritePanel",
    "WriteSession",
    "example",
    "is_written",
    "write_model",
]


class WritePanel(SessionPanel):
    """The panel on a session whose model is typed.

    Parameters
    ----------
    session : Session
        Taken over if it is a `WriteSession`; of any other one its model, as text.
    """

    own_menu = True
    sessions, answers = WriteSession, WriteAnswer


@panel(WritePanel)
def write_model(
    model: Model | None = None, scheme: Chosen | None = None, **settings: object
) -> Shown:
    """Open the panel in which equations are written: text, what it reads as, and its picture.

    Parameters
    ----------
    model : str, System or builder, optional
        What to begin from: a model of the gallery by name, a system, or a function that returns
        one. Without it, an example.
    scheme : Scheme, its class or name, optional
    **settings
        Parameters, options of the scheme and "t_end" by name, as for `Session.set`.

    Returns
    -------
    panel
        A widget; ``panel.session`` is the interface for scripts: ``session.type(kind, texts)``
        reads text, ``session.run()`` runs it. With the environment variable ``EXPLORER_STATIC``
        set, a plain plotly figure with the same ``session``.

    Raises
    ------
    ExplorerError
        If the model cannot run, or cannot be written as text.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.write_model("bouncing_ball")
    >>> panel.session.run()
    """
    return WritePanel.shown(WriteSession(model, scheme, **settings))
