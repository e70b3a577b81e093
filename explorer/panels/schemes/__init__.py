"""The panel that runs one model through all its schemes, each beside the best run, live."""

from __future__ import annotations

import inspect
import time

import numpy as np

from explorer.panels import controls
from explorer.panels.answer import SessionAnswer
from explorer.panels.controls import choice, slider
from explorer.panels.film import film
from explorer.panels.messages import Control, Frame, Group, Status, Values
from explorer.panels.schemes.state import SchemesSession
from explorer.panels.see import toggle
from explorer.panels.session import Model, Session
from explorer.panels.session_panel import SessionPanel, Shown, panel
from explorer.parameters import Param
from explorer.schemes import schemes
from explorer.study.scheme_comparison import SchemeComparison
from explorer.views.drawing.picture import Picture, label, steady
from explorer.views.drawing.traces import Figure
from explorer.views.scheme_comparison import scheme_comparison as view

__all__ = ["SchemesPanel", "explore_schemes"]

_STEP = Param(1.0, 1 / 16, 16, "", "Step of each scheme, in parts of its usual one", log=True)


class _Answer(SessionAnswer):
    """Answers the browser from a session that compares schemes."""

    session: SchemesSession
    saved = "schemes"

    def groups(self) -> list[Group]:
        session, now = self.session, self._accepted()
        own = {g["name"]: g["controls"] for g in controls.groups(session)}
        names = [(c, label(c)) for c in session.system.coordinates]
        numbers: list[Control] = [slider("see.step", "step", _STEP, now)]
        if len(names) > 1:
            numbers.append(choice("see.coordinate", "curve", now, names, "What is drawn"))
        shown = [
            toggle(name, is_shown, _said(name), default=not schemes[name].lesson)
            for name, is_shown in session.state["see"].items()
            if isinstance(is_shown, bool)
        ]
        ordered: list[tuple[str, str, list[Control]]] = [
            ("model", "Model", own["model"]),
            ("parameters", "Parameters", own.get("parameters", [])),
            ("scheme", "Step", numbers),
            ("curves", "Schemes", shown),
            ("start", "Start and time span", own["start"]),
        ]
        return [{"name": n, "title": t, "open": True, "controls": c} for n, t, c in ordered if c]

    def _accepted(self) -> Values:
        session = self.session
        own = {f"see.{k}": x for k, x in session.state["see"].items()}
        return controls.accepted(session) | own

    @np.errstate(all="ignore")  # an absurd number typed is no picture, but no warning either
    def _frame(self, begin: float, drag: bool) -> Frame:
        session = self.session
        found = session.comparison()
        picture = view.picture(
            found, session.state["see"]["coordinate"], pinned=session.ghost, look=self._looked()
        )
        drawn = (session.system, session.state["t_end"], len(found.runs))
        self._layout = steady(picture.layout, self._layout if self._drawn == drawn else None)
        self._drawn = drawn
        status = self._told(found, time.perf_counter() - begin)
        frame = self._framed(self._accepted() | session.pending, status, picture.data)
        first = found.runs[0].solution  # the mechanism of the first scheme, the best one its ghost
        frame["mechanism"] = film(first, found.best)
        return frame

    def _told(self, found: SchemeComparison, seconds: float) -> Status:
        status = super()._status(found.runs[0].solution, seconds)
        if status["level"] == "error":
            return status
        count = len(found.runs)
        text = (
            f"{count} scheme{'s' * (count > 1)} against {found.reference} · answered in "
            f"{1e3 * seconds:.0f} ms"
        )
        for name, said in found.refused.items():
            text += f" · {name} is left out: {said}"
        return {**status, "level": "warn" if found.refused else "ok", "text": text}

    def table(self) -> str:
        return self.session.to_csv()

    def drawing(self) -> Picture:
        return _picture(self.session)


def _said(scheme: str) -> str:
    """Return what the menu says of a scheme: the first line of its help."""
    return (inspect.getdoc(schemes[scheme]) or scheme).splitlines()[0]


def _picture(session: SchemesSession) -> Picture:
    coordinate = session.state["see"]["coordinate"]
    return view.picture(session.comparison(), coordinate, pinned=session.ghost)


class SchemesPanel(SessionPanel):
    """The panel on one model and all its schemes.

    Parameters
    ----------
    session : Session
        Taken over if it is a `SchemesSession`; of any other one its model, parameters and start.
    """

    own_menu = True
    sessions, answers = SchemesSession, _Answer

    @classmethod
    def figure(cls, session: Session) -> Figure:
        assert isinstance(session, SchemesSession)
        return _picture(session).figure()


@panel(SchemesPanel)
def explore_schemes(model: Model = "impact_oscillator", **settings: object) -> Shown:
    """Open a model through all its schemes: a picture each, and its error against the best run.

    Parameters
    ----------
    model : str, System or builder
        A model of the gallery by name, a system, or a function that returns one.
    **settings
        Parameters, sizes, "t_end" by name; "step", in parts of the usual steps; "coordinate", the
        one that is drawn; False hides a scheme: "MoreauJean", "FESD".

    Returns
    -------
    panel
        A widget; ``panel.session`` is the interface for scripts, and
        ``panel.session.comparison()`` holds the runs. With the environment variable
        ``EXPLORER_STATIC`` set, a plain plotly figure instead, with the same ``session``.

    Raises
    ------
    ExplorerError
        If no scheme can run the model, or a number is inadmissible.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.explore_schemes("impact_oscillator", FESD=False)
    >>> panel.session.comparison().system.name
    'impact oscillator'
    """
    return SchemesPanel.shown(SchemesSession(model, **settings))
