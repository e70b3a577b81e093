"""The gallery: a card for each model, with a film of its mechanism; a click opens its panel."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import ClassVar

from explorer import cache
from explorer.models import models
from explorer.panels.answer import SessionAnswer
from explorer.panels.gallery.answer import Asked, GalleryAnswer
from explorer.panels.gallery.films import shipped
from explorer.panels.gallery.overview import overview
from explorer.panels.live import LivePanel, script
from explorer.panels.session import Model, Session
from explorer.panels.session_panel import SessionPanel, Shown, panel
from explorer.panels.still import static
from explorer.systems import System, check_system

__all__ = ["GalleryPanel", "gallery"]


class GalleryPanel(SessionPanel):
    """The widget: the gallery, and the panel of the model that is open in it.

    Parameters
    ----------
    own : dict of name to System
        Models that stand before those of the gallery.
    """

    own_menu: ClassVar[bool] = True
    front = ("gallery", "gallery")
    _esm = script(*front)

    def __init__(self, own: dict[str, System] | None = None) -> None:
        self._gallery = GalleryAnswer(own or {})
        LivePanel.__init__(self, self._gallery, cache_dir=cache.directory())
        self._gallery.still = self._still_name
        self._gallery.on_open, self._gallery.later = self._follow, self._film
        self._films = ThreadPoolExecutor(1)

    @property
    def session(self) -> Session:
        """The session of the model that was opened last; without one the first model is opened."""
        return self._showing().session

    @session.setter
    def session(self, session: Session) -> None:
        raise AttributeError("choose(model) decides on the session of the gallery")

    def _showing(self) -> SessionAnswer:
        if self._gallery.inside is None:
            self.choose("bouncing_ball")
        assert self._gallery.inside is not None
        return self._gallery.inside

    def choose(self, model: str, preset: str = "") -> Session:
        """Open a model, as a click on its card does; return its session.

        Parameters
        ----------
        model : str
            Name of a model of the gallery, or of one of yours.
        preset : str
            Name of one of its presets.

        Raises
        ------
        ExplorerError
            If there is no such model or preset.
        """
        with self._lock:
            names = {system.name: name for name, system in self._gallery.own.items()}
            asked: Asked = {"model": names.get(model, model), "preset": preset}
            session = self._gallery.opened(asked)
            self._post({"type": "open", "open": self._gallery.open})
            return session

    def _follow(self, session: Session) -> None:
        answer = self._gallery.inside

        def changed() -> None:
            if answer is not None and answer is self._gallery.inside and not answer.answering:
                self.push()

        session.on_change(changed)

    def _film(self, names: list[str]) -> None:
        for name in names:
            self._films.submit(copy_context().run, self._filmed, name)

    def _filmed(self, name: str) -> None:
        """Make a film aside; between two of them the browser is answered."""
        with self._lock:
            self._post(dict(self._gallery.film(name)))


@panel(GalleryPanel)
def gallery(*own: Model) -> Shown:
    """Open the gallery: all models on cards, in groups; a click opens the panel of one.

    Parameters
    ----------
    *own : System, builder or str
        Models of yours, which stand before the others.

    Returns
    -------
    panel
        A widget; ``panel.choose("chua")`` does what a click does, and ``panel.session`` is the
        interface for scripts of the model that is open. With the environment variable
        ``EXPLORER_STATIC`` set, a plain plotly figure of all mechanisms.

    Raises
    ------
    ExplorerError
        If one of yours is no model.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.gallery()
    >>> panel.choose("bouncing_ball", "superball").state["rho"]["e"]
    1.0
    """
    if os.environ.get("EXPLORER_STATIC"):
        return static(Session(), lambda: overview([*shipped().values()]).figure())
    return GalleryPanel(_named(own))


def _named(own: tuple[Model, ...]) -> dict[str, System]:
    """Return systems by the names of their cards."""
    found: dict[str, System] = {}
    for model in own:
        build = models[model] if isinstance(model, str) else model
        system = build() if callable(build) else build
        check_system(system)
        name, k = f"own {system.name}", 2
        while name in found:
            name, k = f"own {system.name} {k}", k + 1
        found[name] = system
    return found
