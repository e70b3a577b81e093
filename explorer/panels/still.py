"""What stands for a panel on static pages: its session, and the picture of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explorer.views.still import show

__all__ = ["StillPanel"]


class StillPanel:
    """A panel without controls: a notebook shows the plain figure of what its session holds then.

    Attributes
    ----------
    session
        As of the live panel.
    figure : plotly.graph_objects.Figure
        Drawn anew whenever it is asked for; its attributes are those of the panel too.
    """

    def __init__(self, session: Any, draw: Callable[[], Any]) -> None:
        self.session = session
        self._draw = draw

    @property
    def figure(self) -> Any:
        """Return the figure."""
        return self._draw()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.figure, name)

    def _ipython_display_(self) -> None:
        show(self.figure)
